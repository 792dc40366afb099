//! Debug information of a PTX text, which the debugger reads for variables.
//!
//! The kernel is a real one, and so are its lines; only its sections are changed. The first byte of
//! an input says how: sections of its own in bytes, changes of the real ones, or sections as text.

mod seeds;

use std::collections::HashMap;
use std::fmt::Write;
use std::io::Cursor;
use std::sync::OnceLock;

use blockwise_debug::{Loaded, Loader, serve};
use miniz_oxide::inflate::decompress_to_vec;
use ptx_emulator::replay::Replay;
use ptx_emulator::report::Sources;
use ptx_emulator::{Emulator, LaunchConfig, Limits, Module};
use serde_json::{Map, Value, json};

use super::Target;
use super::debugger::message;
use crate::LONGEST;

pub(super) const TARGET: Target = Target {
    name: "dwarf",
    run,
    seeds: seeds::seeds,
    words: &[
        // Tags with and without children, attributes with their forms, operations.
        "\u{34}\u{0}",
        "\u{13}\u{1}",
        "\u{33}\u{1}",
        "\u{1}\u{1}\u{49}\u{11}\u{0}\u{0}",
        "\u{3}\u{8}",
        "\u{3}\u{e}",
        "\u{49}\u{11}",
        "\u{49}\u{10}",
        "\u{31}\u{13}",
        "\u{47}\u{13}",
        "\u{2}\u{a}",
        "\u{2}\u{6}",
        "\u{38}\u{a}",
        "\u{1c}\u{a}",
        "\u{3}\u{19}",
        "\u{37}\u{7}",
        "\u{b}\u{7}",
        "\u{93}\u{4}",
        "\u{93}\u{0}",
        "\u{90}\u{b1}\u{e4}\u{95}\u{1}",
        "\u{11}\u{7f}\u{9f}",
        "\u{3}\0\0\0\0\0\0\0\0\u{23}\u{4}",
        "\0\0",
        "\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{1}",
        "\u{80}\u{80}\u{80}\u{80}",
        // Texts.
        ".section .debug_info {\n",
        ".section .debug_abbrev {\n",
        ".section .debug_loc {\n",
        ".section .debug_str {\n",
        ".b8 ",
        ".b32 ",
        ".b64 ",
        ".debug_info+",
        "$L__tmp1",
        "$L__tmp1:\n",
        "//DEBUG_VALUE: scale <- 6\n",
        ",",
        "\n}\n",
        "-1",
        "0x",
        "&[f32]",
        "data_ptr\0",
        "length\0",
        "Shared<[f32; 66]>\0",
        "tile\0",
        "core::option::Option<a::B>\0",
    ],
    in_test: 300,
};

/// The debugger's own fixture, and the file that its lines name.
const PACKED: &[u8] =
    include_bytes!("../../../../crates/blockwise_debug/tests/fixtures/variables.ptx.gz");
const FILE: &str = "/home/u/var/src/lib.rs";
/// A line in a closure, where most variables are known.
const LINE: u32 = 42;
const COUNT: u64 = 70;

/// Of the fixture: the module, the lines before its sections, and the sections.
struct Fixture {
    module: Module,
    code: String,
    sections: Vec<Section>,
}

struct Section {
    name: String,
    items: Vec<Item>,
}

/// The type of a number, and how it is written.
#[derive(Clone)]
struct Item(&'static str, String);

fn fixture() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| {
        // Between gzip's header and its sums.
        let text = decompress_to_vec(&PACKED[10..PACKED.len() - 8]).expect("packed text");
        let text = String::from_utf8(text).expect("text");
        let start = text.find(".section\t.debug").expect("sections");
        let mut sections: Vec<Section> = Vec::new();
        for line in text[start..].lines() {
            if let Some(name) = line.strip_prefix(".section") {
                let name = name.split_whitespace().next().expect("a name").to_owned();
                let items = Vec::new();
                sections.push(Section { name, items });
            }
            let items = &mut sections.last_mut().expect("a section").items;
            let types = [".b8", ".b16", ".b32", ".b64"];
            let found = types.into_iter().find_map(|ty| {
                let values = line.trim().strip_prefix(ty)?.strip_prefix(' ')?;
                Some((ty, values))
            });
            if let Some((ty, values)) = found {
                items.extend(
                    values
                        .split(',')
                        .map(|value| Item(ty, value.trim().to_owned())),
                );
            } else if line.ends_with(':') {
                items.push(Item("", line.to_owned()));
            }
        }
        Fixture {
            module: Module::parse(&text).expect("it is PTX"),
            code: text[..start].to_owned(),
            sections,
        }
    })
}

