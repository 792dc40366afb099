//! `cargo xtask test --changed [REVISION]`: the tests that a change most likely breaks, in a minute
//! or two. Prints what is left out; everything runs before a change is merged.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// The variable that limits tests of all kernels to these families.
const KERNELS: &str = "BLOCKWISE_TEST_KERNELS";

/// Files, and the tests for them.
struct Row {
    /// The start of the files' paths.
    prefix: &'static str,
    /// Test programs by package and name, each with filters.
    programs: &'static [(&'static str, &'static str, &'static [&'static str])],
    /// The first words of the names of kernels to test.
    kernels: &'static [&'static str],
}

const fn row(
    prefix: &'static str,
    programs: &'static [(&'static str, &'static str, &'static [&'static str])],
    kernels: &'static [&'static str],
) -> Row {
    Row {
        prefix,
        programs,
        kernels,
    }
}

/// A family's tests, what its kernels refuse, and its kernels with all detectors.
macro_rules! family {
    ($prefix:literal, $kernels:expr, $filters:expr) => {
        row(
            $prefix,
            &[
                ("blockwise_kernels", "contracts", &[]),
                ("blockwise_tests", "kernel_suite", $filters),
                ("blockwise_tests", "detectors", &["nothing_is_reported"]),
            ],
            $kernels,
        )
    };
}

const MATMUL: &[&str] = &["batches::", "contents::", "matmul::", "reads::", "tensor::"];
const REDUCE: &[&str] = &["contents::", "reduce::", "sums::"];

/// Modules of the kernels' suite that only `cargo xtask test` runs: they are about all kernels at
/// once, about kernels with a mistake, or about the device.
#[cfg(test)]
const LEFT: [&str; 7] = [
    "broken",
    "devices_agree",
    "main",
    "parts",
    "refused",
    "reported",
    "stays_inside",
];

const COMMAND: &[(&str, &str, &[&str])] = &[
    ("blockwise_cli", "cli", &[]),
    ("blockwise_cli", "bench", &[]),
    ("blockwise_cli", "memory", &[]),
];

/// The start of paths that no test reads.
const UNREAD: [&str; 5] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "PERFORMANCE.md",
    "docs/log/",
];

/// The first row that matches a path counts. A path without a row needs all tests.
const TABLE: &[Row] = &[
    family!("kernels/src/conv1d/", &["conv1d"], &["conv1d::"]),
    family!("kernels/src/raw/conv1d.rs", &["conv1d"], &["conv1d::"]),
    family!("kernels/src/reduce/", &["dot", "extreme", "sum"], REDUCE),
    family!(
        "kernels/src/raw/reduce.rs",
        &["dot", "extreme", "sum"],
        REDUCE
    ),
    family!("kernels/src/matmul/", &["matmul"], MATMUL),
    family!("kernels/src/raw/matmul.rs", &["matmul"], MATMUL),
    family!("kernels/src/transpose/", &["transpose"], &["movement::"]),
    family!(
        "kernels/src/raw/transpose.rs",
        &["transpose"],
        &["movement::"]
    ),
    family!("kernels/src/reverse/", &["reverse"], &["movement::"]),
    row(
        "kernels/src/scan/",
        &[
            ("blockwise_kernels", "contracts", &[]),
            ("blockwise_ops", "scan", &[]),
            ("blockwise_tests", "detectors", &["nothing_is_reported"]),
        ],
        &["scan"],
    ),
    family!("kernels/src/raw/reverse.rs", &["reverse"], &["movement::"]),
    row(
        "crates/ptx_emulator/src/",
        &[
            ("unoptimised", "emulator_suite", &[]),
            (
                "blockwise_tests",
                "detectors",
                &["one_launch_of_each_kernel"],
            ),
        ],
        &[],
    ),
    row(
        "crates/ptx_emulator/tests/suite/",
        &[("unoptimised", "emulator_suite", &[])],
        &[],
    ),
    row(
        "crates/blockwise_demo/",
        &[
            ("blockwise_demo", "program", &[]),
            ("blockwise_cli", "cli", &["devices::"]),
        ],
        &[],
    ),
    family!(
        "ladder/src/",
        &["conv1d", "dot", "extreme", "peak", "sum", "transpose"],
        &["conv1d::", "movement::", "ptx::", "reduce::"]
    ),
    row("host/src/", COMMAND, &[]),
    row("host/tests/", COMMAND, &[]),
    row("README.md", COMMAND, &[]),
    row("docs/", COMMAND, &[]),
];

