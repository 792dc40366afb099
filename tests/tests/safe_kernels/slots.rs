//! Trees in shared memory.

use safe_kernels::slots::{left_after, sum_dynamic, sum_static};

use super::{LENGTHS, LINES, device, for_each_block, numbers, values};

#[test]
fn trees_of_every_kind_lose_nothing() {
    let device = &device();
    for (len, grid) in LENGTHS.into_iter().zip(LINES.into_iter().cycle()) {
        let host = numbers(len);
        let input = device.upload(&host).unwrap();
        for kind in 0..3 {
            for_each_block!(device, sum_static, |kernel, block| {
                let mut sums = device.zeros(grid as usize).unwrap();
                kernel.grid(grid).launch(&input, kind, &mut sums).unwrap();
                let total: u32 = values(&sums).iter().sum();
                assert_eq!(
                    total,
                    host.iter().sum::<u32>(),
                    "{block:?}, {grid:?}, {len}, {kind}"
                );
            });
        }
    }
}

#[test]
fn dynamic_slots_are_enough_or_none() {
    let device = device();
    let host = Vec::from_iter(numbers(3000).into_iter().map(u64::from));
    let input = device.upload(&host).unwrap();
    for block in [1, 31, 33, 256, 1000] {
        for (slots, stored) in [
            (block, true),
            (block + 7, true),
            (block - 1, false),
            (0, false),
        ] {
            let mut sums = device.upload(&[9_u64; 2]).unwrap();
            let kernel = sum_dynamic::on(&device).unwrap().grid(2).block(block);
            kernel.launch(slots as usize, &input, &mut sums).unwrap();
            let expected = if stored { host.iter().sum() } else { 18 };
            assert_eq!(
                values(&sums).iter().sum::<u64>(),
                expected,
                "{block}, {slots}"
            );
        }
    }
}

#[test]
fn a_thread_sees_its_own_value_after_each_round() {
    let device = device();
    for block in [1_u32, 31, 33, 256] {
        for rounds in 0..10 {
            let mut left = device.zeros(block as usize).unwrap();
            let kernel = left_after::on(&device).unwrap().grid(1).block(block);
            kernel.launch(rounds, &mut left).unwrap();
            let each = 1 << rounds;
            let sum = |t: u32| (t * each..block.min((t + 1) * each)).sum::<u32>();
            assert_eq!(
                values(&left),
                Vec::from_iter((0..block).map(sum)),
                "{block}, {rounds}"
            );
        }
    }
}
