//! Variables of the source, from a PTX with debug information: each is what the kernel must hold,
//! or is said to be optimised out.

use crate::common::Client;
use miniz_oxide::inflate::decompress_to_vec;
use ptx_emulator::replay::Replay;
use ptx_emulator::{Emulator, LaunchConfig, Limits, Module};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// `variables.rs` beside it, as rustc 1.96 and LLVM 22 compile it: without the comments, and with
/// the folders of another machine.
const PTX: &[u8] = include_bytes!("../fixtures/variables.ptx.gz");
pub(crate) const SOURCE: &str = include_str!("../fixtures/variables.rs");
const FILE: &str = "/home/u/var/src/lib.rs";

pub(crate) const COUNT: u64 = 150;

pub(crate) fn text() -> String {
    // Between gzip's header and its sums.
    let text = decompress_to_vec(&PTX[10..PTX.len() - 8]).expect("packed text");
    String::from_utf8(text).expect("text")
}

/// `means` of 0, 1, 2, …, with scale 2.5 and shift −3, in 2 blocks of 64 threads.
pub(crate) fn launch(seed: Option<u64>) -> Replay {
    launch_of(&text(), seed)
}

/// The same of another build.
pub(crate) fn launch_of(text: &str, seed: Option<u64>) -> Replay {
    let emulator = Emulator::new(Limits::default());
    let module = Module::parse(text).expect("it is PTX");
    let module = emulator.load(&module).expect("it loads");
    let x: Vec<u8> = (0..COUNT).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let buffers = [(); 2].map(|()| emulator.alloc(4 * COUNT).expect("memory is there"));
    emulator.write(buffers[0], &x).expect("it fits");
    emulator
        .write(buffers[1], &[0; 4 * COUNT as usize])
        .expect("it fits");
    let [x, y, count] = [buffers[0], buffers[1], COUNT].map(u64::to_le_bytes);
    let (scale, shift) = (2.5_f32.to_le_bytes(), (-3_i32).to_le_bytes());
    let args: [&[u8]; 6] = [&x, &count, &scale, &shift, &y, &count];
    let config = LaunchConfig {
        grid: [2, 1, 1],
        block: [64, 1, 1],
        dynamic_shared_bytes: 0,
    };
    Replay::new(emulator, module, "means", config, &args, seed).expect("it is launched")
}

/// The line of the source with this text.
#[track_caller]
pub(crate) fn line(text: &str) -> u64 {
    let at = SOURCE.lines().position(|line| line.contains(text));
    at.expect(text) as u64 + 1
}

/// A session that stops where thread 37 of block 1 reaches a line.
#[track_caller]
fn at(text: &str) -> (Client, Value) {
    let mut client = Client::launched_from(launch, self::text, json!({}));
    let condition = "thread.x == 37 && block.x == 1";
    let wanted = json!({
        "source": { "path": FILE },
        "breakpoints": [{ "line": line(text), "condition": condition }],
    });
    let set = client.ask("setBreakpoints", wanted);
    assert_eq!(set["breakpoints"][0]["line"], line(text), "{set}");
    client.configured();
    let stop = client.moves("continue", json!({}));
    assert_eq!(stop["reason"], "breakpoint", "{stop}");
    (client, stop)
}

/// What the variables of thread 37 of block 1 must be wherever they are kept: their first place is
/// element 64, and its own element is 101.
pub(crate) const EXPECTED: [(&str, &str); 40] = [
    ("x.len()", "150 (0x96)"),
    ("x[101]", "101.0"),
    ("y.len()", "150 (0x96)"),
    ("scale", "2.5"),
    ("shift", "-3"),
    ("thread", "37 (0x25)"),
    ("first", "64 (0x40)"),
    ("place.start", "64 (0x40)"),
    ("at", "100 (0x64)"),
    ("i", "101 (0x65)"),
    ("odd", "true"),
    ("way", "Up"),
    ("left", "100.0"),
    ("here", "101.0"),
    ("right", "102.0"),
    ("point.x", "202.0"),
    ("point.y", "252.5"),
    ("point.count", "101 (0x65)"),
    ("pair.0", "38 (0x26)"),
    ("pair.1", "-101"),
    ("cell", "104 (0x68)"),
    ("chosen", "202.0"),
    ("several[0]", "100.0"),
    ("several[1]", "101.0"),
    ("several[2]", "102.0"),
    ("letter", "'o'"),
    ("maybe", "Some(102.0)"),
    ("tile[37]", "100.0"),
    ("tile.len()", "66 (0x42)"),
    ("loaded[thread.x + 2]", "102.0"),
    ("written[38]", "101.0"),
    ("rows[1][4]", "104 (0x68)"),
    ("table[37 % 4][37 % 33]", "104 (0x68)"),
    ("table.len()", "4"),
    ("table[3]", "[u32; 33]"),
    ("x", "[f32; 150]"),
    ("tile", "[f32; 66]"),
    ("rows", "[[u32; 33]; 4]"),
    ("i - first", "37 (0x25)"),
    ("left + here > right", "true"),
];

