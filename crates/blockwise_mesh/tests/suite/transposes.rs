//! Transposes on 1 to 8 emulated devices: exact, for any extents and row shards.

use crate::common::{MESHES, splits};
use blockwise_mesh::{Blocks, Error, Grid, Mesh, ShardedMatrix, ShardedTranspose, transpose};
use blockwise_ops::transpose::TRANSPOSE;
use blockwise_ops::{Element, Options};

#[track_caller]
fn check<T: Element + PartialEq>(
    mesh: &Mesh,
    blocks: &Blocks,
    options: &Options,
    number: impl Fn(usize) -> T,
) {
    let [rows, cols] = blocks.shape();
    let whole: Vec<T> = (0..rows * cols).map(number).collect();
    let moved = mesh.run(|rank| {
        let input = ShardedMatrix::part_of(rank, &whole, blocks.clone())?;
        let output = transpose(rank, &input, options)?;
        assert_eq!(output.shape(), [cols, rows]);
        output.gather(rank)
    });
    let turned = (0..cols).flat_map(|col| (0..rows).map(move |row| row * cols + col));
    let expected: Vec<T> = turned.map(|index| whole[index]).collect();
    for moved in moved.unwrap() {
        assert!(moved == expected, "{blocks:?}");
    }
}

#[test]
fn every_element_is_in_its_place() {
    let options = Options::default();
    for ranks in MESHES {
        let mesh = Mesh::emulated(ranks).unwrap();
        for [rows, cols] in [[1, 1], [7, 5], [40, 3], [2, 67], [33, 64], [0, 4], [4, 0]] {
            for split in splits(rows, ranks) {
                let blocks = Blocks::by_rows(split, cols);
                check(&mesh, &blocks, &options, |i| i as f32);
            }
            let blocks = Blocks::even([rows, cols], Grid::column(ranks));
            check(&mesh, &blocks, &options, |i| i as f64);
            check(&mesh, &blocks, &options, |i| i as i64);
        }
    }
}

#[test]
fn with_every_kernel() {
    let mesh = Mesh::checked(3).unwrap();
    let blocks = Blocks::even([35, 45], Grid::column(3));
    for &kernel in TRANSPOSE.variants {
        let options = Options::of(kernel);
        check(&mesh, &blocks, &options, |i| i as f32);
    }
}

/// Each pair of ranks exchanges one tile; a second run needs no new memory.
#[test]
fn a_transpose_can_be_run_again_and_moves_each_tile_once() {
    let mesh = Mesh::emulated(3).unwrap();
    let whole: Vec<f32> = (0..30 * 60).map(|i| i as f32).collect();
    let run = mesh.run(|rank| {
        let blocks = Blocks::even([30, 60], Grid::column(3));
        let input = ShardedMatrix::part_of(rank, &whole, blocks)?;
        let options = Options::default();
        let mut transpose = ShardedTranspose::new(rank, input.blocks(), &options)?;
        let mut output = ShardedMatrix::zeros(rank, transpose.outputs())?;
        transpose.enqueue(rank, &input, &mut output)?;
        let first = output.part().to_vec().unwrap();
        transpose.enqueue(rank, &input, &mut output)?;
        Ok::<_, Error>((first, output.part().to_vec().unwrap()))
    });
    for (first, second) in run.unwrap() {
        assert!(first == second);
    }
    for (from, to) in [(0, 1), (1, 0), (2, 1)] {
        assert_eq!(mesh.traffic().bytes(from, to), 2 * 10 * 20 * 4);
    }
}

#[test]
fn blocks_are_refused() {
    let mesh = Mesh::emulated(2).unwrap();
    let blocks = Blocks::even([4, 4], Grid { rows: 1, cols: 2 });
    let run = mesh.run(|rank| {
        let options = Options::default();
        ShardedTranspose::<f32>::new(rank, &blocks, &options).map(drop)
    });
    let error = run.unwrap_err().to_string();
    assert!(
        error.contains("a matrix in blocks is split otherwise"),
        "{error}"
    );
}

