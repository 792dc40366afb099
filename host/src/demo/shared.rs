//! Array reversal with static and dynamic shared memory.

use ndarray::Array1;

use super::row::Row;
use super::{DemoError, Outcome};
use crate::compare;
use crate::device::{Device, DeviceBuffer};
use crate::launch::reverse::reverse_buffers;
use crate::launch::{ReverseKernel, ReverseOptions};
use crate::oracle;

/// The article's 64 elements, and many blocks with a partial last one.
const LENGTHS: [usize; 2] = [64, 100_003];

pub(super) fn run(device: &Device, outcome: &mut Outcome) -> Result<(), DemoError> {
    for length in LENGTHS {
        let input = Array1::from_shape_fn(length, |i| i as u32);
        let buffer = DeviceBuffer::from_slice(device, input.as_slice().unwrap_or(&[]))?;
        let mut output = DeviceBuffer::<u32>::alloc(device, length)?;
        for &kernel in ReverseKernel::ALL {
            let options = ReverseOptions {
                kernel,
                ..ReverseOptions::default()
            };
            let Some(execution) = reverse_buffers(device, &buffer, &mut output, &options)? else {
                continue;
            };
            let reversed = Array1::from_vec(output.copy_to_vec()?);
            let comparison =
                compare::exactly(reversed.view(), oracle::reverse(input.view()).view())?;
            outcome.rows.push(Row::compared(
                "reverse",
                format!("{length} u32"),
                device,
                &execution,
                &comparison,
            ));
        }
    }
    Ok(())
}
