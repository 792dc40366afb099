//! Where the time of a step goes on each GPU.

use std::fmt::Write;

use blockwise_mesh::{Phases, Span};
use serde::{Deserialize, Serialize};

use super::MeshRow;
use super::steps::Outcome;

/// A GPU's part of a step: medians over the recorded steps, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuPhases {
    /// From the barrier to this GPU's end.
    pub seconds: f64,
    /// The step of a GPU of its own with as many elements, where that is the same work.
    pub alone: Option<f64>,
    /// What the host did.
    pub host: Vec<HostPhase>,
    /// What the GPU did.
    pub device: Vec<DevicePhase>,
}

/// What the host of a GPU did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostPhase {
    /// `launch`, `exchange`, `wait` or `fold`.
    pub name: String,
    /// All times together.
    pub seconds: f64,
}

/// What a GPU did, in seconds since the step's begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DevicePhase {
    /// Such as `kernel` or `transfer`.
    pub name: String,
    /// Pieces of it.
    pub pieces: usize,
    /// When the first could begin.
    pub start: f64,
    /// When the last had ended.
    pub end: f64,
    /// All pieces together.
    pub busy: f64,
}

/// The middle one of several steps' figures.
fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

impl GpuPhases {
    /// Of recorded steps, which have the same phases. `None` if there were none.
    fn of(steps: &[Phases], alone: Option<f64>) -> Option<Self> {
        let first = steps.first()?;
        let host = first.host.iter().enumerate().map(|(at, (name, _))| {
            let seconds = steps.iter().filter_map(|step| Some(step.host.get(at)?.1));
            let (name, seconds) = ((*name).to_owned(), median(seconds));
            HostPhase { name, seconds }
        });
        let device = first.device.iter().enumerate().map(|(at, span)| {
            let spans = || steps.iter().filter_map(|step| step.device.get(at));
            let middle = |pick: fn(&Span) -> f64| median(spans().map(pick));
            DevicePhase {
                name: span.name.to_owned(),
                pieces: span.pieces,
                start: middle(|span| span.start),
                end: middle(|span| span.end),
                busy: middle(|span| span.busy),
            }
        });
        Some(Self {
            seconds: median(steps.iter().map(|step| step.seconds)),
            alone,
            host: host.collect(),
            device: device.collect(),
        })
    }
}

/// Of each rank, with the steps of the GPUs alone, if they were timed.
pub(super) fn of_ranks(ranks: &[Outcome], alone: &[f64]) -> Vec<GpuPhases> {
    let of_rank = |(rank, outcome): (usize, &Outcome)| {
        GpuPhases::of(&outcome.timed.phases, alone.get(rank).copied())
    };
    ranks.iter().enumerate().filter_map(of_rank).collect()
}

/// What the tables say.
pub(super) const LEGEND: &str = "

Medians of recorded steps, in µs. Step: from a barrier to the end on this GPU. Host: what the GPU's
thread did; together the step. GPU: from when the first piece could begin (its stream was free; it may
have waited for another stream or GPU) to the end of the last one, and of several pieces the sum.
Alone: the step of this GPU with as many elements, without the others.
";

/// One table for each row that was recorded, in microseconds.
pub(super) fn markdown(rows: &[MeshRow]) -> String {
    let recorded = rows.iter().filter(|row| !row.phases.is_empty());
    recorded.fold(String::new(), |text, row| text + &table(row))
}

fn table(row: &MeshRow) -> String {
    let micros = |seconds: f64| format!("{:.0}", seconds * 1e6);
    let mut heading = vec!["GPU".to_owned(), "step".to_owned()];
    let first = &row.phases[0];
    // A rank may lack what others have: the last one of a scan totals nothing.
    let mut host: Vec<&str> = Vec::new();
    let mut device: Vec<&str> = Vec::new();
    for of_gpu in &row.phases {
        let names = of_gpu.host.iter().map(|phase| &*phase.name);
        host.extend(
            names
                .filter(|name| !host.contains(name))
                .collect::<Vec<_>>(),
        );
        let names = of_gpu.device.iter().map(|phase| &*phase.name);
        device.extend(
            names
                .filter(|name| !device.contains(name))
                .collect::<Vec<_>>(),
        );
    }
    heading.extend(host.iter().map(|name| format!("host: {name}")));
    heading.extend(device.iter().map(|name| format!("GPU: {name}")));
    if first.alone.is_some() {
        heading.push("alone".to_owned());
    }
    let lines = row.phases.iter().enumerate().map(|(gpu, phases)| {
        let mut line = vec![gpu.to_string(), micros(phases.seconds)];
        line.extend(host.iter().map(|name| {
            let found = phases.host.iter().find(|phase| phase.name == *name);
            found.map_or_else(|| "-".to_owned(), |phase| micros(phase.seconds))
        }));
        line.extend(device.iter().map(|name| {
            let found = phases.device.iter().find(|phase| phase.name == *name);
            found.map_or_else(|| "-".to_owned(), DevicePhase::cell)
        }));
        line.extend(phases.alone.map(micros));
        line
    });
    let step = row.timing.map_or(f64::NAN, |timing| timing.median);
    let mut text = format!(
        "\n{} on {} GPUs: {} µs, not recorded\n\n",
        row.work,
        row.gpus,
        micros(step)
    );
    let rule = vec!["---".to_owned(); heading.len()];
    for cells in [heading, rule].into_iter().chain(lines) {
        // A string takes all.
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

impl DevicePhase {
    /// `30 to 1905`, and of several pieces `8 in 30 to 1905, 1700`.
    fn cell(&self) -> String {
        let [start, end, busy] =
            [self.start, self.end, self.busy].map(|seconds| format!("{:.0}", seconds * 1e6));
        match self.pieces {
            1 => format!("{start} to {end}"),
            pieces => format!("{pieces} in {start} to {end}, {busy}"),
        }
    }
}
