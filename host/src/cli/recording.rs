//! Recordings, for operations that take a signal: channels, rates, metadata and impulse responses.
//! The operation itself sees a vector for each channel.

use std::path::Path;

use blockwise::Type;
use blockwise_mesh::Mesh;
use blockwise_ops::oracle::Precision;
use serde_json::json;

use super::failure::Failure;
use super::mesh;
use super::operand::{self, ArrayOutput, other_shape};
use super::report::{self, Report};
use crate::io::{
    ArrayWriter, Contents, Finished, Format, Metadata, Number, OutputFile, Reader, RecordingWriter,
    Sound,
};

/// A type that signals are computed with.
pub(super) trait Sample: Precision + Number {}
impl Sample for f32 {}
impl Sample for f64 {}

/// A file read frame by frame; a frame is one sample for each channel.
pub(super) struct Frames {
    reader: Reader,
    channels: usize,
    frames: usize,
    /// Its format, if it is a recording.
    sound: Option<Sound>,
    /// The type to compute with.
    computed: Type,
}

impl Frames {
    /// A vector is one channel; a matrix has one row per frame.
    pub(super) fn of(reader: Reader) -> Result<Self, Failure> {
        let (shape, sound, computed) = match reader.contents() {
            Contents::Array(array) => (array.shape().to_vec(), None, array.computed()),
            Contents::Recording(recording) => {
                let sound = recording.sound();
                let shape = vec![recording.frames(), usize::from(sound.channels)];
                (shape, Some(sound), sound.coding.computed())
            }
        };
        let (frames, channels) = match shape[..] {
            [frames] => (frames, 1),
            [frames, channels] => (frames, channels),
            _ => return Err(other_shape(reader.path(), &shape, "a vector or a matrix")),
        };
        Ok(Self {
            reader,
            channels,
            frames,
            sound,
            computed,
        })
    }

    /// A signal or its taps: a vector or a recording, and not empty.
    pub(super) fn signal(reader: Reader) -> Result<Self, Failure> {
        match reader.contents() {
            Contents::Array(array) if array.shape().len() != 1 => {
                Err(other_shape(reader.path(), array.shape(), "a vector"))
            }
            _ => {
                let frames = Self::of(reader)?;
                match frames.frames {
                    0 => Err(Failure::new(format!(
                        "{} is empty: there is nothing to convolve",
                        frames.reader.path().display()
                    ))),
                    _ => Ok(frames),
                }
            }
        }
    }

    /// The same, rewound to its start.
    pub(super) fn again(&self) -> Self {
        Self {
            reader: self.reader.again(),
            ..*self
        }
    }

    pub(super) fn channels(&self) -> usize {
        self.channels
    }

    pub(super) fn frames(&self) -> usize {
        self.frames
    }

    pub(super) fn sound(&self) -> Option<Sound> {
        self.sound
    }

    /// The type of the samples: a recording's are float64, whatever its coding.
    pub(super) fn ty(&self) -> Type {
        match self.reader.contents() {
            Contents::Array(array) => array.stored(),
            Contents::Recording(_) => Type::F64,
        }
    }

    /// The largest relative error of one rounding to the samples' type.
    pub(super) fn unit_roundoff(&self) -> f64 {
        match self.reader.contents() {
            Contents::Array(array) => operand::unit_roundoff(array.stored()),
            Contents::Recording(_) => operand::unit_roundoff(self.computed),
        }
    }

    /// The next samples, frame by frame with all channels.
    pub(super) fn read<T: Number>(&mut self, samples: &mut [T]) -> Result<(), Failure> {
        Ok(self.reader.read(samples)?)
    }
}

/// The shape of frames in a file.
pub(super) fn shape(frames: usize, channels: usize) -> Vec<usize> {
    match channels {
        1 => vec![frames],
        _ => vec![frames, channels],
    }
}

/// The taps of each channel, or one list for all channels.
pub(super) struct Taps<T> {
    lists: Vec<Vec<T>>,
    /// Whether they are integers.
    integers: bool,
}

