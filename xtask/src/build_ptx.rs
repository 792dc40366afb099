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
    let wanted = |arch: &NvvmArch| {
        architectures.contains(arch) || ptx_file(&folder, "kernels", *arch).exists()
    };
    let mut architectures = NvvmArch::ALL.iter().copied().filter(wanted);
    architectures.try_for_each(|arch| build(&folder, "kernels", arch, line_info))
}

/// Builds the crate `kernels` with lines, beside what demo and tests run: the folder of that PTX.
pub(crate) fn kernels_with_lines() -> Result<PathBuf> {
    let folder = workspace::ptx()?.join("lines");
    build(&folder, "kernels", NvvmArch::Compute80, true)?;
    Ok(folder)
}

/// Builds the crate `broken_kernels`, with lines: its whole point is the message that names one.
pub(crate) fn broken_kernels() -> Result<()> {
    build(
        &workspace::ptx()?,
        "broken_kernels",
        NvvmArch::Compute80,
        true,
    )
}

/// Builds the kernels that exercise `cuda_std`, for its tests.
pub(crate) fn device_tests() -> Result<()> {
    let folder = workspace::ptx()?;
    ["device_api", "device_heap", "device_prints"]
        .map(|name| format!("tests/{name}"))
        .iter()
        .try_for_each(|place| build(&folder, place, NvvmArch::Compute80, true))
}

/// Builds the small crates of `tests/kernel_crates`, all in one PTX file a target, for their tests.
pub(crate) fn kernel_crates() -> Result<()> {
    let folder = workspace::ptx()?;
    [NvvmArch::Compute80, NvvmArch::Compute90]
        .into_iter()
        .try_for_each(|arch| build(&folder, "tests/kernel_crates", arch, true))
}

/// Builds the crate at `place` for one target and prints what came out. The file stays as it is when nothing changed.
fn build(folder: &Path, place: &str, arch: NvvmArch, line_info: bool) -> Result<()> {
    let start = Instant::now();
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
