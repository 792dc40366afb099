//! Where `blockwise debug`, `check` and `trace` find the kernels of a crate, and how it is built.

use std::fs;
use std::io::BufReader;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::command::{Run, blockwise};
use crate::debug::{PTX, expect, send};

/// What a launch is answered.
fn launch(mut arguments: Value) -> Value {
    let fields = arguments.as_object_mut().unwrap();
    fields.insert("block".to_owned(), json!([64]));
    fields.insert("args".to_owned(), json!(["f32[64]=zeros"]));
    let mut command = blockwise(["debug"]);
    command
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("CARGO_TARGET_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut output = process.stdin.take().unwrap();
    let mut input = BufReader::new(process.stdout.take().unwrap());
    send(&mut output, 1, "launch", arguments);
    let answer = expect(&mut input, "launch");
    drop(output);
    process.wait().unwrap();
    answer
}

/// `cuda_builder::embed` leaves the text in the target folder, that of the workspace for a member.
#[test]
fn kernels_are_found_where_the_build_leaves_them() {
    for target in ["target", "member/target"] {
        let folder = tempfile::tempdir().unwrap();
        let member = folder.path().join("member");
        let text = folder.path().join(target).join("cuda-builder/sm_80/ptx");
        fs::create_dir_all(&text).unwrap();
        fs::create_dir_all(&member).unwrap();
        fs::write(text.join("other.ptx"), PTX.replace("exchange", "other")).unwrap();
        fs::write(text.join("mine.ptx"), PTX).unwrap();
        let found = launch(json!({ "crate": member, "kernel": "exchange" }));
        assert_eq!(found["success"], true, "{target}: {found}");
        let missing = launch(json!({ "crate": member, "kernel": "nobody" }));
        let text = missing["message"].as_str().unwrap();
        assert!(text.contains("has no kernel `nobody`; it has: "), "{text}");
    }
}

#[test]
fn a_build_that_fails_is_no_launch() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: Value, why: &str| {
        let answer = launch(arguments);
        let text = answer["message"].as_str().unwrap_or_default();
        assert!(text.contains(why), "{answer}");
    };
    let place: &Path = folder.path();
    refused(json!({ "build": "debug" }), "`build` needs `crate`");
    refused(
        json!({ "build": "fast", "crate": place }),
        "unknown variant `fast`",
    );
    refused(
        json!({ "build": "debug", "crate": place }),
        "could not find `Cargo.toml`",
    );
    refused(
        json!({ "justMyCode": "no" }),
        "`justMyCode` is true or false",
    );
    // A build script sees what is asked for.
    fs::create_dir(place.join("src")).unwrap();
    fs::write(place.join("src/lib.rs"), "").unwrap();
    fs::write(
        place.join("Cargo.toml"),
        "[package]\nname = \"asked\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    )
    .unwrap();
    let script =
        "fn main() { panic!(\"debug info: {:?}\", std::env::var(\"BLOCKWISE_DEBUG_INFO\")) }";
    fs::write(place.join("build.rs"), script).unwrap();
    for (build, variable) in [("debug", "full"), ("locals", "locals")] {
        refused(
            json!({ "build": build, "crate": place }),
            &format!("debug info: Ok(\"{variable}\")"),
        );
    }
}

/// A package whose build script leaves PTX, as a kernel project's does.
fn project(place: &Path) {
    fs::create_dir(place.join("src")).unwrap();
    fs::write(place.join("src/lib.rs"), "").unwrap();
    let manifest =
        "[package]\nname = \"mine\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    fs::write(place.join("Cargo.toml"), manifest).unwrap();
    fs::write(place.join("k.ptx"), PTX).unwrap();
    let script = "fn main() { let out = std::env::var(\"OUT_DIR\").unwrap(); \
                  std::fs::copy(\"k.ptx\", out + \"/mine.ptx\").unwrap(); }";
    fs::write(place.join("build.rs"), script).unwrap();
}

fn on_crate(words: &[&str], place: &Path) -> Run {
    let mut command = blockwise(words);
    command
        .args(["--crate", "."])
        .current_dir(place)
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("CARGO_TARGET_DIR");
    Run::of(&mut command)
}

#[test]
fn a_project_is_built_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    project(place);
    let arguments = ["--block", "64", "--arg", "f32[64]=zeros"];
    let check = || on_crate(&[&["check"][..], &arguments].concat(), place);
    let found = check();
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.stdout.contains("race"), "{found:?}");
    // The page has the project's kernel, and what has changed is built.
    let traced = on_crate(&[&["trace", "ptx"][..], &arguments].concat(), place);
    assert_eq!(traced.code, Some(0), "{traced:?}");
    assert!(traced.stdout.contains("exchange"), "{traced:?}");
    fs::write(place.join("k.ptx"), PTX.replace("exchange", "swap")).unwrap();
    let renamed = check();
    assert!(renamed.stdout.contains("swap"), "{renamed:?}");
    // Another name, another file beside it, no kernels, a build that fails.
    let none = on_crate(&["check", "--kernel", "swop"], place);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.stderr.contains("it has: swap"), "{none:?}");
    let two = on_crate(&["check", "k.ptx"], place);
    assert!(two.stderr.contains("cannot be used with"), "{two:?}");
    let shown = on_crate(&["check"], place);
    assert!(
        shown
            .stderr
            .contains("blockwise check --crate . --kernel swap"),
        "{shown:?}"
    );
    fs::write(place.join("src/lib.rs"), "fn x() -> u8 { \"\" }").unwrap();
    let failed = check();
    assert_eq!(failed.code, Some(2), "{failed:?}");
    assert!(failed.stderr.contains("mismatched types"), "{failed:?}");
}

