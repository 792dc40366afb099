//! The parts of a `.wav` file: where its samples are, and what else it contains.
//!
//! A file consists of chunks, each with a name of four bytes, a length and an even number of bytes.
//! Programs that write into a pipe, or are stopped while they record, leave the samples' length
//! unset; then the samples end with the file.

use std::ops::Range;

use super::super::bytes::Bytes;
use super::super::error::{Defect, Problem};
use super::format::{REWRITE, format};
use super::{Sound, UNKNOWN_LENGTH};

/// The order of a file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// RIFF, RF64, BW64.
    LowestFirst,
    /// RIFX.
    HighestFirst,
}

impl Order {
    fn long(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::LowestFirst => u32::from_le_bytes(bytes),
            Self::HighestFirst => u32::from_be_bytes(bytes),
        }
    }
}

/// A chunk's name, and the place of its contents.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) id: [u8; 4],
    pub(super) place: Range<u64>,
}

/// The contents of a file.
pub(super) struct Parts {
    pub(super) order: Order,
    pub(super) sound: Sound,
    /// The place of the samples.
    pub(super) data: Range<u64>,
    /// The chunks other than format and samples, in order.
    pub(super) others: Vec<Chunk>,
    /// What a user should know of the file.
    pub(super) notices: Vec<String>,
}

/// Whether a length of samples is a placeholder for an unknown one: 2³¹ or 2³² bytes, perhaps less
/// what precedes the samples.
fn is_placeholder(length: u32) -> bool {
    (0x7FFF_0000..=0x8000_0000).contains(&length) || length >= 0xFFFF_0000
}

impl Parts {
    /// Finds the parts of a file of `len` bytes.
    pub(super) fn find(bytes: &Bytes, len: u64) -> Result<Self, Defect> {
        if len == 0 {
            return Err(Problem::new("the file is empty").into());
        }
        let mut head = [0; 12];
        let known = len.min(12) as usize;
        bytes.read_exact_at(0, &mut head[..known])?;
        let (order, is_long) = kind(&head)?;

        let mut at = 12;
        let mut sound = None;
        let mut long_data = None;
        let mut others = Vec::new();
        while let Some((id, stored)) = chunk_at(bytes, order, at, len)? {
            at += 8;
            let left = len - at;
            if &id == b"data" {
                let Some(sound) = sound else {
                    let what = "the samples come before their format (`fmt `)";
                    return Err(Problem::new(what).hint(REWRITE).into());
                };
                let sound: Sound = sound;
                let promised = match (stored, long_data) {
                    (UNKNOWN_LENGTH, Some(length)) if is_long => length,
                    _ => u64::from(stored),
                };
                let is_open = match promised {
                    // A recording without samples may be followed by other chunks.
                    0 => left >= sound.frame() && !are_chunks(bytes, order, at, len)?,
                    promised => promised > left && is_placeholder(stored),
                };
                let mut notices = Vec::new();
                if order == Order::HighestFirst {
                    notices.push(
                        "its bytes come highest first (RIFX); recordings are written lowest first (RIFF)"
                            .to_owned(),
                    );
                }
                if sound.is_ambisonic {
                    notices.push(
                        "its channels are those of a sound field (ambisonic B-format), and each is read as a channel"
                            .to_owned(),
                    );
                }
                let length = if is_open {
                    let whole = left - left % sound.frame();
                    notices.push(open_length(promised, whole / sound.frame(), left - whole));
                    whole
                } else {
                    check_length(&id, promised, left)?;
                    promised
                };
                let data = at..at + length;
                if !is_open {
                    let next = (data.end + length % 2).min(len);
                    let rest = following(bytes, order, next, len, &mut others)?;
                    if others.iter().any(|chunk| &chunk.id == b"data") {
                        let what = "the file has two parts `data`: which samples are its own?";
                        return Err(Problem::new(what)
                            .hint("leave one of them: programs differ in what they take")
                            .into());
                    }
                    if rest > 0 {
                        notices.push(format!(
                            "the last {rest} bytes belong to no part of the file and are left out"
                        ));
                    }
                }
                return Ok(Self {
                    order,
                    sound,
                    data,
                    others,
                    notices,
                });
            }
            let length = u64::from(stored);
            // Everything that matters here is at the start of a chunk.
            const ENOUGH: u64 = 64;
            let mut start = vec![0; length.min(left).min(ENOUGH) as usize];
            if matches!(&id, b"fmt " | b"ds64") {
                bytes.read_exact_at(at, &mut start)?;
            }
            match &id {
                b"fmt " => sound = Some(format(&in_order(start, order))?),
                b"ds64" => {
                    let data = start.get(8..).and_then(|bytes| bytes.first_chunk());
                    long_data = data.copied().map(u64::from_le_bytes);
                }
                _ => {}
            }
            check_length(&id, length, left)?;
            if !matches!(&id, b"fmt " | b"ds64") {
                let place = at..at + length;
                others.push(Chunk { id, place });
            }
            at += (length + length % 2).min(left);
        }
        Err(
            Problem::new("the file is truncated: it ends before its samples")
                .hint("copy the file again")
                .into(),
        )
    }
}

