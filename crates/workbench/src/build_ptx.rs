//! `cargo xtask build-ptx`: kernels in Rust to PTX, one file for each GPU generation.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use cuda_builder::{CudaBuilder, NvvmArch};

use crate::{setup, workspace};

/// The kernels of the crate `ladder`, without those of `kernels` that it builds on.
const OF_LADDER: &[&str] = include!("../../../ladder/own.rs");

pub(crate) fn run(architectures: &[NvvmArch]) -> Result<ExitCode> {
    setup::toolchain()?;
    let of_crates = |&arch| ["kernels", "ladder"].map(|place| Target { place, arch });
    let kernels = architectures.iter().flat_map(of_crates);
    build_all(&kernels.collect::<Vec<_>>(), &workspace::ptx()?)?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the crate `broken_kernels`.
pub(crate) fn broken_kernels() -> Result<()> {
    build_all(&[Target::everywhere("broken_kernels")], &workspace::ptx()?)
}

/// Builds the crates whose PTX the tests read from files: the broken kernels, those that exercise
/// `cuda_std`, and the small crates of `tests/kernel_crates`, with one PTX file for each target. For
/// `ptxas` also the kernels and the ladder, which tests have in their programs. With `all`, also for
/// newer GPUs.
pub(crate) fn for_tests(for_ptxas: bool, all: bool) -> Result<()> {
    let only_assembled = match for_ptxas {
        true => &["kernels", "ladder"][..],
        false => &[],
    };
    let mut targets = [
        "tests/device_api",
        "tests/device_heap",
        "tests/device_prints",
        "tests/kernel_crates",
        "broken_kernels",
    ]
    .into_iter()
    .chain(only_assembled.iter().copied())
    .map(Target::everywhere)
    .collect::<Vec<_>>();
    if all {
        targets.push(Target {
            place: "tests/kernel_crates",
            arch: NvvmArch::Compute90,
        });
        // A release build contains these kernels for these GPUs.
        targets.push(Target {
            place: "kernels",
            arch: NvvmArch::Compute90a,
        });
    }
    build_all(&targets, &workspace::ptx()?)
}

/// A crate, and the architecture to build it for.
#[derive(Clone, Copy)]
struct Target {
    /// The crate's folder in the workspace.
    place: &'static str,
    arch: NvvmArch,
}

impl Target {
    /// For the oldest architecture that is supported: every device runs it.
    fn everywhere(place: &'static str) -> Self {
        Target {
            place,
            arch: NvvmArch::Compute80,
        }
    }
}

/// Builds the targets in parallel: cargo compiles only one at a time for an architecture, but LLVM
/// works on one crate while the next one compiles. Returns the first error once all have ended.
fn build_all(targets: &[Target], folder: &Path) -> Result<()> {
    std::thread::scope(|scope| {
        let builds: Vec<_> = targets
            .iter()
            .map(|target| scope.spawn(|| build(folder, target)))
            .collect();
        let results: Vec<_> = builds
            .into_iter()
            .map(|build| {
                build
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect();
        results.into_iter().collect()
    })
}

/// Builds for one target and prints the result. An unchanged file is not written again.
fn build(folder: &Path, target: &Target) -> Result<()> {
    let start = Instant::now();
    let &Target { place, arch } = target;
    let package = place.rsplit('/').next().unwrap_or(place);
    let file = ptx_file(folder, package, arch);
    let before = modified(&file);
    CudaBuilder::new(workspace::root().join(place))
        .arch(arch)
        // Kernels that are broken on purpose only cause warnings.
        .deny_divergence(place != "broken_kernels")
        .only(match place {
            "ladder" => OF_LADDER,
            _ => &[],
        })
        .copy_to(&file)
        .build()
        .with_context(|| format!("cannot build {package} for {arch}"))?;
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    say!(
        "{}: {} kernels, {:.0} KiB, {} in {:.1} s",
        file.display(),
        entries(&text).count(),
        text.len() as f64 / 1024.0,
        if before.is_some() && before == modified(&file) {
            "unchanged"
        } else {
            "written"
        },
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

fn ptx_file(folder: &Path, package: &str, arch: NvvmArch) -> PathBuf {
    folder.join(format!("{package}.{arch}.ptx"))
}

fn modified(file: &Path) -> Option<std::time::SystemTime> {
    file.metadata().ok()?.modified().ok()
}

/// The names of a PTX file's kernels.
fn entries(ptx: &str) -> impl Iterator<Item = &str> {
    ptx.lines().filter_map(|line| {
        line.trim_start()
            .strip_prefix(".visible .entry ")?
            .split('(')
            .next()
    })
}

#[cfg(test)]
mod tests {
    use super::entries;

    #[test]
    fn kernels_are_counted_and_device_functions_are_not() {
        let ptx = ".visible .entry add(\n\t.param .u64 a\n)\n.visible .func help()\n.visible .entry mul()\n// .visible .entry no(\n";
        assert_eq!(entries(ptx).collect::<Vec<_>>(), ["add", "mul"]);
    }
}
