//! Products of doubles that have few small tiles, on tensor cores, without stages in shared memory.
//!
//! Change from [`mma`](super::mma): its smallest tile leaves most of a device idle where C is
//! small, and its stages fill before the first multiplication. Here tiles have 8 to 32 rows and
//! columns, the warps of a block divide the inner extent, and the elements go straight to the
//! registers that the instruction reads.
//!
//! - `mma.sync` takes 8 × 4 elements of A and 4 × 8 of B: lane 4g + t has A\[g, t\], B\[t, g\], and
//!   C\[g, 2t\], C\[g, 2t + 1\]. A warp reads 32 bytes of eight rows of A, and 64 of four rows of
//!   B: whole sectors where rows are aligned. Nothing else depends on alignment.
//! - A team of 1 to [`WARPS`] warps has a tile. Of the steps of four elements of the inner extent,
//!   warp w takes number w, w + team, …, a few of them in flight.
//! - For rows and columns beyond the matrix the last ones are read; their sums are not stored.
//!   Beyond the inner extent both operands are zero.
//! - Each warp writes its sums to shared memory, one 8 × 8 block after another: neighbouring lanes
//!   have neighbouring pairs. Each output has one thread, which adds them in the order of the
//!   team's warps.
//!   [Tickets](super::ticket) add the slices.
//! - The barrier after the writes orders them before those reads; the barrier after the reads
//!   orders them before the writes of the next tile.
//! - Global reads per element of C: inner/columns of A and inner/rows of B, for a tile's extents.

use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;
use cuda_std::unroll::unrolled;

use super::asm::{self, load_if};
use super::ticket::{Slices, in_flight};
use crate::here::{global_here, thread_here};
use crate::pack::Pack;

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Warps of a block.
pub const WARPS: usize = THREADS as usize / WARP;

/// The largest extent, and the most tiles: with room to spare, so that 32 bits can count them.
pub const MOST: usize = 1 << 30;

const WARP: usize = 32;
/// Rows and columns of C that a multiplication computes.
const ROWS: usize = 16;
const COLS: usize = 8;
/// Elements of the inner extent of a step: one multiplication.
pub const DEPTH: usize = 8;
/// Sums of a multiplication.
const SUMS: usize = ROWS * COLS;
/// Steps that a warp has in flight.
pub const AT_ONCE: usize = 2;

/// The tile of C that a team computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectTiles {
    /// 16 × 8: the most blocks.
    Small,
    /// 16 × 16.
    Square,
    /// 16 × 32: the fewest reads.
    Wide,
    /// 32 × 8, for few columns.
    Narrow,
}

impl DirectTiles {
    /// Every instance.
    pub const ALL: [Self; 4] = [Self::Small, Self::Square, Self::Wide, Self::Narrow];

    /// Rows and columns of a tile.
    pub const fn sides(self) -> [usize; 2] {
        match self {
            Self::Small => [16, 8],
            Self::Square => [16, 16],
            Self::Wide => [16, 32],
            Self::Narrow => [32, 8],
        }
    }

    /// Tiles of a product's C; at most `usize::MAX`.
    pub const fn count(self, rows: usize, cols: usize) -> usize {
        let [high, wide] = self.sides();
        rows.div_ceil(high).saturating_mul(cols.div_ceil(wide))
    }

    /// Bytes of dynamic shared memory.
    pub const fn shared_bytes(self) -> usize {
        let [high, wide] = self.sides();
        WARPS * high * wide * size_of::<f64>()
    }

    /// Outputs of a thread where a team is a whole block.
    const fn own(self) -> usize {
        let [high, wide] = self.sides();
        (high * wide).div_ceil(THREADS as usize)
    }
}

/// An instance of [`direct`](self).
pub trait Instance {
    /// A team's tile.
    const TILES: DirectTiles;
}

macro_rules! instances {
    ($($Tiles:ident)*) => {$(
        #[doc = concat!("[`DirectTiles::", stringify!($Tiles), "`].")]
        pub struct $Tiles;

        impl Instance for $Tiles {
            const TILES: DirectTiles = DirectTiles::$Tiles;
        }
    )*};
}
instances!(Small Square Wide Narrow);

