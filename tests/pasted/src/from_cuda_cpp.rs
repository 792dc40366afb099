//! The kernels of the book's chapter "From CUDA C++": both languages give the same results, and
//! both are clean under the detectors.

use blockwise::{Device, Result};
use ptx_emulator::testing::{Checked, Launch};

use crate::from_cuda::dot_of_warps::dot;
use crate::from_cuda::{histogram, multiply, saxpy_on, smooth, softmax};

/// What NVRTC makes of the kernels in CUDA C++, `bench/twins/from_cuda.cu`.
const PTX: &str = include_str!("../../fixtures/from_cuda.ptx");

fn values(len: usize, seed: usize) -> Vec<f32> {
    (0..len)
        .map(|i| ((i + seed) * 37 % 101) as f32 - 50.0)
        .collect()
}

fn cpp<'a>(
    kernel: &str,
    grid: impl Into<ptx_emulator::testing::Extents>,
    block: impl Into<ptx_emulator::testing::Extents>,
) -> Launch<'a> {
    Launch::of(PTX)
        .unwrap()
        .kernel(kernel)
        .grid(grid)
        .block(block)
}

fn clean(checked: std::result::Result<Checked, ptx_emulator::testing::Refused>) {
    checked.unwrap().assert_clean();
}

/// One element, about one block of 256, and a few blocks.
const LENGTHS: [usize; 6] = [1, 255, 256, 257, 600, 1009];

#[test]
fn saxpy_is_the_same() -> Result<()> {
    for n in LENGTHS {
        let (x, mut y) = (values(n, 3), values(n, 5));
        let rust = saxpy_on(&Device::checked(), 2.5, &x, &y)?;
        let launch = cpp("saxpy", n.div_ceil(256) as u32, 256);
        clean(
            launch
                .value(2.5_f32)
                .input(&x)
                .inout(&mut y)
                .value(n as u64)
                .check(),
        );
        assert_eq!(rust, y, "{n}");
    }
    Ok(())
}

#[test]
fn smooth_is_the_same() -> Result<()> {
    let device = Device::checked();
    for n in LENGTHS {
        let (x, mut y) = (values(n, 3), vec![0.0_f32; n]);
        let (of_rust, mut rust) = (device.upload(&x)?, device.zeros::<f32>(n)?);
        smooth::on(&device)?.grid(2).launch(&of_rust, &mut rust)?;
        clean(
            cpp("smooth", 2, 256)
                .input(&x)
                .output(&mut y)
                .value(n as u64)
                .check(),
        );
        assert_eq!(rust.to_vec()?, y, "{n}");
    }
    Ok(())
}

#[test]
fn histogram_is_the_same() -> Result<()> {
    let device = Device::checked();
    for n in LENGTHS {
        let bytes: Vec<u8> = (0..n).map(|i| (i * i % 251) as u8).collect();
        let (of_rust, mut rust) = (device.upload(&bytes)?, device.zeros::<u32>(256)?);
        histogram::on(&device)?
            .grid(2)
            .launch(&of_rust, &mut rust)?;
        let mut counts = vec![0_u32; 256];
        clean(
            cpp("histogram", 2, 256)
                .input(&bytes)
                .value(n as u64)
                .inout(&mut counts)
                .check(),
        );
        assert_eq!(rust.to_vec()?, counts, "{n}");
        assert_eq!(counts.iter().sum::<u32>() as usize, n);
    }
    Ok(())
}

#[test]
fn dot_is_the_same() -> Result<()> {
    let device = Device::checked();
    for n in LENGTHS {
        // Small integers: sums are exact in any order.
        let (x, y) = (values(n, 3), values(n, 5));
        let (a, b) = (device.upload(&x)?, device.upload(&y)?);
        let (mut rust, mut total) = (device.zeros::<f32>(1)?, vec![0.0_f32]);
        dot::on(&device)?.grid(2).launch(&a, &b, &mut rust)?;
        clean(
            cpp("dot", 2, 128)
                .input(&x)
                .input(&y)
                .value(n as u64)
                .inout(&mut total)
                .check(),
        );
        let exact: f32 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        assert_eq!(
            (rust.to_vec()?, &*total),
            (vec![exact], &[exact][..]),
            "{n}"
        );
    }
    Ok(())
}

#[test]
fn multiply_is_the_same() -> Result<()> {
    let device = Device::checked();
    for [rows, inner, cols] in [[1, 1, 1], [16, 16, 16], [17, 5, 33], [31, 40, 15]] {
        let (a, b) = (values(rows * inner, 3), values(inner * cols, 5));
        let (of_a, of_b) = (device.upload(&a)?, device.upload(&b)?);
        let mut rust = device.zeros::<f32>(rows * cols)?;
        let grid = (cols.div_ceil(16) as u32, rows.div_ceil(16) as u32);
        multiply::on(&device)?.grid(grid).launch(
            (&of_a, rows, inner),
            (&of_b, inner, cols),
            (&mut rust, rows, cols),
        )?;
        let mut c = vec![0.0_f32; rows * cols];
        let launch = cpp("multiply", grid, (16, 16))
            .input(&a)
            .input(&b)
            .output(&mut c);
        let sizes = [rows, inner, cols].map(|size| size as u64);
        clean(
            launch
                .value(sizes[0])
                .value(sizes[1])
                .value(sizes[2])
                .check(),
        );
        assert_eq!(rust.to_vec()?, c, "{rows} x {inner} x {cols}");
    }
    Ok(())
}

#[test]
fn softmax_is_the_same_within_roundings() -> Result<()> {
    let device = Device::checked();
    for [rows, cols] in [[1, 1], [3, 255], [2, 256], [5, 600]] {
        let x: Vec<f32> = values(rows * cols, 3).iter().map(|x| x / 10.0).collect();
        let (of_rust, mut rust) = (device.upload(&x)?, device.zeros::<f32>(rows * cols)?);
        softmax::on(&device)?
            .grid((1, 2))
            .launch((&of_rust, rows, cols), (&mut rust, rows, cols))?;
        let mut y = vec![0.0_f32; rows * cols];
        let launch = cpp("softmax", (1, 2), 256).input(&x).output(&mut y);
        clean(launch.value(rows as u64).value(cols as u64).check());
        for ((row, rust), y) in
            (x.chunks(cols).zip(rust.to_vec()?.chunks(cols))).zip(y.chunks(cols))
        {
            let sum: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
            for (i, x) in row.iter().enumerate() {
                let exact = f64::from(*x).exp() / sum;
                for got in [rust[i], y[i]] {
                    let error = (f64::from(got) - exact).abs();
                    // The rounding of each exp, twice, of some 10 levels of additions, and of the
                    // division.
                    assert!(error <= 2e-6 * exact, "{got} for {exact}, {rows} x {cols}");
                }
            }
        }
    }
    Ok(())
}
