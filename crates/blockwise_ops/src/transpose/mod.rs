//! The transpose of a row-major matrix.

mod choice;

use blockwise::{AnyView, Device, Matrix, Stream, Type, ViewMut};
use kernels::raw::transpose::transpose_padded_raw;
use kernels::transpose::aligned::{self, TILE as WIDE, Tile, transpose_aligned};
use kernels::transpose::naive::transpose_naive;
use kernels::transpose::packs::{self, transpose_packs};
use kernels::transpose::padded::transpose_padded;
use kernels::transpose::quads::{self, transpose_quads, transpose_thin_quads};
use kernels::transpose::thin::{self, transpose_thin};
use kernels::transpose::tiled::transpose_tiled;
use kernels::transpose::{ROWS, TILE};
use ndarray::{Array2, ArrayView2};

use crate::operation::{
    self, Asked, Bench, Case, Expected, Given, Kernel, Lens, Numbers, Operand, Operation, Options,
    Parts, Plan, Posed, Problem, Rank, Size, Task, Tier, Variant, Work, raw_words, words,
};
use crate::{Element, Execution, LaunchError, dimensions, matrix_len};

/// Transpose. The extents of a problem: the matrix's rows and columns.
pub static TRANSPOSE: Operation = Operation {
    name: "transpose",
    about: "Transpose a matrix",
    example: "a.npy -o transposed.npy",
    operands: &[Operand {
        name: "input",
        about: "The matrix (.npy or .csv)",
        rank: Rank::Matrix,
    }],
    settings: &[],
    result: "the transposed matrix",
    types: |types, _| types[0],
    widens: "",
    gives: |ty| ty,
    sizes: &[
        Size {
            name: "rows",
            about: "",
            profile: 512,
        },
        Size {
            name: "cols",
            about: "",
            profile: 512,
        },
    ],
    shapes: |sizes| vec![sizes.to_vec()],
    pose,
    lens: |problem| Lens {
        inputs: [problem.product(), 0],
        output: problem.product(),
    },
    work: |problem| Work {
        bytes: problem.bytes(problem.product()).saturating_mul(2),
        operations: 0,
    },
    reference,
    variants: &[
        &NAIVE,
        &TILED,
        &PADDED,
        &PADDED_RAW,
        &ALIGNED,
        &THIN,
        &QUADS,
        &PACKS,
    ],
    choice: choice::fastest,
    parts: Parts::Tiles,
    bench: Bench {
        types: &[
            (
                Type::F32,
                &[
                    &[16_384, 16_384],
                    &[16_381, 16_411],
                    &[1000, 1000],
                    &[100, 1_000_000],
                    &[1_000_000, 100],
                ],
            ),
            (
                Type::F64,
                &[&[8192, 8192], &[8191, 8209], &[100, 1_000_000]],
            ),
        ],
        quick: &[4096, 4096],
        drawn: &[20_000; 2],
        batch: None,
        numbers: Numbers::Uniform,
        every: &[],
    },
    cases: CASES,
    edges: EDGES,
};

fn pose(ty: Type, shapes: &[&[usize]], _: &Given) -> Result<Posed, LaunchError> {
    let &[rows, cols] = shapes[0] else {
        return Err(LaunchError::Rank {
            what: "the input",
            shape: shapes[0].to_vec(),
            wanted: "a matrix",
        });
    };
    matrix_len(rows, cols)?;
    Ok(Posed {
        problem: Problem::new(ty, &[rows, cols]),
        result: vec![cols, rows],
    })
}

fn reference(asked: Asked<'_>) -> Result<Expected, LaunchError> {
    let [rows, cols, ..] = asked.problem.extents;
    Expected::moved(&asked.inputs[0], asked.runs, |at| {
        at % rows * cols + at / rows
    })
}

/// Kernels that take matrices, one for each width of word.
macro_rules! matrices {
    ($handle:ident, $words:tt) => {
        words!($words, [0, 0], $handle, |of, T| (
            (
                of.inputs[0].plain::<T>()?,
                of.problem.extents[0],
                of.problem.extents[1]
            ),
            (
                of.output.plain::<T>()?,
                of.problem.extents[0],
                of.problem.extents[1]
            )
        ))
    };
}

