//! cuda_std under a path that the kernel names.

/// Stands for a crate that passes cuda_std on.
pub mod other {
    pub use ::cuda_std as device;
}

use other::device::prelude::*;

#[derive(Clone, Copy, Plain)]
#[plain(crate = other::device)]
#[repr(C)]
pub struct Affine {
    pub gain: f32,
    pub bias: f32,
}

#[kernel(instances(f32, Affine), crate = other::device, require(!x.is_empty()))]
pub fn copy<T: Plain>(x: &[T], mut y: Out<T>) {
    for (i, y) in y.mine() {
        *y = x[i];
    }
}

fn main() {
    let entry = copy::<Affine>::entry();
    assert_eq!(entry.name, "copy_affine");
    assert_eq!(entry.signature, "x: &[Affine{gain:f32,bias:f32}], y: Out<Affine{gain:f32,bias:f32}>");
}
