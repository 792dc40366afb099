//! A build that keeps every local (`DebugInfo::Locals`): each is what the kernel must hold, wherever
//! it is in scope.

use crate::common::Client;
use crate::variables::{EXPECTED, SOURCE, launch_of, line};
use cuda_builder::{CudaBuilder, DebugInfo};
use ptx_emulator::replay::Replay;
use ptx_emulator::{Emulator, LaunchConfig, Limits, Module};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The crate that is built: `means`, and the tutorials' safe kernels from a crate that it depends
/// on.
struct Built {
    file: PathBuf,
    text: String,
}

static BUILT: LazyLock<Built> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the repository");
    // Cargo keeps what has been compiled: the folder has one name.
    let folder = root.join("target/tmp/kept_locals");
    fs::create_dir_all(folder.join("src")).expect("a folder");
    let manifest = format!(
        "[workspace]\n\n[package]\nname = \"kept_locals\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         cuda_std = {{ package = \"blockwise_std\", path = {:?}, default-features = false }}\n\
         kernels = {{ package = \"blockwise_kernels\", path = {:?} }}\n",
        root.join("crates/cuda_std"),
        root.join("kernels"),
    );
    // A crate is linked if its name is used.
    let source = format!("{SOURCE}\n{LATE}\nextern crate kernels as _;\n");
    for (name, text) in [("Cargo.toml", &manifest), ("src/lib.rs", &source)] {
        let path = folder.join(name);
        if fs::read_to_string(&path).is_ok_and(|old| old == *text) {
            continue;
        }
        fs::write(path, text).expect("a file");
    }
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("a lock file");
    let names: Vec<&str> = KERNELS.iter().map(|kernel| kernel.name).collect();
    let ptx = CudaBuilder::new(&folder)
        .debug(DebugInfo::Locals)
        .only(&["means", "late"])
        .only(&names)
        .build();
    let ptx = ptx.unwrap_or_else(|error| panic!("{error}"));
    Built {
        file: folder.join("src/lib.rs"),
        text: fs::read_to_string(ptx).expect("PTX"),
    }
});

fn text() -> String {
    BUILT.text.clone()
}

/// `means` with all its locals: none is "optimised out", and each is right at every line from its
/// `let` on.
#[test]
fn every_local_is_known_from_its_let_on() {
    let launch = |seed| launch_of(&BUILT.text, seed);
    let mut client = Client::launched_from(launch, text, json!({}));
    let first = line("let odd = thread");
    let wanted = json!({
        "source": { "path": BUILT.file },
        "breakpoints": [{ "line": first, "condition": "thread.x == 37 && block.x == 1" }],
    });
    let set = client.ask("setBreakpoints", wanted);
    assert_eq!(set["breakpoints"][0]["line"], first, "{set}");
    client.configured();
    let mut stop = client.moves("continue", json!({}));
    let mut known = BTreeSet::new();
    let last = line("sum + point.count");
    loop {
        let stack = client.ask("stackTrace", json!({ "threadId": stop["threadId"] }));
        // Code of `derive` is inlined into some lines.
        let inside = |frame: &&Value| {
            let at = frame["line"].as_u64().expect("a line");
            (first..=last).contains(&at)
        };
        let mut frames = stack["stackFrames"].as_array().expect("frames").iter();
        let Some(frame) = frames.find(inside) else {
            break;
        };
        for (expression, expected) in EXPECTED {
            let of = json!({ "expression": expression, "frameId": frame["id"] });
            client.send("evaluate", of);
            let answer = client.answer();
            if answer["success"] == true {
                assert_eq!(answer["body"]["result"], expected, "{expression}, {frame}");
                known.insert(expression);
            } else {
                let message = answer["message"].as_str().unwrap_or_default();
                assert!(message.contains("there is no"), "{expression}: {message}");
                // It is not in scope: of another closure, or not yet.
                assert!(
                    !known.contains(expression) || expression == "at",
                    "{expression}: {message}, {frame}"
                );
            }
        }
        stop = client.moves("next", json!({ "threadId": stop["threadId"] }));
    }
    let unknown = EXPECTED.iter().map(|(expression, _)| *expression);
    let unknown: Vec<&str> = unknown.filter(|it| !known.contains(it)).collect();
    assert_eq!(unknown, ["at"], "of another closure");
    client.hang_up().expect("it ends well");
}

/// `later` has no value where its scope begins; in the second iteration its memory has the first
/// one's.
const LATE: &str = "
#[kernel]
pub fn late(x: &[f32], mut y: Out<f32>) {
    for (i, y) in y.mine() {
        let square = x[i] * x[i];
        let later;
        let before = square + 1.0;
        if before > 10.0 {
            later = before;
        } else {
            later = -before;
        }
        *y = later;
    }
}
";

