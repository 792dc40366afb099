//! Which tools are found, what is missing, and the command that fixes it. Changes nothing.

use std::fmt::Write as _;
use std::path::Path;

use crate::machine::{Host, Machine};
use crate::search::on_path;
use crate::{Ptxas, Toolchain, gpu, libdevice, nccl};

/// What `blockwise doctor` and `cargo xtask doctor` print.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// The report, many lines.
    pub text: String,
    /// Whether everything needed is there.
    pub complete: bool,
}

/// Examines this machine. `cache` is the folder of fetched tools, `setup` the command that installs
/// what is missing. If `needs_ptxas`, the diagnosis is not complete without ptxas.
pub fn examine(cache: &Path, setup: &str, needs_ptxas: bool) -> Diagnosis {
    let report = Toolchain::search();
    let (mut text, has_host) = for_the_host(&Host);
    let _ = write!(
        text,
        "Rust to PTX (the first complete location is used; if variables choose tools, only \
         those)\n{report}"
    );
    if let Some(toolchain) = report.chosen() {
        let _ = writeln!(text, "  used: {}", toolchain.origin);
    }

    text += "ptxas (checks PTX, counts registers)\n";
    let ptxas = Ptxas::find(cache);
    let _ = match &ptxas {
        Ok(ptxas) => writeln!(text, "  CUDA {}: {}", ptxas.version, ptxas.path.display()),
        Err(error) => writeln!(text, "  {error}"),
    };

    text += "libdevice (kernels that call sin, exp, …; fetched when first needed)\n";
    let _ = match libdevice::find(cache) {
        Ok(path) => writeln!(text, "  {}", path.display()),
        Err(error) => writeln!(text, "  {error}"),
    };

    let chosen = std::env::var(nccl::VARIABLE).ok();
    text += "NCCL (programs on several GPUs load it)\n";
    let _ = match (
        chosen.filter(|path| !path.is_empty()),
        nccl::WHEEL.found(cache),
    ) {
        (Some(path), _) => writeln!(text, "  {path} ({})", nccl::VARIABLE),
        (None, Some(path)) => writeln!(
            text,
            "  fetched; to load it instead of the system's: export {}={}",
            nccl::VARIABLE,
            path.display()
        ),
        (None, None) => writeln!(
            text,
            "  the system's libnccl.so.2, if there is one; else: {setup} --nccl"
        ),
    };

    let _ = writeln!(text, "GPU\n  {}\n", gpu::describe());

    let mut missing = Vec::new();
    if report.chosen().is_none() {
        missing.push(format!("No toolchain can build PTX; {}", report.fix()));
    } else if needs_ptxas && ptxas.is_err() {
        missing.push(format!("ptxas is missing; fix: {setup}"));
    }
    if !has_host {
        missing
            .push("A program that builds for the host is missing: see the first lines.".to_owned());
    }
    let complete = missing.is_empty();
    if complete {
        missing.push("Nothing is missing.".to_owned());
    }
    text += &missing.join("\n");
    Diagnosis { text, complete }
}

/// Programs that are looked up in the PATH, each with how to get it.
const FOR_THE_HOST: [(&str, &str); 2] = [
    ("cargo", "https://rustup.rs"),
    (
        "cc",
        "apt-get install --no-install-recommends gcc libc6-dev; not needed if cargo's settings name \
         another linker",
    ),
];

/// The report on the programs that build for the host, and whether all are found. `cc`, rustc's
/// default linker on Linux, is looked up only there; settings that name another are not read.
fn for_the_host(machine: &dyn Machine) -> (String, bool) {
    let mut text = "Rust for the host, and what it links with\n".to_owned();
    let mut is_whole = true;
    for (name, fix) in FOR_THE_HOST {
        if name == "cc" && !cfg!(target_os = "linux") {
            continue;
        }
        let _ = match on_path(machine, name) {
            Some(path) => writeln!(text, "  {}", path.display()),
            None => {
                is_whole = false;
                writeln!(text, "  no {name} in the PATH; fix: {fix}")
            }
        };
    }
    (text, is_whole)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::io;
    use std::path::PathBuf;

    use super::*;
    use crate::machine::executable;

    struct WithPath(PathBuf);

    impl Machine for WithPath {
        fn variable(&self, name: &str) -> Option<OsString> {
            (name == "PATH").then(|| self.0.clone().into())
        }

        fn home(&self) -> Option<PathBuf> {
            None
        }

        fn root(&self) -> PathBuf {
            self.0.clone()
        }

        fn output(&self, _: &Path, _: &[&str]) -> io::Result<String> {
            Err(io::Error::other("nothing runs here"))
        }
    }

    #[test]
    fn a_machine_without_a_linker_is_told_what_provides_it() {
        let folder = tempfile::tempdir().unwrap();
        let machine = WithPath(folder.path().to_owned());
        let (text, is_whole) = for_the_host(&machine);
        assert!(!is_whole && text.contains("no cargo in the PATH; fix: https://rustup.rs\n"));
        for (name, _) in FOR_THE_HOST {
            assert_eq!(for_the_host(&machine), (text_of(folder.path()), false));
            std::fs::write(folder.path().join(executable(name)), "").unwrap();
        }
        assert_eq!(for_the_host(&machine), (text_of(folder.path()), true));
    }

    /// A line for each program: where it is, or what provides it.
    fn text_of(folder: &Path) -> String {
        let lines = FOR_THE_HOST.map(|(name, fix)| {
            let path = folder.join(executable(name));
            match path.exists() {
                true => format!("  {}\n", path.display()),
                false => format!("  no {name} in the PATH; fix: {fix}\n"),
            }
        });
        format!(
            "Rust for the host, and what it links with\n{}",
            lines.concat()
        )
    }
}
