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
        let mut lengths: Option<Lengths> = None;
        let mut others = Vec::new();
        let mut notices = Vec::new();
        while let Some((id, stored)) = chunk_at(bytes, order, at, len)? {
            at += 8;
            let left = len - at;
            if &id == b"data" {
                let Some(sound) = sound else {
                    let what = "the samples come before their format (`fmt `)";
                    return Err(Problem::new(what).hint(REWRITE).into());
                };
                let sound: Sound = sound;
                let lengths = lengths.filter(|_| is_long);
                let promised = match (stored, lengths) {
                    (UNKNOWN_LENGTH, Some(lengths)) => lengths.data,
                    _ => u64::from(stored),
                };
                let is_open = match promised {
                    // A recording without samples may be followed by other chunks.
                    0 => left >= sound.frame() && !are_chunks(bytes, order, at, len)?,
                    promised => promised > left && is_placeholder(stored),
                };
                notices.extend(of_the_kind(order, &sound).map(str::to_owned));
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
                    let next = after(bytes, order, data.end, length, len)?;
                    let mut later = Vec::new();
                    let rest = following(bytes, order, next, len, &mut later)?;
                    let later = once(bytes, order, later, &sound, lengths, &mut notices)?;
                    others.extend(later);
                    if rest > 0 {
                        notices.push(format!(
                            "the last {rest} bytes belong to no part of the file and are left out"
                        ));
                    }
                    let frames = length / sound.frame();
                    notices.extend(counts(bytes, order, &others, lengths, frames)?);
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
            let place = at..at + length.min(left);
            match &id {
                b"fmt " => {
                    let found = format(&start(bytes, order, &place)?)?;
                    notices.extend(same(id, sound.replace(found), found, Sound::to_string)?);
                }
                b"ds64" => {
                    // Too short for lengths, it says nothing.
                    if let Some(found) = Lengths::read(bytes, &place)? {
                        notices.extend(same(id, lengths.replace(found), found, Lengths::text)?);
                    }
                }
                _ => others.push(Chunk { id, place }),
            }
            check_length(&id, length, left)?;
            at = after(bytes, order, at + length, length, len)?;
        }
        Err(without_samples(order, &head, &others, len).into())
    }
}

/// What a file is that ends before its samples.
fn without_samples(order: Order, head: &[u8; 12], others: &[Chunk], len: u64) -> Problem {
    let [.., s0, s1, s2, s3, _, _, _, _] = *head;
    let is_whole = u64::from(order.long([s0, s1, s2, s3])) + 8 <= len;
    if others.iter().any(|chunk| &chunk.id == b"levl") {
        return Problem::new(
            "this is a peak file: it has a recording's envelope (`levl`), and no samples",
        )
        .hint("name the recording that it was made of");
    }
    match is_whole {
        true => Problem::new("the file has no samples: no part of it is called `data`")
            .hint("record or export it again: nothing is missing that another copy would have"),
        false => Problem::new("the file is truncated: it ends before its samples")
            .hint("copy the file again"),
    }
}

/// The lengths of a file whose own fields are too short for them: its part `ds64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lengths {
    /// The bytes of the samples.
    data: u64,
    /// The frames; 0 if unset.
    frames: u64,
}

impl Lengths {
    /// `None` if the part is too short for them.
    fn read(bytes: &Bytes, place: &Range<u64>) -> Result<Option<Self>, Defect> {
        let chunk = start(bytes, Order::LowestFirst, place)?;
        let number = |at: usize| Some(u64::from_le_bytes(*chunk.get(at..)?.first_chunk()?));
        Ok(number(8).map(|data| Self {
            data,
            frames: number(16).unwrap_or(0),
        }))
    }

    fn text(&self) -> String {
        format!("{} bytes of samples", self.data)
    }
}

/// The first bytes of a chunk, where everything is that matters here.
fn start(bytes: &Bytes, order: Order, place: &Range<u64>) -> Result<Vec<u8>, Defect> {
    const ENOUGH: u64 = 64;
    let mut start = vec![0; (place.end - place.start).min(ENOUGH) as usize];
    bytes.read_exact_at(place.start, &mut start)?;
    Ok(in_order(start, order))
}

/// The notice about a part that the file has twice. Programs differ in which one they take, so the
/// two must say the same.
fn same<T: PartialEq>(
    id: [u8; 4],
    earlier: Option<T>,
    found: T,
    text: impl Fn(&T) -> String,
) -> Result<Option<String>, Problem> {
    let Some(earlier) = earlier else {
        return Ok(None);
    };
    let id = id.escape_ascii();
    if earlier == found {
        return Ok(Some(format!("it has two parts `{id}`, which say the same")));
    }
    let (one, other) = (text(&earlier), text(&found));
    Err(
        Problem::new(format!("the file has two parts `{id}`: {one}, and {other}"))
            .hint("leave one of them: programs differ in what they take"),
    )
}

