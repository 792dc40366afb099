//! Why a build script could embed nothing, as the host's compiler shows it.

use crate::{CudaBuilderError, NvvmArch};

/// The file with the errors about single kernels, which `#[kernel]` shows at each of them.
const REFUSED: &str = "refused.txt";

/// The file with the whole error, which `embedded_kernels!` shows where it is called.
const ERROR: &str = "error.txt";

/// The file with the errors of the device's compiler. The host's compiler finds most of them too, at
/// their places: `embedded_kernels!` shows this where the host's finds none.
const LATE: &str = "late.txt";

/// Why nothing can be embedded.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Failure {
    /// What the host's compiler cannot know.
    now: String,
    /// Errors in the code.
    late: String,
}

impl Failure {
    /// The files in the output folder that `cuda_std_macros` reads, with their contents.
    pub(crate) fn files(&self) -> [(&'static str, String); 3] {
        [
            (REFUSED, refused(&self.now)),
            (ERROR, self.now.clone()),
            (LATE, self.late.clone()),
        ]
    }

    pub(crate) fn add(&mut self, error: &CudaBuilderError, package: &str, arch: NvvmArch) {
        let text = match error.is_in_the_code() {
            true => &mut self.late,
            false => &mut self.now,
        };
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&readable(error, package, arch));
    }
}

impl From<String> for Failure {
    fn from(now: String) -> Self {
        Failure {
            now,
            late: String::new(),
        }
    }
}

/// The errors about single kernels, one a line.
fn refused(error: &str) -> String {
    let mut lines: Vec<_> = error
        .lines()
        .filter(|line| line.starts_with("kernel `"))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The error as shown by `embedded_kernels!`.
fn readable(error: &CudaBuilderError, package: &str, arch: NvvmArch) -> String {
    match error {
        CudaBuilderError::Compile { message, .. } => format!(
            "the kernels of `{package}` do not compile for the device ({arch}):\n\n{message}"
        ),
        other => {
            let text = other.to_string();
            // What is about a kernel is a line, which its `#[kernel]` shows.
            let before = if text.starts_with("kernel `") {
                "\n"
            } else {
                " "
            };
            format!("the kernels of `{package}` cannot be built for {arch}:{before}{text}")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use NvvmArch::{Compute80, Compute90};

    #[test]
    fn each_kernels_errors_are_lines() {
        let error = |arch| {
            let reports = ["kernel `b`: two", "kernel `a`: one"].map(str::to_owned);
            let error = CudaBuilderError::Divergence {
                reports: reports.into(),
            };
            readable(&error, "p", arch)
        };
        let both = format!("{}\n\n{}", error(Compute80), error(Compute90));
        assert!(
            both.starts_with("the kernels of `p` cannot be built for sm_80:\nkernel `b`: two\n")
        );
        assert_eq!(refused(&both), "kernel `a`: one\nkernel `b`: two\n");
        assert_eq!(refused(""), "");
    }

    #[test]
    fn only_errors_with_a_place_wait_for_the_hosts() {
        let compile = |message: &str| CudaBuilderError::Compile {
            path: PathBuf::new(),
            target: "sm_80",
            message: message.to_owned(),
        };
        let in_code = || compile("error[E0308]: mismatched types\n  --> src/lib.rs:1:2\n");
        let untested = CudaBuilderError::Untested {
            advice: "rustc 1.94 works".to_owned(),
            source: Box::new(in_code()),
        };
        let mut failure = Failure::default();
        for (arch, error) in [(Compute80, in_code()), (Compute90, untested)] {
            failure.add(&error, "p", arch);
        }
        assert!(
            failure.late.starts_with(
                "the kernels of `p` do not compile for the device (sm_80):\n\nerror[E0308]"
            ) && failure
                .late
                .contains("\n\nthe kernels of `p` cannot be built for sm_90: rustc 1.94 works\n")
                && failure.now.is_empty(),
            "{failure:?}"
        );
        let offline = compile("error: failed to get `x`\n\nCaused by:\n  no network");
        failure = Failure::default();
        failure.add(&offline, "p", Compute80);
        assert!(failure.now.ends_with("no network") && failure.late.is_empty());
    }
}
