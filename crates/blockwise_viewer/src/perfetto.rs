//! Launches in the Trace Event format, which Perfetto's UI and other trace viewers open.
//!
//! A block is a process, a warp one of its threads, and each instruction of a warp a slice whose
//! arguments say where it is in the source and what it cost. The slice of a barrier lasts until the
//! warp continues. Each block has counters of the wavefronts and sectors so far, needed and in
//! excess. Findings are instant events.
//!
//! The format's unit of time is the microsecond: **one step is one microsecond**. The emulator
//! runs one step at a time, so warps overlap only where they wait. The time axis shows order, not
//! duration.

use crate::session::Session;
use crate::spent::{Kind, Spent};
use crate::steps::Step;
use ptx_emulator::{Finding, LaunchConfig};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The most steps in a file that browsers still open.
pub const MOST_STEPS: usize = 200_000;

/// A file being written.
pub struct Trace {
    events: Vec<String>,
    /// Steps that still fit.
    room: usize,
    left_out: u64,
    /// The number of processes so far.
    processes: u64,
}

/// The launch being added.
struct Launch<'a> {
    trace: &'a mut Trace,
    /// The process of block 0.
    first: u64,
    /// The label of each instruction's slices.
    labels: HashMap<u32, Label>,
    /// Each warp's latest step, which has no end yet.
    open: BTreeMap<(u64, u32), Step>,
    /// The costs of each block so far.
    spent: HashMap<u64, Spent>,
}

/// An instruction: its opcode, its PTX line, and its source line.
struct Label {
    name: String,
    ptx: String,
    source: Option<String>,
}

impl Default for Trace {
    fn default() -> Self {
        Self::with_room(MOST_STEPS)
    }
}

impl Trace {
    fn with_room(room: usize) -> Self {
        Self {
            events: Vec::new(),
            room,
            left_out: 0,
            processes: 0,
        }
    }

    /// Adds a launch.
    pub fn add(&mut self, name: &str, session: &mut Session) {
        let config = session.replay().config();
        let mut launch = Launch {
            first: self.processes + 1,
            labels: labels(session),
            open: BTreeMap::new(),
            spent: HashMap::new(),
            trace: self,
        };
        session.steps(&mut |step| launch.step(step));
        let warps: BTreeSet<_> = launch.open.keys().copied().collect();
        launch.finish();
        let first = self.processes + 1;
        for (block, warp) in &warps {
            let [x, y, z] = session.replay().block_index(*block);
            let process = format!("{name}: block {x}, {y}, {z}");
            let mut name = |what: &str, name: &str| {
                let (pid, tid) = (first + block, warp + 1);
                let args = json!({ "name": name });
                self.event(
                    &json!({ "ph": "M", "pid": pid, "tid": tid, "name": what, "args": args }),
                );
            };
            name("process_name", &process);
            name("thread_name", &format!("warp {warp}"));
        }
        for finding in session.findings() {
            self.finding(first, &config, finding);
        }
        self.processes += config.grid.map(u64::from).iter().product::<u64>();
    }

    /// The number of steps that did not fit.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The file's text.
    pub fn finish(self, title: &str) -> String {
        let about = json!({
            "title": title,
            "time": "one step of the emulator is one microsecond",
            "steps_left_out": self.left_out,
        });
        let events = self.events.join(",\n");
        format!(
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[\n{events}\n]}}\n"
        )
    }

    fn finding(&mut self, first: u64, config: &LaunchConfig, finding: &Finding) {
        let number = |index: [u32; 3], [width, height, _]: [u32; 3]| {
            let [x, y, z] = index.map(u64::from);
            x + u64::from(width) * (y + u64::from(height) * z)
        };
        let site = &finding.site;
        let warp = site.thread.map(|thread| number(thread, config.block) / 32);
        self.event(&json!({
            "ph": "i", "s": if warp.is_some() { "t" } else { "p" },
            "pid": first + number(site.block, config.grid), "tid": warp.unwrap_or(0) + 1, "ts": finding.step,
            "cat": "finding", "name": finding.message,
            "args": { "rule": finding.rule, "severity": finding.severity, "hint": finding.hint },
        }));
    }

    fn event(&mut self, event: &Value) {
        self.events.push(event.to_string());
    }
}

