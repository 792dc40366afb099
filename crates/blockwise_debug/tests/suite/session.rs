//! Whole sessions, as an editor would run them.

use crate::common::{COUNT, Client, FILE, replay};
use ptx_emulator::replay::Direction;
use ptx_emulator::replay::{Event, Replay};
use ptx_emulator::{Emulator, LaunchConfig, Limits, Module};
use serde_json::{Value, json};
use std::path::Path;

/// The line that writes the tile, and the one that reads it with no barrier between.
const WRITE: u64 = 33;
const READ: u64 = 41;

fn watch(client: &mut Client, expression: &str, frame: Option<i64>) -> i64 {
    let info = client.ask(
        "dataBreakpointInfo",
        json!({ "name": expression, "frameId": frame }),
    );
    let wanted = json!({ "breakpoints": [{ "dataId": info["dataId"], "accessType": "write" }] });
    let set = client.ask("setDataBreakpoints", wanted);
    assert_eq!(set["breakpoints"][0]["verified"], true, "{set}");
    set["breakpoints"][0]["id"].as_i64().expect("a number")
}

/// Goes from a wrong number in the output back to the slot that was read before it was written.
#[test]
fn a_wrong_value_leads_back_to_the_missing_barrier() {
    let mut client = Client::launched(json!({}));
    client.configured();
    let end = client.moves("continue", json!({}));
    assert_eq!(end["text"], "the end of the launch");
    let right = |i: u64| 1000 + COUNT - 1 - i;
    let value = |client: &mut Client, i: u64| {
        let text = client.value(&format!("output[{i}]"));
        text.split(' ')
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or(0)
    };
    let wrong: Vec<u64> = (0..COUNT)
        .filter(|&i| value(&mut client, i) != right(i))
        .collect();
    let &at = wrong
        .first()
        .expect("the race shows in the emulator's own order");

    // Find its last writer.
    let id = watch(&mut client, &format!("output[{at}]"), None);
    let write = client.moves("reverseContinue", json!({}));
    assert_eq!(write["reason"], "data breakpoint");
    assert_eq!(write["hitBreakpointIds"], json!([id]));
    let (line, frame) = client.line(&write);
    assert_eq!(line, READ);
    let thread: u64 = client
        .value("thread")
        .split(' ')
        .next()
        .and_then(|n| n.parse().ok())
        .expect("a thread");
    let block = client.value("block");
    // The value came from the mirrored thread's slot, which had not been written yet.
    let slot = 255 - thread;
    let slot_name = format!("SHARED[{slot}]");
    let read = client.ask(
        "evaluate",
        json!({ "expression": slot_name, "frameId": frame }),
    );
    assert_eq!(read["result"], "never written");
    watch(&mut client, &slot_name, Some(frame));
    let none = client.moves("reverseContinue", json!({}));
    assert_eq!(
        (&none["reason"], client.step()),
        (&json!("entry"), 0),
        "{none}"
    );

    // The slot is written after it was read. A barrier would have ordered the write first.
    let late = client.moves("continue", json!({}));
    assert_eq!(late["reason"], "data breakpoint");
    assert_eq!(client.line(&late).0, WRITE);
    assert_eq!(
        client.value("thread").split(' ').next(),
        Some(slot.to_string().as_str())
    );
    assert_eq!(client.value("block"), block);
    let writes = client.step();
    client.ask("setDataBreakpoints", json!({ "breakpoints": [] }));
    client.ask("setExceptionBreakpoints", json!({ "filters": ["race"] }));
    client.ask("evaluate", json!({ "expression": "goto 0" }));
    client.stopped();
    let race = client.moves("continue", json!({}));
    assert_eq!(race["reason"], "exception");
    assert!(
        race["text"].as_str().expect("text").starts_with("race-"),
        "{race}"
    );
    let info = client.ask("exceptionInfo", json!({ "threadId": race["threadId"] }));
    let text = info["description"].as_str().expect("text");
    assert!(
        text.contains(", thread (") && !text.contains("Some"),
        "{text}"
    );
    // The thread that stands there is the report's, and a place that it writes is watched besides.
    let name =
        |client: &mut Client, of: &str| client.value(of).split(' ').next().map(str::to_owned);
    let stands = ["block.x", "thread.x"].map(|of| name(&mut client, of).expect("a number"));
    let [block, thread] = &stands;
    let second = text.lines().nth(1).expect("the access");
    let who = format!("block ({block}, 0, 0), thread ({thread}, 0, 0)");
    assert!(second.ends_with(&who), "{who}: {text}");
    let id = watch(&mut client, &format!("SHARED[{thread}]"), None);
    client.ask("evaluate", json!({ "expression": "goto 0" }));
    client.stopped();
    let both = client.moves("continue", json!({}));
    assert_eq!(both["reason"], "exception");
    assert_eq!(both["hitBreakpointIds"], json!([id]));
    assert_eq!(both["threadId"], race["threadId"]);
    // Only the console moves: a watch is evaluated at each stop.
    let watch = json!({ "expression": "goto 0", "context": "watch" });
    client.refused("evaluate", watch);
    assert!(
        text.contains("reverse_missing_barrier.rs:33")
            && text.contains("reverse_missing_barrier.rs:41"),
        "{text}"
    );
    assert!(text.contains("barrier"), "{text}");
    // The replay agrees, without the session.
    let mut launch = replay(None);
    launch.seek(writes);
    assert_eq!(
        launch
            .location(launch.next().expect("a step").pc)
            .source
            .map(|at| at.line),
        Some(33)
    );
    client.hang_up().expect("it ends well");
}

