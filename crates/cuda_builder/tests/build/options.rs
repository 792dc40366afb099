//! Every option of `CudaBuilder` does what it says, or is refused.

use std::fs;
use std::process::Command;

use cuda_builder::tools::{Toolchain, ptxas, variables};
use cuda_builder::{CudaBuilder, CudaBuilderError, DebugInfo, NvvmArch};

use crate::TILE;
use crate::common::{
    assert_success, build, child_folder, in_child, member, repository, text, whole_sweeps,
    workspace,
};

fn with_prelude(source: &str) -> String {
    format!("use cuda_std::prelude::*;\n{source}")
}

#[test]
fn options_reach_the_code() {
    let source = "#[kernel] pub unsafe fn arithmetic(x: *mut f32, y: f32) { unsafe { *x = (*x * y + 1.0) / y; *x.add(1) = y.sqrt(); } }";
    let folder = member("scalar", "", &with_prelude(source));
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

    let copy = workspace("scalar").join("copies/scalar.ptx");
    let module = workspace("scalar").join("copies/scalar.ll");
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
    let lowered = text(built.with_extension("lowered.ll"));
    let mut definitions = lowered.lines().filter(|line| line.starts_with("define "));
    assert!(
        definitions.all(|line| !line.contains("glam")),
        "nothing that no kernel uses: {lowered}"
    );
    let built = new().emit_llvm_bitcode(true).build().unwrap();
    assert!(
        fs::read(built.with_extension("bc"))
            .unwrap()
            .starts_with(b"BC")
    );

    // Unoptimised code keeps its overflow checks.
    let checked = member(
        "scalar",
        "",
        &with_prelude(
            "#[kernel] pub unsafe fn add(x: *mut u32, y: u32) { unsafe { *x = *x + y } }",
        ),
    );
    assert!(!build(CudaBuilder::new(&checked)).contains("cuda_std_panic"));
    if !whole_sweeps("overflow checks, for which `core` is compiled again") {
        return;
    }
    // With debug information as in `full_debug_information_is_dwarf_that_ptxas_takes`: core is
    // compiled once for both.
    let unoptimised = CudaBuilder::new(&checked)
        .release(false)
        .debug(DebugInfo::Full);
    assert!(build(unoptimised).contains("cuda_std_panic"));
    let optimised = CudaBuilder::new(&checked).overflow_checks(true);
    assert!(build(optimised).contains("cuda_std_panic"));
}

#[test]
fn libm_becomes_libdevice_unless_it_may_not() {
    let source = "use cuda_std::prelude::*;\n#[kernel] pub unsafe fn power(x: *mut f32) { unsafe { *x = libm::exp2f(*x) } }";
    let folder = member("with_libm", "libm = \"0.2\"", source);
    let build = |overridden| {
        let builder = CudaBuilder::new(&folder).override_libm(overridden);
        text(builder.build().unwrap())
    };
    // libdevice's is one instruction of the GPU; libm's is a polynomial in double precision.
    let (overridden, own) = (build(true), build(false));
    assert!(
        overridden.contains("ex2.approx") && !overridden.contains(".f64"),
        "{overridden}"
    );
    assert!(
        own.contains("fma.rn.f64") && !own.contains("ex2.approx"),
        "{own}"
    );
}

#[test]
fn more_constant_memory_than_there_is_is_refused() {
    let build = |length: usize| {
        let source = format!(
            "#[cuda_std::address_space(constant)] pub static TABLE: [u32; {length}] = [3; {length}];
            #[kernel] pub unsafe fn pick(x: *mut u32, i: usize) {{ unsafe {{ *x = TABLE[i] }} }}"
        );
        build("large_constant", &source)
    };
    build(16384).unwrap();
    let error = build(16385).unwrap_err().to_string();
    assert!(error.contains("constant memory: 65540 bytes"), "{error}");
    assert!(error.contains("TABLE"), "{error}");
}

