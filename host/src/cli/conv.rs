//! `blockwise conv`.

use std::path::{Path, PathBuf};

use clap::Args;
use ndarray::{Array1, Array2, ArrayView1, Axis};
use serde_json::json;

use super::failure::Failure;
use super::operand::{self, ArrayOutput, Holds, Reference};
use super::report::{self, Report};
use super::{Global, names};
use crate::device::Device;
use crate::io::{self, Content, Data, FileError, Format, OutputFile, Recording};
use crate::launch::{self, ConvKernel, ConvMode, ConvOptions};
use crate::oracle::{self, Expected, Precision};

#[derive(Args)]
pub(super) struct Arguments {
    /// The signal: a vector (.npy, .csv) or a recording (.wav, each channel by itself)
    signal: PathBuf,
    /// The taps: a vector (.npy, .csv). Unlike types and integers are promoted to float64; a recording is float64, in the
    /// file's own units
    taps: PathBuf,
    /// Where to write the result (.npy, .csv; .wav keeps a recording's format and sample rate)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Which outputs, as in numpy.convolve
    #[arg(long, default_value = "same", value_parser = names(ConvMode::ALL))]
    mode: ConvMode,
    /// The kernel; without it, `tiled` when its shared memory fits, else `direct`
    #[arg(long, value_parser = names(ConvKernel::ALL))]
    kernel: Option<ConvKernel>,
    #[command(flatten)]
    reference: Reference,
}

impl Arguments {
    fn options(&self) -> ConvOptions {
        ConvOptions {
            kernel: self.kernel,
            ..ConvOptions::default()
        }
    }
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    let signal = io::read(&arguments.signal)?;
    let taps = operand::array(&arguments.taps)?;
    match signal {
        Content::Recording(recording) => {
            let taps = operand::vector(taps.to_f64(), &arguments.taps)?;
            convolve_recording(global, arguments, recording, taps)
        }
        Content::Array(signal) => {
            let (signal, taps) = operand::promote(signal, taps);
            match (operand::floats(signal), operand::floats(taps)) {
                (Data::F32(signal), Data::F32(taps)) => convolve_array(
                    global,
                    arguments,
                    operand::vector(signal, &arguments.signal)?,
                    operand::vector(taps, &arguments.taps)?,
                ),
                (signal, taps) => convolve_array(
                    global,
                    arguments,
                    operand::vector(signal.to_f64(), &arguments.signal)?,
                    operand::vector(taps.to_f64(), &arguments.taps)?,
                ),
            }
        }
    }
}

fn convolve_array<T: Precision>(
    global: &Global,
    arguments: &Arguments,
    signal: Array1<T>,
    taps: Array1<T>,
) -> Result<Report, Failure>
where
    Data: Holds<T>,
{
    let reference = arguments.reference.read()?;
    let output = ArrayOutput::prepare(&arguments.output)?;
    let device = global.open()?;
    let result = launch::convolve(
        &device,
        signal.view(),
        taps.view(),
        arguments.mode,
        &arguments.options(),
    )?;
    let report = written(&device, &arguments.output, result.shape(), T::NAME);
    let report = match reference {
        None => report,
        Some((name, data)) => {
            let mut oracle = oracle::convolve(signal.view(), taps.view(), arguments.mode);
            // SciPy takes the FFT for long operands by itself.
            oracle.tolerance += oracle::fft_error(signal.view(), taps.view());
            let comparison = arguments.reference.compare(result.view(), &data, oracle)?;
            report.comparison(&name, &comparison)
        }
    };
    output.write(&Data::wrap(result.into_dyn()))?;
    Ok(report)
}

