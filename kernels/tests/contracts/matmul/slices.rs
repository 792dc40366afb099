//! Products in slices of the inner extent, which leave a sum for each slice.

use cuda_std::launch::Shape;
use kernels::matmul::mma::{self, MmaTiles, matmul_mma, matmul_mma_small};
use kernels::matmul::sliced::{matmul_sliced, matmul_sliced_tall};
use kernels::matmul::slices::{
    Cut, Flat, FlatRagged, MOST_SLICES, Small, SmallRagged, Square, SquareRagged, Tall, TallRagged,
};

use super::super::support::Buffer;
use super::super::{Device, Error, behind, memory, refused, shape, starts};
use super::{of_policy, wrong_shapes};

/// A product in slices: 5 × 6 and 6 × 8 in two of them, or what a test makes of it.
struct Sliced<T> {
    a: Buffer<T>,
    b: Buffer<T>,
    /// The first `whole` rows of C, of a kernel that has such.
    c: Buffer<T>,
    whole: usize,
    sums: Buffer<T>,
    extents: [usize; 3],
    slices: usize,
    /// Matrices of A, and of B and C.
    batch: [usize; 2],
    shape: Shape,
}

impl<T> Sliced<T> {
    fn of([rows, inner, cols]: [usize; 3], shape: Shape) -> Self {
        Self {
            a: memory((rows * inner) as u64),
            b: memory((inner * cols) as u64),
            c: memory(0),
            whole: 0,
            sums: memory((2 * rows * cols) as u64),
            extents: [rows, inner, cols],
            slices: 2,
            batch: [1, 1],
            shape,
        }
    }