#[test]
fn variables_are_what_the_kernel_must_hold() {
    let (mut client, mut stop) = at("let left = loaded[thread]");
    let mut known = BTreeSet::new();
    for _ in 0..12 {
        let stack = client.ask("stackTrace", json!({ "threadId": stop["threadId"] }));
        let frame = &stack["stackFrames"][0];
        let inside = line("y.store")..=line("sum + point.count");
        if !inside.contains(&frame["line"].as_u64().expect("a line")) {
            break;
        }
        for (expression, expected) in EXPECTED {
            let of = json!({ "expression": expression, "frameId": frame["id"] });
            client.send("evaluate", of);
            let answer = client.answer();
            let message = answer["message"].as_str().unwrap_or_default();
            match answer["success"] == true {
                true => {
                    assert_eq!(answer["body"]["result"], expected, "{expression}, {frame}");
                    known.insert(expression);
                }
                // Not declared yet, or dropped.
                false => assert!(
                    message.ends_with("; a launch with `\"build\": \"locals\"` keeps it")
                        || message.contains("there is no")
                        || message.contains("a shared array's element is"),
                    "{expression}: {message}"
                ),
            }
        }
        stop = client.moves("stepIn", json!({ "threadId": stop["threadId"] }));
    }
    assert!(known.len() >= 25, "{known:?}");
    client.hang_up().expect("it ends well");
}

#[test]
fn locals_are_listed_with_types_and_parts() {
    let (mut client, stop) = at("let left = loaded[thread]");
    let stack = client.ask("stackTrace", json!({ "threadId": stop["threadId"] }));
    let frames = stack["stackFrames"].as_array().expect("frames").clone();
    assert!(frames.len() >= 2, "{frames:?}");
    for frame in &frames {
        assert_eq!(frame["source"]["name"], "lib.rs");
    }
    let outer = frames.last().expect("a frame");
    let scopes = client.ask("scopes", json!({ "frameId": outer["id"] }));
    assert_eq!(scopes["scopes"][0]["name"], "Locals");
    let of = |reference: &Value| json!({ "variablesReference": reference });
    let locals = client.ask("variables", of(&scopes["scopes"][0]["variablesReference"]));
    let locals = locals["variables"].as_array().expect("variables").clone();
    let named = |name: &str| -> &Value {
        let found = locals.iter().find(|local| local["name"] == name);
        found.unwrap_or_else(|| panic!("{name} in {locals:?}"))
    };
    assert_eq!(named("x")["type"], "[f32; 150]");
    assert_eq!(named("loaded")["type"], "[f32; 66]");
    assert_eq!(named("table")["type"], "[[u32; 33]; 4]");
    assert_eq!(named("thread")["value"], "37 (0x25)");
    for hidden in ["__x_length", "__x_pointer"] {
        assert!(locals.iter().all(|local| local["name"] != hidden));
    }
    // A table has rows, and these have elements.
    let rows = client.ask("variables", of(&named("table")["variablesReference"]));
    assert_eq!(rows["variables"].as_array().map(Vec::len), Some(4));
    let row = rows["variables"][1].clone();
    assert_eq!(row["name"], "[1]");
    assert_eq!(row["type"], "[u32; 33]");
    let page = json!({ "variablesReference": row["variablesReference"], "start": 4, "count": 2 });
    let page = client.ask("variables", page);
    assert_eq!(page["variables"][0]["value"], "104 (0x68)");
    assert_eq!(page["variables"][1]["name"], "[5]");
    assert_eq!(page["variables"].as_array().map(Vec::len), Some(2));
    // What is shown can be asked for, and watched.
    let path = page["variables"][0]["evaluateName"].clone();
    let again = client.ask("evaluate", json!({ "expression": path }));
    assert_eq!(again["result"], "104 (0x68)");
    let watch = json!({ "name": "[4]", "variablesReference": row["variablesReference"] });
    let watch = client.ask("dataBreakpointInfo", watch);
    assert!(watch["dataId"].is_string(), "{watch}");
    // A slice has its elements.
    let slice =
        json!({ "variablesReference": named("x")["variablesReference"], "start": 148, "count": 9 });
    let slice = client.ask("variables", slice);
    assert_eq!(
        slice["variables"].as_array().map(Vec::len),
        Some(2),
        "{slice}"
    );
    assert_eq!(slice["variables"][1]["name"], "[149]");
    assert_eq!(slice["variables"][1]["value"], "149.0");
    client.hang_up().expect("it ends well");
}

