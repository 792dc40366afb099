//! Reductions.

use cuda_std::launch::Shape;
use kernels::reduce::axis::{self, Tiling, fold_axis, way};
use kernels::reduce::single::{dot_single, fold_single};
use kernels::reduce::wide::{BLOCKS, LONGEST, dot_wide, fold_wide};
use kernels::reduce::{Extreme, Sum};

use super::{Device, Error, memory, refused, shape, starts};

/// Lengths and shape of a launch.
#[derive(Clone, Copy)]
struct Launch {
    a: u64,
    b: u64,
    partials: u64,
    tickets: u64,
    shape: Shape,
}

/// Starts a kernel.
type Start = fn(Launch) -> Result<(), Error>;

macro_rules! start {
    ($handle:ty, |$of:ident| $($argument:expr),+) => {
        |$of| {
            let kernel = <$handle>::on(&Device::default())?.shape($of.shape);
            kernel.launch($($argument),+)
        }
    };
}

const DOTS: [Start; 2] = [
    start!(
        dot_wide<f64>,
        |of| &memory(of.a),
        &memory(of.b),
        &mut memory(of.partials)
    ),
    start!(
        dot_single<i64>,
        |of| &memory(of.a),
        &memory(of.b),
        &mut memory(of.partials),
        &mut memory(of.tickets)
    ),
];
const FOLDS: [Start; 2] = [
    start!(fold_wide<f32, Sum>, |of| &memory(of.a), &mut memory(of.partials), 0),
    start!(fold_single<f64, Extreme>, |of| &memory(of.a), &mut memory(of.partials), &mut memory(of.tickets), 0),
];

fn good() -> Launch {
    Launch {
        a: 1000,
        b: 1000,
        partials: 4,
        tickets: 1,
        shape: shape([4, 1, 1], [96, 1, 1]),
    }
}

#[test]
fn each_block_has_a_partial_result() {
    for start in DOTS.into_iter().chain(FOLDS) {
        starts(start(good()));
        let short = Launch {
            partials: 3,
            ..good()
        };
        refused(start(short), "partials.len() >= grid.blocks()");
    }
}

#[test]
fn blocks_are_whole_warps_of_one_dimension() {
    for start in DOTS.into_iter().chain(FOLDS) {
        for (grid, block, rule) in [
            ([4, 1, 1], [95, 1, 1], "block.x % 32 == 0"),
            ([4, 1, 1], [1056, 1, 1], "block.x <= 1024"),
            ([2, 2, 1], [96, 1, 1], "grid.y"),
            ([2, 1, 2], [96, 1, 1], "grid.z"),
            ([4, 1, 1], [32, 2, 1], "block.y"),
            ([4, 1, 1], [32, 1, 2], "block.z"),
        ] {
            let launch = Launch {
                shape: shape(grid, block),
                ..good()
            };
            refused(start(launch), rule);
        }
    }
}

#[test]
fn operands_are_of_one_length() {
    for start in DOTS {
        refused(start(Launch { b: 999, ..good() }), "a.len() == b.len()");
        refused(start(Launch { a: 999, ..good() }), "a.len() == b.len()");
    }
}

/// `wide` counts in 32 bits.
#[test]
fn elements_and_blocks_can_be_counted() {
    for (start, rule) in [
        (DOTS[0], "a.len() <= LONGEST"),
        (FOLDS[0], "input.len() <= LONGEST"),
    ] {
        let of = |len| Launch {
            a: len,
            b: len,
            ..good()
        };
        starts(start(of(LONGEST as u64)));
        refused(start(of(LONGEST as u64 + 1)), rule);
        let with = |blocks: u32| Launch {
            partials: blocks.into(),
            shape: shape([blocks, 1, 1], [32, 1, 1]),
            ..good()
        };
        starts(start(with(BLOCKS)));
        refused(start(with(BLOCKS + 1)), "grid.x <= BLOCKS");
    }
    for start in [DOTS[1], FOLDS[1]] {
        starts(start(Launch {
            a: 1 << 33,
            b: 1 << 33,
            ..good()
        }));
    }
}

