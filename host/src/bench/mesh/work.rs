//! What is timed over several GPUs.

use blockwise::Type;
use blockwise_mesh::{Error, Rank};
use blockwise_ops::OPERATIONS;
use blockwise_ops::operation::{Given, Work};

use super::steps::{self, Count, Outcome};
use crate::bench::operation::posed;
use crate::bench::{Options, Size};

/// An operation at a size, and its method.
#[derive(Clone, Debug)]
pub struct MeshWork {
    /// `transpose-columns` is the one whose result stays where it is.
    pub(super) operation: &'static str,
    /// `default`, or `tensor` for a product on tensor cores.
    pub(super) rung: &'static str,
    pub(super) size: Size,
    /// Timed steps.
    pub(super) rounds: usize,
    pub(super) step: Step,
}

/// Timed steps of products, which take a second each, of convolutions, which take a peer half a
/// second, and of the others.
const FEW: usize = 5;
const SOME: usize = 10;
const MANY: usize = 25;

/// A rank's part of an operation with these extents, and how often it is repeated.
pub(super) type Step = fn(&mut Rank, &[usize], Count) -> Result<Outcome, Error>;

/// The rung of products on tensor cores.
pub(super) const TENSOR: &str = "tensor";

/// The works that the options choose.
pub fn mesh_works(options: &Options) -> Vec<MeshWork> {
    let sizes = &options.sizes;
    let mut works = Vec::new();
    let mut add = |operation, rung, sizes: Vec<Vec<usize>>, step: Step| {
        works.extend(sizes.into_iter().map(|extents| MeshWork {
            operation,
            rung,
            size: Size(extents),
            rounds: match operation {
                "matmul" => FEW,
                "conv" => SOME,
                _ => MANY,
            },
            step,
        }));
    };
    let look = [[1 << 26]];
    let sums = sizes.pick(false, &look, &[[1 << 33]]);
    add("sum", "default", extents(sums), steps::sum);
    let dots = sizes.pick(false, &look, &[[1 << 33]]);
    add("dot", "default", extents(dots), steps::dot);
    let scans = sizes.pick(false, &look, &[[1 << 33]]);
    add("scan", "default", extents(scans), steps::scan);
    let signals = sizes.pick(false, &[[1 << 26, 31]], &[[1 << 30, 31], [1 << 33, 31]]);
    add("conv", "default", extents(signals), steps::convolution);
    let cubes = extents(sizes.pick(true, &[[4096; 3]], &[[16384; 3], [32768; 3]]));
    add("matmul", "default", cubes.clone(), steps::product);
    add("matmul", TENSOR, cubes, steps::tensor_product);
    let squares = sizes.pick(true, &[[8192; 2]], &[[16384; 2], [32768; 2]]);
    let squares = extents(squares);
    add("transpose", "default", squares.clone(), steps::transpose);
    add(
        "transpose-columns",
        "default",
        squares,
        steps::transpose_in_columns,
    );
    let filter = &options.filter;
    works.retain(|work| {
        let name = work.row_name();
        filter.is_empty() || filter.iter().any(|text| name.contains(text.as_str()))
    });
    works
}

fn extents<const N: usize>(sizes: Vec<[usize; N]>) -> Vec<Vec<usize>> {
    sizes.iter().map(|size| size.to_vec()).collect()
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
        ["sum", "dot", "scan", "conv"].contains(&self.operation)
    }

    /// The fewest bytes that must be read and written, by all GPUs together, and the arithmetic
    /// operations.
    pub(super) fn amounts(&self) -> Option<Work> {
        let mut operations = OPERATIONS.iter();
        let of = operations.find(|of| self.operation.starts_with(of.name))?;
        let posed = posed(of, Type::F32, &self.size.0, &Given::default()).ok()?;
        Some((of.work)(&posed.problem))
    }
}
