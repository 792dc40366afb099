//! How the ranks of a job find each other: rank 0 listens at a place known to all, and tells the
//! others where every rank listens. Before a connection is authenticated, only its proof is read,
//! and nothing of it is kept.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::door::{Door, Guest, Hello, program};
use super::frame::{array, put, text};
use super::seal::Unproven;
use super::stream::{Stream, after, left};
use crate::{Error, MeetingPlace};

/// How much longer a late rank waits for rank 0's answer, and rank 0 at least for ranks to tell
/// them that the meeting has failed.
const GRACE: Duration = Duration::from_secs(1);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// The most bytes of the reason for a failed meeting, and of an address.
const REASON: u64 = 1 << 16;
const ADDRESS: u64 = 64;

/// What a rank brings to the meeting.
#[derive(Clone, Debug)]
pub(crate) struct Meeting {
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
    /// Where rank 0 listens.
    pub(crate) place: MeetingPlace,
    /// Name and version, the same for all ranks.
    pub(crate) program: String,
    /// How long to wait for the others.
    pub(crate) limit: Duration,
}

/// Connections by rank; none to itself.
type Peers = Vec<Option<Connection>>;

fn failed(reason: impl Into<String>) -> Error {
    Error::Meeting {
        reason: reason.into(),
    }
}

impl Meeting {
    /// Connects to all other ranks; returns the connections by rank.
    pub(crate) fn connect(&self) -> Result<Peers, Error> {
        let deadline = after(self.limit);
        match self.rank {
            0 => self.host_it(deadline),
            _ => self.join(deadline),
        }
    }

    fn limit_text(&self) -> String {
        format!("within {} s", self.limit.as_secs_f64())
    }

    fn no_peers(&self) -> Peers {
        (0..self.ranks).map(|_| None).collect()
    }

    /// Rank 0: waits for all others, then tells each where the others listen.
    fn host_it(&self, deadline: Instant) -> Result<Peers, Error> {
        if self.ranks == 1 {
            return Ok(self.no_peers());
        }
        let listener = self.place.listen();
        let listener =
            listener.map_err(|e| failed(format!("rank 0 cannot listen at {}: {e}", self.place)))?;
        let mut door = Door::new(listener, self.place.secret().cloned());
        let begin = Instant::now();
        let mut guests: Vec<Option<Guest>> = (0..self.ranks).map(|_| None).collect();
        let refused = loop {
            // If a connected rank was killed, waiting for the others is pointless.
            if let Some(rank) = gone(&mut guests) {
                break Some(format!("rank {rank} is gone: its connection was closed"));
            }
            let missing: Vec<usize> = (1..self.ranks).filter(|&r| guests[r].is_none()).collect();
            if missing.is_empty() {
                break None;
            }
            if left(deadline).is_zero() {
                let (limit, others) = (self.limit_text(), door.others());
                break Some(format!("ranks {missing:?} have not come {limit}{others}"));
            }
            let Some(mut guest) = door.next() else {
                continue;
            };
            let place = usize::try_from(guest.hello.rank).ok();
            let place = place.and_then(|rank| guests.get_mut(rank));
            let reason = match (self.unlike(&guest.hello), place) {
                (None, Some(place @ None)) => {
                    *place = Some(guest);
                    continue;
                }
                (None, _) => {
                    let rank = guest.hello.rank;
                    format!("two processes say that they are rank {rank}")
                }
                (Some(reason), _) => reason,
            };
            // The guest belongs to the job, so its user sees the reason on every rank.
            guest.refuse(&reason);
            break Some(reason);
        };
        if let Some(reason) = refused {
            let mut told: Vec<bool> = guests.iter().map(Option::is_some).collect();
            told[0] = true;
            guests
                .iter_mut()
                .flatten()
                .for_each(|it| it.refuse(&reason));
            // The others are on their way, and would wait for a rank 0 that has gone. They need no
            // more time than these did.
            let until = deadline.min(Instant::now() + begin.elapsed().max(GRACE));
            while told.contains(&false) && !left(until).is_zero() {
                let Some(mut late) = door.next() else {
                    continue;
                };
                late.refuse(&reason);
                let rank = usize::try_from(late.hello.rank).ok();
                if let Some(told) = rank.and_then(|rank| told.get_mut(rank)) {
                    *told = true;
                }
            }
            return Err(failed(reason));
        }
        let mut table = vec![1];
        table.extend(session().map_err(|e| failed(e.to_string()))?.to_le_bytes());
        for guest in guests.iter().flatten() {
            put(&mut table, guest.address().as_bytes());
        }
        let mut peers = self.no_peers();
        let mut guests = guests.into_iter().enumerate();
        while let Some((rank, guest)) = guests.next() {
            let Some(Guest { mut connection, .. }) = guest else {
                continue;
            };
            connection.until(deadline.max(Instant::now() + GRACE));
            if let Err(error) = connection.writing.send(&table) {
                let reason = format!("rank {rank} is gone: {error}");
                guests
                    .filter_map(|(_, guest)| guest)
                    .for_each(|mut guest| guest.refuse(&reason));
                return Err(failed(reason));
            }
            peers[rank] = Some(connection);
        }
        Ok(peers)
    }

