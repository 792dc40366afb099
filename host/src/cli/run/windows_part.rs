//! One rank's outputs.

use std::ops::Range;

use blockwise_mesh::{Error, Rank};
use blockwise_ops::operation;
use blockwise_ops::pipeline::Convolver;

use super::windows_task::Task;
use crate::cli::failure::Failure;
use crate::cli::progress;
use crate::cli::recording::{Operands, Sample};
use crate::cli::seconds::{Seconds, timed};

/// Computes some outputs from the samples that they need, and passes them to `emit` in order, frame
/// by frame with all channels. While `emit` handles one chunk, the next one is read.
pub(super) fn compute<T: Sample>(
    rank: &Rank,
    task: &Task<'_>,
    mut operands: Operands<T>,
    outputs: Range<usize>,
    mut emit: impl FnMut(&[T]) -> Result<(), Failure>,
) -> Result<Seconds, Failure> {
    let (of, whole, options) = (task.of, &task.whole, &task.options);
    if rank.ranks() > 1
        && operation::in_parts(of, whole, options, rank.device().properties())?.is_none()
    {
        let kernel = options.kernel.map_or(of.name, |kernel| kernel.name);
        return Err(Error::Indivisible { kernel }.into());
    }
    let (mut seconds, mut writing) = (Seconds::default(), 0.0);
    if outputs.is_empty() {
        return Ok(seconds);
    }
    let channels = operands.channels();
    let taps: Vec<_> = (0..channels)
        .map(|channel| operands.short(channel))
        .collect();
    let (device, chunk) = (rank.device(), task.arguments.chunk());
    let mut convolver = Convolver::part(device, (of, *whole), &taps, outputs, options, chunk)?;
    operands.skip(convolver.samples().start);
    let bar = progress::of_rank(rank, "convolving", convolver.samples().len());
    let (mut frames, mut products) = (Vec::new(), Vec::new());
    let mut emit = |channels: &[&[T]]| {
        timed(&mut writing, || match channels {
            [samples] => emit(samples),
            channels => emit(interleave(channels, &mut products)),
        })
    };
    while convolver.next_len() > 0 {
        let len = convolver.next_len();
        let fill = |windows: &mut [&mut [T]]| {
            timed(&mut seconds.reading, || match windows {
                [samples] => operands.read(samples),
                windows => {
                    frames.resize(len * channels, T::default());
                    operands.read(&mut frames)?;
                    split(&frames, windows);
                    Ok(())
                }
            })
        };
        convolver.push(fill, &mut emit)?;
        bar.inc(len as u64);
    }
    bar.finish_and_clear();
    let seconds = seconds.on_device(convolver.finish(emit)?);
    Ok(Seconds {
        writing: Some(writing),
        ..seconds
    })
}

/// Distributes each frame's samples to the channels.
fn split<T: Sample>(frames: &[T], channels: &mut [&mut [T]]) {
    for (index, frame) in frames.chunks_exact(channels.len()).enumerate() {
        for (channel, &sample) in channels.iter_mut().zip(frame) {
            channel[index] = sample;
        }
    }
}

/// The channels' samples, frame by frame.
fn interleave<'a, T: Sample>(channels: &[&[T]], frames: &'a mut Vec<T>) -> &'a [T] {
    let len = channels.first().map_or(0, |samples| samples.len());
    frames.resize(len * channels.len(), T::default());
    for (index, frame) in frames.chunks_exact_mut(channels.len()).enumerate() {
        for (channel, sample) in channels.iter().zip(frame) {
            *sample = channel[index];
        }
    }
    frames
}
