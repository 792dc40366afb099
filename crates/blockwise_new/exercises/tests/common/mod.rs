//! What several tests need.

use blockwise::{Device, EmulatorLimits, Profile, Result, Watch};

/// What the one launch that `run` makes costs, counted on the emulator.
pub fn profile(run: impl FnOnce(&Device) -> Result<()>) -> Result<Profile> {
    let device = Device::emulator_with(EmulatorLimits::default(), Watch::Profile);
    run(&device)?;
    let mut profiles = device.take_profiles();
    assert_eq!(profiles.len(), 1, "one launch");
    Ok(profiles.remove(0))
}
