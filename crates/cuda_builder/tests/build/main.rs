//! Builds small crates of its own for real. Needs what `cargo xtask doctor` lists.

mod arguments;
mod common;
mod embedding;
mod foreign;
mod iterators;
mod options;
mod packages;
mod panics;
mod part_word;
mod registry;
mod snippets;
mod stack;
mod supported;
mod undefined;
mod uniformity;

use std::fs;
use std::io::Read as _;

use common::{SHARED, build, start_workspace, text, whole_sweeps, workspace, write_member};
use cuda_builder::{CudaBuilder, CudaBuilderError};
use ptx_emulator::testing::Launch;

pub(crate) const TILE: &str = "
    #[kernel]
    pub unsafe fn mirror(input: &[f32], output: *mut f32) {
        let tile = shared_array![f32; 256];
        let thread = thread::thread_idx_x() as usize;
        unsafe {
            tile.add(thread).write(*input.get_unchecked(thread));
            thread::sync_threads();
            output.add(thread).write(*tile.add(255 - thread) * 2.0 + 1.0);
        }
    }";

#[test]
fn shared_memory_is_accessed_as_shared_and_slices_are_two_parameters() {
    let ptx = SHARED.kernel("mirror");
    assert_eq!(ptx.matches(".param .u64").count(), 3, "{ptx}");
    assert!(
        ptx.contains("st.shared.b32") && ptx.contains("ld.shared.b32"),
        "{ptx}"
    );
    assert!(ptx.contains("__") || ptx.contains("SHARED[1024]"), "{ptx}");
    assert!(
        ptx.contains("fma.rn.f32"),
        "contraction is on by default: {ptx}"
    );
    assert_eq!(ptx.matches("bar.sync").count(), 1, "{ptx}");
    assert!(!ptx.contains(".loc"), "{ptx}");
}

/// The longest test of all; by its name it is one of the first to start.
#[test]
fn builds_in_two_places_give_identical_bytes() {
    if !whole_sweeps("the same bytes in two places") {
        return;
    }
    let first = text(build("twin", TILE).unwrap());
    let elsewhere = tempfile::tempdir().unwrap();
    start_workspace(elsewhere.path());
    let source = format!("use cuda_std::prelude::*;\n{TILE}");
    let folder = write_member(elsewhere.path(), "twin", "", &source);
    // In a target folder of its own, so beside the other tests.
    let second = CudaBuilder::new(folder).generate_line_info(false).build();
    assert_eq!(first, text(second.unwrap()));
}

#[test]
fn an_unchanged_build_touches_nothing_and_a_changed_one_does() {
    let path = build(
        "unchanged",
        "#[kernel] pub unsafe fn set(output: *mut u32, value: u32) { unsafe { *output = value } }",
    )
    .unwrap();
    let first = fs::metadata(&path).unwrap().modified().unwrap();
    let same =
        "#[kernel] pub unsafe fn set(output: *mut u32, value: u32) { unsafe { *output = value } }";
    assert_eq!(
        fs::metadata(build("unchanged", same).unwrap())
            .unwrap()
            .modified()
            .unwrap(),
        first
    );
    // Whoever reads the old text meanwhile, without the builder's lock, has all of it.
    let old = text(path.clone());
    let mut reader = fs::File::open(&path).unwrap();
    let other = build("unchanged", &same.replace("= value", "= value + 1")).unwrap();
    assert_ne!(fs::metadata(other).unwrap().modified().unwrap(), first);
    let mut read = String::new();
    reader.read_to_string(&mut read).unwrap();
    assert_eq!(read, old);
}

/// Functions that are given shared memory, hold or return it.
pub(crate) const GIVEN: &str = "struct Tile { data: *mut f32, width: usize }
impl Tile {
    #[inline(never)] fn new(width: usize) -> Tile { Tile { data: shared_array![f32; 64], width } }
    #[inline(never)] unsafe fn put(&self, at: usize, value: f32) { unsafe { *self.data.add(at % self.width) = value } }
}
#[inline(never)] unsafe fn get(tile: *const f32, at: usize) -> f32 { unsafe { *tile.add(at) } }
#[kernel] pub unsafe fn turn(values: *mut f32) {
    let (tile, thread) = (Tile::new(64), thread::thread_idx_x() as usize);
    unsafe {
        tile.put(thread, get(values, thread));
        thread::sync_threads();
        *values.add(thread) = get(tile.data, 63 - thread);
    }
}";

