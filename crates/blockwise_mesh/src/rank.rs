//! One rank: its device, and its calls to the others.

use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::Arc;

use blockwise::{Columns, Device, Lent, Stream, View, ViewMut};
use blockwise_ops::reduce::Total;
use blockwise_ops::{Element, LaunchError, Number, Reduction};
use launch_contract::launch::Write;

use crate::call::Digest;
#[cfg(feature = "cuda")]
use crate::nccl::{Link, Transfers};
use crate::phases::{Phases, Recorder};
use crate::scratch::Scratch;
use crate::wire::{Data, Mailbox, Wire};
use crate::{Call, Error, Result, Split, Traffic, wait};

/// One rank of a mesh, with its device. [`Mesh::run`](crate::Mesh::run) passes it to the program.
///
/// Every rank makes the same collective calls in the same order. If two ranks differ, the error
/// names both and their lines.
pub struct Rank {
    device: Device,
    wire: Arc<dyn Wire>,
    traffic: Traffic,
    calls: u64,
    scratch: Scratch,
    recorder: Recorder,
    /// For copies from the other devices, if all are alike and in this process.
    copies: Option<Stream>,
    /// To the other GPUs, if NCCL connects them.
    #[cfg(feature = "cuda")]
    link: Option<Arc<Link>>,
}

impl Rank {
    /// A rank that has already called that many collectives.
    pub(crate) fn new(device: Device, wire: Arc<dyn Wire>, traffic: Traffic, calls: u64) -> Self {
        Self {
            device,
            wire,
            traffic,
            calls,
            scratch: Scratch::default(),
            recorder: Recorder::default(),
            copies: None,
            #[cfg(feature = "cuda")]
            link: None,
        }
    }

    /// The same, with memory left by an earlier program of the rank.
    pub(crate) fn with_scratch(self, scratch: Scratch) -> Self {
        Self { scratch, ..self }
    }

    pub(crate) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// The same, with a stream for copies from other devices of this process.
    pub(crate) fn copying(self, copies: Option<Stream>) -> Self {
        Self { copies, ..self }
    }

    /// The same, with a connection to the other GPUs.
    #[cfg(feature = "cuda")]
    pub(crate) fn linked(self, link: Option<Arc<Link>>) -> Self {
        Self { link, ..self }
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn wire(&self) -> &Arc<dyn Wire> {
        &self.wire
    }

    /// The mailbox that the ranks of this process share, if all ranks are here.
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

    /// Begins a step whose [`phases`](Self::phases) are recorded; waits for the device first.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn record_phases(&mut self) -> Result<()> {
        self.synchronize()?;
        self.recorder = Recorder::begin(&self.device).map_err(|e| self.failed(e))?;
        Ok(())
    }

    /// Ends the step: where its time went. Empty if none was begun.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn phases(&mut self) -> Result<Phases> {
        let phases = self.recorder.end().map_err(|e| self.failed(e));
        self.recorder = Recorder::default();
        phases
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Enqueues work of its device in a stream, or in its own queue, and records it as `name`.
    pub(crate) fn enqueue<R>(
        &self,
        name: &'static str,
        stream: Option<&Stream>,
        work: impl FnOnce() -> R,
    ) -> R {
        self.recorder.device(name, &self.device, stream, work)
    }

    /// Waits for all work of its device.
    ///
    /// # Errors
    /// Failures of that work, or of a rank from which it has waited for data.
    pub fn synchronize(&self) -> Result<()> {
        let _waiting = self.recorder.host("wait");
        wait::attentively(&self.device).map_err(|e| self.failed(e))
    }

    /// Waits until every rank has called it.
    ///
    /// # Errors
    /// The failure that keeps another rank from calling it.
    #[track_caller]
    pub fn barrier(&mut self) -> Result<()> {
        self.agree("barrier", &[])
    }

    /// Compares an operation and lengths with every other rank's, for programs whose ranks read
    /// their own parts of files.
    ///
    /// # Errors
    /// [`Error::Mismatch`], and the failure that keeps another rank from calling it.
    #[track_caller]
    pub fn agree(&mut self, operation: &str, sizes: &[usize]) -> Result<()> {
        let call = self.announce(operation, "", sizes, Digest::new());
        self.all::<u32>(&call, &[]).map(drop)
    }

    /// Every rank's values, in the order of the ranks; all ranks pass the same number.
    ///
    /// # Errors
    /// Failures of the communication.
    #[track_caller]
    pub fn gather<T: Element>(&mut self, values: &[T]) -> Result<Vec<Vec<T>>> {
        let call = self.call::<T>("gather", &[values.len()], Digest::new());
        self.all(&call, values)
    }

    /// Folds the values of the ranks that have one, in the order of the ranks. `None` if none has.
    ///
    /// # Errors
    /// Failures of the communication.
    #[track_caller]
    pub fn fold<T: Number>(&mut self, value: Option<T>, reduction: Reduction) -> Result<Option<T>> {
        let folded = self.fold_totals(value.map(Total::from), reduction)?;
        Ok(folded.map(Total::round))
    }

