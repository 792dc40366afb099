//! The matrix product C = A·B of row-major matrices.

mod choice;
mod cost;
mod fold;
mod mma;
mod plan;
mod product;
mod routines;
mod vectors;

use blockwise::{Device, DeviceProperties, Stream, View, ViewMut};
use kernels::matmul::policy::Tiles;
use ndarray::{Array2, ArrayView2};

use crate::launch::{On, Ready};
use crate::{
    Execution, Float, LaunchError, LaunchPlan, check_len, download_matrix, matrix_len, named_enum,
    upload,
};

pub use fold::plan_fold;
pub use kernels::matmul::mma::MmaTiles;
pub use kernels::matmul::slices::{Cut, Slicing};
pub use plan::plan;
pub(crate) use plan::prepare;
pub use product::Matmul;
pub(crate) use routines::{Copied, CopyLaunch, Instance, Multiplies, Operands, Pitched};

named_enum! {
    /// The kernels that multiply matrices.
    pub enum MatmulKernel("matrix product kernel") {
        /// Each thread reads its row and column from global memory.
        Naive = "naive",
        /// Blocks share tiles of both operands.
        Tiled = "tiled",
        /// The same in rust-cuda's form.
        TiledRaw = "tiled-raw",
        /// Each thread keeps a tile of the output in registers.
        RegisterTile = "register-tile",
        /// Asynchronous copies run ahead of the arithmetic; for f32.
        Pipelined = "pipelined",
        /// The same in smaller tiles, and in slices of the inner extent; for f32.
        Sliced = "sliced",
        /// Tensor cores multiply; for f64.
        Mma = "mma",
        /// Reads each element of the matrix once; for a matrix and a vector.
        Vector = "vector",
    }
}

impl MatmulKernel {
    /// Whether there is such a kernel for `T` and products of this shape.
    pub fn takes<T: Float>(self, shape: MatmulShape) -> bool {
        T::product(self, Instance::ANY).is_some() && self.fits(shape)
    }

    /// Whether it can divide the inner extent into slices.
    fn has_slices(self) -> bool {
        matches!(self, Self::Sliced | Self::Mma | Self::Vector)
    }

    fn fits(self, shape: MatmulShape) -> bool {
        self != Self::Vector || shape.rows == 1 || shape.cols == 1
    }
}

/// How to launch a matrix product. The default chooses everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatmulOptions {
    /// The kernel. `None` takes the fastest for the type and the shape.
    pub kernel: Option<MatmulKernel>,
    /// The most blocks along each of x and y.
    pub grid_cap: Option<u32>,
    /// The instance of `pipelined`. `None`, and one that does not [fit](Tiles::fit) the columns or
    /// the operands' alignment, takes the fastest that does.
    pub tiles: Option<Tiles>,
    /// The tiles of `mma`. `None` takes the fastest.
    pub mma: Option<MmaTiles>,
    /// How `sliced`, `mma` and `vector` divide the inner extent. `None` chooses. [`enqueue`] takes
    /// a single slice only, because it has no memory for more; [`Matmul`] takes any number.
    pub slicing: Option<Slicing>,
}

impl MatmulOptions {
    /// The fastest kernel and tiles for a product, for launches that compute parts of it.
    pub fn of_whole<T: Float>(shape: MatmulShape, properties: &DeviceProperties) -> Self {
        let kernel = choice::kernel::<T>(shape, 1, properties);
        let tiles = plan::tiles(None, shape, true, properties);
        Self {
            kernel: Some(kernel),
            tiles: (kernel == MatmulKernel::Pipelined).then_some(tiles),
            ..Self::default()
        }
    }
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
    /// When the number of columns of A differs from the number of rows of B.
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

/// Starts C = A·B of row-major matrices: A has `shape.rows · shape.inner` elements, B `shape.inner
/// · shape.cols`, C `shape.rows · shape.cols`. `None` if C has no elements, so that nothing is
/// launched.
///
/// # Errors
/// Those of [`plan`], an operand whose length is not its matrix's, and failures of the device.
pub fn enqueue<'a, T: Float>(
    device: &Device,
    stream: Option<&Stream>,
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    c: impl Into<ViewMut<'a, T>>,
    shape: MatmulShape,
    options: &MatmulOptions,
) -> Result<Option<LaunchPlan>, LaunchError> {
    let (a, b, c) = (a.into(), b.into(), c.into());
    check_operands(a, b, &c, shape)?;
    let aligned = in_vectors(a, b, &c);
    let planned = prepare::<T>(shape, shape.cols, aligned, options, device.properties())?;
    let Some(Ready { plan, launch }) = planned else {
        return Ok(None);
    };
    let operands = Operands::whole(a, b, c, shape);
    launch(On::new(device, stream, &plan), operands)?;
    Ok(Some(plan))
}

/// Checks that the operands have the lengths of the shape.
pub(crate) fn check_operands<T: Float>(
    a: View<'_, T>,
    b: View<'_, T>,
    c: &ViewMut<'_, T>,
    MatmulShape { rows, inner, cols }: MatmulShape,
) -> Result<(), LaunchError> {
    check_len("A", a.len(), matrix_len(rows, inner)?)?;
    check_len("B", b.len(), matrix_len(inner, cols)?)?;
    check_len("output", c.len(), matrix_len(rows, cols)?)
}

/// Whether A, B and C are aligned for moves of 16 bytes. Whole buffers are; parts of them may not
/// be.
pub(crate) fn in_vectors<T: Float>(
    a: View<'_, T>,
    b: View<'_, T>,
    c: &ViewMut<'_, T>,
) -> [bool; 3] {
    [a.address(), b.address(), c.address()]
        .map(|at| at.address.is_multiple_of(kernels::pack::BYTES as u64))
}

/// Computes C = A·B as [`enqueue`] does, and waits. `None` if there is nothing to launch.
///
/// # Errors
/// Those of [`enqueue`].
pub fn matmul_buffers<'a, T: Float>(
    device: &Device,
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    c: impl Into<ViewMut<'a, T>>,
    shape: MatmulShape,
    options: &MatmulOptions,
) -> Result<Option<Execution>, LaunchError> {
    Execution::of(device, || enqueue(device, None, a, b, c, shape, options))
}

/// The matrix product A·B. With an inner extent of 0 it is all zeros.
///
/// # Errors
/// When the shapes do not match, and as for [`Matmul`].
pub fn matmul<T: Float>(
    device: &Device,
    a: ArrayView2<'_, T>,
    b: ArrayView2<'_, T>,
    options: &MatmulOptions,
) -> Result<Array2<T>, LaunchError> {
    let shape = MatmulShape::of(a.dim(), b.dim())?;
    // Refused before anything is copied.
    let mut product = Matmul::new(device, shape, options)?;
    let (a, b) = (upload(device, &a)?, upload(device, &b)?);
    let mut c = device.zeros(matrix_len(shape.rows, shape.cols)?)?;
    product.enqueue(None, &a, &b, &mut c)?;
    download_matrix(&c, shape.rows, shape.cols)
}
