//! What the target, its address spaces and the attributes of functions are.

use super::*;
use blockwise_tests::bench::{blocks, threads};

#[test]
fn pointer_conversions() {
    let input: Vec<u32> = (0..32).map(|i| i * i + 40).collect();
    let expected: Vec<u32> = (0..32).map(|t| 3 * input[(t + 1) % 32]).collect();
    for bench in kernel_crates() {
        let there = upload(bench, &input);
        let arguments = Arguments::new().address(&there);
        let got: Vec<u32> = bench.run("pointer_conversions", threads(32), arguments, 32);
        assert_same(&got, &expected);
    }
}

#[test]
fn compute_capability() {
    for bench in kernel_crates() {
        let got: Vec<u32> = bench.run("built_for", threads(1), Arguments::new(), 4);
        assert_same(&got, &[bench.target, bench.target, 0, 1]);
    }
}

#[test]
fn clock() {
    check::<u32, u32>("slept", blocks(2, 32), &[], &[1; 64]);
}

#[test]
fn kernel_hints() {
    let expected: Vec<u32> = (0..96).map(|i| 3 * i).collect();
    check::<u32, u32>("hinted_1d", blocks(3, 32), &[], &expected);
    let launch = Shape::new([2, 3, 1], [4, 2, 1]);
    let expected: Vec<i32> = (0..48).map(|i| i % 8 - i / 8).collect();
    check::<u32, i32>("hinted_2d", launch, &[], &expected);
}

#[test]
fn gpu_only_functions() {
    let values: Vec<u32> = (0..64).map(|i| i * i / 3).collect();
    let expected: Vec<u32> = (0..64)
        .map(|i| values[i / 32 * 32..i].iter().map(|value| value % 2).sum())
        .collect();
    check("odd_before", threads(64), &[&values], &expected);
}

#[test]
fn visible_functions() {
    let expected: Vec<u32> = (1..=64)
        .map(|start| {
            (0..3).fold(start, |mut x: u32, _| {
                x ^= x << 13;
                x ^= x >> 17;
                x ^ x << 5
            })
        })
        .collect();
    check::<u32, u32>("xorshift_numbers", blocks(2, 32), &[], &expected);
    for file in kernel_crates_ptx() {
        assert!(file.text.contains(".visible .func") && file.text.contains("xorshift_step("));
    }
}
