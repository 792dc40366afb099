//! What users of rust-cuda write, a kernel for each idiom: all of them build, in one crate.

use cuda_builder::CudaBuilder;

use crate::common::{text, workspace, write_member};

#[test]
fn idioms_of_rust_cuda_build() {
    let folder = write_member(&workspace("snippets"), "snippets", FEATURES, SOURCE);
    let ptx = text(CudaBuilder::new(folder).build().unwrap());
    let kernels: Vec<&str> = SOURCE
        .split("#[kernel]")
        .skip(1)
        .filter_map(|rest| rest.split("fn ").nth(1)?.split('(').next())
        .collect();
    assert!(kernels.len() >= 40, "{}", kernels.len());
    for kernel in kernels {
        assert!(ptx.contains(&format!(".entry {kernel}(")), "{kernel}");
    }
}

/// What a rust-cuda user expects of cuda_std.
const FEATURES: &str = "[features]\ndefault = [\"cuda_std/default\"]";

const SOURCE: &str = r#"
#![allow(static_mut_refs, unsafe_op_in_unsafe_fn)]
#![feature(asm_experimental_arch)]
extern crate alloc;
use alloc::{collections::{BTreeMap, VecDeque}, vec};
use core::cell::{Cell, RefCell};
use core::mem::MaybeUninit;
use core::ops::{Add, ControlFlow, Index, Mul};
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicUsize, Ordering};
use cuda_std::atomic::{AtomicF32, AtomicF64, BlockAtomicF64, SystemAtomicF32, intrinsics as raw, mid};
use cuda_std::float::GpuFloat;
use cuda_std::half::{bf16, f16};
use cuda_std::{FloatExt, address_space, externally_visible, gpu_only, prelude::*};
use cuda_std::glam::{DVec3, IVec2, Mat3, Mat4, Quat, UVec3, Vec2, Vec3, Vec4};

