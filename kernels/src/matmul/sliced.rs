//! Matrix product in smaller tiles, with an inner extent that can be cut into slices.
//!
//! Change from [`pipelined`](super::pipelined), which computes each tile: tiles down to 64 × 32 or
//! 32 × 64, and one layer of the grid per [slice](super::slices) of the inner extent. A 128 × 128
//! product with an inner extent of 8192 has 4 tiles of 64 × 64, and 256 blocks in 64 slices.
//!
//! - sums\[s\]\[i, j\] = Σ A\[i, k\] · B\[k, j\] over k in slice s. With one slice that is C. With
//!   more, [`fold`](super::fold) adds them in a second launch.
//! - A batch: a layer of the grid for each slice of each product. Its matrices follow each other in A,
//!   B and each slice's sums.
//! - Loads, owners and barriers: those of `pipelined`, for the slice's columns of A and rows of B.
//! - Global reads per element of C: inner/`rows` + inner/`cols` of the tile, plus one write and one
//!   read of each of `slices` sums.

use cuda_std::prelude::*;

use super::pipelined::{ahead, columns, high, is_done, multiply, vectors};
use super::policy::{Policy, VECTOR};
use super::slices::*;
use super::split::RANGE_WORDS;
use super::stage::{Operands, turned};
use crate::here::zero_here;

/// The products of all slices.
///
/// # Parameters
/// - `a`: A, `rows · inner` elements, `of_a` times: 1, if all products share it, or `batch`. `b`: B,
///   with rows that start `pitch` elements apart: `batch` times `inner · pitch` elements; `pitch` is
///   `cols` unless B was [copied](super::pitched). `sums`: for each of `slices`, `batch` matrices of
///   `rows · cols` elements, at least one. For an instance that moves vectors, `pitch` is a whole
///   number of them, and B is aligned to 16 bytes unless `pitch` is `cols`. A B without rows may begin
///   anywhere all the same, and columns turn by where it begins: then `cols` too is a whole number of
///   vectors, or `pitch`.
///
/// # Launch
/// Blocks of as many threads and as much dynamic shared memory as the instance's policy says. The
/// grid strides over the tiles of C along x and y, and has a layer along z for each slice of each
/// product: a loop over layers takes registers, and 64 × 32 tiles then compute 4 % slower.
#[kernel(
    instances(Square, Small, Flat, SquareRagged, SmallRagged, FlatRagged),
    name = "matmul_sliced_{S}_f32",
    max_threads = 128,
    min_blocks = 3,
    require(
        of_a == 1 || of_a == batch,
        elements(rows, inner, of_a) == Some(a.len()),
        elements(inner, pitch, batch) == Some(b.len()),
        super::slices::sums(rows, cols, slices, batch) == Some(sums.len()),
        !sums.is_empty(),
        cols <= pitch,
        grid.z as usize == slices.saturating_mul(batch),
        pitch.is_multiple_of(<S as Instance>::POLICY.vector),
        <S as Instance>::POLICY.vector == 1
            || pitch == cols
            || b.is_aligned_to(crate::pack::BYTES)
                && (inner > 0 || cols.is_multiple_of(<S as Instance>::POLICY.vector)),
        [block.x as usize, block.y as usize, block.z as usize] == [<S as Instance>::POLICY.threads(), 1, 1],
        shared_bytes as usize >= <S as Instance>::POLICY.shared_bytes()
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "three matrices, three extents, a pitch, the slices, the batch"
)]
pub fn matmul_sliced<S: Instance>(
    a: &[f32],
    b: &[f32],
    mut sums: Out<f32>,
    rows: usize,
    inner: usize,
    cols: usize,
    pitch: usize,
    slices: usize,
    of_a: usize,
    batch: usize,
) {
    const POLICY: Policy = <S as Instance>::POLICY;
    let (sums, layer) = (sums.as_mut_ptr(), thread::block_idx_z() as usize);
    let (number, matrix) = number(layer, slices, batch);
    let (first, len) = slice(inner, slices, number);
    // SAFETY: `require` states the operands' sizes and alignment, the block and its shared memory;
    // the slice ends within the inner extent, and only this layer of the grid writes its sums.
    unsafe {
        let of_a = if of_a == 1 { 0 } else { matrix * rows * inner };
        let of_b = (matrix * inner + first) * pitch;
        let of = Operands {
            a: a.get(of_a + first..).unwrap_or_default(),
            b: b.get(of_b..).unwrap_or_default(),
            rows,
            inner: len,
            cols,
            pitch_a: inner,
            pitch_b: pitch,
            turned: turned(&POLICY, b.as_ptr()),
        };
        multiply::<
            { high(&POLICY) * VECTOR },
            { high(&POLICY) },
            { columns(&POLICY) },
            { vectors(&POLICY) },
            { ahead(&POLICY) },
        >(POLICY, of, || {
            let first = (layer + zero_here()) * rows * cols;
            (sums.wrapping_add(first), turned(&POLICY, b.as_ptr()))
        });
    }
}

