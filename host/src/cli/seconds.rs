//! Where the time of a command with files went.

use std::time::Instant;

use blockwise_ops::pipeline::DeviceTimes;
use serde::Serialize;

use super::report;

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
    /// Waiting for other ranks and their data, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) links: Option<f64>,
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
        let longest = |a: Option<f64>, b| a.into_iter().chain(b).reduce(f64::max);
        ranks.into_iter().fold(Self::default(), |a, b| Self {
            reading: a.reading.max(b.reading),
            copying: a.copying.max(b.copying),
            computing: a.computing.max(b.computing),
            writing: longest(a.writing, b.writing),
            links: longest(a.links, b.links),
        })
    }

    /// Says them on standard error, where there are several ranks.
    pub(super) fn notice(&self) {
        let Some(links) = self.links else {
            return;
        };
        let (reading, copying) = (self.reading, self.copying);
        let mut text =
            format!("the longest of a rank: reading {reading:.3} s, copying {copying:.3} s");
        text += &format!(", computing {:.3} s, links {links:.3} s", self.computing);
        if let Some(writing) = self.writing {
            text += &format!(", writing {writing:.3} s");
        }
        report::notice(&text);
    }
}

/// Does some work and adds the time it takes.
pub(super) fn timed<R>(seconds: &mut f64, work: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = work();
    *seconds += start.elapsed().as_secs_f64();
    result
}
