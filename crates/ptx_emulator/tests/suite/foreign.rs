//! PTX of nvcc, NVRTC, numba and Triton: what it computes here is what it computed on an H200, or
//! it is refused.
//!
//! `tests/fixtures/foreign/make.py` made the cases; a case's buffers are compared bit by bit unless
//! it names a tolerance.

use ptx_emulator::{Channel, Emulator, Image, LaunchConfig, Limits, Module, Sampling, Shape};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// What has no results of a GPU but runs.
const UNRECORDED: [&str; 7] = [
    "cluster.sm_90",
    "grid_sync.sm_80",
    "tensor_copy.sm_70",
    "tensor_copy.sm_90",
    "texture.sm_70",
    "texture.sm_80",
    "triton_matmul_stages.sm_90",
];

#[derive(Default)]
struct Case {
    name: String,
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    refused: bool,
    prints: bool,
    buffers: Vec<Buffer>,
    arguments: Vec<Vec<Part>>,
}

struct Buffer {
    ty: String,
    tolerance: f64,
    before: Vec<u8>,
    after: Vec<u8>,
}

enum Part {
    Buffer(usize),
    Bytes(Vec<u8>),
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/foreign/cases")
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(folder().join("cases.txt")).expect("the cases' list");
    let mut cases: Vec<Case> = Vec::new();
    let mut data = Vec::new().into_iter();
    let mut changed: Vec<bool> = Vec::new();
    for line in text.lines() {
        let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
        let numbers = || -> Vec<u32> {
            rest.split(' ')
                .map(|n| n.parse().expect("a number"))
                .collect()
        };
        if key == "case" {
            take_results(cases.last_mut(), &mut changed, &mut data);
            cases.push(Case {
                name: rest.to_owned(),
                ..Case::default()
            });
            let file = std::fs::read(folder().join(format!("{rest}.bin")));
            data = file.unwrap_or_default().into_iter();
            continue;
        }
        let case = cases.last_mut().expect("a case before its lines");
        match key {
            "refused" => case.refused = true,
            "prints" => case.prints = true,
            "kernel" => case.kernel = rest.to_owned(),
            "shared" => case.shared = numbers()[0],
            "grid" => case.grid = [numbers()[0], numbers()[1], numbers()[2]],
            "block" => case.block = [numbers()[0], numbers()[1], numbers()[2]],
            "buffer" => {
                let parts: Vec<&str> = rest.split(' ').collect();
                let before: Vec<u8> = data
                    .by_ref()
                    .take(parts[1].parse().expect("a size"))
                    .collect();
                changed.push(parts[3] == "changed");
                case.buffers.push(Buffer {
                    ty: parts[0].to_owned(),
                    tolerance: parts[2].parse().expect("a tolerance"),
                    after: before.clone(),
                    before,
                });
            }
            "argument" => case.arguments.push(rest.split(' ').map(part).collect()),
            other => panic!("`{other}` in the list of cases"),
        }
    }
    take_results(cases.last_mut(), &mut changed, &mut data);
    cases
}

/// The contents after the launch follow those before it, for the buffers that it changed.
fn take_results(
    case: Option<&mut Case>,
    changed: &mut Vec<bool>,
    data: &mut std::vec::IntoIter<u8>,
) {
    let Some(case) = case else { return };
    for (buffer, changed) in case.buffers.iter_mut().zip(changed.drain(..)) {
        if changed {
            buffer.after = data.by_ref().take(buffer.before.len()).collect();
        }
    }
}

fn part(text: &str) -> Part {
    match text.strip_prefix('@') {
        Some(number) => Part::Buffer(number.parse().expect("a buffer's number")),
        None => Part::Bytes(
            (0..text.len() / 2)
                .map(|index| u8::from_str_radix(&text[2 * index..][..2], 16).expect("bytes"))
                .collect(),
        ),
    }
}

