//! `--gpus`: the same results from several devices, emulated here.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{Run, blockwise, fixture, names, npy, vector};

/// Convolves fixtures; the bytes of the output.
#[track_caller]
fn convolved(folder: &Path, signal: &str, taps: &str, rest: &str) -> Vec<u8> {
    let out = folder
        .join("out")
        .with_extension(Path::new(signal).extension().unwrap());
    let mut command = blockwise(["conv", "--kernel", "direct", "-o"]);
    command
        .arg(&out)
        .args([fixture(signal), fixture(taps)])
        .args(rest.split_whitespace());
    Run::of(&mut command).ends(0);
    fs::read(out).unwrap()
}

#[test]
fn a_convolution_is_one_devices_bit_by_bit() {
    let folder = tempfile::tempdir().unwrap();
    for case in ["conv_f32", "conv_longer_taps"] {
        let (signal, taps) = (format!("{case}_signal.npy"), format!("{case}_taps.npy"));
        for mode in ["full", "same", "valid"] {
            let run = |rest: &str| {
                let rest = format!("--mode {mode} --chunk 64 {rest}");
                convolved(folder.path(), &signal, &taps, &rest)
            };
            let whole = run("");
            for gpus in [3, 8] {
                let reference = format!(
                    "--gpus {gpus} --reference {}",
                    fixture(&format!("{case}_{mode}.npy")).display()
                );
                assert!(run(&reference) == whole, "{case}, {mode}, {gpus} devices");
            }
        }
    }
}

#[test]
fn a_recording_is_divided_in_every_channel() {
    let folder = tempfile::tempdir().unwrap();
    let run = |rest: &str| {
        let signal = "stereo_24bit_48k.wav";
        convolved(folder.path(), signal, "lowpass_101.npy", rest)
    };
    assert!(run("--gpus 3") == run(""));
}

#[test]
fn reductions_of_every_length_are_divided() {
    let folder = tempfile::tempdir().unwrap();
    for len in [2, 1000] {
        let values: Vec<f64> = (0..len).map(|i| f64::from(i * 7 % 31)).collect();
        fs::write(folder.path().join("x.npy"), vector(&values)).unwrap();
        for command in ["sum x.npy", "min x.npy", "max x.npy", "dot x.npy x.npy"] {
            let run = |rest: &str| {
                let line = format!("{command} --chunk 100 {rest}");
                Run::line(folder.path(), &line).ends(0).stdout
            };
            let whole = run("");
            for gpus in [1, 3] {
                assert_eq!(
                    run(&format!("--gpus {gpus}")),
                    whole,
                    "{command}, {gpus} devices"
                );
            }
        }
    }
    let one = Run::line(folder.path(), "--json sum x.npy --gpus 4")
        .ends(0)
        .json();
    let device = one["device"].as_str().unwrap().to_owned();
    assert!(device.starts_with("4 x "), "{device}");
}

#[test]
fn a_divided_sum_is_compared_with_its_reference() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, values: &[f64]| {
        fs::write(folder.path().join(name), vector(values)).unwrap();
    };
    let values: Vec<f64> = (0..300_000).map(|i| 1.0 / f64::from(i + 1)).collect();
    write("x.npy", &values);
    let sum: f64 = values.iter().sum();
    write("right.npy", &[sum]);
    write("wrong.npy", &[sum + 1e-6]);
    Run::line(folder.path(), "sum x.npy --gpus 3 --reference right.npy").ends(0);
    Run::line(folder.path(), "sum x.npy --gpus 3 --reference wrong.npy").ends(1);
    Run::line(
        folder.path(),
        "dot x.npy x.npy --gpus 3 --reference wrong.npy",
    )
    .ends(1);
}

