//! Products with the memory that they need.

use blockwise::{Buffer, Device, Stream, View, ViewMut};
use kernels::matmul::slices::{MOST_SLICES, Slicing, sums};

use super::{
    MatmulOptions, MatmulShape, Operands, check_operands, choice, enqueue, in_vectors, prepare,
};
use crate::launch::{On, Ready};
use crate::reduce::{Axis, enqueue_axis};
use crate::{Float, LaunchError, LaunchPlan, PitchedMatmul, Reduction};

/// The matrix product C = A·B of matrices of one shape, with the memory that the fastest way to it
/// needs: for the products of slices of the inner extent, which are then added in their order, or
/// for copies of the operands ([`PitchedMatmul`]). Without room for it, a way that needs none.
///
/// The result has the same bits in every run.
pub struct Matmul<T: Float> {
    device: Device,
    shape: MatmulShape,
    method: Method<T>,
}

enum Method<T: Float> {
    Whole(MatmulOptions),
    Sliced {
        options: MatmulOptions,
        slices: usize,
        sums: Buffer<T>,
    },
    Pitched(PitchedMatmul<T>),
}

impl<T: Float> Matmul<T> {
    /// Chooses, and allocates.
    ///
    /// # Errors
    /// Those of [`plan`](super::plan()), and no room for slices that are asked for.
    pub fn new(
        device: &Device,
        shape: MatmulShape,
        options: &MatmulOptions,
    ) -> Result<Self, LaunchError> {
        let properties = device.properties();
        super::plan::<T>(shape, options, properties)?;
        let of = |method| {
            let device = device.clone();
            Ok(Self {
                device,
                shape,
                method,
            })
        };
        if *options == MatmulOptions::default()
            && choice::fills_without_slices(shape, properties)
            && let Some(product) = PitchedMatmul::where_it_pays(device, shape)?
        {
            return of(Method::Pitched(product));
        }
        let kernel = options
            .kernel
            .unwrap_or_else(|| choice::kernel::<T>(shape, properties));
        let slicing = options
            .slicing
            .unwrap_or_else(|| choice::slicing::<T>(kernel, shape, MOST_SLICES, properties));
        let with = |slicing: Slicing| MatmulOptions {
            kernel: Some(kernel),
            slicing: Some(slicing),
            ..*options
        };
        let whole = Slicing {
            slices: 1,
            ..slicing
        };
        if slicing == whole || !kernel.has_slices() {
            return of(Method::Whole(with(whole)));
        }
        let slices = slicing.slices;
        let len = sums(shape.rows, shape.cols, slices).ok_or(LaunchError::SizeOverflow {
            what: "the products of the slices",
        })?;
        match device.alloc(len) {
            Ok(sums) => of(Method::Sliced {
                options: with(slicing),
                slices,
                sums,
            }),
            Err(blockwise::Error::OutOfMemory { .. }) if options.slicing.is_none() => {
                of(Method::Whole(with(whole)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Starts a product of row-major matrices: a launch, or two in order, in the device's own queue
    /// or in one stream. Returns the launch that multiplies; `None` when C has no elements, and so
    /// nothing was launched.
    ///
    /// # Errors
    /// An operand whose length is not its matrix's, and what goes wrong on the device.
    pub fn enqueue<'a>(
        &mut self,
        stream: Option<&Stream>,
        a: impl Into<View<'a, T>>,
        b: impl Into<View<'a, T>>,
        c: impl Into<ViewMut<'a, T>>,
    ) -> Result<Option<LaunchPlan>, LaunchError> {
        let (a, b, c, shape) = (a.into(), b.into(), c.into(), self.shape);
        let device = &self.device;
        let (options, slices, sums) = match &mut self.method {
            Method::Whole(options) => return enqueue(device, stream, a, b, c, shape, options),
            Method::Pitched(product) => return product.enqueue(stream, a, b, c),
            Method::Sliced {
                options,
                slices,
                sums,
            } => (options, *slices, sums),
        };
        check_operands(a, b, &c, shape)?;
        let aligned = in_vectors(a, b, &sums.as_view_mut());
        let planned = prepare::<T>(shape, aligned, options, device.properties())?;
        let Some(Ready { plan, launch }) = planned else {
            return Ok(None);
        };
        let operands = Operands {
            slices,
            ..Operands::whole(a, b, sums.as_view_mut(), shape)
        };
        launch(On::new(device, stream, &plan), operands)?;
        let axis = Axis {
            outer: 1,
            extent: slices,
            inner: shape.rows * shape.cols,
        };
        enqueue_axis(device, stream, sums.as_view(), c, axis, Reduction::Sum)?;
        Ok(Some(plan))
    }
}
