//! Operations whose result is one number, or an array along an axis.

use std::path::Path;

use blockwise::{Device, DeviceProperties, Type};
use blockwise_mesh::{Mesh, Split};
use blockwise_ops::compare::ToNumber;
use blockwise_ops::operation::{self, Axis, Fold, Reduction};
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::pipeline::{AxisReducer, Piece, Reducer};
use blockwise_ops::reduce::Total;
use blockwise_ops::{AnyArray, Number};
use ndarray::ArrayView1;
use serde_json::{Value, json};

use super::expectation::{Expectation, exactly};
use super::task::Task;
use crate::cli::failure::Failure;
use crate::cli::operand::{self, ArrayOutput};
use crate::cli::operation::Arguments;
use crate::cli::report::{self, Report};
use crate::cli::seconds::{Seconds, timed};
use crate::cli::{Global, mesh, progress};
use crate::io::Reader;

/// What is folded, of the files.
struct Job<'a> {
    task: Task,
    fold: &'static Fold,
    arguments: &'a Arguments,
}

pub(super) fn run(
    global: &Global,
    arguments: &Arguments,
    fold: &'static Fold,
    task: Task,
) -> Result<Report, Failure> {
    let job = Job {
        task,
        fold,
        arguments,
    };
    match job.task.posed.problem.ty {
        Type::F32 => job.run::<f32>(global),
        Type::F64 => job.run::<f64>(global),
        Type::U64 => job.run::<u64>(global),
        _ => job.run::<i64>(global),
    }
}

