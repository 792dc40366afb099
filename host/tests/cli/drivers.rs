//! Drivers that fail: what the command says of each reason, and what it advises.
//!
//! The driver is `tests/fake_driver/driver.rs`, built here by rustc.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::command::{Run, program, vector};

/// The driver functions that the loader's `api.rs` defines, read from its text.
fn forwarded() -> BTreeSet<String> {
    let list = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/libcuda_loader/src/api.rs"
    );
    let list = fs::read_to_string(list).expect("the loader's list");
    let names = list.split("fn cu").skip(1);
    let mut names: BTreeSet<String> = names
        .filter_map(|rest| rest.split('(').next())
        .map(|name| format!("cu{name}"))
        .collect();
    names.insert("cuGetErrorString".into());
    assert!(names.len() > 100, "{names:?}");
    names
}

/// Builds the driver without the function `lacking`.
fn build(file: &str, lacking: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let special = include_str!("../fake_driver/driver.rs");
    let mut source = special.to_owned();
    for name in forwarded() {
        let is_special = special.contains(&format!(" {name}("))
            || special.contains(&format!(" {name} "))
            || special.contains(&format!(" {name}\n"));
        if name == lacking {
            assert!(!is_special, "{name} is in driver.rs");
        } else if !is_special {
            source += &format!(
                "#[unsafe(no_mangle)] extern \"C\" fn {name}() -> c_uint {{ answer(\"{name}\") }}\n"
            );
        }
    }
    let text = folder.join(file).with_extension("rs");
    fs::write(&text, source).expect("a file");
    let library = folder.join(format!("lib{file}.so.1"));
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let built = Command::new(rustc)
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "cdylib",
            "--crate-name",
            file,
        ])
        .arg("-o")
        .args([&library, &text])
        .output()
        .expect("rustc");
    assert!(built.status.success(), "{built:?}");
    library
}

/// A driver with every function.
fn driver() -> &'static Path {
    static DRIVER: OnceLock<PathBuf> = OnceLock::new();
    DRIVER.get_or_init(|| build("fake_driver", ""))
}

/// Runs the command with a driver whose calls fail as `failing` says.
fn with(library: &Path, failing: &str, line: &str) -> Run {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.npy"), vector(&[1.0, 2.0])).unwrap();
    let mut command = program();
    command
        .args(line.split_whitespace())
        .current_dir(folder.path())
        .env_remove("CUDA_VISIBLE_DEVICES")
        .env("BLOCKWISE_LIBCUDA", library)
        .env("FAKE_DRIVER", failing);
    Run::of(&mut command)
}

/// Runs `blockwise sum` on a GPU whose driver fails as `failing` says. Its error and its hint
/// contain these words.
#[track_caller]
fn says(failing: &str, error: &[&str], hint: &[&str]) {
    let run = with(driver(), failing, "sum x.npy --device gpu");
    run.refused(error[0]);
    let (first, second) = run.stderr.split_once("\nhint: ").expect("a hint");
    for word in error {
        assert!(first.contains(word), "`{word}` is not in: {first}");
    }
    for word in hint {
        assert!(second.contains(word), "`{word}` is not in: {second}");
    }
}

#[test]
fn a_driver_that_works_is_listed_with_its_file() {
    let run = with(driver(), "", "devices").ends(0);
    assert!(run.stdout.contains("gpu: Fake GPU"), "{run:?}");
    let file = driver().canonicalize().expect("its file");
    assert!(run.stdout.contains(&file.display().to_string()), "{run:?}");
}

