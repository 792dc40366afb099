//! Many kernels built as one crate, and what the compiler and the builder report of each.

use crate::generate::{Kernel, Style};
use cuda_builder::{CudaBuilder, CudaBuilderError};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the generated files.
#[derive(Clone, Debug)]
pub struct Workshop {
    folder: PathBuf,
}

/// The outcome of a batch of kernels.
#[derive(Clone, Debug, Default)]
pub struct Built {
    /// The PTX of [`kernels`](Self::kernels).
    pub ptx: String,
    /// The kernels that were built.
    pub kernels: Vec<Kernel>,
    /// Kernels that the builder's checks refused, each with the report.
    pub refused: Vec<(Kernel, String)>,
    /// Kernels that are not valid Rust, each with the compiler's message.
    pub wrong: Vec<(Kernel, String)>,
    /// Kernels that the compiler may refuse, and did.
    pub not_compiled: usize,
    /// Kernels whose contract differs between host and device, so that the launch refuses them;
    /// each with the error.
    pub not_launched: Vec<(Kernel, String)>,
}

/// Why a build failed.
#[derive(Debug)]
enum Failure {
    /// The report of the builder's checks, which name kernels.
    Refused(String),
    /// The compiler's message, which names lines.
    Wrong(String),
}

impl Workshop {
    /// Makes the folder `name` in the workspace's target folder.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn new(name: &str) -> Self {
        let folder = root().join("target/safe_fuzz").join(name);
        std::fs::create_dir_all(&folder)
            .unwrap_or_else(|error| panic!("cannot make {}: {error}", folder.display()));
        Self { folder }
    }

    /// Builds kernels. Those that are refused or wrong are left out, and the others built again.
    ///
    /// # Panics
    /// When a build fails without naming a kernel, for example because a tool is missing.
    pub fn build(&self, mut kernels: Vec<Kernel>, style: Style) -> Built {
        let mut built = Built::default();
        while !kernels.is_empty() {
            let (text, lines) = source(&kernels, style);
            let failure = match self.compile(&text, style) {
                Ok(ptx) => {
                    built.ptx = ptx;
                    break;
                }
                Err(failure) => failure,
            };
            let mut kept = Vec::new();
            let before = kernels.len();
            for (kernel, lines) in kernels.into_iter().zip(lines) {
                let said = about(&failure, &kernel, &lines);
                match &failure {
                    _ if said.is_empty() => kept.push(kernel),
                    Failure::Refused(_) => built.refused.push((kernel, said)),
                    Failure::Wrong(_) if kernel.may_not_compile => built.not_compiled += 1,
                    Failure::Wrong(_) => built.wrong.push((kernel, said)),
                }
            }
            assert!(
                kept.len() < before,
                "the build fails for no kernel: {failure:?}"
            );
            kernels = kept;
        }
        built.kernels = kernels;
        if style == Style::Safe && built.kernels.iter().any(Kernel::differs) {
            self.launch(&mut built);
        }
        built
    }

    /// Compiles the kernels for the host and asks their handles whether they accept the PTX.
    fn launch(&self, built: &mut Built) {
        // As a part of the workspace: alone, dependencies have other features, and the emulator is
        // compiled once more.
        let mut build = Command::new(env!("CARGO"));
        build
            .args(["build", "--quiet", "--workspace", "--example", "handles"])
            .args(["--features", "safe_fuzz_kernels/generated"])
            .args(["--message-format", "json-render-diagnostics"])
            .args(["--config", &self.variable()]);
        let messages = run(&mut build);
        let program = executable(&messages).expect("cargo names the example's program");
        let output = run(Command::new(program).arg(self.folder.join("kernels.ptx")));
        let refused: HashMap<_, _> = output
            .lines()
            .filter_map(|line| line.split_once(' '))
            .collect();
        for kernel in std::mem::take(&mut built.kernels) {
            match refused.get(&*kernel.name) {
                None => built.kernels.push(kernel),
                Some(error) => built.not_launched.push((kernel, (*error).to_owned())),
            }
        }
    }

    /// The option of Cargo that tells the crate where the generated file is.
    fn variable(&self) -> String {
        let file = self.folder.join("kernels.rs");
        format!("env.SAFE_FUZZ_KERNELS={:?}", file.display().to_string())
    }

    fn compile(&self, text: &str, style: Style) -> Result<String, Failure> {
        let (file, ptx) = (
            self.folder.join("kernels.rs"),
            self.folder.join("kernels.ptx"),
        );
        write(&file, text);
        let feature = match style {
            Style::Safe => "generated",
            Style::Unchecked => "unchecked",
        };
        let result = CudaBuilder::new(root().join("tests/safe_fuzz/kernels"))
            .build_args(&["--features", feature, "--config", &self.variable()])
            .copy_to(&ptx)
            .build();
        match result {
            Ok(ptx) => Ok(std::fs::read_to_string(&ptx)
                .unwrap_or_else(|error| panic!("cannot read {}: {error}", ptx.display()))),
            Err(CudaBuilderError::Compile { message, .. }) => Err(Failure::Wrong(message)),
            Err(error) => Err(Failure::Refused(error.to_string())),
        }
    }
}

/// Runs a program in the workspace's folder; returns its output.
fn run(command: &mut Command) -> String {
    let output = command
        .current_dir(root())
        .output()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} fails: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The program in cargo's messages.
fn executable(messages: &str) -> Option<&str> {
    let (_, rest) = messages.split_once("\"executable\":\"")?;
    rest.split('"').next()
}

/// The kernels as one file, and the lines of each, counted from 1.
fn source(kernels: &[Kernel], style: Style) -> (String, Vec<Range<usize>>) {
    let (mut text, mut lines, mut at) = (String::new(), Vec::new(), 1);
    for kernel in kernels {
        let source = kernel.source(style);
        let end = at + source.lines().count();
        lines.push(at..end);
        at = end;
        text.push_str(&source);
    }
    let entries: Vec<_> = (kernels.iter())
        .map(|kernel| format!("{}::entry()", kernel.name))
        .collect();
    if style == Style::Safe {
        text += &format!(
            "/// Of all kernels here.\n#[cfg(not(target_arch = \"nvptx64\"))]\n\
             pub fn entries() -> Vec<&'static cuda_std::launch::Entry> {{ vec![{}] }}\n",
            entries.join(", ")
        );
    }
    (text, lines)
}

/// The part of a failure that is about one kernel: the builder's lines that name it, or the
/// compiler's paragraphs that point at its lines.
fn about(failure: &Failure, kernel: &Kernel, lines: &Range<usize>) -> String {
    let said: Vec<_> = match failure {
        Failure::Refused(report) => {
            let named = format!("`{}`", kernel.name);
            report
                .lines()
                .filter(|line| line.contains(&named))
                .collect()
        }
        Failure::Wrong(report) => {
            let is_own = |paragraph: &&str| places(paragraph).any(|line| lines.contains(&line));
            report.split("\n\n").filter(is_own).collect()
        }
    };
    said.join("\n")
}

/// The lines of the generated file that a compiler message points at.
fn places(message: &str) -> impl Iterator<Item = usize> {
    let after = message.split("kernels.rs:").skip(1);
    after.filter_map(|text| text.split(':').next()?.parse().ok())
}

/// The workspace's folder.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}
