//! Where a thread stands.

use super::*;
use blockwise_tests::bench::blocks;

#[test]
fn thread_index_1d() {
    for bench in kernel_crates() {
        for n in [1, 31, 1000, 1031] {
            let a: Vec<f32> = (0..n).map(|i| i as f32 * 0.5 - 100.0).collect();
            let b: Vec<f32> = (0..n).map(|i| 3.25 - (i % 17) as f32).collect();
            let sums: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
            let launch = blocks((n as u32).div_ceil(128), 128);
            let got: Vec<f32> = results(bench, "vector_add", launch, &[&a, &b], n);
            assert_same(&got, &sums);
        }
    }
}

#[test]
fn thread_index_2d() {
    let (width, height) = (37_u32, 19_u32);
    let launch = Shape::new([width.div_ceil(16), height.div_ceil(8), 1], [16, 8, 1]);
    for bench in kernel_crates() {
        let arguments = Arguments::new().value(width).value(height);
        let count = (width * height) as usize;
        let got: Vec<u32> = bench.run("pixel_numbers", launch, arguments, count);
        for (at, got) in (0..).zip(got) {
            let (x, y) = (at % width, at / width);
            let corner = u32::from(x % 16 == 0 && y % 8 == 0);
            assert_eq!(got, corner << 31 | (1000 * y + x), "pixel {x}, {y}");
        }
    }
}

#[test]
fn thread_index_3d() {
    let (width, height, depth) = (11_u32, 7_u32, 5_u32);
    let launch = Shape::new([3, 4, 2], [4, 2, 3]);
    for bench in kernel_crates() {
        let arguments = Arguments::new().value(width).value(height).value(depth);
        let count = (width * height * depth) as usize;
        let got: Vec<u32> = bench.run("voxel_numbers", launch, arguments, count);
        for (at, got) in (0..).zip(got) {
            let (x, y, z) = (at % width, at / width % height, at / width / height);
            assert_eq!(got, x + 100 * y + 10_000 * z, "voxel {x}, {y}, {z}");
        }
    }
}

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