#[test]
fn each_reason_for_no_gpu_has_its_own_words_and_advice() {
    let none = "no CUDA GPU can be used";
    let code = |text| [none, text];
    says(
        "cuInit=100",
        &code("CUDA_ERROR_NO_DEVICE (100)"),
        &["nvidia-smi", "--gpus all"],
    );
    says(
        "cuInit=34",
        &code("CUDA_ERROR_STUB_LIBRARY"),
        &["stub", "LD_LIBRARY_PATH"],
    );
    says(
        "cuInit=803",
        &code("(803)"),
        &["different versions", "reboot"],
    );
    says("cuInit=804", &code("(804)"), &["compatibility library"]);
    says("cuInit=802", &code("(802)"), &["nvidia-fabricmanager"]);
    says("cuInit=999", &code("(999)"), &["suspended", "nvidia_uvm"]);
    says("cuInit=304", &code("(304)"), &["/dev/nvidia*"]);
    says("cuInit=3", &code("(3)"), &["forked"]);
    says("cuInit=805", &code("(805)"), &["MPS"]);
    says(
        "cuDevicePrimaryCtxRetain=46",
        &code("(46)"),
        &["another process", "compute mode"],
    );
    says("cuDevicePrimaryCtxRetain=102", &code("(102)"), &["licence"]);
    says(
        "cuDevicePrimaryCtxRetain=2",
        &code("(2)"),
        &["end other processes"],
    );
    says(
        "cuStreamCreateWithPriority=2",
        &code("(2)"),
        &["end other processes"],
    );
    // A release that fails afterwards does not hide the reason.
    says(
        "cuCtxSetCurrent=2 cuDevicePrimaryCtxRelease_v2=4",
        &["cuCtxSetCurrent returned CUDA_ERROR_OUT_OF_MEMORY"],
        &["end other processes"],
    );
    says(
        "cuInit=12345",
        &code("12345"),
        &["nvidia-smi", "--device emulator"],
    );
}

#[test]
fn an_ordinal_that_is_not_there_is_told_with_those_that_are() {
    let run = with(driver(), "", "sum x.npy --device gpu:3");
    run.refused("there is no gpu:3: the driver has one GPU, gpu:0");
    let mut command = program();
    command
        .args(["devices", "--device", "gpu:3"])
        .env("BLOCKWISE_LIBCUDA", driver())
        .env("FAKE_GPUS", "2")
        .env("CUDA_VISIBLE_DEVICES", "0,1");
    let run = Run::of(&mut command);
    run.refused("there is no gpu:3: the driver has 2 GPUs, gpu:0 to gpu:1 (CUDA_VISIBLE_DEVICES is \"0,1\")");
    assert!(run.stderr.contains("unset it, or name others"), "{run:?}");
}

/// The driver also answers 101, the code for a GPU that does not exist, for one that exists and
/// cannot be used.
#[test]
fn a_gpu_that_is_there_and_called_invalid_is_not_told_as_missing() {
    let failing = ["cuEventCreate=101", "cuDevicePrimaryCtxRetain=101"];
    for failing in failing {
        let run = with(driver(), failing, "sum x.npy --device gpu");
        run.refused("CUDA_ERROR_INVALID_DEVICE (101)");
        let call = failing.split('=').next().expect("a call");
        assert!(run.stderr.contains(call), "{run:?}");
        assert!(run.stderr.contains("nvidia-smi"), "{run:?}");
        for wrong in ["there is no gpu:0", "choose one of those"] {
            assert!(!run.stderr.contains(wrong), "{run:?}");
        }
    }
}

#[test]
fn gpus_that_are_hidden_are_told_with_the_variable() {
    let mut command = program();
    command
        .args(["devices", "--device", "gpu"])
        .env("BLOCKWISE_LIBCUDA", driver())
        .env("FAKE_DRIVER", "cuInit=100")
        .env("CUDA_VISIBLE_DEVICES", "");
    let run = Run::of(&mut command);
    run.refused("CUDA_VISIBLE_DEVICES is \"\"");
    assert!(run.stderr.contains("unset it"), "{run:?}");
}

#[test]
fn a_driver_without_gpus_is_told_from_no_driver() {
    let run = |line: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x.npy"), vector(&[1.0, 2.0])).unwrap();
        let mut command = program();
        command
            .args(line.split_whitespace())
            .current_dir(folder.path())
            .env_remove("CUDA_VISIBLE_DEVICES")
            .env("BLOCKWISE_LIBCUDA", driver())
            .env("FAKE_GPUS", "0");
        Run::of(&mut command)
    };
    for line in [
        "sum x.npy --device gpu",
        "sum x.npy --device gpu:1",
        "sum x.npy --gpus all",
        "sum x.npy --gpus 2 --device gpu",
        "bench --quick",
        "tune",
    ] {
        let run = run(line);
        run.refused("the driver sees no GPU");
        assert!(run.stderr.contains("nvidia-smi"), "{run:?}");
    }
    // With neither `--device` nor `--gpus all` the command falls back to emulators; `devices` says
    // why.
    let alone = run("sum x.npy").ends(0);
    assert!(alone.stderr.contains("using the emulator"), "{alone:?}");
    let two = run("sum x.npy --gpus 2").ends(0);
    assert!(two.stderr.contains("using 2 emulated devices"), "{two:?}");
    let listed = run("devices").ends(0);
    assert!(
        listed.stdout.contains("the driver sees no GPU"),
        "{listed:?}"
    );
}

