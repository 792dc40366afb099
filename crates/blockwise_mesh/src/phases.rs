//! Where the time of a step goes: what a rank's host does, and when its device works.
//!
//! Nothing is recorded unless a program [asks](crate::Rank::record_phases). Each piece of the
//! device's work then has a timestamp of its stream before and after it, which take a microsecond or
//! two.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use blockwise::{Device, Event, Result, Stream};

/// A step of one rank. All times are in seconds from the start of the step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phases {
    /// How long the step took, on the host.
    pub seconds: f64,
    /// What the host did, in the order of its first time, with the seconds of all times: `launch`
    /// prepares and enqueues work, `exchange` is messages from and to other ranks, `wait` is for the
    /// device. Together they are [`seconds`](Self::seconds).
    pub host: Vec<(&'static str, f64)>,
    /// What the device did, in the order of its first time.
    pub device: Vec<Span>,
}

/// A kind of work of a device, in a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Such as `kernel`, or `transfer` from another device.
    pub name: &'static str,
    /// How many pieces it had.
    pub pieces: usize,
    /// When the first one could begin: its stream was free. It may have waited for another stream.
    pub start: f64,
    /// When the last one had ended.
    pub end: f64,
    /// Of all pieces together, from when they could begin.
    pub busy: f64,
}

/// What is recorded of a rank's step, if anything is.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Option<Arc<Mutex<Record>>>);

struct Record {
    begin: Instant,
    /// The device's clock at the begin: it had nothing to do.
    origin: Event,
    /// When the host went on to what.
    host: Vec<(&'static str, Instant)>,
    device: Vec<(&'static str, Event, Event)>,
}

/// What the host does when it does nothing else.
const LAUNCH: &str = "launch";

impl Recorder {
    /// Begins a step. The device has no work.
    pub(crate) fn begin(device: &Device) -> Result<Self> {
        let origin = device.record()?;
        let begin = Instant::now();
        Ok(Self(Some(Arc::new(Mutex::new(Record {
            begin,
            origin,
            host: vec![(LAUNCH, begin)],
            device: Vec::new(),
        })))))
    }

    /// The step up to now, if there is one. Waits for the device.
    pub(crate) fn end(&self) -> Result<Phases> {
        let end = Instant::now();
        let Some(record) = self.record() else {
            return Ok(Phases::default());
        };
        let mut host: Vec<(&'static str, f64)> = Vec::new();
        let ends = record.host.iter().skip(1).map(|(_, start)| *start);
        for ((name, start), end) in record.host.iter().zip(ends.chain([end])) {
            let seconds = (end - *start).as_secs_f64();
            match host.iter_mut().find(|(known, _)| known == name) {
                Some((_, all)) => *all += seconds,
                None => host.push((name, seconds)),
            }
        }
        let mut device: Vec<Span> = Vec::new();
        for (name, start, end) in &record.device {
            let [start, end] = [start, end].map(|event| event.seconds_since(&record.origin));
            let (start, end) = (start?, end?);
            match device.iter_mut().find(|span| span.name == *name) {
                Some(span) => {
                    span.pieces += 1;
                    span.start = span.start.min(start);
                    span.end = span.end.max(end);
                    span.busy += end - start;
                }
                None => device.push(Span {
                    name,
                    pieces: 1,
                    start,
                    end,
                    busy: end - start,
                }),
            }
        }
        Ok(Phases {
            seconds: (end - record.begin).as_secs_f64(),
            host,
            device,
        })
    }

    /// The host does this until the result is dropped, then what it did before.
    pub(crate) fn host(&self, name: &'static str) -> Host<'_> {
        let before = self.record().map_or(LAUNCH, |mut record| {
            let before = record.host.last().map_or(LAUNCH, |(name, _)| *name);
            record.host.push((name, Instant::now()));
            before
        });
        Host(self, before)
    }

    /// Enqueues work in a stream, or in the device's own queue.
    pub(crate) fn device<R>(
        &self,
        name: &'static str,
        device: &Device,
        stream: Option<&Stream>,
        work: impl FnOnce() -> R,
    ) -> R {
        if self.0.is_none() {
            return work();
        }
        // A device that cannot record has failed, and the work says so.
        let now = || stream.map_or_else(|| device.record(), Stream::record).ok();
        let start = now();
        let result = work();
        if let (Some(start), Some(end), Some(mut record)) = (start, now(), self.record()) {
            record.device.push((name, start, end));
        }
        result
    }

    fn record(&self) -> Option<MutexGuard<'_, Record>> {
        let record = self.0.as_ref()?;
        Some(record.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Something that the host does.
pub(crate) struct Host<'r>(&'r Recorder, &'static str);

impl Drop for Host<'_> {
    fn drop(&mut self) {
        if let Some(mut record) = self.0.record() {
            record.host.push((self.1, Instant::now()));
        }
    }
}

#[cfg(all(test, feature = "emulator"))]
mod tests {
    use super::*;

    /// What the host did before goes on when something in it has ended.
    #[test]
    fn what_the_host_does_ends_with_its_scope() {
        let recorder = Recorder::begin(&Device::emulator()).unwrap();
        drop(recorder.host("wait"));
        let outer = recorder.host("exchange");
        drop(recorder.host("wait"));
        drop(outer);
        let record = recorder.record().unwrap();
        let names: Vec<_> = record.host.iter().map(|(name, _)| *name).collect();
        let all = [
            "launch", "wait", "launch", "exchange", "wait", "exchange", "launch",
        ];
        assert_eq!(names, all);
    }
}
