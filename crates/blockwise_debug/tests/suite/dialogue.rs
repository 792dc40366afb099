//! A recorded dialogue with an editor: every request and what is answered to it.
//!
//! `BLOCKWISE_RECORD=1` writes the answers anew; read the difference before keeping it.

use crate::common::Client;
use crate::variables::{launch, line, text};
use serde_json::{Value, json};
use std::path::Path;

/// In the order in which nvim-dap sends them: a breakpoint, a stop, the stack with its scopes, steps
/// into, over, out and back, watches, the end.
fn requests() -> Vec<(&'static str, Value)> {
    let file = "/home/u/var/src/lib.rs";
    let breakpoint = json!({
        "source": { "path": file, "name": "lib.rs" }, "sourceModified": false,
        "breakpoints": [{ "line": line("let written = tile.write"), "condition": "thread.x == 37 && block.x == 1" }],
        "lines": [line("let written = tile.write")],
    });
    let watch = |expression: &str| json!({ "expression": expression, "context": "watch" });
    vec![
        ("threads", json!({})),
        ("setBreakpoints", breakpoint),
        ("continue", json!({ "threadId": 1 })),
        ("stackTrace", Value::Null),
        ("stepIn", Value::Null),
        ("stackTrace", Value::Null),
        ("stepOut", Value::Null),
        ("stackTrace", Value::Null),
        ("next", Value::Null),
        ("stackTrace", Value::Null),
        ("evaluate", watch("written[37 - 1] + 0.5")),
        ("evaluate", watch("x.len() - first")),
        ("evaluate", watch("place")),
        ("next", Value::Null),
        ("stackTrace", Value::Null),
        ("stepBack", Value::Null),
        ("stackTrace", Value::Null),
        (
            "setVariable",
            json!({ "variablesReference": 1, "name": "first", "value": "0" }),
        ),
        (
            "evaluate",
            json!({ "expression": "goto 0", "context": "repl" }),
        ),
        ("reverseContinue", json!({ "threadId": 1 })),
        ("disconnect", json!({})),
    ]
}

#[test]
fn the_recorded_dialogue_is_held() {
    let mut client = Client::launched_from(launch, text, json!({}));
    let mut thread = client.configured()["threadId"].clone();
    let mut said = String::new();
    for (command, arguments) in requests() {
        let arguments = match arguments {
            Value::Null => json!({ "threadId": thread }),
            arguments => arguments,
        };
        client.send(command, arguments.clone());
        let answer = client.answer();
        said += &format!("> {command} {arguments}\n");
        said += &match answer["success"] == true {
            true => format!("< {}\n", answer["body"]),
            false => format!("< refused: {}\n", answer["message"]),
        };
        let moves = [
            "continue",
            "reverseContinue",
            "next",
            "stepIn",
            "stepOut",
            "stepBack",
        ];
        if moves.contains(&command) || arguments["expression"] == "goto 0" {
            let stop = client.stopped();
            thread = stop["threadId"].clone();
            said += &format!("! stopped {stop}\n");
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dialogue.txt");
    if std::env::var_os("BLOCKWISE_RECORD").is_some() {
        std::fs::write(&path, &said).expect("a file");
    }
    let recorded = std::fs::read_to_string(&path).expect("the recording");
    for (now, then) in said.lines().zip(recorded.lines()) {
        assert_eq!(now, then);
    }
    assert_eq!(said.lines().count(), recorded.lines().count());
}