/// A job whose variables are absurd, or whose ranks would meet where anybody can come, ends at once.
#[test]
fn variables_that_make_no_job_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.npy"), vector(&[1.0, 2.0])).unwrap();
    let with = |changes: &[(&str, &str)]| {
        let mut command = rank(0, 7000, folder.path(), "sum x.npy --meeting-timeout 1");
        Run::of(command.envs(changes.iter().copied()))
    };
    for (name, value, why) in [
        (
            "WORLD_SIZE",
            "999999999999",
            "a mesh has 1024 ranks at most",
        ),
        ("WORLD_SIZE", "1025", "a mesh has 1024 ranks at most"),
        (
            "RANK",
            "999999999999",
            "`RANK` is 999999999999, `WORLD_SIZE` is 2",
        ),
        ("LOCAL_RANK", "4000000000", "`LOCAL_RANK` is 4000000000"),
        (
            "BLOCKWISE_MESH_ADDRESS",
            "127.0.0.1:99999",
            "`host:port` is wanted",
        ),
        ("BLOCKWISE_MESH_ADDRESS", "node7:7000", "it needs a secret"),
        ("BLOCKWISE_MESH_SECRET", "guess", "16 to 4096 are wanted"),
        ("BLOCKWISE_MESH_SECRET_FILE", "/dev/zero", "no regular file"),
    ] {
        let run = with(&[(name, value)]);
        run.refused(why);
    }
    let run = with(&[("BLOCKWISE_MESH_ADDRESS", "node7:7000")]);
    assert!(
        run.stderr.contains("export BLOCKWISE_MESH_SECRET="),
        "{run:?}"
    );
    // Who has not come is named after the time that was given.
    with(&[]).refused("ranks [1] have not come within 1 s");
}

/// A rank of a job of two, as torchrun starts it.
fn rank(rank: usize, port: u16, folder: &Path, line: &str) -> Command {
    let mut command = blockwise(line.split_whitespace());
    command
        .current_dir(folder)
        .env("RANK", rank.to_string())
        .env("WORLD_SIZE", "2")
        .env("LOCAL_RANK", rank.to_string())
        .env("BLOCKWISE_MESH_ADDRESS", format!("127.0.0.1:{port}"));
    command
}

/// Runs a command on two ranks, the second of which may be given another one.
fn job(folder: &Path, lines: [&str; 2]) -> [Run; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let mut second = rank(1, port, folder, lines[1]);
    let second = second.stdout(Stdio::piped()).stderr(Stdio::piped());
    let second = second.spawn().unwrap();
    let first = Run::of(&mut rank(0, port, folder, lines[0]));
    let output = second.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let second = Run {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    };
    [first, second]
}

#[test]
fn a_launchers_ranks_do_the_work_of_one_process_and_one_speaks() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<f64> = (0..900).map(|i| f64::from(i * 7 % 31)).collect();
    fs::write(folder.path().join("x.npy"), vector(&values)).unwrap();
    fs::write(folder.path().join("taps.npy"), vector(&values[..31])).unwrap();
    for line in [
        "sum x.npy --reference sum.npy",
        "conv x.npy taps.npy -o y.npy --mode full --chunk 100 --reference z.npy",
    ] {
        let sum: f64 = values.iter().sum();
        fs::write(folder.path().join("sum.npy"), vector(&[sum])).unwrap();
        let alone = Run::line(folder.path(), "conv x.npy taps.npy -o z.npy --mode full");
        alone.ends(0);
        let [first, second] = job(folder.path(), [line, line]);
        let first = first.ends(0);
        assert!(first.stdout.contains("agrees with"), "{first:?}");
        let second = second.ends(0);
        assert_eq!(second.stdout, "", "{second:?}");
    }
    let [one, two] = ["y.npy", "z.npy"].map(|name| fs::read(folder.path().join(name)).unwrap());
    assert!(one == two);
}

