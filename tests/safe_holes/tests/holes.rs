//! Safe kernels that are wrong although they compile: the builder must refuse each, with the lines of the barrier and of the branch. And
//! safe kernels that only look wrong: they must be clean under every detector.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cuda_builder::CudaBuilder;
use ptx_emulator::Module;
use ptx_emulator::testing::Launch;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// A kernel of `refused`: the lines of its source that the report must name, as `src/flow.rs:12`.
#[derive(Debug, Default)]
struct Hole {
    parts: Vec<String>,
    waits: Vec<String>,
}

/// Every kernel of a crate, with its marks.
fn holes() -> BTreeMap<String, Hole> {
    let mut holes = BTreeMap::new();
    for entry in std::fs::read_dir(folder("refused/src")).unwrap() {
        let path = entry.unwrap().path();
        let file = format!("src/{}", path.file_name().unwrap().display());
        let text = std::fs::read_to_string(&path).unwrap();
        let (mut hole, mut kernel) = (Hole::default(), None);
        let mut is_kernel = false;
        for (line, text) in (1..).zip(text.lines()) {
            // A mark on a line of its own stands for the next one.
            let marked = if text.trim_start().starts_with("//") {
                line + 1
            } else {
                line
            };
            let place = format!("{file}:{marked}:");
            if text.ends_with("// parts") {
                hole.parts.push(place);
            } else if text.ends_with("// waits") {
                hole.waits.push(place);
            } else if text.starts_with("#[kernel") {
                is_kernel = true;
            } else if let Some(signature) = text.strip_prefix("pub fn ").filter(|_| is_kernel) {
                kernel = signature.split('(').next().map(str::to_owned);
            } else if text == "}"
                && let Some(name) = kernel.take()
            {
                holes.insert(name, std::mem::take(&mut hole));
                is_kernel = false;
            }
        }
    }
    holes
}

#[test]
fn every_hole_is_refused_with_its_lines() {
    let error = CudaBuilder::new(folder("refused")).build().unwrap_err();
    let report = error.to_string();
    let holes = holes();
    assert!(holes.len() >= 170, "{} holes", holes.len());
    let mut wrong = Vec::new();
    for (name, hole) in &holes {
        let about = format!("kernel `{name}`");
        let said: Vec<_> = report
            .lines()
            .filter(|line| line.contains(&about))
            .collect();
        let names = |places: &[String]| {
            places.is_empty()
                || places
                    .iter()
                    .any(|place| said.iter().any(|line| line.contains(place.as_str())))
        };
        if said.is_empty() || !names(&hole.parts) || !names(&hole.waits) {
            wrong.push(format!("{name}: {hole:?}, but the builder says {said:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{report}", wrong.join("\n"));
}

/// Grids of one dimension, as an `Out` beside a `Block` wants them, and what they are launched with.
const GRIDS: [u32; 3] = [1, 2, 5];
const LENGTHS: [(usize, usize); 4] = [(0, 0), (1, 200), (70, 64), (300, 333)];

#[test]
fn what_is_not_refused_is_clean() {
    let builder = CudaBuilder::new(folder("harmless")).generate_line_info(false);
    let ptx = builder.build().unwrap();
    let ptx = std::fs::read_to_string(ptx).unwrap();
    let module = Module::parse(&ptx).unwrap();
    let files = std::fs::read_dir(folder("harmless/src")).unwrap();
    let source: String = files
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    let mut kernels = 0;
    for signature in source.split("\n#[kernel").skip(1) {
        let name = signature.split_once("pub fn ").unwrap().1;
        let (name, parameters) = name.split_once('(').unwrap();
        let name = name.split('<').next().unwrap();
        let parameters = parameters.split_once(") {").unwrap().0;
        kernels += 1;
        for grid in GRIDS {
            for (inputs, outputs) in LENGTHS {
                check((&ptx, &module), name, parameters, grid, (inputs, outputs));
            }
        }
    }
    assert!(kernels >= 35, "{kernels} kernels");
}

fn check(
    (ptx, module): (&str, &Module),
    name: &str,
    parameters: &str,
    grid: u32,
    (inputs, outputs): (usize, usize),
) {
    let input: Vec<u32> = (0..inputs as u32)
        .map(|i| i.wrapping_mul(0x9E37_79B9) >> 7)
        .collect();
    let (mut output, mut other) = (vec![5_u32; outputs], vec![6_u32; outputs / 2]);
    let mut launch = Launch::of_module(ptx, module)
        .kernel(name)
        .grid(grid)
        .block(block_of(parameters));
    if parameters.contains("Shared<[u32]>") {
        launch = launch.value(0_u64);
    }
    launch = launch.slice(&input).slice_mut(&mut output);
    if parameters.contains("other: Out") {
        launch = launch.slice_mut(&mut other);
    }
    let checked = launch
        .schedules(3)
        .check()
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(
        checked.report.is_clean(),
        "{name} in grid {grid}, {inputs} inputs, {outputs} outputs\n{checked}"
    );
}

/// The extents of `block: &mut Block<..>`; of a plain `Block`, any.
fn block_of(parameters: &str) -> [u32; 3] {
    let Some((_, extents)) = parameters.split_once("&mut Block<") else {
        return [70, 1, 1];
    };
    let extents = extents.split_once('>').unwrap().0.split(',');
    let mut block = [1; 3];
    for (extent, text) in block.iter_mut().zip(extents) {
        *extent = text.trim().parse().unwrap();
    }
    block
}
