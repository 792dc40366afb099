//! Runs an operation whose outputs come from windows of a signal, on signals of any length.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use blockwise::Type;
use blockwise_mesh::{Funnel, Mesh, Split};
use blockwise_ops::LaunchError;
use blockwise_ops::operation::{Given, Operation, Options, Setting, Windows};
use serde_json::json;

use super::rows;
use super::windows_check::Check;
use super::windows_part;
use super::windows_task::Task;
use crate::cli::Global;
use crate::cli::chosen::Chosen;
use crate::cli::failure::Failure;
use crate::cli::mesh;
use crate::cli::operand;
use crate::cli::operation::Arguments;
use crate::cli::recording::{self, Frames, Operands, Place, Sample, Taps, Writer};
use crate::cli::report::{self, Report};
use crate::cli::seconds::{Seconds, timed};
use crate::io::Sound;

pub(super) fn run(
    global: &Global,
    arguments: &Arguments,
    windows: &'static Windows,
) -> Result<Report, Failure> {
    let [signal, taps] = &arguments.inputs[..] else {
        return Err(missing(arguments.of));
    };
    let readers = [operand::open(signal)?, operand::open(taps)?];
    if rows::are_in(&readers) {
        if let Some((matrix, sound)) = rows::beside_sound(&readers) {
            let shape = operand::extents(matrix).0;
            return Err(Failure::new(format!(
                "{} has shape {shape:?}, and beside the recording {} a vector or a recording is wanted",
                matrix.path().display(),
                sound.path().display()
            ))
            .hint("filters of one channel each are a .wav with these channels, at the same sample rate"));
        }
        return rows::run(global, arguments, readers.into());
    }
    let [signal_shape, taps_shape] = readers.each_ref().map(|reader| operand::extents(reader).0);
    let beside = |path, shape: &[usize]| {
        let other = operand::beside(path, shape);
        move |wrong: Failure| wrong.more(&other)
    };
    let (after_signal, after_taps) = (beside(taps, &taps_shape), beside(signal, &signal_shape));
    let [signal, taps] = readers;
    let signal = Frames::signal(signal).map_err(after_signal)?;
    let taps = Frames::signal(taps).map_err(after_taps)?;
    let ty = (arguments.of.types)(&[signal.ty(), taps.ty()], &arguments.given);
    match ty {
        Type::F32 => of_type::<f32>(global, arguments, windows, (signal, taps)),
        _ => of_type::<f64>(global, arguments, windows, (signal, taps)),
    }
}

fn missing(of: &Operation) -> Failure {
    Failure::from(LaunchError::NotDivided { operation: of.name })
}

