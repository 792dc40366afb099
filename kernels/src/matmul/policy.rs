//! What the tuned kernels leave open: tile shapes and stages, as plain data for kernels, launcher and tests.

/// Elements of 16 bytes, the most that a thread moves at once.
pub const VECTOR: usize = 4;

/// Elements of C from which on the tuned kernels are faster than [`tiled`](super::tiled), whose smaller tiles keep more
/// multiprocessors busy; and rows, or columns, of C below which they are not, for most of a tile of theirs would be empty.
///
/// Measured on an H200 (driver 580), medians of 30, in microseconds with the launch:
///
/// | product | tiled | pipelined |
/// | --- | --- | --- |
/// | 256³ | 12 | 35 |
/// | 512³ | 41 | 59 |
/// | 1024³ | 278 | 107 |
/// | 64 × 4096 × 4096 | 315 | 391 |
/// | 4096 × 4096 × 64 | 335 | 481 |
/// | 4096 × 4096 × 32 | 214 | 537 |
pub const TUNED_FROM: usize = 512 * 1024;
/// See [`TUNED_FROM`].
pub const TUNED_SIDE: usize = 96;

/// How a block of the tuned kernels divides its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Rows of C that a block computes.
    pub rows: usize,
    /// Columns of C that a block computes.
    pub cols: usize,
    /// Elements of the inner extent in a stage.
    pub inner: usize,
    /// Stages in shared memory: one is computed with while the others arrive.
    pub stages: usize,
    /// Rows of C that a warp computes.
    pub warp_rows: usize,
    /// Columns of C that a warp computes.
    pub warp_cols: usize,
    /// Rows of tiles that neighbouring blocks walk through column by column, so that the blocks of a moment share operands in
    /// the L2 cache.
    pub group: usize,
}

/// Tiles of [`pipelined`](super::pipelined), which has an instance for each. `blockwise tune` compares them on the device at hand.
///
/// Share of cuBLAS SGEMM's speed on an H200 (driver 580, 2026-11-21):
///
/// | | 2048³ | 4096³ | 8192³ |
/// | --- | --- | --- | --- |
/// | **[`Wide`](Self::Wide)**, the launcher's choice | 0.88 | 0.92 | 0.87 to 0.94 |
/// | a prototype with the policy of [`Tall`](Self::Tall), whose source is lost | 0.931 | 0.957 | 0.988 |
///
/// The instance in this tree was not timed yet: `ptxas` gives it 168 registers, so that an H200 has 12 warps on a multiprocessor at once, not
/// 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiles {
    /// 128 × 128: the fewest reads of shared memory.
    Wide,
    /// 128 × 64, and half as many elements a thread: more threads at once.
    Tall,
}

impl Tiles {
    /// Every instance.
    pub const ALL: [Self; 2] = [Self::Wide, Self::Tall];

    /// How a block divides its work.
    pub const fn policy(self) -> Policy {
        match self {
            Self::Wide => Policy {
                rows: 128,
                cols: 128,
                inner: 8,
                stages: 4,
                warp_rows: 64,
                warp_cols: 64,
                group: 8,
            },
            Self::Tall => Policy {
                rows: 128,
                cols: 64,
                inner: 16,
                stages: 3,
                warp_rows: 64,
                warp_cols: 32,
                group: 8,
            },
        }
    }

    /// What the kernels' names have behind `pipelined`.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Wide => "",
            Self::Tall => "_tall",
        }
    }
}

impl Policy {
    /// Threads of a block.
    pub const fn threads(&self) -> usize {
        32 * (self.rows / self.warp_rows) * (self.cols / self.warp_cols)
    }

    /// Words from one element of the inner extent to the next in A's tile, which is stored transposed: four more than it has rows, so
    /// that neighbouring elements, which neighbouring threads store, begin in different banks.
    pub const fn stride_a(&self) -> usize {
        self.rows + VECTOR
    }

    /// Words of A's tile.
    pub const fn words_a(&self) -> usize {
        self.inner * self.stride_a()
    }

    /// Words of a stage: A's tile, then B's.
    pub const fn words(&self) -> usize {
        self.words_a() + self.inner * self.cols
    }

    /// Bytes of dynamic shared memory.
    pub const fn shared_bytes(&self) -> usize {
        4 * self.stages * self.words()
    }

    /// The first row and column of tile number `tile` of a rows × cols matrix; `None` behind the last.
    #[inline(always)]
    pub fn tile(&self, tile: usize, rows: usize, cols: usize) -> Option<(usize, usize)> {
        let (high, wide) = (rows.div_ceil(self.rows), cols.div_ceil(self.cols));
        if tile >= high * wide {
            return None;
        }
        // There is a tile, so nothing here is 0; `max` says so to the compiler.
        let in_group = (self.group * wide).max(1);
        let first = tile / in_group * self.group;
        let height = self.group.min(high - first).max(1);
        let inside = tile % in_group;
        Some((
            (first + inside % height) * self.rows,
            inside / height * self.cols,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::Policy;

    #[test]
    fn every_tile_comes_once_and_neighbours_share_rows_of_tiles() {
        let policy = Policy {
            rows: 10,
            cols: 20,
            inner: 8,
            stages: 3,
            warp_rows: 10,
            warp_cols: 20,
            group: 4,
        };
        for (rows, cols) in [(1, 1), (40, 60), (95, 61), (130, 19)] {
            let mut tiles: Vec<_> = (0..)
                .map_while(|tile| policy.tile(tile, rows, cols))
                .collect();
            let in_first_group = tiles.iter().take(4).all(|&(top, _)| top < 40);
            assert!(in_first_group, "{tiles:?}");
            tiles.sort_unstable();
            let all = (0..rows)
                .step_by(10)
                .flat_map(|top| (0..cols).step_by(20).map(move |left| (top, left)));
            assert_eq!(tiles, all.collect::<Vec<_>>());
        }
        assert_eq!(policy.tile(0, 0, 5), None);
    }
}
