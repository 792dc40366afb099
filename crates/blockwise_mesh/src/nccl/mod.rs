//! GPUs that reach each other by NCCL: halos go from memory to memory.

mod library;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::{Call, Error, Rank, Result};

use self::library::{Communicator, Library, UniqueId};

pub use self::library::LIBRARY_VARIABLE;

/// Elements of a device's memory, as NCCL takes them. The memory stays allocated while a transfer is in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) address: u64,
    pub(crate) bytes: usize,
}

/// A rank's way to the other GPUs.
pub(crate) struct Link {
    communicator: Communicator,
}

impl Link {
    /// Opens it on every rank: rank 0 makes an id, which all must know.
    #[track_caller]
    pub(crate) fn open(rank: &mut Rank) -> Result<Self> {
        let me = rank.number();
        let failed = |reason| Error::Nccl { rank: me, reason };
        let library = Library::get().map_err(|reason| failed(reason.to_string()))?;
        // The device's context has to be this thread's.
        rank.synchronize()?;
        let own = match me {
            0 => library.unique_id().map_err(failed)?.words(),
            _ => UniqueId::default().words(),
        };
        let ids = rank.gather(&own)?;
        let id = UniqueId::of(&ids[0]);
        let communicator = library.join(&id, me, rank.ranks()).map_err(failed)?;
        Ok(Self { communicator })
    }

    /// Starts sends and receives, in order with all other work of the device.
    pub(crate) fn exchange(
        &self,
        rank: usize,
        sends: &[(usize, Span)],
        receives: &[(usize, Span)],
    ) -> Result<()> {
        let started = self.communicator.exchange(sends, receives);
        started.map_err(|reason| Error::Nccl { rank, reason })
    }
}

/// Compares calls with those whom a rank sends to or receives from, so that both come to the transfer or neither.
pub(crate) fn agree(rank: &Rank, call: &Arc<Call>, partners: &BTreeSet<usize>) -> Result<()> {
    for &partner in partners {
        rank.wire().send(partner, call, Vec::new())?;
    }
    for &partner in partners {
        rank.wire().receive(partner, call)?;
    }
    Ok(())
}
