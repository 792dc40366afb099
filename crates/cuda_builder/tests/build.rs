//! Builds small crates of its own for real. Needs what `cargo xtask doctor` lists.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use cuda_builder::{CudaBuilder, CudaBuilderError};

const TILE: &str = "
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

/// A workspace in a temporary folder, shared by all tests so that core is built once. Each test has its own member.
static WORKSPACE: LazyLock<tempfile::TempDir> =
    LazyLock::new(|| new_workspace(&["tile", "generic", "unchanged", "scalar", "empty", "wrong"]));

/// cargo's own lock would serialise the builds anyway, with a message for each wait.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn new_workspace(members: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let list: Vec<_> = members
        .iter()
        .map(|member| format!("\"{member}\""))
        .collect();
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{}]\n",
        list.join(", ")
    );
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    // The repository's lock file: the same versions, nothing to look up.
    fs::copy(
        repository().join("Cargo.lock"),
        folder.path().join("Cargo.lock"),
    )
    .unwrap();
    for member in members {
        write_member(folder.path(), member, "");
    }
    folder
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn write_member(workspace: &Path, name: &str, source: &str) -> PathBuf {
    let folder = workspace.join(name);
    fs::create_dir_all(folder.join("src")).unwrap();
    let cuda_std = repository().join("crates/cuda_std").canonicalize().unwrap();
    fs::write(
        folder.join("Cargo.toml"),
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\ncuda_std = {{ path = {:?} }}\n",
            cuda_std
        ),
    )
    .unwrap();
    fs::write(
        folder.join("src/lib.rs"),
        format!("use cuda_std::prelude::*;\n{source}"),
    )
    .unwrap();
    folder
}

/// Writes the member's source and builds it without line information, so that no path gets into the PTX.
fn build(name: &str, source: &str) -> Result<PathBuf, CudaBuilderError> {
    let _guard = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = write_member(WORKSPACE.path(), name, source);
    CudaBuilder::new(folder).generate_line_info(false).build()
}

fn text(path: PathBuf) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn shared_memory_is_accessed_as_shared_and_slices_are_two_parameters() {
    let ptx = text(build("tile", TILE).unwrap());
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
    let other = build("unchanged", &same.replace("= value", "= value + 1")).unwrap();
    assert_ne!(fs::metadata(other).unwrap().modified().unwrap(), first);
}

#[test]
fn options_reach_the_code() {
    let source = "#[kernel] pub unsafe fn arithmetic(x: *mut f32, y: f32) { unsafe { *x = (*x * y + 1.0) / y; *x.add(1) = y.sqrt(); } }";
    let _guard = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = write_member(WORKSPACE.path(), "scalar", source);
    let build = |builder: CudaBuilder| text(builder.build().unwrap());
    let new = || CudaBuilder::new(&folder).generate_line_info(false);

    let exact = build(new());
    assert!(
        exact.contains("div.rn.f32")
            && exact.contains("sqrt.rn.f32")
            && exact.contains("fma.rn.f32"),
        "{exact}"
    );
    let fast = build(
        new()
            .ftz(true)
            .fast_div(true)
            .fast_sqrt(true)
            .fma_contraction(false),
    );
    assert!(
        fast.contains("div.approx.ftz.f32") && fast.contains("sqrt.approx.ftz.f32"),
        "{fast}"
    );
    assert!(
        fast.contains("mul.rn.ftz.f32") || fast.contains("mul.ftz.f32"),
        "{fast}"
    );
    assert!(!fast.contains("fma.rn"), "{fast}");
    let lines = build(new().generate_line_info(true));
    assert!(
        lines.contains(".loc") && !lines.contains("debug_info"),
        "{lines}"
    );

    let copy = WORKSPACE.path().join("copies/scalar.ptx");
    let module = WORKSPACE.path().join("copies/scalar.ll");
    let path = new()
        .copy_to(&copy)
        .final_module_path(&module)
        .emit_llvm_ir(true)
        .build()
        .unwrap();
    assert_eq!(path, copy);
    assert!(text(module).contains("define ptx_kernel void @arithmetic"));
    let built = new().emit_llvm_ir(true).build().unwrap();
    assert_eq!(text(copy), text(built.clone()));
    assert!(built.with_extension("lowered.ll").is_file());
    let built = new().emit_llvm_bitcode(true).build().unwrap();
    assert!(
        fs::read(built.with_extension("bc"))
            .unwrap()
            .starts_with(b"BC")
    );

    // Unoptimised code keeps its overflow checks.
    let checked = write_member(
        WORKSPACE.path(),
        "scalar",
        "#[kernel] pub unsafe fn add(x: *mut u32, y: u32) { unsafe { *x = *x + y } }",
    );
    assert!(!build(CudaBuilder::new(&checked)).contains("__assertfail"));
    assert!(build(CudaBuilder::new(&checked).release(false)).contains("__assertfail"));
}

#[test]
fn a_generic_access_to_shared_memory_fails_with_kernel_and_variable() {
    let error = build(
        "generic",
        "#[address_space(shared)] static mut LINE: core::mem::MaybeUninit<[f32; 32]> = core::mem::MaybeUninit::uninit();
        #[inline(never)] fn put(slot: *mut f32, value: f32) { unsafe { *slot = value } }
        #[kernel] pub unsafe fn leak(output: *mut f32) {
            unsafe {
                let line = (&raw mut LINE).cast::<f32>();
                put(line.add(thread::thread_idx_x() as usize), 1.0);
                put(output, 2.0);
                thread::sync_threads();
                *output = *line.add(3);
            }
        }",
    )
    .unwrap_err();
    assert!(
        matches!(&error, CudaBuilderError::GenericSharedAccess { kernel, variable, .. } if kernel == "leak" && variable == "generic::LINE"),
        "{error}"
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
    let error = CudaBuilder::new(WORKSPACE.path().join("missing"))
        .build()
        .unwrap_err();
    assert!(matches!(error, CudaBuilderError::NoCrate { .. }), "{error}");
    let error = CudaBuilder::new(WORKSPACE.path()).build().unwrap_err();
    assert!(
        error.to_string().contains("workspace without a package"),
        "{error}"
    );
}

#[test]
fn two_clean_builds_give_identical_bytes() {
    let first = text(build("tile", TILE).unwrap());
    let elsewhere = new_workspace(&["tile"]);
    let folder = write_member(elsewhere.path(), "tile", TILE);
    let second = CudaBuilder::new(folder).generate_line_info(false).build();
    assert_eq!(first, text(second.unwrap()));
}
