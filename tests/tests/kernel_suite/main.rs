//! The kernels against oracles, on the emulator and, where there is one, on the GPU; their PTX; and
//! their broken twins.
//!
//! `BLOCKWISE_DEVICE=gpu` runs the tests on the GPU alone. For compute-sanitizer the example
//! `sanitized` makes a short run of every sound kernel.

mod broken;
mod contents;
mod conv1d;
mod devices_agree;
mod matmul;
mod movement;
mod ptx;
mod reduce;
mod refused;
mod reported;
mod stays_inside;
mod sums;
mod tensor;

use proptest::test_runner::{Config, RngSeed};

/// Property tests draw the same cases in every run: a failure is seen again, here and elsewhere.
fn cases(number: u32) -> Config {
    Config {
        cases: number,
        rng_seed: RngSeed::Fixed(2026),
        failure_persistence: None,
        ..Config::default()
    }
}
