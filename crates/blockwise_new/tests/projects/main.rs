//! Projects as a user gets them: their files, and that their own tests pass. Needs what
//! `cargo xtask doctor` lists.

mod action;
mod cudarc;
mod exercises;
mod installed;
mod place;
mod rust_cuda;

use std::fs;
use std::path::{Path, PathBuf};

use blockwise_new::{FromRustCuda, Given, Init, New};
use place::{Place, text};

fn new(folder: &Path) -> New {
    New {
        folder: folder.to_owned(),
        name: None,
        exercises: false,
        member: false,
        source: Given::default(),
    }
}

fn init(folder: &Path) -> Init {
    Init {
        folder: folder.to_owned(),
        source: Given::default(),
        moving: FromRustCuda::default(),
    }
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

/// A library with a dependency, as one member of a workspace. Its edition is the oldest one, in which
/// rustfmt sorts otherwise and `panic!` does not look into its text.
fn library(folder: &Path) -> PathBuf {
    let member = folder.join("signal-tools");
    fs::create_dir_all(member.join("src")).unwrap();
    let write = |file: &str, text: &str| fs::write(folder.join(file), text).unwrap();
    write(
        "Cargo.toml",
        "# All of it.\n[workspace]\nmembers = [\"signal-tools\"]\nresolver = \"3\"\n",
    );
    write(
        "signal-tools/Cargo.toml",
        "[package]\nname = \"signal-tools\"\nversion = \"0.1.0\"\nedition = \"2018\"\nbuild = false\n\n# What it needs.\n[dependencies]\n\
         # For reports.\nserde_json = \"1\"\n",
    );
    write(
        "signal-tools/src/lib.rs",
        "//! Tools for signals.\n\nuse std::collections::BTreeMap;\n\n/// A report.\npub fn report(values: &BTreeMap<String, f64>) -> String {\n    \
         serde_json::to_string(values).unwrap_or_default()\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn reports() {\n        \
         assert_eq!(super::report(&Default::default()), \"{}\");\n    }\n}\n",
    );
    fs::copy(repository().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    member
}

/// Whether projects are compiled, which takes a minute of two cores. Says so if not.
fn whole_sweeps() -> bool {
    let all = std::env::var_os("BLOCKWISE_TEST_ALL").is_some();
    if !all {
        println!("left to `cargo xtask test --all`: what cargo makes of the projects");
    }
    all
}

fn repository() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.join("../..").canonicalize().unwrap()
}

#[test]
fn what_is_there_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("deep/wave-tool");
    let outcome = new(&project).run().unwrap();
    assert_eq!(
        (outcome.package.as_str(), Path::new(&outcome.blockwise)),
        ("wave-tool", &*repository())
    );
    assert!(outcome.text.contains("cargo test"), "{}", outcome.text);
    assert!(outcome.files.iter().all(|file| file.is_file()));
    fs::write(project.join("src/lib.rs"), "mine").unwrap();
    let error = new(&project).run().unwrap_err();
    assert!(
        error.to_string().ends_with("is a project already"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("blockwise init"));
    let error = new(&project.join("src")).run().unwrap_err();
    assert!(error.to_string().ends_with("is not empty"), "{error}");
    let error = init(&project).run().unwrap_err();
    assert!(
        error.to_string().ends_with("build.rs is there already"),
        "{error}"
    );
    assert!(
        error
            .hint()
            .unwrap()
            .contains("cuda_builder::embed().finish();")
    );
    assert_eq!(read(project.join("src/lib.rs")), "mine");

    // An empty folder will do, a file will not.
    fs::create_dir(folder.path().join("empty")).unwrap();
    new(&folder.path().join("empty")).run().unwrap();
    let file = new(&project.join("LICENSE"));
    fs::write(&file.folder, "").unwrap();
    let error = file.run().unwrap_err();
    assert!(error.to_string().contains("LICENSE: "), "{error}");
}

#[test]
fn what_cannot_be_made_is_said_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("blockwise");
    let error = new(&project).run().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`blockwise` cannot be the package's name: a dependency of the project has this name"
    );
    assert_eq!(error.hint(), Some("give another one: `--name NAME`"));
    let named = |source: Option<&str>| New {
        folder: project.clone(),
        name: Some("waves".to_owned()),
        exercises: false,
        member: false,
        source: Given {
            path: source.map(PathBuf::from),
            ..Given::default()
        },
    };
    let error = named(Some("/no/such/checkout")).run().unwrap_err();
    assert_eq!(
        error.to_string(),
        "/no/such/checkout is no checkout of Blockwise: /no/such/checkout/crates/blockwise/Cargo.toml is not there"
    );
    assert!(!project.exists());
    named(None).run().unwrap();
    assert!(read(project.join("Cargo.toml")).contains("name = \"waves\""));

    const PACKAGE: &str =
        "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2018\"\n[workspace]\n";
    for (files, message) in [
        (&[][..], "cannot read"),
        (&[("Cargo.toml", "[package")], "Cargo.toml:1: "),
        (
            &[("Cargo.toml", "[workspace]\n")],
            "is no package's manifest",
        ),
        (
            &[("Cargo.toml", PACKAGE), ("src/main.rs", "fn main() {}")],
            "src/lib.rs: No such file",
        ),
        (
            &[
                ("Cargo.toml", PACKAGE),
                ("src/lib.rs", ""),
                ("src/kernels.rs", ""),
            ],
            "src/kernels.rs is there already",
        ),
        (
            &[
                ("Cargo.toml", "[package]\nname = \"a\"\n[workspace]\n"),
                ("src/lib.rs", ""),
            ],
            "Cargo.toml: the package has edition 2015",
        ),
    ] {
        let there = tempfile::tempdir().unwrap();
        fs::create_dir(there.path().join("src")).unwrap();
        for (file, text) in files {
            fs::write(there.path().join(file), text).unwrap();
        }
        let error = init(there.path()).run().unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(!there.path().join("build.rs").exists(), "{message}");
        for (file, text) in files {
            assert_eq!(read(there.path().join(file)), *text, "{message}");
        }
    }
}

