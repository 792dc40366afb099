//! Clients on a port. Any of them may be a browser page: until a client has presented the token it
//! gets one thread and nothing else, and the number of such clients is limited.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use blockwise_debug::{Loaded, Loader, serve};
use serde_json::{Map, Value};

use super::Kernels;
use super::folder::Confined;
use crate::cli::Global;
use crate::cli::failure::Failure;
use crate::cli::report::{self, Report};

/// The most clients without a launch; beyond that the oldest is closed.
const UNPROVEN: usize = 16;
/// The most notices about clients. If nothing reads them, a write would wait for ever.
const NOTED: usize = 64;

/// Serves clients until the command ends.
pub(super) fn run(global: &Global, port: u16) -> Result<Report, Failure> {
    let failed = |error: io::Error| Failure::new(format!("the port {port}: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let confined = Confined::here().map_err(failed)?;
    let token = format!("{:032x}", rand::random::<u128>());
    report::note(&format!("waiting for a client at {address}"));
    report::note(&format!("token: {token}"));
    let one_at_a_time = Mutex::new(());
    let unproven: Mutex<VecDeque<Client>> = Mutex::default();
    let lock = || unproven.lock().unwrap_or_else(PoisonError::into_inner);
    let noted = AtomicUsize::new(0);
    let note = |text: String| match noted.fetch_add(1, Relaxed) {
        at if at < NOTED => report::notice(&text),
        NOTED => report::notice("more clients came and went; they are not named any more"),
        _ => {}
    };
    std::thread::scope(|scope| {
        loop {
            let Ok((stream, _)) = listener.accept() else {
                // The peer went away, or the system is out of resources.
                std::thread::yield_now();
                continue;
            };
            let Ok(copies) = copies(&stream) else {
                continue;
            };
            let [input, output, kept] = copies;
            let known = Arc::new(AtomicBool::new(false));
            let mut waiting = lock();
            waiting.retain(|client| !client.known.load(Relaxed));
            if waiting.len() == UNPROVEN
                && let Some(oldest) = waiting.pop_front()
            {
                oldest.hang_up();
            }
            waiting.push_back(Client {
                stream: kept,
                known: Arc::clone(&known),
            });
            drop(waiting);
            let (one_at_a_time, token, confined) = (&one_at_a_time, &token, &confined);
            let note = &note;
            let session = move || {
                let mut launches = Launches {
                    kernels: Kernels {
                        global,
                        confined: Some(confined),
                    },
                    known: &known,
                    one_at_a_time,
                    turn: None,
                };
                let served = serve(input, output, &mut launches, Some(token));
                // It no longer counts as waiting.
                lock().retain(|client| !Arc::ptr_eq(&client.known, &known));
                let _ = stream.shutdown(Shutdown::Both);
                if let Err(error) = served {
                    note(format!("a session ended: {error}"));
                }
            };
            // If no thread can be started, the client is turned away.
            if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, session) {
                note(format!("a client was turned away: {error}"));
            }
        }
    })
}

/// A client that may be closed.
struct Client {
    stream: TcpStream,
    /// Whether it has presented the token.
    known: Arc<AtomicBool>,
}

impl Client {
    fn hang_up(self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn copies(stream: &TcpStream) -> io::Result<[TcpStream; 3]> {
    stream.set_nodelay(true)?;
    Ok([
        stream.try_clone()?,
        stream.try_clone()?,
        stream.try_clone()?,
    ])
}

/// The launches of one client. Other clients' launches wait until its session ends.
struct Launches<'a> {
    kernels: Kernels<'a>,
    known: &'a AtomicBool,
    one_at_a_time: &'a Mutex<()>,
    turn: Option<MutexGuard<'a, ()>>,
}

impl Loader for Launches<'_> {
    /// Called after the token was checked.
    fn load(&mut self, arguments: &Map<String, Value>) -> Result<Loaded, String> {
        self.known.store(true, Relaxed);
        if self.turn.is_none() {
            let turn = self.one_at_a_time.lock();
            self.turn = Some(turn.unwrap_or_else(PoisonError::into_inner));
        }
        self.kernels.load(arguments)
    }
}
