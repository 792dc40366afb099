//! Files that go through the device in chunks: the same results as in one piece, in bounded memory.

use std::fs::{self, File};
use std::path::Path;

#[cfg(target_os = "linux")]
use crate::command::limited;
use crate::command::{Run, blockwise, fixture, npy, vector};

/// Runs a convolution of fixtures in chunks; the bytes of its output.
#[track_caller]
fn convolved(folder: &Path, signal: &str, taps: &str, rest: &str, reference: &str) -> Vec<u8> {
    let output = Path::new(signal).extension().unwrap();
    let out = folder.join("out").with_extension(output);
    let mut command = blockwise(["conv", "-o"]);
    command
        .arg(&out)
        .args([fixture(signal), fixture(taps)])
        .args(rest.split_whitespace())
        .arg("--reference")
        .arg(fixture(reference));
    Run::of(&mut command).ends(0);
    fs::read(out).unwrap()
}

#[test]
fn a_convolution_in_chunks_is_the_same_bit_by_bit() {
    let folder = tempfile::tempdir().unwrap();
    for case in ["conv_f32", "conv_even_taps", "conv_longer_taps"] {
        let (signal, taps) = (format!("{case}_signal.npy"), format!("{case}_taps.npy"));
        for mode in ["full", "same", "valid"] {
            let run = |chunk: &str| {
                // One kernel adds the products in one order, whatever it is given at a time.
                let rest = format!("--mode {mode} --kernel direct {chunk}");
                let reference = format!("{case}_{mode}.npy");
                convolved(folder.path(), &signal, &taps, &rest, &reference)
            };
            let whole = run("");
            for chunk in ["1", "64"] {
                let parts = run(&format!("--chunk {chunk}"));
                assert!(parts == whole, "{case}, {mode}, chunks of {chunk}");
            }
        }
    }
}

#[test]
fn a_recording_in_chunks_is_the_same_in_every_channel() {
    let folder = tempfile::tempdir().unwrap();
    let run = |rest: &str| {
        let reference = "stereo_24bit_48k_lowpass.npy";
        let signal = "stereo_24bit_48k.wav";
        convolved(folder.path(), signal, "lowpass_101.npy", rest, reference)
    };
    let whole = run("--kernel direct");
    assert!(whole.len() > 44);
    for chunk in [99, 1000] {
        assert!(
            run(&format!("--kernel direct --chunk {chunk}")) == whole,
            "chunks of {chunk}"
        );
    }
}

#[test]
fn a_difference_in_a_later_chunk_has_its_place_in_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = fs::read(fixture("conv_f64_same.npy")).unwrap();
    let at = (wrong.len() - 128) / 8 - 5;
    let from = 128 + at * 8;
    wrong[from..from + 8].copy_from_slice(&1e9_f64.to_le_bytes());
    fs::write(folder.path().join("wrong.npy"), wrong).unwrap();
    let mut command = blockwise(["--json", "conv", "--chunk", "10", "-o", "out.npy"]);
    command
        .current_dir(&folder)
        .args([fixture("conv_f64_signal.npy"), fixture("conv_f64_taps.npy")])
        .args(["--reference", "wrong.npy"]);
    let comparison = &Run::of(&mut command).ends(1).json()["comparison"];
    assert_eq!(comparison["mismatches"], 1);
    assert_eq!(comparison["first_mismatch"]["index"][0], at);
}

#[test]
fn reductions_in_chunks_agree_with_numpy() {
    for (line, reference) in [
        ("dot dot_i64_a.npy dot_i64_b.npy", "dot_i64.npy"),
        ("dot dot_f32_a.npy dot_f32_b.npy", "dot_f32.npy"),
        ("sum dot_f32_a.npy", "sum_f32.npy"),
        ("min dot_f32_a.npy", "min_f32.npy"),
        ("max dot_f32_a.npy", "max_f32.npy"),
    ] {
        for chunk in ["1000000", "50"] {
            let mut command = blockwise(line.split_whitespace().map(
                |word| match word.contains('.') {
                    true => fixture(word).into_os_string(),
                    false => word.into(),
                },
            ));
            command.args(["--chunk", chunk, "--reference"]);
            Run::of(command.arg(fixture(reference))).ends(0);
        }
    }
}

