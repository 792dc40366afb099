//! The matrix product C = A·B of row-major matrices.

use kernels::matmul::policy::{self, Tiles};
use kernels::matmul::{self, register_tile};
use ndarray::{Array2, ArrayView2};

use crate::device::{Arguments, Device, DeviceBuffer, DeviceProperties, Element as _, LaunchPlan};
use crate::named::named_enum;

use super::limits::{blocks_for, plan_1d, plan_2d};
use super::pitched::PitchedMatmul;
use super::{
    Execution, Float, Launch, LaunchError, check_output, download_matrix, matrix_len, upload,
};

named_enum! {
    /// The kernels that multiply matrices.
    pub enum MatmulKernel("matrix product kernel") {
        /// Each thread reads its row and column from global memory.
        Naive = "naive",
        /// Blocks share tiles of both operands.
        Tiled = "tiled",
        /// Each thread keeps a tile of the output in registers.
        RegisterTile = "register-tile",
        /// Copies run ahead of the arithmetic; for f32.
        Pipelined = "pipelined",
    }
}

impl MatmulKernel {
    /// Whether there is such a kernel for `T`.
    pub fn takes<T: Float>(self) -> bool {
        self != Self::Pipelined || T::NAME == f32::NAME
    }
}

/// How to launch a matrix product. The default chooses by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatmulOptions {
    /// The kernel. `None` takes the one that is fastest for the type and the shape.
    pub kernel: Option<MatmulKernel>,
    /// Blocks along each of x and y, at most.
    pub grid_cap: Option<u32>,
    /// The instance of `pipelined`. `None`, and one that does not [fit](Tiles::fit) the columns, takes the fastest that does.
    pub tiles: Option<Tiles>,
}

/// The extents of a product: A is rows × inner, B is inner × cols, C is rows × cols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatmulShape {
    /// Rows of A and C.
    pub rows: usize,
    /// Columns of A, rows of B.
    pub inner: usize,
    /// Columns of B and C.
    pub cols: usize,
}

impl MatmulShape {
    /// The shape of the product of two matrices, given as (rows, columns).
    ///
    /// # Errors
    /// When A has not as many columns as B has rows.
    pub fn of(a: (usize, usize), b: (usize, usize)) -> Result<Self, LaunchError> {
        if a.1 != b.0 {
            return Err(LaunchError::ShapeMismatch {
                left_name: "A",
                left: vec![a.0, a.1],
                right_name: "B",
                right: vec![b.0, b.1],
                rule: "a product needs as many columns in A as rows in B",
            });
        }
        Ok(Self {
            rows: a.0,
            inner: a.1,
            cols: b.1,
        })
    }
}

/// Plans a product. `None` when there is no output, and so nothing to launch.
///
/// # Errors
/// When a size overflows or a limit is broken.
pub fn plan<T: Float>(
    shape: MatmulShape,
    options: &MatmulOptions,
    properties: &DeviceProperties,
) -> Result<Option<LaunchPlan>, LaunchError> {
    let plan = match options.kernel.unwrap_or_else(|| choose::<T>(shape)) {
        kernel @ (MatmulKernel::Naive | MatmulKernel::Tiled) => {
            plan_by_tile::<T>(kernel, matmul::TILE, shape, options, properties)
        }
        kernel @ MatmulKernel::RegisterTile => {
            plan_by_tile::<T>(kernel, register_tile::SIDE, shape, options, properties)
        }
        kernel @ MatmulKernel::Pipelined => {
            let tiles = tiles(options.tiles, shape, properties);
            plan_by_policy::<T>(kernel, tiles, shape, options, properties)
        }
    }?;
    let outputs = matrix_len(shape.rows, shape.cols)?;
    Ok((outputs > 0).then_some(plan))
}

/// The kernel that is fastest for the type and the shape.
fn choose<T: Float>(shape: MatmulShape) -> MatmulKernel {
    let outputs = shape.rows.saturating_mul(shape.cols);
    let small = outputs < policy::TUNED_FROM || shape.rows.min(shape.cols) < policy::TUNED_SIDE;
    if !small && MatmulKernel::Pipelined.takes::<T>() {
        MatmulKernel::Pipelined
    } else {
        MatmulKernel::Tiled
    }
}

