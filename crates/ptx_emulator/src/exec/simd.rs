//! Chooses the machine code of the interpreter's loop: with AVX2 and FMA where the processor has them.
//!
//! This is the only module with `unsafe`. Both versions are the same Rust code and give the same bits.

use super::frame::Frame;
use super::memory::Memory;
use super::run::{self, Cursor, Event};
use crate::decode::Program;

/// Runs a split until something happens.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub(super) fn run(
    program: &Program,
    cursor: &mut Cursor,
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
) -> Event {
    #[target_feature(enable = "avx2,fma")]
    fn with_avx2(
        program: &Program,
        cursor: &mut Cursor,
        frame: &mut Frame<'_>,
        memory: &mut Memory<'_>,
    ) -> Event {
        run::run(program, cursor, frame, memory)
    }
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the function needs nothing but the two features, and the processor has both.
        unsafe { with_avx2(program, cursor, frame, memory) }
    } else {
        portable(program, cursor, frame, memory)
    }
}

/// Runs a split until something happens.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn run(
    program: &Program,
    cursor: &mut Cursor,
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
) -> Event {
    portable(program, cursor, frame, memory)
}

/// The same loop for any processor.
pub(super) fn portable(
    program: &Program,
    cursor: &mut Cursor,
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
) -> Event {
    run::run(program, cursor, frame, memory)
}
