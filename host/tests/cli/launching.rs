//! Where `blockwise debug` finds the kernels of a crate, and how it builds them.

use std::fs;
use std::io::BufReader;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::command::blockwise;
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
        assert!(text.contains("no PTX with a kernel `nobody`"), "{text}");
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
