//! Every map and layout of outputs, and folds over inputs.

use cuda_std::block::{ColMajor, RowMajor};
use safe_kernels::outputs::{folds, layouts, maps, windows};

use super::{LENGTHS, LINES, device, for_each_block, numbers, threads, values};

#[test]
fn each_map_writes_each_element() {
    let device = &device();
    for (len, grid) in LENGTHS.into_iter().zip(LINES.into_iter().cycle()) {
        let blocks = grid as usize;
        for_each_block!(device, maps, |kernel, block| {
            let mut strided = device.zeros(len).unwrap();
            let mut runs = device.zeros(len).unwrap();
            let mut from_end = device.zeros(len).unwrap();
            let mut per_block = device.zeros(blocks + 2).unwrap();
            // One element per block; the two after them are not part of the launch.
            let of_blocks = per_block.view_mut(..blocks);
            let kernel = kernel.grid(grid);
            kernel
                .launch(&mut strided, &mut runs, &mut from_end, of_blocks)
                .unwrap();
            let (n, threads) = (len, threads(block));
            assert_eq!(values(&strided), Vec::from_iter(0..n as u32));
            assert_eq!(values(&runs), Vec::from_iter((0..n as u64).map(|i| 2 * i)));
            // Tiles are counted from the array's end: the number of elements after i in its tile.
            let expected = (0..n).map(|i| ((n - 1 - i) % threads) as u32);
            assert_eq!(
                values(&from_end),
                Vec::from_iter(expected),
                "{block:?}, {grid:?}, {len}"
            );
            assert_eq!(
                values(&per_block)[..blocks],
                *Vec::from_iter(0..blocks as u32)
            );
        });
    }
}

#[test]
fn a_launch_with_fewer_elements_than_blocks_is_refused() {
    let device = device();
    let mut empty = device.zeros::<u32>(0).unwrap();
    let (mut runs, mut from_end) = (device.zeros(0).unwrap(), device.zeros(0).unwrap());
    let mut per_block = device.zeros(5).unwrap();
    let kernel = maps::<31, 1, 1>::on(&device).unwrap().grid(6);
    let result = kernel.launch(&mut empty, &mut runs, &mut from_end, &mut per_block);
    let text = result.unwrap_err().to_string();
    assert!(text.contains("per_block"), "{text}");
}

#[test]
fn matrices_in_every_layout() {
    let device = device();
    for (rows, cols) in [(0, 3), (3, 0), (1, 1), (8, 12), (9, 13), (30, 50)] {
        macro_rules! check {
            ($([$x:literal, $y:literal] $layout:ident $threads:ident by $block:expr;)*) => {$(
                let mut output = device.zeros(rows * cols).unwrap();
                let kernel = layouts::<$x, $y, $layout, $threads>::on(&device).unwrap();
                let kernel = kernel.grid((3, 2)).block($block);
                kernel.launch((&mut output, rows, cols)).unwrap();
                let by_rows = stringify!($layout) == "RowMajor";
                let element = |i: usize| {
                    let (r, c) = if by_rows { (i / cols, i % cols) } else { (i % rows, i / rows) };
                    (1000 * r + c) as u32
                };
                assert_eq!(values(&output), Vec::from_iter((0..rows * cols).map(element)));
            )*};
        }
        check! {
            [0, 0] RowMajor RowMajor by (7, 40);
            [0, 0] ColMajor ColMajor by (1, 3);
            [0, 0] RowMajor ColMajor by (16, 16);
            [0, 0] ColMajor RowMajor by (32, 1);
            [5, 3] RowMajor RowMajor by (5, 3);
            [5, 3] ColMajor ColMajor by (5, 3);
            [5, 3] RowMajor ColMajor by (5, 3);
            [5, 3] ColMajor RowMajor by (5, 3);
            [0, 3] RowMajor RowMajor by (6, 3);
            [5, 0] ColMajor ColMajor by (5, 8);
        }
    }
}

#[test]
fn folds_over_the_grid_cover_the_input() {
    let device = &device();
    for (len, grid) in LENGTHS.into_iter().zip(LINES.into_iter().cycle()) {
        let (a, b) = (numbers(len), numbers(len + 3));
        let (of_a, of_b) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
        for_each_block!(device, folds, |kernel, block| {
            let mut sums = device.upload(&[0_u64; 2]).unwrap();
            kernel.grid(grid).launch(&of_a, &of_b, &mut sums).unwrap();
            let sum: u64 = a.iter().map(|&a| u64::from(a)).sum();
            let dot: u64 = a
                .iter()
                .zip(&b)
                .map(|(&a, &b)| u64::from(a) * u64::from(b))
                .sum();
            assert_eq!(values(&sums), [sum, dot], "{block:?}, {grid:?}, {len}");
        });
    }
}

#[test]
fn windows_and_columns() {
    let device = device();
    for (samples, taps) in [(1, 1), (5, 3), (3, 5), (100, 70), (64, 32)] {
        let signal = Vec::from_iter(numbers(samples).into_iter().map(|x| x % 100));
        let weights = Vec::from_iter((0..taps as u32).map(|k| k + 1));
        let (rows, cols) = (samples, taps);
        let a = numbers(rows * cols);
        let (on_x, on_k) = (
            device.upload(&signal).unwrap(),
            device.upload(&weights).unwrap(),
        );
        let of_a = device.upload(&a).unwrap();
        let len = samples + taps - 1;
        let mut output = device.zeros(len).unwrap();
        let mut sums = device.zeros(cols).unwrap();
        let kernel = windows::on(&device).unwrap().grid(2).block(33);
        kernel
            .launch(&on_x, &on_k, &mut output, (&of_a, rows, cols), &mut sums)
            .unwrap();
        let convolved = (0..len).map(|i| {
            let meets = |k: &usize| i.checked_sub(*k).is_some_and(|at| at < samples);
            (0..taps)
                .filter(meets)
                .map(|k| weights[k] * signal[i - k])
                .sum::<u32>()
        });
        assert_eq!(values(&output), Vec::from_iter(convolved));
        let columns = (0..cols).map(|c| (0..rows).map(|r| a[r * cols + c]).sum::<u32>());
        assert_eq!(values(&sums), Vec::from_iter(columns));
    }
}
