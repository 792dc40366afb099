//! Results that a comparison must not let pass, and numbers that must not be lost: what users of
//! other libraries have reported.

use std::fs;
use std::path::Path;

use crate::command::{Run, npy, vector};

fn write(at: &Path, name: &str, bytes: Vec<u8>) {
    fs::write(at.join(name), bytes).unwrap();
}

/// A vector of float32.
fn floats(values: &[f32]) -> Vec<u8> {
    let data: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    npy("'<f4'", "False", &format!("({},)", values.len()), &data)
}

/// An array of int64.
fn integers(shape: &str, values: &[i64]) -> Vec<u8> {
    let data: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    npy("'<i8'", "False", shape, &data)
}

/// A recording of 16-bit samples.
fn recording(at: &Path, name: &str, samples: &[i16]) {
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: 8000,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut writer = hound::WavWriter::create(at.join(name), spec).unwrap();
    samples
        .iter()
        .for_each(|&sample| writer.write_sample(sample).unwrap());
    writer.finalize().unwrap();
}

/// One loud sample raises the bound of the outputs that it is in, and of no other.
#[test]
fn each_output_of_a_convolution_has_a_bound_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(
        at,
        "x.npy",
        floats(&[1e8, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0]),
    );
    write(at, "t.npy", floats(&[1.0, 0.5]));
    let right = [1e8, 5e7, 0.0, 0.0, 1.0, 2.5, 4.0, 1.5, 0.0];
    let compared = |index: usize, value: f32, rest: &str, code| {
        let mut reference = right;
        reference[index] = value;
        write(at, "r.npy", floats(&reference));
        let line = format!("conv x.npy t.npy -o y.npy --mode same --reference r.npy {rest}");
        Run::line(at, &line).ends(code).stdout
    };
    compared(0, 1e8, "", 0);
    compared(0, 1e8 + 8.0, "", 0);
    compared(0, 1e8 + 200.0, "", 1);
    for (index, value) in [(4, 0.0), (4, 1.00001), (5, 2.50001), (7, 1.4999)] {
        let text = compared(index, value, "", 1);
        assert!(
            text.contains(&format!("first at index [{index}]")),
            "{text}"
        );
    }
    // Where all samples are zero, so is the bound.
    for index in [2, 3, 8] {
        let text = compared(index, 1e-30, "", 1);
        assert!(text.contains("tolerance 0.000e0"), "{text}");
    }
    let text = compared(4, 0.0, "", 1);
    assert!(
        text.contains("max relative inf (3 that are 0 in both left out)"),
        "{text}"
    );
    assert!(
        text.contains("bound: for each output, 2 roundings of its own"),
        "{text}"
    );
    let text = compared(4, 0.0, "--rtol 0 --atol 1", 0);
    assert!(text.contains("bound: --atol"), "{text}");
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        compared(0, value, "", 1);
        compared(2, value, "", 1);
        compared(0, value, "--rtol 1e30 --atol 1e30", 1);
    }
}

/// Infinite and NaN outputs are compared as such, the others by their own bounds.
#[test]
fn infinite_outputs_take_no_bound_from_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (infinity, nan) = (f32::INFINITY, f32::NAN);
    write(
        at,
        "x.npy",
        floats(&[1.0, infinity, 2.0, 0.1, 0.3, nan, 4.0]),
    );
    write(at, "t.npy", floats(&[0.1, 0.7]));
    let right = [0.1, infinity, infinity, 1.41, 0.1, nan, nan];
    let compared = |index: usize, value: f32, code| {
        let mut reference = right;
        reference[index] = value;
        write(at, "r.npy", floats(&reference));
        let line = "conv x.npy t.npy -o y.npy --mode same --reference r.npy";
        Run::line(at, line).ends(code)
    };
    // Half of the last digit is the reference's own rounding.
    compared(3, 1.41 + 1e-7, 0);
    for (index, value) in [
        (0, 0.2),
        (1, nan),
        (1, -infinity),
        (2, f32::MAX),
        (3, 1.411),
        (3, nan),
        (3, infinity),
        (5, infinity),
        (6, 0.0),
    ] {
        compared(index, value, 1);
    }
}

