//! Transpose in tiles that span the whole short side of a matrix.
//!
//! Change from [`aligned`](super::aligned): on one side of the transpose a tile is one contiguous
//! run of memory. A matrix of 100 rows has 1.6 tiles of 64 rows, and its columns are runs of 400
//! bytes; here 80 of them form one run of 32 KB. Short sides above [`SHORT`] are cut into pieces of
//! that length.
//!
//! - Slot (s, l) of the tile holds the element with index s along the short side and l along the
//!   long one. Its rows are an odd number of slots apart, so both directions are free of bank
//!   conflicts.
//! - With fewer rows than columns, neighbouring threads load neighbours in a row (coalesced,
//!   [`width`] of them) and store neighbours in the run. Otherwise they load neighbours in the run
//!   and store neighbours in an output row. Either way `IN_FLIGHT` elements are in flight.
//! - One row, or one column, is copied without a tile.
//! - The first barrier orders every thread's loads of a tile before any thread's reads of it, the
//!   second these reads before the next tile's loads.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use crate::number::Word;

/// The most elements of a tile along the short side.
pub const SHORT: u32 = 128;
/// Threads of a block.
pub const THREADS: u32 = 256;
/// Elements whose loads a thread has in flight before its first store.
const IN_FLIGHT: usize = 8;
/// The same of a copy.
const COPIED: usize = 4;
/// Elements of `u32` in 32 bytes: widths are multiples of it.
const SECTOR: u32 = 8;

/// Slots of a tile for elements of type `T`: 33 KB, so that six blocks fit a multiprocessor.
pub const fn slots<T>() -> u32 {
    SHORT * (256 / size_of::<T>() as u32 + 1)
}

/// Elements of a tile along the long side, if it has `high` along the short one.
#[inline(always)]
pub const fn width<T>(high: u32) -> u32 {
    let high = if high == 0 { 1 } else { high };
    (slots::<T>() / high - 1) / SECTOR * SECTOR
}

/// output\[col, row\] = input\[row, col\].
///
/// # Parameters
/// - `input`: `rows · cols` elements, row-major. `output`: `cols · rows` elements, row-major.
///
/// # Launch
/// One-dimensional blocks of [`THREADS`]; x runs over the long side in tiles of [`width`], y over
/// the short one in tiles of [`SHORT`]. The grid strides over both. Of one row or column, a block
/// has any number of elements.
#[kernel(
    instances(u32, u64),
    max_threads = 256,
    min_blocks = 5,
    require(
        rows.checked_mul(cols) == Some(input.len()),
        output.len() == input.len(),
        [block.x, block.y, block.z, grid.z] == [THREADS, 1, 1, 1]
    )
)]
pub fn transpose_thin<T: Word>(input: &[T], mut output: Out<T>, rows: usize, cols: usize) {
    let tile = shared_array![T; slots::<T>() as usize];
    let (from, to) = (input.as_ptr(), output.as_mut_ptr());
    let few_rows = rows <= cols;
    let (short, long) = if few_rows { (rows, cols) } else { (cols, rows) };

    let mut top = thread::block_idx_y() as usize * SHORT as usize;
    while top < short {
        if short == 1 {
            // SAFETY: `require` states the lengths.
            unsafe { copy(from, to, long) };
            return;
        }
        let high = (short - top).min(SHORT as usize) as u32;
        let most = width::<T>(high);
        let mut left = thread::block_idx_x() as usize * most as usize;
        while left < long {
            let wide = (long - left).min(most as usize) as u32;
            let pitch = wide | 1;
            let along_rows = Walk {
                extents: [wide, high],
                first: top * long + left,
                pitch: long,
                slots: [1, pitch],
            };
            let along_run = Walk {
                extents: [high, wide],
                first: left * short + top,
                pitch: short,
                slots: [pitch, 1],
            };
            // `require` states the matrices' sizes. The positions of a walk are inside them and its
            // slots inside the tile; each has one thread on each side of the barrier.
            // SAFETY: the position is inside the input, which is not written.
            let load = |place: usize, _| unsafe { from.add(place).read() };
            // SAFETY: the slot is inside the tile, and only this thread uses it until the barrier.
            let fill = |_, slot: u32, element| unsafe { tile.add(slot as usize).write(element) };
            // SAFETY: the slot is inside the tile, and was written before the barrier.
            let read = |_, slot: u32| unsafe { tile.add(slot as usize).read() };
            // SAFETY: the position is inside the output, and only this thread writes it.
            let store = |place: usize, _, element| unsafe { to.add(place).write(element) };
            let (mut loads, mut stores) = (along_run, along_rows);
            if few_rows {
                (loads, stores) = (along_rows, along_run);
            }
            loads.each(load, fill);
            // Orders every thread's loads of the tile before any thread's reads of it.
            thread::sync_threads();
            stores.each(read, store);
            left += thread::grid_dim_x() as usize * most as usize;
            // Orders every thread's reads of this tile before any thread's loads of the next one.
            thread::sync_threads();
        }
        top += thread::grid_dim_y() as usize * SHORT as usize;
    }
}

