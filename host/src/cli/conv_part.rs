//! One rank's outputs of `blockwise conv`.

use std::ops::Range;

use blockwise_mesh::{Error, Rank};
use blockwise_ops::pipeline::Convolver;

use super::conv::Arguments;
use super::conv_operands::{Operands, Sample};
use super::failure::Failure;
use super::progress;
use super::times::{Part, Times};

/// Computes some outputs from the samples that they need, and hands them out in order, channel after channel of each frame.
pub(super) fn compute<T: Sample>(
    rank: &Rank,
    arguments: &Arguments,
    mut operands: Operands<T>,
    outputs: Range<usize>,
    times: &Times,
    mut emit: impl FnMut(&[T]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let options = arguments.options();
    if let Some(kernel) = options.kernel.filter(|kernel| kernel.is_block_per_output())
        && rank.ranks() > 1
    {
        let kernel = kernel.name();
        return Err(Error::Indivisible { kernel }.into());
    }
    if outputs.is_empty() {
        return Ok(());
    }
    let channels = operands.channels();
    let convolvers = (0..channels).map(|channel| {
        Convolver::part(
            rank.device(),
            operands.long_len(),
            operands.short(channel),
            arguments.mode,
            outputs.clone(),
            &options,
            arguments.chunk.chunk,
        )
    });
    let mut convolvers: Vec<_> = convolvers.collect::<Result<_, _>>()?;
    let Some(samples) = convolvers.first().map(Convolver::samples) else {
        return Err(Failure::new("a signal without channels"));
    };
    times.of(Part::Disk, || operands.skip(samples.start))?;
    let bar = progress::of_rank(rank, "convolving", samples.len());
    let mut parts = vec![Vec::new(); channels];
    let mut frames = Vec::new();
    while let Some(len) = convolvers
        .first()
        .map(Convolver::next_len)
        .filter(|&len| len > 0)
    {
        frames.resize(len * channels, T::default());
        times.of(Part::Disk, || operands.read(&mut frames))?;
        for (channel, (convolver, part)) in convolvers.iter_mut().zip(&mut parts).enumerate() {
            part.clear();
            times.of(Part::Device, || {
                convolver.push(
                    |window| {
                        let of_channel = frames.iter().skip(channel).step_by(channels);
                        (window.iter_mut().zip(of_channel)).for_each(|(to, &from)| *to = from);
                        Ok::<_, Failure>(())
                    },
                    |chunk| {
                        part.extend_from_slice(chunk);
                        Ok(())
                    },
                )
            })?;
        }
        emit(&interleaved(&parts))?;
        bar.inc(len as u64);
    }
    bar.finish_and_clear();
    for (convolver, part) in convolvers.into_iter().zip(&mut parts) {
        part.clear();
        times.of(Part::Device, || {
            convolver.finish(|chunk| {
                part.extend_from_slice(chunk);
                Ok::<_, Failure>(())
            })
        })?;
    }
    emit(&interleaved(&parts))
}

/// Sample after sample of each frame, from one vector for each channel.
fn interleaved<T: Sample>(channels: &[Vec<T>]) -> Vec<T> {
    let frames = channels.first().map_or(0, Vec::len);
    (0..frames)
        .flat_map(|frame| channels.iter().map(move |channel| channel[frame]))
        .collect()
}
