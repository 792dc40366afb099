//! The project's kernels, at sizes that are tiles and at sizes that are not: those that were
//! recorded.

use blockwise::Device;
use blockwise_ops::reduce::{INTERLEAVED, SINGLE, TREE, TREE_RAW, WIDE};
use blockwise_ops::{ConvMode, Options, conv1d, matmul, reverse, transpose};
use ladder::SHUFFLE;

use crate::data::{matrix, vector};

const GOOD: &str = "a launch that is within every limit";

pub(super) fn run(device: &Device, mut launched: impl FnMut(&str)) {
    for kernel in [&transpose::NAIVE, &transpose::TILED, &transpose::PADDED] {
        let options = Options::of(kernel);
        for (rows, cols) in [(256, 256), (100, 77)] {
            let input = matrix::<f32>(1, rows, cols);
            blockwise_ops::transpose(device, input.view(), &options).expect(GOOD);
            launched(&format!("transpose {kernel} f32 {rows}x{cols}"));
        }
        let input = matrix::<f64>(2, 64, 96);
        blockwise_ops::transpose(device, input.view(), &options).expect(GOOD);
        launched(&format!("transpose {kernel} f64 64x96"));
    }
    for kernel in [&INTERLEAVED, &TREE, &TREE_RAW, &SHUFFLE, &WIDE, &SINGLE] {
        let options = Options {
            kernel: Some(kernel),
            grid_cap: Some(32),
            // As when they were recorded.
            threads: [&WIDE, &SINGLE].contains(&kernel).then_some(512),
            ..Options::default()
        };
        let input = vector::<i64>(4, 33 * 1024);
        blockwise_ops::dot(device, input.view(), input.view(), &options).expect(GOOD);
        launched(&format!("dot {kernel} i64 33792"));
    }
    for kernel in [&matmul::NAIVE, &matmul::TILED] {
        let options = Options::of(kernel);
        for (rows, inner, cols) in [(128, 128, 128), (67, 129, 45)] {
            let (a, b) = (matrix::<f32>(6, rows, inner), matrix::<f32>(7, inner, cols));
            blockwise_ops::matmul(device, a.view(), b.view(), &options).expect(GOOD);
            launched(&format!("matmul {kernel} f32 {rows}x{inner}x{cols}"));
        }
        let (a, b) = (matrix::<f64>(6, 64, 64), matrix::<f64>(7, 64, 64));
        blockwise_ops::matmul(device, a.view(), b.view(), &options).expect(GOOD);
        launched(&format!("matmul {kernel} f64 64x64x64"));
    }
    for kernel in [&conv1d::TILED, &conv1d::DIRECT] {
        let options = Options::of(kernel);
        let (signal, taps) = (vector::<f32>(8, 4096), vector::<f32>(9, 31));
        blockwise_ops::convolve(device, signal.view(), taps.view(), ConvMode::Same, &options)
            .expect(GOOD);
        launched(&format!("conv {kernel} f32 4096 31"));
    }
    let options = Options::of(&conv1d::BLOCK_PER_OUTPUT);
    let (signal, taps) = (vector::<f64>(8, 300), vector::<f64>(9, 10));
    blockwise_ops::convolve(device, signal.view(), taps.view(), ConvMode::Full, &options)
        .expect(GOOD);
    launched("conv block-per-output f64 300 10");
    for kernel in [
        &reverse::STATIC,
        &reverse::STATIC_RAW,
        &reverse::DYNAMIC,
        &reverse::DYNAMIC_RAW,
        &reverse::DIRECT,
    ] {
        let options = Options::of(kernel);
        for len in [4096, 1001] {
            let input = vector::<f32>(10, len);
            blockwise_ops::reverse(device, input.view(), &options).expect(GOOD);
            launched(&format!("reverse {kernel} f32 {len}"));
        }
    }
}