/// Kernels that take slices and the extents.
macro_rules! slices {
    ($handle:ident, $words:tt) => {
        words!($words, [0, 0], $handle, |of, T| (
            of.inputs[0].plain::<T>()?,
            of.output.plain::<T>()?,
            of.problem.extents[0],
            of.problem.extents[1]
        ))
    };
}

/// Reads rows and writes columns.
pub static NAIVE: Variant = Variant::new(
    "naive",
    "reads rows and writes columns",
    matrices!(transpose_naive, [u32 u64]),
    by_tile,
);

/// Transposes tiles in shared memory, so that both loads and stores are along rows.
pub static TILED: Variant = Variant::new(
    "tiled",
    "turns tiles in shared memory, so that both sides are rows",
    matrices!(transpose_tiled, [u32 u64]),
    by_tile,
)
.tier(Tier::Document);

/// The same with padded tiles, so that the slots of a column are in different banks.
pub static PADDED: Variant = Variant::new(
    "padded",
    "the same with padded tiles, whose columns lie in different banks",
    matrices!(transpose_padded, [u8 u16 u32 u64]),
    by_tile,
);

/// The same in rust-cuda's form.
pub static PADDED_RAW: Variant = Variant::new(
    "padded-raw",
    "the same in rust-cuda's form",
    raw_words!([u32], [0, 0], transpose_padded_raw, |of, T| (
        of.inputs[0].plain::<T>()?,
        of.output.plain::<T>()?,
        of.problem.extents[0],
        of.problem.extents[1]
    )),
    by_tile,
)
.tier(Tier::Document);

/// Larger tiles, whose output rows begin at memory sectors, whatever the matrix's extents.
pub static ALIGNED: Variant = Variant::new(
    "aligned",
    "larger tiles, whose rows of the output begin with a sector of memory",
    slices!(transpose_aligned, [u32 u64]),
    |task| aligned_plan(task, WIDE),
)
.tuned(caps);

/// Tiles that span the whole short side, so that on one side of the transpose a tile is contiguous.
pub static THIN: Variant = Variant::new(
    "thin",
    "tiles with the whole short side",
    slices!(transpose_thin, [u32 u64]),
    thin_plan,
);

/// Every access moves 16 bytes: a thread transposes 4 × 4 elements of four bytes, or 2 × 2 of
/// eight. Matrices whose extents are not multiples of that are transposed as by [`ALIGNED`].
pub static QUADS: Variant = Variant::new(
    "quads",
    "every access 16 bytes: a thread turns 4 x 4 elements of four bytes, or 2 x 2 of eight",
    QUADS_KERNELS,
    quads_plan,
);

/// Every global access moves 16 bytes, whatever the matrix's extents: [`ALIGNED`] with reads that
/// start at whole packs.
pub static PACKS: Variant = Variant::new(
    "packs",
    "every global access 16 bytes, whatever the matrix's extents",
    slices!(transpose_packs, [u32 u64]),
    packs_plan,
);

/// Instances by [`quads::Tile`].
static QUADS_KERNELS: &[Kernel] = &{
    macro_rules! quads {
        ($handle:ident, $instance:expr, $T:ident) => {
            operation::kernel!(
                operation::Takes::Width(size_of::<$T>()),
                [0, $instance],
                $handle<$T>,
                |of| (
                    of.inputs[0].plain::<$T>()?,
                    of.output.plain::<$T>()?,
                    of.problem.extents[0],
                    of.problem.extents[1]
                )
            )
        };
    }
    [
        quads!(transpose_quads, 0, u32),
        quads!(transpose_quads, 0, u64),
        quads!(transpose_thin_quads, 1, u32),
        quads!(transpose_thin_quads, 1, u64),
    ]
};

/// `$function::<word>()` for elements of that many bytes.
macro_rules! by_width {
    ($task:expr, $T:ident => $value:expr) => {
        match $task.problem.ty.bytes() {
            8 => {
                type $T = u64;
                $value
            }
            _ => {
                type $T = u32;
                $value
            }
        }
    };
}

fn by_tile(task: &Task<'_>) -> Result<Plan, LaunchError> {
    let [rows, cols, ..] = task.problem.extents;
    task.plan_2d([0, 0], [cols, rows], [TILE; 2], [TILE, ROWS])
}

