//! The Mandelbrot set: threads of one warp loop different numbers of times.

use cuda_std::prelude::*;

/// The number of steps, at most `limit`, that each pixel's orbit stays within radius 2. In f64 with
/// fused multiply-adds: every step has the host's bits.
#[kernel]
pub unsafe fn mandelbrot(width: u32, height: u32, limit: u32, out: *mut u32) {
    let at = thread::index_2d();
    if at.x >= width || at.y >= height {
        return;
    }
    let a = (f64::from(at.x) / f64::from(width)).mul_add(3.0, -2.0);
    let b = (f64::from(at.y) / f64::from(height)).mul_add(2.0, -1.0);
    let (mut x, mut y, mut steps) = (0.0_f64, 0.0_f64, 0);
    while steps < limit && x.mul_add(x, y * y) <= 4.0 {
        (x, y) = (x.mul_add(x, -(y * y)) + a, (2.0 * x).mul_add(y, b));
        steps += 1;
    }
    *out.add((at.y * width + at.x) as usize) = steps;
}
