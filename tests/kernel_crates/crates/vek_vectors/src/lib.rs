//! vek's vectors, which rust-cuda 0.2 returned.

use cuda_std::prelude::*;
use cuda_std::vek::{Mat3, Vec3};

/// Each vector turned by a quarter around z, plus the cross product with x.
#[kernel]
pub unsafe fn turned(vectors: *mut [f64; 3], count: u32) {
    let i = thread::index_1d();
    if i < count {
        let place = vectors.add(i as usize);
        let vector = Vec3::from(*place);
        let quarter = Mat3::new(0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0);
        let turned = quarter * vector + vector.cross(Vec3::unit_x());
        *place = turned.into_array();
    }
}