#[test]
fn statics_go_to_constant_memory_when_asked() {
    let source = with_prelude(
        "static PRIMES: [u32; 4] = [2, 3, 5, 7];
        #[kernel] pub unsafe fn pick(x: *mut u32) { unsafe { *x = PRIMES[*x as usize & 3] } }",
    );
    let folder = member("table", "", &source);
    let build = |constant| {
        let builder = CudaBuilder::new(&folder).use_constant_memory_space(constant);
        text(builder.build().unwrap())
    };
    let (constant, global) = (build(true), build(false));
    assert!(constant.contains("ld.const.b32"), "{constant}");
    assert!(
        !global.contains(".const") && global.contains("ld.global"),
        "{global}"
    );
}

#[test]
fn little_optimised_code_keeps_shared_memory_shared() {
    let source = with_prelude(
        "#[kernel] pub unsafe fn sum(x: &[f32], y: *mut f32) {
            let tile = shared_array![f32; 64];
            let mut sum = 0.0;
            for at in 0..x.len() { sum += x[at]; }
            unsafe { *tile.add(thread::thread_idx_x() as usize) = sum };
            thread::sync_threads();
            unsafe { *y = *tile };
        }",
    );
    let folder = member("loops", "", &source);
    let build = |optimised| {
        text(
            CudaBuilder::new(&folder)
                .nvvm_opts(optimised)
                .build()
                .unwrap(),
        )
    };
    let (optimised, plain) = (build(true), build(false));
    assert!(
        plain.contains("st.shared") && plain.contains("ld.shared"),
        "{plain}"
    );
    assert_ne!(optimised, plain);
}

/// A debugger needs types and variables, and an assembler that takes them.
#[test]
fn full_debug_information_is_dwarf_that_ptxas_takes() {
    if !whole_sweeps("full debug information, for which `core` is compiled again") {
        return;
    }
    let folder = member("debugged", "", &with_prelude(TILE));
    let builder = CudaBuilder::new(folder)
        .release(false)
        .debug(DebugInfo::Full);
    has_dwarf(builder.clone().nvvm_opts(true));
    has_dwarf(builder);
}

fn has_dwarf(builder: CudaBuilder) {
    let ptx = builder.build().unwrap();
    let dwarf = text(&ptx);
    assert!(
        dwarf.contains(".section .debug_info") || dwarf.contains(".section\t.debug_info"),
        "{dwarf}"
    );
    let assembler = ptxas::Ptxas::find_or_fetch(&repository().join("target/tools")).unwrap();
    let code = tempfile::NamedTempFile::new().unwrap();
    let output = Command::new(&assembler.path)
        .args(["-g", "-arch=sm_80", "-o"])
        .arg(code.path())
        .arg(&ptx)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // The source's own name of a variable is in the machine code's debug information.
    let machine_code = fs::read(code.path()).unwrap();
    assert!(machine_code.windows(5).any(|bytes| bytes == b"input"));
}

#[test]
fn what_cannot_be_had_is_refused_before_anything_runs() {
    let folder = workspace("none").join("nowhere");
    let refused = |builder: CudaBuilder, name: &str| {
        let error = builder.build().unwrap_err();
        assert!(
            matches!(&error, CudaBuilderError::Refused { option, .. } if *option == name),
            "{error}"
        );
    };
    refused(CudaBuilder::new(&folder).optix(true), "optix");
    refused(CudaBuilder::new(&folder).nvptx_32(true), "nvptx_32");
}