impl Job<'_> {
    fn run<T: Number + ToNumber + Into<Value>>(&self, global: &Global) -> Result<Report, Failure> {
        let reference = Expectation::open(&self.arguments.reference, &self.task.posed)?;
        match &self.arguments.output {
            Some(output) => self.along::<T>(global, output, reference),
            None if self.fold.is_index => self.index::<T>(global, reference),
            None => self.whole::<T>(global, reference),
        }
    }

    /// All elements, to a number.
    fn whole<T: Number + ToNumber + Into<Value>>(
        &self,
        global: &Global,
        reference: Option<Expectation<'_>>,
    ) -> Result<Report, Failure> {
        let mesh = global.mesh(self.arguments.gpus.as_ref(), self.task.of.name)?;
        let (value, seconds) = self.reduce::<T>(&mesh)?;
        if mesh.first() > 0 {
            return Ok(Report::silent());
        }
        let report = self.number(value, mesh::names(&mesh), seconds);
        let properties = mesh.devices()[0].properties();
        let magnitude = || Ok::<_, Failure>(vec![self.magnitude::<T>()?]);
        let value = self.array(&[], &[value])?;
        self.compared(report, reference, &value, properties, magnitude)
    }

    /// What is said of a number.
    fn number(
        &self,
        value: impl ToString + Into<Value>,
        device: String,
        seconds: Seconds,
    ) -> Report {
        let text = value.to_string();
        // JSON has no NaN and no infinities: the text says what the number was.
        let json = json!({ "command": self.task.of.name, "type": self.kept().name(), "value": value.into(), "text": text, "device": device, "seconds": seconds });
        Report::new(text, json)
    }

    /// The index of an extreme of all elements, in row-major order.
    fn index<T: Number>(
        &self,
        global: &Global,
        reference: Option<Expectation<'_>>,
    ) -> Result<Report, Failure> {
        let device = global.open_alone(self.task.of.name)?;
        let line = Axis {
            outer: 1,
            extent: self.task.posed.problem.extents[0],
            inner: 1,
        };
        let mut index = 0_i64;
        let emit = |bytes: &[u8]| {
            index = bytemuck::pod_read_unaligned(bytes);
            Ok(())
        };
        let seconds = self.lines::<T>(&device, line, emit, |_, _| {})?;
        let properties = device.properties();
        let report = self.number(index, properties.name.clone(), seconds);
        let index = AnyArray::of(ndarray::arr0(index).into_dyn().view())?;
        self.compared(report, reference, &index, properties, || Ok(Vec::new()))
    }

    /// Reduces each line of the file, piece by piece: `seen` gets each piece's elements, and `emit`
    /// the bytes of results.
    fn lines<T: Number>(
        &self,
        device: &Device,
        axis: Axis,
        mut emit: impl FnMut(&[u8]) -> Result<(), Failure>,
        mut seen: impl FnMut(&Piece, &[T]),
    ) -> Result<Seconds, Failure> {
        let mut seconds = Seconds::default();
        let chunk = self.arguments.chunk();
        let mut reducer = AxisReducer::<T>::new(device, self.task.of, axis, chunk)?;
        let bar = progress::bar(self.task.of.name, self.task.posed.problem.product());
        while let Some(piece) = reducer.next_piece() {
            let fill = |values: &mut [T]| {
                let bytes = bytemuck::cast_slice_mut(values);
                let place = [piece.rows.clone(), piece.cols.clone()];
                let read = || self.task.inputs.read_block(0, axis.inner, place, bytes);
                timed(&mut seconds.reading, read)?;
                seen(&piece, values);
                Ok(())
            };
            reducer.push(fill, &mut emit)?;
            bar.inc(piece.elements() as u64);
        }
        Ok(seconds.on_device(reducer.finish(&mut emit)?))
    }

    /// The value and the time. Each rank reads its own part of the files.
    fn reduce<T: Number>(&self, mesh: &Mesh) -> Result<(T, Seconds), Failure> {
        let (of, fold, problem) = (self.task.of, self.fold, &self.task.posed.problem);
        let (len, ty) = (problem.extents[0], problem.ty);
        let split = Split::even(len, mesh.ranks());
        let readers = |rank| {
            let readers = self.task.inputs.readers.iter().map(|input| {
                let mut reader = input.again();
                reader.skip(split.range(rank).start);
                reader
            });
            Ok::<_, Failure>(readers.collect::<Vec<_>>())
        };
        let results = mesh.run_with(readers, |rank, mut readers| {
            rank.agree(of.name, &[split.len()])?;
            let part = split.range(rank.number()).len();
            if part == 0 {
                let total = rank.fold_totals(None, fold.by)?;
                return Ok::<_, Failure>((total, Seconds::default()));
            }
            let chunk = self.arguments.chunk();
            let mut reducer = Reducer::new(rank.device(), part, of, &self.task.options, chunk)?;
            let bar = progress::of_rank(rank, of.name, part);
            let mut seconds = Seconds::default();
            while reducer.next_len() > 0 {
                bar.inc(reducer.next_len() as u64);
                reducer.push(|number, values| {
                    let bytes = bytemuck::cast_slice_mut(values);
                    timed(&mut seconds.reading, || readers[number].read_as(ty, bytes))?;
                    Ok::<_, Failure>(())
                })?;
            }
            bar.finish_and_clear();
            let (total, times) = reducer.finish()?;
            let mut links = 0.0;
            let total = timed(&mut links, || rank.fold_totals(Some(total), fold.by))?;
            seconds.links = (rank.ranks() > 1).then_some(links);
            Ok((total, seconds.on_device(times)))
        })?;
        let seconds = Seconds::longest(results.iter().map(|&(_, seconds)| seconds));
        seconds.notice();
        let total: Option<Total<T>> = results.into_iter().find_map(|(total, _)| total);
        let total = total.unwrap_or_default();
        Ok((total.result(&self.task.posed.problem), seconds))
    }

    /// The sum of the terms' magnitudes, from the files read a second time.
    fn magnitude<T: Number + ToNumber>(&self) -> Result<f64, Failure> {
        const PIECE: usize = 1 << 16;
        let mut readers: Vec<_> = self.task.inputs.readers.iter().map(Reader::again).collect();
        let (len, ty) = (
            self.task.posed.problem.extents[0],
            self.task.posed.problem.ty,
        );
        let mut magnitude = 0.0;
        let mut values = vec![T::default(); PIECE.min(len)];
        for start in (0..len).step_by(PIECE) {
            let len = PIECE.min(len - start);
            let mut terms = vec![1.0; len];
            for reader in &mut readers {
                let values = &mut values[..len];
                reader.read_as(ty, bytemuck::cast_slice_mut(values))?;
                let factors = terms.iter_mut().zip(values);
                factors.for_each(|(term, value)| *term *= value.to_number());
            }
            magnitude += terms.iter().map(|term: &f64| term.abs()).sum::<f64>();
        }
        Ok(magnitude)
    }

    /// Compares results with the reference, if there is one: exactly, or each within its own
    /// rounding, what our kernels promise, and what a pairwise or blocked sum of the reference may
    /// be off.
    fn compared(
        &self,
        report: Report,
        reference: Option<Expectation<'_>>,
        result: &AnyArray,
        device: &DeviceProperties,
        magnitudes: impl FnOnce() -> Result<Vec<f64>, Failure>,
    ) -> Result<Report, Failure> {
        let Some(mut reference) = reference else {
            return Ok(report);
        };
        let (problem, options) = (&self.task.posed.problem, &self.task.options);
        let error = (self.fold.error)(&operation::Task::new(
            operation::choose(self.task.of, problem, options, device)?.variant,
            problem,
            options,
            device,
        ));
        // Not needed where a bound was asked for.
        let magnitudes = match error {
            Some(_) if reference.of.allowed().is_none() => magnitudes()?,
            _ => Vec::new(),
        };
        let (terms, ty) = (problem.extents[0], problem.ty);
        let compared = reference.within(result, |stored, values| {
            let Some(error) = error else {
                return exactly();
            };
            // A mean is divided, here and in the reference.
            let (more, by) = match self.fold.is_mean {
                true => (2, terms.max(1) as f64),
                false => (1, 1.0),
            };
            let roundings = (self.fold.path)(terms) + more;
            // Half floats are stored, and added as f32 at least.
            let (added, precision) = match stored {
                Type::F16 | Type::F32 => (f32::UNIT_ROUNDOFF, "f32"),
                _ => (f64::UNIT_ROUNDOFF, "f64"),
            };
            let (ours, smallest) = match ty {
                Type::F32 => (f32::UNIT_ROUNDOFF, f32::SMALLEST),
                _ => (f64::UNIT_ROUNDOFF, f64::SMALLEST),
            };
            let both = operand::unit_roundoff(stored) + ours;
            let sums = error + oracle::gamma(roundings, added);
            let tolerance = magnitudes.iter().enumerate().map(|(at, magnitude)| {
                // A magnitude beyond the range bounds nothing, but a tolerance is finite.
                both * values.number(at).to_f64().abs() + sums * magnitude.min(f64::MAX) / by + smallest
            });
            let bound = format!(
                "one rounding of the result; {roundings} roundings of {precision} in the reference, the longest path of a pairwise or blocked sum of {terms} terms (--rtol and --atol for other references, as sums that are added one by one)"
            );
            (Some(tolerance.collect()), bound)
        })?;
        Ok(report.comparison(&reference.name, &compared))
    }

    /// The results' type: an extreme is one of the file's numbers; a sum may be larger than all of
    /// them.
    fn kept(&self) -> Type {
        match self.fold.by {
            _ if self.fold.is_index => Type::I64,
            Reduction::Sum => self.task.posed.problem.ty,
            Reduction::Min | Reduction::Max => self.task.inputs.types[0],
        }
    }

    /// Results as an array of their type.
    fn array<T: Number>(&self, shape: &[usize], values: &[T]) -> Result<AnyArray, Failure> {
        let values = AnyArray::of(ArrayView1::from(values).into_dyn())?;
        let array = values.converted(self.kept())?;
        let array = array.and_then(|array| array.reshaped(shape));
        array.ok_or_else(|| Failure::new("the results have another shape or type"))
    }

    /// Along an axis, to a file.
    fn along<T: Number + ToNumber>(
        &self,
        global: &Global,
        output: &Path,
        reference: Option<Expectation<'_>>,
    ) -> Result<Report, Failure> {
        let name = self.task.of.name;
        let place = ArrayOutput::prepare(output)?;
        let device = global.open_alone(&format!("{name} --axis"))?;
        let (problem, shape) = (&self.task.posed.problem, &self.task.posed.result);
        // Refused before the output's place on the disk is taken.
        operation::plan(
            self.task.of,
            problem,
            &self.task.options,
            device.properties(),
        )?;
        let stored = self.kept();
        let mut writer = place.create(shape, stored)?;
        let [extent, outer, inner, _] = problem.extents;
        let axis = Axis {
            outer,
            extent,
            inner,
        };
        // For a comparison, all results, and the sum of the magnitudes of each one's terms.
        let mut results = Vec::new();
        let mut magnitudes = match &reference {
            Some(_) => vec![0.0; outer * inner],
            None => Vec::new(),
        };
        let mut writing = 0.0;
        let emit = |bytes: &[u8]| {
            let gives = (self.task.of.gives)(problem.ty);
            let mut values = AnyArray::zeros(gives, &[bytes.len() / gives.bytes()])?;
            values.bytes_mut().copy_from_slice(bytes);
            let values = values.converted(stored)?;
            let values = values.ok_or_else(|| Failure::new("the results have another type"))?;
            if reference.is_some() {
                results.extend_from_slice(values.bytes());
            }
            timed(&mut writing, || Ok(writer.write_bytes(values.bytes())?))
        };
        let seconds = self.lines(&device, axis, emit, |piece, values| {
            add_magnitudes::<T>(axis, piece, values, &mut magnitudes);
        })?;
        let properties = device.properties();
        let report = report::made(name, output, &properties.name, shape, stored.name());
        let report = match reference {
            None => report,
            Some(_) => {
                let mut all = AnyArray::zeros(stored, shape)?;
                all.bytes_mut().copy_from_slice(&results);
                let magnitudes = || Ok(magnitudes);
                self.compared(report, reference, &all, properties, magnitudes)?
            }
        };
        timed(&mut writing, || writer.finish())?;
        let seconds = Seconds {
            writing: Some(writing),
            ..seconds
        };
        Ok(report.with("seconds", json!(seconds)))
    }
}

fn add_magnitudes<T: ToNumber>(axis: Axis, piece: &Piece, values: &[T], sums: &mut [f64]) {
    if sums.is_empty() {
        return;
    }
    let rows = piece.rows.clone().zip(values.chunks(piece.cols.len()));
    for (row, values) in rows {
        let first = row / axis.extent * axis.inner + piece.cols.start;
        for (sum, value) in sums[first..].iter_mut().zip(values) {
            *sum += value.to_number().abs();
        }
    }
}
