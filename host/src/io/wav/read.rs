//! Reading recordings frame by frame.

use std::ops::Range;
use std::sync::Arc;

use super::super::bytes::Bytes;
use super::super::error::{Defect, Problem};
use super::super::{Number, convert, pieces};
use super::chunks::{Chunk, Order, Parts};
use super::metadata::Metadata;
use super::{Coding, Sound, tag};

const FORMATS: &str = "integers of 8, 16, 24 and 32 bits and floats of 32 and 64 are supported";
pub(super) const CONVERT: &str = "convert it, for example by `ffmpeg -i IN -c:a pcm_s16le OUT.wav`";

/// Samples that one thread reads at a time.
const PIECE: usize = 1 << 18;

/// A recording whose frames are read in order. A frame is one sample for each channel.
#[derive(Clone)]
pub struct RecordingReader {
    bytes: Bytes,
    /// The place of the samples.
    data: Range<u64>,
    order: Order,
    sound: Sound,
    frames: usize,
    /// The chunks but format and samples.
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

    /// What a user should know of the file.
    pub(in super::super) fn notices(&self) -> &[String] {
        &self.notices
    }

    /// What else the file holds, for a recording made of this one. `same_times`: each frame stays
    /// at its time.
    pub(in super::super) fn metadata(&self, same_times: bool) -> Result<Metadata, Defect> {
        let samples = self.data.start;
        let (bytes, others) = (&self.bytes, &self.others);
        Ok(Metadata::read(
            bytes, self.order, others, samples, same_times,
        )?)
    }

    /// Reads the next samples, channel after channel of each frame.
    pub(in super::super) fn read<T: Number>(&mut self, samples: &mut [T]) -> Result<(), Defect> {
        pieces::fill(samples, PIECE, |first, samples| {
            self.read_piece(self.at + first, samples)
        })?;
        self.at += samples.len();
        Ok(())
    }

    /// Reads the samples from the one with index `at` on.
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

    /// Leaves out the next samples.
    pub(in super::super) fn skip(&mut self, samples: usize) {
        self.at += samples;
    }

    /// The same from the first sample on.
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

/// Opens a recording of `len` bytes in all, and checks all of it but the samples themselves.
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

/// The little-endian number at `at`.
fn number<const N: usize>(chunk: &[u8], at: usize) -> Option<[u8; N]> {
    chunk.get(at..)?.first_chunk().copied()
}

/// The form that the chunk `fmt ` describes.
pub(super) fn format(chunk: &[u8]) -> Result<Sound, Problem> {
    let word = |at| number(chunk, at).map(u16::from_le_bytes);
    let long = |at| number(chunk, at).map(u32::from_le_bytes);
    let fields = (word(0), word(2), long(4), word(12), word(14));
    let (Some(coding), Some(channels), Some(sample_rate), Some(frame), Some(bits)) = fields else {
        return Err(Problem::new(
            "the file is truncated: its part `fmt ` has less than 16 bytes",
        ));
    };
    let (coding, bits_of_sample, speakers) = match coding {
        tag::EXTENSIBLE => (word(24).unwrap_or(coding), word(18), long(20).unwrap_or(0)),
        _ => (coding, None, 0),
    };
    if channels == 0 || sample_rate == 0 {
        return Err(Problem::new(format!(
            "{channels} channels at {sample_rate} Hz cannot be sound"
        )));
    }
    if !matches!(coding, tag::INTEGER | tag::FLOAT) {
        let what = match coding_name(coding) {
            Some(name) => format!(
                "samples are coded as {name} ({coding:#06x}), which is not supported; {FORMATS}"
            ),
            None => format!(
                "samples are coded in a way ({coding:#06x}) that is not supported; {FORMATS}"
            ),
        };
        return Err(Problem::new(what).hint(CONVERT));
    }
    let bytes = bits.div_ceil(8);
    if u32::from(frame) != u32::from(channels) * u32::from(bytes) {
        return Err(Problem::new(format!(
            "broken .wav file: a frame of {channels} samples of {bits} bits cannot have {frame} bytes"
        )));
    }
    // 0 means all of them.
    let bits_of_sample = bits_of_sample.filter(|&bits| bits > 0).unwrap_or(bits);
    let coding = match (coding, bytes) {
        (tag::INTEGER, 1..=4) if bits_of_sample <= 8 * bytes => Coding::Integer {
            bits: bits_of_sample,
            bytes,
        },
        (tag::FLOAT, 4 | 8) => Coding::Float { bytes },
        _ => {
            let kind = if coding == tag::INTEGER {
                "integers"
            } else {
                "floats"
            };
            let what = format!("samples are {bits}-bit {kind}; {FORMATS}");
            return Err(Problem::new(what).hint(CONVERT));
        }
    };
    Ok(Sound {
        channels,
        sample_rate,
        coding,
        speakers,
    })
}

/// The names of compressed codings, by their tag (RFC 2361).
fn coding_name(tag: u16) -> Option<&'static str> {
    Some(match tag {
        0x0002 => "Microsoft ADPCM",
        0x0006 => "A-law",
        0x0007 => "\u{b5}-law",
        0x0011 => "IMA ADPCM",
        0x0016 => "G.723 ADPCM",
        0x0022 => "TrueSpeech",
        0x0031 => "GSM 6.10",
        0x0040 => "G.721 ADPCM",
        0x0050 => "MPEG",
        0x0055 => "MP3",
        0x0064 => "G.726 ADPCM",
        0x00FF | 0x1600 | 0x706D => "AAC",
        0x0160..=0x0163 => "Windows Media Audio",
        0x0270 => "ATRAC",
        0x2000 => "AC-3",
        0x2001 => "DTS",
        0xF1AC => "FLAC",
        _ => return None,
    })
}
