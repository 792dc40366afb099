//! Mutants that nothing can catch, each with the reason.

use std::ops::RangeInclusive;

use super::Operator;

/// An operator, and the instruction before and after, registers without their numbers.
type Change = (Operator, [&'static str; 2]);

/// Mutants that survive because they do the same as the good kernel.
#[derive(Clone, Debug)]
pub struct Survivor {
    /// Parts of kernels' names, separated by spaces; a kernel is meant if its name contains one. Kernels in rust-cuda's form are meant only where `_raw` stands here too.
    pub kernels: &'static str,
    /// What is changed.
    pub change: Change,
    /// How many such mutants each of these kernels has; what LLVM makes of a kernel differs a
    /// little from type to type.
    pub count: RangeInclusive<usize>,
    /// Why nothing changes.
    pub reason: &'static str,
}

const FOLDED_ONCE_MORE: &str = "Each warp then folds its values once more before they go to shared memory, and half as many do.";

const FOLDED_AGAIN: &str = "A thread then folds elements that another one folds too, which changes no minimum and no maximum.";

const FOLDED_WITH_ITSELF: &str = "After the last round, one more folds each lane's value with itself, which changes no minimum and no maximum.";

const ONE_WARP: &str = "A block of one warp then folds through shared memory, as others do.";

const FOR_MORE: &str = "The way for more slices adds fewer, too.";
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

const NOT_USED: &str = "Nothing uses what the lanes exchange.";

const FIRST_LANES: &str =
    "Of the warps' totals only lane 7's sum is used, in which the first lanes have no such part.";

const PEELED_OFF: &str = "The compiler takes an element, or a round, out of a loop that begins with `zero_here`: it is not there.";

const ONE_BY_ONE: &str = "The elements of whole packs are then copied, or stored, one by one.";

/// What a loop's bound in a register becomes.
const BOUND_OF_REGISTER: &str = "{ .reg .b32 %bound; mov.b32 %bound, %r; add.s32 %bound, %bound, 1; setp.eq.b32 %p, %r, %bound; }";

macro_rules! survivors {
    ($($change:expr, $count:expr, $kernels:expr => $reason:expr;)*) => {
        &[$(Survivor {
            kernels: $kernels,
            change: $change,
            count: $count,
            reason: $reason,
        }),*]
    };
}

/// Every mutant that may survive, with the reason why no launch can show it.
pub const SURVIVORS: &[Survivor] = survivors! {
    never("setp.eq.b64 %p, %rd, 0;"), 1..=1,
        "conv1d_block_per_output_ conv1d_block_per_output_raw_" =>
        "There is at least one tap: the launcher refuses none.";
    never("setp.gt.u32 %p, %r, 39;"), 1..=1, "conv1d_window_f32" => WINDOW_ROUNDS;
    never("setp.lt.u32 %p, %r, 32;"), 1..=1, "conv1d_window_f64" => MORE_SAMPLES;
    never("setp.ge.u64 %p, %rd, %rd;"), 1..=2,
        "conv1d_tiled_ matmul_tiled_ transpose_naive_ transpose_padded_ transpose_tiled_ \
         transpose_aligned_ transpose_packs_ conv1d_direct_ conv1d_tiled_raw_ matmul_naive_ \
         matmul_tiled_raw_ transpose_padded_raw_" =>
        BEYOND;
    never("setp.eq.b64 %p, %rd, %rd;"), 1..=3,
        "conv1d_blocked_ conv1d_direct_ conv1d_tiled_ conv1d_window_ matmul_naive_ \
         conv1d_tiled_raw_" =>
        NOTHING_LEFT;
    never("setp.le.u64 %p, %rd, %rd;"), 1..=1,
        "matmul_tiled_ transpose_naive_ transpose_padded_ transpose_tiled_ \
         conv1d_block_per_output_f64 matmul_tiled_raw_ transpose_padded_raw_" =>
        BEYOND;
    never("setp.eq.b64 %p, %rd, 0;"), 1..=1,
        "matmul_tiled_ matmul_register_tile_ matmul_tiled_raw_" =>
        "Without an inner extent the loop adds one tile of zeros.";
    never("setp.eq.b64 %p, %rd, 0;"), 1..=1, "matmul_pipelined_" =>
        "Without an inner extent zeros are copied and loaded that nobody multiplies.";
    never("setp.ne.b64 %p, %rd, 0;"), 2..=2, "matmul_pipelined_" => BY_32_BITS;
    always("setp.ne.b64 %p, %rd, 0;"), 2..=2, "matmul_pipelined_" => BY_32_BITS;
    never("setp.ge.u64 %p, %rd, %rd;"), 2..=2, "matmul_pitch_" => BEYOND;
    never("setp.eq.b64 %p, %rd, 0;"), 0..=2,
        "matmul_pitch_ matmul_split_ transpose_aligned_ transpose_packs_ _quads_" =>
        "Rows without elements are counted through; only 2⁵⁷ of them take too long.";
    never("setp.ge.u64 %p, %rd, %rd;"), 1..=1, "matmul_fold_" => BEYOND;
    never("setp.eq.b64 %p, %rd, 0;"), 1..=1, "matmul_fold_" =>
        "Without slices the loop makes one round, which adds zeros. At no whole pack, the same \
         sums element by element.";
    always("setp.ne.b64 %p, %rd, 0;"), 3..=3, "matmul_fold_" =>
        "A C of whole packs has the same sums element by element. No launch adds no slices.";
    never("setp.lt.u64 %p, %rd, 5;"), 1..=1, "matmul_fold_" => FOR_MORE;
    never("setp.lt.u64 %p, %rd, 9;"), 1..=1, "matmul_fold_" => FOR_MORE;
    always("setp.ne.b64 %p, %rd, 1;"), 2..=2, "matmul_fold_" =>
        "No job adds a single slice; the operation's own test does.";
    always("setp.eq.b64 %p, %rd, 0;"), 1..=1, "matmul_fold_" =>
        "All C of the jobs begin at whole packs; one of the operation's own test does not.";
    widened("setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"), 3..=3, "matmul_fold_" =>
        "One round more lies beyond the packs, or beyond the slices, whose loads have guards of \
         their own and give zeros.";
    never("setp.gt.u32 %p, %r, 511;"), 2..=2, "matmul_split_" =>
        "A thread's first row is always inside the tile.";
    never("setp.le.u64 %p, %rd, %rd;"), 3..=3, "transpose_aligned_ transpose_packs_" =>
        "One: a block beyond the matrix, whose accesses have guards of their own. Two: a tile \
         inside goes the way with guards, which is right for every tile.";
    never("setp.eq.b64 %p, %rd, 1;"), 1..=1, "transpose_thin_u32 transpose_thin_u64" =>
        "One row or column is as right through a tile as copied.";
    always("setp.eq.b64 %p, %rd, 0;"), 1..=1, "transpose_aligned_" => WITH_GUARDS;
    never("setp.ne.b64 %p, %rd, 0;"), 1..=1, "transpose_packs_" => WITH_GUARDS;
    always("setp.lt.u32 %p, %r, 256;"), 1..=1, "transpose_quads_" =>
        "A block has 256 threads, and a square tile as many quads.";
    never("setp.ge.u64 %p, %rd, %rd;"), 0..=1, "reverse_static_ reverse_dynamic_ reverse_direct_" =>
        BEYOND;
    never("setp.ge.u64 %p, %rd, %rd;"), 0..=5, "reverse_along_" =>
        "One: a block beyond the work runs its loop's body once. The others: no mirrored place is \
         outside an array of whole lines; the kernel is safe for other extents, too.";
    always("setp.ne.b64 %p, %rd, 0;"), 0..=8, "reverse_along_" =>
        "The compiler divides small numbers by 32 bits; both ways give the place.";
    never("setp.ne.b64 %p, %rd, 0;"), 0..=8, "reverse_along_" =>
        "The compiler divides small numbers by 32 bits; both ways give the place.";
    never("setp.eq.b64 %p, %rd, 0;"), 0..=1, "reverse_along_" =>
        "An array that has elements has some after the axis.";
    never("setp.lt.u32 %p, %r, 2;"), 1..=1,
        "dot_interleaved_ sum_interleaved_ extreme_interleaved_ dot_tree_ sum_tree_ extreme_tree_ \
         dot_tree_raw_ sum_tree_raw_ extreme_tree_raw_" =>
        ONE_THREAD;
    never("setp.ne.b32 %p, %r, 0;"), 0..=1, "_wide_ _single_" => OTHER_WARPS;
    always("setp.ne.b64 %p, %rd, 0;"), 0..=1,
        "dot_wide_f64 dot_wide_i64 dot_single_f64 dot_single_i64" =>
        "Operands that lie alike in their packs then go element by element, as those that do not; \
         or what a thread without parts writes, which is not read.";
    never("setp.lt.u32 %p, %r, 129;"), 0..=1, "_wide_ _single_" => FOLDED_ONCE_MORE;
    widened("setp.gt.u32 %p, %r, 128;", "setp.ge.u32 %p, %r, 128;"), 0..=1, "_wide_ _single_" =>
        FOLDED_ONCE_MORE;
    never("setp.ge.u32 %p, %r, %r;"), 2..=4, "_wide_ _single_" =>
        "A block of several warps has at least twice as many values as the first one has lanes, \
         each of which takes two.";
    dropped("setp.ne.u32 inside, %r, 0;", "setp.eq.u32 inside, 0, 0;"), 0..=8,
        "sum_wide_ sum_single_ dot_wide_ dot_single_" =>
        "The condition of the loop or branch around it says that it is there.";
    always("setp.eq.b32 %p, %r, 0;"), 0..=1, "extreme_wide_ extreme_single_" => FOLDED_AGAIN;
    always("setp.ne.b32 %p, %r, 0;"), 0..=1, "extreme_wide_ extreme_single_" => FOLDED_AGAIN;
    dropped("setp.ne.u32 inside, %r, 0;", "setp.eq.u32 inside, 0, 0;"), 0..=9,
        "extreme_wide_ extreme_single_" =>
        "The packs of a minimum or maximum are always there: the last one once more, if no other.";
    widened("setp.eq.b32 %p, %r, 5;", "{ .reg .b32 %bound; mov.b32 %bound, 5; add.s32 %bound, %bound, 1; setp.eq.b32 %p, %r, %bound; }"),
        0..=1, "extreme_wide_ extreme_single_" =>
        FOLDED_WITH_ITSELF;
    widened("setp.ne.b32 %p, %r, 5;", "{ .reg .b32 %bound; mov.b32 %bound, 5; add.s32 %bound, %bound, 1; setp.ne.b32 %p, %r, %bound; }"),
        0..=1, "extreme_wide_ extreme_single_" =>
        FOLDED_WITH_ITSELF;
    never("setp.eq.b32 %p, %r, 1;"), 0..=1, "_wide_ _single_" => ONE_WARP;
    always("setp.ne.b32 %p, %r, 1;"), 0..=1, "_wide_ _single_" => ONE_WARP;
    always("setp.ne.b32 %p, %r, 32;"), 1..=1, "dot_wide_f64 sum_wide_f64" => ONE_WARP;
    never("setp.gt.u32 %p, %r, 31;"), 1..=1, "dot_wide_f64 sum_wide_f64" => OTHER_WARPS;
    always("setp.lt.u32 %p, %r, 4194306;"), 1..=1, "dot_wide_f64 sum_wide_f64" =>
        "Long operands are then read a grid apart, as others are: slower, and every element once. \
         The block's elements are the same when it adds them again.";
    always("setp.ne.b64 %p, %rd, 0;"), 0..=1, "sum_wide_f64" =>
        "What a thread without parts writes is not read.";
    always("setp.lt.u64 %p, %rd, %rd;"), 0..=1, "extreme_wide_ extreme_single_" => FOLDED_AGAIN;
    never("setp.gt.u32 %p, %r, 31;"), 1..=1, "_single_" =>
        "The other warps then go on with ticket 0, and return; in a lone block, whose ticket that \
         is, only the first thread writes.";
    always("setp.le.u64 %p, %rd, %rd;"), 1..=1, "conv1d_block_per_output_f64" => PEELED;
    always("setp.ge.u64 %p, %rd, %rd;"), 2..=2, "conv1d_block_per_output_f64" =>
        "There is one row, and one slot for each thread, as the launch says: nothing is reached \
         that would be another.";
    never("setp.ge.u64 %p, %rd, %rd;"), 2..=2, "conv1d_block_per_output_f64" =>
        "A tile is one output, which thread 0 owns, and there is one slot for each thread, as the \
         launch says.";
    never("setp.lt.u64 %p, %rd, %rd;"), 1..=1, "conv1d_block_per_output_f64" => ONE_SLOT_EACH;
    never("setp.le.u64 %p, %rd, %rd;"), 1..=2, "conv1d_blocked_ conv1d_window_ conv1d_direct_" =>
        EMPTY_RANGE;
    never("setp.le.u64 %p, %rd, %rd;"), 1..=1, "conv1d_tiled_raw_" =>
        "A thread's number is always below the number of slots, so each loads at least one.";
    always("setp.eq.b32 %p, %r, 0;"), 1..=1, "_tree_" =>
        "The other threads then read a value that is not theirs; only the block's first thread \
         writes its one.";
    never("setp.le.u64 %p, %rd, %rd;"), 2..=2, "matmul_naive_" =>
        "One: a block beyond the rows runs the body once, whose accesses have guards of their own. \
         The other: nothing is left of an empty range.";
    never("setp.le.u64 %p, %rd, %rd;"), 0..=2, "reverse_dynamic_ reverse_static_" =>
        "A tile that the loop gives begins inside the output.";
    always("setp.ge.u32 %p, %r, %r;"), 1..=1, "_single_" =>
        "Partial results that are not folded four at a time are folded one by one.";
    never("setp.lt.u32 %p, %r, %r;"), 1..=2, "_single_" =>
        "Partial results that are not folded four at a time are folded one by one.";
    always("setp.ne.b32 %p, %r, 1;"), 1..=1, "peak_fma_f32" =>
        "A launch of one dimension has a shorter way to a thread's number; both give it.";
    never("setp.ne.b32 %p, %r, 1;"), 1..=1, "peak_fma_f32" =>
        "A launch of one dimension has a shorter way to a thread's number; both give it.";
    widened("setp.gt.u32 %p, %r, 39;", "setp.ge.u32 %p, %r, 39;"), 1..=1, "conv1d_window_f32" =>
        WINDOW_ROUNDS;
    widened("setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"), 1..=1,
        "conv1d_tiled_ transpose_naive_ transpose_padded_ transpose_tiled_ reverse_ conv1d_direct_ \
         conv1d_tiled_raw_ matmul_naive_ reverse_dynamic_raw_ reverse_static_raw_" =>
        ONE_ROUND_MORE;
    widened("setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"), 2..=2,
        "matmul_tiled_ matmul_register_tile_" =>
        "One round more lies beyond the work; every access in there has a guard of its own, and \
         the barriers are for all threads. A tile beyond the inner extent is all zeros.";
    widened("setp.ge.u64 %p, %rd, %rd;", "setp.gt.u64 %p, %rd, %rd;"), 1..=1, "matmul_pipelined_" =>
        "A tile beyond C is copied from the last rows and columns, and not stored.";
    widened("setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"), 2..=2,
        "conv1d_block_per_output_f64 matmul_pitch_ transpose_aligned_ transpose_packs_ \
         transpose_quads_ transpose_padded_raw_" =>
        ONE_ROUND_MORE;
    widened("setp.ge.u64 %p, %rd, %rd;", "setp.gt.u64 %p, %rd, %rd;"), 1..=1,
        "matmul_naive_ matmul_tiled_ matmul_register_tile_ transpose_naive_ transpose_padded_ \
         transpose_tiled_" =>
        ONE_ROUND_MORE;
    widened("setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"), 3..=3, "matmul_tiled_raw_" =>
        "One round more lies beyond the work; every access in there has a guard of its own, and \
         the barriers are for all threads. A tile beyond the inner extent is all zeros.";
    widened("setp.lt.u32 %p, %r, %r;", "setp.le.u32 %p, %r, %r;"), 0..=2, "_single_" =>
        "A lane reads beyond the partial results only where its fourth one would be the first that \
         is not there.";
    deleted("bar.warp.sync -1;"), 1..=1, "_single_" =>
        "Partial results are written and read by atomics, so that no ticket makes a race of them; \
         the barrier orders them, as the emulator does without it.";
    never("setp.ge.u32 %p, %r, %r;"), 7..=7, "extreme_shuffle_f32" => UNUSED_SLOT;
    never("setp.ge.u32 %p, %r, %r;"), 3..=3,
        "dot_shuffle_f32 sum_shuffle_f32 extreme_shuffle_f64 extreme_shuffle_i64" =>
        UNUSED_SLOT;
    widened("setp.lt.u32 %p, %r, %r;", "setp.le.u32 %p, %r, %r;"), 1..=1, "extreme_shuffle_f32" =>
        "One group of slots more lies past the block's warps; each load and each fold has a guard.";
    always("setp.lt.u64 %p, %rd, %rd;"), 1..=1, "conv1d_blocked_ conv1d_direct_ conv1d_window_" =>
        SLOW_PATH;
    always("setp.gt.u64 %p, %rd, %rd;"), 1..=1, "conv1d_blocked_ conv1d_direct_ conv1d_window_" =>
        SLOW_PATH;
    never("setp.ne.b32 %p, %r, 0;"), 1..=1, "conv1d_block_per_output_f64" => ONE_ROW;
    never("setp.ne.b64 %p, %rd, 0;"), 1..=1, "conv1d_block_per_output_f64" => ONE_ROW;
    always("setp.lt.u64 %p, %rd, %rd;"), 1..=1, "conv1d_block_per_output_f64" => ONE_SLOT_EACH;
    shifted("st.shared.b64 [%rd], %rd;", "st.shared.b64 [%rd-8], %rd;"), 1..=1,
        "conv1d_block_per_output_f64" =>
        ONE_SLOT_EACH;
    shifted("st.shared.b64 [%rd], %rd;", "st.shared.b64 [%rd+8], %rd;"), 1..=1,
        "conv1d_block_per_output_f64" =>
        ONE_SLOT_EACH;
    never("setp.ne.b64 %p, %rd, 0;"), 1..=1, "matmul_short_f" =>
        "Rows of whole packs are then read element by element.";
    never("setp.eq.b32 %p, %r, 1;"), 2..=2, "matmul_short_f" =>
        "The runs of the only product are of product 0 by a division, too.";
    never("setp.ne.b32 %p, %r, %r;"), 2..=2, "matmul_short_f" =>
        "All threads then meet before each group of columns; only before the first one they must.";
    never("setp.ge.u32 %p, %r, %r;"), 2..=2, "matmul_short_f" => BEYOND;
    never("setp.lt.u32 %p, %r, %r;"), 1..=1, "matmul_short_f" =>
        "A run of sums of at most two terms has 64 rows, and A's are copied 128 at a time.";
    widened("setp.lt.u32 %p, %r, %r;", "setp.le.u32 %p, %r, %r;"), 3..=3, "matmul_short_f" =>
        "Two: a group of columns beyond the last, whose accesses have guards of their own. One: a run \
         of sums of at most two terms has 64 rows, and A's are copied 128 at a time.";
    never("setp.eq.b32 %p, %r, 0;"), 1..=1, "matmul_direct_" =>
        "The compiler counts the zeros behind a power of two in a way that holds for 0, too.";
    deleted("bar.sync 0;"), 1..=1, "matmul_direct_" =>
        "The slices' sums are written and read by atomics, so that no ticket makes a race of them; \
         the barrier orders them, as the emulator does without it.";
    never("setp.eq.b32 %p, %r, 1;"), 1..=1, "matmul_direct_" =>
        "A tile of the only product is of product 0 by a division, too.";
    never("setp.eq.b64 %p, %rd, 1;"), 1..=1, "matmul_direct_" =>
        "The only slice is the whole inner extent by a division, too.";
    never("setp.lt.u64 %p, %rd, %rd;"), 2..=2, "matmul_direct_" =>
        "One: the compiler leaves out a division whose quotient is 0. The other: a team has at \
         most as many warps as a round adds.";
    never("setp.lt.s32 %p, %r, 1;"), 1..=1, "matmul_direct_" =>
        "A warp without steps then adds a round of zeros.";
    widened("setp.gt.s32 %p, %r, 0;", "setp.ge.s32 %p, %r, 0;"), 1..=1, "matmul_direct_" =>
        "A round beyond the slice adds zeros.";
    never("setp.eq.b64 %p, %rd, 0;"), 1..=2, "matmul_direct_" =>
        "There are a warp in a team, and a slice.";
    never("setp.gt.u64 %p, %rd, 255;"), 1..=1, "matmul_direct_narrow_" =>
        "A tile has an output for each thread.";
    always("setp.lt.u64 %p, %rd, 256;"), 1..=1, "matmul_direct_narrow_" =>
        "A tile has an output for each thread.";
    always("setp.ne.b64 %p, %rd, 0;"), 1..=1, "matmul_small_" => BY_32_BITS;
    never("setp.ne.b64 %p, %rd, 0;"), 1..=1, "matmul_small_" => BY_32_BITS;
    always("setp.eq.b64 %p, %rd, 0;"), 1..=1, "matmul_small_" =>
        "Rows of whole packs are then copied and stored element by element.";
    always("setp.lt.u32 %p, %r, 4;"), 1..=1, "matmul_small_f32" =>
        "The elements of a step are then added one by one.";
    always("setp.lt.u32 %p, %r, 2;"), 1..=1, "matmul_small_f64" =>
        "The elements of a step are then added one by one.";
    always("setp.gt.u32 %p, %r, %r;"), 1..=1, "matmul_small_" =>
        "The elements after the first step are then added one by one.";
    never("setp.ne.b32 %p, %r, 0;"), 1..=1, "matmul_small_f64" =>
        "Behind the steps of two there is at most one element.";
    widened("setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"), 2..=2, "matmul_small_" =>
        "A run without rows stores nothing.";
    never("setp.ge.u32 %p, %r, %r;"), 7..=7, "matmul_small_" =>
        "A thread's first row is inside the product, and so are its first columns, a pack or one, \
         in each row.";
    shuffled("shfl.sync.up.b32 %r, %r, 1, 0, -1;", "shfl.sync.down.b32 %r, %r, 1, 0, -1;"), 1..=2,
        "scan_once_sum_f32 scan_once_sum_i32" =>
        NOT_USED;
    shuffled("shfl.sync.up.b32 %r, %r, 1, 0, -1;", "shfl.sync.up.b32 %r, %r, 1, 7967, -1;"), 1..=2,
        "scan_once_sum_f32 scan_once_sum_i32" =>
        NOT_USED;
    shuffled("shfl.sync.idx.b32 %r, %r, 0, 31, -1;", "shfl.sync.bfly.b32 %r, %r, 0, 31, -1;"),
        1..=2, "scan_once_sum_f32 scan_once_sum_i32" =>
        "Only lane 0 uses the fold of the earlier tiles, and of the earlier runs.";
    shuffled("shfl.sync.idx.b32 %r, %r, 0, 31, -1;", "shfl.sync.idx.b32 %r, %r, 0, 7967, -1;"),
        1..=2, "scan_once_sum_f32 scan_once_sum_i32" =>
        "Only lane 0 uses the fold of the earlier tiles, and of the earlier runs.";
    shuffled("shfl.sync.idx.b32 %r, %r, 31, 31, -1;", "shfl.sync.bfly.b32 %r, %r, 31, 31, -1;"),
        1..=2, "scan_once_sum_f32 scan_once_sum_i32" =>
        NOT_USED;
    shuffled("shfl.sync.idx.b32 %r, %r, 31, 31, -1;", "shfl.sync.idx.b32 %r, %r, 31, 7967, -1;"),
        1..=2, "scan_once_sum_f32 scan_once_sum_i32" =>
        NOT_USED;
    shuffled("shfl.sync.idx.b32 %r, %r, 7, 31, -1;", "shfl.sync.bfly.b32 %r, %r, 7, 31, -1;"),
        1..=2, "scan_once_sum_f32 scan_once_sum_i32" =>
        "Only lane 0 uses the tile's total, and an exchange gives it to that lane, too.";
    never("setp.eq.b32 %p, %r, 0;"), 2..=2, "scan_once_sum_f32 scan_once_sum_i32" =>
        "One: there is a tile to sum. The other: see `FIRST_LANES`.";
    always("setp.gt.u32 %p, %r, 1;"), 0..=1, "scan_once_sum_f32 scan_once_sum_i32" => FIRST_LANES;
    always("setp.gt.u32 %p, %r, 3;"), 0..=1, "scan_once_sum_f32 scan_once_sum_i32" => FIRST_LANES;
    never("setp.ne.b32 %p, %r, 0;"), 3..=4, "scan_once_sum_f32 scan_once_sum_i32" =>
        "One: a total that is there is summed again. The others: see `PEELED_OFF`.";
    never("setp.gt.u32 %p, %r, 15;"), 0..=2, "scan_once_sum_f32 scan_once_sum_i32" => PEELED_OFF;
    never("setp.gt.u32 %p, %r, 7;"), 0..=2, "scan_once_sum_f32 scan_once_sum_i32" => PEELED_OFF;
    never("setp.eq.b32 %p, %r, 15;"), 0..=1, "scan_once_sum_f32 scan_once_sum_i32" => PEELED_OFF;
    never("setp.eq.b32 %p, %r, 7;"), 0..=1, "scan_once_sum_f32 scan_once_sum_i32" => PEELED_OFF;
    never("setp.ge.u64 %p, %rd, %rd;"), 1..=1, "scan_once_sum_f32 scan_once_sum_i32" => PEELED_OFF;
    always("setp.ge.u64 %p, %rd, %rd;"), 1..=1, "scan_once_sum_f32 scan_once_sum_i32" => PEELED_OFF;
    shifted("ld.shared.b32 %r, [%rd];", "ld.shared.b32 %r, [%rd-4];"), 0..=1, "scan_once_sum_f32 scan_once_sum_i32" =>
        PEELED_OFF;
    shifted("ld.shared.b32 %r, [%rd];", "ld.shared.b32 %r, [%rd+4];"), 0..=1, "scan_once_sum_f32 scan_once_sum_i32" =>
        PEELED_OFF;
    shifted("ld.shared.b64 %rd, [%rd+8];", "ld.shared.b64 %rd, [%rd+0];"), 0..=1,
        "scan_once_sum_f32 scan_once_sum_i32" =>
        PEELED_OFF;
    shifted("ld.shared.b64 %rd, [%rd+8];", "ld.shared.b64 %rd, [%rd+16];"), 0..=1,
        "scan_once_sum_f32 scan_once_sum_i32" =>
        PEELED_OFF;
    never("setp.lt.u32 %p, %r, %r;"), 1..=1, "scan_once_sum_f32 scan_once_sum_i32" =>
        "The tiles of the first line have their numbers by a division, too.";
    always("setp.lt.u64 %p, %rd, %rd;"), 1..=1, "scan_once_sum_f32 scan_once_sum_i32" =>
        "A warp beyond the end of its tile fills its slots with what changes no sum.";
    always("setp.gt.u64 %p, %rd, %rd;"), 0..=1, "scan_once_sum_f32 scan_once_sum_i32" => ONE_BY_ONE;
    always("setp.ne.b64 %p, %rd, 0;"), 0..=1, "scan_once_sum_f32 scan_once_sum_i32" => ONE_BY_ONE;
    never("setp.le.u64 %p, %rd, %rd;"), 1..=1, "scan_once_sum_f32 scan_once_sum_i32" => ONE_BY_ONE;
    always("setp.eq.b32 %p, %r, %r;"), 0..=2, "scan_once_sum_f32 scan_once_sum_i32" =>
        "A value of one word is asked twice for its tag.";
    always("setp.eq.b64 %p, %rd, 0;"), 0..=1, "scan_once_sum_f32 scan_once_sum_i32" =>
        "A tile that is not there at the first look is summed at once.";
    never("setp.eq.b64 %p, %rd, 0;"), 2..=2, "scan_once_sum_f32 scan_once_sum_i32" =>
        "One: a tile is waited for until it is there; in the emulator each block begins. The \
         other: see `ONE_BY_ONE`.";
    widened("setp.eq.b32 %p, %r, %r;", BOUND_OF_REGISTER), 0..=1, "scan_once_sum_f32 scan_once_sum_i32" =>
        "The lanes beyond the earlier tiles have what they need: nothing is summed for them.";
};

/// A condition that never holds.
const fn never(before: &'static str) -> Change {
    dropped(before, "setp.ne.u32 %p, 0, 0;")
}

/// A condition that always holds.
const fn always(before: &'static str) -> Change {
    dropped(before, "setp.eq.u32 %p, 0, 0;")
}

const fn dropped(before: &'static str, after: &'static str) -> Change {
    (Operator::DropPredicate, [before, after])
}

const fn widened(before: &'static str, after: &'static str) -> Change {
    (Operator::WidenLoop, [before, after])
}

const fn shifted(before: &'static str, after: &'static str) -> Change {
    (Operator::ShiftShared, [before, after])
}

const fn shuffled(before: &'static str, after: &'static str) -> Change {
    (Operator::ChangeShuffle, [before, after])
}

const fn deleted(before: &'static str) -> Change {
    (Operator::DeleteBarrier, [before, ""])
}
