//! Matrix product with asynchronous copies that run ahead of the arithmetic.
//!
//! Change from [`register_tile`](super::register_tile): `cp.async` copies global memory to shared
//! memory several stages ahead, so no thread waits for it; fragments are loaded from shared memory
//! 16 bytes at a time, one step of k ahead; one barrier per stage instead of two.
//!
//! - Loads: see `stage.rs`, and [`Tiles`] for the width of a copy in each instance. Blocks take the
//!   tiles of C in groups of rows, so that blocks that run concurrently share operands in the L2
//!   cache.
//! - A warp has 8 × 4 lanes, each with 8 rows and, in the instance [`Tiles::Wide`], 16 columns: 64
//!   × 64 elements. The tiles of [`sliced`](super::sliced) have 4 or 8 rows and 4 or 8 columns.
//!   Adjacent lanes share rows, lanes two apart share columns: the hardware then serves 16 lanes in
//!   one wavefront, without bank conflicts.
//! - A thread goes through its columns, and within each up or down through the rows, so that
//!   consecutive FMAs share an operand. Sums run in the order of k.
//! - The barrier of a stage orders all threads' copies of the next stage before the reads of it,
//!   and all reads of the previous stage before the copies that overwrite it.
//!
//! Where no thread waits for memory, the issue rate of FMAs is the limit. On an H200 an FMA seems
//! to take a second cycle if the operands that it must read come from one register bank (even or
//! odd), or if it must read all three. With the order above and the registers that `ptxas` 13.0
//! allocates, 150 of the 1024 FMAs in a round of [`Tiles::Wide`] do. With A's tile stored as in
//! memory, so that vectors run along the inner extent, it was 767 of 2048 instead of 166, and 0.84
//! to 0.87 of cuBLAS's speed instead of 0.92 to 0.98. [`Tiles`] has the speed of each instance.

use cuda_std::async_copy::{cp_async_commit_group, cp_async_wait_all, cp_async_wait_group};
use cuda_std::prelude::*;

use super::asm;
use super::policy::{Policy, Tiles, VECTOR};
use super::split::{RANGE_WORDS, fits};
use super::stage::{Copies, Operands, column, turned};
use crate::here::{global_here, zero_here};
use crate::pack::{Pack, elements_behind};
use cuda_std::unroll::unrolled;

/// Lanes of a warp along the rows and along the columns of C.
const LANE_ROWS: usize = 8;
const LANE_COLS: usize = 4;
/// The most elements of the inner extent in a stage.
const MOST_INNER: usize = 16;

/// Vectors of rows of C that a thread owns.
pub(super) const fn high(policy: &Policy) -> usize {
    assert!(policy.warp_rows.is_multiple_of(LANE_ROWS * VECTOR));
    policy.warp_rows / (LANE_ROWS * VECTOR)
}

/// Columns of C that a thread owns.
pub(super) const fn columns(policy: &Policy) -> usize {
    assert!(policy.inner <= MOST_INNER && policy.inner.is_multiple_of(2));
    assert!(matches!(policy.stages, 3 | 4));
    policy.warp_cols / LANE_COLS
}

/// Vectors of columns of C that a thread owns.
pub(super) const fn vectors(policy: &Policy) -> usize {
    columns(policy) / VECTOR
}

/// Groups of copies in flight besides that of the next step.
pub(super) const fn ahead(policy: &Policy) -> u32 {
    policy.stages as u32 - 2
}

/// Words between the rows of a warp's room, in which rows of C are rearranged: lanes that write to
/// neighbouring rows at once use different banks.
const fn room_pitch(policy: &Policy) -> usize {
    policy.warp_cols.next_multiple_of(32) + 16
}

/// Whether a stage has room to rearrange rows of C. [`Tiles::Wide`] has none and needs none: its
/// rows are aligned vectors.
const fn has_rooms(policy: &Policy) -> bool {
    let warps = policy.threads() / 32;
    warps * LANE_ROWS * room_pitch(policy) <= policy.words()
}

