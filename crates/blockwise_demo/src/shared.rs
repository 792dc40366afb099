//! Array reverse with static and dynamic shared memory.

use blockwise::{Device, Type};
use blockwise_ops::operation::Problem;
use blockwise_ops::reverse::{self, REVERSE, reverse_buffers};
use blockwise_ops::{Options, Variant, compare, oracle};
use ndarray::Array1;

use super::row::Row;
use super::speed::Unit;
use super::timed::timed;
use super::{DemoError, Outcome, UNWRITTEN};

/// The article's 64 elements, and many blocks with a partial last one.
const LENGTHS: [usize; 2] = [64, 100_003];

/// The article's kernels, and the library's default.
const KERNELS: [&Variant; 5] = [
    &reverse::STATIC,
    &reverse::STATIC_RAW,
    &reverse::DYNAMIC,
    &reverse::DYNAMIC_RAW,
    &reverse::DIRECT,
];

pub(super) fn run(device: &Device, outcome: &mut Outcome<'_>) -> Result<(), DemoError> {
    for length in LENGTHS {
        let input = Array1::from_shape_fn(length, |i| i as u32);
        let buffer = device.upload(input.as_slice().unwrap_or(&[]))?;
        let mut output = device.zeros::<u32>(length)?;
        for kernel in KERNELS {
            let options = Options::of(kernel);
            output.fill_bytes(UNWRITTEN)?;
            let Some(execution) = reverse_buffers(device, &buffer, &mut output, &options)? else {
                continue;
            };
            let reversed = Array1::from_vec(output.to_vec()?);
            let comparison =
                compare::exactly(reversed.view(), oracle::reverse(input.view()).view())?;
            let row = Row::compared(
                "reverse",
                format!("{length} u32"),
                device,
                &execution,
                &comparison,
            );
            let work = (REVERSE.work)(&Problem::new(Type::U32, &[length]));
            let again = || reverse::enqueue(device, None, &buffer, &mut output, &options).map(drop);
            outcome.push(timed(row, device, work, Unit::Bytes, again)?);
        }
    }
    Ok(())
}
