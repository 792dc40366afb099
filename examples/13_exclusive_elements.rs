//! Elements at computed indices: compaction, scatter, and a thread's own element.
//!
//! A thread may write an element only if it owns it. Three ways to own elements at computed
//! indices, without `unsafe` in the kernel:
//!
//! - `Append`: by ticket. Threads take elements from a count by an atomic addition, so no other
//!   thread gets them. A block takes those of a whole tile together.
//! - `Scatter`: by a permutation. The device checks once, when the host creates a `Permutation`,
//!   that no index occurs twice; launches through it check nothing.
//! - `Out::own`: the element with the thread's number, for a launch with one thread per element.
//!
//! The same kernels with raw pointers are next to them, and `ratios` times both.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;
use cuda_std::warp::warp_vote_ballot;

/// Threads of a block.
pub const BLOCK: usize = 256;
/// Elements that a thread tests together.
pub const ITEMS: usize = 8;

/// Keeps the elements above `limit`, in any order. Any grid.
#[kernel]
pub fn compact(
    block: &mut Block<BLOCK>,
    mut scratch: Scratch<u64>,
    x: &[f32],
    limit: f32,
    mut kept: Append<f32>,
) {
    for tile in block.tiles_of::<ITEMS>(x.len()) {
        let (load, choose) = (|i| x.get(i).copied(), |x| (x > limit).then_some(x));
        kept.store(block, &mut scratch, tile, load, choose);
    }
}

/// `y[order[i]] = x[i]`, with one thread per element.
#[kernel(require(x.len() == y.len()))]
pub fn scatter(x: &[f32], mut y: Scatter<f32>) {
    if let Some((i, mut y)) = y.own() {
        *y = x[i];
    }
}

/// y = a x, with one thread per element.
#[kernel(require(x.len() == y.len()))]
pub fn scale(a: f32, x: &[f32], mut y: Out<f32>) {
    if let Some((i, y)) = y.own() {
        *y = a * x[i];
    }
}

/// [`compact`] in CUDA's style.
///
/// # Safety
/// `kept` has room for `room` elements, and `count` is 0; nothing else uses them.
#[kernel(require(block == BLOCK as u32, grid.y == 1, grid.z == 1))]
pub unsafe fn compact_raw(x: &[f32], limit: f32, kept: *mut f32, room: usize, count: *mut u64) {
    const WARPS: usize = BLOCK / 32;
    let of_warps = shared_array![u32; WARPS];
    let of_block = shared_array![u64; 1];
    let thread = thread::thread_idx_x() as usize;
    let (lane, warp) = (thread % 32, thread / 32);
    let mut start = thread::block_idx_x() as usize * BLOCK * ITEMS;
    while start < x.len() {
        let (mut values, mut numbers, mut of_warp) = ([0.0; ITEMS], [0; ITEMS], 0);
        unrolled::<ITEMS>(|item| {
            let i = start + thread + item * BLOCK;
            // NaN is not above any limit.
            values[item] = if i < x.len() { x[i] } else { f32::NAN };
        });
        unrolled::<ITEMS>(|item| {
            // SAFETY: all lanes are here.
            let lanes = unsafe { warp_vote_ballot(u32::MAX, values[item] > limit) };
            numbers[item] = of_warp + (lanes & ((1 << lane) - 1)).count_ones();
            of_warp += lanes.count_ones();
        });
        if lane == 0 {
            // SAFETY: the warp's slot.
            unsafe { of_warps.add(warp).write(of_warp) };
        }
        thread::sync_threads();
        let (mut before, mut sum) = (0, 0);
        for other in 0..WARPS {
            // SAFETY: every warp has written its slot.
            let of_warp = unsafe { of_warps.add(other).read() };
            before += if other < warp { of_warp } else { 0 };
            sum += of_warp;
        }
        if thread == 0 {
            // SAFETY: the caller's promise; only this thread writes the slot.
            unsafe {
                let count = core::sync::atomic::AtomicU64::from_ptr(count);
                let taken = count.fetch_add(u64::from(sum), core::sync::atomic::Ordering::Relaxed);
                of_block.write(taken);
            }
        }
        thread::sync_threads();
        // SAFETY: thread 0 has written it.
        let first = unsafe { of_block.read() } as usize + before as usize;
        unrolled::<ITEMS>(|item| {
            let at = first + numbers[item] as usize;
            if values[item] > limit && at < room {
                // SAFETY: there is room, and no other value has this number.
                unsafe { kept.add(at).write(values[item]) };
            }
        });
        start += thread::grid_dim_x() as usize * BLOCK * ITEMS;
    }
}

