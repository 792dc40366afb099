//! Mutates the uniformity check: each of its rules is switched off in turn, and a test must fail.
//!
//! All mutations are written into one copy of `cuda_builder`, each switched on by its number, so
//! that the copy is compiled once ([`rewrite`]). Its unit tests then run once for each number. A
//! mutation that they do not detect needs a reason ([`reasons`]).

mod reasons;
mod rewrite;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::workspace;
use rewrite::Mutation;

/// The variable that switches a mutation on.
const VARIABLE: &str = "CHECKER_MUTANT";
/// The crate of the check, and the one of this workspace that it needs.
const COPIED: [&str; 2] = ["cuda_builder", "cuda_tools"];
/// A run that takes more seconds of the processor does not end. On a machine that others use, too,
/// the clock would say so of runs that do.
const PATIENCE: u32 = 20;
/// A run that has not had these in this time says nothing about its mutation: the machine is too
/// busy.
const LONGEST: Duration = Duration::from_secs(1800);

/// Runs the tests against all mutations, or those at some places, and prints the undetected ones.
pub(crate) fn run(places: &[String]) -> Result<()> {
    let copy = workspace::root().join("target/checker");
    let mutations = write(&copy)?;
    let tests = build(&copy)?;
    ensure!(passes(&tests, None)?, "the tests fail without a mutation");
    let start = Instant::now();
    let (mut survivors, mut used) = (Vec::new(), Vec::new());
    let is_chosen = |mutation: &Mutation| {
        let place = format!("{}:{}:", mutation.file, mutation.line);
        let is_there = |chosen: &String| place.starts_with(&format!("{chosen}:"));
        places.is_empty() || places.iter().any(is_there)
    };
    let chosen = mutations.iter().enumerate();
    let chosen: Vec<_> = chosen.filter(|(_, one)| is_chosen(one)).collect();
    for &(number, mutation) in &chosen {
        if !passes(&tests, Some(number))? {
            continue;
        }
        match reasons::of(mutation) {
            Some((at, reason)) => {
                used.push(at);
                say!("{mutation}\n    {reason}");
            }
            None => {
                say!("{mutation}\n    NOT NOTICED");
                survivors.push(mutation);
            }
        }
    }
    let idle = |at: &usize| places.is_empty() && !used.contains(at);
    let idle: Vec<_> = (0..reasons::REASONS.len()).filter(idle).collect();
    for &at in &idle {
        say!(
            "a reason that no mutation needs: {:?}",
            reasons::REASONS[at]
        );
    }
    say!(
        "{} mutations in {:.0} s: {} noticed, {} not and with a reason, {} not noticed",
        chosen.len(),
        start.elapsed().as_secs_f64(),
        chosen.len() - used.len() - survivors.len(),
        used.len(),
        survivors.len()
    );
    if !survivors.is_empty() || !idle.is_empty() {
        bail!("write a test for each, or a reason into crates/workbench/src/checker/reasons.rs");
    }
    Ok(())
}

/// Writes the copy, with all mutations; returns them by number.
fn write(copy: &Path) -> Result<Vec<Mutation>> {
    let root = workspace::root();
    let crates = copy.join("crates");
    if crates.is_dir() {
        fs::remove_dir_all(&crates)?;
    }
    for name in COPIED {
        copy_folder(&root.join("crates").join(name), &crates.join(name))?;
    }
    fs::copy(root.join("Cargo.lock"), copy.join("Cargo.lock"))?;
    write_manifests(root, copy)?;
    let checked = crates.join("cuda_builder/src/uniformity");
    let mut mutations = Vec::new();
    let mut files: Vec<PathBuf> = fs::read_dir(&checked)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some()) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let mut text = rewrite::file(&name, &fs::read_to_string(file)?, &mut mutations);
        if name == "mod.rs" {
            text.push_str(rewrite::SWITCH);
        }
        fs::write(file, text)?;
    }
    ensure!(
        mutations.len() > 100,
        "only {} mutations: has the check's code another form?",
        mutations.len()
    );
    Ok(mutations)
}

/// A workspace of the copied crates, without what only their other tests need.
fn write_manifests(root: &Path, copy: &Path) -> Result<()> {
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let (before, rest) = manifest
        .split_once("members = [")
        .context("no members in Cargo.toml")?;
    let (_, after) = rest.split_once("\n]").context("no end of members")?;
    let mut text = format!("{before}members = [\"crates/cuda_builder\"]{after}");
    // Patches refer to folders that the copy does not have.
    if let Some(at) = text.find("\n[patch.") {
        let end = text[at + 1..]
            .find("\n[")
            .map_or(text.len(), |end| at + 1 + end);
        text.replace_range(at..end, "");
    }
    fs::write(copy.join("Cargo.toml"), text)?;
    for name in COPIED {
        let path = copy.join("crates").join(name).join("Cargo.toml");
        let manifest = fs::read_to_string(&path)?;
        let (before, rest) = manifest
            .split_once("[dev-dependencies]")
            .context("no dev-dependencies")?;
        let kept: String = rest
            .lines()
            .take_while(|line| !line.starts_with('['))
            .filter(|line| line.starts_with("proptest"))
            .collect();
        fs::write(&path, format!("{before}[dev-dependencies]\n{kept}\n"))?;
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_name() == "benches" || entry.file_name() == "target" {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => copy_folder(&from, &to)?,
            false => {
                fs::copy(&from, &to)?;
            }
        }
    }
    Ok(())
}

/// Compiles the copy's unit tests; returns the program.
fn build(copy: &Path) -> Result<PathBuf> {
    let output = workspace::cargo()
        .args([
            "test",
            "--package",
            "blockwise_builder",
            "--lib",
            "--no-run",
        ])
        .args(["--message-format", "json"])
        .arg("--target-dir")
        .arg(copy.join("target"))
        .current_dir(copy)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = || {
        text.lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
    };
    for message in messages() {
        if message["message"]["level"] == "error" {
            say!(
                "{}",
                message["message"]["rendered"].as_str().unwrap_or_default()
            );
        }
    }
    let mut programs =
        messages().filter_map(|message| Some(message["executable"].as_str()?.into()));
    programs
        .next_back()
        .context("the mutated check does not compile")
}

/// Whether all tests of the check pass with a mutation.
fn passes(tests: &Path, number: Option<usize>) -> Result<bool> {
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            &format!("ulimit -t {PATIENCE} && exec \"$0\" uniformity::"),
        ])
        .arg(tests);
    if let Some(number) = number {
        command.env(VARIABLE, number.to_string());
    }
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot run {}", tests.display()))?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if start.elapsed() > LONGEST {
            child.kill()?;
            child.wait()?;
            bail!("a run of the tests did not get {PATIENCE} s of the processor in {LONGEST:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