#[test]
fn chunks_of_any_size_take_every_element_of_every_format_once() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = 1..=20_u8;
    let text: Vec<String> = numbers.clone().map(|number| number.to_string()).collect();
    let of = |bytes: fn(u8) -> Vec<u8>| numbers.clone().flat_map(bytes).collect::<Vec<u8>>();
    let bytes = of(|number| vec![number]);
    let shorts = of(|number| u16::from(number).to_be_bytes().to_vec());
    let floats = of(|number| f32::from(number).to_le_bytes().to_vec());
    let doubles = of(|number| f64::from(number).to_le_bytes().to_vec());
    for (name, contents) in [
        ("u8.npy", npy("'|u1'", "False", "(20,)", &bytes)),
        ("u16.npy", npy("'>u2'", "False", "(20,)", &shorts)),
        ("f32.npy", npy("'<f4'", "False", "(4, 5)", &floats)),
        ("f64.npy", npy("'<f8'", "True", "(4, 5)", &doubles)),
        ("text.csv", text.join("\n").into_bytes()),
    ] {
        fs::write(folder.path().join(name), contents).unwrap();
        for chunk in [1, 19, 20, 21] {
            let run = Run::line(folder.path(), &format!("sum {name} --chunk {chunk}")).ends(0);
            assert_eq!(run.stdout.trim(), "210", "{name}, {chunk}");
        }
    }
}

#[test]
fn json_says_where_the_time_went() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("x.npy"), vector(&[1.0, 2.0, 3.0])).unwrap();
    for (line, parts) in [
        ("--json sum x.npy", &["computing", "copying", "reading"][..]),
        (
            "--json conv x.npy x.npy -o y.npy --chunk 3",
            &["computing", "copying", "reading", "writing"],
        ),
    ] {
        let seconds = Run::line(at, line).ends(0).json()["seconds"].clone();
        let names: Vec<_> = seconds.as_object().unwrap().keys().collect();
        assert_eq!(names, parts, "{line}");
        assert!(
            parts
                .iter()
                .all(|&part| seconds[part].as_f64().unwrap() > 0.0)
        );
    }
}

/// The largest number is a chunk longer than any file.
#[test]
fn a_chunk_may_be_longer_than_any_file() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<u8> = (0..600_u16)
        .flat_map(|i| f32::from(i).to_le_bytes())
        .collect();
    let file = npy("'<f4'", "False", "(600,)", &values);
    fs::write(folder.path().join("x.npy"), file).unwrap();
    let file = npy("'<f4'", "False", "(20, 30)", &values);
    fs::write(folder.path().join("m.npy"), file).unwrap();
    for command in [
        "sum x.npy",
        "min x.npy",
        "dot x.npy x.npy",
        "sum m.npy --axis 0 -o out.npy",
        "scan x.npy -o out.npy",
        "scan x.npy -o out.npy --gpus 2",
        "scan m.npy --axis 0 -o out.npy",
        "conv x.npy x.npy -o out.npy",
        "conv x.npy x.npy -o out.npy --gpus 2",
    ] {
        let line = |rest: &str| {
            let run = Run::line(folder.path(), &format!("{command} {rest}")).ends(0);
            (run.stdout, fs::read(folder.path().join("out.npy")).ok())
        };
        assert_eq!(
            line(&format!("--chunk {}", usize::MAX)),
            line(""),
            "{command}"
        );
    }
}

#[test]
fn of_nothing_there_is_a_sum_and_no_minimum() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.npy");
    fs::write(path, npy("'<f4'", "False", "(0, 3)", &[])).unwrap();
    let run = |line: &str| Run::line(folder.path(), line);
    assert_eq!(run("sum none.npy").ends(0).stdout.trim(), "0");
    assert_eq!(run("min none.npy").code, Some(2));
    assert_eq!(run("sum none.npy --chunk 0").code, Some(2));
}

