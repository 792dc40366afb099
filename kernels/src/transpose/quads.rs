//! Transpose with 16-byte packs in every access to global and to shared memory.
//!
//! Change from [`padded`](super::padded) and [`thin`](super::thin): a thread loads a quad, a square
//! of as many packs below each other as a pack has elements (4 × 4 of `u32`, 2 × 2 of `u64`). It
//! transposes the quad in registers, which gives packs of the output's rows.
//!
//! - Tiles: [`Tile::Square`] has one quad per thread. [`Tile::Short`] spans the whole short side of
//!   a matrix, and along the long side as many whole 128-byte lines as 8 packs per thread allow: on
//!   that side of the transpose a tile is one contiguous run of memory.
//! - Loads: neighbouring threads load neighbouring packs of a row (coalesced).
//! - Slots: the tile is stored transposed, one pack per slot. One slot is left free after the
//!   columns of a quad, so that the packs of neighbouring quads, which eight threads write in one
//!   cycle, are an odd number of slots apart. No bank conflict within a row of quads.
//! - Stores: neighbouring threads read neighbouring slots and store neighbours of an output row.
//! - Neighbouring blocks take tiles below each other, so that blocks that run concurrently write
//!   neighbouring memory.
//! - The first barrier orders every thread's writes of a tile before any thread's reads of it, the
//!   second these reads before the next tile's writes.
//!
//! On an H200: 0.970 of the copy's bandwidth for 16384² `f32` ([`aligned`](super::aligned): 0.941),
//! 0.956 for 100 × 1,000,000 (`thin`: 0.811) (docs/log/2026-11-23-transposes.md).

use core::array::from_fn;

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::thin::SHORT;
use crate::number::Word;
use crate::pack::{BYTES, Pack, lanes};

/// Quads along each side of a square tile.
pub const SIDE: u32 = 16;
/// Threads of a block.
pub const THREADS: u32 = SIDE * SIDE;
/// Slots of a tile that spans the short side: 33 KB, so that five blocks fit a multiprocessor.
const SLOTS: u32 = 2112;
/// The most packs of such a tile that a thread moves.
const PACKS: u32 = 8;
/// Packs in 128 bytes.
const LINE: u32 = 8;

/// How a matrix is cut into tiles. Each way has an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tile {
    /// [`SIDE`] quads along both sides.
    Square,
    /// The whole short side, or [`SHORT`] elements of it.
    Short,
}

impl Tile {
    /// Every instance.
    pub const ALL: [Self; 2] = [Self::Square, Self::Short];

    /// The cut for a matrix of `rows` × `cols`.
    pub fn of(rows: usize, cols: usize) -> Self {
        match rows.min(cols) <= SHORT as usize {
            true => Self::Short,
            false => Self::Square,
        }
    }

    /// Rows and columns of a tile of a matrix of `rows` × `cols` elements of type `T`.
    pub fn extents<T>(self, rows: usize, cols: usize) -> [u32; 2] {
        let lanes = lanes::<T>() as u32;
        let quads = match self {
            Self::Square => [SIDE; 2],
            Self::Short => whole_short_side(rows, cols, lanes),
        };
        quads.map(|quads| quads * lanes)
    }

    /// Bytes of shared memory.
    pub const fn shared_bytes<T>(self) -> u32 {
        BYTES as u32
            * match self {
                Self::Square => square::<T>(),
                Self::Short => SLOTS,
            }
    }
}

/// Rows and columns of quads in a tile that spans the short side.
#[inline(always)]
fn whole_short_side(rows: usize, cols: usize, lanes: u32) -> [u32; 2] {
    let short = (rows.min(cols).min(SHORT as usize) as u32 / lanes).max(1);
    // Slots of a quad's columns, plus the free slot after them.
    let fit = SLOTS / (short * lanes + 1);
    let share = THREADS * (PACKS / lanes) / short;
    let long = fit.min(share) / LINE * LINE;
    match rows <= cols {
        true => [short, long],
        false => [long, short],
    }
}

/// Slots of a square tile.
const fn square<T>() -> u32 {
    SIDE * (SIDE * lanes::<T>() as u32 + 1)
}

