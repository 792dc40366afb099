//! A client's session: requests, answers and events.

use crate::arguments::{DataBreakpointInfo, Evaluate, OfThread, Scopes, SetExceptionBreakpoints};
use crate::arguments::{StackTrace, Variables, parse};
use crate::breaks::FILTERS;
use crate::debuggee::Debuggee;
use crate::lane::StackFrame;
use crate::lane::{LaneId, Stop};
use crate::steps::Stride;
use crate::wire::{self, Request, Writer};
use crate::{Loader, breakpoints, threads};
use ptx_emulator::replay::Direction;
use serde_json::{Map, Value, json};
use std::io::{self, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};

/// The most requests that wait while one is answered.
const WAITING: usize = 64;

/// Why no value is set.
const UNCHANGED: &str = "a launch is computed again from its beginning whenever it goes back, so no \
    value in it can be set: change the launch's `args`, or the kernel, and launch it again";

/// Answers a client until it disconnects or its input ends. With a `token`, a request to launch or
/// attach without that field ends the session.
///
/// A thread reads the input, so that a pause request is seen while the launch runs.
///
/// # Errors
/// When the output fails, or the input is not valid protocol.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write,
    loader: &mut dyn Loader,
    token: Option<&str>,
) -> io::Result<()> {
    let interrupt = Arc::new(AtomicBool::new(false));
    let (sender, requests) = mpsc::sync_channel(WAITING);
    let interrupts = Arc::clone(&interrupt);
    std::thread::spawn(move || {
        let mut input = BufReader::new(input);
        loop {
            let message = wire::read(&mut input);
            if let Ok(Some(Ok(request))) = &message
                && matches!(
                    request.command.as_str(),
                    "pause" | "disconnect" | "terminate"
                )
            {
                interrupts.store(true, Relaxed);
            }
            let ends = !matches!(message, Ok(Some(_)));
            if sender.send(message).is_err() || ends {
                break;
            }
        }
    });
    let mut session = Session {
        writer: Writer::new(output),
        loader,
        token: token.map(str::to_owned),
        debuggee: None,
        interrupt,
        stop_on_entry: true,
        breakpoints: 0,
    };
    for message in requests {
        match message? {
            None => break,
            Some(Err((seq, problem))) => session.writer.answer(seq, "", Err(problem))?,
            Some(Ok(request)) => {
                if !session.handle(&request)? {
                    break;
                }
            }
        }
    }
    Ok(())
}

struct Session<'l, W> {
    writer: Writer<W>,
    loader: &'l mut dyn Loader,
    /// The token that a client must know.
    token: Option<String>,
    debuggee: Option<Debuggee>,
    interrupt: Arc<AtomicBool>,
    stop_on_entry: bool,
    /// The number of breakpoints that have an id.
    breakpoints: i64,
}

/// What happens after an answer.
enum Next {
    Nothing,
    /// The client may now send its breakpoints.
    Initialized,
    Move(Motion),
    End,
}

/// How the launch moves.
enum Motion {
    Nowhere,
    Run(Direction),
    Step(LaneId, Stride),
    Back(LaneId, Stride),
    Seek(u64),
}

type Answer = Result<(Value, Next), String>;

fn just(body: Value) -> Answer {
    Ok((body, Next::Nothing))
}

