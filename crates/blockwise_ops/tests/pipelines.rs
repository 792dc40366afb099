//! Chunks make no difference.

mod common;

use blockwise::{Device, Type};
use blockwise_ops::conv1d::{self, CONV};
use blockwise_ops::operation::{Given, run};
use blockwise_ops::pipeline::{AxisReducer, Convolver, IN_FLIGHT, Reducer};
use blockwise_ops::reduce::{ARGMAX, ARGMIN, Axis, DOT, KERNELS, MAX, MEAN, MIN, SUM, operation};
use blockwise_ops::{
    AnyArray, ConvMode, LaunchError, Number, Options, Reduction, convolve, dot, reduce,
};
use ndarray::{ArrayD, ArrayView1, IxDyn};

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
    for &kernel in CONV
        .variants
        .iter()
        .filter(|kernel| !conv1d::is_fft(kernel))
    {
        let options = Options::of(kernel);
        let a_block_each = [&conv1d::BLOCK_PER_OUTPUT, &conv1d::BLOCK_PER_OUTPUT_RAW];
        let modes = match a_block_each.contains(&kernel) {
            true => &[ConvMode::Full],
            false => ConvMode::ALL,
        };
        for &mode in modes {
            let whole = convolve(device, view, ArrayView1::from(&taps), mode, &options)?;
            for chunk in [1, 77, 250, 1000] {
                let mut outputs = Vec::new();
                let mut emit = |channels: &[&[f64]]| -> Result<(), LaunchError> {
                    outputs.extend_from_slice(channels[0]);
                    Ok(())
                };
                let mut left = &signal[..];
                let mut by_chunks =
                    Convolver::new(device, signal.len(), &[&taps], mode, &options, chunk)?;
                while by_chunks.next_len() > 0 {
                    let fill = |channels: &mut [&mut [f64]]| {
                        let (now, later) = left.split_at(channels[0].len());
                        channels[0].copy_from_slice(now);
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
fn each_channel_has_its_own_taps() -> Result<(), LaunchError> {
    common::devices().iter().try_for_each(channels_on)
}

fn channels_on(device: &Device) -> Result<(), LaunchError> {
    let signals = [numbers(200, 7), numbers(200, 5)];
    let taps = [[0.1, 0.2, 0.7], [1.0, -2.0, 0.5]];
    let (mode, options) = (ConvMode::Same, Options::default());
    // Halves of it hold one channel each.
    for chunk in [1, 38, 398, 400] {
        let taps_of: Vec<&[f64]> = taps.iter().map(|taps| &taps[..]).collect();
        let mut convolver = Convolver::new(device, 200, &taps_of, mode, &options, chunk)?;
        assert_eq!(convolver.next_len(), (chunk / 2).max(3));
        let mut outputs = [Vec::new(), Vec::new()];
        let mut emit = |channels: &[&[f64]]| -> Result<(), LaunchError> {
            for (outputs, channel) in outputs.iter_mut().zip(channels) {
                outputs.extend_from_slice(channel);
            }
            Ok(())
        };
        let mut at = 0;
        while convolver.next_len() > 0 {
            let len = convolver.next_len();
            let fill = |channels: &mut [&mut [f64]]| {
                for (channel, signal) in channels.iter_mut().zip(&signals) {
                    channel.copy_from_slice(&signal[at..at + len]);
                }
                Ok(())
            };
            convolver.push(fill, &mut emit)?;
            at += len;
        }
        convolver.finish(&mut emit)?;
        for ((signal, taps), outputs) in signals.iter().zip(&taps).zip(&outputs) {
            let (signal, taps) = (ArrayView1::from(signal), ArrayView1::from(taps));
            let whole = convolve(device, signal, taps, mode, &options)?;
            assert_eq!(*outputs, whole.to_vec(), "{chunk}");
        }
    }
    Ok(())
}

#[test]
fn the_error_is_that_of_the_older_chunk() -> Result<(), LaunchError> {
    let refused = |what| LaunchError::EmptyInput { what };
    for device in &common::devices() {
        let (mode, options) = (ConvMode::Same, Options::default());
        let mut convolver = Convolver::new(device, 9, &[&[1.0_f32]], mode, &options, 1)?;
        for _ in 0..IN_FLIGHT {
            convolver.push(|_| Ok(()), |_| Err(refused("too early")))?;
        }
        let both = convolver.push(|_| Err(refused("input")), |_| Err(refused("output")));
        assert!(matches!(
            both,
            Err(LaunchError::EmptyInput { what: "output" })
        ));
        let mut convolver = Convolver::new(device, 9, &[&[1.0_f32]], mode, &options, 1)?;
        let input = convolver.push(|_| Err(refused("input")), |_| Ok(()));
        assert!(matches!(
            input,
            Err(LaunchError::EmptyInput { what: "input" })
        ));
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
    for kernel in KERNELS.iter().filter(|kernel| kernel.takes(Type::F64)) {
        let options = Options {
            threads: Some(64),
            grid_cap: Some(3),
            ..Options::of(kernel)
        };
        let all = Reduction::ALL.iter().map(|&of| Some(of));
        for reduction in all.chain([None]) {
            let (of, whole) = match reduction {
                None => (&DOT, dot(device, a, b, &options)?),
                Some(it) => (operation(it), reduce(device, a, it, &options)?),
            };
            for chunk in [100, 333, 5000] {
                let mut reducer = Reducer::new(device, 1000, of, &options, chunk)?;
                let mut arrived = 0;
                while reducer.next_len() > 0 {
                    let len = reducer.next_len();
                    reducer.push(|operand, elements| -> Result<(), LaunchError> {
                        elements.copy_from_slice(&operands[operand][arrived..arrived + len]);
                        Ok(())
                    })?;
                    arrived += len;
                }
                assert_eq!(
                    reducer.finish()?.0.round(),
                    whole,
                    "{kernel}, {of:?}, {chunk}"
                );
            }
        }
    }
    Ok(())
}

/// Every way in which an array is cut: between rows of the first dimensions, within an axis, within
/// the columns.
#[test]
fn a_reduction_over_an_axis_by_pieces_has_the_bits_of_the_whole() -> Result<(), LaunchError> {
    for device in &common::devices() {
        for shape in [
            &[7][..],
            &[2500],
            &[3, 5],
            &[2, 9, 4],
            &[2, 2100, 3],
            &[0, 3],
            &[3, 0],
            &[2, 0, 3],
            &[5, 1],
            &[2048, 1],
            &[2049, 2],
        ] {
            for axis in 0..shape.len() {
                over_an_axis(device, shape, axis as isize, |i| {
                    (i % 97 * 31 % 23) as i64 - 11
                })?;
                // Partial sums that cancel, beyond the promised condition too.
                over_an_axis(device, shape, axis as isize, |i| {
                    ((i * 7919 % 1001) as f32 - 500.0) * (1 << (i % 23)) as f32
                })?;
                over_an_axis(device, shape, axis as isize, |i| {
                    ((i * 7919 % 1001) as f64 - 500.1) * 2_f64.powi((i % 61) as i32 - 20)
                })?;
            }
        }
    }
    Ok(())
}

fn over_an_axis<T: Number>(
    device: &Device,
    shape: &[usize],
    axis: isize,
    element: impl Fn(usize) -> T,
) -> Result<(), LaunchError> {
    let mut next = 0..;
    let array = ArrayD::from_shape_simple_fn(IxDyn(shape), || element(next.next().unwrap_or(0)));
    let values = array.as_slice().unwrap_or_default();
    let of = Axis::of(shape, Some(axis))?;
    for operation in [&SUM, &MEAN, &MIN, &MAX, &ARGMIN, &ARGMAX] {
        // A mean of integers is one of `f64`.
        if (operation.types)(&[T::TYPE], &Given::default()) != T::TYPE {
            continue;
        }
        let along = Given {
            axis: Some(axis),
            ..Given::default()
        };
        let posed = (operation.pose)(T::TYPE, &[shape], &along);
        let Ok(posed) = posed else {
            assert_eq!(of.extent, 0);
            assert!(AxisReducer::<T>::new(device, operation, of, 5).is_err());
            continue;
        };
        let input = [AnyArray::of(array.view())?];
        let (whole, _) = run(device, operation, &posed, &Options::default(), &input)?;
        let small = if values.len() < 100 { 5 } else { 3000 };
        for chunk in [small, 1, 5000, 1 << 20] {
            // Each piece is a launch, and has 64 elements at most.
            if chunk == 1 && values.len() > 50 * of.extent.min(64) {
                continue;
            }
            let case = format!("{} of {shape:?} over {axis}, {chunk}", operation.name);
            let mut results = Vec::new();
            let mut emit = |bytes: &[u8]| -> Result<(), LaunchError> {
                results.extend_from_slice(bytes);
                Ok(())
            };
            let mut reducer = AxisReducer::new(device, operation, of, chunk)?;
            let mut seen = vec![0; values.len()];
            while let Some(piece) = reducer.next_piece() {
                assert!(piece.elements() <= chunk.max(64), "{case}: {piece:?}");
                let rows = piece.rows.clone();
                let places = rows.flat_map(|row| piece.cols.clone().map(move |col| (row, col)));
                let fill = |into: &mut [T]| {
                    for (into, (row, col)) in into.iter_mut().zip(places) {
                        seen[row * of.inner + col] += 1;
                        *into = values[row * of.inner + col];
                    }
                    Ok(())
                };
                reducer.push(fill, &mut emit)?;
            }
            reducer.finish(&mut emit)?;
            assert!(seen.iter().all(|&times| times == 1), "{case}");
            assert_eq!(results, whole.bytes(), "{case}");
        }
    }
    Ok(())
}
