//! Reductions.

use cuda_std::launch::Shape;
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