/// [`scatter`] without the check.
///
/// # Safety
/// `order` contains each number below the length once.
#[kernel(require(x.len() == y.len(), x.len() == order.len(), [grid.y, grid.z, block.y, block.z] == [1; 4]))]
pub unsafe fn scatter_raw(x: &[f32], order: &[u32], y: *mut [f32]) {
    let i = thread::block_idx_x() as usize * thread::block_dim_x() as usize
        + thread::thread_idx_x() as usize;
    if i < x.len() {
        // SAFETY: below the length, and the caller's promise.
        unsafe {
            let place = *order.get_unchecked(i) as usize;
            y.cast::<f32>().add(place).write(*x.get_unchecked(i));
        }
    }
}

/// [`scale`] by raw pointers.
///
/// # Safety
/// Nothing else uses `y`.
#[kernel(require(x.len() == y.len(), [grid.y, grid.z, block.y, block.z] == [1; 4]))]
pub unsafe fn scale_raw(a: f32, x: &[f32], y: *mut [f32]) {
    let i = thread::block_idx_x() as usize * thread::block_dim_x() as usize
        + thread::thread_idx_x() as usize;
    if i < x.len() {
        // SAFETY: below the length; the thread's own element.
        unsafe { y.cast::<f32>().add(i).write(a * *x.get_unchecked(i)) };
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Buffer, Device, DeviceKind, Permutation, Result};

    use super::*;

    /// The elements of `x` above `limit`, in any order.
    pub fn compacted(device: &Device, x: &[f32], limit: f32) -> Result<Vec<f32>> {
        let (x, mut kept) = (device.upload(x)?, device.zeros::<f32>(x.len())?);
        let mut count = device.zeros::<u64>(1)?;
        let kernel = compact::on(device)?.grid(blocks(device, x.len()));
        kernel.launch(&x, limit, (&mut kept, &mut count))?;
        let count = count.to_vec()?[0] as usize;
        kept.view(..count).to_vec()
    }

    /// `x` in another order: element i at `order[i]`.
    pub fn scattered(device: &Device, x: &[f32], order: &[u32]) -> Result<Vec<f32>> {
        let order = Permutation::new(device.upload(order)?)?;
        let (x, mut y) = (device.upload(x)?, device.zeros::<f32>(x.len())?);
        let kernel = scatter::on(device)?.covering(x.len())?;
        kernel.launch(&x, (&mut y, &order))?;
        y.to_vec()
    }

    /// One block per tile, but at most a few times as many as fill the device.
    fn blocks(device: &Device, len: usize) -> u32 {
        let most = 8 * device.properties().multiprocessors as usize;
        len.div_ceil(BLOCK * ITEMS).clamp(1, most) as u32
    }

    /// Numbers in a scrambled order.
    pub(super) fn mixed(len: usize) -> Vec<u32> {
        let mut numbers = Vec::from_iter(0..len as u32);
        let mut state = 1_u64;
        for i in (1..len).rev() {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            numbers.swap(i, (state >> 33) as usize % (i + 1));
        }
        numbers
    }

    /// Seconds of a launch: the minimum of several series.
    fn seconds(device: &Device, mut launch: impl FnMut() -> Result<()>) -> Result<f64> {
        const SERIES: usize = 7;
        const LAUNCHES: usize = 10;
        launch()?;
        let mut least = f64::INFINITY;
        for _ in 0..SERIES {
            let start = device.record()?;
            for _ in 0..LAUNCHES {
                launch()?;
            }
            let end = device.record()?;
            least = least.min(end.seconds_since(&start)? / LAUNCHES as f64);
        }
        Ok(least)
    }

    /// The times of the raw form and of the safe form, in seconds.
    #[derive(Clone, Copy, Debug)]
    pub struct Pair {
        /// What the kernels do.
        pub name: &'static str,
        /// By raw pointers.
        pub raw: f64,
        /// The safe form.
        pub safe: f64,
    }

    /// Times both forms of each kernel, and the check of a permutation against a pass over its
    /// entries.
    pub fn ratios(device: &Device, len: usize) -> Result<(Vec<Pair>, Pair)> {
        let numbers = mixed(len);
        let x = Vec::from_iter(numbers.iter().map(|&n| n as f32 / len.max(1) as f32));
        let x = device.upload(&x)?;
        let order = device.upload(&numbers)?;
        let checked = Permutation::new(device.upload(&numbers)?)?;
        let mut y = device.zeros::<f32>(len)?;
        let mut count = device.zeros::<u64>(1)?;
        let mut pairs = Vec::new();

        let grid = blocks(device, len);
        let (safe, raw) = (compact::on(device)?, compact_raw::on(device)?);
        let (safe, raw) = (safe.grid(grid), raw.grid(grid).block(BLOCK as u32));
        let timed = seconds(device, || {
            count.fill_bytes(0)?;
            // SAFETY: there is room for all, and the count is 0.
            unsafe { raw.launch(&x, 0.5, &mut y, len, &mut count) }
        })?;
        pairs.push(Pair {
            name: "compaction, half kept",
            raw: timed,
            safe: seconds(device, || {
                count.fill_bytes(0)?;
                safe.launch(&x, 0.5, (&mut y, &mut count))
            })?,
        });

        let safe = scatter::on(device)?.block(BLOCK as u32).covering(len)?;
        let raw = scatter_raw::on(device)?.block(BLOCK as u32).covering(len)?;
        pairs.push(Pair {
            name: "scatter, random order",
            // SAFETY: the numbers are those of `checked`.
            raw: seconds(device, || unsafe { raw.launch(&x, &order, &mut y) })?,
            safe: seconds(device, || safe.launch(&x, (&mut y, &checked)))?,
        });

        let safe = scale::on(device)?.block(BLOCK as u32).covering(len)?;
        let raw = scale_raw::on(device)?.block(BLOCK as u32).covering(len)?;
        pairs.push(Pair {
            name: "own element",
            // SAFETY: `y` is used by this launch only.
            raw: seconds(device, || unsafe { raw.launch(2.0, &x, &mut y) })?,
            safe: seconds(device, || safe.launch(2.0, &x, &mut y))?,
        });

        let check = Pair {
            name: "check of the permutation",
            // A copy reads the numbers and writes the same amount: two passes.
            raw: seconds(device, || {
                let mut bytes = y.view_mut(..);
                bytes.copy_from(x.as_view())
            })? / 2.0,
            safe: check_seconds(device, order)?,
        };
        Ok((pairs, check))
    }

    /// Seconds of a check, the minimum of several.
    fn check_seconds(device: &Device, mut order: Buffer<u32>) -> Result<f64> {
        let mut least = f64::INFINITY;
        for _ in 0..7 {
            let start = device.record()?;
            let checked = Permutation::new(order)?;
            let end = device.record()?;
            least = least.min(end.seconds_since(&start)?);
            order = checked.into_buffer()?;
        }
        Ok(least)
    }

    /// Runs the example.
    pub fn run(device: &Device) -> Result<()> {
        let len = match device.properties().kind {
            DeviceKind::Cuda => 1 << 26,
            DeviceKind::Emulator => 1 << 12,
        };
        let (pairs, check) = ratios(device, len)?;
        println!(
            "{len} elements\n{:26} {:>9} {:>9} {:>9}",
            "", "raw µs", "safe µs", "raw/safe"
        );
        for Pair { name, raw, safe } in pairs {
            let ratio = raw / safe;
            println!("{name:26} {:9.1} {:9.1} {ratio:9.3}", raw * 1e6, safe * 1e6);
        }
        println!(
            "{}: {:.1} µs, {:.2} times a pass over its numbers",
            check.name,
            check.safe * 1e6,
            check.safe / check.raw
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blockwise::Result;

    use super::{compacted, mixed, ratios, scattered};
    use crate::test_devices::on_every_device;

    #[test]
    fn what_is_kept_is_what_is_above_the_limit() -> Result<()> {
        on_every_device(|device| {
            for len in [0, 1, 31, 2_047, 2_048, 2_049, 5_000] {
                let x = Vec::from_iter(mixed(len).into_iter().map(|n| n as f32));
                let limit = len as f32 / 3.0;
                let mut kept = compacted(device, &x, limit)?;
                kept.sort_by(f32::total_cmp);
                let above = (0..len).map(|n| n as f32).filter(|x| *x > limit);
                assert_eq!(kept, Vec::from_iter(above), "{len}");
            }
            Ok(())
        })
    }

    #[test]
    fn each_element_goes_to_its_place() -> Result<()> {
        on_every_device(|device| {
            for len in [0, 1, 2, 33, 1_000] {
                let order = mixed(len);
                let x = Vec::from_iter(order.iter().map(|&place| place as f32));
                let expected = Vec::from_iter((0..len).map(|place| place as f32));
                assert_eq!(scattered(device, &x, &order)?, expected, "{len}");
            }
            Ok(())
        })
    }

    #[test]
    fn both_forms_run() -> Result<()> {
        on_every_device(|device| {
            let (pairs, check) = ratios(device, 700)?;
            assert!(
                pairs
                    .iter()
                    .chain([&check])
                    .all(|pair| pair.raw > 0.0 && pair.safe > 0.0)
            );
            Ok(())
        })
    }
}
