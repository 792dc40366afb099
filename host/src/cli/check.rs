//! `blockwise check`.

use std::io::stdout;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ptx_emulator::report::{self, Sources, Style};
use ptx_emulator::{CheckOptions, CheckReport, Emulator, Entry, LaunchConfig, Limits, Severity};

use super::Global;
use super::failure::Failure;
use super::kernel_args::{self, Arguments as KernelArguments};
use super::report::Report;
use crate::device::{DeviceChoice, PtxFile};
use crate::io::OutputFile;

/// Instructions of a launch after which a loop is taken for endless: seconds.
const STEPS: u64 = 100_000_000;

const AFTER_HELP: &str = "\
Arguments, one --arg for each parameter in order:
  u32:7, f32:1.5, i64:-3   a number (u8 to u64, i8 to i64, f32, f64)
  f32[1024]                the address of memory that nobody wrote, for an output
  f32[1024]=random:1       the address of random numbers; =zeros, =iota (0, 1, 2, ...) or =x.npy
  slice:f32[1024]=iota     two parameters, address and length: a Rust slice; slice:f32[]=x.npy takes the file's length
  'f32[64] -> out.npy'     any buffer, saved after the launch
  bytes:00ff               the bytes of a struct that is passed by value

Exit codes: 0 nothing was found, 1 something was, 2 the check could not be made.";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Arguments {
    /// The PTX file, from any compiler
    #[arg(value_name = "PTX")]
    file: PathBuf,
    /// The kernel; may be left out when the file has one only
    #[arg(long)]
    kernel: Option<String>,
    /// Blocks of the grid
    #[arg(long, value_name = "X[,Y,Z]", default_value = "1", value_parser = extents)]
    grid: [u32; 3],
    /// Threads of a block
    #[arg(long, value_name = "X[,Y,Z]", default_value = "32", value_parser = extents)]
    block: [u32; 3],
    /// Bytes of the dynamic shared array
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// An argument: see below
    #[arg(long = "arg", value_name = "ARGUMENT", allow_hyphen_values = true)]
    args: Vec<String>,
    /// What to look for; bad accesses (mem) and bad barriers (sync) are always looked for
    #[arg(long, value_delimiter = ',', default_value = "race,init,mem,sync")]
    tool: Vec<Tool>,
    /// Run so many other orders of the threads too
    #[arg(long, value_name = "N", default_value_t = 0)]
    schedules: u32,
    /// The first order's seed; the others count up from it
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Different findings to keep, at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    max_findings: usize,
    /// Instructions of the launch, at most, each counted for the threads of a warp together
    #[arg(long, value_name = "N", default_value_t = STEPS)]
    steps: u64,
    /// The form of the report; --json is --format json
    #[arg(long, default_value = "text")]
    format: Format,
    /// Write the report to this file, and only its summary to standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The least severity that makes exit code 1
    #[arg(long, default_value = "warning")]
    error_on: Least,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Tool {
    /// Races on shared and global memory
    #[value(alias = "racecheck")]
    Race,
    /// Uses of values that nobody wrote
    #[value(alias = "initcheck")]
    Init,
    /// Accesses outside of memory, or misaligned
    #[value(alias = "memcheck")]
    Mem,
    /// Barriers that not all threads reach, deadlocks, endless loops
    #[value(alias = "synccheck")]
    Sync,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people: the layout of compute-sanitizer, with source lines
    Text,
    /// For programs
    Json,
    /// For code-scanning services: SARIF 2.1.0
    Sarif,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Least {
    /// Anything that is found
    Warning,
    /// Only what is wrong on every machine
    Error,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    if global.device == DeviceChoice::Gpu {
        return Err(Failure::new("checks are made on the emulator")
            .hint("leave out `--device gpu`; on a GPU NVIDIA's compute-sanitizer looks for some of the same"));
    }
    let ptx = PtxFile::read(&arguments.file)?;
    let origin = arguments.file.display();
    let module = ptx_emulator::Module::parse(&ptx.text)
        .map_err(|error| Failure::new(format!("{origin}: {error}")))?;
    let kernels: Vec<&Entry> = module.entries().collect();
    let kernel = choose(&kernels, arguments)?;
    if arguments.args.is_empty() && !kernel.params().is_empty() {
        let command = format!(
            "blockwise check {origin} --kernel {} --grid 4 --block 256",
            kernel.name()
        );
        return Err(kernel_args::missing(kernel, &command));
    }
    let place = arguments.output.as_deref().map(OutputFile::prepare);
    let place = place.transpose()?;

    let emulator = Emulator::new(Limits {
        warp_instructions: arguments.steps,
        ..Limits::default()
    });
    let loaded = emulator.load(&module)?;
    let bound = KernelArguments::bind(kernel, &arguments.args, &emulator)?;
    let config = LaunchConfig {
        grid: arguments.grid,
        block: arguments.block,
        dynamic_shared_bytes: arguments.shared,
    };
    let options = arguments.options();
    let bytes = bound.bytes();
    let check = emulator.check(&loaded, kernel.name(), config, &bytes, &options);
    let check = check.map_err(|error| Failure::new(error.to_string()))?;
    bound.save(&emulator)?;

    let sources = Sources::new().with_ptx(&arguments.file, &ptx.text);
    arguments.report(global, &check, &sources, place)
}

/// The kernel that was named, or the only one.
fn choose<'a>(kernels: &[&'a Entry], arguments: &Arguments) -> Result<&'a Entry, Failure> {
    let names: Vec<_> = kernels.iter().map(|kernel| kernel.name()).collect();
    let (origin, names) = (arguments.file.display(), names.join(", "));
    match (&arguments.kernel, kernels) {
        (_, []) => Err(Failure::new(format!("{origin} has no kernel"))
            .hint("a kernel is a function that the PTX calls .entry")),
        (None, [only]) => Ok(only),
        (None, _) => Err(
            Failure::new(format!("{origin} has several kernels: {names}"))
                .hint("choose one with --kernel"),
        ),
        (Some(name), _) => {
            let named = kernels.iter().find(|kernel| kernel.name() == name);
            let missing = || format!("{origin} has no kernel `{name}`; it has: {names}");
            named.copied().ok_or_else(|| Failure::new(missing()))
        }
    }
}

