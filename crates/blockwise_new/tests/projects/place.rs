//! Where the tests make their projects, and how they call cargo in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::repository;

/// A folder that stays from run to run, so that only the projects themselves are compiled again.
/// Tests of `cuda_builder` (`build/embedding.rs`) use it too, with the same settings.
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
}

impl Place {
    /// The folder; what an earlier run left of these projects is removed.
    pub(crate) fn new(projects: &[&str]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects of mine");
        let place = Place { folder };
        for project in projects {
            let _ = fs::remove_dir_all(place.folder.join(project));
        }
        // The repository's own kernels need `core` too: it is compiled once for both.
        let shared = repository().join("target/cuda-builder");
        let link = place.folder.join("target/cuda-builder");
        fs::create_dir_all(&shared).unwrap();
        fs::create_dir_all(place.folder.join("target")).unwrap();
        #[cfg(unix)]
        if !link.exists() {
            std::os::unix::fs::symlink(shared, link).unwrap();
        }
        place
    }

    pub(crate) fn cargo(&self, project: &Path, arguments: &[&str]) -> Output {
        self.command(project, arguments).output().unwrap()
    }

    /// The command of [`cargo`](Self::cargo), before it runs.
    pub(crate) fn command(&self, project: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO"));
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("CUDA_") || name.starts_with("BLOCKWISE_") {
                command.env_remove(&*name);
            }
        }
        command.current_dir(project).args(arguments);
        if arguments[0] != "fmt" {
            command.env("CARGO_NET_OFFLINE", "true");
            // No setting below changes what a test sees. Optimised, the emulator and the builder take
            // longer to compile than all these projects to build and run.
            command.env("CARGO_PROFILE_DEV_DEBUG", "false");
            for setting in [
                "ptx_emulator.opt-level=0",
                "ptx_emulator.codegen-units=16",
                "blockwise_builder.opt-level=0",
            ] {
                command.args(["--config", &format!("profile.dev.package.{setting}")]);
            }
            command.env("CARGO_TARGET_DIR", self.folder.join("target"));
        }
        command
    }

    /// Runs cargo, which must succeed without a warning; returns all that it says.
    #[track_caller]
    pub(crate) fn passes(&self, project: &Path, arguments: &[&str]) -> String {
        let output = self.cargo(project, arguments);
        let text = text(&output);
        assert!(output.status.success(), "cargo {arguments:?}\n{text}");
        assert!(!text.contains("warning"), "cargo {arguments:?}\n{text}");
        text
    }
}

pub(crate) fn text(output: &Output) -> String {
    let parts = [&output.stdout, &output.stderr].map(|part| String::from_utf8_lossy(part));
    parts.join("\n")
}
