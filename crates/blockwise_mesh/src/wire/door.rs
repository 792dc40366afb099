//! Accepts connections for a rank that listens: a few at a time, each for a short time, until it
//! has proved that it belongs to the job.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::net::Shutdown;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::Builder;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::frame::{array, put, text};
use super::seal::Unproven;
use super::stream::{Listener, Stream};
use crate::secret::Secret;

/// The most connections that are not authenticated yet.
const UNPROVEN: usize = 64;

/// The time that each has for authentication and greeting together.
const GREETING: Duration = Duration::from_secs(5);

/// How long the oldest one may stay if others wait for its slot.
const STAY: Duration = Duration::from_millis(250);

/// Pause between two polls of the listener.
const PAUSE: Duration = Duration::from_millis(20);

/// Bytes of a program's name and version.
const PROGRAM: u64 = 256;

/// A rank's first message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    /// The meeting's number, from one rank to another; 0 to rank 0, which draws it.
    pub(super) session: u64,
    pub(super) rank: u64,
    pub(super) ranks: u64,
    /// Where it listens: a port, or its equivalent for a socket.
    pub(super) port: u16,
    pub(super) program: String,
}

impl Hello {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [self.session, self.rank, self.ranks, u64::from(self.port)] {
            bytes.extend(number.to_le_bytes());
        }
        put(&mut bytes, self.program.as_bytes());
        bytes
    }

    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut number = || array(from).map(u64::from_le_bytes);
        let (session, rank, ranks, port) = (number()?, number()?, number()?, number()?);
        Ok(Self {
            session,
            rank,
            ranks,
            port: port.try_into().map_err(io::Error::other)?,
            program: text(from, PROGRAM)?,
        })
    }
}

/// A program's name as sent in a greeting.
pub(super) fn program(name: &str) -> &str {
    &name[..name.floor_char_boundary(PROGRAM as usize)]
}

/// A connected process that is authenticated as part of the job.
pub(super) struct Guest {
    pub(super) connection: Connection,
    pub(super) hello: Hello,
}

/// A rank's listener.
pub(super) struct Door {
    listener: Listener,
    secret: Option<Secret>,
    unproven: VecDeque<Visitor>,
    /// The number of the next connection.
    number: u64,
    sender: Sender<(u64, Result<Guest, Unproven>)>,
    receiver: Receiver<(u64, Result<Guest, Unproven>)>,
    /// Connections without a valid rank, by reason.
    strangers: usize,
    without_secret: usize,
}

struct Visitor {
    number: u64,
    stream: Stream,
    since: Instant,
}

impl Door {
    pub(super) fn new(listener: Listener, secret: Option<Secret>) -> Self {
        let (sender, receiver) = mpsc::channel();
        Self {
            listener,
            secret,
            unproven: VecDeque::new(),
            number: 0,
            sender,
            receiver,
            strangers: 0,
            without_secret: 0,
        }
    }

    /// The port, or its equivalent for a socket.
    pub(super) fn port(&self) -> io::Result<u16> {
        self.listener.port()
    }

    /// The next guest, if one arrives shortly. Nothing that strangers do is an error.
    pub(super) fn next(&mut self) -> Option<Guest> {
        while self.has_room() {
            match self.listener.accept() {
                Ok(Some(stream)) => self.admit(stream),
                Ok(None) => self.strangers += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // The peer went away, or the system has no resources: poll again soon.
                Err(_) => break,
            }
        }
        let (number, outcome) = self.receiver.recv_timeout(PAUSE).ok()?;
        self.unproven.retain(|visitor| visitor.number != number);
        match outcome {
            Ok(guest) => return Some(guest),
            Err(Unproven::Stranger) => self.without_secret += 1,
            Err(_) => self.strangers += 1,
        }
        None
    }

    /// Who connected but was no rank, for the error about a rank that has not come.
    pub(super) fn others(&self) -> String {
        let Self {
            strangers,
            without_secret,
            ..
        } = self;
        let mut text = String::new();
        if *without_secret > 0 {
            text += &format!("; {without_secret} connections had another secret");
        }
        if *strangers > 0 {
            text += &format!("; {strangers} connections were no rank's");
        }
        text
    }

    /// Whether another connection may be accepted. If all slots are taken, that of the oldest
    /// connection is freed as soon as its time is up.
    fn has_room(&mut self) -> bool {
        if self.unproven.len() >= UNPROVEN
            && let Some(oldest) = self.unproven.pop_front_if(|one| one.since.elapsed() > STAY)
        {
            // This ends the read of its thread.
            let _ = oldest.stream.shutdown(Shutdown::Both);
        }
        self.unproven.len() < UNPROVEN
    }

    fn admit(&mut self, stream: Stream) {
        let number = self.number;
        self.number += 1;
        let Ok(copy) = stream.try_clone() else {
            return;
        };
        let (secret, sender) = (self.secret.clone(), self.sender.clone());
        let prove = move || {
            // The meeting may be over.
            let _ = sender.send((number, greeted(stream, secret.as_ref())));
        };
        // If no thread can be started, the connection is closed.
        if Builder::new().stack_size(1 << 18).spawn(prove).is_ok() {
            self.unproven.push_back(Visitor {
                number,
                stream: copy,
                since: Instant::now(),
            });
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        for visitor in &self.unproven {
            let _ = visitor.stream.shutdown(Shutdown::Both);
        }
    }
}

fn greeted(stream: Stream, secret: Option<&Secret>) -> Result<Guest, Unproven> {
    let mut connection = Connection::accept(stream, secret, Instant::now() + GREETING)?;
    let hello = Hello::read(&mut connection.reading)?;
    Ok(Guest { connection, hello })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_are_read_as_they_were_written_and_no_longer_than_they_may_be() {
        let hello = Hello {
            session: 7,
            rank: 1,
            ranks: 2,
            port: 29_570,
            program: "test 1".into(),
        };
        let bytes = hello.encode();
        assert_eq!(Hello::read(&mut &bytes[..]).unwrap(), hello);
        for cut in 0..bytes.len() {
            assert!(Hello::read(&mut &bytes[..cut]).is_err(), "{cut}");
        }
        // The announced length of the name: too long, a gigabyte, and the largest number.
        for len in [257_u64, 1 << 30, u64::MAX] {
            let mut long = bytes.clone();
            long[32..40].copy_from_slice(&len.to_le_bytes());
            let error = Hello::read(&mut (&long[..]).chain(io::repeat(b'x'))).unwrap_err();
            assert!(error.to_string().contains("256"), "{error}");
        }
        assert_eq!(program(&"ü".repeat(200)), "ü".repeat(128));
    }
}
