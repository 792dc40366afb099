//! Operations over several GPUs, and how they scale.
//!
//! A step is timed on the host, from a barrier of all ranks to the end of the slowest rank. Every
//! result is checked.

mod peers;
mod steps;
mod work;

use blockwise_mesh::Mesh;
use serde::{Deserialize, Serialize};

use super::row::{lines_up, seconds};
use super::{OURS, Run, Timing};

pub use peers::mesh_peers;
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
}

/// All results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeshReport {
    /// Where and when.
    pub run: Run,
    /// One for each implementation, operation and number of GPUs.
    pub rows: Vec<MeshRow>,
}

/// Times a work on the ranks of a mesh. A failure becomes a row that says so.
pub fn mesh_row(mesh: &Mesh, work: &MeshWork) -> MeshRow {
    let row = MeshRow::of(work, OURS, mesh.ranks());
    let ranks = match mesh.run(|rank| (work.step)(rank, &work.size.0, work.rounds)) {
        Ok(ranks) => ranks,
        Err(error) => {
            let check = error.to_string();
            return MeshRow { check, ..row };
        }
    };
    let slowest = (0..work.rounds).map(|round| {
        let times = ranks.iter().map(|outcome| outcome.seconds[round]);
        times.fold(0.0, f64::max)
    });
    let error = worst(ranks.iter().map(|outcome| outcome.error));
    MeshRow {
        timing: Some(Timing::of(slowest.collect())),
        check: format!("relative error {error:.1e}"),
        passed: error < TOLERANCE,
        ..row
    }
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
        let (bytes, operations) = work.amounts();
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
            "sum/f32/40",
            "dot/f32/40",
            "scan/f32/40",
            "conv/f32/500x5",
            "matmul/f32/40x40x40",
            "matmul/f32/7x8x9",
            "matmul/f32/40x40x40",
            "matmul/f32/7x8x9",
            "transpose/f32/40x40",
            "transpose/f32/500x5",
            "transpose-columns/f32/40x40",
            "transpose-columns/f32/500x5",
        ];
        assert_eq!(names(&given), expected);
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
                let row = mesh_row(&mesh, &work);
                assert!(row.passed && row.gpus == ranks, "{row:?}");
                assert_eq!(row.timing.unwrap().samples, 2);
            }
        }
    }

    #[test]
    fn a_wrong_result_is_no_pass_and_a_refused_one_says_why() {
        let mesh = Mesh::emulated(2).unwrap();
        let mut work = works(&["9"], "sum").remove(0);
        work.step = |_, _, rounds| {
            Ok(steps::Outcome {
                seconds: vec![1.0; rounds],
                error: f64::NAN,
            })
        };
        let row = mesh_row(&mesh, &work);
        assert!(!row.passed && row.timing.is_some(), "{row:?}");
        let row = mesh_row(&mesh, &works(&["9"], "tensor")[0]);
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
