//! [`Out`]: an output of a safe kernel, with a map from threads to elements.

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use super::Block;
use super::position::{Indices, thread_of_grid};
use super::registers::registers;
use super::tiles::{Linear, TileRange};
use super::whole_array::whole_array;
use crate::Plain;
use crate::launch::Decimal;
use crate::unroll::unrolled;

/// The map of an [`Out`] in tiles of `ITEMS` elements per thread; blocks take tiles in turn. In a
/// tile, thread t of the block has the elements t, t + threads, …. Without a number, element i
/// belongs to thread i of the grid.
#[derive(Clone, Copy, Debug)]
pub enum Strided<const ITEMS: usize = 1> {}
/// The map of an [`Out`] whose tiles are counted from its end, like `rchunks`.
#[derive(Clone, Copy, Debug)]
pub enum FromEnd {}
/// The map of an [`Out`] with one element per block.
#[derive(Clone, Copy, Debug)]
pub enum PerBlock {}

/// How a map or an order stands in a kernel's record: `Strided<4>`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which elements a thread has",
    note = "`Strided`, `FromEnd` and `PerBlock` do of an `Out`, `RowMajor` and `ColMajor` of an `OutMatrix`"
)]
pub trait Map {
    const NAME: [&'static str; 3];
}

impl<const ITEMS: usize> Map for Strided<ITEMS> {
    const NAME: [&'static str; 3] = ["Strided<", Decimal::<ITEMS>::TEXT, ">"];
}

impl Map for FromEnd {
    const NAME: [&'static str; 3] = ["FromEnd", "", ""];
}

impl Map for PerBlock {
    const NAME: [&'static str; 3] = ["PerBlock", "", ""];
}

/// An output of a kernel, in which each thread accesses its own elements only.
///
/// Element i belongs to thread i of the grid, counted through all its blocks, x fastest; if the
/// grid has fewer threads than the output has elements, thread i also has element i plus each
/// multiple of the number of threads. So no two threads share an element, whatever the launch's
/// shape, and a kernel that writes through it needs no `unsafe`:
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// y = 2 x
/// #[kernel(require(x.len() == y.len()))]
/// pub fn double(x: &[f32], mut y: Out<f32>) {
///     for (i, y) in y.mine() {
///         *y = 2.0 * x[i];
///     }
/// }
/// ```
///
/// With shared memory a block writes a tile at a time: [`store`](Self::store). Together with a
/// [`Block`] the grid must be one-dimensional. Other maps: [`FromEnd`], [`PerBlock`]; for matrices
/// [`OutMatrix`](super::OutMatrix).
///
/// A kernel gets it as a parameter; there is no other way to create one. It is valid during the
/// launch, belongs to its thread, and cannot be copied. The memory keeps its contents, so it is an
/// input too.
pub struct Out<'a, T, Map = Strided> {
    first: *mut T,
    len: usize,
    // Not only for variance: `first` makes it neither `Send` nor `Sync`, because another thread
    // owns other elements.
    memory: PhantomData<(&'a mut [T], Map)>,
}

impl<'a, T, Map> Out<'a, T, Map> {
    /// The output of this thread, for as long as the borrow of `launch`.
    ///
    /// # Safety
    /// `first` is not null and points to `len` initialised elements that only these outputs, one
    /// per thread of the grid, access meanwhile. The grid is one-dimensional if the kernel has a
    /// [`Block`].
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn new<S>(launch: &'a S, first: *mut T, len: usize) -> Self {
        const {
            assert!(
                size_of::<T>() > 0,
                "an output of elements without bytes has nothing to write"
            )
        };
        let _ = launch;
        // SAFETY: the caller's promise. A reference is never null, which `Option` relies on; no
        // allocation is larger.
        unsafe {
            core::hint::assert_unchecked(!first.is_null());
            core::hint::assert_unchecked(len <= isize::MAX as usize / size_of::<T>());
        }
        Self {
            first,
            len,
            memory: PhantomData,
        }
    }

    whole_array!();
}

impl<T> Out<'_, T> {
    /// This thread's elements, each with its index in the output, in ascending order.
    ///
    /// Works in a kernel only.
    #[inline(always)]
    pub fn mine(&mut self) -> Mine<'_, T> {
        Mine {
            first: self.first,
            indices: Indices::mine(self.len),
            memory: PhantomData,
        }
    }

