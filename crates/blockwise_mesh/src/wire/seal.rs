//! Proofs that both ends of a TCP connection know the job's secret, and records that a third party
//! cannot write, change, drop or repeat.
//!
//! The connecting side sends 32 random bytes, the listening side answers with 32 of its own. Each
//! then sends the keyed BLAKE2b of both under the secret, with a label for its side; the connecting
//! side goes first, so that the listening side reveals nothing before. Each direction has a key of
//! its own, derived from the same values. Records carry a tag of their number, length and bytes.
//! Nothing is encrypted: what ranks send each other can be read, but not changed.

use std::io::{self, ErrorKind, Read, Write};

use blake2b_simd::{Params, State};

use super::frame::array;
use crate::secret::Secret;

/// The first bytes of a connection, on both sides.
pub(super) const MAGIC: &[u8; 16] = b"blockwise mesh 3";

/// Bytes of a proof.
const TAG: usize = 32;

/// The most bytes of a record: what is held before it is known to come from a rank.
const RECORD: usize = 1 << 16;

/// The answer to a proof.
const WRONG: u8 = 0;
const RIGHT: u8 = 1;

/// Why two processes have not become peers.
#[derive(Debug)]
pub(super) enum Unproven {
    /// The other end has refused this one's secret.
    Refused,
    /// It does not know the secret.
    Stranger,
    /// It speaks another protocol.
    NoMesh,
    /// The connection broke or timed out.
    Io(io::Error),
}

impl From<io::Error> for Unproven {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The key for writing, then the key for reading.
pub(super) type Keys = [State; 2];

/// Proves both ends to each other, on the connecting side.
pub(super) fn connect(stream: &mut (impl Read + Write), secret: &Secret) -> Result<Keys, Unproven> {
    let own = nonce()?;
    stream.write_all(&[&MAGIC[..], &own].concat())?;
    magic(stream)?;
    let keyed = Keyed::new(secret, own, array(stream)?);
    stream.write_all(&keyed.tag(b"who connects"))?;
    match array(stream)? {
        [WRONG] => return Err(Unproven::Refused),
        [RIGHT] => {}
        _ => return Err(Unproven::NoMesh),
    }
    keyed.verify(b"who listens", &array(stream)?)?;
    Ok([keyed.key(b"to who listens"), keyed.key(b"to who connects")])
}

/// The same on the listening side.
pub(super) fn accept(stream: &mut (impl Read + Write), secret: &Secret) -> Result<Keys, Unproven> {
    magic(stream)?;
    let theirs = array(stream)?;
    let own = nonce()?;
    stream.write_all(&[&MAGIC[..], &own].concat())?;
    let keyed = Keyed::new(secret, theirs, own);
    if let Err(stranger) = keyed.verify(b"who connects", &array(stream)?) {
        stream.write_all(&[WRONG])?;
        return Err(stranger);
    }
    stream.write_all(&[&[RIGHT][..], &keyed.tag(b"who listens")].concat())?;
    Ok([keyed.key(b"to who connects"), keyed.key(b"to who listens")])
}

/// Reads the first bytes of a connection.
pub(super) fn magic(stream: &mut impl Read) -> Result<(), Unproven> {
    match array(stream)? == *MAGIC {
        true => Ok(()),
        false => Err(Unproven::NoMesh),
    }
}

fn nonce() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// The secret with both ends' random bytes.
struct Keyed {
    hash: State,
    nonces: [[u8; 32]; 2],
}

impl Keyed {
    fn new(secret: &Secret, of_who_connects: [u8; 32], of_who_listens: [u8; 32]) -> Self {
        Self {
            hash: hash(secret.bytes()),
            nonces: [of_who_connects, of_who_listens],
        }
    }

    fn labelled(&self, label: &[u8]) -> State {
        let mut hash = self.hash.clone();
        hash.update(&self.nonces.concat());
        hash.update(label);
        hash
    }

    fn tag(&self, label: &[u8]) -> [u8; TAG] {
        bytes_of(&self.labelled(label))
    }

    /// Compares in constant time.
    fn verify(&self, label: &[u8], tag: &[u8; TAG]) -> Result<(), Unproven> {
        match self.labelled(label).finalize() == tag[..] {
            true => Ok(()),
            false => Err(Unproven::Stranger),
        }
    }

