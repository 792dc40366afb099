//! Sums, dot products and convolutions over several GPUs, and how they scale.
//!
//! A step is timed on the host, from a barrier of all ranks to the slowest rank's end. Every result
//! is checked: the elements are small powers of two, so the exact results are known and sums round
//! little.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use blockwise_mesh::{Error, Mesh, Rank, Sharded, ShardedConvolution, Split, dot, reduce};
use blockwise_ops::{ConvMode, ConvOptions, ReduceOptions, Reduction};
use serde::{Deserialize, Serialize};

use super::row::{lines_up, seconds};
use super::{OURS, PeersError, Run, Size, Timing};

/// Elements of the sum, the dot product's operands and the signal, and the number of taps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshSizes {
    /// Elements of the sum.
    pub sum: usize,
    /// Elements of each operand of the dot product.
    pub dot: usize,
    /// Samples of the convolution.
    pub samples: usize,
    /// Its taps.
    pub taps: usize,
    /// Timed steps of each.
    pub rounds: usize,
}

impl MeshSizes {
    /// 32 GiB for each operation, a convolution less.
    pub const STANDARD: Self = Self {
        sum: 1 << 33,
        dot: 1 << 32,
        samples: 1 << 30,
        taps: 31,
        rounds: 25,
    };
    /// For a look.
    pub const QUICK: Self = Self {
        sum: 1 << 26,
        dot: 1 << 26,
        samples: 1 << 26,
        ..Self::STANDARD
    };

    /// The operations' names.
    fn names(&self) -> [String; 3] {
        [
            ("sum", vec![self.sum]),
            ("dot", vec![self.dot]),
            ("conv", vec![self.samples, self.taps]),
        ]
        .map(|(operation, extents)| format!("{operation}/f32/{}", Size(extents)))
    }
}

/// One operation on some GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeshRow {
    /// The operation with its size: `sum/f32/2^33`.
    pub work: String,
    /// Whose it is.
    pub implementation: String,
    /// The number of GPUs.
    pub gpus: usize,
    /// Seconds of a step; `None` when there was none.
    pub timing: Option<Timing>,
    /// The same implementation's median on one GPU over this one.
    pub speed_up: Option<f64>,
    /// What was compared, or why nothing was timed.
    pub check: String,
    /// Whether the result was right.
    pub passed: bool,
}

/// All that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeshReport {
    /// Where and when.
    pub run: Run,
    /// One for each implementation, operation and number of GPUs.
    pub rows: Vec<MeshRow>,
}

type Step = fn(&mut Rank, &MeshSizes) -> Result<(Vec<f64>, f64), Error>;

/// Times all operations on the ranks of a mesh. An operation that fails is a row that says so.
pub fn mesh_rows(mesh: &Mesh, sizes: &MeshSizes) -> Vec<MeshRow> {
    let steps: [Step; 3] = [sum, product, convolution];
    let works = sizes.names().into_iter().zip(steps);
    works
        .map(|(work, step)| row(mesh, sizes, work, step))
        .collect()
}

fn row(mesh: &Mesh, sizes: &MeshSizes, work: String, step: Step) -> MeshRow {
    let row = MeshRow {
        work,
        implementation: OURS.to_owned(),
        gpus: mesh.ranks(),
        timing: None,
        speed_up: None,
        check: String::new(),
        passed: false,
    };
    let ranks = match mesh.run(|rank| step(rank, sizes)) {
        Ok(ranks) => ranks,
        Err(error) => {
            let check = error.to_string();
            return MeshRow { check, ..row };
        }
    };
    let slowest = (0..sizes.rounds).map(|round| {
        let times = ranks.iter().map(|(times, _)| times[round]);
        times.fold(0.0, f64::max)
    });
    let error = worst(ranks.iter().map(|(_, error)| *error));
    MeshRow {
        timing: Some(Timing::of(slowest.collect())),
        check: format!("relative error {error:.1e}"),
        passed: error < TOLERANCE,
        ..row
    }
}

/// The largest error. NaN is the worst: that of outputs that nothing was written to.
fn worst(errors: impl IntoIterator<Item = f64>) -> f64 {
    let worst = errors.into_iter().max_by(f64::total_cmp);
    worst.unwrap_or(f64::NAN)
}

/// Largest relative error of a result whose terms are all alike.
const TOLERANCE: f64 = 1e-4;

