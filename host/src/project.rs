//! What every build of the command has: making projects, and what they need on this machine.

use std::path::PathBuf;

use blockwise_new::{Outcome, Tested};
use clap::Args;
use cuda_tools::{cache, doctor, setup};
use serde_json::{Value, json};

/// What to install besides the compiler and LLVM for PTX, and libdevice.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// Fetch NVIDIA's assembler too, by which `blockwise profile` counts registers
    #[arg(long)]
    ptxas: bool,
    /// Fetch NCCL too, which programs on several GPUs load
    #[arg(long)]
    nccl: bool,
}

/// The version, with the commit that it is of and what is in it.
pub(crate) fn version() -> String {
    let commit = blockwise_new::commit();
    let commit = commit.map_or("from a checkout".to_owned(), |it| {
        format!("commit {it:.12}")
    });
    let features = match cfg!(feature = "tools") {
        true => "features tools, cuda, emulator",
        false => "without tools",
    };
    format!("{} ({commit}; {features})", env!("CARGO_PKG_VERSION"))
}

/// The outcome of `new` and `init` as JSON.
pub(crate) fn json(outcome: &Outcome) -> Value {
    json!({
        "folder": outcome.folder,
        "package": outcome.package,
        "blockwise": outcome.blockwise,
        "files": outcome.files,
    })
}

/// What exercises' tests say, as JSON.
pub(crate) fn tested(tested: &Tested) -> Value {
    let exercises = tested.exercises.iter();
    let exercises: Vec<_> = exercises
        .map(|(name, passes)| json!({ "exercise": name, "pass": passes }))
        .collect();
    json!({ "exercises": exercises, "pass": tested.pass() })
}

/// Installs what is missing; returns what is there then.
pub(crate) fn setup(arguments: Setup) -> Result<String, String> {
    let setup = setup::Setup {
        cache: &fetched()?,
        ptxas: arguments.ptxas,
        nccl: arguments.nccl,
    };
    let mut text = setup.run()?;
    if blockwise_new::IS_PACKAGED
        && let Some(cache) = cache::folder()
    {
        blockwise_new::no_toolkit(&cache)
            .map_err(|error| format!("{}: {error}", cache.display()))?;
        text += &format!("\nthe command with its tools: {}", install());
    }
    Ok(text)
}

/// How the command is installed with its tools. From a registry, the build script of cust would look
/// for a CUDA toolkit; `setup` has made what it is shown.
pub(crate) fn install() -> String {
    let (variable, from) = match blockwise_new::installed_from() {
        Some((url, commit)) => (
            String::new(),
            format!("--git {url} --rev {commit} blockwise_cli"),
        ),
        None if blockwise_new::IS_PACKAGED => {
            let folder = cache::folder().unwrap_or_default().join("no-cuda-toolkit");
            let variable = format!("CUDA_LIBRARY_PATH={} ", folder.display());
            (variable, "blockwise_cli".to_owned())
        }
        None => (String::new(), "--path host".to_owned()),
    };
    format!("{variable}cargo install --locked {from} --features tools")
}

/// Lists what is there and what is missing, on this machine and in the workspace around the working
/// directory.
pub(crate) fn doctor() -> Result<doctor::Diagnosis, String> {
    let mut found = doctor::examine(&fetched()?, "blockwise setup", false);
    let folder = std::env::current_dir().ok();
    if let Some(missing) = folder.and_then(|folder| blockwise_new::missing_patch(&folder)) {
        let mut text = &*found.text;
        if missing.is_needed {
            found.complete = false;
            text = text.trim_end_matches("Nothing is missing.").trim_end();
        }
        found.text = format!("{text}\n\nThis workspace: {}", missing.text.trim_end());
    }
    Ok(found)
}

fn fetched() -> Result<PathBuf, String> {
    cache::tools().ok_or_else(|| {
        "there is no folder for what is fetched: set XDG_CACHE_HOME or HOME".to_owned()
    })
}
