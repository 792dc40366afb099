//! Memory of a block and of a thread, and barriers.

use super::*;
use blockwise_tests::bench::{blocks, threads};

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