/// The instance of `pipelined`: the one that is asked for, if it fits, or the fastest.
fn tiles(asked: Option<Tiles>, shape: MatmulShape, properties: &DeviceProperties) -> Tiles {
    if let Some(tiles) = asked.filter(|tiles| tiles.fit(shape.cols)) {
        return tiles;
    }
    let at_once = properties.multiprocessors_to_fill() as usize;
    let wide = Tiles::Wide.policy().tiles(shape.rows, shape.cols);
    let most = wide.div_ceil(at_once).saturating_mul(at_once);
    if !Tiles::Wide.fit(shape.cols) {
        Tiles::Ragged
    } else if wide.saturating_mul(100) >= most.saturating_mul(policy::WIDE_BUSY) {
        Tiles::Wide
    } else {
        Tiles::Tall
    }
}

/// A grid of two dimensions over tiles of `side` × `side` elements.
fn plan_by_tile<T: Float>(
    kernel: MatmulKernel,
    side: u32,
    shape: MatmulShape,
    options: &MatmulOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    let blocks =
        |extent, axis: usize| blocks_for(extent, side, options.grid_cap, properties.max_grid[axis]);
    plan_2d(
        entry::<T>(kernel, ""),
        [blocks(shape.cols, 0), blocks(shape.rows, 1)],
        [matmul::TILE, matmul::TILE],
        properties,
    )
}

/// A grid of one dimension over all tiles of a tuned kernel.
fn plan_by_policy<T: Float>(
    kernel: MatmulKernel,
    instance: Tiles,
    shape: MatmulShape,
    options: &MatmulOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    if !kernel.takes::<T>() {
        return Err(LaunchError::UnsupportedType {
            kernel: kernel.name(),
            supported: f32::NAME,
            given: T::NAME,
        });
    }
    let policy = instance.policy();
    let tiles = policy.tiles(shape.rows, shape.cols);
    plan_1d(
        entry::<T>(kernel, instance.suffix()),
        blocks_for(tiles, 1, options.grid_cap, properties.max_grid[0]),
        policy.threads() as u32,
        policy.shared_bytes() as u64,
        properties,
    )
}

/// The name of the entry point of a kernel's instance.
fn entry<T: Float>(kernel: MatmulKernel, instance: &str) -> String {
    let kernel = kernel.name().replace('-', "_");
    format!("matmul_{kernel}{instance}_{}", T::NAME)
}

/// Binds a product to its row-major buffers. `None` when there is nothing to launch.
///
/// # Errors
/// Those of [`plan`], and a buffer whose length is not its matrix's.
pub fn bind<'a, T: Float>(
    device: &'a Device,
    a: &'a DeviceBuffer<T>,
    b: &'a DeviceBuffer<T>,
    c: &'a mut DeviceBuffer<T>,
    shape: MatmulShape,
    options: &MatmulOptions,
) -> Result<Option<Launch<'a>>, LaunchError> {
    let plan = plan::<T>(shape, options, device.properties())?;
    check_buffers(a, b, c, shape)?;
    let Some(plan) = plan else { return Ok(None) };
    // SAFETY: the buffers have the lengths of the shape.
    unsafe { launch(device, plan, [a, b], c, shape, None).map(Some) }
}

/// Checks that the buffers have the lengths of the shape.
pub(super) fn check_buffers<T: Float>(
    a: &DeviceBuffer<T>,
    b: &DeviceBuffer<T>,
    c: &DeviceBuffer<T>,
    MatmulShape { rows, inner, cols }: MatmulShape,
) -> Result<(), LaunchError> {
    for (what, buffer, needed) in [
        ("A", a, matrix_len(rows, inner)?),
        ("B", b, matrix_len(inner, cols)?),
    ] {
        if buffer.len() != needed {
            let given = buffer.len();
            return Err(LaunchError::BufferLength {
                what,
                needed,
                given,
            });
        }
    }
    check_output(c, matrix_len(rows, cols)?)
}

