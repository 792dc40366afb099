//! PTX of several compilers with tokens deleted, repeated, exchanged and replaced: an error or a
//! result each time, never a panic.

use ptx_emulator::{CheckOptions, Emulator, LaunchConfig, Limits, Module};
use std::panic::catch_unwind;
use std::path::Path;

/// Mutants of each file.
const MUTANTS: u64 = 24;
/// Longer files are left out, so that the test is quick.
const LONGEST: u64 = 40_000;
/// Numbers at limits of types, brackets, keywords.
const ODD: [&str; 28] = [
    "0",
    "-1",
    "1",
    "31",
    "32",
    "64",
    "4294967295",
    "18446744073709551615",
    "-9223372036854775808",
    "0x80000000",
    "0f7FC00000",
    "0d0000000000000001",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "@%p1",
    "%r1",
    "%rd1",
    ".shared",
    ".v4",
    ".b128",
    "WARP_SZ",
    "?",
];

#[test]
fn mutants_do_not_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/foreign/cases");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the cases' folder")
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|end| end == "ptx"))
        .filter(|path| path.metadata().is_ok_and(|about| about.len() < LONGEST))
        .collect();
    files.sort();
    assert!(files.len() > 20, "{files:?}");
    let (mut parsed, mut launched) = (0, 0);
    for path in files {
        let text = std::fs::read_to_string(&path).expect("PTX");
        let tokens = tokens(&text);
        for seed in 1..=MUTANTS {
            let mutant = mutant(&tokens, seed);
            let ran = catch_unwind(|| run(&mutant));
            let ran = ran.unwrap_or_else(|_| panic!("mutant {seed} of {}", path.display()));
            parsed += u64::from(ran.is_some());
            launched += ran.unwrap_or(0);
        }
    }
    // Most mistakes are found by the parser; some mutants must get further.
    assert!(parsed > 100 && launched > 50, "{parsed} {launched}");
}

/// Words, numbers, marks and blanks, in order.
fn tokens(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || "_$%.".contains(c);
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// The text after one to four changes; the same for the same seed.
fn mutant(tokens: &[&str], seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % limit.max(1)
    };
    // The header stays: a mutant without it is refused at once.
    let header = tokens.iter().position(|&token| token == ".address_size");
    let from = header.map_or(0, |at| at + 4);
    let mut tokens = tokens.to_vec();
    for _ in 0..=below(4) {
        let solid: Vec<usize> = (from..tokens.len())
            .filter(|&at| !tokens[at].trim().is_empty())
            .collect();
        let (Some(&a), Some(&b)) = (solid.get(below(solid.len())), solid.get(below(solid.len())))
        else {
            break;
        };
        match below(6) {
            0 => drop(tokens.remove(a)),
            1 => tokens.insert(a, tokens[a]),
            2 => tokens.swap(a, b),
            3 => tokens[a] = tokens[b],
            4 => tokens[a] = ODD[below(ODD.len())],
            _ => tokens.insert(a, ODD[below(ODD.len())]),
        }
    }
    tokens.concat()
}

/// The number of kernels launched under all detectors; `None` if the text is refused.
fn run(text: &str) -> Option<u64> {
    let module = Module::parse(text).ok()?;
    let options = CheckOptions {
        schedules: 1,
        ..CheckOptions::default()
    };
    let mut launched = 0;
    for entry in module.entries() {
        let emulator = Emulator::new(Limits {
            memory_bytes: 1 << 22,
            warp_instructions: 2_000,
            local_bytes_per_thread: 1 << 12,
            stack_bytes: 1 << 10,
            workers: Some(1),
            ..Limits::default()
        });
        let Ok(loaded) = emulator.load(&module) else {
            continue;
        };
        let Ok(buffer) = emulator.alloc(4096) else {
            continue;
        };
        let args: Vec<Vec<u8>> = entry
            .params()
            .iter()
            .map(|param| {
                let value = if param.size == 8 { buffer } else { 37 };
                let mut bytes = value.to_le_bytes().to_vec();
                bytes.resize(param.size as usize, 0);
                bytes
            })
            .collect();
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let config = LaunchConfig {
            grid: [2, 1, 1],
            block: [33, 1, 1],
            dynamic_shared_bytes: 256,
        };
        let report = emulator.check(&loaded, entry.name(), config, &args, &options);
        launched += u64::from(report.is_ok());
    }
    Some(launched)
}
