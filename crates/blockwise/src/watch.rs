use ptx_emulator::CheckOptions;

/// What an emulated device watches while kernels run. It changes nothing of what they do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// Nothing: the fastest.
    #[default]
    Nothing,
    /// What each instruction costs: see [`Device::take_profiles`](crate::Device::take_profiles).
    Profile,
    /// Races, bad accesses, divergent barriers, reads of what nobody wrote. A finding is an
    /// [`Error::Findings`](crate::Error::Findings).
    Check(CheckOptions),
}
