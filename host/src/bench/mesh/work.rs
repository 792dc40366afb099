//! What is timed over several GPUs.

use blockwise::Type;
use blockwise_mesh::{Error, Rank};
use blockwise_ops::operation::{Given, Operation, Parts, Rank as Dimensions, Work};
use blockwise_ops::{OPERATIONS, Reduction};

use super::steps::{self, Count, Launch, Outcome};
use crate::bench::operation::posed;
use crate::bench::work::DEFAULT;
use crate::bench::{Options, Size};

/// An operation at a size, and its method.
#[derive(Clone, Debug)]
pub struct MeshWork {
    of: &'static Operation,
    /// Its name; `transpose-columns` is the one whose result stays where it is.
    pub(super) operation: String,
    /// `default`, or `tensor` for a product on tensor cores.
    pub(super) rung: &'static str,
    pub(super) size: Size,
    /// Timed steps.
    pub(super) rounds: usize,
    pub(super) step: Step,
}

/// A rank's part of an operation by a variant, or the default one, with these extents, and how
/// often it is repeated.
pub(super) type Step = fn(&mut Rank, Launch, &[usize], Count) -> Result<Outcome, Error>;

/// The rung of products on tensor cores.
pub(super) const TENSOR: &str = "tensor";

/// The extents for a look and those of a whole run.
type Extents = [&'static [&'static [usize]]; 2];

/// The end of a row's name, its rung, and its step.
type Row = (&'static str, &'static str, Step);

/// How an operation is timed: its sizes, its number of timed steps and its rows. `None` if it is not
/// divided over GPUs; extremes and means are left out, because they are divided as sums are.
fn timed(of: &Operation) -> Option<(Extents, usize, &'static [Row])> {
    let line: Extents = [&[&[1 << 26]], &[&[1 << 33]]];
    let signals: Extents = [&[&[1 << 26, 31]], &[&[1 << 30, 31], &[1 << 33, 31]]];
    let cubes: Extents = [&[&[4096; 3]], &[&[16384; 3], &[32768; 3]]];
    let squares: Extents = [&[&[8192; 2]], &[&[16384; 2], &[32768; 2]]];
    // Products take a second each, convolutions a peer half a second.
    Some(match of.parts {
        Parts::Folded(fold) if fold.by == Reduction::Sum && !fold.is_mean => {
            (line, 25, &[("", DEFAULT, steps::folded)])
        }
        Parts::Whole | Parts::Folded(_) => return None,
        Parts::Carried(_) => (line, 25, &[("", DEFAULT, steps::carried)]),
        Parts::Windows(_) => (signals, 10, &[("", DEFAULT, steps::windows)]),
        Parts::Panels => {
            let rows: &[Row] = &[("", DEFAULT, steps::panels), ("", TENSOR, steps::panels)];
            (cubes, 5, rows)
        }
        Parts::Tiles => {
            let rows: &[Row] = &[
                ("", DEFAULT, steps::tiles),
                ("-columns", DEFAULT, steps::tiles_in_columns),
            ];
            (squares, 25, rows)
        }
    })
}

/// The works that the options choose.
pub fn mesh_works(options: &Options) -> Vec<MeshWork> {
    let mut works = Vec::new();
    for &of in OPERATIONS {
        let Some(([look, whole], rounds, rows)) = timed(of) else {
            continue;
        };
        let is_square = of.operands[0].rank != Dimensions::Signal;
        for &(end, rung, step) in rows {
            let sizes = options.sizes.pick(of.sizes.len(), is_square, look, whole);
            works.extend(sizes.into_iter().map(|extents| MeshWork {
                of,
                operation: format!("{}{end}", of.name),
                rung,
                size: Size(extents),
                rounds,
                step,
            }));
        }
    }
    let filter = &options.filter;
    works.retain(|work| {
        let name = work.row_name();
        filter.is_empty() || filter.iter().any(|text| name.contains(text.as_str()))
    });
    works
}

impl MeshWork {
    /// The name without a rung: `sum/f32/2^33`.
    pub fn name(&self) -> String {
        format!("{}/f32/{}", self.operation, self.size)
    }

    /// The name with its rung, for the filter.
    fn row_name(&self) -> String {
        format!("{}/f32/{}/{}", self.operation, self.rung, self.size)
    }

    /// One rank's steps, with these extents.
    pub(super) fn step(
        &self,
        rank: &mut Rank,
        extents: &[usize],
        count: Count,
    ) -> Result<Outcome, Error> {
        let options = match self.rung {
            DEFAULT => blockwise_ops::Options::default(),
            rung => blockwise_ops::Options::of(self.of.variant(rung).expect("a variant's name")),
        };
        (self.step)(rank, (self.of, options), extents, count)
    }

    /// Whether a GPU has the same work in a step of its own with its part of the elements.
    pub(super) fn is_sum_of_parts(&self) -> bool {
        !matches!(self.of.parts, Parts::Panels | Parts::Tiles)
    }

    /// The fewest bytes that must be read and written, by all GPUs together, and the arithmetic
    /// operations.
    pub(super) fn amounts(&self) -> Option<Work> {
        let posed = posed(self.of, Type::F32, &self.size.0, &Given::default()).ok()?;
        Some((self.of.work)(&posed.problem))
    }
}