/// Plans a launch of [`ALIGNED`]'s form with tiles of any size.
///
/// # Errors
/// Those of [`Task::plan_2d`].
pub fn aligned_plan(task: &Task<'_>, tile: Tile) -> Result<Plan, LaunchError> {
    let [rows, cols, ..] = task.problem.extents;
    let extents = [aligned::ROWS, by_width!(task, T => tile.cols::<T>())];
    task.plan_2d([0, 0], [rows, cols], extents, [tile.threads, 1])
}

/// Blocks for each multiprocessor that copy: as many as are resident.
const COPYING: usize = 5;

fn thin_plan(task: &Task<'_>) -> Result<Plan, LaunchError> {
    let [rows, cols, ..] = task.problem.extents;
    let extents = [rows.max(cols), rows.min(cols)];
    if extents[1] == 1 {
        // A copy: an element for each thread, and several where they would not be resident.
        let most = COPYING * task.device.multiprocessors_to_fill() as usize;
        let each = extents[0].div_ceil(most * thin::THREADS as usize);
        let tile = u32::try_from(each).map_or(u32::MAX, |each| each.saturating_mul(thin::THREADS));
        return task.plan_2d([0, 0], extents, [tile, 1], [thin::THREADS, 1]);
    }
    let high = extents[1].min(thin::SHORT as usize) as u32;
    let tile = [by_width!(task, T => thin::width::<T>(high)), thin::SHORT];
    task.plan_2d([0, 0], extents, tile, [thin::THREADS, 1])
}

fn quads_plan(task: &Task<'_>) -> Result<Plan, LaunchError> {
    let [rows, cols, ..] = task.problem.extents;
    if !task.in_packs(&[rows, cols]) {
        // A width without a kernel of quads is refused by that name.
        task.kernel([0, 0])?;
        return aligned_plan(&task.of(&ALIGNED), WIDE);
    }
    let tile = quads::Tile::of(rows, cols);
    let instance = match tile {
        quads::Tile::Square => 0,
        quads::Tile::Short => 1,
    };
    let extents = by_width!(task, T => tile.extents::<T>(rows, cols));
    task.plan_2d([0, instance], [rows, cols], extents, [quads::THREADS, 1])
}

fn packs_plan(task: &Task<'_>) -> Result<Plan, LaunchError> {
    let [rows, cols, ..] = task.problem.extents;
    let tile = [packs::ROWS, by_width!(task, T => packs::columns::<T>())];
    task.plan_2d(
        [0, 0],
        [packs::reach(rows), cols],
        tile,
        [packs::THREADS, 1],
    )
}

/// Limits on the grid for the search to try: fewer blocks, which stride over the tiles.
pub fn caps(task: &Task<'_>) -> Vec<(Options, String)> {
    let caps = [16, 32, 64].map(|cap| {
        let options = Options {
            grid_cap: Some(cap),
            ..Options::of(task.variant)
        };
        (options, format!("at most {cap} x {cap} blocks"))
    });
    caps.into()
}

/// Cases for each kernel's tiles: partial and whole tiles, short sides, a grid that strides.
static CASES: &[Case] = &[
    Case::of(&[40, 70]).capped(1),
    Case::of(&[33, 65]),
    Case::of(&[1, 1]),
    // Whole tiles only.
    Case::of(&[64, 32]).spare(),
    Case::of(&[203, 141]).by(&["aligned"]),
    Case::of(&[144, 270]).by(&["aligned"]).capped(1),
    Case::of(&[128, 128]).by(&["aligned"]).spare(),
    Case::of(&[37, 150]).by(&["thin"]),
    Case::of(&[150, 37]).by(&["thin"]).capped(1),
    Case::of(&[131, 140]).by(&["thin"]).capped(1),
    // Whole tiles only, and tiles with 1 to 5 elements for a thread.
    Case::of(&[128, 192]).by(&["thin"]).capped(1),
    Case::of(&[100, 3]).by(&["thin"]),
    Case::of(&[130, 7]).by(&["thin"]),
    Case::of(&[130, 9]).by(&["thin"]),
    // Tiles of fewer elements than threads.
    Case::of(&[2, 3]).by(&["thin"]),
    Case::of(&[3, 2]).by(&["thin"]),
    // Copies: of less than a block, and of several rounds, after which a thread is at the end.
    Case::of(&[1, 77]).by(&["thin"]).spare(),
    Case::of(&[1100, 1]).by(&["thin"]).capped(1),
    Case::of(&[136, 140]).by(&["quads"]).capped(1),
    Case::of(&[76, 268]).by(&["quads"]).capped(1),
    Case::of(&[268, 76]).by(&["quads"]).capped(1),
    Case::of(&[4, 60]).by(&["quads"]),
    Case::of(&[20, 32]).by(&["quads"]),
    Case::of(&[60, 12]).by(&["quads"]),
    // Blocks beyond the edge tiles.
    Case::of(&[132, 196]).by(&["quads"]).spare(),
    Case::of(&[139, 381]).by(&["packs"]),
    Case::of(&[201, 131]).by(&["packs"]).capped(1),
];

