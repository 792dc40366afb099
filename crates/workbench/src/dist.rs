//! `cargo xtask dist`: one archive with the command, for machines without Rust.
//!
//! It is laid out as below `/usr/local` or `~/.local`, so that unpacking it there installs it.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};

use crate::{licences, setup, workspace};

/// The most that the archive may have, in bytes.
const LARGEST: u64 = 15_000_000;

/// The C library of the oldest system that the program must start on: Debian 12.
const GLIBC: (u32, u32) = (2, 36);

/// Shells, and where each looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/blockwise"),
    ("zsh", "share/zsh/site-functions/_blockwise"),
    ("fish", "share/fish/vendor_completions.d/blockwise.fish"),
];

const README: &str = "The command `blockwise` for Linux, with the kernels and the emulator in it. It needs no Rust, and a
driver only to use a GPU.

    tar -xzf blockwise-*.tar.gz --strip-components=1 -C ~/.local

`blockwise check`, `profile`, `trace` and `debug` take any PTX file; `blockwise --help` lists the rest.
To write kernels, `blockwise setup` installs what compiles them, once there is Rust.
";

pub(crate) fn run() -> Result<ExitCode> {
    setup::toolchain()?;
    let (commit, time) = (commit()?, git(&["log", "-1", "--format=%ct"])?);
    say!("== the command at commit {commit}");
    let mut build = workspace::cargo();
    build.args(["rustc", "--locked", "--profile", "dist"]);
    build.args(["--package", "blockwise_cli", "--bin", "blockwise"]);
    build.args(["--features", "tools", "--", "-C"]);
    // Relative relocations as bitmaps: half a megabyte less. glibc reads them from 2.36 on.
    let mut link = "link-arg=-Wl,-z,pack-relative-relocs".to_owned();
    // rustc links with LLD there. Equal functions are one, a string is another's end: 0.1 MB less.
    // Rust promises no function an address of its own.
    if ARCH == "x86_64" {
        link += ",--icf=all,-O2";
    }
    build.arg(link);
    workspace::check(build.env("BLOCKWISE_COMMIT", &commit))?;
    let target = workspace::target()?;
    let program = target.join("dist/blockwise");
    let needed = glibc(&fs::read(&program)?).context("it names no C library")?;
    ensure!(
        needed <= GLIBC,
        "the program needs glibc {}.{}, which is newer than {}.{}: build it on Debian 12",
        needed.0,
        needed.1,
        GLIBC.0,
        GLIBC.1
    );

    let said = printed(Command::new(&program).arg("--version"))?;
    let version = said.split(' ').nth(1).context("--version has no number")?;
    ensure!(
        said.contains(&commit[..12]),
        "--version names no commit: {said}"
    );
    let name = format!("blockwise-{version}-{ARCH}-{OS}");
    let place = target.join("archive");
    let folder = place.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fill(&folder, &program)?;
    let archive = pack(&place, &name, &time)?;
    let bytes = fs::metadata(&archive)?.len();
    say!("{said}: {} bytes", fs::metadata(&program)?.len());
    say!("{}: {bytes} bytes", archive.display());
    ensure!(bytes <= LARGEST, "more than {LARGEST} bytes");
    Ok(ExitCode::SUCCESS)
}

/// The commit; its name says if the files are not those of it.
fn commit() -> Result<String> {
    let commit = git(&["rev-parse", "HEAD"])?;
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Ok(format!(
        "{:.12}{}",
        commit,
        if changed { "-modified" } else { "" }
    ))
}

fn git(arguments: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    printed(git.args(arguments).current_dir(workspace::root()))
}

/// What a command prints, without the last line break.
fn printed(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot run {}", workspace::describe(command)))?;
    ensure!(
        output.status.success(),
        "{} failed",
        workspace::describe(command)
    );
    let text = String::from_utf8(output.stdout).context("no UTF-8")?;
    Ok(text.trim_end().to_owned())
}

/// The files below the archive's folder.
fn fill(folder: &Path, program: &Path) -> Result<()> {
    let write = |file: &str, text: &str| -> Result<()> {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().unwrap_or(folder))?;
        fs::write(&file, text).with_context(|| format!("{}", file.display()))
    };
    let documents = "share/doc/blockwise";
    write(&format!("{documents}/README"), README)?;
    let others = licences::of("blockwise_cli")?;
    write(&format!("{documents}/LICENSES-OF-DEPENDENCIES"), &others)?;
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md"] {
        let text = fs::read_to_string(workspace::root().join(file))?;
        write(&format!("{documents}/{file}"), &text)?;
    }
    for (shell, file) in COMPLETIONS {
        let text = printed(Command::new(program).args(["completions", shell]))?;
        write(file, &format!("{text}\n"))?;
    }
    let manual = folder.join("share/man/man1");
    fs::create_dir_all(&manual)?;
    workspace::check(
        Command::new(program)
            .args(["man", "--quiet", "--output"])
            .arg(&manual),
    )?;
    fs::create_dir_all(folder.join("bin"))?;
    fs::copy(program, folder.join("bin/blockwise"))?;
    Ok(())
}

/// The archive and its checksum. The same files give the same bytes.
fn pack(place: &Path, name: &str, time: &str) -> Result<PathBuf> {
    let file = format!("{name}.tar.gz");
    let mut tar = Command::new("tar");
    tar.args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--format=ustar",
    ]);
    tar.arg(format!("--mtime=@{time}")).args(["-I", "gzip -9n"]);
    tar.args(["-cf", &file, name]).current_dir(place);
    workspace::check(&mut tar)?;
    let sum = printed(Command::new("sha256sum").arg(&file).current_dir(place))?;
    fs::write(place.join(format!("{file}.sha256")), format!("{sum}\n"))?;
    Ok(place.join(file))
}

/// The newest version of glibc whose symbols a program names.
fn glibc(program: &[u8]) -> Option<(u32, u32)> {
    const MARK: &[u8] = b"GLIBC_";
    let places = program.windows(MARK.len()).enumerate();
    let named = places
        .filter(|(_, window)| *window == MARK)
        .filter_map(|(at, _)| {
            let rest = program.get(at + MARK.len()..)?;
            let end = rest
                .iter()
                .position(|byte| !byte.is_ascii_digit() && *byte != b'.')?;
            let mut numbers = std::str::from_utf8(&rest[..end]).ok()?.split('.');
            let mut next = || numbers.next()?.parse().ok();
            Some((next()?, next()?))
        });
    named.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_glibc_that_a_program_names_counts() {
        let program = b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_PRIVATE\0GLIBC_2.9\0GLIBC_";
        assert_eq!(glibc(program), Some((2, 34)));
        assert_eq!(glibc(b"static"), None);
        // This one too is built here.
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(glibc(&own).is_none_or(|needed| needed >= (2, 2)));
    }

    #[test]
    fn the_same_files_give_the_same_archive_with_its_checksum() {
        let place = std::env::temp_dir().join(format!("blockwise-dist-{}", std::process::id()));
        let inner = place.join("it/bin");
        fs::create_dir_all(&inner).unwrap();
        let mut made = Vec::new();
        for _ in 0..2 {
            // Another time.
            fs::write(inner.join("a"), "text").unwrap();
            let archive = pack(&place, "it", "1700000000").unwrap();
            made.push(fs::read(&archive).unwrap());
        }
        let check = Command::new("sha256sum")
            .args(["--check", "--status", "it.tar.gz.sha256"])
            .current_dir(&place)
            .status();
        fs::remove_dir_all(&place).unwrap();
        assert!(check.unwrap().success());
        assert!(made[0] == made[1] && !made[0].is_empty());
    }
}