    /// This thread's first element, with its index; `None` if it has none. In a launch with at
    /// least as many threads as elements, a thread has no others, so the kernel needs no loop. In a
    /// smaller launch the thread's other elements keep their values.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// /// y = 2 x, by a thread for each element
    /// #[kernel(require(x.len() == y.len()))]
    /// pub fn double(x: &[f32], mut y: Out<f32>) {
    ///     if let Some((i, y)) = y.own() {
    ///         *y = 2.0 * x[i];
    ///     }
    /// }
    /// // On the host: `double::on(&device)?.covering(x.len())?.launch(&x, &mut y)?`.
    /// ```
    ///
    /// Works in a kernel only.
    #[inline(always)]
    pub fn own(&mut self) -> Option<(usize, &mut T)> {
        let (index, _) = thread_of_grid();
        if index >= self.len {
            return None;
        }
        // SAFETY: below the length, and only this thread accesses it.
        Some((index, unsafe { &mut *self.first.add(index) }))
    }
}

impl<T: Plain, const ITEMS: usize> Out<'_, T, Strided<ITEMS>> {
    /// Stores this thread's elements of the tile, as far as they exist: `value` gets the index of
    /// each in the output. All values are computed before the first is stored.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// /// output\[n − 1 − i\] = input\[i\], four loads of each thread in flight
    /// #[kernel(require(input.len() == output.len()))]
    /// pub fn reverse(block: &mut Block, input: &[u32], mut output: Out<u32, Strided<4>>) {
    ///     for tile in block.tiles_of(output.len()) {
    ///         output.store(block, tile, |i| input[input.len() - 1 - i]);
    ///     }
    /// }
    /// ```
    // The compiler shows the line of the name for an argument of another type.
    #[rustfmt::skip]
    #[inline(always)]
    pub fn store<const X: usize, const Y: usize, const Z: usize>( // `for tile in block.tiles(y.len())`; a value per block: `PerBlock`
        &mut self,
        block: &Block<X, Y, Z>,
        tile: TileRange<Linear<ITEMS>>,
        mut value: impl FnMut(usize) -> T, // `y.store(block, tile, |i| x[i]);`
    ) {
        let (first, step) = (tile.start() + block.thread(), block.threads());
        if ITEMS == 1 {
            if first < self.len {
                // SAFETY: below the length. In a one-dimensional grid only this block has the tile,
                // and element i belongs to thread i of the grid, as in `mine`.
                unsafe { self.first.add(first).write(value(first)) };
            }
            return;
        }
        let mut values = [const { MaybeUninit::uninit() }; ITEMS];
        unrolled::<ITEMS>(|item| {
            let i = first + item * step;
            if i < self.len {
                values[item].write(value(i));
            }
        });
        unrolled::<ITEMS>(|item| {
            let i = first + item * step;
            if i < self.len {
                // SAFETY: written above, under the same condition. Below the length. In a
                // one-dimensional grid only this block has the tile, and thread t has its elements
                // t, t + threads, ….
                unsafe { self.first.add(i).write(values[item].assume_init()) };
            }
        });
    }
}

impl<T: Plain> Out<'_, T, FromEnd> {
    /// Stores this thread's element of the tile, if it exists. The tile is counted from the
    /// output's end, as its range is counted from 0; `value` gets the number of the tile's elements
    /// after this one.
    ///
    /// So a tile that was read forwards is written backwards, in both cases with adjacent threads
    /// accessing adjacent elements:
    ///
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// /// output\[n − 1 − i\] = input\[i\]
    /// #[kernel(require(input.len() == output.len()))]
    /// pub fn reverse(block: &mut Block<256>, tile: Shared<[u32; 256]>, input: &[u32], mut output: Out<u32, FromEnd>) {
    ///     let mut tile = tile.refill();
    ///     for place in block.tiles(output.len()) {
    ///         let loaded = tile.fill(block, |i| input.get(place.start() + i).copied().unwrap_or_default());
    ///         output.store(block, place, |rest| loaded[rest]);
    ///     }
    /// }
    /// ```
    #[inline(always)]
    pub fn store<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &Block<X, Y, Z>,
        tile: TileRange<Linear>,
        value: impl FnOnce(usize) -> T,
    ) {
        if tile.start() >= self.len {
            return;
        }
        let (left, threads) = (self.len - tile.start(), block.threads());
        let (thread, count) = (block.thread(), if left < threads { left } else { threads });
        if thread < count {
            let rest = count - 1 - thread;
            // SAFETY: `count` is at most the block's threads. This avoids bounds checks in `value`.
            unsafe { core::hint::assert_unchecked(rest < threads) };
            // SAFETY: left - count + thread is below `left`, and so below the length. The tiles of
            // all blocks of a one-dimensional grid, counted from the end, do not overlap, and a
            // tile starts at the same place for all threads: each of its elements belongs to one
            // thread.
            unsafe { self.first.add(left - count + thread).write(value(rest)) };
        }
    }
}

