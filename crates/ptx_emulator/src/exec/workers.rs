//! Runs a launch on several workers.

use super::launch::{Launch, Request};
use super::observe::Observer;
use super::shift::{Progress, Shift, Turned};
use crate::fault::Fault;
use crate::launch::Statistics;
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

/// How a launch ended.
pub(crate) struct Outcome {
    /// What was executed, up to the fault if there was one.
    pub(crate) statistics: Statistics,
    pub(crate) fault: Option<Box<Fault>>,
}

/// Runs all blocks on N workers.
pub(crate) fn launch(request: Request<'_>, workers: usize) -> Outcome {
    let mut nobody = vec![(); workers];
    run(request, &mut nobody.iter_mut().collect::<Vec<_>>())
}

/// Runs all blocks, with one worker per observer.
pub(crate) fn watch(request: Request<'_>, observers: &mut [&mut dyn Observer]) -> Outcome {
    run(request, observers)
}

/// Runs all blocks, with one worker per observer.
///
/// Blocks start in order. A long-running block periodically yields to others. In a program that
/// reads what other blocks write, more blocks are started while none finishes, because blocks may
/// wait for each other, as in a cooperative launch.
fn run<O: Observer + ?Sized>(request: Request<'_>, observers: &mut [&mut O]) -> Outcome {
    let workers = usize::try_from(request.teams()).unwrap_or(usize::MAX);
    let workers = observers.len().min(workers);
    let launch = Launch::new(&request, workers);
    let progress = Progress::new(request.teams());
    let total = Mutex::new(Statistics::default());
    let work = |observer: &mut O| {
        let mut shift = Shift::new(&launch, &progress);
        let mut budget = u64::MAX;
        while shift.turn(&launch, &progress, observer, &mut budget) == Turned::Goes {}
        let done = shift.statistics;
        let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
        total.blocks += done.blocks;
        total.warp_instructions += done.warp_instructions;
        total.lane_instructions += done.lane_instructions;
    };
    // The caller's thread is a worker, and the others are threads of this launch. Those of a pool that
    // the caller may be one of would deadlock: all of them can be waiting for launches, or one that
    // waits here takes up the caller's next job, which wants memory that this launch holds.
    if let Some((first, others)) = observers[..workers].split_first_mut() {
        std::thread::scope(|scope| {
            for observer in others {
                // Where the system has no more threads, fewer workers run the same blocks.
                let _ = Builder::new().spawn_scoped(scope, || work(observer));
            }
            work(first);
        });
    }
    Outcome {
        statistics: total.into_inner().unwrap_or_else(PoisonError::into_inner),
        fault: progress.into_fault(),
    }
}
