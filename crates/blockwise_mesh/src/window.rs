//! Memory that other ranks read and write directly, checked for races.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use blockwise::{Buffer, ViewMut};
use blockwise_ops::Element;

use crate::call::Digest;
use crate::{Error, Rank, Result, Split};

/// An array divided over the ranks of one process, each part of which every rank may read and
/// write: one-sided copies, as over peer memory.
///
/// Only the ranks' collective calls order these copies. Every access is compared with earlier ones:
/// two that overlap, one of which writes, are a race unless a chain of messages, such as a
/// barrier's, leads from one to the other. So a race is found in every run, whatever the timing.
///
/// ```
/// use blockwise_mesh::{Error, Mesh, Split, Window};
///
/// let run = Mesh::emulated(2)?.run(|rank| {
///     let window = Window::<f32>::new(rank, Split::even(2, 2))?;
///     window.write(rank, 1 - rank.number(), 0, &[rank.number() as f32])?;
///     rank.barrier()?; // without it the error has both lines
///     window.read(rank, rank.number(), 0..1)
/// });
/// assert_eq!(run?, [[1.0], [0.0]]);
/// # Ok::<(), Error>(())
/// ```
pub struct Window<T: Element> {
    split: Split,
    parts: Vec<Shared<T>>,
}

type Shared<T> = Arc<Mutex<Part<T>>>;

/// One rank's part, and its uses.
struct Part<T: Element> {
    memory: Buffer<T>,
    uses: Vec<Use>,
}

/// An access that later ones must be ordered after.
#[derive(Clone, Debug)]
struct Use {
    access: Access,
    range: Range<usize>,
    /// The rank's own clock.
    time: u64,
}

/// An access to a window: its kind, rank and line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The rank.
    pub rank: usize,
    /// Whether it writes.
    pub writes: bool,
    /// The Rust file.
    pub file: &'static str,
    /// Its line.
    pub line: u32,
}

/// For example `rank 1 writes at src/main.rs:12`.
impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.writes { "writes" } else { "reads" };
        let Self {
            rank, file, line, ..
        } = self;
        write!(f, "rank {rank} {verb} at {file}:{line}")
    }
}

impl<T: Element> Window<T> {
    /// Allocates a part on every rank. All elements are zero.
    ///
    /// # Errors
    /// [`Error::NoPeers`] for the processes of a job, a split over a different number of ranks, a
    /// lack of memory, and failures of the communication.
    #[track_caller]
    pub fn new(rank: &mut Rank, split: Split) -> Result<Self> {
        rank.check_split(&split)?;
        let call = rank.call::<T>("window", &[split.len()], split.digest(Digest::new()));
        let Some(mailbox) = rank.mailbox() else {
            return Err(Error::NoPeers {
                rank: rank.number(),
            });
        };
        let len = split.range(rank.number()).len();
        let memory = rank.device().zeros(len).map_err(|e| rank.failed(e))?;
        let uses = Vec::new();
        let part: Arc<dyn Any + Send + Sync> = Arc::new(Mutex::new(Part::<T> { memory, uses }));
        mailbox.publish(rank.number(), part);
        rank.all::<u32>(&call, &[])?;
        let parts = mailbox.published().into_iter();
        // All parts have this type, because the calls agree.
        let parts = parts.filter_map(|part| part.downcast::<Mutex<Part<T>>>().ok());
        let parts = parts.collect();
        // No rank withdraws its part before all have received it.
        rank.all::<u32>(&call, &[])?;
        mailbox.withdraw(rank.number());
        Ok(Self { split, parts })
    }

    /// How the array is divided.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// Copies elements of a rank's part.
    ///
    /// # Errors
    /// [`Error::Race`], a missing rank or elements, and failures of the device.
    #[track_caller]
    pub fn read(&self, rank: &Rank, of: usize, range: Range<usize>) -> Result<Vec<T>> {
        let part = self.use_part(rank, of, range.clone(), false)?;
        let values = part.memory.view(range).to_vec();
        values.map_err(|e| rank.failed(e))
    }

    /// Copies values into a rank's part.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    #[track_caller]
    pub fn write(&self, rank: &Rank, of: usize, start: usize, values: &[T]) -> Result<()> {
        let range = start..start.saturating_add(values.len());
        let mut part = self.use_part(rank, of, range.clone(), true)?;
        let written = part.memory.view_mut(range).copy_from_slice(values);
        written.map_err(|e| rank.failed(e))
    }

    /// Lets this rank's device work on its part, which counts as a write of all of it, and waits.
    ///
    /// # Errors
    /// [`Error::Race`], the error of the work, and failures of the device.
    #[track_caller]
    pub fn update<R>(
        &self,
        rank: &Rank,
        work: impl FnOnce(ViewMut<'_, T>) -> Result<R>,
    ) -> Result<R> {
        let me = rank.number();
        let all = 0..self.split.range(me).len();
        let mut part = self.use_part(rank, me, all, true)?;
        let result = work(part.memory.as_view_mut())?;
        rank.synchronize()?;
        Ok(result)
    }

    /// A part, unless this use of it races with an earlier one.
    #[track_caller]
    fn use_part(
        &self,
        rank: &Rank,
        of: usize,
        range: Range<usize>,
        writes: bool,
    ) -> Result<MutexGuard<'_, Part<T>>> {
        let at: &'static Location<'static> = Location::caller();
        let Some(part) = self.parts.get(of) else {
            return Err(Error::NoRank {
                rank: of,
                ranks: self.parts.len(),
            });
        };
        let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
        if range.start > range.end || range.end > part.memory.len() {
            return Err(Error::PartLength {
                rank: of,
                needed: part.memory.len(),
                given: range.end,
            });
        }
        let clock = rank.mailbox().map(|mailbox| mailbox.clock(rank.number()));
        let clock = clock.unwrap_or_default();
        let access = Access {
            rank: rank.number(),
            writes,
            file: at.file(),
            line: at.line(),
        };
        let now = Use {
            access,
            range,
            time: clock.get(access.rank).copied().unwrap_or_default(),
        };
        part.note(now, &clock)
            .map_err(|(before, elements)| Error::Race {
                of,
                elements,
                accesses: Box::new([before, access]),
            })?;
        Ok(part)
    }
}

impl<T: Element> Part<T> {
    /// Compares a use with earlier ones. `clock` is the vector clock of its rank.
    fn note(&mut self, now: Use, clock: &[u64]) -> Result<(), (Access, Range<usize>)> {
        let before = |used: &Use| {
            let other = used.access.rank;
            other == now.access.rank || clock.get(other).is_some_and(|&known| known > used.time)
        };
        for used in &self.uses {
            let common = used.range.start.max(now.range.start)..used.range.end.min(now.range.end);
            let conflict = used.access.writes || now.access.writes;
            if conflict && !common.is_empty() && !before(used) {
                return Err((used.access, common));
            }
        }
        // Earlier uses within its range that this one is ordered after need not be kept: what is
        // ordered after this one is ordered after them too.
        self.uses.retain(|used| {
            let within = now.range.start <= used.range.start && used.range.end <= now.range.end;
            let same = used.access.rank == now.access.rank && !used.access.writes;
            !(within && before(used) && (now.access.writes || same))
        });
        self.uses.push(now);
        Ok(())
    }
}
