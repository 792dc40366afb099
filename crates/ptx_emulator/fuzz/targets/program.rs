//! Whole programs made of instructions that the emulator knows, with operands that make no sense.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx_emulator::Module;
use ptx_emulator_fuzz::{Program, run};

fuzz_target!(|program: Program| {
    let text = program.text();
    // An operand may not suit its instruction: then the text is refused, which is right too.
    if let Ok(module) = Module::parse(&text) {
        run(&module, program.grid(), program.threads());
    }
});
