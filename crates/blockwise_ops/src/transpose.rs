//! The transpose of a row-major matrix.

use blockwise::{Device, DeviceProperties, Stream, View, ViewMut};
use kernels::pack::{self, lanes};
use kernels::raw;
use kernels::transpose::aligned::{self, Tile};
use kernels::transpose::{naive, packs, padded, quads, thin, tiled};
use ndarray::{Array2, ArrayView2};

use crate::launch::{On, Ready, Routine, routine};
use crate::limits::{blocks_for, plan_2d};
use crate::named_enum;
use crate::tuning;
use crate::{
    Element, Execution, LaunchError, LaunchPlan, check_len, download_matrix, matrix_len, upload,
};

named_enum! {
    /// The kernels that transpose.
    pub enum TransposeKernel("transpose kernel") {
        /// Reads rows and writes columns.
        Naive = "naive",
        /// Turns tiles in shared memory, so that both sides are rows.
        Tiled = "tiled",
        /// The same with padded tiles, whose columns lie in different banks.
        Padded = "padded",
        /// The same in rust-cuda's form.
        PaddedRaw = "padded-raw",
        /// Larger tiles, of which each row of the output begins with a sector of memory, whatever
        /// the matrix's extents.
        Aligned = "aligned",
        /// Tiles with the whole short side, so that one side of the transpose is one run of memory.
        Thin = "thin",
        /// Every access 16 bytes: a thread turns 4 × 4 elements of four bytes, or 2 × 2 of eight.
        /// Matrices whose extents are no multiples of that go the way of `aligned`.
        Quads = "quads",
        /// Every global access 16 bytes, whatever the matrix's extents: `aligned` with rows that
        /// are read from a whole pack on.
        Packs = "packs",
    }
}

macro_rules! handle {
    (unsafe $handle:ty) => {
        routine!(unsafe $handle, |of| (of.input, of.output, of.rows, of.cols))
    };
    (plain $handle:ty) => {
        routine!($handle, |of| (of.input, of.output, of.rows, of.cols))
    };
    ($handle:ty) => {
        routine!($handle, |of| (
            (of.input, of.rows, of.cols),
            (of.output, of.rows, of.cols)
        ))
    };
}

macro_rules! words {
    ($($t:ident)*) => {$(
        impl Transposes for $t {
            fn transposes(kernel: TransposeKernel, tiles: Tiles) -> Routine<TransposeLaunch<Self>> {
                match kernel {
                    TransposeKernel::Naive => handle!(naive::transpose_naive<$t>),
                    TransposeKernel::Tiled => handle!(tiled::transpose_tiled<$t>),
                    TransposeKernel::Padded => handle!(padded::transpose_padded<$t>),
                    TransposeKernel::PaddedRaw => {
                        handle!(unsafe raw::transpose::transpose_padded_raw<$t>)
                    }
                    TransposeKernel::Aligned => match tiles.aligned {
                        Tile::Wide => handle!(plain aligned::transpose_aligned<$t>),
                        Tile::Narrow => handle!(plain aligned::transpose_aligned_narrow<$t>),
                    },
                    TransposeKernel::Thin => handle!(plain thin::transpose_thin<$t>),
                    TransposeKernel::Quads => match tiles.quads {
                        quads::Tile::Square => handle!(plain quads::transpose_quads<$t>),
                        quads::Tile::Short => handle!(plain quads::transpose_thin_quads<$t>),
                    },
                    TransposeKernel::Packs => handle!(plain packs::transpose_packs<$t>),
                }
            }
        }
    )*};
}
words!(u32 u64);

/// A word that the kernels transpose.
#[doc(hidden)]
pub trait Transposes: Element {
    /// The kernel's handle.
    fn transposes(kernel: TransposeKernel, tiles: Tiles) -> Routine<TransposeLaunch<Self>>;
}

/// The instances of the kernels that have several.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Tiles {
    aligned: Tile,
    quads: quads::Tile,
}

/// A matrix of words and its transpose.
#[doc(hidden)]
pub struct Transposed<'a, W: Element> {
    input: View<'a, W>,
    output: ViewMut<'a, W>,
    rows: usize,
    cols: usize,
}

type TransposeLaunch<W> = for<'a> fn(On<'a>, Transposed<'a, W>) -> Result<(), blockwise::Error>;

/// How to launch a transpose. The default chooses by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransposeOptions {
    /// The kernel. `None` takes the one that is fastest for the shape.
    pub kernel: Option<TransposeKernel>,
    /// Blocks along each of x and y, at most.
    pub grid_cap: Option<u32>,
    /// The instance of `aligned`. `None` takes [`Tile::Wide`].
    pub tile: Option<Tile>,
}

