//! Any text as LLVM's IR, through the parser and every pass.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| cuda_builder::fuzz_ir(text));