#[test]
fn a_second_project_is_a_member_of_the_first_ones_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("first");
    let member = |folder: PathBuf| New {
        member: true,
        ..new(&folder)
    };
    let error = member(first.clone()).run().unwrap_err();
    assert!(error.to_string().ends_with("is in no workspace"), "{error}");
    assert!(!first.exists());

    new(&first).run().unwrap();
    let before = read(first.join("Cargo.toml"));
    let second = first.join("more/second");
    let outcome = member(second.clone()).run().unwrap();
    assert!(outcome.files.contains(&first.join("Cargo.toml")));
    let after = before.replace(
        "[workspace]\n",
        "[workspace]\nmembers = [\"more/second\"]\n",
    );
    assert_eq!(read(first.join("Cargo.toml")), after);
    let manifest = read(second.join("Cargo.toml"));
    for of_root in ["[workspace]", "[profile", "[patch"] {
        assert!(!manifest.contains(of_root), "{manifest}");
    }
    assert!(manifest.contains("links = \"second_kernels\"") && manifest.contains("blockwise = "));
    for of_root in ["Cargo.lock", "rust-toolchain.toml"] {
        assert!(!second.join(of_root).exists(), "{of_root}");
    }
}

#[test]
fn a_kernel_is_added_to_a_library_of_a_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let member = library(folder.path());
    let outcome = init(&member).run().unwrap();
    let root = read(folder.path().join("Cargo.toml"));
    assert!(
        root.starts_with("# All of it.\n[workspace]\nmembers"),
        "{root}"
    );
    assert!(
        root.contains("\n[patch.crates-io]\nfind_cuda_helper = "),
        "{root}"
    );
    let manifest = read(member.join("Cargo.toml"));
    assert!(
        manifest
            .contains("edition = \"2018\"\nlinks = \"signal_tools_kernels\"\n\n# What it needs.\n[target.'cfg(not("),
        "{manifest}"
    );
    assert!(
        manifest.contains("# For reports.\nserde_json = \"1\"\nblockwise = "),
        "{manifest}"
    );
    assert!(
        !manifest.contains("[patch") && !manifest.contains("[profile"),
        "{manifest}"
    );
    let library = read(member.join("src/lib.rs"));
    assert!(
        library.starts_with(
            "//! Tools for signals.\n\n#![cfg_attr(target_arch = \"nvptx64\", no_std)]\n\npub mod kernels;\n\n\
             cuda_std::embedded_kernels!();\n\n#[cfg(not(target_arch = \"nvptx64\"))]\nuse std::"
        ),
        "{library}"
    );
    assert!(read(member.join("tests/kernels.rs")).contains("use signal_tools::kernels::"));
    for said in [
        "Cargo.toml:\n  [profile.dev",
        "links = ",
        "build = false: gone",
        "serde_json",
        "src/lib.rs:\n  #![cfg_attr",
        "3 times",
        "build.rs: new",
    ] {
        assert!(outcome.text.contains(said), "{said}\n{}", outcome.text);
    }
}

/// What README says to do with its first example.
fn paste_readmes_example(project: &Path) {
    let readme = read(repository().join("README.md"));
    let (_, code) = readme.split_once("```rust\n").unwrap();
    let (code, after) = code.split_once("```").unwrap();
    let root = project.join("src/lib.rs");
    for words in ["`src/reverse.rs`", "`pub mod reverse;`"] {
        assert!(
            after
                .trim_start()
                .split("\n\n")
                .next()
                .unwrap()
                .contains(words)
        );
    }
    fs::write(project.join("src/reverse.rs"), code).unwrap();
    let library = read(&root).replace("pub mod kernels;\n", "pub mod kernels;\npub mod reverse;\n");
    fs::write(root, library).unwrap();
}