impl<T: Sample> Taps<T> {
    /// Reads taps for a signal: a vector, or a recording of an impulse response, whose samples are
    /// fractions of full scale.
    pub(super) fn read(mut taps: Frames, signal: &Frames) -> Result<Self, Failure> {
        let integers = taps.computed == Type::I64;
        let mut samples = vec![T::default(); taps.frames * taps.channels];
        taps.read(&mut samples)?;
        let name = taps.reader.path().display();
        if let Some(response) = taps.sound {
            let rate = response.sample_rate;
            if let Some(sound) = signal.sound
                && sound.sample_rate != rate
            {
                let other = signal.reader.path().display();
                return Err(Failure::new(format!(
                    "{name} has {rate} Hz, and {other} {} Hz: an impulse response is not resampled",
                    sound.sample_rate
                ))
                .hint(format!(
                    "resample it first: `ffmpeg -i IN -ar {} -c:a pcm_f64le OUT.wav`",
                    sound.sample_rate
                )));
            }
            if ![1, signal.channels].contains(&taps.channels) {
                return Err(Failure::new(format!(
                    "{name} has {} channels, and the signal {}",
                    taps.channels, signal.channels
                ))
                .hint("an impulse response has one channel for all, or one for each"));
            }
            // Full scale is 1.
            if let Some((lowest, _)) = response.integer_range() {
                for sample in &mut samples {
                    *sample = T::from_f64((*sample).into() / -lowest);
                }
            }
        } else if signal.sound.is_some()
            && let Some(at) = samples.iter().position(|&tap| !tap.into().is_finite())
        {
            // A recording contains finite samples only.
            let tap: f64 = samples[at].into();
            return Err(
                Failure::new(format!("{name}: tap {at} is {tap}, not a finite number"))
                    .hint("every sample that it meets would be lost"),
            );
        }
        let of_channel = |channel| samples.iter().skip(channel).step_by(taps.channels);
        let lists = (0..taps.channels).map(|channel| of_channel(channel).copied().collect());
        Ok(Self {
            lists: lists.collect(),
            integers,
        })
    }
}

/// The two operands of each channel. The longer one arrives frame by frame, the
/// other one is in memory.
pub(super) struct Operands<T> {
    channels: usize,
    /// The signal's file, its frames, and its format if it is a recording.
    source: (Reader, usize, Option<Sound>),
    long: Long<T>,
    /// One for each channel, or one for all.
    short: Vec<Vec<T>>,
    /// Whether both are integers.
    integers: bool,
}

enum Long<T> {
    Signal(Frames),
    /// One list per channel or one for all, and the number of frames read so far.
    Taps(Vec<Vec<T>>, usize),
}

impl<T: Sample> Operands<T> {
    /// A signal and its taps. A signal with fewer samples than taps is read into memory here.
    pub(super) fn new(mut signal: Frames, taps: Taps<T>) -> Result<Self, Failure> {
        let channels = signal.channels;
        let source = (signal.reader.again(), signal.frames, signal.sound);
        let integers = taps.integers && signal.computed == Type::I64;
        let (long, short) = if taps.lists[0].len() > signal.frames {
            let mut samples = vec![T::default(); signal.frames * channels];
            signal.read(&mut samples)?;
            let of_channel = |channel| samples.iter().skip(channel).step_by(channels);
            let short = (0..channels).map(|channel| of_channel(channel).copied().collect());
            (Long::Taps(taps.lists, 0), short.collect())
        } else {
            (Long::Signal(signal), taps.lists)
        };
        Ok(Self {
            channels,
            source,
            long,
            short,
            integers,
        })
    }

    /// The same, rewound to their start.
    pub(super) fn again(&self) -> Self {
        Self {
            channels: self.channels,
            source: (self.source.0.again(), self.source.1, self.source.2),
            long: match &self.long {
                Long::Signal(frames) => Long::Signal(frames.again()),
                Long::Taps(taps, _) => Long::Taps(taps.clone(), 0),
            },
            short: self.short.clone(),
            integers: self.integers,
        }
    }

