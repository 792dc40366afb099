//! What fuzzing has kept, and some thousand changes of it: no panic, no abort, no more memory than
//! 64 MiB and four times the input. One test, for the limit is the process's.

use parser_fuzz::targets::TARGETS;
use parser_fuzz::{Fuzzer, corpus, count_panics, limit};

#[global_allocator]
static LIMITED: limit::Limited = limit::Limited;

#[test]
fn every_parser_of_foreign_bytes_takes_anything() {
    assert!(limit::works(), "this allocator has no limit");
    count_panics();
    for target in &TARGETS {
        // Where the allocator ends the process, the last line says with what.
        println!("{}", target.name);
        assert!(!corpus(target).is_empty(), "{} has no corpus", target.name);
        let mut fuzzer = Fuzzer::new(target, 1, false);
        let mut ignore = |_: &[u8]| {};
        let mut result = fuzzer.known(&mut ignore);
        for _ in 0..target.in_test {
            result = result.and_then(|()| fuzzer.step(&mut ignore));
        }
        if let Err(input) = result {
            panic!("{}: {}", target.name, input.escape_ascii());
        }
        // A target whose inputs all end alike tests nothing.
        assert!(
            fuzzer.outcomes() >= 8,
            "{}: {}",
            target.name,
            fuzzer.outcomes()
        );
    }
}