/// 128 MiB through 96: the file has no bytes on the disk, and the process no room for all of them.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_limit_a_files_length() {
    use std::os::unix::fs::FileExt;
    const ELEMENTS: u64 = 1 << 24;
    const KIB: u64 = 96 << 10;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.npy");
    let shape = format!("({ELEMENTS},)");
    let header = npy("'<f8'", "False", &shape, &[]);
    fs::write(&path, &header).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    // All zeros but for the last element, which tells that the whole was read.
    let end = header.len() as u64 + 8 * (ELEMENTS - 1);
    file.write_all_at(&3.0_f64.to_le_bytes(), end).unwrap();
    let mut command = limited(folder.path(), "sum long.npy --chunk 65536", KIB);
    assert_eq!(Run::of(&mut command).ends(0).stdout.trim(), "3");
}

/// Whatever the chunk, the bytes of the whole; of a minimum and maximum in the file's own type.
#[test]
fn a_reduction_over_an_axis_goes_through_in_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let len = 3 * 1500 * 4;
    let number = |i: usize| (i * 7919 % 251) as f64 - 125.0;
    type Bytes = fn(f64) -> Vec<u8>;
    let types: [(&str, &str, Bytes); 7] = [
        ("'|b1'", "bool", |x| vec![u8::from(x > 0.0)]),
        ("'|i1'", "i8", |x| (x as i8).to_le_bytes().to_vec()),
        ("'>u2'", "u16", |x| {
            ((x + 125.0) as u16).to_be_bytes().to_vec()
        }),
        ("'<f2'", "f16", |x| {
            half::f16::from_f64(x / 7.0).to_le_bytes().to_vec()
        }),
        ("'<f4'", "f32", |x| (x as f32 * 1e-3).to_le_bytes().to_vec()),
        ("'<f8'", "f64", |x| (x * 0.1).to_le_bytes().to_vec()),
        ("'<i8'", "i64", |x| {
            (x as i64 * (1 << 50)).to_le_bytes().to_vec()
        }),
    ];
    // By turns: each type meets a command, with `cargo xtask test --all` two.
    let each = match std::env::var_os("BLOCKWISE_TEST_ALL") {
        Some(_) => 2,
        None => 1,
    };
    let commands = [
        ("sum", 1),
        ("min", 0),
        ("argmax", 1),
        ("max", -2),
        ("mean", 2),
        ("sum", 1),
    ];
    for (at_type, (descr, name, bytes)) in types.into_iter().enumerate() {
        let data: Vec<u8> = (0..len).flat_map(|i| bytes(number(i))).collect();
        fs::write(at.join("x.npy"), npy(descr, "False", "(3, 1500, 4)", &data)).unwrap();
        for turn in 0..each {
            let (command, axis) = commands[(at_type + turn) % commands.len()];
            let run = |rest: &str| {
                let line = format!("--json {command} x.npy --axis {axis} -o y.npy {rest}");
                let run = Run::line(at, &line).ends(0);
                let kept = match name {
                    _ if command == "argmax" => "i64",
                    _ if command == "min" || command == "max" => name,
                    "f16" => "f32",
                    "f32" | "f64" => name,
                    _ if command == "mean" => "f64",
                    _ => "i64",
                };
                assert_eq!(run.json()["type"], kept, "{line}");
                fs::read(at.join("y.npy")).unwrap()
            };
            let whole = run("");
            assert!(whole.len() > 128, "{name}: {}", whole.len());
            for chunk in [[1, 7000], [1000, 4096]][(axis == 1) as usize] {
                let rest = format!("--chunk {chunk}");
                assert!(
                    run(&rest) == whole,
                    "{name}, {command} --axis {axis} {rest}"
                );
            }
            fs::rename(at.join("y.npy"), at.join("r.npy")).unwrap();
            run("--chunk 777 --reference r.npy");
        }
    }
}

