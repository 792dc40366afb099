//! Runs kernels under every detector, in several orders of the threads.

use crate::generate::{Argument, Kernel, Launch};
use crate::rng::Rng;
use ptx_emulator::{CheckOptions, Emulator, LaunchConfig, Limits, LoadedModule, Module, Rule};
use rayon::prelude::*;

/// What the detectors say of one kernel.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The kernel that was checked.
    pub kernel: Kernel,
    /// One line for each finding; none when it is clean.
    pub findings: Vec<String>,
    /// Some threads missed a barrier, or some lanes an operation of their warp.
    pub diverged: bool,
    /// A launch reached the limit of steps: what it would have done later is unknown.
    pub unfinished: bool,
}

/// Checks each kernel in each of its launches, in the emulator's own order and in N others.
///
/// # Panics
/// When the text is no PTX.
pub fn check(ptx: &str, kernels: Vec<Kernel>, schedules: u32) -> Vec<Verdict> {
    if kernels.is_empty() {
        return Vec::new();
    }
    let module = Module::parse(ptx).unwrap_or_else(|error| panic!("{error}"));
    kernels
        .into_par_iter()
        .map(|kernel| verdict(&module, kernel, schedules))
        .collect()
}

fn verdict(module: &Module, kernel: Kernel, schedules: u32) -> Verdict {
    let limits = Limits {
        workers: Some(1),
        memory_bytes: 64 << 20,
        heap_bytes: 1 << 20,
        warp_instructions: 20_000_000,
        ..Limits::default()
    };
    let (mut findings, mut diverged, mut unfinished) = (Vec::new(), false, false);
    for launch in &kernel.launches {
        let emulator = Emulator::new(limits.clone());
        let loaded = emulator
            .load(module)
            .unwrap_or_else(|error| panic!("{error}"));
        match run(&emulator, &loaded, &kernel, launch, schedules) {
            Ok(found) => {
                diverged |= found.iter().any(|(rule, _)| is_divergence(*rule));
                // Loops in loops may take longer than anybody waits; that a kernel ends is not
                // claimed.
                unfinished |= found.iter().any(|(rule, _)| *rule == Rule::StepLimit);
                let is_claimed = |rule: Rule| match rule {
                    Rule::StepLimit => false,
                    // A thread that panics leaves its elements unwritten and its lane's values
                    // undefined; then the others may hang.
                    Rule::Assert
                    | Rule::UninitialisedMemory
                    | Rule::UnwrittenOutput
                    | Rule::OrderDependent => !kernel.panics,
                    rule if is_divergence(rule) => !kernel.panics,
                    _ => true,
                };
                let texts = found.into_iter().filter(|(rule, _)| is_claimed(*rule));
                findings.extend(texts.map(|(_, text)| text));
            }
            Err(error) => findings.push(error),
        }
    }
    Verdict {
        kernel,
        findings,
        diverged,
        unfinished,
    }
}

fn is_divergence(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::DivergentBarrier | Rule::InvalidMembers | Rule::Deadlock
    )
}

fn run(
    emulator: &Emulator,
    module: &LoadedModule,
    kernel: &Kernel,
    launch: &Launch,
    schedules: u32,
) -> Result<Vec<(Rule, String)>, String> {
    let mut rng = Rng::new(kernel.seed);
    let arguments = (launch.arguments.iter())
        .map(|&argument| pass(emulator, &mut rng, argument))
        .collect::<Result<Vec<_>, String>>()?;
    let arguments: Vec<&[u8]> = arguments.iter().map(|bytes| &bytes[..]).collect();
    let config = LaunchConfig {
        grid: launch.grid,
        block: launch.block,
        dynamic_shared_bytes: launch.shared_bytes as u32,
    };
    let options = CheckOptions {
        schedules,
        seed: kernel.seed,
        ..CheckOptions::default()
    };
    let report = emulator
        .check(module, &kernel.name, config, &arguments, &options)
        .map_err(|error| error.to_string())?;
    let texts = report.findings.iter().map(|finding| {
        let (grid, block) = (launch.grid, launch.block);
        let text = format!(
            "{} in grid {grid:?}, block {block:?}, seed {:?} at {}: {}",
            finding.rule.name(),
            finding.seed,
            finding.site.place,
            finding.message
        );
        (finding.rule, text)
    });
    Ok(texts.collect())
}

/// The bytes of an argument. Memory holds random bytes: every pattern of bits is a value.
fn pass(emulator: &Emulator, rng: &mut Rng, argument: Argument) -> Result<Vec<u8>, String> {
    let bytes = match argument {
        Argument::Size(size) => return Ok((size as u64).to_le_bytes().to_vec()),
        Argument::Number(number) => return Ok(number.to_le_bytes().to_vec()),
        Argument::Memory(bytes) => bytes,
    };
    // A view without elements still has an address.
    let address = emulator
        .alloc(bytes.max(16) as u64)
        .map_err(|error| error.to_string())?;
    let values: Vec<u8> = (0..bytes.max(16)).map(|_| rng.number() as u8).collect();
    emulator
        .write(address, &values)
        .map_err(|error| error.to_string())?;
    Ok(address.to_le_bytes().to_vec())
}