    /// How a guest differs from rank 0, if it does.
    fn unlike(&self, hello: &Hello) -> Option<String> {
        let Hello { rank, ranks, .. } = *hello;
        let (own, theirs) = (program(&self.program), &hello.program);
        if theirs != own {
            Some(format!("rank {rank} runs {theirs}, rank 0 runs {own}"))
        } else if ranks != self.ranks as u64 {
            let own = self.ranks;
            Some(format!(
                "rank {rank} is of a job of {ranks}, rank 0 of one of {own}"
            ))
        } else if rank == 0 || rank >= ranks {
            Some(format!("there is no other rank {rank} in a job of {ranks}"))
        } else {
            None
        }
    }

    /// Another rank: greets rank 0, then connects to lower ranks and waits for higher ones.
    fn join(&self, deadline: Instant) -> Result<Peers, Error> {
        let me = self.rank;
        let unable = |e: io::Error| failed(format!("rank {me} cannot listen: {e}"));
        let place = self.place.to_string();
        let connect = |deadline| self.place.connect(deadline);
        let mut host = self.reach(0, &place, &connect, deadline)?;
        let addresses = host.addresses().map_err(unable)?;
        let interface = addresses.map(|[own, _]| own.ip());
        let listener = self.place.listen_as(me, interface).map_err(unable)?;
        let mut door = Door::new(listener, self.place.secret().cloned());
        let hello = Hello {
            session: 0,
            rank: me as u64,
            ranks: self.ranks as u64,
            port: door.port().map_err(unable)?,
            program: program(&self.program).to_owned(),
        };
        let (session, addresses) = self.introduce(&mut host, &hello, deadline)?;
        let hello = Hello { session, ..hello }.encode();

        let mut peers = self.no_peers();
        for (other, address) in (1..me).zip(&addresses) {
            let connect = |deadline| self.place.connect_to(other, address, deadline);
            let mut peer = self.reach(other, address, &connect, deadline)?;
            let lost = |e| {
                failed(format!(
                    "rank {me} cannot reach rank {other} at {address}: {e}"
                ))
            };
            peer.writing.send(&hello).map_err(lost)?;
            peers[other] = Some(peer);
        }
        while let Some(missing) = (me + 1..self.ranks).find(|&other| peers[other].is_none()) {
            if left(deadline).is_zero() {
                let (limit, others) = (self.limit_text(), door.others());
                let what = format!("rank {missing} has not reached rank {me} {limit}{others}");
                return Err(failed(what));
            }
            let Some(Guest { connection, hello }) = door.next() else {
                continue;
            };
            let later = (me + 1..self.ranks).find(|&other| other as u64 == hello.rank);
            if let Some(other) = later.filter(|_| hello.session == session) {
                peers[other] = Some(connection);
            }
        }
        peers[0] = Some(host);
        Ok(peers)
    }

    /// Connects to a rank as soon as it listens; both prove that they belong to the job.
    fn reach(
        &self,
        other: usize,
        address: &str,
        connect: &dyn Fn(Instant) -> io::Result<Stream>,
        deadline: Instant,
    ) -> Result<Connection, Error> {
        let me = self.rank;
        loop {
            let late = match connect(deadline) {
                // The listener belongs to another user, or does not admit this one.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return Err(failed(format!(
                        "rank {me} cannot reach rank {other} at {address}: {error}"
                    )));
                }
                Err(error) => {
                    let limit = self.limit_text();
                    format!("rank {me} has not reached rank {other} at {address} {limit}: {error}")
                }
                Ok(stream) => match Connection::connect(stream, self.place.secret(), deadline) {
                    Ok(connection) => return Ok(connection),
                    Err(Unproven::Refused) => {
                        return Err(Error::Secret {
                            rank: me,
                            problem: format!("rank {other} at {address} has refused its secret"),
                        });
                    }
                    Err(Unproven::Stranger) => {
                        return Err(Error::Secret {
                            rank: me,
                            problem: format!("what answers at {address} does not know the secret"),
                        });
                    }
                    Err(Unproven::NoMesh) => {
                        let what =
                            format!("rank {me}: what answers at {address} is no rank {other}");
                        return Err(failed(what));
                    }
                    // The listener had too many connections, or is silent and not a rank.
                    Err(Unproven::Io(error)) => format!(
                        "rank {me} reached {address}, where rank {other} does not answer: {error}"
                    ),
                },
            };
            if left(deadline).is_zero() {
                return Err(failed(late));
            }
            std::thread::sleep(PAUSE.min(left(deadline)));
        }
    }

    /// Greets rank 0 and waits for its answer: the session, and where the other ranks listen, from
    /// rank 1 on.
    fn introduce(
        &self,
        host: &mut Connection,
        hello: &Hello,
        deadline: Instant,
    ) -> Result<(u64, Vec<String>), Error> {
        let mut heard = || -> io::Result<Result<(u64, Vec<String>), String>> {
            host.until(deadline + GRACE);
            host.writing.send(&hello.encode())?;
            answer(&mut host.reading, self.ranks)
        };
        let heard = heard().map_err(|error| {
            let (me, place) = (self.rank, &self.place);
            failed(format!(
                "rank {me} reached {place}, where rank 0 does not answer: {error}"
            ))
        });
        heard?.map_err(failed)
    }
}

