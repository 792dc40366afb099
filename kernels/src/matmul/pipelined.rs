//! Matrix product whose copies run ahead of the arithmetic.
//!
//! Change from [`register_tile`](super::register_tile): global memory is copied to shared memory by
//! `cp.async`, some stages ahead, so that no thread waits for it; fragments come from shared memory
//! 16 bytes at a time, one step of k ahead; one barrier a stage instead of two.
//!
//! - Loads: see `stage.rs`, and [`Tiles`] for what the instances copy at once. Blocks take the
//!   tiles of C in groups of rows, so that those of a moment share operands in the L2 cache.
//! - A warp has 8 × 4 lanes, each with 8 rows and, in the instance [`Tiles::Wide`], 16 columns: 64
//!   × 64 elements. Neighbouring lanes share rows, those two apart share columns: the hardware then
//!   reads 16 lanes at once, without bank conflicts.
//! - A thread walks through its columns, and in them up and down through the rows, so that
//!   neighbouring FMAs share an operand. Sums run in the order of k.
//! - The barrier of a stage puts all threads' copies of the next stage before its reads, and all
//!   reads of this stage before the copies that replace it.
//!
//! Where no thread waits for memory, the issue of FMAs sets the pace. On an H200 one seems to take
//! a second cycle when the operands that it must read come from one bank of registers, the even or
//! the odd ones, or when all three must be read. The walk above, with registers as `ptxas` 13.0
//! gives them out, leaves 150 of those among the 1024 FMAs of a round of [`Tiles::Wide`]. With A's
//! tile as it lies in memory, so that vectors come in along the inner extent, there were 767 among
//! 2048 instead of 166, and 0.84 to 0.87 of cuBLAS's speed instead of 0.92 to 0.98. What the
//! instances reach is at [`Tiles`].

use cuda_std::async_copy::{cp_async_commit_group, cp_async_wait_all, cp_async_wait_group};
use cuda_std::prelude::*;

use super::asm;
use super::policy::{Policy, Tiles, VECTOR};
use super::split::{RANGE_WORDS, fits};
use super::stage::{Copies, Operands};
use crate::pack::Pack;
use cuda_std::unroll::unrolled;

/// Rows of C that a thread owns.
const ROWS: usize = 8;
/// Lanes of a warp along the rows and along the columns of C.
const LANE_ROWS: usize = 8;
const LANE_COLS: usize = 4;
/// Elements of the inner extent in a stage, and stages, at most.
const MOST_INNER: usize = 16;
const MOST_STAGES: usize = 4;

/// Columns of C that a thread owns.
pub(super) const fn columns(policy: &Policy) -> usize {
    assert!(policy.warp_rows == LANE_ROWS * ROWS);
    assert!(policy.inner <= MOST_INNER && policy.inner.is_multiple_of(2));
    assert!(policy.stages <= MOST_STAGES);
    policy.warp_cols / LANE_COLS
}

/// Vectors of columns of C that a thread owns.
pub(super) const fn vectors(policy: &Policy) -> usize {
    columns(policy) / VECTOR
}

/// Groups of copies that are in flight beside the next step's.
pub(super) const fn ahead(policy: &Policy) -> u32 {
    policy.stages as u32 - 2
}

/// [`multiply_unless`] by the policy of these tiles, which is a constant.
macro_rules! product {
    ($tiles:expr, $of:expr, $c:expr, $unless:expr) => {{
        const POLICY: Policy = $tiles.policy();
        multiply_unless::<{ columns(&POLICY) }, { vectors(&POLICY) }, { ahead(&POLICY) }>(
            POLICY, $of, $c, $unless,
        )
    }};
}

/// C = A·B with [`Tiles::Wide`].
///
/// # Parameters
/// - `a`: A, `rows · inner` elements. `b`: B, `inner · cols` elements. `c`: C, `rows · cols`
///   elements. An instance that moves vectors [fits](Tiles::fit) the columns, and B and C begin at
///   multiples of 16 bytes.
/// - `unless`: empty, or two ranges of [`RANGE_WORDS`]: nothing is done when they
///   [fit](super::split::fits), for then [`tensor`](super::tensor) has done it. Whatever they hold,
///   C is computed or left as it is.
///
/// # Launch
/// Blocks of as many threads and as much dynamic shared memory as the policy of these [`Tiles`]
/// says; the grid strides over the tiles of C.
#[kernel(
    max_threads = 256,
    min_blocks = 1,
    require(
        rows.checked_mul(inner) == Some(a.len()),
        inner.checked_mul(cols) == Some(b.len()),
        rows.checked_mul(cols) == Some(c.len()),
        Tiles::Wide.fit(cols),
        b.is_aligned_to(crate::pack::BYTES),
        c.is_aligned_to(crate::pack::BYTES),
        unless.is_empty() || unless.len() == 2 * RANGE_WORDS,
        [block.x as usize, block.y as usize, block.z as usize] == [Tiles::Wide.policy().threads(), 1, 1],
        shared_bytes as usize >= Tiles::Wide.policy().shared_bytes(),
        grid.z == 1
    )
)]
pub fn matmul_pipelined_f32(
    a: &[f32],
    b: &[f32],
    mut c: Out<f32>,
    rows: usize,
    inner: usize,
    cols: usize,
    unless: &[u32],
) {
    let of = Operands::packed(a, b, [rows, inner, cols]);
    // SAFETY: `require` states the matrices' sizes and alignment, the block, its shared memory and
    // one layer of blocks.
    unsafe { product!(Tiles::Wide, of, c.as_mut_ptr(), unless) }
}

