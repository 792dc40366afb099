//! A sparse matrix in compressed rows times a vector.

use cuda_std::prelude::*;

/// `out = matrix · vector`. Row `r` has the entries `starts[r]..starts[r + 1]`: entry `i` is
/// `values[i]`, in column `columns[i]`.
#[kernel]
pub unsafe fn sparse_product(
    starts: &[u32],
    columns: &[u32],
    values: &[f64],
    vector: &[f64],
    out: *mut f64,
) {
    let row = thread::index_1d() as usize;
    let Some(&[start, end]) = starts
        .get(row..row + 2)
        .and_then(|pair| <&[u32; 2]>::try_from(pair).ok())
    else {
        return;
    };
    let entries = start as usize..end as usize;
    let products = columns[entries.clone()].iter().zip(&values[entries]);
    *out.add(row) = products
        .map(|(&column, value)| value * vector[column as usize])
        .sum();
}