impl<T: Plain> Out<'_, T, PerBlock> {
    /// Stores the block's element: the value of thread 0. The launch ensures that it exists.
    #[inline(always)]
    pub fn store<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &Block<X, Y, Z>,
        value: T,
    ) {
        self.store_first(block, Some(value));
    }

    /// Like [`store`](Self::store), for a value that only thread 0 has:
    /// [`Scratch::reduce_to_first`](super::Scratch::reduce_to_first).
    #[inline(always)]
    pub fn store_first<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &Block<X, Y, Z>,
        value: Option<T>,
    ) {
        let index = registers().at[0] as usize;
        if block.thread() == 0
            && index < self.len
            && let Some(value) = value
        {
            // SAFETY: below the length; no other block of a one-dimensional grid has this number,
            // and no other thread of the block is the first.
            unsafe { self.first.add(index).write(value) };
        }
    }
}

impl<T, Map> fmt::Debug for Out<'_, T, Map> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Out").field("len", &self.len).finish()
    }
}

/// A thread's own elements of an [`Out`]: [`Out::mine`].
pub struct Mine<'o, T> {
    first: *mut T,
    indices: Indices,
    memory: PhantomData<&'o mut [T]>,
}

impl<'o, T> Iterator for Mine<'o, T> {
    type Item = (usize, &'o mut T);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let index = self.indices.next()?;
        // SAFETY: the index is below the length. The element belongs to this thread alone, and is
        // returned once while the output is borrowed.
        Some((index, unsafe { &mut *self.first.add(index) }))
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.indices.size_hint()
    }
}

impl<T> ExactSizeIterator for Mine<'_, T> {}

impl<T> core::iter::FusedIterator for Mine<'_, T> {}

