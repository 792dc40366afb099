//! Shared arrays.

use blockwise::Device;
use safe_kernels::arrays::{
    COLS, LEN, ROWS, product, reverse, through_dynamic, through_rings, through_static,
    through_tiles, transpose,
};

use super::{LENGTHS, LINES, device, for_each_block, numbers, threads, values};

/// `output[i]` = element 3 i + 1 of an array of `len` that has the input from the start of i's tile
/// on.
fn rotated(input: &[u32], threads: usize, len: usize) -> Vec<u32> {
    let element = |i: usize| {
        let at = i / threads * threads + (3 * i + 1) % len;
        input.get(at).copied().unwrap_or(7)
    };
    (0..input.len()).map(element).collect()
}

#[test]
fn static_arrays_and_rings() {
    let device = &device();
    for len in LENGTHS {
        let host = numbers(len);
        let input = device.upload(&host).unwrap();
        let mut output = device.zeros(len).unwrap();
        for_each_block!(device, through_static, |kernel, block| {
            kernel.grid(3).launch(&input, &mut output).unwrap();
            assert_eq!(
                values(&output),
                rotated(&host, threads(block), LEN),
                "{block:?}, {len}"
            );
        });
        for_each_block!(device, through_rings, |kernel, block| {
            kernel.grid(2).launch(&input, &mut output).unwrap();
            assert_eq!(
                values(&output),
                rotated(&host, threads(block), LEN),
                "{block:?}, {len}"
            );
        });
    }
}

#[test]
fn dynamic_arrays() {
    let device = &device();
    for (len, grid) in LENGTHS.into_iter().zip(LINES.into_iter().cycle()) {
        let host = numbers(len);
        let input = device.upload(&host).unwrap();
        let mut output = device.zeros(len).unwrap();
        for_each_block!(device, through_dynamic, |kernel, block| {
            kernel.grid(grid).launch(&input, &mut output).unwrap();
            let threads = threads(block);
            let extra = u32::from((threads - 1) as u8);
            let mut expected = rotated(&host, threads, 2 * threads + 3);
            expected.iter_mut().for_each(|x| *x += extra);
            assert_eq!(values(&output), expected, "{block:?}, {grid:?}, {len}");
        });
    }
}

#[test]
fn tiles_in_every_order_and_pitch() {
    let device = &device();
    let mut output = device.zeros(1000).unwrap();
    let element = |i: usize| 4 * (100 * (i % ROWS) + (5 * i + 2) % COLS) as u32;
    for_each_block!(device, through_tiles, |kernel, block| {
        kernel.grid(2).launch(&mut output).unwrap();
        assert_eq!(
            values(&output),
            Vec::from_iter((0..1000).map(element)),
            "{block:?}"
        );
    });
}

#[test]
fn matrices_through_a_tile() {
    fn check<const X: usize, const Y: usize>(device: &Device, block: [u32; 2])
    where
        transpose<X, Y>: cuda_std::launch::Instance,
    {
        for (rows, cols) in [(0, 3), (3, 0), (1, 1), (31, 33), (70, 40), (5, 100)] {
            let host = numbers(rows * cols);
            let input = device.upload(&host).unwrap();
            let mut output = device.zeros(rows * cols).unwrap();
            let kernel = transpose::<X, Y>::on(device)
                .unwrap()
                .block((block[0], block[1]));
            let kernel = kernel.grid((2, 3));
            kernel
                .launch((&input, rows, cols), (&mut output, rows, cols))
                .unwrap();
            let turned = (0..cols).flat_map(|c| (0..rows).map(move |r| (r, c)));
            let expected = turned.map(|(r, c)| host[r * cols + c] + 1);
            assert_eq!(
                values(&output),
                Vec::from_iter(expected),
                "{block:?}, {rows} x {cols}"
            );
        }
    }
    let device = &device();
    check::<32, 8>(device, [32, 8]);
    check::<16, 16>(device, [16, 16]);
    check::<5, 3>(device, [5, 3]);
    check::<1, 1>(device, [1, 1]);
    for block in [[32, 8], [33, 2], [7, 40]] {
        check::<0, 0>(device, block);
    }
}

#[test]
fn a_product_with_one_barrier_a_step() {
    let device = device();
    for (rows, inner, cols) in [(0, 3, 4), (1, 0, 1), (16, 16, 16), (33, 50, 17)] {
        let (a, b) = (numbers(rows * inner), numbers(inner * cols));
        let small = |values: Vec<u32>| Vec::from_iter(values.into_iter().map(|x| x % 1000));
        let (a, b) = (small(a), small(b));
        let (of_a, of_b) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
        let mut c = device.zeros(rows * cols).unwrap();
        let kernel = product::on(&device).unwrap().grid((2, 2));
        kernel
            .launch(
                (&of_a, rows, inner),
                (&of_b, inner, cols),
                (&mut c, rows, cols),
            )
            .unwrap();
        let dot = |i: usize| {
            (0..inner)
                .map(|k| a[i / cols * inner + k] * b[k * cols + i % cols])
                .sum()
        };
        assert_eq!(values(&c), Vec::<u32>::from_iter((0..rows * cols).map(dot)));
    }
}

#[test]
fn a_block_of_any_length() {
    let device = device();
    for len in LENGTHS {
        let mut host = numbers(len);
        let input = device.upload(&host).unwrap();
        let mut output = device.zeros(len).unwrap();
        host.reverse();
        for block in [1, 31, 33, 256, 1024] {
            let kernel = reverse::on(&device).unwrap().grid(2).block(block);
            kernel.launch(&input, &mut output).unwrap();
            assert_eq!(values(&output), host, "{block}");
        }
    }
}