/// The line of `late` with this text, in the crate.
fn late_line(text: &str) -> usize {
    let at = LATE.lines().position(|line| line.contains(text));
    SOURCE.lines().count() + 2 + at.expect(text)
}

#[test]
fn a_variable_without_a_value_says_so() {
    const KERNEL: Kernel = Kernel {
        name: "late",
        file: "lib.rs",
        grid: [1, 1, 1],
        block: [32, 1, 1],
        shared: 0,
        arguments: &[Floats(64), Number(64), Floats(64), Number(64)],
        holds: &[],
    };
    let launch = |seed| KERNEL.launch(seed);
    let mut client = Client::launched_from(launch, text, json!({}));
    let wanted = json!({
        "source": { "path": BUILT.file },
        "breakpoints": [{ "line": late_line("*y = later;"), "condition": "thread.x == 7" }],
    });
    client.ask("setBreakpoints", wanted);
    client.configured();
    for square in ["49.0", "1521.0"] {
        client.moves("continue", json!({}));
        assert_eq!(client.value("square"), square);
        let why = client.refused("evaluate", json!({ "expression": "later" }));
        assert!(why.contains("there is no `later` here"), "{why}");
    }
    client.hang_up().expect("it ends well");
}

/// One of the tutorials' safe kernels, its launch, and what holds at each of its lines.
struct Kernel {
    name: &'static str,
    file: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    /// Numbers as they are passed, and buffers of a length of 4-byte elements.
    arguments: &'static [Argument],
    /// Conditions on locals: true wherever their names are in scope.
    holds: &'static [&'static str],
}

enum Argument {
    Number(u64),
    /// 0.0, 1.0, 2.0, …
    Floats(u64),
    /// 0, 1, 2, …
    Words(u64),
}
use Argument::{Floats, Number, Words};

const KERNELS: [Kernel; 5] = [
    Kernel {
        name: "conv1d_tiled_f32",
        file: "conv1d/tiled.rs",
        grid: [1, 1, 1],
        block: [32, 1, 1],
        shared: 144,
        arguments: &[
            Number(36),
            Floats(60),
            Number(60),
            Floats(5),
            Number(5),
            Floats(64),
            Number(64),
            Number(4),
        ],
        holds: &[
            "halo == 4",
            "thread == 7",
            "place.start == 0 || place.start == 32",
            "start == place.start",
            "slot == 7 || slot == 39",
            "signal.len() == 60 && taps.len() == 5 && output.len() == 64",
            "offset == 4",
            "i == place.start + thread",
            "window.len() == thread + taps.len()",
            "samples[thread] == start + thread",
            "inside.start <= inside.end && inside.end <= 5",
        ],
    },
    Kernel {
        name: "dot_tree_f32",
        file: "reduce/tree.rs",
        grid: [2, 1, 1],
        block: [64, 1, 1],
        shared: 256,
        arguments: &[
            Number(64),
            Floats(300),
            Number(300),
            Floats(300),
            Number(300),
            Floats(2),
            Number(2),
        ],
        holds: &[
            "a.len() == 300 && b.len() == 300",
            "a[17] == 17.0",
            "share == 87443.0",
        ],
    },
    Kernel {
        name: "matmul_tiled_f32",
        file: "matmul/tiled.rs",
        grid: [1, 1, 1],
        block: [16, 16, 1],
        shared: 0,
        arguments: &[
            Floats(640),
            Number(20),
            Number(32),
            Floats(576),
            Number(32),
            Number(18),
            Floats(360),
            Number(20),
            Number(18),
        ],
        holds: &[
            "x == 7 && y == 0",
            "top.start == 0 || top.start == 16",
            "left.start == 0 || left.start == 16",
            "k < 16",
        ],
    },
    Kernel {
        name: "transpose_tiled_u32",
        file: "transpose/tiled.rs",
        grid: [1, 1, 1],
        block: [32, 8, 1],
        shared: 0,
        arguments: &[
            Words(1200),
            Number(40),
            Number(30),
            Words(1200),
            Number(40),
            Number(30),
        ],
        holds: &[
            "top.start == 0 || top.start == 32",
            "left.start == 0",
            "col == 7 && row < 32",
        ],
    },
    Kernel {
        name: "reverse_static_u32",
        file: "reverse/fixed.rs",
        grid: [1, 1, 1],
        block: [256, 1, 1],
        shared: 0,
        arguments: &[Words(600), Number(600), Words(600), Number(600)],
        holds: &[
            "place.start == 0 || place.start == 256 || place.start == 512",
            "input.len() == 600 && output.len() == 600",
            "input[599] == 599",
            "i == 7",
        ],
    },
];

