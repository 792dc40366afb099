//! Runs the command and looks at what it says.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use blockwise::device::{PTX_FOLDER_VARIABLE, PtxSource};
use serde_json::Value;

/// The command, on the emulator: these tests are about files and messages, and are to say the same on every machine.
pub(crate) fn blockwise<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blockwise"));
    command
        .args(["--device", "emulator"])
        .args(arguments)
        .env(PTX_FOLDER_VARIABLE, ptx_folder());
    command
}

/// The folder of the PTX that this test program finds, wherever it starts the command.
pub(crate) fn ptx_folder() -> PathBuf {
    let file = PtxSource::standard()
        .select((9, 0))
        .unwrap_or_else(|error| panic!("{error}; {}", error.hint().unwrap_or("no hint")));
    let folder = file.path.parent().expect("a file lies in a folder");
    folder.canonicalize().expect("it was just read")
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
        let lines: Vec<&str> = self
            .stderr
            .lines()
            .filter(|line| !line.starts_with("kernels from"))
            .collect();
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
