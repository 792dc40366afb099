//! The kernels against oracles, on the emulator and, where there is one, on the GPU; their PTX; and
//! their broken twins.
//!
//! `BLOCKWISE_DEVICE=gpu` runs the tests on the GPU alone. For compute-sanitizer the example
//! `sanitized` makes a short run of every sound kernel.

mod batches;
mod broken;
mod contents;
mod conv1d;
mod devices_agree;
mod matmul;
mod movement;
mod parts;
mod ptx;
mod reads;
mod reduce;
mod refused;
mod reported;
mod stays_inside;
mod sums;
mod tensor;

use blockwise_tests::sampling::Sample;
use blockwise_tests::whole_sweeps;
use proptest::test_runner::{Config, RngSeed};

/// Property tests draw this many cases with `cargo xtask test --all`, and otherwise a third of them,
/// each time others. The seed is printed: with it a failure is seen again.
fn cases(number: u32) -> Config {
    let sample = Sample::draw("shapes and options of kernels");
    let (number, seed) = match whole_sweeps() {
        true => (number, 2026),
        false => (number.div_ceil(3), sample.seed),
    };
    Config {
        cases: number,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    }
}
