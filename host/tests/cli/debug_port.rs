//! `blockwise debug --port`: clients one after the other, and what a page or a file must not do.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};

use serde_json::{Value, json};

use crate::command::blockwise;
use crate::debug::{PTX, expect, send, session};

/// `blockwise debug --port` in a folder, until it is dropped.
struct Server {
    process: Child,
    notes: BufReader<ChildStderr>,
    address: String,
    token: String,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let mut process = blockwise(["debug", "--port", "0"])
            .current_dir(folder)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut notes = BufReader::new(process.stderr.take().unwrap());
        let mut word = || {
            let mut line = String::new();
            notes.read_line(&mut line).unwrap();
            line.trim().rsplit(' ').next().unwrap().to_owned()
        };
        let (address, token) = (word(), word());
        assert_eq!(token.len(), 32, "{token}");
        Self {
            process,
            notes,
            address,
            token,
        }
    }

    fn connect(&self) -> (TcpStream, BufReader<TcpStream>) {
        let output = TcpStream::connect(&self.address).unwrap();
        let input = BufReader::new(output.try_clone().unwrap());
        (output, input)
    }

    /// What the launch of a client with the token is answered.
    fn launch(&self, mut arguments: Value) -> Value {
        arguments["token"] = self.token.as_str().into();
        let (mut output, mut input) = self.connect();
        send(&mut output, 1, "launch", arguments);
        expect(&mut input, "launch")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It would wait for the next client.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn clients_come_to_a_port_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), PTX).unwrap();
    let server = Server::start(folder.path());
    // Silent connections, even more than there are places, keep no client out.
    let silent: Vec<_> = (0..40).map(|_| server.connect()).collect();
    for _ in 0..2 {
        let (mut output, mut input) = server.connect();
        session(&mut output, &mut input, folder.path(), Some(&server.token));
    }
    drop(silent);
}

/// Clients that have gone leave nothing behind: no place, no thread, no open file.
#[cfg(target_os = "linux")]
#[test]
fn ended_connections_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), PTX).unwrap();
    let server = Server::start(folder.path());
    let process = |what: &str| {
        let entries = fs::read_dir(format!("/proc/{}/{what}", server.process.id()));
        entries.unwrap().count()
    };
    let before = [process("fd"), process("task")];
    let greeting = r#"{"seq":1,"type":"request","command":"initialize"}"#;
    for round in 0..120 {
        let (mut output, mut input) = server.connect();
        match round % 4 {
            // At once, in the middle of a header, in the middle of a message, after an answer.
            0 => {}
            1 => output.write_all(b"Content-Len").unwrap(),
            2 => write!(output, "Content-Length: 500\r\n\r\n{greeting}").unwrap(),
            _ => {
                send(&mut output, 1, "initialize", json!({}));
                expect(&mut input, "initialize");
            }
        }
    }
    // With a launch whose client never disconnects.
    let (mut output, mut input) = server.connect();
    let launch =
        json!({ "ptx": "k.ptx", "block": [64], "args": ["f32[64]=zeros"], "token": server.token });
    send(&mut output, 1, "launch", launch);
    assert_eq!(expect(&mut input, "launch")["success"], true);
    drop((output, input));
    let (mut output, mut input) = server.connect();
    session(&mut output, &mut input, folder.path(), Some(&server.token));
    drop((output, input));
    let mut now = [process("fd"), process("task")];
    while now != before {
        std::thread::yield_now();
        now = [process("fd"), process("task")];
    }
}

/// A page can connect thousands of times while the command's standard error is not read.
#[test]
fn pages_that_come_often_keep_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), PTX).unwrap();
    let server = Server::start(folder.path());
    for _ in 0..1500 {
        let (mut output, mut input) = server.connect();
        // Its end may be a reset, for what it did not read.
        let _ = output.write_all(b"GET / HTTP/1.1\r\n\r\n");
        let _ = input.read_to_end(&mut Vec::new());
    }
    let (mut output, mut input) = server.connect();
    session(&mut output, &mut input, folder.path(), Some(&server.token));
}

