//! The crates in `tests/kernel_crates/crates`, built for sm_80 and, with `cargo xtask test --all`,
//! for sm_90, on every device that is there: each kernel's results against what is computed here. A
//! test has the name of its crate.

mod algorithms;
mod arguments;
mod atomics;
mod floats;
mod integers;
mod language;
mod machine;
mod shared;
mod threads;

use cuda_std::launch::Shape;
use std::fmt::Debug;
use std::path::Path;

use blockwise::Buffer;
use blockwise_ops::Element;
use blockwise_tests::Arguments;
use blockwise_tests::bench::{Bench, kernel_crates, kernel_crates_ptx};

/// The text of the files above.
const SOURCES: [&str; 9] = [
    include_str!("algorithms.rs"),
    include_str!("arguments.rs"),
    include_str!("atomics.rs"),
    include_str!("floats.rs"),
    include_str!("integers.rs"),
    include_str!("language.rs"),
    include_str!("machine.rs"),
    include_str!("shared.rs"),
    include_str!("threads.rs"),
];

/// Memory of the bench's device with these values.
fn upload<T: Element>(bench: &Bench, values: &[T]) -> Buffer<T> {
    bench.device.upload(values).unwrap()
}

/// What a kernel writes whose parameters are slices and one pointer for `len` results.
fn results<T: Element, U: Element>(
    bench: &Bench,
    kernel: &str,
    shape: Shape,
    inputs: &[&[T]],
    len: usize,
) -> Vec<U> {
    let buffers: Vec<_> = inputs.iter().map(|values| upload(bench, values)).collect();
    let arguments = buffers.iter().fold(Arguments::new(), Arguments::slice);
    bench.run(kernel, shape, arguments, len)
}

/// Runs a kernel as in [`results`] on every device; it is to write exactly `expected`.
#[track_caller]
fn check<T: Element, U: Element>(kernel: &str, shape: Shape, inputs: &[&[T]], expected: &[U]) {
    for bench in kernel_crates() {
        let got: Vec<U> = results(bench, kernel, shape, inputs, expected.len());
        assert_same(&got, expected);
    }
}

/// Runs a kernel that changes `data`, its only parameter, on every device; it is to leave exactly
/// `expected`.
#[track_caller]
fn check_changed<T: Element>(kernel: &str, shape: Shape, data: &[T], expected: &[T]) {
    for bench in kernel_crates() {
        let mut buffer = upload(bench, data);
        let arguments = Arguments::new().pointer(&mut buffer);
        bench.launch(kernel, shape, &arguments).unwrap();
        assert_same(&buffer.to_vec().unwrap(), expected);
    }
}

#[track_caller]
fn assert_same<T: PartialEq + Debug>(got: &[T], expected: &[T]) {
    assert_eq!(got.len(), expected.len());
    for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert_eq!(got, expected, "element {at}");
    }
}

/// Each value within its tolerance of its reference. NaN never passes.
#[track_caller]
fn assert_close<T: Copy + Into<f64>>(
    got: &[T],
    expected: &[f64],
    tolerance: impl Fn(usize) -> f64,
) {
    assert_eq!(got.len(), expected.len());
    for (at, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let close = (got.into() - expected).abs() <= tolerance(at);
        assert!(close, "element {at}: {:e}, not {expected:e}", got.into());
    }
}

/// The folders in `tests/kernel_crates/crates`, in order.
fn crates() -> Vec<String> {
    let areas = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel_crates/crates");
    let entries = std::fs::read_dir(&areas).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn every_crate_has_its_test_and_every_kernel_its_launch() {
    let crates = crates();
    assert!(crates.len() >= 60, "{} crates", crates.len());
    for name in crates {
        let test = format!("fn {name}()");
        let tested = SOURCES.iter().any(|source| source.contains(&test));
        assert!(tested, "no test `{name}` here");
    }
    for file in kernel_crates_ptx() {
        for line in file.text.lines() {
            let Some(entry) = line.strip_prefix(".visible .entry ") else {
                continue;
            };
            let name = format!("\"{}\"", entry.split('(').next().unwrap());
            let launched = SOURCES.iter().any(|source| source.contains(&name));
            assert!(launched, "nothing launches {name}");
        }
    }
}