/// Runs a case; what it printed, or what went wrong.
fn run(case: &Case) -> Result<String, String> {
    let path = folder().join(format!("{}.ptx", case.name));
    let ptx = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let module = Module::parse(&ptx).map_err(|error| error.to_string())?;
    let emulator = Emulator::new(Limits {
        workers: Some(1),
        ..Limits::default()
    });
    let printed = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&printed);
    emulator.set_output(move |text| sink.lock().expect("the text").push_str(text));
    let module = emulator.load(&module).map_err(|error| error.to_string())?;
    let mut addresses = Vec::new();
    for buffer in &case.buffers {
        let address = emulator
            .alloc(buffer.before.len() as u64)
            .and_then(|address| emulator.write(address, &buffer.before).map(|()| address));
        addresses.push(address.map_err(|error| error.to_string())?);
    }
    let arguments: Vec<Vec<u8>> = case
        .arguments
        .iter()
        .map(|parts| {
            parts
                .iter()
                .flat_map(|part| match part {
                    Part::Buffer(number) => addresses[*number].to_le_bytes().to_vec(),
                    Part::Bytes(bytes) => bytes.clone(),
                })
                .collect()
        })
        .collect();
    let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
    let config = LaunchConfig {
        grid: case.grid,
        block: case.block,
        dynamic_shared_bytes: case.shared,
    };
    emulator
        .launch(&module, &case.kernel, config, &arguments)
        .map_err(|error| error.to_string())?;
    for (number, (buffer, &address)) in case.buffers.iter().zip(&addresses).enumerate() {
        let mut found = vec![0; buffer.before.len()];
        emulator
            .read(address, &mut found)
            .map_err(|error| error.to_string())?;
        compare(buffer, &found).map_err(|error| format!("buffer {number}: {error}"))?;
    }
    let printed = printed.lock().expect("the text").clone();
    Ok(printed)
}

fn compare(buffer: &Buffer, found: &[u8]) -> Result<(), String> {
    let size = match buffer.ty.as_str() {
        "i8" | "u8" => 1,
        "i16" | "u16" | "f16" => 2,
        "i32" | "u32" | "f32" => 4,
        _ => 8,
    };
    let pairs = buffer.after.chunks(size).zip(found.chunks(size));
    let wrong: Vec<_> = pairs
        .enumerate()
        .filter(|&(_, (expected, found))| !close(buffer, expected, found))
        .collect();
    let Some((index, (expected, found))) = wrong.first() else {
        return Ok(());
    };
    let shown = |bytes: &[u8]| format!("{:?} ({})", bytes, value(&buffer.ty, bytes));
    Err(format!(
        "{} elements differ; element {index} is {}, on the GPU {}",
        wrong.len(),
        shown(found),
        shown(expected)
    ))
}

fn close(buffer: &Buffer, expected: &[u8], found: &[u8]) -> bool {
    if expected == found {
        return true;
    }
    let (expected, found) = (value(&buffer.ty, expected), value(&buffer.ty, found));
    let float = buffer.ty.starts_with('f') || buffer.tolerance > 0.0;
    float
        && (expected.is_nan() && found.is_nan()
            || (expected - found).abs() <= buffer.tolerance * expected.abs().max(1.0))
}

/// An element as a number; `u16` with a tolerance holds bfloat16.
fn value(ty: &str, bytes: &[u8]) -> f64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    match ty {
        "f64" => f64::from_bits(bits),
        "f32" => f64::from(f32::from_bits(bits as u32)),
        "f16" => half(bits as u16),
        "u16" => f64::from(f32::from_bits((bits as u32) << 16)),
        _ => bits as f64,
    }
}

fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction > 0.0 => f64::NAN,
        31 => f64::INFINITY,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

