//! Results against NumPy's and SciPy's, and what `--reference` says when they differ.

use std::fs;

use crate::command::{Run, blockwise, fixture, npy, vector};

/// Runs a command on fixtures (words with a dot) and compares with a reference, which is to agree.
#[track_caller]
fn check(line: &str, output: Option<&str>, reference: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = blockwise(["--json"]);
    for word in line.split_whitespace() {
        match word.contains('.') {
            true => command.arg(fixture(word)),
            false => command.arg(word),
        };
    }
    let out = output.map(|name| folder.path().join(name));
    if let Some(out) = &out {
        command.arg("-o").arg(out);
    }
    let run = Run::of(command.arg("--reference").arg(fixture(reference))).ends(0);
    let comparison = &run.json()["comparison"];
    assert_eq!(comparison["mismatches"], 0, "{line}: {comparison}");
    assert_ne!(comparison["elements"], 0, "{line}: {comparison}");
    if let Some(out) = out {
        assert!(out.exists(), "{line}");
    }
}

#[test]
fn convolutions_are_numpys_in_every_mode_and_kernel() {
    for case in ["conv_f64", "conv_f32", "conv_even_taps", "conv_longer_taps"] {
        for mode in ["full", "same", "valid"] {
            for kernel in ["tiled", "direct"] {
                let line = format!(
                    "conv {case}_signal.npy {case}_taps.npy --mode {mode} --kernel {kernel}"
                );
                check(&line, Some("out.npy"), &format!("{case}_{mode}.npy"));
            }
        }
    }
    let line = "conv conv_f64_signal.npy conv_f64_taps.npy --mode full --kernel block-per-output";
    check(line, Some("out.csv"), "conv_f64_full.npy");
}

#[test]
fn recordings_are_filtered_as_scipy_does() {
    for output in ["out.wav", "out.npy"] {
        check(
            "conv speech_like_48k.wav lowpass_101.npy",
            Some(output),
            "speech_like_48k_lowpass.npy",
        );
        check(
            "conv stereo_24bit_48k.wav lowpass_101.npy",
            Some(output),
            "stereo_24bit_48k_lowpass.npy",
        );
    }
}

#[test]
fn a_filtered_recording_keeps_its_format_and_its_samples_are_scipys_rounded() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.wav");
    let mut command = blockwise(["conv", "-o"]);
    command
        .arg(&out)
        .args([fixture("speech_like_48k.wav"), fixture("lowpass_101.npy")]);
    Run::of(&mut command).ends(0);
    let mut reader = hound::WavReader::open(&out).unwrap();
    let before = hound::WavReader::open(fixture("speech_like_48k.wav"))
        .unwrap()
        .spec();
    assert_eq!(reader.spec(), before);
    let reference = fs::read(fixture("speech_like_48k_lowpass.npy")).unwrap();
    let (data, _) = reference[128..].as_chunks::<8>();
    let samples: Vec<i32> = reader.samples().map(Result::unwrap).collect();
    assert_eq!(samples.len(), data.len());
    for (i, (&sample, &expected)) in samples.iter().zip(data).enumerate() {
        let error = (f64::from(sample) - f64::from_le_bytes(expected)).abs();
        assert!(error <= 0.5 + 1e-9, "sample {i} is {sample}, {error} away");
    }
}

#[test]
fn a_reference_in_float32_is_allowed_its_own_rounding() {
    let folder = tempfile::tempdir().unwrap();
    let float64 = fs::read(fixture("speech_like_48k_lowpass.npy")).unwrap();
    let (samples, _) = float64[128..].as_chunks::<8>();
    let data: Vec<u8> = samples
        .iter()
        .flat_map(|&sample| (f64::from_le_bytes(sample) as f32).to_le_bytes())
        .collect();
    let reference = folder.path().join("f32.npy");
    fs::write(&reference, npy("'<f4'", "False", "(10000,)", &data)).unwrap();
    let mut command = blockwise(["conv", "-o"]);
    command
        .arg(folder.path().join("out.npy"))
        .args([fixture("speech_like_48k.wav"), fixture("lowpass_101.npy")]);
    Run::of(command.arg("--reference").arg(reference)).ends(0);
}

