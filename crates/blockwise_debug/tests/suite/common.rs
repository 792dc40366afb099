//! A client of the protocol, with a session at the other end of two pipes.

use blockwise_debug::{Loaded, Loader, serve};
use ptx_emulator::replay::Replay;
use ptx_emulator::report::Sources;
use ptx_emulator::{Emulator, LaunchConfig, Limits, Module};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::path::Path;
use std::thread::JoinHandle;

/// PTX of `broken_kernels`, reduced to this one kernel.
pub(crate) const PTX: &str = include_str!("../fixtures/reverse_missing_barrier.ptx");
/// The kernel's file, as an editor names it.
pub(crate) const FILE: &str = "/home/user/blockwise/broken_kernels/src/reverse_missing_barrier.rs";

/// A kernel that is launched with a seed, and its PTX.
struct Kernel(fn(Option<u64>) -> Replay, fn() -> String);

impl Loader for Kernel {
    fn load(&mut self, arguments: &Map<String, Value>) -> Result<Loaded, String> {
        if let Some(problem) = arguments.get("refuse") {
            return Err(problem.to_string());
        }
        Ok(Loaded {
            replay: self.0(arguments.get("seed").and_then(Value::as_u64)),
            types: HashMap::new(),
            ptx: "/home/user/k.ptx".to_owned(),
            text: self.1(),
            sources: Sources::in_folder(Path::new("/nowhere")),
        })
    }
}

pub(crate) const COUNT: u64 = 512;

/// Blocks of 256 threads that reverse 512 numbers: 1000, 1001, and so on.
pub(crate) fn replay(seed: Option<u64>) -> Replay {
    let emulator = Emulator::new(Limits::default());
    let module = Module::parse(PTX).expect("it is PTX");
    let module = emulator.load(&module).expect("it loads");
    let input: Vec<u8> = (0..COUNT as u32)
        .flat_map(|i| (1000 + i).to_le_bytes())
        .collect();
    let buffers = [(); 2].map(|()| emulator.alloc(4 * COUNT).expect("memory is there"));
    emulator.write(buffers[0], &input).expect("it fits");
    emulator
        .write(buffers[1], &[0; 4 * COUNT as usize])
        .expect("it fits");
    let args = [buffers[0], COUNT, buffers[1]].map(u64::to_le_bytes);
    let config = LaunchConfig {
        grid: [2, 1, 1],
        block: [256, 1, 1],
        dynamic_shared_bytes: 0,
    };
    let args: Vec<&[u8]> = args.iter().map(|arg| &arg[..]).collect();
    Replay::new(
        emulator,
        module,
        "reverse_missing_barrier",
        config,
        &args,
        seed,
    )
    .expect("it is launched")
}

/// A client.
pub(crate) struct Client {
    input: Option<PipeWriter>,
    output: BufReader<PipeReader>,
    session: JoinHandle<io::Result<()>>,
    seq: i64,
    events: VecDeque<Value>,
}

impl Client {
    pub(crate) fn connect() -> Self {
        Self::to(replay)
    }

    /// A client whose session debugs this launch.
    fn to(launch: fn(Option<u64>) -> Replay) -> Self {
        Self::knowing(launch, None)
    }

    /// The same, but a launch needs this token.
    pub(crate) fn knowing(launch: fn(Option<u64>) -> Replay, token: Option<&'static str>) -> Self {
        Self::loading(Kernel(launch, || PTX.to_owned()), token)
    }

    /// A client that has launched a kernel of another PTX.
    pub(crate) fn launched_from(
        launch: fn(Option<u64>) -> Replay,
        text: fn() -> String,
        arguments: Value,
    ) -> Self {
        let mut client = Self::loading(Kernel(launch, text), None);
        client.begin(arguments);
        client
    }

    fn loading(mut kernel: Kernel, token: Option<&'static str>) -> Self {
        let (read, input) = io::pipe().expect("a pipe");
        let (output, write) = io::pipe().expect("a pipe");
        Self {
            input: Some(input),
            output: BufReader::new(output),
            session: std::thread::spawn(move || serve(read, write, &mut kernel, token)),
            seq: 0,
            events: VecDeque::new(),
        }
    }