/// The names and lines of the frames of a stop.
fn frames(client: &mut Client, stop: &Value) -> Vec<(String, u64)> {
    let stack = client.ask("stackTrace", json!({ "threadId": stop["threadId"] }));
    let frames = stack["stackFrames"].as_array().expect("frames").iter();
    let place = |frame: &Value| {
        let name = frame["name"].as_str().expect("a name").to_owned();
        (name, frame["line"].as_u64().expect("a line"))
    };
    frames.map(place).collect()
}

/// A line begins in code that is inlined into it: a stop shows the line, and `stepIn` the code.
#[test]
fn inlined_code_is_entered_by_a_step_into_it_only() {
    let call = line("let written = tile.write");
    let before = line("let first = place.start()");
    let (mut client, stop) = at("let written = tile.write");
    let kernel = |line| vec![("means".to_owned(), line)];
    assert_eq!(frames(&mut client, &stop), kernel(call));
    let step = client.step();
    let thread = json!({ "threadId": stop["threadId"] });

    let inside = client.moves("stepIn", thread.clone());
    assert_eq!(client.step(), step, "nothing is executed");
    let entered = frames(&mut client, &inside);
    assert_eq!(entered.len(), 2, "{entered:?}");
    assert_eq!(entered[0].0, "a closure");
    assert!((call + 1..call + 3).contains(&entered[0].1), "{entered:?}");
    assert_eq!(entered[1], kernel(call)[0]);

    let back = client.moves("stepBack", thread.clone());
    assert_eq!(frames(&mut client, &back).len(), 1);
    let (line_back, _) = client.line(&back);
    assert!(line_back <= before, "{line_back}");
    let mut again = client.moves("next", thread.clone());
    while client.line(&again).0 != call {
        again = client.moves("next", thread.clone());
        assert!(client.step() <= step, "passed over the line");
    }
    assert_eq!(
        (frames(&mut client, &again), client.step()),
        (kernel(call), step)
    );

    // Over the whole call, and on to the end: never deeper than the kernel.
    loop {
        let stop = client.moves("next", thread.clone());
        assert_eq!(frames(&mut client, &stop).len(), 1);
        if stop["text"] == "the end of the launch" {
            break;
        }
    }
    client.hang_up().expect("it ends well");
}

#[test]
fn mistakes_in_expressions_are_answered() {
    let (mut client, _) = at("let left = loaded[thread]");
    for (expression, problem) in [
        ("x[150]", "[f32; 150]"),
        ("x[-1]", "[f32; 150]"),
        ("tile[66]", "[f32; 66]"),
        ("rows[4][0]", "[[u32; 33]; 4]"),
        ("rows[0][33]", "[[u32; 33]; 4]"),
        ("rows[1] + 1", "[[u32; 33]; 4]"),
        ("tile.width", "tile.width"),
        ("place.middle", "has no `.middle`"),
        ("thread[0]", "has no `[0]`"),
        ("nobody", "there is no `nobody` here"),
        ("x.iter()", "only `len()`"),
        ("1 / (thread - 37)", "divided by zero"),
    ] {
        let message = client.refused("evaluate", json!({ "expression": expression }));
        assert!(message.contains(problem), "{expression}: {message}");
    }
    for command in ["setVariable", "setExpression"] {
        let arguments = json!({ "expression": "thread", "name": "thread", "value": "1" });
        let message = client.refused(command, arguments);
        assert!(message.contains("launch it again"), "{message}");
    }
    client.hang_up().expect("it ends well");
}

