//! The arguments of `cargo xtask test`.

use std::ffi::OsString;

/// Options of cargo that take a value.
const WITH_VALUE: [&str; 18] = [
    "-p",
    "--package",
    "--exclude",
    "--test",
    "--bin",
    "--example",
    "--bench",
    "-F",
    "--features",
    "-j",
    "--jobs",
    "--profile",
    "--target",
    "--target-dir",
    "--manifest-path",
    "--config",
    "--color",
    "-Z",
];

/// Options of cargo that choose targets. Without one, all targets and the documentation are tested.
const TARGETS: [&str; 7] = [
    "--lib",
    "--bins",
    "--bin",
    "--tests",
    "--test",
    "--examples",
    "--all-targets",
];

/// What to test, and how.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    /// Whole sweeps.
    pub(crate) all: bool,
    /// A skipped test counts as failed unless it was skipped for lack of a GPU.
    pub(crate) no_skips: bool,
    /// Test only what a change since this revision may have broken.
    pub(crate) changed: Option<OsString>,
    /// For cargo.
    pub(crate) cargo: Vec<OsString>,
    /// For each test program.
    pub(crate) programs: Vec<OsString>,
}

impl Options {
    pub(crate) fn parse(arguments: &[OsString]) -> Self {
        let mut options = Options::default();
        let mut words = arguments.iter().peekable();
        while let Some(word) = words.next() {
            match word.to_str() {
                Some("--") => {
                    options.programs.extend(words.cloned());
                    break;
                }
                Some("--all") => options.all = true,
                Some("--no-skips") => options.no_skips = true,
                Some("--changed") => {
                    let revision = words.next_if(|next| !next.to_string_lossy().starts_with('-'));
                    options.changed = Some(revision.cloned().unwrap_or_else(|| "HEAD".into()));
                }
                Some(option) if option.starts_with('-') => {
                    options.cargo.push(word.clone());
                    if WITH_VALUE.contains(&option) {
                        options.cargo.extend(words.next().cloned());
                    }
                }
                // As in `cargo test NAME`.
                _ => options.programs.push(word.clone()),
            }
        }
        options
    }

    /// Whether everything is tested.
    pub(crate) fn is_whole(&self) -> bool {
        self.cargo.is_empty() && self.programs.is_empty() && self.changed.is_none()
    }

    /// Whether the arguments name packages, so that cargo does not take all.
    pub(crate) fn names_packages(&self) -> bool {
        self.has(&["-p", "--package", "--workspace"])
    }

    /// Whether the examples in the documentation are tested.
    pub(crate) fn with_documentation(&self) -> bool {
        !self.has(&TARGETS)
    }

    fn has(&self, options: &[&str]) -> bool {
        self.cargo.iter().any(|word| {
            let word = word.to_string_lossy();
            let name = word.split('=').next().unwrap_or_default();
            options.contains(&name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn parse(line: &str) -> Options {
        let words: Vec<_> = line.split_whitespace().map(Into::into).collect();
        Options::parse(&words)
    }

    #[test]
    fn arguments_go_to_whom_they_are_meant_for() {
        let options = parse("-p ptx_emulator --test suite warp --all -- --exact");
        assert!(options.all && !options.no_skips && !options.is_whole());
        assert_eq!(options.cargo, ["-p", "ptx_emulator", "--test", "suite"]);
        assert_eq!(options.programs, ["warp", "--exact"]);
        assert!(options.names_packages() && !options.with_documentation());
        assert!(parse("--no-skips --all").is_whole());
        assert!(parse("--package=kernels").names_packages());
        assert!(parse("").with_documentation());
    }

    #[test]
    fn a_revision_may_follow_changed() {
        let revision = |line: &str| parse(line).changed.map(|it| it.into_string().unwrap());
        assert_eq!(revision("--changed"), Some("HEAD".to_owned()));
        assert_eq!(revision("--changed --all"), Some("HEAD".to_owned()));
        assert_eq!(revision("--changed main"), Some("main".to_owned()));
        assert_eq!(revision(""), None);
    }
}
