//! `cargo xtask fresh COMMAND`: runs a command as on a machine with nothing installed, and prints
//! how long each part takes.
//!
//! The machine is a bare Debian 12 in a folder, with git, a C linker and this machine's Rust
//! toolchain; the home folder is empty, and the clone has the last commit. Needs root, and the
//! command runs as root. The settings by which this machine reaches registries (variables,
//! certificates, settings of apt, cargo and pip) are copied.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Instant;

use anyhow::{Context, Error, Result, bail};
use cuda_tools::install::{Means, Output, is_on_path};
use serde_json::json;

use crate::workspace;

/// Debian's release.
const RELEASE: &str = "bookworm";

/// What is installed once somebody has Rust and the sources. `python3` and other tools are left for
/// our commands to install.
const PACKAGES: &str = "ca-certificates,gcc,git,libc6-dev";

/// Files and folders with settings for registries.
const SETTINGS: [&str; 4] = [
    "/etc/hosts",
    "/etc/pip.conf",
    "/etc/resolv.conf",
    "/etc/ssl/certs",
];

/// apt's, copied if this machine has the same release.
const APT: [&str; 3] = [
    "/etc/apt/auth.conf.d",
    "/etc/apt/sources.list",
    "/etc/apt/sources.list.d",
];

/// Variables that describe this machine's build, not how registries are reached.
const OWN: [&str; 12] = [
    "BLOCKWISE_",
    "CARGO",
    "DEBUG",
    "HOME",
    "LD_",
    "OLDPWD",
    "PATH",
    "PIP_FIND",
    "PWD",
    "RUST",
    "SHELL",
    "TMPDIR",
];

/// Those of cargo's variables that are about registries.
const REGISTRIES: [&str; 4] = [
    "CARGO_HTTP_",
    "CARGO_NET_",
    "CARGO_REGISTR",
    "CARGO_SOURCE_",
];

/// Where the clone is.
const CLONE: &str = "root/blockwise";

/// Where the parts' times are collected.
const SPENT: &str = "spent.tsv";

/// Creates the machine and runs the command in it. Returns its exit code.
pub(crate) fn run(command: &[OsString]) -> Result<ExitCode> {
    let command = command.join(OsStr::new(" "));
    let folder = workspace::target()?.join("fresh");
    let root = folder.join("root");
    let base = base(&folder)?;
    say!("== a machine: {}", root.display());
    remove(&root)?;
    check("cp", &["-a", "--reflink=auto"], &[&base, &root])?;
    settings(&root)?;
    let toolchain = toolchain()?;
    let (clone, clone_seconds) = timed(|| clone(&root))?;
    say!("== {} at commit {clone}", command.display());
    let (status, seconds) = timed(|| inside(&root, &toolchain, &command))?;
    report(
        &folder,
        &root,
        &command,
        &clone,
        [clone_seconds, seconds],
        status,
    )?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// A bare Debian, created once.
fn base(folder: &Path) -> Result<PathBuf> {
    let base = folder.join("base");
    if base.join("etc/debian_version").is_file() {
        return Ok(base);
    }
    if !is_on_path("mmdebstrap") {
        let packages = Means::here().packages(&["mmdebstrap"]);
        let installed = packages.and_then(|packages| packages.run(Output::Shown));
        installed.map_err(Error::msg)?;
    }
    say!("== Debian {RELEASE}, without recommended packages");
    let unfinished = folder.join("unfinished");
    remove(&unfinished)?;
    fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    let mut command = Command::new("mmdebstrap");
    command.args(["--variant=minbase", "--quiet"]);
    command.arg(format!("--include={PACKAGES}"));
    for file in downloads() {
        command.arg(format!("--aptopt={}", file.display()));
    }
    command.arg(RELEASE).arg(&unfinished);
    if is_same_release() {
        let sources = files("/etc/apt/sources.list.d").into_iter();
        command.args(sources.filter(|file| file.ends_with("debian.sources")));
    }
    workspace::check(&mut command)?;
    fs::rename(&unfinished, &base).context("cannot rename Debian's folder")?;
    Ok(base)
}

fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The files of apt's settings that are about downloads.
fn downloads() -> impl Iterator<Item = PathBuf> {
    let is_one = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.contains("Acquire::")
    };
    files("/etc/apt/apt.conf.d").into_iter().filter(is_one)
}

fn is_same_release() -> bool {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    text.contains(&format!("VERSION_CODENAME={RELEASE}"))
}

/// Copies the settings by which this machine reaches registries.
fn settings(root: &Path) -> Result<()> {
    let there = |place: &Path| root.join(place.strip_prefix("/").unwrap_or(place));
    let mut places: Vec<PathBuf> = SETTINGS.map(PathBuf::from).into();
    places.extend(downloads());
    if is_same_release() {
        for place in APT.map(PathBuf::from) {
            remove(&there(&place))?;
            places.push(place);
        }
    }
    for place in places.into_iter().filter(|place| place.exists()) {
        let to = there(&place);
        remove(&to)?;
        check("cp", &["-aL"], &[&place, &to])?;
    }
    let home = std::env::home_dir().unwrap_or_default();
    let config = home.join(".cargo/config.toml");
    if config.is_file() {
        let to = root.join("root/.cargo");
        fs::create_dir_all(&to).with_context(|| format!("{}", to.display()))?;
        check("cp", &["-L"], &[&config, &to])?;
    }
    Ok(())
}