/// Bytes of a matrix up to which [`naive`] is the fastest: 10 × 25 takes it 3.3 µs, [`padded`] 3.5.
const NAIVE: usize = 4096;
/// Rows up to which it is, whatever the bytes, and up to which it is for so many bytes: 20 × 4470
/// of `f64` takes them 5.3 and 3.8 µs.
const NAIVE_ROWS: [usize; 2] = [8, 20];
const NAIVE_FEW: usize = 200_000;
/// Tiles of `padded` that start for nothing ([`idle_tiles`]) from which on [`quads`] is faster: it
/// starts 1 µs later.
const IDLE_QUADS: usize = 700;
/// Bytes for each multiprocessor from which on `quads` is faster than `padded` whatever the shape.
const QUADS_EACH: usize = 90_000;

/// The short side from which on [`packs`] has few tiles that are partly empty: 106,351 × 134 takes
/// it 49.5 µs and `padded` 45.7, 265 × 31,007 27.2 and `thin` 30.5.
const PACKS_SHORT: usize = 144;

/// Where one kernel's sizes end and the next one's begin, in bytes of the matrix for each
/// multiprocessor.
struct Bounds {
    /// Up to here `padded` and its small tiles fill the device best: 1000² of `f32` takes it 6.6 µs
    /// and `aligned` 15.4.
    padded: usize,
    /// The same where rows of the output begin at whole packs: then `padded` writes whole sectors.
    /// 38,844 × 526 takes it 53.7 µs and `thin` 55.4.
    padded_whole: usize,
    /// Up to here [`thin`] is faster than [`aligned`] whatever the shape: 4390 × 2420 takes it 30.6
    /// µs and `aligned` 35.4, 8000² 147 and 137.
    thin: usize,
    /// The longest short side of which `thin` is faster, whatever the bytes, unless the columns are
    /// one whole tile of `aligned`: 132 × 154,351 takes them 67 and 104 µs.
    thin_to: usize,
}

const WIDE: Bounds = Bounds {
    padded: 105_000,
    padded_whole: 160_000,
    thin: 460_000,
    thin_to: 256,
};
/// More rows than columns: `padded` writes whole lines of memory, and reads short rows.
const TALL: Bounds = Bounds {
    padded: 180_000,
    padded_whole: 650_000,
    thin: 400_000,
    thin_to: 512,
};

/// Tiles of `padded` beyond those that the matrix's bytes would fill. A block starts every 1.7 ns,
/// in which memory moves 32 rows of 128 bytes: the start of a block limits tiles with less.
fn idle_tiles(rows: usize, cols: usize, bytes: usize) -> usize {
    const TILE: usize = kernels::transpose::TILE as usize;
    let tiles = rows.div_ceil(TILE).saturating_mul(cols.div_ceil(TILE));
    tiles.saturating_sub(bytes / (128 * TILE))
}

/// The kernel that is fastest for a matrix, by three sweeps of 1,863 sizes on an H200
/// (docs/log/2026-11-23-transposes.md). `whole` says whether [`quads`] can move it.
fn fastest<T: Element>(
    rows: usize,
    cols: usize,
    whole: bool,
    properties: &DeviceProperties,
) -> TransposeKernel {
    let bytes = rows.saturating_mul(cols).saturating_mul(size_of::<T>());
    let each = bytes / properties.multiprocessors_to_fill() as usize;
    let idle = idle_tiles(rows, cols, bytes);
    // `thin` starts 3 µs later than `padded`, of `f64` 2. Every second row of `f64` begins at a
    // whole pack, so that `packs` gains less.
    let (idle_thin, packs) = match size_of::<T>() {
        4 => (2300, 220_000),
        _ => (1300, 300_000),
    };
    let bounds = if rows > cols { TALL } else { WIDE };
    // Of the output.
    let whole_rows = rows.is_multiple_of(lanes::<T>());
    let padded = match whole_rows {
        true => bounds.padded_whole,
        false => bounds.padded,
    };
    let one_tile = cols == Tile::Wide.cols::<T>() as usize;
    let naive =
        bytes <= NAIVE || rows <= NAIVE_ROWS[0] || rows <= NAIVE_ROWS[1] && bytes <= NAIVE_FEW;
    if whole && (idle > IDLE_QUADS || each > QUADS_EACH) {
        TransposeKernel::Quads
    } else if each > packs && rows.min(cols) > PACKS_SHORT && (rows <= cols || !whole_rows) {
        TransposeKernel::Packs
    } else if idle > idle_thin {
        TransposeKernel::Thin
    } else if each <= padded && naive {
        TransposeKernel::Naive
    } else if each <= padded {
        TransposeKernel::Padded
    } else if each <= bounds.thin || rows.min(cols) <= bounds.thin_to && !one_tile {
        TransposeKernel::Thin
    } else if one_tile {
        TransposeKernel::Aligned
    } else {
        TransposeKernel::Packs
    }
}

