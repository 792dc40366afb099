//! Convolution of sharded signals, with halos from the neighbours.
//!
//! The outputs have the bits of a single device's with the same kernel. The exception is FFT
//! kernels, whose windows start elsewhere in a part.

mod plan;

use std::ops::Range;

use blockwise::{AnyView, Buffer, View, ViewMut};
use blockwise_ops::conv1d::{CONV, problem};
use blockwise_ops::operation::{Call, Options, choose, in_parts};
use blockwise_ops::{ConvMode, Float};

pub(crate) use self::plan::Layout;
use self::plan::{Edge, Share};
use crate::call::Digest;
use crate::{Error, Rank, Result, Sharded, Split};

/// A convolution of sharded signals of one split, with the memory for the halos.
pub struct ShardedConvolution<T: Float> {
    layout: Layout,
    inner: Range<usize>,
    edges: Vec<(Edge, Buffer<T>)>,
    taps: Buffer<T>,
    call: Call,
}

impl<T: Float> ShardedConvolution<T> {
    /// Chooses the kernel as for a single device, and allocates what a rank needs: its halos, and
    /// at most 1 MiB.
    ///
    /// # Errors
    /// No samples or no taps, more taps than samples (see [`convolve`]), a kernel that computes all
    /// outputs at once, a broken limit, and a lack of memory.
    pub fn new(
        rank: &Rank,
        signal: &Split,
        taps: &[T],
        mode: ConvMode,
        options: &Options,
    ) -> Result<Self> {
        rank.check_split(signal)?;
        let failed = |e| rank.failed(e);
        let device = rank.device();
        let whole = problem(T::TYPE, [signal.len(), taps.len()], mode).map_err(failed)?;
        // The kernel that `convolve` chooses for the whole, so that the bits are a single device's.
        let once = Options {
            once: true,
            ..*options
        };
        let properties = device.properties();
        let of_parts = match rank.ranks() {
            1 => choose(&CONV, &whole, &once, properties).map(|choice| {
                Some(Options {
                    kernel: Some(choice.variant),
                    ..*options
                })
            }),
            _ => in_parts(&CONV, &whole, &once, properties),
        };
        let Some(of_parts) = of_parts.map_err(failed)? else {
            let kernel = options.kernel.map_or(CONV.name, |kernel| kernel.name);
            return Err(Error::Indivisible { kernel });
        };
        let mut call = Call::new(device, &CONV, of_parts);
        let layout = Layout::new(signal.clone(), whole);
        call.prepare(&layout.prepared(rank.number()), true)
            .map_err(failed)?;
        let Share { inner, edges } = layout.share(rank.number());
        let edges = edges.into_iter().map(|edge| {
            let window = device.zeros(edge.window.len());
            Ok((edge, window.map_err(|e| rank.failed(e))?))
        });
        Ok(Self {
            inner,
            edges: edges.collect::<Result<_>>()?,
            taps: device.upload(taps).map_err(|e| rank.failed(e))?,
            call,
            layout,
        })
    }

    /// How the outputs are divided.
    pub fn outputs(&self) -> &Split {
        &self.layout.outputs
    }