impl<W: Write> Session<'_, W> {
    /// Answers a request; false if the session ends.
    fn handle(&mut self, request: &Request) -> io::Result<bool> {
        if let Some(problem) = self.is_stranger(request) {
            self.writer
                .answer(request.seq, &request.command, Err(problem.to_owned()))?;
            self.writer.event("terminated", json!({}))?;
            return Ok(false);
        }
        let (result, next) = match self.answer(request) {
            Ok((body, next)) => (Ok(body), next),
            Err(problem) => (Err(problem), Next::Nothing),
        };
        self.writer.answer(request.seq, &request.command, result)?;
        match next {
            Next::Nothing => {}
            Next::Initialized => self.writer.event("initialized", json!({}))?,
            Next::Move(motion) => self.make(motion)?,
            Next::End => {
                self.writer.event("terminated", json!({}))?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Why a client may not launch anything.
    fn is_stranger(&self, request: &Request) -> Option<&'static str> {
        let token = self.token.as_ref()?;
        if !matches!(request.command.as_str(), "launch" | "attach") {
            return None;
        }
        match request.arguments.get("token").and_then(Value::as_str) {
            Some(theirs) if is_same(token.as_bytes(), theirs.as_bytes()) => None,
            Some(_) => {
                Some("`token` is not the one that `blockwise debug` printed when it started")
            }
            None => Some(
                "over a port a launch needs the field `token`: `blockwise debug` printed it when it started",
            ),
        }
    }

    fn answer(&mut self, request: &Request) -> Answer {
        match request.command.as_str() {
            "initialize" => just(capabilities()),
            "launch" => self.launch(request),
            "attach" => Err("there is nothing to attach to: `launch` starts a kernel".to_owned()),
            "pause" => {
                // A launch that ran has already stopped.
                self.interrupt.store(false, Relaxed);
                just(json!({}))
            }
            "disconnect" | "terminate" => Ok((json!({}), Next::End)),
            _ => {
                let stop_on_entry = self.stop_on_entry;
                let count = &mut self.breakpoints;
                let debuggee = self.debuggee.as_mut().ok_or("nothing was launched")?;
                match request.command.as_str() {
                    "setBreakpoints" => {
                        just(breakpoints::set_lines(debuggee, &parse(request)?, count))
                    }
                    "setDataBreakpoints" => {
                        just(breakpoints::set_data(debuggee, &parse(request)?, count))
                    }
                    "configurationDone" => {
                        let motion = match stop_on_entry {
                            true => Motion::Nowhere,
                            false => Motion::Run(Direction::Forwards),
                        };
                        Ok((json!({}), Next::Move(motion)))
                    }
                    _ => of_debuggee(debuggee, request),
                }
            }
        }
    }

    fn launch(&mut self, request: &Request) -> Answer {
        let none = Map::new();
        let arguments = request.arguments.as_object().unwrap_or(&none);
        let choice = |name: &str| match arguments.get(name) {
            None | Some(Value::Null) => Ok(true),
            Some(Value::Bool(choice)) => Ok(*choice),
            Some(other) => Err(format!("`{name}` is true or false, not {other}")),
        };
        self.stop_on_entry = choice("stopOnEntry")?;
        let just_my_code = choice("justMyCode")?;
        let loaded = self.loader.load(arguments)?;
        let interrupt = Arc::clone(&self.interrupt);
        self.debuggee = Some(Debuggee::new(loaded, just_my_code, interrupt));
        Ok((json!({}), Next::Initialized))
    }

    /// Moves the launch, and reports where it stops.
    fn make(&mut self, motion: Motion) -> io::Result<()> {
        let Some(debuggee) = &mut self.debuggee else {
            return Ok(());
        };
        debuggee.containers.clear();
        debuggee.held = 0;
        let stop = match motion {
            Motion::Nowhere => Stop::new("entry", "the beginning of the launch"),
            Motion::Run(direction) => {
                debuggee.ahead = 0;
                debuggee.run(direction)
            }
            Motion::Step(lane, stride) => debuggee.step(lane, stride),
            Motion::Back(lane, stride) => debuggee.step_back(lane, stride),
            Motion::Seek(step) => {
                debuggee.ahead = 0;
                debuggee.replay.seek(step);
                debuggee.look_at_next();
                Stop::new("goto", format!("step {}", debuggee.replay.at()))
            }
        };
        let printed = debuggee.replay.printed();
        if let Some(new) = printed.get(debuggee.shown..).filter(|new| !new.is_empty()) {
            let output = json!({ "category": "stdout", "output": new });
            debuggee.shown = printed.len();
            self.writer.event("output", output)?;
        }
        let body = json!({
            "reason": stop.reason,
            "description": stop.text,
            "text": stop.text,
            "threadId": threads::lane_number(debuggee, debuggee.focus),
            "allThreadsStopped": true,
            "hitBreakpointIds": stop.breakpoints,
        });
        self.writer.event("stopped", body)
    }
}

/// Requests about a launch that do not set breakpoints.
fn of_debuggee(debuggee: &mut Debuggee, request: &Request) -> Answer {
    let lane = |debuggee: &Debuggee| {
        let of: OfThread = parse(request)?;
        let lane = threads::lane(debuggee, of.thread_id);
        let lane = lane.ok_or_else(|| format!("there is no thread {}", of.thread_id))?;
        Ok::<_, String>((lane, of.granularity.as_deref() == Some("instruction")))
    };
    let step = |debuggee: &Debuggee, stride: Stride| {
        let (lane, single) = lane(debuggee)?;
        let stride = if single { Stride::Instruction } else { stride };
        Ok((json!({}), Next::Move(Motion::Step(lane, stride))))
    };
    match request.command.as_str() {
        "threads" => just(threads::list(debuggee)),
        "stackTrace" => {
            let of: StackTrace = parse(request)?;
            let count = if of.levels == 0 {
                usize::MAX
            } else {
                of.levels
            };
            let stack = threads::stack(debuggee, of.thread_id, of.start_frame, count);
            just(stack.ok_or_else(|| format!("there is no thread {}", of.thread_id))?)
        }
        "scopes" => {
            let of: Scopes = parse(request)?;
            let frame = frame(debuggee, of.frame_id)?;
            just(debuggee.scopes(frame))
        }
        "variables" => {
            let of: Variables = parse(request)?;
            just(debuggee.variables(of.variables_reference, of.start, of.count)?)
        }
        "evaluate" => evaluate(debuggee, &parse(request)?),
        "setVariable" | "setExpression" => Err(UNCHANGED.to_owned()),
        "dataBreakpointInfo" => {
            let of: DataBreakpointInfo = parse(request)?;
            let frame = frame_or_focus(debuggee, of.frame_id)?;
            just(breakpoints::data_info(debuggee, &of, frame))
        }
        "setExceptionBreakpoints" => {
            let of: SetExceptionBreakpoints = parse(request)?;
            let wanted =
                |&(name, ..): &(&str, &str, _)| of.filters.iter().any(|filter| filter == name);
            debuggee.breaks.tools = FILTERS
                .iter()
                .filter(|filter| wanted(filter))
                .map(|&(.., tool)| tool)
                .collect();
            just(json!({}))
        }
        "continue" => Ok((
            json!({ "allThreadsContinued": true }),
            Next::Move(Motion::Run(Direction::Forwards)),
        )),
        "reverseContinue" => Ok((json!({}), Next::Move(Motion::Run(Direction::Backwards)))),
        "next" => step(debuggee, Stride::Over),
        "stepIn" => step(debuggee, Stride::In),
        "stepOut" => step(debuggee, Stride::Out),
        "stepBack" => {
            let (lane, single) = lane(debuggee)?;
            let stride = if single {
                Stride::Instruction
            } else {
                Stride::Over
            };
            Ok((json!({}), Next::Move(Motion::Back(lane, stride))))
        }
        "exceptionInfo" => just(exception_info(debuggee)),
        other => Err(format!("there is no request `{other}` here")),
    }
}

/// Compares in a time that depends only on the lengths.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

fn frame(debuggee: &Debuggee, id: i64) -> Result<StackFrame, String> {
    threads::frame_of(debuggee, id).ok_or_else(|| format!("there is no frame {id}"))
}

/// A frame, or that of the lane in focus.
fn frame_or_focus(debuggee: &Debuggee, id: Option<i64>) -> Result<StackFrame, String> {
    match id {
        Some(id) => frame(debuggee, id),
        None => {
            let top = threads::top(debuggee, debuggee.focus);
            top.ok_or_else(|| "no lane is anywhere".to_owned())
        }
    }
}

fn evaluate(debuggee: &mut Debuggee, of: &Evaluate) -> Answer {
    // A watch is evaluated at each stop, and must not move.
    let may_move = matches!(of.context.as_deref(), None | Some("repl"));
    let step = of.expression.trim().strip_prefix("goto ");
    if let Some(step) = step.filter(|_| may_move) {
        let step = step
            .trim()
            .parse()
            .map_err(|_| format!("`{step}` is no step"))?;
        let body = json!({ "result": format!("step {step}"), "variablesReference": 0 });
        return Ok((body, Next::Move(Motion::Seek(step))));
    }
    let frame = frame_or_focus(debuggee, of.frame_id)?;
    just(debuggee.evaluate(&of.expression, frame)?)
}

/// The findings at the next step, or the fault that ended the launch.
fn exception_info(debuggee: &mut Debuggee) -> Value {
    let at = debuggee.replay.at();
    let ended = debuggee.replay.has_ended();
    let findings = debuggee.findings().iter();
    let here = findings.filter(|finding| finding.step == at || (ended && finding.step + 1 == at));
    let texts: Vec<(String, String)> = here
        .map(|finding| {
            let sites = std::iter::once(&finding.site).chain(&finding.others);
            let sites = sites.map(|site| {
                let [x, y, z] = site.block;
                let thread = site
                    .thread
                    .map(|[x, y, z]| format!(", thread ({x}, {y}, {z})"));
                let thread = thread.unwrap_or_default();
                format!(
                    "{} at {}, block ({x}, {y}, {z}){thread}",
                    site.what, site.place
                )
            });
            let mut text = finding.message.clone();
            sites.for_each(|site| text += &format!("\n{site}"));
            text.extend(finding.hint.iter().map(|hint| format!("\nhint: {hint}")));
            (finding.rule.name().to_owned(), text)
        })
        .collect();
    let id = texts.first().map_or("none", |(rule, _)| rule).to_owned();
    let all: Vec<String> = texts.into_iter().map(|(_, text)| text).collect();
    json!({ "exceptionId": id, "description": all.join("\n\n"), "breakMode": "always" })
}

fn capabilities() -> Value {
    let filters =
        FILTERS.map(|(name, label, _)| json!({ "filter": name, "label": label, "default": true }));
    json!({
        "exceptionBreakpointFilters": filters,
        "supportsConditionalBreakpoints": true,
        "supportsConfigurationDoneRequest": true,
        "supportsDataBreakpoints": true,
        "supportsEvaluateForHovers": true,
        "supportsExceptionInfoRequest": true,
        // Answered with the reason why not.
        "supportsSetExpression": true,
        "supportsSetVariable": true,
        "supportsStepBack": true,
        "supportsSteppingGranularity": true,
        "supportsTerminateRequest": true,
    })
}