/// The first guest that has gone again.
fn gone(guests: &mut [Option<Guest>]) -> Option<usize> {
    let closed = |guest: &mut Guest| guest.connection.is_closed();
    guests
        .iter_mut()
        .position(|guest| guest.as_mut().is_some_and(closed))
}

/// Rank 0's answer: the session and the addresses of ranks 1 and up, or why the meeting failed.
pub(super) fn answer(
    from: &mut impl Read,
    ranks: usize,
) -> io::Result<Result<(u64, Vec<String>), String>> {
    match array(from)? {
        [0] => Ok(Err(text(from, REASON)?)),
        [1] => {
            let session = u64::from_le_bytes(array(from)?);
            let addresses = (1..ranks).map(|_| text(from, ADDRESS));
            Ok(Ok((session, addresses.collect::<io::Result<_>>()?)))
        }
        _ => Err(io::Error::other("what it sends is no answer")),
    }
}

impl Guest {
    /// Tells it that the meeting has failed; it may have waited longer than its greeting had time.
    fn refuse(&mut self, reason: &str) {
        self.connection.until(Instant::now() + GRACE);
        let _ = self.connection.writing.send(&refusal(reason));
    }

    /// Where it listens: over TCP, at the address that it connects from.
    fn address(&self) -> String {
        match self.connection.addresses() {
            Ok(Some([_, from])) => SocketAddr::new(from.ip(), self.hello.port).to_string(),
            _ => self.hello.port.to_string(),
        }
    }
}

/// Rank 0's message that the meeting has failed.
fn refusal(reason: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    put(
        &mut bytes,
        &reason.as_bytes()[..reason.floor_char_boundary(REASON as usize)],
    );
    bytes
}

/// A number that no other job's meeting has.
fn session() -> io::Result<u64> {
    getrandom::u64().map_err(|error| io::Error::other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    /// Rank 1 greets and is killed while rank 0 waits for rank 2, or when all have come.
    #[test]
    fn a_rank_that_is_killed_during_the_meeting_is_named_to_all_others() {
        for (lived, late) in [(0, 200), (100, 300), (200, 0)].map(|it| {
            let [lived, late] = [it.0, it.1].map(Duration::from_millis);
            (lived, late)
        }) {
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let port = free.local_addr().unwrap().port();
            drop(free);
            let meeting = |rank| Meeting {
                rank,
                ranks: 4,
                place: MeetingPlace::Network {
                    host: "127.0.0.1".into(),
                    port,
                    secret: Secret::new("the secret of this job").unwrap(),
                },
                program: "test".into(),
                limit: Duration::from_secs(30),
            };
            let begin = Instant::now();
            let errors = std::thread::scope(|scope| {
                let host = scope.spawn(move || meeting(0).connect().err());
                let killed = scope.spawn(move || {
                    let (meeting, deadline) = (meeting(1), after(Duration::from_secs(30)));
                    let connect = |deadline| meeting.place.connect(deadline);
                    let mut host = meeting.reach(0, "rank 0", &connect, deadline).unwrap();
                    let hello = Hello {
                        session: 0,
                        rank: 1,
                        ranks: 4,
                        port: 1,
                        program: "test".into(),
                    };
                    host.writing.send(&hello.encode()).unwrap();
                    std::thread::sleep(lived);
                });
                let other = scope.spawn(move || {
                    std::thread::sleep(late);
                    meeting(2).connect().err()
                });
                killed.join().unwrap();
                [host, other].map(|rank| rank.join().unwrap().unwrap().to_string())
            });
            let expected = "rank 1 is gone: its connection was closed";
            assert_eq!(errors, [expected; 2]);
            // Rank 3 never comes. The wait for it is as long as that for a late rank.
            assert!(begin.elapsed() < Duration::from_secs(10));
        }
    }
}