/// Slow, as that of the exercises: the first time they compile the runtime and the emulator.
#[test]
fn a_projects_own_tests_pass_and_wrong_barriers_do_not_build() {
    if !whole_sweeps() {
        return;
    }
    let place = Place::new(&["wave-tool", "workspace"]);
    let project = place.folder.join("wave-tool");
    new(&project).run().unwrap();
    paste_readmes_example(&project);
    place.passes(&project, &["fmt", "--check"]);
    let said = place.passes(&project, &["test"]);
    for test in [
        "smooth_is_right_and_clean",
        "reverse::reversed_blocks_are_in_their_places",
    ] {
        assert!(said.contains(&format!("test {test} ... ok")), "{said}");
    }
    let said = place.passes(&project, &["run"]);
    assert!(
        said.contains("[0.0, 0.0, 1.0, 2.0, 3.0, 3.0, 3.0, 2.0]"),
        "{said}"
    );
    place.passes(&project, &["check", "--all-targets"]);
    place.passes(&project, &["doc", "--no-deps"]);

    // A second one beside it has its own kernels and compiles nothing but itself.
    let second = New {
        member: true,
        ..new(&project.join("second"))
    };
    second.run().unwrap();
    let said = place.passes(
        &project,
        &["test", "--package", "second", "--test", "kernels"],
    );
    assert!(
        said.contains("test smooth_is_right_and_clean ... ok"),
        "{said}"
    );
    let compiled: Vec<_> = said
        .lines()
        .filter(|line| line.contains("Compiling "))
        .collect();
    assert!(
        matches!(compiled[..], [one] if one.contains(" second v")),
        "{compiled:#?}"
    );

    let kernels = project.join("src/kernels.rs");
    let source = read(&kernels);
    let with = |from: &str, to: &str| {
        assert_eq!(source.matches(from).count(), 1, "{from}");
        fs::write(&kernels, source.replace(from, to)).unwrap();
        let output = place.cargo(&project, &["check"]);
        assert!(!output.status.success(), "{}", text(&output));
        text(&output)
    };
    let said = with(
        "let loaded = block.sync_threads(written)",
        "let loaded = written",
    );
    let message = "error[E0277]: a `Written` array can be read after a barrier";
    // By the host's compiler alone, at each of the three reads.
    assert_eq!(said.matches(message).count(), 3, "{said}");
    assert!(read(project.join("README.md")).contains(message));
    let said = with(
        "for place in",
        "if thread >= y.len() { return; } for place in",
    );
    let message =
        "kernel `smooth`: not all threads of the block reach the barrier at src/kernels.rs:";
    // Each of the two barriers, and no summary.
    assert_eq!(said.matches(message).count(), 2, "{said}");
    assert!(!said.contains("embedded_kernels"), "{said}");

    // The same in a workspace that was there before.
    let folder = place.folder.join("workspace");
    let member = library(&folder);
    init(&member).run().unwrap();
    place.passes(&folder, &["fmt", "--package", "signal-tools", "--check"]);
    let said = place.passes(&folder, &["test"]);
    for test in ["smooth_is_right_and_clean", "tests::reports"] {
        assert!(said.contains(&format!("test {test} ... ok")), "{said}");
    }
}

/// Files of a folder, by their paths in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![path],
        })
        .collect()
}

#[test]
fn a_project_of_a_repository_names_it_with_its_commit_and_no_folder_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    for exercises in [false, true] {
        let project = folder.path().join(format!("waves-{exercises}"));
        let source = Given {
            git: Some("https://example.org/blockwise".to_owned()),
            rev: Some("0123456789abcdef".to_owned()),
            ..Given::default()
        };
        let made = New {
            exercises,
            source: source.clone(),
            ..new(&project)
        };
        let outcome = made.run().unwrap();
        assert!(
            !outcome.text.contains("on this machine only"),
            "{}",
            outcome.text
        );
        let files = files(&project);
        assert!(files.len() > 10);
        for file in files {
            let text = read(&file);
            for here in [repository(), folder.path().to_owned()] {
                let here = here.to_str().unwrap();
                assert!(!text.contains(here), "{}: {here}", file.display());
            }
        }
        let manifest = read(project.join("Cargo.toml"));
        let named = "git = \"https://example.org/blockwise\", rev = \"0123456789abcdef\"";
        assert_eq!(manifest.matches(named).count(), 4, "{manifest}");
        let lock = read(project.join("Cargo.lock"));
        assert_eq!(lock, read(repository().join("Cargo.lock")));

        // The same into a library that exists.
        let member = library(&folder.path().join(format!("workspace-{exercises}")));
        let init = Init {
            source,
            ..init(&member)
        };
        init.run().unwrap();
        assert!(read(member.join("Cargo.toml")).contains(named));
        assert!(read(member.join("../Cargo.toml")).contains(named));
    }
}