/// Seconds of each step, from a barrier to this rank's end of it.
fn rounds(
    rank: &mut Rank,
    rounds: usize,
    mut step: impl FnMut(&mut Rank) -> Result<(), Error>,
) -> Result<Vec<f64>, Error> {
    step(rank)?;
    let times = (0..rounds).map(|_| {
        rank.barrier()?;
        let begin = Instant::now();
        step(rank)?;
        Ok(begin.elapsed().as_secs_f64())
    });
    times.collect()
}

/// Bytes that all elements consist of, and their value.
const BYTE: u8 = 0x3f;
const VALUE: f32 = f32::from_bits(u32::from_ne_bytes([BYTE; 4]));

fn filled(rank: &Rank, len: usize) -> Result<Sharded<f32>, Error> {
    let mut array = Sharded::alloc(rank, Split::even(len, rank.ranks()))?;
    array.fill_bytes(rank, BYTE)?;
    Ok(array)
}

fn error(result: f32, exact: f64) -> f64 {
    (f64::from(result) / exact - 1.0).abs()
}

fn sum(rank: &mut Rank, sizes: &MeshSizes) -> Result<(Vec<f64>, f64), Error> {
    let x = filled(rank, sizes.sum)?;
    let mut result = 0.0;
    let times = rounds(rank, sizes.rounds, |rank| {
        result = reduce(rank, &x, Reduction::Sum, &ReduceOptions::default())?;
        Ok(())
    })?;
    Ok((times, error(result, f64::from(VALUE) * sizes.sum as f64)))
}

fn product(rank: &mut Rank, sizes: &MeshSizes) -> Result<(Vec<f64>, f64), Error> {
    let (a, b) = (filled(rank, sizes.dot)?, filled(rank, sizes.dot)?);
    let mut result = 0.0;
    let times = rounds(rank, sizes.rounds, |rank| {
        result = dot(rank, &a, &b, &ReduceOptions::default())?;
        Ok(())
    })?;
    let exact = f64::from(VALUE).powi(2) * sizes.dot as f64;
    Ok((times, error(result, exact)))
}

fn convolution(rank: &mut Rank, sizes: &MeshSizes) -> Result<(Vec<f64>, f64), Error> {
    let signal = filled(rank, sizes.samples)?;
    let taps = vec![1.0 / sizes.taps as f32; sizes.taps];
    let (mode, options) = (ConvMode::Valid, ConvOptions::default());
    let mut convolution = ShardedConvolution::new(rank, signal.split(), &taps, mode, &options)?;
    let mut output = Sharded::alloc(rank, convolution.outputs().clone())?;
    output.fill_bytes(rank, 0xff)?;
    let times = rounds(rank, sizes.rounds, |rank| {
        convolution.enqueue(rank, &signal, &mut output)?;
        rank.synchronize()
    })?;
    // Every output is one element's value: the least and the largest one say whether all are.
    let mut error_of = |reduction| {
        let found = reduce(rank, &output, reduction, &ReduceOptions::default())?;
        Ok::<_, Error>(error(found, f64::from(VALUE)))
    };
    let (least, largest) = (error_of(Reduction::Min)?, error_of(Reduction::Max)?);
    Ok((times, worst([least, largest])))
}

/// A line of the peers' script.
#[derive(Deserialize)]
struct Answer {
    operation: String,
    timing: Option<Timing>,
    check: String,
    passed: bool,
}

/// Times PyTorch with NCCL by a script, which torchrun starts once for each GPU.
///
/// # Errors
/// When the script cannot be run or fails.
pub fn mesh_peers(
    python: &Path,
    script: &Path,
    gpus: usize,
    sizes: &MeshSizes,
) -> Result<Vec<MeshRow>, PeersError> {
    let mut command = Command::new(python);
    command
        .args(["-m", "torch.distributed.run", "--nproc-per-node"])
        .arg(gpus.to_string())
        .arg(script);
    for (name, value) in [
        ("--sum", sizes.sum),
        ("--dot", sizes.dot),
        ("--samples", sizes.samples),
        ("--taps", sizes.taps),
        ("--rounds", sizes.rounds),
    ] {
        command.arg(name).arg(value.to_string());
    }
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|source| PeersError::Start {
        python: python.to_owned(),
        script: script.to_owned(),
        source,
    })?;
    if !output.status.success() {
        return Err(PeersError::Failed {
            script: script.to_owned(),
            how: output.status.to_string(),
        });
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let rows = text.lines().filter(|line| line.starts_with('{'));
    let rows = rows.map(|line| {
        let answer = serde_json::from_str::<Answer>(line);
        let answer = answer.map_err(|source| PeersError::Answer {
            script: script.to_owned(),
            source,
        })?;
        let mut names = sizes.names().into_iter();
        let work = names.find(|name| name.starts_with(&answer.operation));
        Ok(MeshRow {
            work: work.unwrap_or(answer.operation),
            implementation: "torch + NCCL".to_owned(),
            gpus,
            timing: answer.timing,
            speed_up: None,
            check: answer.check,
            passed: answer.passed,
        })
    });
    rows.collect()
}

