//! Kernels with shared memory in a crate that forbids `unsafe` and every warning.

#![forbid(
    warnings,
    unsafe_code,
    missing_docs,
    unreachable_pub,
    unused,
    unused_qualifications,
    unused_lifetimes,
    unused_results,
    single_use_lifetimes,
    private_interfaces,
    non_camel_case_types,
    non_snake_case,
    elided_lifetimes_in_paths,
    trivial_casts,
    trivial_numeric_casts
)]

use cuda_std::prelude::*;

/// Every parameter.
#[kernel(
    instances((f32, 16), (f64, 8)),
    shared(tile = (block.threads() + n) * 2, other = a.rows() - 1),
    require(a.cols() == c.rows(), grid.blocks() > 0)
)]
pub fn everything<T: Plain, const N: usize>(
    block: &mut Block<N, { N / 2 }>,
    mut fixed: Shared<'_, Tile<T, N, N>>,
    ring: Ring<'_, [T; N], 2>,
    scratch: Scratch<'_, T>,
    tile: Shared<'_, [T]>,
    other: Shared<'_, [u8]>,
    n: usize,
    a: Matrix<'_, T>,
    c: OutMatrix<'_, T, N, N>,
    [_counts, _]: [u32; 2],
    counts: Atomics<'_, u32>,
    last: Out<'_, T, FromEnd>,
    each: Out<'_, T, PerBlock>,
) {
    let written = fixed.write(block, |_| a.as_slice()[n]);
    let read = block.sync_threads(written);
    fixed = block.sync_threads(read);
    let _ = (fixed, ring, scratch, tile, other, c, counts, last, each);
}

/// Of types that a macro is given.
macro_rules! of_macros {
    ($name:ident, $array:ty, $block:ty, $map:ident) => {
        /// Reads the last tile.
        #[kernel(shared(rest = x.len() % block.threads()), max_threads = 1024, min_blocks = 2)]
        pub fn $name(block: &mut $block, tile: Shared<'_, $array>, rest: Shared<'_, [$map]>, x: &[$map]) {
            let _ = (block, tile, rest, x);
        }
    };
}
of_macros!(small, [u32; 32], Block<ANY, ANY>, u32);
of_macros!(large, Tile<u64, 8, 8>, Block<64>, f32);

fn main() {
    let _ = everything::<f64, 8>::entry();
    assert_eq!(large::entry().block, [64, 1, 1]);
    assert_eq!(small::entry().block, [0, 0, 1]);
}