/// What a configuration written by hand gets wrong.
#[test]
fn a_launch_that_is_written_wrongly_is_told_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = folder.path().join("target/cuda-builder/sm_80/ptx");
    fs::create_dir_all(&ptx).unwrap();
    fs::write(ptx.join("k.ptx"), PTX).unwrap();
    let server = Server::start(folder.path());
    for (changed, why) in [
        (
            json!({ "kernel": "exchnge" }),
            "has no kernel `exchnge`; it has: exchange",
        ),
        (
            json!({ "grid": "4" }),
            "`grid` and `block` are lists of one to three numbers",
        ),
        (
            json!({ "args": "f32[64]" }),
            "`args` is a list of texts, such as",
        ),
        (
            json!({ "args": [64] }),
            "`args` is a list of texts, such as",
        ),
    ] {
        let mut launch =
            json!({ "crate": ".", "kernel": "exchange", "block": 64, "args": ["f32[64]"] });
        for (name, value) in changed.as_object().unwrap() {
            launch[name] = value.clone();
        }
        let answer = server.launch(launch);
        let text = answer["message"].as_str().unwrap_or_default();
        assert!(text.contains(why), "{changed}: {answer}");
    }
    // A number is a list of one.
    let launch = json!({ "crate": ".", "grid": 1, "block": 64, "args": ["f32[64]"] });
    let answer = server.launch(launch);
    assert_eq!(answer["success"], true, "{answer}");
}

/// The debugger would wait for whoever writes into a pipe, and its other clients with it.
#[test]
fn pipes_are_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let out = at("package/target/debug/build/k/out");
    fs::create_dir_all(&out).unwrap();
    fs::write(at("k.ptx"), PTX).unwrap();
    let pipe = |path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    pipe(&at("pipe.ptx"));
    pipe(&at("pipe.npy"));
    pipe(&out.join("k.ptx"));
    std::os::unix::fs::symlink(at("pipe.npy"), at("link.npy")).unwrap();
    let server = Server::start(folder.path());
    for (launch, why) in [
        (json!({ "ptx": "pipe.ptx" }), "pipe.ptx is no file"),
        (
            json!({ "ptx": "k.ptx", "args": ["f32[64]=pipe.npy"] }),
            "pipe.npy is no file",
        ),
        (
            json!({ "ptx": "k.ptx", "args": ["f32[64]=link.npy"] }),
            "link.npy is no file",
        ),
        (
            json!({ "ptx": "k.ptx", "cwd": "pipe.npy" }),
            "pipe.npy is no file",
        ),
        (json!({ "crate": "package" }), "cargo has built no PTX"),
        (
            json!({ "crate": "package", "kernel": "exchange" }),
            "cargo has built no PTX",
        ),
        (json!({ "ptx": "/dev/stdin" }), "no such file below"),
    ] {
        let answer = server.launch(launch.clone());
        let text = answer["message"].as_str().unwrap_or_default();
        assert!(text.contains(why), "{launch}: {answer}");
    }
    let (mut output, mut input) = server.connect();
    session(&mut output, &mut input, folder.path(), Some(&server.token));
}

/// What pages of a browser can send: nothing is answered, and nothing in them is done.
#[test]
fn a_page_gets_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("inner")).unwrap();
    fs::write(folder.path().join("k.ptx"), PTX).unwrap();
    let mut server = Server::start(folder.path());
    let launch = json!({
        "seq": 1, "type": "request", "command": "launch",
        "arguments": { "ptx": "k.ptx", "cwd": "inner", "token": server.token },
    })
    .to_string();
    let dap = format!("Content-Length: {}\r\n\r\n{launch}", launch.len());
    let http = |head: &str| format!("{head}Content-Length: {}\r\n\r\n{dap}", dap.len());
    let requests = [
        http("POST /a:b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n"),
        // A name that leads here: the browser takes the answer for that of its own site.
        http("POST / HTTP/1.1\r\nHost: rebound.example:4711\r\nOrigin: http://rebound.example:4711\r\n"),
        "GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\r\n".into(),
        "OPTIONS / HTTP/1.1\r\nAccess-Control-Request-Method: POST\r\n\r\n".into(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into(),
        // Without an end, as a client that waits.
        "POST /a:b HTTP/1.1".into(),
    ];
    for request in &requests {
        let (mut output, mut input) = server.connect();
        output.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // What it did not read makes the end a reset.
        let _ = input.read_to_end(&mut answer);
        assert_eq!(answer, b"", "{request}");
        let mut note = String::new();
        server.notes.read_line(&mut note).unwrap();
        assert!(
            note.contains("a message begins with `Content-Length"),
            "{note}"
        );
    }
}

