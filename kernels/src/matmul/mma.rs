//! Matrix product of doubles on tensor cores.
//!
//! Change from [`pipelined`](super::pipelined): a warp multiplies, not a thread. `mma.sync` takes a
//! 16 × 8 and an 8 × 8 fragment from the registers of the warp's lanes and replaces 32 FMAs per
//! lane, each of which is rounded, as in DGEMM.
//!
//! - The instruction's 16 rows are columns of C, its 8 columns rows of C: it computes Cᵀ = Bᵀ·Aᵀ. A
//!   lane's operands are then adjacent in memory on both sides, and 16-byte loads fill its
//!   registers: of each 8 elements of the inner extent, lane 4g + t has elements 2t and 2t + 1, in
//!   row g of A and in columns 2g and 2g + 1 of B (of each 8 rows and 16 columns of C).
//! - [`MmaTiles`] says how much of C a block and its warps compute. A step is divided into slots:
//!   the multiplications of 8 rows. Fragments are loaded ahead: 8 rows one or two slots before
//!   their multiplications, and the columns for the next 8 elements of the inner extent at one or
//!   two 16-byte loads per slot, or one every second slot. `asm` keeps that order in PTX, and each
//!   load in the registers of the buffer that it replaces, which other multiplications have read
//!   since.
//! - Loads: `cp.async`, in stages of 16 elements of the inner extent, up to four copies per slot. A
//!   copy moves two elements where rows are whole pairs, else one. Copies write zeros for rows and
//!   columns beyond the matrices, and for the first elements of the first step if the inner extent
//!   is not a multiple of 16; of large tiles also for steps that do not exist.
//! - In shared memory, rows of A have 128 bytes each, with their halves exchanged in odd rows; in
//!   rows of B, pairs of columns are exchanged within each 128 bytes (`exchanged`). Any eight
//!   lanes read all 32 banks, and a copy of 128 bytes stays one: padded rows would split it, and
//!   1.25 times as many sectors come from the L2 cache.
//! - The barrier in the middle of a step orders all threads' copies of the next stage before the
//!   reads of it, and all reads of the previous stage before the copies that overwrite it. The
//!   largest tiles have one for two steps and stages: their block has a multiprocessor to itself,
//!   so nothing else multiplies while warps wait (1.7 % of 4096³ on an H200).
//! - Global reads per element of C: inner/`cols` of A and inner/`rows` of B of the block; shared
//!   reads inner/`warp_cols` and inner/`warp_rows`.
//! - Slices of the inner extent, for all rows of C or for the last ones: the tiles of whole waves go
//!   straight into C, and those of a last wave that would leave multiprocessors idle are divided.
//!   They are numbered last, slice after slice, so the longest tiles begin first.
//!
//! PTX for compute capability 9.0 has one 16 × 8 × 8 instruction; older PTX uses four of 8 × 8 × 4.

use cuda_std::async_copy::{cp_async_commit_group, cp_async_wait_all, cp_async_wait_group};
use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::asm;
use super::direct::MOST;
use super::policy::Policy;
use crate::here::{thread_here, zero_here};
use crate::pack::Pack;
use copies::Copies;
use items::Operands;

mod copies;
mod items;
mod tiles;

pub use tiles::*;

