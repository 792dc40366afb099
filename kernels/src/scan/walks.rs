//! Short lines whose elements lie apart, or as many as a device has threads: one thread walks down
//! each.
//!
//! Adjacent threads have adjacent lines: loads and stores are coalesced. The loads of a group of
//! elements are in flight together. No thread waits for another.

use core::array::from_fn;

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::Lines;
use crate::here::zero_here;
use crate::number::Scalar;
use crate::reduce::Op;

/// Elements whose loads are in flight together.
const GROUP: usize = 8;

/// # Safety
/// The output has as many elements as the input; `before` and `after` have one for each line, or
/// none. Only this launch uses the outputs. All threads of the launch call it: one row of blocks
/// along x.
#[inline(always)]
pub(super) unsafe fn scan<T: Scalar, O: Op>(of: Lines<'_, T>) {
    let threads = thread::block_dim_x() as usize;
    let mut line = thread::block_idx_x() as usize * threads + thread::thread_idx_x() as usize;
    let lines = of.len();
    while line < lines {
        // There is a line, so it is not 0; `max` tells the compiler.
        let inner = of.inner.max(1);
        let first = line / inner * of.extent * inner + line % inner;
        let mut value = of.start::<O>(line);
        let mut step = |at: usize, element: T| {
            let with = O::apply(value, O::turned(element, of.flip));
            let result = O::turned(if of.exclusive { value } else { with }, of.flip);
            value = with;
            // SAFETY: inside the output, as the element is in the input; only this thread has it.
            unsafe { of.output.add(at).write(result) };
        };
        let (mut at, mut left) = (first, of.extent);
        // SAFETY: `at` is an element of the line: `left` of them, `inner` apart, are still to come.
        let load = |at: usize| unsafe { of.input.as_ptr().add(at).read() };
        while left >= GROUP {
            let loaded: [T; GROUP] = from_fn(|i| load(at + i * of.inner));
            unrolled::<GROUP>(|i| step(at + i * of.inner, loaded[i]));
            at += GROUP * of.inner;
            left -= GROUP;
        }
        // Few, and an opaque end: LLVM would unroll this.
        while left > zero_here() {
            step(at, load(at));
            at += of.inner;
            left -= 1;
        }
        if of.has_after {
            // SAFETY: the line's element, which is this thread's.
            unsafe { of.after.add(line).write(O::turned(value, of.flip)) };
        }
        line += thread::grid_dim_x() as usize * threads;
    }
}