/// The compiler, LLVM and, for those that CUDA still has, ptxas know each architecture.
#[test]
fn every_architecture_is_one_of_the_compiler_and_of_llvm() {
    let toolchain = Toolchain::find().unwrap();
    let output = Command::new(&toolchain.rustc)
        .args(["--target", "nvptx64-nvidia-cuda", "--print", "target-cpus"])
        .output()
        .unwrap();
    let known = String::from_utf8_lossy(&output.stdout).into_owned();
    let assembler = ptxas::Ptxas::find_or_fetch(&repository().join("target/tools")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (module, ptx) = (
        folder.path().join("empty.ll"),
        folder.path().join("empty.ptx"),
    );
    fs::write(
        &module,
        "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @empty() {\n  ret void\n}\n",
    )
    .unwrap();
    for arch in NvvmArch::ALL {
        let cpu = arch.target_cpu();
        assert!(
            known
                .lines()
                .any(|line| line.split_whitespace().next() == Some(cpu)),
            "{cpu}\n{known}"
        );
        let mcpu = format!("-mcpu={cpu}");
        let status = Command::new(&toolchain.llc)
            .arg(&mcpu)
            .arg(&module)
            .arg("-o")
            .arg(&ptx)
            .status();
        assert!(status.unwrap().success(), "{cpu}");
        assert!(text(&ptx).contains(&format!(".target {cpu}\n")), "{cpu}");
        // CUDA 13 begins with 7.5, and renamed 10.1 to 11.0.
        if arch.capability_value() >= 75 && arch.capability_value() != 101 {
            let kernels = assembler.verify(&ptx).unwrap();
            assert_eq!(kernels.len(), 1, "{cpu}");
        }
    }
}

/// Such a GPU has neither orders nor scopes, and LLVM ends where a load or store has one: in each
/// kernel that may panic.
#[test]
fn ordered_atomics_build_for_gpus_without_orders() {
    if !whole_sweeps("ordered atomics on GPUs before 7.0, each with a `core` of its own") {
        return;
    }
    let source = "use core::sync::atomic::{AtomicU32, Ordering::*};
        #[kernel] pub unsafe fn ordered(flags: &[AtomicU32], out: *mut u32) {
            let first = flags[0].load(Acquire) + flags[1].load(SeqCst);
            flags[2].store(first, Release);
            flags[3].store(first, SeqCst);
            let old = flags[4].fetch_add(first, AcqRel);
            let swapped = flags[5].compare_exchange(old, first, SeqCst, Acquire).is_ok();
            unsafe { *out = old + u32::from(swapped) };
        }";
    let folder = member("before_orders", "", &with_prelude(source));
    for arch in [NvvmArch::Compute50, NvvmArch::Compute61] {
        let builder = CudaBuilder::new(&folder).generate_line_info(false);
        let ptx = text(builder.arch(arch).build().unwrap());
        let count = |what: &str| ptx.matches(what).count();
        assert!(count("membar.sys") >= 8, "{ptx}");
        assert!(count(".acquire") + count(".release") == 0, "{ptx}");
        assert!(
            count("ld.volatile") >= 2 && count("st.volatile") >= 2,
            "{ptx}"
        );
    }
}

/// What an outer cargo or the user set for other code is not for the device.
#[test]
fn flags_and_wrappers_of_the_surroundings_do_not_reach_the_device() {
    if let Some(folder) = child_folder() {
        CudaBuilder::new(folder).build().unwrap();
        return;
    }
    let folder = member("sheltered", "", &with_prelude(TILE));
    let output = in_child(
        "options::flags_and_wrappers_of_the_surroundings_do_not_reach_the_device",
        &folder,
        &[
            ("RUSTFLAGS", "-Ctarget-cpu=no-such-cpu --no-such-flag"),
            ("CARGO_ENCODED_RUSTFLAGS", "--no-such-flag"),
            ("CARGO_BUILD_TARGET", "no-such-target"),
            ("RUSTC_WRAPPER", "/no/such/wrapper"),
            ("CARGO_PROFILE_RELEASE_PANIC", "unwind"),
        ],
    );
    // And cargo gets the files to watch, as in any build script.
    let stdout = assert_success(&output);
    for file in ["Cargo.toml", "src/lib.rs"] {
        let line = format!(
            "cargo:rerun-if-changed={}",
            folder.canonicalize().unwrap().join(file).display()
        );
        assert!(stdout.contains(&line), "{line}\n{stdout}");
    }
    assert!(
        stdout.contains("cuda_std/src/thread.rs"),
        "local dependencies too: {stdout}"
    );
}

