//! `GpuFloat`.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

use crate::put;

macro_rules! float_functions {
    ($name:ident, $t:ty) => {
        /// One thread for each `x[i]`, `y[i]`; 13 columns: floor, ceil, round, round_ties_even,
        /// trunc, fract, abs, copysign, mul_add, sqrt, recip, min, max.
        #[kernel]
        pub unsafe fn $name(x: &[$t], y: &[$t], out: *mut $t) {
            let row = thread::index_1d();
            if row as usize >= x.len() {
                return;
            }
            let (x, y) = (x[row as usize], y[row as usize]);
            let columns = [
                GpuFloat::floor(x),
                GpuFloat::ceil(x),
                GpuFloat::round(x),
                GpuFloat::round_ties_even(x),
                GpuFloat::trunc(x),
                GpuFloat::fract(x),
                GpuFloat::abs(x),
                GpuFloat::copysign(x, y),
                GpuFloat::mul_add(x, y, x),
                GpuFloat::sqrt(x),
                GpuFloat::recip(x),
                GpuFloat::min(x, y),
                GpuFloat::max(x, y),
            ];
            for (column, value) in (0..).zip(columns) {
                // SAFETY: the crate's rule.
                unsafe { put(out, row, 13, column, value) };
            }
        }
    };
}
float_functions!(float_functions_f32, f32);
float_functions!(float_functions_f64, f64);
