//! The command line: one file a command; this one only parses and dispatches.
//!
//! Exit codes: 0 when all went well, 1 when a result differs from its reference or a check found
//! something, 2 when the command could not be carried out.

mod bench;
mod built;
mod check;
mod chosen;
mod debug;
mod demo;
mod devices;
mod failure;
mod family;
mod folder;
mod global;
mod help;
mod kernel_args;
mod kernels;
mod mesh;
mod nearest;
mod new;
mod operand;
mod operation;
mod profile;
mod progress;
mod recording;
mod report;
mod run;
mod scale;
mod seconds;
mod shell;
mod trace;
mod tune;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use failure::Failure;
use global::Global;
use report::Report;

/// Shared-memory GPU kernels in Rust, run on a GPU or on the PTX emulator and compared with
/// references.
#[derive(Parser)]
#[command(name = "blockwise", version = crate::project::version(), max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// An operation, or a tool.
enum Command {
    /// An operation that has a description.
    Operation(operation::Arguments),
    /// Any other command.
    Tool(Tool),
}

impl Subcommand for Command {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        Tool::augment_subcommands(command.subcommands(operation::commands()))
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        blockwise_ops::find(name).is_some() || Tool::has_subcommand(name)
    }
}

impl FromArgMatches for Command {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        match operation::arguments(matches) {
            Some(arguments) => arguments.map(Self::Operation),
            None => Tool::from_arg_matches(matches).map(Self::Tool),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[derive(Subcommand)]
enum Tool {
    /// Count on the emulator what kernels cost, by source line: instructions, bank conflicts,
    /// sectors, occupancy
    Profile(profile::Arguments),
    /// Write one HTML file in which kernels run on the emulator, step by step, forwards and
    /// backwards
    Trace(trace::Arguments),
    /// Run a kernel of any PTX file on the emulator and look for races, bad accesses, uninitialised
    /// values and bad barriers
    Check(check::Arguments),
    /// Debug a kernel forwards and backwards on the emulator, from an editor: a Debug Adapter
    /// Protocol server
    Debug(debug::Arguments),
    /// Time the kernels on a GPU by its own clock, and check every timed result
    Bench(bench::Arguments),
    /// Predict an operation's time on 1 to 1,024 GPUs, and say what binds it
    Scale(scale::Arguments),
    /// Time other kernels, threads, blocks and tiles on a GPU, and say which would be faster there
    Tune(tune::Arguments),
    /// Make a project of one's own: one crate for host and device, with a kernel, its test and its
    /// bench
    New(blockwise_new::New),
    /// Add a kernel, its build and its test to a project that exists
    Init(blockwise_new::Init),
    /// Test your solution of an exercise of the book, or of all
    Exercise(blockwise_new::Exercise),
    /// Install what compiles Rust for the device, as far as this machine lacks it
    Setup(crate::project::Setup),
    /// Show what compiles Rust for the device, what is missing, and the commands that fix it
    Doctor,
    /// Print the devices and what they allow
    Devices,
    /// Run the tutorials' experiments and check every figure
    Demo(demo::Arguments),
    /// Print a shell's completions of this command
    Completions(shell::CompletionsArguments),
    /// Write the manual's pages
    Man(shell::ManArguments),
}

/// What Rust says of a text that is no number of the wanted type, and what it means.
const NO_NUMBER: [(&str, &str); 3] = [
    (
        "number too large to fit in target type",
        "18446744073709551615 is the largest number of any option, and of many a smaller one",
    ),
    ("invalid digit found in string", "it is no whole number"),
    (
        "cannot parse integer from empty string",
        "a number is missing",
    ),
];

/// A usage error, in words that say what is wrong with a number; `None` if nothing is.
fn of_number(error: &str) -> Option<String> {
    let (rusts, ours) = NO_NUMBER.iter().find(|(rusts, _)| error.contains(rusts))?;
    Some(error.replace(rusts, ours))
}

/// Runs the command line and returns its exit code. Never panics on what a user can pass.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let root = help::of(Cli::command());
    let parsed = root.clone().try_get_matches_from(&arguments);
    let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed.map_err(|error| {
        let words: Vec<_> = arguments
            .iter()
            .map(|word| word.to_string_lossy().into())
            .collect();
        nearest::suggested(error, &root, &words)
    }) {
        Ok(cli) => cli,
        // Help and version are printed on standard output, usage errors on standard error, as JSON
        // if that was asked for.
        Err(error)
            if error.use_stderr() && arguments.iter().any(|argument| argument == "--json") =>
        {
            let text = error.to_string();
            let text = of_number(&text).unwrap_or(text);
            // Usage, and where help is, are the hint.
            let ends = ["\n\nUsage:", "\n\nFor more information"];
            let end = ends.iter().filter_map(|end| text.find(end)).min();
            let message = text[..end.unwrap_or(text.len())].trim();
            let lines = message.trim_start_matches("error: ").lines();
            let message: Vec<_> = lines
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .collect();
            return Failure::new(message.join(" "))
                .hint("blockwise --help")
                .print(true);
        }
        Err(error) => {
            let code = if error.use_stderr() { 2 } else { 0 };
            if error.use_stderr()
                && let Some(text) = of_number(&error.to_string())
            {
                // A closed standard error changes nothing.
                let _ = std::io::stderr().write_all(text.as_bytes());
                return ExitCode::from(code);
            }
            // A closed pipe is no reason to fail in another way.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let json = cli.global.json;
    if cli.global.quiet {
        report::be_quiet();
    }
    match cli.run() {
        Ok(report) => report.print(json),
        Err(failure) => failure.print(json),
    }
}

impl Cli {
    fn run(self) -> Result<Report, Failure> {
        let global = &self.global;
        let tool = match self.command {
            Command::Operation(mut arguments) => {
                if let Some(bytes) = global.device_memory {
                    arguments.fit(bytes);
                }
                return run::run(global, &arguments);
            }
            Command::Tool(tool) => tool,
        };
        match tool {
            Tool::Profile(arguments) => profile::run(global, &arguments),
            Tool::Trace(arguments) => trace::run(global, &arguments),
            Tool::Check(arguments) => check::run(global, &arguments),
            Tool::Debug(arguments) => debug::run(global, &arguments),
            Tool::Bench(arguments) => bench::run(global, &arguments),
            Tool::Scale(arguments) => scale::run(&arguments),
            Tool::Tune(arguments) => tune::run(global, &arguments),
            Tool::New(arguments) => new::run(&arguments),
            Tool::Init(arguments) => new::init(&arguments),
            Tool::Exercise(arguments) => new::exercise(&arguments),
            Tool::Setup(arguments) => new::setup(arguments),
            Tool::Doctor => new::doctor(),
            Tool::Devices => devices::run(global),
            Tool::Demo(arguments) => demo::run(global, &arguments),
            Tool::Completions(arguments) => shell::completions(&arguments),
            Tool::Man(arguments) => shell::man(&arguments),
        }
    }
}

/// A parser for an enum that goes by names; the names appear in help and in errors.
fn names<T>(all: &'static [T]) -> impl clap::builder::TypedValueParser<Value = T>
where
    T: std::fmt::Display + std::str::FromStr + Clone + Send + Sync + 'static,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(
        all.iter()
            .map(|value| clap::builder::PossibleValue::new(value.to_string())),
    )
    .try_map(|name| name.parse::<T>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        help::of(Cli::command()).debug_assert();
    }
}