#[test]
fn no_driver_and_all_gpus_says_why_there_is_none() {
    let absent = Path::new("/absent/libcuda.so.1");
    let run = with(absent, "", "sum x.npy --gpus all");
    run.refused("/absent/libcuda.so.1");
    assert!(run.stderr.contains("--gpus N"), "{run:?}");
    let run = with(absent, "", "sum x.npy --device gpu");
    run.refused("no CUDA driver library could be loaded");
    for word in [
        "install the NVIDIA driver",
        "BLOCKWISE_LIBCUDA",
        "--device emulator",
    ] {
        assert!(run.stderr.contains(word), "{run:?}");
    }
}

#[test]
fn a_function_that_is_missing_on_purpose_is_blamed_for_nothing_else() {
    // Opening a GPU sets how threads wait for it. A driver that cannot set this is no failure.
    let library = build("fake_old_driver", "cuDevicePrimaryCtxSetFlags_v2");
    with(&library, "", "devices --device gpu").ends(0);
    let run = with(
        &library,
        "cuStreamCreateWithPriority=2",
        "sum x.npy --device gpu",
    );
    run.refused("CUDA_ERROR_OUT_OF_MEMORY");
    assert!(!run.stderr.contains("SetFlags"), "{run:?}");
}

#[test]
fn a_function_that_is_needed_and_missing_is_named() {
    let library = build("fake_older_driver", "cuEventQuery");
    let run = with(&library, "", "sum x.npy --device gpu");
    run.refused("has no function cuEventQuery");
    assert!(run.stderr.contains("too old"), "{run:?}");
}

#[test]
fn a_module_that_is_refused_has_the_reason_s_advice() {
    let refused = ["gpu:0 (Fake GPU) rejects"];
    for (code, advice) in [
        (209, "this one's compute capability"),
        (221, "libnvidia-ptxjitcompiler.so.1"),
        (223, "CUDA_DISABLE_PTX_JIT"),
        (200, "damaged"),
        (218, "`ptxas`"),
        (300, "`ptxas`"),
        (301, "install all of the driver"),
        (302, "of another version"),
        (303, "of another version"),
        (801, "virtualisation"),
    ] {
        let fails = format!("cuModuleLoadData={code} cuModuleLoadDataEx={code}");
        says(&fails, &refused, &[advice]);
    }
}

/// Drivers older than CUDA 11.1 report PTX that is too new as invalid PTX: 218 instead of 222.
#[test]
fn ptx_that_is_too_new_is_told_with_both_drivers() {
    let run = |cuda: &str, code: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x.npy"), vector(&[1.0, 2.0])).unwrap();
        let mut command = program();
        command
            .args(["sum", "x.npy", "--device", "gpu"])
            .current_dir(folder.path())
            .env_remove("CUDA_VISIBLE_DEVICES")
            .env("BLOCKWISE_LIBCUDA", driver())
            .env("FAKE_CUDA", cuda)
            .env(
                "FAKE_DRIVER",
                format!("cuModuleLoadData={code} cuModuleLoadDataEx={code}"),
            );
        Run::of(&mut command)
    };
    for code in ["218", "222"] {
        let run = run("10020", code);
        run.refused("its PTX is of version 7.0");
        for words in [
            "must have CUDA 11.0, as 450 and newer do",
            "this driver has CUDA 10.2",
        ] {
            assert!(run.stderr.contains(words), "{run:?}");
        }
    }
    // A driver that is new enough has other reasons.
    let run = run("13000", "218");
    run.refused("(218)");
    assert!(!run.stderr.contains("newer do"), "{run:?}");
}