/// The tests for a change.
pub(super) struct Plan {
    paths: Vec<String>,
    /// The tests; `None` if everything is to be tested, because of this path.
    pub(super) part: Option<Part>,
    unknown: Option<String>,
}

/// Some of the tests.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Part {
    programs: BTreeSet<(&'static str, &'static str)>,
    /// Filters for each program; empty if all of its tests run.
    filters: Vec<((&'static str, &'static str), &'static [&'static str])>,
    kernels: BTreeSet<&'static str>,
}

impl Part {
    /// The arguments of `cargo test`. All packages: with fewer, features would differ and everything
    /// would be compiled again.
    pub(super) fn cargo(&self) -> Vec<OsString> {
        let mut words = vec!["--workspace"];
        let names: BTreeSet<_> = self.programs.iter().map(|(_, program)| program).collect();
        words.extend(names.into_iter().flat_map(|name| ["--test", name]));
        words.into_iter().map(OsString::from).collect()
    }

    /// Environment variables for the test programs.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        if self.kernels.is_empty() {
            return Vec::new();
        }
        let families: Vec<_> = self.kernels.iter().copied().collect();
        vec![(KERNELS, families.join(","))]
    }

    /// The filters of each program; none if all of its tests run.
    pub(super) fn filters(&self) -> Vec<(String, Vec<OsString>)> {
        let filters = |program: &(&str, &str)| {
            let own = || self.filters.iter().filter(|(of, _)| of == program);
            let whole = own().any(|(_, filters)| filters.is_empty());
            let all = own().flat_map(|(_, filters)| filters.iter());
            let all: BTreeSet<_> = all.filter(|_| !whole).map(OsString::from).collect();
            (
                format!("{}/{}", program.0, program.1),
                all.into_iter().collect(),
            )
        };
        self.programs.iter().map(filters).collect()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} files have changed", self.paths.len())?;
        let Some(part) = &self.part else {
            let path = self.unknown.as_deref().unwrap_or_default();
            return write!(f, "everything is tested: {path} is in no row of the table");
        };
        for (program, filters) in part.filters() {
            let filters: Vec<_> = filters
                .iter()
                .map(|filter| filter.to_string_lossy())
                .collect();
            match filters.is_empty() {
                true => writeln!(f, "  {program}")?,
                false => writeln!(f, "  {program}: {}", filters.join(" "))?,
            }
        }
        if !part.kernels.is_empty() {
            let kernels: Vec<_> = part.kernels.iter().copied().collect();
            writeln!(f, "  of kernels: {}", kernels.join(", "))?;
        }
        write!(
            f,
            "left out: every other test program, unit tests, the documentation's examples, kernels \
             through ptxas, and clippy; `cargo xtask test` and `.ci/run` have them"
        )
    }
}

/// What to test after the changes since `revision`, uncommitted ones included. `None` if there are
/// none that a test reads.
pub(super) fn plan(revision: &OsStr) -> Result<Option<Plan>> {
    let changed = git(&["diff".as_ref(), "--name-only".as_ref(), revision])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"].map(OsStr::new))?;
    let paths = read(changed.lines().chain(new.lines()));
    Ok((!paths.is_empty()).then(|| of(paths)))
}

/// Those of the paths that a test reads.
fn read<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let is_read = |path: &&str| !UNREAD.iter().any(|start| path.starts_with(start));
    paths.filter(is_read).map(str::to_owned).collect()
}

fn of(paths: Vec<String>) -> Plan {
    let mut part = Part::default();
    let mut unknown = None;
    for path in &paths {
        let Some(row) = TABLE.iter().find(|row| path.starts_with(row.prefix)) else {
            unknown.get_or_insert_with(|| path.clone());
            continue;
        };
        for &(package, program, filters) in row.programs {
            part.programs.insert((package, program));
            part.filters.push(((package, program), filters));
        }
        part.kernels.extend(row.kernels);
    }
    Plan {
        paths,
        part: unknown.is_none().then_some(part),
        unknown,
    }
}

