//! One crate for host and device: its build script embeds its own kernels. Builds projects as a
//! user has them, outside the workspace: the builder and `core` from nothing, so only whole sweeps do
//! it. In the workspace, `kernels` and the crates of `tests/` embed theirs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{assert_success, copy_lock_file, repository, share, whole_sweeps};

const LIBRARY: &str = "//! A library with a kernel.
#![warn(missing_docs)]
#![cfg_attr(target_arch = \"nvptx64\", no_std)]
#![cfg_attr(feature = \"slow\", allow(unused))]
use cuda_std::prelude::*;

/// Host only: the device build must not see it.
#[cfg(not(target_arch = \"nvptx64\"))]
pub mod host;

cuda_std::embedded_kernels!();

/// What the host reads of the build script's environment.
pub const CONNECTED: bool = option_env!(\"CUDA_STD_KERNELS\").is_some();

/// Mirrors.
#[kernel]
pub unsafe fn mirror(input: &[f32], output: *mut f32) {
    let tile = shared_array![f32; 256];
    let thread = thread::thread_idx_x() as usize;
    unsafe {
        tile.add(thread).write(*input.get_unchecked(thread));
        thread::sync_threads();
        output.add(thread).write(*tile.add(255 - thread));
    }
}

/// With the feature.
#[cfg(feature = \"fast\")]
#[kernel]
pub unsafe fn fast(output: *mut f32) { unsafe { *output = 1.0 } }

/// On one architecture.
#[cfg(target_feature = \"compute_90a\")]
#[kernel]
pub unsafe fn newest(output: *mut f32) { unsafe { *output = 1.0 } }
";

const MAIN: &str = "
fn main() {
    for file in mine::KERNELS.files {
        let text = file.text().unwrap();
        let entries = text.lines().filter_map(|line| line.strip_prefix(\".visible .entry \"));
        let names: Vec<_> = entries.map(|line| line.trim_end_matches('(')).collect();
        println!(\"{} {}: {} {}\", mine::KERNELS.package, file.arch, names.join(\" \"), text.contains(\".loc\"));
    }
    println!(\"{} {}\", mine::CONNECTED, mine::host::ANSWER);
}
";

/// A project of its own, in a folder that the next run finds again: then all but the project itself
/// is compiled already. The tests of `blockwise_new` compile there too, with the same settings, so
/// that the builder is compiled once for all.
struct Project {
    folder: PathBuf,
}

impl Project {
    fn new(name: &str, links: &str) -> Self {
        // A blank in the path, so that every test is one with such a path.
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects of mine");
        let project = Project {
            folder: folder.join(name),
        };
        fs::create_dir_all(project.folder.join("src")).unwrap();
        copy_lock_file(&project.folder);
        let [cuda_std, cuda_builder] =
            ["cuda_std", "cuda_builder"].map(|name| repository().join("crates").join(name));
        project.write(
            "Cargo.toml",
            &format!(
                "[workspace]\n[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{links}\n\
                 [lib]\nname = \"mine\"\n[features]\ndefault = [\"fast\"]\nfast = []\nslow = []\n\
                 [dependencies]\ncuda_std = {{ package = \"blockwise_std\", path = {cuda_std:?}, default-features = false }}\n\
                 [build-dependencies]\ncuda_builder = {{ package = \"blockwise_builder\", path = {cuda_builder:?} }}\n\
                 [profile.dev]\ndebug = false\n"
            ),
        );
        project.write(
            "build.rs",
            "fn main() { cuda_builder::embed().finish(); }\n",
        );
        project.write("src/lib.rs", LIBRARY);
        project.write(
            "src/host.rs",
            "//! Host.\n/// Host.\npub const ANSWER: u32 = 42;\n",
        );
        project.write("src/main.rs", MAIN);
        share(&project.target(), "cuda-builder");
        project
    }

    /// Of all projects. `core` is there already when the repository's own kernels are.
    fn target(&self) -> PathBuf {
        self.folder.with_file_name("target")
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.folder.join(file), text).unwrap();
    }

    fn cargo(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        Command::new(env!("CARGO"))
            .current_dir(&self.folder)
            .args(["--offline", "--config"])
            .arg(format!("build.target-dir={:?}", self.target()))
            .args(arguments)
            .env_remove("DOCS_RS")
            .env_remove("BLOCKWISE_ARCH")
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }

    /// What the program prints, and what cargo says.
    #[track_caller]
    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> (String, String) {
        let output = self.cargo(&[&["run"], arguments].concat(), variables);
        let printed = assert_success(&output);
        (
            printed,
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    }

    /// The messages of a build that fails.
    #[track_caller]
    fn failing(&self, command: &str, variables: &[(&str, &str)]) -> String {
        let output = self.cargo(&[command], variables);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

#[test]
fn a_crates_own_kernels_are_in_its_program() {
    if !whole_sweeps("a project that embeds its kernels") {
        return;
    }
    let project = Project::new("embeds_its_own", "links = \"embeds_its_own_kernels\"");
    let (printed, messages) = project.run(&[], &[]);
    assert_eq!(printed, "embeds_its_own sm_80: fast mirror true\ntrue 42\n");
    assert!(!messages.contains("warning"), "{messages}");

    // Where every other crate's device build lies, which shares `core` with it.
    let ptx = repository().join("target/cuda-builder/sm_80/ptx/mine.ptx");
    assert!(ptx.is_file() && !project.folder.join("target").exists());

    // Nothing changed: nothing is done. A file of the host: no kernel is built.
    let verbose = |variables: &[(&str, &str)]| project.run(&["--verbose"], variables).1;
    let messages = verbose(&[]);
    assert!(
        messages.contains("Fresh embeds_its_own") && messages.matches("Running `").count() == 1,
        "{messages}"
    );
    project.write(
        "src/host.rs",
        "//! Host.\n/// Host.\npub const ANSWER: u32 = 43;\n",
    );
    let messages = verbose(&[]);
    assert!(
        messages.contains("--crate-name mine") && !messages.contains("build-script-build"),
        "{messages}"
    );

    // The host's features are the device's.
    let (printed, _) = project.run(&["--no-default-features", "--features=slow"], &[]);
    assert_eq!(printed, "embeds_its_own sm_80: mirror true\ntrue 43\n");

    let (printed, _) = project.run(&[], &[("BLOCKWISE_ARCH", "sm_80,sm_90a")]);
    assert_eq!(
        printed,
        "embeds_its_own sm_80: fast mirror true\nembeds_its_own sm_90a: fast mirror newest true\ntrue 43\n"
    );
    // As on docs.rs.
    let (printed, _) = project.run(&[], &[("DOCS_RS", "1")]);
    assert_eq!(printed, "true 43\n");
}

#[test]
fn what_cannot_be_built_is_shown_once_the_devices_errors_last() {
    if !whole_sweeps("errors of a project that embeds its kernels") {
        return;
    }
    let project = Project::new("embeds_wrongly", "links = \"embeds_wrongly_kernels\"");
    let mut line = LIBRARY.lines().count() + 1;
    // Of both compilers: at its place, once.
    let both = "fn wrong() -> u32 { \"text\" }\n";
    project.write("src/lib.rs", &format!("{LIBRARY}{both}"));
    for command in ["check", "build", "test", "clippy"] {
        let messages = project.failing(command, &[]);
        for (part, count) in [
            ("error[E0308]: mismatched types", 1),
            (&format!("src/lib.rs:{line}:"), 1),
            ("expected `u32`, found `&str`", 1),
            ("the kernels of `embeds_wrongly`", 0),
        ] {
            let found = messages.matches(part).count();
            assert_eq!(found, count, "{command}: {part}\n{messages}");
        }
    }

    // Of the device's alone, after those of the host's.
    let device =
        "#[cfg(target_arch = \"nvptx64\")]\nfn wrong() -> u32 { \"text\" }\nfn unused() {}\n";
    let host = "#[cfg(not(target_arch = \"nvptx64\"))]\nfn also_wrong() -> u32 { 1.5 }\n";
    project.write("src/lib.rs", &format!("{LIBRARY}{device}{host}"));
    let messages = project.failing("check", &[]);
    assert!(
        messages.contains("expected `u32`, found floating-point number")
            && !messages.contains("found `&str`"),
        "{messages}"
    );
    project.write("src/lib.rs", &format!("{LIBRARY}{device}"));
    line += 1;
    for command in ["check", "build"] {
        let messages = project.failing(command, &[]);
        for part in [
            "error: unused array of `KernelsThatDoNotCompileForTheDevice` that must be used",
            "= note: the kernels of `embeds_wrongly` do not compile for the device (sm_80):",
            &format!("src/lib.rs:{line}:"),
            "expected `u32`, found `&str`",
        ] {
            assert!(messages.contains(part), "{command}: {part}\n{messages}");
        }
        assert!(
            !messages.contains("let _") && !messages.contains("E0080"),
            "{messages}"
        );
    }
    // The host's errors have the line to write beside them, from the device's.
    let habits = "pub fn mixed(x: &[f32]) -> f32 { 0.5f64 * x[0] }\n\
                  pub fn indexed(i: i32, x: &[f32]) -> f32 { x[i] }\n";
    let begins = LIBRARY.lines().count();
    for (text, shown) in [
        (habits, [(1, "{ 0.5 * x[0] }`"), (2, "`x[i as usize]`")]),
        (
            "static COUNT: u32 = 0;\npub fn counts() { COUNT += 1; }\npub fn read() -> u32 { COUNT }\n",
            [
                (2, "`counts.add(0, 1);`"),
                (2, "a kernel writes to its parameters"),
            ],
        ),
        (
            "pub fn launched() {\n    twice<<<(8, 8), 256>>>(2.0, &x);\n}\n",
            [
                (
                    2,
                    "`twice::on(&device)?.grid((8, 8)).block(256).launch(2.0, &x)?;`",
                ),
                (2, "a launch is a call"),
            ],
        ),
    ] {
        project.write("src/lib.rs", &format!("{LIBRARY}{text}"));
        let messages = project.failing("check", &[]);
        for (line, shown) in shown {
            let place = format!(
                "warning: embeds_wrongly@0.1.0: src/lib.rs:{}: ",
                begins + line
            );
            assert!(
                messages
                    .lines()
                    .any(|line| line.starts_with(&place) && line.contains(shown)),
                "{place}{shown}\n{messages}"
            );
        }
    }
    // Where lints are capped, as for a package of a registry, no code is generated from it.
    project.write("src/lib.rs", &format!("{LIBRARY}{device}"));
    let capped = ["rustc", "--lib", "--", "--cap-lints=allow"];
    let output = project.cargo(&capped, &[]);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && messages.contains("expected `u32`, found `&str`"),
        "{messages}"
    );

    // A tool that is missing is an error that says what to do; once it is there, the next build
    // needs no other change.
    project.write("src/lib.rs", LIBRARY);
    let missing = [("BLOCKWISE_LLVM_BIN", "/no/such/folder")];
    let messages = project.failing("check", &missing);
    assert!(
        messages.contains("cannot be built for sm_80: no toolchain here can build PTX")
            && messages.contains("BLOCKWISE_LLVM_BIN=/no/such/folder does not exist")
            && messages.contains("fix: correct or unset the variable"),
        "{messages}"
    );
    let messages = project.failing("check", &[("BLOCKWISE_ARCH", "sm_12")]);
    assert!(
        messages.contains("BLOCKWISE_ARCH=sm_12: unknown architecture `sm_12`"),
        "{messages}"
    );
    let (printed, _) = project.run(&[], &[]);
    assert!(printed.contains("fast mirror"), "{printed}");
}

/// Without `links` the device build runs the build script, which then does nothing; with one that
/// generates code, that is needed.
#[test]
fn a_build_script_may_have_more_to_do() {
    if !whole_sweeps("a build script with more to do") {
        return;
    }
    let project = Project::new("embeds_and_generates", "");
    project.write(
        "build.rs",
        "fn main() {
            let out = std::path::PathBuf::from(std::env::var(\"OUT_DIR\").unwrap());
            std::fs::write(out.join(\"table.rs\"), \"[1.0_f32, 2.0, 3.0]\").unwrap();
            println!(\"cargo:rustc-check-cfg=cfg(flag)\");
            cuda_builder::embed().options(|builder| builder.build_args(&[\"--\", \"--cfg=flag\"])).finish();
        }\n",
    );
    let table = "/// Of the script.\npub static TABLE: [f32; 3] = include!(concat!(env!(\"OUT_DIR\"), \"/table.rs\"));\n";
    let source = LIBRARY.replace(
        "*tile.add(255 - thread)",
        "*tile.add(255 - thread) + TABLE[thread % 3]",
    );
    let flagged = "/// By a flag.\n#[cfg(flag)]\n#[kernel]\npub unsafe fn flagged(output: *mut f32) { unsafe { *output = 1.0 } }\n";
    project.write("src/lib.rs", &format!("{source}{table}{flagged}"));
    let (printed, _) = project.run(&[], &[]);
    assert_eq!(
        printed,
        "embeds_and_generates sm_80: fast flagged mirror true\ntrue 42\n"
    );
    let (_, messages) = project.run(&["--verbose"], &[]);
    assert!(
        messages.contains("Fresh embeds_and_generates"),
        "{messages}"
    );
}