/// The chunks after the samples, without those that may be there only once, before the samples.
fn once(
    bytes: &Bytes,
    order: Order,
    later: Vec<Chunk>,
    sound: &Sound,
    lengths: Option<Lengths>,
    notices: &mut Vec<String>,
) -> Result<Vec<Chunk>, Defect> {
    let mut others = Vec::new();
    for chunk in later {
        let Chunk { id, place } = &chunk;
        match id {
            b"data" => {
                let what = "the file has two parts `data`: which samples are its own?";
                return Err(Problem::new(what)
                    .hint("leave one of them: programs differ in what they take")
                    .into());
            }
            b"fmt " => {
                let found = format(&start(bytes, order, place)?)?;
                notices.extend(same(*id, Some(*sound), found, Sound::to_string)?);
            }
            b"RIFF" | b"RIFX" | b"RF64" | b"BW64" => notices.push(
                "another recording follows its own, as when two files are put together by `cat`: it is left out (`sox ONE TWO OUT.wav` joins them)".to_owned(),
            ),
            b"ds64" => {
                if let (Some(found), Some(_)) = (Lengths::read(bytes, place)?, lengths) {
                    notices.extend(same(*id, lengths, found, Lengths::text)?);
                }
            }
            _ => others.push(chunk),
        }
    }
    Ok(others)
}

/// Notices about parts that count other frames than there are. A count may be left unset.
fn counts(
    bytes: &Bytes,
    order: Order,
    others: &[Chunk],
    lengths: Option<Lengths>,
    frames: u64,
) -> Result<Vec<String>, Defect> {
    let mut counts = Vec::new();
    for chunk in others.iter().filter(|chunk| &chunk.id == b"fact") {
        let mut count = [0; 4];
        if chunk.place.end - chunk.place.start >= 4 {
            bytes.read_exact_at(chunk.place.start, &mut count)?;
            counts.push(("fact", u64::from(order.long(count))));
        }
    }
    counts.extend(lengths.map(|lengths| ("ds64", lengths.frames)));
    let unset = [0, u64::from(UNKNOWN_LENGTH), u64::MAX, frames];
    let wrong = counts
        .into_iter()
        .filter(|(_, count)| !unset.contains(count));
    let notices = wrong.map(|(id, count)| {
        format!("its part `{id}` counts {count} frames, and {frames} are there: these are read")
    });
    Ok(notices.collect())
}

/// What a user should know of a kind of file.
fn of_the_kind(order: Order, sound: &Sound) -> impl Iterator<Item = &'static str> {
    let order = (order == Order::HighestFirst).then_some(
        "its bytes come highest first (RIFX); recordings are written lowest first (RIFF)",
    );
    let field = sound.is_ambisonic.then_some(
        "its channels are those of a sound field (ambisonic B-format), and each is read as a channel",
    );
    order.into_iter().chain(field)
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
    )
    .hint("if it is sound, convert it: `ffmpeg -i IN -c:a pcm_f64le OUT.wav`; samples without a header need `sox -t raw -r RATE -e signed -b BITS -c CHANNELS IN OUT.wav`"))
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
        if place.end > len || !is_name(id) {
            break;
        }
        at = after(bytes, order, place.end, length.into(), len)?;
        others.push(Chunk { id, place });
    }
    Ok(len - at)
}

/// Where the next chunk begins after one of `length` bytes that ends at `end`. Some programs leave
/// out the zero byte that makes an odd length even.
fn after(bytes: &Bytes, order: Order, end: u64, length: u64, len: u64) -> Result<u64, Defect> {
    if length.is_multiple_of(2) || end >= len {
        return Ok(end.min(len));
    }
    let mut padding = [0];
    bytes.read_exact_at(end, &mut padding)?;
    let begins = |at: u64| -> Result<bool, Defect> {
        Ok(
            chunk_at(bytes, order, at, len)?.is_some_and(|(id, length)| {
                let fits = at + 8 + u64::from(length) <= len;
                is_name(id) && (fits || &id == b"data")
            }),
        )
    };
    let is_left_out = padding != [0] && begins(end)? && !begins(end + 1)?;
    Ok(if is_left_out { end } else { end + 1 })
}

/// Whether four bytes can be a chunk's name.
fn is_name(id: [u8; 4]) -> bool {
    id.iter().all(|byte| (b' '..=b'~').contains(byte))
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
