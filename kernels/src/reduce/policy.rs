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
    /// The policy of a sum.
    pub sum: Policy,
    /// The policy of a dot product, whose threads take up to 64 registers.
    pub dot: Policy,
    /// The policy of a minimum or maximum, which adds nothing in two terms.
    pub extreme: Policy,
}

/// The table, smallest operands first; the last row has no limit. Measured by `blockwise tune` on
/// an H200 (132 multiprocessors, driver 580.159, 2026-11-21), as threads × blocks per
/// multiprocessor.
///
/// Up to what the caches hold, the end of a launch counts: all warps fold their lanes at about the
/// same time, with four shuffles and eight additions a round where a sum has two terms. Fewer
/// threads have less of it, and four packs each are still enough in flight. Sums since they add in
/// more, in graphs, old time over new (2026-11-26); old: `f32` and `f64` in themselves, 512 × 2 up
/// to 8 MiB and 1024 × 2 beyond, or `shuffle`:
///
/// | | **256 × 2** | **256 × 4** | 512 × 2 | 512 × 3 | 1024 × 2 |
/// | --- | --- | --- | --- | --- | --- |
/// | sum, 2²⁰ `f32` | 0.98 | 0.98 | 0.96 | 0.96 | 0.86 |
/// | sum, 2²⁰ `f64` | 0.89 | 0.86 | 0.85 | 0.85 | 0.82 |
/// | dot, 2²⁰ `f32` | 0.94 | 0.94 | 0.92 | 0.92 | 0.78 |
/// | dot, 2²⁰ `f64` | 0.87 | 0.84 | 0.86 | 0.86 | 0.84 |
/// | sum, 6,260,706 `f32` | 1.01 | 1.05 | 1.02 | 1.02 | 0.90 |
/// | dot, 6,260,706 `f32` | 0.97 | 1.03 | 1.02 | 1.01 | 0.83 |
/// | sum, 24,369,310 `f32` | 0.96 | 1.00 | 0.99 | 0.99 | 0.97 |
/// | sum, 24,369,310 `f64` | 0.95 | 0.99 | 0.99 | 0.99 | 0.98 |
/// | dot, 24,369,310 `f64` | 0.79 | 0.96 | 0.97 | 0.99 | 0.97 |
///
/// Since blocks fold through shared memory, the same; dot products have two packs of each operand in
/// flight instead of four:
///
/// | | **sum 256 × 2** | **256 × 4** | 128 × 4 | **dot 128 × 8** | 128 × 6 | 128 × 4 | 256 × 4 |
/// | --- | --- | --- | --- | --- | --- | --- | --- |
/// | 2¹⁸ `f32` | 1.05 | 1.05 | 1.06 | 1.00 | 1.00 | 1.00 | 0.97 |
/// | 2²⁰ `f32` | 1.00 | 1.00 | 0.98 | 0.99 | 0.98 | 0.98 | 0.97 |
/// | 2²¹ `f32` | 1.03 | 1.04 | 1.00 | 0.99 | 0.98 | 0.99 | 0.91 |
/// | 2²² `f32` | 1.04 | 1.05 | 1.01 | 1.00 | 1.00 | 0.99 | 0.94 |
/// | 2²⁰ `f64` | 0.98 | 0.96 | 0.94 | 0.92 | 0.94 | 0.94 | 0.87 |
/// | 2²² `f64` | 0.96 | 1.00 | 0.93 | 0.99 | 0.98 | 0.95 | 0.99 |
/// | 2²⁴ `f64` | 0.95 | 0.99 | 0.95 | 1.01 | 1.00 | 0.97 | 1.01 |
///
/// Since lanes take four values in a block's fold and an incomplete tile's loads are in flight
/// together, on an H100 (2026-11-27):
///
/// | | **128 × 8** | 128 × 4 | 128 × 6 | 256 × 2 | **256 × 4** |
/// | --- | --- | --- | --- | --- | --- |
/// | sum, 2¹⁹ `f64` | 1.00 | 0.99 | 1.00 | 0.97 | 0.97 |
/// | sum, 2²⁰ `f64` | 0.98 | 0.96 | 0.86 | 0.94 | 0.96 |
/// | sum, 2²¹ `f64` | 0.96 | 0.96 | 0.94 | 0.94 | 0.94 |
/// | sum, 3,000,000 `f32` | 0.90 | 1.00 | 0.98 | 0.98 | 0.90 |
/// | sum, 2²² `f64` | 0.96 | 0.93 | 0.94 | 0.91 | 0.93 |
/// | sum, 2²⁴ `f32` | 0.99 | 0.96 | 0.99 | 0.96 | 0.99 |
/// | sum, 2²⁶ `f32` | 0.99 | 0.97 | 0.99 | 0.98 | 1.00 |
///
/// Grids of small blocks are whole rounds since: as many blocks as share the packs evenly in the
/// fewest rounds, at most 8 a multiprocessor. In graphs on an H200 (2026-11-27), old time over new:
///
/// | | 8 | 4 | whole rounds |
/// | --- | --- | --- | --- |
/// | sum, 1,250,000 `f64` | | 0.95 | 1.02 |
/// | sum, 2²¹ `f64` | | 0.99 | 1.00 |
/// | sum, 3,000,000 `f32` | | 0.99 | 1.02 |
/// | sum, 2²² `f32` | | 0.96 | 0.99 |
/// | sum, 2²³ `f32` | 0.98 | | 1.00 |
/// | dot, 2,820,493 `f32` | 0.90 | | 0.98 |
/// | dot, 2²⁰ `f64` | 0.97 | | 0.99 |
/// | dot, 3,000,000 `f64` | 0.96 | | 0.94 |
///
/// Minima keep the policies of before, with few exceptions the faster ones (H200, 2026-11-27):
///
/// | | 128 × 8 | **256 × 2** | **256 × 4** |
/// | --- | --- | --- | --- |
/// | min, 2²⁰ `f32` | 1.02 | 0.99 | 0.99 |
/// | min, 2²¹ `f32` | 0.98 | 1.00 | 1.00 |
/// | min, 6,260,706 `f32` | 0.93 | 0.99 | 0.99 |
/// | min, 2²¹ `f64` | 0.96 | 0.99 | 0.99 |
///
/// Operands larger than the caches: all threads that an H200 holds, in few blocks. One policy
/// varies by up to 0.4 %.
///
/// | 2²⁹ `f32`, µs | 128 × 16 | 256 × 8 | 512 × 4 | 1024 × 1 | **1024 × 2** | 1024 × 4 |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | sum, 4 packs in flight | 485.1 | 478.9 | 473.7 | 475.9 | 473.5 | 474.2 |
/// | sum, 8 | 484.1 | 479.6 | 475.8 | 475.8 | 476.6 | 478.4 |
/// | min, 4 | 486.5 | 479.7 | 473.8 | 476.0 | 475.7 | 475.5 |
/// | min, 8 | 483.4 | 479.1 | 476.2 | 475.6 | 478.2 | 481.8 |
/// | dot, 4 | 960.5 | 952.0 | 944.4 | 948.2 | 945.1 | 946.2 |
/// | dot, 8 | 972.1 | 985.3 | 971.1 | 947.0 | 944.5 | 947.5 |
///
/// Dot products since they add in higher precision (2026-11-26, kernels alone):
///
/// | µs | 1024 × 2 | 768 × 2 | 384 × 4 | 256 × 6 | 512 × 2 | **512 × 3** | 512 × 4 |
/// | --- | --- | --- | --- | --- | --- | --- | --- |
/// | 6,260,706 `f32` | 14.8 | 11.4 | 12.0 | 11.5 | 11.3 | 11.3 | 13.7 |
/// | 2²⁸ `f32` | 490.8 | 491.0 | 492.6 | 494.2 | 491.0 | 488.5 | 529.4 |
/// | 6,260,706 `f64` | 29.0 | 26.9 | 26.9 | 27.0 | 27.1 | 26.8 | 30.7 |
/// | 2²⁸ `f64` | 985.5 | 982.4 | 985.2 | 987.9 | 982.7 | 982.8 | 1135.1 |
pub const TABLE: &[Row] = &[
    Row {
        name: "small",
        bytes: 8 << 20,
        sum: policy(128, 8),
        dot: policy(128, 8),
        extreme: policy(256, 2),
    },
    Row {
        name: "cached",
        bytes: 64 << 20,
        sum: policy(128, 8),
        dot: policy(128, 8),
        extreme: policy(256, 4),
    },
    Row {
        name: "medium",
        bytes: 256 << 20,
        sum: policy(256, 4),
        dot: policy(512, 2),
        extreme: policy(256, 4),
    },
    Row {
        name: "large",
        bytes: usize::MAX,
        sum: policy(1024, 2),
        dot: policy(512, 3),
        extreme: policy(1024, 2),
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
