//! GPUs connected by NCCL: data goes from device memory to device memory.
//!
//! Transfers have a stream of their own, so they overlap with kernels. NCCL itself would wait
//! forever for a dead rank: [`Watch`] then ends its transfers, and [`Link::open`] its own wait.

mod library;
mod watch;

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use blockwise::{Buffer, Device, DeviceKind, Memory, Plain, Stream, View, ViewMut};
use launch_contract::launch::{Read, Write};

use crate::wire::Wire;
use crate::{Call, Error, Rank, Result};

use self::library::{Communicator, Library, UniqueId};
use self::watch::Watch;

pub use self::library::LIBRARY_VARIABLE;

/// How often a waiting rank checks the other ranks.
const PAUSE: Duration = Duration::from_millis(5);

/// A range of device memory in NCCL's terms. It stays allocated while a transfer is in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    address: u64,
    pub(crate) bytes: usize,
}

/// What a rank sends and receives in one exchange.
pub(crate) struct Transfers<'v> {
    sends: Vec<(usize, Span)>,
    receives: Vec<(usize, Span)>,
    partners: BTreeSet<usize>,
    memory: Vec<Memory<'v>>,
}

impl<'v> Transfers<'v> {
    pub(crate) fn of<T: Plain>(
        sends: Vec<(usize, View<'v, T>)>,
        receives: Vec<(usize, ViewMut<'v, T>)>,
    ) -> Self {
        let bytes = |len: usize| len * size_of::<T>();
        let span = |address: u64, len| Span {
            address,
            bytes: bytes(len),
        };
        let (mut memory, mut partners) = (Vec::new(), BTreeSet::new());
        let sends = sends.into_iter().map(|(to, view)| {
            partners.insert(to);
            memory.push(Read::pass(view));
            (to, span(view.address().address, view.len()))
        });
        let sends = sends.collect();
        let receives = receives.into_iter().map(|(from, view)| {
            partners.insert(from);
            let span = span(view.address().address, view.len());
            memory.push(Write::pass(view));
            (from, span)
        });
        Self {
            sends,
            receives: receives.collect(),
            partners,
            memory,
        }
    }

    pub(crate) fn sends(&self) -> &[(usize, Span)] {
        &self.sends
    }

    /// The other ranks.
    pub(crate) fn partners(&self) -> &BTreeSet<usize> {
        &self.partners
    }

    pub(crate) fn memory(&self) -> &[Memory<'v>] {
        &self.memory
    }
}

/// A rank's connection to the other GPUs.
pub(crate) struct Link {
    // Dropped first: it uses the communicator.
    watch: Watch,
    communicator: Arc<Communicator>,
    stream: Stream,
}

impl Link {
    /// Why no links are possible, the same on every rank; `None` if every rank has NCCL and a GPU
    /// of its own.
    #[track_caller]
    pub(crate) fn missing(rank: &mut Rank, own_gpu: bool) -> Result<Option<String>> {
        let own = match (rank.device().properties().kind, own_gpu) {
            (DeviceKind::Emulator, _) => Some("its device is emulated"),
            (DeviceKind::Cuda, false) => Some("it shares its GPU with another rank"),
            (DeviceKind::Cuda, true) => Library::get().err(),
        };
        let lacks = rank.gather(&[u32::from(own.is_some())])?;
        let first = lacks.iter().position(|lacks| *lacks == [1]);
        Ok(first.map(|first| match own {
            Some(reason) => format!("rank {}: {reason}", rank.number()),
            None => format!("rank {first} cannot"),
        }))
    }

    /// Opens the link on every rank: rank 0 creates an id, which all must know.
    #[track_caller]
    pub(crate) fn open(rank: &mut Rank) -> Result<Self> {
        let (me, ranks) = (rank.number(), rank.ranks());
        let failed = move |reason| Error::Nccl { rank: me, reason };
        let library = Library::get().map_err(|reason| failed(reason.to_string()))?;
        let own = match me {
            0 => library.unique_id().map_err(failed)?.words(),
            _ => UniqueId::default().words(),
        };
        let ids = rank.gather(&own)?;
        let id = UniqueId::of(&ids[0]);
        let (device, (done, opened)) = (rank.device().clone(), channel());
        let joined = Arc::new(OnceLock::new());
        let joining = Arc::clone(&joined);
        // NCCL meets the other ranks in this thread, and never returns if one of them has died.
        thread::spawn(move || done.send(meet(library, &id, me, ranks, &device, &joining)));
        let outcome = wait(&opened, rank).inspect_err(|_| {
            let joined: Option<&Arc<Communicator>> = joined.get();
            if let Some(communicator) = joined {
                communicator.abort();
            }
        });
        let (communicator, stream) = outcome?.map_err(failed)?;
        Ok(Self {
            watch: Watch::over(Arc::clone(&communicator), rank.device(), me),
            communicator,
            stream,
        })
    }

    /// Orders transfers of this memory after its earlier uses, and later uses after the transfers.
    pub(crate) fn order(&self, rank: usize, memory: &[Memory<'_>]) -> Result<()> {
        self.stream.order(memory).map_err(|error| Error::Nccl {
            rank,
            reason: error.to_string(),
        })
    }

    /// Where transfers are enqueued.
    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Starts transfers whose memory has been ordered.
    pub(crate) fn exchange(
        &self,
        wire: &Arc<dyn Wire>,
        call: &Arc<Call>,
        transfers: &Transfers<'_>,
    ) -> Result<()> {
        let Some(partner) = transfers.partners.first() else {
            return Ok(());
        };
        self.check()?;
        let rank = wire.rank();
        let Transfers {
            sends, receives, ..
        } = transfers;
        let started = self.communicator.exchange(&self.stream, sends, receives);
        started.map_err(|reason| Error::Nccl { rank, reason })?;
        let end = self.stream.record().map_err(|error| Error::Device {
            rank,
            source: Box::new(error.into()),
        })?;
        self.watch.transfer(end, wire, call, *partner);
        Ok(())
    }

    /// Why transfers were aborted, if they were; the device's memory is then undefined.
    pub(crate) fn check(&self) -> Result<()> {
        self.watch.check()
    }
}

type Met = Result<(Arc<Communicator>, Stream), String>;

/// Waits for NCCL, but not for a rank that has failed, nor beyond the time limit.
fn wait(opened: &Receiver<Met>, rank: &Rank) -> Result<Met> {
    let (begin, limit) = (Instant::now(), rank.wire().limit());
    let failed = |reason| Error::Nccl {
        rank: rank.number(),
        reason,
    };
    while begin.elapsed() < limit {
        match opened.recv_timeout(PAUSE) {
            Ok(met) => return Ok(met),
            Err(RecvTimeoutError::Timeout) => rank.wire().check()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failed("NCCL's start has panicked".to_owned()));
            }
        }
    }
    let limit = limit.as_secs_f64();
    Err(failed(format!(
        "NCCL has not met all ranks within {limit} s"
    )))
}

/// Joins the other ranks and connects to each, so that later transfers need not connect.
fn meet(
    library: &'static Library,
    id: &UniqueId,
    me: usize,
    ranks: usize,
    device: &Device,
    joined: &OnceLock<Arc<Communicator>>,
) -> Met {
    // NCCL takes the device from the thread's context.
    let begun = || -> blockwise::Result<(Stream, Buffer<u8>)> {
        device.synchronize()?;
        Ok((device.urgent_stream()?, device.zeros(2 * ranks)?))
    };
    let (stream, cells) = begun().map_err(|error| error.to_string())?;
    device.synchronize().map_err(|error| error.to_string())?;
    let communicator = Arc::new(library.join(id, me, ranks)?);
    // From here on another thread can abort it.
    let _ = joined.set(Arc::clone(&communicator));
    let cell = |at: usize| Span {
        address: cells.address().address + at as u64,
        bytes: 1,
    };
    let others = || (0..ranks).filter(|&other| other != me);
    let sends: Vec<_> = others().map(|to| (to, cell(to))).collect();
    let receives: Vec<_> = others().map(|from| (from, cell(ranks + from))).collect();
    communicator.exchange(&stream, &sends, &receives)?;
    stream.synchronize().map_err(|error| error.to_string())?;
    Ok((communicator, stream))
}