#[test]
fn over_a_port_a_launch_needs_the_token_and_stays_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("start/inner/target/debug/build/k/out")).unwrap();
    fs::create_dir_all(at("outside/target/debug/build/k/out")).unwrap();
    for file in ["start/k.ptx", "start/inner/k.ptx", "outside/k.ptx"] {
        fs::write(at(file), PTX).unwrap();
    }
    fs::write(at("outside/target/debug/build/k/out/k.ptx"), PTX).unwrap();
    let zeros = crate::command::npy("'<f4'", "False", "(64,)", &[0; 256]);
    for file in ["start/zeros.npy", "outside/zeros.npy"] {
        fs::write(at(file), &zeros).unwrap();
    }
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(at(to), at(name)).unwrap();
    link("outside", "start/link");
    link("outside/k.ptx", "start/link.ptx");
    link("outside/zeros.npy", "start/link.npy");
    link("start/inner", "start/harmless");
    link(
        "outside/target/debug/build/k/out/k.ptx",
        "start/inner/target/debug/build/k/out/k.ptx",
    );
    let server = Server::start(&at("start"));

    let (mut output, mut input) = server.connect();
    send(
        &mut output,
        1,
        "launch",
        json!({ "ptx": "k.ptx", "block": [64] }),
    );
    let refused = expect(&mut input, "launch");
    let text = refused["message"].as_str().unwrap();
    assert!(text.contains("needs the field `token`"), "{text}");
    let mut rest = Vec::new();
    input.read_to_end(&mut rest).unwrap();

    let launch = |ptx: Value, cwd: Value, argument: &str| {
        let mut arguments = json!({ "ptx": ptx, "block": [64], "args": [argument] });
        if !cwd.is_null() {
            arguments["cwd"] = cwd;
        }
        server.launch(arguments)
    };
    let outside = at("outside");
    for (ptx, cwd) in [
        (json!(at("outside/k.ptx")), json!(null)),
        (json!("../outside/k.ptx"), json!(null)),
        (json!("inner/../../outside/k.ptx"), json!(null)),
        (json!("link/k.ptx"), json!(null)),
        (json!("link.ptx"), json!(null)),
        (json!("k.ptx"), json!(outside)),
        (json!("k.ptx"), json!("../outside")),
        (json!("k.ptx"), json!("link")),
        (json!("k.ptx"), json!("..")),
        (json!("k.ptx"), json!("/")),
        (json!("/proc/self/root/etc/passwd"), json!(null)),
    ] {
        let answer = launch(ptx.clone(), cwd.clone(), "f32[64]=zeros");
        let text = answer["message"].as_str().unwrap_or_default();
        assert!(
            text.contains("where `blockwise debug --port` was started"),
            "{ptx} {cwd}: {answer}"
        );
    }
    for array in ["../outside/zeros.npy", "link/zeros.npy", "link.npy"] {
        let answer = launch(json!("k.ptx"), json!(null), &format!("f32[64]={array}"));
        let text = answer["message"].as_str().unwrap_or_default();
        assert!(
            text.contains("where `blockwise debug --port` was started"),
            "{array}: {answer}"
        );
    }
    for folder in ["link", "inner", "../outside"] {
        let answer =
            server.launch(json!({ "crate": folder, "block": [64], "args": ["f32[64]=zeros"] }));
        let text = answer["message"].as_str().unwrap_or_default();
        assert!(
            text.contains("where `blockwise debug --port` was started"),
            "{folder}: {answer}"
        );
    }
    // Nothing is written, and no place for it is tried.
    let saved = format!("f32[64]=zeros -> {}", at("outside/saved.npy").display());
    for (ptx, cwd, argument) in [
        (json!("k.ptx"), json!(null), "f32[64]=zeros.npy"),
        (json!("k.ptx"), json!("inner"), "f32[64]=../zeros.npy"),
        (json!("k.ptx"), json!("harmless"), "f32[64]=zeros"),
        (
            json!(at("start/inner/k.ptx")),
            json!(at("start")),
            "f32[64]=zeros",
        ),
        (json!("inner/../k.ptx"), json!("."), &saved),
    ] {
        let answer = launch(ptx, cwd, argument);
        assert_eq!(answer["success"], true, "{argument}: {answer}");
    }
    let names = crate::command::names(&outside);
    assert_eq!(names, ["k.ptx", "target", "zeros.npy"]);
}
