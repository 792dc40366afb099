//! The encoding of messages as bytes. Numbers are little-endian.

use std::io::{self, ErrorKind, Read};

use crate::Call;

/// A message from one rank to another.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Elements that belong to a call.
    Data(Call, Vec<u8>),
    /// The sender's program has succeeded.
    Ended,
    /// The sender's program has failed because this rank did, possibly another one.
    Failed(usize, String),
    /// The sender's program has failed because the connection to this rank broke.
    Lost(usize, String),
}

/// The most bytes of a name, path or reason. The writer truncates longer ones.
const NAME: u64 = 4096;
const REASON: u64 = 1 << 16;
/// The most bytes of a call's lengths.
const SIZES: u64 = 1 << 12;
/// The most bytes of a message's elements.
const ELEMENTS: u64 = 1 << 40;

const DATA: u8 = 0;
const ENDED: u8 = 1;
const FAILED: u8 = 2;
const LOST: u8 = 3;

impl Frame {
    /// One byte for the kind; for data, the call; the length of the rest in 8 bytes; the rest.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Data(call, data) => {
                bytes.push(DATA);
                for number in [call.number, call.digest, u64::from(call.line)] {
                    bytes.extend(number.to_le_bytes());
                }
                for text in [&call.operation, &call.element, &call.file] {
                    put(&mut bytes, cut(text, NAME));
                }
                let sizes: Vec<u8> = call.sizes.iter().flat_map(|n| n.to_le_bytes()).collect();
                put(&mut bytes, &sizes);
                put(&mut bytes, data);
            }
            Self::Ended => bytes.push(ENDED),
            Self::Failed(rank, reason) | Self::Lost(rank, reason) => {
                bytes.push(match self {
                    Self::Lost(..) => LOST,
                    _ => FAILED,
                });
                bytes.extend((*rank as u64).to_le_bytes());
                put(&mut bytes, cut(reason, REASON));
            }
        }
        bytes
    }

    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let [kind] = array(from)?;
        match kind {
            DATA => {
                let mut number = || array(from).map(u64::from_le_bytes);
                let (count, digest, line) = (number()?, number()?, number()?);
                let call = Call {
                    number: count,
                    digest,
                    line: line.try_into().map_err(io::Error::other)?,
                    operation: text(from, NAME)?,
                    element: text(from, NAME)?,
                    file: text(from, NAME)?,
                    sizes: sizes(from)?,
                };
                Ok(Self::Data(call, take(from, ELEMENTS)?))
            }
            ENDED => Ok(Self::Ended),
            FAILED | LOST => {
                let rank = u64::from_le_bytes(array(from)?) as usize;
                let reason = text(from, REASON)?;
                Ok(match kind {
                    LOST => Self::Lost(rank, reason),
                    _ => Self::Failed(rank, reason),
                })
            }
            _ => Err(io::Error::other("what it sends is no message of a mesh")),
        }
    }
}

/// Appends the length of the bytes, then the bytes.
pub(super) fn put(bytes: &mut Vec<u8>, more: &[u8]) {
    bytes.extend((more.len() as u64).to_le_bytes());
    bytes.extend(more);
}

/// The longest prefix of whole characters within that many bytes.
fn cut(text: &str, most: u64) -> &[u8] {
    &text.as_bytes()[..text.floor_char_boundary(most as usize)]
}

/// Reads what [`put`] has appended; more than `most` bytes are an error.
pub(super) fn take(from: &mut impl Read, most: u64) -> io::Result<Vec<u8>> {
    let len = u64::from_le_bytes(array(from)?);
    if len > most {
        let what = format!("it announces {len} bytes where {most} may be");
        return Err(io::Error::new(ErrorKind::InvalidData, what));
    }
    let mut bytes = Vec::new();
    // Memory grows with what has arrived, so that a length alone allocates nothing.
    while (bytes.len() as u64) < len {
        let more = (len - bytes.len() as u64).min((bytes.len() as u64).max(PIECE));
        bytes.try_reserve_exact(more as usize)?;
        if from.take(more).read_to_end(&mut bytes)? as u64 != more {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(bytes)
}

/// The most bytes that are allocated for a message before any of it has arrived.
const PIECE: u64 = 1 << 16;

pub(super) fn text(from: &mut impl Read, most: u64) -> io::Result<String> {
    String::from_utf8(take(from, most)?).map_err(io::Error::other)
}

pub(super) fn array<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn sizes(from: &mut impl Read) -> io::Result<Vec<u64>> {
    let bytes = take(from, SIZES)?;
    let sizes = bytes.as_chunks().0.iter();
    Ok(sizes.map(|&size| u64::from_le_bytes(size)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written() {
        let call = Call {
            number: 7,
            operation: "sum".into(),
            element: "f32".into(),
            sizes: vec![1000, 3],
            digest: u64::MAX,
            file: "src/main.rs".into(),
            line: 12,
        };
        let frames = [
            Frame::Data(call.clone(), vec![1, 2, 3]),
            Frame::Data(
                Call {
                    sizes: vec![],
                    ..call
                },
                vec![],
            ),
            Frame::Ended,
            Frame::Failed(3, "no room".into()),
            Frame::Lost(1, "closed".into()),
        ];
        let bytes: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
        let mut rest = &bytes[..];
        for frame in &frames {
            assert_eq!(Frame::read(&mut rest).unwrap(), *frame);
        }
        assert!(rest.is_empty());
    }

    /// A reader that counts the bytes it has returned.
    struct Endless(u64);

    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0 += into.len() as u64;
            into.fill(1);
            Ok(into.len())
        }
    }

    #[test]
    fn what_is_too_long_is_not_read() {
        for (kind, most) in [(FAILED, REASON), (DATA, NAME)] {
            let numbers = if kind == DATA { 24 } else { 8 };
            for len in [most + 1, 1 << 30, u64::MAX] {
                let mut bytes = vec![kind];
                bytes.resize(1 + numbers, 0);
                bytes.extend(len.to_le_bytes());
                let mut endless = Endless(0);
                let error = Frame::read(&mut (&bytes[..]).chain(&mut endless)).unwrap_err();
                assert!(error.to_string().contains("may be"), "{error}");
                assert_eq!(endless.0, 0);
            }
        }
        // Bytes that do not arrive are not allocated either.
        let mut announced = &[&ELEMENTS.to_le_bytes()[..], &[0; 100]].concat()[..];
        let error = take(&mut announced, ELEMENTS).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_is_too_long_is_cut_by_its_writer() {
        let reason = "ä".repeat(REASON as usize);
        let bytes = Frame::Failed(1, reason.clone()).encode();
        let cut = reason[..REASON as usize].to_owned();
        assert_eq!(Frame::read(&mut &bytes[..]).unwrap(), Frame::Failed(1, cut));
    }

    #[test]
    fn what_is_cut_off_or_no_frame_is_an_error() {
        let whole = Frame::Failed(3, "no room".into()).encode();
        for len in 0..whole.len() {
            assert!(Frame::read(&mut &whole[..len]).is_err());
        }
        let error = Frame::read(&mut &b"GET / HTTP/1.1"[..]).unwrap_err();
        assert!(error.to_string().contains("no message of a mesh"));
    }
}
