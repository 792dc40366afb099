//! `blockwise trace`: a page in which launches can be looked at step by step.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use blockwise::{Device, EmulatorLimits, PtxFile, Type, Watch};
use blockwise_viewer::perfetto::Trace;
use blockwise_viewer::{Detectors, Document, Ptx, Session, Source, StoredFiles, page};
use clap::{Args, ValueEnum};
use ptx_emulator::report::Sources;
use ptx_emulator::{CheckOptions, CheckReport, Emulator};
use serde_json::json;

use super::failure::Failure;
use super::family::{self, Subject};
use super::kernel_args::{Arguments as KernelArguments, Launch, Recording};
use super::report::{self, Report};
use super::{Global, names, progress};
use crate::io::OutputFile;
use crate::profile::Workload;
use crate::trace;

/// The largest whole number that a page's script keeps exactly.
const LARGEST: u64 = (1 << 53) - 1;

/// Orders of threads that the page of a check shows, at most.
const MOST_ORDERS: usize = 4;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    subject: Subject,
    /// The element type
    #[arg(long = "type", global = true, default_value = "f32", value_parser = names(&family::TYPES))]
    ty: Type,
    /// The order of the threads by a seed, instead of the emulator's own
    #[arg(long, global = true)]
    seed: Option<u64>,
    /// What to write
    #[arg(long, global = true, default_value = "html")]
    format: Format,
    /// The file; trace.html or trace.json when it is not named
    #[arg(long, short, global = true, value_name = "FILE", alias = "html")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A page that holds the emulator itself: any step, other inputs and other PTX in a browser
    Html,
    /// Trace Event JSON for Perfetto's UI: warps as threads, one step of the emulator as one
    /// microsecond
    Perfetto,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    global.emulator_only("traces", "a GPU does not say what its threads do")?;
    let name = match arguments.format {
        Format::Html => "trace.html",
        Format::Perfetto => "trace.json",
    };
    let path = arguments.output.as_deref().unwrap_or(Path::new(name));
    if arguments.format == Format::Html {
        fits_page(arguments.seed.unwrap_or(0))?;
    }
    let (mut document, place) = match &arguments.subject {
        Subject::Workload(workload) => {
            let place = OutputFile::prepare(path)?;
            (of_workload(global, arguments, workload)?, place)
        }
        Subject::File(launch) => {
            let place = launch.output(global, path)?;
            (of_file(global, launch)?, place)
        }
    };
    for launch in &mut document.launches {
        launch.seed = arguments.seed;
    }
    let names: Vec<_> = (document.launches.iter())
        .map(|launch| launch.name.clone())
        .collect();
    let title = document.title.clone();
    let (format, how, left_out) = match arguments.format {
        Format::Html => {
            write_page(document, place)?;
            ("html", "open it in a browser", 0)
        }
        Format::Perfetto => {
            let left_out = write_trace(document, place)?;
            let how = "open it in Perfetto's UI; one step is one microsecond";
            ("perfetto", how, left_out)
        }
    };
    let path = path.display();
    let text = format!("{path}: {}; {how}", names.join(", "));
    let json = json!({ "command": "trace", "output": path.to_string(), "format": format, "title": title, "launches": names, "steps_left_out": left_out });
    Ok(Report::new(text, json))
}

fn of_workload(
    global: &Global,
    arguments: &Arguments,
    workload: &Workload,
) -> Result<Document, Failure> {
    let device = Device::emulator_with(EmulatorLimits::default(), Watch::Launches);
    let device = global.with_kernels(device)?;
    let clock = progress::clock(&format!("running {workload}"));
    let variants = workload.run(&device, arguments.ty, |device| device.take_launches().pop());
    clock.finish_and_clear();
    let variants = variants?;
    let launched = variants
        .iter()
        .filter_map(|it| it.outcome.as_ref().ok()?.as_ref());
    let files = global.ptx(&device, launched.map(|given| given.kernel.as_str()))?;
    let mut document = new(format!("{workload}, {}", arguments.ty), &files.all);
    for variant in variants {
        match variant.outcome {
            Ok(Some(given)) => {
                let ptx = files.place_of(&given.kernel);
                trace::add(&mut document, variant.name, ptx, &given, arguments.ty);
            }
            Ok(None) => {}
            Err(error) => report::notice(&format!("without `{}`: {error}", variant.name)),
        }
    }
    if document.launches.is_empty() {
        return Err(Failure::new(format!(
            "{workload} launches no kernel: there is nothing to show"
        ))
        .hint("give each size at least 1, and --kernel one that takes them"));
    }
    Ok(document)
}

