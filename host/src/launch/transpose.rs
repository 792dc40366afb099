//! The transpose of a row-major matrix.

use kernels::transpose::aligned::{self, Tile};
use ndarray::{Array2, ArrayView2};

use crate::device::{Arguments, Device, DeviceBuffer, DeviceProperties, Element, LaunchPlan};
use crate::named::named_enum;

use super::limits::{blocks_for, plan_2d};
use super::{
    Execution, Launch, LaunchError, check_output, download_matrix, matrix_len, upload, word_name,
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
    use kernels::transpose::{ROWS, TILE};
    // Blocks for so many elements of each extent.
    let blocks = |extents: [usize; 2], tile: [u32; 2]| {
        [0, 1].map(|axis| {
            let limit = properties.max_grid[axis];
            blocks_for(extents[axis], tile[axis], options.grid_cap, limit)
        })
    };
    let (grid, block, instance) = match options.kernel {
        TransposeKernel::Aligned => {
            let tile = options.tile.unwrap_or(Tile::Wide);
            let extents = [aligned::ROWS, tile.cols::<T>()];
            let grid = blocks([rows, cols], extents);
            (grid, [tile.threads(), 1], tile.suffix())
        }
        _ => (blocks([cols, rows], [TILE; 2]), [TILE, ROWS], ""),
    };
    let word = word_name::<T>();
    let kernel = format!("transpose_{}{instance}_{word}", options.kernel);
    let plan = plan_2d(kernel, grid, block, properties)?;
    Ok((matrix_len(rows, cols)? > 0).then_some(plan))
}

/// Binds the transpose of a row-major buffer of `rows` × `cols` into one of `cols` × `rows`. `None` when there is
/// nothing to launch.
///
/// # Errors
/// Those of [`plan`], and a buffer of another length.
pub fn bind<'a, T: Element>(
    device: &'a Device,
    input: &'a DeviceBuffer<T>,
    output: &'a mut DeviceBuffer<T>,
    rows: usize,
    cols: usize,
    options: &TransposeOptions,
) -> Result<Option<Launch<'a>>, LaunchError> {
    let plan = plan::<T>(rows, cols, options, device.properties())?;
    let needed = matrix_len(rows, cols)?;
    if input.len() != needed {
        return Err(LaunchError::BufferLength {
            what: "input",
            needed,
            given: input.len(),
        });
    }
    check_output(output, needed)?;
    let Some(plan) = plan else { return Ok(None) };
    let arguments = Arguments::new()
        .slice(input)
        .output(output)
        .value(rows as u64)
        .value(cols as u64);
    // SAFETY: these are the parameters of the `transpose` kernels, which move elements of this width; both buffers
    // have rows × cols of them.
    unsafe { Launch::new(device, plan, arguments).map(Some) }
}

/// Transposes a row-major buffer of `rows` × `cols` into one of `cols` × `rows`. `None` when there was nothing to
/// launch.
///
/// # Errors
/// Those of [`bind`], and what goes wrong on the device.
pub fn transpose_buffers<T: Element>(
    device: &Device,
    input: &DeviceBuffer<T>,
    output: &mut DeviceBuffer<T>,
    rows: usize,
    cols: usize,
    options: &TransposeOptions,
) -> Result<Option<Execution>, LaunchError> {
    let launch = bind(device, input, output, rows, cols, options)?;
    launch.map(Launch::run).transpose()
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
    plan::<T>(rows, cols, options, device.properties())?;
    let input = upload(device, &input)?;
    let mut output = DeviceBuffer::alloc(device, input.len())?;
    transpose_buffers(device, &input, &mut output, rows, cols, options)?;
    download_matrix(&output, cols, rows)
}

#[cfg(test)]
mod tests {
    use super::super::limits::h200;
    use super::*;

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
