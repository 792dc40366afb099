//! Products with a short inner extent, and batches of them.

use cuda_std::launch::Shape;
use kernels::matmul::short::{DEEPEST, DEPTH, HIGHEST, THREADS, matmul_short, matmul_short_deep};

use super::super::support::Buffer;
use super::super::{Device, behind, memory, refused, shape, starts};

struct Short {
    of: [Buffer<f32>; 3],
    extents: [usize; 3],
    batch: [usize; 2],
    /// The logarithms of its width and height.
    block: [usize; 2],
    whole: usize,
    shape: Shape,
}

fn good() -> Short {
    Short {
        of: [memory(60), memory(84), memory(105)],
        extents: [5, 4, 7],
        batch: [3, 3],
        block: [1, 1],
        whole: 0,
        shape: shape([2, 3, 1], [THREADS, 1, 1]),
    }
}

/// Starts one of the two kernels.
macro_rules! start {
    ($kernel:ident, $short:expr) => {{
        let Short {
            of: [a, b, mut c],
            extents: [rows, inner, cols],
            batch: [of_a, batch],
            block: [wide, high],
            whole,
            shape,
        } = $short;
        let device = Device::default();
        $kernel::<f32>::on(&device).and_then(|kernel| {
            let kernel = kernel.shape(shape);
            kernel.launch(
                &a, &b, &mut c, rows, inner, cols, of_a, batch, wide, high, whole,
            )
        })
    }};
}

/// A case, changed.
fn with(change: impl FnOnce(&mut Short)) -> Short {
    let mut short = good();
    change(&mut short);
    short
}

/// The extents and the batch with operands of these lengths.
fn of(lens: [u64; 3], extents: [usize; 3], batch: [usize; 2]) -> Short {
    with(|it| {
        it.of = lens.map(memory);
        (it.extents, it.batch) = (extents, batch);
    })
}

#[test]
fn short_sums_fit_registers() {
    let of_inner = |inner: usize| {
        let lens = [15 * inner as u64, 21 * inner as u64, 105];
        of(lens, [5, inner, 7], [3, 3])
    };
    starts(start!(matmul_short, of_inner(DEPTH)));
    refused(start!(matmul_short, of_inner(DEPTH + 1)), "DEPTH");
    starts(start!(matmul_short_deep, of_inner(1)));
    starts(start!(matmul_short_deep, of_inner(DEEPEST)));
    refused(start!(matmul_short_deep, of_inner(DEEPEST + 1)), "DEEPEST");
}

#[test]
fn operands_of_short_sums_are_whole_batches() {
    macro_rules! both {
        ($check:ident, $short:expr $(, $rule:literal)?) => {
            $check(start!(matmul_short, $short) $(, $rule)?);
            $check(start!(matmul_short_deep, $short) $(, $rule)?);
        };
    }
    both!(starts, good());
    both!(starts, with(|it| it.of = [60, 84, 105].map(behind)));
    both!(
        starts,
        with(|it| (it.of[0], it.batch) = (memory(20), [1, 3]))
    );
    both!(refused, with(|it| it.batch = [2, 3]), "of_a == 1");
    both!(refused, with(|it| it.of[0] = memory(59)), "Some(a.len())");
    both!(refused, with(|it| it.of[1] = memory(83)), "Some(b.len())");
    both!(refused, with(|it| it.of[2] = memory(104)), "Some(c.len())");
    for (extents, batch) in [
        ([5, 0, 0], 1),
        ([usize::MAX, 0, 0], 1),
        ([0, 0, 0], usize::MAX),
    ] {
        let none = || of([0; 3], extents, [batch; 2]);
        both!(refused, none(), "!c.is_empty()");
    }
}

#[test]
fn packs_of_short_sums_are_whole_and_aligned() {
    // Packs of 16 bytes, and of eight beyond an inner extent of twelve.
    let packs = |inner: u64, cols: u64| {
        with(|it| {
            it.of = [5 * inner, inner * cols, 5 * cols].map(memory);
            (it.extents, it.batch) = ([5, inner as usize, cols as usize], [1, 1]);
            it.whole = 1;
        })
    };
    starts(start!(matmul_short_deep, packs(4, 8)));
    starts(start!(matmul_short_deep, packs(13, 6)));
    for (short, rule) in [
        (packs(4, 6), "is_multiple_of"),
        (packs(13, 7), "is_multiple_of"),
    ] {
        refused(start!(matmul_short_deep, short), rule);
    }
    for at in [1, 2] {
        let mut off = packs(4, 8);
        off.of[at] = behind([32, 40][at - 1]);
        refused(start!(matmul_short_deep, off), "is_aligned_to");
    }
    let mut twice = packs(4, 8);
    twice.whole = 2;
    refused(start!(matmul_short_deep, twice), "whole <= 1");
}

#[test]
fn blocks_of_short_sums_divide_their_threads() {
    let start = |change: fn(&mut Short)| start!(matmul_short, with(change));
    // Rows of a thread are a multiple of a pack's elements apart.
    let widest = (THREADS / 4).ilog2() as usize;
    starts(start!(
        matmul_short,
        with(|it| it.block = [widest, HIGHEST.ilog2() as usize])
    ));
    starts(start(|it| it.block = [0, 0]));
    for wide in [widest + 1, 64, usize::MAX] {
        let short = with(|it| it.block[0] = wide);
        refused(start!(matmul_short, short), "wide");
    }
    for high in [HIGHEST.ilog2() as usize + 1, 64, usize::MAX] {
        let short = with(|it| it.block[1] = high);
        refused(start!(matmul_short, short), "high");
    }
    // Extents and runs that 32 bits count.
    let most = 1_usize << 31;
    for (rows, batch) in [(most, 1), (1, most)] {
        let runs = |of_run: usize| {
            with(|it| {
                it.of = [0, 0, most as u64].map(memory);
                (it.extents, it.batch) = ([rows, 0, 1], [batch; 2]);
                it.block = [0, of_run];
            })
        };
        starts(start!(matmul_short, runs(0)));
    }
    let beyond = |extents: [usize; 3], batch, len: u64| {
        with(|it| {
            it.of = [0, 0, len].map(memory);
            (it.extents, it.batch) = (extents, [batch; 2]);
        })
    };
    let len = most as u64 + 1;
    for (extents, batch) in [
        ([most + 1, 0, 1], 1),
        ([1, 0, most + 1], 1),
        ([1, 0, 1], most + 1),
    ] {
        refused(start!(matmul_short, beyond(extents, batch, len)), "MOST");
    }
    for (grid, block) in [
        ([2, 3, 2], [THREADS, 1, 1]),
        ([2, 3, 1], [THREADS / 2, 1, 1]),
        ([2, 3, 1], [THREADS, 2, 1]),
        ([2, 3, 1], [THREADS, 1, 2]),
    ] {
        let wrong = with(|it| it.shape = shape(grid, block));
        refused(start!(matmul_short, wrong), "THREADS");
    }
}
