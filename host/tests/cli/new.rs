//! Projects of one's own. That they build and pass is tested where they are made
//! (`crates/blockwise_new`).

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{Run, names, program};

#[test]
fn a_project_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| {
        let words = line.split_whitespace();
        Run::of(program().args(words).current_dir(folder.path()))
    };
    let made = run("new wave-tool").ends(0);
    assert!(
        made.stdout.starts_with("wave-tool: package `wave-tool`")
            && made.stdout.contains("cd wave-tool\n  cargo test "),
        "{made:?}"
    );
    run("new wave-tool").refused("wave-tool is a project already");
    run("new fn").refused("`fn` cannot be the package's name: it is a keyword of Rust");
    run("new other --path .").refused(". is no checkout of Blockwise");
    run("new other --git git@example.org:a/b").refused("is no address that cargo can fetch from");
    run("new other --tag v1").refused("`--tag` of which repository?");
    assert_eq!(names(folder.path()), ["wave-tool"]);
    let made = run("new two --name second --json").ends(0).json();
    assert_eq!(made["package"], "second");
    assert_eq!(made["files"].as_array().map(Vec::len), Some(14));
    assert!(
        made["blockwise"]
            .as_str()
            .is_some_and(|path| path.starts_with('/'))
    );
    let words = "new three --git https://example.org/blockwise --tag v1 --json";
    let made = run(words).ends(0).json();
    assert_eq!(made["blockwise"], "https://example.org/blockwise at tag v1");
    assert_eq!(made["files"].as_array().map(Vec::len), Some(15));
}

/// A file that cannot be written whole, as on a full disk.
#[cfg(unix)]
#[test]
fn half_a_project_is_never_left() {
    let folder = tempfile::tempdir().unwrap();
    let limited = |words: &str| {
        let script = format!("trap '' XFSZ; ulimit -f 1; exec \"$0\" {words}");
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", &script])
            .arg(env!("CARGO_BIN_EXE_blockwise"));
        Run::of(command.current_dir(folder.path()))
    };
    limited("new deep/demo").refused("cannot write ");
    assert_eq!(names(folder.path()), [""; 0]);
    fs::create_dir(folder.path().join("empty")).unwrap();
    limited("new empty").refused("cannot write ");
    assert_eq!(names(&folder.path().join("empty")), [""; 0]);

    let manifest = "[package]\nname = \"waves\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    fs::write(folder.path().join("empty/Cargo.toml"), manifest).unwrap();
    fs::create_dir(folder.path().join("empty/src")).unwrap();
    fs::write(folder.path().join("empty/src/lib.rs"), "").unwrap();
    limited("init empty").refused("cannot write ");
    assert_eq!(names(&folder.path().join("empty")), ["Cargo.toml", "src"]);
    assert_eq!(names(&folder.path().join("empty/src")), ["lib.rs"]);
    let left = fs::read_to_string(folder.path().join("empty/Cargo.toml")).unwrap();
    assert_eq!(left, manifest);
}

/// Cargo reads `[patch]` only in a workspace's root. `doctor` prints the lines that are missing
/// there; with them cargo takes our package in place of crates.io's.
#[test]
fn the_doctor_names_the_patch_that_a_workspace_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let repository = repository.canonicalize().unwrap();
    let manifest = folder.path().join("Cargo.toml");
    let lines = format!(
        "[package]\nname = \"elsewhere\"\nedition = \"2024\"\n\n[dependencies]\n\
         blockwise = {{ path = {:?}, features = [\"cuda\"] }}\n",
        repository.join("crates/blockwise")
    );
    fs::write(&manifest, &lines).unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/lib.rs"), "").unwrap();
    // The repository's versions; where nothing is patched, a build would lock crates.io's package.
    let lock = fs::read_to_string(repository.join("Cargo.lock")).unwrap();
    let ours = "name = \"find_cuda_helper\"\nversion = \"0.2.0\"\n";
    let theirs =
        format!("{ours}source = \"registry+https://github.com/rust-lang/crates.io-index\"\n");
    assert!(lock.contains(ours) && !lock.contains(&theirs));
    let write_lock = |text: &str| fs::write(folder.path().join("Cargo.lock"), text).unwrap();
    let doctor = || {
        let mut command = program();
        command
            .args(["doctor", "--json"])
            .current_dir(folder.path().join("src"))
            .env_remove("CUDA_LIBRARY_PATH");
        let found = Run::of(&mut command).json();
        let text = found["result"].as_str().unwrap().to_owned();
        (found["pass"] == true, text)
    };
    write_lock(&lock.replace(ours, &theirs));
    let (_, text) = doctor();
    let (_, patch) = text
        .split_once(&format!("{} needs:\n\n", manifest.display()))
        .unwrap_or_else(|| panic!("{text}"));
    assert!(patch.contains("[patch.crates-io]"), "{text}");
    fs::write(&manifest, format!("{lines}\n{patch}\n")).unwrap();
    write_lock(&lock);
    // Not `metadata`, which asks for the packages of other platforms too.
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline"]);
    let output = cargo.current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let tree = String::from_utf8_lossy(&output.stdout);
    let ours = format!("find_cuda_helper v0.2.0 ({}", repository.display());
    assert!(tree.contains(&ours), "{tree}");
    let (passes, text) = doctor();
    assert!(passes && text.ends_with("Nothing is missing."), "{text}");
}

