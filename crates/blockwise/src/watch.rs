use ptx_emulator::{CheckOptions, LaunchConfig};

/// What an emulated device observes while kernels run, without affecting them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// Nothing: the fastest.
    #[default]
    Nothing,
    /// The cost of each instruction: see [`Device::take_profiles`](crate::Device::take_profiles).
    Profile,
    /// What each launch is given: see [`Device::take_launches`](crate::Device::take_launches).
    Launches,
    /// Races, bad accesses, divergent barriers and uninitialised reads. A finding is an
    /// [`Error::Findings`](crate::Error::Findings).
    Check(CheckOptions),
}

/// A launch's arguments, with the initial contents of its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenLaunch {
    /// The kernel's entry point.
    pub kernel: String,
    /// The launch's shape.
    pub config: LaunchConfig,
    /// Its parameters, in order.
    pub parameters: Vec<Given>,
}

/// The argument for a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The address of memory.
    Memory {
        /// Its initial contents.
        bytes: Vec<u8>,
        /// Whether all of it was initialised.
        written: bool,
    },
}
