//! `blockwise conv`.

use std::path::{Path, PathBuf};

use blockwise::Device;
use blockwise_ops::pipeline::Convolver;
use blockwise_ops::{ConvKernel, ConvMode, ConvOptions};
use clap::Args;
use serde_json::json;

use super::conv_operands::{Frames, Operands, Sample};
use super::conv_reference::{self, Check};
use super::failure::Failure;
use super::operand::{self, ArrayOutput, Chunk, Reference};
use super::report::{self, Report};
use super::{Global, names, progress};
use crate::io::{
    ArrayWriter, Data, Finished, Format, Kind, OutputFile, Reader, RecordingWriter, Sound,
};

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
    /// The kernel; without it, the fastest for these numbers of samples and taps
    #[arg(long, value_parser = names(ConvKernel::ALL))]
    kernel: Option<ConvKernel>,
    #[command(flatten)]
    chunk: Chunk,
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
    let signal = Frames::signal(Reader::open(&arguments.signal)?)?;
    let taps = operand::array(&arguments.taps)?;
    match taps {
        // A recording is float64 whatever it is kept in.
        Data::F32(taps) if signal.kind() == Kind::F32 && signal.sound().is_none() => {
            let taps = operand::vector(taps, &arguments.taps)?;
            convolve::<f32>(global, arguments, Operands::new(signal, taps.to_vec())?)
        }
        taps => {
            let taps = operand::vector(taps.to_f64(), &arguments.taps)?;
            convolve::<f64>(global, arguments, Operands::new(signal, taps.to_vec())?)
        }
    }
}

fn convolve<T: Sample>(
    global: &Global,
    arguments: &Arguments,
    mut operands: Operands<T>,
) -> Result<Report, Failure> {
    let mut check = Check::prepare(&arguments.reference, &operands, arguments.mode)?;
    let place = Place::prepare(&arguments.output, operands.sound())?;
    let device = global.open()?;
    let channels = operands.channels();
    let mut convolvers = Vec::new();
    for channel in 0..channels {
        convolvers.push(Convolver::new(
            &device,
            operands.long_len(),
            operands.short(channel),
            arguments.mode,
            &arguments.options(),
            arguments.chunk.chunk,
        )?);
    }
    let Some(first) = convolvers.first() else {
        return Err(Failure::new("a signal without channels"));
    };
    let shape = conv_reference::shape(first.output_len(), channels);
    let recording = place.recording();
    let mut writer = place.create::<T>(&shape)?;
    let mut take = |outputs: &[Vec<T>]| {
        let samples = interleaved(outputs);
        writer.write(&samples)?;
        match &mut check {
            Some(check) => check.add(&samples),
            None => Ok(()),
        }
    };
    let mut outputs = vec![Vec::new(); channels];
    let mut samples = Vec::new();
    let bar = progress::bar("convolving", operands.long_len());
    while let Some(len) = convolvers
        .first()
        .map(Convolver::next_len)
        .filter(|&len| len > 0)
    {
        samples.resize(len * channels, T::default());
        operands.read(&mut samples)?;
        for (channel, (convolver, outputs)) in convolvers.iter_mut().zip(&mut outputs).enumerate() {
            outputs.clear();
            convolver.push(
                |window| {
                    let of_channel = samples.iter().skip(channel).step_by(channels);
                    (window.iter_mut().zip(of_channel)).for_each(|(to, &from)| *to = from);
                    Ok::<_, Failure>(())
                },
                |chunk| {
                    outputs.extend_from_slice(chunk);
                    Ok(())
                },
            )?;
        }
        take(&outputs)?;
        bar.inc(len as u64);
    }
    bar.finish_and_clear();
    for (convolver, outputs) in convolvers.into_iter().zip(&mut outputs) {
        outputs.clear();
        convolver.finish(|chunk| {
            outputs.extend_from_slice(chunk);
            Ok::<_, Failure>(())
        })?;
    }
    take(&outputs)?;
    let finished = writer.finish()?;
    let report = match recording {
        Some(sound) => recorded(&device, &arguments.output, &shape, sound, finished),
        None => written(&device, &arguments.output, &shape, T::NAME),
    };
    Ok(match check {
        Some(check) => check.report(report),
        None => report,
    })
}

