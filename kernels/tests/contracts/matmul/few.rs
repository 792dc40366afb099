//! Products with few rows or few columns.

use cuda_std::launch::Shape;
use kernels::matmul::few_cols::{self, matmul_few_cols, matmul_one_col};
use kernels::matmul::few_rows::{self, matmul_few_rows};
use kernels::matmul::narrow::{self, matmul_narrow_f32};
use kernels::matmul::slices::MOST_SLICES;
use kernels::matmul::thin::matmul_thin;

use super::super::support::Buffer;
use super::super::{Device, Error, behind, memory, refused, shape, starts};

/// A product with few rows or columns: 2 × 6 and 6 × 8, 5 × 6 and 6 × 8, 5 × 6 and 6 × 2, or 65 × 6
/// and 6 × 5, in two slices.
struct Few<T = f32> {
    a: Buffer<T>,
    b: Buffer<T>,
    c: Buffer<T>,
    sums: Buffer<T>,
    tickets: Buffer<u32>,
    extents: [usize; 3],
    slices: usize,
    /// Matrices of A, and of B and C.
    batch: [usize; 2],
    /// What the kernel calls `across`, `team` or `wide`.
    number: usize,
    packs: usize,
    shape: Shape,
}

impl<T> Few<T> {
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
    ($handle:ty $(, $number:ident)*) => {
        |mut of: Few<_>| -> Result<(), Error> {
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
                $(of.$number,)*
            )
        }
    };
}

#[test]
fn few_rows_or_columns_have_memory_for_their_slices() {
    let thin = || Few::of([2, 6, 8], 16, 1, shape([1, 1, 2], [64, 1, 1]));
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
    let in_runs = |bytes: usize| shape([2, 1, 2], [narrow::THREADS, 1, 1]).shared(bytes as u32);
    let runs = || Few::of([65, 6, 5], 8, 2, in_runs(narrow::shared_bytes(8)));
    let one = || Few::of([9, 8, 1], 32, 2, cols().shape).with(|of| of.packs = 1);
    let (by_thin, by_rows, by_cols, by_one, by_runs) = (
        few!(matmul_thin<f32>, number, packs),
        few!(matmul_few_rows<f32>, packs),
        few!(matmul_few_cols<f32>, number, packs),
        few!(matmul_one_col<f32>, number, packs),
        few!(matmul_narrow_f32, number),
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
        // C has an element: else B has none, or there are no sums, or extents are of any size.
        let without = |extent: usize, rest: [usize; 3]| {
            let mut of = good();
            of.extents[extent] = 0;
            let [rows, inner, cols] = of.extents;
            (of.a, of.b) = (memory((rows * inner) as u64), memory((inner * cols) as u64));
            (of.c, of.sums) = (memory(0), memory(0));
            refused(start(of), "!c.is_empty()");
            let mut far = good().with(|of| (of.slices, of.tickets) = (1, memory(0)));
            (far.a, far.b, far.c, far.sums) = (memory(0), memory(0), memory(0), memory(0));
            far.extents = rest;
            refused(start(far), "!c.is_empty()");
        };
        without(0, [0, 0, usize::MAX]);
        without(2, [usize::MAX, 0, 0]);
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
    each(&one, &by_one);
    each(&runs, &by_runs);
    for wide in [0, 4, 24, 32] {
        let mut of = runs();
        of.number = wide;
        refused(by_runs(of), "wide");
    }
    refused(by_runs(runs().with(|of| of.number = 16)), "shared_bytes");
    let wide = || Few::of([65, 6, 9], 16, 2, in_runs(narrow::shared_bytes(16)));
    starts(by_runs(wide()));
    refused(by_runs(wide().with(|of| of.number = 8)), "cols <= wide");
    refused(
        by_runs(Few::of([65, 6, 17], 16, 2, wide().shape)),
        "cols <= wide",
    );
    let little = in_runs(narrow::shared_bytes(8) - 1);
    refused(
        by_runs(Few {
            shape: little,
            ..runs()
        }),
        "shared_bytes",
    );
    refused(by_runs(runs().with(|of| of.shape.block.x = 64)), "block.x");
    let five = Few::of([5, 6, 8], 16, 1, thin().shape);
    refused(by_thin(five), "rows <= MOST_ROWS");
    for (number, packs) in [(12, 0), (0, 0), (4, 0), (128, 0), (256, 1), (2, 1)] {
        let mut of = thin();
        (of.number, of.packs) = (number, packs);
        refused(by_thin(of), "across");
    }
    // One pack of two, unless B is aligned.
    let narrow = || Few::of([2, 6, 8], 8, 2, thin().shape);
    starts(by_thin(narrow()));
    refused(by_thin(narrow().with(|of| of.tickets = memory(1))), "fit");
    starts(by_thin(
        narrow().with(|of| (of.tickets, of.packs) = (memory(1), 1)),
    ));
    let packed = || thin().with(|of| of.packs = 1);
    starts(by_thin(packed()));
    refused(by_thin(packed().with(|of| of.packs = 2)), "packs <= 1");
    refused(
        by_thin(packed().with(|of| of.b = behind(48))),
        "b.is_aligned",
    );
    let odd = Few::of([2, 6, 7], 16, 1, thin().shape).with(|of| of.packs = 1);
    refused(by_thin(odd), "cols.is_multiple_of");
    for (block, rule) in [
        ([48, 1, 1], "block.x"),
        ([96, 1, 1], "block.x"),
        ([16, 1, 1], "block.x"),
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
    refused(by_cols(cols().with(|of| of.shape.block.x = 64)), "block.x");
}

#[test]
fn one_column_is_read_in_packs_where_there_are_some() {
    let by_element = few!(matmul_one_col<f32>, number, packs);
    let by_doubles = few!(matmul_one_col<f64>, number, packs);
    let of_doubles = few!(matmul_few_cols<f64>, number, packs);
    let of_few = few!(matmul_few_cols<f32>, number, packs);
    fn one<T>(extents: [usize; 3], packs: usize) -> Few<T> {
        let shape = shape([2, 1, 2], [few_cols::THREADS, 1, 1]);
        let mut one = Few::of(extents, 32, 2, shape);
        one.packs = packs;
        one
    }
    let packed = [9, 8, 1];
    starts(by_element(one(packed, 0)));
    starts(by_element(one(packed, 1)));
    starts(by_doubles(one(packed, 0)));
    starts(of_doubles(one(packed, 1)));
    refused(by_doubles(one(packed, 1)), "size_of");
    refused(of_few(one(packed, 1)), "size_of");
    refused(of_few(one(packed, 0)), "cols >= 2");
    refused(of_doubles(one(packed, 0)), "cols >= 2");
    for packs in [0, 1] {
        refused(by_element(one([9, 8, 2], packs)), "cols == 1");
    }
    macro_rules! refuses {
        ($launch:ident) => {
            refused(
                $launch(one(packed, 1).with(|of| of.packs = 2)),
                "packs <= 1",
            );
            refused(
                $launch(one(packed, 1).with(|of| of.a = behind(72))),
                "a.is_aligned",
            );
            refused(
                $launch(one(packed, 1).with(|of| of.b = behind(8))),
                "b.is_aligned",
            );
            refused($launch(one([9, 7, 1], 1)), "is_multiple_of");
        };
    }
    refuses!(by_element);
    refuses!(of_doubles);
    refused(
        by_element(one(packed, 1).with(|of| of.number = 2)),
        "divides",
    );
    refused(
        by_element(one(packed, 1).with(|of| of.shape.block.x = 64)),
        "block.x",
    );
    refused(of_doubles(one([9, 8, 2], 1)), "cols == 1");
}