macro_rules! kernel {
    ($name:ident, $max_threads:tt, $min_blocks:tt, $($instances:tt)*) => {
        /// The first rows of C, and for its other rows the products of all slices.
        ///
        /// # Parameters
        /// - `a`: A, `rows · inner` elements, `of_a` times: 1, if all products share it, or
        ///   `batch`. `b`: B, `batch` times `inner · cols` elements.
        /// - `c`: the first `whole` rows of C, `batch` times. `sums`: for each of `slices`, `batch`
        ///   matrices of the other `rows - whole` rows.
        /// - One of the two has elements. For an instance that moves pairs, `inner` and `cols` are
        ///   even, and all four are aligned to 16 bytes, unless they are empty.
        ///
        /// # Launch
        /// Blocks of as many threads as the instance's policy says, with the shared memory of its
        /// [`MmaTiles`] for the longest sum. The grid has a block for each tile of `c` and then of all
        /// slices along x, and for each product along y and z.
        #[kernel(
            instances($($instances)*),
            name = "matmul_mma_{S}_f64",
            max_threads = $max_threads,
            min_blocks = $min_blocks,
            require(
                grid.y as usize * grid.z as usize >= batch,
                of_a == 1 || of_a == batch,
                super::slices::elements(rows, inner, of_a) == Some(a.len()),
                super::slices::elements(inner, cols, batch) == Some(b.len()),
                whole <= rows,
                super::slices::elements(whole, cols, batch) == Some(c.len()),
                super::slices::sums(rows.saturating_sub(whole), cols, slices, batch)
                    == Some(sums.len()),
                !c.is_empty() || !sums.is_empty(),
                rows <= MOST && inner <= MOST && cols <= MOST,
                items(&<S as Instance>::POLICY, [rows, whole], cols, slices) <= MOST,
                grid.x as usize >= items(&<S as Instance>::POLICY, [rows, whole], cols, slices),
                inner.is_multiple_of(<S as Instance>::POLICY.vector),
                cols.is_multiple_of(<S as Instance>::POLICY.vector),
                // Their first copies have an address, even without elements.
                <S as Instance>::POLICY.vector == 1 || inner > 0 || skips(&<S as Instance>::POLICY),
                <S as Instance>::POLICY.vector == 1 || a.is_aligned_to(crate::pack::BYTES),
                <S as Instance>::POLICY.vector == 1 || b.is_aligned_to(crate::pack::BYTES),
                <S as Instance>::POLICY.vector == 1
                    || c.is_empty()
                    || c.is_aligned_to(crate::pack::BYTES),
                <S as Instance>::POLICY.vector == 1
                    || sums.is_empty()
                    || sums.is_aligned_to(crate::pack::BYTES),
                [block.x as usize, block.y as usize, block.z as usize]
                    == [<S as Instance>::POLICY.threads(), 1, 1],
                shared_bytes as usize
                    >= <S as Instance>::TILES.shared_bytes(
                        <S as Instance>::POLICY.vector == PAIR,
                        super::slices::slice_len(inner, if whole == 0 { slices } else { 1 })
                    )
            )
        )]
        #[allow(
            clippy::too_many_arguments,
            reason = "four matrices, four extents, the slices, the batch"
        )]
        pub fn $name<S: Instance>(
            a: &[f64],
            b: &[f64],
            mut c: Out<f64>,
            mut sums: Out<f64>,
            rows: usize,
            inner: usize,
            cols: usize,
            whole: usize,
            slices: usize,
            of_a: usize,
            batch: usize,
        ) {
            const POLICY: Policy = <S as Instance>::POLICY;
            // Extents and tiles are counted in 32 bits: what is computed before the first copy
            // delays it.
            let of = Operands {
                a: a.as_ptr(),
                b: b.as_ptr(),
                c: c.as_mut_ptr(),
                sums: sums.as_mut_ptr(),
                rows: rows as u32,
                inner: inner as u32,
                cols: cols as u32,
                whole: whole as u32,
                slices: slices as u32,
                of_a,
                batch,
            };
            let above = thread::block_idx_z() as usize * thread::grid_dim_y() as usize;
            let matrix = above + thread::block_idx_y() as usize;
            if matrix < batch {
                // SAFETY: `require` states the operands' sizes and alignment, the block and its
                // shared memory; only this layer of the grid writes its product.
                unsafe {
                    multiply::<
                        { high(&POLICY) },
                        { wide(&POLICY) },
                        { GROUPS * high(&POLICY) },
                        { ahead(&POLICY) },
                        { ahead(&POLICY) + 1 },
                        { buffers(&POLICY) },
                        { late(&POLICY) },
                        { spreads(&POLICY) },
                        { together(&POLICY) },
                    >(POLICY, of, matrix);
                }
            }
        }
    };
}
// Three blocks of the smallest tiles fit a multiprocessor, with 168 registers per thread.
kernel!(
    matmul_mma_small,
    128,
    3,
    Square,
    Small,
    Flat,
    Slim,
    SquareRagged,
    SmallRagged
);
kernel!(matmul_mma, 256, 1, Tall, Large, TallRagged);

/// One product of the batch. As `policy` says, a warp has HIGH × WIDE multiplications in
/// SLOTS slots per step, leaves AHEAD groups of copies in flight at a barrier, FIRST before
/// its first step, and has BUFFERS of rows, the next of which it loads after multiplication LATE of
/// a slot. Copies of TOGETHER slots start in the first of them, all of a tile that SPREADS without a
/// branch.
///
/// # Safety
/// The operands have the sizes of their extents; there is such a product, and only the blocks of
/// this layer of the grid write it. All threads of those blocks call this; a block has the
/// policy's threads along x and the shared memory of its stages. Where copies move pairs, inner
/// extent and columns are even, and all matrices are aligned to 16 bytes.
#[inline(always)]
unsafe fn multiply<
    const HIGH: usize,
    const WIDE: usize,
    const SLOTS: usize,
    const AHEAD: u32,
    const FIRST: u32,
    const BUFFERS: usize,
    const LATE: usize,
    const SPREADS: bool,
    const TOGETHER: usize,