/// As [`matmul_pipelined_f32`](struct@matmul_pipelined_f32), with [`Tiles::Tall`].
#[kernel(
    max_threads = 128,
    min_blocks = 3,
    require(
        rows.checked_mul(inner) == Some(a.len()),
        inner.checked_mul(cols) == Some(b.len()),
        rows.checked_mul(cols) == Some(c.len()),
        Tiles::Tall.fit(cols),
        b.is_aligned_to(crate::pack::BYTES),
        c.is_aligned_to(crate::pack::BYTES),
        unless.is_empty() || unless.len() == 2 * RANGE_WORDS,
        [block.x as usize, block.y as usize, block.z as usize] == [Tiles::Tall.policy().threads(), 1, 1],
        shared_bytes as usize >= Tiles::Tall.policy().shared_bytes(),
        grid.z == 1
    )
)]
pub fn matmul_pipelined_tall_f32(
    a: &[f32],
    b: &[f32],
    mut c: Out<f32>,
    rows: usize,
    inner: usize,
    cols: usize,
    unless: &[u32],
) {
    let of = Operands::packed(a, b, [rows, inner, cols]);
    // SAFETY: `require` states the matrices' sizes and alignment, the block, its shared memory and
    // one layer of blocks.
    unsafe { product!(Tiles::Tall, of, c.as_mut_ptr(), unless) }
}

/// As [`matmul_pipelined_f32`](struct@matmul_pipelined_f32), with [`Tiles::Ragged`].
#[kernel(
    max_threads = 128,
    min_blocks = 3,
    require(
        rows.checked_mul(inner) == Some(a.len()),
        inner.checked_mul(cols) == Some(b.len()),
        rows.checked_mul(cols) == Some(c.len()),
        unless.is_empty() || unless.len() == 2 * RANGE_WORDS,
        [block.x as usize, block.y as usize, block.z as usize] == [Tiles::Ragged.policy().threads(), 1, 1],
        shared_bytes as usize >= Tiles::Ragged.policy().shared_bytes(),
        grid.z == 1
    )
)]
pub fn matmul_pipelined_ragged_f32(
    a: &[f32],
    b: &[f32],
    mut c: Out<f32>,
    rows: usize,
    inner: usize,
    cols: usize,
    unless: &[u32],
) {
    let of = Operands::packed(a, b, [rows, inner, cols]);
    // SAFETY: `require` states the matrices' sizes, the block, its shared memory and one layer of
    // blocks.
    unsafe { product!(Tiles::Ragged, of, c.as_mut_ptr(), unless) }
}

/// # Safety
/// As for [`multiply`].
#[inline(always)]
unsafe fn multiply_unless<const COLS: usize, const WIDE: usize, const AHEAD: u32>(
    policy: Policy,
    of: Operands<'_>,
    c: *mut f32,
    unless: &[u32],
) {
    if let ([a, b], []) = unless.as_chunks::<RANGE_WORDS>()
        && fits([*a, *b], of.inner)
    {
        return;
    }
    // SAFETY: passed on to the caller.
    unsafe { multiply::<COLS, WIDE, AHEAD>(policy, of, c) }
}