/// The emulator's zeros are not a value that a kernel may count on.
#[test]
fn shared_memory_that_nobody_wrote_says_so() {
    let mut client = Client::launched(json!({}));
    let set = json!({
        "source": { "path": FILE },
        "breakpoints": [{ "line": READ, "condition": "block.x == 1 && thread.x == 0" }],
    });
    client.ask("setBreakpoints", set);
    client.configured();
    assert_eq!(client.value("SHARED[5]"), "never written");
    let stop = client.moves("continue", json!({}));
    assert_eq!(stop["reason"], "breakpoint", "{stop}");
    let (_, frame) = client.line(&stop);
    // Warp 0 has written its part, warp 7 has not.
    let scopes = client.ask("scopes", json!({ "frameId": frame }));
    let shared = &scopes["scopes"][2];
    assert_eq!(shared["name"], "Shared memory", "{scopes}");
    let of = |reference: &Value| json!({ "variablesReference": reference });
    let arrays = client.ask("variables", of(&shared["variablesReference"]));
    let reference = &arrays["variables"][0]["variablesReference"];
    let elements = client.ask("variables", of(reference));
    let value = |at: usize| elements["variables"][at]["value"].clone();
    assert_eq!(value(5), "1261 (0x4ed)");
    assert_eq!(value(255), "never written");
    let step = client.step();
    // In a sum it is what the emulator has there.
    assert_eq!(client.value("SHARED[255] + 1"), "1");
    assert_eq!(client.value("SHARED[5]"), "1261 (0x4ed)");
    assert_eq!(client.step(), step);
    // What the last step did is still known.
    let last = client.ask("variables", of(&scopes["scopes"][5]["variablesReference"]));
    assert_eq!(scopes["scopes"][5]["name"], "Last step");
    assert!(last["variables"].is_array(), "{last}");
    // Back in the same block, before its first write.
    let set = json!({
        "source": { "path": FILE },
        "breakpoints": [{ "line": WRITE, "condition": "block.x == 1 && thread.x == 0" }],
    });
    client.ask("setBreakpoints", set);
    let back = client.moves("reverseContinue", json!({}));
    assert_eq!(back["reason"], "breakpoint", "{back}");
    assert_eq!(client.value("SHARED[5]"), "never written");
    client.hang_up().expect("it ends well");
}

/// Where the variable is gone, the array goes by another name.
#[test]
fn an_array_without_its_variable_is_named() {
    let mut client = Client::launched(json!({}));
    client.configured();
    client.send("evaluate", json!({ "expression": "tile[3 + 2]" }));
    let answer = client.answer();
    let message = answer["message"].as_str().unwrap_or_default();
    let said = "there is no `tile[5]` here; a shared array's element is `SHARED[5]`";
    assert!(message.starts_with(said), "{answer}");
    client.hang_up().expect("it ends well");
}

