//! `blockwise check`.

use std::io::stdout;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ptx_emulator::report::{self, LeftOut, Sources, Style};
use ptx_emulator::{CheckOptions, CheckReport, Module, Severity};

use super::failure::Failure;
use super::kernel_args::{ARGUMENTS_HELP, Arguments as KernelArguments, Launch};
use super::report::Report;
use super::{Global, progress, trace};
use crate::io::OutputFile;

const EXIT_CODES: &str =
    "Exit codes: 0 nothing was found, 1 something was, 2 the check could not be made.";

/// Orders of the threads, at most.
const SCHEDULES: i64 = 65_536;

#[derive(Args)]
#[command(after_help = format!("{ARGUMENTS_HELP}\n\n{EXIT_CODES}"))]
pub(super) struct Arguments {
    #[command(flatten)]
    launch: Launch,
    /// What to look for; bad accesses (mem) and bad barriers (sync) are always looked for
    #[arg(long, value_delimiter = ',', default_value = "race,init,mem,sync")]
    tool: Vec<Tool>,
    /// Run in N other orders of the threads too
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=SCHEDULES))]
    schedules: u32,
    /// The first order's seed; the others count up from it
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// MiB of global memory that the launch may touch before races there are no longer looked for
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    race_memory: u32,
    /// Different findings to keep, at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    max_findings: usize,
    /// The form of the report; --json is --format json
    #[arg(long, default_value = "text")]
    format: Format,
    /// Write the report to this file, and only its summary to standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a page in which each finding opens at the step where it happens
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The least severity that makes exit code 1
    #[arg(long, default_value = "warning")]
    error_on: Least,
    /// Make an error of what is only for information: threads that write the same value, sums
    /// rounded in the order of the threads, outputs that stay partly unwritten
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Tool {
    /// Races on shared and global memory
    #[value(alias = "racecheck")]
    Race,
    /// Uses of values that nobody wrote; for information, elements of outputs that nobody wrote
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
    /// Notes too
    #[value(alias = "note")]
    Information,
    /// What may be wrong too
    Warning,
    /// Only what is wrong on every machine
    Error,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    let on_gpu = "on a GPU NVIDIA's compute-sanitizer looks for some of the same";
    global.emulator_only("checks", on_gpu)?;
    arguments.consistent(global)?;
    let (ptx, module) = arguments.launch.read(global)?;
    let kernel = arguments
        .launch
        .kernel(&ptx.origin, &module, "blockwise check")?;
    let prepare = |path: &PathBuf| arguments.launch.output(global, path);
    let place = arguments.output.as_ref().map(prepare).transpose()?;
    let page = arguments.html.as_ref().map(prepare).transpose()?;

    let emulator = arguments.launch.emulator();
    let mut loaded = emulator.load(&module)?;
    // Random numbers and files of gigabytes take longer than many a check.
    let clock = progress::clock(&format!("preparing the arguments of {}", kernel.name()));
    let bound = KernelArguments::bind(kernel, &arguments.launch.args, &emulator, &mut loaded)?;
    clock.finish_and_clear();
    let config = arguments.launch.config()?;
    let options = arguments.options();
    let bytes = bound.bytes();
    let what = format!("checking {}", kernel.name());
    let bar = progress::orders(&what, 1 + u64::from(options.schedules));
    let mut listener = progress::Listener::of(&what, &bar);
    emulator.set_progress(move |progress| listener.hear(progress));
    let check = emulator.check(&loaded, kernel.name(), config, &bytes, &options);
    bar.finish_and_clear();
    let check = check.map_err(|error| Failure::new(error.to_string()))?;
    bound.save(&emulator)?;
    if let Some(page) = page {
        let document = trace::of_findings(global, &arguments.launch, &options, &check)?;
        trace::write_page(document, page)?;
    }

    let sources = Sources::new().with_ptx(Path::new(&ptx.origin), &ptx.text);
    arguments.report(global, (&check, &module), &sources, place)
}

impl Arguments {
    /// Refuses options of which one would be passed over.
    fn consistent(&self, global: &Global) -> Result<(), Failure> {
        if global.json && self.format == Format::Sarif {
            return Err(
                Failure::new("--json and --format sarif ask for two forms of one report")
                    .hint("leave one of them out"),
            );
        }
        if self.html.is_some() {
            trace::fits_page(self.seed.saturating_add(self.schedules.into()))?;
        }
        let Some(file) = self.launch.file() else {
            return Ok(());
        };
        if global.ptx.is_some() {
            return Err(Failure::new(format!(
                "--ptx names the kernels of the other commands, and {} is to be checked",
                file.display()
            ))
            .hint("leave one of the two out"));
        }
        Ok(())
    }

    fn options(&self) -> CheckOptions {
        CheckOptions {
            race: self.tool.contains(&Tool::Race),
            race_bytes: u64::from(self.race_memory) << 20,
            init: self.tool.contains(&Tool::Init),
            schedules: self.schedules,
            seed: self.seed,
            max_findings: self.max_findings,
            strict: self.strict,
        }
    }

    fn report(
        &self,
        global: &Global,
        (check, module): (&CheckReport, &Module),
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
            Format::Json => report::json(checks, LeftOut::of(module)),
            Format::Sarif => report::sarif(checks, sources),
        };
        if let Some(place) = place {
            place.write(text.as_bytes())?;
            let count = |severity| check.count(severity);
            let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
            text = format!("{}: {errors} errors, {warnings} warnings", check.kernel);
            if let more @ 1.. = count(Severity::Information) {
                text += &format!(", {more} for information");
            }
            for notice in &check.notices {
                text += &format!("\nnotice: {notice}");
            }
        }
        let passed = check.passes(match self.error_on {
            Least::Information => Severity::Information,
            Least::Warning => Severity::Warning,
            Least::Error => Severity::Error,
        });
        Ok(Report::document(text.trim_end()).passed(passed))
    }
}
