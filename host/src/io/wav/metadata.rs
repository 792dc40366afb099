//! A recording's contents besides its samples: texts, times, names.

use super::super::bytes::Bytes;
use super::chunks::{Chunk, Order};

/// The most bytes of all kept chunks together.
const MOST: u64 = 16 << 20;

/// Chunks of one recording to be copied into another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Chunks before the samples, with their headers.
    pub(super) before: Vec<u8>,
    /// Chunks after the samples.
    pub(super) after: Vec<u8>,
    /// The names of the chunks left out.
    pub left_out: Vec<String>,
}

impl Metadata {
    /// Reads the chunks that are still true for the new recording.
    pub(super) fn read(
        bytes: &Bytes,
        order: Order,
        chunks: &[Chunk],
        samples: u64,
        same_times: bool,
    ) -> std::io::Result<Self> {
        let mut metadata = Self::default();
        let mut size = 0;
        for chunk in chunks {
            let length = chunk.place.end - chunk.place.start;
            // They are empty, or are written anew.
            if matches!(&chunk.id, b"fact" | b"JUNK" | b"junk" | b"PAD " | b"FLLR") {
                continue;
            }
            let mut start = [0; 4];
            if length >= 4 {
                bytes.read_exact_at(chunk.place.start, &mut start)?;
            }
            let stays = stays_true(&chunk.id, start, same_times) && order == Order::LowestFirst;
            if !stays || size + length > MOST {
                metadata.left_out.push(name(&chunk.id, start));
                continue;
            }
            size += length;
            let mut contents = vec![0; length as usize];
            bytes.read_exact_at(chunk.place.start, &mut contents)?;
            if &chunk.id == b"bext" {
                without_loudness(&mut contents);
            }
            let into = match chunk.place.start < samples {
                true => &mut metadata.before,
                false => &mut metadata.after,
            };
            into.extend(chunk.id);
            into.extend((length as u32).to_le_bytes());
            into.extend(&contents);
            into.extend(&[0][..contents.len() % 2]);
        }
        Ok(metadata)
    }
}

/// Whether a chunk describes the new samples as well as the old ones.
fn stays_true(id: &[u8; 4], start: [u8; 4], same_times: bool) -> bool {
    match id {
        // Peaks, envelopes and checksums of the old samples.
        b"PEAK" | b"levl" | b"MD5 " => false,
        // Texts and pictures.
        b"LIST" if &start == b"INFO" => true,
        b"id3 " | b"ID3 " | b"_PMX" | b"DISP" => true,
        // Marks, loops, broadcast times, labels of marks, and unknown chunks.
        _ => same_times,
    }
}

/// A chunk's name as text: `LIST adtl`, `cue`.
fn name(id: &[u8; 4], start: [u8; 4]) -> String {
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string().trim_end().to_owned();
    match id {
        b"LIST" => format!("LIST {}", text(&start)),
        id => text(id),
    }
}

/// Removes the measured loudness from a broadcast extension: 0x7FFF means none (EBU Tech 3285,
/// version 2).
fn without_loudness(bext: &mut [u8]) {
    let version = bext.get(346..348).map(|word| [word[0], word[1]]);
    if version.is_some_and(|version| u16::from_le_bytes(version) >= 2)
        && let Some(loudness) = bext.get_mut(412..422)
    {
        for word in loudness.chunks_mut(2) {
            word.copy_from_slice(&0x7FFF_u16.to_le_bytes());
        }
    }
}