/// C = A·B with [`Tiles::Wide`]. The other [`Tiles`] are those of [`sliced`](super::sliced).
///
/// # Parameters
/// - `a`: A, `rows · inner` elements, `of_a` times: 1, if all products share it, or `batch`. `b`,
///   `c`: B and C, `inner · cols` and `rows · cols` elements, `batch` times. The columns
///   [fit](Tiles::fit) an instance that moves vectors, and B and C are aligned to 16 bytes.
/// - `unless`: empty, or two ranges of [`RANGE_WORDS`]. If they [fit](super::split::fits),
///   [`tensor`](super::tensor) has computed C, and this kernel does nothing. Whatever the words
///   are, C is computed or left unchanged.
///
/// # Launch
/// Blocks of as many threads and as much dynamic shared memory as the policy of these [`Tiles`]
/// says; the grid strides over the tiles of C along x and y, and has a layer for each product.
#[kernel(
    max_threads = 256,
    min_blocks = 1,
    require(
        of_a == 1 || of_a == batch,
        super::slices::elements(rows, inner, of_a) == Some(a.len()),
        super::slices::elements(inner, cols, batch) == Some(b.len()),
        super::slices::elements(rows, cols, batch) == Some(c.len()),
        Tiles::Wide.fit(cols),
        b.is_aligned_to(crate::pack::BYTES),
        c.is_aligned_to(crate::pack::BYTES),
        unless.is_empty() || unless.len() == 2 * RANGE_WORDS,
        [block.x as usize, block.y as usize, block.z as usize] == [Tiles::Wide.policy().threads(), 1, 1],
        shared_bytes as usize >= Tiles::Wide.policy().shared_bytes(),
        grid.z as usize == batch
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "three matrices, three extents, the batch, the ranges"
)]
pub fn matmul_pipelined_f32(
    a: &[f32],
    b: &[f32],
    mut c: Out<f32>,
    rows: usize,
    inner: usize,
    cols: usize,
    of_a: usize,
    batch: usize,
    unless: &[u32],
) {
    const POLICY: Policy = Tiles::Wide.policy();
    if is_done(unless, inner) {
        return;
    }
    let (c, matrix) = (c.as_mut_ptr(), thread::block_idx_z() as usize);
    let of_a = if of_a == batch {
        matrix * rows * inner
    } else {
        0
    };
    let of = Operands {
        a: a.get(of_a..).unwrap_or_default(),
        b: b.get(matrix * inner * cols..).unwrap_or_default(),
        rows,
        inner,
        cols,
        pitch_a: inner,
        pitch_b: cols,
        turned: turned(&POLICY, b.as_ptr()),
    };
    // SAFETY: `require` states the matrices' sizes and alignment, the block, its shared memory and
    // a layer of blocks for each product.
    unsafe {
        multiply::<
            { high(&POLICY) * VECTOR },
            { high(&POLICY) },
            { columns(&POLICY) },
            { vectors(&POLICY) },
            { ahead(&POLICY) },
        >(POLICY, of, || {
            let first = (matrix + zero_here()) * rows * cols;
            (c.wrapping_add(first), turned(&POLICY, b.as_ptr()))
        })
    }
}

/// Whether [`tensor`](super::tensor) has computed C: there are ranges, and they [fit](fits).
#[inline(always)]
pub(super) fn is_done(unless: &[u32], inner: usize) -> bool {
    match unless.as_chunks::<RANGE_WORDS>() {
        ([a, b], []) => fits([*a, *b], inner),
        _ => false,
    }
}

/// # Safety
/// The operands and C have the sizes of their extents, and only one layer of blocks uses C. All
/// threads of that layer call it; a block has the policy's threads along x and at least its dynamic
/// shared memory. If the policy moves vectors:
/// - B's pitch is a multiple of them. B is aligned to 16 bytes, unless the policy lets it begin
///   anywhere and the pitch is the columns.
/// - C is aligned to 16 bytes if its rows are whole vectors, unless the policy lets B begin
///   anywhere.
///
/// A thread owns ROWS rows and COLS columns, which are HIGH and WIDE vectors; AHEAD groups of copies
/// are in flight besides that of the next step. `results` gives C's address and the operands'
/// `turned`: to keep them takes registers that the sums need.
#[inline(always)]
pub(super) unsafe fn multiply<
    const ROWS: usize,
    const HIGH: usize,
    const COLS: usize,
    const WIDE: usize,
    const AHEAD: u32,
