//! One rank: its device, and its calls to the others.

use std::panic::Location;
use std::sync::Arc;

use blockwise::{Device, View, ViewMut};
use blockwise_ops::{Element, LaunchError, Number, Reduction};

use crate::call::Digest;
use crate::wire::Wire;
use crate::{Call, Error, Result, Split, Traffic};

/// One rank of a mesh, with its device. [`Mesh::run`](crate::Mesh::run) hands it to the program.
///
/// Every rank makes the same collective calls in the same order. What two ranks do differently is an error that names both and
/// their lines.
pub struct Rank {
    device: Device,
    wire: Box<dyn Wire>,
    traffic: Traffic,
    calls: u64,
}

impl Rank {
    pub(crate) fn new(device: Device, wire: Box<dyn Wire>, traffic: Traffic) -> Self {
        Self {
            device,
            wire,
            traffic,
            calls: 0,
        }
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

    /// Waits until every rank has come here.
    ///
    /// # Errors
    /// What keeps another rank from coming.
    #[track_caller]
    pub fn barrier(&mut self) -> Result<()> {
        let call = self.announce("barrier", "", &[], Digest::new());
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
            self.send(to, call, bytemuck::cast_slice(own).to_vec())?;
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
        for (to, elements) in sends {
            let elements = elements.to_vec().map_err(|e| self.failed(e))?;
            self.send(to, call, bytemuck::cast_slice(&elements).to_vec())?;
        }
        for (from, mut elements) in receives {
            let arrived = self.receive(from, call)?;
            (elements.copy_from_slice(&arrived)).map_err(|e| self.failed(e))?;
        }
        Ok(())
    }

    fn send(&self, to: usize, call: &Arc<Call>, bytes: Vec<u8>) -> Result<()> {
        self.traffic.count(self.number(), to, bytes.len());
        self.wire.send(to, call, bytes)
    }

    fn receive<T: Element>(&self, from: usize, call: &Arc<Call>) -> Result<Vec<T>> {
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
