//! One rank: its device, and its calls to the others.

#[cfg(feature = "cuda")]
use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::Arc;

#[cfg(feature = "cuda")]
use blockwise::DevicePointer;
use blockwise::{Device, View, ViewMut};
use blockwise_ops::{Element, LaunchError, Number, Reduction};

use crate::call::Digest;
#[cfg(feature = "cuda")]
use crate::nccl::{self, Link, Span};
use crate::wire::{Office, Wire};
use crate::{Call, Error, Result, Split, Traffic};

/// One rank of a mesh, with its device. [`Mesh::run`](crate::Mesh::run) hands it to the program.
///
/// Every rank makes the same collective calls in the same order. What two ranks do differently is an error that names both and
/// their lines.
pub struct Rank {
    device: Device,
    wire: Arc<dyn Wire>,
    traffic: Traffic,
    calls: u64,
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
            #[cfg(feature = "cuda")]
            link: None,
        }
    }

    /// The same with a way to the other GPUs.
    #[cfg(feature = "cuda")]
    pub(crate) fn linked(self, link: Option<Arc<Link>>) -> Self {
        Self { link, ..self }
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn wire(&self) -> &dyn Wire {
        &*self.wire
    }

    /// What the ranks of this process share, if all are here.
    pub(crate) fn office(&self) -> Option<Arc<Office>> {
        self.wire.office()
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
    /// What went wrong in it.
    pub fn synchronize(&self) -> Result<()> {
        self.device.synchronize().map_err(|e| self.failed(e))
    }

    /// Waits until every rank has come here.
    ///
    /// # Errors
    /// What keeps another rank from coming.
    #[track_caller]
    pub fn barrier(&mut self) -> Result<()> {
        self.agree("barrier", &[])
    }

    /// Compares an operation and lengths with every other rank's, for programs whose ranks read their own parts of files.
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
        let call = self.call::<T>(reduction.name(), &[], Digest::new());
        self.fold_in(&call, value, reduction)
    }

    /// The same within another call.
    pub(crate) fn fold_in<T: Number>(
        &mut self,
        call: &Arc<Call>,
        value: Option<T>,
        reduction: Reduction,
    ) -> Result<Option<T>> {
        let values = self.all(call, value.as_slice())?.concat();
        Ok(values
            .into_iter()
            .reduce(|sofar, next| sofar.fold(next, reduction)))
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

    /// Moves elements between devices: each rank names what it sends and what it receives. Of two ranks, what the one sends first
    /// the other receives first.
    pub(crate) fn exchange<'v, T: Element>(
        &mut self,
        call: &Arc<Call>,
        sends: impl IntoIterator<Item = (usize, View<'v, T>)>,
        receives: impl IntoIterator<Item = (usize, ViewMut<'v, T>)>,
    ) -> Result<()> {
        #[cfg(feature = "cuda")]
        if let Some(link) = &self.link {
            return self.exchange_by(link, call, sends, receives);
        }
        for (to, elements) in sends {
            let elements = elements.to_vec().map_err(|e| self.failed(e))?;
            self.send(to, call, &elements)?;
        }
        for (from, mut elements) in receives {
            let arrived = self.receive(from, call)?;
            (elements.copy_from_slice(&arrived)).map_err(|e| self.failed(e))?;
        }
        Ok(())
    }

    /// The same from memory to memory.
    #[cfg(feature = "cuda")]
    fn exchange_by<'v, T: Element>(
        &self,
        link: &Link,
        call: &Arc<Call>,
        sends: impl IntoIterator<Item = (usize, View<'v, T>)>,
        receives: impl IntoIterator<Item = (usize, ViewMut<'v, T>)>,
    ) -> Result<()> {
        let span = |address: DevicePointer<T>, len: usize| Span {
            address: address.address,
            bytes: len * size_of::<T>(),
        };
        let sends = sends
            .into_iter()
            .map(|(to, what)| (to, span(what.address(), what.len())));
        let sends: Vec<_> = sends.collect();
        let receives = receives.into_iter();
        let receives = receives.map(|(from, what)| (from, span(what.address(), what.len())));
        let receives: Vec<_> = receives.collect();
        let partners: BTreeSet<usize> = sends
            .iter()
            .chain(&receives)
            .map(|(rank, _)| *rank)
            .collect();
        nccl::agree(self, call, &partners)?;
        for (to, span) in &sends {
            self.traffic.count(self.number(), *to, span.bytes);
        }
        link.exchange(self.number(), &sends, &receives)
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

    /// Begins a collective: its number, and the line of whoever called the function that is marked `#[track_caller]`.
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

    /// This rank's device has failed.
    pub(crate) fn failed(&self, error: impl Into<LaunchError>) -> Error {
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
