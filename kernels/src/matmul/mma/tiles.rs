//! The tiles of [`mma`](super), as plain data for the kernel, the launcher and tests.

use super::super::policy::Policy;
use crate::pack::lanes;

/// Elements in 16 bytes.
pub const PAIR: usize = lanes::<f64>();
/// Elements of the inner extent in a stage.
pub(super) const INNER: usize = 16;

pub(super) const BYTES: u32 = size_of::<f64>() as u32;
/// Bytes of a row of A's tile, and of half a row.
pub(super) const ROW_BYTES: u32 = INNER as u32 * BYTES;
pub(super) const HALF_BYTES: u32 = ROW_BYTES / 2;

/// Stages of a block that has a multiprocessor to itself.
const ALONE: usize = 6;

/// How much of C a block computes. The bits of the result do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MmaTiles {
    /// 64 × 64, three blocks per multiprocessor: the most blocks, and as many warps as the largest
    /// tile.
    Square,
    /// 128 × 64, two blocks per multiprocessor.
    Tall,
    /// 128 × 128, one block per multiprocessor: the fewest reads of global memory. Pairs only.
    Large,
    /// 32 × 32, four warps and eight stages: for products of few blocks, which wait for memory, and
    /// batches of matrices that are not larger.
    Small,
    /// 32 × 64: the same with more columns. Pairs only.
    Flat,
    /// 64 × 32: the same for tall products, of up to 32 columns more than a multiple of 64. Pairs
    /// only.
    Slim,
}

impl MmaTiles {
    /// Every instance.
    pub const ALL: [Self; 6] = [
        Self::Square,
        Self::Tall,
        Self::Large,
        Self::Small,
        Self::Flat,
        Self::Slim,
    ];

    /// These tiles, or their substitute if copies move single elements.
    pub const fn with(self, pairs: bool) -> Self {
        match self {
            Self::Large if !pairs => Self::Tall,
            Self::Flat | Self::Slim if !pairs => Self::Small,
            tiles => tiles,
        }
    }

    /// How a block divides its work, with copies of [`PAIR`]s or of single elements.
    pub const fn policy(self, pairs: bool) -> Policy {
        let (rows, cols, warp_rows, warp_cols, stages) = match self {
            Self::Square => (64, 64, 32, 32, 4),
            Self::Tall => (128, 64, 64, 32, 4),
            Self::Large => (128, 128, 32, 64, ALONE),
            Self::Small => (32, 32, 16, 16, 8),
            Self::Flat => (32, 64, 16, 32, 8),
            Self::Slim => (64, 32, 16, 32, 8),
        };
        Policy {
            rows,
            cols,
            inner: INNER,
            stages,
            warp_rows,
            warp_cols,
            vector: if pairs { PAIR } else { 1 },
            anywhere: false,
            group: GROUP as usize,
        }
    }

    /// Bytes of dynamic shared memory for slices of `len` elements of the inner extent, with copies
    /// of pairs or of single elements: for all stages, or for those that a short slice fills.
    pub const fn shared_bytes(self, pairs: bool, len: usize) -> usize {
        let policy = self.policy(pairs);
        let filled = len.div_ceil(INNER);
        let stages = if skips(&policy) && filled < policy.stages {
            filled
        } else {
            policy.stages
        };
        stages * stage_bytes(&policy) as usize
    }
}

/// An instance of [`mma`](super).
pub trait Instance {
    /// The block's tile.
    const TILES: MmaTiles;
    /// How the block divides its work.
    const POLICY: Policy;
}

macro_rules! instances {
    ($($Type:ident: $MmaTiles:ident, $pairs:literal;)*) => {$(
        #[doc = concat!("[`MmaTiles::", stringify!($MmaTiles), "`], with pairs: ", $pairs, ".")]
        pub struct $Type;

        impl Instance for $Type {
            const TILES: MmaTiles = MmaTiles::$MmaTiles;
            const POLICY: Policy = {
                let policy = Self::TILES.policy($pairs);
                // A thread's copies exchange the halves of all their rows, or of none.
                assert!(rows_at_once(&policy, policy.inner).is_multiple_of(2));
                assert!(copies_of(&policy).div_ceil(high(&policy)) <= MOST_COPIES);
                assert!((2 * wide(&policy)).div_ceil(high(&policy)) <= MOST_PIECES);
                policy
            };
        }
    )*};
}
instances! {
    Square: Square, true;
    Small: Small, true;
    Tall: Tall, true;
    Large: Large, true;
    Flat: Flat, true;
    Slim: Slim, true;
    SquareRagged: Square, false;
    SmallRagged: Small, false;
    TallRagged: Tall, false;
}