/// The parameters of a kernel, as its source declares them.
#[doc(hidden)]
pub fn signature<T: Element>(kernel: TransposeKernel) -> &'static str {
    let tiles = Tiles {
        aligned: Tile::Wide,
        quads: quads::Tile::Square,
    };
    T::Word::transposes(kernel, tiles).entry.signature
}

/// Plans the transpose of a matrix of `rows` × `cols` in whole buffers. `None` when it is empty, and
/// so nothing to launch.
///
/// # Errors
/// When a size overflows or a limit is broken.
pub fn plan<T: Element>(
    rows: usize,
    cols: usize,
    options: &TransposeOptions,
    properties: &DeviceProperties,
) -> Result<Option<LaunchPlan>, LaunchError> {
    let ready = prepare::<T>(rows, cols, true, options, properties)?;
    Ok((matrix_len(rows, cols)? > 0).then_some(ready.plan))
}

/// The plan, also of nothing. `aligned` says whether both matrices begin at whole packs.
fn prepare<T: Element>(
    rows: usize,
    cols: usize,
    aligned: bool,
    options: &TransposeOptions,
    properties: &DeviceProperties,
) -> Result<Ready<TransposeLaunch<T::Word>>, LaunchError> {
    use kernels::transpose::{ROWS, TILE};
    let tiles = Tiles {
        aligned: options.tile.unwrap_or(Tile::Wide),
        quads: quads::Tile::of(rows, cols),
    };
    let whole = aligned && [rows, cols].map(|extent| extent % lanes::<T::Word>()) == [0, 0];
    // Blocks for a matrix of these extents, in tiles of those.
    let blocks = |extents: [usize; 2], tile: [u32; 2]| {
        [0, 1].map(|axis| {
            let limit = properties.max_grid[axis];
            blocks_for(extents[axis], tile[axis], options.grid_cap, limit)
        })
    };
    let saved = || tuning::kernel(properties, "transpose", T::NAME, &[rows, cols]);
    let kernel = options.kernel.or_else(saved);
    let kernel = match kernel.unwrap_or_else(|| fastest::<T>(rows, cols, whole, properties)) {
        TransposeKernel::Quads if !whole => TransposeKernel::Aligned,
        kernel => kernel,
    };
    let (grid, block) = match kernel {
        TransposeKernel::Aligned => {
            let tile = tiles.aligned;
            let extents = [aligned::ROWS, tile.cols::<T>()];
            (blocks([rows, cols], extents), [tile.threads(), 1])
        }
        TransposeKernel::Quads => {
            let tile = tiles.quads.extents::<T>(rows, cols);
            (blocks([rows, cols], tile), [quads::THREADS, 1])
        }
        TransposeKernel::Packs => {
            let extents = [packs::reach(rows), cols];
            let tile = [packs::ROWS, packs::columns::<T>()];
            (blocks(extents, tile), [packs::THREADS, 1])
        }
        TransposeKernel::Thin => {
            let extents = [rows.max(cols), rows.min(cols)];
            let high = extents[1].min(thin::SHORT as usize) as u32;
            let tile = [thin::width::<T>(high), thin::SHORT];
            (blocks(extents, tile), [thin::THREADS, 1])
        }
        _ => (blocks([cols, rows], [TILE; 2]), [TILE, ROWS]),
    };
    let routine = T::Word::transposes(kernel, tiles);
    let plan = plan_2d(routine.entry.name, grid, block, properties)?;
    let launch = routine.launch;
    Ok(Ready { plan, launch })
}

/// Starts the transpose of `input`, `rows` × `cols` elements in row-major order, into `output`,
/// `cols` × `rows`. `None` when there was nothing to launch.
///
/// # Errors
/// Those of [`plan`], an operand of another length, and what goes wrong on the device.
pub fn enqueue<'a, T: Element>(
    device: &Device,
    stream: Option<&Stream>,
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, T>>,
    rows: usize,
    cols: usize,
    options: &TransposeOptions,
) -> Result<Option<LaunchPlan>, LaunchError> {
    let (input, output) = (input.into(), output.into());
    let aligned = [input.address(), output.address()]
        .iter()
        .all(|at| at.address.is_multiple_of(pack::BYTES as u64));
    let Ready { plan, launch } = prepare::<T>(rows, cols, aligned, options, device.properties())?;
    let len = matrix_len(rows, cols)?;
    check_len("input", input.len(), len)?;
    check_len("output", output.len(), len)?;
    if len == 0 {
        return Ok(None);
    }
    let words = Transposed {
        input: input.cast()?,
        output: output.cast()?,
        rows,
        cols,
    };
    launch(On::new(device, stream, &plan), words)?;
    Ok(Some(plan))
}

