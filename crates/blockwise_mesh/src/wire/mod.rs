//! How ranks reach each other: messages between hosts, in memory, over sockets of one machine or
//! over TCP.

mod connection;
mod door;
mod frame;
mod hostile;
mod mailbox;
mod meeting;
mod memory;
mod processes;
mod route;
mod seal;
#[cfg(target_os = "linux")]
mod socket;
mod stream;
#[cfg(target_os = "linux")]
mod unix;

use std::sync::Arc;

use crate::{Call, Result};

pub use hostile::{read_as_a_rank_would, what_a_rank_sends};
pub(crate) use mailbox::{Data, Mailbox};
pub(crate) use meeting::Meeting;
pub(crate) use memory::Memory;
pub(crate) use processes::Processes;

/// A connection to the other ranks. Messages between two ranks arrive in order; sending never waits
/// for the receiver.
pub(crate) trait Wire: Send + Sync {
    /// This rank's number.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn ranks(&self) -> usize;

    /// Sends data of a call.
    fn send(&self, to: usize, call: &Arc<Call>, bytes: Vec<u8>) -> Result<()>;

    /// Waits for the next message of another rank, and compares its call with this one. It waits no
    /// longer than the mesh's time limit, and not at all for a rank that cannot send any more.
    fn receive(&self, from: usize, call: &Arc<Call>) -> Result<Data>;

    /// What the ranks of this process share, if all ranks are here.
    fn mailbox(&self) -> Option<Arc<Mailbox>> {
        None
    }

    /// Fails when another rank has failed.
    #[cfg(feature = "cuda")]
    fn check(&self) -> Result<()>;

    /// How long a rank waits for another one.
    #[cfg(feature = "cuda")]
    fn limit(&self) -> std::time::Duration;

    /// Tells the other ranks that this rank's program has ended, with the reason if it failed.
    fn end(&self, failure: Option<String>);
}
