//! Shared by [`blocked`](super::blocked) and [`window`](super::window): which outputs they compute
//! without guards, and how they load samples and store outputs.

use core::ops::Range;

use cuda_std::async_copy::cp_async_ca_to;
use cuda_std::prelude::*;

use crate::number::Real;
use crate::pack::{self, Pack};
use cuda_std::unroll::unrolled;

/// The complete tiles of `span` outputs that need no guard: for each output i, the samples from i +
/// `offset` − `below` to i + `offset` + `above` exist. Empty unless the output starts at a pack.
#[inline(always)]
pub(super) fn whole_tiles<T>(
    samples: usize,
    output: *const T,
    output_len: usize,
    offset: usize,
    span: usize,
    below: usize,
    above: usize,
) -> Range<usize> {
    let first = below.saturating_sub(offset).div_ceil(span);
    let met = samples.saturating_sub(offset).saturating_sub(above);
    let end = (if met < output_len { met } else { output_len }) / span;
    if first < end && output.addr().is_multiple_of(pack::BYTES) {
        first..end
    } else {
        0..0
    }
}

/// Computes the outputs outside `whole`, a range of outputs, in a grid-stride loop; `one` computes
/// one of them.
///
/// # Safety
/// `output` points to `output_len` elements; `whole` is a range of them, and nothing else uses
/// those outside it. All threads of the launch call it: one row of blocks of `threads` along x.
#[inline(always)]
pub(super) unsafe fn convolve_ends<T>(
    output: *mut T,
    output_len: usize,
    whole: Range<usize>,
    threads: usize,
    one: impl Fn(usize) -> T,
) {
    let mut at = thread::block_idx_x() as usize * threads + thread::thread_idx_x() as usize;
    while at < output_len - whole.len() {
        let i = if at < whole.start {
            at
        } else {
            at + whole.len()
        };
        // SAFETY: i is below the output's length, and no other thread has this i.
        unsafe { output.add(i).write(one(i)) };
        at += thread::grid_dim_x() as usize * threads;
    }
}

/// Starts this thread's copies of a tile's elements, and of the `met_below` elements below it, at
/// most BELOW · GROUP. An element is a sample or a pack; the GROUP threads that share the tile copy
/// adjacent ones.
///
/// # Safety
/// This thread is number t of the GROUP: `slot`, in shared memory, and `sample`, in the signal,
/// address element t of the tile. The tile has SAMPLES · GROUP elements, and `met_below` exist
/// below it.
#[inline(always)]
pub(super) unsafe fn copy_samples<
    T,
    const SAMPLES: usize,
    const BELOW: usize,
    const GROUP: usize,
>(
    slot: u32,
    sample: *const T,
    thread: usize,
    met_below: usize,
) {
    let bytes = (GROUP * size_of::<T>()) as u32;
    // SAFETY: the caller's promise.
    unsafe {
        unrolled::<SAMPLES>(|i| cp_async_ca_to(slot + i as u32 * bytes, sample.add(i * GROUP)));
        unrolled::<BELOW>(|i| {
            let below = i + 1;
            if thread + met_below >= below * GROUP {
                cp_async_ca_to(slot - below as u32 * bytes, sample.sub(below * GROUP));
            }
        });
    }
}

/// Overwrites the tile's samples with a thread's sums.
///
/// # Safety
/// `own` is the first pack of this thread's outputs, and no other thread uses those packs.
#[inline(always)]
pub(super) unsafe fn put_sums<
    T: Real,
    const LANES: usize,
    const PACKS: usize,
    const OUTPUTS: usize,
>(
    sums: &[T; OUTPUTS],
    own: *mut Pack<T, LANES>,
) {
    unrolled::<PACKS>(|pack| {
        let lanes = core::array::from_fn(|lane| sums[pack * LANES + lane]);
        // SAFETY: the caller's promise.
        unsafe { own.add(pack).write(Pack(lanes)) };
    });
}

/// Writes a tile's sums to the output; adjacent threads of GROUP write adjacent packs.
///
/// # Safety
/// `tile` and `output` are this thread's packs among the first GROUP. A barrier has ordered all
/// sums of the tile before this call.
#[inline(always)]
pub(super) unsafe fn write_sums<
    T: Real,
    const LANES: usize,
    const PACKS: usize,
    const GROUP: usize,
>(
    tile: *const Pack<T, LANES>,
    output: *mut Pack<T, LANES>,
) {
    unrolled::<PACKS>(|pack| {
        // SAFETY: the caller's promise.
        let lanes = unsafe { tile.add(pack * GROUP).read().0 };
        // Lane by lane: LLVM would move a whole pack as two 8-byte words.
        let lanes = core::array::from_fn(|lane| lanes[lane]);
        // SAFETY: the caller's promise.
        unsafe { output.add(pack * GROUP).write(Pack(lanes)) };
    });
}

#[cfg(test)]
mod tests {
    use super::whole_tiles;

    #[test]
    fn whole_tiles_read_samples_only_and_are_all_that_do() {
        let (output, span) = (core::ptr::without_provenance::<f32>(64), 8);
        for (samples, taps) in [(40, 1), (40, 5), (41, 8), (64, 9), (3, 2), (12, 12)] {
            for (output_len, offset) in [
                (samples + taps - 1, 0),
                (samples, (taps - 1) / 2),
                (samples - taps + 1, taps - 1),
            ] {
                for (below, above) in [(taps - 1, 0), (taps, 3), (taps + 2, 1)] {
                    let inside = |tile: usize| {
                        let (first, last) = (tile * span, tile * span + span - 1);
                        last < output_len
                            && first + offset >= below
                            && last + offset + above < samples
                    };
                    let expected: Vec<_> = (0..20).filter(|&tile| inside(tile)).collect();
                    let whole = |output| {
                        whole_tiles(samples, output, output_len, offset, span, below, above)
                    };
                    assert_eq!(
                        whole(output).collect::<Vec<_>>(),
                        expected,
                        "{samples}, {taps}, {offset}, {below}, {above}"
                    );
                    assert!(whole(output.wrapping_add(1)).is_empty());
                }
            }
        }
    }
}
