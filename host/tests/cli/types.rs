//! Types are kept: what is only moved or compared has the file's own type. The references are
//! NumPy's.

use std::fs;

use crate::command::Run;

/// NumPy's names in headers, and the bytes of the elements 3, 0 and 2 of each type.
const TYPES: [(&str, [&[u8]; 3]); 12] = [
    ("|b1", [&[1], &[0], &[1]]),
    ("|i1", [&[3], &[0xFE], &[2]]),
    ("<i2", [&[3, 0], &[0xFE, 0xFF], &[2, 0]]),
    (
        "<i4",
        [&[3, 0, 0, 0], &[0xFE, 0xFF, 0xFF, 0xFF], &[2, 0, 0, 0]],
    ),
    (
        "<i8",
        [
            &[3, 0, 0, 0, 0, 0, 0, 0],
            &[0xFE; 8],
            &[0, 0, 0, 0, 0, 0, 0, 0x80],
        ],
    ),
    ("|u1", [&[3], &[0xFF], &[2]]),
    ("<u2", [&[3, 0], &[0xFF, 0xFF], &[2, 0]]),
    ("<u4", [&[3, 0, 0, 0], &[0xFF; 4], &[2, 0, 0, 0]]),
    (
        "<u8",
        [
            &[3, 0, 0, 0, 0, 0, 0, 0],
            &[0xFF; 8],
            &[2, 0, 0, 0, 0, 0, 0, 0],
        ],
    ),
    // 3, a NaN, −2.
    ("<f2", [&[0, 0x42], &[1, 0x7E], &[0, 0xC0]]),
    (
        "<f4",
        [&[0, 0, 0x40, 0x40], &[1, 0, 0xC0, 0x7F], &[0, 0, 0, 0xC0]],
    ),
    (
        "<f8",
        [
            &[0, 0, 0, 0, 0, 0, 8, 0x40],
            &[1, 0, 0, 0, 0, 0, 0xF8, 0x7F],
            &[0, 0, 0, 0, 0, 0, 0, 0xC0],
        ],
    ),
];

/// A file of version 1.0 with a header of 128 bytes.
fn npy(descr: &str, shape: &str, elements: &[&[u8]]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    header += &" ".repeat(117 - header.len());
    header.push('\n');
    let length = header.len() as u16;
    [
        b"\x93NUMPY\x01\0",
        &length.to_le_bytes()[..],
        header.as_bytes(),
        &elements.concat(),
    ]
    .concat()
}

/// The elements' bytes of a file, whose type and shape are these.
#[track_caller]
fn elements(file: &[u8], descr: &str, shape: &str) -> Vec<u8> {
    let length = usize::from(u16::from_le_bytes([file[8], file[9]]));
    let header = String::from_utf8_lossy(&file[10..10 + length]);
    let expected = format!("'descr': '{descr}'");
    assert!(header.contains(&expected), "{descr}: {header}");
    assert!(header.contains(&format!("'shape': {shape}")), "{header}");
    file[10 + length..].to_vec()
}

#[test]
fn transposes_and_reversals_keep_every_type_and_bit() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (descr, [a, b, c]) in TYPES {
        fs::write(at.join("x.npy"), npy(descr, "(2, 3)", &[a, b, c, c, a, a])).unwrap();
        let check = |line: &str, shape: &str, expected: [&[u8]; 6]| {
            Run::line(at, line).ends(0);
            let file = fs::read(at.join("y.npy")).unwrap();
            assert_eq!(
                elements(&file, descr, shape),
                expected.concat(),
                "{descr}: {line}"
            );
        };
        check("transpose x.npy -o y.npy", "(3, 2)", [a, c, b, a, c, a]);
        check("reverse x.npy -o y.npy", "(2, 3)", [a, a, c, c, b, a]);
        check(
            "reverse x.npy -o y.npy --axis 0",
            "(2, 3)",
            [c, a, a, a, b, c],
        );
        check(
            "reverse x.npy -o y.npy --axis -1",
            "(2, 3)",
            [c, b, a, a, a, c],
        );
        // Ranks move words of the same width.
        if descr.contains('u') {
            let line = "transpose x.npy -o y.npy --gpus 2 --device emulator";
            check(line, "(3, 2)", [a, c, b, a, c, a]);
        }
    }
}

