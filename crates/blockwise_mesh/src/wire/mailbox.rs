//! Where messages wait for their receivers, and the state of each rank.

use std::any::Any;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blockwise::Lent;

use super::stream::after;
use crate::{Call, Error, Result};

/// How long a waiting rank polls before it sleeps. Waking it takes longer than GPUs with equal
/// parts differ in time.
const ATTENTIVE: Duration = Duration::from_micros(200);

/// Pauses of the processor between two looks and before other threads get a turn.
const SPINS: usize = 20;

/// Messages between ranks that have arrived in this process. A waiting rank is woken by a message,
/// by the end of the rank that it waits for, by any rank's failure, by a deadlock of all ranks, and
/// at the time limit.
pub(crate) struct Mailbox {
    ranks: usize,
    limit: Duration,
    state: Mutex<State>,
    changed: Condvar,
    /// Counts what may end a rank's wait, by rank: ranks that poll do so without the lock.
    news: Vec<AtomicU64>,
}

struct State {
    /// One per pair of ranks, by receiver and sender.
    queues: Vec<VecDeque<Message>>,
    /// Vector clocks: what each rank of this process knows of all ranks' clocks. A rank's own clock
    /// counts the messages that it has sent.
    clocks: Vec<Vec<u64>>,
    /// What each rank has published to the others.
    published: Vec<Option<Published>>,
    progress: Vec<Progress>,
    /// Ranks that must be woken.
    asleep: usize,
    /// The first rank that failed: the errors of the others follow from it.
    first_failure: Option<usize>,
}

/// Memory that ranks of one process share.
type Published = Arc<dyn Any + Send + Sync>;

struct Message {
    call: Arc<Call>,
    data: Data,
    /// The sender's clock, if it is in this process.
    clock: Vec<u64>,
}

/// What a message carries.
#[derive(Debug)]
pub(crate) enum Data {
    Bytes(Vec<u8>),
    /// Memory to copy from, of a rank of this process.
    Lent(Lent<u8>),
}

/// A rank's state, as known to this process.
enum Progress {
    /// Running, here or in another process.
    Running,
    /// Waiting for a message.
    Waiting { from: usize, call: Arc<Call> },
    /// Its program has ended.
    Ended,
    /// Its program has failed.
    Failed(String),
    /// Its connection has broken.
    Lost(String),
}

impl Mailbox {
    pub(crate) fn new(ranks: usize, limit: Duration) -> Self {
        Self {
            ranks,
            limit,
            state: Mutex::new(State {
                queues: (0..ranks * ranks).map(|_| VecDeque::new()).collect(),
                clocks: vec![vec![0; ranks]; ranks],
                published: vec![None; ranks],
                progress: (0..ranks).map(|_| Progress::Running).collect(),
                asleep: 0,
                first_failure: None,
            }),
            changed: Condvar::new(),
            news: (0..ranks).map(|_| AtomicU64::default()).collect(),
        }
    }

    pub(crate) fn ranks(&self) -> usize {
        self.ranks
    }

    /// How long a rank waits for another one.
    #[cfg(feature = "cuda")]
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// The first rank that failed.
    pub(crate) fn first_failure(&self) -> Option<usize> {
        self.state().first_failure
    }

    /// Fails when another rank has failed.
    pub(crate) fn check(&self, me: usize) -> Result<()> {
        self.state().failure_of_another(me).map_or(Ok(()), Err)
    }

    /// A message of a rank of this process.
    pub(crate) fn send(&self, from: usize, to: usize, call: Arc<Call>, data: Data) -> Result<()> {
        let mut state = self.state();
        if let Some(failure) = state.failure_of_another(from) {
            return Err(failure);
        }
        state.clocks[from][from] += 1;
        let clock = state.clocks[from].clone();
        let message = Message { call, data, clock };
        state.queues[to * self.ranks + from].push_back(message);
        self.wake(&state, to..to + 1);
        Ok(())
    }

    /// A message of a rank of another process.
    pub(crate) fn deliver(&self, from: usize, to: usize, call: Arc<Call>, bytes: Vec<u8>) {
        let message = Message {
            call,
            data: Data::Bytes(bytes),
            clock: Vec::new(),
        };
        let mut state = self.state();
        state.queues[to * self.ranks + from].push_back(message);
        self.wake(&state, to..to + 1);
    }

    /// Rank `rank`'s vector clock. An access of another rank at that rank's time t happened before
    /// what follows if this clock's entry for it exceeds t.
    pub(crate) fn clock(&self, rank: usize) -> Vec<u64> {
        self.state().clocks[rank].clone()
    }

    /// Publishes an object of this rank to the other ranks of this process.
    pub(crate) fn publish(&self, rank: usize, what: Published) {
        self.state().published[rank] = Some(what);
    }

    /// Withdraws it.
    pub(crate) fn withdraw(&self, rank: usize) {
        self.state().published[rank] = None;
    }

    /// What all ranks have published, in their order.
    pub(crate) fn published(&self) -> Vec<Published> {
        self.state().published.iter().flatten().cloned().collect()
    }

    /// A message that was never received.
    pub(crate) fn unread(&self) -> Option<Error> {
        let state = self.state();
        let messages = state.queues.iter().enumerate();
        let mut unread = messages.filter_map(|(pair, queue)| Some((pair, queue.front()?)));
        unread.next().map(|(pair, message)| Error::Unread {
            rank: pair / self.ranks,
            from: pair % self.ranks,
            call: Box::new(Call::clone(&message.call)),
        })
    }

