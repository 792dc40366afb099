//! What `blockwise conv` convolves: a signal in frames, and taps.

use blockwise_ops::LaunchError;
use blockwise_ops::oracle::Precision;

use super::failure::Failure;
use super::operand::other_shape;
use crate::io::{Contents, Kind, Number, Reader, Sound};

/// What a convolution computes with.
pub(super) trait Sample: Precision + Number {}
impl Sample for f32 {}
impl Sample for f64 {}

/// A file read frame by frame; a frame is one sample for each channel.
pub(super) struct Frames {
    reader: Reader,
    channels: usize,
    frames: usize,
    /// Of a recording.
    sound: Option<Sound>,
    /// The precision that the samples were kept in; that of integers is taken for float64's.
    kind: Kind,
}

impl Frames {
    /// A vector is one channel, a matrix has a row for each frame.
    pub(super) fn of(reader: Reader) -> Result<Self, Failure> {
        let (shape, sound, kind) = match reader.contents() {
            Contents::Array(array) => (array.shape().to_vec(), None, array.kind()),
            Contents::Recording(recording) => {
                let sound = recording.sound();
                let shape = vec![recording.frames(), usize::from(sound.channels)];
                (shape, Some(sound), sound.coding.kind())
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
            kind,
        })
    }

    /// A signal: a vector or a recording.
    pub(super) fn signal(reader: Reader) -> Result<Self, Failure> {
        match reader.contents() {
            Contents::Array(array) if array.shape().len() != 1 => {
                Err(other_shape(reader.path(), array.shape(), "a vector"))
            }
            _ => Self::of(reader),
        }
    }

    /// The same from its beginning.
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

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// The next samples, channel after channel of each frame.
    pub(super) fn read<T: Number>(&mut self, samples: &mut [T]) -> Result<(), Failure> {
        Ok(self.reader.read(samples)?)
    }
}

/// The two operands of a convolution of each channel. The longer one arrives frame by frame, the
/// other is in memory.
pub(super) struct Operands<T> {
    channels: usize,
    sound: Option<Sound>,
    long: Long<T>,
    /// One for each channel, or one for all.
    short: Vec<Vec<T>>,
}

enum Long<T> {
    Signal(Frames),
    /// The same for every channel, and how many of them were read.
    Taps(Vec<T>, usize),
}

impl<T: Sample> Operands<T> {
    /// A signal and its taps. A signal with fewer samples than there are taps is read here.
    pub(super) fn new(mut signal: Frames, taps: Vec<T>) -> Result<Self, Failure> {
        for (len, what) in [
            (signal.frames, "the signal"),
            (taps.len(), "the list of taps"),
        ] {
            if len == 0 {
                return Err(LaunchError::EmptyInput { what }.into());
            }
        }
        let (channels, sound) = (signal.channels, signal.sound);
        let (long, short) = if taps.len() > signal.frames {
            let mut samples = vec![T::default(); signal.frames * channels];
            signal.read(&mut samples)?;
            let of_channel = |channel| samples.iter().skip(channel).step_by(channels);
            let short = (0..channels).map(|channel| of_channel(channel).copied().collect());
            (Long::Taps(taps, 0), short.collect())
        } else {
            (Long::Signal(signal), vec![taps])
        };
        Ok(Self {
            channels,
            sound,
            long,
            short,
        })
    }

    /// The same from their beginning.
    pub(super) fn again(&self) -> Self {
        Self {
            channels: self.channels,
            sound: self.sound,
            long: match &self.long {
                Long::Signal(frames) => Long::Signal(frames.again()),
                Long::Taps(taps, _) => Long::Taps(taps.clone(), 0),
            },
            short: self.short.clone(),
        }
    }

    pub(super) fn channels(&self) -> usize {
        self.channels
    }

    /// The format of a recording.
    pub(super) fn sound(&self) -> Option<Sound> {
        self.sound
    }

    /// Frames of the longer operand.
    pub(super) fn long_len(&self) -> usize {
        match &self.long {
            Long::Signal(frames) => frames.frames,
            Long::Taps(taps, _) => taps.len(),
        }
    }

    /// The shorter operand of a channel.
    pub(super) fn short(&self, channel: usize) -> &[T] {
        &self.short[channel.min(self.short.len() - 1)]
    }

    /// Leaves out the longer operand's next frames.
    pub(super) fn skip(&mut self, frames: usize) {
        match &mut self.long {
            Long::Signal(signal) => signal.reader.skip(frames * self.channels),
            Long::Taps(_, at) => *at += frames,
        }
    }

    /// The longer operand's next samples, channel after channel of each frame.
    pub(super) fn read(&mut self, samples: &mut [T]) -> Result<(), Failure> {
        match &mut self.long {
            Long::Signal(frames) => frames.read(samples),
            Long::Taps(taps, at) => {
                let frames = samples.chunks_mut(self.channels);
                *at += (frames.zip(&taps[*at..]))
                    .map(|(frame, &tap)| frame.fill(tap))
                    .count();
                Ok(())
            }
        }
    }
}
