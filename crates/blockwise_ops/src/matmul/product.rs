//! Products with the memory that they need.

use blockwise::{Buffer, Device, Stream, View, ViewMut};
use kernels::matmul::slices::{MOST_SLICES, Slicing, sums};

use super::fold::{Slices, enqueue_fold};
use super::{
    MatmulOptions, MatmulShape, Operands, check_operands, choice, enqueue, in_vectors, prepare,
};
use crate::launch::{On, Ready};
use crate::pitched::PitchedCopy;
use crate::{Float, LaunchError, LaunchPlan, PitchedMatmul};

/// The matrix product C = A·B for one shape, with the memory that the fastest method needs: for the
/// products of slices of the inner extent, which are then added in order, or for copies of the
/// operands ([`PitchedMatmul`]). If that memory is lacking, a method that needs none.
///
/// The result has the same bits in every run.
pub struct Matmul<T: Float> {
    device: Device,
    shape: MatmulShape,
    method: Method<T>,
}

enum Method<T: Float> {
    Whole(MatmulOptions),
    Sliced(InSlices<T>),
    Pitched(PitchedMatmul<T>),
}

/// A product in slices, or of a copy of B.
struct InSlices<T: Float> {
    options: MatmulOptions,
    slices: usize,
    /// The products of the slices, if there is more than one.
    sums: Option<Buffer<T>>,
    copy: Option<PitchedCopy<T>>,
}

impl<T: Float> Matmul<T> {
    /// Chooses the method, and allocates.
    ///
    /// # Errors
    /// Those of [`plan`](super::plan()), and a lack of memory for slices that were requested.
    pub fn new(
        device: &Device,
        shape: MatmulShape,
        options: &MatmulOptions,
    ) -> Result<Self, LaunchError> {
        let properties = device.properties();
        super::plan::<T>(shape, options, properties)?;
        let of = |method| {
            let device = device.clone();
            Self {
                device,
                shape,
                method,
            }
        };
        // A saved kernel was faster than these two methods.
        let chooses =
            *options == MatmulOptions::default() && choice::saved::<T>(shape, properties).is_none();
        if chooses
            && choice::fills_without_slices(shape, properties)
            && let Some(product) = PitchedMatmul::where_it_pays(device, shape)?
        {
            return Ok(of(Method::Pitched(product)));
        }
        let kernel = options
            .kernel
            .unwrap_or_else(|| choice::kernel::<T>(shape, MOST_SLICES, properties));
        let with = |slicing: Slicing| MatmulOptions {
            kernel: Some(kernel),
            slicing: Some(slicing),
            ..*options
        };
        if chooses
            && let Some(slicing) = choice::slicing_of_copy::<T>(kernel, shape, properties)
            && let Some(copy) = or_no_room(PitchedCopy::new(device, shape))?
            && let Some(sums) = or_no_room(sums_of(device, shape, slicing.slices))?
        {
            return Ok(of(Method::Sliced(InSlices {
                options: with(slicing),
                slices: slicing.slices,
                sums,
                copy: Some(copy),
            })));
        }
        let slicing = options
            .slicing
            .unwrap_or_else(|| choice::slicing::<T>(kernel, shape, MOST_SLICES, properties));
        let whole = Slicing {
            slices: 1,
            ..slicing
        };
        if slicing == whole || !kernel.has_slices() {
            return Ok(of(Method::Whole(with(whole))));
        }
        let sums = sums_of(device, shape, slicing.slices);
        let sums = match options.slicing {
            Some(_) => Some(sums?),
            None => or_no_room(sums)?,
        };
        Ok(of(match sums {
            Some(sums) => Method::Sliced(InSlices {
                options: with(slicing),
                slices: slicing.slices,
                sums,
                copy: None,
            }),
            None => Method::Whole(with(whole)),
        }))
    }

    /// Starts a product of row-major matrices: up to three launches in order, in the device's own
    /// queue or in one stream. Returns the launch that multiplies; `None` if C has no elements, so
    /// that nothing is launched.
    ///
    /// # Errors
    /// An operand whose length is not its matrix's, and failures of the device.
    pub fn enqueue<'a>(
        &mut self,
        stream: Option<&Stream>,
        a: impl Into<View<'a, T>>,
        b: impl Into<View<'a, T>>,
        c: impl Into<ViewMut<'a, T>>,
    ) -> Result<Option<LaunchPlan>, LaunchError> {
        let (a, b, c) = (a.into(), b.into(), c.into());
        let (device, shape) = (&self.device, self.shape);
        match &mut self.method {
            Method::Whole(options) => enqueue(device, stream, a, b, c, shape, options),
            Method::Pitched(product) => product.enqueue(stream, a, b, c),
            Method::Sliced(product) => product.enqueue(device, stream, [a, b], c, shape),
        }
    }
}

