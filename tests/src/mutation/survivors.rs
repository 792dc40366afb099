//! Mutants that nothing can catch, each with the reason. The file is long because it is one table.

use std::ops::RangeInclusive;

use super::{Operator, Trial, Verdict};

/// Parts of names.
type Kernels = &'static [&'static str];

/// Mutants that survive because they do the same as the good kernel.
#[derive(Clone, Debug)]
pub struct Survivor {
    /// Each is what a kernel's name contains: its begin, or the family's name between two
    /// underscores. Kernels in rust-cuda's form are meant only where `_raw` stands here too.
    pub kernels: Kernels,
    /// The operator.
    pub operator: Operator,
    /// The instruction before and after, registers without their numbers.
    pub change: [&'static str; 2],
    /// How many such mutants each of these kernels has; what LLVM makes of a kernel differs a
    /// little from type to type.
    pub count: RangeInclusive<usize>,
    /// Why nothing changes.
    pub reason: &'static str,
}

const FOLDED_ONCE_MORE: &str = "Each warp then folds its values once more before they go to shared memory, and half as many do.";

const FOLDED_AGAIN: &str = "A thread then folds elements that another one folds too, which changes no minimum and no maximum.";

const ONE_WARP: &str = "A block of one warp then folds through shared memory, as others do.";

const BEYOND: &str = "A block beyond the work runs its loop's body once; every access in there has a guard of its own, and the barriers are for all threads.";

const ONE_ROUND_MORE: &str = "One round more lies beyond the work; every access in there has a guard of its own, and the barriers are for all threads.";

const ONE_THREAD: &str = "A block of one thread makes one round, which folds nothing.";

const OTHER_WARPS: &str =
    "The other warps combine the warps' results too; only the block's first thread writes its one.";

const MORE_SAMPLES: &str = "The samples below a warp's later tiles are there, and so is the room for a pack of them a lane.";

const NOTHING_LEFT: &str =
    "Where nothing is left after the whole groups no smaller group is called.";

const EMPTY_RANGE: &str = "Of an empty range there is no whole group, and nothing is left.";

const ONE_SLOT_EACH: &str =
    "Each thread has one slot, as the launch says: no thread makes the second round.";

const UNUSED_SLOT: &str =
    "The slot is there, and what was loaded is not folded: that has a guard of its own.";

const SLOW_PATH: &str = "The path for outputs at the ends computes the same, in the same order.";

const ONE_ROW: &str = "There is one row of tiles: the launch has one row of blocks.";

const WITH_GUARDS: &str = "A tile inside goes the way with guards, which is right for every tile.";

const PEELED: &str = "The loop over the rest of a thread's slots then loads its first one too.";

const BY_32_BITS: &str = "The compiler divides small numbers by 32 bits; both ways give the same.";

const WINDOW_ROUNDS: &str = "A round adds 40 taps, and at most 63 are left after the first pack.";

/// Every mutant that may survive, with the reason why no launch can show it.
pub const SURVIVORS: &[Survivor] = &[
    never(
        &["conv1d_block_per_output_", "conv1d_block_per_output_raw_"],
        "setp.eq.b64 %p, %rd, 0;",
        1..=1,
        "There is at least one tap: the launcher refuses none.",
    ),
    never(
        &["conv1d_window_f32"],
        "setp.gt.u32 %p, %r, 39;",
        1..=1,
        WINDOW_ROUNDS,
    ),
    never(
        &["conv1d_window_f64"],
        "setp.lt.u32 %p, %r, 32;",
        1..=1,
        MORE_SAMPLES,
    ),
    never(
        &[
            "conv1d_tiled_",
            "matmul_tiled_",
            "transpose_naive_",
            "transpose_padded_",
            "transpose_tiled_",
            "transpose_aligned_",
            "transpose_packs_",
            "conv1d_direct_",
            "conv1d_tiled_raw_",
            "matmul_naive_",
            "matmul_tiled_raw_",
            "transpose_padded_raw_",
        ],
        "setp.ge.u64 %p, %rd, %rd;",
        1..=2,
        BEYOND,
    ),
    never(
        &[
            "conv1d_blocked_",
            "conv1d_direct_",
            "conv1d_tiled_",
            "conv1d_window_",
            "matmul_naive_",
            "conv1d_tiled_raw_",
        ],
        "setp.eq.b64 %p, %rd, %rd;",
        1..=3,
        NOTHING_LEFT,
    ),
    never(
        &[
            "matmul_tiled_",
            "transpose_naive_",
            "transpose_padded_",
            "transpose_tiled_",
            "conv1d_block_per_output_f64",
            "matmul_tiled_raw_",
            "transpose_padded_raw_",
        ],
        "setp.le.u64 %p, %rd, %rd;",
        1..=1,
        BEYOND,
    ),
    never(
        &[
            "matmul_tiled_",
            "matmul_register_tile_",
            "matmul_tiled_raw_",
        ],
        "setp.eq.b64 %p, %rd, 0;",
        1..=1,
        "Without an inner extent the loop adds one tile of zeros.",
    ),
    never(
        &["matmul_pipelined_"],
        "setp.eq.b64 %p, %rd, 0;",
        1..=1,
        "Without an inner extent zeros are copied and loaded that nobody multiplies.",
    ),
    never(
        &["matmul_pipelined_"],
        "setp.ne.b64 %p, %rd, 0;",
        2..=2,
        BY_32_BITS,
    ),
    always(
        &["matmul_pipelined_"],
        "setp.ne.b64 %p, %rd, 0;",
        2..=2,
        BY_32_BITS,
    ),
    never(
        &["matmul_pitch_"],
        "setp.ge.u64 %p, %rd, %rd;",
        2..=2,
        BEYOND,
    ),
    never(
        &[
            "matmul_pitch_",
            "matmul_split_",
            "transpose_aligned_",
            "transpose_packs_",
            "_quads_",
        ],
        "setp.eq.b64 %p, %rd, 0;",
        0..=2,
        "Rows without elements are counted through; only 2⁵⁷ of them take too long.",
    ),
    never(
        &["matmul_fold_"],
        "setp.ge.u64 %p, %rd, %rd;",
        2..=2,
        BEYOND,
    ),
    never(
        &["matmul_fold_"],
        "setp.eq.b64 %p, %rd, 0;",
        3..=3,
        "Without slices the loop makes one round, which adds zeros. At no whole pack, the same sums element by element.",
    ),
    always(
        &["matmul_fold_"],
        "setp.ne.b64 %p, %rd, 0;",
        1..=1,
        "A C of whole packs has the same sums element by element.",
    ),
    always(
        &["matmul_fold_"],
        "setp.eq.b64 %p, %rd, 0;",
        1..=1,
        "All C of the jobs begin at whole packs; one of the operation's own test does not.",
    ),
    entry(
        Operator::WidenLoop,
        &["matmul_fold_"],
        ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        3..=3,
        "One round more lies beyond the packs, or beyond the slices, whose loads have guards of their own and give zeros.",
    ),
    never(
        &["matmul_split_"],
        "setp.gt.u32 %p, %r, 511;",
        2..=2,
        "A thread's first row is always inside the tile.",
    ),
    never(
        &["transpose_aligned_", "transpose_packs_"],
        "setp.le.u64 %p, %rd, %rd;",
        3..=3,
        "One: a block beyond the matrix, whose accesses have guards of their own. Two: a tile inside goes the way with guards, which is right for every tile.",
    ),
    always(
        &["transpose_aligned_"],
        "setp.eq.b64 %p, %rd, 0;",
        1..=1,
        WITH_GUARDS,
    ),
    never(
        &["transpose_packs_"],
        "setp.ne.b64 %p, %rd, 0;",
        1..=1,
        WITH_GUARDS,
    ),
    always(
        &["transpose_quads_"],
        "setp.lt.u32 %p, %r, 256;",
        1..=1,
        "A block has 256 threads, and a square tile as many quads.",
    ),
    never(
        &["reverse_static_", "reverse_dynamic_", "reverse_direct_"],
        "setp.ge.u64 %p, %rd, %rd;",
        0..=1,
        BEYOND,
    ),
    never(
        &["reverse_along_"],
        "setp.ge.u64 %p, %rd, %rd;",
        0..=5,
        "One: a block beyond the work runs its loop's body once. The others: no mirrored place is outside an array of whole lines; the kernel is safe for other extents, too.",
    ),
    always(
        &["reverse_along_"],
        "setp.ne.b64 %p, %rd, 0;",
        0..=8,
        "The compiler divides small numbers by 32 bits; both ways give the place.",
    ),
    never(
        &["reverse_along_"],
        "setp.ne.b64 %p, %rd, 0;",
        0..=8,
        "The compiler divides small numbers by 32 bits; both ways give the place.",
    ),
    never(
        &["reverse_along_"],
        "setp.eq.b64 %p, %rd, 0;",
        0..=1,
        "An array that has elements has some after the axis.",
    ),
    never(
        &[
            "dot_interleaved_",
            "sum_interleaved_",
            "extreme_interleaved_",
            "dot_tree_",
            "sum_tree_",
            "extreme_tree_",
            "dot_tree_raw_",
            "sum_tree_raw_",
            "extreme_tree_raw_",
        ],
        "setp.lt.u32 %p, %r, 2;",
        1..=1,
        ONE_THREAD,
    ),
    never(
        &["_wide_", "_single_"],
        "setp.ne.b32 %p, %r, 0;",
        0..=1,
        OTHER_WARPS,
    ),
    always(
        &[
            "dot_wide_f64",
            "dot_wide_i64",
            "dot_single_f64",
            "dot_single_i64",
        ],
        "setp.ne.b64 %p, %rd, 0;",
        0..=1,
        "Operands that lie alike in their packs then go element by element, as those that do not; or what a thread without parts writes, which is not read.",
    ),
    never(
        &["_wide_", "_single_"],
        "setp.lt.u32 %p, %r, 129;",
        0..=1,
        FOLDED_ONCE_MORE,
    ),
    entry(
        Operator::WidenLoop,
        &["_wide_", "_single_"],
        ["setp.gt.u32 %p, %r, 128;", "setp.ge.u32 %p, %r, 128;"],
        0..=1,
        FOLDED_ONCE_MORE,
    ),
    never(
        &["_wide_", "_single_"],
        "setp.ge.u32 %p, %r, %r;",
        2..=4,
        "A block of several warps has at least twice as many values as the first one has lanes, each of which takes two.",
    ),
    entry(
        Operator::DropPredicate,
        &["sum_wide_", "sum_single_", "dot_wide_", "dot_single_"],
        ["setp.ne.u32 inside, %r, 0;", "setp.eq.u32 inside, 0, 0;"],
        0..=8,
        "The condition of the loop or branch around it says that it is there.",
    ),
    always(
        &["extreme_wide_", "extreme_single_"],
        "setp.eq.b32 %p, %r, 0;",
        0..=1,
        FOLDED_AGAIN,
    ),
    always(
        &["extreme_wide_", "extreme_single_"],
        "setp.ne.b32 %p, %r, 0;",
        0..=1,
        FOLDED_AGAIN,
    ),
    entry(
        Operator::DropPredicate,
        &["extreme_wide_", "extreme_single_"],
        ["setp.ne.u32 inside, %r, 0;", "setp.eq.u32 inside, 0, 0;"],
        0..=9,
        "The packs of a minimum or maximum are always there: the last one once more, if no other.",
    ),
    never(
        &["_wide_", "_single_"],
        "setp.eq.b32 %p, %r, 1;",
        0..=1,
        ONE_WARP,
    ),
    always(
        &["_wide_", "_single_"],
        "setp.ne.b32 %p, %r, 1;",
        0..=1,
        ONE_WARP,
    ),
    always(
        &["dot_wide_f64", "sum_wide_f64"],
        "setp.ne.b32 %p, %r, 32;",
        1..=1,
        ONE_WARP,
    ),
    always(
        &["sum_wide_f64"],
        "setp.ne.b64 %p, %rd, 0;",
        0..=1,
        "What a thread without parts writes is not read.",
    ),
    always(
        &["extreme_wide_", "extreme_single_"],
        "setp.lt.u64 %p, %rd, %rd;",
        0..=1,
        FOLDED_AGAIN,
    ),
    never(
        &["_single_"],
        "setp.gt.u32 %p, %r, 31;",
        1..=1,
        "The other warps then go on with ticket 0, and return; in a lone block, whose ticket that is, only the first thread writes.",
    ),
    always(
        &["conv1d_block_per_output_f64"],
        "setp.le.u64 %p, %rd, %rd;",
        1..=1,
        PEELED,
    ),
    always(
        &["conv1d_block_per_output_f64"],
        "setp.ge.u64 %p, %rd, %rd;",
        2..=2,
        "There is one row, and one slot for each thread, as the launch says: nothing is reached that would be another.",
    ),
    never(
        &["conv1d_block_per_output_f64"],
        "setp.ge.u64 %p, %rd, %rd;",
        2..=2,
        "A tile is one output, which thread 0 owns, and there is one slot for each thread, as the launch says.",
    ),
    never(
        &["conv1d_block_per_output_f64"],
        "setp.lt.u64 %p, %rd, %rd;",
        1..=1,
        ONE_SLOT_EACH,
    ),
    never(
        &["conv1d_blocked_", "conv1d_window_", "conv1d_direct_"],
        "setp.le.u64 %p, %rd, %rd;",
        1..=2,
        EMPTY_RANGE,
    ),
    never(
        &["conv1d_tiled_raw_"],
        "setp.le.u64 %p, %rd, %rd;",
        1..=1,
        "A thread's number is always below the number of slots, so each loads at least one.",
    ),
    always(
        &["_tree_"],
        "setp.eq.b32 %p, %r, 0;",
        1..=1,
        "The other threads then read a value that is not theirs; only the block's first thread writes its one.",
    ),
    never(
        &["matmul_naive_"],
        "setp.le.u64 %p, %rd, %rd;",
        2..=2,
        "One: a block beyond the rows runs the body once, whose accesses have guards of their own. The other: nothing is left of an empty range.",
    ),
    never(
        &["reverse_dynamic_", "reverse_static_"],
        "setp.le.u64 %p, %rd, %rd;",
        0..=2,
        "A tile that the loop gives begins inside the output.",
    ),
    always(
        &["_single_"],
        "setp.ge.u32 %p, %r, %r;",
        1..=1,
        "Partial results that are not folded four at a time are folded one by one.",
    ),
    never(
        &["_single_"],
        "setp.lt.u32 %p, %r, %r;",
        1..=2,
        "Partial results that are not folded four at a time are folded one by one.",
    ),
    always(
        &["peak_fma_f32"],
        "setp.ne.b32 %p, %r, 1;",
        1..=1,
        "A launch of one dimension has a shorter way to a thread's number; both give it.",
    ),
    never(
        &["peak_fma_f32"],
        "setp.ne.b32 %p, %r, 1;",
        1..=1,
        "A launch of one dimension has a shorter way to a thread's number; both give it.",
    ),
    entry(
        Operator::WidenLoop,
        &["conv1d_window_f32"],
        ["setp.gt.u32 %p, %r, 39;", "setp.ge.u32 %p, %r, 39;"],
        1..=1,
        WINDOW_ROUNDS,
    ),
    entry(
        Operator::WidenLoop,
        &[
            "conv1d_tiled_",
            "transpose_naive_",
            "transpose_padded_",
            "transpose_tiled_",
            "reverse_",
            "conv1d_direct_",
            "conv1d_tiled_raw_",
            "matmul_naive_",
            "reverse_dynamic_raw_",
            "reverse_static_raw_",
        ],
        ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        1..=1,
        ONE_ROUND_MORE,
    ),
    entry(
        Operator::WidenLoop,
        &["matmul_tiled_", "matmul_register_tile_"],
        ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        2..=2,
        "One round more lies beyond the work; every access in there has a guard of its own, and the barriers are for all threads. A tile beyond the inner extent is all zeros.",
    ),
    entry(
        Operator::WidenLoop,
        &["matmul_pipelined_"],
        ["setp.ge.u64 %p, %rd, %rd;", "setp.gt.u64 %p, %rd, %rd;"],
        1..=1,
        "A tile beyond C is copied from the last rows and columns, and not stored.",
    ),
    entry(
        Operator::WidenLoop,
        &[
            "conv1d_block_per_output_f64",
            "matmul_pitch_",
            "transpose_aligned_",
            "transpose_packs_",
            "transpose_quads_",
            "transpose_padded_raw_",
        ],
        ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        2..=2,
        ONE_ROUND_MORE,
    ),
    entry(
        Operator::WidenLoop,
        &[
            "matmul_naive_",
            "matmul_tiled_",
            "matmul_register_tile_",
            "transpose_naive_",
            "transpose_padded_",
            "transpose_tiled_",
        ],
        ["setp.ge.u64 %p, %rd, %rd;", "setp.gt.u64 %p, %rd, %rd;"],
        1..=1,
        ONE_ROUND_MORE,
    ),
    entry(
        Operator::WidenLoop,
        &["matmul_tiled_raw_"],
        ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        3..=3,
        "One round more lies beyond the work; every access in there has a guard of its own, and the barriers are for all threads. A tile beyond the inner extent is all zeros.",
    ),
    entry(
        Operator::WidenLoop,
        &["_single_"],
        ["setp.lt.u32 %p, %r, %r;", "setp.le.u32 %p, %r, %r;"],
        0..=2,
        "A lane reads beyond the partial results only where its fourth one would be the first that is not there.",
    ),
    entry(
        Operator::DeleteBarrier,
        &["_single_"],
        ["bar.warp.sync -1;", ""],
        1..=1,
        "Partial results are written and read by atomics, so that no ticket makes a race of them; the barrier orders them, as the emulator does without it.",
    ),
    never(
        &["extreme_shuffle_f32"],
        "setp.ge.u32 %p, %r, %r;",
        7..=7,
        UNUSED_SLOT,
    ),
    never(
        &[
            "dot_shuffle_f32",
            "sum_shuffle_f32",
            "extreme_shuffle_f64",
            "extreme_shuffle_i64",
        ],
        "setp.ge.u32 %p, %r, %r;",
        3..=3,
        UNUSED_SLOT,
    ),
    entry(
        Operator::WidenLoop,
        &["extreme_shuffle_f32"],
        ["setp.lt.u32 %p, %r, %r;", "setp.le.u32 %p, %r, %r;"],
        1..=1,
        "One group of slots more lies past the block's warps; each load and each fold has a guard.",
    ),
    always(
        &["conv1d_blocked_", "conv1d_direct_", "conv1d_window_"],
        "setp.lt.u64 %p, %rd, %rd;",
        1..=1,
        SLOW_PATH,
    ),
    always(
        &["conv1d_blocked_", "conv1d_direct_", "conv1d_window_"],
        "setp.gt.u64 %p, %rd, %rd;",
        1..=1,
        SLOW_PATH,
    ),
    never(
        &["conv1d_block_per_output_f64"],
        "setp.ne.b32 %p, %r, 0;",
        1..=1,
        ONE_ROW,
    ),
    never(
        &["conv1d_block_per_output_f64"],
        "setp.ne.b64 %p, %rd, 0;",
        1..=1,
        ONE_ROW,
    ),
    always(
        &["conv1d_block_per_output_f64"],
        "setp.lt.u64 %p, %rd, %rd;",
        1..=1,
        ONE_SLOT_EACH,
    ),
    entry(
        Operator::ShiftShared,
        &["conv1d_block_per_output_f64"],
        ["st.shared.b64 [%rd], %rd;", "st.shared.b64 [%rd-8], %rd;"],
        1..=1,
        ONE_SLOT_EACH,
    ),
    entry(
        Operator::ShiftShared,
        &["conv1d_block_per_output_f64"],
        ["st.shared.b64 [%rd], %rd;", "st.shared.b64 [%rd+8], %rd;"],
        1..=1,
        ONE_SLOT_EACH,
    ),
    never(
        &["matmul_short_", "matmul_direct_"],
        "setp.eq.b32 %p, %r, 0;",
        1..=1,
        "The compiler counts the zeros behind a power of two in a way that holds for 0, too.",
    ),
    never(
        &["matmul_short_"],
        "setp.ge.u64 %p, %rd, %rd;",
        1..=1,
        BEYOND,
    ),
    never(
        &["matmul_short_f32"],
        "setp.lt.u64 %p, %rd, %rd;",
        1..=1,
        "The elements of a whole pack are then stored one by one.",
    ),
    entry(
        Operator::WidenLoop,
        &["matmul_short_"],
        ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        2..=2,
        "One: a run without rows, of which nothing is copied or stored. The other: a group of columns beyond the last, whose accesses have guards of their own.",
    ),
    entry(
        Operator::DeleteBarrier,
        &["matmul_direct_"],
        ["bar.sync 0;", ""],
        1..=1,
        "The slices' sums are written and read by atomics, so that no ticket makes a race of them; the barrier orders them, as the emulator does without it.",
    ),
    never(
        &["matmul_direct_"],
        "setp.eq.b32 %p, %r, 1;",
        1..=1,
        "A tile of the only product is of product 0 by a division, too.",
    ),
    never(
        &["matmul_direct_"],
        "setp.eq.b64 %p, %rd, 1;",
        1..=1,
        "The only slice is the whole inner extent by a division, too.",
    ),
    never(
        &["matmul_direct_"],
        "setp.lt.u64 %p, %rd, %rd;",
        2..=2,
        "One: the compiler leaves out a division whose quotient is 0. The other: a team has at most as many warps as a round adds.",
    ),
    never(
        &["matmul_direct_"],
        "setp.lt.s32 %p, %r, 1;",
        1..=1,
        "A warp without steps then adds a round of zeros.",
    ),
    entry(
        Operator::WidenLoop,
        &["matmul_direct_"],
        ["setp.gt.s32 %p, %r, 0;", "setp.ge.s32 %p, %r, 0;"],
        1..=1,
        "A round beyond the slice adds zeros.",
    ),
    never(
        &["matmul_direct_"],
        "setp.eq.b64 %p, %rd, 0;",
        1..=2,
        "There are a warp in a team, and a slice.",
    ),
    never(
        &["matmul_direct_narrow_"],
        "setp.gt.u64 %p, %rd, 255;",
        1..=1,
        "A tile has an output for each thread.",
    ),
    always(
        &["matmul_direct_narrow_"],
        "setp.lt.u64 %p, %rd, 256;",
        1..=1,
        "A tile has an output for each thread.",
    ),
    always(
        &["matmul_small_"],
        "setp.ne.b64 %p, %rd, 0;",
        1..=1,
        BY_32_BITS,
    ),
    never(
        &["matmul_small_"],
        "setp.ne.b64 %p, %rd, 0;",
        1..=1,
        BY_32_BITS,
    ),
    always(
        &["matmul_small_"],
        "setp.eq.b64 %p, %rd, 0;",
        1..=1,
        "Rows of whole packs are then copied and stored element by element.",
    ),
    never(
        &["matmul_small_"],
        "setp.ge.u32 %p, %r, %r;",
        11..=18,
        "A thread's first row is inside the product, and so are its first columns, a pack or one, in each row.",
    ),
];

const fn never(
    kernels: Kernels,
    before: &'static str,
    count: RangeInclusive<usize>,
    reason: &'static str,
) -> Survivor {
    entry(
        Operator::DropPredicate,
        kernels,
        [before, "setp.ne.u32 %p, 0, 0;"],
        count,
        reason,
    )
}

const fn always(
    kernels: Kernels,
    before: &'static str,
    count: RangeInclusive<usize>,
    reason: &'static str,
) -> Survivor {
    entry(
        Operator::DropPredicate,
        kernels,
        [before, "setp.eq.u32 %p, 0, 0;"],
        count,
        reason,
    )
}

const fn entry(
    operator: Operator,
    kernels: Kernels,
    change: [&'static str; 2],
    count: RangeInclusive<usize>,
    reason: &'static str,
) -> Survivor {
    Survivor {
        kernels,
        operator,
        change,
        count,
        reason,
    }
}

impl Survivor {
    /// Whether it speaks of this kernel.
    fn is_of(&self, kernel: &str) -> bool {
        const RAW: &str = "_raw";
        let is_part =
            |part: &&str| kernel.contains(part) && kernel.contains(RAW) == part.contains(RAW);
        self.kernels.iter().any(is_part)
    }

    /// Whether it explains this mutant.
    pub fn explains(&self, trial: &Trial) -> bool {
        let mutant = &trial.mutant;
        self.is_of(&mutant.kernel)
            && mutant.operator == self.operator
            && [&mutant.before, &mutant.after].map(|text| without_numbers(text)) == self.change
    }
}

/// The survivors that no entry explains, and what is wrong with the entries: each must explain
/// exactly as many as it says.
pub fn unexplained(trials: &[Trial]) -> Vec<String> {
    let survived = || {
        trials
            .iter()
            .filter(|trial| trial.verdict == Verdict::Survived)
    };
    let explained = |trial: &&Trial| SURVIVORS.iter().any(|entry| entry.explains(trial));
    let mut wrong: Vec<String> = survived()
        .filter(|trial| !explained(trial))
        .map(|trial| trial.mutant.to_string())
        .collect();
    for entry in SURVIVORS {
        let mut kernels: Vec<_> = trials.iter().map(|trial| &trial.mutant.kernel).collect();
        kernels.sort();
        kernels.dedup();
        for kernel in kernels.into_iter().filter(|kernel| entry.is_of(kernel)) {
            let own =
                survived().filter(|trial| trial.mutant.kernel == *kernel && entry.explains(trial));
            let found = own.count();
            if !entry.count.contains(&found) {
                wrong.push(format!("{kernel} has {found} survivors of {entry:?}"));
            }
        }
    }
    wrong
}

/// `%rd12` and `%rd7` as `%rd`, so that an entry holds when the compiler numbers registers
/// otherwise. White space as one space.
pub(super) fn without_numbers(text: &str) -> String {
    let mut plain = String::new();
    let mut register = false;
    for c in text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
    {
        register = c == '%' || register && c.is_ascii_alphanumeric();
        if !(register && c.is_ascii_digit()) {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_lose_their_numbers_and_nothing_else_does() {
        assert_eq!(
            without_numbers("setp.lt.u64 \t%p13, %rd5, 16;"),
            "setp.lt.u64 %p, %rd, 16;"
        );
    }
}
