//! Matrix product without shared memory: the baseline.
//!
//! C\[row, col\] = Σₖ A\[row, k\] · B\[k, col\], one thread for each element of C, summed in the
//! order of k.
//!
//! In a warp, lanes with neighbouring columns read neighbouring elements of B (coalesced) and the
//! same element of A. Each element of A is read by `cols` threads and each of B by `rows`: 2·inner
//! global reads per element of C.
//!
//! | H200, ms | 2048³ | 4096³ | 4093 × 4099 × 4111 |
//! | --- | --- | --- | --- |
//! | element by element | 3.91 | 55.3 | 55.8 |
//! | in groups of 16 | 3.33 | 34.2 | 34.1 |
//! | **in groups of 8** | 3.18 | | |
//! | the same in CUDA C++ | 3.47 | 46.1 | 46.7 |

#![forbid(unsafe_code)]

use cuda_std::prelude::*;
use cuda_std::unroll::fold_groups;

use super::TILE;
use crate::number::Real;

const SIDE: usize = TILE as usize;
/// Elements of the inner dimension whose loads are in flight together.
const GROUP: usize = 8;

/// C = A·B.
///
/// # Launch
/// Blocks of [`TILE`] × [`TILE`]; x runs over columns, y over rows. The grid strides over both.
#[kernel(
    instances(f32, f64),
    require(a.cols() == b.rows(), c.rows() == a.rows(), c.cols() == b.cols())
)]
pub fn matmul_naive<T: Real>(
    block: &mut Block<SIDE, SIDE>,
    a: Matrix<T>,
    b: Matrix<T>,
    mut c: OutMatrix<T, SIDE, SIDE>,
) {
    for top in block.tiles_y::<SIDE>(c.rows()) {
        for left in block.tiles_x::<SIDE>(c.cols()) {
            c.store(block, top, left, |own| {
                let (row, col) = (a.row(own.at_row), b.col(own.at_col));
                fold_groups::<GROUP, _, _>((row, col), .., T::ZERO, |sum, (a, b)| a.mul_add(b, sum))
            });
        }
    }
}