    /// The largest possible magnitude of a sum of products, if both operands are integers. Reads
    /// the longer operand.
    pub(super) fn largest_integer_sum(&self) -> Result<Option<f64>, Failure> {
        /// Frames per read.
        const PIECE: usize = 1 << 16;
        if !self.integers {
            return Ok(None);
        }
        let mut operands = self.again();
        let (mut left, mut loudest) = (self.long_len(), 0.0);
        let mut samples = Vec::new();
        while left > 0 {
            let frames = left.min(PIECE);
            samples.resize(frames * self.channels, T::default());
            operands.read(&mut samples)?;
            let magnitudes = samples.iter().map(|&sample| sample.into().abs());
            loudest = magnitudes.fold(loudest, f64::max);
            left -= frames;
        }
        let gains = self.short.iter().map(|taps| {
            let magnitudes = taps.iter().map(|&tap| tap.into().abs());
            magnitudes.sum::<f64>()
        });
        Ok(Some(loudest * gains.fold(0.0, f64::max)))
    }

    pub(super) fn channels(&self) -> usize {
        self.channels
    }

    /// The format of a recording.
    pub(super) fn sound(&self) -> Option<Sound> {
        self.source.2
    }

    /// The recording's metadata for a result of `frames` frames. Marks are kept if the result has
    /// one frame for each of the recording's.
    pub(super) fn metadata(&self, frames: usize) -> Result<Metadata, Failure> {
        let (reader, of_signal, _) = &self.source;
        Ok(reader.metadata(frames == *of_signal)?)
    }

    /// Frames of the longer operand.
    pub(super) fn long_len(&self) -> usize {
        match &self.long {
            Long::Signal(frames) => frames.frames,
            Long::Taps(taps, _) => taps[0].len(),
        }
    }

    /// The shorter operand of a channel.
    pub(super) fn short(&self, channel: usize) -> &[T] {
        &self.short[channel.min(self.short.len() - 1)]
    }

    /// Skips the longer operand's next frames.
    pub(super) fn skip(&mut self, frames: usize) {
        match &mut self.long {
            Long::Signal(signal) => signal.reader.skip(frames * self.channels),
            Long::Taps(_, at) => *at += frames,
        }
    }

    /// The longer operand's next samples, frame by frame with all channels.
    pub(super) fn read(&mut self, samples: &mut [T]) -> Result<(), Failure> {
        match &mut self.long {
            Long::Signal(frames) => frames.read(samples),
            Long::Taps(taps, at) => {
                let frames = samples.len() / self.channels;
                for (index, frame) in samples.chunks_mut(self.channels).enumerate() {
                    for (channel, sample) in frame.iter_mut().enumerate() {
                        *sample = taps[channel.min(taps.len() - 1)][*at + index];
                    }
                }
                *at += frames;
                Ok(())
            }
        }
    }
}

/// The destination of the result, and its format.
pub(super) enum Place {
    Array(ArrayOutput),
    Recording(OutputFile, Sound),
}

impl Place {
    /// Reserves the destination before the computation.
    pub(super) fn prepare(path: &Path, sound: Option<Sound>) -> Result<Self, Failure> {
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
    pub(super) fn recording(&self) -> Option<Sound> {
        match self {
            Self::Array(_) => None,
            Self::Recording(_, sound) => Some(*sound),
        }
    }

    pub(super) fn create<T: Sample>(
        self,
        shape: &[usize],
        metadata: Metadata,
    ) -> Result<Writer, Failure> {
        Ok(match self {
            Self::Array(output) => Writer::Array(output.create(shape, T::STORED)?),
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
pub(super) enum Writer {
    Array(ArrayWriter),
    Recording(RecordingWriter),
}

impl Writer {
    pub(super) fn write<T: Sample>(&mut self, samples: &[T]) -> Result<(), Failure> {
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
    pub(super) fn finish(self) -> Result<Finished, Failure> {
        Ok(match self {
            Self::Array(writer) => {
                writer.finish()?;
                Finished::default()
            }
            Self::Recording(writer) => writer.finish()?,
        })
    }
}

/// What is said of a recording that was made.
pub(super) fn recorded(
    command: &str,
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
    let json = json!({ "command": command, "output": output.display().to_string(), "shape": [frames, usize::from(sound.channels)], "sample_rate": sound.sample_rate, "bits_per_sample": sound.bits(), "clipped": clipped, "beyond_full_scale": beyond_full_scale, "device": mesh::names(mesh) });
    Report::new(text, json)
}
