//! The emulator against what a GPU made of the fidelity corpus, and against a GPU that is here.

use std::collections::{BTreeMap, BTreeSet};

use blockwise::Device;
use blockwise_tests::corpus::golden::Golden;
use blockwise_tests::corpus::{self, Program, run};
use blockwise_tests::devices;
use blockwise_tests::objects;

fn emulator() -> Device {
    Device::emulator()
}

/// Says all that is wrong, or as much as fits a screen.
#[track_caller]
fn none(wrong: &[String]) {
    let shown: Vec<&str> = wrong.iter().take(30).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "{} programs, such as\n{}",
        wrong.len(),
        shown.join("\n")
    );
}

/// Forms that the H200 computes otherwise than PTX says, and that the emulator refuses.
fn is_refused(program: &Program) -> bool {
    let name = &program.name;
    name.contains("_sat_b2_") || (name.starts_with("vshl_") && name.contains("_sat_"))
}

#[test]
fn the_emulator_computes_what_the_gpu_did() {
    let golden = Golden::read(&Golden::path("h200")).unwrap_or_else(|error| panic!("{error}"));
    let emulator = emulator();
    let programs = corpus::programs();
    let wrong: Vec<String> = programs
        .iter()
        .filter_map(|program| {
            let output = match run::run(&emulator, program) {
                Ok(_) if is_refused(program) => {
                    return Some(format!("{}: is not refused", program.name));
                }
                Err(_) if is_refused(program) => return None,
                Ok(output) => output,
                Err(error) => return Some(format!("{}: {error}", program.name)),
            };
            match golden.output(&program.name, program.hash()) {
                Ok(expected) => run::difference(program, &output, expected),
                Err(stale) => Some(stale),
            }
        })
        .collect();
    none(&wrong);
    let known: BTreeSet<&str> = programs
        .iter()
        .map(|program| program.name.as_str())
        .collect();
    let gone: Vec<&str> = golden
        .names()
        .filter(|name| !known.contains(name))
        .collect();
    assert!(
        gone.is_empty(),
        "the golden file has {gone:?}, which are gone"
    );
    assert!(programs.len() >= 300);
}

#[test]
fn the_emulator_reads_textures_and_moves_boxes_as_the_gpu_did() {
    let golden = Golden::read(&Golden::path("objects")).unwrap_or_else(|error| panic!("{error}"));
    let wrong: Vec<String> = (objects::programs().iter())
        .filter_map(|program| {
            let output = match objects::run(program) {
                Ok(output) => output,
                Err(error) => return Some(format!("{}: {error}", program.name)),
            };
            match golden.output(&program.name, program.hash()) {
                Ok(expected) => program.difference(&output, expected),
                Err(stale) => Some(stale),
            }
        })
        .collect();
    none(&wrong);
}

#[test]
fn the_golden_file_says_what_it_was_recorded_on() {
    let golden = Golden::read(&Golden::path("h200")).unwrap_or_else(|error| panic!("{error}"));
    for (line, start) in golden
        .provenance
        .iter()
        .zip(["device: NVIDIA ", "driver: ", "date: 20"])
    {
        assert!(line.starts_with(start), "{line}");
    }
    assert_eq!(golden.provenance.len(), 3);
}

#[test]
fn a_gpu_that_is_here_computes_what_the_emulator_does() {
    if devices::emulator_and_gpu().is_none() {
        return;
    }
    let gpu = Device::gpu(0).expect("it was there just now");
    let emulator = emulator();
    let wrong: Vec<String> = corpus::programs()
        .iter()
        .filter_map(
            |program| match (run::run(&emulator, program), run::run(&gpu, program)) {
                (Ok(ours), Ok(theirs)) => run::difference(program, &ours, &theirs),
                (Err(error), _) | (_, Err(error)) => Some(format!("{}: {error}", program.name)),
            },
        )
        .collect();
    none(&wrong);
}

/// Opcodes of other compilers' kernels, whose results on an H200 are the fixtures of the emulator's
/// own test `foreign`.
const FOREIGN: [&str; 17] = [
    "createpolicy",
    "griddepcontrol",
    "mbarrier",
    "movmatrix",
    "setmaxnreg",
    "stmatrix",
    "vabsdiff2",
    "vabsdiff4",
    "vadd2",
    "vadd4",
    "vmax2",
    "vmax4",
    "vmin2",
    "vmin4",
    "vsub2",
    "vsub4",
    "wmma",
];

