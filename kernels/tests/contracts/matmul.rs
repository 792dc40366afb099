//! Matrix products.

use cuda_std::launch::Shape;
use kernels::matmul::direct::{self, DirectTiles, matmul_direct};
use kernels::matmul::few_cols::{self, matmul_few_cols};
use kernels::matmul::few_rows::{self, matmul_few_rows};
use kernels::matmul::mma::{self, MmaTiles, matmul_mma, matmul_mma_small};
use kernels::matmul::pipelined::matmul_pipelined_f32;
use kernels::matmul::pitched::{self, matmul_pitch_f32};
use kernels::matmul::policy::{Policy, Tiles};
use kernels::matmul::sliced::{matmul_sliced, matmul_sliced_tall};
use kernels::matmul::slices::{
    Cut, MOST_SLICES, Small, SmallRagged, Square, SquareRagged, Tall, TallRagged,
};
use kernels::matmul::small::{self, matmul_small};
use kernels::matmul::split::{self, TILE_WORDS, matmul_split_f32};
use kernels::matmul::tensor::{self, SHARED_BYTES, matmul_tensor_f32};
use kernels::matmul::thin::matmul_thin;

use super::support::Buffer;
use super::{Device, Error, behind, memory, refused, shape, starts};

/// A product's memory, extents and shape.
struct Product {
    a: Buffer<f32>,
    b: Buffer<f32>,
    c: Buffer<f32>,
    extents: [usize; 3],
    /// Matrices of A, and of B and C.
    batch: [usize; 2],
    unless: u64,
    shape: Shape,
}

impl Product {
    /// Of 5 × 6 and 6 × 8.
    fn good(policy: &Policy) -> Self {
        Self {
            a: memory(30),
            b: memory(48),
            c: memory(40),
            extents: [5, 6, 8],
            batch: [1, 1],
            unless: 4,
            shape: of_policy(policy),
        }
    }
}

fn of_policy(policy: &Policy) -> Shape {
    let threads = policy.threads() as u32;
    shape([2, 2, 1], [threads, 1, 1]).shared(policy.shared_bytes() as u32)
}

fn pipelined(mut of: Product) -> Result<(), Error> {
    let (device, [rows, inner, cols]) = (Device::default(), of.extents);
    let (unless, [of_a, batch]) = (memory::<u32>(of.unless), of.batch);
    let kernel = matmul_pipelined_f32::on(&device)?.shape(of.shape);
    kernel.launch(
        &of.a, &of.b, &mut of.c, rows, inner, cols, of_a, batch, &unless,
    )
}