/// Quads per thread in a tile that spans the short side.
const fn each<T>() -> usize {
    PACKS as usize / lanes::<T>()
}

/// output\[col, row\] = input\[row, col\], for extents that are multiples of a pack's elements.
///
/// # Parameters
/// - `input`: `rows · cols` elements, row-major. `output`: `cols · rows` elements, row-major. Both
///   are aligned to packs.
///
/// # Launch
/// One-dimensional blocks of [`THREADS`]; x runs over rows of `input`, y over columns, in tiles of
/// [`Tile::extents`]. The grid strides over both.
#[kernel(
    instances(u32, u64),
    max_threads = 256,
    min_blocks = 6,
    require(
        rows.checked_mul(cols) == Some(input.len()),
        output.len() == input.len(),
        [rows % lanes::<T>(), cols % lanes::<T>()] == [0, 0],
        input.is_aligned_to(BYTES),
        output.is_aligned_to(BYTES),
        [block.x, block.y, block.z, grid.z] == [THREADS, 1, 1, 1]
    )
)]
pub fn transpose_quads<T: Word>(input: &[T], mut output: Out<T>, rows: usize, cols: usize) {
    let tile = shared_array![Pack<T, { lanes::<T>() }>; square::<T>() as usize];
    // SAFETY: `require` states the matrices' sizes and alignment, the block and one layer of
    // blocks; the tile has enough slots.
    unsafe {
        through::<T, { lanes::<T>() }, 1, false>(
            input.as_ptr(),
            output.as_mut_ptr(),
            [rows, cols],
            [SIDE, SIDE],
            tile,
        )
    }
}

/// Like [`transpose_quads`], with [`Tile::Short`].
#[kernel(
    instances(u32, u64),
    max_threads = 256,
    min_blocks = 5,
    require(
        rows.checked_mul(cols) == Some(input.len()),
        output.len() == input.len(),
        [rows % lanes::<T>(), cols % lanes::<T>()] == [0, 0],
        input.is_aligned_to(BYTES),
        output.is_aligned_to(BYTES),
        [block.x, block.y, block.z, grid.z] == [THREADS, 1, 1, 1]
    )
)]
pub fn transpose_thin_quads<T: Word>(input: &[T], mut output: Out<T>, rows: usize, cols: usize) {
    let tile = shared_array![Pack<T, { lanes::<T>() }>; SLOTS as usize];
    let quads = whole_short_side(rows, cols, lanes::<T>() as u32);
    // SAFETY: `require` states the matrices' sizes and alignment, the block and one layer of
    // blocks; the tile has slots for the quads.
    unsafe {
        through::<T, { lanes::<T>() }, { each::<T>() }, true>(
            input.as_ptr(),
            output.as_mut_ptr(),
            [rows, cols],
            quads,
            tile,
        )
    }
}

