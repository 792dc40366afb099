//! Products with a short inner extent.

use cuda_std::launch::Shape;
use kernels::matmul::short::{DEPTH, HIGHEST, THREADS, WIDEST, matmul_short};

use super::super::support::Buffer;
use super::super::{Device, behind, memory, refused, shape, starts};

#[test]
fn short_sums_fit_registers() {
    struct Short {
        of: [Buffer<f32>; 3],
        inner: usize,
        wide: usize,
        high: usize,
        shape: Shape,
    }
    let good = || Short {
        of: [memory(20), memory(28), memory(35)],
        inner: 4,
        wide: 4,
        high: 32,
        shape: shape([2, 3, 1], [THREADS, 1, 1]),
    };
    let start = |short: Short| {
        let [a, b, mut c] = short.of;
        let device = Device::default();
        let kernel = matmul_short::<f32>::on(&device)?.shape(short.shape);
        kernel.launch(&a, &b, &mut c, 5, short.inner, 7, short.wide, short.high)
    };
    let with = |change: fn(&mut Short)| {
        let mut short = good();
        change(&mut short);
        start(short)
    };
    starts(start(good()));
    starts(with(|it| it.of = [behind(20), behind(28), behind(35)]));
    starts(with(|it| (it.wide, it.high) = (WIDEST, HIGHEST)));
    starts(with(|it| (it.wide, it.high) = (1, 1)));
    let of_inner = |inner: usize| {
        let mut short = good();
        (short.of[0], short.of[1]) = (memory(5 * inner as u64), memory(7 * inner as u64));
        short.inner = inner;
        start(short)
    };
    starts(of_inner(DEPTH));
    refused(of_inner(DEPTH + 1), "inner <= DEPTH");
    refused(with(|it| it.of[0] = memory(19)), "Some(a.len())");
    refused(with(|it| it.of[1] = memory(27)), "Some(b.len())");
    refused(with(|it| it.of[2] = memory(34)), "Some(c.len())");
    // Without columns there may be any number of rows.
    let none = |rows: usize| {
        let kernel = matmul_short::<f32>::on(&Device::default())?.shape(good().shape);
        let (a, b, mut c) = (memory(0), memory(0), memory(0));
        kernel.launch(&a, &b, &mut c, rows, 0, 0, 4, 32)
    };
    refused(none(5), "!c.is_empty()");
    refused(none(usize::MAX), "!c.is_empty()");
    refused(with(|it| it.wide = 0), "wide");
    refused(with(|it| it.wide = 6), "wide");
    refused(with(|it| it.wide = 2 * WIDEST), "wide");
    refused(with(|it| it.high = 0), "high");
    refused(with(|it| it.high = HIGHEST + 1), "high");
    for (grid, block) in [
        ([2, 3, 2], [THREADS, 1, 1]),
        ([2, 3, 1], [THREADS / 2, 1, 1]),
        ([2, 3, 1], [THREADS, 2, 1]),
        ([2, 3, 1], [THREADS, 1, 2]),
    ] {
        let mut short = good();
        short.shape = shape(grid, block);
        refused(start(short), "THREADS");
    }
}
