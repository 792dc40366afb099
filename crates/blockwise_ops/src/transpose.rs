//! The transpose of a row-major matrix.

use blockwise::{Device, DeviceProperties, Stream, View, ViewMut};
use kernels::raw;
use kernels::transpose::aligned::{self, Tile};
use kernels::transpose::{naive, padded, thin, tiled};
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
            fn transposes(kernel: TransposeKernel, tile: Tile) -> Routine<TransposeLaunch<Self>> {
                match (kernel, tile) {
                    (TransposeKernel::Naive, _) => handle!(naive::transpose_naive<$t>),
                    (TransposeKernel::Tiled, _) => handle!(tiled::transpose_tiled<$t>),
                    (TransposeKernel::Padded, _) => handle!(padded::transpose_padded<$t>),
                    (TransposeKernel::PaddedRaw, _) => {
                        handle!(unsafe raw::transpose::transpose_padded_raw<$t>)
                    }
                    (TransposeKernel::Thin, _) => handle!(plain thin::transpose_thin<$t>),
                    (TransposeKernel::Aligned, Tile::Wide) => {
                        handle!(plain aligned::transpose_aligned<$t>)
                    }
                    (TransposeKernel::Aligned, Tile::Narrow) => {
                        handle!(plain aligned::transpose_aligned_narrow<$t>)
                    }
                }
            }
        }
    )*};
}
words!(u32 u64);

/// A word that the kernels transpose.
#[doc(hidden)]
pub trait Transposes: Element {
    /// The kernel's handle. Only `aligned` has tiles.
    fn transposes(kernel: TransposeKernel, tile: Tile) -> Routine<TransposeLaunch<Self>>;
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

/// The longest short side of which [`thin`] is the fastest, unless the columns are one whole tile
/// of [`aligned`].
const THIN_TO: usize = thin::SHORT as usize;
/// Bytes of the matrix for each multiprocessor up to which [`padded`](kernels::transpose::padded)
/// and its small tiles fill the device best: 1000² of `f32` takes it 7.5 µs and `aligned` 15.4.
const PADDED_EACH: usize = 120_000;
/// Bytes for each multiprocessor up to which `thin` is faster than `aligned` whatever the shape:
/// 4390 × 2420 takes it 30.6 µs and `aligned` 35.4, 8000² 147 and 137.
const THIN_EACH: usize = 508_000;
/// The longest short side, and the long one from which on, `thin` is faster than `padded`, whose
/// tiles are nearly empty: 2 × 255,531 takes them 7.0 and 18.0 µs.
const FLAT: usize = 16;
const FLAT_FROM: usize = 60_000;

/// The kernel that is fastest for a matrix, by a sweep of 457 sizes on an H200
/// (docs/log/2026-11-23-choices.md).
fn fastest<T: Element>(rows: usize, cols: usize, properties: &DeviceProperties) -> TransposeKernel {
    let (short, long) = (rows.min(cols), rows.max(cols));
    let bytes = rows.saturating_mul(cols).saturating_mul(size_of::<T>());
    let each = bytes / properties.multiprocessors_to_fill() as usize;
    let one_tile = cols == Tile::Wide.cols::<T>() as usize;
    if each <= PADDED_EACH {
        match short <= FLAT && long > FLAT_FROM {
            true => TransposeKernel::Thin,
            false => TransposeKernel::Padded,
        }
    } else if each <= THIN_EACH || short <= THIN_TO && !one_tile {
        TransposeKernel::Thin
    } else {
        TransposeKernel::Aligned
    }
}

/// Plans the transpose of a matrix of `rows` × `cols`. `None` when it is empty, and so nothing to
/// launch.
///
/// # Errors
/// When a size overflows or a limit is broken.
pub fn plan<T: Element>(
    rows: usize,
    cols: usize,
    options: &TransposeOptions,
    properties: &DeviceProperties,
) -> Result<Option<LaunchPlan>, LaunchError> {
    let ready = prepare::<T>(rows, cols, options, properties)?;
    Ok((matrix_len(rows, cols)? > 0).then_some(ready.plan))
}

/// The plan, also of nothing.
fn prepare<T: Element>(
    rows: usize,
    cols: usize,
    options: &TransposeOptions,
    properties: &DeviceProperties,
) -> Result<Ready<TransposeLaunch<T::Word>>, LaunchError> {
    use kernels::transpose::{ROWS, TILE};
    let tile = options.tile.unwrap_or(Tile::Wide);
    // Blocks for a matrix of these extents, in tiles of those.
    let blocks = |extents: [usize; 2], tile: [u32; 2]| {
        [0, 1].map(|axis| {
            let limit = properties.max_grid[axis];
            blocks_for(extents[axis], tile[axis], options.grid_cap, limit)
        })
    };
    let saved = || tuning::kernel(properties, "transpose", T::NAME, &[rows, cols]);
    let kernel = options.kernel.or_else(saved);
    let kernel = kernel.unwrap_or_else(|| fastest::<T>(rows, cols, properties));
    let (grid, block) = match kernel {
        TransposeKernel::Aligned => {
            let extents = [aligned::ROWS, tile.cols::<T>()];
            (blocks([rows, cols], extents), [tile.threads(), 1])
        }
        TransposeKernel::Thin => {
            let extents = [rows.max(cols), rows.min(cols)];
            let high = extents[1].min(thin::SHORT as usize) as u32;
            let tile = [thin::width::<T>(high), thin::SHORT];
            (blocks(extents, tile), [thin::THREADS, 1])
        }
        _ => (blocks([cols, rows], [TILE; 2]), [TILE, ROWS]),
    };
    let routine = T::Word::transposes(kernel, tile);
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
    let Ready { plan, launch } = prepare::<T>(rows, cols, options, device.properties())?;
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
    let mut output = device.alloc(input.len())?;
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
            (2, 255_531, "transpose_thin_u32"),
            (4390, 2420, "transpose_thin_u32"),
            (100, 1_000_000, "transpose_thin_u32"),
            (1_000_000, 100, "transpose_thin_u32"),
            (1_000_000, 128, "transpose_aligned_u32"),
            (16_384, 16_384, "transpose_aligned_u32"),
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
