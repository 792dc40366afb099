//! Convolutions of Rust's types: on buffers, and on `ndarray` views.

use blockwise::{Device, DeviceProperties, Stream, View, ViewMut};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Ix1, Ix2};

use super::{CONV, ConvMode, choice, problem};
use crate::operation::{self, Call, Options, Plan, Problem, Task, are_aligned};
use crate::{Execution, Float, LaunchError};

/// The options of a launch that may allocate nothing: without transforms, unless asked for.
fn without_memory(problem: &Problem, options: &Options, device: &DeviceProperties) -> Options {
    let task = Task::new(CONV.variants[0], problem, options, device);
    let kernel = options
        .kernel
        .unwrap_or_else(|| choice::without_memory(&task));
    Options {
        kernel: Some(kernel),
        ..*options
    }
}

/// There is always an output.
fn launched(plan: Option<Plan>) -> Result<Plan, LaunchError> {
    let what = "the output";
    plan.ok_or(LaunchError::EmptyInput { what })
}

/// Plans the convolution of `signal_len` with `taps_len` elements of type `T`, as [`enqueue`]
/// launches it.
///
/// # Errors
/// When an operand is empty, a size overflows, the kernel does not have the type or mode, or a
/// limit is exceeded.
pub fn plan<T: Float>(
    signal_len: usize,
    taps_len: usize,
    mode: ConvMode,
    options: &Options,
    properties: &DeviceProperties,
) -> Result<Plan, LaunchError> {
    let problem = problem(T::TYPE, [signal_len, taps_len], mode)?;
    let options = without_memory(&problem, options, properties);
    launched(operation::plan(&CONV, &problem, &options, properties)?)
}

/// Starts a convolution of n and m elements. `output` has [`ConvMode::outputs`] elements: n + m − 1
/// in mode full. By itself it takes no transforms, for which nothing may be allocated here: make a
/// [`Call`].
///
/// ```
/// use blockwise::Device;
/// use blockwise_ops::{ConvMode, LaunchError, Options, conv1d};
///
/// let device = Device::any()?;
/// let mut signal = device.upload(&[1.0_f32, 2.0, 3.0])?;
/// let taps = device.upload(&[0.5, 0.5])?;
/// let mut smooth = device.zeros(4)?;
/// let graph = device.graph(|stream| {
///     let (mode, options) = (ConvMode::Full, Options::default());
///     conv1d::enqueue(&device, Some(stream), &signal, &taps, &mut smooth, mode, &options).map(drop)
/// })?;
/// graph.launch()?;
/// assert_eq!(smooth.to_vec()?, [0.5, 1.5, 2.5, 1.5]);
/// signal.copy_from_slice(&[3.0, 2.0, 1.0])?;
/// graph.launch()?;
/// assert_eq!(smooth.to_vec()?, [1.5, 2.5, 1.5, 0.5]);
/// # Ok::<(), LaunchError>(())
/// ```
///
/// # Errors
/// Those of [`plan`], an output of the wrong length, and failures of the device.
pub fn enqueue<'a, T: Float>(
    device: &Device,
    stream: Option<&Stream>,
    signal: impl Into<View<'a, T>>,
    taps: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, T>>,
    mode: ConvMode,
    options: &Options,
) -> Result<Plan, LaunchError> {
    let (signal, taps) = (signal.into(), taps.into());
    let problem = problem(T::TYPE, [signal.len(), taps.len()], mode)?;
    let options = without_memory(&problem, options, device.properties());
    let inputs = [signal.into(), taps.into()];
    let output = output.into().into();
    launched(operation::enqueue(
        device, stream, &CONV, &problem, &options, &inputs, output,
    )?)
}

/// Convolves two operands on the device, and waits: by transforms too, whose memory is allocated
/// before the time is taken.
///
/// # Errors
/// Those of [`plan`], an output of the wrong length, and failures of the device.
pub fn convolve_buffers<'a, T: Float>(
    device: &Device,
    signal: impl Into<View<'a, T>>,
    taps: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, T>>,
    mode: ConvMode,
    options: &Options,
) -> Result<Execution, LaunchError> {
    let (signal, taps) = (signal.into(), taps.into());
    let problem = problem(T::TYPE, [signal.len(), taps.len()], mode)?;
    let options = Options {
        once: true,
        ..*options
    };
    let mut call = Call::new(device, &CONV, options);
    let inputs = [signal.into(), taps.into()];
    let output = output.into().into();
    call.prepare(&problem, are_aligned(&inputs, &output))?;
    Execution::of(device, || {
        let plan = call.enqueue(None, &problem, &inputs, output)?;
        launched(plan).map(|plan| plan.launch)
    })
}

/// Convolves `signal` with `taps`: y\[i\] = Σ taps\[k\] · signal\[i − k\], as `numpy.convolve`
/// does.
///
/// ```
/// use blockwise::Device;
/// use blockwise_ops::{ConvMode, Options, convolve};
/// use ndarray::array;
///
/// let device = Device::any()?;
/// let (signal, taps) = (array![1.0, 2.0, 3.0], array![0.5, 0.5]);
/// let smooth = convolve(&device, signal.view(), taps.view(), ConvMode::Full, &Options::default())?;
/// assert_eq!(smooth, array![0.5, 1.5, 2.5, 1.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`convolve_buffers`].
pub fn convolve<T: Float>(
    device: &Device,
    signal: ArrayView1<'_, T>,
    taps: ArrayView1<'_, T>,
    mode: ConvMode,
    options: &Options,
) -> Result<Array1<T>, LaunchError> {
    let inputs = [signal.into_dyn(), taps.into_dyn()];
    let result = operation::array(device, &CONV, &mode.given(), options, &inputs)?;
    let what = "the output";
    (result.into_dimensionality::<Ix1>()).map_err(|_| LaunchError::SizeOverflow { what })
}

/// Convolves each row of `signal` with the row of `taps` of the same number, or with the only one:
/// [`convolve`] row by row, in one launch. `signal` has n columns, `taps` m, the result
/// [`ConvMode::outputs`]. The signal may have one row too, for several rows of taps.
///
/// ```
/// use blockwise::Device;
/// use blockwise_ops::{ConvMode, Options, convolve_rows};
/// use ndarray::array;
///
/// let device = Device::any()?;
/// let signals = array![[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]];
/// let options = Options::default();
/// let smooth = array![[0.5, 0.5]];
/// let result = convolve_rows(&device, signals.view(), smooth.view(), ConvMode::Full, &options)?;
/// assert_eq!(result, array![[0.5, 1.5, 2.5, 1.5], [5.0, 15.0, 25.0, 15.0]]);
/// // A filter for each row.
/// let each = array![[1.0], [0.1]];
/// let result = convolve_rows(&device, signals.view(), each.view(), ConvMode::Same, &options)?;
/// assert_eq!(result, array![[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Different numbers of rows, neither of which is 1, rows without elements, limits that are broken,
/// and what goes wrong on the device.
pub fn convolve_rows<T: Float>(
    device: &Device,
    signal: ArrayView2<'_, T>,
    taps: ArrayView2<'_, T>,
    mode: ConvMode,
    options: &Options,
) -> Result<Array2<T>, LaunchError> {
    let inputs = [signal.into_dyn(), taps.into_dyn()];
    let result = operation::array(device, &CONV, &mode.given(), options, &inputs)?;
    let what = "the output";
    (result.into_dimensionality::<Ix2>()).map_err(|_| LaunchError::SizeOverflow { what })
}