#[test]
fn the_other_commands_agree_with_numpy() {
    check("dot dot_i64_a.npy dot_i64_b.npy", None, "dot_i64.npy");
    check("dot dot_f32_a.npy dot_f32_b.npy", None, "dot_f32.npy");
    for command in ["sum", "min", "max"] {
        for kernel in ["tree", "wide"] {
            let line = format!("{command} dot_f32_a.npy --kernel {kernel}");
            check(&line, None, &format!("{command}_f32.npy"));
        }
    }
    for kernel in ["naive", "tiled"] {
        let line = format!("matmul matmul_a.npy matmul_b.npy --kernel {kernel}");
        check(&line, Some("c.npy"), "matmul.npy");
    }
    for kernel in [
        "naive", "tiled", "padded", "aligned", "thin", "quads", "packs",
    ] {
        let line = format!("transpose matmul_a.npy --kernel {kernel}");
        check(&line, Some("t.npy"), "transpose.npy");
    }
    check(
        "reverse reverse_input.npy --kernel direct",
        Some("r.npy"),
        "reverse.npy",
    );
}

#[test]
fn a_difference_is_told_with_its_first_index_and_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, values: &[f64]| {
        fs::write(folder.path().join(name), vector(values)).unwrap();
    };
    write("x.npy", &[1.0, 2.0, 3.0]);
    write("wrong.npy", &[3.0, 2.5, 1.0]);
    write("nan.npy", &[3.0, f64::NAN, 1.0]);
    write("long.npy", &[3.0, 2.0, 1.0, 0.0]);
    let run = |rest: &str| {
        Run::line(
            folder.path(),
            &format!("reverse x.npy -o out.npy --reference {rest}"),
        )
    };
    let differs = run("wrong.npy").ends(1);
    assert!(
        differs
            .stdout
            .contains("first at index [1]: 2e0, reference 2.5e0"),
        "{differs:?}"
    );
    let json = run("wrong.npy --json").ends(1).json();
    assert_eq!(json["pass"], false);
    assert_eq!(json["comparison"]["first_mismatch"]["index"][0], 1);
    assert_eq!(json["comparison"]["max_absolute_error"], 0.5);
    run("nan.npy").ends(1);
    run("wrong.npy --atol 0.4").ends(1);
    run("wrong.npy --atol 0.5").ends(0);
    run("wrong.npy --rtol 0.2").ends(0);
    fs::remove_file(folder.path().join("out.npy")).unwrap();
    run("long.npy").refused("the result has shape [3], the reference [4]");
    assert!(!folder.path().join("out.npy").exists());
    let negative = run("wrong.npy --rtol -1").ends(2);
    assert!(negative.stderr.contains("zero or more"), "{negative:?}");
}

