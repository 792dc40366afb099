//! The launch that adds the products of slices.

use blockwise::{Device, DeviceProperties, Stream, View, ViewMut};
use kernels::matmul::fold::{THREADS, blocks};
use kernels::pack::{BYTES, lanes};

use crate::launch::{On, Routine};
use crate::limits::{blocks_for, plan_1d};
use crate::reduce::{Axis, enqueue_axis};
use crate::{Element, Float, LaunchError, LaunchPlan, Reduction};

/// The inputs and outputs: `sums` has `slices` matrices of the size of C.
pub struct Slices<'a, T: Element> {
    pub(crate) sums: View<'a, T>,
    pub(crate) c: ViewMut<'a, T>,
    pub(crate) slices: usize,
}

pub(crate) type FoldLaunch<T> = for<'a> fn(On<'a>, Slices<'a, T>) -> Result<(), blockwise::Error>;

/// Plans the launch for a C of that many elements, a whole number of 16-byte packs.
///
/// # Errors
/// When a limit is exceeded.
pub fn plan_fold<T: Float>(
    outputs: usize,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    let Routine { entry, .. } = T::fold_slices();
    let blocks = blocks_for(blocks::<T>(outputs), 1, None, properties.max_grid[0]);
    plan_1d(entry.name, blocks, THREADS, 0, properties)
}

/// Starts it. A C that is not a whole number of 16-byte packs, or is not aligned to them, is added
/// element by element.
pub(super) fn enqueue_fold<T: Float>(
    device: &Device,
    stream: Option<&Stream>,
    of: Slices<'_, T>,
) -> Result<(), LaunchError> {
    let outputs = of.c.len();
    let aligned = |address: u64| address.is_multiple_of(BYTES as u64);
    let (sums, c) = (of.sums.address().address, of.c.address().address);
    if outputs.is_multiple_of(lanes::<T>()) && aligned(sums) && aligned(c) {
        let plan = plan_fold::<T>(outputs, device.properties())?;
        let Routine { launch, .. } = T::fold_slices();
        return Ok(launch(On::new(device, stream, &plan), of)?);
    }
    let axis = Axis {
        outer: 1,
        extent: of.slices,
        inner: outputs,
    };
    enqueue_axis(device, stream, of.sums, of.c, axis, Reduction::Sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small integers: every order of additions gives the same sums.
    #[test]
    fn slices_add_up_at_any_length_and_address() {
        let device = Device::emulator();
        for (outputs, slices, offset) in [
            (4, 1, 0),
            (8, 3, 0),
            (260, 17, 0),
            (4096, 5, 0),
            (7, 6, 0),
            (8, 6, 1),
        ] {
            let value = |i: usize| (i * 7 % 23) as f64 - 11.0;
            let sums: Vec<_> = (0..outputs * slices).map(value).collect();
            let expected: Vec<_> = (0..outputs)
                .map(|i| sums.iter().skip(i).step_by(outputs).sum::<f64>())
                .collect();
            let sums = device.upload(&sums).unwrap();
            let mut all = device.upload(&vec![f64::NAN; offset + outputs]).unwrap();
            let c = all.as_view_mut().into_view_mut(offset..);
            let sums = sums.as_view();
            enqueue_fold(&device, None, Slices { sums, c, slices }).unwrap();
            let c = all.to_vec().unwrap().split_off(offset);
            assert_eq!(c, expected, "{outputs} in {slices}, from {offset} on");
        }
    }
}
