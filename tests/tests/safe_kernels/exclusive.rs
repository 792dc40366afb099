//! Compaction, scatter, and a thread's own element.

use blockwise::{Error, Permutation};
use blockwise_tests::devices::devices;
use ptx_emulator::{Finding, Rule};
use safe_kernels::exclusive::{
    compact, compact_and_panic, divisors, greedy, own_elements, scattered,
};

use super::{LENGTHS, LINES, device, numbers, threads, values};

/// A launch whose result depends on the order of threads, and has no other flaw. In memory is that
/// of the emulator's own order.
#[track_caller]
fn in_any_order(result: blockwise::Result<()>) {
    match result {
        Ok(()) => {}
        Err(Error::Findings { report, text }) => {
            let is_order = |finding: &Finding| finding.rule == Rule::OrderDependent;
            assert!(report.findings.iter().all(is_order), "{text}");
        }
        Err(error) => panic!("{error}"),
    }
}

fn sorted(mut values: Vec<u32>) -> Vec<u32> {
    values.sort_unstable();
    values
}

/// The numbers below `len` in another order.
fn order(len: usize) -> Vec<u32> {
    let mut order = Vec::from_iter(0..len as u32);
    order.sort_by_key(|i| i.wrapping_mul(0x9E37_79B9));
    order
}

#[test]
fn compaction_keeps_each_element_once() {
    let device = &device();
    macro_rules! check {
        ($([$x:literal $y:literal $z:literal $items:literal] by $block:expr;)*) => {$(
            for (len, grid) in LENGTHS.into_iter().zip(LINES.into_iter().cycle()) {
                let host = numbers(len);
                let x = device.upload(&host).unwrap();
                for keep in [1, 3, 70_000] {
                    let mut kept = device.filled::<u32>(len, 0xFF).unwrap();
                    let mut count = device.zeros(1).unwrap();
                    let kernel = compact::<$x, $y, $z, $items>::on(device).unwrap();
                    let kernel = kernel.grid(grid).block($block);
                    in_any_order(kernel.launch(&x, keep, (&mut kept, &mut count)));
                    let count = values(&count)[0] as usize;
                    let expected = host.iter().copied().filter(|x| x % keep == 0);
                    assert_eq!(
                        sorted(values(&kept)[..count].to_vec()),
                        sorted(expected.collect()),
                        "{:?}, {grid}, {len}, {keep}", $block
                    );
                    // Elements that no thread appended keep their values.
                    assert!(values(&kept)[count..].iter().all(|&x| x == u32::MAX));
                }
            }
        )*};
    }
    check! {
        [0 0 0 1] by [100, 2, 1];
        [0 0 0 1] by [31, 1, 1];
        [1 1 1 3] by [1, 1, 1];
        [31 1 1 2] by [31, 1, 1];
        [33 1 1 32] by [33, 1, 1];
        [256 1 1 8] by [256, 1, 1];
        [1024 1 1 1] by [1024, 1, 1];
        [16 16 1 4] by [16, 16, 1];
        [7 5 3 5] by [7, 5, 3];
    }
}

#[test]
fn what_there_is_no_room_for_is_counted_and_not_stored() {
    let device = &device();
    let host = Vec::from_iter(1..=1000_u32);
    let x = device.upload(&host).unwrap();
    for room in [0, 1, 999] {
        let mut kept = device.zeros::<u32>(room + 5).unwrap();
        let mut count = device.zeros(1).unwrap();
        let kernel = compact::<256, 1, 1, 8>::on(device).unwrap().grid(3);
        let part = kept.view_mut(..room);
        in_any_order(kernel.launch(&x, 1, (part, &mut count)));
        assert_eq!(values(&count), [1000]);
        let stored = values(&kept);
        assert_eq!(stored[room..], [0; 5]);
        let mut stored = sorted(stored[..room].to_vec());
        stored.dedup();
        assert!(stored.len() == room && stored.iter().all(|x| host.contains(x)));
    }
}

#[test]
fn a_count_that_is_not_reset_continues() {
    let device = &device();
    let (x, mut kept) = (device.upload(&[1, 2, 3]).unwrap(), device.zeros(7).unwrap());
    let mut count = device.zeros(1).unwrap();
    let kernel = compact::<31, 1, 1, 2>::on(device).unwrap().grid(1);
    for _ in 0..2 {
        in_any_order(kernel.launch(&x, 1, (&mut kept, &mut count)));
    }
    assert_eq!(values(&count), [6]);
    let kept = values(&kept);
    assert_eq!(sorted(kept[..3].to_vec()), [1, 2, 3]);
    assert_eq!(sorted(kept[3..].to_vec()), [0, 1, 2, 3]);
}

/// On a GPU the other threads go on, and get numbers of their own; on the emulator the launch ends.
/// Numbers that were taken before may stay unused.
#[test]
fn compaction_with_threads_that_panic_stores_no_element_twice() {
    for device in devices() {
        for stop in [3, 5, 64, 97, 1000] {
            let host = Vec::from_iter(1..=1000_u32);
            let x = device.upload(&host).unwrap();
            let mut kept = device.zeros::<u32>(host.len()).unwrap();
            let mut count = device.zeros::<u64>(1).unwrap();
            let kernel = compact_and_panic::on(device).unwrap().grid(2);
            let launched = kernel.launch(&x, stop, (&mut kept, &mut count));
            let result = launched.and_then(|()| device.synchronize());
            assert!(matches!(result, Err(Error::Panicked { .. })), "{result:?}");
            let mut stored = sorted(values(&kept));
            stored.retain(|x| *x != 0);
            let mut once = stored.clone();
            once.dedup();
            assert_eq!(stored, once, "{stop}");
            let is_kept = |x: &u32| x.is_multiple_of(2) && !x.is_multiple_of(stop);
            assert!(stored.iter().all(is_kept), "{stop}: {stored:?}");
        }
    }
}

