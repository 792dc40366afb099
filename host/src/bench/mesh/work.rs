//! What is timed over several GPUs.

use blockwise::Type;
use blockwise_mesh::{Error, Rank};
use blockwise_ops::conv1d::CONV;
use blockwise_ops::matmul::MATMUL;
use blockwise_ops::operation::{Given, Operation, Parts, Rank as Dimensions, Work};
use blockwise_ops::reduce::{DOT, SUM};
use blockwise_ops::scan::SCAN;
use blockwise_ops::transpose::TRANSPOSE;

use super::steps::{self, Count, Outcome};
use crate::bench::operation::posed;
use crate::bench::work::DEFAULT;
use crate::bench::{Options, Size};

/// An operation at a size, and its method.
#[derive(Clone, Debug)]
pub struct MeshWork {
    of: &'static Operation,
    /// Its name; `transpose-columns` is the one whose result stays where it is.
    pub(super) operation: &'static str,
    /// `default`, or `tensor` for a product on tensor cores.
    pub(super) rung: &'static str,
    pub(super) size: Size,
    /// Timed steps.
    pub(super) rounds: usize,
    pub(super) step: Step,
}

/// A rank's part of an operation with these extents, and how often it is repeated.
pub(super) type Step = fn(&mut Rank, &[usize], Count) -> Result<Outcome, Error>;

/// The rung of products on tensor cores.
pub(super) const TENSOR: &str = "tensor";

/// The extents for a look and those of a whole run.
type Extents = [&'static [&'static [usize]]; 2];

/// The works that the options choose.
pub fn mesh_works(options: &Options) -> Vec<MeshWork> {
    let mut works = Vec::new();
    let mut add =
        |of: &'static Operation, [operation, rung]: [_; 2], sizes: &Extents, step: Step| {
            let square = of.operands[0].rank != Dimensions::Signal;
            let [look, whole] = sizes;
            let sizes = options.sizes.pick(of.sizes.len(), square, look, whole);
            works.extend(sizes.into_iter().map(|extents| MeshWork {
                of,
                operation,
                rung,
                size: Size(extents),
                // Products take a second each, convolutions a peer half a second.
                rounds: match of.parts {
                    Parts::Panels => 5,
                    Parts::Windows(_) => 10,
                    _ => 25,
                },
                step,
            }));
        };
    let sums: &Extents = &[&[&[1 << 26]], &[&[1 << 33]]];
    add(&SUM, [SUM.name, DEFAULT], sums, steps::sum);
    add(&DOT, [DOT.name, DEFAULT], sums, steps::dot);
    add(&SCAN, [SCAN.name, DEFAULT], sums, steps::scan);
    let signals: &Extents = &[&[&[1 << 26, 31]], &[&[1 << 30, 31], &[1 << 33, 31]]];
    add(&CONV, [CONV.name, DEFAULT], signals, steps::convolution);
    let cubes: &Extents = &[&[&[4096; 3]], &[&[16384; 3], &[32768; 3]]];
    add(&MATMUL, [MATMUL.name, DEFAULT], cubes, steps::product);
    add(&MATMUL, [MATMUL.name, TENSOR], cubes, steps::tensor_product);
    let squares: &Extents = &[&[&[8192; 2]], &[&[16384; 2], &[32768; 2]]];
    add(
        &TRANSPOSE,
        [TRANSPOSE.name, DEFAULT],
        squares,
        steps::transpose,
    );
    let columns = ["transpose-columns", DEFAULT];
    add(&TRANSPOSE, columns, squares, steps::transpose_in_columns);
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
