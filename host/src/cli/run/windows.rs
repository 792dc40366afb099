//! Runs an operation whose outputs come from windows of a signal, on signals of any length.

use std::sync::{Mutex, PoisonError};

use blockwise::Type;
use blockwise_mesh::{Funnel, Split};
use blockwise_ops::LaunchError;
use blockwise_ops::operation::{Options, Windows};

use super::windows_part;
use super::windows_sink::Sink;
use super::windows_task::Task;
use crate::cli::Global;
use crate::cli::chosen::Chosen;
use crate::cli::failure::Failure;
use crate::cli::operand;
use crate::cli::operation::Arguments;
use crate::cli::recording::{Frames, Operands, Sample, Taps};
use crate::cli::report::{self, Report};
use crate::cli::seconds::{Seconds, timed};
use crate::io::Reader;

pub(super) fn run(
    global: &Global,
    arguments: &Arguments,
    windows: &'static Windows,
    readers: Vec<Reader>,
) -> Result<Report, Failure> {
    let both = <[Reader; 2]>::try_from(readers);
    let operation = arguments.of.name;
    let [signal, taps] = both.map_err(|_| LaunchError::NotDivided { operation })?;
    let beside = |reader: &Reader| {
        let other = operand::beside(reader.path(), &operand::extents(reader).0);
        move |wrong: Failure| wrong.more(&other)
    };
    let (after_signal, after_taps) = (beside(&taps), beside(&signal));
    let signal = Frames::signal(signal).map_err(after_signal)?;
    let taps = Frames::signal(taps).map_err(after_taps)?;
    let ty = (arguments.of.types)(&[signal.ty(), taps.ty()], &arguments.given);
    match ty {
        Type::F32 => of_type::<f32>(global, arguments, windows, (signal, taps)),
        _ => of_type::<f64>(global, arguments, windows, (signal, taps)),
    }
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
    let mesh = global.mesh(arguments.gpus.as_ref(), of.name)?;
    let lengths = [
        operands.long_len(),
        operands.short(0).len(),
        operands.channels(),
    ];
    let shapes = [&lengths[..1], &lengths[1..2]];
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
    if mesh.ranks() > 1 || arguments.chunk() / operands.channels() < lengths[0] {
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
    let said = task.said();
    let seconds = mesh.run_with(
        |_| Ok(operands.again()),
        |rank, operands| {
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
    let report = match sink.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(sink) => {
            if let Some(line) = chosen.line(properties.kind) {
                report::notice(&line);
            }
            let report = sink.finish(of, &mesh, arguments.output()?, seconds)?;
            report.with("choice", chosen.json())
        }
        None => Report::silent(),
    };
    mesh.finish()?;
    Ok(report)
}
