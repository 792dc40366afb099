//! Operations over several GPUs, and how they scale.
//!
//! A step is timed on the host, from a barrier of all ranks to the end of the slowest rank. Every
//! result is checked.

mod peers;
mod phases;
mod steps;
mod work;

use blockwise::Device;
use blockwise_mesh::Mesh;
use serde::{Deserialize, Serialize};

use super::row::seconds;
use super::{OURS, Run, Timing};
use crate::table::lines_up;

pub use peers::mesh_peers;
pub use phases::{DevicePhase, GpuPhases, HostPhase};
pub use work::{MeshWork, mesh_works};

/// One operation on some GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeshRow {
    /// The operation with its size: `sum/f32/2^33`.
    pub work: String,
    /// The implementation: ours or a peer's.
    pub implementation: String,
    /// `default`, or `tensor` for a product on tensor cores.
    pub rung: String,
    /// The number of GPUs.
    pub gpus: usize,
    /// The fewest bytes that all GPUs together must move.
    pub bytes: u64,
    /// The arithmetic operations that they must do.
    pub operations: u64,
    /// Seconds of a step; `None` if there was none.
    pub timing: Option<Timing>,
    /// The speed-up: the same implementation's median on one GPU over this one.
    pub speed_up: Option<f64>,
    /// The fastest peer's median on the same number of GPUs over this one.
    pub over_peer: Option<f64>,
    /// What was compared, or why nothing was timed.
    pub check: String,
    /// Whether the result was right.
    pub passed: bool,
    /// Where the time goes on each GPU, if that was recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<GpuPhases>,
}

/// All results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeshReport {
    /// Where and when.
    pub run: Run,
    /// One for each implementation, operation and number of GPUs.
    pub rows: Vec<MeshRow>,
}

/// Steps that are recorded, at most as many as are timed.
const RECORDED: usize = 9;

/// Times a work on the ranks of a mesh, and of several records where the time goes, if asked. A
/// failure becomes a row that says so.
pub fn mesh_row(mesh: &Mesh, work: &MeshWork, record: bool) -> MeshRow {
    let row = MeshRow::of(work, OURS, mesh.ranks());
    let record = record && mesh.ranks() > 1;
    let count = steps::Count {
        timed: work.rounds,
        recorded: if record { work.rounds.min(RECORDED) } else { 0 },
    };
    let ranks = match mesh.run(|rank| work.step(rank, &work.size.0, count)) {
        Ok(ranks) => ranks,
        Err(error) => {
            let check = error.to_string();
            return MeshRow { check, ..row };
        }
    };
    let slowest = (0..work.rounds).map(|round| {
        let times = ranks.iter().map(|outcome| outcome.timed.seconds[round]);
        times.fold(0.0, f64::max)
    });
    let error = worst(ranks.iter().map(|outcome| outcome.error));
    let alone = match record && work.is_sum_of_parts() {
        true => alone(mesh, work),
        false => Vec::new(),
    };
    MeshRow {
        timing: Some(Timing::of(slowest.collect())),
        check: format!("relative error {error:.1e}"),
        passed: error < TOLERANCE,
        phases: phases::of_ranks(&ranks, &alone),
        ..row
    }
}

/// The median of each device's steps with its part of the elements, without the others; none if one
/// fails.
fn alone(mesh: &Mesh, work: &MeshWork) -> Vec<f64> {
    let mut extents = work.size.0.clone();
    extents[0] /= mesh.ranks();
    let count = steps::Count {
        timed: RECORDED,
        recorded: 0,
    };
    let of_device = |device: &Device| {
        let mesh = Mesh::of(vec![device.clone()]).ok()?;
        let ranks = mesh.run(|rank| work.step(rank, &extents, count)).ok()?;
        Some(Timing::of(ranks.first()?.timed.seconds.clone()).median)
    };
    let alone: Option<_> = mesh.devices().iter().map(of_device).collect();
    alone.unwrap_or_default()
}

/// The largest error. NaN is the worst: unwritten outputs give it.
fn worst(errors: impl IntoIterator<Item = f64>) -> f64 {
    let worst = errors.into_iter().max_by(f64::total_cmp);
    worst.unwrap_or(f64::NAN)
}

/// The largest relative error of a result whose terms are all alike.
const TOLERANCE: f64 = 1e-4;

