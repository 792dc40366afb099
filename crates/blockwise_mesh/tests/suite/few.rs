//! Meshes of five and seven devices with less work than ranks, and gaps between those that have
//! some.

use crate::common::noise;
use blockwise::Device;
use blockwise_mesh::{
    Blocks, Error, Grid, Mesh, Sharded, ShardedMatmulOptions, ShardedMatrix, Split, convolve, dot,
    matmul, reduce, transpose,
};
use blockwise_ops::{ConvMode, Options, Reduction};
use ndarray::ArrayView1;

/// Parts of which most are empty: in front, between and at the end.
const PARTS: [&[usize]; 6] = [
    &[0, 0, 1, 0, 1, 0, 1],
    &[3, 0, 0, 0, 0, 0, 0],
    &[0, 0, 0, 0, 0, 0, 3],
    &[2, 0, 3, 5, 0, 7, 11],
    &[0, 13, 0, 1, 2],
    &[1, 1, 1, 1, 1],
];

#[test]
fn reductions_are_a_single_devices() {
    let options = Options::default();
    let single = Device::emulator();
    let meshes = [5, 7].map(|ranks| Mesh::emulated(ranks).unwrap());
    for parts in PARTS {
        let mesh = &meshes[usize::from(parts.len() == 7)];
        let split = Split::of(parts);
        let floats = noise::<f32>(1, split.len());
        let whole: Vec<i64> = (0..split.len() as i64).map(|i| i * i - 40).collect();
        let results = mesh.run(|rank| {
            let own = split.range(rank.number());
            let floats = Sharded::upload(rank, split.clone(), &floats[own.clone()])?;
            let whole = Sharded::upload(rank, split.clone(), &whole[own])?;
            Ok::<_, Error>((
                reduce(rank, &floats, Reduction::Max, &options)?,
                reduce(rank, &whole, Reduction::Sum, &options)?,
                dot(rank, &whole, &whole, &options)?,
            ))
        });
        let (floats, whole) = (ArrayView1::from(&floats), ArrayView1::from(&whole));
        let most = blockwise_ops::reduce(&single, floats, Reduction::Max, &options).unwrap();
        let sum = blockwise_ops::reduce(&single, whole, Reduction::Sum, &options).unwrap();
        let dot = blockwise_ops::dot(&single, whole, whole, &options).unwrap();
        assert_eq!(results.unwrap(), vec![(most, sum, dot); parts.len()]);
    }
}

#[test]
fn convolutions_are_a_single_devices() {
    let options = Options::default();
    let meshes = [1, 5, 7].map(|ranks| Mesh::emulated(ranks).unwrap());
    for parts in PARTS {
        let split = Split::of(parts);
        let samples = noise::<f32>(2, split.len());
        for taps in [2, 5] {
            let taps = noise::<f32>(3, taps);
            for mode in [ConvMode::Full, ConvMode::Valid] {
                let smooth = |split: &Split| {
                    let mesh = meshes.iter().find(|mesh| mesh.ranks() == split.ranks());
                    let smooth = mesh.unwrap().run(|rank| {
                        let own = &samples[split.range(rank.number())];
                        let signal = Sharded::upload(rank, split.clone(), own)?;
                        convolve(rank, &signal, &taps, mode, &options)?.gather(rank)
                    });
                    smooth.unwrap()
                };
                let one = smooth(&Split::of(&[split.len()])).remove(0);
                for several in smooth(&split) {
                    assert!(several == one, "{parts:?}, {} taps, {mode}", taps.len());
                }
            }
        }
    }
}

#[test]
fn products_and_transposes_of_three_rows_on_seven_ranks() {
    let mesh = Mesh::emulated(7).unwrap();
    let value = |index: usize| (index * 7 % 13) as f64 - 6.0;
    for grid in [Grid::column(7), Grid { rows: 1, cols: 7 }] {
        for [rows, inner, cols] in [[3, 2, 5], [1, 11, 1]] {
            let a: Vec<f64> = (0..rows * inner).map(value).collect();
            let b: Vec<f64> = (0..inner * cols).map(|i| value(i + 5)).collect();
            let results = mesh.run(|rank| {
                let of_a = Blocks::even([rows, inner], grid);
                let of_b = Blocks::even([inner, cols], grid);
                let by_rows = Blocks::even([rows, inner], Grid::column(7));
                let turned = ShardedMatrix::part_of(rank, &a, by_rows)?;
                let turned = transpose(rank, &turned, &Options::default())?;
                let a = ShardedMatrix::part_of(rank, &a, of_a)?;
                let b = ShardedMatrix::part_of(rank, &b, of_b)?;
                let c = matmul(rank, &a, &b, &ShardedMatmulOptions::default())?;
                Ok::<_, Error>((turned.gather(rank)?, c.gather(rank)?))
            });
            let entry = |row: usize, col: usize| -> f64 {
                (0..inner)
                    .map(|k| a[row * inner + k] * b[k * cols + col])
                    .sum()
            };
            let c = (0..rows).flat_map(|row| (0..cols).map(move |col| entry(row, col)));
            let c: Vec<f64> = c.collect();
            let turned = (0..inner).flat_map(|col| (0..rows).map(move |row| row * inner + col));
            let turned: Vec<f64> = turned.map(|index| a[index]).collect();
            for result in results.unwrap() {
                assert!(
                    result == (turned.clone(), c.clone()),
                    "{grid:?}, {rows} rows"
                );
            }
        }
    }
}

/// Two ranks on one device, one on another: they copy from each other's memory all the same.
#[test]
fn ranks_may_share_a_device() {
    let (one, other) = (Device::emulator(), Device::emulator());
    let mesh = Mesh::of(vec![one.clone(), other, one]).unwrap();
    let [rows, inner, cols] = [50, 33, 64];
    let a: Vec<f32> = (0..rows * inner).map(|i| (i % 17) as f32 - 8.0).collect();
    let b: Vec<f32> = (0..inner * cols).map(|i| (i % 13) as f32 - 6.0).collect();
    let results = mesh.run(|rank| {
        let blocks = |shape| Blocks::even(shape, Grid::column(3));
        let a = ShardedMatrix::part_of(rank, &a, blocks([rows, inner]))?;
        let b = ShardedMatrix::part_of(rank, &b, blocks([inner, cols]))?;
        let options = ShardedMatmulOptions {
            panel: Some(10),
            ..ShardedMatmulOptions::default()
        };
        let c = matmul(rank, &a, &b, &options)?;
        let turned = transpose(rank, &c, &Options::default())?;
        let signal = Sharded::part_of(rank, &[1.0_f32; 40])?;
        let taps = [0.5; 9];
        let smooth = convolve(rank, &signal, &taps, ConvMode::Valid, &Options::default())?;
        Ok::<_, Error>((c.gather(rank)?, turned.gather(rank)?, smooth.gather(rank)?))
    });
    let dot = |row: usize, col: usize| -> f32 {
        let terms = (0..inner).map(|k| a[row * inner + k] * b[k * cols + col]);
        terms.sum()
    };
    let c: Vec<f32> = (0..rows * cols)
        .map(|at| dot(at / cols, at % cols))
        .collect();
    let turned: Vec<f32> = (0..rows * cols)
        .map(|at| c[at % rows * cols + at / rows])
        .collect();
    for (product, transposed, smooth) in results.unwrap() {
        assert!(product == c && transposed == turned);
        assert_eq!(smooth, [4.5; 32]);
    }
}
