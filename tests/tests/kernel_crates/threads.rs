//! Threads of a grid and lanes of a warp.

use super::*;
use blockwise_tests::bench::{blocks, threads};

#[test]
fn grid_stride() {
    let n = 5003;
    let x: Vec<f32> = (0..n).map(|i| (i % 101) as f32 / 7.0 - 5.0).collect();
    let y: Vec<f32> = (0..n).map(|i| (i % 13) as f32 * 0.3).collect();
    let expected: Vec<f64> = x
        .iter()
        .zip(&y)
        .map(|(&x, &y)| 2.5 * f64::from(x) + f64::from(y))
        .collect();
    for bench in kernel_crates() {
        for grid in [1, 3, 40] {
            let x_there = upload(bench, &x);
            let mut y_there = upload(bench, &y);
            let arguments = Arguments::new()
                .value(2.5_f32)
                .slice(&x_there)
                .pointer(&mut y_there);
            bench
                .launch("saxpy", blocks(grid, 128), &arguments)
                .unwrap();
            // One fused operation or two: each rounds a number below 64.
            let got = y_there.to_vec().unwrap();
            assert_close(&got, &expected, |_| 64.0 * f64::from(f32::EPSILON));
        }
    }
}

#[test]
fn warp_shuffle_idx() {
    let values: Vec<i32> = (0..64).map(|i: i32| i.wrapping_mul(0x1E37_79B9)).collect();
    let from: Vec<u32> = (0..64).map(|i| i * 5 % 11).collect();
    let expected: Vec<i32> = (0..64)
        .flat_map(|i| {
            let group = i / 8 * 8;
            [values[group], values[group + from[i] as usize % 8]]
        })
        .collect();
    for bench in kernel_crates() {
        let (values, from) = (upload(bench, &values), upload(bench, &from));
        let arguments = Arguments::new().slice(&values).slice(&from);
        let got: Vec<i32> = bench.run("gather_in_eights", blocks(2, 32), arguments, 128);
        assert_same(&got, &expected);
    }
}

#[test]
fn warp_lanes() {
    let expected: Vec<u32> = (0..64)
        .flat_map(|i| [i % 32, if i % 32 % 3 == 1 { 1 } else { 2 }])
        .collect();
    check::<u32, u32>("lanes", threads(64), &[], &expected);
}
