//! Where the ranks of a job listen, and how others connect to them.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Instant;

use super::stream::{Listener, Stream};
use crate::MeetingPlace;
use crate::secret::Secret;

impl MeetingPlace {
    /// The secret that proves a process to belong to the job; on one machine its user does.
    pub(super) fn secret(&self) -> Option<&Secret> {
        match self {
            Self::Machine { .. } => None,
            Self::Network { secret, .. } => Some(secret),
        }
    }

    /// Where rank 0 listens: at the address that the job names, and nowhere else.
    pub(super) fn listen(&self) -> io::Result<Listener> {
        match self {
            Self::Machine { key } => machine::listen(key),
            Self::Network { host, port, .. } => {
                let addresses: Vec<SocketAddr> =
                    (host.as_str(), *port).to_socket_addrs()?.collect();
                Listener::tcp(&addresses)
            }
        }
    }

    /// Where another rank listens: on the interface through which it reaches rank 0.
    pub(super) fn listen_as(&self, rank: usize, interface: Option<IpAddr>) -> io::Result<Listener> {
        match (self, interface) {
            (Self::Network { .. }, Some(interface)) => Listener::tcp(&[(interface, 0).into()]),
            (Self::Network { .. }, None) => Err(io::ErrorKind::AddrNotAvailable.into()),
            (Self::Machine { key }, _) => machine::listen_as(key, rank),
        }
    }

    /// Connects to rank 0.
    pub(super) fn connect(&self, deadline: Instant) -> io::Result<Stream> {
        match self {
            Self::Machine { key } => machine::connect(key),
            Self::Network { host, port, .. } => {
                let mut last = io::Error::other("its name has no address");
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match Stream::tcp(&address, deadline) {
                        Ok(stream) => return Ok(stream),
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    /// Connects to another rank, at the address that rank 0 has sent.
    pub(super) fn connect_to(
        &self,
        rank: usize,
        address: &str,
        deadline: Instant,
    ) -> io::Result<Stream> {
        match self {
            Self::Machine { key } => {
                let number = address.parse().map_err(io::Error::other)?;
                machine::connect_to(key, rank, number)
            }
            Self::Network { .. } => {
                let address = address.parse().map_err(io::Error::other)?;
                Stream::tcp(&address, deadline)
            }
        }
    }
}

/// Where rank 0 listens.
impl fmt::Display for MeetingPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine { key } => match machine::path(key) {
                Ok(path) => path.display().fmt(f),
                Err(_) => f.write_str("a socket of this machine"),
            },
            Self::Network { host, port, .. } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Network { host, port, .. } => write!(f, "{host}:{port}"),
        }
    }
}

#[cfg(target_os = "linux")]
mod machine {
    use std::io;
    use std::path::PathBuf;

    use super::super::socket;
    use super::{Listener, Stream};
    use crate::call::Digest;

    fn name(key: &str) -> String {
        format!("{:016x}", Digest::new().bytes(key.as_bytes()).value())
    }

    fn path_of(key: &str, rank: usize, number: u16) -> io::Result<PathBuf> {
        socket::path_of(&std::env::temp_dir(), &name(key), rank, number)
    }

    pub(super) fn path(key: &str) -> io::Result<PathBuf> {
        socket::path(&std::env::temp_dir(), &name(key))
    }

    pub(super) fn listen(key: &str) -> io::Result<Listener> {
        socket::listen(&path(key)?, 0)
    }

    pub(super) fn listen_as(key: &str, rank: usize) -> io::Result<Listener> {
        let number = getrandom::u32().map_err(|error| io::Error::other(error.to_string()))? as u16;
        socket::listen(&path_of(key, rank, number)?, number)
    }

    pub(super) fn connect(key: &str) -> io::Result<Stream> {
        socket::connect(&path(key)?)
    }

    pub(super) fn connect_to(key: &str, rank: usize, number: u16) -> io::Result<Stream> {
        socket::connect(&path_of(key, rank, number)?)
    }
}

/// On other systems a socket does not identify its peer.
#[cfg(not(target_os = "linux"))]
mod machine {
    use std::io;
    use std::path::PathBuf;

    use super::{Listener, Stream};

    fn nowhere<T>() -> io::Result<T> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn path(_: &str) -> io::Result<PathBuf> {
        nowhere()
    }

    pub(super) fn listen(_: &str) -> io::Result<Listener> {
        nowhere()
    }

    pub(super) fn listen_as(_: &str, _: usize) -> io::Result<Listener> {
        nowhere()
    }

    pub(super) fn connect(_: &str) -> io::Result<Stream> {
        nowhere()
    }

    pub(super) fn connect_to(_: &str, _: usize, _: u16) -> io::Result<Stream> {
        nowhere()
    }
}
