//! Batches of small products, several to a block.

use cuda_std::launch::Shape;
use kernels::matmul::small::{self, matmul_small};

use super::super::support::Buffer;
use super::super::{Device, behind, memory, refused, shape, starts};

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
    // Without columns B has no element to read, and without both no number of products is too large.
    let start_of = |a: u64, c: u64, extents: [usize; 3], batch: usize, each: usize| {
        let [rows, inner, cols] = extents;
        let kernel = matmul_small::<f32>::on(&Device::default())?;
        let kernel = kernel.shape(of([2, 1, 1], [small::THREADS, 1, 1], bytes));
        let (a, b, mut c) = (memory(a), memory(0), memory(c));
        kernel.launch(
            &a, &b, &mut c, rows, inner, cols, batch, batch, rows, each, 1,
        )
    };
    refused(start_of(20, 0, [5, 4, 0], 1, 1), "!c.is_empty()");
    refused(start_of(0, 0, [0; 3], usize::MAX, 1), "!c.is_empty()");
    // Outputs that 32 bits count, with a block's threads beyond them.
    let most = small::MOST;
    let outputs = most as u64 + 1;
    starts(start_of(0, outputs, [1, 0, 4], most.div_ceil(4), most / 4));
    let more = most / 4 + 1;
    refused(start_of(0, outputs, [1, 0, 4], more, more), "MOST");
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
