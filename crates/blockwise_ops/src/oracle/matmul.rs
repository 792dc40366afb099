//! The matrix product's reference.

use ndarray::{Array2, ArrayView2, Ix2};

use super::{Expected, Precision, Sum};

/// C = A·B for results in `T`. The caller has checked the inner extents.
pub fn matmul<T: Precision>(a: ArrayView2<'_, T>, b: ArrayView2<'_, T>) -> Expected<Ix2> {
    let sums = products(&a.mapv(Into::into), &b.mapv(Into::into));
    Expected {
        values: sums.mapv(Sum::value),
        tolerance: sums.mapv(Sum::tolerance::<T>),
    }
}

/// The elements of the product. Not generic, so that it is compiled here and optimised with this
/// crate.
fn products(a: &Array2<f64>, b: &Array2<f64>) -> Array2<Sum> {
    let mut sums = Array2::from_elem((a.nrows(), b.ncols()), Sum::default());
    // By rows of B, so that a large product takes seconds, not minutes.
    for (mut sums, factors) in sums.rows_mut().into_iter().zip(a.rows()) {
        for (&factor, elements) in factors.iter().zip(b.rows()) {
            for (sum, &element) in sums.iter_mut().zip(elements) {
                sum.add(factor, element);
            }
        }
    }
    sums
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