impl Launch<'_> {
    fn step(&mut self, step: Step) {
        if self.trace.room == 0 {
            self.trace.left_out += 1;
            return;
        }
        self.trace.room -= 1;
        let (block, warp) = (step.instruction.block, step.instruction.warp);
        let (at, spent) = (step.at, step.spent);
        if let Some(before) = self.open.insert((block, warp), step) {
            self.slice(&before, at);
        }
        let sum = self.spent.entry(block).or_default();
        sum.add(&spent);
        let sum = *sum;
        let mut counter = |name: &str, taken: u64, needed: u64| {
            let args = json!({ "needed": needed, "beyond": taken.saturating_sub(needed) });
            let pid = self.first + block;
            (self.trace)
                .event(&json!({ "ph": "C", "pid": pid, "ts": at, "name": name, "args": args }));
        };
        if spent.shared_requests > 0 {
            counter("wavefronts", sum.wavefronts, sum.needed_wavefronts);
        }
        if spent.global_requests > 0 {
            counter("sectors", sum.sectors, sum.needed_sectors);
        }
    }

    /// Writes a warp's step. If the warp waits in it, it lasts until the warp's next step, at
    /// `next`.
    fn slice(&mut self, step: &Step, next: u64) {
        let Step {
            at,
            instruction,
            kind,
            spent,
        } = step;
        let waits = kind & (Kind::BARRIER | Kind::WAITS) != 0;
        let label = self.labels.get(&instruction.pc);
        let mut args = Map::new();
        if let Some(label) = label {
            args.insert("PTX".to_owned(), json!(label.ptx));
            args.extend((label.source.iter()).map(|line| ("source".to_owned(), json!(line))));
        }
        args.insert(
            "lanes".to_owned(),
            json!(format!("{:#010x}", instruction.lanes)),
        );
        if spent.shared_requests > 0 {
            args.insert("wavefronts".to_owned(), json!(spent.wavefronts));
            args.insert(
                "wavefronts needed".to_owned(),
                json!(spent.needed_wavefronts),
            );
        }
        if spent.global_requests > 0 {
            args.insert("sectors".to_owned(), json!(spent.sectors));
            args.insert("sectors needed".to_owned(), json!(spent.needed_sectors));
        }
        self.trace.event(&json!({
            "ph": "X", "pid": self.first + instruction.block, "tid": instruction.warp + 1,
            "ts": at, "dur": if waits { next - at } else { 1 },
            "name": label.map_or("?", |label| &label.name), "cat": category(*kind, spent), "args": args,
        }));
    }

    /// Writes the last step of each warp.
    fn finish(mut self) {
        for step in std::mem::take(&mut self.open).into_values() {
            self.slice(&step, step.at + 1);
        }
    }
}

/// The step's category, named as in the HTML trace.
fn category(kind: u8, spent: &Spent) -> &'static str {
    if kind & Kind::BARRIER != 0 {
        "barrier"
    } else if spent.wavefronts > spent.needed_wavefronts {
        "bank conflict"
    } else if spent.shared_requests > 0 {
        "shared memory"
    } else if spent.global_requests > 0 {
        "global memory"
    } else {
        "no memory"
    }
}

fn labels(session: &Session) -> HashMap<u32, Label> {
    let lines: Vec<&str> = session.ptx().lines().collect();
    let labels = session.code().iter().map(|code| {
        let text = lines.get(code.line.saturating_sub(1) as usize);
        let text = text.map_or("", |line| line.trim());
        let mut words = text.split_whitespace();
        let opcode = words.find(|word| !word.starts_with('@')).unwrap_or("?");
        let source = code.source.as_ref();
        let label = Label {
            name: opcode.trim_end_matches(';').to_owned(),
            ptx: format!("{}: {text}", code.line),
            source: source.map(|place| format!("{}:{}", place.file, place.line)),
        };
        (code.pc, label)
    });
    labels.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Detectors, Launch, StoredFiles};

    const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{ .reg .b32 %t; mov.u32 %t, %tid.x;
        bar.sync 0; ret; }";

    #[test]
    fn steps_that_do_not_fit_are_counted() {
        let launch = Launch {
            name: "k".to_owned(),
            ptx: 0,
            kernel: "k".to_owned(),
            grid: [2, 1, 1],
            block: [64, 1, 1],
            shared_bytes: 0,
            arguments: Vec::new(),
            seed: None,
            steps: 1000,
            detectors: Detectors::default(),
        };
        let mut session = Session::open(&launch, PTX, &StoredFiles::default()).unwrap();
        let mut trace = Trace::with_room(5);
        trace.add("k", &mut session);
        // Two blocks of two warps with three instructions each.
        assert_eq!(trace.left_out(), 12 - 5);
        let file: Value = serde_json::from_str(&trace.finish("one \"launch\"")).unwrap();
        assert_eq!(file["otherData"]["steps_left_out"], 7);
        assert_eq!(file["otherData"]["title"], "one \"launch\"");
        let events = file["traceEvents"].as_array().unwrap().iter();
        assert_eq!(events.filter(|event| event["ph"] == "X").count(), 5);
    }
}
