//! Convolutions on 1 to 8 emulated devices: a single device's bit by bit, and right by the oracle.

use crate::common::{MESHES, noise, splits};
use blockwise::{Device, Type};
use blockwise_mesh::{Error, Mesh, Sharded, ShardedConvolution, Split, convolve};
use blockwise_ops::conv1d::{self, CONV};
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::{ConvMode, Options, Variant, compare};
use ndarray::{Array1, ArrayView1};

fn with(kernel: Option<&'static Variant>) -> Options {
    Options {
        kernel,
        ..Options::default()
    }
}

/// Convolves on the mesh; each rank gives its outputs.
fn outputs<T: Precision>(
    mesh: &Mesh,
    split: &Split,
    signal: &[T],
    taps: &[T],
    mode: ConvMode,
    options: &Options,
) -> Result<Vec<T>, Error> {
    let parts = mesh.run(|rank| {
        let own = &signal[split.range(rank.number())];
        let signal = Sharded::upload(rank, split.clone(), own)?;
        let output = convolve(rank, &signal, taps, mode, options)?;
        Ok::<_, Error>(output.part().to_vec().unwrap())
    });
    Ok(parts?.concat())
}

#[track_caller]
fn check<T: Precision>(
    mesh: &Mesh,
    single: &Device,
    samples: usize,
    taps: usize,
    options: &Options,
) {
    let (signal, taps) = (noise::<T>(6, samples), noise::<T>(7, taps));
    let (whole, taps_view) = (ArrayView1::from(&signal), ArrayView1::from(&taps));
    for &mode in ConvMode::ALL {
        let expected = blockwise_ops::convolve(single, whole, taps_view, mode, options).unwrap();
        let bits = |values: &[T]| {
            values
                .iter()
                .map(|&v| v.into().to_bits())
                .collect::<Vec<_>>()
        };
        for split in splits(samples, mesh.ranks()) {
            let got = outputs(mesh, &split, &signal, &taps, mode, options).unwrap();
            let what = format!("{samples} samples, {} taps, {mode}, {split:?}", taps.len());
            assert_eq!(bits(&got), bits(expected.as_slice().unwrap()), "{what}");
            let oracle = oracle::convolve(whole, taps_view, mode);
            let compared = compare::with_oracle(Array1::from(got).view(), &oracle).unwrap();
            assert!(compared.passed(), "{what}: {compared:?}");
        }
    }
}

#[test]
fn every_output_is_a_single_devices() {
    let single = Device::emulator();
    for ranks in MESHES {
        let mesh = Mesh::emulated(ranks).unwrap();
        for (samples, taps) in [
            (1, 1),
            (5, 1),
            (5, 5),
            (3, 8),
            (40, 7),
            (700, 31),
            (300, 290),
        ] {
            check::<f32>(&mesh, &single, samples, taps, &with(None));
        }
        check::<f64>(&mesh, &single, 5000, 20, &with(None));
    }
}

#[test]
fn few_outputs_of_f64_take_the_same_kernel_on_every_rank() {
    // A single device has a block for each of them in mode full.
    let options = with(Some(&conv1d::TILED));
    let single = Device::emulator();
    let (signal, taps) = (noise::<f64>(6, 500), noise::<f64>(7, 20));
    let (whole, taps_view) = (ArrayView1::from(&signal), ArrayView1::from(&taps));
    let mode = ConvMode::Full;
    let expected = blockwise_ops::convolve(&single, whole, taps_view, mode, &options).unwrap();
    let mesh = Mesh::emulated(3).unwrap();
    for split in splits(500, 3) {
        let got = outputs(&mesh, &split, &signal, &taps, mode, &with(None)).unwrap();
        assert_eq!(got, expected.to_vec(), "{split:?}");
    }
}

#[test]
fn with_every_kernel_that_computes_parts() {
    let single = Device::emulator();
    let mesh = Mesh::emulated(3).unwrap();
    let of_f32 = |kernel: &&'static Variant| kernel.takes(Type::F32);
    for kernel in CONV.variants.iter().copied().filter(of_f32) {
        if conv1d::is_fft(kernel) {
            continue;
        }
        check::<f32>(&mesh, &single, 9000, 12, &with(Some(kernel)));
    }
}

#[test]
fn a_kernel_of_all_outputs_is_refused_on_several_ranks_only() {
    let options = with(Some(&conv1d::BLOCK_PER_OUTPUT));
    let (signal, taps) = (noise::<f64>(8, 20), noise::<f64>(9, 3));
    let run = |ranks| {
        let mesh = Mesh::emulated(ranks).unwrap();
        outputs(
            &mesh,
            &Split::even(20, ranks),
            &signal,
            &taps,
            ConvMode::Full,
            &options,
        )
    };
    assert_eq!(run(1).unwrap().len(), 22);
    let error = run(2).unwrap_err().to_string();
    assert!(
        error.contains("`block-per-output` computes all outputs at once"),
        "{error}"
    );
}

#[test]
fn nothing_to_convolve_is_an_error_on_every_rank() {
    let mesh = Mesh::emulated(3).unwrap();
    for (samples, taps, what) in [
        (0, 3, "the signal is empty"),
        (3, 0, "the list of taps is empty"),
    ] {
        let (signal, taps) = (vec![1.0_f32; samples], vec![1.0; taps]);
        let split = Split::even(samples, 3);
        let run = outputs(&mesh, &split, &signal, &taps, ConvMode::Same, &with(None));
        let error = run.unwrap_err().to_string();
        assert!(error.ends_with(what), "{error}");
    }
}

/// Neighbours exchange one sample less than there are taps; a second run needs no new memory and
/// gives the same.
#[test]
fn a_convolution_can_be_run_again_and_moves_halos_only() {
    let mesh = Mesh::checked(3).unwrap();
    let signal = noise::<f32>(10, 3000);
    let taps = noise::<f32>(11, 31);
    let mode = ConvMode::Same;
    let parts = mesh.run(|rank| {
        let signal = Sharded::part_of(rank, &signal)?;
        let split = signal.split();
        let mut convolution = ShardedConvolution::new(rank, split, &taps, mode, &with(None))?;
        let mut output = Sharded::zeros(rank, convolution.outputs().clone())?;
        convolution.enqueue(rank, &signal, &mut output)?;
        let first = output.gather(rank)?;
        convolution.enqueue(rank, &signal, &mut output)?;
        Ok::<_, Error>((first, output.gather(rank)?))
    });
    for (first, second) in parts.unwrap() {
        assert_eq!(first, second);
    }
    let gathered = 2 * 1000 * 4;
    let halo = 2 * 15 * 4;
    let moved = |from, to| mesh.traffic().bytes(from, to) - gathered;
    assert_eq!(
        [moved(0, 1), moved(1, 0), moved(0, 2), moved(2, 1)],
        [halo, halo, 0, halo]
    );
}
