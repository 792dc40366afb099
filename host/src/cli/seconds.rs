//! Where the time of a command with files went.

use std::time::Instant;

use blockwise_ops::pipeline::DeviceTimes;
use serde::Serialize;

/// Seconds of one rank. Its parts overlap, so that they add up to more than the command takes.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Seconds {
    /// Reading and converting the files.
    pub(super) reading: f64,
    /// Copies to and from the device.
    pub(super) copying: f64,
    /// The kernels.
    pub(super) computing: f64,
    /// Converting and writing the result, if it goes to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) writing: Option<f64>,
}

impl Seconds {
    /// With the device's part.
    pub(super) fn on_device(self, times: DeviceTimes) -> Self {
        Self {
            copying: times.copying,
            computing: times.computing,
            ..self
        }
    }

    /// Of each part the longest among the ranks.
    pub(super) fn longest(ranks: impl IntoIterator<Item = Self>) -> Self {
        ranks.into_iter().fold(Self::default(), |a, b| Self {
            reading: a.reading.max(b.reading),
            copying: a.copying.max(b.copying),
            computing: a.computing.max(b.computing),
            writing: a.writing.into_iter().chain(b.writing).reduce(f64::max),
        })
    }
}

/// Does some work and adds the time it takes.
pub(super) fn timed<R>(seconds: &mut f64, work: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = work();
    *seconds += start.elapsed().as_secs_f64();
    result
}