/// Ranks with unlike work, and one that fails: both end with the reason, and there is no output.
#[test]
fn a_failing_rank_leaves_no_half_written_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.npy"), vector(&[1.0; 500])).unwrap();
    fs::write(folder.path().join("other.npy"), vector(&[1.0; 400])).unwrap();
    let good = "conv x.npy x.npy -o y.npy";
    let [first, second] = job(folder.path(), [good, "sum other.npy"]);
    first.refused("ranks 0 and 1 do not call the same");
    assert_eq!(second.code, Some(2));
    let [first, second] = job(folder.path(), [good, "conv x.npy other.npy -o y.npy"]);
    first.refused("(other lengths): rank 0 calls `conv --mode same` [500, 500, 1]");
    second.refused("rank 1 calls `conv --mode same` [500, 400, 1]");
    let full = "conv x.npy x.npy -o y.npy --mode full";
    let kernel = "conv x.npy x.npy -o y.npy --mode full --kernel block-per-output";
    let [first, second] = job(folder.path(), [full, kernel]);
    first.refused("rank 1 has failed: kernel `block-per-output`");
    second.refused("computes all outputs at once");
    assert_eq!(names(folder.path()), ["other.npy", "x.npy"]);
}

#[test]
fn nothing_is_nothing_on_several_devices_too() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("x.npy"),
        npy("'<i8'", "False", "(0,)", &[]),
    )
    .unwrap();
    let sum = Run::line(folder.path(), "sum x.npy --gpus 3").ends(0);
    assert_eq!(sum.stdout, "0\n");
    Run::line(folder.path(), "min x.npy --gpus 3").refused("minimum or maximum is empty");
}

/// Each rank would do all of it, and write the one file.
#[test]
fn what_one_device_does_is_refused_to_a_jobs_ranks() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.npy"), vector(&[1.0, 2.0, 3.0])).unwrap();
    for (what, line) in [
        ("sum --axis", "sum x.npy --axis 0 -o y.npy"),
        ("min --axis", "min x.npy --axis -1 -o y.npy"),
        ("max --axis", "max x.npy --axis 0 -o y.csv"),
        ("reverse", "reverse x.npy -o y.npy"),
    ] {
        for number in [0, 1] {
            let run = Run::of(&mut rank(number, 7000, folder.path(), line));
            run.refused(&format!(
                "this is rank {number} of 2 (torchrun), and `{what}`"
            ));
            assert!(run.stderr.contains("without the launcher"), "{run:?}");
        }
        assert_eq!(names(folder.path()), ["x.npy"]);
    }
    // A job of one is none.
    let mut alone = rank(0, 7000, folder.path(), "reverse x.npy -o y.npy");
    Run::of(alone.env("WORLD_SIZE", "1")).ends(0);
    assert_eq!(names(folder.path()), ["x.npy", "y.npy"]);
}

#[test]
fn what_cannot_be_divided_is_refused_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.npy"), vector(&[1.0, 2.0, 3.0])).unwrap();
    let refused = |line: &str, why: &str| Run::line(folder.path(), line).refused(why);
    refused(
        "sum x.npy --gpus all",
        "emulated devices have no number of their own",
    );
    let usage = |line: &str, why: &str| {
        let run = Run::line(folder.path(), line).ends(2);
        assert!(run.stderr.contains(why), "{run:?}");
    };
    for count in [
        "0",
        "1025",
        "20000",
        "4000000000",
        "99999999999999999999999",
        "-1",
        "x",
    ] {
        let line = format!("sum x.npy --device emulator --gpus={count}");
        usage(&line, "a whole number from 1 to 1024, or `all`");
    }
    refused(
        "sum x.npy --device emulator --gpus 257",
        "257 emulated devices are asked for; a mesh has 256 at most",
    );
    for seconds in ["0", "86401", "18446744073709551615"] {
        let line = format!("sum x.npy --meeting-timeout {seconds}");
        usage(&line, "1..=86400");
    }
    usage(
        "sum x.npy --axis 0 -o y.npy --gpus 2",
        "cannot be used with",
    );
    refused(
        "conv x.npy x.npy -o y.npy --mode full --kernel block-per-output --gpus 2",
        "computes all outputs at once",
    );
    assert!(!folder.path().join("y.npy").exists());
}