/// The notice about samples whose length was left unset.
fn open_length(promised: u64, frames: u64, rest: u64) -> String {
    let rest = match rest {
        0 => String::new(),
        rest => format!(", and {rest} bytes of an unfinished one are left out"),
    };
    format!(
        "the length of its samples was left open ({promised} bytes are promised), as by a program that writes into a pipe or was stopped: the {frames} frames up to the file's end are read{rest}"
    )
}

/// The order of bytes, and whether lengths may have 64 bits.
fn kind(head: &[u8; 12]) -> Result<(Order, bool), Problem> {
    let kind = match &head[..4] {
        b"RIFF" => Some((Order::LowestFirst, false)),
        b"RF64" | b"BW64" => Some((Order::LowestFirst, true)),
        b"RIFX" => Some((Order::HighestFirst, false)),
        _ => None,
    };
    if let Some(kind) = kind
        && &head[8..] == b"WAVE"
    {
        return Ok(kind);
    }
    Err(Problem::new(
        "this is no .wav file: it does not start with RIFF, RIFX, RF64 or BW64 and WAVE",
    ))
}

/// The name and the stored length of the chunk at a place. `None` at the end.
fn chunk_at(
    bytes: &Bytes,
    order: Order,
    at: u64,
    len: u64,
) -> Result<Option<([u8; 4], u32)>, Defect> {
    if at.saturating_add(8) > len {
        return Ok(None);
    }
    let mut head = [0; 8];
    bytes.read_exact_at(at, &mut head)?;
    let [id @ .., l0, l1, l2, l3] = head;
    Ok(Some((id, order.long([l0, l1, l2, l3]))))
}

/// Adds the chunks from `at` on. Returns the number of bytes after them that are not chunks.
fn following(
    bytes: &Bytes,
    order: Order,
    mut at: u64,
    len: u64,
    others: &mut Vec<Chunk>,
) -> Result<u64, Defect> {
    while let Some((id, length)) = chunk_at(bytes, order, at, len)? {
        let place = at + 8..at + 8 + u64::from(length);
        let is_name = id.iter().all(|byte| (b' '..=b'~').contains(byte));
        if place.end > len || !is_name {
            break;
        }
        at = (place.end + u64::from(length % 2)).min(len);
        others.push(Chunk { id, place });
    }
    Ok(len - at)
}

/// Whether the file is divided into chunks from `at` to its end.
fn are_chunks(bytes: &Bytes, order: Order, at: u64, len: u64) -> Result<bool, Defect> {
    Ok(following(bytes, order, at, len, &mut Vec::new())? == 0)
}

fn check_length(id: &[u8], length: u64, left: u64) -> Result<(), Problem> {
    if length <= left {
        return Ok(());
    }
    Err(Problem::new(format!(
        "the file is truncated: {length} bytes are promised for its part `{}`, {left} are there",
        id.escape_ascii(),
    ))
    .hint(
        "copy the file again, or convert it: `ffmpeg -i IN -c:a copy OUT.wav` keeps what is there",
    ))
}

/// The fields of a chunk `fmt `, lowest byte first: 16-bit words, except for two 32-bit numbers and
/// the speakers' mask.
fn in_order(mut chunk: Vec<u8>, order: Order) -> Vec<u8> {
    if order == Order::HighestFirst {
        const FIELDS: [(usize, usize); 10] = [
            (0, 2),
            (2, 2),
            (4, 4),
            (8, 4),
            (12, 2),
            (14, 2),
            (16, 2),
            (18, 2),
            (20, 4),
            (24, 2),
        ];
        for (start, width) in FIELDS {
            if let Some(field) = chunk.get_mut(start..start + width) {
                field.reverse();
            }
        }
    }
    chunk
}