/// Flags for the device alone have no effect; a warning says so, and where they stand.
#[test]
fn flags_for_the_device_in_settings_are_named() {
    if let Some(folder) = child_folder() {
        CudaBuilder::new(folder).build().unwrap();
        return;
    }
    let folder = member("with_flags", "", &with_prelude(TILE));
    let settings = folder.canonicalize().unwrap().join(".cargo/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let text = "[target.nvptx64-nvidia-cuda]\nrustflags = [\"--no-such-flag\"]\n";
    fs::write(&settings, text).unwrap();
    let name = "options::flags_for_the_device_in_settings_are_named";
    let variable = "CARGO_TARGET_NVPTX64_NVIDIA_CUDA_RUSTFLAGS";
    let output = in_child(name, &folder, &[(variable, "--no-such-flag")]);
    let stdout = assert_success(&output);
    for line in [
        format!(
            "cargo:warning=`target.nvptx64-nvidia-cuda.rustflags` in {} has no effect on kernels; rustc's flags",
            settings.display()
        ),
        format!("cargo:warning=`{variable}` in the environment has no effect on kernels; "),
        format!("cargo:rerun-if-changed={}\n", settings.display()),
    ] {
        assert!(stdout.contains(&line), "{line}\n{stdout}");
    }
    fs::remove_file(settings).unwrap();
    let stdout = assert_success(&in_child(name, &folder, &[]));
    assert!(!stdout.contains("warning="), "{stdout}");
}

/// A kernel without mathematical functions builds where there is no libdevice; one with some says
/// what is missing.
#[test]
fn only_mathematical_functions_need_libdevice() {
    if let Some(folder) = child_folder() {
        match CudaBuilder::new(folder).build() {
            Ok(_) => println!("built"),
            Err(error) => println!("refused: {error}"),
        }
        return;
    }
    let missing = [(variables::LIBDEVICE, "/no/such/libdevice.bc")];
    let child = |folder| {
        let name = "options::only_mathematical_functions_need_libdevice";
        assert_success(&in_child(name, folder, &missing))
    };
    let plain = member("plain", "", &with_prelude(TILE));
    assert!(child(&plain).contains("built"));
    let source = "#[kernel] pub unsafe fn sine(x: *mut f32) { unsafe { *x = (*x).sin() } }";
    let sine = member("sine", "", &with_prelude(source));
    let message = child(&sine);
    assert!(
        message.contains("refused: ")
            && message.contains(variables::LIBDEVICE)
            && message.contains("/no/such/libdevice.bc"),
        "{message}"
    );
}

/// A copy that cannot be written says where it was to go.
#[test]
fn a_copy_goes_where_it_is_told_or_the_error_says_where() {
    let ptx = build("copied", TILE).unwrap();
    let folder = workspace("copied").join("members/copied");
    let new = || CudaBuilder::new(&folder).generate_line_info(false);
    let copy = workspace("copied").join("a new folder/copied.ptx");
    assert_eq!(new().copy_to(&copy).build().unwrap(), copy);
    assert_eq!(text(&copy), text(ptx));
    let time = fs::metadata(&copy).unwrap().modified().unwrap();
    new().copy_to(&copy).build().unwrap();
    assert_eq!(
        fs::metadata(&copy).unwrap().modified().unwrap(),
        time,
        "unchanged"
    );
    let error = new()
        .copy_to(folder.join("Cargo.toml/copied.ptx"))
        .build()
        .unwrap_err();
    assert!(error.to_string().contains("Cargo.toml"), "{error}");
}

#[test]
fn kernels_that_are_left_out_leave_no_record() {
    let source = "#[kernel] pub unsafe fn first(x: *mut u32) { unsafe { *x = 1 } }
                  #[kernel] pub unsafe fn second(x: *mut u32) { unsafe { *x = 2 } }";
    let folder = member("chosen", "", &with_prelude(source));
    let ptx = |only: &[&str]| {
        let builder = CudaBuilder::new(&folder).generate_line_info(false);
        text(builder.only(only).build().unwrap())
    };
    let all = ptx(&[]);
    assert!(all.contains("second__signature"), "{all}");
    let one = ptx(&["first"]);
    assert!(one.contains("first__signature"), "{one}");
    assert!(!one.contains("second"), "{one}");
}