/// What cargo takes for the workspace's members.
fn members(root: &Path) -> Vec<String> {
    let mut command = std::process::Command::new(env!("CARGO"));
    command.args(["metadata", "--no-deps", "--offline", "--format-version=1"]);
    let output = command.current_dir(root).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let names = packages.iter().map(|package| package["name"].as_str());
    names.map(|name| name.unwrap().to_owned()).collect()
}

#[test]
fn a_workspace_around_a_new_project_stays_whole() {
    for (patterns, exclude, joins) in [
        ("\"*\"", "", true),
        ("\"own\", \"demo\"", "", true),
        ("\"own\", \"d?mo\"", "", true),
        ("\"own\", \"./demo/\"", "", true),
        ("\"own\"", "", false),
        ("\"*\"", "\"demo\"", false),
        ("\"own*\"", "", false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("own/src")).unwrap();
        fs::write(root.join("own/src/lib.rs"), "").unwrap();
        let own = "[package]\nname = \"own\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        fs::write(root.join("own/Cargo.toml"), own).unwrap();
        let text = format!(
            "[workspace]\nresolver = \"3\"\nmembers = [{patterns}]\nexclude = [{exclude}]\n"
        );
        fs::write(root.join("Cargo.toml"), &text).unwrap();
        // A way around changes nothing.
        let outcome = new(&root.join("own/../demo")).run().unwrap();
        let said = outcome.text.contains("a member of the workspace");
        assert_eq!(said, joins, "{patterns}: {}", outcome.text);
        assert_eq!(read(root.join("Cargo.toml")) != text, joins, "{patterns}");
        let manifest = read(root.join("demo/Cargo.toml"));
        assert_eq!(manifest.contains("[workspace]"), !joins, "{patterns}");
        let mut members = members(root);
        members.sort();
        let expected = if joins {
            &["demo", "own"][..]
        } else {
            &["own"]
        };
        assert_eq!(members, expected, "{patterns}");
        assert!(self::members(&root.join("demo")).contains(&"demo".to_owned()));
    }
}

/// Folders on the way to a project, and links that lead to it, match patterns too.
#[cfg(unix)]
#[test]
fn a_workspace_leaves_out_what_its_pattern_would_take_for_a_member() {
    for (link, place, member, excluded) in [
        (None, "crates/gpu/demo", false, "crates/gpu"),
        (None, "crates/gpu/demo", true, "crates/gpu"),
        (None, "crates/gpu/deep/demo", false, "crates/gpu"),
        (Some("real"), "crates/demo", false, "crates/demo"),
        (Some("../outside"), "crates/demo", false, "crates/demo"),
        (Some("../outside"), "crates/gpu/demo", false, "crates/gpu"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let crates = root.join(link.unwrap_or("crates"));
        fs::create_dir_all(crates.join("own/src")).unwrap();
        fs::write(crates.join("own/src/lib.rs"), "").unwrap();
        let own = "[package]\nname = \"own\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        fs::write(crates.join("own/Cargo.toml"), own).unwrap();
        if let Some(link) = link {
            std::os::unix::fs::symlink(link, root.join("crates")).unwrap();
        }
        let text = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n";
        fs::write(root.join("Cargo.toml"), text).unwrap();
        let project = New {
            member,
            ..new(&root.join(place))
        };
        let outcome = project.run().unwrap();
        let manifest = read(root.join("Cargo.toml"));
        let line = format!("\nexclude = [\"{excluded}\"]\n");
        assert!(manifest.contains(&line), "{place}: {manifest}");
        assert_eq!(outcome.text.contains("leaves it out"), !member, "{place}");
        assert!(outcome.files.contains(&root.join("Cargo.toml")), "{place}");
        let expected: &[_] = if member { &["demo", "own"] } else { &["own"] };
        let mut found = members(&root);
        found.sort();
        assert_eq!(found, expected, "{place}");
        assert!(members(&root.join(place)).contains(&"demo".to_owned()));
    }
}

#[test]
fn an_empty_repository_is_an_empty_folder_and_a_path_is_shown_as_a_shell_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("it's mine");
    fs::create_dir_all(project.join(".git")).unwrap();
    let named = New {
        name: Some("waves".to_owned()),
        ..new(&project)
    };
    let outcome = named.run().unwrap();
    assert!(project.join("src/lib.rs").is_file() && project.join(".git").is_dir());
    assert!(
        outcome.text.contains("it'\\''s mine'\n"),
        "{}",
        outcome.text
    );
}