/// The text of the kernel with sections that an input makes.
fn text(input: &[u8]) -> Option<String> {
    let Fixture { code, sections, .. } = fixture();
    let (&how, input) = input.split_first()?;
    Some(match how % 3 {
        0 => {
            let mut rest = input;
            let mut made = Vec::new();
            for name in [".debug_abbrev", ".debug_info", ".debug_loc", ".debug_str"] {
                let (length, bytes) = rest.split_at_checked(2)?;
                let length = usize::from(u16::from_le_bytes(length.try_into().ok()?));
                let (bytes, next) = bytes.split_at(length.min(bytes.len()));
                rest = next;
                let items = bytes.iter().map(|byte| Item(".b8", byte.to_string()));
                made.push(Section {
                    name: name.to_owned(),
                    items: items.collect(),
                });
            }
            CODE.to_owned() + &written(&made) + &String::from_utf8_lossy(rest)
        }
        1 => code.clone() + &written(&patched(sections, input)),
        _ => CODE.to_owned() + &String::from_utf8_lossy(input),
    })
}

/// Records of 12 bytes: an item, what happens to it, and a number.
fn patched(sections: &[Section], records: &[u8]) -> Vec<Section> {
    let names = sections.iter().map(|section| section.name.clone());
    let names: Vec<String> = names.collect();
    let mut items: Vec<(usize, Item)> = Vec::new();
    for (number, section) in sections.iter().enumerate() {
        items.extend(section.items.iter().map(|item| (number, item.clone())));
    }
    let most = items.len() + LONGEST;
    for record in records.chunks_exact(12).take(400) {
        let word = |range: std::ops::Range<usize>| {
            let bytes = record[range].iter().rev();
            bytes.fold(0_u64, |word, &byte| word << 8 | u64::from(byte))
        };
        let (at, value) = (word(0..3) as usize, word(4..12));
        let at = at % items.len().max(1);
        let Some(&(section, Item(ty, _))) = items.get(at) else {
            break;
        };
        let run = (value as usize % 256).min(items.len() - at);
        match record[3] % 8 {
            0 | 1 => items[at].1 = Item(ty, value.to_string()),
            2 => items[at].1 = Item(ty, format!("-{}", value % 256)),
            3 => drop(items.drain(at..at + run)),
            4 => items.insert(at, (section, Item(".b8", (value % 256).to_string()))),
            5 if items.len() + run <= most => {
                let copy = items[at..at + run].to_vec();
                items.splice(at..at, copy);
            }
            6 => items[at].1 = Item(ty, format!(".debug_info+{}", value % 70_000)),
            7 => {
                let symbols = [
                    "_RNvNvCshoTM9vJugLc_9variables5means6SHARED",
                    "_RNvNvCshoTM9vJugLc_9variables5meanss_6SHARED",
                    "means_param_0",
                    "$L__tmp9",
                ];
                items[at].1 = Item(".b64", symbols[value as usize % 4].to_owned());
            }
            _ => {}
        }
    }
    let mut made: Vec<Section> = Vec::new();
    for name in names {
        let items = Vec::new();
        made.push(Section { name, items });
    }
    for (section, item) in items {
        made[section].items.push(item);
    }
    made
}

fn written(sections: &[Section]) -> String {
    let mut text = String::new();
    for Section { name, items } in sections {
        let _ = writeln!(text, ".section {name}\n{{");
        let mut rest = &items[..];
        while let Some(Item(ty, _)) = rest.first() {
            // A line has numbers of one type; a label has its own.
            let most = if ty.is_empty() { 1 } else { 40 };
            let alike = rest
                .iter()
                .take(most)
                .take_while(|item| item.0 == *ty)
                .count();
            let (line, next) = rest.split_at(alike);
            let values: Vec<&str> = line.iter().map(|item| item.1.as_str()).collect();
            let _ = writeln!(text, "{ty} {}", values.join(","));
            rest = next;
        }
        text += "}\n";
    }
    text
}

/// What stands before sections of an input's own: their addresses are lines, of the fixture.
const CODE: &str =
    "$L__tmp1:\n//DEBUG_VALUE: means:scale <- 6\n\tadd.s32 %r1, %r1, 1;\n$L__tmp2:\n";

/// The kernel, with the text that is said to be its own.
struct Kernel(String);

impl Loader for Kernel {
    fn load(&mut self, _: &Map<String, Value>) -> Result<Loaded, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let emulator = Emulator::new(Limits {
            memory_bytes: 1 << 20,
            workers: Some(1),
            ..Limits::default()
        });
        let module = emulator.load(&fixture().module);
        let module = module.map_err(|error| text(&error))?;
        let alloc = || emulator.alloc(4 * COUNT).map_err(|error| text(&error));
        let [x, y] = [alloc()?, alloc()?];
        for buffer in [x, y] {
            let bytes: Vec<u8> = (0..4 * COUNT).map(|at| (at % 251) as u8).collect();
            emulator
                .write(buffer, &bytes)
                .map_err(|error| text(&error))?;
        }
        let [x, y, count] = [x, y, COUNT].map(u64::to_le_bytes);
        let (scale, shift) = (2.5_f32.to_le_bytes(), (-3_i32).to_le_bytes());
        let arguments: [&[u8]; 6] = [&x, &count, &scale, &shift, &y, &count];
        let config = LaunchConfig {
            grid: [1, 1, 1],
            block: [64, 1, 1],
            dynamic_shared_bytes: 0,
        };
        let replay = Replay::new(emulator, module, "means", config, &arguments, None);
        Ok(Loaded {
            replay: replay.map_err(|error| text(&error))?,
            types: HashMap::new(),
            ptx: "k.ptx".to_owned(),
            text: std::mem::take(&mut self.0),
            sources: Sources::new(),
        })
    }
}