/// A C-ordered array of 2 × 3 × 2; the results are what NumPy prints for it.
#[test]
fn reductions_over_an_axis_have_numpys_shapes_and_values() {
    let folder = tempfile::tempdir().unwrap();
    let array = |values: &[f64], shape: &str| {
        let data: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        npy("'<f8'", "False", shape, &data)
    };
    let values = [
        1.0,
        2.0,
        3.0,
        4.0,
        5.0,
        6.0,
        7.0,
        8.5,
        f64::NAN,
        10.0,
        11.0,
        -12.0,
    ];
    fs::write(folder.path().join("x.npy"), array(&values, "(2, 3, 2)")).unwrap();
    fs::write(folder.path().join("none.npy"), array(&[], "(0, 3)")).unwrap();
    for (line, shape, expected) in [
        (
            "sum --axis 0",
            "(3, 2)",
            &[8.0, 10.5, f64::NAN, 14.0, 16.0, -6.0][..],
        ),
        ("sum --axis 1", "(2, 2)", &[9.0, 12.0, f64::NAN, 6.5]),
        (
            "sum --axis -1",
            "(2, 3)",
            &[3.0, 7.0, 11.0, 15.5, f64::NAN, -1.0],
        ),
        (
            "min --axis 2",
            "(2, 3)",
            &[1.0, 3.0, 5.0, 7.0, f64::NAN, -12.0],
        ),
        (
            "max --axis -3",
            "(3, 2)",
            &[7.0, 8.5, f64::NAN, 10.0, 11.0, 6.0],
        ),
    ] {
        fs::write(folder.path().join("reference.npy"), array(expected, shape)).unwrap();
        let line = format!("{line} x.npy -o out.npy --reference reference.npy --json");
        let run = Run::line(folder.path(), &line).ends(0);
        assert_eq!(run.json()["comparison"]["mismatches"], 0, "{line}");
        let out = fs::read(folder.path().join("out.npy")).unwrap();
        let header = String::from_utf8_lossy(&out);
        assert!(
            header.contains(&format!("'shape': {shape}")),
            "{line}: {header}"
        );
    }
    let run = |line: &str| Run::line(folder.path(), line);
    let text = run("sum --axis 0 none.npy -o zeros.csv").ends(0).stdout;
    assert!(text.contains("[3]"), "{text}");
    let zeros = fs::read_to_string(folder.path().join("zeros.csv")).unwrap();
    assert!(
        zeros.split_whitespace().all(|zero| zero.parse() == Ok(0.0)),
        "{zeros}"
    );
    run("min --axis 0 none.npy -o no.npy").refused("the axis of a minimum or maximum is empty");
    run("sum --axis 3 x.npy -o no.npy").refused("there is no axis 3 in an array of 3 dimensions");
    run("sum --axis 1 x.npy").ends(2);
    run("sum --axis 1 x.npy -o no.npy --kernel tree").ends(2);
    assert!(!folder.path().join("no.npy").exists());
}

