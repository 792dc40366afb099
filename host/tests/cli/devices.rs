//! Devices, demos, and what is not about files.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use blockwise::Device;

use crate::command::{Run, blockwise, names, npy, program, vector, with_mistake};

#[test]
fn the_emulator_is_described() {
    let run = Run::line(Path::new("."), "devices --json").ends(0);
    let emulator = &run.json()["devices"][0];
    assert_eq!(emulator["kind"], "emulator");
    assert_eq!(emulator["shared_bytes_per_block"], 49_152);
    assert_eq!(emulator["max_threads_per_block"], 1024);
}

#[test]
fn a_gpu_that_is_asked_for_and_not_there_is_one_line() {
    if Device::gpu(0).is_ok() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: no GPU: this machine has one");
        return;
    }
    let gpu = |line: &str| Run::of(program().args(line.split_whitespace()));
    gpu("devices --device gpu").refused("no CUDA GPU can be used");
    gpu("demo shared --device gpu:3").refused("no CUDA GPU can be used");

    // Left to itself the command takes the emulator and says so.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.npy"), vector(&[1.0, 2.0])).unwrap();
    let run = Run::of(program().args(["sum", "x.npy"]).current_dir(folder.path())).ends(0);
    assert_eq!(run.stdout, "3\n");
    assert!(run.stderr.contains("using the emulator"), "{run:?}");
    assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    let listed = Run::of(program().args(["devices", "--json"])).ends(0);
    let listed = listed.json();
    assert_eq!(listed["devices"][0]["device"], "emulator");
    let missing = listed["missing"][0].as_str().expect("a reason");
    assert!(missing.contains("no CUDA GPU can be used"), "{missing}");
}

#[test]
fn a_copied_program_runs_alone() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    std::fs::copy(env!("CARGO_BIN_EXE_blockwise"), &copy).expect("a copy");
    let mut command = Command::new(&copy);
    command.args(["demo", "shared", "--device", "emulator"]);
    let run = Run::of(command.env_clear().current_dir(folder.path())).ends(0);
    assert!(run.stdout.ends_with("checks passed\n"), "{run:?}");
    assert_eq!(names(folder.path()), ["copy"]);
}

#[test]
fn ptx_of_the_users_takes_the_embedded_kernels_place() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data: Vec<u8> = [1.0_f32, 2.0].map(f32::to_le_bytes).concat();
    let x = npy("'<f4'", "False", "(2,)", &data);
    std::fs::write(at.join("x.npy"), x).unwrap();
    let broken = with_mistake(at, "sum_tree_f32");
    let sum = || {
        let mut command = blockwise(["sum", "x.npy", "--kernel", "tree"]);
        command.current_dir(at);
        command
    };
    let embedded = Run::of(&mut sum()).ends(0);
    assert_eq!((&*embedded.stdout, &*embedded.stderr), ("3\n", ""));
    let own = [
        Run::of(sum().arg("--ptx").arg(&broken)),
        Run::of(sum().arg("--ptx").arg(at)),
        Run::of(sum().env("BLOCKWISE_PTX_DIR", at)),
    ];
    for run in own {
        assert_ne!(run.stdout, "3\n", "{run:?}");
        assert!(run.stderr.starts_with("kernels from "), "{run:?}");
    }
    let empty = tempfile::tempdir().unwrap();
    let refused = Run::of(sum().env("BLOCKWISE_PTX_DIR", empty.path()));
    refused.refused(&empty.path().display().to_string());
}

#[test]
fn every_demo_passes_and_the_filter_is_plotted() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::of(blockwise(["demo", "--json", "--plot"]).arg(folder.path())).ends(0);
    let json = run.json();
    let rows = json["rows"].as_array().expect("rows");
    assert_eq!(json["pass"], true);
    let readme = include_str!("../../../README.md");
    let counted = format!("five tutorials' kernels, checks {} results", rows.len());
    assert!(readme.contains(&counted), "{counted}");
    for experiment in [
        "two tones, full",
        "gain at 50 Hz",
        "gain at 7000 Hz",
        "dot = 25725848529920",
        "matrix product",
        "transpose",
        "reverse",
    ] {
        assert!(
            rows.iter()
                .any(|row| row["experiment"] == experiment && row["pass"] == true),
            "{experiment}: {json}"
        );
    }
    let plots = names(folder.path());
    let expected: Vec<String> = ["signal", "spectrum"]
        .iter()
        .flat_map(|name| [format!("{name}.png"), format!("{name}.svg")])
        .collect();
    assert_eq!(plots, expected);
}

#[test]
fn wrong_usage_is_exit_code_2_and_help_is_0() {
    let run = |line: &str| Run::line(Path::new("."), line);
    for line in [
        "",
        "frobnicate",
        "conv",
        "demo everything",
        "sum x.npy --device tpu",
    ] {
        run(line).ends(2);
    }
    run("demo shared --plot plots").refused("nothing to plot");
    run("sum x.npy --ptx /no/such/file").refused("");
    assert!(run("--help").ends(0).stdout.contains("transpose"));
    run("--version").ends(0);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = blockwise(["devices"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{errors}");
    assert_eq!(output.status.code(), Some(0), "{errors}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_standard_output_is_an_error() {
    let full = std::fs::File::create("/dev/full").expect("Linux has it");
    let status = blockwise(["devices"])
        .stdout(full)
        .stderr(Stdio::null())
        .status();
    assert_eq!(status.expect("it ends").code(), Some(2));
}