/// The pair of columns, of each eight, in which row `row` of B's tile has pair `pair`.
#[inline(always)]
pub(super) const fn exchanged(row: u32, pair: u32) -> u32 {
    pair ^ (row & (DEPTH as u32 - PAIR as u32))
}

/// Tiles of C of a whole launch: of `whole` of its rows once, of the others in each of the slices.
pub const fn items(
    policy: &Policy,
    [rows, whole]: [usize; 2],
    cols: usize,
    slices: usize,
) -> usize {
    let others = policy.tiles(rows.saturating_sub(whole), cols);
    policy
        .tiles(whole, cols)
        .saturating_add(others.saturating_mul(slices))
}

/// Rows and columns of tiles, of extents up to [`MOST`](super::MOST).
#[inline(always)]
fn sides(policy: &Policy, rows: u32, cols: u32) -> [u32; 2] {
    // Sides are powers of two, and the sum does not overflow: `div_ceil` takes two instructions more.
    let up = |extent: u32, of: usize| (extent + (of as u32 - 1)) >> of.ilog2();
    [up(rows, policy.rows), up(cols, policy.cols)]
}

/// [`Policy::tiles`] in 32 bits.
#[inline(always)]
pub(super) fn tiles_of(policy: &Policy, rows: u32, cols: u32) -> u32 {
    let [high, wide] = sides(policy, rows, cols);
    high * wide
}

/// Rows of tiles in a group.
const GROUP: u32 = 8;

/// The first row and column of tile number `tile`, `None` after the last one. There are at most
/// [`MOST`](super::MOST).
///
/// Tiles go down groups of eight rows of tiles, as in [`Policy::tile`]; fewer rows at the end are
/// groups of four, two and one, so that only the number of a group takes a division, and not the
/// first one's: what is computed before the first copy delays it.
#[inline(always)]
pub(super) fn tile_at(policy: &Policy, tile: u32, rows: u32, cols: u32) -> Option<(u32, u32)> {
    const { assert!(GROUP == 8, "halves follow") };
    let [high, wide] = sides(policy, rows, cols);
    if tile >= high * wide {
        return None;
    }
    let in_group = GROUP * wide;
    // A tile exists, so nothing here is 0; `max` tells the compiler.
    let number = match tile < in_group {
        true => 0,
        false => tile / in_group.max(1),
    };
    let (mut first, mut inside) = (number * GROUP, tile - number * in_group);
    let height = high - first;
    // The logarithm of the group's rows.
    let mut shift = GROUP.ilog2();
    if height < GROUP {
        shift = 2;
        let four = height & 4;
        if inside >= four * wide {
            (first, inside, shift) = (first + four, inside - four * wide, 1);
            let two = height & 2;
            if inside >= two * wide {
                (first, inside, shift) = (first + two, inside - two * wide, 0);
            }
        }
    }
    let (down, across) = (inside & ((1 << shift) - 1), inside >> shift);
    let (of_rows, of_cols) = (policy.rows as u32, policy.cols as u32);
    Some(((first + down) * of_rows, across * of_cols))
}

/// Bytes of A's tile in a stage, and of the stage.
pub(super) const fn a_bytes(policy: &Policy) -> u32 {
    policy.rows as u32 * ROW_BYTES
}
pub(super) const fn stage_bytes(policy: &Policy) -> u32 {
    a_bytes(policy) + (INNER * policy.cols) as u32 * BYTES
}

/// Rows of `cols` columns that the block copies concurrently.
pub(super) const fn rows_at_once(policy: &Policy, cols: usize) -> usize {
    policy.threads() / (cols / policy.vector)
}

/// Copies per thread and stage from A, and from both operands.
pub(super) const fn copies_of_a(policy: &Policy) -> usize {
    policy.rows / rows_at_once(policy, INNER)
}
pub(super) const fn copies_of(policy: &Policy) -> usize {
    copies_of_a(policy) + INNER / rows_at_once(policy, policy.cols)
}

/// Rows and columns of C that one multiplication of a warp computes, and its elements of the inner
/// extent.
pub(super) const ROWS: usize = 8;
pub(super) const COLS: usize = 16;
pub(super) const DEPTH: usize = 8;
/// Multiplications along a stage.
pub(super) const GROUPS: usize = INNER / DEPTH;

