//! The kernel of rust-cuda's guide: c = a + b.

use cuda_std::prelude::*;

/// c\[i\] = a\[i\] + b\[i\], one thread for each element.
///
/// # Safety
/// `b` is as long as `a`, and `c` points to as many elements, which nobody else touches.
#[kernel]
pub unsafe fn add(a: &[f32], b: &[f32], c: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < a.len() {
        // SAFETY: `i` is below the length that all three share.
        unsafe { *c.add(i) = a[i] + b[i] };
    }
}