/// Copies a run of memory, a grid's threads at a time.
///
/// # Safety
/// Both have this length. All threads of the blocks of a row of the grid call it, and nothing else
/// uses the output.
#[inline(always)]
unsafe fn copy<T: Word>(from: *const T, to: *mut T, len: usize) {
    let step = thread::grid_dim_x() as usize * THREADS as usize;
    let mut first = thread::block_idx_x() as usize * THREADS as usize;
    first += thread::thread_idx_x() as usize;
    while first < len {
        let mut moved = [T::default(); COPIED];
        // SAFETY: each place is inside both, and only this thread has it.
        unsafe {
            unrolled::<COPIED>(|i| {
                if first + i * step < len {
                    moved[i] = from.add(first + i * step).read();
                }
            });
            unrolled::<COPIED>(|i| {
                if first + i * step < len {
                    to.add(first + i * step).write(moved[i]);
                }
            });
        }
        first += COPIED * step;
    }
}

/// The order in which a block goes through the elements of a tile.
#[derive(Clone, Copy)]
struct Walk {
    /// Elements per row of the matrix, and rows.
    extents: [u32; 2],
    /// Where the first element is in the matrix, and the distance between rows.
    first: usize,
    pitch: usize,
    /// Slots between neighbouring elements, and between rows.
    slots: [u32; 2],
}

impl Walk {
    /// Moves this thread's elements, a group at a time. Both closures get an element's position in
    /// the matrix and its slot.
    #[inline(always)]
    fn each<T: Word>(self, load: impl Fn(usize, u32) -> T, store: impl Fn(usize, u32, T)) {
        let [len, rows] = self.extents;
        // In 32 bits: a 64-bit division takes 100 instructions.
        let len = len.max(1);
        let (over, down) = (THREADS % len, THREADS / len);
        let t = thread::thread_idx_x();
        let (mut col, mut row) = (t % len, t / len);
        while row < rows {
            let mut at = [(0, 0); IN_FLIGHT];
            let mut moved = [T::default(); IN_FLIGHT];
            let mut count = 0;
            unrolled::<IN_FLIGHT>(|i| {
                let place = self.first + row as usize * self.pitch + col as usize;
                at[i] = (place, col * self.slots[0] + row * self.slots[1]);
                if row < rows {
                    moved[i] = load(place, at[i].1);
                    count = i + 1;
                }
                (col, row) = (col + over, row + down);
                if col >= len {
                    (col, row) = (col - len, row + 1);
                }
            });
            unrolled::<IN_FLIGHT>(|i| {
                if i < count {
                    store(at[i].0, at[i].1, moved[i]);
                }
            });
        }
    }
}
