//! How the ranks of a job find each other: rank 0 listens at an address that all know, and tells
//! everyone where the others listen.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::frame::{array, put, text};

/// What a connection begins with.
const MAGIC: &[u8; 16] = b"blockwise mesh 1";

/// How long rank 0 looks for a greeting on a connection before it takes it for a stranger's.
const GREETING: Duration = Duration::from_secs(5);

/// How long a rank that was late waits more for rank 0's word.
const GRACE: Duration = Duration::from_secs(1);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// What a rank brings to the meeting.
#[derive(Clone, Debug)]
pub(crate) struct Meeting {
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
    /// Where rank 0 listens.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Name and version: all ranks must run the same program.
    pub(crate) program: String,
    /// How long to wait for the others.
    pub(crate) limit: Duration,
}

/// A rank that has come to rank 0.
struct Guest {
    rank: usize,
    stream: TcpStream,
    /// Where it listens.
    address: SocketAddr,
}

/// Why a rank could not join, in words that name the rank.
type Reason = String;

impl Meeting {
    /// Connects to all other ranks: a connection for each, by rank.
    pub(crate) fn connect(&self) -> Result<Vec<Option<TcpStream>>, Reason> {
        let deadline = Instant::now() + self.limit;
        match self.rank {
            0 => self.host_it(deadline),
            _ => self.join(deadline),
        }
    }

    fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    fn limit_text(&self) -> String {
        format!("within {} s", self.limit.as_secs_f64())
    }

    /// Rank 0: waits for all others, then tells each where the others listen.
    fn host_it(&self, deadline: Instant) -> Result<Vec<Option<TcpStream>>, Reason> {
        let listener = TcpListener::bind((self.host.as_str(), self.port));
        let listener = listener.and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let listener =
            listener.map_err(|e| format!("rank 0 cannot listen at {}: {e}", self.address()))?;
        let mut guests: Vec<Option<Guest>> = Vec::new();
        guests.resize_with(self.ranks, || None);
        let refused = loop {
            let missing: Vec<usize> = (1..self.ranks).filter(|&r| guests[r].is_none()).collect();
            if missing.is_empty() {
                break None;
            }
            if Instant::now() >= deadline {
                let limit = self.limit_text();
                break Some(format!("ranks {missing:?} have not come {limit}"));
            }
            match listener.accept() {
                Ok((stream, from)) => match self.greeted(stream, from.ip()) {
                    Ok(None) => {}
                    Ok(Some(mut guest)) => match &mut guests[guest.rank] {
                        place @ None => *place = Some(guest),
                        Some(_) => {
                            let rank = guest.rank;
                            let reason = format!("two processes say that they are rank {rank}");
                            let _ = guest.stream.write_all(&refusal(&reason));
                            break Some(reason);
                        }
                    },
                    Err(reason) => break Some(reason),
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(PAUSE)
                }
                Err(error) => break Some(format!("rank 0 cannot accept: {error}")),
            }
        };
        if let Some(reason) = refused {
            for mut guest in guests.into_iter().flatten() {
                let _ = guest.stream.write_all(&refusal(&reason));
            }
            return Err(reason);
        }
        let mut table = vec![1];
        table.extend(session().to_le_bytes());
        for guest in guests.iter().flatten() {
            put(&mut table, guest.address.to_string().as_bytes());
        }
        let guests = guests.into_iter().enumerate().map(|(rank, guest)| {
            let Some(Guest { mut stream, .. }) = guest else {
                return Ok(None);
            };
            let told = stream.write_all(&table).and_then(|()| ready(stream));
            told.map(Some)
                .map_err(|e| format!("rank {rank} is gone: {e}"))
        });
        guests.collect()
    }

    /// Reads a greeting. `None` of a stranger.
    fn greeted(&self, mut stream: TcpStream, from: IpAddr) -> Result<Option<Guest>, Reason> {
        let mut read = || -> io::Result<(String, [u64; 3])> {
            stream.set_nonblocking(false)?;
            stream.set_read_timeout(Some(GREETING))?;
            magic(&mut stream)?;
            let program = text(&mut stream)?;
            let mut number = || array(&mut stream).map(u64::from_le_bytes);
            Ok((program, [number()?, number()?, number()?]))
        };
        let Ok((program, [rank, ranks, port])) = read() else {
            return Ok(None);
        };
        let wrong = if program != self.program {
            Some(format!(
                "rank {rank} runs {program}, rank 0 runs {}",
                self.program
            ))
        } else if ranks != self.ranks as u64 {
            let own = self.ranks;
            Some(format!(
                "rank {rank} is of a job of {ranks}, rank 0 of one of {own}"
            ))
        } else if rank == 0 || rank >= ranks {
            Some(format!("there is no other rank {rank} in a job of {ranks}"))
        } else {
            None
        };
        match wrong {
            Some(reason) => {
                let _ = stream.write_all(&refusal(&reason));
                Err(reason)
            }
            None => {
                let address = SocketAddr::new(from, port as u16);
                Ok(Some(Guest {
                    rank: rank as usize,
                    stream,
                    address,
                }))
            }
        }
    }