/// A matrix of f32 or f64 whose products have sums that are rounded: another order has other bits.
fn matrix(rows: usize, cols: usize, double: bool) -> Vec<u8> {
    let values = (0..rows * cols).map(|i| (i * 7919 % 1013) as f32 / 7.0 - 60.0);
    let bytes: Vec<u8> = match double {
        true => values
            .flat_map(|value| f64::from(value).to_le_bytes())
            .collect(),
        false => values.flat_map(f32::to_le_bytes).collect(),
    };
    let kind = if double { "'<f8'" } else { "'<f4'" };
    npy(kind, "False", &format!("({rows}, {cols})"), &bytes)
}

#[test]
fn products_and_transposes_are_one_devices() {
    let folder = tempfile::tempdir().unwrap();
    // The last one has few rows on each of many devices, where another kernel is faster.
    for (double, [rows, inner, cols], counts) in [
        (false, [37, 20, 45], [2, 3, 4]),
        (false, [131, 77, 93], [16, 33, 64]),
        (true, [131, 77, 93], [7, 33, 64]),
        (true, [5, 9, 3], [2, 3, 4]),
    ] {
        fs::write(folder.path().join("a.npy"), matrix(rows, inner, double)).unwrap();
        fs::write(folder.path().join("b.npy"), matrix(inner, cols, double)).unwrap();
        for command in ["matmul a.npy b.npy", "transpose a.npy"] {
            Run::line(folder.path(), &format!("{command} -o one.npy")).ends(0);
            for gpus in counts {
                let line = format!("{command} -o y.npy --gpus {gpus} --reference one.npy");
                let run = Run::line(folder.path(), &line).ends(0);
                assert!(run.stdout.contains("one.npy"), "{run:?}");
                let [one, y] =
                    ["one.npy", "y.npy"].map(|name| fs::read(folder.path().join(name)).unwrap());
                assert!(one == y, "{line}");
            }
        }
    }
    Run::line(folder.path(), "matmul a.npy a.npy -o z.npy --gpus 2")
        .refused("as many columns in A as rows in B");
    Run::line(
        folder.path(),
        "matmul a.npy b.npy -o z.npy --gpus 2 --tensor",
    )
    .refused("works on f32 only");
    assert_eq!(names(folder.path()), ["a.npy", "b.npy", "one.npy", "y.npy"]);
}

/// Of a job, rank 0 writes and speaks; unlike matrices are an error on both, and leave no file.
#[test]
fn a_jobs_ranks_multiply_and_transpose() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.npy"), matrix(30, 20, false)).unwrap();
    fs::write(folder.path().join("b.npy"), matrix(20, 11, false)).unwrap();
    for command in ["matmul a.npy b.npy", "transpose a.npy"] {
        Run::line(folder.path(), &format!("{command} -o one.npy")).ends(0);
        let line = format!("{command} -o y.npy --reference one.npy");
        let [first, second] = job(folder.path(), [&line, &line]);
        assert!(first.ends(0).stdout.contains("one.npy"));
        assert_eq!(second.ends(0).stdout, "");
        let [one, y] = ["one.npy", "y.npy"].map(|name| fs::read(folder.path().join(name)).unwrap());
        assert!(one == y, "{command}");
        fs::remove_file(folder.path().join("y.npy")).unwrap();
    }
    let lines = ["transpose a.npy -o y.npy", "transpose b.npy -o y.npy"];
    let [first, second] = job(folder.path(), lines);
    first.refused("ranks 0 and 1 do not call the same (other lengths)");
    assert_eq!(second.code, Some(2));
    assert_eq!(names(folder.path()), ["a.npy", "b.npy", "one.npy"]);
}

/// The script's own build has `bench`, which comes with the tools.
#[test]
fn the_script_for_several_gpus_builds_the_tools() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/mesh.sh");
    let script = fs::read_to_string(script).unwrap();
    let mut builds = script
        .lines()
        .filter(|line| line.contains("-p blockwise_cli"));
    let build = builds.next().expect("the script builds the command");
    assert!(build.contains("--features tools"), "{build}");
}
