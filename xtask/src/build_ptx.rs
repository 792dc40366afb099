//! `cargo xtask build-ptx`: kernels in Rust to PTX, one file for each GPU generation.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use cuda_builder::{CudaBuilder, NvvmArch};

use crate::{setup, workspace};

pub(crate) fn run(architectures: &[NvvmArch], line_info: bool) -> Result<ExitCode> {
    setup::toolchain()?;
    kernels(architectures, line_info)?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the crate `kernels` for each architecture. Without line information the PTX is what demo and tests run.
///
/// Files that earlier calls left for other architectures are brought up to date too: the host takes the newest one that
/// its device can run, and that must never be the kernels of yesterday.
pub(crate) fn kernels(architectures: &[NvvmArch], line_info: bool) -> Result<()> {
    let folder = workspace::ptx()?;
    build_all(&kernels_for(&folder, architectures, line_info), &folder)
}

/// Builds the crate `kernels` with lines, beside what demo and tests run: the folder of that PTX.
pub(crate) fn kernels_with_lines() -> Result<PathBuf> {
    let folder = workspace::ptx()?.join("lines");
    build_all(&[Target::with_lines("kernels")], &folder)?;
    Ok(folder)
}

/// Builds the crate `broken_kernels`, with lines: its whole point is the message that names one.
pub(crate) fn broken_kernels() -> Result<()> {
    build_all(&[Target::with_lines("broken_kernels")], &workspace::ptx()?)
}

/// Builds all that the tests run: the kernels, the broken ones, those that exercise `cuda_std`, and the small crates of
/// `tests/kernel_crates`, which make one PTX file a target.
pub(crate) fn for_tests() -> Result<()> {
    let folder = workspace::ptx()?;
    let mut targets = kernels_for(&folder, &[NvvmArch::Compute80], false);
    targets.extend(
        [
            "tests/device_api",
            "tests/device_heap",
            "tests/device_prints",
            "tests/kernel_crates",
            "broken_kernels",
        ]
        .map(Target::with_lines),
    );
    targets.push(Target {
        arch: NvvmArch::Compute90,
        ..Target::with_lines("tests/kernel_crates")
    });
    build_all(&targets, &folder)
}

/// A crate, and what to build it for.
#[derive(Clone, Copy)]
struct Target {
    /// The crate's folder in the workspace.
    place: &'static str,
    arch: NvvmArch,
    line_info: bool,
}

impl Target {
    /// For the architecture that every device of ours runs.
    fn with_lines(place: &'static str) -> Self {
        Target {
            place,
            arch: NvvmArch::Compute80,
            line_info: true,
        }
    }
}

fn kernels_for(folder: &Path, architectures: &[NvvmArch], line_info: bool) -> Vec<Target> {
    let wanted = |arch: &NvvmArch| {
        architectures.contains(arch) || ptx_file(folder, "kernels", *arch).exists()
    };
    let target = |arch| Target {
        place: "kernels",
        arch,
        line_info,
    };
    NvvmArch::ALL
        .iter()
        .copied()
        .filter(wanted)
        .map(target)
        .collect()
}

/// Builds side by side: cargo lets only one compile for an architecture at a time, but LLVM's work on one crate goes on while
/// the next one compiles. The first error is returned when all have ended.
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

/// Builds for one target and prints what came out. The file stays as it is when nothing changed.
fn build(folder: &Path, target: &Target) -> Result<()> {
    let start = Instant::now();
    let &Target {
        place,
        arch,
        line_info,
    } = target;
    let package = place.rsplit('/').next().unwrap_or(place);
    let file = ptx_file(folder, package, arch);
    let before = modified(&file);
    CudaBuilder::new(workspace::root().join(place))
        .arch(arch)
        .generate_line_info(line_info)
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