/// As NumPy's `minimum.accumulate` and `maximum.accumulate`; before the first element stands the
/// type's own largest or smallest number.
#[test]
fn running_extremes_have_the_files_type() {
    const ENDS: [[&[u8]; 2]; 12] = [
        [&[0], &[1]],
        [&[0x80], &[0x7F]],
        [&[0, 0x80], &[0xFF, 0x7F]],
        [&[0, 0, 0, 0x80], &[0xFF, 0xFF, 0xFF, 0x7F]],
        [
            &[0, 0, 0, 0, 0, 0, 0, 0x80],
            &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
        ],
        [&[0], &[0xFF]],
        [&[0; 2], &[0xFF; 2]],
        [&[0; 4], &[0xFF; 4]],
        [&[0; 8], &[0xFF; 8]],
        [&[0, 0xFC], &[0, 0x7C]],
        [&[0, 0, 0x80, 0xFF], &[0, 0, 0x80, 0x7F]],
        [
            &[0, 0, 0, 0, 0, 0, 0xF0, 0xFF],
            &[0, 0, 0, 0, 0, 0, 0xF0, 0x7F],
        ],
    ];
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for ((descr, [a, b, c]), [least, greatest]) in TYPES.into_iter().zip(ENDS) {
        // Of floats b is NaN. Elsewhere it is the least, or the greatest of unsigned ones.
        let (b, rises) = match descr.contains('f') {
            true => (c, false),
            false => (b, descr.contains('u')),
        };
        // Of 64 bits c is the smallest number.
        let last = if descr == "<i8" { c } else { b };
        let (low, high) = match rises {
            true => ([a, a, c, c], [a, b, b, b]),
            false => ([a, b, last, last], [a, a, a, a]),
        };
        fs::write(at.join("x.npy"), npy(descr, "(4,)", &[a, b, c, a])).unwrap();
        for (operation, expected, first) in [("min", low, greatest), ("max", high, least)] {
            let check = |words: &str, expected: [&[u8]; 4]| {
                fs::write(at.join("z.npy"), npy(descr, "(4,)", &expected)).unwrap();
                let line = format!("scan x.npy -o y.npy --operation {operation} {words}");
                let run = Run::line(at, &format!("{line} --reference z.npy")).ends(0);
                assert!(
                    run.stdout.contains("4 elements"),
                    "{descr}, {line}: {run:?}"
                );
                let file = fs::read(at.join("y.npy")).unwrap();
                let bytes = elements(&file, descr, "(4,)");
                assert_eq!(bytes, expected.concat(), "{descr}, {line}");
            };
            let [x, y, z, _] = expected;
            check("", expected);
            check("--exclusive", [first, x, y, z]);
            check("--exclusive --chunk 2", [first, x, y, z]);
        }
    }
    // Sums are wider than what is added.
    fs::write(at.join("x.npy"), npy("|i1", "(2,)", &[&[0x7F], &[0x7F]])).unwrap();
    Run::line(at, "scan x.npy -o y.npy").ends(0);
    let file = fs::read(at.join("y.npy")).unwrap();
    let sums = [127_i64, 254].map(i64::to_le_bytes).concat();
    assert_eq!(elements(&file, "<i8", "(2,)"), sums);
}

#[test]
fn an_element_that_differs_is_found_in_every_type() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (descr, [a, b, c]) in TYPES {
        fs::write(at.join("x.npy"), npy(descr, "(3,)", &[a, b, c])).unwrap();
        fs::write(at.join("wrong.npy"), npy(descr, "(3,)", &[c, b, b])).unwrap();
        fs::write(at.join("right.npy"), npy(descr, "(3,)", &[c, b, a])).unwrap();
        Run::line(at, "reverse x.npy -o y.npy --reference right.npy").ends(0);
        let run = Run::line(at, "reverse x.npy -o y.npy --reference wrong.npy").ends(1);
        assert!(
            run.stdout.contains("at index [2]"),
            "{descr}: {}",
            run.stdout
        );
    }
}

