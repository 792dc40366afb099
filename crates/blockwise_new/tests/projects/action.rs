//! The script of the action for other repositories' CI (action.yml): all but what needs a network.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::place::{Place, text};
use crate::{new, read, repository, whole_sweeps};

/// Runs the script in an environment as that of the action.
fn script(place: &Place, project: &Path, arguments: &[&str]) -> Output {
    let cargo = place.command(project, &["test"]);
    let mut script = Command::new(repository().join(".ci/action"));
    script.args(arguments).current_dir(project);
    for (name, value) in cargo.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    let beside = Path::new(env!("CARGO")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = [beside.to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&path));
    script.env("PATH", std::env::join_paths(path).unwrap());
    script.env("GITHUB_OUTPUT", project.join("outputs"));
    script.output().unwrap()
}

/// The number of findings that the action hands on.
fn findings(project: &Path) -> String {
    let outputs = read(project.join("outputs"));
    let last = outputs.lines().rfind(|line| line.starts_with("findings="));
    last.unwrap().to_owned()
}

#[test]
fn the_actions_steps_are_those_of_the_script() {
    let action = read(repository().join("action.yml"));
    let script = read(repository().join(".ci/action"));
    let calls: Vec<_> = (action.split(".ci/action\" ").skip(1))
        .map(|call| call.split(' ').next().unwrap())
        .collect();
    assert_eq!(calls, ["install", "test"]);
    for call in calls {
        assert!(script.contains(&format!("\n{call})\n")), "{call}");
    }
    // Inputs and outputs that steps use are declared, and none goes into a command's text.
    for (kind, rest) in (action.split("${{ ").skip(1)).filter_map(|it| it.split_once('.')) {
        let name = rest.split([' ', '.']).next().unwrap();
        if kind == "inputs" {
            assert!(
                action.contains(&format!("\n  {name}:\n    description:")),
                "{name}"
            );
        }
    }
    let commands = action
        .lines()
        .filter(|line| line.trim_start().starts_with("run:"));
    assert!(commands.clone().count() == 2 && !commands.clone().any(|line| line.contains("${{")));
}

#[test]
fn a_failing_test_fails_the_action_and_leaves_a_log() {
    let place = Place::new(&["action"]);
    let project = place.folder.join("action");
    fs::create_dir_all(project.join("src")).unwrap();
    let write = |file: &str, text: &str| fs::write(project.join(file), text).unwrap();
    write(
        "Cargo.toml",
        "[package]\nname = \"action\"\nedition = \"2024\"\n[workspace]\n",
    );
    let source = "#[test] fn first() { assert!(!cfg!(feature = \"bad\")) }\n#[test] fn log_is_named() {\n    \
                  let log = std::env::var(\"BLOCKWISE_SARIF\").unwrap();\n    \
                  assert!(std::path::Path::new(&log).is_absolute());\n    \
                  assert!(std::fs::read_to_string(log).unwrap().contains(\"results\"));\n}\n";
    write("src/lib.rs", source);
    let output = script(&place, &project, &["test", ".", "deep/log.sarif"]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("2 passed"), "{}", text(&output));
    assert!(
        text(&output).contains("findings: 0, in /"),
        "{}",
        text(&output)
    );
    assert_eq!(findings(&project), "findings=0");
    assert!(read(project.join("deep/log.sarif")).contains("\"version\": \"2.1.0\""));

    // Arguments are cargo's; a failure is the script's too.
    let output = script(
        &place,
        &project,
        &[
            "test",
            ".",
            "log.sarif",
            "--no-fail-fast",
            "--lib",
            "log_is",
        ],
    );
    assert!(text(&output).contains("1 passed"), "{}", text(&output));
    write(
        "src/lib.rs",
        &source.replace("!cfg!(feature = \"bad\")", "1 == 2"),
    );
    let output = script(&place, &project, &["test", ".", "log.sarif"]);
    assert_eq!(output.status.code(), Some(101), "{}", text(&output));
    assert!(text(&output).contains("1 passed; 1 failed") && project.join("log.sarif").exists());

    for wrong in [&["test", "."][..], &["install"], &["other"], &[]] {
        let output = script(&place, &project, wrong);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(
            text(&output).contains(".ci/action test FOLDER LOG"),
            "{}",
            text(&output)
        );
    }
}

/// With a stand-in for rustup: the real one would change this machine's toolchains.
#[cfg(unix)]
#[test]
fn the_projects_own_compiler_gets_what_compiles_for_the_device() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (project, programs) = (folder.path().join("my project"), folder.path().join("bin"));
    for folder in [&project, &programs] {
        fs::create_dir(folder).unwrap();
    }
    let rustup = programs.join("rustup");
    for (has_compiler, expected) in [
        (true, &["show active-toolchain"][..]),
        (false, &["show active-toolchain", "toolchain install"]),
    ] {
        let calls = folder.path().join("calls");
        let stand_in = format!(
            "#!/bin/sh\necho \"$(pwd): $*\" >>'{}'\n[ \"$1\" != show ] || {has_compiler}\n",
            calls.display()
        );
        fs::write(&rustup, stand_in).unwrap();
        fs::set_permissions(&rustup, fs::Permissions::from_mode(0o755)).unwrap();
        let output = Command::new(repository().join(".ci/action"))
            .args(["install", "my project"])
            .current_dir(folder.path())
            .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let place = project.canonicalize().unwrap();
        let all = expected
            .iter()
            .chain(&["component add rust-src llvm-tools"]);
        let all: String = all
            .map(|call| format!("{}: {call}\n", place.display()))
            .collect();
        assert_eq!(read(&calls), all);
        fs::remove_file(calls).unwrap();
    }
}

#[test]
fn a_race_in_a_projects_kernel_is_in_the_log_at_its_line() {
    if !whole_sweeps() {
        return;
    }
    let place = Place::new(&["racy"]);
    let project = place.folder.join("racy");
    new(&project).run().unwrap();
    let racy = "\n/// All threads write one word.\n#[kernel]\npub unsafe fn racy(word: *mut u32) {\n    \
                unsafe { *word = thread::thread_idx_x() }\n}\n";
    let kernels = read(project.join("src/kernels.rs"));
    // Only a safe one fits the file as it is.
    let kernels = kernels.replace("#![forbid(unsafe_code)]\n", "") + racy;
    fs::write(project.join("src/kernels.rs"), &kernels).unwrap();
    let test = "\n#[test]\nfn races() {\n    let device = Device::checked();\n    let mut word = device.zeros::<u32>(1).unwrap();\n    \
                let racy = racy::racy::on(&device).unwrap().grid(1).block(64);\n    \
                unsafe { racy.launch(&mut word) }.unwrap();\n}\n";
    let tests = read(project.join("tests/kernels.rs"));
    let test = test.replace("racy::racy::", "racy::kernels::racy::");
    fs::write(project.join("tests/kernels.rs"), tests + &test).unwrap();
    // As a clone has it.
    fs::create_dir(project.join(".git")).unwrap();
    let output = script(&place, &project, &["test", ".", "log.sarif"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(101), "{said}");
    assert!(said.contains("smooth_is_right_and_clean ... ok"), "{said}");
    let log = read(project.join("log.sarif"));
    assert!(log.contains("\"uri\": \"src/kernels.rs\""), "{log}");
    let line = kernels
        .lines()
        .position(|line| line.contains("*word ="))
        .unwrap()
        + 1;
    assert!(log.contains(&format!("\"startLine\": {line}")), "{log}");
    assert_eq!(
        findings(&project),
        format!("findings={}", log.matches("\"ruleId\"").count())
    );
    assert_ne!(findings(&project), "findings=0");
}
