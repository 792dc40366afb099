//! Development commands of the workspace: `cargo xtask <command>`.
//!
//! This file only dispatches; each command is a file of its own. Commands that need a tool install
//! it first (`setup`).

/// `println!` without its panic when the reader has closed the pipe (`cargo xtask doctor | head
/// -1`).
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

mod bench;
mod book;
mod build_ptx;
mod build_viewer;
mod check;
mod checker;
mod demo;
mod deny;
#[cfg(unix)]
mod dist;
mod elsewhere;
#[cfg(unix)]
mod fresh;
#[cfg(test)]
mod imports;
#[cfg(unix)]
mod licences;
mod new;
mod package;
mod pitfalls;
mod proof;
mod setup;
mod test;
mod verify_ptx;
mod workspace;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use cuda_builder::NvvmArch;

/// Development commands of Blockwise.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile the kernels to target/ptx/kernels.sm_XX.ptx, to be read or to be run by
    /// `blockwise --ptx`
    BuildPtx {
        /// GPU generations, separated by commas
        #[arg(
            long,
            value_delimiter = ',',
            default_value = "sm_80",
            value_name = "sm_XX"
        )]
        arch: Vec<NvvmArch>,
    },
    /// Build the emulator to WebAssembly for the pages of `blockwise trace`; after a change of the
    /// emulator
    BuildViewer,
    /// Make a project of your own that uses this checkout
    New(blockwise_new::New),
    /// Test your solution of one of the book's exercises, in docs/book/exercises
    Exercise(blockwise_new::Exercise),
    /// Install what is missing on this machine
    Setup {
        /// A browser and its driver too, for the tests of pages
        #[arg(long)]
        browser: bool,
        /// Fetch NCCL too, which programs on several GPUs load
        #[arg(long)]
        nccl: bool,
    },
    /// Check licences, sources and duplicate versions of dependencies
    Deny,
    /// Make an archive of the command for machines without Rust: program, manual, completions,
    /// licences
    #[cfg(unix)]
    Dist,
    /// Pack what a release uploads, and build and test a project that has nothing else
    Package,
    /// Show the tools found, what is missing, and the commands that fix it
    Doctor,
    /// Build the demos and run them on the GPU, or on the emulator without one
    Demo {
        /// conv, reduce, tiling, shared or all; options are those of `blockwise demo`, which is then
        /// built: --device, --plot, --json …
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Build everything and time the kernels on the GPU
    Bench {
        /// Arguments for `blockwise bench`: --filter, --size, --quick, --json …
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Build everything and search for faster policies on the GPU
    Tune {
        /// Arguments for `blockwise tune`: --filter, --size, --output, --json …
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run a command in a clone on a bare Debian 12 and show what each part takes; needs root
    #[cfg(unix)]
    Fresh {
        /// The command, such as `cargo xtask demo`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<OsString>,
    },
    /// Compile for aarch64, Windows and macOS; run tests and commands of aarch64 under qemu
    Elsewhere,
    /// Build the book: the outputs that its pages show, and the pages
    Book,
    /// Build everything and run every test of the workspace
    Test {
        /// --all: whole sweeps; --changed, or --changed REVISION: only what a change since then may have broken;
        /// --no-skips: a skipped test fails unless it needs a GPU; --last: when --all passed last.
        /// Other options are for `cargo test`, names and what follows a second -- for the tests
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Assemble PTX files with ptxas and show each kernel's resources
    VerifyPtx {
        /// PTX files; all of target/ptx when none is given
        files: Vec<PathBuf>,
    },
    /// Run the deliberately broken kernels and show how the emulator reports each
    Pitfalls,
    /// Run the good kernels under all detectors and report what they find, at the Rust lines
    Check {
        /// Kernels by the beginning of their names, --schedules N, --sizes few|all, --format
        /// text|json|sarif, --output FILE …
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Make small mistakes in the good kernels' PTX and show which detector finds each
    Mutants {
        /// Only kernels whose names begin so
        kernels: Vec<String>,
    },
    /// Switch off each rule of the uniformity check and show which ones no test misses
    Checker {
        /// Only mutations whose place starts so: `flow.rs`, `flow.rs:70`
        places: Vec<String>,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::BuildPtx { arch } => build_ptx::run(&arch),
        Command::BuildViewer => build_viewer::run(),
        Command::New(arguments) => new::run(&arguments),
        Command::Exercise(arguments) => new::exercise(&arguments),
        Command::Setup { browser, nccl } => setup::run(browser, nccl),
        Command::Deny => deny::run(),
        #[cfg(unix)]
        Command::Dist => dist::run(),
        Command::Package => package::run(),
        Command::Doctor => setup::doctor(),
        Command::Bench { arguments } => bench::run("bench", &arguments),
        Command::Book => book::run(),
        Command::Elsewhere => elsewhere::run(),
        #[cfg(unix)]
        Command::Fresh { command } => fresh::run(&command),
        Command::Tune { arguments } => bench::run("tune", &arguments),
        Command::Demo { arguments } => demo::run(&arguments),
        Command::Test { arguments } => test::run(&arguments),
        Command::VerifyPtx { files } => verify_ptx::run(&files),
        Command::Pitfalls => pitfalls::run(),
        Command::Check { arguments } => check::run(&arguments),
        Command::Mutants { kernels } => proof::mutants(&kernels),
        Command::Checker { places } => checker::run(&places).map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