#[test]
fn axes_and_kernels_that_do_not_exist_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(
        at.join("x.npy"),
        npy("|u1", "(2, 3)", &[&[1], &[2], &[3], &[4], &[5], &[6]]),
    )
    .unwrap();
    for (line, words) in [
        (
            "reverse x.npy -o y.npy --axis 2",
            "no axis 2 in an array of 2 dimensions",
        ),
        ("reverse x.npy -o y.npy --axis -3", "no axis -3"),
        (
            "reverse x.npy -o y.npy --axis 0 --kernel static",
            "not along an axis",
        ),
        (
            "transpose x.npy -o y.npy --kernel thin",
            "`thin` has no instance for u8",
        ),
        // What it does with such extents is another kernel's work.
        (
            "transpose x.npy -o y.npy --kernel quads",
            "`quads` has no instance for u8",
        ),
        (
            "transpose x.npy -o y.npy --kernel aligned-narrow",
            "`bench`",
        ),
    ] {
        let run = Run::line(at, line).ends(2);
        assert!(run.stderr.contains(words), "{line}: {}", run.stderr);
    }
}

/// NumPy's: narrow sums become 64-bit ones of the same sign and wrap, extremes along an axis keep
/// the type.
#[test]
fn sums_are_as_wide_as_numpys_and_extremes_keep_their_type() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (descr, [a, b, c]) in TYPES {
        fs::write(at.join("x.npy"), npy(descr, "(2, 2)", &[a, a, c, a])).unwrap();
        let sums = match descr {
            "<f4" | "<f2" => "<f4",
            "<f8" => descr,
            "|u1" | "<u2" | "<u4" | "<u8" => "<u8",
            _ => "<i8",
        };
        Run::line(at, "sum x.npy --axis 0 -o y.npy").ends(0);
        elements(&fs::read(at.join("y.npy")).unwrap(), sums, "(2,)");
        let whole = Run::line(at, "sum x.npy --json").ends(0).json();
        assert_eq!(whole["type"], name(sums), "{descr}");
        for (line, least) in [("min", false), ("max", true)] {
            Run::line(at, &format!("{line} x.npy --axis 0 -o y.npy")).ends(0);
            let file = fs::read(at.join("y.npy")).unwrap();
            // 3 is larger than 2 and −2, and than the smallest int64; true is true.
            let first = if least { a } else { c };
            assert_eq!(
                elements(&file, descr, "(2,)"),
                [first, a].concat(),
                "{descr}"
            );
        }
        let whole = Run::line(at, "max x.npy --json").ends(0).json();
        assert_eq!(whole["type"], name(descr), "{descr}");
        if descr == "<u8" {
            // 3 + 2^64 - 1 and 3 · 3 + (2^64 - 1) · 2.
            fs::write(at.join("x.npy"), npy(descr, "(2,)", &[a, b])).unwrap();
            fs::write(at.join("y.npy"), npy(descr, "(2,)", &[a, c])).unwrap();
            assert_eq!(Run::line(at, "sum x.npy").ends(0).stdout.trim(), "2");
            assert_eq!(
                Run::line(at, "sum x.npy --gpus 2").ends(0).stdout.trim(),
                "2"
            );
            assert_eq!(Run::line(at, "dot x.npy y.npy").ends(0).stdout.trim(), "7");
            // Of int64 and uint64 together there is no sum of such numbers.
            fs::write(at.join("z.npy"), npy("<i8", "(2,)", &[a, c])).unwrap();
            let run = Run::line(at, "dot x.npy z.npy").ends(2);
            assert!(run.stderr.contains("computed as int64"), "{}", run.stderr);
        }
    }
}

