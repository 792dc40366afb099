//! [`Out`]: the output of a safe kernel.

use core::fmt;
use core::marker::PhantomData;

use crate::thread;

/// An output of a kernel, of which each thread reaches its own elements only.
///
/// Element i belongs to thread i of the grid, counted through all its blocks, x fastest; where the grid has fewer threads than the
/// output has elements, each thread has every (threads of the grid)-th. So no two threads have one element, whatever the shape of
/// the launch, and a kernel that writes through it needs no `unsafe`:
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
/// A kernel gets it as a parameter; nothing else makes one. It holds for the launch, belongs to its thread, and cannot be copied.
/// What was in the memory is still there: it is an input too.
pub struct Out<'a, T> {
    first: *mut T,
    len: usize,
    // Not only for variance: the raw pointer keeps it in its thread, for another has other elements of its own.
    memory: PhantomData<&'a mut [T]>,
}

impl<'a, T> Out<'a, T> {
    /// The output of this thread, for as long as the borrow of `launch`.
    ///
    /// # Safety
    /// `first` is not null and leads to `len` initialised elements that nothing but these outputs, one for each thread of the grid,
    /// uses meanwhile.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn new<S>(launch: &'a S, first: *mut T, len: usize) -> Self {
        let _ = launch;
        // SAFETY: the caller's promise. A reference cannot be null, and `Option` makes use of that.
        unsafe { core::hint::assert_unchecked(!first.is_null()) };
        Self {
            first,
            len,
            memory: PhantomData,
        }
    }

    /// Elements of the whole output, all threads' together.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// No elements.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// This thread's elements, each with its index in the output, in ascending order.
    ///
    /// Works in a kernel only.
    #[inline(always)]
    pub fn mine(&mut self) -> Mine<'_, T> {
        let (thread, threads) = position();
        Mine::new(self, thread, threads)
    }
}

impl<T> fmt::Debug for Out<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Out").field("len", &self.len).finish()
    }
}

/// A thread's own elements of an [`Out`]: [`Out::mine`].
pub struct Mine<'o, T> {
    first: *mut T,
    /// The element that comes next; there is none from `len` on.
    next: usize,
    len: usize,
    threads: usize,
    memory: PhantomData<&'o mut [T]>,
}

impl<'o, T> Mine<'o, T> {
    #[inline(always)]
    fn new(of: &'o mut Out<'_, T>, thread: usize, threads: usize) -> Self {
        const {
            assert!(
                size_of::<T>() > 0,
                "an output of elements without bytes has nothing to write"
            )
        };
        Self {
            first: of.first,
            next: thread,
            len: of.len,
            // An output has at most so many elements. Added to the index of one of them it is still a number.
            threads: threads.min(isize::MAX as usize),
            memory: PhantomData,
        }
    }
}

impl<'o, T> Iterator for Mine<'o, T> {
    type Item = (usize, &'o mut T);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next;
        if index >= self.len {
            return None;
        }
        self.next = index + self.threads;
        // SAFETY: the index is below the length. The element is this thread's alone, and comes once while the output is borrowed.
        Some((index, unsafe { &mut *self.first.add(index) }))
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.len.saturating_sub(self.next).div_ceil(self.threads);
        (left, Some(left))
    }
}

impl<T> ExactSizeIterator for Mine<'_, T> {}

impl<T> core::iter::FusedIterator for Mine<'_, T> {}

impl<T> fmt::Debug for Mine<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mine")
            .field("next", &self.next)
            .field("len", &self.len)
            .field("threads", &self.threads)
            .finish()
    }
}

/// The thread's number in the grid, and the threads of the grid.
#[inline(always)]
fn position() -> (usize, usize) {
    let block = [
        thread::block_dim_x(),
        thread::block_dim_y(),
        thread::block_dim_z(),
    ];
    let grid = [
        thread::grid_dim_x(),
        thread::grid_dim_y(),
        thread::grid_dim_z(),
    ];
    let thread = [
        thread::thread_idx_x(),
        thread::thread_idx_y(),
        thread::thread_idx_z(),
    ];
    let at = [
        thread::block_idx_x(),
        thread::block_idx_y(),
        thread::block_idx_z(),
    ];
    linear(thread, block, at, grid)
}

