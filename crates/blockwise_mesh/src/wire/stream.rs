//! Connections as bytes, over TCP or over a socket of this machine, with one deadline for
//! everything that is read and written until the other end is authenticated.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
#[cfg(target_os = "linux")]
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use super::unix::{SocketPath, is_own};

/// A connection.
#[derive(Debug)]
pub(super) struct Stream {
    socket: Socket,
    /// When reads and writes begin to fail: one deadline for all of them, not a timeout for each.
    deadline: Option<Instant>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    #[cfg(target_os = "linux")]
    Unix(UnixStream),
}

/// `$body` for either kind.
macro_rules! either {
    ($socket:expr, $name:ident => $body:expr) => {
        match $socket {
            Socket::Tcp($name) => $body,
            #[cfg(target_os = "linux")]
            Socket::Unix($name) => $body,
        }
    };
}

impl Stream {
    /// Connects over TCP.
    pub(super) fn tcp(address: &SocketAddr, deadline: Instant) -> io::Result<Self> {
        let left = left(deadline).max(Duration::from_millis(1));
        Self::of_tcp(TcpStream::connect_timeout(address, left)?)
    }

    fn of_tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        // Small messages are sent immediately.
        stream.set_nodelay(true)?;
        Ok(Self {
            socket: Socket::Tcp(stream),
            deadline: None,
        })
    }

    #[cfg(target_os = "linux")]
    pub(super) fn of_unix(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        Ok(Self {
            socket: Socket::Unix(stream),
            deadline: None,
        })
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        let socket = match &self.socket {
            Socket::Tcp(stream) => Socket::Tcp(stream.try_clone()?),
            #[cfg(target_os = "linux")]
            Socket::Unix(stream) => Socket::Unix(stream.try_clone()?),
        };
        Ok(Self {
            socket,
            deadline: self.deadline,
        })
    }

    /// Sets when reads and writes fail.
    pub(super) fn until(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
    }

    /// Lets reads wait forever, and a write without any progress for `limit`.
    pub(super) fn without_deadline(&mut self, limit: Duration) -> io::Result<()> {
        self.deadline = None;
        // The system does not accept zero.
        let limit = limit.max(Duration::from_millis(1));
        either!(&self.socket, socket => {
            socket.set_read_timeout(None)?;
            socket.set_write_timeout(Some(limit))
        })
    }

    /// Whether a read without bytes fails at once. Until that is undone, the stream reads nothing
    /// else.
    pub(super) fn set_nonblocking(&self, at_once: bool) -> io::Result<()> {
        either!(&self.socket, socket => socket.set_nonblocking(at_once))
    }

    pub(super) fn shutdown(&self, which: Shutdown) -> io::Result<()> {
        either!(&self.socket, socket => socket.shutdown(which))
    }

    /// The local address and the other end's, over TCP.
    pub(super) fn addresses(&self) -> io::Result<Option<[SocketAddr; 2]>> {
        match &self.socket {
            Socket::Tcp(stream) => Ok(Some([stream.local_addr()?, stream.peer_addr()?])),
            #[cfg(target_os = "linux")]
            Socket::Unix(_) => Ok(None),
        }
    }

    /// The time left until the deadline, for one read or write.
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.deadline.map(left) {
            Some(Duration::ZERO) => Err(ErrorKind::TimedOut.into()),
            left => Ok(left),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(left) = self.left()? {
            either!(&self.socket, socket => socket.set_read_timeout(Some(left))?);
        }
        either!(&mut self.socket, socket => socket.read(into)).map_err(late)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(left) = self.left()? {
            either!(&self.socket, socket => socket.set_write_timeout(Some(left))?);
        }
        either!(&mut self.socket, socket => socket.write(bytes)).map_err(late)
    }

    fn flush(&mut self) -> io::Result<()> {
        either!(&mut self.socket, socket => socket.flush())
    }
}

/// Linux reports a timeout as `WouldBlock`.
fn late(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::WouldBlock => ErrorKind::TimedOut.into(),
        _ => error,
    }
}

/// A listener for connections.
pub(super) enum Listener {
    Tcp(TcpListener),
    /// Dropping it removes the socket.
    #[cfg(target_os = "linux")]
    Unix {
        listener: UnixListener,
        number: u16,
        _path: SocketPath,
    },
}

impl Listener {
    /// Listens at the first of the addresses that is this machine's.
    pub(super) fn tcp(addresses: &[SocketAddr]) -> io::Result<Self> {
        let listener = TcpListener::bind(addresses)?;
        listener.set_nonblocking(true)?;
        Ok(Self::Tcp(listener))
    }

    /// The port, or what takes its place at a socket.
    pub(super) fn port(&self) -> io::Result<u16> {
        match self {
            Self::Tcp(listener) => Ok(listener.local_addr()?.port()),
            #[cfg(target_os = "linux")]
            Self::Unix { number, .. } => Ok(*number),
        }
    }

    /// The next connection; never waits. `None` for one of another user, which is closed.
    pub(super) fn accept(&self) -> io::Result<Option<Stream>> {
        match self {
            Self::Tcp(listener) => Stream::of_tcp(listener.accept()?.0).map(Some),
            #[cfg(target_os = "linux")]
            Self::Unix { listener, .. } => {
                let (stream, _) = listener.accept()?;
                match is_own(&stream)? {
                    true => Stream::of_unix(stream).map(Some),
                    false => Ok(None),
                }
            }
        }
    }
}

/// The time until a deadline.
pub(super) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// The end of a limit that starts now. A limit that overflows the clock counts as a year.
pub(super) fn after(limit: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    Instant::now() + limit.min(YEAR)
}