/// Arrays of each type of file; the results are what NumPy prints for them.
#[test]
fn means_and_indices_are_numpys() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let nan = f32::NAN;
    let floats: Vec<u8> = [
        2.0, -0.0, 0.0, -1.5, nan, -7.0, 7.0, 7.0, nan, 2.5, 3.25, -9.0,
    ]
    .into_iter()
    .flat_map(f32::to_le_bytes)
    .collect();
    let bytes: Vec<u8> = [200, 3, 255, 255, 0, 0].to_vec();
    let wide: Vec<u8> = [1 << 63, u64::MAX, 5, 5, u64::MAX, (1 << 63) - 1]
        .into_iter()
        .flat_map(u64::to_le_bytes)
        .collect();
    fs::write(
        at.join("f.npy"),
        npy("'<f4'", "False", "(2, 3, 2)", &floats),
    )
    .unwrap();
    fs::write(at.join("b.npy"), npy("'|u1'", "False", "(2, 3)", &bytes)).unwrap();
    fs::write(at.join("u.npy"), npy("'<u8'", "False", "(3, 2)", &wide)).unwrap();
    fs::write(at.join("none.npy"), npy("'<f8'", "False", "(0, 2)", &[])).unwrap();
    let of = |line: &str| {
        let line = format!("{line} -o out.csv --json");
        let kind = Run::line(at, &line).ends(0).json()["type"].clone();
        let text = fs::read_to_string(at.join("out.csv")).unwrap();
        let numbers = text.split([',', '\n']).filter(|number| !number.is_empty());
        let numbers: Vec<f64> = numbers.map(|number| number.parse().unwrap()).collect();
        (kind.as_str().unwrap().to_owned(), numbers)
    };
    for (line, ty, expected) in [
        ("argmin --axis 1 f.npy", "i64", &[2.0, 2.0, 1.0, 2.0][..]),
        ("argmax --axis 1 f.npy", "i64", &[2.0, 0.0, 1.0, 0.0]),
        (
            "argmin --axis -1 f.npy",
            "i64",
            &[1.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        ),
        (
            "argmax --axis 0 f.npy",
            "i64",
            &[1.0, 1.0, 1.0, 1.0, 0.0, 0.0],
        ),
        ("argmax --axis 1 b.npy", "i64", &[2.0, 0.0]),
        ("argmin --axis 0 b.npy", "i64", &[0.0, 1.0, 1.0]),
        ("argmax --axis 0 u.npy", "i64", &[2.0, 0.0]),
        ("argmin --axis 1 u.npy", "i64", &[0.0, 0.0, 1.0]),
        ("mean --axis 0 b.npy", "f64", &[227.5, 1.5, 127.5]),
        (
            "mean --axis 2 f.npy",
            "f32",
            &[1.0, -0.75, f64::NAN, 7.0, f64::NAN, -2.875],
        ),
        ("mean --axis 0 none.npy", "f64", &[f64::NAN, f64::NAN]),
    ] {
        let (kind, numbers) = of(line);
        assert_eq!(kind, ty, "{line}");
        let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
        let all = numbers.len() == expected.len() && numbers.iter().zip(expected).all(same);
        assert!(all, "{line}: {numbers:?}");
    }
    let run = |line: &str| Run::line(at, line);
    // Of all elements in row-major order, whatever the pieces.
    for (line, expected) in [
        ("argmin f.npy", "4"),
        ("argmax f.npy --chunk 3", "4"),
        ("argmax b.npy", "2"),
        ("argmax b.npy --chunk 1", "2"),
        ("argmin u.npy --chunk 2", "2"),
        ("mean b.npy", "118.83333333333333"),
        ("mean none.npy", "NaN"),
    ] {
        assert_eq!(run(line).ends(0).stdout.trim(), expected, "{line}");
    }
    run("argmin none.npy").refused("the axis of a minimum or maximum is empty");
    run("argmax --axis 0 none.npy -o no.npy").refused("the axis of a minimum or maximum is empty");
    run("argmax --axis 2 b.npy -o no.npy")
        .refused("there is no axis 2 in an array of 2 dimensions");
    run("argmin b.npy --gpus 2").ends(2);
    assert!(!at.join("no.npy").exists());
    // References are compared, exactly and within the bound.
    let index = npy(
        "'<i8'",
        "False",
        "(2,)",
        &[2_i64, 0].map(i64::to_le_bytes).concat(),
    );
    fs::write(at.join("index.npy"), index).unwrap();
    run("argmax --axis 1 b.npy -o y.npy --reference index.npy").ends(0);
    run("argmin --axis 1 b.npy -o y.npy --reference index.npy").ends(1);
    let mean = npy("'<f8'", "False", "()", &(713.0_f64 / 6.0).to_le_bytes());
    fs::write(at.join("mean.npy"), mean).unwrap();
    run("mean b.npy --reference mean.npy").ends(0);
}

/// An array of `f32`.
fn singles(shape: &str, values: &[f32]) -> Vec<u8> {
    let data: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    npy("'<f4'", "False", shape, &data)
}

