//! Writing recordings frame by frame.

use std::io::{BufWriter, Write};

use super::super::output::{self, Unfinished};
use super::super::{FileError, OutputFile};
use super::metadata::Metadata;
use super::{Coding, Sound, UNKNOWN_LENGTH, tag};

/// A recording being written to a file, which appears once all samples are written.
pub struct RecordingWriter {
    file: BufWriter<Unfinished>,
    sound: Sound,
    /// What follows the samples.
    after: Vec<u8>,
    /// The number of samples written so far.
    at: usize,
    finished: Finished,
}

/// The samples that the format could not represent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// Integers outside the range, which were clipped.
    pub clipped: usize,
    /// Floats beyond ±1, which players clip.
    pub beyond_full_scale: usize,
}

impl RecordingWriter {
    /// Begins a recording of this many frames.
    ///
    /// # Errors
    /// The system's.
    pub fn create(
        place: OutputFile,
        sound: Sound,
        frames: usize,
        metadata: Metadata,
    ) -> Result<Self, FileError> {
        let mut file = place.create()?;
        let header = header(&sound, frames as u64, &metadata);
        let data = frames as u64 * sound.frame();
        let after = metadata.after;
        let reserved = file.reserve(header.len() as u64 + data + data % 2 + after.len() as u64);
        let mut file = BufWriter::with_capacity(1 << 16, file);
        match reserved.and_then(|()| file.write_all(&header)) {
            Ok(()) => Ok(Self {
                file,
                sound,
                after,
                at: 0,
                finished: Finished::default(),
            }),
            Err(error) => Err(file.get_ref().refused(error)),
        }
    }

    /// Writes the next samples, channel after channel of each frame. Integers are rounded to the
    /// nearest, and clipped.
    ///
    /// # Errors
    /// The system's, and samples that the coding cannot hold: NaN and infinities.
    pub fn write(&mut self, samples: &[f64]) -> Result<(), FileError> {
        for &sample in samples {
            let written = match self.sound.coding {
                Coding::Integer { bits, bytes } => {
                    if !sample.is_finite() {
                        return Err(self.no_sample(sample));
                    }
                    let word = self.integer(sample, bits, bytes);
                    self.file.write_all(&word[4 - usize::from(bytes)..])
                }
                Coding::Float { bytes } => {
                    self.check(sample, bytes)?;
                    match bytes {
                        4 => self.file.write_all(&(sample as f32).to_le_bytes()),
                        _ => self.file.write_all(&sample.to_le_bytes()),
                    }
                }
            };
            written.map_err(|error| self.file.get_ref().refused(error))?;
            self.at += 1;
        }
        Ok(())
    }

    /// The sample in the highest bytes of a little-endian word.
    fn integer(&mut self, sample: f64, bits: u16, bytes: u16) -> [u8; 4] {
        let (lowest, highest) = self.sound.integer_range().unwrap_or_default();
        let rounded = sample.round_ties_even();
        let fitting = rounded.clamp(lowest, highest);
        self.finished.clipped += usize::from(fitting != rounded);
        let word = (fitting as i32) << (32 - bits);
        match bytes {
            // With the offset of 128.
            1 => (word ^ i32::MIN).to_le_bytes(),
            _ => word.to_le_bytes(),
        }
    }

    fn check(&mut self, sample: f64, bytes: u16) -> Result<(), FileError> {
        let fits = match bytes {
            4 => (sample as f32).is_finite(),
            _ => sample.is_finite(),
        };
        self.finished.beyond_full_scale += usize::from(sample.abs() > 1.0);
        match fits {
            true => Ok(()),
            false => Err(self.no_sample(sample)),
        }
    }

    /// The error for a sample that this coding cannot represent.
    fn no_sample(&self, sample: f64) -> FileError {
        let channels = usize::from(self.sound.channels);
        FileError::Unwritable {
            path: self.file.get_ref().path().to_owned(),
            reason: format!(
                "sample {} (frame {}, channel {}) is {sample:e}, which is no sample of {}-bit sound",
                self.at,
                self.at / channels,
                self.at % channels,
                self.sound.bits()
            ),
        }
    }