impl MeshReport {
    /// Relates each row to the same implementation's on one GPU, and to the peers'.
    pub fn new(run: Run, mut rows: Vec<MeshRow>) -> Self {
        let median = |row: &MeshRow| row.timing.map(|timing| timing.median);
        let all = rows.clone();
        for row in &mut rows {
            let Some(own) = median(row) else { continue };
            let single = all.iter().find(|single| {
                let whose = |row: &MeshRow| (row.implementation.clone(), row.rung.clone());
                single.gpus == 1 && single.work == row.work && whose(single) == whose(row)
            });
            row.speed_up = single.and_then(median).map(|one| one / own);
            let peers = all.iter().filter(|peer| {
                peer.implementation != OURS && (&peer.work, peer.gpus) == (&row.work, row.gpus)
            });
            let peer = peers.filter_map(median).min_by(f64::total_cmp);
            let peer = peer.filter(|_| row.implementation == OURS);
            row.over_peer = peer.map(|peer| peer / own);
        }
        Self { run, rows }
    }

    /// Whether every result of ours was correct.
    pub fn passed(&self) -> bool {
        let ours = |row: &&MeshRow| row.implementation == OURS;
        self.rows.iter().filter(ours).all(|row| row.passed)
    }

    /// A table in Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = "| --- ".repeat(HEADING.len()) + "|\n";
        let mut text = self.run.heading() + "\n\n" + &line(&HEADING.map(str::to_owned)) + &rule;
        text.extend(self.rows.iter().map(|row| line(&row.cells())));
        text
    }

    /// Where the time goes, as tables in Markdown; empty if nothing was recorded.
    pub fn phases(&self) -> String {
        let tables = phases::markdown(&self.rows);
        match tables.is_empty() {
            true => tables,
            false => self.run.heading() + phases::LEGEND + &tables,
        }
    }

    /// A table for a terminal.
    pub fn table(&self) -> String {
        let mut lines = vec![HEADING.map(str::to_owned)];
        lines.extend(self.rows.iter().map(MeshRow::cells));
        self.run.heading() + "\n" + &lines_up(&lines, 3..12)
    }
}

const HEADING: [&str; 13] = [
    "work",
    "by",
    "rung",
    "GPUs",
    "median",
    "p10",
    "p90",
    "GB/s",
    "TFLOP/s",
    "speed-up",
    "of perfect",
    "over peer",
    "check",
];

impl MeshRow {
    /// A row without a timing.
    fn of(work: &MeshWork, implementation: &str, gpus: usize) -> Self {
        let amounts = work.amounts();
        let (bytes, operations) = amounts.map_or((0, 0), |of| (of.bytes, of.operations));
        Self {
            work: work.name(),
            implementation: implementation.to_owned(),
            rung: work.rung.to_owned(),
            gpus,
            bytes,
            operations,
            timing: None,
            speed_up: None,
            over_peer: None,
            check: String::new(),
            passed: false,
            phases: Vec::new(),
        }
    }

    /// The row as one line, once timed.
    pub fn line(&self) -> String {
        self.cells().join("  ")
    }

