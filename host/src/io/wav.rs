//! Sound: `.wav` with 16, 24 or 32-bit integers or 32-bit floats, any number of channels.
//!
//! Samples are float64 in the file's own units, as `scipy.io.wavfile` gives those of 16 and 32 bits: −32768 to 32767 for 16 bits. Written
//! back, integers are rounded to the nearest and those outside the range are clipped; how many were is reported.

use std::io::Cursor;

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use ndarray::Array2;

use super::error::Problem;

const FORMATS: &str = "16, 24 and 32-bit integers and 32-bit floats are supported";
const CONVERT: &str = "convert it, for example by `ffmpeg -i IN -c:a pcm_s16le OUT.wav`";

/// A recording: samples and the format to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Samples, one row for each channel.
    pub channels: Array2<f64>,
    /// Sample rate, channels, bits and kind of a sample.
    pub spec: WavSpec,
}

impl Recording {
    /// The lowest and the highest sample of an integer format; `None` of floats.
    pub fn integer_range(&self) -> Option<(f64, f64)> {
        let limit = 2_f64.powi(i32::from(self.spec.bits_per_sample) - 1);
        (self.spec.sample_format == SampleFormat::Int).then_some((-limit, limit - 1.0))
    }
}

/// Reads a recording.
pub(super) fn decode(bytes: &[u8]) -> Result<Recording, Problem> {
    if bytes.is_empty() {
        return Err(Problem::new("the file is empty"));
    }
    let broken = |error: hound::Error| {
        Problem::new(format!("broken .wav file: {error}")).hint("record or convert it again")
    };
    let reader = WavReader::new(Cursor::new(format_and_samples(bytes)?)).map_err(broken)?;
    let (spec, frames) = (reader.spec(), reader.duration() as usize);
    let count = reader.len() as usize;
    if spec.channels == 0 || spec.sample_rate == 0 {
        return Err(Problem::new(format!(
            "{} channels at {} Hz cannot be sound",
            spec.channels, spec.sample_rate
        )));
    }
    let samples: Result<Vec<f64>, hound::Error> = match (spec.sample_format, spec.bits_per_sample) {
        (SampleFormat::Int, 16 | 24 | 32) => reader
            .into_samples::<i32>()
            .map(|sample| sample.map(f64::from))
            .collect(),
        (SampleFormat::Float, 32) => reader
            .into_samples::<f32>()
            .map(|sample| sample.map(f64::from))
            .collect(),
        (format, bits) => {
            return Err(unsupported(format == SampleFormat::Int, bits));
        }
    };
    let samples = samples.map_err(broken)?;
    if let Some(at) = samples.iter().position(|sample| !sample.is_finite()) {
        return Err(Problem::new(format!(
            "sample {at} is {}, not a finite number",
            samples[at]
        )));
    }
    let interleaved = Array2::from_shape_vec((frames, usize::from(spec.channels)), samples)
        .map_err(|_| {
            Problem::new(format!(
                "{count} samples do not divide into {} channels",
                spec.channels
            ))
        })?;
    Ok(Recording {
        channels: interleaved
            .reversed_axes()
            .as_standard_layout()
            .into_owned(),
        spec,
    })
}

/// The chunks `fmt ` and `data` as a file of their own. hound would trip over an odd chunk before them: it does not skip the byte that
/// pads it. And here it is seen how many bytes are missing.
fn format_and_samples(bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    if !bytes.starts_with(b"RIFF") || bytes.get(8..12) != Some(b"WAVE") {
        return Err(Problem::new(
            "this is no .wav file: it does not start with RIFF and WAVE",
        ));
    }
    let mut kept = bytes[..12].to_vec();
    let mut rest = &bytes[12..];
    while let Some((&[a, b, c, d, l0, l1, l2, l3], body)) = rest.split_first_chunk::<8>() {
        let (id, length) = ([a, b, c, d], u32::from_le_bytes([l0, l1, l2, l3]) as usize);
        if &id == b"fmt " {
            check_format(body)?;
        }
        if body.len() < length {
            return Err(Problem::new(format!(
                "the file is truncated: {length} bytes are promised for its part `{}`, {} are there",
                id.escape_ascii(),
                body.len()
            ))
            .hint("copy the file again, or convert it: `ffmpeg -i IN OUT.wav` keeps what is there"));
        }
        if [*b"fmt ", *b"data"].contains(&id) {
            kept.extend(&rest[..8 + length]);
        }
        if &id == b"data" {
            return Ok(kept);
        }
        rest = body.get(length + length % 2..).unwrap_or_default();
    }
    Err(
        Problem::new("the file is truncated: it ends before its samples")
            .hint("copy the file again"),
    )
}