/// The ends of a type and what lies between them; floats as their bits.
fn ends(descr: &str) -> Vec<i128> {
    let bits = 8 * descr[2..].parse::<u32>().unwrap();
    let (half, all) = (1_i128 << (bits - 1), 1_i128 << bits);
    match &descr[1..] {
        "b1" => vec![1, 0, 1, 1, 0, 1],
        "f2" => vec![0x3C00, 0xFC00, 0x0001, 0x8000, 0x7BFF, 0x7C00],
        "f4" => vec![
            0x3F80_0000,
            0xFF80_0000,
            1,
            1 << 31,
            0x7F7F_FFFF,
            0x7F80_0000,
        ],
        "f8" => vec![
            0x3FF0 << 48,
            0xFFF0 << 48,
            1,
            1 << 63,
            (0x7FF0 << 48) - 1,
            0x7FF0 << 48,
        ],
        of if of.starts_with('i') => vec![0, -half, 1, half - 1, -1, 1 - half],
        _ => vec![half, all - 1, 0, half - 1, 1, all - 2],
    }
}

/// Rust's name of NumPy's type.
fn name(descr: &str) -> String {
    let bytes: usize = descr[2..].parse().unwrap();
    match &descr[1..2] {
        "b" => "bool".to_owned(),
        of => format!("{of}{}", 8 * bytes),
    }
}

/// Floats order as their bits do, but those with a sign.
fn order(descr: &str, value: i128) -> i128 {
    let sign = 1_i128 << (8 * descr[2..].parse::<u32>().unwrap() - 1);
    match descr.contains('f') && value & sign != 0 {
        true => sign - value,
        false => value,
    }
}

/// Whole and along each axis, in chunks, on two devices, by each kernel, and against a reference.
#[test]
fn extremes_are_exact_to_the_ends_of_every_type() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (descr, _) in TYPES {
        let values = ends(descr);
        let width: usize = descr[2..].parse().unwrap();
        let bytes = |values: &[i128]| -> Vec<Vec<u8>> {
            let of = values.iter();
            of.map(|value| value.to_le_bytes()[..width].to_vec())
                .collect()
        };
        let write = |name: &str, shape: &str, values: &[i128]| {
            let elements = bytes(values);
            let elements: Vec<_> = elements.iter().map(Vec::as_slice).collect();
            fs::write(at.join(name), npy(descr, shape, &elements)).unwrap();
        };
        write("x.npy", "(2, 3)", &values);
        for operation in ["min", "max"] {
            let extreme = |values: &[i128]| {
                let values = values.iter().copied();
                match operation {
                    "min" => values.min_by_key(|&value| order(descr, value)),
                    _ => values.max_by_key(|&value| order(descr, value)),
                }
                .unwrap()
            };
            let whole = extreme(&values);
            write("whole.npy", "()", &[whole]);
            write("wrong.npy", "()", &[values[0]]);
            let line = format!("{operation} x.npy");
            let mut lines = vec![
                format!("{line} --chunk 2"),
                format!("{line} --gpus 2 --chunk 2"),
            ];
            let kernels = match descr {
                "<u8" | "<i8" => &["wide", "single"][..],
                "<f4" => &["interleaved", "tree", "tree-raw", "wide", "single"],
                _ => &[],
            };
            lines.extend((kernels.iter()).map(|kernel| format!("{line} --kernel {kernel}")));
            for line in lines {
                let report = Run::line(at, &format!("{line} --json")).ends(0).json();
                assert_eq!(report["type"], name(descr), "{line}");
                if !descr.contains('f') {
                    assert_eq!(report["text"], whole.to_string(), "{descr}: {line}");
                }
                Run::line(at, &format!("{line} --reference whole.npy")).ends(0);
                let code = i32::from(values[0] != whole);
                Run::line(at, &format!("{line} --reference wrong.npy")).ends(code);
            }
            let columns = [0, 1, 2].map(|at| extreme(&[values[at], values[at + 3]]));
            let rows = [&values[..3], &values[3..]].map(extreme);
            for (axis, shape, along) in [(0, "(3,)", &columns[..]), (-1, "(2,)", &rows)] {
                write("along.npy", shape, along);
                for chunk in [1, 100] {
                    let line = format!(
                        "{line} --axis {axis} -o y.npy --chunk {chunk} --reference along.npy"
                    );
                    Run::line(at, &line).ends(0);
                    let file = fs::read(at.join("y.npy")).unwrap();
                    let expected = bytes(along).concat();
                    assert_eq!(elements(&file, descr, shape), expected, "{descr}: {line}");
                }
            }
        }
    }
}