#[kernel] pub unsafe fn halves(x: &[f16], y: *mut f16) {
    let i = thread::index_1d() as usize;
    *y.add(i) = f16::from_f32(x[i].to_f32().mul_add(2.0, 1.0)).max(f16::ZERO);
}
#[kernel] pub unsafe fn brains(x: bf16, y: &[bf16], out: *mut f32) { *out = (x * y[0] + bf16::ONE).to_f32() }
#[kernel] pub unsafe fn vectors(a: Vec3, b: &[Vec4], m: Mat4, out: *mut Vec4) {
    *out = m * (b[0] + a.extend(1.0)).normalize();
}
#[kernel] pub unsafe fn rotations(q: Quat, m: Mat3, x: *mut Vec3) { *x = q * (m * *x).cross(Vec3::X) }
#[kernel] pub unsafe fn pixels(size: UVec3, at: IVec2, out: *mut DVec3, uv: Vec2) {
    let index: UVec3 = thread::block_idx() * thread::block_dim() + thread::thread_idx();
    if index.cmplt(size).all() { *out = DVec3::new(uv.x.into(), at.x.into(), index.z.into()) }
}
#[kernel] pub unsafe fn vek_vectors(x: *mut [f32; 4]) { *x = cuda_std::vek::Vec4::from(*x).map(|c: f32| c.powf(2.2)).into_array() }
#[kernel] pub unsafe fn wipes(secret: *mut u32, out: *mut u32) {
    secret.write_volatile(0);
    core::sync::atomic::compiler_fence(Ordering::SeqCst);
    core::hint::black_box(());
    *out = 1;
}
#[kernel] pub unsafe fn prints(x: f32, n: u64) {
    println!("{x} {n:>8} {:?} {:#x}", Some(n), 255u8);
    print!("no line end");
    if thread::first() { cuda_std::println!() }
}
#[kernel] pub unsafe fn asserts(n: u32) { assert!(n > 1, "n is {n}"); cuda_std::assert_eq!(n % 2, 0); debug_assert!(n < 9); }
#[kernel] pub unsafe fn warp_sums(x: *mut f64) {
    let mut sum = *x.add(thread::index_1d() as usize);
    let mut delta = 16;
    while delta > 0 { sum += warp::warp_shuffle_down(u32::MAX, sum, delta, 32).0; delta /= 2 }
    if warp::lane_id() == 0 { *x = sum }
}
#[kernel] pub unsafe fn warp_votes(x: &[i32], out: *mut u32) {
    let value = x[thread::index_1d() as usize];
    let (sum, same) = (warp::warp_reduce(!0, value, warp::WarpReductionOp::Min), warp::warp_match_any(!0, value));
    *out = warp::warp_vote_ballot(!0, sum < 0) ^ same ^ warp::activemask();
    warp::sync_warp(!0);
}
#[externally_visible] #[unsafe(no_mangle)] pub unsafe extern "C" fn helper(x: *mut u8, n: usize) { core::ptr::write_bytes(x, 1, n) }
#[kernel] pub unsafe fn calls_visible(x: *mut u8) { helper(x, 3) }
#[address_space(constant)] static WEIGHTS: [[f32; 4]; 4] = [[0.25; 4]; 4];
#[address_space(global)] static mut TOTAL: u32 = 7;
static PRIMES: [u16; 6] = [2, 3, 5, 7, 11, 13];
const NAMES: [&str; 2] = ["left", "right"];
#[kernel] pub unsafe fn statics(i: usize, out: *mut f32) {
    TOTAL += u32::from(PRIMES[i]) + NAMES[i % 2].len() as u32;
    *out = WEIGHTS[i][i & 3] + TOTAL as f32;
}
#[kernel] pub unsafe fn shared_statics(x: *mut f32) {
    #[address_space(shared)] static mut LINE: MaybeUninit<[f32; 64]> = MaybeUninit::uninit();
    let line = LINE.as_mut_ptr().cast::<f32>();
    let t = thread::thread_idx_x() as usize;
    *line.add(t) = *x.add(t);
    thread::sync_threads();
    *x.add(t) = *line.add(63 - t);
}
#[kernel] pub unsafe fn dynamic(n: u32, out: *mut f64) {
    let all = shared::dynamic_shared_mem::<f64>();
    *all.add(thread::thread_idx_x() as usize) = f64::from(n);
    thread::sync_threads();
    *out = *all.add(cuda_std::mem::dynamic_smem_size() as usize / 8 - 1);
}
trait Shape { fn area(&self) -> f32; fn name(&self) -> &'static str { "shape" } }
struct Circle(f32);
struct Square { side: f32 }
impl Shape for Circle { fn area(&self) -> f32 { self.0 * self.0 * core::f32::consts::PI } }
impl Shape for Square { fn area(&self) -> f32 { self.side * self.side } fn name(&self) -> &'static str { "square" } }
#[kernel] pub unsafe fn dyn_traits(i: usize, out: *mut f32) {
    let shapes: [&dyn Shape; 2] = [&Circle(1.0), &Square { side: 2.0 }];
    *out = shapes[i].area() + shapes[i].name().len() as f32;
}
#[kernel] pub unsafe fn boxed_traits(n: u32, out: *mut f32) {
    let shapes: Vec<Box<dyn Shape>> = (0..n).map(|i| -> Box<dyn Shape> {
        if i % 2 == 0 { Box::new(Circle(i as f32)) } else { Box::new(Square { side: 1.0 }) }
    }).collect();
    *out = shapes.iter().map(|shape| shape.area()).sum();
}
fn dot<T: Copy + Mul<Output = T> + Add<Output = T> + Default, const N: usize>(a: &[T; N], b: &[T; N]) -> T {
    a.iter().zip(b).fold(T::default(), |sum, (&a, &b)| sum + a * b)
}
#[kernel] pub unsafe fn generics(x: &[f64; 8], y: &[i32; 3], out: *mut f64) { *out = dot(x, x) + f64::from(dot(y, y)) }
#[kernel] pub unsafe fn slice_patterns(x: &[u32], out: *mut u32) {
    *out = match x { [] => 0, [one] => *one, [first, .., last] if first == last => 9, [first, rest @ ..] => first + rest.len() as u32 };
}
#[kernel] pub unsafe fn wide(a: u128, b: i128, out: *mut u128) {
    *out = (a * 3 / (a >> 7 | 1)) ^ b.unsigned_abs().rotate_left(9) % 1_000_000_007 ^ u128::from(a.count_ones());
}
#[kernel] pub unsafe fn wide_floats(a: u128, out: *mut f64) { *out = a as f64 + (*out as i128) as f64 }
#[kernel] pub unsafe fn libdevice(x: f32, out: *mut f32) {
    let (s, c) = x.sin_cos();
    *out = s.atan2(c) + x.powi(3).cbrt().hypot(x.exp_m1()) + GpuFloat::tanh(x) + x.cospi() + x.error_function() + x.ln_1p();
}
#[kernel] pub unsafe fn libdevice_double(x: f64, out: *mut f64) {
    *out = x.powf(1.5).asinh() + x.rem_euclid(0.7) + x.gamma() + x.norm_cdf() + x.ldexp(3).round() + x.log(3.0);
}
#[kernel] pub unsafe fn raw_intrinsics(x: f32, out: *mut f32) {
    *out = cuda_std::intrinsics::fast_expf(x) + cuda_std::intrinsics::rsqrtf(x) + cuda_std::intrinsics::popc(3) as f32;
}
#[kernel] pub unsafe fn assumptions(x: &[u32], n: usize, out: *mut u32) {
    core::hint::assert_unchecked(n < x.len() && n % 4 == 0);
    *out = x[n] + core::hint::black_box(3);
    if n > 100 { core::hint::unreachable_unchecked() }
}
#[kernel] pub unsafe fn float_atomics(a: &AtomicF32, b: &AtomicF64, s: &SystemAtomicF32) {
    a.fetch_add(1.0, Ordering::Relaxed);
    b.fetch_sub(2.0, Ordering::AcqRel);
    s.store(a.load(Ordering::Acquire) + b.load(Ordering::SeqCst) as f32, Ordering::Release);
}
#[kernel] pub unsafe fn block_atomics(x: *mut f64) {
    let sum = shared_array![f64; 1];
    BlockAtomicF64::from_ptr(sum).fetch_add(*x, Ordering::Relaxed);
}
#[kernel] pub unsafe fn core_atomics(a: &AtomicU32, b: &AtomicI64, c: &AtomicBool, d: &AtomicUsize) {
    if a.compare_exchange_weak(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() { b.fetch_max(-4, Ordering::SeqCst); }
    c.fetch_or(true, Ordering::Release);
    d.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1)).ok();
}
#[kernel] pub unsafe fn scoped_atomics(x: *mut u32, y: *mut u64, z: *mut i64) {
    raw::atomic_fetch_add_relaxed_u32_block(x, 1);
    raw::atomic_fetch_xor_acqrel_u64_system(y, 3);
    mid::atomic_fetch_min_i64_device(z, Ordering::SeqCst, -1);
    mid::atomic_compare_and_swap_u64_block(y, 0, 5, Ordering::Acquire);
    raw::membar_block();
    mid::system_thread_fence(Ordering::SeqCst);
}
#[kernel] pub unsafe fn stack_atomics(out: *mut u32) {
    let own = AtomicU32::new(3);
    own.compare_exchange(3, 4, Ordering::SeqCst, Ordering::Relaxed).ok();
    own.fetch_add(1, Ordering::Relaxed);
    *out = own.into_inner();
}
#[kernel] pub unsafe fn collections(n: u32, out: *mut u64) {
    let mut queue: VecDeque<u32> = (0..n).collect();
    queue.rotate_left(1);
    let map: BTreeMap<u32, u64> = queue.iter().map(|&k| (k, u64::from(k) * 2)).collect();
    let text = format!("{}-{}", n, queue.len());
    *out = map.values().sum::<u64>() + text.len() as u64;
}
#[kernel] pub unsafe fn rcs(out: *mut u32) {
    let shared = Rc::new(RefCell::new(vec![1u32, 2]));
    let other = Rc::clone(&shared);
    other.borrow_mut().push(3);
    *out = shared.borrow().iter().sum();
}
#[kernel] pub unsafe fn strings(out: *mut u32) {
    let text = String::from("a,b,,c");
    *out = text.split(',').filter(|part| !part.is_empty()).map(|part| part.len() as u32).sum();
}
#[kernel] pub unsafe fn closures(x: &[f32], out: *mut f32) {
    let scale = 2.0;
    let mapped = |f: &dyn Fn(f32) -> f32| x.iter().map(|&x| f(x)).fold(0.0, f32::max);
    *out = mapped(&|x| x * scale) + mapped(&|x| GpuFloat::sqrt(x));
}
#[kernel] pub unsafe fn iterators(x: &[i32], out: *mut i32) {
    let found = x.windows(2).enumerate().step_by(3).rev().skip_while(|(_, w)| w[0] > w[1]).take(5).try_fold(0i32, |sum, (i, w)| {
        match sum.checked_add(w[1] * i as i32) { Some(sum) => ControlFlow::Continue(sum), None => ControlFlow::Break(()) }
    });
    *out = found.continue_value().unwrap_or(-1);
}
#[derive(Clone, Copy, Default, PartialEq, Debug)] #[repr(C)] pub struct Particle { at: [f32; 3], charge: i8, id: u64 }
#[kernel] pub unsafe fn structs(all: &[Particle], one: Particle, out: *mut Particle) {
    *out = Particle { charge: -one.charge, ..all.iter().copied().find(|p| p.id == one.id).unwrap_or_default() };
}
#[derive(Clone, Copy)] #[repr(u8)] pub enum Op { Add, Neg, Scale(f32) }
#[kernel] pub unsafe fn enums(op: Op, x: *mut f32) { *x = match op { Op::Add => *x + 1.0, Op::Neg => -*x, Op::Scale(by) => *x * by } }
#[kernel] pub unsafe fn tuples(pair: (u32, f32), arrays: [[u8; 3]; 2], out: *mut f32) { *out = pair.1 + f32::from(arrays[1][pair.0 as usize]) }
struct Grid<'a> { cells: &'a [f32], width: usize }
impl Index<(usize, usize)> for Grid<'_> { type Output = f32; fn index(&self, (x, y): (usize, usize)) -> &f32 { &self.cells[y * self.width + x] } }
#[kernel] pub unsafe fn index_operators(cells: &[f32], width: usize, out: *mut f32) { *out = Grid { cells, width }[(1, 2)] }
#[gpu_only] fn only_here() -> u64 { cuda_std::misc::clock() }
#[kernel] pub unsafe fn gpu_onlys(out: *mut u64) { *out = only_here() }
#[kernel] pub unsafe fn pointers(x: *const f32, y: *mut f32, n: usize) {
    let (x, y) = (core::slice::from_raw_parts(x, n), core::slice::from_raw_parts_mut(y, n));
    y.copy_from_slice(x);
    y.swap(0, n - 1);
    core::ptr::copy_nonoverlapping(x.as_ptr(), y.as_mut_ptr(), n / 2);
}
#[kernel] pub unsafe fn function_pointers(which: usize, x: *mut f32) {
    const TABLE: [fn(f32) -> f32; 3] = [f32::abs, |x| x + 1.0, twice];
    *x = TABLE[which](*x);
}
#[inline(never)] fn twice(x: f32) -> f32 { 2.0 * x }
#[kernel] pub unsafe fn recursion(n: u32, out: *mut u32) {
    fn steps(n: u32) -> u32 { if n < 2 { n } else { steps(n - 1) + steps(n - 2) } }
    *out = steps(n);
}
#[kernel] pub unsafe fn cells(out: *mut u32) { let cell = Cell::new(1); cell.set(cell.get() + 1); *out = cell.replace(0) }
#[kernel] pub unsafe fn sorting(x: *mut i16, n: usize) {
    let x = core::slice::from_raw_parts_mut(x, n);
    x.sort_unstable_by_key(|&x| core::cmp::Reverse(x));
    x.chunks_exact_mut(2).for_each(|pair| pair.reverse());
}
#[kernel] pub unsafe fn results(text: &[u8], out: *mut i32) {
    let parsed = core::str::from_utf8(text).ok().and_then(|text| text.trim().parse::<i32>().ok());
    let Some(value) = parsed else { *out = -1; return };
    *out = value;
}
#[kernel] pub unsafe fn chars(text: &str, out: *mut u32) { *out = text.chars().rev().filter(|c| c.is_alphanumeric()).map(u32::from).sum() }
#[kernel] pub unsafe fn shared_loops(x: &[f32], out: *mut f32) {
    let tile = shared_array![f32; 16 * 17];
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    tile.add(ty * 17 + tx).write(x[ty * 16 + tx]);
    thread::sync_threads();
    *out.add(ty * 16 + tx) = (0..16).map(|k| *tile.add(k * 17 + tx) * *tile.add(ty * 17 + k)).sum();
}
#[kernel] pub unsafe extern "C" fn of_c(_: u8, mut n: i64, (a, b): (u32, u32), out: *mut i64) { n += i64::from(a) - i64::from(b); *out = n }
#[cfg(target_os = "cuda")] #[kernel] pub unsafe fn asm(out: *mut u32) {
    let lane: u32;
    core::arch::asm!("mov.u32 {}, %laneid;", out(reg32) lane);
    *out = lane;
}
#[kernel] pub unsafe fn unions(x: f32, out: *mut u32) { union Bits { float: f32, bits: u32 } *out = Bits { float: x }.bits }
#[kernel] pub unsafe fn capabilities(out: *mut u32) {
    use cuda_std::cfg::ComputeCapability;
    *out = if ComputeCapability::from_cuda_arch_env() >= ComputeCapability::Compute70 { 70 } else { 0 };
}
#[kernel] pub unsafe fn address_spaces(x: *const u8, out: *mut bool) {
    use cuda_std::ptr::{AddressSpace, is_in_address_space};
    *out = is_in_address_space(x, AddressSpace::Shared) | is_in_address_space(x, AddressSpace::Global);
}
"#;