/// The folder of the Rust toolchain that this checkout uses.
fn toolchain() -> Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "sysroot"])
        .current_dir(workspace::root())
        .output()
        .context("cannot run rustc")?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    folder.canonicalize().context("no Rust toolchain")
}

/// Clones the last commit; returns its name.
fn clone(root: &Path) -> Result<String> {
    let to = root.join(CLONE);
    let here = workspace::root();
    check(
        "git",
        &["clone", "--quiet", "--no-local", "--depth=1"],
        &[Path::new(&format!("file://{}", here.display())), &to],
    )?;
    let output = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .current_dir(&to)
        .output()
        .context("cannot run git")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs the command with `root` as its root folder, in namespaces that end with it.
fn inside(root: &Path, toolchain: &Path, command: &OsStr) -> Result<ExitStatus> {
    let script = "set -e\n\
        mount --make-rprivate /\n\
        mkdir -p \"$1/opt/rust\"\n\
        mount --bind \"$2\" \"$1/opt/rust\"\n\
        mount -o remount,bind,ro \"$1/opt/rust\"\n\
        mount -t proc proc \"$1/proc\"\n\
        mount --rbind /dev \"$1/dev\"\n\
        mount -t tmpfs tmpfs \"$1/run\"\n\
        exec chroot \"$1\" sh -c \"cd /$3 && $4\"\n";
    let mut unshare = Command::new("unshare");
    unshare.args([
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        script,
        "sh",
    ]);
    unshare.args([
        root.as_os_str(),
        toolchain.as_os_str(),
        OsStr::new(CLONE),
        command,
    ]);
    for (name, _) in std::env::vars_os() {
        if !is_passed_on(&name.to_string_lossy()) {
            unshare.env_remove(name);
        }
    }
    unshare.env("HOME", "/root");
    unshare.env(
        "PATH",
        "/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    );
    unshare.env("BLOCKWISE_SPENT", Path::new("/").join(SPENT));
    unshare.status().context("cannot run unshare")
}

/// Whether the command sees this variable.
fn is_passed_on(name: &str) -> bool {
    let begins = |list: &[&str]| list.iter().any(|prefix| name.starts_with(prefix));
    begins(&REGISTRIES) || !begins(&OWN)
}

/// Wall and CPU seconds.
type Seconds = [f64; 2];

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Seconds)> {
    let (start, cpu) = (Instant::now(), xtask::spent::cpu_of_children());
    let result = work()?;
    let cpu = xtask::spent::cpu_of_children() - cpu;
    Ok((result, [start.elapsed().as_secs_f64(), cpu]))
}

/// Prints the parts, and writes them as JSON.
fn report(
    folder: &Path,
    root: &Path,
    command: &OsStr,
    commit: &str,
    [clone, whole]: [Seconds; 2],
    status: ExitStatus,
) -> Result<()> {
    let text = fs::read_to_string(root.join(SPENT)).unwrap_or_default();
    let mut parts = vec![("clone".to_owned(), clone)];
    parts.extend(text.lines().filter_map(part));
    parts.push(("the command, whole".to_owned(), whole));
    say!("== what it took");
    for (name, [wall, cpu]) in &parts {
        say!("  {wall:>7.1} s {cpu:>7.1} CPU s  {name}");
    }
    if let Some(signal) = status.signal() {
        say!("  ended by signal {signal}");
    }
    let parts = parts.into_iter();
    let parts = parts
        .map(|(name, [wall, cpu])| json!({ "part": name, "seconds": wall, "cpu_seconds": cpu }));
    let report = json!({
        "command": command.to_string_lossy(),
        "commit": commit,
        "cores": std::thread::available_parallelism().map_or(1, usize::from),
        "passed": status.success(),
        "parts": parts.collect::<Vec<_>>(),
    });
    let file = folder.join("fresh.json");
    fs::write(&file, format!("{report:#}\n")).with_context(|| format!("{}", file.display()))?;
    say!("  {}", file.display());
    Ok(())
}

/// A line of the collected times.
fn part(line: &str) -> Option<(String, Seconds)> {
    let mut fields = line.split('\t');
    let name = fields.next()?.to_owned();
    let mut number = || fields.next()?.parse().ok();
    Some((name, [number()?, number()?]))
}

fn check(program: &str, options: &[&str], paths: &[&Path]) -> Result<()> {
    workspace::check(Command::new(program).args(options).args(paths))
}

/// Removes a file or folder, if there is one. Nothing is mounted in it: mounts end with the command.
fn remove(place: &Path) -> Result<()> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    if mounts.contains(&format!(" {}/", place.display())) {
        bail!("something is mounted below {}", place.display());
    }
    let removed = match place.is_dir() && !place.is_symlink() {
        true => fs::remove_dir_all(place),
        false => fs::remove_file(place),
    };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{}", place.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_registries_is_passed_on_and_nothing_of_this_build() {
        for name in [
            "https_proxy",
            "SSL_CERT_FILE",
            "PIP_CERT",
            "CARGO_HTTP_CAINFO",
            "LANG",
        ] {
            assert!(is_passed_on(name), "{name}");
        }
        for name in [
            "CARGO_TARGET_DIR",
            "RUSTFLAGS",
            "HOME",
            "PATH",
            "BLOCKWISE_ARCH",
        ] {
            assert!(!is_passed_on(name), "{name}");
        }
    }

    #[test]
    fn parts_are_read() {
        assert_eq!(
            part("compile\t120.5\t230.1"),
            Some(("compile".to_owned(), [120.5, 230.1]))
        );
        assert_eq!(part("compile"), None);
    }
}