/// The bound of a sum is that of a pairwise or blocked one, not of a loop: 20,000 terms in a loop
/// could be off by 24.
#[test]
fn the_bound_of_a_sum_does_not_grow_like_its_length() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let write = |name: &str, bytes: Vec<u8>| fs::write(at.join(name), bytes).unwrap();
    write("x.npy", singles("(2, 20000)", &[1.0; 40_000]));
    let blocked = "bound: one rounding of the result; 272 roundings of f32 in the reference, \
        the longest path of a pairwise or blocked sum of 20000 terms (--rtol and --atol for other references, as sums that are added one by one)";
    for (reference, code) in [
        ([20_000.0, 20_000.2], 0),
        ([20_000.0, 20_005.0], 1),
        ([10_000.0, 20_000.0], 1),
    ] {
        write("r.npy", singles("(2,)", &reference));
        let run = Run::line(at, "sum x.npy --axis 1 -o y.npy --reference r.npy").ends(code);
        assert!(run.stdout.contains(blocked), "{}", run.stdout);
    }
    // A naive loop's, as it asks for.
    let line = "sum x.npy --axis 1 -o y.npy --reference r.npy --rtol 1 --atol 2";
    let run = Run::line(at, line).ends(0);
    assert!(
        run.stdout.contains("bound: --atol + --rtol * |reference|"),
        "{}",
        run.stdout
    );
    for (reference, code) in [(40_000.0, 0), (40_000.3, 0), (40_003.0, 1), (20_000.0, 1)] {
        write("r.npy", singles("()", &[reference]));
        let run = Run::line(at, "sum x.npy --reference r.npy").ends(code);
        assert!(run.stdout.contains("sum of 40000 terms"), "{}", run.stdout);
    }
    write("v.npy", singles("(20000,)", &[1.0; 20_000]));
    for (reference, code) in [(20_000.0, 0), (20_002.0, 1)] {
        write("r.npy", singles("()", &[reference]));
        let run = Run::line(at, "--json dot v.npy v.npy --reference r.npy").ends(code);
        let bound = run.json()["comparison"]["bound"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(bound.contains("634 roundings of f32"), "{bound}");
    }
}

/// Relative errors where the reference is 0, and outputs that are infinite or NaN.
#[test]
fn zeros_infinities_and_nan_are_compared_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let rows = [
        [0.0, 0.0],
        [1e30, -1e30],
        [f32::INFINITY, 1.0],
        [f32::NAN, 1.0],
        [f32::MAX, f32::MAX],
        [2.0, 1.0],
    ];
    fs::write(at.join("x.npy"), singles("(6, 2)", rows.as_flattened())).unwrap();
    let (infinity, nan) = (f32::INFINITY, f32::NAN);
    let right = [0.0, 0.0, infinity, nan, infinity, 3.0];
    let compare = |at_row: usize, value: f32, code| {
        let mut reference = right;
        reference[at_row] = value;
        fs::write(at.join("r.npy"), singles("(6,)", &reference)).unwrap();
        Run::line(at, "sum x.npy --axis 1 -o y.npy --reference r.npy").ends(code)
    };
    let run = compare(0, 0.0, 0);
    assert!(
        run.stdout
            .contains("max relative 0.000e0 (2 that are 0 in both left out)"),
        "{}",
        run.stdout
    );
    // Only the rows' own magnitudes count: the first has none.
    let run = compare(0, 1e-30, 1);
    assert!(run.stdout.contains("first at index [0]"), "{}", run.stdout);
    compare(1, 1e20, 0);
    compare(1, 1e27, 1);
    for (row, value) in [
        (2, nan),
        (2, -infinity),
        (2, 1.0),
        (3, infinity),
        (3, 1.0),
        (4, f32::MAX),
        (5, nan),
        (5, infinity),
    ] {
        compare(row, value, 1);
    }
}

/// Neither the devices nor the chunks show in a sum, and a loop in `f32` would lose it.
#[test]
fn sums_are_those_of_exact_arithmetic() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut values = vec![1.0_f32; 30_000];
    (values[0], values[29_999]) = (4e9, 0.3);
    fs::write(at.join("x.npy"), singles("(30000,)", &values)).unwrap();
    fs::write(at.join("ones.npy"), singles("(30000,)", &[1.0; 30_000])).unwrap();
    let exact = (4e9 + 29_998.0 + f64::from(0.3_f32)) as f32;
    for rest in [
        "",
        "--gpus 3",
        "--gpus 8 --chunk 1000",
        "--chunk 777",
        "--kernel wide",
        "--kernel single --gpus 3",
    ] {
        for line in [
            format!("sum x.npy {rest}"),
            format!("dot x.npy ones.npy {rest}"),
        ] {
            let run = Run::line(at, &line).ends(0);
            assert_eq!(run.stdout.trim(), exact.to_string(), "{line}");
        }
    }
}