/// As rust-cuda takes it: functions that are never to be inlined are, when they are given shared
/// memory, hold or return it.
#[test]
fn shared_memory_stays_shared_in_every_function_that_is_given_it() {
    let ptx = SHARED.kernel("turn");
    assert!(!ptx.contains("call"), "all of it is inlined: {ptx}");
    assert!(
        ptx.contains("st.shared.b32") && ptx.contains("ld.shared.b32"),
        "{ptx}"
    );
    assert!(
        !ptx.contains("cvta.shared") && !ptx.contains("ld.b32") && !ptx.contains("st.b32"),
        "{ptx}"
    );
}

#[test]
fn a_shared_value_may_be_printed() {
    let ptx = build(
        "printed",
        "#[kernel] pub unsafe fn show(output: *mut u32) {
            let tile = shared_array![u32; 32];
            unsafe {
                let thread = thread::thread_idx_x() as usize;
                *tile.add(thread) = 7;
                thread::sync_threads();
                println!(\"first {}\", *tile);
                assert_eq!(*tile.add(5), *output.add(thread));
                *output.add(thread) = *tile.add(3) + 1;
            }
        }",
    )
    .unwrap();
    let mut output = [7_u32; 32];
    let launch = Launch::of(&text(ptx)).unwrap().kernel("show").block(32);
    let report = launch.inout(&mut output).check().unwrap();
    report.assert_clean();
    assert_eq!(output, [8; 32]);
}

#[test]
fn a_choice_between_shared_and_global_memory_fails_with_kernel_and_variable() {
    let error = build(
        "generic",
        "#[address_space(shared)] static mut LINE: core::mem::MaybeUninit<[f32; 32]> = core::mem::MaybeUninit::uninit();
        #[kernel] pub unsafe fn leak(output: *mut f32, which: bool) {
            unsafe {
                let line = (&raw mut LINE).cast::<f32>();
                *line.add(thread::thread_idx_x() as usize) = 1.0;
                thread::sync_threads();
                *output = *if which { line } else { output }.add(3);
            }
        }",
    )
    .unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, CudaBuilderError::GenericSharedAccess { .. })
            && text.contains("kernel `leak`: shared memory `generic::LINE` is read through a pointer at members/generic/src/lib.rs:8:27, which may also be to"),
        "{text}"
    );
}

#[test]
fn a_crate_without_kernels_and_one_that_does_not_compile_say_so() {
    let error = build("empty", "pub fn helper() {}").unwrap_err();
    assert!(
        matches!(error, CudaBuilderError::NoKernels { .. }),
        "{error}"
    );
    let error = build("wrong", "pub fn helper() -> u32 { \"text\" }").unwrap_err();
    assert!(error.to_string().contains("mismatched types"), "{error}");
    let error = build(
        "hidden",
        "type Input<'a> = &'a [f32];
        #[kernel] pub unsafe fn first(input: Input, count: &u32, output: *mut f32) { unsafe { *output = input[*count as usize] } }",
    );
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("`input` is another name of a slice") && !message.contains("`count`"),
        "{message}"
    );
    let error = CudaBuilder::new(workspace("wrong").join("missing"))
        .build()
        .unwrap_err();
    assert!(matches!(error, CudaBuilderError::NoCrate { .. }), "{error}");
    let error = CudaBuilder::new(workspace("wrong").join("Cargo.toml"))
        .build()
        .unwrap_err();
    assert!(
        error.to_string().contains("it is a file; give the folder"),
        "{error}"
    );
    let error = CudaBuilder::new(workspace("wrong")).build().unwrap_err();
    assert!(
        error.to_string().contains("workspace without a package"),
        "{error}"
    );
}

/// rustc cannot pass a value of such alignment, and says so by a panic. Once it can, another way to
/// make it panic is needed here.
#[test]
fn a_panic_of_the_compiler_is_shown_with_what_it_compiled_and_leaves_no_file() {
    let error = build(
        "compiler_panics",
        "#[repr(C, align(32))] #[derive(Clone, Copy)] pub struct Vec4([f64; 4]);
        #[inline(never)] pub extern \"C\" fn helper(v: Vec4) -> f64 { v.0[1] }
        #[kernel] pub unsafe fn calls(out: *mut f64) { unsafe { *out = helper(Vec4([*out; 4])) } }",
    );
    let message = error.unwrap_err().to_string();
    for part in [
        "error: the compiler itself panicked while computing",
        "ABI of `helper`: internal error: entered unreachable code: Align is given as",
        "callconv/nvptx64.rs:",
    ] {
        assert!(message.contains(part), "{part}\n{message}");
    }
    assert_eq!(message.matches("panicked").count(), 1, "{message}");
    let folder = workspace("compiler_panics");
    for place in [folder.join("members/compiler_panics"), folder, ".".into()] {
        let files = fs::read_dir(place)
            .unwrap()
            .map(|file| file.unwrap().file_name());
        let left = files.filter(|name| name.to_string_lossy().starts_with("rustc-ice"));
        assert_eq!(left.count(), 0);
    }
}