/// Whether a block divides into teams of `team` warps. With several slices a team is the whole
/// block.
pub const fn divides(team: usize, slices: usize) -> bool {
    team.is_power_of_two() && team <= WARPS && (slices == 1 || team == WARPS)
}

/// Whether a tile's number fits 32 bits in a grid of `blocks`, also one stride beyond the last.
pub const fn counted(blocks: u32, team: usize) -> bool {
    let team = if team == 0 { 1 } else { team };
    blocks as usize * (WARPS / team) <= 1 << 31
}

/// C = A·B of each product of a batch.
///
/// # Parameters
/// - `a`: A, `rows · inner` elements, `of_a` times: 1, if all products share it, or `batch`. `b`,
///   `c`: B and C, `inner · cols` and `rows · cols` elements, `batch` times.
/// - `sums`: `slices` times the elements of `c`, `tickets`: one for each tile of each product, 0
///   before and after; both are empty with one slice.
/// - `team`: warps that share a tile, a power of two; all of a block where there are several
///   slices.
///
/// # Launch
/// Blocks of [`THREADS`] threads along x with the shared memory of the instance's [`DirectTiles`].
/// The grid strides over the tiles of all products along x and over slices along z.
#[kernel(
    instances(Small, Square, Wide, Narrow),
    name = "matmul_direct_{S}_f64",
    max_threads = 256,
    min_blocks = 2,
    require(
        of_a == 1 || of_a == batch,
        super::slices::elements(rows, inner, of_a) == Some(a.len()),
        super::slices::elements(inner, cols, batch) == Some(b.len()),
        super::slices::elements(rows, cols, batch) == Some(c.len()),
        rows <= MOST && inner <= MOST && cols <= MOST,
        <S as Instance>::TILES.count(rows, cols).saturating_mul(batch) <= MOST,
        divides(team, slices),
        counted(grid.x, team),
        super::ticket::fit(
            [rows.saturating_mul(cols), batch],
            slices,
            <S as Instance>::TILES.count(rows, cols).saturating_mul(batch),
            sums.len(),
            tickets.len()
        ),
        [block.x, block.y, block.z, grid.y] == [THREADS, 1, 1, 1],
        shared_bytes as usize >= <S as Instance>::TILES.shared_bytes()
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "three matrices, three extents, the slices with their memory, the batch, the teams"
)]
pub fn matmul_direct<S: Instance>(
    a: &[f64],
    b: &[f64],
    mut c: Out<f64>,
    mut sums: Out<f64>,
    mut tickets: Atomics<u32>,
    rows: usize,
    inner: usize,
    cols: usize,
    slices: usize,
    of_a: usize,
    batch: usize,
    team: usize,
) {
    const TILES: DirectTiles = <S as Instance>::TILES;
    let of = Direct {
        a: a.as_ptr(),
        b: b.as_ptr(),
        to: Slices {
            c: c.as_mut_ptr(),
            sums: sums.as_mut_ptr(),
            tickets: tickets.as_mut_ptr(),
            outputs: rows * cols * batch,
            slices,
        },
        extents: [rows as u32, inner as u32, cols as u32],
        slices: slices as u32,
        shares_a: of_a == 1,
        batch: batch as u32,
        team: team as u32,
    };
    // SAFETY: `require` states all of it.
    unsafe {
        of.tiles::<{ TILES.sides()[0] / ROWS }, { TILES.sides()[1] / COLS }, { TILES.own() }>()
    }
}

/// A batch of products.
struct Direct {
    a: *const f64,
    b: *const f64,
    to: Slices<f64>,
    extents: [u32; 3],
    slices: u32,
    shares_a: bool,
    batch: u32,
    team: u32,
}

