//! A struct of your own, as parameter and as element.
//!
//! A `#[repr(C)]` struct that derives `Plain` has the same bytes on host and device: it can be the
//! element of a buffer, and a kernel's parameter. The derive refuses padding, pointers and
//! references.
//!
//! Host and device are one crate, so they share more than the type. [`Particle::advance`] is
//! compiled for both; the kernel calls it on the device, and the reference on the host.

#![forbid(unsafe_code)]

use cuda_std::Plain;
use cuda_std::prelude::*;

/// The same for all particles.
#[repr(C)]
#[derive(Clone, Copy, Debug, Plain)]
pub struct World {
    /// Seconds per step.
    pub step: f32,
    /// Upwards, so it is negative.
    pub gravity: f32,
    /// The fraction of its speed that a particle keeps when it bounces.
    pub bounce: f32,
}

/// A ball above a floor at height 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Plain)]
pub struct Particle {
    /// Above the floor.
    pub height: f32,
    /// Upwards.
    pub speed: f32,
    /// How often it has hit the floor.
    pub hits: u32,
}

impl Particle {
    /// Where it is one step later.
    #[must_use]
    pub fn advance(self, world: World) -> Self {
        let speed = world.gravity.mul_add(world.step, self.speed);
        let height = speed.mul_add(world.step, self.height);
        if height >= 0.0 {
            Self {
                height,
                speed,
                ..self
            }
        } else {
            Self {
                height: -height,
                speed: -speed * world.bounce,
                hits: self.hits + 1,
            }
        }
    }
}

/// Advances each particle by `steps` steps.
#[kernel]
pub fn advance(world: World, steps: u32, mut particles: Out<'_, Particle>) {
    for (_, particle) in particles.mine() {
        for _ in 0..steps {
            *particle = particle.advance(world);
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, Result};

    use super::{Particle, World, advance};

    /// The earth, in steps of 10 ms.
    pub const EARTH: World = World {
        step: 0.01,
        gravity: -9.81,
        bounce: 0.8,
    };

    /// The particles after `steps` steps.
    pub fn advance_on(
        device: &Device,
        world: World,
        steps: u32,
        particles: &[Particle],
    ) -> Result<Vec<Particle>> {
        let mut particles = device.upload(particles)?;
        let kernel = advance::on(device)?.covering(particles.len())?;
        kernel.launch(world, steps, &mut particles)?;
        particles.to_vec()
    }

    /// The same on the host, bit by bit.
    pub(super) fn reference(world: World, steps: u32, particles: &[Particle]) -> Vec<Particle> {
        let last = |&particle: &Particle| (0..steps).fold(particle, |p, _| p.advance(world));
        particles.iter().map(last).collect()
    }

    /// Particles at rest, each a centimetre above the previous one.
    pub(super) fn at_rest(count: usize) -> Vec<Particle> {
        let at = |i| Particle {
            height: 1.0 + 0.01 * i as f32,
            speed: 0.0,
            hits: 0,
        };
        (0..count).map(at).collect()
    }

    /// Runs the example.
    pub fn run(device: &Device) -> Result<()> {
        let particles = at_rest(1_000);
        let later = advance_on(device, EARTH, 200, &particles)?;
        assert_eq!(later, reference(EARTH, 200, &particles));
        println!(
            "after 2 s the first of {} particles is {:?}",
            later.len(),
            later[0]
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blockwise::Result;

    use super::{EARTH, Particle, World, advance_on, at_rest, reference};
    use crate::test_devices::on_every_device;

    #[test]
    fn device_and_host_agree_in_every_bit() -> Result<()> {
        on_every_device(|device| {
            for count in [0, 1, 255, 256, 257, 997, 3_000] {
                let particles = at_rest(count);
                let later = advance_on(device, EARTH, 60, &particles)?;
                assert_eq!(later, reference(EARTH, 60, &particles), "{count} particles");
            }
            Ok(())
        })
    }

    #[test]
    fn a_particle_bounces() -> Result<()> {
        let world = World {
            step: 1.0,
            gravity: -2.0,
            bounce: 0.5,
        };
        let before = Particle {
            height: 1.0,
            speed: 0.0,
            hits: 0,
        };
        let after = Particle {
            height: 1.0,
            speed: 1.0,
            hits: 1,
        };
        on_every_device(|device| {
            assert_eq!(advance_on(device, world, 1, &[before])?, [after]);
            Ok(())
        })
    }
}
