//! The interface to the page: requests and replies are JSON, long columns of numbers are read
//! directly from memory.

use crate::document::{Launch, StoredFile, StoredFiles};
use crate::outputs::Output;
use crate::session::Session;
use kernel_arguments::Problem;
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::RefCell;

/// A request of the page.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    /// Stores the arrays that arguments may name.
    Files(Vec<StoredFile>),
    /// Runs a launch; the reply is its session's number.
    Open { launch: Launch, ptx: String },
    /// Shows another block of a session.
    Show { session: usize, block: u64 },
    /// Goes to a step.
    Step { session: usize, step: usize },
    /// Closes a session.
    Close { session: usize },
}

#[derive(Default)]
struct Machine {
    files: StoredFiles,
    sessions: Vec<Option<Session>>,
    /// Text from the page, and the reply to it.
    input: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static MACHINE: RefCell<Machine> = RefCell::default();
}

/// Allocates memory for a request of N bytes; returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    MACHINE.with_borrow_mut(|machine| {
        machine.input.resize(bytes, 0);
        machine.input.as_mut_ptr()
    })
}

/// Answers the request in that memory; returns the reply's length.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    MACHINE.with_borrow_mut(|machine| {
        let reply = machine
            .answer()
            .unwrap_or_else(|problem| json!({ "problem": problem.message, "hint": problem.hint }));
        machine.output = reply.to_string().into_bytes();
        machine.output.len()
    })
}

/// Writes a column of a session where replies are; returns its length in bytes. `step` selects the
/// step for the writers of memory, and the output for columns of an output.
#[unsafe(no_mangle)]
pub extern "C" fn column(session: usize, column: u32, step: usize) -> usize {
    MACHINE.with_borrow_mut(|machine| {
        let session = machine.sessions.get_mut(session).and_then(Option::as_mut);
        machine.output = session.map_or(Vec::new(), |session| bytes(session, column, step));
        machine.output.len()
    })
}

/// The address of the reply or column.
#[unsafe(no_mangle)]
pub extern "C" fn reply() -> *const u8 {
    MACHINE.with_borrow(|machine| machine.output.as_ptr())
}

impl Machine {
    fn answer(&mut self) -> Result<Value, Problem> {
        let request = serde_json::from_slice(&self.input).map_err(problem)?;
        Ok(match request {
            Request::Files(files) => {
                self.files = StoredFiles(files);
                Value::Null
            }
            Request::Open { launch, ptx } => {
                self.sessions
                    .push(Some(Session::open(&launch, &ptx, &self.files)?));
                let number = self.sessions.len() - 1;
                let summary = self.session(number)?.summary();
                json!({ "session": number, "summary": summary })
            }
            Request::Show { session, block } => {
                let session = self.session(session)?;
                session.show(block);
                json!({ "summary": session.summary() })
            }
            Request::Step { session, step } => {
                serde_json::to_value(self.session(session)?.go_to(step)).map_err(problem)?
            }
            Request::Close { session } => {
                self.sessions[session] = None;
                Value::Null
            }
        })
    }

    fn session(&mut self, number: usize) -> Result<&mut Session, Problem> {
        let session = self.sessions.get_mut(number).and_then(Option::as_mut);
        session.ok_or_else(|| Problem::new(format!("there is no session {number}")))
    }
}

/// A column as little-endian numbers. `web/engine.js` has the columns' names.
fn bytes(session: &mut Session, column: u32, step: usize) -> Vec<u8> {
    fn wide(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
    }
    fn narrow(numbers: &[u16]) -> Vec<u8> {
        numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
    }
    // For a column of an output, `step` is the output's number.
    let output = |of: &dyn Fn(&Output) -> Vec<u8>| session.output(step).map_or(Vec::new(), of);
    let timeline = session.timeline();
    match column {
        0 => wide(&timeline.at),
        1 => timeline.warp.clone(),
        2 => wide(&timeline.pc),
        3 => wide(&timeline.lanes),
        4 => timeline.kind.clone(),
        5 => narrow(&timeline.wavefronts),
        6 => narrow(&timeline.needed_wavefronts),
        7 => narrow(&timeline.sectors),
        8 => narrow(&timeline.needed_sectors),
        9 => wide(&timeline.releases),
        10 => session.memory(),
        11 => wide(&session.writers(step).0),
        12 => session.writers(step).1,
        13 => output(&|output| output.bytes.clone()),
        14 => output(&|output| wide(&output.steps)),
        15 => output(&|output| wide(&output.blocks)),
        16 => output(&|output| narrow(&output.threads)),
        _ => Vec::new(),
    }
}

fn problem(error: impl std::fmt::Display) -> Problem {
    Problem::new(error.to_string())
}