    fn cells(&self) -> [String; 13] {
        let or_none = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        let time = |pick: fn(&Timing) -> f64| {
            or_none(self.timing.as_ref().map(|timing| seconds(pick(timing))))
        };
        let rate = |amount: u64, unit: f64| {
            let rate = self
                .timing
                .map(|timing| amount as f64 / timing.median / unit);
            or_none(rate.map(|rate| format!("{rate:.1}")))
        };
        let number = |number: Option<f64>| or_none(number.map(|number| format!("{number:.3}")));
        [
            self.work.clone(),
            self.implementation.clone(),
            self.rung.clone(),
            self.gpus.to_string(),
            time(|timing| timing.median),
            time(|timing| timing.p10),
            time(|timing| timing.p90),
            rate(self.bytes, 1e9),
            rate(self.operations, 1e12),
            number(self.speed_up),
            number(self.speed_up.map(|times| times / self.gpus as f64)),
            number(self.over_peer),
            self.check.clone(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Options, Sizes};

    fn works(sizes: &[&str], filter: &str) -> Vec<MeshWork> {
        let sizes = sizes.iter().map(|size| size.parse().unwrap()).collect();
        mesh_works(&Options {
            filter: vec![filter.to_owned()],
            sizes: Sizes::Given(sizes),
            ..Options::default()
        })
    }

    fn names(works: &[MeshWork]) -> Vec<String> {
        works.iter().map(MeshWork::name).collect()
    }

    #[test]
    fn sizes_go_to_the_operations_with_as_many_extents() {
        let given = works(&["40", "500x5", "7x8x9"], "");
        let expected = [
            "transpose/f32/40x40",
            "transpose/f32/500x5",
            "transpose-columns/f32/40x40",
            "transpose-columns/f32/500x5",
            "scan/f32/40",
            "conv/f32/500x5",
            "sum/f32/40",
            "dot/f32/40",
            "matmul/f32/40x40x40",
            "matmul/f32/7x8x9",
            "matmul/f32/40x40x40",
            "matmul/f32/7x8x9",
        ];
        assert_eq!(names(&given), expected);
        let amounts = given.iter().map(|work| work.amounts().unwrap());
        let amounts: Vec<_> = amounts.map(|of| (of.bytes, of.operations)).collect();
        assert_eq!(amounts[2], (2 * 4 * 1600, 0));
        assert_eq!(amounts[4], (320, 40));
        assert_eq!(amounts[6..8], [(160, 40), (320, 80)]);
        assert_eq!(amounts[9], (4 * (56 + 72 + 63), 2 * 7 * 8 * 9));
        let tensor = works(&["40"], "tensor");
        assert_eq!(names(&tensor), ["matmul/f32/40x40x40"]);
        let standard = mesh_works(&Options::default());
        let standard = names(&standard);
        for name in ["sum/f32/2^33", "matmul/f32/32768x32768x32768"] {
            assert!(standard.contains(&name.to_owned()), "{standard:?}");
        }
    }

    #[test]
    fn every_operation_is_timed_and_right_on_every_mesh() {
        for ranks in [1, 3] {
            let mesh = Mesh::emulated(ranks).unwrap();
            let works = works(&["40", "500x5", "1x3x2"], "default");
            assert_eq!(works.len(), 10);
            for mut work in works {
                work.rounds = 2;
                let row = mesh_row(&mesh, &work, false);
                assert!(row.passed && row.gpus == ranks, "{row:?}");
                assert_eq!(row.timing.unwrap().samples, 2);
                assert!(row.phases.is_empty());
            }
        }
    }

    /// The host's phases are all of a step, and the device's lie within it.
    #[test]
    fn a_step_is_recorded_on_every_gpu() {
        let mesh = Mesh::emulated(3).unwrap();
        for mut work in works(&["40", "500x5"], "default") {
            work.rounds = 1;
            let row = mesh_row(&mesh, &work, true);
            assert!(row.passed, "{row:?}");
            assert_eq!(row.phases.len(), 3, "{row:?}");
            for phases in &row.phases {
                assert_eq!(phases.alone.is_some(), work.is_sum_of_parts(), "{row:?}");
                let names: Vec<_> = phases.host.iter().map(|phase| &*phase.name).collect();
                assert!(
                    names.contains(&"launch") && names.contains(&"wait"),
                    "{names:?}"
                );
                let kernel = phases.device.iter().find(|phase| phase.name == "kernel");
                let kernel = kernel.expect("a kernel");
                let within = 0.0 <= kernel.start && kernel.start < kernel.end;
                assert!(within && kernel.busy > 0.0, "{phases:?}");
            }
            let report = MeshReport::new(Run::default(), vec![row]);
            let tables = report.phases();
            assert!(
                tables.contains(&work.name()) && tables.contains("| GPU: kernel"),
                "{tables}"
            );
            assert_eq!(
                tables.lines().filter(|line| line.starts_with("| ")).count(),
                5
            );
        }
    }

    #[test]
    fn a_wrong_result_is_no_pass_and_a_refused_one_says_why() {
        let mesh = Mesh::emulated(2).unwrap();
        let mut work = works(&["9"], "sum").remove(0);
        work.step = |_, _, _, rounds| {
            Ok(steps::Outcome {
                timed: steps::Timed {
                    seconds: vec![1.0; rounds.timed],
                    phases: Vec::new(),
                },
                error: f64::NAN,
            })
        };
        let row = mesh_row(&mesh, &work, false);
        assert!(!row.passed && row.timing.is_some(), "{row:?}");
        let row = mesh_row(&mesh, &works(&["9"], "tensor")[0], false);
        assert!(!row.passed && row.check.contains("tensor cores"), "{row:?}");
    }

    #[test]
    fn rows_are_related_to_one_gpu_and_to_the_peer_on_as_many() {
        let sum = works(&["9"], "sum").remove(0);
        let row = |by: &str, gpus, median| MeshRow {
            timing: Some(Timing::of(vec![median])),
            ..MeshRow::of(&sum, by, gpus)
        };
        let rows = vec![
            row(OURS, 1, 8.0),
            row("peer", 1, 6.0),
            row(OURS, 2, 5.0),
            row("peer", 4, 2.0),
        ];
        let report = MeshReport::new(Run::default(), rows);
        let found: Vec<_> = report.rows.iter().map(|row| row.speed_up).collect();
        assert_eq!(found, [Some(1.0), Some(1.0), Some(1.6), Some(3.0)]);
        let found: Vec<_> = report.rows.iter().map(|row| row.over_peer).collect();
        assert_eq!(found, [Some(0.75), None, None, None]);
        assert!(report.table().contains("0.800"), "{}", report.table());
        let markdown = report.markdown();
        assert!(
            markdown.contains("| blockwise | default | 2 |"),
            "{markdown}"
        );
        assert_eq!(markdown.lines().count(), 4 + report.rows.len());
    }
}
