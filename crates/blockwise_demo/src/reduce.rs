//! The Julia document's dot product, and sum, minimum and maximum.

use blockwise::{Device, View};
use blockwise_ops::compare;
use blockwise_ops::operation::{Operation, Problem};
use blockwise_ops::oracle;
use blockwise_ops::reduce::{
    DOT, KERNELS, MAX, MIN, Number, Partials, SUM, WIDE, dot_buffers, enqueue, plan, reduce_buffer,
    sum_error,
};
use blockwise_ops::{Options, Reduction};
use ndarray::{Array1, arr0};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::row::Row;
use super::speed::Unit;
use super::timed::timed;
use super::{DemoError, Outcome};

/// N of the document.
const LENGTH: i64 = 33 * 1024;
/// Its launch: 256 threads, at most 32 blocks.
const THREADS: u32 = 256;
const BLOCKS: u32 = 32;
/// Σ i·2i for i = 1…N is 2·N(N + 1)(2N + 1)/6.
const CLOSED_FORM: i64 = 25_725_848_529_920;
/// Its sum is 139264.002.
const TENTHS: usize = 1_392_640;

pub(super) fn run(device: &Device, outcome: &mut Outcome<'_>) -> Result<(), DemoError> {
    let a: Vec<i64> = (1..=LENGTH).collect();
    let b: Vec<i64> = a.iter().map(|i| 2 * i).collect();
    let (a_buffer, b_buffer) = (device.upload(&a)?, device.upload(&b)?);
    for kernel in KERNELS {
        let options = Options {
            threads: Some(THREADS),
            grid_cap: Some(BLOCKS),
            ..Options::of(kernel)
        };
        let (value, execution) = dot_buffers(device, &a_buffer, &b_buffer, &options)?;
        // The result against the closed form, and the closed form against plain sums.
        let (exact, wrapped) = oracle::dot_i64(a.as_slice().into(), b.as_slice().into());
        let mut comparison = compare::exactly(arr0(value).view(), arr0(CLOSED_FORM).view())?;
        comparison.mismatches +=
            usize::from(exact != i128::from(CLOSED_FORM) || wrapped != CLOSED_FORM);
        let row = Row::compared(
            &format!("dot = {value}"),
            format!("{LENGTH} i64"),
            device,
            &execution,
            &comparison,
        );
        let inputs = [(&a_buffer).into(), (&b_buffer).into()];
        outcome.push(measured(row, device, &DOT, &inputs, &options)?);
    }
    floats(device, outcome)?;
    tenths(device, outcome)
}

/// Random floats, a prime number of them.
fn floats(device: &Device, outcome: &mut Outcome<'_>) -> Result<(), DemoError> {
    let mut random = StdRng::seed_from_u64(3);
    let mut vector = || Array1::from_shape_fn(100_003, |_| random.random_range(-1.0_f32..1.0));
    let (x, y) = (vector(), vector());
    let size = format!("{} f32", x.len());
    let (x_buffer, y_buffer) = (
        device.upload(x.as_slice().unwrap_or(&[]))?,
        device.upload(y.as_slice().unwrap_or(&[]))?,
    );
    for kernel in KERNELS {
        let options = Options::of(kernel);
        let properties = device.properties();
        let error = |of| sum_error::<f32>(of, x.len(), &options, properties);
        let (value, execution) = dot_buffers(device, &x_buffer, &y_buffer, &options)?;
        let comparison = compare::with_oracle(
            arr0(value).view(),
            &oracle::dot(x.view(), y.view(), error(&DOT)?),
        )?;
        let row = Row::compared("dot, random", &size, device, &execution, &comparison);
        let inputs = [(&x_buffer).into(), (&y_buffer).into()];
        outcome.push(measured(row, device, &DOT, &inputs, &options)?);
        for &reduction in Reduction::ALL {
            let (value, execution) = reduce_buffer(device, &x_buffer, reduction, &options)?;
            let value = arr0(value);
            let comparison = match reduction {
                Reduction::Sum => {
                    compare::with_oracle(value.view(), &oracle::sum(x.view(), error(&SUM)?))?
                }
                Reduction::Min => compare::exactly(
                    value.view(),
                    arr0(oracle::min(x.view()).unwrap_or(f32::NAN)).view(),
                )?,
                Reduction::Max => compare::exactly(
                    value.view(),
                    arr0(oracle::max(x.view()).unwrap_or(f32::NAN)).view(),
                )?,
            };
            let experiment = format!("{reduction}, random");
            let row = Row::compared(&experiment, &size, device, &execution, &comparison);
            let of = match reduction {
                Reduction::Sum => &SUM,
                Reduction::Min => &MIN,
                Reduction::Max => &MAX,
            };
            outcome.push(measured(row, device, of, &[(&x_buffer).into()], &options)?);
        }
    }
    Ok(())
}

/// The same float so often that sums in `f32` drift: 140084.78 one after the other. The default
/// kernel's is the `f32` next to the exact one.
fn tenths(device: &Device, outcome: &mut Outcome<'_>) -> Result<(), DemoError> {
    let x = vec![0.1_f32; TENTHS];
    let buffer = device.upload(&x)?;
    let options = Options::of(&WIDE);
    let (value, execution) = reduce_buffer(device, &buffer, Reduction::Sum, &options)?;
    // Exact as `f64`: 24 bits times 21.
    let exact = (f64::from(x[0]) * TENTHS as f64) as f32;
    let comparison = compare::exactly(arr0(value).view(), arr0(exact).view())?;
    let size = format!("{TENTHS} f32");
    let row = Row::compared("sum of tenths", size, device, &execution, &comparison);
    outcome.push(measured(row, device, &SUM, &[(&buffer).into()], &options)?);
    Ok(())
}

/// The row with its speed, on a GPU.
fn measured<T: Number>(
    row: Row,
    device: &Device,
    of: &'static Operation,
    inputs: &[View<'_, T>],
    options: &Options,
) -> Result<Row, DemoError> {
    let len = inputs.first().map_or(0, View::len);
    let work = (of.work)(&Problem::new(T::TYPE, &[len]));
    let mut partials = Partials::alloc(device, &plan::<T>(of, len, options, device.properties())?)?;
    let again = || enqueue(device, None, of, inputs, &mut partials, options).map(drop);
    timed(row, device, work, Unit::Bytes, again)
}
