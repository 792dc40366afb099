use ptx_emulator::CheckOptions;

/// What an emulated device observes while kernels run, without affecting them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// Nothing: the fastest.
    #[default]
    Nothing,
    /// The cost of each instruction: see [`Device::take_profiles`](crate::Device::take_profiles).
    Profile,
    /// Races, bad accesses, divergent barriers, uninitialised reads. A finding is an
    /// [`Error::Findings`](crate::Error::Findings).
    Check(CheckOptions),
}
