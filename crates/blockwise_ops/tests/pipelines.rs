//! Chunks make no difference.

mod common;

use blockwise::Device;
use blockwise_ops::pipeline::{Convolver, Operation, Reducer};
use blockwise_ops::{
    ConvKernel, ConvMode, ConvOptions, LaunchError, ReduceKernel, ReduceOptions, Reduction,
    convolve, dot, reduce,
};
use ndarray::ArrayView1;

fn numbers(len: usize, factor: usize) -> Vec<f64> {
    (0..len).map(|i| (i * factor % 23) as f64 - 11.0).collect()
}

#[test]
fn a_convolution_by_chunks_has_the_bits_of_the_whole() -> Result<(), LaunchError> {
    common::devices().iter().try_for_each(convolutions_on)
}

fn convolutions_on(device: &Device) -> Result<(), LaunchError> {
    let (signal, taps) = (numbers(500, 7), [0.1, 0.2, 0.7, -0.3, 1.3]);
    let view = ArrayView1::from(&signal);
    // The transforms' windows lie elsewhere in a chunk.
    for &kernel in ConvKernel::ALL.iter().filter(|kernel| !kernel.is_fft()) {
        let options = ConvOptions {
            kernel: Some(kernel),
            ..ConvOptions::default()
        };
        let modes = match kernel {
            kernel if kernel.is_block_per_output() => &[ConvMode::Full],
            _ => ConvMode::ALL,
        };
        for &mode in modes {
            let whole = convolve(device, view, ArrayView1::from(&taps), mode, &options)?;
            for chunk in [1, 77, 250, 1000] {
                let mut outputs = Vec::new();
                let mut emit = |part: &[f64]| -> Result<(), LaunchError> {
                    outputs.extend_from_slice(part);
                    Ok(())
                };
                let mut left = &signal[..];
                let mut by_chunks =
                    Convolver::new(device, signal.len(), &taps, mode, &options, chunk)?;
                while by_chunks.next_len() > 0 {
                    let fill = |samples: &mut [f64]| {
                        let (now, later) = left.split_at(samples.len());
                        samples.copy_from_slice(now);
                        left = later;
                        Ok(())
                    };
                    by_chunks.push(fill, &mut emit)?;
                }
                by_chunks.finish(&mut emit)?;
                assert_eq!(outputs, whole.to_vec(), "{kernel}, {mode}, {chunk}");
            }
        }
    }
    Ok(())
}

#[test]
fn reductions_of_whole_numbers_do_not_depend_on_chunks() -> Result<(), LaunchError> {
    common::devices().iter().try_for_each(reductions_on)
}

fn reductions_on(device: &Device) -> Result<(), LaunchError> {
    let operands = [numbers(1000, 7), numbers(1000, 5)];
    let [a, b] = [&operands[0], &operands[1]].map(ArrayView1::from);
    for &kernel in ReduceKernel::ALL {
        let options = ReduceOptions {
            kernel,
            threads: Some(64),
            grid_cap: Some(3),
            in_flight: None,
        };
        let all = Reduction::ALL.iter().map(|&of| Operation::Reduce(of));
        for operation in all.chain([Operation::Dot]) {
            let whole = match operation {
                Operation::Dot => dot(device, a, b, &options)?,
                Operation::Reduce(reduction) => reduce(device, a, reduction, &options)?,
            };
            for chunk in [100, 333, 5000] {
                let mut reducer = Reducer::new(device, 1000, operation, &options, chunk)?;
                let mut arrived = 0;
                while reducer.next_len() > 0 {
                    let len = reducer.next_len();
                    reducer.push(|operand, elements| -> Result<(), LaunchError> {
                        elements.copy_from_slice(&operands[operand][arrived..arrived + len]);
                        Ok(())
                    })?;
                    arrived += len;
                }
                assert_eq!(reducer.finish()?, whole, "{kernel}, {operation:?}, {chunk}");
            }
        }
    }
    Ok(())
}