    fn key(&self, label: &[u8]) -> State {
        hash(&self.tag(label))
    }
}

/// BLAKE2b with a key of any length, which its own keys are not.
pub(super) fn hash(key: &[u8]) -> State {
    let key = blake2b_simd::blake2b(key);
    Params::new()
        .hash_length(TAG)
        .key(key.as_bytes())
        .to_state()
}

fn bytes_of(hash: &State) -> [u8; TAG] {
    let mut tag = [0; TAG];
    tag.copy_from_slice(hash.finalize().as_bytes());
    tag
}

/// Writes records.
pub(super) struct Sealer {
    key: State,
    number: u64,
}

impl Sealer {
    pub(super) fn new(key: State) -> Self {
        Self { key, number: 0 }
    }

    /// Writes bytes as records.
    pub(super) fn write(&mut self, to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(RECORD) {
            let head = (piece.len() as u32).to_le_bytes();
            let tag = bytes_of(&record(&self.key, self.number, &head, piece));
            self.number += 1;
            to.write_all(&head)?;
            to.write_all(piece)?;
            to.write_all(&tag)?;
        }
        Ok(())
    }
}

/// Reads records.
pub(super) struct Opener {
    key: State,
    number: u64,
    /// The last record's bytes, and how many of them were read.
    bytes: Vec<u8>,
    at: usize,
}

impl Opener {
    pub(super) fn new(key: State) -> Self {
        Self {
            key,
            number: 0,
            bytes: Vec::new(),
            at: 0,
        }
    }

    /// Bytes from the other rank; none at the end of the connection.
    pub(super) fn read(&mut self, from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.bytes.len() && !into.is_empty() {
            self.next(from)?;
        }
        let count = (&self.bytes[self.at..]).read(into)?;
        self.at += count;
        Ok(count)
    }