    fn with(mut self, change: fn(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

macro_rules! start {
    ($handle:ty) => {
        |mut of: Sliced<_>| -> Result<(), Error> {
            let ([rows, inner, cols], [of_a, batch]) = (of.extents, of.batch);
            let kernel = <$handle>::on(&Device::default())?.shape(of.shape);
            kernel.launch(
                &of.a,
                &of.b,
                &mut of.c,
                &mut of.sums,
                rows,
                inner,
                cols,
                of.whole,
                of.slices,
                of_a,
                batch,
            )
        }
    };
}

/// What every kernel with slices refuses.
fn of_slices<T>(good: impl Fn() -> Sliced<T>, start: impl Fn(Sliced<T>) -> Result<(), Error>) {
    starts(start(good()));
    refused(start(good().with(|of| of.slices = 3)), "Some(sums.len())");
    // Which of two rules speaks first is the kernel's.
    refused(start(good().with(|of| of.slices = 0)), "slices");
    let too_many = good().with(|of| of.slices = MOST_SLICES + 1);
    refused(start(too_many), "Some(sums.len())");
    refused(start(good().with(|of| of.extents[1] += 2)), "a.len()");
    // Without an element, any number of products would be looped over.
    let none = good().with(|of| {
        (of.a, of.b, of.sums) = (memory(0), memory(0), memory(0));
        of.extents = [0; 3];
    });
    refused(start(none), "!sums.is_empty()");
}

/// Two products, of 5 × 6 and 6 × 8 each.
fn two<T>(mut of: Sliced<T>) -> Sliced<T> {
    (of.a, of.b, of.sums) = (memory(60), memory(96), memory(160));
    of.batch = [2, 2];
    of
}

fn of_batches<T>(good: impl Fn() -> Sliced<T>, start: impl Fn(Sliced<T>) -> Result<(), Error>) {
    let batch = || two(good());
    starts(start(batch()));
    let shared = || batch().with(|of| (of.a, of.batch) = (memory(30), [1, 2]));
    starts(start(shared()));
    refused(start(batch().with(|of| of.batch = [3, 2])), "of_a == 1");
    refused(
        start(shared().with(|of| of.a = memory(60))),
        "Some(a.len())",
    );
    refused(start(batch().with(|of| of.b = memory(48))), "Some(b.len())");
    let sums = batch().with(|of| of.sums = memory(80));
    refused(start(sums), "Some(sums.len())");
}

/// What an instance that moves 16 bytes at a time refuses, and the other one takes.
fn unaligned<T>(
    of: impl Fn() -> Sliced<T>,
    whole: impl Fn(Sliced<T>) -> Result<(), Error>,
    ragged: impl Fn(Sliced<T>) -> Result<(), Error>,
    rule: &str,
) {
    starts(ragged(of()));
    refused(whole(of()), rule);
}

/// What a launch of `sliced` has beside [`Sliced`]: pitches of A and of B, where rows do not follow
/// each other, ranges, and layers of the grid if it has not one for each slice of each product.
#[derive(Clone, Copy, Default)]
struct Form {
    pitches: Option<[usize; 2]>,
    unless: u64,
    layers: Option<u32>,
}

#[test]
fn slices_of_tiles_have_their_sums() {
    macro_rules! start {
        ($handle:ty, |$a:ident, $b:ident, $slices:ident, $unless:ident| $($more:expr),+) => {
            |mut of: Sliced<f32>, form: Form| -> Result<(), Error> {
                let ([rows, inner, cols], $slices) = (of.extents, (of.slices, of.batch));
                let [$a, $b] = form.pitches.unwrap_or([inner, cols]);
                let $unless = memory::<u32>(form.unless);
                let mut shape = of.shape;
                let layers = (of.slices * of.batch[1]).max(1) as u32;
                shape.grid.z = form.layers.unwrap_or(layers);
                let kernel = <$handle>::on(&Device::default())?.shape(shape);
                kernel.launch(&of.a, &of.b, &mut of.sums, rows, inner, cols, $($more),+)
            }
        };
    }
    macro_rules! tall {
        ($instance:ty) => {
            start!(
                matmul_sliced_tall<$instance>,
                |a, b, slices, unless| a,
                b,
                slices.0,
                slices.1[0],
                slices.1[1],
                &unless
            )
        };
    }
    macro_rules! smaller {
        ($instance:ty) => {
            start!(
                matmul_sliced<$instance>,
                |_a, b, slices, _unless| b,
                slices.0,
                slices.1[0],
                slices.1[1]
            )
        };
    }
    slices_of_a_cut(Cut::Tall, tall!(Tall), tall!(TallRagged));
    slices_of_a_cut(Cut::Square, smaller!(Square), smaller!(SquareRagged));
    slices_of_a_cut(Cut::Small, smaller!(Small), smaller!(SmallRagged));
    slices_of_a_cut(Cut::Flat, smaller!(Flat), smaller!(FlatRagged));
    copies_and_ranges(tall!(Tall), tall!(TallRagged));
}

fn slices_of_a_cut(
    cut: Cut,
    whole: impl Fn(Sliced<f32>, Form) -> Result<(), Error> + Copy,
    ragged: impl Fn(Sliced<f32>, Form) -> Result<(), Error> + Copy,
) {
    let policy = cut.policy(true);
    let good = || Sliced::of([5, 6, 8], of_policy(&policy));
    let packed = Form::default();
    of_slices(good, |of| whole(of, packed));
    of_slices(good, |of| ragged(of, packed));
    of_batches(good, |of| whole(of, packed));
    of_batches(good, |of| ragged(of, packed));
    for layers in [1, 3] {
        let form = Form {
            layers: Some(layers),
            ..packed
        };
        // Tall tiles stride over the layers.
        match cut == Cut::Tall && layers == 1 {
            true => starts(whole(good(), form)),
            false => refused(whole(good(), form), "grid.z"),
        }
    }
    let (of_whole, of_ragged) = (|of| whole(of, packed), |of| ragged(of, packed));
    let of_b = || good().with(|of| of.b = behind(48));
    let of_sums = || good().with(|of| of.sums = behind(80));
    if policy.anywhere {
        for start in [&of_whole as &dyn Fn(_) -> _, &of_ragged] {
            starts(start(of_b()));
            starts(start(of_sums()));
        }
    } else {
        unaligned(of_b, of_whole, of_ragged, "b.is_aligned");
        unaligned(of_sums, of_whole, of_ragged, "sums.is_aligned");
    }
    let odd = || Sliced::of([5, 6, 7], of_policy(&policy));
    unaligned(odd, of_whole, of_ragged, "is_multiple_of");
    // Columns that are no vectors, in rows that are.
    let copied = || odd().with(|of| of.b = memory(48));
    starts(whole(copied(), pitched(6, 8)));
    // Their sums are stored one by one, wherever they begin.
    let anywhere = copied().with(|of| of.sums = behind(of.sums.len));
    starts(whole(anywhere, pitched(6, 8)));
    // Columns turn by where B begins, and without rows it may begin anywhere.
    let without = |cols| Sliced::of([5, 0, cols], of_policy(&policy)).with(|of| of.b = behind(0));
    starts(whole(without(8), pitched(0, 8)));
    match policy.anywhere {
        true => refused(whole(without(7), pitched(0, 8)), "inner > 0"),
        false => starts(whole(without(7), pitched(0, 8))),
    }
    let copied_anywhere = odd().with(|of| of.b = behind(48));
    refused(whole(copied_anywhere, pitched(6, 8)), "b.is_aligned");
    let narrow = odd().with(|of| of.b = memory(24));
    refused(whole(narrow, pitched(6, 4)), "cols <= pitch");
    for (shape, rule) in wrong_shapes(&policy) {
        // Slices are layers of the grid.
        if rule != "grid.z" {
            refused(whole(Sliced { shape, ..good() }, packed), rule);
        }
    }
}

fn pitched(a: usize, b: usize) -> Form {
    let pitches = Some([a, b]);
    Form {
        pitches,
        ..Form::default()
    }
}

/// What the largest tiles take beside.
fn copies_and_ranges(
    whole: impl Fn(Sliced<f32>, Form) -> Result<(), Error>,
    ragged: impl Fn(Sliced<f32>, Form) -> Result<(), Error>,
) {
    let policy = Cut::Tall.policy(true);
    let good = || Sliced::of([5, 6, 8], of_policy(&policy));
    let of = |unless| Form {
        unless,
        ..Form::default()
    };
    for unless in [0, 4] {
        starts(whole(good(), of(unless)));
        starts(ragged(good(), of(unless)));
    }
    for unless in [1, 3, 5] {
        refused(whole(good(), of(unless)), "unless.len()");
    }
    let copied = || {
        let odd = Sliced::of([5, 6, 7], of_policy(&policy));
        odd.with(|of| (of.a, of.b) = (memory(40), memory(48)))
    };
    starts(whole(copied(), pitched(8, 8)));
    // C may begin anywhere, if its rows do.
    starts(whole(
        copied().with(|of| of.sums = behind(70)),
        pitched(8, 8),
    ));
    refused(whole(copied(), pitched(6, 8)), "Some(a.len())");
    let short = copied().with(|of| of.a = memory(20));
    refused(whole(short, pitched(4, 8)), "inner <= pitch_a");
}

#[test]
fn slices_of_doubles_have_their_sums() {
    let square = start!(matmul_mma_small<mma::Square>);
    of_doubles(MmaTiles::Square, true, square);
    let ragged = start!(matmul_mma_small<mma::SquareRagged>);
    of_doubles(MmaTiles::Square, false, ragged);
    only_pairs(MmaTiles::Square, square, ragged);
    let tall = start!(matmul_mma<mma::Tall>);
    of_doubles(MmaTiles::Tall, true, tall);
    let ragged = start!(matmul_mma<mma::TallRagged>);
    of_doubles(MmaTiles::Tall, false, ragged);
    only_pairs(MmaTiles::Tall, tall, ragged);
    let small = start!(matmul_mma_small<mma::Small>);
    of_doubles(MmaTiles::Small, true, small);
    let ragged = start!(matmul_mma_small<mma::SmallRagged>);
    of_doubles(MmaTiles::Small, false, ragged);
    only_pairs(MmaTiles::Small, small, ragged);
    of_doubles(MmaTiles::Large, true, start!(matmul_mma<mma::Large>));
    of_doubles(MmaTiles::Flat, true, start!(matmul_mma_small<mma::Flat>));
    of_doubles(MmaTiles::Slim, true, start!(matmul_mma_small<mma::Slim>));
}

/// The product of `extents`, which a block of these tiles computes in slices of one step.
fn doubles(tiles: MmaTiles, pairs: bool, extents: [usize; 3]) -> Sliced<f64> {
    let threads = tiles.policy(true).threads() as u32;
    let bytes = tiles.shared_bytes(pairs, 16) as u32;
    Sliced::of(extents, shape([8, 2, 1], [threads, 1, 1]).shared(bytes))
}

fn of_doubles(
    tiles: MmaTiles,
    pairs: bool,
    start: impl Fn(Sliced<f64>) -> Result<(), Error> + Copy,
) {
    let good = || doubles(tiles, pairs, [5, 6, 8]);
    of_slices(good, start);
    of_batches(good, start);
    let (threads, bytes) = (
        tiles.policy(true).threads() as u32,
        tiles.shared_bytes(pairs, 16) as u32,
    );
    let shape_of = |threads, bytes| shape([8, 2, 1], [threads, 1, 1]).shared(bytes);
    for (shape, rule) in [
        (shape_of(threads, bytes - 1), "shared_bytes"),
        (shape_of(threads / 2, bytes), "block.x"),
    ] {
        refused(start(Sliced { shape, ..good() }), rule);
    }
    // Each tile has a block, and each product a layer along y and z; others have nothing to do.
    let two = || two(good());
    let of_grid = |grid| shape(grid, [threads, 1, 1]).shared(bytes);
    for (grid, rule) in [
        ([2, 2, 1], None),
        ([2, 1, 2], None),
        ([9, 2, 2], None),
        ([1, 2, 1], Some("grid.x")),
        ([2, 1, 1], Some("grid.y")),
    ] {
        let launch = || Sliced {
            shape: of_grid(grid),
            ..two()
        };
        match rule {
            None => starts(start(launch())),
            Some(rule) => refused(start(launch()), rule),
        }
    }
    // A slice of three steps fills more stages.
    let longer = || doubles(tiles, pairs, [5, 96, 8]);
    match tiles.shared_bytes(pairs, 48) as u32 == bytes {
        true => starts(start(longer())),
        false => refused(start(longer()), "shared_bytes"),
    }
    let shape = shape_of(threads, tiles.shared_bytes(pairs, 48) as u32);
    starts(start(Sliced { shape, ..longer() }));
    rows_in_one(tiles, pairs, start);
}

/// What a product refuses whose first two rows are in one slice.
fn rows_in_one(
    tiles: MmaTiles,
    pairs: bool,
    start: impl Fn(Sliced<f64>) -> Result<(), Error> + Copy,
) {
    let good = || {
        doubles(tiles, pairs, [5, 6, 8]).with(|of| {
            (of.c, of.whole) = (memory(16), 2);
            of.sums = memory(48);
        })
    };
    starts(start(good()));
    refused(start(good().with(|of| of.whole = 3)), "Some(c.len())");
    refused(
        start(good().with(|of| of.sums = memory(80))),
        "Some(sums.len())",
    );
    refused(start(good().with(|of| of.whole = 6)), "whole <= rows");
    let all = || good().with(|of| (of.c, of.whole, of.sums) = (memory(40), 5, memory(0)));
    starts(start(all()));
    refused(start(all().with(|of| of.whole = 6)), "whole <= rows");
    // These rows have all of the inner extent.
    let bytes = [16, 96].map(|len| tiles.shared_bytes(pairs, len) as u32);
    let longer = |bytes| {
        let [a, b] = [memory(5 * 96), memory(96 * 8)];
        let extents = [5, 96, 8];
        let shape = good().shape.shared(bytes);
        Sliced {
            a,
            b,
            extents,
            slices: 6,
            sums: memory(144),
            shape,
            ..good()
        }
    };
    starts(start(longer(bytes[1])));
    if bytes[0] < bytes[1] {
        refused(start(longer(bytes[0])), "shared_bytes");
    }
    // Two products have these rows each.
    let two = || {
        let batch = two(good());
        batch.with(|of| (of.c, of.sums) = (memory(32), memory(96)))
    };
    starts(start(two()));
    refused(start(two().with(|of| of.c = memory(16))), "Some(c.len())");
    // More tiles than 32 bits count with room to spare.
    let many = good().with(|of| {
        of.extents = [1 << 18, 0, 1 << 17];
        (of.a, of.b, of.c, of.whole) = (memory(0), memory(0), memory(0), 0);
        of.slices = MOST_SLICES;
        of.sums = memory(1 << 45);
    });
    refused(start(many), "items(");
}

fn only_pairs(
    tiles: MmaTiles,
    whole: impl Fn(Sliced<f64>) -> Result<(), Error> + Copy,
    ragged: impl Fn(Sliced<f64>) -> Result<(), Error> + Copy,
) {
    let of = |extents| doubles(tiles, false, extents);
    let good = || of([5, 6, 8]);
    let a = || good().with(|of| of.a = behind(30));
    unaligned(a, whole, ragged, "a.is_aligned");
    let b = || good().with(|of| of.b = behind(48));
    unaligned(b, whole, ragged, "b.is_aligned");
    let sums = || good().with(|of| of.sums = behind(80));
    unaligned(sums, whole, ragged, "sums.is_aligned");
    let c = || {
        good().with(|of| {
            (of.c, of.whole) = (behind(16), 2);
            of.sums = memory(48);
        })
    };
    unaligned(c, whole, ragged, "c.is_aligned");
    // Copies of steps that are not there have addresses, unless they are skipped.
    let empty = || {
        of([5, 0, 8]).with(|of| {
            (of.a, of.b) = (behind(0), behind(0));
        })
    };
    starts(ragged(empty()));
    match [MmaTiles::Tall, MmaTiles::Large].contains(&tiles) {
        true => refused(whole(empty()), "inner > 0"),
        false => starts(whole(empty())),
    }
    // Nothing may begin anywhere.
    starts(whole(good().with(|of| of.c = behind(0))));
    let none = good().with(|of| (of.c, of.whole, of.sums) = (memory(40), 5, behind(0)));
    starts(whole(none));
    unaligned(|| of([5, 7, 8]), whole, ragged, "inner.is_multiple_of");
    unaligned(|| of([5, 6, 7]), whole, ragged, "cols.is_multiple_of");
}
