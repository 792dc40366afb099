//! What the check of a permutation costs, beside reading the numbers once (half a device copy).
//! `cargo bench -p blockwise --features cuda --bench permutation [-- LENGTH...]`; needs a GPU.
//!
//! Checks are timed on the host's clock, from the call to its return; copies by events. What a copy
//! or an upload has left in the L2 cache is written back while the next work runs, whatever that is,
//! and slows it down. So other numbers are checked in between, but not for the column "after upload".

use std::time::Instant;

use blockwise::{Buffer, Device, Permutation, Result};

/// Rounds; in each, every check and a copy run once.
const ROUNDS: usize = 31;
/// Devices on each of which a length is checked for the first time.
const FIRST: usize = 7;
/// The numbers that are checked in between: more than an L2 cache holds.
const OTHERS: u32 = (1 << 25) + 1;
const LENGTHS: [usize; 5] = [1 << 20, 1 << 24, 1 << 26, 67_108_859, 1 << 28];

fn main() -> Result<()> {
    if let Err(error) = Device::gpu(0) {
        eprintln!("SKIPPED: {error}");
        return Ok(());
    }
    println!(
        "| numbers | order | pass, µs | check, µs | passes | first of a length, µs | passes \
         | after upload, µs |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let given = std::env::args().filter_map(|argument| argument.parse().ok());
    let given = Vec::from_iter(given);
    let lengths = if given.is_empty() {
        &LENGTHS[..]
    } else {
        &given
    };
    for &len in lengths {
        measure(len)?;
    }
    let loading = (0..FIRST).map(|_| loading()).collect::<Result<_>>()?;
    println!(
        "\nA device's first check of two numbers: {:.2} ms.",
        median(loading)
    );
    Ok(())
}

fn measure(len: usize) -> Result<()> {
    let orders = orders(len);
    let mut passes = Vec::new();
    let mut later = vec![Vec::new(); orders.len()];
    let (mut first, mut uploaded) = (Vec::new(), Vec::new());
    let others = Vec::from_iter(0..OTHERS);
    for (index, order) in orders.iter().enumerate() {
        for _ in 0..FIRST {
            let device = warm()?;
            let mut between = Some(device.upload(&others)?);
            let mut numbers = Some(device.upload(&order.1)?);
            check(&device, &mut between)?;
            first.push(check(&device, &mut numbers)?);
            let device = warm()?;
            uploaded.push(check(&device, &mut Some(device.upload(&order.1)?))?);
        }
        if index == 0 {
            refuses(&order.1)?;
        }
    }
    let device = warm()?;
    let uploads = orders.iter().map(|order| device.upload(&order.1).map(Some));
    let mut numbers = uploads.collect::<Result<Vec<_>>>()?;
    let mut copy = device.zeros::<u32>(len)?;
    let mut between = Some(device.upload(&others)?);
    for round in 0..=ROUNDS {
        check(&device, &mut between)?;
        for (times, numbers) in later.iter_mut().zip(&mut numbers) {
            let time = check(&device, numbers)?;
            if round > 0 {
                times.push(time);
            }
        }
        let begin = device.record()?;
        if let Some(Some(numbers)) = numbers.first() {
            copy.copy_from_buffer(numbers)?;
        }
        let seconds = device.record()?.seconds_since(&begin)?;
        passes.push(seconds * 1e6 / 2.0);
    }
    let (pass, first, uploaded) = (median(passes), median(first), median(uploaded));
    for ((order, _), times) in orders.iter().zip(later) {
        let time = median(times);
        println!(
            "| {len} | {order} | {pass:.1} | {time:.1} | {:.2} | {first:.1} | {:.2} | {uploaded:.1} |",
            time / pass,
            first / pass,
        );
    }
    Ok(())
}

/// A device whose kernel is loaded, and which has seen short lengths only.
fn warm() -> Result<Device> {
    let device = Device::gpu(0)?;
    for _ in 0..3 {
        check(&device, &mut Some(device.upload(&[1, 0])?))?;
    }
    Ok(device)
}

/// Milliseconds of a device's first check, which loads the kernel.
fn loading() -> Result<f64> {
    let device = Device::gpu(0)?;
    Ok(check(&device, &mut Some(device.upload(&[1, 0])?))? / 1e3)
}

/// Microseconds of a check.
fn check(device: &Device, numbers: &mut Option<Buffer<u32>>) -> Result<f64> {
    device.synchronize()?;
    let Some(given) = numbers.take() else {
        return Ok(0.0);
    };
    let begin = Instant::now();
    let permutation = Permutation::new(given)?;
    let time = begin.elapsed().as_secs_f64() * 1e6;
    *numbers = Some(permutation.into_buffer()?);
    Ok(time)
}

/// One changed number is enough, wherever it is.
fn refuses(right: &[u32]) -> Result<()> {
    let device = warm()?;
    let mut wrong = right.to_vec();
    for at in [0, right.len() / 3, right.len() - 1] {
        let other = wrong[at] ^ 1;
        let before = std::mem::replace(&mut wrong[at], other);
        assert!(Permutation::new(device.upload(&wrong)?).is_err(), "{at}");
        wrong[at] = before;
    }
    Ok(())
}

fn orders(len: usize) -> Vec<(&'static str, Vec<u32>)> {
    let identity = Vec::from_iter(0..len as u32);
    let mut random = identity.clone();
    let mut state = 1_u64;
    for i in (1..len).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        random.swap(i, (((state >> 32) * (i as u64 + 1)) >> 32) as usize);
    }
    let mut orders = vec![("random", random)];
    if len.is_power_of_two() {
        let (bits, half) = (len.ilog2(), len.ilog2() / 2);
        let place = |i: u32| (i >> half) | ((i << (bits - half)) & (len as u32 - 1));
        orders.push(("transposed", identity.iter().map(|&i| place(i)).collect()));
    }
    orders.push(("identity", identity));
    orders
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
