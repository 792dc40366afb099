//! Kernels of every kind.

use core::sync::atomic::AtomicU32;

use cuda_std::prelude::*;

/// What the generic kernels compute with.
pub trait Number: Plain + core::ops::Mul<Output = Self> + core::ops::Add<Output = Self> {
    /// What sums are made of.
    type Sum: Plain;
}
impl Number for f32 {
    type Sum = f64;
}
impl Number for f64 {
    type Sum = f64;
}

/// An operation.
pub trait Op {}
/// Addition.
pub enum Sum {}
impl Op for Sum {}
/// The smallest.
pub enum Min {}
impl Op for Min {}

/// y = a x + y
///
/// # Safety
/// The promises of the test.
#[kernel(instances(f32, f64), require(x.len() == y.len(), block.x % 32 == 0))]
pub unsafe fn saxpy<T: Number>(a: T, x: &[T], y: &mut [T]) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        y[i] = y[i] + a * x[i] + y[i];
    }
}

/// Names by a pattern, out of products.
///
/// # Safety
/// None.
#[kernel(instances((f32 | f64, Sum | Min, -4 | 8)), name = "{O}{N}_tree_{T}")]
pub unsafe fn fold_tree<T, O, const N: i32>(input: &[T], partials: *mut <T as Number>::Sum)
where
    T: Number,
    O: Op,
{
    let _ = (input, partials, core::any::type_name::<O>(), N);
}

/// Lanes of a block.
pub const LANES: usize = 4;

/// Type arguments of every form.
///
/// # Safety
/// None.
#[kernel(instances((core::primitive::u32, LANES), ([f32; 2], { LANES * 2 }), ((u8, [i8; 3]), 3)))]
pub unsafe fn words<T: Copy, const COUNT: usize>(value: T, all: &[[u8; COUNT]]) {
    let _ = (value, all);
}

/// Seven bytes of padding.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Padded {
    /// One byte.
    pub small: u8,
    /// Eight.
    pub large: u64,
}

/// A plain struct.
#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(C)]
pub struct Affine {
    /// Factor.
    pub gain: f32,
    /// Summand.
    pub bias: [i16; 2],
}

/// A plain struct without names, in one of another alignment.
#[derive(Clone, Copy, Debug, Plain)]
#[repr(C, align(16))]
pub struct Aligned(pub Affine, pub u64);

/// A plain struct of one field.
#[derive(Clone, Copy, Debug, Plain)]
#[repr(transparent)]
pub struct Wrapped(pub u64);

/// Every kind of parameter.
///
/// # Safety
/// None.
#[kernel]
#[allow(clippy::too_many_arguments)]
pub unsafe fn everything<'a>(
    (scale, offset): (f32, f32),
    padded: Padded,
    nothing: (),
    mut affine: Affine,
    option: Option<&'a u32>,
    reference: &[u32; 3],
    text: &str,
    raw: *const [u8],
    raw_mut: *mut [u16],
    pointer: *const i64,
    pointer_mut: *mut [f32; 2],
    function: fn(u32, &u8) -> u32,
    atomic: &AtomicU32,
    flag: bool,
    r#type: u8,
) {
    affine.gain *= scale + offset;
    let _ = (
        padded, nothing, affine, option, reference, text, raw, raw_mut,
    );
    let _ = (pointer, pointer_mut, function, atomic, flag, r#type);
}

/// Parameters of names that the launch might use itself.
///
/// # Safety
/// None.
#[kernel(require(shape > 1, launch == 2, memory.len() == 3))]
#[allow(clippy::too_many_arguments)]
pub unsafe fn names(
    shape: u32,
    launch: u32,
    memory: &[u32],
    memory_length: u32,
    entry: u8,
    a: u8,
    f: u8,
    body: u8,
) {
    let _ = (shape, launch, memory, memory_length, entry, a, f, body);
}

/// Generic parameters of names that the handle might use itself.
///
/// # Safety
/// None.
#[kernel(instances((u8, u16, u32)))]
pub unsafe fn letters<'s, 'a: 's, L: Copy, F: Copy, D: Copy>(
    l: &'a [L],
    f: F,
    d: D,
    x: Option<&'s u8>,
) {
    let _ = (l, f, d, x);
}

/// A safe kernel.
#[kernel(require(x.len() == y.len(), n > 1, shared_bytes >= 4 * block.x, grid.y == 1))]
pub fn safe(n: u32, x: &[f32], mut y: Out<'_, Affine>) {
    for (i, y) in y.mine() {
        y.gain = x[i] * n as f32;
    }
}

/// Moves 16 bytes at a time.
#[kernel(require(x.is_aligned_to(16), y.is_aligned_to(4 * block.x as usize)))]
pub fn in_packs(x: &[f32], y: Out<f32>) {
    let _ = (x, y);
}

/// A limit of a type.
pub trait Limit {
    /// It.
    const LIMIT: i32;
}
impl Limit for f64 {
    const LIMIT: i32 = -2;
}

/// A table.
pub const SET: (u8, bool) = (1, true);

fn own(n: u64) -> bool {
    n > 0
}

/// Every form of a rule.
#[kernel(
    instances((f64, 4)),
    require(
        x.is_empty() || !x.len().is_multiple_of(N),
        a.rows() as i32 == T::LIMIT && own(n),
        a.rows().checked_mul(a.cols()) == Some(x.len()),
        n.checked_add(1).is_some(),
        [block.x, block.y, grid.z] == [LANES as u32, 1, 1],
        grid == (1, 2),
        n <= 1 << 29,
        flag,
        flag == SET.1,
        (block.threads() as u32) < 64,
        size_of::<T>() >= 4,
        { n > 1 }
    )
)]
pub fn forms<T: Plain + Limit, const N: usize>(x: &[T], a: Matrix<T>, n: u64, flag: bool) {
    let _ = (x, a, n, flag);
}

/// A contract on pointers.
///
/// # Safety
/// None.
#[kernel(require(from.len() >= to.len()))]
pub unsafe fn pointers(from: *const f32, to: *mut f32, other: &u32) {
    let _ = (from, to, other);
}

macro_rules! scaled {
    ($($name:ident $values:ident $factor:ident: $t:ty, $least:expr;)*) => {$(
        /// Made by a macro.
        ///
        /// # Safety
        /// None.
        #[kernel(require($values.len() >= $least, grid.x > 0, $factor != 0 as $t))]
        pub unsafe fn $name($values: &mut [$t], $factor: $t, $least: usize) {
            let _ = ($values, $factor, $least);
        }
    )*};
}
scaled! {
    scaled_f32 values factor: f32, least;
    scaled_u8 bytes by: u8, most;
}

/// Not in the device's PTX.
///
/// # Safety
/// None.
#[kernel]
pub unsafe fn absent() {}

/// Under another name in the PTX.
///
/// # Safety
/// None.
#[kernel(name = "other_name", max_threads = 64, min_blocks = 2, grid_dim = 2d, starts_early)]
pub unsafe fn renamed() {}

#[test]
fn another_kernels_function_is_refused() {
    let device = crate::support::Device::default();
    let mut own = absent_twin::on(&device).unwrap().grid(1).block(1);
    own.prepared = renamed::on(&device).unwrap().grid(1).block(1).prepared;
    // SAFETY: nothing runs.
    let refused = unsafe { own.launch() }.unwrap_err();
    assert_eq!(
        format!("{refused:?}"),
        "Refused(Refusal { kernel: \"absent_twin\", rule: \"a function of its own\", given: \"the function of `other_name`\" })"
    );
}

/// Without parameters.
///
/// # Safety
/// None.
#[kernel]
pub unsafe fn absent_twin() {}