/// Pieces of 256 rows, of few rows, and more pieces than rows.
#[test]
fn tiles_in_pieces_are_the_same_tiles() {
    for (ranks, [rows, cols], pieces) in [
        (2, [1030, 6], 2),
        (3, [29, 31], 4),
        (4, [7, 9], 8),
        (2, [2, 3], 0),
    ] {
        let mesh = Mesh::emulated(ranks).unwrap();
        for split in splits(rows, ranks) {
            let whole: Vec<i32> = (0..(rows * cols) as i32).collect();
            let blocks = Blocks::by_rows(split, cols);
            let run = mesh.run(|rank| {
                let input = ShardedMatrix::part_of(rank, &whole, blocks.clone())?;
                let options = Options::default();
                let mut turn = ShardedTranspose::in_pieces(rank, &blocks, &options, pieces)?;
                let mut output = ShardedMatrix::zeros(rank, turn.outputs())?;
                for _ in 0..2 {
                    output.fill_bytes(rank, 0xff)?;
                    turn.enqueue(rank, &input, &mut output)?;
                }
                output.gather(rank)
            });
            let expected = (0..rows * cols).map(|at| whole[at % rows * cols + at / rows]);
            let expected: Vec<i32> = expected.collect();
            for found in run.unwrap() {
                assert!(found == expected, "{blocks:?} in {pieces} pieces");
            }
        }
    }
}

/// Ranks that disagree on the pieces are told so: their tiles have other lengths.
#[test]
fn other_pieces_are_a_mismatch() {
    let mesh = Mesh::emulated(2).unwrap();
    let blocks = Blocks::even([8, 8], Grid::column(2));
    let run = mesh.run(|rank| {
        let input = ShardedMatrix::<f32>::zeros(rank, blocks.clone())?;
        let options = Options::default();
        let pieces = 1 + rank.number();
        let mut turn = ShardedTranspose::in_pieces(rank, &blocks, &options, pieces)?;
        let mut output = ShardedMatrix::zeros(rank, turn.outputs())?;
        turn.enqueue(rank, &input, &mut output)
    });
    let error = run.unwrap_err().to_string();
    assert!(error.contains("other splits or options"), "{error}");
}

#[test]
fn a_result_by_columns_stays_where_it_is() {
    for ranks in MESHES {
        let mesh = Mesh::emulated(ranks).unwrap();
        for [rows, cols] in [[1, 1], [33, 64], [40, 3], [0, 4], [4, 0]] {
            for split in splits(rows, ranks) {
                let whole: Vec<f32> = (0..rows * cols).map(|i| i as f32).collect();
                let blocks = Blocks::by_rows(split, cols);
                let run = mesh.run(|rank| {
                    let input = ShardedMatrix::part_of(rank, &whole, blocks.clone())?;
                    let options = Options::default();
                    let mut turn = ShardedTranspose::by_columns(rank, &blocks, &options)?;
                    assert_eq!(turn.outputs().shape(), [cols, rows]);
                    let mut output = ShardedMatrix::zeros(rank, turn.outputs())?;
                    turn.enqueue(rank, &input, &mut output)?;
                    output.part().to_vec().map_err(|error| Error::Device {
                        rank: rank.number(),
                        source: Box::new(error.into()),
                    })
                });
                for (rank, found) in run.unwrap().into_iter().enumerate() {
                    let own = blocks.block(rank)[0].clone();
                    let turned =
                        (0..cols).flat_map(|col| own.clone().map(move |row| row * cols + col));
                    let expected: Vec<f32> = turned.map(|at| whole[at]).collect();
                    assert!(found == expected, "{blocks:?}");
                }
            }
        }
        let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
        for (from, to) in pairs {
            assert_eq!(mesh.traffic().messages(from, to), 0);
        }
    }
}
