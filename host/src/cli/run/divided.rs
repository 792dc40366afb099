//! Runs an operation on several devices.

use blockwise::Type;
use blockwise_mesh::{Blocks, Grid, Mesh, Rank, ShardedMatmulOptions, ShardedMatrix, Split, parts};
use blockwise_ops::operation::Parts;
use blockwise_ops::{AnyArray, Element, Float, LaunchError};

use super::task::Task;
use crate::cli::failure::Failure;
use crate::cli::mesh;
use crate::cli::seconds::{Seconds, timed};

impl Task {
    /// The result by several devices, in the process of rank 0.
    pub(super) fn divided(&self, mesh: &Mesh) -> Result<Option<(AnyArray, Seconds)>, Failure> {
        match (self.of.parts, self.posed.problem.ty) {
            (Parts::Panels, Type::F32) => self.in_panels::<f32>(mesh),
            (Parts::Panels, _) => self.in_panels::<f64>(mesh),
            (_, ty) => match ty.bytes() {
                1 => self.by_words::<u8>(mesh),
                2 => self.by_words::<u16>(mesh),
                4 => self.by_words::<u32>(mesh),
                _ => self.by_words::<u64>(mesh),
            },
        }
    }

    /// As words of the elements' width. Each rank reads its part only.
    fn by_words<W: Element>(&self, mesh: &Mesh) -> Result<Option<(AnyArray, Seconds)>, Failure> {
        let (of, problem, options) = (self.of, &self.posed.problem, &self.options);
        let ty = problem.ty;
        let (rows, cols, shape) = match of.parts {
            Parts::Tiles => {
                let [rows, cols, ..] = problem.extents;
                (Split::even(rows, mesh.ranks()), cols, [cols, rows])
            }
            Parts::Carried(carry) if (carry.is_one_line)(problem) => {
                let len = problem.extents[0];
                (parts(carry, problem, mesh.ranks()), 1, [len, 1])
            }
            Parts::Carried(_)
            | Parts::Folded(_)
            | Parts::Windows(_)
            | Parts::Panels
            | Parts::Whole => return Err(LaunchError::NotDivided { operation: of.name }.into()),
        };
        let wholes = mesh.run(|rank| {
            let mut seconds = Seconds::default();
            let own = rows.range(rank.number());
            let values = timed(&mut seconds.reading, || {
                let mut values = AnyArray::zeros(ty, &[own.len(), cols])?;
                let mut reader = self.inputs.readers[0].again();
                reader.skip(own.start * cols);
                reader.read_as(ty, values.bytes_mut())?;
                Ok::<_, Failure>(values)
            })?;
            let blocks = Blocks::by_rows(rows.clone(), cols);
            let part = timed(&mut seconds.copying, || {
                ShardedMatrix::<W>::upload(rank, blocks, bytemuck::cast_slice(values.bytes()))
            })?;
            let compute = |rank: &mut Rank| match of.parts {
                Parts::Tiles => blockwise_mesh::transpose(rank, &part, options),
                _ => blockwise_mesh::carried(rank, of, problem, &part, options),
            };
            let whole = mesh::collected(rank, &mut seconds, compute)?;
            Ok::<_, Failure>((whole, seconds))
        })?;
        let Some((whole, seconds)) = mesh::whole(wholes, shape[0], shape[1])? else {
            return Ok(None);
        };
        let words = AnyArray::of(whole.view().into_dyn())?;
        let result = words
            .retyped(ty)
            .and_then(|it| it.reshaped(&self.posed.result));
        Ok(result.map(|result| (result, seconds)))
    }

    /// As a product of two matrices. Each rank reads its blocks only.
    fn in_panels<T: Float>(&self, mesh: &Mesh) -> Result<Option<(AnyArray, Seconds)>, Failure> {
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
            launch: self.options,
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