/// # Safety
/// `from` and `to` have `rows · cols` elements each and are aligned to packs; both extents are
/// multiples of a pack's elements; only this launch uses the output. All threads of the launch call
/// it. A block has [`THREADS`] threads along x, the grid one layer. A tile has the rows and columns
/// of quads in `quads`, at most EACH per thread, and `tile` has their slots in shared memory. With
/// EXACT a tile at an edge has fewer quads; without, `quads` are constants and quads beyond the
/// edge are skipped.
#[inline(always)]
unsafe fn through<T: Word, const LANES: usize, const EACH: usize, const EXACT: bool>(
    from: *const T,
    to: *mut T,
    [rows, cols]: [usize; 2],
    quads: [u32; 2],
    tile: *mut Pack<T, LANES>,
) {
    if rows == 0 || cols == 0 {
        // With one extent 0, the other may be too large to loop over.
        return;
    }
    let lanes = LANES as u32;
    let [high, wide] = quads.map(|quads| quads as usize * LANES);
    let mut top = thread::block_idx_x() as usize * high;
    while top < rows {
        let mut left = thread::block_idx_y() as usize * wide;
        while left < cols {
            // The part of the tile inside the matrix.
            let [rows_here, cols_here] = [
                (rows - top).min(high) as u32,
                (cols - left).min(wide) as u32,
            ];
            let [down, across] = if EXACT {
                [rows_here / lanes, cols_here / lanes]
            } else {
                quads
            };
            let mut turned = [[Pack([T::default(); LANES]); LANES]; EACH];
            let mut walk = Walk::of(across);
            unrolled::<EACH>(|j| {
                let (row, col) = (walk.line * lanes, walk.place * lanes);
                if row < rows_here && (EXACT || col < cols_here) {
                    let first =
                        from.wrapping_add((top + row as usize) * cols + left + col as usize);
                    unrolled::<LANES>(|i| {
                        let pack = first.wrapping_add(i * cols).cast::<Pack<T, LANES>>();
                        // SAFETY: inside the matrix, because its extents are multiples of a quad's.
                        turned[j][i] = unsafe { pack.read() };
                    });
                }
                walk.on();
            });
            let mut walk = Walk::of(across);
            unrolled::<EACH>(|j| {
                if walk.line < down {
                    let slot = walk.place * (down * lanes + 1) + walk.line;
                    unrolled::<LANES>(|i| {
                        let pack = Pack(from_fn(|lane| turned[j][lane].0[i]));
                        // SAFETY: inside the tile; only this thread writes this slot.
                        unsafe { tile.add((slot + i as u32 * down) as usize).write(pack) };
                    });
                }
                walk.on();
            });
            // Orders every thread's writes of the tile before any thread's reads of it.
            thread::sync_threads();
            let mut walk = Walk::of(down);
            unrolled::<EACH>(|_| {
                unrolled::<LANES>(|_| {
                    let (row, col) = (walk.place * lanes, walk.line);
                    if col < cols_here && (EXACT || row < rows_here) {
                        let slot = col * down + col / lanes + walk.place;
                        // SAFETY: the slot was written before the barrier; its pack is inside the
                        // output, and only this thread writes it.
                        unsafe {
                            // By elements: LLVM would move a whole pack in two halves.
                            let pack = tile.add(slot as usize).read().0;
                            let at = (left + col as usize) * rows + top + row as usize;
                            let to = to.add(at).cast::<Pack<T, LANES>>();
                            to.write(Pack(from_fn(|lane| pack[lane])));
                        }
                    }
                    walk.on();
                });
            });
            left += thread::grid_dim_y() as usize * wide;
            // Orders every thread's reads of this tile before any thread's writes of the next one.
            thread::sync_threads();
        }
        top += thread::grid_dim_x() as usize * high;
    }
}

/// A thread's position in lines of packs or quads, which the block's threads take in turn.
#[derive(Clone, Copy)]
struct Walk {
    len: u32,
    line: u32,
    place: u32,
}

impl Walk {
    #[inline(always)]
    fn of(len: u32) -> Self {
        let thread = thread::thread_idx_x();
        let len = len.max(1);
        Self {
            len,
            line: thread / len,
            place: thread % len,
        }
    }

    /// Advances by the number of threads.
    #[inline(always)]
    fn on(&mut self) {
        self.line += THREADS / self.len;
        self.place += THREADS % self.len;
        if self.place >= self.len {
            self.place -= self.len;
            self.line += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For every short side: the slots suffice, and no thread has more quads than its share.
    fn check<T>() {
        let lanes = lanes::<T>();
        for short in (0..=SHORT as usize + lanes).step_by(lanes) {
            for (rows, cols) in [(short, 10_000), (10_000, short)] {
                let [down, across] = whole_short_side(rows, cols, lanes as u32);
                assert!(
                    across * (down * lanes as u32 + 1) <= SLOTS,
                    "{rows} x {cols}"
                );
                assert!(
                    down * across <= THREADS * each::<T>() as u32,
                    "{rows} x {cols}"
                );
                let long = if rows <= cols { across } else { down };
                assert_eq!(long * BYTES as u32 % 128, 0, "{rows} x {cols}");
            }
        }
    }

    #[test]
    fn tiles_of_every_short_side_fit() {
        check::<u32>();
        check::<u64>();
    }
}
