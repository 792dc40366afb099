//! The matrix product's reference.

use ndarray::{Array2, ArrayView2, Ix2};

use super::{Expected, Precision, Sum};

/// C = A·B for results in `T`. The caller has checked that A's columns are B's rows.
pub fn matmul<T: Precision>(a: ArrayView2<'_, T>, b: ArrayView2<'_, T>) -> Expected<Ix2> {
    let (rows, inner, cols) = (a.nrows(), a.ncols().min(b.nrows()), b.ncols());
    let mut sums = Array2::from_elem((rows, cols), Sum::default());
    // Row by row of B, so that a large product takes seconds, not minutes.
    for row in 0..rows {
        for k in 0..inner {
            let factor: f64 = a[(row, k)].into();
            for (sum, &element) in sums.row_mut(row).iter_mut().zip(b.row(k)) {
                sum.add(factor, element.into());
            }
        }
    }
    Expected {
        values: sums.mapv(Sum::value),
        tolerance: sums.mapv(Sum::tolerance::<T>),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn a_small_product_by_hand() {
        let c = matmul(
            array![[1.0_f32, 2.0, 3.0]].view(),
            array![[1.0, 0.5], [0.0, 2.0], [-1.0, 4.0]].view(),
        );
        assert_eq!(c.values, array![[-2.0, 16.5]]);
        let empty = matmul(
            Array2::<f64>::zeros((2, 0)).view(),
            Array2::zeros((0, 3)).view(),
        );
        assert_eq!(empty.values, Array2::<f64>::zeros((2, 3)));
    }
}
