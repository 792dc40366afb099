//! `blockwise dot | sum | min | max`.

use std::fmt::Display;
use std::path::PathBuf;

use blockwise::Plain;
use blockwise::Type;
use blockwise_mesh::{Mesh, Split};
use blockwise_ops::compare::ToNumber;
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::pipeline::{Operation, Reducer};
use blockwise_ops::reduce::{Total, plan_reduce};
use blockwise_ops::{Number, ReduceKernel, ReduceOptions, Reduction, reduce as ops};
use clap::Args;
use ndarray::arr0;
use serde_json::json;

use super::failure::Failure;
use super::mesh::{self, Gpus};
use super::operand::{self, Chunk, Reference, Sums};
use super::report::Report;
use super::seconds::{Seconds, timed};
use super::{Global, axis, names, progress};
use crate::io::{self, Contents, Kind, Reader};

#[derive(Args)]
pub(super) struct Arguments {
    /// The array, of any shape (.npy, .csv; .wav: all samples of all channels)
    input: PathBuf,
    /// Reduce over this axis only (.npy, .csv); from the back if negative. The result is an array
    /// without it, for `min` and `max` of the file's own type
    #[arg(long, value_name = "K", allow_negative_numbers = true, requires = "output", conflicts_with_all = ["kernel", "gpus"])]
    axis: Option<isize>,
    /// Where to write what --axis gives
    #[arg(short, long, value_name = "FILE", requires = "axis")]
    output: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(super) struct DotArguments {
    /// A vector (.npy or .csv)
    a: PathBuf,
    /// A vector of the same length; unlike types are promoted to float64
    b: PathBuf,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(super) struct Options {
    /// How a block combines its threads' values; without it, the fastest for this number of elements
    #[arg(long, value_parser = names(ReduceKernel::ALL))]
    kernel: Option<ReduceKernel>,
    #[command(flatten)]
    pub(super) chunk: Chunk,
    #[command(flatten)]
    gpus: Gpus,
    #[command(flatten)]
    pub(super) reference: Reference,
}

/// Sum, minimum or maximum of a file.
pub(super) fn run(
    global: &Global,
    reduction: Reduction,
    arguments: &Arguments,
) -> Result<Report, Failure> {
    if let (Some(axis), Some(output)) = (arguments.axis, &arguments.output) {
        let (options, input) = (&arguments.options, &arguments.input);
        return axis::run(global, reduction, axis, [input, output], options);
    }
    let (input, shape, kind) = operand::reader(&arguments.input)?;
    let job = Job {
        operation: Operation::Reduce(reduction),
        name: reduction.name(),
        inputs: vec![input],
        len: shape.iter().product(),
        options: &arguments.options,
    };
    match (kind, reduction) {
        (Kind::F32, Reduction::Sum) => job.rounded::<f32>(global),
        (Kind::F64, Reduction::Sum) => job.rounded::<f64>(global),
        (Kind::F32, Reduction::Min | Reduction::Max) => job.exact(global, |value: f32| value),
        (Kind::F64, Reduction::Min | Reduction::Max) => job.exact(global, |value: f64| value),
        (Kind::I64, _) => job.integer(global),
    }
}

/// The dot product of two files.
pub(super) fn dot(global: &Global, arguments: &DotArguments) -> Result<Report, Failure> {
    let mut inputs = Vec::new();
    let mut lens = Vec::new();
    let mut kinds = Vec::new();
    for path in [&arguments.a, &arguments.b] {
        let (input, shape, kind) = operand::reader(path)?;
        lens.push(operand::vector_len(&shape, path)?);
        inputs.push(input);
        kinds.push(kind);
    }
    blockwise_ops::reduce::same_length(lens[0], lens[1]).map_err(|error| {
        let [a, b] = [&arguments.a, &arguments.b].map(|path| path.display());
        Failure::new(format!("{a} and {b}: {error}"))
    })?;
    let job = Job {
        operation: Operation::Dot,
        name: "dot",
        inputs,
        len: lens[0],
        options: &arguments.options,
    };
    // As NumPy promotes them: equal types stay, any others become float64.
    match kinds[..] {
        [Kind::F32, Kind::F32] => job.rounded::<f32>(global),
        [Kind::I64, Kind::I64] => job.integer(global),
        _ => job.rounded::<f64>(global),
    }
}

impl Options {
    fn launch(&self) -> ReduceOptions {
        ReduceOptions {
            kernel: self.kernel,
            ..ReduceOptions::default()
        }
    }
}

/// A reduction of files.
struct Job<'a> {
    operation: Operation,
    name: &'static str,
    inputs: Vec<Reader>,
    /// Elements of each.
    len: usize,
    options: &'a Options,
}

impl Job<'_> {
    /// A value that depends on rounding.
    fn rounded<T: Number + Precision + io::Number>(self, global: &Global) -> Result<Report, Failure>
    where
        serde_json::Value: From<T>,
    {
        let reference = self.options.reference.read()?;
        let mesh = global.mesh(&self.options.gpus)?;
        let (value, seconds) = self.reduce::<T>(&mesh)?;
        if mesh.first() > 0 {
            return Ok(Report::silent());
        }
        let report = self.report(&mesh, value, seconds);
        let Some((name, data)) = reference else {
            return Ok(report);
        };
        // Every rank's part and every chunk is shorter.
        let operands = match self.operation {
            Operation::Dot => ops::Operands::Two,
            Operation::Reduce(_) => ops::Operands::One,
        };
        let properties = mesh.devices()[0].properties();
        let sums = Sums {
            magnitudes: arr0(self.magnitude::<T>()?),
            terms: self.len,
            path: match operands {
                ops::Operands::One => oracle::blocked_path(self.len),
                ops::Operands::Two => oracle::blas_path(self.len),
            },
            error: (self.options.launch()).sum_error::<T>(operands, self.len, properties),
        };
        let comparison = (self.options.reference).compare_sums(arr0(value).view(), &data, sums)?;
        Ok(report.comparison(&name, &comparison))
    }