#[test]
fn ranges_are_each_threads_own() {
    let device = &device();
    let host = Vec::from_iter((0..150).map(|i| i % 31 + 1));
    let of = |n: u32| (2..=n).filter(move |d| n.is_multiple_of(*d));
    let total = host.iter().map(|&n| of(n).count() + 1).sum::<usize>();
    let x = device.upload(&host).unwrap();
    for room in [total, total - 1, 3] {
        let mut starts = device.zeros(host.len()).unwrap();
        let mut found = device.filled::<u32>(room, 0xFF).unwrap();
        let mut count = device.zeros(1).unwrap();
        let kernel = divisors::on(device).unwrap().grid(2).block(33);
        in_any_order(kernel.launch(&x, &mut starts, (&mut found, &mut count)));
        assert_eq!(values(&count), [total as u64]);
        let (starts, found) = (values(&starts), values(&found));
        for (&n, start) in host.iter().zip(starts) {
            let divisors = Vec::from_iter(of(n));
            match start {
                u32::MAX => assert!(room < total),
                start => assert_eq!(found[start as usize..][..divisors.len()], divisors),
            }
        }
        if room == total {
            assert_eq!(found.iter().filter(|&&x| x == 0).count(), host.len());
        }
    }
}

#[test]
fn a_count_cannot_wrap() {
    let device = &device();
    for each in [11, usize::MAX / 2, usize::MAX] {
        for start in [0, 5, u64::MAX / 2, u64::MAX - 3] {
            let mut found = device.zeros::<u32>(10).unwrap();
            let mut count = device.upload(&[start]).unwrap();
            let kernel = greedy::on(device).unwrap().grid(2).block(32);
            kernel.launch((&mut found, &mut count), each).unwrap();
            assert_eq!(values(&found), [0; 10], "{each} {start}");
            // From far beyond the end, it stays there or begins anew, once.
            assert!(values(&count)[0] < (1 << 62) + 3 * 64 * (1 << 42));
        }
    }
}

#[test]
fn a_permutation_has_each_place_once() {
    let device = &device();
    for (len, grid) in LENGTHS.into_iter().zip(LINES.into_iter().cycle()) {
        let host = order(len);
        let places = Permutation::new(device.upload(&host).unwrap()).unwrap();
        super::for_each_block!(device, scattered, |kernel, block| {
            let mut a = device.filled::<u32>(len, 0xFF).unwrap();
            let mut b = device.filled::<u64>(len, 0xFF).unwrap();
            let mut c = device.zeros::<[u32; 3]>(len).unwrap();
            let (of_a, of_b) = ((&mut a, &places), (&mut b, &places));
            let kernel = kernel.grid(grid);
            kernel.launch(of_a, of_b, (&mut c, &places)).unwrap();
            let (a, b, c) = (values(&a), values(&b), values(&c));
            let launched = threads(block) * grid as usize;
            for (i, &place) in host.iter().enumerate() {
                let place = place as usize;
                assert_eq!((a[place], b[place]), (i as u32, 2 * i as u64));
                let own = if i < launched { i as u32 } else { 0 };
                assert_eq!(c[place], [0, own, 0], "{block:?}, {grid}, {len}");
            }
        });
    }
}

#[test]
fn a_permutation_of_another_length_is_refused() {
    let device = &device();
    let places = |len| Permutation::new(device.upload(&order(len)).unwrap()).unwrap();
    let (right, wrong) = (places(40), [places(39), places(41), places(0)]);
    let kernel = scattered::<31, 1, 1>::on(device).unwrap().grid(1);
    for wrong in &wrong {
        let (mut a, mut b) = (device.zeros(40).unwrap(), device.zeros(40).unwrap());
        let mut c = device.zeros(40).unwrap();
        let result = kernel.launch((&mut a, &right), (&mut b, wrong), (&mut c, &right));
        let text = result.unwrap_err().to_string();
        assert!(
            text.contains("b.len() == its permutation's length"),
            "{text}"
        );
    }
}

#[test]
fn a_thread_per_element_needs_no_loop() {
    let device = &device();
    for len in LENGTHS {
        let x = device.upload(&numbers(len)).unwrap();
        let mut y = device.upload(&vec![1_u32; len]).unwrap();
        let kernel = own_elements::on(device).unwrap();
        kernel
            .clone()
            .covering(len)
            .unwrap()
            .launch(&x, &mut y)
            .unwrap();
        let sum = Vec::from_iter(numbers(len).into_iter().map(|x| x + 1));
        assert_eq!(values(&y), sum);
        // Fewer threads have their elements, and leave the others alone.
        let result = kernel.grid((1, 2)).block(8).launch(&x, &mut y);
        assert!(result.unwrap_err().to_string().contains("grid.y == 1"));
    }
    let (x, mut y) = (device.upload(&[5; 9]).unwrap(), device.zeros(9).unwrap());
    let kernel = own_elements::on(device).unwrap().grid(2).block(3);
    kernel.launch(&x, &mut y).unwrap();
    assert_eq!(values(&y), [5, 5, 5, 5, 5, 5, 0, 0, 0]);
}
