//! `conv` on each row of a matrix.

use std::fs;
use std::path::Path;

use crate::command::{Run, npy};

fn put(folder: &Path, name: &str, ty: &str, shape: &str, bytes: &[u8]) {
    fs::write(folder.join(name), npy(ty, "False", shape, bytes)).unwrap();
}

/// Rows of float32, and each of them in a file of its own.
fn put_rows(folder: &Path, name: &str, [rows, len]: [usize; 2]) {
    let value = |at: usize| (at * 7919 % 1021) as f32 / 511.0 - 1.0;
    let values: Vec<f32> = (0..rows * len).map(value).collect();
    let shape = format!("({rows}, {len})");
    let bytes = |values: &[f32]| bytemuck::cast_slice(values).to_vec();
    put(
        folder,
        &format!("{name}.npy"),
        "'<f4'",
        &shape,
        &bytes(&values),
    );
    for (row, values) in values.chunks_exact(len).enumerate() {
        let shape = format!("({len},)");
        put(
            folder,
            &format!("{name}{row}.npy"),
            "'<f4'",
            &shape,
            &bytes(values),
        );
    }
}

/// The data of a `.npy` file.
fn data(folder: &Path, name: &str) -> Vec<u8> {
    let bytes = fs::read(folder.join(name)).unwrap();
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[10 + header..].to_vec()
}

#[test]
fn each_row_is_convolved_as_a_vector_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put_rows(at, "x", [3, 700]);
    put_rows(at, "taps", [3, 70]);
    let run = |line: &str| Run::line(at, line);
    for (taps, own, kernel) in [
        ("taps0.npy", false, "rows"),
        ("taps.npy", true, "rows"),
        ("taps0.npy", false, "fft2048"),
        ("taps.npy", true, "fft2048"),
    ] {
        let rows = format!("conv x.npy {taps} --mode full --kernel {kernel}");
        let alone_by = if kernel == "rows" { "direct" } else { kernel };
        let whole = run(&format!("{rows} -o y.npy")).ends(0);
        assert!(whole.stdout.contains("[3, 769] f"), "{whole:?}");
        let alone: Vec<u8> = (0..3)
            .flat_map(|row| {
                let taps = if own {
                    format!("taps{row}.npy")
                } else {
                    taps.to_owned()
                };
                let line =
                    format!("conv x{row}.npy {taps} --mode full --kernel {alone_by} -o one.npy");
                run(&line).ends(0);
                data(at, "one.npy")
            })
            .collect();
        assert_eq!(data(at, "y.npy"), alone, "{rows}");
        // A row at a time, and two.
        for chunk in [1, 1600] {
            run(&format!(
                "{rows} --chunk {chunk} -o z.npy --reference y.npy"
            ))
            .ends(0);
            assert_eq!(
                fs::read(at.join("z.npy")).unwrap(),
                fs::read(at.join("y.npy")).unwrap()
            );
        }
    }
    // A signal for all rows of taps, and no rows.
    run("conv x0.npy taps.npy -o y.npy").ends(0);
    run("conv x0.npy taps1.npy -o one.npy").ends(0);
    assert_eq!(data(at, "y.npy")[700 * 4..1400 * 4], data(at, "one.npy"));
    put(at, "none.npy", "'<f4'", "(0, 9)", &[]);
    let none = run("conv none.npy taps0.npy -o y.npy").ends(0);
    assert!(none.stdout.contains("[0, 70]"), "{none:?}");
}

#[test]
fn references_of_rows_have_the_bound_of_each_output() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put_rows(at, "x", [3, 300]);
    put_rows(at, "taps", [1, 70]);
    let run = |line: &str| Run::line(at, line);
    run("conv x.npy taps.npy -o y.npy --kernel rows").ends(0);
    run("conv x.npy taps.npy -o z.npy --kernel fft2048 --reference y.npy").ends(0);
    let mut bytes = fs::read(at.join("y.npy")).unwrap();
    let last = bytes.len() - 4;
    let value = f32::from_le_bytes(bytes[last..].try_into().unwrap());
    bytes[last..].copy_from_slice(&(value + 1e-3).to_le_bytes());
    fs::write(at.join("wrong.npy"), bytes).unwrap();
    let wrong = run("conv x.npy taps.npy -o z.npy --reference wrong.npy").ends(1);
    assert!(
        wrong.stdout.contains("first at index [2, 299]"),
        "{wrong:?}"
    );
}

#[test]
fn what_rows_do_not_take() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put_rows(at, "x", [3, 9]);
    put_rows(at, "taps", [2, 3]);
    let run = |line: &str| Run::line(at, line);
    run("conv x.npy taps.npy -o y.npy").refused("the signal is 3x9 and the list of taps is 2x3");
    run("conv x.npy taps0.npy -o y.npy --kernel tiled").refused("convolves one signal");
    run("conv x.npy taps0.npy -o y.npy --gpus 2").refused("not divided over devices");
    assert!(!at.join("y.npy").exists());
}