/// Tiles of every kernel, ± 1; primes; short sides.
static EDGES: &[&[usize]] = &[
    &[0, 5],
    &[1, 1],
    &[1, 97],
    &[31, 31],
    &[32, 32],
    &[33, 33],
    &[97, 1],
    &[13, 71],
    &[63, 127],
    &[64, 64],
    &[65, 129],
    &[137, 128],
    &[127, 300],
    &[300, 128],
    &[3, 1000],
    &[1000, 4],
    &[124, 132],
    &[136, 140],
    &[128, 248],
    &[200, 259],
];

/// Starts the transpose of a row-major matrix into `output`, a matrix with as many rows as that one
/// has columns. `None` when there was nothing to launch.
///
/// # Errors
/// Those of [`operation::plan`], an operand of another length, and what goes wrong on the device.
pub fn enqueue<'a, T: Element>(
    device: &Device,
    stream: Option<&Stream>,
    input: Matrix<'a, T>,
    output: impl Into<ViewMut<'a, T>>,
    options: &Options,
) -> Result<Option<Plan>, LaunchError> {
    let Matrix { view, rows, cols } = input;
    matrix_len(rows, cols)?;
    operation::enqueue(
        device,
        stream,
        &TRANSPOSE,
        &Problem::new(T::TYPE, &[rows, cols]),
        options,
        &[AnyView::from(view)],
        output.into().into(),
    )
}

/// Transposes as [`enqueue`] does, and waits. `None` when there was nothing to launch.
///
/// # Errors
/// Those of [`enqueue`].
pub fn transpose_buffers<'a, T: Element>(
    device: &Device,
    input: Matrix<'a, T>,
    output: impl Into<ViewMut<'a, T>>,
    options: &Options,
) -> Result<Option<Execution>, LaunchError> {
    Execution::of(device, || {
        let plan = enqueue(device, None, input, output, options)?;
        Ok(plan.map(|plan| plan.launch))
    })
}

