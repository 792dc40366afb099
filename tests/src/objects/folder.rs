//! What `fixtures/fidelity/objects.cu` reads, and the outputs that it leaves.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use ptx_emulator::{Image, Sampling};

use super::{Object, Program};

/// The list of objects: a line for each program, its name, its kind and numbers.
const LIST: &str = "objects.txt";

/// Writes every program into a folder.
///
/// # Errors
/// When a file cannot be written.
pub fn write(folder: &Path, programs: &[Program]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut list = String::new();
    for program in programs {
        let (kind, numbers) = describe(program);
        let [blocks, threads] = program.launch;
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        // Writing to a string does not fail.
        let _ = writeln!(
            list,
            "{} {kind} {blocks} {threads} {} {}",
            program.name,
            numbers.len(),
            numbers.join(" ")
        );
        let path = |extension| folder.join(format!("{}.{extension}", program.name));
        fs::write(path("ptx"), &program.ptx)?;
        fs::write(path("contents"), &program.contents)?;
        fs::write(path("buffer"), &program.buffer)?;
    }
    fs::write(folder.join(LIST), list)
}

/// The outputs in a folder, by the program's name.
///
/// # Errors
/// When a file cannot be read.
pub fn outputs(folder: &Path, programs: &[Program]) -> io::Result<HashMap<String, Vec<u8>>> {
    let mut outputs = HashMap::new();
    for program in programs {
        match fs::read(folder.join(format!("{}.out", program.name))) {
            Ok(output) => outputs.insert(program.name.clone(), output),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
    }
    Ok(outputs)
}

/// In the order in which `objects.cu` takes them.
fn describe(program: &Program) -> (&'static str, Vec<u64>) {
    match &program.object {
        Object::Texture(image, sampling) => {
            let mut numbers = image_numbers(image);
            numbers.extend(sampling_numbers(sampling));
            numbers.push(u64::from(is_linear_memory(program)));
            ("texture", numbers)
        }
        Object::Surface(image) => ("surface", image_numbers(image)),
        Object::Tensor(map) => {
            let mut numbers = vec![
                map.element as u64,
                map.swizzle as u64,
                map.extents.len() as u64,
            ];
            numbers.extend(&map.extents);
            numbers.extend(&map.strides);
            numbers.extend(map.box_extents.iter().map(|&extent| u64::from(extent)));
            numbers.extend(map.element_strides.iter().map(|&stride| u64::from(stride)));
            ("tensor", numbers)
        }
    }
}

/// A line of texels that is read by number: not an array, for which the device gives zeros.
fn is_linear_memory(program: &Program) -> bool {
    program.ptx.contains("tex.1d.") && program.ptx.contains(".s32 {%r0")
}

fn image_numbers(image: &Image) -> Vec<u64> {
    let [width, height, depth] = image.extents.map(u64::from);
    vec![
        image.shape as u64,
        width,
        height,
        depth,
        image.layers.into(),
        image.channel as u64,
        image.channels.into(),
    ]
}

fn sampling_numbers(sampling: &Sampling) -> impl Iterator<Item = u64> {
    let modes = sampling.address.map(|mode| mode as u64);
    let rest = [
        sampling.filter as u64,
        sampling.normalized.into(),
        sampling.as_float.into(),
    ];
    modes.into_iter().chain(rest)
}
