//! Gravity between all pairs of bodies, with glam's vectors.

use cuda_std::glam::Vec3;
use cuda_std::prelude::*;

/// The acceleration of each body: the sum of m·d / (|d|² + 0.01)^(3/2) over all; `bodies` are x, y,
/// z and mass.
#[kernel]
pub unsafe fn accelerations(bodies: &[[f32; 4]], out: *mut [f32; 3]) {
    let i = thread::index_1d() as usize;
    if i >= bodies.len() {
        return;
    }
    let place = |body: [f32; 4]| Vec3::new(body[0], body[1], body[2]);
    let own = place(bodies[i]);
    let pull = bodies.iter().fold(Vec3::ZERO, |sum, &body| {
        let distance = place(body) - own;
        let square = distance.dot(distance) + 0.01;
        sum + distance * (body[3] / (square * square.sqrt()))
    });
    *out.add(i) = pull.to_array();
}
