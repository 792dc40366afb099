//! Types of one's own in device memory: tuples, arrays, an enum, `Option`.

use cuda_std::prelude::*;

/// What a particle is made of.
#[derive(Clone, Copy, PartialEq)]
#[repr(u32)]
pub enum Kind {
    Heavy = 1,
    Light = 2,
}

/// Position, speed, kind.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Particle {
    pub position: [f32; 3],
    pub speed: [f32; 3],
    pub kind: Kind,
}

impl Particle {
    fn moved(self, time: f32) -> Self {
        let factor = if self.kind == Kind::Heavy { 0.5 } else { 1.0 };
        let position =
            core::array::from_fn(|axis| self.position[axis] + factor * time * self.speed[axis]);
        let kind = if position[0] > 10.0 {
            Kind::Heavy
        } else {
            self.kind
        };
        Particle {
            position,
            kind,
            ..self
        }
    }
}

/// Moves each particle by one step.
#[kernel]
pub unsafe fn moved_particles(particles: *mut Particle, count: u32, time: f32) {
    let i = thread::index_1d();
    if i < count {
        let place = particles.add(i as usize);
        *place = (*place).moved(time);
    }
}