#[test]
fn conditions_read_variables() {
    let mut client = Client::launched_from(launch, text, json!({}));
    let breakpoint = |condition: &str| {
        json!({
            "source": { "path": FILE },
            "breakpoints": [{ "line": line("let here = loaded"), "condition": condition }],
        })
    };
    let refused = client.ask("setBreakpoints", breakpoint("nobody > 1"));
    assert_eq!(refused["breakpoints"][0]["verified"], false, "{refused}");
    let set = client.ask(
        "setBreakpoints",
        breakpoint("i > 99 && loaded[thread + 1] == 101.0"),
    );
    assert_eq!(set["breakpoints"][0]["verified"], true, "{set}");
    client.configured();
    let stop = client.moves("continue", json!({}));
    assert_eq!(stop["text"], "block (1, 0, 0), thread (37, 0, 0)", "{stop}");
    client.hang_up().expect("it ends well");
}

/// Whether it holds is unknown, which is not false.
#[test]
fn a_condition_that_cannot_be_evaluated_stops_and_says_why() {
    let mut client = Client::launched_from(launch, text, json!({}));
    let breakpoint = |condition: &str| {
        json!({
            "source": { "path": FILE },
            "breakpoints": [{ "line": line("let sum = seen(chosen)"), "condition": condition }],
        })
    };
    let set = client.ask(
        "setBreakpoints",
        breakpoint("block.x == 1 && thread.x == 37 && 1 / (thread.x - 37) == 0"),
    );
    assert_eq!(set["breakpoints"][0]["verified"], true, "{set}");
    client.configured();
    let stop = client.moves("continue", json!({}));
    let said = stop["text"].as_str().expect("a text");
    assert_eq!(stop["reason"], "breakpoint", "{stop}");
    assert!(
        said.starts_with(
            "block (1, 0, 0), thread (37, 0, 0); the condition cannot be evaluated here: "
        ),
        "{said}"
    );
    assert!(said.ends_with("divided by zero"), "{said}");
    // A condition that no thread meets lets the launch end.
    client.ask("setBreakpoints", breakpoint("thread.x == 99"));
    let end = client.moves("continue", json!({}));
    assert!(
        end["text"].as_str().expect("a text").starts_with("the end"),
        "{end}"
    );
    client.hang_up().expect("it ends well");
}

/// PTX that says something wrong of itself, or stops in the middle, has no variables; nothing else
/// changes.
#[test]
fn damaged_debug_information_is_said_to_be() {
    let whole = text();
    let start = whole
        .find(".section .debug_info")
        .or_else(|| whole.find(".section\t.debug_info"));
    let (code, dwarf) = whole.split_at(start.expect("a section"));
    let damaged: [String; 4] = [
        format!("{code}{}", dwarf.replacen(".b8 ", ".b8 255,255,255,", 1)),
        format!("{code}.section .debug_info {{\n.b32 100\n.b8 2,0\n}}\n"),
        format!("{code}.section .debug_info {{\n.b32 4294967295\n.b8 2,0\n.b32 0\n.b8 8\n}}\n"),
        format!("{code}.section .debug_info {{\n.b32 7\n.b8 5,0\n.b32 0\n.b8 8\n}}\n"),
    ];
    static DAMAGED: std::sync::Mutex<String> = std::sync::Mutex::new(String::new());
    for text in damaged {
        *DAMAGED.lock().expect("one test") = text;
        let load = || DAMAGED.lock().expect("one test").clone();
        let mut client = Client::launched_from(launch, load, json!({}));
        client.configured();
        let message = client.refused("evaluate", json!({ "expression": "first" }));
        assert!(message.contains("debug information"), "{message}");
        assert_eq!(client.value("x[3]"), "3.0");
        client.hang_up().expect("it ends well");
    }
}
