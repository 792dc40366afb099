//! Programs of several ranks with one deliberate mistake each. Every mistake is found, by an error
//! that names ranks and lines of this file; the same programs without it run.

use std::ops::Range;

use blockwise_mesh::{
    Blocks, Error, Grid, Mesh, Rank, Sharded, ShardedMatmul, ShardedMatmulOptions, ShardedMatrix,
    ShardedTranspose, Split, Window, reduce,
};
use blockwise_ops::{Options, Reduction};

const RANKS: usize = 3;

/// Which of two lines a rank takes.
type Program = fn(&mut Rank, bool) -> Result<(), Error>;

/// Runs a program without its mistake, and with it; the mistake's error.
#[track_caller]
fn found(program: Program) -> Error {
    let mesh = Mesh::checked(RANKS).unwrap();
    mesh.run(|rank| program(rank, false)).expect("no mistake");
    let run = mesh.run(|rank| program(rank, true));
    run.expect_err("the mistake was not found")
}

/// The error has all of these texts, and a line of this file.
#[track_caller]
fn names(error: &Error, texts: &[&str]) {
    let error = error.to_string();
    for text in texts.iter().chain(&["mistakes.rs:"]) {
        assert!(error.contains(text), "no `{text}` in: {error}");
    }
}

/// A race between two accesses, whichever came first.
#[track_caller]
fn races(error: &Error, of: usize, elements: Range<usize>, accesses: [&str; 2]) {
    let Error::Race {
        of: found,
        elements: common,
        ..
    } = error
    else {
        panic!("no race: {error}");
    };
    assert_eq!((*found, common), (of, &elements), "{error}");
    names(error, &accesses);
}

fn window(rank: &mut Rank, each: usize) -> Result<Window<f32>, Error> {
    let window = Window::new(rank, Split::of(&[each; RANKS]))?;
    let zeros = vec![0.0; each];
    window.write(rank, rank.number(), 0, &zeros)?;
    rank.barrier()?;
    Ok(window)
}

/// The right neighbour reads before the left one's write has been ordered.
#[test]
fn a_missing_barrier_between_a_write_and_a_read() {
    let error = found(|rank, mistake| {
        let window = window(rank, 4)?;
        if rank.number() == 0 {
            window.write(rank, 1, 2, &[1.0, 2.0])?;
        }
        if !mistake {
            rank.barrier()?;
        }
        if rank.number() == 1 {
            window.read(rank, 1, 0..3)?;
        }
        rank.barrier()
    });
    races(&error, 1, 2..3, ["rank 0 writes at", "rank 1 reads at"]);
}

#[test]
fn two_ranks_that_write_the_same_elements() {
    let error = found(|rank, mistake| {
        let window = window(rank, 4)?;
        let me = rank.number();
        let start = if mistake { me } else { 2 * me };
        if me < 2 {
            window.write(rank, 2, start, &[1.0, 2.0])?;
        }
        rank.barrier()
    });
    races(&error, 2, 1..2, ["rank 0 writes at", "rank 1 writes at"]);
}

/// The next round overwrites what a neighbour still reads.
#[test]
fn a_missing_barrier_after_a_read() {
    let error = found(|rank, mistake| {
        let window = window(rank, 4)?;
        let me = rank.number();
        if me == 2 {
            window.read(rank, 0, 0..4)?;
        }
        if !mistake {
            rank.barrier()?;
        }
        if me == 0 {
            window.update(rank, |mut part| {
                let written = part.copy_from_slice(&[5.0; 4]);
                written.unwrap();
                Ok(())
            })?;
        }
        rank.barrier()
    });
    races(&error, 0, 0..4, ["rank 0 writes at", "rank 2 reads at"]);
}

/// A message to one rank orders that rank only.
#[test]
fn a_barrier_that_one_rank_leaves_out_of_a_chain() {
    let error = found(|rank, mistake| {
        let window = window(rank, 1)?;
        let me = rank.number();
        if me == 0 {
            window.write(rank, 2, 0, &[1.0])?;
        }
        // Rank 1 hears of the write from rank 0, and rank 2 from rank 1.
        rank.broadcast(0, &[1_u32])?;
        if !mistake {
            rank.broadcast(1, &[2_u32])?;
        }
        if me == 1 {
            window.read(rank, 2, 0..1)?;
        }
        if mistake && me == 2 {
            window.write(rank, 2, 0, &[3.0])?;
        }
        rank.barrier()
    });
    races(&error, 2, 0..1, ["rank 1 reads at", "rank 2 writes at"]);
}

#[test]
fn swapped_collectives() {
    let error = found(|rank, mistake| {
        if mistake && rank.number() == 2 {
            rank.broadcast(0, &[1.0_f32])?;
            rank.gather(&[2.0_f32])?;
        } else {
            rank.gather(&[2.0_f32])?;
            rank.broadcast(0, &[1.0_f32])?;
        }
        Ok(())
    });
    names(
        &error,
        &["rank 2 calls `broadcast from 0`", "calls `gather`"],
    );
}

