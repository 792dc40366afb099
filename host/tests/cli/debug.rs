//! `blockwise debug`: a process and a client, over pipes. What a session can do is tested in its own
//! crate.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::command::blockwise;

/// Two warps, each reading what the other writes, with no barrier between.
pub(crate) const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry exchange(.param .u64 .ptr .align 4 y)
{
    .shared .align 4 .b8 tile[256];
    .reg .b32 %t, %s, %v; .reg .b64 %y;
    ld.param.u64 %y, [y];
    mov.u32 %t, %tid.x; mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s;
    st.shared.u32 [%s], %t;
    xor.b32 %s, %s, 128;
    ld.shared.u32 %v, [%s];
    mad.wide.u32 %y, %t, 4, %y;
    st.global.u32 [%y], %v;
    ret;
}
";

pub(crate) fn send(output: &mut impl Write, seq: i64, command: &str, arguments: Value) {
    let request =
        json!({ "seq": seq, "type": "request", "command": command, "arguments": arguments });
    let text = request.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
    output.flush().unwrap();
}

/// The next message of this kind: an answer to a command, or an event.
#[track_caller]
pub(crate) fn expect(input: &mut impl BufRead, name: &str) -> Value {
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(
                input.read_line(&mut line).unwrap() > 0,
                "it ended before `{name}`"
            );
            match line.trim().strip_prefix("Content-Length: ") {
                Some(number) => length = number.parse().unwrap(),
                None => break,
            }
        }
        let mut bytes = vec![0; length];
        input.read_exact(&mut bytes).unwrap();
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        if message["command"] == name || message["event"] == name {
            return message;
        }
    }
}

/// From the launch to the race, and to the word that was read too early.
pub(crate) fn session(
    output: &mut impl Write,
    input: &mut impl BufRead,
    folder: &Path,
    token: Option<&str>,
) {
    send(output, 1, "initialize", json!({}));
    assert_eq!(
        expect(input, "initialize")["body"]["supportsStepBack"],
        true
    );
    send(
        output,
        2,
        "launch",
        json!({ "ptx": "k.ptx", "cwd": folder, "args": ["u32:1"], "token": token }),
    );
    let refused = expect(input, "launch");
    assert_eq!(refused["success"], false, "{refused}");
    let launch = json!({
        "ptx": "k.ptx", "cwd": folder, "block": [64], "args": ["f32[64]=zeros"], "token": token,
    });
    send(output, 3, "launch", launch);
    let launched = expect(input, "launch");
    assert_eq!(launched["success"], true, "{launched}");
    expect(input, "initialized");
    send(
        output,
        4,
        "setExceptionBreakpoints",
        json!({ "filters": ["race"] }),
    );
    send(output, 5, "configurationDone", json!({}));
    assert_eq!(expect(input, "stopped")["body"]["reason"], "entry");
    send(output, 6, "continue", json!({ "threadId": 1 }));
    let race = expect(input, "stopped");
    assert_eq!(race["body"]["reason"], "exception", "{race}");
    send(output, 7, "evaluate", json!({ "expression": "y" }));
    assert_eq!(expect(input, "evaluate")["body"]["result"], "[f32; 64]");
    send(
        output,
        8,
        "stackTrace",
        json!({ "threadId": race["body"]["threadId"] }),
    );
    let stack = expect(input, "stackTrace");
    let line = stack["body"]["stackFrames"][0]["line"].as_u64().unwrap();
    let text = PTX.lines().nth(line as usize - 1).unwrap();
    assert!(
        text.contains("st.shared") || text.contains("ld.shared"),
        "{text}"
    );
    send(output, 9, "disconnect", json!({}));
    expect(input, "terminated");
}

#[test]
fn a_kernel_is_debugged_over_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), PTX).unwrap();
    let mut command = blockwise(["debug"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut output = process.stdin.take().unwrap();
    let mut input = BufReader::new(process.stdout.take().unwrap());
    session(&mut output, &mut input, folder.path(), None);
    // Nothing but messages.
    let mut rest = String::new();
    input.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    let end = process.wait_with_output().unwrap();
    assert_eq!(end.status.code(), Some(0), "{end:?}");
}

#[test]
fn what_is_no_session_is_exit_code_2() {
    let mut command = blockwise(["debug"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    process.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let end = process.wait_with_output().unwrap();
    assert_eq!(end.status.code(), Some(2), "{end:?}");
    assert!(
        String::from_utf8_lossy(&end.stderr).contains("Content-Length"),
        "{end:?}"
    );
}
