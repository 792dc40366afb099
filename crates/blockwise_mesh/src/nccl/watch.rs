//! Ends transfers that a rank's death or silence would keep waiting forever.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use blockwise::{Device, Event};

use super::PAUSE;
use super::library::Communicator;
use crate::wire::Wire;
use crate::{Call, Error, Result};

/// How long an error of NCCL waits for the connections' word, which names the rank.
const WORD: Duration = Duration::from_secs(2);

/// A thread that looks at the other ranks while a transfer is in flight, and aborts it when one has
/// failed, NCCL reports an error, or the time limit has passed.
pub(super) struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    communicator: Arc<Communicator>,
    device: Device,
    rank: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The last one; those before it end before it does.
    transfer: Option<Transfer>,
    /// Why transfers were aborted.
    failure: Option<Error>,
    closed: bool,
}

struct Transfer {
    end: Event,
    wire: Arc<dyn Wire>,
    call: Arc<Call>,
    partner: usize,
    since: Instant,
    /// Since when NCCL has reported an error.
    broken: Option<Instant>,
}

impl Watch {
    pub(super) fn over(communicator: Arc<Communicator>, device: &Device, rank: usize) -> Self {
        let shared = Arc::new(Shared {
            communicator,
            device: device.clone(),
            rank,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let watching = Arc::clone(&shared);
        Self {
            thread: Some(thread::spawn(move || watching.run())),
            shared,
        }
    }

    /// A transfer has been started, which ends before `end`.
    pub(super) fn transfer(
        &self,
        end: Event,
        wire: &Arc<dyn Wire>,
        call: &Arc<Call>,
        partner: usize,
    ) {
        let mut state = self.shared.state();
        let idle = state.transfer.is_none();
        state.transfer = Some(Transfer {
            end,
            wire: Arc::clone(wire),
            call: Arc::clone(call),
            partner,
            since: Instant::now(),
            broken: None,
        });
        if idle {
            self.shared.changed.notify_all();
        }
    }

    /// Why transfers were aborted, at every call from then on.
    pub(super) fn check(&self) -> Result<()> {
        match &self.shared.state().failure {
            Some(failure) => Err(self.shared.repeat(failure)),
            None => Ok(()),
        }
    }
}

impl Shared {
    fn run(&self) {
        let mut state = self.state();
        // Memory is freed when transfers have ended, so the last one is seen to its end.
        while !state.closed || state.transfer.is_some() {
            let Some(transfer) = &mut state.transfer else {
                let woken = self.changed.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            match self.look_at(transfer) {
                Ok(true) => state.transfer = None,
                Ok(false) => {
                    let woken = self.changed.wait_timeout(state, PAUSE);
                    state = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
                Err(failure) => {
                    // Whoever waits for the device goes on when the transfer has ended, and finds
                    // the device spoilt.
                    self.device.spoil(failure.to_string());
                    state.failure = Some(failure);
                    state.transfer = None;
                    self.communicator.abort();
                    return;
                }
            }
        }
    }

    /// Whether a transfer has ended, or why it never will.
    fn look_at(&self, transfer: &mut Transfer) -> Result<bool> {
        let passed = transfer.end.has_passed().map_err(|error| Error::Device {
            rank: self.rank,
            source: Box::new(error.into()),
        })?;
        if passed {
            return Ok(true);
        }
        transfer.wire.check()?;
        if let Err(reason) = self.communicator.check() {
            let broken = transfer.broken.get_or_insert_with(Instant::now);
            if broken.elapsed() > WORD {
                let rank = self.rank;
                return Err(Error::Nccl { rank, reason });
            }
        }
        let limit = transfer.wire.limit();
        match transfer.since.elapsed() > limit {
            false => Ok(false),
            true => Err(Error::Late {
                missing: transfer.partner,
                rank: self.rank,
                call: Box::new(Call::clone(&transfer.call)),
                limit,
            }),
        }
    }

    /// The same failure once more.
    fn repeat(&self, failure: &Error) -> Error {
        match failure {
            Error::Failed { rank, reason } => Error::Failed {
                rank: *rank,
                reason: reason.clone(),
            },
            Error::Lost { rank, reason } => Error::Lost {
                rank: *rank,
                reason: reason.clone(),
            },
            Error::Late {
                missing,
                rank,
                call,
                limit,
            } => Error::Late {
                missing: *missing,
                rank: *rank,
                call: call.clone(),
                limit: *limit,
            },
            Error::Nccl { rank, reason } => Error::Nccl {
                rank: *rank,
                reason: reason.clone(),
            },
            other => Error::Nccl {
                rank: self.rank,
                reason: other.to_string(),
            },
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It has panicked at worst, which the thread itself has reported.
            let _ = thread.join();
        }
    }
}