#[test]
fn wrong_counts() {
    let error = found(|rank, mistake| {
        let len = if mistake && rank.number() == 1 { 3 } else { 4 };
        rank.gather(&vec![1.0_f32; len]).map(drop)
    });
    names(
        &error,
        &[
            "other lengths",
            "rank 1 calls `gather` of f32 [3]",
            "f32 [4]",
        ],
    );
}

/// The rank that takes itself for the root receives nothing, and what it sends is not wanted.
#[test]
fn a_wrong_root() {
    let error = found(|rank, mistake| {
        let root = if mistake && rank.number() == 1 { 1 } else { 0 };
        rank.broadcast(root, &[1.0_f64]).map(drop)
    });
    names(&error, &["`broadcast from "]);
    let out_of_range = Mesh::emulated(2).unwrap();
    let run = out_of_range.run(|rank| rank.broadcast(2, &[1_i64]));
    let error = run.unwrap_err().to_string();
    assert!(error.contains("there is no rank 2"), "{error}");
}

#[test]
fn another_element_type() {
    let error = found(|rank, mistake| match mistake && rank.number() == 0 {
        true => rank.broadcast(1, &[1_u32]).map(drop),
        false => rank.broadcast(1, &[1.0_f32]).map(drop),
    });
    names(
        &error,
        &["other element types", "rank 0 calls", "rank 1 calls"],
    );
}

#[test]
fn a_rank_that_skips_a_collective() {
    let error = found(|rank, mistake| {
        let split = Split::of(&[4, 0, 2]);
        let part = vec![1_i64; split.range(rank.number()).len()];
        // Nothing of its own to add is no reason not to call.
        if !(mistake && part.is_empty()) {
            let array = Sharded::upload(rank, split, &part)?;
            reduce(rank, &array, Reduction::Sum, &Options::default())?;
        }
        Ok(())
    });
    names(
        &error,
        &["rank 1 has ended its program", "`sum` of i64 [6]"],
    );
}

#[test]
fn another_order_of_panels() {
    let error = found(|rank, mistake| {
        let ones = vec![1.0_f32; 12 * 12];
        let blocks = Blocks::even([12; 2], Grid::column(RANKS));
        let (a, b) = (
            ShardedMatrix::part_of(rank, &ones, blocks.clone())?,
            ShardedMatrix::part_of(rank, &ones, blocks.clone())?,
        );
        let options = ShardedMatmulOptions {
            panel: Some(if mistake && rank.number() == 2 { 6 } else { 4 }),
            ..ShardedMatmulOptions::default()
        };
        let mut product = ShardedMatmul::new(rank, &blocks, &blocks, &options)?;
        let mut c = ShardedMatrix::zeros(rank, product.outputs())?;
        product.enqueue(rank, &a, &b, &mut c)
    });
    names(
        &error,
        &[
            "other splits or options",
            "rank 2 calls `matmul` of f32 [12, 12, 12]",
        ],
    );
}

#[test]
fn another_grid_of_ranks() {
    let error = found(|rank, mistake| {
        let ones = vec![1.0_f32; 12 * 12];
        let row = Grid { rows: 1, cols: 3 };
        let grid = if mistake && rank.number() == 0 {
            Grid::column(3)
        } else {
            row
        };
        let blocks = Blocks::even([12; 2], grid);
        let a = ShardedMatrix::part_of(rank, &ones, blocks)?;
        a.gather(rank).map(drop)
    });
    names(
        &error,
        &["other splits or options", "rank 0 calls `gather`"],
    );
}

#[test]
fn shards_of_another_matrix() {
    let error = found(|rank, mistake| {
        let rows = if mistake && rank.number() == 1 { 7 } else { 8 };
        let whole = vec![1.0_f64; rows * 5];
        let blocks = Blocks::even([rows, 5], Grid::column(RANKS));
        let input = ShardedMatrix::part_of(rank, &whole, blocks)?;
        let options = Options::default();
        let mut transpose = ShardedTranspose::new(rank, input.blocks(), &options)?;
        let mut output = ShardedMatrix::zeros(rank, transpose.outputs())?;
        transpose.enqueue(rank, &input, &mut output)
    });
    names(
        &error,
        &["other lengths", "rank 1 calls `transpose` of f64 [7, 5]"],
    );
}

/// Windows need no barrier where the same rank reads what it wrote, or ranks use other elements.
#[test]
fn accesses_that_cannot_race() {
    let mesh = Mesh::emulated(RANKS).unwrap();
    let run = mesh.run(|rank| {
        let window = window(rank, RANKS)?;
        let me = rank.number();
        for to in 0..RANKS {
            window.write(rank, to, me, &[me as f32])?;
            window.read(rank, to, me..me + 1)?;
        }
        rank.barrier()?;
        for of in 0..RANKS {
            window.read(rank, of, 0..RANKS)?;
        }
        let outside = window.read(rank, 0, 2..RANKS + 1).unwrap_err();
        assert!(outside.to_string().contains("4 elements"), "{outside}");
        let absent = window.read(rank, RANKS, 0..1).unwrap_err();
        assert!(absent.to_string().contains("no rank 3"), "{absent}");
        window.read(rank, me, 0..RANKS)
    });
    assert_eq!(run.unwrap(), [[0.0, 1.0, 2.0]; RANKS]);
}