impl Arguments {
    fn options(&self) -> CheckOptions {
        CheckOptions {
            race: self.tool.contains(&Tool::Race),
            init: self.tool.contains(&Tool::Init),
            schedules: self.schedules,
            seed: self.seed,
            max_findings: self.max_findings,
        }
    }

    fn report(
        &self,
        global: &Global,
        check: &CheckReport,
        sources: &Sources,
        place: Option<OutputFile>,
    ) -> Result<Report, Failure> {
        let checks = std::slice::from_ref(check);
        let format = if global.json {
            Format::Json
        } else {
            self.format
        };
        let style = match place {
            Some(_) => Style::Plain,
            None => Style::on(&stdout()),
        };
        let mut text = match format {
            Format::Text => report::text(checks, sources, style),
            Format::Json => report::json(checks),
            Format::Sarif => report::sarif(checks, sources),
        };
        if let Some(place) = place {
            place.write(text.as_bytes())?;
            let (errors, warnings) = (check.count(Severity::Error), check.count(Severity::Warning));
            text = format!("{}: {errors} errors, {warnings} warnings", check.kernel);
        }
        let passed = match self.error_on {
            Least::Warning => check.is_clean(),
            Least::Error => check.count(Severity::Error) == 0,
        };
        // What was dropped may have been anything.
        Ok(Report::document(text.trim_end()).passed(passed && check.dropped == 0))
    }
}

/// `X`, `X,Y` or `X,Y,Z`.
fn extents(text: &str) -> Result<[u32; 3], String> {
    let mut extents = [1; 3];
    let numbers: Vec<&str> = text.split(',').collect();
    if numbers.len() > 3 {
        return Err("three numbers at most".to_owned());
    }
    for (extent, number) in extents.iter_mut().zip(numbers) {
        *extent = number
            .parse()
            .map_err(|_| format!("`{number}` is no number of blocks or threads"))?;
    }
    Ok(extents)
}
