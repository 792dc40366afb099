//! The chunk `fmt `: how a recording's samples are coded.

use super::super::error::Problem;
use super::{Coding, Sound, tag};

const FORMATS: &str = "integers of 8, 16, 24 and 32 bits and floats of 32 and 64 are supported";
/// The hint for codings that 16-bit samples can represent.
const CONVERT: &str = "convert it, for example by `ffmpeg -i IN -c:a pcm_s16le OUT.wav`";
/// The hint for samples of up to 53 bits.
pub(super) const REWRITE: &str =
    "write it again, for example by `ffmpeg -i IN -c:a pcm_f64le OUT.wav`: samples of 1 and less";

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
    let mut is_ambisonic = false;
    let (coding, bits_of_sample, speakers) = match coding {
        tag::EXTENSIBLE => {
            match number(chunk, 26).unwrap_or(tag::GUID_END) {
                tag::GUID_END | tag::GUID_END_HIGHEST_FIRST => {}
                tag::AMBISONIC_END => is_ambisonic = true,
                _ => return Err(unknown_guid(&chunk[24..40])),
            }
            (word(24).unwrap_or(coding), word(18), long(20).unwrap_or(0))
        }
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
        ))
        .hint(REWRITE));
    }
    // 0 means all of them.
    let bits_of_sample = bits_of_sample.filter(|&bits| bits > 0).unwrap_or(bits);
    let coding = match (coding, bytes) {
        (tag::INTEGER, 1..=4) if bits_of_sample <= 8 * bytes => Coding::Integer {
            bits: bits_of_sample,
            bytes,
        },
        (tag::FLOAT, 4 | 8) => Coding::Float { bytes },
        (tag::INTEGER, 1..=4) => {
            return Err(Problem::new(format!(
                "broken .wav file: {bits_of_sample} bits of a sample cannot lie in {bytes} bytes"
            ))
            .hint(REWRITE));
        }
        _ => {
            let kind = if coding == tag::INTEGER {
                "integers"
            } else {
                "floats"
            };
            let what = format!("samples are {bits}-bit {kind}; {FORMATS}");
            return Err(Problem::new(what).hint("save the samples as an array (.npy)"));
        }
    };
    Ok(Sound {
        channels,
        sample_rate,
        coding,
        speakers,
        is_ambisonic,
    })
}

/// The problem of a coding whose full GUID is unknown, whatever its first two bytes say.
fn unknown_guid(name: &[u8]) -> Problem {
    let digits: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    Problem::new(format!(
        "samples are coded in a way (the subformat with the bytes {digits}) that is not supported; {FORMATS}"
    ))
    .hint(CONVERT)
}

/// The names of compressed codings, by their tag (RFC 2361).
fn coding_name(tag: u16) -> Option<&'static str> {
    Some(match tag {
        0x0002 => "Microsoft ADPCM",
        0x0006 => "A-law",
        0x0007 => "\u{b5}-law",
        0x0010 | 0x0017 => "Dialogic ADPCM",
        0x0011 => "IMA ADPCM",
        0x0014 | 0x0016 | 0x0042 => "G.723",
        0x0020 => "Yamaha ADPCM",
        0x0022 => "TrueSpeech",
        0x0031 => "GSM 6.10",
        0x0040 => "G.721 ADPCM",
        0x0050 => "MPEG",
        0x0055 => "MP3",
        0x0045 | 0x0064 => "G.726 ADPCM",
        0x0083 => "G.729",
        0x00FF | 0x1600 | 0x706D => "AAC",
        0x0160..=0x0163 => "Windows Media Audio",
        0x0270 => "ATRAC",
        0x028F => "G.722 ADPCM",
        0x0092 | 0x2000 => "AC-3",
        0x2001 => "DTS",
        0x5756 => "WavPack",
        0x566F | 0x674F..=0x6771 => "Vorbis",
        0x704F => "Opus",
        0xF1AC => "FLAC",
        _ => return None,
    })
}
