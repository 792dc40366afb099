//! `blockwise debug`: a process and a client, over pipes and over a port. What a session can do is
//! tested in its own crate.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::command::blockwise;

/// Two warps, each reading what the other writes, with no barrier between.
const PTX: &str = "
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

fn send(output: &mut impl Write, seq: i64, command: &str, arguments: Value) {
    let request =
        json!({ "seq": seq, "type": "request", "command": command, "arguments": arguments });
    let text = request.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
    output.flush().unwrap();
}

/// The next message of this kind: an answer to a command, or an event.
#[track_caller]
fn expect(input: &mut impl BufRead, name: &str) -> Value {
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
fn session(output: &mut impl Write, input: &mut impl BufRead, folder: &std::path::Path) {
    send(output, 1, "initialize", json!({}));
    assert_eq!(
        expect(input, "initialize")["body"]["supportsStepBack"],
        true
    );
    send(
        output,
        2,
        "launch",
        json!({ "ptx": "k.ptx", "cwd": folder, "args": ["u32:1"] }),
    );
    let refused = expect(input, "launch");
    assert_eq!(refused["success"], false, "{refused}");
    let launch = json!({ "ptx": "k.ptx", "cwd": folder, "block": [64], "args": ["f32[64]=zeros"] });
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
    session(&mut output, &mut input, folder.path());
    // Nothing but messages.
    let mut rest = String::new();
    input.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    let end = process.wait_with_output().unwrap();
    assert_eq!(end.status.code(), Some(0), "{end:?}");
}

#[test]
fn clients_come_to_a_port_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), PTX).unwrap();
    let mut process = blockwise(["debug", "--port", "0"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut notes = BufReader::new(process.stderr.take().unwrap());
    let mut line = String::new();
    notes.read_line(&mut line).unwrap();
    let address = line.trim().rsplit(' ').next().unwrap();
    for _ in 0..2 {
        let mut output = TcpStream::connect(address).unwrap();
        let mut input = BufReader::new(output.try_clone().unwrap());
        session(&mut output, &mut input, folder.path());
    }
    // It would wait for the next one.
    process.kill().unwrap();
    process.wait().unwrap();
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

/// What VS Code itself reads of every debug configuration.
const OF_EVERY_DEBUGGER: [&str; 3] = ["name", "type", "request"];

fn template(name: &str) -> Value {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = folder
        .join("../crates/blockwise_new/template/.vscode")
        .join(name);
    let text = fs::read_to_string(file).unwrap();
    // VS Code allows comments in it.
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    serde_json::from_str(&lines.collect::<Vec<_>>().join("\n")).unwrap()
}

/// The types and the attributes of a configuration are those that the project's extension declares,
/// and VS Code underlines every other.
#[test]
fn the_template_is_a_configuration_of_its_extension() {
    let extension = template("extensions/blockwise/package.json");
    let contributed = &extension["contributes"]["debuggers"][0];
    // With a `runtime` and no `program`, VS Code starts the command that it finds on the PATH.
    assert_eq!(contributed["runtime"], "blockwise");
    assert_eq!(contributed["runtimeArgs"], json!(["debug"]));
    assert!(contributed.get("program").is_none() && extension.get("main").is_none());
    for name in ["name", "publisher", "version"] {
        assert!(extension[name].is_string(), "{name}");
    }
    assert!(extension["engines"]["vscode"].is_string());
    let launch = template("launch.json");
    assert_eq!(launch["version"], "0.2.0");
    for configuration in launch["configurations"].as_array().unwrap() {
        assert_eq!(configuration["type"], contributed["type"]);
        let request = configuration["request"].as_str().unwrap();
        let properties = &contributed["configurationAttributes"][request]["properties"];
        let fits = |value: &Value, ty: &str| match ty {
            "string" => value.is_string(),
            "integer" => value.is_u64(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            _ => value.is_object(),
        };
        for (name, value) in configuration.as_object().unwrap() {
            if OF_EVERY_DEBUGGER.contains(&name.as_str()) {
                assert!(value.is_string(), "{name}");
                continue;
            }
            let ty = properties[name]["type"].as_str();
            assert!(
                ty.is_some_and(|ty| fits(value, ty)),
                "{name}: {value} is no {ty:?}"
            );
        }
    }
}

/// The attributes that the extension declares are those that `--help` describes, and the launch
/// request accepts them.
#[test]
fn the_extension_declares_what_a_launch_takes() {
    let extension = template("extensions/blockwise/package.json");
    let attributes = &extension["contributes"]["debuggers"][0]["configurationAttributes"];
    let declared = attributes["launch"]["properties"].as_object().unwrap();
    let mut declared: Vec<&str> = declared.keys().map(String::as_str).collect();
    declared.sort();
    let help = crate::command::Run::of(&mut blockwise(["debug", "--help"])).ends(0);
    let (_, request) = help.stdout.split_once("launch request").unwrap();
    let words = request.split('"').skip(1).step_by(2);
    let described = words.zip(request.split('"').skip(2).step_by(2));
    let mut described: Vec<&str> = described
        .filter(|(word, after)| after.starts_with(':') && *word != "tile")
        .map(|(word, _)| word)
        .collect();
    described.sort();
    assert_eq!(declared, described);

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), PTX).unwrap();
    let mut child = blockwise(["debug"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut output, input) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut input = BufReader::new(input);
    send(&mut output, 1, "initialize", json!({}));
    // As VS Code sends it, with what it adds itself.
    let launch = json!({
        "name": "k", "type": "blockwise", "request": "launch", "__sessionId": "1", "cwd": folder.path(), "ptx": "k.ptx",
        "kernel": "exchange", "grid": [1, 1, 1], "block": [64], "shared": 0, "steps": 1000, "args": ["f32[64]=zeros"], "seed": 3,
        "types": { "y": "u32" }, "stopOnEntry": true,
    });
    send(&mut output, 2, "launch", launch);
    let launched = expect(&mut input, "launch");
    assert_eq!(launched["success"], true, "{launched}");
    send(&mut output, 3, "disconnect", json!({}));
    expect(&mut input, "disconnect");
    drop(output);
    assert!(child.wait().unwrap().success());
}