/// The launch of a plan. `pipelined` does nothing when the ranges `unless` fit the tensor cores.
///
/// # Safety
/// The plan is one of [`plan`], and the buffers have the lengths of the shape.
pub(super) unsafe fn launch<'a, T: Float>(
    device: &'a Device,
    plan: LaunchPlan,
    [a, b]: [&'a DeviceBuffer<T>; 2],
    c: &'a mut DeviceBuffer<T>,
    shape: MatmulShape,
    unless: Option<&'a DeviceBuffer<u32>>,
) -> Result<Launch<'a>, LaunchError> {
    let arguments = Arguments::new().slice(a).slice(b).output(c);
    let mut arguments = arguments
        .value(shape.rows as u64)
        .value(shape.inner as u64)
        .value(shape.cols as u64);
    let pipelined = |tiles: &Tiles| entry::<T>(MatmulKernel::Pipelined, tiles.suffix());
    if Tiles::ALL
        .iter()
        .any(|tiles| plan.kernel == pipelined(tiles))
    {
        arguments = match unless {
            Some(ranges) => arguments.address(ranges),
            None => arguments.value(0_u64),
        };
    }
    // SAFETY: these are the parameters of the `matmul` kernels; the rest is the caller's promise.
    unsafe { Launch::new(device, plan, arguments) }
}

/// Multiplies two row-major buffers. `None` when there was nothing to launch.
///
/// # Errors
/// Those of [`bind`], and what goes wrong on the device.
pub fn matmul_buffers<T: Float>(
    device: &Device,
    a: &DeviceBuffer<T>,
    b: &DeviceBuffer<T>,
    c: &mut DeviceBuffer<T>,
    shape: MatmulShape,
    options: &MatmulOptions,
) -> Result<Option<Execution>, LaunchError> {
    let launch = bind(device, a, b, c, shape, options)?;
    launch.map(Launch::run).transpose()
}

/// The matrix product A·B. With no inner extent it is all zeros.
///
/// With the default options, large products whose rows begin at any address go through [`PitchedMatmul`], if there is room for it.
///
/// # Errors
/// When the shapes do not fit, and as for [`matmul_buffers`].
pub fn matmul<T: Float>(
    device: &Device,
    a: ArrayView2<'_, T>,
    b: ArrayView2<'_, T>,
    options: &MatmulOptions,
) -> Result<Array2<T>, LaunchError> {
    let shape = MatmulShape::of(a.dim(), b.dim())?;
    // Refused before anything is copied.
    plan::<T>(shape, options, device.properties())?;
    let (a, b) = (upload(device, &a)?, upload(device, &b)?);
    let mut c = DeviceBuffer::alloc(device, matrix_len(shape.rows, shape.cols)?)?;
    let pitched = match *options == MatmulOptions::default() {
        true => PitchedMatmul::where_it_pays(device, shape)?,
        false => None,
    };
    match pitched {
        Some(mut product) => {
            c.poison()?;
            product.enqueue(&a, &b, &mut c)?;
            device.synchronize()?;
        }
        None => {
            matmul_buffers(device, &a, &b, &mut c, shape, options)?;
        }
    }
    download_matrix(&c, shape.rows, shape.cols)
}

#[cfg(test)]
mod tests {
    use super::super::limits::h200;
    use super::*;

    fn shape(rows: usize, inner: usize, cols: usize) -> MatmulShape {
        MatmulShape { rows, inner, cols }
    }

    #[test]
    fn the_grid_covers_the_output_with_columns_along_x() {
        let plan = plan::<f32>(shape(33, 5, 16), &MatmulOptions::default(), &h200());
        let plan = plan.expect("allowed").expect("there are outputs");
        assert_eq!(plan.kernel, "matmul_tiled_f32");
        assert_eq!(
            (plan.grid, plan.block, plan.dynamic_shared_bytes),
            ([1, 3, 1], [16, 16, 1], 0)
        );
    }