/// 2²¹ terms: half the sum, and a difference just outside the bound, which is 5e-5 of the sum and not
/// 1.
#[test]
fn a_sum_of_many_terms_has_a_narrow_bound() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let len = 1 << 21;
    let data = 0.1_f32.to_le_bytes().repeat(len);
    write(
        at,
        "x.npy",
        npy("'<f4'", "False", &format!("(1, {len})"), &data),
    );
    let exact = len as f64 * f64::from(0.1_f32);
    for (factor, code) in [
        (1.0, 0),
        (1.0 + 1e-6, 0),
        (1.0 + 1e-3, 1),
        (1.0 - 1e-3, 1),
        (0.5, 1),
        (f64::NAN, 1),
        (f64::INFINITY, 1),
    ] {
        write(at, "r.npy", floats(&[(exact * factor) as f32]));
        Run::line(at, "sum x.npy --axis 1 -o y.npy --reference r.npy").ends(code);
    }
    // A reference in float64 has 29 bits more.
    for (factor, code) in [(1.0, 0), (1.0 + 1e-7, 1)] {
        write(at, "r.npy", vector(&[exact * factor]));
        Run::line(at, "sum x.npy --axis 1 -o y.npy --reference r.npy").ends(code);
    }
}

/// Rounded, a tap of NaN is silence.
#[test]
fn what_is_not_finite_goes_into_no_recording_of_integers() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    recording(at, "x.wav", &[100, -200, 300, 0, 32_767]);
    for (name, taps, expected) in [
        (
            "nan.npy",
            &[1.0, f64::NAN][..],
            "nan.npy: tap 1 is NaN, not a finite number",
        ),
        (
            "inf.npy",
            &[f64::INFINITY],
            "inf.npy: tap 0 is inf, not a finite number",
        ),
        (
            "minus.npy",
            &[0.5, 0.5, f64::NEG_INFINITY],
            "minus.npy: tap 2 is -inf",
        ),
        // Finite, but their products are not.
        (
            "huge.npy",
            &[1e308, 1e308],
            "y.wav: sample 0 (frame 0, channel 0) is inf, which is no sample of 16-bit sound",
        ),
        (
            "later.npy",
            &[0.0, 0.0, 0.0, 1e307],
            "y.wav: sample 3 (frame 3, channel 0) is inf",
        ),
    ] {
        write(at, name, vector(taps));
        let line = format!("conv x.wav {name} -o y.wav --mode full");
        Run::line(at, &line).refused(expected);
        assert!(!at.join("y.wav").exists(), "{name}");
    }
}

/// 2⁵³ + 1 is no float64.
#[test]
fn great_integers_are_exact_or_refused_or_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let odd = (1 << 53) + 1;
    write(at, "odd.npy", integers("(2,)", &[odd, 1]));
    write(at, "one.npy", integers("(1,)", &[1]));
    write(at, "odd_row.npy", integers("(1, 2)", &[1, -odd]));
    write(at, "ones.npy", integers("(2, 1)", &[1, 1]));
    let refused = "element 0 is 9007199254740993, and is computed as float64, which would round it to 9007199254740992";
    Run::line(at, "conv odd.npy one.npy -o y.npy").refused(refused);
    Run::line(at, "conv one.npy odd.npy -o y.npy --mode full").refused(refused);
    let refused = "element 1 is -9007199254740993, and is computed as float64";
    Run::line(at, "matmul odd_row.npy ones.npy -o y.npy").refused(refused);
    Run::line(at, "matmul ones.npy odd_row.npy -o y.npy").refused(refused);
    // What has integers' kernels is exact.
    assert_eq!(
        Run::line(at, "sum odd.npy").ends(0).stdout,
        "9007199254740994\n"
    );
    assert_eq!(
        Run::line(at, "dot odd.npy odd.npy").ends(0).stdout,
        "18014398509481986\n"
    );
    assert_eq!(
        Run::line(at, "max odd.npy").ends(0).stdout,
        "9007199254740993\n"
    );
    // Numbers that float64 has, and sums that it may not have.
    let said = "integers are computed as float64, and sums above 2^53";
    write(at, "half.npy", integers("(3,)", &[1 << 52, 1 << 52, 1]));
    write(at, "three.npy", integers("(3,)", &[1, 1, 1]));
    let run = Run::line(at, "conv half.npy three.npy -o y.npy").ends(0);
    assert!(run.stderr.contains(said), "{run:?}");
    write(at, "row.npy", integers("(1, 3)", &[1 << 52, 1 << 52, 1]));
    write(at, "column.npy", integers("(3, 1)", &[1, 1, 1]));
    let run = Run::line(at, "matmul row.npy column.npy -o y.npy").ends(0);
    assert!(run.stderr.contains(said), "{run:?}");
    write(at, "small.npy", integers("(1, 3)", &[1 << 40, -7, 1]));
    let run = Run::line(at, "matmul small.npy column.npy -o y.npy").ends(0);
    assert_eq!(run.stderr, "");
}

