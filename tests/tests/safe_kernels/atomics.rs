//! Histograms and global atomics.

use safe_kernels::atomics::{BINS, extremes, float_sum, histogram};

use super::{LENGTHS, LINES, device, for_each_block, numbers, values};

#[test]
fn a_histogram_counts_each_element_in_both_arrays() {
    let device = &device();
    for (len, grid) in LENGTHS.into_iter().zip(LINES.into_iter().cycle()) {
        // Some are past the last bin.
        let host = Vec::from_iter(numbers(len).into_iter().map(|x| x % (BINS as u32 + 5)));
        let input = device.upload(&host).unwrap();
        for_each_block!(device, histogram, |kernel, block| {
            let mut counts = device.upload(&[0_u64; BINS + 1]).unwrap();
            kernel.grid(grid).launch(&input, &mut counts).unwrap();
            let mut expected = [0; BINS + 1];
            for &x in &host {
                match x as usize {
                    x if x < BINS => expected[x] += 2,
                    _ => expected[BINS] += 1,
                }
            }
            assert_eq!(values(&counts), expected, "{block:?}, {grid:?}, {len}");
        });
    }
}

#[test]
fn integers_add_and_find_their_extremes() {
    let device = device();
    macro_rules! check {
        ($($t:ident)*) => {$(
            let host = Vec::from_iter(numbers(700).into_iter().map(|x| (x as $t).wrapping_mul(7).wrapping_sub(90_000)));
            let input = device.upload(&host).unwrap();
            let mut found = device.upload(&[5, host[0], host[0]]).unwrap();
            let kernel = extremes::<$t>::on(&device).unwrap().grid(3).block(64);
            kernel.launch(&input, &mut found).unwrap();
            let sum = host.iter().fold(5, |sum: $t, x| sum.wrapping_add(*x));
            let (min, max) = (host.iter().min().unwrap(), host.iter().max().unwrap());
            assert_eq!(values(&found), [sum, *min, *max]);
        )*};
    }
    check!(u32 i32 u64 i64);
}

#[test]
fn floats_add() {
    let device = device();
    macro_rules! check {
        ($($t:ident)*) => {$(
            // Whole numbers: no sum rounds.
            let host = Vec::from_iter((0..500).map(|i| (i % 17) as $t));
            let total: $t = host.iter().sum();
            let input = device.upload(&host).unwrap();
            let (mut sum, mut seen) = (device.upload(&[0.0]).unwrap(), device.zeros(500).unwrap());
            let kernel = float_sum::<$t>::on(&device).unwrap().grid(3).block(64);
            kernel.launch(&input, &mut sum, &mut seen).unwrap();
            assert_eq!(values(&sum), [total]);
            assert_eq!(values(&seen), [1; 500]);
        )*};
    }
    check!(f32 f64);
}
