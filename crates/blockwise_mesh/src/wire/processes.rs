//! Ranks that are processes, on one machine or several.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::connection::{Connection, Reading, Writing};
use super::frame::Frame;
use super::{Mailbox, Wire};
use crate::{Call, Error, Result};

/// One rank's connections to all others. One thread per connection reads what arrives, so that no
/// sender waits for this rank's program.
pub(crate) struct Processes {
    rank: usize,
    mailbox: Arc<Mailbox>,
    /// By rank; none to itself.
    peers: Vec<Option<Mutex<Writing>>>,
}

impl Processes {
    /// Takes over connections, by rank. `limit` is how long a wait may last.
    pub(crate) fn new(
        rank: usize,
        connections: Vec<Option<Connection>>,
        limit: Duration,
    ) -> io::Result<Self> {
        let mailbox = Arc::new(Mailbox::new(connections.len(), limit));
        let mut peers = Vec::new();
        for (from, connection) in connections.into_iter().enumerate() {
            let Some(mut connection) = connection else {
                peers.push(None);
                continue;
            };
            connection.without_deadline(limit)?;
            let (mut reading, mailbox) = (connection.reading, Arc::clone(&mailbox));
            std::thread::Builder::new()
                .spawn(move || read_all(&mut reading, from, rank, &mailbox))?;
            peers.push(Some(Mutex::new(connection.writing)));
        }
        Ok(Self {
            rank,
            mailbox,
            peers,
        })
    }

    fn write(&self, to: usize, frame: &Frame) -> io::Result<()> {
        let Some(peer) = &self.peers[to] else {
            return Ok(());
        };
        let mut peer = peer.lock().unwrap_or_else(PoisonError::into_inner);
        peer.send(&frame.encode())
    }
}

/// Passes on a rank's messages, until its program ends or its connection breaks.
fn read_all(stream: &mut Reading, from: usize, me: usize, mailbox: &Mailbox) {
    loop {
        match Frame::read(stream) {
            Ok(Frame::Data(call, bytes)) => mailbox.deliver(from, me, Arc::new(call), bytes),
            Ok(Frame::Ended) => return mailbox.end(from, None),
            Ok(Frame::Failed(rank, reason)) if rank < mailbox.ranks() => {
                return mailbox.end(rank, Some(reason));
            }
            Ok(Frame::Lost(rank, reason)) if rank < mailbox.ranks() => {
                return mailbox.lose(rank, reason);
            }
            Ok(_) => return mailbox.lose(from, "it speaks of a rank that there is not".to_owned()),
            Err(error) => {
                let reason = match error.kind() {
                    io::ErrorKind::UnexpectedEof => "its connection was closed".to_owned(),
                    _ => error.to_string(),
                };
                return mailbox.lose(from, reason);
            }
        }
    }
}

impl Wire for Processes {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.peers.len()
    }

    fn send(&self, to: usize, call: &Arc<Call>, bytes: Vec<u8>) -> Result<()> {
        self.mailbox.check(self.rank)?;
        let frame = Frame::Data(Call::clone(call), bytes);
        self.write(to, &frame).map_err(|error| {
            // An earlier message of that rank or another one says more.
            let known = self.mailbox.check(self.rank).err();
            known.unwrap_or_else(|| Error::Lost {
                rank: to,
                reason: error.to_string(),
            })
        })
    }

    fn receive(&self, from: usize, call: &Arc<Call>) -> Result<Vec<u8>> {
        self.mailbox.receive(self.rank, from, call)
    }

    #[cfg(feature = "cuda")]
    fn check(&self) -> Result<()> {
        self.mailbox.check(self.rank)
    }

    #[cfg(feature = "cuda")]
    fn limit(&self) -> std::time::Duration {
        self.mailbox.limit()
    }

    fn end(&self, failure: Option<String>) {
        // If another rank failed first, that one is named.
        let frame = match (self.mailbox.check(self.rank), failure) {
            (_, None) => Frame::Ended,
            (Err(Error::Failed { rank, reason }), _) => Frame::Failed(rank, reason),
            (Err(Error::Lost { rank, reason }), _) => Frame::Lost(rank, reason),
            (_, Some(reason)) => Frame::Failed(self.rank, reason),
        };
        for to in 0..self.ranks() {
            // A rank that is gone needs no message.
            let _ = self.write(to, &frame);
        }
        for peer in self.peers.iter().flatten() {
            let peer = peer.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = peer.end();
        }
    }
}