/// Blocks, grids and shared memory that are not the policy's.
fn wrong_shapes(policy: &Policy) -> [(Shape, &'static str); 6] {
    let (good, bytes) = (of_policy(policy), policy.shared_bytes() as u32);
    let threads = policy.threads() as u32;
    let of = |grid, block| shape(grid, block).shared(bytes);
    [
        (of([2, 2, 1], [threads - 32, 1, 1]), "block.x"),
        (of([2, 2, 1], [threads + 32, 1, 1]), "block.x"),
        (of([2, 2, 1], [threads, 2, 1]), "block.y"),
        (of([2, 2, 1], [threads, 1, 2]), "block.z"),
        (of([2, 2, 2], [threads, 1, 1]), "grid.z"),
        (good.shared(bytes - 1), "shared_bytes"),
    ]
}

#[test]
fn matrices_have_their_extents() {
    let good = || Product::good(&Tiles::Wide.policy());
    let with = |change: fn(&mut Product)| {
        let mut product = good();
        change(&mut product);
        pipelined(product)
    };
    starts(pipelined(good()));
    starts(with(|of| of.unless = 0));
    refused(with(|of| of.a = memory(29)), "Some(a.len())");
    refused(with(|of| of.b = memory(47)), "Some(b.len())");
    refused(with(|of| of.c = memory(39)), "Some(c.len())");
    for unless in [1, 3, 5] {
        refused(pipelined(Product { unless, ..good() }), "unless.len()");
    }
    // Products that are 0 in 64 bits.
    let high = Product {
        a: memory(0),
        b: memory(0),
        c: memory(0),
        extents: [1 << 32, 1 << 32, 1 << 32],
        ..good()
    };
    refused(pipelined(high), "elements(rows, inner, of_a)");
    let batch = |[of_a, batch]: [usize; 2]| Product {
        a: memory(30 * of_a as u64),
        b: memory(48 * batch as u64),
        c: memory(40 * batch as u64),
        batch: [of_a, batch],
        shape: {
            let policy = Tiles::Wide.policy();
            let block = [policy.threads() as u32, 1, 1];
            shape([2, 2, batch as u32], block).shared(policy.shared_bytes() as u32)
        },
        ..good()
    };
    starts(pipelined(batch([2, 2])));
    starts(pipelined(batch([1, 2])));
    refused(pipelined(batch([2, 1])), "of_a == 1");
    let short = |change: fn(&mut Product)| {
        let mut product = batch([2, 2]);
        change(&mut product);
        pipelined(product)
    };
    refused(short(|of| of.a = memory(30)), "Some(a.len())");
    refused(short(|of| of.b = memory(48)), "Some(b.len())");
    refused(short(|of| of.c = memory(40)), "Some(c.len())");
    for (shape, rule) in wrong_shapes(&Tiles::Wide.policy()) {
        refused(pipelined(Product { shape, ..good() }), rule);
    }
    // A moves element by element.
    starts(with(|of| of.a = behind(30)));
    refused(with(|of| of.b = behind(48)), "b.is_aligned");
    refused(with(|of| of.c = behind(40)), "c.is_aligned");
    let seven_columns = Product {
        b: memory(42),
        c: memory(35),
        extents: [5, 6, 7],
        ..good()
    };
    refused(pipelined(seven_columns), "fit");
}

#[test]
fn copying_has_room_for_the_copies() {
    let start = |a, b, of_a, of_b, grid, block| {
        let kernel = matmul_pitch_f32::on(&Device::default())?.shape(shape(grid, block));
        let (mut of_a, mut of_b) = (memory(of_a), memory(of_b));
        kernel.launch(&memory(a), &memory(b), &mut of_a, &mut of_b, 5, 6, 9)
    };
    let (grid, block) = ([3, 2, 2], [pitched::THREADS, 1, 1]);
    starts(start(30, 54, 40, 96, grid, block));
    refused(start(29, 54, 40, 96, grid, block), "Some(a.len())");
    refused(start(30, 53, 40, 96, grid, block), "Some(b.len())");
    refused(start(30, 54, 39, 96, grid, block), "Some(of_a.len())");
    refused(start(30, 54, 40, 95, grid, block), "Some(of_b.len())");
    for (grid, block) in [
        ([3, 2, 1], block),
        ([3, 2, 3], block),
        (grid, [128, 1, 1]),
        (grid, [128, 2, 1]),
        (grid, [256, 1, 2]),
    ] {
        refused(start(30, 54, 40, 96, grid, block), "THREADS");
    }
}

/// Tiles of an operand of one tile.
const TILE: u64 = TILE_WORDS as u64;

#[test]
fn splitting_has_room_for_the_tiles_and_the_ranges() {
    let start = |of: [Buffer<u32>; 3], [a, b]: [u64; 2], grid, block| {
        let kernel = matmul_split_f32::on(&Device::default())?.shape(shape(grid, block));
        let [mut of_a, mut of_b, mut ranges] = of;
        kernel.launch(
            &memory(a),
            &memory(b),
            &mut of_a,
            &mut of_b,
            &mut ranges,
            5,
            6,
            9,
        )
    };
    let (grid, block) = ([3, 2, 2], [split::THREADS, 1, 1]);
    let (lens, tile) = ([30, 54], || memory(TILE));
    starts(start([tile(), tile(), memory(4)], lens, grid, block));
    for (of, rule) in [
        ([memory(TILE - 1), tile(), memory(4)], "Some(a_tiles.len())"),
        ([tile(), memory(TILE - 1), memory(4)], "Some(b_tiles.len())"),
        ([behind(TILE), tile(), memory(4)], "a_tiles.is_aligned"),
        ([tile(), behind(TILE), memory(4)], "b_tiles.is_aligned"),
        ([tile(), tile(), memory(3)], "ranges.len()"),
    ] {
        refused(start(of, lens, grid, block), rule);
    }
    let of = || [tile(), tile(), memory(4)];
    refused(start(of(), [29, 54], grid, block), "Some(a.len())");
    refused(start(of(), [30, 53], grid, block), "Some(b.len())");
    for (grid, block) in [
        ([3, 2, 1], block),
        ([3, 2, 3], block),
        (grid, [128, 1, 1]),
        (grid, [128, 2, 1]),
        (grid, [256, 1, 2]),
    ] {
        refused(start(of(), lens, grid, block), "THREADS");
    }
}

#[test]
fn tensor_cores_have_whole_tiles_and_their_shared_memory() {
    let start = |[a, b]: [Buffer<u32>; 2], ranges, c, shape: Shape| {
        let kernel = matmul_tensor_f32::on(&Device::default())?.shape(shape);
        kernel.launch(&a, &b, &memory(ranges), &mut memory(c), 5, 6, 9)
    };
    let of = |grid, block| shape(grid, block).shared(SHARED_BYTES as u32);
    let good = of([3, 1, 1], [tensor::THREADS, 1, 1]);
    let tile = || memory(TILE);
    starts(start([tile(), tile()], 4, 45, good));
    for (operands, rule) in [
        ([memory(TILE - 1), tile()], "Some(a.len())"),
        ([tile(), memory(TILE - 1)], "Some(b.len())"),
        ([behind(TILE), tile()], "a.is_aligned"),
        ([tile(), behind(TILE)], "b.is_aligned"),
    ] {
        refused(start(operands, 4, 45, good), rule);
    }
    refused(start([tile(), tile()], 3, 45, good), "ranges.len()");
    refused(start([tile(), tile()], 4, 44, good), "Some(c.len())");
    let threads = tensor::THREADS;
    for (shape, rule) in [
        (of([3, 1, 1], [256, 1, 1]), "block.x == THREADS"),
        (of([3, 1, 1], [threads, 2, 1]), "block.y"),
        (of([3, 1, 1], [threads, 1, 2]), "block.z"),
        (of([3, 2, 1], [threads, 1, 1]), "grid.y"),
        (of([3, 1, 2], [threads, 1, 1]), "grid.z"),
        (good.shared(SHARED_BYTES as u32 - 1), "shared_bytes"),
    ] {
        refused(start([tile(), tile()], 4, 45, shape), rule);
    }
}

/// A product in slices: 5 × 6 and 6 × 8 in two of them, or what a test makes of it.
struct Sliced<T> {
    a: Buffer<T>,
    b: Buffer<T>,
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
                &mut of.sums,
                rows,
                inner,
                cols,
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
/// each other, and ranges.
#[derive(Clone, Copy, Default)]
struct Form {
    pitches: Option<[usize; 2]>,
    unless: u64,
}

#[test]
fn slices_of_tiles_have_their_sums() {
    macro_rules! start {
        ($handle:ty, |$a:ident, $b:ident, $slices:ident, $unless:ident| $($more:expr),+) => {
            |mut of: Sliced<f32>, form: Form| -> Result<(), Error> {
                let ([rows, inner, cols], $slices) = (of.extents, (of.slices, of.batch));
                let [$a, $b] = form.pitches.unwrap_or([inner, cols]);
                let $unless = memory::<u32>(form.unless);
                let kernel = <$handle>::on(&Device::default())?.shape(of.shape);
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
    if cut == Cut::Small {
        refused(whole(two(good()), packed), "HAS_BATCHES");
        refused(ragged(two(good()), packed), "HAS_BATCHES");
    } else {
        of_batches(good, |of| whole(of, packed));
        of_batches(good, |of| ragged(of, packed));
    }
    let (of_whole, of_ragged) = (|of| whole(of, packed), |of| ragged(of, packed));
    unaligned(
        || good().with(|of| of.b = behind(48)),
        of_whole,
        of_ragged,
        "b.is_aligned",
    );
    unaligned(
        || good().with(|of| of.sums = behind(80)),
        of_whole,
        of_ragged,
        "sums.is_aligned",
    );
    let odd = || Sliced::of([5, 6, 7], of_policy(&policy));
    unaligned(odd, of_whole, of_ragged, "is_multiple_of");
    // Columns that are no vectors, in rows that are.
    let copied = || odd().with(|of| of.b = memory(48));
    starts(whole(copied(), pitched(6, 8)));
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
    Form { pitches, unless: 0 }
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
    of_doubles(
        MmaTiles::Square,
        start!(matmul_mma_small<mma::Square>),
        start!(matmul_mma_small<mma::SquareRagged>),
    );
    of_doubles(
        MmaTiles::Tall,
        start!(matmul_mma<mma::Tall>),
        start!(matmul_mma<mma::TallRagged>),
    );
    of_doubles(
        MmaTiles::Large,
        start!(matmul_mma<mma::Large>),
        start!(matmul_mma<mma::LargeRagged>),
    );
    of_doubles(
        MmaTiles::Small,
        start!(matmul_mma_small<mma::Small>),
        start!(matmul_mma_small<mma::SmallRagged>),
    );
}

fn of_doubles(
    tiles: MmaTiles,
    whole: impl Fn(Sliced<f64>) -> Result<(), Error> + Copy,
    ragged: impl Fn(Sliced<f64>) -> Result<(), Error> + Copy,
) {
    let (threads, bytes) = (
        tiles.policy(true).threads() as u32,
        tiles.shared_bytes() as u32,
    );
    let shape_of = |threads, bytes| shape([2, 2, 2], [threads, 1, 1]).shared(bytes);
    let of = |extents| Sliced::of(extents, shape_of(threads, bytes));
    let good = || of([5, 6, 8]);
    of_slices(good, whole);
    of_slices(good, ragged);
    of_batches(good, whole);
    of_batches(good, ragged);
    let a = || good().with(|of| of.a = behind(30));
    unaligned(a, whole, ragged, "a.is_aligned");
    let b = || good().with(|of| of.b = behind(48));
    unaligned(b, whole, ragged, "b.is_aligned");
    let sums = || good().with(|of| of.sums = behind(80));
    unaligned(sums, whole, ragged, "sums.is_aligned");
    unaligned(|| of([5, 7, 8]), whole, ragged, "inner.is_multiple_of");
    unaligned(|| of([5, 6, 7]), whole, ragged, "cols.is_multiple_of");
    for (shape, rule) in [
        (shape_of(threads, bytes - 1), "shared_bytes"),
        (shape_of(threads / 2, bytes), "block.x"),
    ] {
        refused(whole(Sliced { shape, ..good() }), rule);
        refused(ragged(Sliced { shape, ..good() }), rule);
    }
}

#[test]
fn small_products_have_room_in_shared_memory() {
    struct Small {
        of: [Buffer<f32>; 3],
        batch: [usize; 2],
        run: usize,
        each: usize,
        packs: usize,
        shape: Shape,
    }
    let bytes = small::room::<f32>([5, 4, 8], 2) as u32;
    let of = |grid, block, bytes| shape(grid, block).shared(bytes);
    let good = || Small {
        of: [memory(60), memory(96), memory(120)],
        batch: [3, 3],
        run: 5,
        each: 2,
        packs: 1,
        shape: of([2, 1, 1], [small::THREADS, 1, 1], bytes),
    };
    let start = |small: Small| {
        let Small {
            of: [a, b, mut c],
            batch: [of_a, batch],
            run,
            each,
            packs,
            shape,
        } = small;
        let device = Device::default();
        let kernel = matmul_small::<f32>::on(&device)?.shape(shape);
        kernel.launch(&a, &b, &mut c, 5, 4, 8, of_a, batch, run, each, packs)
    };
    let with = |change: fn(&mut Small)| {
        let mut small = good();
        change(&mut small);
        start(small)
    };
    starts(start(good()));
    starts(with(|it| (it.of[0], it.batch) = (memory(20), [1, 3])));
    refused(with(|it| it.batch = [2, 3]), "of_a == 1");
    refused(with(|it| it.of[0] = memory(59)), "Some(a.len())");
    refused(with(|it| it.of[1] = memory(95)), "Some(b.len())");
    refused(with(|it| it.of[2] = memory(119)), "Some(c.len())");
    refused(with(|it| it.each = 0), "each > 0");
    refused(with(|it| it.each = 4), "shared_bytes");
    refused(with(|it| it.packs = 2), "packs <= 1");
    for (at, rule) in [
        (0, "a.is_aligned"),
        (1, "b.is_aligned"),
        (2, "c.is_aligned"),
    ] {
        let mut small = good();
        small.of[at] = behind([60, 96, 120][at]);
        refused(start(small), rule);
    }
    starts(with(|it| (it.of[0], it.packs) = (behind(60), 0)));
    for wrong in [
        of([2, 1, 1], [64, 1, 1], bytes),
        of([2, 1, 2], [small::THREADS, 1, 1], bytes),
        of([2, 1, 1], [small::THREADS, 2, 1], bytes),
    ] {
        let mut small = good();
        small.shape = wrong;
        refused(start(small), "THREADS");
    }
    let mut small = good();
    small.shape = of([2, 1, 1], [small::THREADS, 1, 1], bytes - 1);
    refused(start(small), "shared_bytes");
    let mut small = good();
    small.shape = of([2, 2, 1], [small::THREADS, 1, 1], bytes);
    starts(start(small));
    // Runs of rows of one product; a block along x has two products.
    let run = small::room::<f32>([3, 4, 8], 1) as u32;
    for (bytes, rows, each, rule) in [
        (2 * run, 3, 1, None),
        (2 * run - 1, 3, 1, Some("shared_bytes")),
        (2 * run, 3, 2, Some("each == 1")),
        (2 * run, 0, 1, Some("run > 0")),
        (4 * run, 6, 1, Some("run == rows")),
    ] {
        let mut small = good();
        (small.run, small.each) = (rows, each);
        small.shape = of([2, 1, 1], [small::THREADS, 1, 1], bytes);
        match rule {
            None => starts(start(small)),
            Some(rule) => refused(start(small), rule),
        }
    }
    // A block that has two groups needs room for both.
    for (bytes, enough) in [(2 * bytes, true), (bytes, false)] {
        let mut small = good();
        small.shape = of([1, 1, 1], [small::THREADS, 1, 1], bytes);
        match enough {
            true => starts(start(small)),
            false => refused(start(small), "shared_bytes"),
        }
    }
}

/// A product with few rows or columns: 2 × 6 and 6 × 8, 5 × 6 and 6 × 8, or 5 × 6 and 6 × 2, in two
/// slices.
struct Few {
    a: Buffer<f32>,
    b: Buffer<f32>,
    c: Buffer<f32>,
    sums: Buffer<f32>,
    tickets: Buffer<u32>,
    extents: [usize; 3],
    slices: usize,
    /// Matrices of A, and of B and C.
    batch: [usize; 2],
    /// What the kernel calls `across` or `team`.
    number: usize,
    packs: usize,
    shape: Shape,
}

impl Few {
    fn of(extents: [usize; 3], number: usize, groups: u64, shape: Shape) -> Self {
        let [rows, inner, cols] = extents;
        Self {
            a: memory((rows * inner) as u64),
            b: memory((inner * cols) as u64),
            c: memory((rows * cols) as u64),
            sums: memory((2 * rows * cols) as u64),
            tickets: memory(groups),
            extents,
            slices: 2,
            batch: [1, 1],
            number,
            packs: 0,
            shape,
        }
    }

    fn with(mut self, change: fn(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Three products of this one's size.
    fn three(mut self) -> Self {
        for of in [&mut self.a, &mut self.b, &mut self.c, &mut self.sums] {
            *of = memory(3 * of.len);
        }
        self.tickets = memory(3 * self.tickets.len);
        self.batch = [3, 3];
        self.shape.grid.y = 3;
        self
    }
}

macro_rules! few {
    ($handle:ty $(, $number:ident)?) => {
        |mut of: Few| -> Result<(), Error> {
            let [rows, inner, cols] = of.extents;
            let kernel = <$handle>::on(&Device::default())?.shape(of.shape);
            kernel.launch(
                &of.a,
                &of.b,
                &mut of.c,
                &mut of.sums,
                &mut of.tickets,
                rows,
                inner,
                cols,
                of.slices,
                of.batch[0],
                of.batch[1],
                $(of.$number,)?
                of.packs,
            )
        }
    };
}

#[test]
fn few_rows_or_columns_have_memory_for_their_slices() {
    let thin = || Few::of([2, 6, 8], 8, 1, shape([1, 1, 2], [64, 1, 1]));
    let rows_shape =
        shape([1, 1, 2], [few_rows::THREADS, 1, 1]).shared(few_rows::SHARED_BYTES as u32);
    let rows = || Few::of([5, 6, 8], 0, 1, rows_shape).with(|of| of.packs = 1);
    let cols = || {
        Few::of(
            [9, 6, 2],
            32,
            2,
            shape([2, 1, 2], [few_cols::THREADS, 1, 1]),
        )
    };
    let (by_thin, by_rows, by_cols) = (
        few!(matmul_thin<f32>, number),
        few!(matmul_few_rows<f32>),
        few!(matmul_few_cols<f32>, number),
    );
    fn each(good: &dyn Fn() -> Few, start: &dyn Fn(Few) -> Result<(), Error>) {
        starts(start(good()));
        // More tickets than groups; one slice without memory.
        starts(start(good().with(|of| of.tickets = memory(7))));
        let one = || good().with(|of| (of.slices, of.sums, of.tickets) = (1, memory(0), memory(0)));
        starts(start(one()));
        refused(start(one().with(|of| of.tickets = memory(1))), "fit");
        refused(start(one().with(|of| of.sums = memory(1))), "fit");
        refused(start(good().with(|of| of.slices = 3)), "fit");
        refused(start(good().with(|of| of.slices = 0)), "fit");
        refused(start(good().with(|of| of.slices = MOST_SLICES + 1)), "fit");
        refused(start(good().with(|of| of.tickets = memory(0))), "fit");
        refused(start(good().with(|of| of.extents[1] += 2)), "a.len()");
        refused(start(good().with(|of| of.b = memory(3))), "b.len()");
        refused(start(good().with(|of| of.c = memory(3))), "c.len()");
        let three = || good().three();
        starts(start(three()));
        starts(start(three().with(|of| {
            (of.a, of.batch) = (memory(of.a.len / 3), [1, 3]);
        })));
        refused(start(three().with(|of| of.batch = [2, 3])), "of_a == 1");
        refused(start(three().with(|of| of.batch = [1, 3])), "a.len()");
        refused(start(three().with(|of| of.shape.grid.y = 1)), "grid.y");
        let fewer = |of: &mut Few| of.tickets = memory(of.tickets.len - 1);
        refused(start(three().with(fewer)), "fit");
        let fewer = |of: &mut Few| of.sums = memory(of.sums.len - 1);
        refused(start(three().with(fewer)), "fit");
        let deep = good().with(|of| of.shape.block.z = 2);
        refused(start(deep), "block.z");
        refused(start(good().with(|of| of.shape.grid.y = 2)), "grid.y");
        // Addresses and lengths that are no packs.
        let odd = || good().with(|of| of.packs = 0);
        starts(start(odd().with(|of| of.b = behind(of.b.len))));
        starts(start(odd().with(|of| of.a = behind(of.a.len))));
    }
    each(&thin, &by_thin);
    each(&rows, &by_rows);
    each(&cols, &by_cols);
    let five = Few::of([5, 6, 8], 8, 1, thin().shape);
    refused(by_thin(five), "rows <= MOST_ROWS");
    for (number, packs) in [(12, 0), (0, 0), (64, 0), (2, 1)] {
        let mut of = thin();
        (of.number, of.packs) = (number, packs);
        refused(by_thin(of), "across");
    }
    starts(by_thin(Few::of([2, 6, 8], 2, 4, thin().shape)));
    let packed = || thin().with(|of| of.packs = 1);
    starts(by_thin(packed()));
    refused(by_thin(packed().with(|of| of.packs = 2)), "packs <= 1");
    refused(
        by_thin(packed().with(|of| of.b = behind(48))),
        "b.is_aligned",
    );
    let odd = Few::of([2, 6, 7], 8, 1, thin().shape).with(|of| of.packs = 1);
    refused(by_thin(odd), "cols.is_multiple_of");
    for (block, rule) in [
        ([48, 1, 1], "block.x"),
        ([512, 2, 1], "block.y"),
        ([64, 2, 1], "block.y"),
    ] {
        let mut of = thin();
        of.shape.block = block.into();
        refused(by_thin(of), rule);
    }
    let seventeen = Few::of([17, 6, 8], 0, 1, rows_shape);
    refused(by_rows(seventeen), "rows <= MOST_ROWS");
    refused(by_rows(rows().with(|of| of.packs = 2)), "packs <= 1");
    refused(by_rows(rows().with(|of| of.b = behind(48))), "b.is_aligned");
    let odd = Few::of([5, 6, 7], 0, 1, rows_shape).with(|of| of.packs = 1);
    refused(by_rows(odd), "cols.is_multiple_of");
    refused(by_rows(rows().with(|of| of.shape.block.x = 128)), "block.x");
    let little =
        shape([1, 1, 2], [few_rows::THREADS, 1, 1]).shared(few_rows::SHARED_BYTES as u32 - 1);
    refused(
        by_rows(Few {
            shape: little,
            ..rows()
        }),
        "shared_bytes",
    );
    let seventeen = Few::of([9, 6, 17], 32, 2, cols().shape);
    refused(by_cols(seventeen), "most_cols");
    for team in [0, 2, 24, 256] {
        let mut of = cols();
        of.number = team;
        refused(by_cols(of), "divides");
    }
    // Five columns need eight lanes.
    refused(by_cols(Few::of([9, 6, 5], 4, 2, cols().shape)), "divides");
    let one = || Few::of([9, 8, 1], 32, 2, cols().shape).with(|of| of.packs = 1);
    starts(by_cols(one()));
    refused(by_cols(one().with(|of| of.packs = 2)), "packs <= 1");
    refused(by_cols(one().with(|of| of.a = behind(72))), "a.is_aligned");
    refused(by_cols(one().with(|of| of.b = behind(8))), "b.is_aligned");
    for wrong in [[9, 8, 2], [9, 6, 1]] {
        let of = Few::of(wrong, 32, 2, cols().shape).with(|of| of.packs = 1);
        refused(by_cols(of), "cols <= 1");
    }
    refused(by_cols(cols().with(|of| of.shape.block.x = 64)), "block.x");
}

#[test]
fn small_tiles_have_their_teams_and_memory_for_their_slices() {
    struct Small {
        of: [Buffer<f64>; 4],
        tickets: Buffer<u32>,
        extents: [usize; 3],
        slices: usize,
        batch: [usize; 2],
        team: usize,
        shape: Shape,
    }
    let bytes = DirectTiles::Square.shared_bytes() as u32;
    let of = |grid, block, bytes| shape(grid, block).shared(bytes);
    // Three products of 17 x 6 and 6 x 5, two tiles each, in two slices.
    let good = || Small {
        of: [memory(306), memory(90), memory(255), memory(510)],
        tickets: memory(6),
        extents: [17, 6, 5],
        slices: 2,
        batch: [3, 3],
        team: direct::WARPS,
        shape: of([2, 1, 2], [direct::THREADS, 1, 1], bytes),
    };
    let start = |small: Small| {
        let Small {
            of: [a, b, mut c, mut sums],
            mut tickets,
            extents: [rows, inner, cols],
            slices,
            batch: [of_a, batch],
            team,
            shape,
        } = small;
        let kernel = matmul_direct::<direct::Square>::on(&Device::default())?.shape(shape);
        kernel.launch(
            &a,
            &b,
            &mut c,
            &mut sums,
            &mut tickets,
            rows,
            inner,
            cols,
            slices,
            of_a,
            batch,
            team,
        )
    };
    let with = |change: fn(&mut Small)| {
        let mut small = good();
        change(&mut small);
        start(small)
    };
    starts(start(good()));
    starts(with(|it| it.tickets = memory(7)));
    starts(with(|it| {
        (it.of[0], it.batch) = (memory(102), [1, 3]);
    }));
    for team in [1, 2, 4, 8] {
        let mut one = good();
        (one.slices, one.of[3], one.tickets) = (1, memory(0), memory(0));
        one.team = team;
        starts(start(one));
    }
    refused(with(|it| it.batch = [2, 3]), "of_a == 1");
    refused(with(|it| it.of[0] = memory(305)), "Some(a.len())");
    refused(with(|it| it.of[1] = memory(89)), "Some(b.len())");
    refused(with(|it| it.of[2] = memory(254)), "Some(c.len())");
    refused(with(|it| it.of[3] = memory(509)), "fit");
    refused(with(|it| it.tickets = memory(5)), "fit");
    refused(with(|it| it.slices = 1), "fit");
    refused(with(|it| it.slices = 3), "fit");
    refused(with(|it| it.team = 4), "divides");
    refused(with(|it| it.team = 16), "divides");
    refused(with(|it| it.team = 0), "divides");
    let far = direct::MOST + 1;
    let mut long = good();
    (long.extents, long.slices, long.batch) = ([1, 0, far], 1, [1, 1]);
    long.of = [memory(0), memory(0), memory(far as u64), memory(0)];
    long.tickets = memory(0);
    refused(start(long), "MOST");
    for (wrong, rule) in [
        (of([2, 1, 2], [128, 1, 1], bytes), "THREADS"),
        (of([2, 1, 2], [direct::THREADS, 2, 1], bytes), "block"),
        (of([2, 2, 2], [direct::THREADS, 1, 1], bytes), "THREADS"),
        (
            of([2, 1, 2], [direct::THREADS, 1, 1], bytes - 1),
            "shared_bytes",
        ),
    ] {
        let mut small = good();
        small.shape = wrong;
        refused(start(small), rule);
    }
}
