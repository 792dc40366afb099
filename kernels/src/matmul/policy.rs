//! Tile shapes and stages of the tuned kernels, as plain data for kernels, launcher and tests.

/// Elements in 16 bytes, the most that a thread moves in one access.
pub const VECTOR: usize = 4;

/// Elements between the starts of two rows of `extent` elements in a copy by
/// [`pitched`](super::pitched): whole memory sectors.
pub const fn pitch(extent: usize) -> usize {
    extent.saturating_add(SECTOR - 1) / SECTOR * SECTOR
}
/// Elements of a sector, 32 bytes.
const SECTOR: usize = 8;

/// How a block of the tuned kernels divides its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Rows of C that a block computes.
    pub rows: usize,
    /// Columns of C that a block computes.
    pub cols: usize,
    /// Elements of the inner extent in a stage.
    pub inner: usize,
    /// Stages in shared memory: one is used while the others arrive.
    pub stages: usize,
    /// Rows of C that a warp computes.
    pub warp_rows: usize,
    /// Columns of C that a warp computes.
    pub warp_cols: usize,
    /// Elements that one copy from B moves: 1 or [`VECTOR`]. For [`VECTOR`] the columns are a
    /// multiple of it, or B's rows start [`pitch`] elements apart.
    pub vector: usize,
    /// Whether B may begin at any element; else vectors need it aligned to 16 bytes.
    pub anywhere: bool,
    /// Rows of tiles that neighbouring blocks go through column by column, so that blocks that run
    /// concurrently share operands in the L2 cache.
    pub group: usize,
}

/// Tiles of [`pipelined`](super::pipelined), and of [`sliced`](super::sliced) in one slice. `blockwise tune`
/// compares them on the device at hand.
///
/// cuBLAS SGEMM's time over theirs on an H200 (driver 580, 2026-11-21), medians of 10 to 60 in one
/// run:
///
/// | | 2048³ | 4096³ | 8192³ | 4093 × 4099 × 4111 |
/// | --- | --- | --- | --- | --- |
/// | [`Wide`](Self::Wide) | 1.01 | 1.01 | 1.01 | |
/// | [`Tall`](Self::Tall) | 0.94 | 0.97 | 1.00 | |
/// | [`Ragged`](Self::Ragged) | 0.88 | 0.91 | 0.94 | 0.93 |
/// | 128 × 256 with single elements | 0.93 | 0.96 | 0.98 | 0.76 |
/// | 128 × 128 with vectors, 128 threads | 0.95 | 0.98 | 1.00 | |
/// | 128 × 128 with single elements, 128 threads | 0.89 | 0.91 | 0.93 | 0.74 |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiles {
    /// 128 × 256, one block per multiprocessor: the fewest reads of shared memory. The columns are
    /// a multiple of [`VECTOR`].
    Wide,
    /// 128 × 64, three blocks per multiprocessor: more tiles, which fill the device better. The
    /// columns are a multiple of [`VECTOR`].
    Tall,
    /// As [`Tall`](Self::Tall), for any columns.
    Ragged,
}

impl Tiles {
    /// Every instance.
    pub const ALL: [Self; 3] = [Self::Wide, Self::Tall, Self::Ragged];

    /// How a block divides its work.
    pub const fn policy(self) -> Policy {
        match self {
            Self::Wide => Policy {
                rows: 128,
                cols: 256,
                inner: 8,
                stages: 4,
                warp_rows: 64,
                warp_cols: 64,
                vector: VECTOR,
                anywhere: false,
                group: 8,
            },
            Self::Tall => Policy {
                rows: 128,
                cols: 64,
                inner: 16,
                stages: 3,
                warp_rows: 64,
                warp_cols: 32,
                vector: VECTOR,
                anywhere: false,
                group: 8,
            },
            Self::Ragged => Policy {
                vector: 1,
                ..Self::Tall.policy()
            },
        }
    }

    /// Whether the instance can compute that many columns of C.
    pub const fn fit(self, cols: usize) -> bool {
        cols.is_multiple_of(self.policy().vector)
    }
}

impl Policy {
    /// Threads of a block.
    pub const fn threads(&self) -> usize {
        32 * (self.rows / self.warp_rows) * (self.cols / self.warp_cols)
    }

    /// Words between two elements of the inner extent in A's tile, which is stored transposed: four
    /// more than it has rows, so that neighbouring elements, stored by neighbouring threads, start
    /// in different banks.
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

    /// Number of tiles of a rows × cols matrix; at most `usize::MAX`.
    pub const fn tiles(&self, rows: usize, cols: usize) -> usize {
        rows.div_ceil(self.rows)
            .saturating_mul(cols.div_ceil(self.cols))
    }

    /// The first row and column of tile number `tile` of a rows × cols matrix; `None` after the
    /// last.
    #[inline(always)]
    pub fn tile(&self, tile: usize, rows: usize, cols: usize) -> Option<(usize, usize)> {
        let (high, wide) = (rows.div_ceil(self.rows), cols.div_ceil(self.cols));
        if tile >= high * wide {
            return None;
        }
        // A tile exists, so nothing here is 0; `max` tells the compiler.
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
            vector: 1,
            anywhere: false,
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
