//! The transpose of a row-major matrix.

use blockwise::{Device, DeviceProperties, Stream, View, ViewMut};
use kernels::transpose::aligned::{self, Tile};
use ndarray::{Array2, ArrayView2};

use crate::launch::{On, Ready};
use crate::limits::{blocks_for, plan_2d};
use crate::named_enum;
use crate::word::{TransposeLaunch, Transposed, Word};
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
        /// Larger tiles, of which each row of the output begins with a sector of memory, whatever the matrix's extents.
        Aligned = "aligned",
    }
}

/// How to launch a transpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransposeOptions {
    /// The kernel.
    pub kernel: TransposeKernel,
    /// Blocks along each of x and y, at most.
    pub grid_cap: Option<u32>,
    /// The instance of `aligned`. `None` takes [`Tile::Wide`].
    pub tile: Option<Tile>,
}

impl Default for TransposeOptions {
    fn default() -> Self {
        Self {
            kernel: TransposeKernel::Aligned,
            grid_cap: None,
            tile: None,
        }
    }
}

/// Plans the transpose of a matrix of `rows` × `cols`. `None` when it is empty, and so nothing to launch.
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
    let (grid, block) = match options.kernel {
        TransposeKernel::Aligned => {
            let extents = [aligned::ROWS, tile.cols::<T>()];
            (blocks([rows, cols], extents), [tile.threads(), 1])
        }
        _ => (blocks([cols, rows], [TILE; 2]), [TILE, ROWS]),
    };
    let routine = T::Word::transpose(options.kernel, tile);
    let plan = plan_2d(routine.entry.name, grid, block, properties)?;
    let launch = routine.launch;
    Ok(Ready { plan, launch })
}

/// Starts the transpose of `input`, `rows` × `cols` elements in row-major order, into `output`, `cols` × `rows`. `None` when there was
/// nothing to launch.
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

/// Transposes `input`, `rows` × `cols` elements in row-major order, into `output`, `cols` × `rows`, and waits. `None` when there was
/// nothing to launch.
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
            kernel: TransposeKernel::Padded,
            ..TransposeOptions::default()
        };
        let plan = plan::<f64>(33, 65, &padded, &h200());
        let plan = plan.expect("within every limit").expect("a launch");
        assert_eq!(plan.kernel, "transpose_padded_u64");
        assert_eq!((plan.grid, plan.block), ([3, 2, 1], [32, 8, 1]));

        let plan = planned::<f32>(129, 128).expect("a launch");
        assert_eq!(plan.kernel, "transpose_aligned_u32");
        assert_eq!((plan.grid, plan.block), ([3, 1, 1], [512, 1, 1]));
        assert_eq!(
            planned::<i64>(1, 1).expect("a launch").kernel,
            "transpose_aligned_u64"
        );
        let narrow = TransposeOptions {
            tile: Some(Tile::Narrow),
            ..TransposeOptions::default()
        };
        let plan = super::plan::<f32>(129, 65, &narrow, &h200());
        let plan = plan.expect("within every limit").expect("a launch");
        assert_eq!(plan.kernel, "transpose_aligned_narrow_u32");
        assert_eq!((plan.grid, plan.block), ([3, 2, 1], [256, 1, 1]));
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
