//! One rank: its device, and its calls to the others.

use std::panic::Location;
use std::sync::Arc;

use blockwise::{Device, View, ViewMut};
use blockwise_ops::reduce::Total;
use blockwise_ops::{Element, LaunchError, Number, Reduction};

use crate::call::Digest;
#[cfg(feature = "cuda")]
use crate::nccl::{Link, Transfers};
use crate::scratch::Scratch;
use crate::wire::{Mailbox, Wire};
use crate::{Call, Error, Result, Split, Traffic, wait};

/// One rank of a mesh, with its device. [`Mesh::run`](crate::Mesh::run) hands it to the program.
///
/// Every rank makes the same collective calls in the same order. What two ranks do differently is
/// an error that names both and their lines.
pub struct Rank {
    device: Device,
    wire: Arc<dyn Wire>,
    traffic: Traffic,
    calls: u64,
    scratch: Scratch,
    /// To the other GPUs, if there is one.
    #[cfg(feature = "cuda")]
    link: Option<Arc<Link>>,
}

impl Rank {
    /// A rank that has called that many collectives before.
    pub(crate) fn new(device: Device, wire: Arc<dyn Wire>, traffic: Traffic, calls: u64) -> Self {
        Self {
            device,
            wire,
            traffic,
            calls,
            scratch: Scratch::default(),
            #[cfg(feature = "cuda")]
            link: None,
        }
    }

    /// The same with memory that an earlier program of the rank has left.
    pub(crate) fn with_scratch(self, scratch: Scratch) -> Self {
        Self { scratch, ..self }
    }

    pub(crate) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// The same with a way to the other GPUs.
    #[cfg(feature = "cuda")]
    pub(crate) fn linked(self, link: Option<Arc<Link>>) -> Self {
        Self { link, ..self }
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn wire(&self) -> &Arc<dyn Wire> {
        &self.wire
    }

    /// What the ranks of this process share, if all are here.
    pub(crate) fn mailbox(&self) -> Option<Arc<Mailbox>> {
        self.wire.mailbox()
    }

    /// How many collectives it has called.
    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }

    /// Its number, from 0.
    pub fn number(&self) -> usize {
        self.wire.rank()
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.wire.ranks()
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits for all work of its device.
    ///
    /// # Errors
    /// What went wrong in it, or with a rank from which it has waited for data.
    pub fn synchronize(&self) -> Result<()> {
        wait::attentively(&self.device).map_err(|e| self.failed(e))
    }

    /// Waits until every rank has come here.
    ///
    /// # Errors
    /// What keeps another rank from coming.
    #[track_caller]
    pub fn barrier(&mut self) -> Result<()> {
        self.agree("barrier", &[])
    }

    /// Compares an operation and lengths with every other rank's, for programs whose ranks read
    /// their own parts of files.
    ///
    /// # Errors
    /// [`Error::Mismatch`], and what keeps another rank from coming.
    #[track_caller]
    pub fn agree(&mut self, operation: &str, sizes: &[usize]) -> Result<()> {
        let call = self.announce(operation, "", sizes, Digest::new());
        self.all::<u32>(&call, &[]).map(drop)
    }

    /// Every rank's values, in the order of the ranks; all have the same number of them.
    ///
    /// # Errors
    /// What goes wrong on the way.
    #[track_caller]
    pub fn gather<T: Element>(&mut self, values: &[T]) -> Result<Vec<Vec<T>>> {
        let call = self.call::<T>("gather", &[values.len()], Digest::new());
        self.all(&call, values)
    }

    /// Folds a value of each rank that has one, in the order of the ranks. `None` when none has.
    ///
    /// # Errors
    /// What goes wrong on the way.
    #[track_caller]
    pub fn fold<T: Number>(&mut self, value: Option<T>, reduction: Reduction) -> Result<Option<T>> {
        let folded = self.fold_totals(value.map(Total::from), reduction)?;
        Ok(folded.map(Total::round))
    }

    /// The same for results that are not rounded yet.
    ///
    /// # Errors
    /// What goes wrong on the way.
    #[track_caller]
    pub fn fold_totals<T: Number>(
        &mut self,
        total: Option<Total<T>>,
        reduction: Reduction,
    ) -> Result<Option<Total<T>>> {
        let call = self.call::<T>(reduction.name(), &[], Digest::new());
        self.fold_in(&call, total, reduction)
    }

    /// The same within another call.
    pub(crate) fn fold_in<T: Number>(
        &mut self,
        call: &Arc<Call>,
        total: Option<Total<T>>,
        reduction: Reduction,
    ) -> Result<Option<Total<T>>> {
        let words = total.map(Total::to_words);
        let words = self.all(call, words.as_ref().map_or(&[][..], |words| words))?;
        let words = words.iter().flat_map(|of_rank| of_rank.as_chunks().0);
        let totals = words.map(|&words| Total::from_words(words));
        Ok(totals.reduce(|sofar, next| sofar.fold(next, reduction)))
    }

    /// Sends values to every rank, and gives those of all, in the order of the ranks.
    pub(crate) fn all<T: Element>(&mut self, call: &Arc<Call>, own: &[T]) -> Result<Vec<Vec<T>>> {
        let me = self.number();
        for to in (0..self.ranks()).filter(|&to| to != me) {
            self.send(to, call, own)?;
        }
        let values = (0..self.ranks()).map(|from| match from == me {
            true => Ok(own.to_vec()),
            false => self.receive(from, call),
        });
        values.collect()
    }

    /// Moves elements between devices: each rank names what it sends and what it receives. Of two
    /// ranks, what the one sends first the other receives first.
    #[allow(dead_code, reason = "matrix product and transpose call it")]
    pub(crate) fn exchange<'v, T: Element>(
        &self,
        call: &Arc<Call>,
        sends: impl IntoIterator<Item = (usize, View<'v, T>)>,
        receives: impl IntoIterator<Item = (usize, ViewMut<'v, T>)>,
    ) -> Result<()> {
        let exchange = self.begin_exchange(call, sends, receives)?;
        self.end_exchange(call, exchange)
    }

    /// The first half of an exchange, which waits for no other rank. What is launched between the
    /// halves may read what is sent, and overlaps with the transfers.
    pub(crate) fn begin_exchange<'v, T: Element>(
        &self,
        call: &Arc<Call>,
        sends: impl IntoIterator<Item = (usize, View<'v, T>)>,
        receives: impl IntoIterator<Item = (usize, ViewMut<'v, T>)>,
    ) -> Result<Exchange<'v, T>> {
        let receives: Vec<_> = receives.into_iter().collect();
        #[cfg(feature = "cuda")]
        if let Some(link) = &self.link {
            let transfers = Transfers::of(sends.into_iter().collect(), receives);
            link.order(self.number(), transfers.memory())?;
            return Ok(Exchange::Link(transfers));
        }
        for (to, elements) in sends {
            let elements = elements.to_vec().map_err(|e| self.failed(e))?;
            self.send(to, call, &elements)?;
        }
        Ok(Exchange::Hosts(receives))
    }

    /// The second half: waits until the partners' calls are known to match. Later work of the
    /// device finds what was received.
    pub(crate) fn end_exchange<T: Element>(
        &self,
        call: &Arc<Call>,
        exchange: Exchange<'_, T>,
    ) -> Result<()> {
        match exchange {
            Exchange::Hosts(receives) => {
                for (from, mut elements) in receives {
                    let arrived = self.receive(from, call)?;
                    (elements.copy_from_slice(&arrived)).map_err(|e| self.failed(e))?;
                }
                Ok(())
            }
            #[cfg(feature = "cuda")]
            Exchange::Link(transfers) => {
                for &partner in transfers.partners() {
                    self.wire.send(partner, call, Vec::new())?;
                }
                for &partner in transfers.partners() {
                    self.wire.receive(partner, call)?;
                }
                for (to, span) in transfers.sends() {
                    self.traffic.count(self.number(), *to, span.bytes);
                }
                match &self.link {
                    Some(link) => link.exchange(&self.wire, call, &transfers),
                    None => Ok(()),
                }
            }
        }
    }

    pub(crate) fn send<T: Element>(
        &self,
        to: usize,
        call: &Arc<Call>,
        elements: &[T],
    ) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        self.traffic.count(self.number(), to, bytes.len());
        self.wire.send(to, call, bytes.to_vec())
    }

    pub(crate) fn receive<T: Element>(&self, from: usize, call: &Arc<Call>) -> Result<Vec<T>> {
        let bytes = self.wire.receive(from, call)?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    /// Begins a collective: its number, and the line of the caller of the function that is marked
    /// `#[track_caller]`.
    #[track_caller]
    pub(crate) fn call<T: Element>(
        &mut self,
        operation: &str,
        sizes: &[usize],
        digest: Digest,
    ) -> Arc<Call> {
        self.announce(operation, T::NAME, sizes, digest)
    }

    #[track_caller]
    fn announce(
        &mut self,
        operation: &str,
        element: &str,
        sizes: &[usize],
        digest: Digest,
    ) -> Arc<Call> {
        let (number, at) = (self.calls, Location::caller());
        self.calls += 1;
        let digest = digest.value();
        Arc::new(Call::new(number, operation, element, sizes, digest, at))
    }

    /// This rank's device has failed, unless transfers from another rank have.
    pub(crate) fn failed(&self, error: impl Into<LaunchError>) -> Error {
        #[cfg(feature = "cuda")]
        if let Some(link) = &self.link
            && let Err(failure) = link.check()
        {
            return failure;
        }
        Error::Device {
            rank: self.number(),
            source: Box::new(error.into()),
        }
    }

    /// Refuses a split over another number of ranks.
    pub(crate) fn check_split(&self, split: &Split) -> Result<()> {
        if split.ranks() != self.ranks() {
            return Err(Error::Foreign {
                rank: self.number(),
                what: "the split",
                of: self.number(),
                ranks: split.ranks(),
            });
        }
        Ok(())
    }

    /// Tells the others that the program has ended.
    pub(crate) fn end(&self, failure: Option<String>) {
        self.wire.end(failure);
    }
}

/// An exchange that has begun: what is left of it.
pub(crate) enum Exchange<'v, T: Element> {
    /// By copies through the hosts: what is received.
    Hosts(Vec<(usize, ViewMut<'v, T>)>),
    /// From memory to memory.
    #[cfg(feature = "cuda")]
    Link(Transfers<'v>),
}