>(
    policy: Policy,
    of: Operands<'_>,
    results: impl Fn() -> (*mut f32, usize),
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
        // The step to copy next, and its first element of the inner extent.
        let (mut filled, mut k) = (0, 0);
        // A macro, because LLVM calls a closure of this length instead of inlining it.
        macro_rules! fill {
            ($stage:expr, $len:expr) => {
                if filled < steps {
                    let len: Option<usize> = $len;
                    // SAFETY: the extents are the caller's promise; all readers of the stage have
                    // passed a barrier.
                    unsafe { copies.start($stage, k, len) };
                    k += len.unwrap_or(policy.inner);
                    filled += 1;
                }
                // Commits an empty group too, so that groups and steps stay in step.
                cp_async_commit_group();
            };
        }
        fill!(0, Some(ragged));
        fill!(bytes, None);
        if policy.stages > 3 {
            fill!(2 * bytes, None);
        }
        let (mut read, mut write) = (0, last);
        // Orders all threads' copies of the first step before the reads of them.
        cp_async_wait_group::<AHEAD>();
        thread::sync_threads();

        let mut sums = [[0.0; COLS]; ROWS];
        let mut of_a = [[[0.0; VECTOR]; HIGH]; 2];
        let mut of_b = [[[0.0; VECTOR]; WIDE]; 2];
        macro_rules! load {
            ($into:expr, $stage:expr, $k:expr) => {
                unrolled::<HIGH>(|i| {
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
            fill!(write, None);
            write = next(write);
            unrolled::<{ MOST_INNER - 1 }>(|k| {
                if k + 1 < policy.inner {
                    load!((k + 1) % 2, read, k + 1);
                    multiply!(k);
                }
            });
            // Orders all threads' copies of the next step before the reads of them, and all reads
            // of this step's stage before the copies that overwrite it.
            cp_async_wait_group::<AHEAD>();
            thread::sync_threads();
            read = next(read);
            load!(0, read, 0);
            multiply!(policy.inner - 1);
            step += 1;
        }
        // ANCHOR_END: steps
        // Orders every thread's reads before any thread's copies for the next tile.
        cp_async_wait_all();
        thread::sync_threads();

        let (to, turned) = results();
        if has_rooms(&policy) {
            // Neither way of storing then decides which registers the steps keep the sums in.
            unrolled::<ROWS>(|i| unrolled::<COLS>(|j| sums[i][j] = asm::moved(sums[i][j])));
        }
        let stores_vectors = policy.vector == VECTOR
            && turned == 0
            && of.cols.is_multiple_of(VECTOR)
            && (!policy.anywhere || elements_behind(to) == 0);
        if has_rooms(&policy) && !stores_vectors {
            // A warp rearranges eight rows at a time, so that it stores whole lines of C instead of
            // columns four wide. It uses the stage whose next copies come after a barrier of the
            // next tile.
            let room = shared + last + 4 * (warp * LANE_ROWS * room_pitch(&policy)) as u32;
            let lines = 32 / policy.warp_cols.min(32);
            let (down, right) = (lane / policy.warp_cols, lane % policy.warp_cols);
            let (row, col) = (
                top + row - lane_row * VECTOR + down * VECTOR,
                left + col - lane_col * VECTOR + right,
            );
            let below = of.rows.saturating_sub(row).min(policy.rows) as u32;
            let below = if col < of.cols { below } else { 0 };
            let col = column(col, turned, of.cols);
            let from = room + 4 * (down * room_pitch(&policy) + right) as u32;
            let at = lane_row * room_pitch(&policy) + lane_col * VECTOR;
            let slot = room + 4 * at as u32;
            let mut line = to.wrapping_add(row * of.cols + col).cast_const();
            unrolled::<ROWS>(|i| {
                unrolled::<WIDE>(|j| {
                    let sums: [f32; VECTOR] =
                        core::array::from_fn(|lane| sums[i][j * VECTOR + lane]);
                    // SAFETY: the lane's words of the warp's room, which are aligned to 16 bytes.
                    unsafe {
                        let slot = slot + 4 * (j * LANE_COLS * VECTOR) as u32;
                        asm::store_four(slot, sums);
                    }
                });
                // Orders the warp's writes before the reads of them.
                // SAFETY: whole warps are here.
                unsafe { warp::sync_warp(u32::MAX) };
                let first = i / VECTOR * LANE_ROWS * VECTOR + i % VECTOR;
                let mut to = line;
                // Not `rolled`: ptxas would give the sums registers with bank conflicts.
                unrolled::<LANE_ROWS>(|part| {
                    if part * lines < LANE_ROWS {
                        let at = part * lines * room_pitch(&policy);
                        // SAFETY: inside C; only this lane has this row and this column. The warp's
                        // lanes have written the room.
                        unsafe {
                            let sum: [f32; 1] = asm::load_shared(from + 4 * at as u32);
                            let exists = ((first + part * lines * VECTOR) as u32) < below;
                            asm::store_if(to.cast_mut(), sum, exists);
                        }
                        to = global_here(to.wrapping_add(lines * VECTOR * of.cols));
                    }
                });
                // Orders the warp's reads before the next writes.
                // SAFETY: whole warps are here.
                unsafe { warp::sync_warp(u32::MAX) };
                let next = if i % VECTOR < VECTOR - 1 {
                    1
                } else {
                    LANE_ROWS * VECTOR - 3
                };
                line = global_here(line.wrapping_add(next * of.cols));
            });
            tile += blocks * thread::grid_dim_y() as usize;
            continue;
        }
        unrolled::<ROWS>(|i| {
            let row = top + row + i / VECTOR * LANE_ROWS * VECTOR + i % VECTOR;
            unrolled::<WIDE>(|j| {
                let col = left + col + j * LANE_COLS * VECTOR;
                let to = to.wrapping_add(row * of.cols + col);
                let sums: [f32; VECTOR] = core::array::from_fn(|lane| sums[i][j * VECTOR + lane]);
                if row < of.rows && col < of.cols {
                    let sums = match has_rooms(&policy) {
                        true => sums,
                        false => sums.map(asm::moved),
                    };
                    // SAFETY: inside C; only this thread has this row and these columns, and
                    // `to` is aligned.
                    unsafe { to.cast::<Pack<f32, VECTOR>>().write(Pack(sums)) };
                }
            });
        });
        tile += blocks * thread::grid_dim_y() as usize;
    }
}