fn of_type<T: Sample>(
    global: &Global,
    arguments: &Arguments,
    windows: &'static Windows,
    (signal, taps): (Frames, Frames),
) -> Result<Report, Failure> {
    let of = arguments.of;
    let taps = Taps::<T>::read(taps, &signal)?;
    let operands = Operands::new(signal, taps)?;
    let gpus = arguments.gpus.as_ref().ok_or_else(|| missing(of))?;
    let mesh = global.mesh(gpus)?;
    let lengths = [operands.long_len(), operands.short(0).len()];
    let shapes = lengths.each_ref().map(std::slice::from_ref);
    let task = Task {
        of,
        windows,
        arguments,
        options: Options {
            kernel: arguments.kernel,
            ..Options::default()
        },
        whole: (of.pose)(T::TYPE, &shapes, &arguments.given)?.problem,
    };
    let properties = mesh.devices()[0].properties();
    let mut chosen = Chosen::of(of, &task.whole, &task.options, properties)?;
    if mesh.ranks() > 1 || task.chunk() / operands.channels() < lengths[0] {
        chosen = chosen.for_parts(of, &task.whole, &task.options, properties)?;
    }
    if mesh.first() == 0
        && let Some(largest) = operands.largest_integer_sum()?
    {
        operand::notice_of_integers(largest);
    }
    // Rank 0 writes; the other ranks send it their outputs.
    let sink = match mesh.first() {
        0 => Some(Sink::prepare(&task, &operands, &chosen)?),
        _ => None,
    };
    let sink = Mutex::new(sink);
    let take = |samples: &[T]| {
        let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
        sink.as_mut().map_or(Ok(()), |sink| sink.take(samples))
    };
    let outputs = Split::even(task.outputs(), mesh.ranks());
    let said = said(of, &arguments.given);
    let seconds = mesh.run_with(
        |_| Ok(operands.again()),
        |rank, operands| {
            let lengths = [
                operands.long_len(),
                operands.short(0).len(),
                operands.channels(),
            ];
            rank.agree(&said, &lengths)?;
            let part = outputs.range(rank.number());
            let pieces = Funnel::begin(rank);
            if rank.number() > 0 {
                let send = |samples: &[T]| Ok(pieces.send(rank, samples)?);
                let seconds = windows_part::compute(rank, &task, operands, part, send)?;
                pieces.end(rank)?;
                // Their outputs go to rank 0.
                return Ok(Seconds {
                    links: seconds.writing,
                    writing: None,
                    ..seconds
                });
            }
            let mut seconds = windows_part::compute(rank, &task, operands, part, take)?;
            let (mut links, mut writing) = (0.0, seconds.writing.unwrap_or_default());
            for from in 1..rank.ranks() {
                while let Some(piece) = timed(&mut links, || pieces.receive(rank, from))? {
                    timed(&mut writing, || take(&piece.elements()))?;
                }
                (seconds.links, seconds.writing) = (Some(links), Some(writing));
            }
            Ok::<_, Failure>(seconds)
        },
    )?;
    let seconds = Seconds::longest(seconds);
    seconds.notice();
    match sink.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(sink) => {
            if let Some(line) = chosen.line(mesh.devices()[0].properties().kind) {
                report::notice(&line);
            }
            let report = sink.finish(of, &mesh, arguments.output()?, seconds)?;
            mesh.finish()?;
            Ok(report.with("choice", chosen.json()))
        }
        None => {
            mesh.finish()?;
            Ok(Report::silent())
        }
    }
}

/// The operation as it was asked for, on which all ranks must agree.
fn said(of: &Operation, given: &Given) -> String {
    let mut said = of.name.to_owned();
    for (setting, &value) in of.settings.iter().zip(&given.settings) {
        if let Setting::Mode { name, values, .. } = *setting
            && let Some(value) = values.get(usize::from(value))
        {
            said += &format!(" --{name} {value}");
        }
    }
    said
}

/// The destination of the outputs.
struct Sink<'a, T: Sample> {
    writer: Writer,
    check: Option<Check<'a, T>>,
    shape: Vec<usize>,
    /// The format of the recording, if it is one.
    recording: Option<Sound>,
}

impl<'a, T: Sample> Sink<'a, T> {
    fn prepare(task: &Task<'a>, operands: &Operands<T>, chosen: &Chosen) -> Result<Self, Failure> {
        let outputs = task.outputs();
        let check = Check::prepare(task, operands, chosen.choice.variant)?;
        let place = Place::prepare(task.arguments.output()?, operands.sound())?;
        let shape = recording::shape(outputs, operands.channels());
        let metadata = operands.metadata(outputs)?;
        Ok(Self {
            check,
            recording: place.recording(),
            writer: place.create::<T>(&shape, metadata)?,
            shape,
        })
    }

    /// Writes the next samples, and compares them.
    fn take(&mut self, samples: &[T]) -> Result<(), Failure> {
        self.writer.write(samples)?;
        match &mut self.check {
            Some(check) => check.add(samples),
            None => Ok(()),
        }
    }

    /// Finishes the output file.
    fn finish(
        self,
        of: &Operation,
        mesh: &Mesh,
        output: &Path,
        seconds: Seconds,
    ) -> Result<Report, Failure> {
        let finished = self.writer.finish()?;
        let report = match self.recording {
            Some(sound) => recording::recorded(of.name, mesh, output, &self.shape, sound, finished),
            None => super::made(of.name, output, &mesh::names(mesh), &self.shape, T::NAME),
        };
        let report = report.with("seconds", json!(seconds));
        Ok(match self.check {
            Some(check) => check.report(report),
            None => report,
        })
    }
}