#[test]
fn the_doctor_says_what_is_there_and_what_is_missing() {
    let run = |rustc: Option<&str>| {
        let mut command = program();
        command
            .args(["doctor", "--json"])
            .env_remove("BLOCKWISE_RUSTC");
        Run::of(command.envs(rustc.map(|path| ("BLOCKWISE_RUSTC", path))))
    };
    let found = run(None).ends(0).json();
    assert_eq!(found["pass"], true);
    let text = found["result"].as_str().unwrap();
    for part in [
        "Rust for the host",
        "Rust to PTX",
        "libdevice",
        "NCCL",
        "GPU",
        "Nothing is missing.",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let missing = run(Some("/no/such/rustc")).ends(1).json();
    assert_eq!(missing["pass"], false);
    let text = missing["result"].as_str().unwrap();
    assert!(
        text.contains("BLOCKWISE_RUSTC=/no/such/rustc does not exist") && text.contains("fix:"),
        "{text}"
    );
}

#[test]
fn a_kernel_is_added_to_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let run = || {
        Run::of(
            program()
                .args(["init", "--json"])
                .current_dir(folder.path()),
        )
    };
    let error = run().ends(2).json()["error"].to_string();
    assert!(error.contains("cannot read ./Cargo.toml"), "{error}");
    fs::write(folder.path().join("Cargo.toml"), "[package\n").unwrap();
    assert_eq!(
        run().json()["error"],
        "./Cargo.toml:1: unclosed table, expected `]`"
    );
    fs::write(
        folder.path().join("Cargo.toml"),
        "[package]\nname = \"waves\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    )
    .unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/lib.rs"), "").unwrap();
    assert_eq!(run().ends(0).json()["package"], "waves");
    assert_eq!(
        names(folder.path()),
        ["Cargo.toml", "build.rs", "src", "tests"]
    );
    assert!(
        run().ends(2).json()["hint"]
            .to_string()
            .contains("cuda_builder::embed()")
    );
}

/// With a cargo that fails for one exercise: what it says is tested where it is made.
#[cfg(unix)]
#[test]
fn an_exercise_is_made_once_and_tested_by_its_number() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let cargo = folder.path().join("cargo");
    let script =
        "#!/bin/sh\necho \"called in $PWD with $*\"\ncase \"$*\" in *e03*) exit 101;; esac\n";
    fs::write(&cargo, script).unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let book = folder.path().join("book");
    fs::create_dir(&book).unwrap();
    let run_in = |place: &str, line: &str| {
        let words = line.split_whitespace();
        let mut command = program();
        command.args(words).current_dir(book.join(place));
        Run::of(command.env("CARGO", &cargo))
    };
    run_in("", "exercise 17").refused("there is no exercise `17`");
    assert_eq!(names(&book), [""; 0]);
    // What cargo and the tests say does not mix with the answer.
    let made = run_in("", "exercise 2").ends(0);
    assert_eq!(made.stdout, "e02_covering: passes\n");
    assert!(
        made.stderr
            .contains("book/exercises with test --test e02_covering")
            && made.stderr.contains("package `exercises`"),
        "{made:?}"
    );
    assert_eq!(names(&book), ["exercises"]);
    let solution = book.join("exercises/src/e03_barrier.rs");
    fs::write(&solution, "// mine\n").unwrap();
    let failed = run_in("", "exercise barrier").ends(1);
    assert_eq!(
        failed.stdout,
        "e03_barrier: does not pass yet; edit exercises/src/e03_barrier.rs\n"
    );
    assert!(!failed.stderr.contains("package `exercises`"), "{failed:?}");
    // In the project itself too, and in any folder that is named.
    let all = run_in("exercises", "exercise").ends(1);
    assert!(
        all.stdout
            .contains("e03_barrier: does not pass yet; edit src/e03_barrier.rs\n")
            && all.stdout.ends_with("15 of 16 pass\n"),
        "{all:?}"
    );
    let json = run_in("", "exercise 3 --folder exercises --json")
        .ends(1)
        .json();
    assert_eq!(json["pass"], false);
    assert_eq!(json["exercises"][0]["exercise"], "e03_barrier");
    assert_eq!(fs::read_to_string(&solution).unwrap(), "// mine\n");
    // A folder with other things in it stays as it is.
    run_in("", "exercise 1 --folder ..").refused(" is not empty");
    let none = program()
        .args(["exercise", "1"])
        .current_dir(&book)
        .env("CARGO", "/absent/cargo")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&none.stderr);
    assert!(
        said.contains("cannot run cargo") && said.contains("rustup"),
        "{said}"
    );
}