/// Transposes `input`, `rows` × `cols` elements in row-major order, into `output`, `cols` × `rows`,
/// and waits. `None` when there was nothing to launch.
///
/// # Errors
/// Those of [`enqueue`].
pub fn transpose_buffers<'a, T: Element>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, T>>,
    rows: usize,
    cols: usize,
    options: &TransposeOptions,
) -> Result<Option<Execution>, LaunchError> {
    Execution::of(device, || {
        enqueue(device, None, input, output, rows, cols, options)
    })
}

/// The transpose of a matrix.
///
/// # Errors
/// As for [`transpose_buffers`].
pub fn transpose<T: Element>(
    device: &Device,
    input: ArrayView2<'_, T>,
    options: &TransposeOptions,
) -> Result<Array2<T>, LaunchError> {
    let (rows, cols) = input.dim();
    // Checked before anything is copied.
    plan::<T>(rows, cols, options, device.properties())?;
    let input = upload(device, &input)?;
    let mut output = device.zeros(input.len())?;
    enqueue(device, None, &input, &mut output, rows, cols, options)?;
    download_matrix(&output, cols, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;

    fn planned<T: Element>(rows: usize, cols: usize) -> Option<LaunchPlan> {
        plan::<T>(rows, cols, &TransposeOptions::default(), &h200()).expect("within every limit")
    }

    #[test]
    fn the_grid_covers_the_input_and_the_kernel_goes_by_the_elements_width() {
        let padded = TransposeOptions {
            kernel: Some(TransposeKernel::Padded),
            ..TransposeOptions::default()
        };
        let plan = plan::<f64>(33, 65, &padded, &h200());
        let plan = plan.expect("within every limit").expect("a launch");
        assert_eq!(plan.kernel, "transpose_padded_u64");
        assert_eq!((plan.grid, plan.block), ([3, 2, 1], [32, 8, 1]));

        let aligned = TransposeOptions {
            kernel: Some(TransposeKernel::Aligned),
            ..TransposeOptions::default()
        };
        let plan = super::plan::<f32>(129, 128, &aligned, &h200());
        let plan = plan.expect("within every limit").expect("a launch");
        assert_eq!(plan.kernel, "transpose_aligned_u32");
        assert_eq!((plan.grid, plan.block), ([3, 1, 1], [512, 1, 1]));
        let thin = TransposeOptions {
            kernel: Some(TransposeKernel::Thin),
            ..TransposeOptions::default()
        };
        let plan = super::plan::<i64>(129, 65, &thin, &h200());
        let plan = plan.expect("within every limit").expect("a launch");
        assert_eq!(plan.kernel, "transpose_thin_u64");
        assert_eq!((plan.grid, plan.block), ([3, 1, 1], [256, 1, 1]));
        let quads = TransposeOptions {
            kernel: Some(TransposeKernel::Quads),
            ..TransposeOptions::default()
        };
        for (rows, cols, kernel, grid) in [
            (132, 260, "transpose_quads_u32", [3, 5, 1]),
            (100, 132, "transpose_thin_quads_u32", [1, 3, 1]),
            (132, 100, "transpose_thin_quads_u32", [3, 1, 1]),
            (132, 130, "transpose_aligned_u32", [3, 2, 1]),
        ] {
            let plan = super::plan::<f32>(rows, cols, &quads, &h200());
            let plan = plan.expect("within every limit").expect("a launch");
            assert_eq!((plan.kernel, plan.grid), (kernel, grid));
        }
        let narrow = TransposeOptions {
            kernel: Some(TransposeKernel::Aligned),
            tile: Some(Tile::Narrow),
            ..TransposeOptions::default()
        };
        let plan = super::plan::<f32>(129, 65, &narrow, &h200());
        let plan = plan.expect("within every limit").expect("a launch");
        assert_eq!(plan.kernel, "transpose_aligned_narrow_u32");
        assert_eq!((plan.grid, plan.block), ([3, 2, 1], [256, 1, 1]));
    }

    #[test]
    fn the_kernel_goes_by_the_shape() {
        for (rows, cols, kernel) in [
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
        let none = TransposeOptions {
            grid_cap: Some(0),
            ..TransposeOptions::default()
        };
        assert!(matches!(
            plan::<f32>(2, 2, &none, &h200()),
            Err(LaunchError::ZeroGrid { .. })
        ));
        let options = TransposeOptions::default();
        let error = plan::<f32>(1 << 33, 1 << 33, &options, &h200()).expect_err("2⁶⁶ elements");
        assert!(matches!(error, LaunchError::SizeOverflow { .. }));
    }
}