    /// A client that has launched the reversal and is at its first step.
    pub(crate) fn launched(arguments: Value) -> Self {
        Self::launched_of(replay, arguments)
    }

    /// The same with another launch.
    pub(crate) fn launched_of(launch: fn(Option<u64>) -> Replay, arguments: Value) -> Self {
        let mut client = Self::to(launch);
        client.begin(arguments);
        client
    }

    fn begin(&mut self, arguments: Value) {
        self.ask("initialize", json!({ "adapterID": "blockwise" }));
        self.ask("launch", arguments);
        assert_eq!(self.event()["event"], "initialized");
    }

    pub(crate) fn configured(&mut self) -> Value {
        self.ask("configurationDone", json!({}));
        self.stopped()
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the session goes on");
        input.write_all(bytes).expect("the session reads");
    }

    pub(crate) fn message(&mut self, text: &str) {
        self.bytes(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    pub(crate) fn send(&mut self, command: &str, arguments: Value) {
        self.seq += 1;
        let request = json!({
            "seq": self.seq, "type": "request", "command": command, "arguments": arguments,
        });
        self.message(&request.to_string());
    }

    /// The next message of the session; `None` at its end.
    pub(crate) fn read(&mut self) -> Option<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).expect("text") == 0 {
                return None;
            }
            match line.trim().strip_prefix("Content-Length: ") {
                Some(number) => length = number.parse().expect("a length"),
                None => break,
            }
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).expect("the message");
        Some(serde_json::from_slice(&bytes).expect("JSON"))
    }

    /// The answer to the last request; events before it are kept.
    pub(crate) fn answer(&mut self) -> Value {
        loop {
            let message = self.read().expect("the session goes on");
            if message["type"] == "response" {
                return message;
            }
            self.events.push_back(message);
        }
    }

    /// Makes a request that must succeed; returns the answer's body.
    #[track_caller]
    pub(crate) fn ask(&mut self, command: &str, arguments: Value) -> Value {
        self.send(command, arguments);
        let answer = self.answer();
        assert_eq!(answer["request_seq"], self.seq);
        assert_eq!(answer["success"], true, "{answer}");
        answer["body"].clone()
    }

    /// Makes a request that must fail; returns the message.
    #[track_caller]
    pub(crate) fn refused(&mut self, command: &str, arguments: Value) -> String {
        self.send(command, arguments);
        let answer = self.answer();
        assert_eq!(answer["request_seq"], self.seq, "{answer}");
        assert_eq!(answer["success"], false, "{answer}");
        answer["message"].as_str().expect("a message").to_owned()
    }

    pub(crate) fn event(&mut self) -> Value {
        self.events
            .pop_front()
            .or_else(|| self.read())
            .expect("the session goes on")
    }

    /// The next stop.
    pub(crate) fn stopped(&mut self) -> Value {
        loop {
            let event = self.event();
            if event["event"] == "stopped" {
                return event["body"].clone();
            }
        }
    }

    /// Makes a request that moves the launch; returns the stop.
    #[track_caller]
    pub(crate) fn moves(&mut self, command: &str, arguments: Value) -> Value {
        self.ask(command, arguments);
        self.stopped()
    }

    /// The user's source line of a stop, and its frame.
    pub(crate) fn line(&mut self, stop: &Value) -> (u64, i64) {
        let stack = self.ask("stackTrace", json!({ "threadId": stop["threadId"] }));
        let frames = stack["stackFrames"].as_array().expect("frames");
        let own = frames
            .iter()
            .find(|frame| frame["presentationHint"] != "subtle")
            .expect("the user's");
        (
            own["line"].as_u64().expect("a line"),
            own["id"].as_i64().expect("a frame"),
        )
    }

    /// The value of an expression.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> String {
        let body = self.ask("evaluate", json!({ "expression": expression }));
        body["result"].as_str().expect("text").to_owned()
    }

    pub(crate) fn step(&mut self) -> u64 {
        let text = self.value("step");
        text.split(' ')
            .next()
            .and_then(|number| number.parse().ok())
            .expect("a number")
    }

    /// Closes the input; returns the session's result.
    pub(crate) fn hang_up(mut self) -> io::Result<()> {
        drop(self.input.take());
        while self.read().is_some() {}
        self.session.join().expect("the session does not panic")
    }
}