    /// Another rank: greets rank 0, then connects to those before it and waits for those after it.
    fn join(&self, deadline: Instant) -> Result<Vec<Option<TcpStream>>, Reason> {
        let me = self.rank;
        let failed = |e: io::Error| format!("rank {me} cannot listen: {e}");
        let mut host = self.reach_host(deadline)?;
        let any: IpAddr = match host.local_addr().map_err(failed)? {
            SocketAddr::V4(_) => [0; 4].into(),
            SocketAddr::V6(_) => [0_u16; 8].into(),
        };
        let listener = TcpListener::bind((any, 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let mut greeting = MAGIC.to_vec();
        put(&mut greeting, self.program.as_bytes());
        for number in [me, self.ranks, usize::from(port)] {
            greeting.extend((number as u64).to_le_bytes());
        }
        let (session, addresses) = self.told(&mut host, &greeting, deadline)?;

        let mut peers: Vec<Option<TcpStream>> = Vec::new();
        peers.resize_with(self.ranks, || None);
        for (other, address) in (1..me).zip(&addresses) {
            let connected = || -> io::Result<TcpStream> {
                let address = address.parse().map_err(io::Error::other)?;
                let mut stream = TcpStream::connect_timeout(&address, left(deadline))?;
                stream.write_all(&session.to_le_bytes())?;
                stream.write_all(&(me as u64).to_le_bytes())?;
                ready(stream)
            };
            let unreached = |e| format!("rank {me} cannot reach rank {other} at {address}: {e}");
            peers[other] = Some(connected().map_err(unreached)?);
        }
        listener.set_nonblocking(true).map_err(failed)?;
        while let Some(missing) = (me + 1..self.ranks).find(|&other| peers[other].is_none()) {
            match listener.accept() {
                Ok((stream, _)) => {
                    if let Ok((other, stream)) = introduced(stream, session)
                        && (me + 1..self.ranks).contains(&other)
                    {
                        peers[other] = Some(stream);
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && !left(deadline).is_zero() => {
                    std::thread::sleep(PAUSE);
                }
                Err(_) => {
                    let limit = self.limit_text();
                    return Err(format!("rank {missing} has not reached rank {me} {limit}"));
                }
            }
        }
        peers[0] = Some(ready(host).map_err(failed)?);
        Ok(peers)
    }

    /// Connects to rank 0 as soon as it listens.
    fn reach_host(&self, deadline: Instant) -> Result<TcpStream, Reason> {
        loop {
            let attempt = || -> io::Result<TcpStream> {
                let addresses = (self.host.as_str(), self.port).to_socket_addrs()?;
                let mut last = io::Error::other("its name has no address");
                for address in addresses {
                    match TcpStream::connect_timeout(&address, left(deadline).max(PAUSE)) {
                        Ok(stream) => return Ok(stream),
                        Err(error) => last = error,
                    }
                }
                Err(last)
            };
            match attempt() {
                Ok(stream) => return Ok(stream),
                Err(error) if left(deadline).is_zero() => {
                    let (me, address, limit) = (self.rank, self.address(), self.limit_text());
                    return Err(format!(
                        "rank {me} has not reached rank 0 at {address} {limit}: {error}"
                    ));
                }
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Greets rank 0 and waits for its word: the session, and where the other ranks listen, from
    /// rank 1 on.
    fn told(
        &self,
        host: &mut TcpStream,
        greeting: &[u8],
        deadline: Instant,
    ) -> Result<(u64, Vec<String>), Reason> {
        let mut heard = || -> io::Result<Result<(u64, Vec<String>), Reason>> {
            host.set_read_timeout(Some(left(deadline) + GRACE))?;
            host.write_all(greeting)?;
            match array(host)? {
                [0] => Ok(Err(text(host)?)),
                _ => {
                    let session = u64::from_le_bytes(array(host)?);
                    let addresses = (1..self.ranks).map(|_| text(host));
                    Ok(Ok((session, addresses.collect::<io::Result<_>>()?)))
                }
            }
        };
        let told = heard().map_err(|error| {
            let (me, address) = (self.rank, self.address());
            format!("rank {me} reached {address}, where rank 0 does not answer: {error}")
        });
        told?
    }
}

/// Rank 0's word that the meeting has failed.
fn refusal(reason: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    put(&mut bytes, reason.as_bytes());
    bytes
}

/// Reads who connects.
fn introduced(mut stream: TcpStream, session: u64) -> io::Result<(usize, TcpStream)> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(GREETING))?;
    let [theirs, rank] = [array(&mut stream)?, array(&mut stream)?].map(u64::from_le_bytes);
    match theirs == session {
        true => Ok((rank as usize, ready(stream)?)),
        false => Err(io::Error::other("another job's")),
    }
}

fn magic(from: &mut impl Read) -> io::Result<()> {
    match array(from)? == *MAGIC {
        true => Ok(()),
        false => Err(io::Error::other("a stranger")),
    }
}

/// A connection for messages: reads wait, small messages go at once.
fn ready(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(None)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// A number that no other job's meeting has.
fn session() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}
