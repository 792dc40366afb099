//! Structs that host and device lay out alike.

use cuda_std::prelude::*;

/// A vector.
#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(C)]
pub struct Vec3 {
    /// Along x.
    pub x: f32,
    /// Along y.
    pub y: f32,
    /// Along z.
    pub z: f32,
}

/// An element of a slice: a struct in a struct, and fields of 2, 4 and 8 bytes without padding
/// between them.
#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(C)]
pub struct Particle {
    /// Where it is.
    pub position: Vec3,
    /// Its kind.
    pub kind: u16,
    /// Its charge.
    pub charge: i16,
    /// The moves that it has made.
    pub moves: u64,
}

/// A parameter by value.
#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(C)]
pub struct Step {
    /// What is added to a position.
    pub by: Vec3,
    /// The kind of particles that move.
    pub kind: u32,
}

impl Step {
    /// The particle after the step: what [`moved`] does with each, and what the host expects.
    pub fn of(self, mut particle: Particle) -> Particle {
        if u32::from(particle.kind) == self.kind {
            particle.position.x += self.by.x;
            particle.position.y += self.by.y;
            particle.position.z += self.by.z;
            particle.charge = particle.charge.wrapping_neg();
            particle.moves += 1;
        }
        particle
    }
}

/// `after[i] = step.of(before[i])`; any launch.
#[kernel(require(before.len() == after.len()))]
pub fn moved(step: Step, before: &[Particle], mut after: Out<'_, Particle>) {
    for (i, after) in after.mine() {
        *after = step.of(before[i]);
    }
}
