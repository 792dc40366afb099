//! Runs an operation on files.

use std::path::Path;
use std::time::Instant;

use blockwise::{Device, Type};
use blockwise_mesh::{Blocks, Grid, Mesh, ShardedMatrix};
use blockwise_ops::compare::{self, Comparison, ShapeMismatch};
use blockwise_ops::operation::{self, Asked, Expected, Operation, Options, Parts, Posed, Rank};
use blockwise_ops::{AnyArray, Element, oracle};
use serde_json::json;

use super::Global;
use super::failure::Failure;
use super::mesh;
use super::operand::{self, Reference};
use super::operation::Arguments;
use super::report::Report;
use super::seconds::{Seconds, timed};
use crate::io::Reader;

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    let Arguments {
        of,
        output,
        reference,
        ..
    } = arguments;
    let inputs = Inputs::open(of, arguments)?;
    let posed = inputs.posed(of, arguments)?;
    let expected = reference.array()?;
    let mesh = match &arguments.gpus {
        Some(gpus) => global.linked_mesh(gpus)?,
        None => Mesh::of(vec![global.open_alone(of.name)?])?,
    };
    let place = mesh::output(&mesh, output)?;
    let options = Options {
        kernel: arguments.kernel,
        ..Options::default()
    };
    let made = match mesh::alone(&mesh) {
        Some(device) => Some(whole(device, of, &posed, &options, &inputs)?),
        None => divided(&mesh, of, &posed, &options, &inputs)?,
    };
    let (Some((result, mut seconds)), Some(place)) = (made, place) else {
        return Ok(Report::silent());
    };
    let ty = posed.problem.ty;
    let report = self::made(
        of.name,
        output,
        &mesh::names(&mesh),
        result.shape(),
        ty.name(),
    );
    let report = match expected {
        None => report,
        Some((name, expected)) => {
            let comparison = compared(of, &posed, &inputs, &result, (reference, &expected))?;
            report.comparison(&name, &comparison)
        }
    };
    let mut writing = 0.0;
    timed(&mut writing, || {
        let mut writer = place.create(result.shape(), ty)?;
        writer.write_bytes(result.bytes())?;
        Ok::<_, Failure>(writer.finish()?)
    })?;
    seconds.writing = Some(writing);
    Ok(report.with("seconds", json!(seconds)))
}

/// What is said of an array that was made.
pub(super) fn made(
    command: &str,
    output: &Path,
    device: &str,
    shape: &[usize],
    of: &str,
) -> Report {
    let text = format!("{}: {shape:?} {of}", output.display());
    let json = json!({ "command": command, "output": output.display().to_string(), "shape": shape, "type": of, "device": device });
    Report::new(text, json)
}

/// The operands' files.
struct Inputs {
    readers: Vec<Reader>,
    shapes: Vec<Vec<usize>>,
    /// The type that is computed with.
    ty: Type,
}

impl Inputs {
    fn open(of: &Operation, arguments: &Arguments) -> Result<Self, Failure> {
        let (mut readers, mut shapes, mut types) = (Vec::new(), Vec::new(), Vec::new());
        for (operand, path) in of.operands.iter().zip(&arguments.inputs) {
            let reader = operand::open(path)?;
            let reader = match operand.rank {
                Rank::Matrix => reader.into_matrix(),
                Rank::Any => reader,
            };
            let array = operand::contents(&reader)?;
            shapes.push(array.shape().to_vec());
            types.push(array.stored());
            readers.push(reader);
        }
        Ok(Self {
            readers,
            shapes,
            ty: (of.types)(&types),
        })
    }

    fn posed(&self, of: &Operation, arguments: &Arguments) -> Result<Posed, Failure> {
        let shapes: Vec<_> = self.shapes.iter().map(Vec::as_slice).collect();
        let posed = (of.pose)(self.ty, &shapes, &arguments.given);
        posed.map_err(|error| operand::named(&arguments.inputs[0], error))
    }

    /// All operands, whole.
    fn read(&self) -> Result<Vec<AnyArray>, Failure> {
        let each = self.readers.iter().zip(&self.shapes);
        each.map(|(reader, shape)| {
            let mut array = AnyArray::zeros(self.ty, shape)?;
            reader.again().read_as(self.ty, array.bytes_mut())?;
            Ok(array)
        })
        .collect()
    }
}

/// The result on one device.
fn whole(
    device: &Device,
    of: &'static Operation,
    posed: &Posed,
    options: &Options,
    inputs: &Inputs,
) -> Result<(AnyArray, Seconds), Failure> {
    let mut seconds = Seconds::default();
    let operands = timed(&mut seconds.reading, || inputs.read())?;
    let begin = Instant::now();
    let (result, computing) = operation::run(device, of, posed, options, &operands)?;
    seconds.computing = computing.as_secs_f64();
    seconds.copying = begin.elapsed().as_secs_f64() - seconds.computing;
    Ok((result, seconds))
}

