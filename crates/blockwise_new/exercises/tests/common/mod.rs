//! What several tests need.
#![allow(dead_code, reason = "no exercise needs everything")]

use std::fmt::{Debug, Display};

use blockwise::{Device, EmulatorLimits, Profile, Result, Watch};

/// How many of the elements that differ are shown.
const SHOWN: usize = 5;

/// Fails if elements differ, with the first of them and their number.
#[track_caller]
pub fn equal<T: PartialEq + Debug>(got: &[T], right: &[T], what: impl Display) {
    assert_eq!(got.len(), right.len(), "{what}: the number of elements");
    let pairs = got.iter().zip(right).enumerate();
    let wrong: Vec<_> = pairs.filter(|(_, (got, right))| got != right).collect();
    let mut text = format!("{what}: {} of {} are wrong", wrong.len(), right.len());
    for (i, (got, right)) in wrong.iter().take(SHOWN) {
        text += &format!("\n  element {i} is {got:?}, and should be {right:?}");
    }
    if wrong.len() > SHOWN {
        text += "\n  …";
    }
    assert!(wrong.is_empty(), "{text}");
}

/// What the one launch that `run` makes costs, counted on the emulator.
pub fn profile(run: impl FnOnce(&Device) -> Result<()>) -> Result<Profile> {
    let device = Device::emulator_with(EmulatorLimits::default(), Watch::Profile);
    run(&device)?;
    let mut profiles = device.take_profiles();
    assert_eq!(profiles.len(), 1, "one launch");
    Ok(profiles.remove(0))
}