    /// Records that a rank's program has ended.
    pub(crate) fn end(&self, rank: usize, failure: Option<String>) {
        self.note(rank, failure.map_or(Progress::Ended, Progress::Failed));
    }

    /// Records that a rank's connection has broken.
    pub(crate) fn lose(&self, rank: usize, reason: String) {
        self.note(rank, Progress::Lost(reason));
    }

    fn note(&self, rank: usize, progress: Progress) {
        let mut state = self.state();
        // The first reason stays: others follow from it.
        if matches!(
            state.progress[rank],
            Progress::Running | Progress::Waiting { .. }
        ) {
            if !matches!(progress, Progress::Ended) {
                state.first_failure.get_or_insert(rank);
            }
            state.progress[rank] = progress;
        }
        self.wake(&state, 0..self.ranks);
    }

    /// Ends the waits of ranks for which there is something new.
    fn wake(&self, state: &State, ranks: Range<usize>) {
        for news in &self.news[ranks] {
            news.fetch_add(1, Ordering::Release);
        }
        // Calling the system costs more than all the rest of a message.
        if state.asleep > 0 {
            self.changed.notify_all();
        }
    }

    /// Why a rank of another process takes no more messages: waits until what it has sent is read
    /// to the end. `None` if that takes longer than the time limit.
    pub(crate) fn why_gone(&self, me: usize, gone: usize, call: &Arc<Call>) -> Option<Error> {
        let is_known = |state: &State| {
            state.failure_of_another(me).is_some()
                || matches!(state.progress[gone], Progress::Ended)
        };
        let mut state = self.state();
        state.asleep += 1;
        let waited = self
            .changed
            .wait_timeout_while(state, self.limit, |state| !is_known(state));
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.asleep -= 1;
        let ended = || {
            matches!(state.progress[gone], Progress::Ended).then(|| Error::Ended {
                missing: gone,
                rank: me,
                call: Box::new(Call::clone(call)),
            })
        };
        state.failure_of_another(me).or_else(ended)
    }

    pub(crate) fn receive(&self, me: usize, from: usize, call: &Arc<Call>) -> Result<Data> {
        let begin = Instant::now();
        let deadline = after(self.limit);
        let mut state = self.state();
        loop {
            let seen = self.news[me].load(Ordering::Acquire);
            if let Some(answer) = state.answer(me, from, call) {
                state.progress[me] = Progress::Running;
                return answer;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                state.progress[me] = Progress::Running;
                return Err(Error::Late {
                    missing: from,
                    rank: me,
                    call: Box::new(Call::clone(call)),
                    limit: self.limit,
                });
            }
            if begin.elapsed() < ATTENTIVE {
                drop(state);
                self.poll(me, seen, begin);
                state = self.state();
                continue;
            }
            state.asleep += 1;
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.asleep -= 1;
        }
    }

    /// Waits for something new, attentively. Other ranks may need this processor, or the lock.
    fn poll(&self, me: usize, seen: u64, begin: Instant) {
        while self.news[me].load(Ordering::Acquire) == seen && begin.elapsed() < ATTENTIVE {
            for _ in 0..SPINS {
                std::hint::spin_loop();
            }
            std::thread::yield_now();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The next message for a waiting rank, or why none will come. `None` while one may still come.
    fn answer(&mut self, me: usize, from: usize, call: &Arc<Call>) -> Option<Result<Data>> {
        let ranks = self.progress.len();
        if let Some(message) = self.queues[me * ranks + from].pop_front() {
            for (own, theirs) in self.clocks[me].iter_mut().zip(message.clock) {
                *own = theirs.max(*own);
            }
            let theirs = message.call;
            return Some(match call.difference(&theirs) {
                None => Ok(message.data),
                Some(difference) => Err(mismatch(difference, (me, call), (from, &theirs))),
            });
        }
        if let Some(failure) = self.failure_of_another(me) {
            return Some(Err(failure));
        }
        if let Progress::Ended = self.progress[from] {
            return Some(Err(Error::Ended {
                missing: from,
                rank: me,
                call: Box::new(Call::clone(call)),
            }));
        }
        self.progress[me] = Progress::Waiting {
            from,
            call: Arc::clone(call),
        };
        let waits = self.standstill()?;
        Some(Err(Error::Standstill { waits }))
    }

    fn failure_of_another(&self, me: usize) -> Option<Error> {
        let rank = self.first_failure.filter(|&rank| rank != me)?;
        match &self.progress[rank] {
            Progress::Failed(reason) => Some(Error::Failed {
                rank,
                reason: reason.clone(),
            }),
            Progress::Lost(reason) => Some(Error::Lost {
                rank,
                reason: reason.clone(),
            }),
            _ => None,
        }
    }

    /// The wait of every rank, if none has a message to read and none runs that could send one.
    fn standstill(&self) -> Option<Vec<(usize, usize, Call)>> {
        let ranks = self.progress.len();
        let mut waits = Vec::new();
        for (rank, progress) in self.progress.iter().enumerate() {
            match progress {
                Progress::Waiting { from, call } if self.queues[rank * ranks + from].is_empty() => {
                    waits.push((rank, *from, Call::clone(call)));
                }
                Progress::Ended => {}
                _ => return None,
            }
        }
        Some(waits)
    }
}

fn mismatch(difference: &'static str, a: (usize, &Call), b: (usize, &Call)) -> Error {
    let mut calls = [a, b].map(|(rank, call)| (rank, call.clone()));
    calls.sort_by_key(|(rank, _)| *rank);
    Error::Mismatch {
        difference,
        calls: Box::new(calls),
    }
}