#[test]
fn memory_that_is_full_is_told_with_what_is_free() {
    says(
        "cuMemAlloc_v2=2",
        &[
            "gpu:0 (Fake GPU) has no room for",
            "1.0 GiB of 8.0 GiB are free",
        ],
        &["end other processes", "lower --chunk"],
    );
    let run = with(driver(), "cuMemAlloc_v2=2", "sum x.npy --device gpu");
    assert!(
        run.stderr
            .contains("this program has 0 bytes, the driver and other processes 7.0 GiB"),
        "{run:?}"
    );
}

#[test]
fn faults_of_the_machine_are_not_blamed_on_the_kernel() {
    let fails = |code: u32| format!("cuEventQuery={code}");
    let gpu = ["gpu:0 (Fake GPU)"];
    says(
        &fails(214),
        &gpu,
        &["the GPU's memory failed, not the kernel", "ECC"],
    );
    says(
        &fails(220),
        &gpu,
        &["a link between GPUs failed, not the kernel"],
    );
    says(&fails(702), &gpu, &["display"]);
    says(&fails(999), &gpu, &["suspended"]);
    says(&fails(46), &gpu, &["another process"]);
    says(&fails(304), &gpu, &["/dev/nvidia*"]);
    says(&fails(806), &gpu, &["MPS"]);
    says(&fails(700), &gpu, &["the kernel failed on the GPU"]);
}

/// The fake driver's kernels do nothing, so each check fails. Its clock says 1 ms for 20 calls:
/// 50 µs each.
#[test]
fn a_demo_on_a_gpu_has_a_column_of_speed() {
    let run = with(driver(), "", "demo shared --device gpu").ends(1);
    let lines: Vec<_> = run.stdout.lines().collect();
    let heading = lines
        .iter()
        .find(|line| line.contains("experiment"))
        .expect("a heading");
    let end = heading.find("speed").expect("the column") + "speed".len();
    let sized = |size: &str| {
        let line = lines
            .iter()
            .find(|line| line.contains(size))
            .expect("a row");
        line[..line.char_indices().nth(end).expect("a cell").0].trim_end()
    };
    // 64 and 100,003 elements of four bytes, read and written, in 50 µs.
    assert!(sized(" 64 u32").ends_with("10.2 MB/s"), "{}", run.stdout);
    assert!(sized("100003 u32").ends_with("16.0 GB/s"), "{}", run.stdout);
    assert!(run.stdout.contains("20 calls in a row"), "{}", run.stdout);
    let json = with(driver(), "", "demo tiling --device gpu --json")
        .ends(1)
        .json();
    let rows = json["rows"].as_array().expect("rows");
    let of = |size: &str| rows.iter().find(|row| row["size"] == size).expect("a row");
    // 2 * 1024^3 operations in 50 µs.
    let product = &of("1024x1024 * 1024x1024")["speed"];
    assert_eq!(product["unit"], "FLOP/s");
    let per_second = product["per_second"].as_f64().expect("a number");
    assert!(
        (per_second / (2_f64.powi(31) / 50e-6) - 1.0).abs() < 1e-6,
        "{per_second}"
    );
    assert_eq!(of("1000x701 f32")["speed"]["unit"], "B/s");
}

/// Copies of a few bytes go through page-locked memory. One from the GPU waits for its own event.
#[test]
fn a_small_copy_that_fails_says_what_was_done_and_why() {
    let device = "gpu:0 (Fake GPU)";
    let copy = [device, "copying to the GPU", "cuMemcpyHtoDAsync_v2"];
    says("cuMemcpyHtoDAsync_v2=700", &copy, &["the kernel failed"]);
    let back = [device, "copying from the GPU", "cuMemcpyDtoHAsync_v2"];
    says("cuMemcpyDtoHAsync_v2=214", &back, &["ECC"]);
    let pinned = with(driver(), "cuMemAllocHost_v2=2", "sum x.npy --device gpu");
    pinned.refused("the host has no room for");
    assert!(pinned.stderr.contains("free host memory"), "{pinned:?}");
    let event = [device, "cuEventSynchronize"];
    says(
        "cuEventSynchronize=700",
        &event,
        &["the kernel failed on the GPU"],
    );
}
