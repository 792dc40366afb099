//! `blockwise trace`: a page in which launches can be looked at step by step.

use std::path::PathBuf;

use blockwise::{Device, EmulatorLimits, PtxFile, Watch};
use blockwise_viewer::{Document, Ptx, Session, StoredFiles, page};
use clap::Args;
use ptx_emulator::Emulator;
use ptx_emulator::report::Sources;

use super::failure::Failure;
use super::family::{Family, Subject};
use super::kernel_args::{Arguments as KernelArguments, Launch, Recording};
use super::report::{self, Report};
use super::{Global, names, progress};
use crate::io::OutputFile;
use crate::profile::{ElementType, Workload};
use crate::trace;

/// Orders of threads that the page of a check shows, at most.
const MOST_ORDERS: usize = 4;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    family: Family,
    /// The element type
    #[arg(long = "type", global = true, default_value = "f32", value_parser = names(ElementType::ALL))]
    ty: ElementType,
    /// The order of the threads by a seed, instead of the emulator's own
    #[arg(long, global = true)]
    seed: Option<u64>,
    /// The page
    #[arg(
        long,
        short,
        global = true,
        value_name = "FILE",
        default_value = "trace.html"
    )]
    output: PathBuf,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    global.emulator_only("traces", "a GPU does not say what its threads do")?;
    let place = OutputFile::prepare(&arguments.output)?;
    let mut document = match arguments.family.subject() {
        Subject::Workload(workload) => of_workload(global, arguments, &workload)?,
        Subject::File(launch) => of_file(global, &launch)?,
    };
    for launch in &mut document.launches {
        launch.seed = arguments.seed;
    }
    write(&mut document, place)?;
    let names: Vec<_> = document
        .launches
        .iter()
        .map(|launch| launch.name.as_str())
        .collect();
    let (path, names) = (arguments.output.display(), names.join(", "));
    Ok(Report::document(format!(
        "{path}: {names}; open it in a browser"
    )))
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
    let ptx = global.ptx(&device)?;
    let mut document = new(&format!("{workload}, {}", arguments.ty), &ptx);
    for variant in variants? {
        match variant.outcome {
            Ok(Some(given)) => trace::add(&mut document, variant.name, &given, arguments.ty),
            Ok(None) => {}
            Err(error) => report::notice(&format!("without `{}`: {error}", variant.name)),
        }
    }
    if document.launches.is_empty() {
        return Err(Failure::new(
            "no kernel can do that: there is nothing to show",
        ));
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
    let mut document = new(&format!("{} of {}", kernel.name(), ptx.origin), &ptx);
    document.files = files.take();
    let config = launch.config();
    document.launches.push(blockwise_viewer::Launch {
        name: kernel.name().to_owned(),
        ptx: 0,
        kernel: kernel.name().to_owned(),
        grid: config.grid,
        block: config.block,
        shared_bytes: config.dynamic_shared_bytes,
        arguments: launch.args.clone(),
        seed: None,
        steps: launch.steps,
    });
    Ok(document)
}

/// The same, once for each order of threads, and for the emulator's own when there is none.
pub(super) fn of_findings(
    global: &Global,
    launch: &Launch,
    seeds: &[Option<u64>],
) -> Result<Document, Failure> {
    let mut document = of_file(global, launch)?;
    let Some(own) = document.launches.pop() else {
        return Ok(document);
    };
    let mut orders: Vec<Option<u64>> = vec![None];
    for &seed in seeds {
        if !orders.contains(&seed) && orders.len() < MOST_ORDERS {
            orders.push(seed);
        }
    }
    document.launches = orders
        .into_iter()
        .map(|seed| blockwise_viewer::Launch {
            name: match seed {
                None => own.name.clone(),
                Some(seed) => format!("{}, seed {seed}", own.name),
            },
            seed,
            ..own.clone()
        })
        .collect();
    Ok(document)
}

fn new(title: &str, ptx: &PtxFile) -> Document {
    Document {
        title: title.to_owned(),
        ptx: vec![Ptx {
            origin: ptx.origin.clone(),
            text: ptx.text.clone(),
        }],
        ..Document::default()
    }
}

/// Runs the launches once, so that what is refused is an error here, adds the sources that they come from, and writes the page.
pub(super) fn write(document: &mut Document, place: OutputFile) -> Result<(), Failure> {
    document.leave_out_other_kernels();
    let files = StoredFiles(document.files.clone());
    let clock = progress::clock("running the launches");
    let sources = Sources::new();
    for launch in &document.launches {
        let ptx = &document.ptx[launch.ptx];
        let sources = sources.clone().with_ptx(ptx.origin.as_ref(), &ptx.text);
        let session = Session::open(launch, &ptx.text, &files)?;
        for file in session.files() {
            let is_new = document.sources.iter().all(|source| source.file != file);
            if let Some(text) = sources.text(file).filter(|_| is_new) {
                let file = file.to_owned();
                document
                    .sources
                    .push(blockwise_viewer::Source { file, text });
            }
        }
    }
    clock.finish_and_clear();
    place.write(page::html(document).as_bytes())?;
    Ok(())
}
