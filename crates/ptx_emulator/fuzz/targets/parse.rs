//! Any bytes: they parse or are refused, without a panic, and what parses can be loaded and
//! launched within its limits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx_emulator::Module;
use ptx_emulator_fuzz::run;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(module) = Module::parse(text) {
        run(&module, [1, 1, 1], 33);
    }
});