/// Text has rows, and pieces need not end with them.
#[test]
fn text_is_written_in_rows_whatever_the_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data: Vec<u8> = (0..3 * 2000 * 5)
        .flat_map(|i| (i as f32).to_le_bytes())
        .collect();
    fs::write(
        at.join("x.npy"),
        npy("'<f4'", "False", "(3, 2000, 5)", &data),
    )
    .unwrap();
    for chunk in ["", "--chunk 2048"] {
        Run::line(at, &format!("max x.npy --axis 1 -o y.csv {chunk}")).ends(0);
        let text = fs::read_to_string(at.join("y.csv")).unwrap();
        let first = "9995.0,9996.0,9997.0,9998.0,9999.0\n";
        assert!(
            text.starts_with(first) && text.lines().count() == 3,
            "{text}"
        );
    }
}

/// A wrong element is found in whichever piece, and NaN passes nowhere.
#[test]
fn a_wrong_reference_of_an_axis_differs_in_any_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data: Vec<u8> = (0..2 * 3000 * 3)
        .flat_map(|i| (i as f32 % 7.0 + 0.1).to_le_bytes())
        .collect();
    fs::write(
        at.join("x.npy"),
        npy("'<f4'", "False", "(2, 3000, 3)", &data),
    )
    .unwrap();
    Run::line(at, "sum x.npy --axis 1 -o y.npy").ends(0);
    let right = fs::read(at.join("y.npy")).unwrap();
    let (header, sums) = right.split_at(right.len() - 6 * 4);
    for (index, factor) in [(0, 0.5), (4, 1.0 + 1e-4), (5, f32::NAN), (3, f32::INFINITY)] {
        let mut wrong: Vec<f32> = (sums.as_chunks().0.iter())
            .map(|&bytes| f32::from_le_bytes(bytes))
            .collect();
        wrong[index] *= factor;
        let bytes: Vec<u8> = wrong.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        fs::write(at.join("r.npy"), [header, &bytes].concat()).unwrap();
        for chunk in ["", "--chunk 1024"] {
            let line = format!("--json sum x.npy --axis 1 -o y.npy --reference r.npy {chunk}");
            let comparison = &Run::line(at, &line).ends(1).json()["comparison"];
            assert_eq!(comparison["mismatches"], 1, "{comparison}");
            assert_eq!(
                comparison["first_mismatch"]["index"],
                serde_json::json!([index / 3, index % 3])
            );
        }
    }
}

/// Files of a megabyte in half of that: chunks are made that fit, on one device and on several.
#[test]
fn a_file_larger_than_the_device_memory_that_may_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<f64> = (0..150_000).map(|i| f64::from(i * 7919 % 17 - 8)).collect();
    fs::write(folder.path().join("x.npy"), vector(&values)).unwrap();
    fs::write(folder.path().join("taps.npy"), vector(&values[..31])).unwrap();
    let matrix = npy(
        "'<f8'",
        "False",
        "(300, 500)",
        bytemuck::cast_slice(&values),
    );
    fs::write(folder.path().join("matrix.npy"), matrix).unwrap();
    let run = |line: &str| Run::line(folder.path(), line);
    let sum = run("sum x.npy").ends(0).stdout;
    run("conv x.npy taps.npy -o whole.npy").ends(0);
    let matrix = npy(
        "'<f8'",
        "False",
        "(300, 500)",
        bytemuck::cast_slice(&values),
    );
    fs::write(folder.path().join("m.npy"), matrix).unwrap();
    let output = |name: &str| fs::read(folder.path().join(name)).unwrap();
    for rest in ["", "--gpus 3 --device emulator"] {
        let limited =
            |line: &str, memory: &str| run(&format!("{line} --device-memory {memory} {rest}"));
        assert_eq!(limited("sum x.npy", "500000").ends(0).stdout, sum);
        limited("conv x.npy taps.npy -o y.npy", "512KiB").ends(0);
        assert!(output("y.npy") == output("whole.npy"), "{rest}");
        // What cannot be done in chunks says what it lacks, and leaves nothing.
        limited("transpose m.npy -o z.npy", "256K").refused("bytes of 262144 bytes are free");
        assert!(!folder.path().join("z.npy").exists());
        limited("sum x.npy", "10").refused("has no room for");
    }
    let none = run("sum x.npy --device-memory 0").ends(2);
    assert!(
        none.stderr.contains("a number of bytes above zero"),
        "{none:?}"
    );
}
