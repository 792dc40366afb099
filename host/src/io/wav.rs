//! Sound: `.wav` with 16, 24 or 32-bit integers or 32-bit floats, any number of channels.
//!
//! Samples are float64 in the file's own units, as `scipy.io.wavfile` gives those of 16 and 32 bits: −32768 to 32767 for 16 bits. Written
//! back, integers are rounded to the nearest and those outside the range are clipped; how many were is reported.

use std::fs::File;
use std::io::{self, BufWriter, Cursor, Read};

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};

use super::error::{Problem, Trouble};
use super::output::Unfinished;
use super::{FileError, OutputFile};

const FORMATS: &str = "16, 24 and 32-bit integers and 32-bit floats are supported";
const CONVERT: &str = "convert it, for example by `ffmpeg -i IN -c:a pcm_s16le OUT.wav`";

/// A recording whose frames are read in order. A frame is one sample for each channel.
pub struct RecordingReader {
    samples: WavReader<Box<dyn Read + Send>>,
    spec: WavSpec,
    frames: usize,
    /// Samples that were read.
    at: usize,
}

impl RecordingReader {
    /// Sample rate, channels, bits and kind of a sample.
    pub fn spec(&self) -> WavSpec {
        self.spec
    }

    /// The number of frames.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Reads the next samples, channel after channel of each frame.
    pub(super) fn read(&mut self, samples: &mut [f64]) -> Result<(), Trouble> {
        match self.spec.sample_format {
            SampleFormat::Int => self.convert::<i32>(samples, f64::from),
            SampleFormat::Float => self.convert::<f32>(samples, f64::from),
        }
    }

    fn convert<S: hound::Sample>(
        &mut self,
        samples: &mut [f64],
        number: impl Fn(S) -> f64,
    ) -> Result<(), Trouble> {
        let mut stored = self.samples.samples::<S>();
        for sample in samples {
            let value = match stored.next() {
                Some(value) => number(value.map_err(broken)?),
                None => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            };
            if !value.is_finite() {
                return Err(Problem::new(format!(
                    "sample {} is {value}, not a finite number",
                    self.at
                ))
                .into());
            }
            *sample = value;
            self.at += 1;
        }
        Ok(())
    }
}

impl std::fmt::Debug for RecordingReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RecordingReader({} of {:?})", self.frames, self.spec)
    }
}

/// The lowest and the highest sample of an integer format; `None` of floats.
pub fn integer_range(spec: &WavSpec) -> Option<(f64, f64)> {
    let limit = 2_f64.powi(i32::from(spec.bits_per_sample) - 1);
    (spec.sample_format == SampleFormat::Int).then_some((-limit, limit - 1.0))
}

fn broken(error: hound::Error) -> Trouble {
    match error {
        hound::Error::IoError(error) => error.into(),
        error => Problem::new(format!("broken .wav file: {error}"))
            .hint("record or convert it again")
            .into(),
    }
}

/// Opens a recording of `len` bytes in all, and checks all of it but the samples themselves.
pub(super) fn open(bytes: Box<dyn Read + Send>, len: u64) -> Result<RecordingReader, Trouble> {
    let reader = WavReader::new(format_and_samples(bytes, len)?).map_err(broken)?;
    let (spec, frames) = (reader.spec(), reader.duration() as usize);
    if spec.channels == 0 || spec.sample_rate == 0 {
        return Err(Problem::new(format!(
            "{} channels at {} Hz cannot be sound",
            spec.channels, spec.sample_rate
        ))
        .into());
    }
    match (spec.sample_format, spec.bits_per_sample) {
        (SampleFormat::Int, 16 | 24 | 32) | (SampleFormat::Float, 32) => {}
        (format, bits) => return Err(unsupported(format == SampleFormat::Int, bits).into()),
    }
    if reader.len() as usize != frames * usize::from(spec.channels) {
        return Err(Problem::new(format!(
            "{} samples do not divide into {} channels",
            reader.len(),
            spec.channels
        ))
        .into());
    }
    Ok(RecordingReader {
        samples: reader,
        spec,
        frames,
        at: 0,
    })
}

