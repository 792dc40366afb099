//! Reading recordings frame by frame.

use std::io::{self, Read};

use super::super::bytes::Bytes;
use super::super::error::{Defect, Problem};
use super::super::{Number, convert, pieces};
use super::{Coding, Sound, UNKNOWN_LENGTH, tag};

const FORMATS: &str = "integers of 8, 16, 24 and 32 bits and floats of 32 and 64 are supported";
const CONVERT: &str = "convert it, for example by `ffmpeg -i IN -c:a pcm_s16le OUT.wav`";

/// Samples that one thread reads at a time.
const PIECE: usize = 1 << 18;

/// A recording whose frames are read in order. A frame is one sample for each channel.
#[derive(Clone)]
pub struct RecordingReader {
    bytes: Bytes,
    /// The place of the first sample.
    start: u64,
    sound: Sound,
    frames: usize,
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
        let place = self.start + at as u64 * u64::from(self.sound.bytes());
        convert(&self.bytes, place, at, samples, |at, bytes| {
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
    let mut head = bytes.reader();
    let (sound, data) = find_data(&mut head, len)?;
    let start = head.position();
    let frame = sound.frame();
    if data % frame != 0 {
        return Err(Problem::new(format!(
            "{data} bytes of samples do not divide into frames of {frame} bytes"
        ))
        .into());
    }
    let frames = usize::try_from(data / frame).map_err(|_| {
        Problem::new(format!(
            "{} frames are more than this machine can count",
            data / frame
        ))
    })?;
    Ok(RecordingReader {
        bytes,
        start,
        sound,
        frames,
        at: 0,
    })
}

/// Reads up to the samples: their form, and how many bytes they have.
fn find_data(bytes: &mut impl Read, len: u64) -> Result<(Sound, u64), Defect> {
    if len == 0 {
        return Err(Problem::new("the file is empty").into());
    }
    let mut head = Vec::new();
    bytes.by_ref().take(12).read_to_end(&mut head)?;
    let wave = head.get(8..12) == Some(b"WAVE");
    let is_long = matches!(head.get(..4), Some(b"RF64" | b"BW64"));
    if !wave || !(is_long || head.starts_with(b"RIFF")) {
        let what = "this is no .wav file: it does not start with RIFF, RF64 or BW64 and WAVE";
        return Err(Problem::new(what).into());
    }
    let mut left = len.saturating_sub(12);
    let mut sound: Option<Sound> = None;
    let mut long_data = None;
    while left >= 8 {
        let mut head = [0; 8];
        bytes.read_exact(&mut head)?;
        left -= 8;
        let [id @ .., l0, l1, l2, l3] = head;
        let stored = u32::from_le_bytes([l0, l1, l2, l3]);
        if &id == b"data" {
            let Some(sound) = sound else {
                let what = "the samples come before their format (`fmt `)";
                return Err(Problem::new(what).hint(CONVERT).into());
            };
            let length = match (stored, long_data) {
                (UNKNOWN_LENGTH, Some(length)) if is_long => length,
                // Written into a pipe, where nobody could go back to the length: all that is there,
                // whole frames of it.
                (UNKNOWN_LENGTH, _) => left - left % sound.frame(),
                _ => u64::from(stored),
            };
            check_length(&id, length, left)?;
            return Ok((sound, length));
        }
        let length = u64::from(stored);
        // The beginning of a chunk says all that matters here.
        const ENOUGH: u64 = 64;
        let mut chunk = Vec::new();
        if matches!(&id, b"fmt " | b"ds64") {
            bytes
                .by_ref()
                .take(length.min(left).min(ENOUGH))
                .read_to_end(&mut chunk)?;
        }
        match &id {
            b"fmt " => sound = Some(format(&chunk)?),
            b"ds64" => long_data = number(&chunk, 8).map(u64::from_le_bytes),
            _ => {}
        }
        check_length(&id, length, left)?;
        let padded = (length + length % 2).min(left);
        io::copy(
            &mut bytes.by_ref().take(padded - chunk.len() as u64),
            &mut io::sink(),
        )?;
        left -= padded;
    }
    Err(
        Problem::new("the file is truncated: it ends before its samples")
            .hint("copy the file again")
            .into(),
    )
}

fn check_length(id: &[u8], length: u64, left: u64) -> Result<(), Problem> {
    if length <= left {
        return Ok(());
    }
    Err(Problem::new(format!(
        "the file is truncated: {length} bytes are promised for its part `{}`, {left} are there",
        id.escape_ascii(),
    ))
    .hint("copy the file again, or convert it: `ffmpeg -i IN OUT.wav` keeps what is there"))
}

/// The little-endian number at `at`.
fn number<const N: usize>(chunk: &[u8], at: usize) -> Option<[u8; N]> {
    chunk.get(at..)?.first_chunk().copied()
}

/// The form that the chunk `fmt ` describes.
fn format(chunk: &[u8]) -> Result<Sound, Problem> {
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
        (tag::INTEGER | tag::FLOAT, _) => {
            let kind = if coding == tag::INTEGER {
                "integers"
            } else {
                "floats"
            };
            let what = format!("samples are {bits}-bit {kind}; {FORMATS}");
            return Err(Problem::new(what).hint(CONVERT));
        }
        _ => {
            let what = format!(
                "samples are coded in a way ({coding:#06x}) that is not supported; {FORMATS}"
            );
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
