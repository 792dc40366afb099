//! Where a rank's time goes, when several work on files.

use std::cell::Cell;
use std::time::{Duration, Instant};

use blockwise_mesh::Mesh;
use serde_json::json;

use super::report::{self, Report};

/// What a rank spends time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Reading and writing files, and checking what is written.
    Disk,
    /// Copies to and from the device, and kernels.
    Device,
    /// Waiting for other ranks and their data.
    Links,
}

const NAMES: [&str; 3] = ["disk", "device", "links"];

/// A rank's time of each part.
#[derive(Clone, Debug, Default)]
pub(super) struct Times([Cell<Duration>; 3]);

impl Times {
    /// Does some work and counts its time, without that of parts that are measured within.
    pub(super) fn of<R>(&self, part: Part, work: impl FnOnce() -> R) -> R {
        let (begin, counted) = (Instant::now(), self.total());
        let result = work();
        let within = self.total() - counted;
        let own = begin.elapsed().saturating_sub(within);
        let time = &self.0[part as usize];
        time.set(time.get() + own);
        result
    }

    fn total(&self) -> Duration {
        self.0.iter().map(Cell::get).sum()
    }
}

impl Report {
    /// Adds the times of the slowest rank of this process, where there are several ranks.
    pub(super) fn times<'a>(self, mesh: &Mesh, ranks: impl IntoIterator<Item = &'a Times>) -> Self {
        let slowest = ranks.into_iter().max_by_key(|times| times.total());
        let Some(Times(times)) = slowest.filter(|_| mesh.ranks() > 1) else {
            return self;
        };
        let [disk, device, links] = [0, 1, 2].map(|part: usize| times[part].get().as_secs_f64());
        report::notice(&format!(
            "the slowest rank's time: disk {disk:.3} s, device {device:.3} s, links {links:.3} s"
        ));
        let seconds = NAMES.iter().zip([disk, device, links]);
        let seconds = seconds.map(|(&name, time)| (name.to_owned(), json!(time)));
        self.with("seconds", seconds.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_within_another_counts_once() {
        let times = Times::default();
        let begin = Instant::now();
        times.of(Part::Device, || {
            times.of(Part::Disk, || std::thread::sleep(Duration::from_millis(20)));
        });
        let all = begin.elapsed();
        let [disk, device, links] = [0, 1, 2].map(|part: usize| times.0[part].get());
        assert!(disk >= Duration::from_millis(20) && links.is_zero());
        assert!(
            disk + device <= all,
            "{disk:?} and {device:?} within {all:?}"
        );
    }
}
