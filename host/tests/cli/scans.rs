//! `blockwise scan`.

use std::fs;
use std::path::Path;

use crate::command::Run;

/// Writes a vector of float32 as text that holds each number.
fn vector(at: &Path, name: &str, values: impl Iterator<Item = f64>) {
    let lines: Vec<_> = values.map(|value| format!("{value:?}")).collect();
    fs::write(at.join(name), lines.join("\n")).unwrap();
}

fn read(at: &Path, name: &str) -> Vec<f64> {
    let text = fs::read_to_string(at.join(name)).unwrap();
    text.split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect()
}

#[test]
fn every_running_value_with_and_without_its_own_element() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    vector(at, "x.csv", [3.0, -1.0, 4.0, 1.5].into_iter());
    for (words, expected) in [
        ("", [3.0, 2.0, 6.0, 7.5]),
        ("--exclusive", [0.0, 3.0, 2.0, 6.0]),
        ("--operation min", [3.0, -1.0, -1.0, -1.0]),
        ("--operation max", [3.0, 3.0, 4.0, 4.0]),
        (
            "--operation max --exclusive",
            [f64::NEG_INFINITY, 3.0, 3.0, 4.0],
        ),
    ] {
        Run::line(at, &format!("scan x.csv -o y.csv {words}")).ends(0);
        assert_eq!(read(at, "y.csv"), expected, "{words}");
    }
    vector(at, "n.csv", [3.0, f64::NAN, 4.0].into_iter());
    Run::line(at, "scan n.csv -o y.csv --operation min").ends(0);
    let running = read(at, "y.csv");
    assert!(
        running[0] == 3.0 && running[1].is_nan() && running[2].is_nan(),
        "{running:?}"
    );
}

#[test]
fn axes_are_scanned_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("x.csv"), "1,2,3\n10,20,30\n").unwrap();
    for (words, expected) in [
        ("", [1.0, 3.0, 6.0, 16.0, 36.0, 66.0]),
        ("--axis 0", [1.0, 2.0, 3.0, 11.0, 22.0, 33.0]),
        ("--axis -1", [1.0, 3.0, 6.0, 10.0, 30.0, 60.0]),
    ] {
        Run::line(at, &format!("scan x.csv -o y.csv {words}")).ends(0);
        let text = fs::read_to_string(at.join("y.csv"))
            .unwrap()
            .replace(',', "\n");
        let values: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(values, expected, "{words}");
    }
    let refused = Run::line(
        at,
        "scan x.csv -o y.csv --axis 0 --gpus 2 --device emulator",
    )
    .ends(2);
    assert!(
        refused.stderr.contains("is not divided"),
        "{}",
        refused.stderr
    );
}

/// Two groups of tiles: more than one piece of a line.
const LEN: usize = (1 << 21) + 12_345;

#[test]
fn chunks_and_devices_do_not_change_a_bit() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let bytes = (0..LEN as u64).flat_map(|i| {
        let random = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        (random as f64 / 4096.0 - 2000.0).to_le_bytes()
    });
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({LEN},), }}");
    header += &" ".repeat(117 - header.len());
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\0".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.bytes());
    file.extend(bytes);
    fs::write(at.join("x.npy"), file).unwrap();
    let run = |words: &str| {
        Run::line(
            at,
            &format!("scan x.npy -o y.npy --device emulator {words}"),
        )
        .ends(0);
        fs::read(at.join("y.npy")).unwrap()
    };
    let whole = run("");
    fs::write(at.join("whole.npy"), &whole).unwrap();
    assert!(run("--gpus 3") == whole, "on three devices");
    // In chunks of one group; the reference goes through in chunks too.
    let run = Run::line(at, "scan x.npy -o y.npy --chunk 1 --reference whole.npy").ends(0);
    assert!(run.stdout.contains(&format!("{LEN} elements")), "{run:?}");
    assert!(fs::read(at.join("y.npy")).unwrap() == whole);
}
