//! Products with a short inner extent, and batches of them.

use cuda_std::launch::Shape;
use kernels::matmul::short::{DEEPEST, DEPTH, HIGHEST, THREADS, matmul_short, matmul_short_deep};

use super::super::support::Buffer;
use super::super::{Device, behind, memory, refused, shape, starts};

struct Short {
    of: [Buffer<f32>; 3],
    extents: [usize; 3],
    batch: [usize; 2],
    block: [usize; 2],
    shape: Shape,
}

fn good() -> Short {
    Short {
        of: [memory(60), memory(84), memory(105)],
        extents: [5, 4, 7],
        batch: [3, 3],
        block: [4, 32],
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
            shape,
        } = $short;
        let device = Device::default();
        $kernel::<f32>::on(&device).and_then(|kernel| {
            let kernel = kernel.shape(shape);
            kernel.launch(&a, &b, &mut c, rows, inner, cols, of_a, batch, wide, high)
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
fn of(lens: [u64; 3], extents: [usize; 3], batch: [usize; 2], block: [usize; 2]) -> Short {
    with(|it| {
        it.of = lens.map(memory);
        (it.extents, it.batch, it.block) = (extents, batch, block);
    })
}

#[test]
fn short_sums_fit_registers() {
    let of_inner = |inner: usize| {
        let lens = [15 * inner as u64, 21 * inner as u64, 105];
        of(lens, [5, inner, 7], [3, 3], [4, 32])
    };
    starts(start!(matmul_short, of_inner(DEPTH)));
    refused(start!(matmul_short, of_inner(DEPTH + 1)), "inner <= DEPTH");
    starts(start!(matmul_short_deep, of_inner(1)));
    starts(start!(matmul_short_deep, of_inner(DEEPEST)));
    refused(
        start!(matmul_short_deep, of_inner(DEEPEST + 1)),
        "inner <= DEEPEST",
    );
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
    // Without columns there may be any number of rows, without both any number of products.
    for (extents, batch) in [
        ([5, 0, 0], 1),
        ([usize::MAX, 0, 0], 1),
        ([0, 0, 0], usize::MAX),
    ] {
        let none = || of([0; 3], extents, [batch; 2], [4, 32]);
        both!(refused, none(), "!c.is_empty()");
    }
}

#[test]
fn blocks_of_short_sums_divide_their_threads() {
    let start = |change: fn(&mut Short)| start!(matmul_short, with(change));
    // Rows of a thread are a multiple of a pack's elements apart.
    let widest = THREADS as usize / 4;
    starts(start!(
        matmul_short,
        with(|it| it.block = [widest, HIGHEST])
    ));
    starts(start(|it| it.block = [1, 1]));
    refused(
        start!(matmul_short, with(|it| it.block[0] = 2 * widest)),
        "wide",
    );
    refused(start(|it| it.block[0] = 0), "wide");
    refused(start(|it| it.block[0] = 6), "wide");
    refused(start(|it| it.block[1] = 0), "high");
    refused(start(|it| it.block[1] = 48), "high");
    refused(start(|it| it.block[1] = 2 * HIGHEST), "high");
    // Runs that 32 bits count: of one product, and of many.
    let long = 1 << 32;
    for (rows, batch) in [(long, 1), (1, long)] {
        let lens = [0, 0, long as u64];
        let runs = |high| of(lens, [rows, 0, 1], [batch; 2], [4, high]);
        refused(start!(matmul_short, runs(1)), "MOST");
        match batch {
            1 => starts(start!(matmul_short, runs(2))),
            _ => refused(start!(matmul_short, runs(2)), "MOST"),
        }
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