/// Lane 4 stores an uninitialised value: the stop shows lane 4, not the warp's first lane.
#[test]
fn a_stop_at_a_finding_is_at_its_thread() {
    fn text() -> String {
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 .ptr .align 1 out)\n{\n\
         .shared .align 4 .b8 tile[128]; .reg .b32 %t, %s, %v; .reg .b64 %o; .reg .pred %p;\n\
         mov.u32 %t, %tid.x; mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s;\n\
         setp.ne.u32 %p, %t, 5; @%p st.shared.u32 [%s], %t;\n\
         ld.shared.u32 %v, [%s]; ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 4, %o;\n\
         st.global.u32 [%o], %v; ret;\n}\n"
            .to_owned()
    }
    fn launch(seed: Option<u64>) -> Replay {
        replay_of(&text(), 32, &[128], &[], seed)
    }
    let mut client = Client::launched_from(launch, text, json!({}));
    let filters = json!({ "filters": ["uninitialised"] });
    client.ask("setExceptionBreakpoints", filters);
    client.configured();
    let stop = client.moves("continue", json!({}));
    assert_eq!(stop["reason"], "exception", "{stop}");
    assert_eq!(client.value("thread.x"), "5");
    client.hang_up().expect("it ends well");
}

/// A launch of one block of kernel `k`: the addresses of allocations, then numbers.
fn replay_of(
    text: &str,
    threads: u32,
    bytes: &[u64],
    numbers: &[u64],
    seed: Option<u64>,
) -> Replay {
    let emulator = Emulator::new(Limits::default());
    let module = Module::parse(text).expect("it is PTX");
    let module = emulator.load(&module).expect("it loads");
    let alloc = |bytes: &u64| emulator.alloc(*bytes).expect("memory is there");
    let args = bytes.iter().map(alloc).chain(numbers.iter().copied());
    let args: Vec<[u8; 8]> = args.map(u64::to_le_bytes).collect();
    let args: Vec<&[u8]> = args.iter().map(|arg| &arg[..]).collect();
    let config = LaunchConfig {
        grid: [1; 3],
        block: [threads, 1, 1],
        dynamic_shared_bytes: 0,
    };
    Replay::new(emulator, module, "k", config, &args, seed).expect("it is launched")
}

/// A matrix has rows and columns, which its kernel is passed, and they are asked for as in Rust.
#[test]
fn a_matrix_has_rows_and_columns() {
    fn text() -> String {
        let record = "x: Matrix<f32>";
        let bytes: Vec<_> = record.bytes().map(|byte| byte.to_string()).collect();
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n\
             .visible .global .align 1 .b8 k__signature[{}] = {{{}}};\n\
             .visible .entry k(.param .u64 .ptr .align 1 k_0, .param .u64 k_1, .param .u64 k_2)\n\
             {{ ret; }}\n",
            record.len(),
            bytes.join(", ")
        )
    }
    fn launch(seed: Option<u64>) -> Replay {
        replay_of(&text(), 1, &[60], &[3, 5], seed)
    }
    let mut client = Client::launched_from(launch, text, json!({}));
    client.configured();
    assert_eq!(client.value("x.rows()"), "3");
    assert_eq!(client.value("x.rows() * x.cols() - 1"), "14 (0xe)");
    client.hang_up().expect("it ends well");
}