/// The same in tiles of [`Cut::Tall`], also of [copies](super::pitched) of A and B, and instead of
/// [`tensor`](super::tensor).
///
/// # Parameters
/// - `a`, `b`: A and B, whose rows start `pitch_a` and `pitch_b` elements apart: `inner` and `cols`,
///   unless they were [copied](super::pitched). `of_a`, `batch`, `sums`: as for [`matmul_sliced`].
///   For an instance that moves vectors, `pitch_b` is a whole number of them, and B is aligned to 16
///   bytes; so are `sums`, if `cols` is a whole number of them too.
/// - `unless`: as for [`pipelined`](struct@super::pipelined::matmul_pipelined_f32).
///
/// # Launch
/// As for [`matmul_sliced`], but the grid strides over the layers too.
#[kernel(
    instances(Tall, TallRagged),
    name = "matmul_sliced_{S}_f32",
    max_threads = 128,
    min_blocks = 3,
    require(
        of_a == 1 || of_a == batch,
        elements(rows, pitch_a, of_a) == Some(a.len()),
        elements(inner, pitch_b, batch) == Some(b.len()),
        super::slices::sums(rows, cols, slices, batch) == Some(sums.len()),
        !sums.is_empty(),
        inner <= pitch_a,
        cols <= pitch_b,
        grid.z as usize <= slices.saturating_mul(batch),
        pitch_b.is_multiple_of(<S as Instance>::POLICY.vector),
        <S as Instance>::POLICY.vector == 1 || b.is_aligned_to(crate::pack::BYTES),
        <S as Instance>::POLICY.vector == 1
            || !cols.is_multiple_of(VECTOR)
            || sums.is_aligned_to(crate::pack::BYTES),
        unless.is_empty() || unless.len() == 2 * RANGE_WORDS,
        [block.x as usize, block.y as usize, block.z as usize] == [<S as Instance>::POLICY.threads(), 1, 1],
        shared_bytes as usize >= <S as Instance>::POLICY.shared_bytes()
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "three matrices, three extents, two pitches, the slices, the batch, the ranges"
)]
pub fn matmul_sliced_tall<S: Instance>(
    a: &[f32],
    b: &[f32],
    mut sums: Out<f32>,
    rows: usize,
    inner: usize,
    cols: usize,
    pitch_a: usize,
    pitch_b: usize,
    slices: usize,
    of_a: usize,
    batch: usize,
    unless: &[u32],
) {
    const POLICY: Policy = <S as Instance>::POLICY;
    if is_done(unless, inner) {
        return;
    }
    let sums = sums.as_mut_ptr();
    let mut layer = thread::block_idx_z() as usize;
    while layer < (slices + zero_here()) * batch {
        let (number, matrix) = number(layer, slices, batch);
        let (first, len) = slice(inner, slices, number);
        // SAFETY: `require` states the operands' sizes and alignment, the block and its shared
        // memory; the slice ends within the inner extent, and only this layer of the grid writes
        // its sums.
        unsafe {
            let of_a = if of_a == 1 {
                0
            } else {
                matrix * rows * pitch_a
            };
            let of_b = (matrix * inner + first) * pitch_b;
            let of = Operands {
                a: a.get(of_a + first..).unwrap_or_default(),
                b: b.get(of_b..).unwrap_or_default(),
                rows,
                inner: len,
                cols,
                pitch_a,
                pitch_b,
                turned: turned(&POLICY, b.as_ptr()),
            };
            multiply::<
                { high(&POLICY) * VECTOR },
                { high(&POLICY) },
                { columns(&POLICY) },
                { vectors(&POLICY) },
                { ahead(&POLICY) },
            >(POLICY, of, || {
                let first = (layer + zero_here()) * rows * cols;
                (sums.wrapping_add(first), turned(&POLICY, b.as_ptr()))
            });
        }
        layer += thread::grid_dim_z() as usize;
    }
}