/// The chunks `fmt ` and `data` as a file of their own. hound would trip over an odd chunk before them: it does not skip the byte that
/// pads it. And here it is seen how many bytes are missing.
fn format_and_samples(
    mut bytes: Box<dyn Read + Send>,
    len: u64,
) -> Result<Box<dyn Read + Send>, Trouble> {
    if len == 0 {
        return Err(Problem::new("the file is empty").into());
    }
    let mut kept = Vec::new();
    bytes.by_ref().take(12).read_to_end(&mut kept)?;
    if !kept.starts_with(b"RIFF") || kept.get(8..12) != Some(b"WAVE") {
        return Err(
            Problem::new("this is no .wav file: it does not start with RIFF and WAVE").into(),
        );
    }
    let mut left = len.saturating_sub(12);
    while left >= 8 {
        let mut head = [0; 8];
        bytes.read_exact(&mut head)?;
        left -= 8;
        let [a, b, c, d, l0, l1, l2, l3] = head;
        let (id, length) = (
            [a, b, c, d],
            u64::from(u32::from_le_bytes([l0, l1, l2, l3])),
        );
        let mut format = Vec::new();
        if &id == b"fmt " {
            // Its beginning says all that matters, however much of it there is.
            const ENOUGH: u64 = 64;
            let there = length.min(left).min(ENOUGH);
            bytes.by_ref().take(there).read_to_end(&mut format)?;
            check_format(&format)?;
        }
        if left < length {
            return Err(Problem::new(format!(
                "the file is truncated: {length} bytes are promised for its part `{}`, {left} are there",
                id.escape_ascii(),
            ))
            .hint("copy the file again, or convert it: `ffmpeg -i IN OUT.wav` keeps what is there")
            .into());
        }
        if &id == b"data" {
            kept.extend(head);
            return Ok(Box::new(Cursor::new(kept).chain(bytes.take(length))));
        }
        if &id == b"fmt " {
            kept.extend(b"fmt ");
            kept.extend((format.len() as u32).to_le_bytes());
            kept.extend(&format);
        }
        let rest = (length - format.len() as u64 + length % 2).min(left - format.len() as u64);
        io::copy(&mut bytes.by_ref().take(rest), &mut io::sink())?;
        left = left.saturating_sub(length + length % 2);
    }
    Err(
        Problem::new("the file is truncated: it ends before its samples")
            .hint("copy the file again")
            .into(),
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

/// A recording on its way into a file, which appears when all samples are written.
pub struct RecordingWriter {
    // The samples go through a second handle of the file, which is put in place when they are all there.
    samples: WavWriter<BufWriter<File>>,
    file: Unfinished,
    range: Option<(f64, f64)>,
    clipped: usize,
}

impl RecordingWriter {
    /// Begins a recording of this many frames.
    ///
    /// # Errors
    /// More than a .wav file can hold, and the system's errors.
    pub fn create(place: OutputFile, spec: WavSpec, frames: usize) -> Result<Self, FileError> {
        let mut file = place.create()?;
        match Self::begin(&mut file, spec, frames) {
            Ok(samples) => Ok(Self {
                samples,
                file,
                range: integer_range(&spec),
                clipped: 0,
            }),
            Err(trouble) => Err(trouble.writing(file.path())),
        }
    }

    fn begin(
        file: &mut Unfinished,
        spec: WavSpec,
        frames: usize,
    ) -> Result<WavWriter<BufWriter<File>>, Trouble> {
        let frame = u64::from(spec.channels) * u64::from(spec.bits_per_sample.div_ceil(8));
        // The format counts its bytes, with those of the header, in 32 bits.
        const MOST: u64 = u32::MAX as u64 - 1024;
        if (frames as u64).saturating_mul(frame) > MOST {
            return Err(Trouble::Unwritable(format!(
                "{frames} frames of {frame} bytes are more than the 4 GiB of a .wav file"
            )));
        }
        let handle = file.as_file_mut().try_clone()?;
        WavWriter::new(BufWriter::new(handle), spec).map_err(unwritten)
    }

    /// Writes the next samples, channel after channel of each frame. Integers are rounded to the nearest, and clipped.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&mut self, samples: &[f64]) -> Result<(), FileError> {
        for &sample in samples {
            let written = match self.range {
                None => self.samples.write_sample(sample as f32),
                Some((lowest, highest)) => {
                    let rounded = sample.round_ties_even();
                    let fitting = rounded.clamp(lowest, highest);
                    self.clipped += usize::from(fitting != rounded);
                    self.samples.write_sample(fitting as i32)
                }
            };
            written.map_err(|error| unwritten(error).writing(self.file.path()))?;
        }
        Ok(())
    }

    /// Puts the file in place, and says how many samples were clipped.
    ///
    /// # Errors
    /// The system's; then the destination is as it was.
    pub fn finish(self) -> Result<usize, FileError> {
        let finalized = self.samples.finalize();
        finalized.map_err(|error| unwritten(error).writing(self.file.path()))?;
        self.file.finish()?;
        Ok(self.clipped)
    }
}

fn unwritten(error: hound::Error) -> Trouble {
    match error {
        hound::Error::IoError(error) => Trouble::Io(error),
        error => Trouble::Unwritable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(channels: u16, bits: u16, format: SampleFormat) -> WavSpec {
        WavSpec {
            channels,
            sample_rate: 48_000,
            bits_per_sample: bits,
            sample_format: format,
        }
    }

    /// The bytes of a recording that is written in two pieces, and how many samples were clipped.
    fn encode(spec: WavSpec, samples: &[f64]) -> (Vec<u8>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.wav");
        let frames = samples.len() / usize::from(spec.channels);
        let place = OutputFile::prepare(&path).unwrap();
        let mut writer = RecordingWriter::create(place, spec, frames).unwrap();
        let (first, second) = samples.split_at(samples.len() / 2);
        writer.write(first).unwrap();
        writer.write(second).unwrap();
        assert!(!path.exists(), "it is not whole yet");
        let clipped = writer.finish().unwrap();
        (std::fs::read(&path).unwrap(), clipped)
    }

    fn decode(bytes: &[u8]) -> Result<(WavSpec, Vec<f64>), Trouble> {
        let mut reader = open(Box::new(Cursor::new(bytes.to_vec())), bytes.len() as u64)?;
        let mut samples = vec![0.0; reader.frames() * usize::from(reader.spec().channels)];
        let (first, second) = samples.split_at_mut(1);
        reader.read(first)?;
        reader.read(second)?;
        Ok((reader.spec(), samples))
    }

    fn refusal(bytes: &[u8]) -> String {
        match decode(bytes) {
            Err(Trouble::Content(problem)) => problem.what,
            other => panic!("{other:?}"),
        }
    }

    const SAMPLES: [f64; 8] = [0.0, 5.0, 1.0, -32768.0, -2.0, 7.0, 32767.0, 8.0];

    #[test]
    fn every_format_and_two_channels_come_back() {
        for (bits, format) in [
            (16, SampleFormat::Int),
            (24, SampleFormat::Int),
            (32, SampleFormat::Int),
            (32, SampleFormat::Float),
        ] {
            let spec = spec(2, bits, format);
            let (bytes, clipped) = encode(spec, &SAMPLES);
            assert_eq!(clipped, 0);
            let (read, samples) = decode(&bytes).unwrap();
            assert_eq!((read, samples.as_slice()), (spec, SAMPLES.as_slice()));
        }
    }

    #[test]
    fn integers_are_rounded_and_clipped_and_counted() {
        let samples = [40_000.0, -40_000.0, 0.5, 1.6];
        let (bytes, clipped) = encode(spec(1, 16, SampleFormat::Int), &samples);
        assert_eq!(clipped, 2);
        assert_eq!(decode(&bytes).unwrap().1, [32767.0, -32768.0, 0.0, 2.0]);
    }

    #[test]
    fn what_32_bits_cannot_count_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.wav");
        let begin = |frames| {
            let place = OutputFile::prepare(&path).unwrap();
            RecordingWriter::create(place, spec(2, 16, SampleFormat::Int), frames).map(|_| ())
        };
        assert!(begin(1 << 29).is_ok());
        let error = begin(1 << 30).unwrap_err().to_string();
        assert!(error.contains("4 GiB"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn other_chunks_are_skipped_with_their_padding() {
        let (mut bytes, _) = encode(spec(1, 16, SampleFormat::Int), &[1.0, -2.0, 3.0]);
        bytes.splice(36..36, *b"LIST\x03\0\0\0abc\0note\x02\0\0\0xy");
        bytes.extend(b"more");
        assert_eq!(decode(&bytes).unwrap().1, [1.0, -2.0, 3.0]);
    }

    #[test]
    fn broken_files_are_errors() {
        let (good, _) = encode(spec(2, 16, SampleFormat::Int), &SAMPLES);
        for cut in 0..good.len() {
            assert!(decode(&good[..cut]).is_err(), "cut at {cut}");
        }
        assert!(refusal(&good[..good.len() - 3]).contains("truncated"));
        assert!(refusal(b"not a recording at all").contains("this is no .wav"));
        let format = 20; // where the coding stands
        let mut coded = good.clone();
        coded[format] = 6;
        assert!(refusal(&coded).contains("(0x0006)"));
        coded[format] = 3;
        coded[format + 14] = 64;
        assert!(refusal(&coded).contains("64-bit floats"));
        let eight = {
            let mut bytes = Cursor::new(Vec::new());
            let mut writer = WavWriter::new(&mut bytes, spec(1, 8, SampleFormat::Int)).unwrap();
            writer.write_sample(1_i8).unwrap();
            writer.finalize().unwrap();
            bytes.into_inner()
        };
        assert!(refusal(&eight).contains("8-bit integers"));
        let (infinite, _) = encode(spec(1, 32, SampleFormat::Float), &[1.0, f64::INFINITY]);
        assert!(refusal(&infinite).contains("sample 1 is inf"));
    }
}
