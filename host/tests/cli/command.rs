//! Runs the command and looks at what it says.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use launch_contract::launch::Kernels;
use serde_json::Value;

/// The command, on the emulator: these tests are about files and messages, and are to say the same
/// on every machine.
pub(crate) fn blockwise<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = program();
    command.args(["--device", "emulator"]).args(arguments);
    command
}

/// The command with the kernels that it embeds.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blockwise"));
    command.env_remove("BLOCKWISE_PTX_DIR");
    command
}

/// The command's words, in a folder, with this much room for addresses.
#[cfg(target_os = "linux")]
pub(crate) fn limited(folder: &Path, line: &str, kib: u64) -> Command {
    let program = blockwise(line.split_whitespace());
    let mut limited = Command::new("sh");
    limited
        .current_dir(folder)
        .args(["-c", &format!("ulimit -v {kib} && exec \"$0\" \"$@\"")])
        .arg(program.get_program())
        .args(program.get_args());
    for (name, value) in program.get_envs() {
        limited.env(name, value.unwrap_or_default());
    }
    // glibc would try in vain, at each allocation, to give every thread an arena of 64 MiB.
    limited.env("MALLOC_ARENA_MAX", "1");
    limited
}

/// The embedded kernels' PTX with subtractions where this one adds, as a file in `folder`.
pub(crate) fn with_mistake(folder: &Path, kernel: &str) -> PathBuf {
    of_crate(&kernels::KERNELS, folder, kernel)
}

/// The same of a kernel of this crate.
pub(crate) fn of_crate(embedded: &Kernels, folder: &Path, kernel: &str) -> PathBuf {
    let ptx = embedded.files[0].text().expect("PTX");
    let entry = ptx.find(&format!(".entry {kernel}(")).expect("the kernel");
    let (before, text) = ptx.split_at(entry);
    let (body, after) = text.split_at(text.find(".visible").unwrap_or(text.len()));
    let mutant = ["f32", "f64"].iter().fold(body.to_owned(), |text, of| {
        text.replace(&format!("\tadd.{of}"), &format!("\tsub.{of}"))
    });
    assert_ne!(mutant, body, "the kernel adds");
    // `cargo xtask build-ptx` names files by the library.
    let stem = embedded.package.trim_start_matches("blockwise_");
    let broken = folder.join(format!("{stem}.sm_80.ptx"));
    fs::write(&broken, [before, &mutant, after].concat()).expect("a file");
    broken
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Runs the words of `line` in `folder`.
    pub(crate) fn line(folder: &Path, line: &str) -> Self {
        Self::of(blockwise(line.split_whitespace()).current_dir(folder))
    }

    /// Runs a command. However it ends, it must not panic.
    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Self {
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let run = Run {
            code: status.code(),
            stdout: text(stdout),
            stderr: text(stderr),
        };
        assert!(!run.stderr.contains("panicked"), "{run:?}");
        run
    }

    /// Carried out with this exit code.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Refused with one line that contains `expected`, and at most a hint after it.
    #[track_caller]
    pub(crate) fn refused(&self, expected: &str) {
        assert_eq!(self.code, Some(2), "{self:?}");
        let lines: Vec<&str> = self.stderr.lines().collect();
        assert!(
            lines[0].starts_with("error: ") && lines[0].contains(expected),
            "`{expected}` is not in {self:?}"
        );
        assert!(
            lines.len() == 1 || (lines.len() == 2 && lines[1].starts_with("hint: ")),
            "{self:?}"
        );
        assert_eq!(self.stdout, "");
    }

    /// The one JSON document on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A file of NumPy's and SciPy's outputs.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/fixtures")
        .join(name)
}

/// A `.npy` file's bytes.
pub(crate) fn npy(descr: &str, fortran_order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header =
        format!("{{'descr': {descr}, 'fortran_order': {fortran_order}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// A vector of float64 as `.npy`.
pub(crate) fn vector(values: &[f64]) -> Vec<u8> {
    let data: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    npy("'<f8'", "False", &format!("({},)", values.len()), &data)
}

/// The names of a folder's files, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}
