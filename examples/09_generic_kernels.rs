//! Generic kernels: one function, with one entry point per instance.
//!
//! `instances(..)` lists the type arguments that the kernel is compiled for; `|` forms all
//! combinations. Generic host code requires an instance by a bound, so an instance that is not in
//! the list is a compile error at the call.
//!
//! An operation is a type here, not a function pointer: the compiler inlines its code into the
//! kernel.

#![forbid(unsafe_code)]

use cuda_std::launch::Plain;
use cuda_std::prelude::*;

/// Picks one of two values.
pub trait Pick {
    /// The one picked.
    fn pick<T: PartialOrd>(a: T, b: T) -> T;
}

/// The smaller one.
pub struct Min;

/// The larger one.
pub struct Max;

impl Pick for Min {
    fn pick<T: PartialOrd>(a: T, b: T) -> T {
        if b < a { b } else { a }
    }
}

impl Pick for Max {
    fn pick<T: PartialOrd>(a: T, b: T) -> T {
        if b > a { b } else { a }
    }
}

/// y\[i\] = the smaller or larger one of x\[i\] and y\[i\]: `pairwise_min_f32` and so on.
#[kernel(
    instances((f32 | f64 | i32, Min | Max)),
    name = "pairwise_{P}_{T}",
    require(x.len() == y.len())
)]
pub fn pairwise<T: Plain + PartialOrd, P: Pick>(x: &[T], mut y: Out<'_, T>) {
    for (i, y) in y.mine() {
        *y = P::pick(*y, x[i]);
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, Instance, Plain, Result};

    use super::{Max, Min, Pick, pairwise};

    /// What `P` picks of each pair of `x` and `y`.
    pub fn pairwise_on<T, P>(device: &Device, x: &[T], y: &[T]) -> Result<Vec<T>>
    where
        T: Plain + PartialOrd,
        P: Pick,
        pairwise<T, P>: Instance,
    {
        let (x, mut y) = (device.upload(x)?, device.upload(y)?);
        let kernel = pairwise::<T, P>::on(device)?.covering(y.len())?;
        kernel.launch(&x, &mut y)?;
        y.to_vec()
    }

    /// Runs the example.
    pub fn run(device: &Device) -> Result<()> {
        let (x, y) = ([1.5_f32, -2.0, 3.0], [0.5, 2.0, 3.0]);
        assert_eq!(pairwise_on::<f32, Min>(device, &x, &y)?, [0.5, -2.0, 3.0]);
        assert_eq!(pairwise_on::<f32, Max>(device, &x, &y)?, [1.5, 2.0, 3.0]);
        assert_eq!(pairwise_on::<i32, Max>(device, &[1, -2], &[0, 2])?, [1, 2]);
        println!("minima and maxima of f32 and i32, by one kernel of 6 instances");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blockwise::{Device, Instance, Plain, Result};

    use super::{Max, Min, Pick, pairwise, pairwise_on};
    use crate::test_devices::on_every_device;

    fn check<T, P>(device: &Device, of: fn(i32) -> T) -> Result<()>
    where
        T: Plain + PartialOrd + std::fmt::Debug,
        P: Pick,
        pairwise<T, P>: Instance,
    {
        for len in [0, 1, 255, 256, 257, 997, 3_000] {
            let x: Vec<T> = (0..len).map(|i| of(i * 7 % 31)).collect();
            let y: Vec<T> = (0..len).map(|i| of(i * 5 % 37)).collect();
            let reference: Vec<T> = x.iter().zip(&y).map(|(x, y)| P::pick(*y, *x)).collect();
            assert_eq!(
                pairwise_on::<T, P>(device, &x, &y)?,
                reference,
                "{len} elements"
            );
        }
        Ok(())
    }

    #[test]
    fn every_instance_picks_as_the_host_does() -> Result<()> {
        on_every_device(|device| {
            check::<f32, Min>(device, |i| i as f32)?;
            check::<f32, Max>(device, |i| i as f32)?;
            check::<f64, Min>(device, f64::from)?;
            check::<f64, Max>(device, f64::from)?;
            check::<i32, Min>(device, |i| i)?;
            check::<i32, Max>(device, |i| i)
        })
    }
}
