//! What a client of the debugger sends.

use std::collections::HashMap;
use std::io::Cursor;

use blockwise_debug::{Loaded, Loader, serve};
use ptx_emulator::replay::Replay;
use ptx_emulator::report::Sources;
use ptx_emulator::{Emulator, LaunchConfig, Limits, Module};
use serde_json::{Map, Value, json};

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "dap",
    run,
    seeds,
    words: &[
        "Content-Length: ",
        "\r\n\r\n",
        "\r\n",
        "{\"seq\":1,\"command\":\"",
        "\"arguments\":{",
        "launch",
        "attach",
        "initialize",
        "threads",
        "stackTrace",
        "scopes",
        "variables",
        "evaluate",
        "setBreakpoints",
        "setDataBreakpoints",
        "dataBreakpointInfo",
        "setExceptionBreakpoints",
        "configurationDone",
        "continue",
        "reverseContinue",
        "next",
        "stepIn",
        "stepOut",
        "stepBack",
        "exceptionInfo",
        "pause",
        "disconnect",
        "terminate",
        "\"token\":\"t\"",
        "\"threadId\":1",
        "\"frameId\":",
        "\"variablesReference\":",
        "\"expression\":\"",
        "goto ",
        "\"granularity\":\"instruction\"",
        "tile[3]",
        "y[0]",
        "block.x == 1 && thread.x == 7",
        "%r1",
        "((((",
        "[[[[",
        "{{{{",
        "----",
        "null",
        "\\u0000",
        "\"dataId\":\"shared:0:0:4\"",
        "\"levels\":",
        "\"startFrame\":",
        "POST /a:b HTTP/1.1\r\n",
    ],
    in_test: 1500,
};

const TOKEN: &str = "t";

/// Each thread writes, waits and reads what its neighbour wrote.
const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry exchange(.param .u64 .ptr .align 4 y)
{
    .shared .align 4 .b8 tile[256];
    .reg .b32 %t, %s, %v; .reg .b64 %y; .reg .pred %p;
    ld.param.u64 %y, [y];
    mov.u32 %t, %tid.x; mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s;
LOOP:
    st.shared.u32 [%s], %t;
    add.u32 %t, %t, 16;
    setp.lt.u32 %p, %t, 64;
    @%p bra LOOP;
    xor.b32 %s, %s, 64;
    ld.shared.u32 %v, [%s];
    mad.wide.u32 %y, %t, 0, %y;
    st.global.u32 [%y], %v;
    ret;
}
";

struct Kernel;

impl Loader for Kernel {
    fn load(&mut self, arguments: &Map<String, Value>) -> Result<Loaded, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let emulator = Emulator::new(Limits {
            memory_bytes: 1 << 20,
            warp_instructions: 1000,
            workers: Some(1),
            ..Limits::default()
        });
        let module = Module::parse(PTX).map_err(|error| text(&error))?;
        let module = emulator.load(&module).map_err(|error| text(&error))?;
        let memory = emulator.alloc(256).map_err(|error| text(&error))?;
        let replay = Replay::new(
            emulator,
            module,
            "exchange",
            LaunchConfig {
                grid: [2, 1, 1],
                block: [64, 1, 1],
                dynamic_shared_bytes: 0,
            },
            &[&memory.to_le_bytes()],
            arguments.get("seed").and_then(Value::as_u64),
        );
        Ok(Loaded {
            replay: replay.map_err(|error| text(&error))?,
            types: HashMap::new(),
            ptx: "k.ptx".to_owned(),
            text: PTX.to_owned(),
            sources: Sources::new(),
        })
    }
}

pub(super) fn message(seq: usize, command: &str, arguments: Value) -> Vec<u8> {
    let request =
        json!({ "seq": seq, "type": "request", "command": command, "arguments": arguments });
    let text = request.to_string();
    format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
}

fn session(requests: &[(&str, Value)]) -> Vec<u8> {
    let launch = [
        ("initialize", json!({ "adapterID": "blockwise" })),
        ("launch", json!({ "token": TOKEN, "seed": 7 })),
    ];
    let all = launch.iter().chain(requests).enumerate();
    let all = all.map(|(seq, (command, arguments))| message(seq, command, arguments.clone()));
    all.collect::<Vec<_>>().concat()
}

fn seeds() -> Vec<Vec<u8>> {
    let one = json!({ "threadId": 1 });
    vec![
        session(&[
            (
                "setExceptionBreakpoints",
                json!({ "filters": ["race", "init"] }),
            ),
            ("configurationDone", json!({})),
            ("continue", one.clone()),
            ("exceptionInfo", one.clone()),
            ("threads", json!({})),
            ("stackTrace", json!({ "threadId": 1, "levels": 20 })),
            ("scopes", json!({ "frameId": 1 })),
            ("variables", json!({ "variablesReference": 1 })),
            (
                "variables",
                json!({ "variablesReference": 2, "start": 3, "count": 5 }),
            ),
            ("reverseContinue", one.clone()),
            ("disconnect", json!({})),
        ]),
        session(&[
            (
                "setBreakpoints",
                json!({ "source": { "path": "k.ptx" }, "breakpoints": [
                    { "line": 12, "condition": "thread.x == 3 && tile[2] != 0" }, { "line": 13 } ] }),
            ),
            ("dataBreakpointInfo", json!({ "name": "y[3]" })),
            (
                "setDataBreakpoints",
                json!({ "breakpoints": [{ "dataId": "shared:0:0:4", "accessType": "readWrite" }] }),
            ),
            ("configurationDone", json!({})),
            (
                "next",
                json!({ "threadId": 1, "granularity": "instruction" }),
            ),
            ("stepIn", one.clone()),
            ("stepOut", one.clone()),
            ("stepBack", one),
            (
                "evaluate",
                json!({ "expression": "tile[(1 + 2) * 3 - %t]" }),
            ),
            ("evaluate", json!({ "expression": "goto 17" })),
            ("evaluate", json!({ "expression": "y", "frameId": 1 })),
            ("pause", json!({ "threadId": 0 })),
            ("terminate", json!({})),
        ]),
        message(1, "launch", json!({})),
        message(1, "attach", json!({ "token": TOKEN })),
        b"POST /a:b HTTP/1.1\r\nContent-Length: 3\r\n\r\n{}".to_vec(),
    ]
}

fn run(bytes: &[u8]) -> String {
    let mut said = Vec::new();
    let served = serve(
        Cursor::new(bytes.to_vec()),
        &mut said,
        &mut Kernel,
        Some(TOKEN),
    );
    // What was refused, and with which words.
    let said = String::from_utf8_lossy(&said);
    let words = said.split("\"message\":\"").skip(1);
    let last = words.last().and_then(|text| text.split('"').next());
    let events = [
        "initialized",
        "stopped",
        "breakpoint",
        "exception",
        "output",
        "terminated",
    ];
    let events = events.iter().filter(|event| said.contains(*event)).count();
    let end = served.map_or_else(|error| error.to_string(), |()| "ends".to_owned());
    format!("{end}, {events} events, {}", last.unwrap_or_default())
}
