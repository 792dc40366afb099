//! `blockwise conv`.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use blockwise_mesh::{Funnel, Mesh, Split};
use blockwise_ops::{ConvKernel, ConvMode, ConvOptions};
use clap::Args;
use serde_json::json;

use super::conv_choice::Choice;
use super::conv_operands::{Frames, Operands, Sample, Taps};
use super::conv_reference::{self, Check};
use super::failure::Failure;
use super::mesh::{self, Gpus};
use super::operand::{self, ArrayOutput, Chunk, Reference};
use super::report::{self, Report};
use super::seconds::{Seconds, timed};
use super::{Global, conv_part, names};
use crate::io::{
    ArrayWriter, Finished, Format, Kind, Metadata, OutputFile, RecordingWriter, Sound,
};

#[derive(Args)]
pub(super) struct Arguments {
    /// The signal: a vector (.npy, .csv) or a recording (.wav, each channel by itself)
    signal: PathBuf,
    /// The taps: a vector (.npy, .csv), or a recording of an impulse response (.wav, one channel for
    /// all or one for each; full scale is 1). Unlike types and integers are promoted to float64; a
    /// recording is float64, a signal's in the file's own units
    taps: PathBuf,
    /// Where to write the result (.npy, .csv; .wav keeps a recording's format and sample rate)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Which outputs, as in numpy.convolve
    #[arg(long, default_value = "same", value_parser = names(ConvMode::ALL))]
    pub(super) mode: ConvMode,
    /// The kernel; without it, the fastest for these numbers of samples and taps
    #[arg(long, value_parser = names(ConvKernel::ALL))]
    kernel: Option<ConvKernel>,
    #[command(flatten)]
    pub(super) chunk: Chunk,
    #[command(flatten)]
    gpus: Gpus,
    #[command(flatten)]
    reference: Reference,
}

impl Arguments {
    pub(super) fn options(&self) -> ConvOptions {
        ConvOptions {
            kernel: self.kernel,
            ..ConvOptions::default()
        }
    }
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    let signal = Frames::signal(operand::open(&arguments.signal)?)?;
    let taps = Frames::signal(operand::open(&arguments.taps)?)?;
    // A recording is float64, whatever its coding.
    let is_f32 = |frames: &Frames| frames.kind() == Kind::F32 && frames.sound().is_none();
    if is_f32(&signal) && is_f32(&taps) {
        let taps = Taps::read(taps, &signal)?;
        convolve::<f32>(global, arguments, Operands::new(signal, taps)?)
    } else {
        let taps = Taps::read(taps, &signal)?;
        convolve::<f64>(global, arguments, Operands::new(signal, taps)?)
    }
}

fn convolve<T: Sample>(
    global: &Global,
    arguments: &Arguments,
    operands: Operands<T>,
) -> Result<Report, Failure> {
    let mesh = global.mesh(&arguments.gpus)?;
    let lengths = [operands.long_len(), operands.short(0).len()];
    let whole = (arguments.mode).outputs(lengths[0], lengths[1])?;
    let properties = mesh.devices()[0].properties();
    let choice = Choice::of::<T>(lengths, arguments.mode, &arguments.options(), properties)?;
    if mesh.first() == 0
        && let Some(largest) = operands.largest_integer_sum()?
    {
        operand::notice_of_integers(largest);
    }
    // Rank 0 writes; the other ranks send it their outputs.
    let sink = match mesh.first() {
        0 => Some(Sink::prepare(
            arguments,
            &operands,
            whole.len,
            choice.is_fft(),
        )?),
        _ => None,
    };
    let sink = Mutex::new(sink);
    let take = |samples: &[T]| {
        let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
        sink.as_mut().map_or(Ok(()), |sink| sink.take(samples))
    };
    let outputs = Split::even(whole.len, mesh.ranks());
    let seconds = mesh.run_with(
        |_| Ok(operands.again()),
        |rank, operands| {
            let lengths = [
                operands.long_len(),
                operands.short(0).len(),
                operands.channels(),
            ];
            rank.agree(&format!("conv --mode {}", arguments.mode), &lengths)?;
            let part = outputs.range(rank.number());
            let pieces = Funnel::begin(rank);
            if rank.number() > 0 {
                let send = |samples: &[T]| Ok(pieces.send(rank, samples)?);
                let seconds = conv_part::compute(rank, arguments, operands, part, send)?;
                pieces.end(rank)?;
                // Their outputs go to rank 0.
                return Ok(Seconds {
                    links: seconds.writing,
                    writing: None,
                    ..seconds
                });
            }
            let mut seconds = conv_part::compute(rank, arguments, operands, part, take)?;
            let (mut links, mut writing) = (0.0, seconds.writing.unwrap_or_default());
            for from in 1..rank.ranks() {
                while let Some(samples) = timed(&mut links, || pieces.receive(rank, from))? {
                    timed(&mut writing, || take(&samples))?;
                }
                (seconds.links, seconds.writing) = (Some(links), Some(writing));
            }
            Ok::<_, Failure>(seconds)
        },
    )?;
    let seconds = Seconds::longest(seconds);
    seconds.notice();
    match sink.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(sink) => {
            if let Some(line) = choice.line(mesh.devices()[0].properties().kind) {
                report::notice(&line);
            }
            let report = sink.finish(&mesh, &arguments.output, seconds)?;
            Ok(report.with("choice", choice.json()))
        }
        None => Ok(Report::silent()),
    }
}

