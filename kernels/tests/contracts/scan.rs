//! Scans.

use cuda_std::launch::Shape;
use kernels::reduce::{Extreme, Sum};
use kernels::scan::once::scan_once;
use kernels::scan::{
    RING_BYTES, ROW, THREADS, TILE_BYTES, Way, group, groups, scan, state_len, tile,
};

use super::{Device, Error, memory, refused, shape, starts};

/// Lengths, extents and shape of a launch.
#[derive(Clone, Copy)]
struct Launch {
    input: u64,
    output: u64,
    state: u64,
    before: u64,
    after: u64,
    extent: usize,
    inner: usize,
    exclusive: usize,
    shape: Shape,
}

/// One line of several tiles.
fn line() -> Launch {
    let len = 3 * tile::<f32>();
    Launch {
        input: len as u64,
        output: len as u64,
        state: state_len::<f32>(Way::Tiles, len, len, 1) as u64,
        before: 0,
        after: 0,
        extent: len,
        inner: 1,
        exclusive: 1,
        shape: shape([4, 1, 1], [THREADS, 1, 1]).shared(RING_BYTES),
    }
}

/// 4 · `inner` lines of 100 elements that are `inner` apart, without state or dynamic shared
/// memory.
fn lines(inner: usize) -> Launch {
    Launch {
        input: 400 * inner as u64,
        output: 400 * inner as u64,
        state: 0,
        extent: 100,
        inner,
        shape: shape([4, 1, 1], [THREADS, 1, 1]),
        ..line()
    }
}

fn start(of: Launch) -> Result<(), Error> {
    let kernel = scan::<f32, Sum>::on(&Device::default())?.shape(of.shape);
    kernel.launch(
        &memory(of.input),
        &mut memory(of.output),
        &mut memory(of.state),
        &memory(of.before),
        &mut memory(of.after),
        of.extent,
        of.inner,
        0,
        of.exclusive,
    )
}

#[test]
fn arrays_are_whole_lines() {
    for good in [line(), lines(1), lines(7)] {
        starts(start(good));
        for (extent, inner) in [(0, 1), (1, 0), (good.extent, 9), (usize::MAX, 2), (97, 1)] {
            let wrong = Launch {
                extent,
                inner,
                ..good
            };
            refused(start(wrong), "whole_lines");
        }
        let output = good.output - 1;
        refused(
            start(Launch { output, ..good }),
            "output.len() == input.len()",
        );
    }
    starts(start(Launch {
        input: 0,
        output: 0,
        after: 0,
        ..lines(7)
    }));
}

#[test]
fn each_line_has_what_is_before_and_after_it() {
    for (good, count) in [(line(), 1), (lines(7), 28)] {
        starts(start(Launch {
            before: count,
            after: count,
            ..good
        }));
        let wrong = count + 1;
        refused(
            start(Launch {
                before: wrong,
                ..good
            }),
            "before.len()",
        );
        refused(
            start(Launch {
                after: wrong,
                ..good
            }),
            "after.len()",
        );
    }
    // Short lines with prefixes (`before`) are scanned by tiles, which need shared memory.
    let short = Launch {
        before: 4,
        ..lines(1)
    };
    refused(start(short), "shared_bytes");
    let shape = short.shape.shared(RING_BYTES);
    starts(start(Launch { shape, ..short }));
}

#[test]
fn totals_are_those_of_groups_of_runs() {
    let len = group::<f32>() + 1;
    let good = Launch {
        input: len as u64,
        output: 0,
        state: state_len::<f32>(Way::Tiles, len, len, 1) as u64,
        after: groups::<f32>(len) as u64,
        extent: len,
        ..line()
    };
    starts(start(good));
    refused(start(Launch { after: 1, ..good }), "groups");
    refused(
        start(Launch {
            after: 28,
            output: 0,
            ..lines(7)
        }),
        "inner == 1",
    );
}

#[test]
fn lines_of_several_tiles_have_a_state_and_a_ring() {
    let good = line();
    refused(
        start(Launch {
            state: good.state - 1,
            ..good
        }),
        "state.len()",
    );
    let len = 10_000;
    let columns = Launch {
        state: state_len::<f32>(Way::Columns, len, len / 2, 2) as u64,
        input: len as u64,
        output: len as u64,
        extent: len / 2,
        ..lines(2)
    };
    starts(start(columns));
    let state = columns.state - 1;
    refused(start(Launch { state, ..columns }), "state.len()");
    // A state may have at most `u32::MAX` words.
    let words = u32::MAX.into();
    for (of, start) in [
        (good, start as fn(Launch) -> Result<(), Error>),
        (once(), start_once),
    ] {
        starts(start(Launch { state: words, ..of }));
        let state = words + 1;
        refused(start(Launch { state, ..of }), "state.len()");
    }
    let shape = good.shape.shared(RING_BYTES - 1);
    refused(start(Launch { shape, ..good }), "shared_bytes");
    let row = Launch {
        input: ROW as u64,
        output: ROW as u64,
        extent: ROW,
        ..lines(1)
    };
    starts(start(row));
    // One tile needs no state.
    let extent = tile::<f32>();
    let len = extent as u64;
    starts(start(Launch {
        input: len,
        output: len,
        extent,
        state: 0,
        ..good
    }));
}

