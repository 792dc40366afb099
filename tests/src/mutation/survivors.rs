//! Mutants that nothing can catch, each with the reason.

use std::ops::RangeInclusive;

use super::{Operator, Trial, Verdict};

/// Mutants that survive because they do the same as the good kernel.
#[derive(Clone, Debug)]
pub struct Survivor {
    /// What the kernel's name contains: its begin, or the family's name between two underscores. Kernels in rust-cuda's form are meant
    /// only where `_raw` stands here too.
    pub kernels: &'static str,
    /// The operator.
    pub operator: Operator,
    /// The instruction before and after, registers without their numbers.
    pub change: [&'static str; 2],
    /// How many such mutants each of these kernels has; what LLVM makes of a kernel differs a little from type to type.
    pub count: RangeInclusive<usize>,
    /// Why nothing changes.
    pub reason: &'static str,
}

/// A comparison that never holds.
const NEVER: &str = "setp.ne.u32 %p, 0, 0;";

/// A comparison that always holds.
const ALWAYS: &str = "setp.eq.u32 %p, 0, 0;";

const FOLDED_AGAIN: &str = "A thread then folds elements that another one folds too, which changes no minimum and no maximum.";

const BEYOND: &str = "A block beyond the work runs its loop's body once; every access in there has a guard of its own, and the barriers are for all threads.";

const ONE_ROUND_MORE: &str = "One round more lies beyond the work; every access in there has a guard of its own, and the barriers are for all threads.";

const ONE_THREAD: &str = "A block of one thread makes one round, which folds nothing.";

const OTHER_WARPS: &str =
    "The other warps combine the warps' results too; only the block's first thread writes its one.";

const MORE_SAMPLES: &str = "The samples below a warp's later tiles are there, and so is the room for a pack of them a lane.";

const NOTHING_LEFT: &str =
    "Where nothing is left behind the whole groups no smaller group is called.";

const EMPTY_RANGE: &str = "Of an empty range there is no whole group, and nothing is left.";

const A_SLOT_EACH: &str = "The launch gives each thread a slot.";

const ONE_SLOT_EACH: &str =
    "Each thread has one slot, as the launch says: no thread makes the second round.";

const A_PARTIAL_EACH: &str = "The launch gives each block a partial result.";

const PEELED: &str = "The loop over the rest of a thread's slots then loads its first one too.";

const WINDOW_ROUNDS: &str = "A round adds 40 taps, and at most 63 are left behind the first pack.";

/// The list.
pub const SURVIVORS: &[Survivor] = &[
    Survivor {
        kernels: "conv1d_block_per_output_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, 0;", NEVER],
        count: 1..=1,
        reason: "There is at least one tap: the launcher refuses none.",
    },
    Survivor {
        kernels: "conv1d_blocked_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, 0;", NEVER],
        count: 1..=1,
        reason: "There is at least one tap: the launcher refuses none.",
    },
    Survivor {
        kernels: "conv1d_window_f32",
        operator: Operator::DropPredicate,
        change: ["setp.gt.u32 %p, %r, 39;", NEVER],
        count: 1..=1,
        reason: WINDOW_ROUNDS,
    },
    Survivor {
        kernels: "conv1d_window_f32",
        operator: Operator::WidenLoop,
        change: ["setp.gt.u32 %p, %r, 39;", "setp.ge.u32 %p, %r, 39;"],
        count: 1..=1,
        reason: WINDOW_ROUNDS,
    },
    Survivor {
        kernels: "conv1d_window_",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b32 %p, %r, 0;", ALWAYS],
        count: 1..=1,
        reason: "There is at least one tap: the launcher refuses none.",
    },
    Survivor {
        kernels: "conv1d_window_f64",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, 32;", NEVER],
        count: 1..=1,
        reason: MORE_SAMPLES,
    },
    Survivor {
        kernels: "conv1d_tiled_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "conv1d_tiled_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: "A thread's number is always below the number of slots, so each loads at least one.",
    },
    Survivor {
        kernels: "conv1d_tiled_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "conv1d_blocked_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: NOTHING_LEFT,
    },
    Survivor {
        kernels: "conv1d_direct_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: NOTHING_LEFT,
    },
    Survivor {
        kernels: "conv1d_tiled_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: NOTHING_LEFT,
    },
    Survivor {
        kernels: "conv1d_window_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: NOTHING_LEFT,
    },
    Survivor {
        kernels: "matmul_naive_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: NOTHING_LEFT,
    },
    Survivor {
        kernels: "matmul_tiled_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "matmul_tiled_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "matmul_tiled_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, 0;", NEVER],
        count: 1..=1,
        reason: "Without an inner extent the loop adds one tile of zeros.",
    },
    Survivor {
        kernels: "matmul_tiled_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 2..=2,
        reason: "One round more lies beyond the work; every access in there has a guard of its own, and the barriers are for all threads. A tile beyond the inner extent is all zeros.",
    },
    Survivor {
        kernels: "matmul_register_tile_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "matmul_register_tile_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "matmul_register_tile_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 2..=2,
        reason: "One round more lies beyond the work; every access in there has a guard of its own, and the barriers are for all threads. A tile beyond the inner extent is all zeros.",
    },
    Survivor {
        kernels: "matmul_pipelined_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, 0;", NEVER],
        count: 1..=1,
        reason: "Without an inner extent zeros are copied and loaded that nobody multiplies.",
    },
    Survivor {
        kernels: "matmul_pipelined_",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b64 %p, %rd, 0;", NEVER],
        count: 2..=2,
        reason: "The compiler divides small numbers by 32 bits; both ways give the tile's place.",
    },
    Survivor {
        kernels: "matmul_pipelined_",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b64 %p, %rd, 0;", ALWAYS],
        count: 2..=2,
        reason: "The compiler divides small numbers by 32 bits; both ways give the tile's place.",
    },
    Survivor {
        kernels: "matmul_pipelined_",
        operator: Operator::WidenLoop,
        change: ["setp.ge.u64 %p, %rd, %rd;", "setp.gt.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: "A tile beyond C is copied from the last rows and columns, and not stored.",
    },
    Survivor {
        kernels: "matmul_pitch_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 2..=2,
        reason: BEYOND,
    },
    Survivor {
        kernels: "matmul_pitch_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 2..=2,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "matmul_split_",
        operator: Operator::DropPredicate,
        change: ["setp.gt.u32 %p, %r, 511;", NEVER],
        count: 2..=2,
        reason: "A thread's first row is always inside the tile.",
    },
    Survivor {
        kernels: "transpose_naive_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "transpose_naive_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "transpose_naive_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "transpose_padded_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "transpose_padded_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "transpose_padded_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "transpose_tiled_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "transpose_tiled_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "transpose_tiled_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "transpose_aligned_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "transpose_aligned_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 3..=3,
        reason: "One: a block beyond the matrix, whose accesses have guards of their own. Two: a tile inside goes the way with guards, which is right for every tile.",
    },
    Survivor {
        kernels: "transpose_aligned_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, 0;", ALWAYS],
        count: 1..=1,
        reason: "A tile inside goes the way with guards, which is right for every tile.",
    },
    Survivor {
        kernels: "transpose_aligned_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 2..=2,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "reverse_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "reverse_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "dot_interleaved_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, 2;", NEVER],
        count: 1..=1,
        reason: ONE_THREAD,
    },
    Survivor {
        kernels: "sum_interleaved_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, 2;", NEVER],
        count: 1..=1,
        reason: ONE_THREAD,
    },
    Survivor {
        kernels: "min_interleaved_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, 2;", NEVER],
        count: 1..=1,
        reason: ONE_THREAD,
    },
    Survivor {
        kernels: "max_interleaved_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, 2;", NEVER],
        count: 1..=1,
        reason: ONE_THREAD,
    },
    Survivor {
        kernels: "dot_tree_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, 2;", NEVER],
        count: 1..=1,
        reason: ONE_THREAD,
    },
    Survivor {
        kernels: "sum_tree_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, 2;", NEVER],
        count: 1..=1,
        reason: ONE_THREAD,
    },
    Survivor {
        kernels: "min_tree_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, 2;", NEVER],
        count: 1..=1,
        reason: ONE_THREAD,
    },
    Survivor {
        kernels: "max_tree_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, 2;", NEVER],
        count: 1..=1,
        reason: ONE_THREAD,
    },
    Survivor {
        kernels: "_wide_",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b32 %p, %r, 0;", NEVER],
        count: 1..=1,
        reason: OTHER_WARPS,
    },
    Survivor {
        kernels: "dot_wide_",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b64 %p, %rd, %rd;", ALWAYS],
        count: 1..=1,
        reason: "Operands that lie alike in their packs then go element by element, as those that do not.",
    },
    Survivor {
        kernels: "min_wide_",
        operator: Operator::DropPredicate,
        change: ["setp.gt.u64 %p, %rd, %rd;", ALWAYS],
        count: 1..=1,
        reason: FOLDED_AGAIN,
    },
    Survivor {
        kernels: "min_wide_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u64 %p, %rd, %rd;", ALWAYS],
        count: 0..=1,
        reason: FOLDED_AGAIN,
    },
    Survivor {
        kernels: "max_wide_",
        operator: Operator::DropPredicate,
        change: ["setp.gt.u64 %p, %rd, %rd;", ALWAYS],
        count: 1..=1,
        reason: FOLDED_AGAIN,
    },
    Survivor {
        kernels: "max_wide_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u64 %p, %rd, %rd;", ALWAYS],
        count: 0..=1,
        reason: FOLDED_AGAIN,
    },
    Survivor {
        kernels: "_single_",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b32 %p, %r, 0;", NEVER],
        count: 1..=1,
        reason: OTHER_WARPS,
    },
    Survivor {
        kernels: "dot_single_",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b64 %p, %rd, %rd;", ALWAYS],
        count: 1..=1,
        reason: "Operands that lie alike in their packs then go element by element, as those that do not.",
    },
    Survivor {
        kernels: "min_single_",
        operator: Operator::DropPredicate,
        change: ["setp.gt.u64 %p, %rd, %rd;", ALWAYS],
        count: 1..=1,
        reason: FOLDED_AGAIN,
    },
    Survivor {
        kernels: "min_single_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u64 %p, %rd, %rd;", ALWAYS],
        count: 0..=1,
        reason: FOLDED_AGAIN,
    },
    Survivor {
        kernels: "max_single_",
        operator: Operator::DropPredicate,
        change: ["setp.gt.u64 %p, %rd, %rd;", ALWAYS],
        count: 1..=1,
        reason: FOLDED_AGAIN,
    },
    Survivor {
        kernels: "max_single_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u64 %p, %rd, %rd;", ALWAYS],
        count: 0..=1,
        reason: FOLDED_AGAIN,
    },
    Survivor {
        kernels: "_single_",
        operator: Operator::DropPredicate,
        change: ["setp.gt.u32 %p, %r, 31;", NEVER],
        count: 1..=1,
        reason: "The other warps then go on with ticket 0, and return; in a lone block, whose ticket that is, only the first thread writes.",
    },
    Survivor {
        kernels: "conv1d_block_per_output_f64",
        operator: Operator::ShiftShared,
        change: ["st.shared.b64 [%rd], %rd;", "st.shared.b64 [%rd-8], %rd;"],
        count: 1..=1,
        reason: ONE_SLOT_EACH,
    },
    Survivor {
        kernels: "conv1d_block_per_output_f64",
        operator: Operator::ShiftShared,
        change: ["st.shared.b64 [%rd], %rd;", "st.shared.b64 [%rd+8], %rd;"],
        count: 1..=1,
        reason: ONE_SLOT_EACH,
    },
    Survivor {
        kernels: "conv1d_block_per_output_f64",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 4..=4,
        reason: "Two: a block beyond the outputs runs the body once, whose accesses have guards of their own. Two: each thread has a slot and a tap, as the launch says.",
    },
    Survivor {
        kernels: "conv1d_block_per_output_f64",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", ALWAYS],
        count: 1..=1,
        reason: PEELED,
    },
    Survivor {
        kernels: "conv1d_block_per_output_f64",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", ALWAYS],
        count: 4..=4,
        reason: "One: there is one row. Three are in the second round over a thread's slots or decide on it: each thread has one slot, as the launch says.",
    },
    Survivor {
        kernels: "conv1d_block_per_output_f64",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 4..=4,
        reason: "Two: a tile is one output, which thread 0 owns. Two are in the second round over a thread's slots: each thread has one, as the launch says.",
    },
    Survivor {
        kernels: "conv1d_block_per_output_f64",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u64 %p, %rd, %rd;", ALWAYS],
        count: 1..=1,
        reason: ONE_SLOT_EACH,
    },
    Survivor {
        kernels: "conv1d_block_per_output_f64",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: ONE_SLOT_EACH,
    },
    Survivor {
        kernels: "conv1d_block_per_output_f64",
        operator: Operator::WidenLoop,
        change: ["setp.ge.u64 %p, %rd, %rd;", "setp.gt.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "conv1d_block_per_output_f64",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 2..=2,
        reason: "One round more lies beyond the outputs, or beyond a thread's slots, of which each has one: that loop makes no second round.",
    },
    Survivor {
        kernels: "conv1d_block_per_output_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, 0;", NEVER],
        count: 1..=1,
        reason: "There is at least one tap: the launcher refuses none.",
    },
    Survivor {
        kernels: "conv1d_blocked_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: EMPTY_RANGE,
    },
    Survivor {
        kernels: "conv1d_window_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: EMPTY_RANGE,
    },
    Survivor {
        kernels: "conv1d_direct_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: EMPTY_RANGE,
    },
    Survivor {
        kernels: "conv1d_direct_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "conv1d_direct_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "conv1d_tiled_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", ALWAYS],
        count: 1..=1,
        reason: PEELED,
    },
    Survivor {
        kernels: "conv1d_tiled_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "conv1d_tiled_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: "A thread's number is always below the number of slots, so each loads at least one.",
    },
    Survivor {
        kernels: "conv1d_tiled_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: NOTHING_LEFT,
    },
    Survivor {
        kernels: "conv1d_tiled_raw_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "_interleaved_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: A_SLOT_EACH,
    },
    Survivor {
        kernels: "_interleaved_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: A_PARTIAL_EACH,
    },
    Survivor {
        kernels: "_tree_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: A_SLOT_EACH,
    },
    Survivor {
        kernels: "_tree_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: A_PARTIAL_EACH,
    },
    Survivor {
        kernels: "_tree_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b32 %p, %r, 0;", ALWAYS],
        count: 1..=1,
        reason: "The other threads then read a value that is not theirs; only the block's first thread writes its one.",
    },
    Survivor {
        kernels: "_shuffle_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: A_PARTIAL_EACH,
    },
    Survivor {
        kernels: "_shuffle_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, 33;", NEVER],
        count: 1..=1,
        reason: EMPTY_RANGE,
    },
    Survivor {
        kernels: "_shuffle_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: NOTHING_LEFT,
    },
    Survivor {
        kernels: "_shuffle_",
        operator: Operator::ChangeShuffle,
        change: [
            "shfl.sync.idx.b32 %r|in_range, %r, %r, %r, %r;",
            "shfl.sync.bfly.b32 %r|in_range, %r, %r, %r, %r;",
        ],
        count: 1..=2,
        reason: "In the last round only lane 0's value counts, and its partner is the same: 16, or 0 exclusive-or 16.",
    },
    Survivor {
        kernels: "min_shuffle_",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b64 %p, %rd, 0;", ALWAYS],
        count: 1..=1,
        reason: FOLDED_AGAIN,
    },
    Survivor {
        kernels: "max_shuffle_",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b64 %p, %rd, 0;", ALWAYS],
        count: 1..=1,
        reason: FOLDED_AGAIN,
    },
    Survivor {
        kernels: "dot_tree_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, 2;", NEVER],
        count: 1..=1,
        reason: ONE_THREAD,
    },
    Survivor {
        kernels: "sum_tree_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, 2;", NEVER],
        count: 1..=1,
        reason: ONE_THREAD,
    },
    Survivor {
        kernels: "min_tree_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, 2;", NEVER],
        count: 1..=1,
        reason: ONE_THREAD,
    },
    Survivor {
        kernels: "max_tree_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, 2;", NEVER],
        count: 1..=1,
        reason: ONE_THREAD,
    },
    Survivor {
        kernels: "matmul_naive_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 2..=2,
        reason: "One: a block beyond the rows runs the body once, whose accesses have guards of their own. The other: nothing is left of an empty range.",
    },
    Survivor {
        kernels: "matmul_naive_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "matmul_naive_",
        operator: Operator::WidenLoop,
        change: ["setp.ge.u64 %p, %rd, %rd;", "setp.gt.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "matmul_naive_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "matmul_tiled_",
        operator: Operator::WidenLoop,
        change: ["setp.ge.u64 %p, %rd, %rd;", "setp.gt.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "matmul_register_tile_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, 0;", NEVER],
        count: 1..=1,
        reason: "Without an inner extent the loop adds one tile of zeros.",
    },
    Survivor {
        kernels: "matmul_register_tile_",
        operator: Operator::WidenLoop,
        change: ["setp.ge.u64 %p, %rd, %rd;", "setp.gt.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "matmul_tiled_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "matmul_tiled_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "matmul_tiled_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, 0;", NEVER],
        count: 1..=1,
        reason: "Without an inner extent the loop adds one tile of zeros.",
    },
    Survivor {
        kernels: "matmul_tiled_raw_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 3..=3,
        reason: "One round more lies beyond the work; every access in there has a guard of its own, and the barriers are for all threads. A tile beyond the inner extent is all zeros.",
    },
    Survivor {
        kernels: "reverse_direct_",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: "The launch refuses arrays of two lengths.",
    },
    Survivor {
        kernels: "reverse_dynamic_",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: A_SLOT_EACH,
    },
    Survivor {
        kernels: "reverse_dynamic_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: "A tile that the loop gives begins inside the output.",
    },
    Survivor {
        kernels: "transpose_naive_",
        operator: Operator::WidenLoop,
        change: ["setp.ge.u64 %p, %rd, %rd;", "setp.gt.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "transpose_padded_",
        operator: Operator::WidenLoop,
        change: ["setp.ge.u64 %p, %rd, %rd;", "setp.gt.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "transpose_tiled_",
        operator: Operator::WidenLoop,
        change: ["setp.ge.u64 %p, %rd, %rd;", "setp.gt.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "transpose_padded_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "transpose_padded_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "transpose_padded_raw_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 2..=2,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "reverse_dynamic_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "reverse_dynamic_raw_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "reverse_static_raw_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "reverse_static_raw_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "_single_",
        operator: Operator::DeleteBarrier,
        change: ["bar.warp.sync -1;", ""],
        count: 1..=1,
        reason: "Partial results are written and read by atomics, so that no ticket makes a race of them; the barrier orders them, as the emulator does without it.",
    },
    Survivor {
        kernels: "_single_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u32 %p, %r, %r;", ALWAYS],
        count: 1..=1,
        reason: "Partial results that are not folded four at a time are folded one by one.",
    },
    Survivor {
        kernels: "_single_",
        operator: Operator::DropPredicate,
        change: ["setp.lt.u32 %p, %r, %r;", NEVER],
        count: 1..=1,
        reason: "Partial results that are not folded four at a time are folded one by one.",
    },
    Survivor {
        kernels: "_axis_",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: BEYOND,
    },
    Survivor {
        kernels: "_axis_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, 0;", NEVER],
        count: 1..=1,
        reason: "Without columns there is no output.",
    },
    Survivor {
        kernels: "_axis_",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b64 %p, %rd, 0;", ALWAYS],
        count: 1..=2,
        reason: "The compiler divides small numbers by 32 bits; both ways give the place. Of minima and maxima also: the last element folded once more changes none.",
    },
    Survivor {
        kernels: "_axis_",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b64 %p, %rd, 0;", NEVER],
        count: 1..=1,
        reason: "The compiler divides small numbers by 32 bits; both ways give the place.",
    },
    Survivor {
        kernels: "_axis_",
        operator: Operator::DropPredicate,
        change: ["setp.le.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: EMPTY_RANGE,
    },
    Survivor {
        kernels: "_axis_",
        operator: Operator::DropPredicate,
        change: ["setp.eq.b64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: NOTHING_LEFT,
    },
    Survivor {
        kernels: "_axis_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u64 %p, %rd, %rd;", "setp.le.u64 %p, %rd, %rd;"],
        count: 1..=1,
        reason: ONE_ROUND_MORE,
    },
    Survivor {
        kernels: "peak_fma_f32",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b32 %p, %r, 1;", ALWAYS],
        count: 1..=1,
        reason: "A launch of one dimension has a shorter way to a thread's number; both give it.",
    },
    Survivor {
        kernels: "peak_fma_f32",
        operator: Operator::DropPredicate,
        change: ["setp.ne.b32 %p, %r, 1;", NEVER],
        count: 1..=1,
        reason: "A launch of one dimension has a shorter way to a thread's number; both give it.",
    },
    Survivor {
        kernels: "peak_fma_f32",
        operator: Operator::DropPredicate,
        change: ["setp.ge.u64 %p, %rd, %rd;", NEVER],
        count: 1..=1,
        reason: "The launch gives each thread an element.",
    },
    Survivor {
        kernels: "_single_",
        operator: Operator::WidenLoop,
        change: ["setp.lt.u32 %p, %r, %r;", "setp.le.u32 %p, %r, %r;"],
        count: 0..=1,
        reason: "A lane reads beyond the partial results only where its fourth one would be the first that is not there.",
    },
];

impl Survivor {
    /// Whether it speaks of this kernel.
    fn is_of(&self, kernel: &str) -> bool {
        const RAW: &str = "_raw";
        kernel.contains(self.kernels) && kernel.contains(RAW) == self.kernels.contains(RAW)
    }

    /// Whether it explains this mutant.
    pub fn explains(&self, trial: &Trial) -> bool {
        let mutant = &trial.mutant;
        self.is_of(&mutant.kernel)
            && mutant.operator == self.operator
            && [&mutant.before, &mutant.after].map(|text| without_numbers(text)) == self.change
    }
}

/// The survivors that no entry explains, and what is wrong with the entries: each must explain exactly as many as it says.
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

/// `%rd12` and `%rd7` as `%rd`, so that an entry holds when the compiler numbers registers otherwise. White space as one
/// space.
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