/// The destination of the outputs.
struct Sink<'a, T: Sample> {
    writer: Writer,
    check: Option<Check<'a, T>>,
    shape: Vec<usize>,
    /// The format of the recording, if it is one.
    recording: Option<Sound>,
}

impl<'a, T: Sample> Sink<'a, T> {
    fn prepare(
        arguments: &'a Arguments,
        operands: &Operands<T>,
        outputs: usize,
        by_fft: bool,
    ) -> Result<Self, Failure> {
        let check = Check::prepare(&arguments.reference, operands, arguments.mode, by_fft)?;
        let place = Place::prepare(&arguments.output, operands.sound())?;
        let shape = conv_reference::shape(outputs, operands.channels());
        let metadata = operands.metadata(outputs)?;
        Ok(Self {
            check,
            recording: place.recording(),
            writer: place.create::<T>(&shape, metadata)?,
            shape,
        })
    }

    /// Writes the next samples, and compares them.
    fn take(&mut self, samples: &[T]) -> Result<(), Failure> {
        self.writer.write(samples)?;
        match &mut self.check {
            Some(check) => check.add(samples),
            None => Ok(()),
        }
    }

    /// Finishes the output file.
    fn finish(self, mesh: &Mesh, output: &Path, seconds: Seconds) -> Result<Report, Failure> {
        let finished = self.writer.finish()?;
        let report = match self.recording {
            Some(sound) => recorded(mesh, output, &self.shape, sound, finished),
            None => written(mesh, output, &self.shape, T::NAME),
        };
        let report = report.with("seconds", json!(seconds));
        Ok(match self.check {
            Some(check) => check.report(report),
            None => report,
        })
    }
}

/// The destination of the result, and its format.
enum Place {
    Array(ArrayOutput),
    Recording(OutputFile, Sound),
}

impl Place {
    /// Reserves the destination before the computation.
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

    /// The format of the recording, if it is one.
    fn recording(&self) -> Option<Sound> {
        match self {
            Self::Array(_) => None,
            Self::Recording(_, sound) => Some(*sound),
        }
    }

    fn create<T: Sample>(self, shape: &[usize], metadata: Metadata) -> Result<Writer, Failure> {
        Ok(match self {
            Self::Array(output) => Writer::Array(output.create(shape, T::KIND)?),
            Self::Recording(place, sound) => {
                let frames = shape.first().copied().unwrap_or(0);
                if !metadata.left_out.is_empty() {
                    report::notice(&format!(
                        "left out of the output, where it would not stay true or is in another order of bytes: {}",
                        metadata.left_out.join(", ")
                    ));
                }
                Writer::Recording(RecordingWriter::create(place, sound, frames, metadata)?)
            }
        })
    }
}

/// A result being written to a file.
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

    /// Finishes the output file.
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
    mesh: &Mesh,
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
    let json = json!({ "command": "conv", "output": output.display().to_string(), "shape": [frames, usize::from(sound.channels)], "sample_rate": sound.sample_rate, "bits_per_sample": sound.bits(), "clipped": clipped, "beyond_full_scale": beyond_full_scale, "device": mesh::names(mesh) });
    Report::new(text, json)
}

fn written(mesh: &Mesh, output: &Path, shape: &[usize], ty: &str) -> Report {
    let text = format!("{}: {shape:?} {ty}", output.display());
    let json = json!({ "command": "conv", "output": output.display().to_string(), "shape": shape, "type": ty, "device": mesh::names(mesh) });
    Report::new(text, json)
}