/// What a session on a text says; the requests are a client's that stops once and shows everything.
fn said(text: String, requests: &[(&str, Value)]) -> String {
    let begin = [
        ("initialize", json!({})),
        ("launch", json!({ "justMyCode": false })),
        (
            "setBreakpoints",
            json!({ "source": { "path": FILE }, "breakpoints": [{ "line": LINE }] }),
        ),
        ("configurationDone", json!({})),
        ("continue", json!({ "threadId": 1 })),
    ];
    let all = begin.iter().chain(requests).enumerate();
    let all = all.map(|(seq, (command, arguments))| message(seq, command, arguments.clone()));
    let input = all.collect::<Vec<_>>().concat();
    let mut said = Vec::new();
    let served = serve(Cursor::new(input), &mut said, &mut Kernel(text), None);
    served.expect("whole messages");
    String::from_utf8_lossy(&said).into_owned()
}

/// The thread that stops at the line.
fn thread() -> u64 {
    static THREAD: OnceLock<u64> = OnceLock::new();
    *THREAD.get_or_init(|| {
        let said = said(String::new(), &[]);
        let number = said.rsplit("\"threadId\":").next();
        let digits = number.and_then(|text| text.split(|c: char| !c.is_ascii_digit()).next());
        digits
            .and_then(|digits| digits.parse().ok())
            .expect("a stop")
    })
}

const EXPRESSIONS: [&str; 20] = [
    "x",
    "x[1]",
    "x.len()",
    "y",
    "tile",
    "tile[3]",
    "rows[1][2]",
    "loaded",
    "place",
    "place.start",
    "thread",
    "first",
    "scale",
    "point.x",
    "pair.0",
    "maybe",
    "way",
    "letter",
    "a[0]",
    "a.b.c[1].d",
];

fn run(input: &[u8]) -> String {
    let Some(text) = text(input) else {
        return "nothing".to_owned();
    };
    let thread = thread();
    let mut requests = Vec::new();
    // The innermost, two of the user's, the outermost.
    let frames = [0, 1, 6, 11].map(|inner| 256 * thread + inner);
    requests.push(("stackTrace", json!({ "threadId": thread })));
    for frame in frames {
        requests.push(("scopes", json!({ "frameId": frame })));
    }
    // Their locals, the first of six scopes each, and what these consist of.
    for reference in [1, 7, 13, 19].into_iter().chain(25..70) {
        requests.push((
            "variables",
            json!({ "variablesReference": reference, "count": 9 }),
        ));
    }
    for frame in frames {
        for expression in EXPRESSIONS {
            requests.push((
                "evaluate",
                json!({ "expression": expression, "frameId": frame }),
            ));
        }
    }
    requests.push(("stepIn", json!({ "threadId": thread })));
    requests.push(("scopes", json!({ "frameId": frames[0] })));
    requests.push(("variables", json!({ "variablesReference": 1 })));
    outcome(&said(text, &requests))
}

/// What was shown, in words, and what was refused last.
fn outcome(said: &str) -> String {
    let mut words = Vec::new();
    let several = |count: usize| match count {
        0 => "none",
        1..8 => "few",
        8..64 => "some",
        _ => "many",
    };
    words.push(several(said.matches("\"evaluateName\"").count()));
    for (word, text) in [
        ("gone", "optimised out"),
        ("parts", "data_ptr"),
        ("slices", "\"type\":\"&["),
        ("arrays", "\"type\":\"["),
        ("elements", "\"indexedVariables\""),
        ("fields", " { "),
        ("tuples", "(as passed)"),
        ("named", "no variant"),
        ("letters", "no char"),
        ("unknown", "a value of"),
        ("cut", "…"),
        ("nowhere", "no memory of the launch"),
        ("floats", "\"value\":\"1.0\""),
        ("truths", "\"value\":\"true\""),
        ("pointers", "\"name\":\"*\""),
    ] {
        if said.contains(text) {
            words.push(word);
        }
    }
    let error = said.split("the debug information ").nth(1);
    let error = error.and_then(|text| text.split('"').next());
    let message = said.split("\"message\":\"").last();
    let message = message.and_then(|text| text.split('"').next());
    let last = error.or(message).unwrap_or_default();
    format!("{}, {last}", words.join(" "))
}