/// Refuses codings that are not supported, by the first bytes of the chunk `fmt `.
fn check_format(fmt: &[u8]) -> Result<(), Problem> {
    const EXTENSIBLE: u16 = 0xFFFE;
    let word = |at: usize| Some(u16::from_le_bytes([*fmt.get(at)?, *fmt.get(at + 1)?]));
    let coding = match word(0) {
        Some(EXTENSIBLE) => word(24),
        coding => coding,
    };
    match (coding, word(14)) {
        (Some(1), Some(16 | 24 | 32)) | (Some(3), Some(32)) => Ok(()),
        (Some(coding @ (1 | 3)), Some(bits)) => Err(unsupported(coding == 1, bits)),
        (Some(coding), Some(_)) => Err(Problem::new(format!(
            "samples are coded in a way ({coding:#06x}) that is not supported; {FORMATS}"
        ))
        .hint(CONVERT)),
        _ => Ok(()), // Too short; hound says so.
    }
}

fn unsupported(integers: bool, bits: u16) -> Problem {
    let kind = if integers { "integers" } else { "floats" };
    Problem::new(format!("samples are {bits}-bit {kind}; {FORMATS}")).hint(CONVERT)
}

/// The bytes of a recording's file, and how many samples had to be clipped.
///
/// # Errors
/// A text why it cannot be written as .wav.
pub fn encode(recording: &Recording) -> Result<(Vec<u8>, usize), String> {
    let Recording { channels, spec } = recording;
    let text = |error: hound::Error| error.to_string();
    let mut bytes = Cursor::new(Vec::new());
    let mut clipped = 0;
    let mut writer = WavWriter::new(&mut bytes, *spec).map_err(text)?;
    for &sample in channels.t() {
        match recording.integer_range() {
            None => writer.write_sample(sample as f32).map_err(text)?,
            Some((lowest, highest)) => {
                let rounded = sample.round_ties_even();
                let fitting = rounded.clamp(lowest, highest);
                clipped += usize::from(fitting != rounded);
                writer.write_sample(fitting as i32).map_err(text)?;
            }
        }
    }
    writer.finalize().map_err(text)?;
    Ok((bytes.into_inner(), clipped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn recording(bits: u16, format: SampleFormat, channels: Array2<f64>) -> Recording {
        let spec = WavSpec {
            channels: channels.nrows() as u16,
            sample_rate: 48_000,
            bits_per_sample: bits,
            sample_format: format,
        };
        Recording { channels, spec }
    }

    #[test]
    fn every_format_and_two_channels_come_back() {
        let samples = array![[0.0, 1.0, -2.0, 32767.0], [5.0, -32768.0, 7.0, 8.0]];
        for (bits, format) in [
            (16, SampleFormat::Int),
            (24, SampleFormat::Int),
            (32, SampleFormat::Int),
            (32, SampleFormat::Float),
        ] {
            let written = recording(bits, format, samples.clone());
            let (bytes, clipped) = encode(&written).unwrap();
            assert_eq!(
                (decode(&bytes).unwrap(), clipped),
                (written, 0),
                "{bits} bits"
            );
        }
    }

    #[test]
    fn integers_are_rounded_and_clipped_and_counted() {
        let (bytes, clipped) = encode(&recording(
            16,
            SampleFormat::Int,
            array![[40_000.0, -40_000.0, 0.5, 1.6]],
        ))
        .unwrap();
        assert_eq!(clipped, 2);
        assert_eq!(
            decode(&bytes).unwrap().channels,
            array![[32767.0, -32768.0, 0.0, 2.0]]
        );
    }

    #[test]
    fn other_chunks_are_skipped_with_their_padding() {
        let written = recording(16, SampleFormat::Int, array![[1.0, -2.0, 3.0]]);
        let (mut bytes, _) = encode(&written).unwrap();
        bytes.splice(36..36, *b"LIST\x03\0\0\0abc\0note\x02\0\0\0xy");
        bytes.extend(b"more");
        assert_eq!(decode(&bytes).unwrap(), written);
    }

    #[test]
    fn broken_files_are_errors() {
        let (good, _) = encode(&recording(
            16,
            SampleFormat::Int,
            array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        ))
        .unwrap();
        for cut in 0..good.len() {
            assert!(decode(&good[..cut]).is_err(), "cut at {cut}");
        }
        let problem = decode(&good[..good.len() - 3]).unwrap_err();
        assert!(problem.what.contains("truncated"), "{}", problem.what);
        assert!(
            decode(b"not a recording at all")
                .unwrap_err()
                .what
                .contains("this is no .wav")
        );
        let format = 20; // where the coding stands
        let mut coded = good.clone();
        coded[format] = 6;
        assert!(decode(&coded).unwrap_err().what.contains("(0x0006)"));
        coded[format] = 3;
        coded[format + 14] = 64;
        assert!(decode(&coded).unwrap_err().what.contains("64-bit floats"));
        let eight = {
            let spec = WavSpec {
                channels: 1,
                sample_rate: 8000,
                bits_per_sample: 8,
                sample_format: SampleFormat::Int,
            };
            let mut bytes = Cursor::new(Vec::new());
            let mut writer = WavWriter::new(&mut bytes, spec).unwrap();
            writer.write_sample(1_i8).unwrap();
            writer.finalize().unwrap();
            bytes.into_inner()
        };
        assert!(decode(&eight).unwrap_err().what.contains("8-bit integers"));
    }
}
