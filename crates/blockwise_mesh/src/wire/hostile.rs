//! Fuzzing input for each parser of a connection's bytes, before and after the sender is
//! authenticated.

use std::io::{self, Read, Write};

use super::door::Hello;
use super::frame::Frame;
use super::meeting::answer;
use super::seal::{self, Opener, Sealer};
use crate::{Call, Secret};

/// A connection that sends these bytes and then ends, and ignores what it receives.
struct Said<'a>(&'a [u8]);

impl Read for Said<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for Said<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a connection's bytes with the parser that `what` names; returns what became of them.
#[doc(hidden)]
pub fn read_as_a_rank_would(what: u8, bytes: &[u8]) -> String {
    let mut said = Said(bytes);
    let secret = || Secret::new("the secret of a job").map_err(io::Error::other);
    let mut read = || -> io::Result<String> {
        Ok(match what % 6 {
            0 => format!("{:?}", Hello::read(&mut said)?),
            1 => {
                let mut frames = 0;
                while !said.0.is_empty() {
                    Frame::read(&mut said)?;
                    frames += 1;
                }
                format!("{frames} frames")
            }
            2 => format!("{:?}", answer(&mut said, 4)?.map(|(_, places)| places)),
            3 => {
                let mut opener = Opener::new(seal::hash(b"key"));
                let (mut all, mut piece) = (0, [0; 1000]);
                loop {
                    match opener.read(&mut said, &mut piece)? {
                        0 => break format!("{all} bytes"),
                        count => all += count,
                    }
                }
            }
            4 => format!("{:?}", seal::accept(&mut said, &secret()?).map(drop)),
            _ => format!("{:?}", seal::connect(&mut said, &secret()?).map(drop)),
        })
    };
    read().unwrap_or_else(|error| error.to_string())
}

/// The messages of ranks, each with the name of its parser.
#[doc(hidden)]
pub fn what_a_rank_sends() -> Vec<(u8, Vec<u8>)> {
    let hello = Hello {
        session: 7,
        rank: 1,
        ranks: 4,
        port: 29_570,
        program: "test 1".into(),
    };
    let call = Call {
        number: 7,
        operation: "sum".into(),
        element: "f32".into(),
        sizes: vec![1000, 3],
        digest: 5,
        file: "src/main.rs".into(),
        line: 12,
    };
    let frames = [
        Frame::Data(call, vec![1, 2, 3]),
        Frame::Failed(3, "no room".into()),
        Frame::Lost(1, "closed".into()),
        Frame::Ended,
    ];
    let frames: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
    let mut places = vec![1];
    places.extend(7_u64.to_le_bytes());
    for place in ["127.0.0.1:7000", "[::1]:7001", "3"] {
        super::frame::put(&mut places, place.as_bytes());
    }
    let mut records = Vec::new();
    let sealed = Sealer::new(seal::hash(b"key")).write(&mut records, &frames);
    let greeting = [&seal::MAGIC[..], &[7; 64]].concat();
    let answered = [&seal::MAGIC[..], &[7; 32], &[1], &[7; 32]].concat();
    let mut seeds = vec![(0, hello.encode()), (1, frames), (2, places)];
    seeds.extend(sealed.map(|()| (3, records)));
    seeds.extend([(4, greeting), (5, answered)]);
    seeds
}
