//! Ranks that are processes, on one machine or several.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::connection::{Connection, Reading, Writing};
use super::frame::Frame;
use super::{Data, Mailbox, Wire};
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
            // Between these two the connection has broken in one direction only.
            Ok(Frame::Lost(rank, reason)) if rank == me => {
                return mailbox.lose(from, format!("it has lost this rank: {reason}"));
            }
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
            let known = match error.kind() {
                // Nothing says that its end will be read soon.
                io::ErrorKind::TimedOut => self.mailbox.check(self.rank).err(),
                // A rank that fails sends the reason before it closes: the write fails at once, and
                // the reason may still lie unread.
                _ => self.mailbox.why_gone(self.rank, to, call),
            };
            known.unwrap_or_else(|| Error::Lost {
                rank: to,
                reason: error.to_string(),
            })
        })
    }

    fn receive(&self, from: usize, call: &Arc<Call>) -> Result<Data> {
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;
    use std::panic::Location;
    use std::time::Instant;

    use super::super::seal::MAGIC;
    use super::super::stream::Stream;
    use super::*;

    /// Rank 2 of three, and the other ends of its connections to ranks 0 and 1.
    fn rank_two(limit: Duration) -> (Processes, [UnixStream; 2]) {
        let connect = || {
            let (own, mut other) = UnixStream::pair().unwrap();
            let own = Stream::of_unix(own).unwrap();
            let deadline = Instant::now() + Duration::from_secs(60);
            let own = Connection::connect(own, None, deadline).unwrap();
            let mut magic = [0; MAGIC.len()];
            io::Read::read_exact(&mut other, &mut magic).unwrap();
            (own, other)
        };
        let ((to_zero, zero), (to_one, one)) = (connect(), connect());
        let peers = vec![Some(to_zero), Some(to_one), None];
        (Processes::new(2, peers, limit).unwrap(), [zero, one])
    }

    fn call() -> Arc<Call> {
        Arc::new(Call::new(0, "sum", "f32", &[], 0, Location::caller()))
    }

    /// What rank 2's message to rank 0 comes to. Rank 0 reads no more, and `says` that some time
    /// after the message has failed.
    fn sent_before(says: Option<Frame>) -> String {
        let (two, [mut zero, _one]) = rank_two(Duration::from_secs(60));
        zero.shutdown(Shutdown::Read).unwrap();
        let late = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            if let Some(frame) = says {
                zero.write_all(&frame.encode()).unwrap();
            }
        });
        let error = two.send(0, &call(), vec![0; 8]).unwrap_err().to_string();
        late.join().unwrap();
        error
    }

    #[test]
    fn a_message_that_fails_waits_for_the_reason() {
        let closed = || "its connection was closed".to_owned();
        assert_eq!(
            sent_before(Some(Frame::Lost(1, closed()))),
            "rank 1 is gone: its connection was closed"
        );
        assert_eq!(
            sent_before(Some(Frame::Failed(0, "out of memory".to_owned()))),
            "rank 0 has failed: out of memory"
        );
        let ended = sent_before(Some(Frame::Ended));
        let waits = "rank 0 has ended its program, and rank 2 waits for it in `sum` of f32";
        assert!(ended.starts_with(waits), "{ended}");
        assert_eq!(
            sent_before(None),
            "rank 0 is gone: its connection was closed"
        );
    }

    #[test]
    fn without_a_reason_a_message_fails_at_the_limit() {
        let (two, [zero, _one]) = rank_two(Duration::from_millis(50));
        zero.shutdown(Shutdown::Read).unwrap();
        let error = two.send(0, &call(), vec![0; 8]).unwrap_err().to_string();
        assert!(error.starts_with("rank 0 is gone: "), "{error}");
    }

    #[test]
    fn a_rank_that_others_have_lost_does_not_wait_for_them() {
        let (two, [mut zero, _one]) = rank_two(Duration::from_secs(60));
        let lost = Frame::Lost(2, "reset".to_owned());
        zero.write_all(&lost.encode()).unwrap();
        let error = two.receive(0, &call()).unwrap_err().to_string();
        assert_eq!(error, "rank 0 is gone: it has lost this rank: reset");
    }

    /// Rank 0 says that rank 1 is lost, and then rank 1's own end is read.
    #[test]
    fn the_first_reason_stays() {
        let (two, [mut zero, mut one]) = rank_two(Duration::from_secs(60));
        let lost = Frame::Lost(1, "reset".to_owned());
        zero.write_all(&lost.encode()).unwrap();
        assert!(two.receive(0, &call()).is_err());
        one.write_all(&Frame::Ended.encode()).unwrap();
        drop(one);
        for from in [1, 0] {
            std::thread::sleep(Duration::from_millis(50));
            let error = two.receive(from, &call()).unwrap_err().to_string();
            assert_eq!(error, "rank 1 is gone: reset");
        }
    }
}
