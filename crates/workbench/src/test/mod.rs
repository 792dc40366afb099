//! `cargo xtask test`: builds everything and runs all tests, from a fresh clone.

mod changed;
mod compile;
mod last;
#[cfg(target_os = "linux")]
mod left;
mod options;
mod program;
mod queue;
mod table;
#[cfg(test)]
mod targets;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, anyhow};
use xtask::spent::Spent;

use crate::verify_ptx::{self, Tools};
use crate::workspace::{self, step};
use crate::{build_ptx, setup};
use options::Options;
use program::{Program, Settings};
use queue::Ended;

/// The variable by which `--all` tells tests to run whole sweeps instead of selected cases.
const ALL: &str = "BLOCKWISE_TEST_ALL";

/// The kernels' architectures with `--all`: those of a release build.
const ARCH: (&str, &str) = ("BLOCKWISE_ARCH", "sm_80,sm_90a");

/// How many of the slowest test programs are named.
const SLOWEST: usize = 10;

/// Builds everything and runs the tests; see [`Options`].
pub(crate) fn run(arguments: &[OsString]) -> Result<ExitCode> {
    if arguments == ["--last"] {
        say!("{}", last::read());
        return Ok(ExitCode::SUCCESS);
    }
    let start = Instant::now();
    let mut options = Options::parse(arguments);
    let (mut variables, mut filters) = (Vec::new(), Vec::new());
    if let Some(revision) = &options.changed {
        let Some(plan) = changed::plan(revision)? else {
            say!(
                "nothing that a test reads has changed since {}",
                revision.display()
            );
            return Ok(ExitCode::SUCCESS);
        };
        say!("{plan}");
        if let Some(part) = plan.part {
            options.cargo = part.cargo();
            variables = part.variables();
            filters = part.filters();
        } else {
            options.changed = None;
        }
    }
    if options.all {
        variables.push((ALL, "1".to_owned()));
        variables.push((ARCH.0, ARCH.1.to_owned()));
    }
    let mut cargo = options.cargo.clone();
    if !options.names_packages() {
        cargo.insert(0, "--workspace".into());
    }

    let ((programs, twice, tools), compile_time) =
        step("compiling the tests, and kernels to PTX", || {
            let spent = Spent::start();
            let built = compile_and_build(&options, &cargo, &variables)?;
            spent.end("compile tests");
            Ok(built)
        })?;
    let shared = match options.is_whole() {
        true => compile::demo_shares_all(&twice, &variables),
        false => Ok(()),
    };

    say!("== tests");
    #[cfg(target_os = "linux")]
    left::adopt();
    let tests_start = Instant::now();
    let spent = Spent::start();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // The tests for a change are few programs, and one takes most of the time: it gets all cores.
    let at_once = match options.changed {
        Some(_) => 1,
        None => cores.clamp(1, 2),
    };
    let settings = Settings {
        threads: (cores / at_once).max(1),
        arguments: &options.programs,
        filters: &filters,
        cargo: &cargo,
        variables: &variables,
        libraries: &compile::libraries()?,
    };
    let folder = workspace::target()?.join("test-output");
    let (ended, verified) = std::thread::scope(|scope| {
        // A minute of a processor: not beside a few tests.
        let verified = scope.spawn(|| match options.is_whole() {
            true => verify_ptx::refused(&tools),
            false => Ok(()),
        });
        let ended = queue::run(programs, at_once, &settings, &folder);
        let verified = verified.join();
        (
            ended,
            verified.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        )
    });
    let ended = ended?;
    spent.end("tests");

    say!("== summary");
    say!("  compiling {:>6.1} s", compile_time.as_secs_f64());
    say!("  tests     {:>6.1} s", tests_start.elapsed().as_secs_f64());
    say!("  all       {:>6.1} s", start.elapsed().as_secs_f64());
    say!("  GPU: {}", cuda_tools::gpu::describe());
    say!("  output of each program: {}", folder.display());
    let mut failures = summary(&ended, &options);
    failures.extend(shared.err().map(|error| error.to_string()));
    failures.extend(verified.err().map(|error| error.to_string()));
    #[cfg(target_os = "linux")]
    failures.extend(left::end());
    for failure in &failures {
        say!("FAILED: {failure}");
    }
    if failures.is_empty() && options.all && options.is_whole() {
        last::write()?;
    }
    Ok(if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Compiles the test programs and, beside that, builds the PTX files that they read. Also returns the
/// libraries that were compiled twice.
fn compile_and_build(
    options: &Options,
    cargo: &[OsString],
    variables: &[(&str, String)],
) -> Result<(Vec<Program>, Vec<String>, Tools)> {
    std::thread::scope(|scope| {
        let ptx = scope.spawn(|| {
            setup::toolchain()?;
            setup::libdevice()?;
            let tools = Tools::find()?;
            build_ptx::for_tests(options.is_whole(), options.all)?;
            Ok::<_, anyhow::Error>(tools)
        });
        let programs = compile::programs(cargo, variables);
        let ptx = ptx.join().map_err(|_| anyhow!("the build of PTX panicked"));
        let ((mut programs, twice), tools) = (programs?, ptx??);
        if options.with_documentation() && options.changed.is_none() {
            programs.push(Program::documentation());
        }
        Ok((programs, twice, tools))
    })
}

/// Prints the results; returns the failures.
fn summary(ended: &[Ended], options: &Options) -> Vec<String> {
    let sum = |count: fn(&Ended) -> u32| ended.iter().map(count).sum::<u32>();
    say!(
        "  {} passed, {} failed, {} ignored",
        sum(|one| one.outcome.passed),
        sum(|one| one.outcome.failed),
        sum(|one| one.outcome.ignored)
    );
    let skips = |one: &Ended| one.outcome.skips.len() as u32;
    let avoidable = |one: &Ended| one.outcome.avoidable_skips().count() as u32;
    let (skipped, others) = (sum(skips), sum(avoidable));
    say!(
        "  {skipped} skipped: {} for want of a GPU, {others} for other reasons",
        skipped - others
    );
    let mut failures = Vec::new();
    for Ended { name, outcome } in ended {
        for line in outcome.seeds.iter().chain(&outcome.left) {
            say!("  {name}: {line}");
        }
        for skip in outcome.avoidable_skips() {
            say!("  {name}: {skip}");
            if options.no_skips {
                failures.push(format!("{name}: {skip}"));
            }
        }
        if !outcome.success {
            failures.push(name.clone());
        }
        if let Some((text, fails)) = table::judge(name, outcome, options.all) {
            say!("  {text}");
            failures.extend(fails.then_some(text));
        }
    }
    let mut slowest: Vec<_> = ended.iter().collect();
    slowest.sort_by(|a, b| b.outcome.cpu.total_cmp(&a.outcome.cpu));
    for Ended { name, outcome } in slowest.into_iter().take(SLOWEST) {
        say!(
            "  {:>6.1} s {:>6.1} CPU s  {name}",
            outcome.wall,
            outcome.cpu
        );
    }
    failures
}
