//! Stepping back over a barrier and an atomic restores the earlier state: every word is as in a
//! session that stopped there.

use crate::common::Client;
use ptx_emulator::replay::Replay;
use ptx_emulator::{Emulator, LaunchConfig, Limits, Module};
use serde_json::{Value, json};

/// Each thread passes a value to its mirror image in the block, and adds the value that it receives
/// to a sum.
const PTX: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry exchange(.param .u64 .ptr .align 4 y)
{
    .shared .align 4 .b8 tile[256];
    .reg .b32 %t, %s, %v, %old; .reg .b64 %y, %own;
    ld.param.u64 %y, [y];
    mov.u32 %t, %tid.x; mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s;
    st.shared.u32 [%s], %t;
    bar.sync 0;
    xor.b32 %s, %s, 252;
    ld.shared.u32 %v, [%s];
    atom.global.add.u32 %old, [%y], %v;
    mad.wide.u32 %own, %t, 4, %y;
    st.global.u32 [%own+4], %old;
    bar.sync 0;
    ret;
}
";
const COUNT: u64 = 65;

fn launch(seed: Option<u64>) -> Replay {
    let emulator = Emulator::new(Limits::default());
    let module = Module::parse(PTX).expect("it is PTX");
    let module = emulator.load(&module).expect("it loads");
    let y = emulator.alloc(4 * COUNT).expect("memory is there");
    emulator
        .write(y, &[0; 4 * COUNT as usize])
        .expect("it fits");
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [64, 1, 1],
        dynamic_shared_bytes: 0,
    };
    Replay::new(
        emulator,
        module,
        "exchange",
        config,
        &[&y.to_le_bytes()],
        seed,
    )
    .expect("it is launched")
}

/// Everything that a client sees: the step, the threads with their next instructions, and every
/// variable of every scope, with its elements.
fn look(client: &mut Client, thread: &Value) -> Vec<String> {
    let mut seen = vec![format!("step {}", client.step())];
    let threads = client.ask("threads", json!({}));
    seen.push(threads["threads"].to_string());
    let stack = client.ask("stackTrace", json!({ "threadId": thread }));
    let frames = stack["stackFrames"].as_array().expect("frames");
    seen.extend(
        frames
            .iter()
            .map(|frame| format!("{} at {}", frame["name"], frame["line"])),
    );
    let scopes = client.ask("scopes", json!({ "frameId": frames[0]["id"] }));
    for scope in scopes["scopes"].as_array().expect("scopes") {
        variables(
            client,
            &scope["name"].to_string(),
            &scope["variablesReference"],
            &mut seen,
        );
    }
    seen
}

fn variables(client: &mut Client, name: &str, reference: &Value, seen: &mut Vec<String>) {
    if reference == 0 {
        return;
    }
    let body = client.ask("variables", json!({ "variablesReference": reference }));
    for variable in body["variables"].as_array().expect("variables") {
        let name = format!("{name}.{}", variable["name"]);
        seen.push(format!("{name} = {}", variable["value"]));
        variables(client, &name, &variable["variablesReference"], seen);
    }
}

/// The PTX line that the thread is about to execute.
fn line(client: &mut Client, thread: &Value) -> String {
    let stack = client.ask("stackTrace", json!({ "threadId": thread }));
    let line = stack["stackFrames"][0]["line"].as_u64().expect("a line");
    PTX.lines()
        .nth(line as usize - 1)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

#[test]
fn over_a_barrier_and_an_atomic_every_word_is_as_before() {
    for seed in [json!(null), json!(7)] {
        let arguments = json!({ "seed": seed });
        let mut client = Client::launched_of(launch, arguments.clone());
        let mut stop = client.configured();
        let thread = stop["threadId"].clone();
        let single = json!({ "threadId": thread, "granularity": "instruction" });
        let mut states = Vec::new();
        while stop["text"] != "the end of the launch" && stop["text"] != "the lane has ended" {
            let step = client.step();
            states.push((step, line(&mut client, &thread), look(&mut client, &thread)));
            stop = client.moves("next", single.clone());
        }
        let over = |opcode: &str| {
            states
                .iter()
                .filter(|state| state.1.starts_with(opcode))
                .count()
        };
        assert_eq!((over("bar.sync"), over("atom.")), (2, 1), "seed {seed}");
        // The comparison covers every word.
        let words = |array: &str| {
            states[3]
                .2
                .iter()
                .filter(|text| text.contains(array))
                .count()
        };
        assert!(
            words("tile\".\"[") >= 64 && words("y\".\"[") >= 65,
            "{:?}",
            states[3].2
        );
        assert!(states.windows(2).all(|pair| pair[0].2 != pair[1].2));

        for (step, next, expected) in states.iter().rev() {
            client.moves("stepBack", single.clone());
            assert_eq!(client.step(), *step, "back to `{next}`");
            assert_eq!(look(&mut client, &thread), *expected, "back to `{next}`");
            // Another session, which never went further.
            let mut other = Client::launched_of(launch, arguments.clone());
            other.configured();
            other.ask("evaluate", json!({ "expression": format!("goto {step}") }));
            other.stopped();
            assert_eq!(look(&mut other, &thread), *expected, "stopped at `{next}`");
            other.hang_up().expect("it ends well");
        }
        client.hang_up().expect("it ends well");
    }
}
