//! References of the kernels that only move data.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

/// The transposed matrix, row-major.
pub fn transpose<T: Copy>(input: ArrayView2<'_, T>) -> Array2<T> {
    Array2::from_shape_fn((input.ncols(), input.nrows()), |(row, col)| {
        input[(col, row)]
    })
}

/// The elements in the opposite order.
pub fn reverse<T: Copy>(input: ArrayView1<'_, T>) -> Array1<T> {
    input.iter().rev().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn small_cases_by_hand() {
        let matrix = transpose(array![[1, 2, 3], [4, 5, 6]].view());
        assert_eq!(matrix, array![[1, 4], [2, 5], [3, 6]]);
        assert!(matrix.is_standard_layout());
        assert_eq!(reverse(array![1, 2, 3].view()), array![3, 2, 1]);
    }
}