impl Kernel {
    fn launch(&self, seed: Option<u64>) -> Replay {
        let emulator = Emulator::new(Limits::default());
        let module = Module::parse(&BUILT.text).expect("it is PTX");
        let module = emulator.load(&module).expect("it loads");
        let buffer = |count: u64, bytes: &dyn Fn(u32) -> [u8; 4]| {
            let address = emulator.alloc(4 * count).expect("memory is there");
            let bytes: Vec<u8> = (0..count as u32).flat_map(bytes).collect();
            emulator.write(address, &bytes).expect("it fits");
            address
        };
        let values = self.arguments.iter().map(|argument| match *argument {
            Number(value) => value,
            Floats(count) => buffer(count, &|i| (i as f32).to_le_bytes()),
            Words(count) => buffer(count, &|i| i.to_le_bytes()),
        });
        let values: Vec<[u8; 8]> = values.map(u64::to_le_bytes).collect();
        let values: Vec<&[u8]> = values.iter().map(|value| &value[..]).collect();
        let config = LaunchConfig {
            grid: self.grid,
            block: self.block,
            dynamic_shared_bytes: self.shared,
        };
        Replay::new(emulator, module, self.name, config, &values, seed).expect("it is launched")
    }
}

/// Thread 7 of block 0 from the entry to the end, by one way to step: every condition is true or
/// about names that are not in scope, and each is true somewhere.
#[track_caller]
fn walk(kernel: &Kernel, launch: fn(Option<u64>) -> Replay, command: &str) {
    let mut client = Client::launched_from(launch, text, json!({}));
    client.configured();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let mut seen = BTreeSet::new();
    let thread = json!({ "threadId": 1 + 1 + 7 });
    for _ in 0..3000 {
        let stack = client.ask("stackTrace", thread.clone());
        let frames = stack["stackFrames"].as_array().expect("frames").clone();
        for frame in &frames {
            let path = frame["source"]["path"].as_str().expect("a path");
            // Named from the folder of its package.
            let is_users = folder.join(path).is_file();
            assert!(is_users, "{command}: {frame}");
        }
        let own = frames.iter().filter(|frame| {
            frame["source"]["path"]
                .as_str()
                .is_some_and(|path| path.ends_with(kernel.file))
        });
        for frame in own {
            for condition in kernel.holds {
                let of = json!({ "expression": condition, "frameId": frame["id"] });
                client.send("evaluate", of);
                let answer = client.answer();
                if answer["success"] != true {
                    let message = answer["message"].as_str().unwrap_or_default();
                    assert!(
                        message.contains("there is no"),
                        "{condition}: {message}, {frame}"
                    );
                    continue;
                }
                assert_eq!(
                    answer["body"]["result"], "true",
                    "{command}: {condition}, {frame}"
                );
                seen.insert(*condition);
            }
        }
        let stop = client.moves(command, thread.clone());
        if stop["text"]
            .as_str()
            .is_some_and(|text| text.starts_with("the end"))
        {
            // Closures are entered by `stepIn` alone.
            let missing: Vec<_> = kernel
                .holds
                .iter()
                .filter(|it| !seen.contains(**it))
                .collect();
            assert!(command == "next" || missing.is_empty(), "{missing:?}");
            client.hang_up().expect("it ends well");
            return;
        }
    }
    panic!("{command} does not come to the end of the launch");
}

/// By `stepIn`, which stops wherever `next` does and in closures; with `cargo xtask test --all` by
/// both.
fn both_ways(kernel: &Kernel, launch: fn(Option<u64>) -> Replay) {
    walk(kernel, launch, "stepIn");
    match std::env::var_os("BLOCKWISE_TEST_ALL") {
        Some(_) => walk(kernel, launch, "next"),
        None => println!("left to `cargo xtask test --all`: the same by `next`"),
    }
}

#[test]
fn locals_of_the_convolution() {
    both_ways(&KERNELS[0], |seed| KERNELS[0].launch(seed));
}

#[test]
fn locals_of_the_dot_product() {
    both_ways(&KERNELS[1], |seed| KERNELS[1].launch(seed));
}

#[test]
fn locals_of_the_matrix_product() {
    both_ways(&KERNELS[2], |seed| KERNELS[2].launch(seed));
}

#[test]
fn locals_of_the_transpose() {
    both_ways(&KERNELS[3], |seed| KERNELS[3].launch(seed));
}

#[test]
fn locals_of_the_reversal() {
    both_ways(&KERNELS[4], |seed| KERNELS[4].launch(seed));
}