    /// Puts the file in place.
    ///
    /// # Errors
    /// The system's error; an existing file is then unchanged.
    pub fn finish(mut self) -> Result<Finished, FileError> {
        let data = self.at as u64 * u64::from(self.sound.bytes());
        if data % 2 == 1 {
            let padded = self.file.write_all(&[0]);
            padded.map_err(|error| self.file.get_ref().refused(error))?;
        }
        let after = self.file.write_all(&self.after);
        after.map_err(|error| self.file.get_ref().refused(error))?;
        output::finish(self.file)?;
        Ok(self.finished)
    }
}

/// Everything before the samples of a recording of this many frames.
pub(super) fn header(sound: &Sound, frames: u64, metadata: &Metadata) -> Vec<u8> {
    let format = format(sound);
    let is_float = matches!(sound.coding, Coding::Float { .. });
    let data = frames * sound.frame();
    // `WAVE`, the heads of `fmt ` and `data`, and `fact` or not.
    let fact = if is_float { 12 } else { 0 };
    let others = (metadata.before.len() + metadata.after.len()) as u64;
    let riff = 4 + 8 + format.len() as u64 + fact + 8 + data + data % 2 + others;
    let short = |length: u64| {
        u32::try_from(length)
            .unwrap_or(UNKNOWN_LENGTH)
            .to_le_bytes()
    };
    let is_long = riff > u64::from(UNKNOWN_LENGTH) - 1;
    let mut header = Vec::new();
    if is_long {
        // 36 bytes more.
        let numbers = [riff + 36, data, frames].map(u64::to_le_bytes);
        header.extend(b"RF64\xFF\xFF\xFF\xFFWAVEds64\x1C\0\0\0");
        header.extend(numbers.as_flattened());
        header.extend([0; 4]);
    } else {
        header.extend(b"RIFF");
        header.extend(short(riff));
        header.extend(b"WAVE");
    }
    header.extend(b"fmt ");
    header.extend((format.len() as u32).to_le_bytes());
    header.extend(format);
    if is_float {
        header.extend(b"fact\x04\0\0\0");
        header.extend(short(frames));
    }
    header.extend(&metadata.before);
    header.extend(b"data");
    header.extend(if is_long { [0xFF; 4] } else { short(data) });
    header
}

/// The chunk `fmt `: the plain form where it says all, else the extensible one.
fn format(sound: &Sound) -> Vec<u8> {
    let (coding, bits) = match sound.coding {
        Coding::Integer { bits, .. } => (tag::INTEGER, bits),
        Coding::Float { bytes } => (tag::FLOAT, 8 * bytes),
    };
    let container = 8 * sound.bytes();
    let is_plain =
        bits == container && sound.channels <= 2 && sound.speakers == 0 && !sound.is_ambisonic;
    let frame = sound.frame();
    let mut format = Vec::new();
    let mut word = |word: u16| format.extend(word.to_le_bytes());
    word(if is_plain { coding } else { tag::EXTENSIBLE });
    word(sound.channels);
    let rate = u64::from(sound.sample_rate) * frame;
    let rate = u32::try_from(rate).unwrap_or(u32::MAX);
    for long in [sound.sample_rate, rate] {
        word(long as u16);
        word((long >> 16) as u16);
    }
    // It was read from such a field.
    word(frame as u16);
    word(container);
    if is_plain {
        // Other codings than integers have an extension, if an empty one.
        if coding != tag::INTEGER {
            word(0);
        }
        return format;
    }
    word(22);
    word(bits);
    word(sound.speakers as u16);
    word((sound.speakers >> 16) as u16);
    word(coding);
    format.extend(match sound.is_ambisonic {
        true => tag::AMBISONIC_END,
        false => tag::GUID_END,
    });
    format
}