fn check(wanted: impl Fn(&Case) -> bool) {
    let mut failures = String::new();
    let mut count = 0;
    for case in cases().iter().filter(|case| !case.refused && wanted(case)) {
        count += 1;
        match run(case) {
            Ok(printed) if case.prints => {
                let path = folder().join(format!("{}.out", case.name));
                let expected = std::fs::read_to_string(path).expect("what the GPU printed");
                if printed != expected {
                    let _ = writeln!(failures, "{}: printed\n{printed}not\n{expected}", case.name);
                }
            }
            Ok(_) => {}
            Err(error) => {
                let _ = writeln!(failures, "{}: {error}", case.name);
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(count > 10, "only {count} cases");
}

#[test]
fn numba_kernels_compute_what_the_gpu_does() {
    check(|case| case.name.starts_with("numba_"));
}

#[test]
fn triton_kernels_compute_what_the_gpu_does() {
    check(|case| case.name.starts_with("triton_"));
}

#[test]
fn cuda_kernels_compute_what_the_gpu_does() {
    check(|case| !case.name.starts_with("triton_") && !case.name.starts_with("numba_"));
}

/// Runs a case that has no recording on words that count from 0; its last parameter is the output,
/// of 64 words.
fn unrecorded(name: &str, kernel: &str, (grid, block): (u32, u32), inputs: usize) -> Vec<u32> {
    let ptx = std::fs::read_to_string(folder().join(format!("{name}.ptx"))).expect("the PTX");
    let module = Module::parse(&ptx).expect("PTX");
    let emulator = Emulator::new(Limits::default());
    let loaded = emulator.load(&module).expect("it loads");
    let words: Vec<u8> = (0..64_u32).flat_map(u32::to_le_bytes).collect();
    let buffers: Vec<[u8; 8]> = (0..=inputs)
        .map(|_| {
            let address = emulator.alloc(256).expect("memory");
            emulator.write(address, &words).expect("it fits");
            address.to_le_bytes()
        })
        .collect();
    let arguments: Vec<&[u8]> = buffers.iter().map(|address| address.as_slice()).collect();
    let config = LaunchConfig {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared_bytes: 0,
    };
    let done = emulator.launch(&loaded, kernel, config, &arguments);
    done.unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut found = vec![0; 256];
    let output = u64::from_le_bytes(buffers[inputs]);
    emulator.read(output, &mut found).expect("it is there");
    let words = found.chunks_exact(4);
    words
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

#[test]
fn a_texture_object_is_read_as_its_source_says() {
    for name in ["texture.sm_70", "texture.sm_80"] {
        let ptx = std::fs::read_to_string(folder().join(format!("{name}.ptx"))).expect("the PTX");
        let emulator = Emulator::new(Limits::default());
        let loaded = emulator
            .load(&Module::parse(&ptx).expect("PTX"))
            .expect("it loads");
        let texels: Vec<u8> = (0..32)
            .flat_map(|x| (x as f32 * 1.5).to_le_bytes())
            .collect();
        let address = emulator.alloc(128).expect("memory");
        emulator.write(address, &texels).expect("it fits");
        let image = Image::new(Shape::Two, [32, 1, 1], (Channel::F32, 1), address);
        let texture = emulator
            .texture(image, Sampling::default())
            .expect("a texture");
        let output = emulator.alloc(128).expect("memory");
        let config = LaunchConfig {
            grid: [1, 1, 1],
            block: [32, 1, 1],
            dynamic_shared_bytes: 0,
        };
        let arguments = [texture, output].map(u64::to_le_bytes);
        let done = emulator.launch(
            &loaded,
            "texture_test",
            config,
            &[&arguments[0], &arguments[1]],
        );
        done.unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut found = vec![0; 128];
        emulator.read(output, &mut found).expect("it is there");
        assert_eq!(found, texels, "{name}");
    }
}

#[test]
fn what_has_no_recording_does_what_its_source_says() {
    let refused: Vec<String> = cases()
        .into_iter()
        .filter(|case| case.refused)
        .map(|case| case.name)
        .collect();
    assert!(
        refused
            .iter()
            .all(|name| UNRECORDED.contains(&name.as_str())),
        "{refused:?}"
    );
    for name in UNRECORDED {
        let ptx = std::fs::read_to_string(folder().join(format!("{name}.ptx")));
        let module = Module::parse(&ptx.expect("the PTX")).expect("PTX");
        let refused = module
            .entries()
            .find_map(|kernel| kernel.unsupported().cloned());
        assert_eq!(refused, None, "{name}");
    }
    let neighbours: Vec<u32> = (0..64)
        .map(|thread| (1 - thread / 32) * 100 + thread % 32)
        .collect();
    assert_eq!(
        unrecorded("cluster.sm_90", "cluster_test", (2, 32), 0),
        neighbours
    );
    // Each thread adds the other block's first word, which may have grown already.
    let sums = unrecorded("grid_sync.sm_80", "grid_sync", (2, 32), 0);
    assert!(sums.iter().all(|sum| (2..=3).contains(sum)), "{sums:?}");
    let copied: Vec<u32> = (0..64).collect();
    for name in ["tensor_copy.sm_70", "tensor_copy.sm_90"] {
        assert_eq!(unrecorded(name, "tensor_copy", (1, 32), 1), copied);
    }
}