fn convolve_recording(
    global: &Global,
    arguments: &Arguments,
    recording: Recording,
    taps: Array1<f64>,
) -> Result<Report, Failure> {
    let reference = read_reference(arguments)?;
    let format = Format::of(&arguments.output)?;
    let output = OutputFile::prepare(&arguments.output)?;
    let device = global.open()?;
    let mut channels = Vec::new();
    for channel in recording.channels.rows() {
        channels.push(launch::convolve(
            &device,
            channel,
            taps.view(),
            arguments.mode,
            &arguments.options(),
        )?);
    }
    let views: Vec<_> = channels.iter().map(|channel| channel.view()).collect();
    let result = stack(&views)?;

    let unwritable = |reason| FileError::Unwritable {
        path: arguments.output.clone(),
        reason,
    };
    let mut shape = result.shape().to_vec();
    let bytes = if format == Format::Wav {
        let filtered = Recording {
            channels: result.clone(),
            spec: recording.spec,
        };
        let (bytes, clipped) = io::encode_wav(&filtered).map_err(unwritable)?;
        if clipped > 0 {
            report::note(&format!(
                "warning: {clipped} samples were outside the format's range and are clipped"
            ));
        }
        bytes
    } else {
        let frames = Data::F64(frames(&result));
        shape = frames.shape().to_vec();
        io::encode(&frames, format).map_err(unwritable)?
    };
    let report = match format {
        Format::Wav => sound(&device, &arguments.output, &shape, &recording),
        Format::Npy | Format::Csv => written(&device, &arguments.output, &shape, "f64"),
    };
    let Some(reference) = reference else {
        output.write(&bytes)?;
        return Ok(report);
    };
    let expected: Vec<Expected<_>> = recording
        .channels
        .rows()
        .into_iter()
        .map(|channel| {
            let mut expected = oracle::convolve(channel, taps.view(), arguments.mode);
            expected.tolerance += oracle::fft_error(channel, taps.view());
            expected
        })
        .collect();
    let rows: Vec<_> = expected
        .iter()
        .map(|channel| channel.tolerance.view())
        .collect();
    let mut tolerance = stack(&rows)?;
    let mut result = result;
    if let Some((lowest, highest)) = reference.integers {
        // Whoever wrote integers clipped, and rounded or cut off: up to one unit away, of which the comparison doubles the half.
        result.mapv_inplace(|sample| sample.clamp(lowest, highest));
        tolerance += 0.5;
    }
    let oracle = Expected {
        values: result.clone(),
        tolerance,
    };
    let comparison = arguments
        .reference
        .compare(result.view(), &reference.rows, oracle)?;
    output.write(&bytes)?;
    Ok(report.comparison(&reference.name, &comparison))
}

/// One row for each channel.
fn stack(channels: &[ArrayView1<'_, f64>]) -> Result<Array2<f64>, Failure> {
    ndarray::stack(Axis(0), channels).map_err(|error| Failure::new(error.to_string()))
}

/// Samples as other programs keep them: a vector for one channel, else one row for each moment.
fn frames(channels: &Array2<f64>) -> ndarray::ArrayD<f64> {
    match channels.nrows() {
        1 => channels.row(0).to_owned().into_dyn(),
        _ => channels.t().as_standard_layout().into_owned().into_dyn(),
    }
}

/// What a recording's result is compared with.
struct RecordingReference {
    name: String,
    /// One row for each channel, in the precision that the reference was kept in.
    rows: Data,
    /// The range of its integers, if it is a recording of integers.
    integers: Option<(f64, f64)>,
}

/// The reference, whether it is a recording, a vector or rows of frames.
fn read_reference(arguments: &Arguments) -> Result<Option<RecordingReference>, Failure> {
    let Some(path) = arguments.reference.path() else {
        return Ok(None);
    };
    let (rows, integers) = match io::read(path)? {
        Content::Recording(recording) => {
            let range = recording.integer_range();
            (in_precision(recording.channels, range.is_none()), range)
        }
        Content::Array(data) => {
            let is_f32 = matches!(data, Data::F32(_));
            (in_precision(by_channel(data, path)?, is_f32), None)
        }
    };
    Ok(Some(RecordingReference {
        name: path.display().to_string(),
        rows,
        integers,
    }))
}

/// The rows as float32 again, if they were.
fn in_precision(rows: Array2<f64>, is_f32: bool) -> Data {
    match is_f32 {
        true => Data::F32(rows.mapv(|sample| sample as f32).into_dyn()),
        false => Data::F64(rows.into_dyn()),
    }
}

fn by_channel(data: Data, path: &Path) -> Result<Array2<f64>, Failure> {
    let values = data.to_f64();
    if values.ndim() == 1 {
        return Ok(operand::vector(values, path)?.insert_axis(Axis(0)));
    }
    Ok(operand::matrix(values, path)?
        .reversed_axes()
        .as_standard_layout()
        .into_owned())
}

fn sound(device: &Device, output: &Path, shape: &[usize], recording: &Recording) -> Report {
    let (spec, frames) = (recording.spec, shape[1]);
    let kind = match recording.integer_range() {
        Some(_) => "integers",
        None => "floats",
    };
    let channels = match spec.channels {
        1 => "1 channel".to_owned(),
        count => format!("{count} channels"),
    };
    let text = format!(
        "{}: {frames} samples, {channels}, {} Hz, {}-bit {kind}",
        output.display(),
        spec.sample_rate,
        spec.bits_per_sample
    );
    let json = json!({ "command": "conv", "output": output.display().to_string(), "shape": [frames, spec.channels], "sample_rate": spec.sample_rate, "bits_per_sample": spec.bits_per_sample, "device": device.properties().name });
    Report::new(text, json)
}

fn written(device: &Device, output: &Path, shape: &[usize], ty: &str) -> Report {
    let text = format!("{}: {shape:?} {ty}", output.display());
    let json = json!({ "command": "conv", "output": output.display().to_string(), "shape": shape, "type": ty, "device": device.properties().name });
    Report::new(text, json)
}