/// Steps for each barrier. Two need more stages: shared memory has them for one block alone.
pub(super) const fn every(policy: &Policy) -> u32 {
    if policy.stages == ALONE { 2 } else { 1 }
}

/// Steps from the copies of a stage to the reads of it: a step's copies overwrite only what was read
/// before the last barrier.
pub(super) const fn distance(policy: &Policy) -> u32 {
    policy.stages as u32 - every(policy)
}

/// Groups of copies that may be in flight after the wait in the middle of a step: all stages that are
/// read before the next barrier are complete.
pub(super) const fn ahead(policy: &Policy) -> u32 {
    distance(policy) - every(policy) - 1
}

/// Buffers of rows in registers, half of them loaded ahead, and the multiplication of a slot after
/// which the next ones are loaded: two or more after the last that read the buffer.
pub(super) const fn buffers(policy: &Policy) -> usize {
    if wide(policy) < 4 { 4 } else { 2 }
}
pub(super) const fn late(policy: &Policy) -> usize {
    if wide(policy) < 4 { 0 } else { 1 }
}

/// Whether loads are kept after the multiplications that precede them. 128 × 64 then takes 0.98 to
/// 1.00 of the time, 0.93 where a multiprocessor has one block; the others get slower
/// (docs/log/2026-11-27-small-doubles.md).
pub(super) const fn holds_loads(policy: &Policy) -> bool {
    policy.vector == PAIR && high(policy) > 4
}

/// Whether steps beyond the last one have no copies. In other instances these copies write zeros: a
/// condition costs 128 × 64 tiles 3.5 % of the time.
pub(super) const fn skips(policy: &Policy) -> bool {
    let most = if policy.vector == PAIR { 8 } else { 2 };
    high(policy) * wide(policy) <= most
}

/// Whether copies take their addresses from the step's first one, and are conditional without a
/// branch. The loop of 64 × 64 then has 117 instructions instead of 137 and takes 0.986 of the time,
/// 32 × 32 0.97 (H200). By it 128 × 64 would take 1.01, single elements 1.07 to 1.12.
pub(super) const fn spreads(policy: &Policy) -> bool {
    policy.vector == PAIR && skips(policy)
}

/// Slots whose copies start together: ptxas puts three dummy loads between a load from shared memory
/// and a copy. Two, if their copies are at most [`MOST_COPIES`].
pub(super) const fn together(policy: &Policy) -> usize {
    if spreads(policy) && 2 * copies_of(policy) <= MOST_COPIES * high(policy) {
        2
    } else {
        1
    }
}

/// The most copies of one thread, and the most loads of columns, in a slot of any instance.
pub(super) const MOST_COPIES: usize = 4;
pub(super) const MOST_PIECES: usize = 2;

/// Multiplications along a warp's rows and along its columns.
pub(super) const fn high(policy: &Policy) -> usize {
    policy.warp_rows / ROWS
}
pub(super) const fn wide(policy: &Policy) -> usize {
    policy.warp_cols / COLS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_comes_once_by_groups_of_rows() {
        let policy = MmaTiles::Square.policy(true);
        let places = |rows: u32, cols: u32| {
            (0..)
                .map_while(|tile| tile_at(&policy, tile, rows, cols))
                .collect::<Vec<_>>()
        };
        // No whole group, several, and one; remainders of 0 to 7 rows of tiles.
        for rows in (0..20).map(|high| 64 * high + high % 2) {
            for cols in [0, 1, 64, 333] {
                let mut found = places(rows, cols);
                let groups: Vec<_> = found.iter().map(|(top, _)| top / 512).collect();
                assert!(groups.is_sorted(), "{rows} x {cols}");
                let tops = (0..rows).step_by(64);
                let all = tops.flat_map(|top| (0..cols).step_by(64).map(move |left| (top, left)));
                found.sort_unstable();
                assert!(found.into_iter().eq(all), "{rows} x {cols}");
            }
        }
        let down: Vec<_> = places(7 * 64, 128)
            .iter()
            .map(|(top, _)| top / 64)
            .collect();
        assert_eq!(down, [0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 4, 5, 6, 6]);
    }

    #[test]
    fn tiles_of_many_columns_are_counted() {
        let policy = MmaTiles::Small.policy(true);
        let last = (1 << 25) - 1;
        assert_eq!(tile_at(&policy, last, 9, 1 << 30), Some((0, 32 * last)));
        assert_eq!(tile_at(&policy, last + 1, 9, 1 << 30), None);
    }
}