#[test]
fn blocks_are_of_one_dimension() {
    for good in [line(), lines(1), lines(7)] {
        for (grid, block, rule) in [
            ([4, 1, 1], [THREADS - 32, 1, 1], "block.x"),
            ([2, 2, 1], [THREADS, 1, 1], "grid.y"),
            ([2, 1, 2], [THREADS, 1, 1], "grid.z"),
            ([4, 1, 1], [THREADS, 2, 1], "block.y"),
            ([4, 1, 1], [THREADS, 1, 2], "block.z"),
            ([(1 << 28) + 1, 1, 1], [THREADS, 1, 1], "countable"),
        ] {
            let shape = shape(grid, block).shared(RING_BYTES);
            refused(start(Launch { shape, ..good }), rule);
        }
        refused(
            start(Launch {
                exclusive: 2,
                ..good
            }),
            "exclusive <= 1",
        );
    }
    let kernel = scan::<i64, Extreme>::on(&Device::default()).unwrap();
    let kernel = kernel.shape(shape([1, 1, 1], [32, 1, 1]));
    let of = (
        &memory(0),
        &mut memory(0),
        &mut memory(0),
        &memory(0),
        &mut memory(0),
    );
    refused(
        kernel.launch(of.0, of.1, of.2, of.3, of.4, 1, 1, 0, 0),
        "block.x",
    );
}

/// A line of three tiles with a block each.
fn once() -> Launch {
    Launch {
        shape: shape([3, 1, 1], [THREADS, 1, 1]).shared(TILE_BYTES),
        ..line()
    }
}

fn start_once(of: Launch) -> Result<(), Error> {
    let kernel = scan_once::<f32, Sum>::on(&Device::default())?.shape(of.shape);
    kernel.launch(
        &memory(of.input),
        &mut memory(of.output),
        &mut memory(of.state),
        &memory(of.before),
        &mut memory(of.after),
        of.extent,
        0,
        of.exclusive,
    )
}

#[test]
fn in_one_step_each_tile_has_a_block() {
    let good = once();
    starts(start_once(good));
    for (grid, block, rule) in [
        ([2, 1, 1], [THREADS, 1, 1], "in_one_step"),
        ([4, 1, 1], [THREADS, 1, 1], "in_one_step"),
        ([3, 2, 1], [THREADS, 1, 1], "grid.y"),
        ([3, 1, 2], [THREADS, 1, 1], "grid.z"),
        ([3, 1, 1], [THREADS - 32, 1, 1], "block.x"),
        ([3, 1, 1], [THREADS, 2, 1], "block.y"),
        ([3, 1, 1], [THREADS, 1, 2], "block.z"),
    ] {
        let shape = shape(grid, block).shared(TILE_BYTES);
        refused(start_once(Launch { shape, ..good }), rule);
    }
    let shape = good.shape.shared(TILE_BYTES - 1);
    refused(start_once(Launch { shape, ..good }), "shared_bytes");
    // 1024 tiles, as many as a group has: `scan_once` takes only lines of fewer tiles.
    let len = group::<f32>() - 1;
    let long = Launch {
        input: len as u64,
        output: len as u64,
        state: state_len::<f32>(Way::Tiles, len, len, 1) as u64,
        extent: len,
        shape: super::shape([1024, 1, 1], [THREADS, 1, 1]).shared(TILE_BYTES),
        ..good
    };
    refused(start_once(long), "in_one_step");
}

#[test]
fn in_one_step_arrays_have_a_line_s_lengths() {
    let good = once();
    for (wrong, rule) in [
        (Launch { extent: 0, ..good }, "whole_lines"),
        (
            Launch {
                output: good.output - 1,
                ..good
            },
            "output.len()",
        ),
        (
            Launch {
                output: 0,
                after: 1,
                ..good
            },
            "output.len()",
        ),
        (Launch { before: 2, ..good }, "before.len()"),
        (Launch { after: 2, ..good }, "after.len()"),
        (
            Launch {
                state: good.state - 1,
                ..good
            },
            "state.len()",
        ),
        (
            Launch {
                exclusive: 2,
                ..good
            },
            "exclusive <= 1",
        ),
    ] {
        refused(start_once(wrong), rule);
    }
    starts(start_once(Launch {
        before: 1,
        after: 1,
        ..good
    }));
}