    /// Integers, which wrap as NumPy's do: modulo 2⁶⁴, from 0 on if all are of uint64.
    fn integer(self, global: &Global) -> Result<Report, Failure> {
        let is_unsigned = |reader: &Reader| match reader.contents() {
            Contents::Array(array) => array.stored() == Type::U64,
            Contents::Recording(_) => false,
        };
        match self.inputs.iter().all(is_unsigned) {
            true => self.exact(global, |value: i64| value as u64),
            false => self.exact(global, |value: i64| value),
        }
    }

    /// A value that does not, computed in `T`.
    fn exact<T: Number + io::Number, R: Plain + ToNumber + Display>(
        self,
        global: &Global,
        value_of: impl Fn(T) -> R,
    ) -> Result<Report, Failure>
    where
        serde_json::Value: From<R>,
    {
        let reference = self.options.reference.read()?;
        let mesh = global.mesh(&self.options.gpus)?;
        let (value, seconds) = self.reduce::<T>(&mesh)?;
        if mesh.first() > 0 {
            return Ok(Report::silent());
        }
        let value = value_of(value);
        let report = self.report(&mesh, value, seconds);
        let Some((name, data)) = reference else {
            return Ok(report);
        };
        let comparison = (self.options.reference).compare_exactly(arr0(value).view(), &data)?;
        Ok(report.comparison(&name, &comparison))
    }

    /// The value and the time. Each rank reads its own part of the files.
    fn reduce<T: Number + io::Number>(&self, mesh: &Mesh) -> Result<(T, Seconds), Failure> {
        let (options, chunk) = (self.options.launch(), self.options.chunk.chunk);
        let reduction = match self.operation {
            Operation::Dot => Reduction::Sum,
            Operation::Reduce(reduction) => reduction,
        };
        if self.len == 0 {
            // Refused where there is nothing to fold.
            plan_reduce::<T>(0, reduction, &options, mesh.devices()[0].properties())
                .map_err(|error| operand::named(self.inputs[0].path(), error))?;
        }
        let (operation, name) = (self.operation, self.name);
        let split = Split::even(self.len, mesh.ranks());
        let readers = |rank| {
            let readers = self.inputs.iter().map(|input| {
                let mut reader = input.again();
                reader.skip(split.range(rank).start);
                reader
            });
            Ok::<_, Failure>(readers.collect::<Vec<_>>())
        };
        let results = mesh.run_with(readers, |rank, mut readers| {
            rank.agree(name, &[split.len()])?;
            let part = split.range(rank.number()).len();
            if part == 0 {
                let total = rank.fold_totals(None, reduction)?;
                return Ok::<_, Failure>((total, Seconds::default()));
            }
            let mut reducer = Reducer::new(rank.device(), part, operation, &options, chunk)?;
            let bar = progress::of_rank(rank, name, part);
            let mut seconds = Seconds::default();
            while reducer.next_len() > 0 {
                bar.inc(reducer.next_len() as u64);
                reducer.push(|number, values| {
                    timed(&mut seconds.reading, || readers[number].read(values))?;
                    Ok::<_, Failure>(())
                })?;
            }
            bar.finish_and_clear();
            let (total, times) = reducer.finish()?;
            let mut links = 0.0;
            let total = timed(&mut links, || rank.fold_totals(Some(total), reduction))?;
            seconds.links = (rank.ranks() > 1).then_some(links);
            Ok((total, seconds.on_device(times)))
        })?;
        let seconds = Seconds::longest(results.iter().map(|&(_, seconds)| seconds));
        seconds.notice();
        let total: Option<Total<T>> = results.into_iter().find_map(|(total, _)| total);
        Ok((total.unwrap_or_default().round(), seconds))
    }

    /// The sum of the terms' magnitudes, from the files read a second time.
    fn magnitude<T: Precision + io::Number>(&self) -> Result<f64, Failure> {
        const PIECE: usize = 1 << 16;
        let mut readers: Vec<_> = self.inputs.iter().map(Reader::again).collect();
        let mut magnitude = 0.0;
        // One operand is multiplied by ones.
        let [mut a, mut b] = [vec![T::nearest(1.0); PIECE], vec![T::nearest(1.0); PIECE]];
        for start in (0..self.len).step_by(PIECE) {
            let len = PIECE.min(self.len - start);
            for (reader, values) in readers.iter_mut().zip([&mut a, &mut b]) {
                reader.read(&mut values[..len])?;
            }
            let products = a[..len].iter().zip(&b);
            magnitude += products
                .map(|(&a, &b)| (a.into() * b.into()).abs())
                .sum::<f64>();
        }
        Ok(magnitude)
    }

    fn report<T: Plain + Display>(&self, mesh: &Mesh, value: T, seconds: Seconds) -> Report
    where
        serde_json::Value: From<T>,
    {
        // JSON has no NaN and no infinities: the text says what the number was.
        let json = json!({ "command": self.name, "type": T::NAME, "value": serde_json::Value::from(value), "text": value.to_string(), "device": mesh::names(mesh), "seconds": seconds });
        Report::new(value.to_string(), json)
    }
}