fn git(arguments: &[&OsStr]) -> Result<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(workspace::root())
        .output()
        .context("cannot run git")?;
    if !output.status.success() {
        bail!("git: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(paths: &[&str]) -> Plan {
        of(paths.iter().map(|&path| path.to_owned()).collect())
    }

    #[test]
    fn a_kernel_asks_for_its_familys_tests() {
        let part = plan(&["kernels/src/reduce/tree.rs"]).part.unwrap();
        let words = part.cargo().join(OsStr::new(" "));
        let expected = "--workspace --test contracts --test detectors --test kernel_suite";
        assert_eq!(words, expected);
        assert_eq!(part.variables(), [(KERNELS, "dot,extreme,sum".to_owned())]);
        let filters = part.filters();
        assert_eq!(filters[2].0, "blockwise_tests/kernel_suite");
        assert_eq!(filters[2].1, REDUCE);
    }

    #[test]
    fn changes_add_up_and_a_whole_program_stays_whole() {
        let part = plan(&["crates/ptx_emulator/src/lib.rs", "host/src/main.rs"]);
        let text = part.to_string();
        assert!(text.starts_with("2 files have changed\n"), "{text}");
        assert!(text.contains("  unoptimised/emulator_suite\n"), "{text}");
        assert!(text.contains("left out: every other"), "{text}");
        let part = plan(&["kernels/src/conv1d/mod.rs", "kernels/src/matmul/asm.rs"]);
        let filters = part.part.unwrap().filters();
        let all = [
            "batches::",
            "contents::",
            "conv1d::",
            "matmul::",
            "reads::",
            "tensor::",
        ];
        assert_eq!(filters[2].1, all);
    }

    #[test]
    fn a_path_without_a_row_asks_for_everything() {
        let plan = plan(&["host/src/main.rs", "Cargo.toml"]);
        assert_eq!(plan.part, None);
        assert!(
            plan.to_string()
                .ends_with("Cargo.toml is in no row of the table")
        );
    }

    #[test]
    fn prose_beside_a_change_asks_for_nothing() {
        let paths = [
            "CHANGELOG.md",
            "docs/log/2026-11-27-words.md",
            "docs/supported.md",
        ];
        assert_eq!(read(paths.into_iter()), ["docs/supported.md"]);
        for start in UNREAD {
            assert!(workspace::root().join(start).exists(), "{start}");
        }
    }

    #[test]
    fn each_module_of_the_kernels_suite_is_run_or_left_out() {
        let programs = TABLE.iter().flat_map(|row| row.programs);
        let suite = programs.filter(|(_, program, _)| *program == "kernel_suite");
        let chosen: BTreeSet<_> = suite
            .flat_map(|(_, _, filters)| *filters)
            .copied()
            .collect();
        let suite = workspace::root().join("tests/tests/kernel_suite");
        for entry in std::fs::read_dir(suite).unwrap() {
            let path = entry.unwrap().path();
            let module = path.file_stem().unwrap().to_str().unwrap();
            let is_run = chosen.contains(&*format!("{module}::"));
            assert_ne!(is_run, LEFT.contains(&module), "{module}");
        }
    }

    #[test]
    fn each_row_begins_a_path_of_the_tree_and_names_tests_that_there_are() {
        for row in TABLE {
            assert!(
                workspace::root().join(row.prefix).exists(),
                "{}",
                row.prefix
            );
            for (package, program, _) in row.programs {
                if *package == "unoptimised" {
                    let manifest = workspace::root().join("tests/unoptimised/Cargo.toml");
                    let text = std::fs::read_to_string(manifest).unwrap();
                    assert!(text.contains(&format!("name = \"{program}\"")), "{program}");
                    continue;
                }
                let folder = match *package {
                    "blockwise_cli" => "host".to_owned(),
                    "blockwise_kernels" => "kernels".to_owned(),
                    "blockwise_tests" => "tests".to_owned(),
                    package => format!("crates/{package}"),
                };
                let place = workspace::root().join(folder).join("tests").join(program);
                let is_there =
                    place.join("main.rs").is_file() || place.with_extension("rs").is_file();
                assert!(is_there, "{}", place.display());
            }
        }
    }
}