    fn next(&mut self, from: &mut impl Read) -> io::Result<()> {
        self.bytes.clear();
        self.at = 0;
        let mut head = [0; 4];
        // A connection may end between records.
        match from.read(&mut head)? {
            0 => return Ok(()),
            count => from.read_exact(&mut head[count..])?,
        }
        let len = u32::from_le_bytes(head) as usize;
        if !(1..=RECORD).contains(&len) {
            return Err(forged());
        }
        self.bytes.resize(len, 0);
        let read = from.read_exact(&mut self.bytes).and_then(|()| array(from));
        let verified = read.and_then(|tag: [u8; TAG]| {
            let expected = record(&self.key, self.number, &head, &self.bytes);
            // In constant time, as above.
            match expected.finalize() == tag[..] {
                true => Ok(()),
                false => Err(forged()),
            }
        });
        if let Err(error) = verified {
            self.bytes.clear();
            return Err(error);
        }
        self.number += 1;
        Ok(())
    }
}

fn record(key: &State, number: u64, head: &[u8; 4], bytes: &[u8]) -> State {
    let mut hash = key.clone();
    hash.update(&number.to_le_bytes());
    hash.update(head);
    hash.update(bytes);
    hash
}

fn forged() -> io::Error {
    let what = "somebody has changed what it sent, or sent something in its name";
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn secret(text: &str) -> Secret {
        Secret::new(text).unwrap()
    }

    /// Both ends' outcomes.
    fn meet(of_who_connects: &str, of_who_listens: &str) -> [Result<Keys, Unproven>; 2] {
        let (mut a, mut b) = UnixStream::pair().unwrap();
        let listens = secret(of_who_listens);
        let other = std::thread::spawn(move || accept(&mut b, &listens));
        [
            connect(&mut a, &secret(of_who_connects)),
            other.join().unwrap(),
        ]
    }

    #[test]
    fn only_those_with_one_secret_meet() {
        let [a, b] = meet("a secret of a job", "a secret of a job");
        let (Ok([to_b, to_a]), Ok([of_a, of_b])) = (a, b) else {
            panic!("they have one secret");
        };
        let tag = |hash: State| bytes_of(&hash);
        let [to_b, to_a, of_a, of_b] = [to_b, to_a, of_a, of_b].map(tag);
        assert_eq!((&to_b, &to_a), (&of_b, &of_a));
        assert_ne!(to_b, to_a);
        let [a, b] = meet("a secret of a job", "a secret of another");
        let (a, b) = (a.map(drop), b.map(drop));
        assert!(matches!(a, Err(Unproven::Refused)), "{a:?}");
        assert!(matches!(b, Err(Unproven::Stranger)), "{b:?}");
    }

    /// A listener without the secret learns a proof, and can use it nowhere: neither by returning
    /// the same proof nor with its own bytes.
    #[test]
    fn who_listens_must_prove_itself_too() {
        for echo in [true, false] {
            let (mut a, mut b) = UnixStream::pair().unwrap();
            let other = std::thread::spawn(move || -> io::Result<()> {
                let hello: [u8; 48] = array(&mut b)?;
                b.write_all(&hello)?;
                let proof: [u8; TAG] = array(&mut b)?;
                b.write_all(&[RIGHT])?;
                b.write_all(if echo { &proof } else { &[7; TAG] })
            });
            let result = connect(&mut a, &secret("a secret of a job")).map(drop);
            assert!(matches!(result, Err(Unproven::Stranger)), "{result:?}");
            other.join().unwrap().unwrap();
        }
    }

    #[test]
    fn a_recorded_proof_is_worth_nothing_later() {
        struct Recorded<'a>(&'a mut UnixStream, Vec<u8>);
        impl Read for Recorded<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.0.read(into)
            }
        }
        impl Write for Recorded<'_> {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.1.extend(bytes);
                self.0.write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let listen = |mut stream: UnixStream| {
            std::thread::spawn(move || accept(&mut stream, &secret("a secret of a job")))
        };
        let (mut a, b) = UnixStream::pair().unwrap();
        let other = listen(b);
        let mut recorded = Recorded(&mut a, Vec::new());
        assert!(connect(&mut recorded, &secret("a secret of a job")).is_ok());
        assert!(other.join().unwrap().is_ok());
        let replayed = recorded.1;
        let (mut a, b) = UnixStream::pair().unwrap();
        let other = listen(b);
        a.write_all(&replayed).unwrap();
        let refused = other.join().unwrap().map(drop);
        assert!(matches!(refused, Err(Unproven::Stranger)), "{refused:?}");
    }

    fn sealed(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut sealer = Sealer::new(hash(b"key"));
        let record = |piece: &&[u8]| {
            let mut bytes = Vec::new();
            sealer.write(&mut bytes, piece).unwrap();
            bytes
        };
        pieces.iter().map(record).collect()
    }

    fn opened(bytes: &[u8]) -> (Vec<u8>, io::Result<()>) {
        let mut opener = Opener::new(hash(b"key"));
        let (mut from, mut all, mut piece) = (bytes, Vec::new(), [0; 1000]);
        loop {
            match opener.read(&mut from, &mut piece) {
                Ok(0) => return (all, Ok(())),
                Ok(count) => all.extend(&piece[..count]),
                Err(error) => return (all, Err(error)),
            }
        }
    }

    #[test]
    fn records_come_out_as_they_went_in() {
        let long: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
        let records = sealed(&[b"first", &long, b"", b"last"]);
        let (bytes, end) = opened(&records.concat());
        assert!(end.is_ok());
        assert_eq!(bytes, [b"first", &long[..], b"last"].concat());
    }

    /// No changed, dropped, swapped, repeated or truncated record is passed on.
    #[test]
    fn a_changed_record_is_noticed_before_it_is_read() {
        let records = sealed(&[b"first", b"second", b"third"]);
        let whole = records.concat();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            let (bytes, end) = opened(&changed);
            assert!(end.is_err(), "{at}");
            let intact = [0, 41, 83].partition_point(|&start| start <= at) - 1;
            assert_eq!(bytes, [&b""[..], b"first", b"firstsecond"][intact], "{at}");
        }
        for order in [[1, 0, 2], [0, 0, 1], [0, 2, 1], [2, 1, 0]] {
            let (bytes, end) = opened(&order.map(|at| records[at].clone()).concat());
            assert!(end.is_err(), "{order:?}");
            assert_eq!(bytes, if order[0] == 0 { &b"first"[..] } else { b"" });
        }
        for cut in 1..records[0].len() {
            assert!(opened(&records[0][..cut]).1.is_err(), "{cut}");
        }
        let large = [&u32::MAX.to_le_bytes()[..], &[0; 100]].concat();
        assert!(opened(&large).1.is_err());
    }
}