/// Each zero is as small as the other; NaN wins, with its sign and payload.
#[test]
fn extremes_of_floats_keep_nan() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (descr, nan, zero) in [
        ("<f2", &[0x21, 0xFE][..], &[0, 0x80][..]),
        ("<f4", &[0x21, 0, 0xC0, 0xFF], &[0, 0, 0, 0x80]),
        (
            "<f8",
            &[0x21, 0, 0, 0, 0, 0, 0xF8, 0xFF],
            &[0, 0, 0, 0, 0, 0, 0, 0x80],
        ),
    ] {
        let plain = vec![0; zero.len()];
        fs::write(
            at.join("x.npy"),
            npy(descr, "(2, 2)", &[zero, nan, &plain, zero]),
        )
        .unwrap();
        for operation in ["min", "max"] {
            let line = format!("{operation} x.npy --axis 0 -o y.npy");
            Run::line(at, &line).ends(0);
            let file = fs::read(at.join("y.npy")).unwrap();
            let results = elements(&file, descr, "(2,)");
            let (first, second) = results.split_at(zero.len());
            assert!(first == zero || first == plain, "{descr}: {first:?}");
            assert_eq!(second, nan, "{descr}: {operation}");
            let whole = Run::line(at, &format!("{operation} x.npy")).ends(0);
            assert_eq!(whole.stdout.trim(), "NaN", "{descr}: {operation}");
        }
    }
}

#[test]
fn kernels_of_lessons_and_steps_are_not_offered() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("x.npy"), npy("<i4", "(1,)", &[&[3, 0, 0, 0]])).unwrap();
    for (line, words) in [
        ("sum x.npy --kernel single8", "`bench`, `profile`"),
        ("sum x.npy --kernel shuffle", "`bench`, `profile`"),
        ("sum x.npy --kernel axis", "invalid value 'axis'"),
        ("max x.npy --axis 0", "--output <FILE>"),
        ("min x.npy -o y.npy", "--axis <K>"),
        (
            "max x.npy --axis 0 -o y.npy --kernel tree",
            "cannot be used with",
        ),
        (
            "max x.npy --axis 0 -o y.npy --gpus 2",
            "cannot be used with",
        ),
        (
            "dot x.npy x.npy --axis 0 -o y.npy",
            "unexpected argument '--axis'",
        ),
    ] {
        let run = Run::line(at, line).ends(2);
        assert!(run.stderr.contains(words), "{line}: {}", run.stderr);
    }
    for kernel in ["wide", "single"] {
        let line = format!("sum x.npy --kernel {kernel}");
        assert_eq!(Run::line(at, &line).ends(0).stdout.trim(), "3");
    }
    let run = Run::line(at, "sum x.npy --kernel tree").ends(2);
    let words = "kernel `tree` has no instance for i64, only for f32";
    assert!(run.stderr.contains(words), "{}", run.stderr);
    let line = "dot x.npy x.npy --kernel tree";
    assert_eq!(Run::line(at, line).ends(0).stdout.trim(), "9");
    let line = "profile sum --len 100 --axis 0 --type i64 --json";
    let report = Run::line(at, line).ends(0).stdout;
    assert!(report.contains("sum_axis_i64"), "{report}");
}
