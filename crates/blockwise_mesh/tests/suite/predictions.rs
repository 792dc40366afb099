//! The model's bytes of each link are those that the operations move.

use crate::common::{MESHES, noise};
use blockwise::Type;
use blockwise_mesh::scale::Work;
use blockwise_mesh::{
    Blocks, Error, Grid, Mesh, Rank, Sharded, ShardedMatmulOptions, ShardedMatrix, convolve, dot,
    matmul, reduce, transpose,
};
use blockwise_ops::{ConvMode, Element, Options, Reduction, conv1d};

/// Meshes of every size.
fn meshes() -> Vec<Mesh> {
    let meshes = MESHES.iter().map(|&ranks| Mesh::emulated(ranks).unwrap());
    meshes.collect()
}

/// Runs a program on each mesh, and compares each link with what the model says.
#[track_caller]
fn check<T: Element, R: Send>(
    meshes: &[Mesh],
    work: Work,
    program: impl Fn(&mut Rank) -> Result<R, Error> + Sync,
) {
    for mesh in meshes {
        let ranks = mesh.ranks();
        let links = || (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
        let bytes = |(from, to)| mesh.traffic().bytes(from, to);
        let before: Vec<u64> = links().map(bytes).collect();
        mesh.run(&program).unwrap();
        let moved = links().map(bytes).zip(before);
        let moved: Vec<u64> = moved.map(|(after, before)| after - before).collect();
        let mut predicted = vec![0; ranks * ranks];
        for (from, to, bytes) in work.links(ranks, size_of::<T>()).unwrap() {
            predicted[from * ranks + to] += bytes as u64;
        }
        assert_eq!(predicted, moved, "{work:?}, {ranks} ranks");
    }
}

#[test]
fn reductions() {
    let meshes = meshes();
    let options = Options::default();
    for len in [3, 1000] {
        let x = noise::<f64>(1, len);
        let work = |operands| Work::Folded { len, operands };
        check::<f64, _>(&meshes, work(1), |rank| {
            let x = Sharded::part_of(rank, &x)?;
            reduce(rank, &x, Reduction::Max, &options)
        });
        check::<f64, _>(&meshes, work(2), |rank| {
            let x = Sharded::part_of(rank, &x)?;
            dot(rank, &x, &x, &options)
        });
    }
}

#[test]
fn convolutions() {
    let meshes = meshes();
    for (samples, taps, modes) in [
        (100, 9, ConvMode::ALL),
        (20, 15, &[ConvMode::Same]),
        (5, 1, &[ConvMode::Same]),
        (4, 12, &[ConvMode::Full]),
    ] {
        for &mode in modes {
            let problem = conv1d::problem(Type::F32, [samples, taps], mode).unwrap();
            let work = Work::Windows(problem);
            let (signal, taps) = (noise::<f32>(1, samples), noise::<f32>(2, taps));
            check::<f32, _>(&meshes, work, |rank| {
                let signal = Sharded::part_of(rank, &signal)?;
                convolve(rank, &signal, &taps, mode, &Options::default())
            });
        }
    }
}

#[test]
fn products() {
    let meshes = meshes();
    for [rows, inner, cols] in [[40, 30, 50], [3, 10, 600], [5, 2, 1], [0, 4, 3]] {
        let of = [rows, inner, cols];
        let (a, b) = (noise::<f32>(1, rows * inner), noise::<f32>(2, inner * cols));
        check::<f32, _>(&meshes, Work::Matmul(of), |rank| {
            let grid = Grid::for_product(of, rank.ranks());
            let a = ShardedMatrix::part_of(rank, &a, Blocks::even([rows, inner], grid))?;
            let b = ShardedMatrix::part_of(rank, &b, Blocks::even([inner, cols], grid))?;
            matmul(rank, &a, &b, &ShardedMatmulOptions::default())
        });
    }
}

#[test]
fn transposes() {
    let meshes = meshes();
    for [rows, cols] in [[30, 47], [2, 9], [64, 1]] {
        let whole = noise::<f64>(1, rows * cols);
        check::<f64, _>(&meshes, Work::Transpose { rows, cols }, |rank| {
            let blocks = Blocks::even([rows, cols], Grid::column(rank.ranks()));
            let input = ShardedMatrix::part_of(rank, &whole, blocks)?;
            transpose(rank, &input, &Options::default())
        });
    }
}