/// The document of a launch of anybody's PTX.
pub(super) fn of_file(global: &Global, launch: &Launch) -> Result<Document, Failure> {
    let (ptx, module) = launch.read(global)?;
    let kernel = launch.kernel(&ptx.origin, &module, "blockwise trace ptx")?;
    let emulator = Emulator::new(ptx_emulator::Limits::default());
    let mut loaded = emulator.load(&module)?;
    // Files are read here; the page carries what was read.
    let files = Recording::default();
    KernelArguments::bind_with(kernel, &launch.args, (&emulator, &mut loaded), &files)?;
    let file = Path::new(&ptx.origin).file_name();
    let file = file.map_or(ptx.origin.as_str().into(), |name| name.to_string_lossy());
    let title = format!("{} of {file}", kernel.name());
    let mut document = new(title, std::slice::from_ref(&ptx));
    document.files = files.take();
    let config = launch.config()?;
    document.launches.push(blockwise_viewer::Launch {
        name: kernel.name().to_owned(),
        ptx: 0,
        kernel: kernel.name().to_owned(),
        grid: config.grid,
        block: config.block,
        shared_bytes: config.dynamic_shared_bytes,
        arguments: launch.args.clone(),
        seed: None,
        steps: launch.steps.min(LARGEST),
        detectors: Detectors::default(),
    });
    Ok(document)
}

/// The document of a check: the launch with the same detectors, in the emulator's own order of
/// threads and in those of its findings.
pub(super) fn of_findings(
    global: &Global,
    launch: &Launch,
    options: &CheckOptions,
    check: &CheckReport,
) -> Result<Document, Failure> {
    let mut document = of_file(global, launch)?;
    let Some(own) = document.launches.pop() else {
        return Ok(document);
    };
    let mut orders: Vec<Option<u64>> = vec![None];
    for finding in &check.findings {
        if !orders.contains(&finding.seed) {
            orders.push(finding.seed);
        }
    }
    if orders.len() > MOST_ORDERS {
        let others = orders.len() - MOST_ORDERS;
        report::notice(&format!(
            "the page is without the findings of {others} orders of threads; --seed begins with another one"
        ));
    }
    orders.truncate(MOST_ORDERS);
    document.launches = orders
        .into_iter()
        .map(|seed| blockwise_viewer::Launch {
            name: match seed {
                None => own.name.clone(),
                Some(seed) => format!("{}, seed {seed}", own.name),
            },
            seed,
            detectors: Detectors::of(options),
            ..own.clone()
        })
        .collect();
    Ok(document)
}

/// Whether a page keeps a seed.
pub(super) fn fits_page(seed: u64) -> Result<(), Failure> {
    match seed {
        0..=LARGEST => Ok(()),
        _ => Err(Failure::new(format!("a page cannot keep the seed {seed}"))
            .hint(format!("take one of {LARGEST} at most"))),
    }
}

fn new(title: String, files: &[PtxFile]) -> Document {
    let ptx = files.iter().map(|file| Ptx {
        origin: file.origin.clone(),
        text: file.text.clone(),
    });
    Document {
        title,
        ptx: ptx.collect(),
        ..Document::default()
    }
}

/// Writes the page, with the sources that the launches come from. They run once here, so that what
/// is refused is an error.
pub(super) fn write_page(mut document: Document, place: OutputFile) -> Result<(), Failure> {
    document.leave_out_other_kernels();
    let all = Sources::new();
    let mut sources: Vec<Source> = Vec::new();
    each(&document, |launch, session| {
        let ptx = &document.ptx[launch.ptx];
        let all = all.clone().with_ptx(ptx.origin.as_ref(), &ptx.text);
        for file in session.files() {
            let is_new = sources.iter().all(|source| source.file != file);
            if let Some(text) = all.text(file).filter(|_| is_new) {
                let file = file.to_owned();
                sources.push(Source { file, text });
            }
        }
    })?;
    document.sources = sources;
    place.write(page::html(&document).as_bytes())?;
    Ok(())
}

/// Writes the launches in the Trace Event format; how many steps are left out.
fn write_trace(document: Document, place: OutputFile) -> Result<u64, Failure> {
    let mut trace = Trace::default();
    each(&document, |launch, mut session| {
        trace.add(&launch.name, &mut session)
    })?;
    if trace.left_out() > 0 {
        report::notice(&format!(
            "{} steps are left out: a smaller launch fits in",
            trace.left_out()
        ));
    }
    let left_out = trace.left_out();
    place.write(trace.finish(&document.title).as_bytes())?;
    Ok(left_out)
}

/// Runs the launches, one after the other.
fn each(
    document: &Document,
    mut visit: impl FnMut(&blockwise_viewer::Launch, Session),
) -> Result<(), Failure> {
    let files = StoredFiles(document.files.clone());
    for launch in &document.launches {
        let what = format!("running {}", launch.name);
        let clock = progress::clock(&what);
        // A loop is reported once, however often the launch runs.
        let listener = Arc::new(Mutex::new(progress::Listener::of(&what, &clock)));
        let watch = |emulator: &Emulator| {
            let listener = Arc::clone(&listener);
            emulator.set_progress(move |progress| {
                if let Ok(mut listener) = listener.lock() {
                    listener.hear(progress);
                }
            });
        };
        let ptx = &document.ptx[launch.ptx].text;
        visit(launch, Session::open_watched(launch, ptx, &files, &watch)?);
        clock.finish_and_clear();
    }
    Ok(())
}