    /// The same for results that are not rounded yet.
    ///
    /// # Errors
    /// Failures of the communication.
    #[track_caller]
    pub fn fold_totals<T: Number>(
        &mut self,
        total: Option<Total<T>>,
        reduction: Reduction,
    ) -> Result<Option<Total<T>>> {
        let call = self.call::<T>(reduction.name(), &[], Digest::new());
        self.fold_in(&call, total, reduction)
    }

    /// The same as part of another call.
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

    /// Sends values to every rank, and returns those of all, in the order of the ranks.
    pub(crate) fn all<T: Element>(&mut self, call: &Arc<Call>, own: &[T]) -> Result<Vec<Vec<T>>> {
        let _exchanging = self.recorder.host("exchange");
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

    /// Moves elements between devices: each rank names what it sends and what it receives. Between
    /// two ranks, elements arrive in the order in which they were sent.
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

    /// The same where each rank sends as much to each other one. Copies of more than two devices
    /// disturb each other then, so NCCL goes first where there is a link: 3.6 ms for 32768² on four
    /// H200, copies 3.8 (docs/log/2026-11-26-mesh.md).
    pub(crate) fn exchange_all<'v, T: Element>(
        &self,
        call: &Arc<Call>,
        sends: impl IntoIterator<Item = (usize, View<'v, T>)>,
        receives: impl IntoIterator<Item = (usize, ViewMut<'v, T>)>,
    ) -> Result<()> {
        let exchange = self.begin(true, call, sends, receives)?;
        self.end_exchange(call, exchange)
    }

    /// Whether ranks only copy from each other's devices.
    pub(crate) fn lends(&self) -> bool {
        #[cfg(feature = "cuda")]
        if self.link.is_some() {
            return false;
        }
        self.copies.is_some() && self.mailbox().is_some()
    }

    /// Puts tiles of all ranks next to each other, where devices [lend](Self::lends): `output` has
    /// rows of `cols` elements, and a rank's tile, row after row, goes to the columns from the one that
    /// `first` gives. The device's own tile is copied on `beside`. What comes later in `stream`, or
    /// uses the output, sees all of them.
    pub(crate) fn gather_tiles<'v, T: Element>(
        &self,
        call: &Arc<Call>,
        [stream, beside]: [&Stream; 2],
        tile: impl Fn(usize) -> View<'v, T>,
        (mut output, cols): (ViewMut<'_, T>, usize),
        first: impl Fn(usize) -> Option<usize>,
    ) -> Result<()> {
        let _exchanging = self.recorder.host("exchange");
        let (me, ranks) = (self.number(), self.ranks());
        let Some(mailbox) = self.mailbox() else {
            return Ok(());
        };
        let others = || (1..ranks).map(|step| (me + step) % ranks);
        let borrowers: Vec<_> = others().filter(|&to| !tile(to).is_empty()).collect();
        for &to in &borrowers {
            let lent = tile(to).into_bytes().lend().map_err(|e| self.failed(e))?;
            self.traffic.count(me, to, lent.len());
            mailbox.send(me, to, Arc::clone(call), Data::Lent(lent))?;
        }
        let bytes = |elements: usize| elements * size_of::<T>();
        let mut parts = Vec::new();
        let mut lenders = Vec::new();
        if let Some(first) = first(me) {
            parts.push((bytes(first), Columns::Own(tile(me).into_bytes())));
        }
        for from in others() {
            let Some(first) = first(from) else { continue };
            // Only these are lent, and calls that match lend at the same time.
            if let Data::Lent(lent) = self.wire.receive(from, call)? {
                parts.push((bytes(first), Columns::Lent(lent)));
                lenders.push(from);
            }
        }
        let mut output = output.as_view_mut().into_bytes();
        let gather = || output.gather_columns([stream, beside], bytes(cols), &parts);
        let gathered = self.enqueue("transfer", Some(stream), gather);
        gathered.map_err(|e| self.failed(e))?;
        self.hand_back(call, lenders, borrowers)
    }

    /// Tells those who have lent that they may write again, which will wait for the copies, and waits
    /// until those who borrow have said so.
    fn hand_back(
        &self,
        call: &Arc<Call>,
        lenders: impl IntoIterator<Item = usize>,
        borrowers: impl IntoIterator<Item = usize>,
    ) -> Result<()> {
        for lender in lenders {
            self.wire.send(lender, call, Vec::new())?;
        }
        for borrower in borrowers {
            self.wire.receive(borrower, call)?;
        }
        Ok(())
    }

    /// The first half of an exchange, which waits for no other rank. Launches between the halves
    /// may read what is sent, and overlap with the transfers.
    pub(crate) fn begin_exchange<'v, T: Element>(
        &self,
        call: &Arc<Call>,
        sends: impl IntoIterator<Item = (usize, View<'v, T>)>,
        receives: impl IntoIterator<Item = (usize, ViewMut<'v, T>)>,
    ) -> Result<Exchange<'v, T>> {
        self.begin(false, call, sends, receives)
    }

    #[cfg_attr(
        not(feature = "cuda"),
        expect(unused_variables, reason = "there are no links")
    )]
    fn begin<'v, T: Element>(
        &self,
        link_first: bool,
        call: &Arc<Call>,
        sends: impl IntoIterator<Item = (usize, View<'v, T>)>,
        receives: impl IntoIterator<Item = (usize, ViewMut<'v, T>)>,
    ) -> Result<Exchange<'v, T>> {
        let receives: Vec<_> = receives.into_iter().collect();
        #[cfg(feature = "cuda")]
        if let Some(link) = &self.link
            && (link_first || self.copies.is_none())
        {
            let transfers = Transfers::of(sends.into_iter().collect(), receives);
            link.order(self.number(), transfers.memory())?;
            return Ok(Exchange::Link(transfers));
        }
        if let (Some(copies), Some(mailbox)) = (&self.copies, self.mailbox()) {
            let sends = sends.into_iter();
            let sends = sends.map(|(to, elements)| (to, elements.into_bytes().lend()));
            return self.lend(call, copies, &mailbox, sends, receives);
        }
        for (to, elements) in sends {
            let elements = elements.to_vec().map_err(|e| self.failed(e))?;
            self.send(to, call, &elements)?;
        }
        Ok(Exchange::Hosts(receives))
    }

