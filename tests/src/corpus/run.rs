//! Runs a program on a device and compares what two devices made of it.

use blockwise::Device;

use super::Program;
use crate::Arguments;
use crate::bench::{POISON, blocks};

/// The output of a program.
///
/// # Errors
/// When the device refuses the program or it faults.
pub fn run(device: &Device, program: &Program) -> blockwise::Result<Vec<u8>> {
    let words = |bytes: &[u8]| -> Vec<u32> {
        let word = |bytes: &[u8]| {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            u32::from_le_bytes(word)
        };
        bytes.chunks(4).map(word).collect()
    };
    let input = device.upload(&words(&program.input))?;
    let mut output = device.filled::<u32>(program.output.div_ceil(4), POISON)?;
    // SAFETY: nothing is launched through a typed handle, which would believe the text's
    // signatures.
    let module = unsafe { device.load_ptx(&program.ptx, &program.name) }?;
    let arguments = Arguments::new().address(&input).pointer(&mut output);
    // SAFETY: the kernel takes two addresses; its threads read and write only their own parts of
    // what lies there.
    unsafe {
        arguments.launch(
            &module,
            &program.name,
            blocks(program.blocks, program.threads / program.blocks),
        )
    }?;
    device.synchronize()?;
    let mut bytes: Vec<u8> = bytemuck::cast_slice(&output.to_vec()?).to_vec();
    bytes.truncate(program.output);
    Ok(bytes)
}

/// The first difference that the program's rule does not allow, with its thread and operands, and
/// how many there are.
pub fn difference(program: &Program, emulator: &[u8], gpu: &[u8]) -> Option<String> {
    let value = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    if emulator.len() != gpu.len() {
        return Some(format!(
            "{}: outputs of {} and {} bytes",
            program.name,
            emulator.len(),
            gpu.len()
        ));
    }
    let pairs = emulator.chunks(program.slot).zip(gpu.chunks(program.slot));
    let wrong: Vec<(usize, u64, u64)> = pairs
        .enumerate()
        .map(|(at, (emulator, gpu))| (at, value(emulator), value(gpu)))
        .filter(|&(_, emulator, gpu)| !program.rule.allows(emulator, gpu))
        .collect();
    let &(at, emulator, gpu) = wrong.first()?;
    let threads = program.threads as usize;
    let results = program.output / program.slot / threads;
    let stride = program.input.len() / threads;
    let thread = at / results;
    let operands: Vec<String> = match stride {
        0 => vec![],
        _ => program.input[thread * stride..][..stride]
            .chunks(program.input_slot)
            .map(|bytes| format!("{:#x}", value(bytes)))
            .collect(),
    };
    Some(format!(
        "{} ({:?}): {} of {} results differ, the first in thread {thread} with operands {}: d{} is {emulator:#x} on the emulator, {gpu:#x} on the GPU\n    {}",
        program.name,
        program.rule,
        wrong.len(),
        results * threads,
        operands.join(" "),
        at % results,
        program.body,
    ))
}
