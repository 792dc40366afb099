//! Memory of a block and of a thread, and barriers.

use super::*;
use blockwise_tests::bench::{blocks, threads};

#[test]
fn barriers() {
    let values: Vec<i32> = (0..128 * 5).map(|i| i * i - 77).collect();
    let reversed: Vec<i32> = values
        .chunks(128)
        .flat_map(|block| block.iter().rev().copied())
        .collect();
    check_changed("reverse_blocks", blocks(5, 128), &values, &reversed);
}

#[test]
fn barrier_votes() {
    let mut values: Vec<f32> = (0..96 * 4 - 5).map(|i| (i % 96) as f32).collect();
    values[96..192].fill(100.0);
    values[192..288].fill(-1.0);
    values[200] = f32::NAN; // is not above any number
    for bench in kernel_crates() {
        let input = upload(bench, &values);
        let arguments = Arguments::new().slice(&input).value(70.0_f32);
        let got: Vec<u32> = bench.run("block_votes_above", blocks(4, 96), arguments, 12);
        // The last block lacks five values, which count as not above.
        assert_same(&got, &[25, 0, 1, 96, 1, 1, 0, 0, 0, 20, 0, 1]);
    }
}

#[test]
fn shared_static() {
    let values: Vec<f64> = (0..64 * 3).map(|i| f64::from(i * 37 % 64) - 20.5).collect();
    let expected: Vec<f64> = values
        .chunks(64)
        .flat_map(|ring| {
            (0..64).map(|t| (ring[(t + 63) % 64] + ring[t] + ring[(t + 1) % 64]) / 3.0)
        })
        .collect();
    check("ring_means", blocks(3, 64), &[&values], &expected);
}

#[test]
fn shared_array() {
    let values: Vec<u64> = (0..96).map(|i| i << 33 | (i * 5 + 1)).collect();
    let weights: Vec<u32> = (0..96).map(|i| 3 * i + 2).collect();
    let expected: Vec<u64> = (0..96)
        .map(|i| {
            let (block, t) = (i / 32 * 32, i % 32);
            let weight = if t == 31 { 7 } else { weights[i + 1] };
            values[block + 31 - t] * u64::from(weight)
        })
        .collect();
    for bench in kernel_crates() {
        let (values, weights) = (upload(bench, &values), upload(bench, &weights));
        let arguments = Arguments::new().slice(&values).slice(&weights);
        let got: Vec<u64> = bench.run("two_shared_arrays", blocks(3, 32), arguments, 96);
        assert_same(&got, &expected);
    }
}

#[test]
fn dynamic_shared() {
    for (block, by) in [(37_u32, 5_u32), (256, 255), (1, 0)] {
        let values: Vec<f32> = (0..3 * block).map(|i| i as f32 - 0.5).collect();
        let expected: Vec<f32> = values
            .chunks(block as usize)
            .flat_map(|part| {
                let mut part = part.to_vec();
                part.rotate_right(by as usize);
                part
            })
            .collect();
        for bench in kernel_crates() {
            let mut data = upload(bench, &values);
            let arguments = Arguments::new().value(by).pointer(&mut data);
            let launch = blocks(3, block).shared(4 * block);
            bench.launch("rotate_blocks", launch, &arguments).unwrap();
            assert_same(&data.to_vec().unwrap(), &expected);
        }
    }
}

#[test]
fn constant_memory() {
    let table = [
        [1.0, -2.0, 0.5],
        [0.0, 3.0, 0.25],
        [-1.5, 0.0, 2.0],
        [4.0, 4.0, -4.0],
    ];
    // Multiples of 1/8: all arithmetic is exact.
    let x: Vec<f32> = (0..101).map(|i| i as f32 / 8.0 - 6.0).collect();
    let polynomial = |(i, &x): (usize, &f32)| {
        let [a, b, c]: [f32; 3] = table[i % 4];
        (c * x + b) * x + a
    };
    let expected: Vec<f32> = x.iter().enumerate().map(polynomial).collect();
    check("constant_polynomials", blocks(2, 64), &[&x], &expected);
}

#[test]
fn local_arrays() {
    let mut numbers: Vec<u32> = (0..333_u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
    numbers[7] = 1_111_111_111;
    let expected: Vec<u64> = numbers
        .iter()
        .map(|number| {
            let digits = number.to_string();
            digits.bytes().map(|digit| 1 << (4 * (digit - b'0'))).sum()
        })
        .collect();
    check("digit_counts", blocks(3, 128), &[&numbers], &expected);
}

#[test]
fn shared_sizes() {
    for bytes in [0, 192, 4096] {
        for bench in kernel_crates() {
            let launch = threads(32).shared(bytes);
            let got: Vec<u32> = bench.run("shared_bytes", launch, Arguments::new(), 2);
            assert_same(&got, &[bytes, 1]);
        }
    }
}

#[test]
fn async_copies() {
    for tiles in [1, 2, 7] {
        let input: Vec<f32> = (0..64 * tiles).map(|i| (i * 31 % 257) as f32).collect();
        let expected: Vec<f32> = (0..64)
            .map(|t| input.chunks(64).map(|tile| tile[63 - t]).sum())
            .collect();
        for bench in kernel_crates() {
            let there = upload(bench, &input);
            let arguments = Arguments::new().address(&there).value(tiles as u64);
            let got: Vec<f32> = bench.run("pipelined_sums", threads(64), arguments, 64);
            assert_same(&got, &expected);
        }
    }
}
