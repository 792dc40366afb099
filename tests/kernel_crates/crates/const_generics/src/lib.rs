//! Generics over types and sizes.

use core::ops::{Add, Mul};
use cuda_std::prelude::*;

#[derive(Clone, Copy)]
struct Matrix<T, const N: usize>([[T; N]; N]);

impl<T: Copy + Default + Add<Output = T> + Mul<Output = T>, const N: usize> Mul for Matrix<T, N> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Matrix(core::array::from_fn(|row| {
            core::array::from_fn(|column| {
                (0..N).fold(T::default(), |sum, k| {
                    sum + self.0[row][k] * other.0[k][column]
                })
            })
        }))
    }
}

unsafe fn cube<T, const N: usize>(matrices: *mut [[T; N]; N])
where
    T: Copy + Default + Add<Output = T> + Mul<Output = T>,
{
    let place = matrices.add(thread::index_1d() as usize);
    let matrix = Matrix(*place);
    *place = (matrix * matrix * matrix).0;
}

/// The third power of each 2×2 matrix of integers.
#[kernel]
pub unsafe fn cubes_2(matrices: *mut [[i32; 2]; 2]) {
    cube(matrices)
}

/// The third power of each 3×3 matrix of floats.
#[kernel]
pub unsafe fn cubes_3(matrices: *mut [[f64; 3]; 3]) {
    cube(matrices)
}