>(
    policy: Policy,
    of: Operands,
    matrix: usize,
) {
    const { assert!(GROUPS == 2, "the barrier is between two groups") };
    const {
        assert!(
            SLOTS.is_multiple_of(BUFFERS),
            "each step begins with the first buffer"
        )
    };
    let shared = asm::dynamic_shared();
    let bytes = stage_bytes(&policy);
    let last = (policy.stages as u32 - 1) * bytes;
    let next = |stage: u32| if stage == last { 0 } else { stage + bytes };

    // A warp's first row and column, and a lane's position in each 8 rows and 16 columns.
    let place = |t: u32| {
        let (warp, lane) = (t / 32, t % 32);
        let warps = (policy.cols / policy.warp_cols) as u32;
        let row = warp / warps * policy.warp_rows as u32;
        let col = warp % warps * policy.warp_cols as u32;
        (row, col, lane / 4, lane % 4)
    };
    let pieces = 2 * WIDE;

    let item = thread::block_idx_x();
    while let Some((product, [first, len], (top, left))) =
        of.of(&policy, matrix, of.item(&policy, item))
    {
        // The extents of the launch, not of the item: with strides that are a choice's, ptxas loads
        // later in each step, and 64 x 64 takes 1.035 times as long.
        let (inner, cols) = (of.inner, of.cols);
        let product = Operands {
            inner,
            cols,
            ..product
        };
        // Positions are computed above and again below: the registers are needed for the sums.
        let steps = len.div_ceil(INNER as u32);
        let missing = steps * INNER as u32 - len;
        let start = first as i32 - missing as i32;
        let mut copies = Copies::new(&policy, product, shared, [top, left], start);
        // The stage to copy to next.
        let mut write = 0;
        let mut step = 0;
        while step < distance(&policy) {
            let from = if step >= steps {
                INNER as u32
            } else if step == 0 {
                missing
            } else {
                0
            };
            if !skips(&policy) || step < steps {
                let mut copy = 0;
                while copy < copies_of(&policy) {
                    // SAFETY: the extents are the caller's promise; no thread reads this stage.
                    unsafe { copies.start::<SPREADS>(&policy, copy, write, from, 1) };
                    copy += 1;
                }
                copies.end(&policy);
            }
            cp_async_commit_group();
            write = next(write);
            step += 1;
        }
        // Here, where the first copies are on their way already.
        let (row, col, g, t) = place(thread_here());
        let of_rows = [0, 1].map(|group| {
            let half = group ^ (g % 2);
            shared + (row + g) * ROW_BYTES + half * HALF_BYTES + PAIR as u32 * t * BYTES
        });
        let stride = policy.cols;
        let of_lane = 2 * t * stride as u32 + col + PAIR as u32 * exchanged(2 * t, g);
        let of_cols = shared + a_bytes(&policy) + BYTES * of_lane;
        // `cols` is above 0 wherever something is loaded.
        let always = of.cols;
        // SAFETY: inside the stage.
        let load_rows = |stage: u32, group: usize, i: usize, over: &mut [f64; 2]| unsafe {
            let from = of_rows[group] + stage + (ROWS * i) as u32 * ROW_BYTES;
            asm::load_pair_over(from, always, over);
        };
        // SAFETY: inside the stage.
        let load_cols = |stage: u32, group: usize, j: usize, half: usize, over: &mut [f64; 2]| unsafe {
            let element = (DEPTH * group + half) * stride + COLS * j;
            asm::load_pair_over(of_cols + stage + BYTES * element as u32, always, over);
        };
        // Orders all threads' copies of the steps until the first barrier before the reads of them.
        cp_async_wait_group::<FIRST>();
        thread::sync_threads();

        let mut sums = [[[0.0; 4]; WIDE]; HIGH];
        let mut cols = [[[[0.0; 2]; 2]; WIDE]; GROUPS];
        let mut rows = [[0.0; 2]; BUFFERS];
        macro_rules! load_piece {
            ($stage:expr, $group:expr, $j:expr, $half:expr) => {{
                let (group, j, half) = ($group, $j, $half);
                load_cols($stage, group, j, half, &mut cols[group][j][half]);
            }};
        }
        let mut read = 0;
        if steps > 0 {
            unrolled::<WIDE>(|j| unrolled::<2>(|half| load_piece!(read, 0, j, half)));
            unrolled::<BUFFERS>(|slot| {
                if slot < BUFFERS / 2 {
                    load_rows(read, slot / HIGH, slot % HIGH, &mut rows[slot]);
                }
            });
        }
        // Steps not computed yet.
        let mut remain = steps;
        while remain > 0 {
            // LLVM would compare what it knows twice, and jump over the copies in two ways.
            let new = if skips(&policy) { zero_here() } else { 0 };
            let copies_more = remain + new as u32 > distance(&policy);
            let from = if copies_more || skips(&policy) {
                0
            } else {
                INNER as u32
            };
            // There may be no stage after the last step.
            let after = if skips(&policy) && remain == 1 {
                read
            } else {
                next(read)
            };
            unrolled::<SLOTS>(|slot| {
                let (group, i) = (slot / HIGH, slot % HIGH);
                if slot == HIGH && remain.is_multiple_of(every(&policy)) {
                    // Orders all threads' copies of the steps until the next barrier, and of the one
                    // after it, before the reads of them, and all reads of previous steps before
                    // the copies that overwrite their stages.
                    cp_async_wait_group::<AHEAD>();
                    thread::sync_threads();
                }
                unrolled::<WIDE>(|j| {
                    let col = if i % 2 == 0 { j } else { WIDE - 1 - j };
                    let [[b0, b1], [b2, b3]] = cols[group][col];
                    let (of_b, of_a) = ([b0, b1, b2, b3], rows[slot % BUFFERS]);
                    // SAFETY: whole warps are here.
                    unsafe { asm::multiply_add(of_b, of_a, &mut sums[i][col]) };
                    // Keeps loads below after the multiplications above.
                    if holds_loads(&policy) && j == 0 {
                        asm::loads_stay_below(always, slot);
                    }
                    // Loads half of the buffers ahead, into one whose last use was as many slots
                    // ago.
                    if j == LATE {
                        let next = slot + BUFFERS / 2;
                        let over = &mut rows[next % BUFFERS];
                        if next < SLOTS {
                            load_rows(read, next / HIGH, next % HIGH, over);
                        } else {
                            load_rows(after, 0, next - SLOTS, over);
                        }
                    }
                    if j > 0 {
                        return;
                    }
                    let stage = if group == 0 { read } else { after };
                    unrolled::<MOST_PIECES>(|part| {
                        let piece = i * pieces / HIGH + part;
                        if piece < (i + 1) * pieces / HIGH {
                            // Loads the columns that were used last at the end.
                            let (col, half) = (WIDE - 1 - piece / 2, piece % 2);
                            load_piece!(stage, 1 - group, col, half);
                        }
                    });
                });
                if group == 1 && (copies_more || !skips(&policy) || SPREADS) {
                    unrolled::<MOST_COPIES>(|part| {
                        let copy = i * copies_of(&policy) / HIGH + part;
                        if i % TOGETHER == 0 && copy < (i + TOGETHER) * copies_of(&policy) / HIGH {
                            // SAFETY: the extents are the caller's promise; all readers of the
                            // stage have passed the barrier.
                            unsafe {
                                let more = u32::from(copies_more);
                                copies.start::<SPREADS>(&policy, copy, write, from, more);
                            }
                        }
                    });
                }
            });
            copies.end(&policy);
            // Commits an empty group too, so that groups and steps stay in step.
            cp_async_commit_group();
            write = next(write);
            read = after;
            remain -= 1;
        }
        // Of large tiles, copies of zeros may be on their way: none when the block ends.
        cp_async_wait_all();
        let (row, col, g, t) = place(thread_here());
        let row = top + row + 2 * t;
        let col = left + col + 2 * g;
        let of_item = of.item(&policy, item + zero_here() as u32);
        let (to, rows) = of.results(matrix, of_item);
        let below = rows.saturating_sub(row).min(policy.rows as u32);
        let right = of.cols.saturating_sub(col).min(policy.cols as u32);
        let stride = of.cols as usize;
        let mut line = to.wrapping_add(row as usize * stride + col as usize);
        unrolled::<HIGH>(|i| {
            unrolled::<2>(|half| {
                let to = line.wrapping_add(half * stride);
                if (ROWS * i + half) as u32 >= below {
                    return;
                }
                unrolled::<WIDE>(|j| {
                    let [x, y] = [sums[i][j][half], sums[i][j][2 + half]];
                    let (to, col) = (to.wrapping_add(COLS * j), (COLS * j) as u32);
                    // SAFETY: inside C; only this thread has this row and these columns, and `to`
                    // is aligned where columns come in pairs.
                    unsafe {
                        if policy.vector == PAIR {
                            if col < right {
                                to.cast::<Pack<f64, PAIR>>().write(Pack([x, y]));
                            }
                        } else {
                            if col < right {
                                to.write(x);
                            }
                            if col + 1 < right {
                                to.wrapping_add(1).write(y);
                            }
                        }
                    }
                });
            });
            line = line.wrapping_add(ROWS * stride);
        });
        // Always, but compilers do not know it. Without a loop LLVM keeps the sums in memory, and ptxas
        // peels the loop of steps: 4096³ takes 1.02 times as long.
        if of.cols <= MOST as u32 {
            return;
        }
    }
}
