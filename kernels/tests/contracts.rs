//! Launches that the `unsafe` code of a kernel relies on not happening: each is refused before it
//! starts. The test device only records launches.

#[allow(dead_code, missing_docs, unreachable_pub)]
#[path = "../../crates/cuda_std/tests/support/mod.rs"]
mod support;

#[path = "contracts/fold.rs"]
mod fold;
#[path = "contracts/matmul/mod.rs"]
mod matmul;
#[path = "contracts/others.rs"]
mod others;
#[path = "contracts/reduce.rs"]
mod reduce;
#[path = "contracts/scan.rs"]
mod scan;

use cuda_std::launch::Shape;
use support::{Buffer, Device, Error};

/// An address aligned to 16-byte packs.
const ALIGNED: u64 = 1 << 20;

/// `len` elements, aligned to packs.
fn memory<T>(len: u64) -> Buffer<T> {
    Buffer::new(ALIGNED, len)
}

/// `len` elements that follow another element of the same memory.
fn behind<T>(len: u64) -> Buffer<T> {
    Buffer::new(ALIGNED + size_of::<T>() as u64, len)
}

fn shape(grid: [u32; 3], block: [u32; 3]) -> Shape {
    Shape::new(grid, block)
}

#[track_caller]
fn starts(result: Result<(), Error>) {
    assert_eq!(result, Ok(()));
}

/// Asserts that the launch broke a rule whose text contains `part`.
#[track_caller]
fn refused(result: Result<(), Error>, part: &str) {
    match result {
        Err(Error::Refused(refusal)) => {
            assert!(refusal.rule.contains(part), "{refusal} is not about {part}");
        }
        other => panic!("{other:?}, not refused for {part}"),
    }
}
