//! How [`wide`](super::wide) and [`single`](super::single) are launched.

/// Threads and blocks of a launch. Both fix the order of the additions, and with it the bits of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Threads of a block.
    pub threads: u32,
    /// Blocks, at most.
    pub blocks: u32,
}

/// For operands that leave the caches: as many threads as an H200 holds, and each block its share.
///
/// | 2²⁹ `f32` on an H200, TB/s | 512 × 528 | **1024 × 264** | 1024 × 528 | 512 × 1056 | peer |
/// | --- | --- | --- | --- | --- | --- |
/// | sum | 4.636 | 4.643 | 4.638 | 4.622 | CUB 4.604 |
/// | min | 4.634 | 4.638 | 4.628 | 4.612 | CUB 4.600 |
/// | dot | | 4.659 | 4.665 | | cuBLAS 4.500 |
pub const LARGE: Policy = Policy {
    threads: 1024,
    blocks: 264,
};

/// For operands of a few megabytes, where the launch and the last block take most of the time.
///
/// | 2²⁰ `f32` on an H200, µs from event to event | 256 × 132 | 512 × 132 | **512 × 264** | 1024 × 66 | CUB |
/// | --- | --- | --- | --- | --- | --- |
/// | sum | 6.94 | 6.78 | 6.72 | 6.77 | 7.84 |
pub const SMALL: Policy = Policy {
    threads: 512,
    blocks: 264,
};

/// Bytes of an operand up to which it is small.
pub const SMALL_BYTES: usize = 1 << 23;

/// The policy for an operand of so many bytes. The same on every device, so that the bits are.
pub const fn policy(bytes: usize) -> Policy {
    if bytes <= SMALL_BYTES { SMALL } else { LARGE }
}