/// Opcodes that need a texture or a surface, which the corpus does not make: tests of the emulator
/// itself.
const OBJECTS: [&str; 8] = [
    "istypep", "suld", "suq", "sured", "sust", "tex", "tld4", "txq",
];

/// Opcodes of which no GPU's results are recorded yet: tests of the emulator itself.
const UNRECORDED: [&str; 1] = ["tensormap"];

#[test]
fn every_opcode_of_the_emulator_is_in_the_corpus() {
    let programs = corpus::programs();
    let bases: BTreeSet<&str> = programs
        .iter()
        .flat_map(Program::forms)
        .filter_map(|form| form.split('.').next())
        .collect();
    let missing: Vec<_> = ptx_emulator::OPCODES
        .iter()
        .filter(|opcode| {
            let mut elsewhere = FOREIGN.iter().chain(&OBJECTS).chain(&UNRECORDED);
            !bases.contains(**opcode) && !elsewhere.any(|known| known == *opcode)
        })
        .collect();
    assert!(
        missing.is_empty(),
        "no program of the corpus has {missing:?}"
    );
}

/// A form without regard to the order of its modifiers; that of its types counts.
fn key(form: &str) -> (Vec<&str>, Vec<&str>) {
    let is_type = |part: &&str| {
        part.starts_with(['b', 'u', 's', 'f', 't', 'p'])
            && (part.ends_with(|c: char| c.is_ascii_digit()) || *part == "pred")
    };
    let (types, mut rest): (Vec<&str>, Vec<&str>) = form.split('.').partition(is_type);
    rest.sort_unstable();
    (rest, types)
}

/// Opcodes whose modifiers are independent of each other (space, order, cache hint, operation,
/// type; comparison, type, combination): the corpus has every value of each, not every product.
const PRODUCTS: [&str; 19] = [
    "ld", "st", "atom", "red", "mbarrier", "set", "setp", "vadd", "vsub", "vabsdiff", "vmin",
    "vmax", "vshl", "vshr", "vset", "vset2", "vset4", "vavrg2", "vavrg4",
];

/// Each form of the corpus with one modifier left out, put in or exchanged is in the corpus too, or
/// refused.
#[test]
fn forms_next_to_the_corpus_are_refused() {
    let programs = corpus::programs();
    let mut first: BTreeMap<_, (&str, &Program)> = BTreeMap::new();
    let mut modifiers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for program in &programs {
        for form in program.forms() {
            first.entry(key(form)).or_insert((form, program));
            let (base, rest) = form.split_once('.').unwrap_or((form, ""));
            modifiers
                .entry(base)
                .or_default()
                .extend(rest.split('.').filter(|part| !part.is_empty()));
        }
    }
    let mut tried = BTreeSet::new();
    let mut accepted = Vec::new();
    for &(form, program) in first.values() {
        let parts: Vec<&str> = form.split('.').collect();
        if PRODUCTS.contains(&parts[0]) {
            continue;
        }
        let others: Vec<&str> = modifiers[parts[0]].iter().copied().collect();
        let mut variants = Vec::new();
        for at in 1..parts.len() {
            let mut fewer = parts.clone();
            fewer.remove(at);
            variants.push(fewer);
            for &other in &others {
                let mut exchanged = parts.clone();
                exchanged[at] = other;
                variants.push(exchanged);
            }
        }
        for &other in &others {
            let mut more = parts.clone();
            more.insert(1, other);
            variants.push(more);
        }
        for variant in variants {
            let variant = variant.join(".");
            let (rest, types) = key(&variant);
            let known = first.contains_key(&key(&variant));
            let id = (rest.join("."), types.join("."), parts.len());
            if known || !tried.insert(id) {
                continue;
            }
            let text = program
                .ptx
                .replacen(&format!("{form} "), &format!("{variant} "), 1);
            let runs = |module: ptx_emulator::Module| {
                let mut kernels = module.entries();
                kernels.all(|kernel| kernel.unsupported().is_none())
            };
            if text != program.ptx && ptx_emulator::Module::parse(&text).is_ok_and(runs) {
                accepted.push(format!("{variant} (beside {form})"));
            }
        }
    }
    assert!(tried.len() > 2000);
    none(&accepted);
}
