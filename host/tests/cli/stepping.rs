//! `blockwise debug` as a user steps through a kernel line by line.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::command::blockwise;
use crate::debug::{expect, send};

/// A session of the command's own kernels, stopped before the first instruction.
pub(crate) struct Session {
    process: Child,
    output: ChildStdin,
    input: BufReader<ChildStdout>,
    seq: i64,
    /// The thread that the launch has stopped for.
    thread: Value,
}

impl Session {
    #[track_caller]
    pub(crate) fn launch(arguments: &Value) -> Self {
        let mut command = blockwise(["debug"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let output = process.stdin.take().unwrap();
        let input = BufReader::new(process.stdout.take().unwrap());
        let mut session = Self {
            process,
            output,
            input,
            seq: 0,
            thread: Value::Null,
        };
        session.ask("initialize", json!({}));
        session.ask("launch", arguments.clone());
        session.moved("configurationDone", json!({}));
        session
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, command: &str, arguments: Value) -> Value {
        self.seq += 1;
        send(&mut self.output, self.seq, command, arguments);
        let answer = expect(&mut self.input, command);
        assert_eq!(answer["success"], true, "{answer}");
        answer["body"].clone()
    }

    /// A request that moves the launch: what the stop says.
    #[track_caller]
    pub(crate) fn moved(&mut self, command: &str, arguments: Value) -> String {
        self.ask(command, arguments);
        let stop = expect(&mut self.input, "stopped");
        self.thread = stop["body"]["threadId"].clone();
        stop["body"]["text"].as_str().unwrap().to_owned()
    }

    /// The files and lines of the frames, innermost first; the first one's number.
    #[track_caller]
    pub(crate) fn stack(&mut self) -> (Vec<(String, u64)>, i64) {
        let thread = json!({ "threadId": self.thread });
        let stack = self.ask("stackTrace", thread);
        let frames = stack["stackFrames"].as_array().unwrap();
        let place = |frame: &Value| {
            let file = frame["source"]["path"].as_str().unwrap().to_owned();
            (file, frame["line"].as_u64().unwrap())
        };
        let id = frames[0]["id"].as_i64().unwrap();
        (frames.iter().map(place).collect(), id)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The tutorials' safe kernels: how each is launched, and lines that a thread comes by, found by
/// their text.
const KERNELS: [(&str, &str, &[&str]); 5] = [
    (
        r#"{ "kernel": "conv1d_tiled_f32", "grid": [2], "block": [32], "shared": 144,
             "args": ["u64:36", "slice:f32[60]=iota", "slice:f32[5]=iota", "slice:f32[64]", "u64:0"] }"#,
        "conv1d/tiled.rs",
        &["tile.fill(block", "output.store(block"],
    ),
    (
        r#"{ "kernel": "dot_tree_f32", "grid": [2], "block": [64], "shared": 256,
             "args": ["u64:64", "slice:f32[300]=iota", "slice:f32[300]=iota", "slice:f32[2]"] }"#,
        "reduce/tree.rs",
        &["slots.slots(block, value)", "partials.store(block"],
    ),
    (
        r#"{ "kernel": "matmul_tiled_f32", "grid": [1, 1], "block": [16, 16],
             "args": ["f32[320]=iota", "u64:20", "u64:16", "f32[288]=iota", "u64:16", "u64:18", "f32[360]", "u64:20", "u64:18"] }"#,
        "matmul/tiled.rs",
        &["row.get(step + k)", "tile_b.write(block"],
    ),
    (
        r#"{ "kernel": "transpose_tiled_u32", "grid": [1, 1], "block": [32, 8],
             "args": ["u32[1200]=iota", "u64:40", "u64:30", "u32[1200]", "u64:40", "u64:30"] }"#,
        "transpose/tiled.rs",
        &["tile.fill(block", "output.store(block"],
    ),
    (
        r#"{ "kernel": "reverse_static_u32", "grid": [2], "block": [256],
             "args": ["slice:u32[600]=iota", "slice:u32[600]"] }"#,
        "reverse/fixed.rs",
        &["tile.fill(block", "output.store(block"],
    ),
];

/// From the entry to the end of the launch, by one way to step. The lines of the kernel's file, and
/// by how many frames a stop is deeper than the launch's beginning, which is in the kernel.
#[track_caller]
fn walk(launch: &Value, file: &str, command: &str) -> (BTreeSet<u64>, usize) {
    let mut session = Session::launch(launch);
    let (mut lines, mut deepest) = (BTreeSet::new(), 0);
    for stop in 0..2000 {
        let (frames, _) = session.stack();
        assert!(stop > 0 || frames.len() == 1, "{command}: {frames:?}");
        deepest = deepest.max(frames.len() - 1);
        for (path, line) in &frames {
            assert!(
                path.contains("/kernels/src/") && Path::new(path).is_file(),
                "{command}: {path}:{line} is not the user's"
            );
        }
        let of_kernel = frames.iter().filter(|(path, _)| path.ends_with(file));
        lines.extend(of_kernel.map(|(_, line)| *line));
        let thread = json!({ "threadId": session.thread });
        if session.moved(command, thread).starts_with("the end") {
            let (frames, _) = session.stack();
            assert!(
                frames
                    .iter()
                    .all(|(path, _)| path.contains("/kernels/src/")),
                "{frames:?}"
            );
            return (lines, deepest);
        }
    }
    panic!("{command} does not come to the end of the launch");
}

#[test]
fn steps_stay_in_the_users_files() {
    for (launch, file, marks) in KERNELS {
        let launch: Value = serde_json::from_str(launch).unwrap();
        let source = format!("{}/../kernels/src/{file}", env!("CARGO_MANIFEST_DIR"));
        let source = std::fs::read_to_string(source).unwrap();
        for command in ["next", "stepIn"] {
            let (lines, deepest) = walk(&launch, file, command);
            println!("{file} {command}: {lines:?}, {deepest} deeper");
            // A step over what the kernel calls does not enter it: of a kernel that is one call, it
            // is the whole launch.
            if command == "next" {
                let is_call = file == "transpose/tiled.rs";
                assert!(
                    deepest == 0 && (lines.len() == 1) == is_call,
                    "{file}: {lines:?}, {deepest}"
                );
                continue;
            }
            assert!(deepest > 0, "{file}");
            for mark in marks {
                let with_mark = |line: &&u64| {
                    let text = source.lines().nth(**line as usize - 1);
                    text.is_some_and(|text| text.contains(mark))
                };
                assert!(
                    lines.iter().any(|line| with_mark(&line)),
                    "{file}: {command} passes over `{mark}`: {lines:?}"
                );
            }
        }
    }
}

/// With `"justMyCode": false` steps go into `cuda_std` and `core`, which are passed over otherwise.
#[test]
fn steps_go_into_library_code_where_asked_for() {
    let (launch, ..) = KERNELS[4];
    let mut launch: Value = serde_json::from_str(launch).unwrap();
    launch["justMyCode"] = json!(false);
    let mut session = Session::launch(&launch);
    let mut files = BTreeSet::new();
    for _ in 0..400 {
        let (frames, _) = session.stack();
        files.insert(frames[0].0.clone());
        let thread = json!({ "threadId": session.thread });
        if session.moved("stepIn", thread).starts_with("the end") {
            break;
        }
    }
    let has = |part: &str| files.iter().any(|file| file.contains(part));
    assert!(has("/kernels/src/reverse/fixed.rs"), "{files:?}");
    assert!(has("cuda_std/src/"), "{files:?}");
}