/// All four along x, y and z. Two threads of a launch never have the same number below `usize::MAX`.
///
/// Grids of up to 2³¹−1 × 65535 × 65535 blocks of 1024 threads are what a GPU takes: the blocks are fewer than 2⁶³, the threads
/// may be more than 2⁶⁴. Those have the largest number, where no output has an element.
#[inline(always)]
fn linear(thread: [u32; 3], block: [u32; 3], at: [u32; 3], grid: [u32; 3]) -> (usize, usize) {
    // Usual launches have one dimension, where nothing overflows.
    if (grid[1] | grid[2] | block[1] | block[2]) == 1 {
        let (block, at) = (block[0] as usize, at[0] as usize);
        return (at * block + thread[0] as usize, grid[0] as usize * block);
    }
    let number = |[x, y, z]: [usize; 3], [width, height]: [usize; 2]| x + width * (y + height * z);
    let [thread, block, at, grid] =
        [thread, block, at, grid].map(|extents| extents.map(|extent| extent as usize));
    let threads = block[0] * block[1] * block[2];
    let blocks = grid[0] * grid[1] * grid[2];
    let thread = number(thread, [block[0], block[1]]);
    let before = number(at, [grid[0], grid[1]]).saturating_mul(threads);
    (
        before.saturating_add(thread),
        blocks.saturating_mul(threads),
    )
}

#[cfg(test)]
mod tests {
    use super::{Mine, Out, linear};

    const SHAPES: [[u32; 3]; 9] = [
        [1, 1, 1],
        [5, 1, 1],
        [1, 3, 1],
        [1, 1, 2],
        [4, 3, 1],
        [2, 1, 3],
        [1, 2, 2],
        [3, 2, 2],
        [32, 2, 1],
    ];

    fn positions([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
        (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
    }

    #[test]
    fn each_element_has_exactly_one_thread_whatever_the_shape() {
        for grid in SHAPES {
            for block in SHAPES {
                for len in [0, 1, 31, 200, 4099] {
                    let mut elements = vec![0_u8; len];
                    for at in positions(grid) {
                        for thread in positions(block) {
                            let (next, threads) = linear(thread, block, at, grid);
                            let launch = ();
                            // SAFETY: the elements outlive it, and one is used at a time.
                            let mut out = unsafe { Out::new(&launch, elements.as_mut_ptr(), len) };
                            let mine = Mine::new(&mut out, next, threads);
                            let expected = mine.size_hint().0;
                            assert_eq!(mine.map(|(_, element)| *element += 1).count(), expected);
                        }
                    }
                    assert!(
                        elements.iter().all(|&times| times == 1),
                        "{grid:?} {block:?} {len}"
                    );
                }
            }
        }
    }

    #[test]
    fn neighbours_along_x_have_neighbouring_elements() {
        let at = |x| linear([x, 1, 0], [32, 4, 1], [2, 1, 0], [3, 2, 1]).0;
        assert_eq!(at(6), at(5) + 1);
    }

    #[test]
    fn more_than_two_to_the_32_threads_have_numbers_of_their_own() {
        let block = [1024, 1, 1];
        let grid = [i32::MAX as u32, 1, 1];
        let last = linear([1023, 0, 0], block, [i32::MAX as u32 - 1, 0, 0], grid);
        let threads = i32::MAX as usize * 1024;
        assert_eq!(last, (threads - 1, threads));
        let plane = linear([0, 0, 0], block, [0, 1, 0], [i32::MAX as u32, 2, 1]);
        assert_eq!(plane, (threads, 2 * threads));
    }

    #[test]
    fn threads_that_cannot_be_counted_have_no_element() {
        let grid = [i32::MAX as u32, 65535, 65535];
        let block = [1024, 1, 1];
        let last = linear([1023, 0, 0], block, grid.map(|extent| extent - 1), grid);
        assert_eq!(last, (usize::MAX, usize::MAX));
        // The first ones have one each, at most.
        let (next, threads) = linear([7, 0, 0], block, [0; 3], grid);
        let mut elements = [0_u8; 9];
        let launch = ();
        // SAFETY: the elements outlive it.
        let mut out = unsafe { Out::new(&launch, elements.as_mut_ptr(), elements.len()) };
        let mine = Mine::new(&mut out, next, threads);
        assert_eq!(mine.map(|(index, _)| index).collect::<Vec<_>>(), [7]);
    }
}
