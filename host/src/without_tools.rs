//! The command line of a build without tools: what makes projects, and what they need. Its exit codes
//! are those of the whole command.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use blockwise_new::{Error, Exercise, Init, New, Outcome, Tested};
use clap::{Parser, Subcommand};
use serde_json::{Value, json};

use crate::project;

/// Makes projects with GPU kernels in Rust, and installs what compiles them.
#[derive(Parser)]
#[command(name = "blockwise", version = project::version(), max_term_width = 100, after_help = MORE)]
struct Cli {
    /// Print one JSON document on standard output
    #[arg(long, global = true)]
    json: bool,
    /// No notices: only results and errors
    #[arg(long, short, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a project of one's own: one crate for host and device, with a kernel, its test and its
    /// bench
    New(New),
    /// Add a kernel, its build and its test to a project that exists
    Init(Init),
    /// Test your solution of an exercise of the book, or of all
    Exercise(Exercise),
    /// Install what compiles Rust for the device, as far as this machine lacks it
    Setup(project::Setup),
    /// Show what compiles Rust for the device, what is missing, and the commands that fix it
    Doctor,
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

const MORE: &str = "This build has no tools: `check`, `debug`, `trace`, `profile`, `bench` and the \
                    operations on files come with\n`--features tools`, after `blockwise setup`.";

/// Runs the command line and returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe is no reason to fail in another way.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let outcome = match cli.command {
        Command::New(arguments) => made(arguments.run()),
        Command::Init(arguments) => made(arguments.run()),
        Command::Exercise(arguments) => tested(arguments.run()),
        Command::Setup(arguments) => match project::setup(arguments) {
            Ok(text) => Ok((json!({ "result": text }), text, 0)),
            Err(error) => Err((error, None)),
        },
        Command::Doctor => match project::doctor() {
            Ok(found) => Ok((
                json!({ "result": found.text, "pass": found.complete }),
                found.text,
                u8::from(!found.complete),
            )),
            Err(error) => Err((error, None)),
        },
        Command::Other(words) => Err(other(&words)),
    };
    let (json, text, code) = match outcome {
        Ok(outcome) => outcome,
        Err((message, hint)) => {
            let json = json!({ "error": message, "hint": hint });
            let text = format!("error: {message}");
            let hint = hint.map_or(String::new(), |hint| format!("\nhint: {hint}"));
            (json, text + &hint, 2)
        }
    };
    let written = match (cli.json, code) {
        (true, _) => writeln!(std::io::stdout(), "{json}"),
        (false, 2) => writeln!(std::io::stderr(), "{text}"),
        (false, _) => writeln!(std::io::stdout(), "{text}"),
    };
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::from(2),
        _ => ExitCode::from(code),
    }
}

/// What is printed, as JSON and as text, and the exit code; or an error and what to do about it.
type Printed = Result<(Value, String, u8), (String, Option<String>)>;

fn made(outcome: Result<Outcome, Error>) -> Printed {
    let outcome = outcome.map_err(with_hint)?;
    Ok((project::json(&outcome), outcome.text, 0))
}

fn tested(outcome: Result<Tested, Error>) -> Printed {
    let tested = outcome.map_err(with_hint)?;
    let code = u8::from(!tested.pass());
    Ok((project::tested(&tested), tested.text, code))
}

fn with_hint(error: Error) -> (String, Option<String>) {
    (error.to_string(), error.hint().map(str::to_owned))
}

/// For a command that this build does not have.
fn other(words: &[OsString]) -> (String, Option<String>) {
    let name = words
        .first()
        .map_or("".into(), |word| word.to_string_lossy());
    (
        format!("this build has no `{name}`: only new, init, exercise, setup and doctor"),
        Some(format!("`blockwise setup`, then `{}`", project::install())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