    /// The second half: waits until the partners' calls are known to match. Later work of the
    /// device sees the received data.
    pub(crate) fn end_exchange<T: Element>(
        &self,
        call: &Arc<Call>,
        exchange: Exchange<'_, T>,
    ) -> Result<()> {
        let _exchanging = self.recorder.host("exchange");
        match exchange {
            Exchange::Hosts(receives) => {
                for (from, mut elements) in receives {
                    let arrived = self.receive(from, call)?;
                    (elements.copy_from_slice(&arrived)).map_err(|e| self.failed(e))?;
                }
                Ok(())
            }
            Exchange::Peers(receives, borrowers) => {
                let mut lenders = BTreeSet::new();
                for (from, place) in receives {
                    let (mut place, data) = (place.into_bytes(), self.wire.receive(from, call)?);
                    let copied = match (data, &self.copies) {
                        (Data::Lent(lent), Some(copies)) => {
                            let copy = || place.copy_from_peer(copies, &lent);
                            self.enqueue("transfer", Some(copies), copy)
                        }
                        (Data::Lent(_), None) => place.copy_from_slice(&[]),
                        (Data::Bytes(bytes), _) => place.copy_from_slice(&bytes),
                    };
                    copied.map_err(|e| self.failed(e))?;
                    lenders.insert(from);
                }
                self.hand_back(call, lenders, borrowers)
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
                    Some(link) => {
                        let exchange = || link.exchange(&self.wire, call, &transfers);
                        self.enqueue("transfer", Some(link.stream()), exchange)
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// The first half of an exchange between devices of this process. Each rank copies from the
    /// others, and begins with the next one: so all begin with different ones.
    fn lend<'v, T: Element>(
        &self,
        call: &Arc<Call>,
        copies: &Stream,
        mailbox: &Mailbox,
        sends: impl Iterator<Item = (usize, blockwise::Result<Lent<u8>>)>,
        mut receives: Vec<(usize, ViewMut<'v, T>)>,
    ) -> Result<Exchange<'v, T>> {
        let (me, ranks) = (self.number(), self.ranks());
        let places = receives.iter_mut();
        let places: Vec<_> = places
            .map(|(_, place)| place.as_view_mut().pass())
            .collect();
        copies.order(&places).map_err(|e| self.failed(e))?;
        drop(places);
        let mut borrowers = BTreeSet::new();
        for (to, lent) in sends {
            let lent = lent.map_err(|e| self.failed(e))?;
            self.traffic.count(me, to, lent.len());
            mailbox.send(me, to, Arc::clone(call), Data::Lent(lent))?;
            borrowers.insert(to);
        }
        receives.sort_by_key(|(from, _)| (from + ranks - me) % ranks);
        Ok(Exchange::Peers(receives, borrowers))
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
        let bytes = self.receive_bytes(from, call)?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    pub(crate) fn receive_bytes(&self, from: usize, call: &Arc<Call>) -> Result<Vec<u8>> {
        Ok(match self.wire.receive(from, call)? {
            Data::Bytes(bytes) => bytes,
            // Only an exchange lends, and calls that match exchange at the same time.
            Data::Lent(_) => Vec::new(),
        })
    }

    /// Starts a collective: its number, and the line of the caller of the function that is marked
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

    /// The error of a failed device, unless transfers from another rank failed.
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

    /// Refuses a split over a different number of ranks.
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

/// An exchange that has started: what is left to do.
pub(crate) enum Exchange<'v, T: Element> {
    /// By copies through the hosts: what to receive.
    Hosts(Vec<(usize, ViewMut<'v, T>)>),
    /// Between devices of this process: what to copy from others, and who copies from here.
    Peers(Vec<(usize, ViewMut<'v, T>)>, BTreeSet<usize>),
    /// Between GPUs by NCCL.
    #[cfg(feature = "cuda")]
    Link(Transfers<'v>),
}
