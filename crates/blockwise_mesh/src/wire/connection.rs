//! A connection to another process of the job: bytes in both directions, sealed over TCP.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::{Duration, Instant};

use super::seal::{self, Keys, MAGIC, Opener, Sealer, Unproven};
use super::stream::Stream;
use crate::secret::Secret;

/// More than a read takes that does not wait.
const MOMENT: Duration = Duration::from_secs(1);

/// Both directions of a connection whose other end belongs to the job's user, or knows its secret.
pub(crate) struct Connection {
    pub(super) reading: Reading,
    pub(super) writing: Writing,
}

pub(super) struct Reading {
    stream: BufReader<Stream>,
    seal: Option<Opener>,
}

pub(super) struct Writing {
    stream: Stream,
    seal: Option<Sealer>,
}

impl Connection {
    /// On the connecting side. Without a secret the other end's user is already known.
    pub(super) fn connect(
        mut stream: Stream,
        secret: Option<&Secret>,
        deadline: Instant,
    ) -> Result<Self, Unproven> {
        stream.until(deadline);
        let keys = match secret {
            Some(secret) => Some(seal::connect(&mut stream, secret)?),
            None => {
                stream.write_all(MAGIC)?;
                None
            }
        };
        Ok(Self::new(stream, keys)?)
    }

    /// On the listening side.
    pub(super) fn accept(
        mut stream: Stream,
        secret: Option<&Secret>,
        deadline: Instant,
    ) -> Result<Self, Unproven> {
        stream.until(deadline);
        let keys = match secret {
            Some(secret) => Some(seal::accept(&mut stream, secret)?),
            None => {
                seal::magic(&mut stream)?;
                None
            }
        };
        Ok(Self::new(stream, keys)?)
    }

    fn new(stream: Stream, keys: Option<Keys>) -> io::Result<Self> {
        let (sealer, opener) = match keys {
            Some([write, read]) => (Some(Sealer::new(write)), Some(Opener::new(read))),
            None => (None, None),
        };
        Ok(Self {
            reading: Reading {
                stream: BufReader::with_capacity(1 << 16, stream.try_clone()?),
                seal: opener,
            },
            writing: Writing {
                stream,
                seal: sealer,
            },
        })
    }

    /// Sets when reads and writes time out.
    pub(super) fn until(&mut self, deadline: Instant) {
        self.reading.stream.get_mut().until(deadline);
        self.writing.stream.until(deadline);
    }

    /// Whether the other end has closed it, for one that has nothing to say yet. Does not wait.
    pub(super) fn is_closed(&mut self) -> bool {
        let reading = &mut self.reading.stream;
        reading.get_mut().until(Instant::now() + MOMENT);
        if reading.get_ref().set_nonblocking(true).is_err() {
            return true;
        }
        let closed = match reading.fill_buf() {
            Ok(bytes) => bytes.is_empty(),
            Err(error) => error.kind() != ErrorKind::TimedOut,
        };
        reading.get_ref().set_nonblocking(false).is_err() || closed
    }

    /// Lets reads wait forever, and a write without any progress for `limit`.
    pub(super) fn without_deadline(&mut self, limit: Duration) -> io::Result<()> {
        self.reading.stream.get_mut().without_deadline(limit)?;
        self.writing.stream.without_deadline(limit)
    }

    /// The local address and the other end's, over TCP.
    pub(super) fn addresses(&self) -> io::Result<Option<[SocketAddr; 2]>> {
        self.writing.stream.addresses()
    }
}

impl Read for Reading {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.seal {
            Some(seal) => seal.read(&mut self.stream, into),
            None => self.stream.read(into),
        }
    }
}

impl Writing {
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.seal {
            Some(seal) => seal.write(&mut self.stream, bytes),
            None => self.stream.write_all(bytes),
        }
    }

    /// Shuts down the sending direction.
    pub(super) fn end(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }
}