/// Sample after sample of each frame, from one vector for each channel.
fn interleaved<T: Sample>(channels: &[Vec<T>]) -> Vec<T> {
    let frames = channels.first().map_or(0, Vec::len);
    (0..frames)
        .flat_map(|frame| channels.iter().map(move |channel| channel[frame]))
        .collect()
}

/// Where the result goes, and as what.
enum Place {
    Array(ArrayOutput),
    Recording(OutputFile, Sound),
}

impl Place {
    /// Takes the place before the computation.
    fn prepare(path: &Path, sound: Option<Sound>) -> Result<Self, Failure> {
        let Some(sound) = sound else {
            return Ok(Self::Array(ArrayOutput::prepare(path)?));
        };
        let place = OutputFile::prepare(path)?;
        Ok(match Format::of_output(path, &place, Format::Wav)? {
            Format::Wav => Self::Recording(place, sound),
            format => Self::Array(ArrayOutput::new(place, format)),
        })
    }

    /// The form of the recording, if it is one.
    fn recording(&self) -> Option<Sound> {
        match self {
            Self::Array(_) => None,
            Self::Recording(_, sound) => Some(*sound),
        }
    }

    fn create<T: Sample>(self, shape: &[usize]) -> Result<Writer, Failure> {
        Ok(match self {
            Self::Array(output) => Writer::Array(output.create(shape, T::KIND)?),
            Self::Recording(place, sound) => {
                let frames = shape.first().copied().unwrap_or(0);
                Writer::Recording(RecordingWriter::create(place, sound, frames)?)
            }
        })
    }
}

/// A result on its way into a file.
enum Writer {
    Array(ArrayWriter),
    Recording(RecordingWriter),
}

impl Writer {
    fn write<T: Sample>(&mut self, samples: &[T]) -> Result<(), Failure> {
        match self {
            Self::Array(writer) => writer.write(samples)?,
            Self::Recording(writer) => {
                let samples: Vec<f64> = samples.iter().map(|&sample| sample.into()).collect();
                writer.write(&samples)?;
            }
        }
        Ok(())
    }

    /// Puts the output in place.
    fn finish(self) -> Result<Finished, Failure> {
        Ok(match self {
            Self::Array(writer) => {
                writer.finish()?;
                Finished::default()
            }
            Self::Recording(writer) => writer.finish()?,
        })
    }
}

fn recorded(
    device: &Device,
    output: &Path,
    shape: &[usize],
    sound: Sound,
    Finished {
        clipped,
        beyond_full_scale,
    }: Finished,
) -> Report {
    if clipped > 0 {
        report::notice(&format!(
            "warning: {clipped} samples were outside the format's range and are clipped"
        ));
    }
    if beyond_full_scale > 0 {
        report::notice(&format!(
            "warning: {beyond_full_scale} samples are beyond full scale (±1), which players clip"
        ));
    }
    let frames = shape.first().copied().unwrap_or(0);
    let kind = match sound.integer_range() {
        Some(_) => "integers",
        None => "floats",
    };
    let channels = match sound.channels {
        1 => "1 channel".to_owned(),
        count => format!("{count} channels"),
    };
    let text = format!(
        "{}: {frames} samples, {channels}, {} Hz, {}-bit {kind}",
        output.display(),
        sound.sample_rate,
        sound.bits()
    );
    let json = json!({ "command": "conv", "output": output.display().to_string(), "shape": [frames, usize::from(sound.channels)], "sample_rate": sound.sample_rate, "bits_per_sample": sound.bits(), "clipped": clipped, "beyond_full_scale": beyond_full_scale, "device": device.properties().name });
    Report::new(text, json)
}

fn written(device: &Device, output: &Path, shape: &[usize], ty: &str) -> Report {
    let text = format!("{}: {shape:?} {ty}", output.display());
    let json = json!({ "command": "conv", "output": output.display().to_string(), "shape": shape, "type": ty, "device": device.properties().name });
    Report::new(text, json)
}