impl Direct {
    /// Computes the block's tiles of HIGH × WIDE multiplications, OWN outputs of a thread at a
    /// time.
    ///
    /// # Safety
    /// The operands have the lengths that the kernel requires. All threads of the launch call it,
    /// with the kernel's shape and the shared memory of such tiles.
    #[inline(always)]
    unsafe fn tiles<const HIGH: usize, const WIDE: usize, const OWN: usize>(&self) {
        let all_of_warp = HIGH * WIDE * SUMS;
        let slots = cuda_std::shared::dynamic_shared_mem::<f64>();
        let last = shared_array![u32; 1];
        let [rows, inner, cols] = self.extents;
        let high = rows.div_ceil((HIGH * ROWS) as u32);
        let across = cols.div_ceil((WIDE * COLS) as u32);
        let all = high * across * self.batch;
        let t = thread::thread_idx_x();
        // SAFETY: all lanes of a warp have the same quotient.
        let warp = unsafe { assume_warp_uniform(t / WARP as u32) };
        // Powers of two, so dividing by them is a shift.
        let shift = self.team.trailing_zeros();
        let (of_block, member) = (warp >> shift, warp & (self.team - 1));
        let stride = self.team as usize * WARP;
        let slots_of_team = slots.wrapping_add((of_block << shift) as usize * all_of_warp);
        let mut number = thread::block_idx_z();
        while number < self.slices {
            let mut first = thread::block_idx_x() << (WARPS.trailing_zeros() - shift);
            while first < all {
                let group = first + of_block;
                // There is an output where these divide, so nothing here is 0; `max` tells the
                // compiler.
                let (product, tile) = match self.batch {
                    1 => (0, group),
                    _ => (
                        group / (high * across).max(1),
                        group % (high * across).max(1),
                    ),
                };
                let top = tile / across.max(1) * (HIGH * ROWS) as u32;
                let left = tile % across.max(1) * (WIDE * COLS) as u32;
                let exists = group < all;
                if exists {
                    let slots = slots_of_team.wrapping_add(member as usize * all_of_warp);
                    let (begin, len) = self.to.slice(inner as usize, number as usize);
                    let slice = (begin as u32, len as u32);
                    // SAFETY: there is such a tile, and its team's warps each have their slots.
                    unsafe {
                        self.part::<HIGH, WIDE>([product, top, left], slice, member, slots);
                    }
                }
                // Orders all warps' sums before the reads of them.
                thread::sync_threads();
                let first_out = thread_here() as usize & (stride - 1);
                // The place in C of a number in the slots.
                let place = |out: usize| {
                    let (block, inside) = ((out / SUMS) as u32, (out % SUMS) as u32);
                    let row = top + block / WIDE as u32 * ROWS as u32 + inside / COLS as u32;
                    let col = left + block % WIDE as u32 * COLS as u32 + inside % COLS as u32;
                    let exists = exists && out < all_of_warp && row < rows && col < cols;
                    let above = product as usize * rows as usize + row as usize;
                    exists.then(|| above * cols as usize + col as usize)
                };
                let mut out = first_out;
                while out < all_of_warp {
                    let mut own = [0.0; OWN];
                    let mut from = slots_of_team.wrapping_add(out).cast_const();
                    in_flight::<[f64; OWN], WARPS>(
                        self.team as usize,
                        |inside| {
                            let mut loaded = [0.0; OWN];
                            if inside {
                                unrolled::<OWN>(|i| {
                                    // SAFETY: a warp's sum.
                                    loaded[i] = unsafe { from.wrapping_add(i * stride).read() };
                                });
                            }
                            from = from.wrapping_add(all_of_warp);
                            loaded
                        },
                        |inside, loaded| {
                            unrolled::<OWN>(|i| {
                                own[i] = if inside { own[i] + loaded[i] } else { own[i] };
                            });
                        },
                    );
                    unrolled::<OWN>(|i| {
                        if let Some(at) = place(out + i * stride) {
                            // SAFETY: an output of this thread.
                            unsafe { self.to.store(number as usize, at, own[i]) };
                        }
                    });
                    out += OWN * stride;
                }
                // SAFETY: all threads are here; a block has one tile where there are several
                // slices.
                unsafe {
                    if self.slices > 1 && self.to.is_last(group as usize, thread_here() == 0, last)
                    {
                        self.to.add::<OWN>(|i| place(first_out + i * stride));
                    }
                }
                // Orders all reads before the next tile's sums.
                thread::sync_threads();
                first += thread::grid_dim_x() << (WARPS.trailing_zeros() - shift);
            }
            number += thread::grid_dim_z();
        }
    }

