//! Ends transfers that would wait forever because a rank is dead or silent.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use blockwise::{Device, Event};

use super::PAUSE;
use super::library::Communicator;
use crate::wire::Wire;
use crate::{Call, Error, Result};

/// How long an NCCL error waits for an error of the connections, which names the rank.
const WORD: Duration = Duration::from_secs(2);

/// A thread that checks the other ranks while a transfer is in flight. It aborts the transfer if a
/// rank fails, NCCL reports an error, or the time limit passes.
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
    /// The last transfer; earlier ones end before it does.
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

    /// Reports a started transfer, which must end before `end`.
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

    /// Why transfers were aborted; the same at every later call.
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
        // Memory is freed once transfers have ended, so the last one is always seen to its end.
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
                    // Whoever waits for the device continues when the transfer has ended, and finds
                    // the device marked as failed.
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

    /// A copy of the failure.
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
            // At worst the thread has panicked, and has reported it itself.
            let _ = thread.join();
        }
    }
}