#[test]
fn lines_are_stepped_forwards_and_backwards() {
    let mut client = Client::launched(json!({ "seed": 7 }));
    let set = json!({
        "source": { "path": FILE },
        "breakpoints": [{ "line": 32, "condition": "block.x == 1 && thread.x == 70" }],
    });
    let set = client.ask("setBreakpoints", set);
    assert_eq!(set["breakpoints"][0]["line"], WRITE, "{set}");
    client.configured();
    let first = client.moves("continue", json!({}));
    assert_eq!(first["reason"], "breakpoint", "{first}");
    assert_eq!(first["text"], "block (1, 0, 0), thread (70, 0, 0)");
    let thread = json!({ "threadId": first["threadId"] });
    let (line, _) = client.line(&first);
    assert_eq!(line, WRITE);
    let mut forwards = vec![(line, client.step())];
    loop {
        let stop = client.moves("next", thread.clone());
        if stop["text"] == "the end of the launch" {
            break;
        }
        assert_eq!(stop["text"], "block (1, 0, 0), thread (70, 0, 0)");
        forwards.push((client.line(&stop).0, client.step()));
    }
    let &(_, last) = forwards.last().expect("a stop");
    client.ask("evaluate", json!({ "expression": format!("goto {last}") }));
    client.stopped();
    assert!(
        forwards.iter().any(|&(line, _)| line == READ),
        "{forwards:?}"
    );
    let mut backwards = vec![*forwards.last().expect("a stop")];
    for _ in 1..forwards.len() {
        let stop = client.moves("stepBack", thread.clone());
        backwards.push((client.line(&stop).0, client.step()));
    }
    backwards.reverse();
    assert_eq!(forwards, backwards);
    // Steps by single instructions.
    let single = json!({ "threadId": first["threadId"], "granularity": "instruction" });
    let before = client.step();
    client.moves("next", single.clone());
    assert!(client.step() > before);
    client.moves("stepBack", single);
    assert_eq!(client.step(), before);
    // Reaches the breakpoint backwards too.
    client.moves("continue", json!({}));
    let again = client.moves("reverseContinue", json!({}));
    assert_eq!(
        (again["reason"].as_str(), client.step()),
        (Some("breakpoint"), before)
    );
    client.hang_up().expect("it ends well");
}

#[test]
fn threads_scopes_and_variables_are_those_of_the_moment() {
    let mut client = Client::launched(json!({}));
    let set = json!({
        "source": { "path": FILE },
        "breakpoints": [{ "line": READ, "condition": "warp == 2" }],
    });
    client.ask("setBreakpoints", set);
    client.configured();
    let stop = client.moves("continue", json!({}));
    let list = client.ask("threads", json!({}));
    let names: Vec<&str> = list["threads"]
        .as_array()
        .expect("threads")
        .iter()
        .map(|thread| thread["name"].as_str().expect("a name"))
        .collect();
    assert!(
        names
            .iter()
            .any(|name| name.starts_with("block (0, 0, 0) warp 2: 32 lanes next")),
        "{names:?}"
    );
    assert_eq!(
        names
            .iter()
            .filter(|name| name.trim_start().starts_with("lane "))
            .count(),
        32
    );
    let (_, frame) = client.line(&stop);
    let scopes = client.ask("scopes", json!({ "frameId": frame }));
    let scope = |name: &str| -> Value {
        let scopes = scopes["scopes"].as_array().expect("scopes");
        let scope = scopes
            .iter()
            .find(|scope| scope["name"] == name)
            .expect("the scope");
        json!({ "variablesReference": scope["variablesReference"] })
    };
    let registers = client.ask("variables", scope("Registers"));
    let r1 = registers["variables"]
        .as_array()
        .expect("registers")
        .iter()
        .find(|known| known["name"] == "%r1");
    assert!(
        r1.expect("the thread's index")["value"]
            .as_str()
            .expect("text")
            .starts_with("64 (0x40)")
    );
    let parameters = client.ask("variables", scope("Parameters"));
    assert_eq!(parameters["variables"][1]["name"], "input.len()");
    assert_eq!(parameters["variables"][1]["value"], "512 (0x200)");
    let shared = client.ask("variables", scope("Shared memory"));
    assert_eq!(shared["variables"][0]["name"], "SHARED");
    assert_eq!(shared["variables"][0]["value"], "[u32; 256]");
    let tile = &shared["variables"][0]["variablesReference"];
    let page = json!({ "variablesReference": tile, "filter": "indexed", "start": 64, "count": 3 });
    let page = client.ask("variables", page);
    assert_eq!(page["variables"].as_array().map(Vec::len), Some(3));
    assert_eq!(page["variables"][0]["name"], "[64]");
    assert_eq!(page["variables"][0]["value"], "1064 (0x428)");
    // An element can be watched from there.
    let info = client.ask(
        "dataBreakpointInfo",
        json!({ "name": "[64]", "variablesReference": tile }),
    );
    assert_eq!(info["description"], "SHARED[64]");
    let global = client.ask("variables", scope("Global memory"));
    assert_eq!(global["variables"][0]["name"], "input");
    assert_eq!(client.value("input[511]"), "1511 (0x5e7)");
    // References from an earlier stop are invalid now.
    client.moves("next", json!({ "threadId": stop["threadId"] }));
    let refused = client.refused("variables", json!({ "variablesReference": tile }));
    assert!(refused.contains("earlier"), "{refused}");
    client.hang_up().expect("it ends well");
}

