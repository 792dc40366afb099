//! Launch policies of [`wide`](super::wide) and [`single`](super::single): plain data, each value
//! with the measurement that chose it. `blockwise tune` searches for better ones on the current
//! device.

/// The configuration of a launch. It fixes the order of the additions, and so the bits of the
/// result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Threads per block.
    pub threads: u32,
    /// Maximum blocks per multiprocessor.
    pub blocks_each: u32,
}

/// 16-byte packs that a thread has in flight; of a dot product by [`single`](super::single), of each
/// operand.
pub const IN_FLIGHT: usize = 4;

/// A row of the table: the policy for operands up to a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name in output.
    pub name: &'static str,
    /// Maximum size of an operand in bytes.
    pub bytes: usize,
    /// The policy. Its threads take up to 64 registers.
    pub policy: Policy,
}

/// The table, smallest operands first; the last row has no limit. As threads × blocks per
/// multiprocessor.
///
/// In small blocks fewer threads fold at the end, and sums of `f64` next to [an
/// anchor](super::anchored). Grids of them are whole rounds: as many blocks as share the packs
/// evenly in the fewest rounds. Behind a delay, cold as `blockwise bench` launches it, on an H200
/// (132 multiprocessors, 2026-11-27), the time before sums were exact over that of
/// [`wide`](super::wide):
///
/// | | **128 × 8** | 256 × 4 | 512 × 2 |
/// | --- | --- | --- | --- |
/// | sum, 2²⁰ `f64` | 1.04 | 1.01 | 1.01 |
/// | sum, 3,000,001 `f64` | 1.03 | 1.01 | 1.00 |
/// | sum, 3,000,001 `f32` | 0.99 | 0.93 | 0.94 |
/// | sum, 2²⁴ `f64` | 0.99 | 0.99 | 0.98 |
/// | dot, 2²⁰ `f64` | 1.00 | 0.99 | 0.98 |
/// | dot, 3,000,001 `f64` | 1.01 | 0.99 | 0.99 |
/// | min, 2,097,153 `f32` | 1.12 | 1.10 | 1.08 |
/// | min, 3,000,001 `f64` | 1.06 | 1.05 | 1.04 |
/// | min, 2²⁵ `f64` | 1.00 | 0.99 | 1.00 |
///
/// Operands larger than the caches, of `single` the fastest of 512 × 2, 1024 × 1 and 1024 × 2:
///
/// | | 256 × 4 | **512 × 2** | 1024 × 1 | 512 × 4 | `single` |
/// | --- | --- | --- | --- | --- | --- |
/// | sum, 2²⁸ `f32` | 1.00 | 1.00 | 0.99 | 1.00 | 0.99 |
/// | sum, 2²⁶ `f64` | 1.00 | 1.00 | 1.01 | 1.00 | 0.99 |
/// | dot, 2²⁸ `f32` | 1.00 | 1.00 | 1.00 | 1.00 | 0.97 |
/// | dot, 2²⁶ `f64` | 1.00 | 1.01 | 1.00 | 1.01 | 0.97 |
/// | min, 2²⁸ `f32` | 1.00 | 1.00 | 1.00 | | 1.00 |
/// | min, 2³⁰ `f32` | 1.00 | 1.00 | 1.00 | 0.92 | 1.00 |
pub const TABLE: &[Row] = &[
    Row {
        name: "cached",
        bytes: 256 << 20,
        policy: policy(128, 8),
    },
    Row {
        name: "large",
        bytes: usize::MAX,
        policy: policy(512, 2),
    },
];

const fn policy(threads: u32, blocks_each: u32) -> Policy {
    Policy {
        threads,
        blocks_each,
    }
}

/// The row for an operand of `bytes` bytes.
pub fn row(bytes: usize) -> &'static Row {
    let last = TABLE.len() - 1;
    let fits = |row: &&Row| bytes <= row.bytes;
    TABLE[..last].iter().find(fits).unwrap_or(&TABLE[last])
}
