//! A product of two matrices by several devices.

use blockwise::Type;
use blockwise_mesh::{Blocks, Grid, Mesh, Rank, ShardedMatmulOptions, ShardedMatrix};
use blockwise_ops::{AnyArray, Float};

use super::Task;
use super::inputs::Inputs;
use crate::cli::failure::Failure;
use crate::cli::mesh;
use crate::cli::operand;
use crate::cli::seconds::{Seconds, timed};

impl Task<'_> {
    /// The product by several devices, in the process of rank 0.
    pub(super) fn in_panels(&self, mesh: &Mesh) -> Result<Option<(AnyArray, Seconds)>, Failure> {
        match self.posed.problem.ty {
            Type::F32 => self.in_panels_of::<f32>(mesh),
            _ => self.in_panels_of::<f64>(mesh),
        }
    }

    /// Each rank reads its blocks only.
    fn in_panels_of<T: Float>(&self, mesh: &Mesh) -> Result<Option<(AnyArray, Seconds)>, Failure> {
        let problem = &self.posed.problem;
        let [rows, inner, cols, batch] = problem.extents;
        // Products that share B are one.
        if batch != 1 {
            let refused = "a batch of products is not divided over devices";
            return Err(Failure::new(refused)
                .hint("leave `--gpus` out, or run a part of the batch on each device"));
        }
        let grid = Grid::for_product([rows, inner, cols], mesh.ranks());
        let options = ShardedMatmulOptions {
            launch: *self.options,
            settings: problem.settings,
            panel: None,
        };
        let wholes = mesh.run(|rank| {
            let mut seconds = Seconds::default();
            let mut part = |at: usize, shape| {
                let blocks = Blocks::even(shape, grid);
                let values = timed(&mut seconds.reading, || {
                    self.inputs.block(at, blocks.block(rank.number()))
                })?;
                let values = bytemuck::cast_slice(values.bytes());
                timed(&mut seconds.copying, || {
                    Ok::<_, Failure>(ShardedMatrix::<T>::upload(rank, blocks, values)?)
                })
            };
            let (a, b) = (part(0, [rows, inner])?, part(1, [inner, cols])?);
            let product = |rank: &mut Rank| blockwise_mesh::matmul(rank, &a, &b, &options);
            let whole = mesh::collected(rank, &mut seconds, product)?;
            Ok::<_, Failure>((whole, seconds))
        })?;
        let Some((whole, seconds)) = mesh::whole(wholes, rows, cols)? else {
            return Ok(None);
        };
        let result = AnyArray::of(whole.view().into_dyn())?.reshaped(&self.posed.result);
        Ok(result.map(|result| (result, seconds)))
    }
}

impl Inputs {
    /// Says that sums of products of integers may be rounded, where they may be that large.
    pub(super) fn notice_of_products(&self, terms: usize) -> Result<(), Failure> {
        if self.types.iter().any(|ty| ty.is_float()) {
            return Ok(());
        }
        let mut largest = terms as f64;
        for at in 0..self.readers.len() {
            let [rows, cols] = self.matrix(at);
            let mut most: f64 = 0.0;
            for row in 0..rows {
                let row = self.block(at, [row..row + 1, 0..cols])?;
                let numbers = (0..row.len()).map(|at| row.number(at).to_f64().abs());
                most = numbers.fold(most, f64::max);
            }
            largest *= most;
        }
        operand::notice_of_integers(largest);
        Ok(())
    }
}