    /// Starts the convolution.
    ///
    /// # Errors
    /// A signal or an output of another split, and failures of a device or of the communication.
    #[track_caller]
    pub fn enqueue(
        &mut self,
        rank: &mut Rank,
        signal: &Sharded<T>,
        output: &mut Sharded<T>,
    ) -> Result<()> {
        let layout = &self.layout;
        signal.check_split(rank, "the signal", &layout.signal)?;
        output.check_split(rank, "the output", &layout.outputs)?;
        let [_, of_taps, offset, _] = layout.whole.extents;
        let digest = layout.signal.digest(Digest::new()).number(offset);
        let sizes = [signal.len(), of_taps, output.len()];
        let call = rank.call::<T>("convolve", &sizes, digest);

        let (me, own) = (rank.number(), signal.range());
        let first = layout.outputs_of(me).start;
        let taps = self.taps.as_view();
        let launches = &mut self.call;
        let mut compute = |window: View<'_, T>, start: usize, outputs: &Range<usize>| {
            let to = output.part_mut();
            let to = to.into_view_mut(outputs.start - first..outputs.end - first);
            let mut part = layout.whole;
            part.extents = [
                window.len(),
                taps.len(),
                outputs.start - start,
                outputs.len(),
            ];
            let inputs = [window, taps].map(AnyView::from);
            launches.enqueue(None, &part, &inputs, to.into())
        };
        let sends = (0..rank.ranks()).filter(|&to| to != me).flat_map(|to| {
            let parts = layout.sent(me, to).into_iter();
            parts.map(move |part| (to, part))
        });
        let sends = sends.map(|(to, part)| (to, signal.part().view(local(&part, &own))));
        let mut receives = Vec::new();
        for (edge, window) in &mut self.edges {
            for (owner, part, mut place) in places(&layout.signal, edge, window) {
                match owner == me {
                    true => {
                        let copied = place.copy_from(signal.part().view(local(&part, &own)));
                        copied.map_err(|e| rank.failed(e))?;
                    }
                    false => receives.push((owner, place)),
                }
            }
        }
        // The transfers are ordered before the inner kernel, which overlaps them and the wait for
        // the neighbours' calls.
        let exchange = rank.begin_exchange(&call, sends, receives)?;
        if !self.inner.is_empty() {
            let inner = || compute(signal.part().as_view(), own.start, &self.inner);
            let started = rank.enqueue("kernel", None, inner);
            started.map_err(|e| rank.failed(e))?;
        }
        rank.end_exchange(&call, exchange)?;
        for (edge, window) in &self.edges {
            let edge = || compute(window.as_view(), edge.window.start, &edge.outputs);
            let started = rank.enqueue("edges", None, edge);
            started.map_err(|e| rank.failed(e))?;
        }
        Ok(())
    }
}

/// Where each owner's samples go in an edge's window.
fn places<'a, T: Float>(
    signal: &Split,
    edge: &Edge,
    window: &'a mut Buffer<T>,
) -> Vec<(usize, Range<usize>, ViewMut<'a, T>)> {
    let mut places = Vec::new();
    let mut rest = window.as_view_mut();
    for (owner, part) in signal.owners(edge.window.clone()) {
        let (place, after) = rest.split_at_mut(part.len());
        rest = after;
        places.push((owner, part, place));
    }
    places
}

/// A range of the signal in the indices of the rank that owns `own`.
fn local(part: &Range<usize>, own: &Range<usize>) -> Range<usize> {
    part.start - own.start..part.end - own.start
}

/// Convolves a sharded signal with taps that all ranks have, as `numpy.convolve` does, and waits.
/// The outputs are evenly divided.
///
/// # Errors
/// No samples or no taps, as for [`ShardedConvolution::new`], and failures of a device or of the
/// communication.
#[track_caller]
pub fn convolve<T: Float>(
    rank: &mut Rank,
    signal: &Sharded<T>,
    taps: &[T],
    mode: ConvMode,
    options: &Options,
) -> Result<Sharded<T>> {
    let outputs = mode.outputs(signal.len(), taps.len());
    outputs.map_err(|e| rank.failed(e))?;
    if taps.len() > signal.len() {
        // Convolution commutes: the longer operand is divided.
        let samples = signal.gather(rank)?;
        let signal = Sharded::part_of(rank, taps)?;
        return convolve_long(rank, &signal, &samples, mode, options);
    }
    convolve_long(rank, signal, taps, mode, options)
}

#[track_caller]
fn convolve_long<T: Float>(
    rank: &mut Rank,
    signal: &Sharded<T>,
    taps: &[T],
    mode: ConvMode,
    options: &Options,
) -> Result<Sharded<T>> {
    let mut convolution = ShardedConvolution::new(rank, signal.split(), taps, mode, options)?;
    let mut output = Sharded::zeros(rank, convolution.outputs().clone())?;
    convolution.enqueue(rank, signal, &mut output)?;
    rank.synchronize()?;
    Ok(output)
}