    /// Computes the sums of warp `warp` of its team, over the slice of `len` elements from `begin`
    /// on, and writes them to the warp's slots.
    ///
    /// # Safety
    /// There is such a tile, and no other warp has these slots. All lanes of the warp call it.
    #[inline(always)]
    unsafe fn part<const HIGH: usize, const WIDE: usize>(
        &self,
        [product, top, left]: [u32; 3],
        (begin, len): (u32, u32),
        warp: u32,
        slots: *mut f64,
    ) {
        let [rows, inner, cols] = self.extents;
        let lane = thread_here() % WARP as u32;
        let (g, t) = (lane / 4, lane % 4);
        let own = DEPTH as u32 * warp + t;
        let of_a = if self.shares_a { 0 } else { product };
        let k = (begin + own) as usize;
        let a = self.a.wrapping_add(k);
        let above = product as usize * inner as usize + k;
        let b = self.b.wrapping_add(above * cols as usize);
        let mut of_rows: [[*const f64; 2]; HIGH] = core::array::from_fn(|i| {
            [0, 1].map(|half| {
                let row = top + (i * ROWS + half * ROWS / 2) as u32 + g;
                let above = of_a as usize * rows as usize + row.min(rows - 1) as usize;
                a.wrapping_add(above * inner as usize)
            })
        });
        let mut of_cols: [*const f64; WIDE] = core::array::from_fn(|j| {
            let col = left + (j * COLS) as u32 + g;
            b.wrapping_add(col.min(cols - 1) as usize)
        });
        // Elements from this warp's next step to the end, and from this lane's next one.
        let mut of_warp = len as i32 - (DEPTH as u32 * warp) as i32;
        let mut of_lane = of_warp - t as i32;
        let step = (DEPTH as u32 * self.team) as usize;
        let mut sums = [[[0.0; 4]; WIDE]; HIGH];
        while of_warp > 0 {
            let (mut a, mut b) = ([[[0.0; 4]; HIGH]; AT_ONCE], [[[0.0; 2]; WIDE]; AT_ONCE]);
            unrolled::<AT_ONCE>(|at| {
                unrolled::<2>(|k| {
                    let inside = of_lane > (k * DEPTH / 2) as i32;
                    unrolled::<HIGH>(|i| {
                        unrolled::<2>(|half| {
                            let from = of_rows[i][half].wrapping_add(k * DEPTH / 2);
                            // SAFETY: an element of a row of A.
                            [a[at][i][2 * k + half]] = unsafe { load_if(from, inside) };
                        });
                    });
                    unrolled::<WIDE>(|j| {
                        // SAFETY: an element of a column of B.
                        [b[at][j][k]] = unsafe { load_if(of_cols[j], inside) };
                        let next = if k == 0 { DEPTH / 2 } else { step - DEPTH / 2 };
                        of_cols[j] = global_here(of_cols[j].wrapping_add(next * cols as usize));
                    });
                });
                unrolled::<HIGH>(|i| {
                    unrolled::<2>(|half| {
                        let row = &mut of_rows[i][half];
                        *row = global_here(row.wrapping_add(step));
                    });
                });
                of_lane -= step as i32;
            });
            unrolled::<AT_ONCE>(|at| {
                unrolled::<WIDE>(|j| {
                    unrolled::<HIGH>(|i| {
                        // SAFETY: whole warps are here.
                        unsafe { asm::multiply_add(a[at][i], b[at][j], &mut sums[i][j]) };
                    });
                });
            });
            of_warp -= (AT_ONCE * step) as i32;
        }
        unrolled::<HIGH>(|i| {
            unrolled::<WIDE>(|j| {
                unrolled::<2>(|half| {
                    let pair = (i * WIDE + j) * SUMS + half * SUMS / 2 + 2 * lane as usize;
                    let to = slots.wrapping_add(pair).cast::<Pack<f64, 2>>();
                    let [x, y] = [sums[i][j][2 * half], sums[i][j][2 * half + 1]];
                    // SAFETY: the warp's slots, which are aligned to 16 bytes.
                    unsafe { to.write(Pack([x, y])) };
                });
            });
        });
    }
}