/// # Safety
/// The operands and C have their extents' sizes, and nobody but this launch uses C. All threads of
/// the launch call it; a block has the policy's threads along x and at least its dynamic shared
/// memory, the grid one layer. If the policy moves vectors, rows of B begin at multiples of 16
/// bytes, and unless it is pitched, C too. A thread owns COLS columns, which are WIDE
/// vectors; AHEAD groups of copies are in flight beside the next step's.
#[inline(always)]
pub(super) unsafe fn multiply<const COLS: usize, const WIDE: usize, const AHEAD: u32>(
    policy: Policy,
    of: Operands<'_>,
    c: *mut f32,
) {
    let shared = asm::dynamic_shared();
    let bytes = 4 * policy.words() as u32;
    let last = (policy.stages as u32 - 1) * bytes;
    let next = |stage: u32| if stage == last { 0 } else { stage + bytes };

    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    let warps = policy.cols / policy.warp_cols;
    let lane_row = lane >> 1 & 1 | lane >> 2 & 6;
    let lane_col = lane & 1 | lane >> 1 & 2;
    let row = warp / warps * policy.warp_rows + lane_row * VECTOR;
    let col = warp % warps * policy.warp_cols + lane_col * VECTOR;
    let (a_slot, b_slot) = (
        shared + 4 * row as u32,
        shared + 4 * (policy.words_a() + col) as u32,
    );

    let steps = of.inner.div_ceil(policy.inner);
    let ragged = of.inner - steps.saturating_sub(1) * policy.inner;
    let blocks = thread::grid_dim_x() as usize;
    let mut tile = thread::block_idx_y() as usize * blocks + thread::block_idx_x() as usize;
    while let Some((top, left)) = policy.tile(tile, of.rows, of.cols) {
        let copies = Copies::new(policy, of, shared, top, left);
        // The step that is copied next, and its first element of the inner extent.
        let (mut filled, mut k) = (0, 0);
        let mut fill = |stage: u32, len: Option<usize>| {
            if filled < steps {
                // SAFETY: the extents are the caller's promise; the stage's readers are past a
                // barrier.
                unsafe { copies.start(stage, k, len) };
                k += len.unwrap_or(policy.inner);
                filled += 1;
            }
            // Also without copies, so that there are as many groups as steps.
            cp_async_commit_group();
        };
        unrolled::<{ MOST_STAGES - 1 }>(|i| {
            if i + 1 < policy.stages {
                fill(i as u32 * bytes, (i == 0).then_some(ragged));
            }
        });
        let (mut read, mut write) = (0, last);
        // The first step's copies of all threads come before its reads.
        cp_async_wait_group::<AHEAD>();
        thread::sync_threads();

        let mut sums = [[0.0; COLS]; ROWS];
        let mut of_a = [[[0.0; VECTOR]; ROWS / VECTOR]; 2];
        let mut of_b = [[[0.0; VECTOR]; WIDE]; 2];
        macro_rules! load {
            ($into:expr, $stage:expr, $k:expr) => {
                unrolled::<{ ROWS / VECTOR }>(|i| {
                    let word = $k * policy.stride_a() + i * LANE_ROWS * VECTOR;
                    // SAFETY: inside the stage.
                    of_a[$into][i] = unsafe { asm::load_four(a_slot + $stage + 4 * word as u32) };
                });
                unrolled::<WIDE>(|j| {
                    let word = $k * policy.cols + j * LANE_COLS * VECTOR;
                    // SAFETY: inside the stage.
                    of_b[$into][j] = unsafe { asm::load_four(b_slot + $stage + 4 * word as u32) };
                });
            };
        }
        if steps > 0 {
            load!(0, read, 0);
        }
        macro_rules! multiply {
            ($k:expr) => {
                let (of_a, of_b) = (of_a[$k % 2], of_b[$k % 2]);
                unrolled::<COLS>(|j| {
                    unrolled::<ROWS>(|i| {
                        let i = if j % 2 == 0 { i } else { ROWS - 1 - i };
                        let (a, b) = (of_a[i / VECTOR][i % VECTOR], of_b[j / VECTOR][j % VECTOR]);
                        sums[i][j] = a.mul_add(b, sums[i][j]);
                    });
                });
            };
        }
        let mut step = 0;
        // ANCHOR: steps
        while step < steps {
            fill(write, None);
            write = next(write);
            unrolled::<{ MOST_INNER - 1 }>(|k| {
                if k + 1 < policy.inner {
                    load!((k + 1) % 2, read, k + 1);
                    multiply!(k);
                }
            });
            // The next step's copies of all threads come before its reads, and all reads of this
            // step's stage, which are done, before the copies that replace it.
            cp_async_wait_group::<AHEAD>();
            thread::sync_threads();
            read = next(read);
            load!(0, read, 0);
            multiply!(policy.inner - 1);
            step += 1;
        }
        // ANCHOR_END: steps
        // Every thread's reads come before any thread's copies for the next tile.
        cp_async_wait_all();
        thread::sync_threads();

        // Also rows of C are whole vectors where those of B follow each other without a gap.
        let whole = policy.vector == VECTOR
            && !policy.pitched
            && (of.pitch_b == of.cols || of.cols.is_multiple_of(VECTOR));
        unrolled::<ROWS>(|i| {
            let row = top + row + i / VECTOR * LANE_ROWS * VECTOR + i % VECTOR;
            unrolled::<WIDE>(|j| {
                let col = left + col + j * LANE_COLS * VECTOR;
                let to = c.wrapping_add(row * of.cols + col);
                let sums: [f32; VECTOR] = core::array::from_fn(|lane| sums[i][j * VECTOR + lane]);
                if whole {
                    if row < of.rows && col < of.cols {
                        // SAFETY: inside C, only this thread has this row and these columns, and
                        // `to` is aligned where columns come in vectors.
                        unsafe {
                            to.cast::<Pack<f32, VECTOR>>()
                                .write(Pack(sums.map(asm::moved)))
                        };
                    }
                } else {
                    unrolled::<VECTOR>(|lane| {
                        if row < of.rows && col + lane < of.cols {
                            // SAFETY: inside C, and only this thread has this row and column.
                            unsafe { to.wrapping_add(lane).write(sums[lane]) };
                        }
                    });
                }
            });
        });
        tile += blocks * thread::grid_dim_y() as usize;
    }
}