impl<T> fmt::Debug for Mine<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mine")
            .field("next", &self.indices.next)
            .field("len", &self.indices.len)
            .field("threads", &self.indices.threads)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::registers::Registers;
    use super::super::testing::{SHAPES, as_thread, block, launch, owners};
    use super::*;
    use crate::block::ANY;

    const LENGTHS: [usize; 6] = [0, 1, 31, 200, 1024, 4099];

    /// Grids for kernels with a block.
    fn lines() -> impl Iterator<Item = [u32; 3]> {
        SHAPES.into_iter().filter(|grid| grid[1..] == [1, 1])
    }

    /// Checks that each element is stored exactly once over all threads of each launch.
    fn covers<Map>(
        grids: impl Iterator<Item = [u32; 3]>,
        store: impl Fn(&mut Out<'_, u8, Map>, &Block<ANY, ANY, ANY>),
    ) {
        for grid in grids {
            for shape in SHAPES {
                for len in LENGTHS {
                    owners(len, |elements, launched| {
                        launch(grid, shape, || {
                            // SAFETY: the elements outlive it, and one thread runs at a time.
                            let mut out = unsafe { Out::new(launched, elements, len) };
                            store(&mut out, &block());
                        });
                    });
                }
            }
        }
    }

    #[test]
    fn an_element_of_mine_is_one_threads() {
        covers::<Strided>(SHAPES.into_iter(), |out, _| {
            // The first one is the one that `own` gives.
            let first = out.mine().next().map(|(index, element)| (index, *element));
            assert_eq!(out.own().map(|(index, element)| (index, *element)), first);
            let mine = out.mine();
            let expected = mine.size_hint().0;
            assert_eq!(mine.map(|(_, element)| *element += 1).count(), expected);
        });
    }

    #[test]
    fn an_element_of_a_tile_is_one_threads_whatever_the_map() {
        fn strided<const ITEMS: usize>() {
            covers::<Strided<ITEMS>>(lines(), |out, block| {
                for tile in block.tiles_of(out.len()) {
                    let before = out.first;
                    // SAFETY: an element.
                    out.store(block, tile, |i| unsafe { *before.add(i) + 1 });
                }
            });
        }
        strided::<1>();
        strided::<3>();
        covers::<FromEnd>(lines(), |out, block| {
            for tile in block.tiles(out.len()) {
                let (from, left) = (out.first, out.len() - tile.start());
                out.store(block, tile, |rest| {
                    // SAFETY: the element that `rest` of the tile follow.
                    unsafe { *from.add(left - 1 - rest) + 1 }
                });
            }
        });
    }

    #[test]
    fn mine_and_store_agree() {
        for grid in lines() {
            for shape in SHAPES {
                launch(grid, shape, || {
                    let mut elements = [0_u8; 200];
                    let launched = ();
                    // SAFETY: the elements outlive it.
                    let mut out: Out<'_, u8> =
                        unsafe { Out::new(&launched, elements.as_mut_ptr(), elements.len()) };
                    out.mine().for_each(|(_, element)| *element = 1);
                    let block = block::<ANY, ANY, ANY>();
                    // A thread requests tiles past the end.
                    for tile in block.tiles(1000) {
                        out.store(&block, tile, |_| 2);
                    }
                    assert!(!elements.contains(&1));
                });
            }
        }
    }

    #[test]
    fn a_block_has_one_element() {
        for grid in lines() {
            let blocks = grid[0] as usize;
            owners(blocks, |elements, launched| {
                launch(grid, [3, 2, 2], || {
                    // SAFETY: the elements outlive it, and one thread runs at a time.
                    let mut out: Out<'_, u8, PerBlock> =
                        unsafe { Out::new(launched, elements, blocks) };
                    let block = block::<3, 2, 2>();
                    // SAFETY: the block's element.
                    let value = unsafe { *elements.add(block.index()) + 1 };
                    out.store(&block, value);
                });
            });
        }
    }

    /// This thread's first element and how far apart its elements are.
    fn first_of(registers: Registers) -> (usize, usize) {
        let mut found = (0, 0);
        as_thread(registers, || {
            let (launched, mut element) = ((), 0_u8);
            // SAFETY: nothing is read or written.
            let mut out: Out<'_, u8> = unsafe { Out::new(&launched, &mut element, 1) };
            let mine = out.mine();
            found = (mine.indices.next, mine.indices.threads);
        });
        found
    }

    #[test]
    fn neighbours_along_x_have_neighbouring_elements() {
        let at = |x| {
            first_of(Registers {
                thread: [x, 1, 0],
                block: [32, 4, 1],
                at: [2, 1, 0],
                grid: [3, 2, 1],
            })
        };
        assert_eq!(at(6).0, at(5).0 + 1);
    }

    #[test]
    fn more_than_two_to_the_32_threads_have_numbers_of_their_own() {
        let most = i32::MAX as u32;
        let first = |thread, at, grid| {
            first_of(Registers {
                thread: [thread, 0, 0],
                block: [1024, 1, 1],
                at,
                grid,
            })
        };
        let threads = i32::MAX as usize * 1024;
        let last = first(1023, [most - 1, 0, 0], [most, 1, 1]);
        assert_eq!(last, (threads - 1, threads));
        let plane = first(0, [0, 1, 0], [most, 2, 1]);
        assert_eq!(plane, (threads, 2 * threads));
    }

    #[test]
    fn threads_that_cannot_be_counted_have_no_element() {
        let grid = [i32::MAX as u32, 65535, 65535];
        let at = |thread, at| {
            first_of(Registers {
                thread: [thread, 0, 0],
                block: [1024, 1, 1],
                at,
                grid,
            })
        };
        // No output is longer.
        let (next, threads) = at(1023, grid.map(|extent| extent - 1));
        assert!(next >= isize::MAX as usize);
        assert_eq!(threads, isize::MAX as usize);
        // The first ones have one each, at most.
        assert_eq!(at(7, [0; 3]).0, 7);
    }
}