/// The transpose of a matrix.
///
/// # Errors
/// As for [`transpose_buffers`].
pub fn transpose<T: Element>(
    device: &Device,
    input: ArrayView2<'_, T>,
    options: &Options,
) -> Result<Array2<T>, LaunchError> {
    let input = [input.into_dyn()];
    let given = Given::default();
    dimensions(operation::array(
        device, &TRANSPOSE, &given, options, &input,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LaunchPlan;
    use crate::limits::h200;
    use blockwise::DeviceProperties;

    fn launch<T: Element>(
        rows: usize,
        cols: usize,
        options: &Options,
        properties: &DeviceProperties,
    ) -> Result<Option<LaunchPlan>, LaunchError> {
        let problem = Problem::new(T::TYPE, &[rows, cols]);
        let plan = operation::plan(&TRANSPOSE, &problem, options, properties)?;
        Ok(plan.map(|plan| plan.launch))
    }

    fn planned<T: Element>(rows: usize, cols: usize) -> Option<LaunchPlan> {
        launch::<T>(rows, cols, &Options::default(), &h200()).expect("within every limit")
    }

    #[test]
    fn the_grid_covers_the_input_and_the_kernel_goes_by_the_elements_width() {
        let plan = launch::<f64>(33, 65, &Options::of(&PADDED), &h200());
        let plan = plan.expect("within every limit").expect("a launch");
        assert_eq!(plan.kernel, "transpose_padded_u64");
        assert_eq!((plan.grid, plan.block), ([3, 2, 1], [32, 8, 1]));

        let plan = launch::<f32>(129, 128, &Options::of(&ALIGNED), &h200());
        let plan = plan.expect("within every limit").expect("a launch");
        assert_eq!(plan.kernel, "transpose_aligned_u32");
        assert_eq!((plan.grid, plan.block), ([3, 1, 1], [512, 1, 1]));
        let plan = launch::<i64>(129, 65, &Options::of(&THIN), &h200());
        let plan = plan.expect("within every limit").expect("a launch");
        assert_eq!(plan.kernel, "transpose_thin_u64");
        assert_eq!((plan.grid, plan.block), ([3, 1, 1], [256, 1, 1]));
        // An element for each thread of a copy, or several.
        for (len, blocks) in [(1, 1), (257, 2), (20_000, 79), (300_000, 586)] {
            let plan = launch::<f32>(len, 1, &Options::of(&THIN), &h200());
            let plan = plan.expect("within every limit").expect("a launch");
            assert_eq!((plan.grid, plan.block), ([blocks, 1, 1], [256, 1, 1]));
        }
        for (rows, cols, kernel, grid) in [
            (132, 260, "transpose_quads_u32", [3, 5, 1]),
            (100, 132, "transpose_thin_quads_u32", [1, 3, 1]),
            (132, 100, "transpose_thin_quads_u32", [3, 1, 1]),
            (132, 130, "transpose_aligned_u32", [3, 2, 1]),
        ] {
            let plan = launch::<f32>(rows, cols, &Options::of(&QUADS), &h200());
            let plan = plan.expect("within every limit").expect("a launch");
            assert_eq!((plan.kernel, plan.grid), (kernel, grid));
        }
    }

    #[test]
    fn the_kernel_goes_by_the_shape() {
        for (rows, cols, kernel) in [
            (1, 1, "transpose_thin_u32"),
            (1, 20_000, "transpose_thin_u32"),
            (1_000_000, 1, "transpose_thin_u32"),
            (1000, 1000, "transpose_padded_u32"),
            (10, 4034, "transpose_naive_u32"),
            (10, 25, "transpose_naive_u32"),
            (9, 10_335, "transpose_padded_u32"),
            (3, 255_531, "transpose_thin_u32"),
            (12, 63_364, "transpose_thin_quads_u32"),
            (5207, 775, "transpose_padded_u32"),
            (775, 4207, "transpose_padded_u32"),
            (776, 9207, "transpose_thin_u32"),
            (95_424, 209, "transpose_padded_u32"),
            (95_425, 209, "transpose_packs_u32"),
            (132, 154_351, "transpose_thin_u32"),
            (3631, 1921, "transpose_thin_u32"),
            (4391, 2420, "transpose_packs_u32"),
            (4000, 4000, "transpose_quads_u32"),
            (1021, 16_001, "transpose_packs_u32"),
            (101, 1_000_000, "transpose_thin_u32"),
            (100, 1_000_000, "transpose_thin_quads_u32"),
            (1_000_000, 100, "transpose_thin_quads_u32"),
            (1_000_001, 128, "transpose_aligned_u32"),
            (8192, 8192, "transpose_quads_u32"),
            (16_384, 16_384, "transpose_quads_u32"),
            (16_381, 16_411, "transpose_packs_u32"),
        ] {
            let plan = planned::<f32>(rows, cols).expect("a launch");
            assert_eq!(plan.kernel, kernel, "{rows} x {cols}");
        }
    }

    #[test]
    fn an_empty_matrix_is_no_launch() {
        assert_eq!(planned::<f32>(0, 5), None);
        assert_eq!(planned::<f32>(5, 0), None);
    }

    #[test]
    fn an_empty_grid_and_a_size_too_large_to_count_are_refused() {
        let none = Options {
            grid_cap: Some(0),
            ..Options::default()
        };
        assert!(matches!(
            launch::<f32>(2, 2, &none, &h200()),
            Err(LaunchError::ZeroGrid { .. })
        ));
        let options = Options::default();
        let device = Device::emulator();
        let all = device.zeros::<f32>(4).expect("memory");
        let mut output = device.zeros::<f32>(4).expect("memory");
        let matrix = Matrix::new(&all, 1 << 33, 1 << 33);
        let error = enqueue(&device, None, matrix, &mut output, &options);
        let error = error.expect_err("2⁶⁶ elements");
        assert!(matches!(error, LaunchError::SizeOverflow { .. }));
    }
}
