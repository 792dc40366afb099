//! Reading recordings frame by frame.

use std::ops::Range;
use std::sync::Arc;

use super::super::bytes::Bytes;
use super::super::error::{Defect, Problem};
use super::super::{Number, convert, pieces};
use super::chunks::{Chunk, Order, Parts};
use super::metadata::Metadata;
use super::{Coding, Sound};

/// Samples that one thread reads at a time.
const PIECE: usize = 1 << 18;

/// A recording whose frames are read in order. A frame is one sample for each channel.
#[derive(Clone)]
pub struct RecordingReader {
    bytes: Bytes,
    /// The range of the samples.
    data: Range<u64>,
    order: Order,
    sound: Sound,
    frames: usize,
    /// The chunks other than format and samples.
    others: Arc<[Chunk]>,
    notices: Arc<[String]>,
    /// Samples that were read.
    at: usize,
}

impl RecordingReader {
    /// Sample rate, channels and coding.
    pub fn sound(&self) -> Sound {
        self.sound
    }

    /// The number of frames.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Notices about the file for the user.
    pub(in super::super) fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The other contents of the file, for a recording derived from it. `same_times`: each frame
    /// keeps its time.
    pub(in super::super) fn metadata(&self, same_times: bool) -> Result<Metadata, Defect> {
        let samples = self.data.start;
        let (bytes, others) = (&self.bytes, &self.others);
        Ok(Metadata::read(
            bytes, self.order, others, samples, same_times,
        )?)
    }

    /// Reads the next samples, frame by frame with all channels.
    pub(in super::super) fn read<T: Number>(&mut self, samples: &mut [T]) -> Result<(), Defect> {
        pieces::fill(samples, PIECE, |first, samples| {
            self.read_piece(self.at + first, samples)
        })?;
        self.at += samples.len();
        Ok(())
    }

    /// Reads samples from index `at` on.
    fn read_piece<T: Number>(&self, at: usize, samples: &mut [T]) -> Result<(), Defect> {
        match self.sound.coding {
            Coding::Integer { bits, bytes: 1 } => self.convert(at, samples, |[byte]: [u8; 1]| {
                f64::from((i16::from(byte) - 128) >> (8 - bits))
            }),
            Coding::Integer { bits, bytes: 2 } => {
                self.convert(at, samples, |[a, b]: [u8; 2]| integer([0, 0, a, b], bits))
            }
            Coding::Integer { bits, bytes: 3 } => {
                self.convert(at, samples, |[a, b, c]: [u8; 3]| {
                    integer([0, a, b, c], bits)
                })
            }
            Coding::Integer { bits, .. } => {
                self.convert(at, samples, |bytes: [u8; 4]| integer(bytes, bits))
            }
            Coding::Float { bytes: 4 } => {
                self.convert(at, samples, |bytes| f64::from(f32::from_le_bytes(bytes)))
            }
            Coding::Float { .. } => self.convert(at, samples, f64::from_le_bytes),
        }
    }

    fn convert<T: Number, const N: usize>(
        &self,
        at: usize,
        samples: &mut [T],
        number: impl Fn([u8; N]) -> f64,
    ) -> Result<(), Defect> {
        let place = self.data.start + at as u64 * u64::from(self.sound.bytes());
        convert(&self.bytes, place, at, samples, |at, mut bytes| {
            if self.order == Order::HighestFirst {
                bytes.reverse();
            }
            let sample = number(bytes);
            if sample.is_finite() {
                return Ok(T::from_f64(sample));
            }
            let what = format!("sample {at} is {sample}, not a finite number");
            Err(Problem::new(what).into())
        })
    }

    /// Skips the next samples.
    pub(in super::super) fn skip(&mut self, samples: usize) {
        self.at += samples;
    }

    /// The same, rewound to the first sample.
    pub(in super::super) fn again(&self) -> Self {
        Self {
            at: 0,
            ..self.clone()
        }
    }
}

/// The value of the highest `bits` of a little-endian word.
fn integer(word: [u8; 4], bits: u16) -> f64 {
    f64::from(i32::from_le_bytes(word) >> (32 - bits))
}

impl std::fmt::Debug for RecordingReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RecordingReader({} of {:?})", self.frames, self.sound)
    }
}

/// Opens a recording of `len` bytes, and checks everything but the samples themselves.
pub(in super::super) fn open(bytes: Bytes, len: u64) -> Result<RecordingReader, Defect> {
    let Parts {
        order,
        sound,
        data,
        others,
        notices,
    } = Parts::find(&bytes, len)?;
    let (frame, length) = (sound.frame(), data.end - data.start);
    if length % frame != 0 {
        return Err(Problem::new(format!(
            "{length} bytes of samples do not divide into frames of {frame} bytes"
        ))
        .hint("write it again: `ffmpeg -i IN -c:a copy OUT.wav` leaves out what is no whole frame")
        .into());
    }
    let frames = usize::try_from(length / frame).map_err(|_| {
        Problem::new(format!(
            "{} frames are more than this machine can count",
            length / frame
        ))
    })?;
    Ok(RecordingReader {
        bytes,
        data,
        order,
        sound,
        frames,
        others: others.into(),
        notices: notices.into(),
        at: 0,
    })
}