/// The result by several devices, in the process of rank 0.
fn divided(
    mesh: &Mesh,
    of: &'static Operation,
    posed: &Posed,
    options: &Options,
    inputs: &Inputs,
) -> Result<Option<(AnyArray, Seconds)>, Failure> {
    match of.parts {
        Parts::Tiles => match posed.problem.ty.bytes() {
            1 => tiles::<u8>(mesh, posed, options, inputs),
            2 => tiles::<u16>(mesh, posed, options, inputs),
            4 => tiles::<u32>(mesh, posed, options, inputs),
            _ => tiles::<u64>(mesh, posed, options, inputs),
        },
        // They have no `--gpus`.
        Parts::Whole | Parts::Carried(_) => Err(Failure::new(format!(
            "`{}` is not divided over devices",
            of.name
        ))),
    }
}

/// A matrix in row shards, whose tiles change places, as words of its elements' width. Each rank
/// reads its rows only.
fn tiles<W: Element>(
    mesh: &Mesh,
    posed: &Posed,
    options: &Options,
    inputs: &Inputs,
) -> Result<Option<(AnyArray, Seconds)>, Failure> {
    let ty = posed.problem.ty;
    let [rows, cols, ..] = posed.problem.extents;
    let wholes = mesh.run(|rank| {
        let mut seconds = Seconds::default();
        let blocks = Blocks::even([rows, cols], Grid::column(rank.ranks()));
        let [own, _] = blocks.block(rank.number());
        let values = timed(&mut seconds.reading, || {
            let mut values = AnyArray::zeros(ty, &[own.len(), cols])?;
            let mut reader = inputs.readers[0].again();
            reader.skip(own.start * cols);
            reader.read_as(ty, values.bytes_mut())?;
            Ok::<_, Failure>(values)
        })?;
        let part = timed(&mut seconds.copying, || {
            ShardedMatrix::<W>::upload(rank, blocks, bytemuck::cast_slice(values.bytes()))
        })?;
        let transpose = |rank: &mut _| blockwise_mesh::transpose(rank, &part, options);
        let whole = mesh::collected(rank, &mut seconds, transpose)?;
        Ok::<_, Failure>((whole, seconds))
    })?;
    let Some((whole, seconds)) = mesh::whole(wholes, cols, rows)? else {
        return Ok(None);
    };
    let words = AnyArray::of(whole.view().into_dyn())?;
    Ok(words.retyped(ty).map(|result| (result, seconds)))
}

/// Compares a result with a reference: exactly, or within what both may be off.
fn compared(
    of: &Operation,
    posed: &Posed,
    inputs: &Inputs,
    result: &AnyArray,
    (reference, expected): (&Reference, &AnyArray),
) -> Result<Comparison, Failure> {
    // Dimensions of one element say nothing: a number may be kept as () or (1,), and text keeps a
    // row and a vector alike.
    let telling = |shape: &[usize]| -> Vec<usize> {
        shape
            .iter()
            .copied()
            .filter(|&extent| extent != 1)
            .collect()
    };
    if telling(result.shape()) != telling(expected.shape()) {
        let (result, reference_shape) = (result.shape().to_vec(), expected.shape().to_vec());
        let mismatch = ShapeMismatch {
            result,
            reference: reference_shape,
        };
        let name = reference.path().unwrap_or(Path::new("the reference"));
        return Err(Failure::from(mismatch).about(name));
    }
    let operands = inputs.read()?;
    let oracle = (of.reference)(Asked {
        problem: &posed.problem,
        inputs: &operands,
        runs: &[0..result.len()],
        before: &mut [0.0; 4],
    })?;
    let (tolerance, bound) = match (reference.allowed(), oracle) {
        (Some([rtol, atol]), _) => {
            let allowed = |at| atol + rtol * expected.number(at).to_f64().abs();
            let allowed: Vec<f64> = (0..expected.len()).map(allowed).collect();
            (Some(allowed), "--atol + --rtol * |reference|".to_owned())
        }
        (None, Expected::Exact(_)) => (None, "none: the result is exact".to_owned()),
        (None, Expected::Near(near)) => {
            let unit = reference.unit();
            let allowed = near.iter().map(|near| {
                // A reference may add its terms one by one, and rounds its result.
                let theirs = oracle::gamma(near.terms, unit) * near.magnitude.min(f64::MAX);
                near.tolerance + theirs + unit * near.value.abs()
            });
            let terms = near.iter().map(|near| near.terms).max().unwrap_or(0);
            let bound = format!(
                "what our kernels promise, and {terms} roundings of a reference that adds its terms one by one (--rtol and --atol for other references)"
            );
            (Some(allowed.collect()), bound)
        }
    };
    let tolerance: Option<Vec<f64>> = tolerance.map(|all: Vec<f64>| {
        let finite = |tolerance: f64| {
            if tolerance.is_finite() {
                tolerance
            } else {
                0.0
            }
        };
        all.into_iter().map(finite).collect()
    });
    let compared = compare::any(result, expected, tolerance.as_deref())?;
    Ok(compared.bounded_by(bound))
}
