//! Slices as parameters: shared, mutable, empty, of structs.

use cuda_std::prelude::*;

/// A point with a name.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Point {
    pub x: f32,
    pub y: f32,
    pub name: u32,
}

/// Moves each point by the one shift there is, or by none; `names` collects the names. One thread
/// for each point.
#[kernel]
pub unsafe fn moved_points(points: &mut [Point], shift: &[[f32; 2]], names: &mut [u32]) {
    let i = thread::index_1d() as usize;
    let name = match points.get(i) {
        Some(point) => point.name,
        None => return,
    };
    let [dx, dy] = shift.first().copied().unwrap_or([0.0, 0.0]);
    let point = points.as_mut_ptr().add(i);
    (*point).x += dx;
    (*point).y += dy;
    names[i] = name + points.len() as u32;
}