    #[test]
    fn large_products_take_the_tuned_kernels_and_one_that_is_asked_for_is_taken() {
        fn planned<T: Float>(shape: MatmulShape, kernel: Option<MatmulKernel>) -> LaunchPlan {
            let options = MatmulOptions {
                kernel,
                ..MatmulOptions::default()
            };
            plan::<T>(shape, &options, &h200())
                .expect("allowed")
                .expect("there are outputs")
        }
        let large = planned::<f32>(shape(2000, 5, 2000), None);
        assert_eq!(large.kernel, "matmul_pipelined_f32");
        assert_eq!((large.grid, large.block), ([128, 1, 1], [256, 1, 1]));
        assert_eq!(large.dynamic_shared_bytes, 4 * 4 * 8 * (132 + 256));
        for small in [shape(500, 5, 500), shape(63, 5, 40_000)] {
            assert_eq!(planned::<f32>(small, None).kernel, "matmul_tiled_f32");
        }
        let doubles = planned::<f64>(shape(1100, 5, 1000), None);
        assert_eq!(doubles.kernel, "matmul_tiled_f64");
        let asked = planned::<f64>(shape(300, 5, 129), Some(MatmulKernel::RegisterTile));
        assert_eq!(asked.kernel, "matmul_register_tile_f64");
        assert_eq!((asked.grid, asked.block), ([2, 3, 1], [16, 16, 1]));
    }

    #[test]
    fn the_instance_is_the_one_asked_for_or_the_fastest_that_fits() {
        let planned = |tiles, rows, cols| {
            let options = MatmulOptions {
                kernel: Some(MatmulKernel::Pipelined),
                tiles,
                ..MatmulOptions::default()
            };
            let plan = plan::<f32>(shape(rows, 5, cols), &options, &h200());
            plan.expect("allowed").expect("outputs")
        };
        let asked = planned(Some(Tiles::Ragged), 300, 128);
        assert_eq!(asked.kernel, "matmul_pipelined_ragged_f32");
        assert_eq!((asked.grid, asked.block), ([6, 1, 1], [128, 1, 1]));
        assert_eq!(asked.dynamic_shared_bytes, 4 * 3 * 16 * (132 + 64));
        for tiles in [None, Some(Tiles::Wide), Some(Tiles::Tall)] {
            let odd = planned(tiles, 4096, 4097);
            assert_eq!(odd.kernel, "matmul_pipelined_ragged_f32");
        }
        // 128, 118 and 133 tiles for 132 multiprocessors.
        for (rows, cols, kernel) in [
            (2048, 2048, "matmul_pipelined_f32"),
            (128, 118 * 256, "matmul_pipelined_tall_f32"),
            (128, 133 * 256, "matmul_pipelined_tall_f32"),
        ] {
            assert_eq!(planned(None, rows, cols).kernel, kernel, "{rows} x {cols}");
        }
    }

    #[test]
    fn a_kernel_without_the_type_says_which_it_has() {
        let options = MatmulOptions {
            kernel: Some(MatmulKernel::Pipelined),
            ..MatmulOptions::default()
        };
        let error = plan::<f64>(shape(3, 4, 5), &options, &h200()).expect_err("f32 only");
        assert!(error.to_string().contains("f32"), "{error}");
    }

    #[test]
    fn more_rows_than_a_grid_has_blocks_are_strided_over() {
        let tall = shape(2_000_000, 1, 1);
        let plan = plan::<f64>(tall, &MatmulOptions::default(), &h200())
            .expect("allowed")
            .expect("outputs");
        assert_eq!(plan.grid, [1, 65_535, 1]);
    }

    #[test]
    fn no_output_is_no_launch_and_no_inner_extent_is_one() {
        let planned =
            |shape| plan::<f32>(shape, &MatmulOptions::default(), &h200()).expect("allowed");
        assert_eq!(planned(shape(0, 3, 4)), None);
        assert_eq!(planned(shape(4, 3, 0)), None);
        assert!(planned(shape(4, 0, 4)).is_some());
    }

    #[test]
    fn shapes_that_do_not_fit_are_told() {
        let error = MatmulShape::of((2, 3), (4, 5)).expect_err("3 is not 4");
        assert!(
            error.to_string().starts_with("A is 2x3 and B is 4x5: "),
            "{error}"
        );
    }

    #[test]
    fn an_output_too_large_to_count_and_an_empty_grid_are_refused() {
        let options = MatmulOptions::default();
        let error =
            plan::<f32>(shape(1 << 33, 0, 1 << 33), &options, &h200()).expect_err("2⁶⁶ outputs");
        assert!(matches!(error, LaunchError::SizeOverflow { .. }));
        let none = MatmulOptions {
            grid_cap: Some(0),
            ..options
        };
        assert!(matches!(
            plan::<f32>(shape(1, 1, 1), &none, &h200()),
            Err(LaunchError::ZeroGrid { .. })
        ));
    }
}