#[test]
fn there_is_a_ticket() {
    for start in [DOTS[1], FOLDS[1]] {
        for tickets in [0, 2] {
            refused(start(Launch { tickets, ..good() }), "ticket.len() == 1");
        }
    }
}

/// Lines along an axis: their extents, the threads of a block along x and y, of those the threads of
/// a line, and the parts of a line.
#[derive(Clone, Copy)]
struct Lines {
    extents: [usize; 3],
    block: [u32; 2],
    rows: usize,
    parts: usize,
}

#[test]
fn lines_are_folded_in_a_way_for_them() {
    let start = |of: Lines, way: usize| {
        let [outer, extent, inner] = of.extents;
        let [x, y] = of.block;
        let outputs = outer * inner;
        let own = Tiling::own(8, outputs, of.parts);
        let kernel = fold_axis::<f32, Sum>::on(&Device::default())?;
        kernel.shape(shape([1; 3], [x, y, 1])).launch(
            &memory((outputs * extent) as u64),
            &mut memory(outputs as u64),
            &mut memory(0),
            &mut memory(own as u64),
            outer,
            extent,
            inner,
            of.rows,
            extent.div_ceil(of.parts).max(1),
            of.parts,
            way,
            1,
        )
    };
    let runs = Lines {
        extents: [5, 100, 1],
        block: [1, 128],
        rows: 64,
        parts: 1,
    };
    let short = Lines {
        extents: [5, axis::PACKED, 8],
        block: [32, 2],
        rows: 1,
        parts: 1,
    };
    starts(start(runs, way::TILES));
    starts(start(runs, way::RUNS));
    starts(start(short, way::SHORT));
    starts(start(short, way::PACKS));
    let refuses = |lines: Lines, ways: &[usize]| {
        for &way in ways {
            refused(start(lines, way), "way");
        }
    };
    let of = |extents: [usize; 3], lines: Lines| Lines { extents, ..lines };
    let run = [way::RUNS];
    refuses(of([1, 100, 5], runs), &run);
    refuses(of([axis::MOST / 64 + 1, 0, 1], runs), &run);
    refuses(Lines { parts: 2, ..runs }, &run);
    let block = [2, 64];
    refuses(Lines { block, ..runs }, &run);
    let (block, rows) = ([1, 96], 96);
    refuses(
        Lines {
            block,
            rows,
            ..runs
        },
        &run,
    );
    let ways = [way::SHORT, way::PACKS];
    let [outer, extent, inner] = short.extents;
    refuses(of([outer, extent + 1, inner], short), &ways);
    refuses(Lines { rows: 2, ..short }, &ways);
    refuses(Lines { parts: 2, ..short }, &ways);
    refuses(of([outer, extent, inner + 2], short), &[way::PACKS]);
    // Without columns any number of lines would be looped over, or of parts.
    refuses(of([usize::MAX, 1, 0], short), &ways);
    starts(start(of([usize::MAX, 1, 0], short), way::TILES));
    // Without an extent there may be too many lines, of which none has a result.
    let none = |outer: usize| {
        let kernel = fold_axis::<f32, Sum>::on(&Device::default())?;
        kernel.shape(shape([1; 3], [1; 3])).launch(
            &memory(0),
            &mut memory(0),
            &mut memory(0),
            &mut memory(0),
            outer,
            0,
            1,
            1,
            1,
            1,
            way::TILES,
            1,
        )
    };
    starts(none(0));
    refused(none(usize::MAX), "extent > 0");
    let parts = Lines { parts: 2, ..short };
    starts(start(parts, way::TILES));
    refused(start(of([5, 1 << 30, 0], parts), way::TILES), "parts == 1");
    // A block without threads has any number of rows.
    let (block, rows) = ([32, 0], 1 << 32);
    let none = Lines {
        block,
        rows,
        ..parts
    };
    refused(start(none, way::TILES), "fits");
    refuses(runs, &[4]);
}