#[test]
fn breakpoints_stop_at_the_same_steps_both_ways() {
    let mut client = Client::launched(json!({ "seed": 3 }));
    let set = json!({
        "source": { "path": FILE }, "breakpoints": [{ "line": READ, "condition": "%rd6 == 256 && lane > 3" }],
    });
    client.ask("setBreakpoints", set);
    client.configured();
    let mut forwards = Vec::new();
    while client.moves("continue", json!({}))["reason"] == "breakpoint" {
        forwards.push(client.step());
    }
    let mut backwards = Vec::new();
    while client.moves("reverseContinue", json!({}))["reason"] == "breakpoint" {
        backwards.push(client.step());
    }
    backwards.reverse();
    assert!(forwards.len() >= 16, "{forwards:?}");
    assert_eq!(forwards, backwards);
    // The same steps are at that line in a launch without a debugger.
    let mut launch = replay(Some(3));
    let mut found = Vec::new();
    let pcs: Vec<u32> = launch
        .instructions()
        .filter(|&pc| {
            launch
                .location(pc)
                .frames
                .iter()
                .any(|frame| u64::from(frame.line) == READ)
        })
        .collect();
    while let Some(step) = launch.find(
        Direction::Forwards,
        &mut |_, event| matches!(event, Event::Step(at) if pcs.contains(&at.pc)),
    ) {
        found.push(step);
    }
    assert!(forwards.iter().all(|step| found.contains(step)));
    client.hang_up().expect("it ends well");
}

#[test]
fn a_session_that_pauses_or_disconnects_ends_well() {
    let mut client = Client::launched(json!({ "stopOnEntry": false }));
    let stop = client.configured();
    assert_eq!(stop["text"], "the end of the launch");
    client.ask("pause", json!({ "threadId": 1 }));
    client.ask("disconnect", json!({}));
    assert_eq!(client.event()["event"], "terminated");
    assert!(client.read().is_none());
}

/// The requests in the book's table of messages exist, and their order works.
#[test]
fn the_books_order_of_messages_holds() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src/debugging.md");
    let book = std::fs::read_to_string(book).expect("the chapter");
    let rows = book
        .lines()
        .skip_while(|line| !line.starts_with("| request"));
    let rows = rows.skip(2).take_while(|line| line.starts_with("| "));
    let first = rows.map(|row| row.split(" | ").next().expect("a column"));
    let quoted = first.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let known = |word: &&str| word.len() > 4 && word.chars().all(char::is_alphabetic);
    let requests: Vec<&str> = quoted.filter(known).collect();
    assert!(requests.len() >= 20, "{requests:?}");
    let mut client = Client::connect();
    let arguments = json!({
        "threadId": 1, "expression": "step", "filters": [], "breakpoints": [],
        "source": { "path": FILE }, "name": "output[0]",
    });
    for request in requests {
        client.send(request, arguments.clone());
        let answer = client.answer();
        let message = answer["message"].as_str().unwrap_or_default();
        // Numbers of frames and references are of a stop.
        let is_known = answer["success"] == true
            || ["scopes", "variables"].contains(&request) && !message.contains("no request");
        assert!(is_known, "{request}: {answer}");
    }
    client.hang_up().expect("it ends well");
}