impl<T: Float> InSlices<T> {
    fn enqueue(
        &mut self,
        device: &Device,
        stream: Option<&Stream>,
        [a, b]: [View<'_, T>; 2],
        mut c: ViewMut<'_, T>,
        shape: MatmulShape,
    ) -> Result<Option<LaunchPlan>, LaunchError> {
        check_operands(a, b, &c, shape)?;
        if c.is_empty() {
            return Ok(None);
        }
        let (b, pitch) = match &mut self.copy {
            Some(copy) => copy.enqueue(device, stream, b)?,
            None => (b, shape.cols),
        };
        let sums = match &mut self.sums {
            Some(sums) => sums.as_view_mut(),
            None => c.as_view_mut(),
        };
        let aligned = in_vectors(a, b, &sums);
        let planned = prepare::<T>(shape, pitch, aligned, &self.options, device.properties())?;
        let Some(Ready { plan, launch }) = planned else {
            return Ok(None);
        };
        let operands = Operands {
            pitch,
            slices: self.slices,
            ..Operands::whole(a, b, sums, shape)
        };
        launch(On::new(device, stream, &plan), operands)?;
        if let Some(sums) = &self.sums {
            let (sums, slices) = (sums.as_view(), self.slices);
            enqueue_fold(device, stream, Slices { sums, c, slices })?;
        }
        Ok(Some(plan))
    }
}

/// Memory for the products of several slices; none for one slice.
fn sums_of<T: Float>(
    device: &Device,
    MatmulShape { rows, cols, .. }: MatmulShape,
    slices: usize,
) -> Result<Option<Buffer<T>>, LaunchError> {
    if slices == 1 {
        return Ok(None);
    }
    let len = sums(rows, cols, slices).ok_or(LaunchError::SizeOverflow {
        what: "the products of the slices",
    })?;
    Ok(Some(device.zeros(len)?))
}

/// `None` if there is no memory.
fn or_no_room<R>(result: Result<R, LaunchError>) -> Result<Option<R>, LaunchError> {
    match result {
        Err(LaunchError::Device(blockwise::Error::OutOfMemory { .. })) => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use kernels::matmul::slices::Cut;
    use ndarray::Array2;

    use super::*;
    use crate::MatmulKernel;

    /// Small integers: every order of additions gives the same sums.
    #[test]
    fn slices_of_a_copy_of_b_add_up() {
        let device = Device::emulator();
        for (rows, inner, cols, slices) in [
            (5, 40, 9, 1),
            (70, 50, 67, 2),
            (64, 100, 130, 3),
            (3, 0, 10, 1),
            (1, 1, 11, 1),
        ] {
            let small = |(i, j)| ((7 * i + 3 * j) % 11) as f32 - 5.0;
            let a = Array2::from_shape_fn((rows, inner), small);
            let b = Array2::from_shape_fn((inner, cols), small);
            let shape = MatmulShape { rows, inner, cols };
            for cut in Cut::ALL {
                let slicing = Slicing { cut, slices };
                let mut product = InSlices {
                    options: MatmulOptions {
                        kernel: Some(MatmulKernel::Sliced),
                        slicing: Some(slicing),
                        ..MatmulOptions::default()
                    },
                    slices,
                    sums: sums_of::<f32>(&device, shape, slices).unwrap(),
                    copy: Some(PitchedCopy::new(&device, shape).unwrap()),
                };
                let upload =
                    |matrix: &Array2<f32>| device.upload(matrix.as_slice().unwrap()).unwrap();
                let (of_a, of_b) = (upload(&a), upload(&b));
                let mut c = device.upload(&vec![f32::NAN; rows * cols]).unwrap();
                let views = [of_a.as_view(), of_b.as_view()];
                let launched = product.enqueue(&device, None, views, c.as_view_mut(), shape);
                let plan = launched.unwrap().unwrap();
                let ragged = plan.kernel.contains("ragged");
                assert!(inner == 0 || !ragged, "{}", plan.kernel);
                let expected = a.dot(&b).into_raw_vec_and_offset().0;
                assert_eq!(c.to_vec().unwrap(), expected, "{shape:?}, {slicing:?}");
            }
        }
    }
}