/// Two commands of one project, one with all locals and one without, take turns: each reads what it
/// built itself.
#[cfg(unix)]
#[test]
fn one_command_at_a_time_builds_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    project(place);
    let script = fs::read_to_string(place.join("build.rs")).unwrap();
    let locked = "assert!(std::fs::File::open(\"Cargo.toml\").unwrap().try_lock().is_err());";
    let script = script.replace("fn main() {", &format!("fn main() {{ {locked}"));
    fs::write(place.join("build.rs"), script).unwrap();
    let arguments = ["check", "--block", "64", "--arg", "f32[64]=zeros"];
    let checked = on_crate(&arguments, place);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    fs::remove_dir_all(place.join("target")).unwrap();
    let built = launch(json!({ "crate": place, "build": "locals" }));
    assert_eq!(built["success"], true, "{built}");
    // The lock is free once the command has ended.
    let manifest = fs::File::open(place.join("Cargo.toml")).unwrap();
    manifest.try_lock().unwrap();
}

/// A build script's own folder, in the places where cargo has had it.
#[test]
fn the_output_of_a_build_script_is_found() {
    for out in ["mine-0123/out", "mine/0123/out"] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("target/debug/build").join(out);
        fs::create_dir_all(&out).unwrap();
        fs::write(out.join("kernels.ptx"), PTX).unwrap();
        let found = launch(json!({ "crate": folder.path() }));
        assert_eq!(found["success"], true, "{found}");
    }
}

/// A member's own PTX comes before a newer one of another member.
#[test]
fn a_members_own_kernels_come_first() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    project(place);
    let texts = place.join("target/cuda-builder/sm_80/ptx");
    fs::create_dir_all(&texts).unwrap();
    fs::write(texts.join("mine.ptx"), PTX).unwrap();
    fs::write(texts.join("other.ptx"), PTX.replace("exchange", "other")).unwrap();
    let found = launch(json!({ "crate": place }));
    assert_eq!(found["success"], true, "{found}");
    let shown = on_crate(&["check"], place);
    assert!(shown.stderr.contains("--kernel exchange"), "{shown:?}");
}
