//! `bench --serve`: this build as the peer of another build's benchmark. It answers
//! [requests](super::protocol), and times in its own process.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};

use blockwise::Device;
use blockwise_ops::operation::Given;

use super::measure::{self, Effort};
use super::pairs::{Local, Side as _};
use super::protocol::{Answer, Asked, Entry, Request};
use super::work::Posing;
use super::{Inputs, Loaded, Work, operation};

/// Why a conversation ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A line cannot be read or written.
    #[error(transparent)]
    Line(#[from] std::io::Error),
    /// A line is no request, or an answer cannot be written as JSON.
    #[error("a line is no request of this version: {0}")]
    Request(#[from] serde_json::Error),
}

/// Answers requests until there are no more.
///
/// # Errors
/// A line that is no request, and streams that fail.
pub fn serve(
    device: &Device,
    seed: u64,
    input: impl BufRead,
    output: impl Write,
) -> Result<(), ServeError> {
    let mut inputs = Inputs::new(seed);
    let mut talk = Talk { input, output };
    let mut next = talk.read()?;
    while let Some(request) = next {
        next = match request {
            Request::Load(asked) => match work(&asked) {
                Some(work) => loaded(device, &work, &asked, &mut inputs, &mut talk)?,
                // This build may lack an operation, type or size that the other build asks for.
                None => {
                    talk.answer(&Answer::Loaded(Vec::new()))?;
                    talk.read()?
                }
            },
            Request::Versions {} => {
                let version = env!("CARGO_PKG_VERSION").to_owned();
                let versions = BTreeMap::from([("build".to_owned(), version)]);
                talk.answer(&Answer::Versions(versions))?;
                talk.read()?
            }
            Request::Time { .. } | Request::Check { .. } | Request::Kernels { .. } => {
                talk.answer(&Answer::Failed("no work is loaded".to_owned()))?;
                talk.read()?
            }
        };
    }
    Ok(())
}

struct Talk<R, W> {
    input: R,
    output: W,
}

impl<R: BufRead, W: Write> Talk<R, W> {
    fn read(&mut self) -> Result<Option<Request>, ServeError> {
        let mut line = String::new();
        match self.input.read_line(&mut line)? {
            0 => Ok(None),
            _ => Ok(Some(serde_json::from_str(&line)?)),
        }
    }

    fn answer(&mut self, answer: &Answer) -> Result<(), ServeError> {
        let mut line = serde_json::to_string(answer)?;
        line.push('\n');
        self.output.write_all(line.as_bytes())?;
        Ok(self.output.flush()?)
    }
}

/// The work with the kernels that are asked for.
fn work(asked: &Asked) -> Option<Work> {
    let of = blockwise_ops::find(&asked.of)?;
    let types = of.bench.types.iter().map(|&(ty, _)| ty);
    let ty = types.into_iter().find(|ty| ty.name() == asked.r#type)?;
    let posing = Posing {
        given: Given {
            settings: asked.settings,
            axis: asked.axis,
        },
        offset: asked.offset,
    };
    let mut work = operation::work_at(of, ty, asked.size.clone(), posing, true)?;
    work.rungs.retain(|rung| asked.rungs.contains(&rung.name));
    Some(work)
}

/// Loads the work and answers requests about it, until a request for another work or for versions.
/// Returns that request; if the work cannot be loaded, the next one; `None` at the end of input.
fn loaded<R: BufRead, W: Write>(
    device: &Device,
    work: &Work,
    asked: &Asked,
    inputs: &mut Inputs,
    talk: &mut Talk<R, W>,
) -> Result<Option<Request>, ServeError> {
    let copies = measure::copies(device, work.bytes);
    let mut of_work = match work.problem.load(device, copies, inputs) {
        Ok(of_work) => of_work,
        Err(error) => {
            talk.answer(&Answer::Failed(error.to_string()))?;
            return talk.read();
        }
    };
    let mut side = match Local::new(device, &mut *of_work, copies, work.bytes) {
        Ok(side) => side,
        Err(error) => {
            talk.answer(&Answer::Failed(error.to_string()))?;
            return talk.read();
        }
    };
    let entries = work.rungs.iter().map(|rung| Entry {
        implementation: String::new(),
        rung: rung.name.clone(),
        policy: rung.policy.clone(),
    });
    talk.answer(&Answer::Loaded(entries.collect()))?;
    let effort = Effort::of(asked.brief);
    let mut selected = None;
    while let Some(request) = talk.read()? {
        let (entry, launches) = match request {
            Request::Time { entry, launches } => (entry, launches),
            Request::Check { entry } | Request::Kernels { entry } => (entry, 0),
            Request::Load(_) | Request::Versions {} => return Ok(Some(request)),
        };
        let Some(rung) = work.rungs.get(entry) else {
            talk.answer(&Answer::Failed(format!("there is no entry {entry}")))?;
            continue;
        };
        if selected != Some(entry) {
            selected = None;
            if let Err(error) = side.select(rung.index) {
                talk.answer(&Answer::Failed(error.to_string()))?;
                continue;
            }
            selected = Some(entry);
        }
        let answer = match request {
            Request::Time { .. } => match side.turn(launches) {
                Ok(seconds) => Answer::Timed(seconds),
                Err(reason) => Answer::Failed(reason),
            },
            Request::Check { .. } => checked(&*side.loaded, copies, effort),
            _ => Answer::Kernels(vec![side.loaded.launched()]),
        };
        talk.answer(&answer)?;
    }
    Ok(None)
}

fn checked(loaded: &dyn Loaded, copies: usize, effort: Effort) -> Answer {
    match measure::verified(loaded, copies, effort) {
        Ok(check) => Answer::Checked {
            check: check.verdict(),
            passed: check.wrong == 0,
        },
        Err(error) => Answer::Failed(error.to_string()),
    }
}