/// Just outside the bounds of scalars: two units in the last place of a sum, a minimum's last bit.
#[test]
fn a_number_that_is_nearly_right_differs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, "x.npy", vector(&[1.0, 2.0, 4.0, -0.5]));
    write(at, "y.npy", vector(&[1.0, 1.0, 1.0, 1.0]));
    let up = |value: f64, units: u64| f64::from_bits(value.to_bits() + units);
    for (line, right, units, code) in [
        ("sum x.npy", 6.5, 0, 0),
        ("sum x.npy", 6.5, 64, 1),
        ("dot x.npy y.npy", 6.5, 0, 0),
        ("dot x.npy y.npy", 6.5, 64, 1),
        ("max x.npy", 4.0, 0, 0),
        ("max x.npy", 4.0, 1, 1),
        ("min x.npy", -0.5, 1, 1),
        ("min x.npy", -0.5, 0, 0),
    ] {
        write(at, "r.npy", vector(&[up(right, units)]));
        Run::line(at, &format!("{line} --reference r.npy")).ends(code);
        write(at, "r.npy", vector(&[f64::NAN]));
        Run::line(at, &format!("{line} --reference r.npy")).ends(1);
    }
}

/// Sums of uint64 are uint64, also beyond int64's range; half floats are compared with their own
/// roundings, and no further.
#[test]
fn unsigned_sums_and_references_of_halves() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let most = (1_u64 << 63) - 1;
    write(
        at,
        "x.npy",
        npy(
            "'<u8'",
            "False",
            "(2,)",
            &[most, most].map(u64::to_le_bytes).concat(),
        ),
    );
    let run = Run::line(at, "sum x.npy").ends(0);
    assert_eq!(run.stdout.trim(), (2 * most).to_string());
    write(at, "one.npy", floats(&[1.0, 0.0]));
    write(at, "third.npy", floats(&[1.0 / 3.0]));
    // 1/3 in half precision; eight halves further, which even an FFT of halves does not explain.
    for (bits, code) in [(0x3555_u16, 0), (0x355D, 1)] {
        let zero = 0_u16.to_le_bytes();
        let half = npy(
            "'<f2'",
            "False",
            "(2,)",
            &[bits.to_le_bytes(), zero].concat(),
        );
        write(at, "r.npy", half);
        let line = "conv one.npy third.npy -o y.npy --mode same --reference r.npy";
        Run::line(at, line).ends(code);
    }
}

/// A batch on one side or both, one matrix that all products share, and what does not fit.
#[test]
fn batches_of_products_are_numpys() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let doubles = |shape: &str, values: &[f64]| {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        npy("'<f8'", "False", shape, &bytes.collect::<Vec<_>>())
    };
    write(at, "a.npy", doubles("(2, 1, 2)", &[1.0, 2.0, 3.0, 4.0]));
    write(at, "b.npy", doubles("(2, 2, 1)", &[1.0, 10.0, 0.5, 7.0]));
    write(at, "one.npy", doubles("(2, 1)", &[1.0, 10.0]));
    write(at, "row.npy", doubles("(1, 2)", &[1.0, 2.0]));
    write(at, "three.npy", doubles("(3, 2, 1)", &[1.0; 6]));
    write(at, "none.npy", doubles("(0, 2, 1)", &[]));
    write(at, "deep.npy", doubles("(1, 1, 2, 1)", &[1.0; 2]));
    let made = |line: &str, shape: &str, expected: &[f64]| {
        write(at, "r.npy", doubles(shape, expected));
        let line = format!("matmul {line} -o c.npy --reference r.npy --atol 0");
        let run = Run::line(at, &line).ends(0);
        let told = shape.replace('(', "[").replace(')', "]");
        assert!(run.stdout.contains(&told), "{line}: {run:?}");
    };
    made("a.npy b.npy", "(2, 1, 1)", &[21.0, 29.5]);
    made("a.npy one.npy", "(2, 1, 1)", &[21.0, 43.0]);
    made("row.npy b.npy", "(2, 1, 1)", &[21.0, 14.5]);
    made("row.npy none.npy", "(0, 1, 1)", &[]);
    // Products that share B are one, which is divided as others are.
    made("a.npy one.npy --gpus 2", "(2, 1, 1)", &[21.0, 43.0]);
    for (line, refused) in [
        ("a.npy three.npy", "A is 2x1x2 and B is 3x2x1: batches"),
        ("b.npy b.npy", "A is 2x2x1 and B is 2x2x1: a product"),
        ("a.npy deep.npy", "and a batch or a matrix is wanted"),
        (
            "a.npy b.npy --kernel tiled",
            "kernel `tiled` multiplies two",
        ),
        ("a.npy b.npy --gpus 2", "not divided over devices"),
    ] {
        Run::line(at, &format!("matmul {line} -o c.npy")).refused(refused);
    }
}
