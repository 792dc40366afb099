//! Several short lines per thread at a time: with one line, most instructions were not loads. The
//! lines are a pack of neighbouring columns, loaded and stored 16 bytes at a time if it is aligned;
//! or, where columns do not fill packs, [`ABREAST`] lines, each a grid's width after the last.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::{ABREAST, Along, Fold, PACKS, TOGETHER};
use crate::here::{pointer_here, zero_here};
use crate::matmul::asm::load_or;
use crate::pack::{BYTES, Pack};
use crate::reduce::Addend;

impl<T: Addend, O: Along> Fold<T, O> {
    /// Whether packs begin at multiples of their size.
    #[inline(always)]
    fn is_aligned(&self) -> bool {
        let values = self.values.map_or(0, |values| values.addr());
        let more = self.more.map_or(0, |more| more.addr());
        (self.input.addr() | values | more).is_multiple_of(BYTES)
    }

    /// Folds all short lines of this thread, a pack of neighbouring columns at a time.
    ///
    /// # Safety
    /// As for [`each_short`](Self::each_short), and the inner extent is whole packs.
    #[inline(always)]
    pub(super) unsafe fn each_packed<const LANES: usize>(&self) {
        // There are no parts.
        if thread::block_idx_y() != 0 {
            return;
        }
        let (columns, lines) = self.at_once();
        let first = thread::block_idx_x() as usize * thread::block_dim_x() as usize;
        let first = (first + thread::thread_idx_x() as usize) * LANES;
        let line = thread::block_idx_z() as usize * thread::block_dim_y() as usize;
        let mut line = line + thread::thread_idx_y() as usize;
        let is_aligned = self.is_aligned();
        while line < self.outer {
            let mut col = first;
            while col < self.inner {
                let at = line * self.extent * self.inner + col;
                let mut from = self.input.wrapping_add(at);
                let mut folded = [O::start::<T>(); LANES];
                let mut row = 0;
                while row < self.extent as u32 {
                    let nothing = O::nothing(self.how);
                    let mut rows = [[nothing; LANES]; PACKS];
                    let mut next = |i: usize| {
                        let here = from;
                        from = pointer_here(from.wrapping_add(self.inner));
                        (here, row + (i as u32) < self.extent as u32)
                    };
                    // SAFETY: `is_inside` guards packs of rows that exist.
                    unsafe {
                        if is_aligned {
                            unrolled::<PACKS>(|i| {
                                let (pack, is_inside) = next(i);
                                rows[i] = load_or(pack, is_inside, nothing);
                            });
                        } else {
                            // The first load of a pack brings the other elements to the L1 cache.
                            unrolled::<PACKS>(|i| {
                                let (pack, is_inside) = next(i);
                                unrolled::<LANES>(|lane| {
                                    let element = pack.wrapping_add(lane);
                                    [rows[i][lane]] = load_or(element, is_inside, nothing);
                                });
                            });
                        }
                    }
                    unrolled::<LANES>(|lane| {
                        let column: [T; PACKS] = core::array::from_fn(|i| rows[i][lane]);
                        folded[lane] =
                            O::group(folded[lane], column, |i| (row + i) as usize, self.how);
                    });
                    row += PACKS as u32;
                }
                let to = line * self.inner + col;
                // SAFETY: these outputs exist and are this thread's.
                unsafe {
                    if let Some(values) = self.values {
                        let pack = folded.map(|folded| O::value::<T>(folded, self.how));
                        let values = values.wrapping_add(to);
                        if is_aligned {
                            values.cast::<Pack<T, LANES>>().write(Pack(pack));
                        } else {
                            unrolled::<LANES>(|lane| values.wrapping_add(lane).write(pack[lane]));
                        }
                    }
                    if let Some(more) = self.more {
                        let more = more.wrapping_add(to);
                        unrolled::<LANES>(|lane| {
                            more.wrapping_add(lane).write(O::more::<T>(folded[lane]));
                        });
                    }
                }
                col += columns * LANES;
            }
            line += lines;
        }
    }

    /// The columns and lines that the grid has threads for.
    #[inline(always)]
    fn at_once(&self) -> (usize, usize) {
        let cols = thread::block_dim_x() as usize * thread::grid_dim_x() as usize;
        let lines = thread::block_dim_y() as usize * thread::grid_dim_z() as usize;
        (cols, lines)
    }

    /// Folds all short lines of this thread, [`ABREAST`] at a time.
    ///
    /// # Safety
    /// As for [`each`](Self::each); each line has one thread, and there is one part.
    #[inline(always)]
    pub(super) unsafe fn each_short(&self) {
        // There are no parts.
        if thread::block_idx_y() != 0 {
            return;
        }
        let (columns, lines) = self.at_once();
        let of_thread = |block: u32, dim: u32, at: u32| block as usize * dim as usize + at as usize;
        let (block, dim, thread) = (
            thread::block_idx_x(),
            thread::block_dim_x(),
            thread::thread_idx_x(),
        );
        let col = of_thread(block, dim, thread);
        let (block, dim, thread) = (
            thread::block_idx_z(),
            thread::block_dim_y(),
            thread::thread_idx_y(),
        );
        let mut line = of_thread(block, dim, thread);
        // The other lines are in the grid's next tiles: along the columns, or along the outer
        // extent if the grid covers all columns.
        let is_wide = columns < self.inner;
        let (apart, end, lines_apart) = match is_wide {
            true => (columns, self.inner, 1),
            false => (lines, self.outer, self.inner),
        };
        let in_apart = match is_wide {
            true => columns,
            false => lines * self.extent * self.inner,
        };
        let times = |is: bool| if is { ABREAST } else { 1 };
        while line < self.outer {
            let mut at = col;
            while at < self.inner {
                let mut from = self
                    .input
                    .wrapping_add(line * self.extent * self.inner + at);
                let first = if is_wide { at } else { line };
                let mut folded = [O::start::<T>(); ABREAST];
                let mut row = 0;
                while row < self.extent as u32 {
                    let (mut output, mut of_output) = (first, from);
                    let elements: [[T; TOGETHER]; ABREAST] = core::array::from_fn(|_| {
                        let mut element = of_output;
                        of_output = pointer_here(of_output.wrapping_add(in_apart));
                        let exists = output < end;
                        output += apart;
                        core::array::from_fn(|j| {
                            let is_inside = exists && row + (j as u32) < self.extent as u32;
                            let nothing = O::nothing(self.how);
                            // SAFETY: `is_inside` guards an element of a line that exists.
                            let [loaded] = unsafe { load_or(element, is_inside, nothing) };
                            element = pointer_here(element.wrapping_add(self.inner));
                            loaded
                        })
                    });
                    unrolled::<ABREAST>(|i| {
                        folded[i] =
                            O::group(folded[i], elements[i], |j| (row + j) as usize, self.how);
                    });
                    row += TOGETHER as u32;
                    from = from.wrapping_add(TOGETHER * self.inner);
                }
                let mut to = line * self.inner + at;
                let mut output = first;
                let mut left = ABREAST;
                while left > zero_here() {
                    if output < end {
                        // SAFETY: it exists, and is this thread's.
                        unsafe { self.finish(to, folded[0]) };
                    }
                    to += apart * lines_apart;
                    output += apart;
                    folded = core::array::from_fn(|i| folded[(i + 1) % ABREAST]);
                    left -= 1;
                }
                at += columns * times(is_wide);
            }
            line += lines * times(!is_wide);
        }
    }
}