impl MeshReport {
    /// Relates each row to the same implementation's on one GPU.
    pub fn new(run: Run, mut rows: Vec<MeshRow>) -> Self {
        let median = |row: &MeshRow| row.timing.map(|timing| timing.median);
        let singles: Vec<_> = rows.iter().filter(|row| row.gpus == 1).cloned().collect();
        for row in &mut rows {
            let single = singles.iter().find(|single| {
                single.work == row.work && single.implementation == row.implementation
            });
            let times = single.and_then(median).zip(median(row));
            row.speed_up = times.map(|(one, several)| one / several);
        }
        Self { run, rows }
    }

    /// Whether every result of ours was right.
    pub fn passed(&self) -> bool {
        let ours = |row: &&MeshRow| row.implementation == OURS;
        self.rows.iter().filter(ours).all(|row| row.passed)
    }

    /// A table for a terminal.
    pub fn table(&self) -> String {
        let mut lines = vec![HEADING.map(str::to_owned)];
        lines.extend(self.rows.iter().map(MeshRow::cells));
        self.run.heading() + "\n" + &lines_up(&lines, 2..8)
    }
}

const HEADING: [&str; 9] = [
    "work",
    "by",
    "GPUs",
    "median",
    "p10",
    "p90",
    "speed-up",
    "of perfect",
    "check",
];

impl MeshRow {
    fn cells(&self) -> [String; 9] {
        let time = |pick: fn(&Timing) -> f64| {
            let seconds = self.timing.as_ref().map(|timing| seconds(pick(timing)));
            seconds.unwrap_or_else(|| "-".to_owned())
        };
        let number = |number: Option<f64>| number.map_or("-".to_owned(), |n| format!("{n:.3}"));
        [
            self.work.clone(),
            self.implementation.clone(),
            self.gpus.to_string(),
            time(|timing| timing.median),
            time(|timing| timing.p10),
            time(|timing| timing.p90),
            number(self.speed_up),
            number(self.speed_up.map(|times| times / self.gpus as f64)),
            self.check.clone(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TINY: MeshSizes = MeshSizes {
        sum: 1000,
        dot: 777,
        samples: 500,
        taps: 5,
        rounds: 2,
    };

    #[test]
    fn every_operation_is_timed_and_right_on_every_mesh() {
        for ranks in [1, 3] {
            let rows = mesh_rows(&Mesh::emulated(ranks).unwrap(), &TINY);
            let works: Vec<_> = rows.iter().map(|row| row.work.as_str()).collect();
            assert_eq!(works, ["sum/f32/1000", "dot/f32/777", "conv/f32/500x5"]);
            for row in rows {
                assert!(row.passed && row.gpus == ranks, "{row:?}");
                assert_eq!(row.timing.unwrap().samples, 2);
            }
        }
    }

    #[test]
    fn a_wrong_result_is_no_pass() {
        let mesh = Mesh::emulated(2).unwrap();
        let wrong: Step = |_, sizes| Ok((vec![1.0; sizes.rounds], f64::NAN));
        let row = row(&mesh, &TINY, "sum".to_owned(), wrong);
        assert!(!row.passed, "{row:?}");
    }

    #[test]
    fn speed_up_is_against_the_same_implementations_single_gpu() {
        let row = |by: &str, gpus, median| MeshRow {
            work: "sum".to_owned(),
            implementation: by.to_owned(),
            gpus,
            timing: Some(Timing::of(vec![median])),
            speed_up: None,
            check: String::new(),
            passed: true,
        };
        let rows = vec![
            row("a", 1, 8.0),
            row("b", 1, 6.0),
            row("a", 2, 5.0),
            row("b", 4, 2.0),
        ];
        let report = MeshReport::new(Run::default(), rows);
        let found: Vec<_> = report.rows.iter().map(|row| row.speed_up).collect();
        assert_eq!(found, [Some(1.0), Some(1.0), Some(1.6), Some(3.0)]);
        assert!(report.table().contains("0.800"), "{}", report.table());
    }
}
