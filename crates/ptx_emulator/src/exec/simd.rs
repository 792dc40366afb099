//! Chooses the machine code of the interpreter's loop: with AVX2 and FMA where the processor has them.
//!
//! This is the only module with `unsafe`. Both versions are the same Rust code and give the same bits.

use super::frame::Frame;
use super::memory::Memory;
use super::observe::{Observer, Turn};
use super::run::{self, Cursor, Event};
use crate::decode::Program;

/// Runs a split until something happens.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub(super) fn run<O: Observer + ?Sized>(
    program: &Program,
    turn: &Turn,
    cursor: &mut Cursor,
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
    observer: &mut O,
) -> Event {
    #[target_feature(enable = "avx2,fma")]
    fn with_avx2<O: Observer + ?Sized>(
        program: &Program,
        turn: &Turn,
        cursor: &mut Cursor,
        frame: &mut Frame<'_>,
        memory: &mut Memory<'_>,
        observer: &mut O,
    ) -> Event {
        run::run(program, turn, cursor, frame, memory, observer)
    }
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the function needs nothing but the two features, and the processor has both.
        unsafe { with_avx2(program, turn, cursor, frame, memory, observer) }
    } else {
        portable(program, turn, cursor, frame, memory, observer)
    }
}

/// Runs a split until something happens.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn run<O: Observer + ?Sized>(
    program: &Program,
    turn: &Turn,
    cursor: &mut Cursor,
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
    observer: &mut O,
) -> Event {
    portable(program, turn, cursor, frame, memory, observer)
}

/// The same loop for any processor, which is slower anyway: it calls its observer through a table.
pub(super) fn portable<O: Observer + ?Sized>(
    program: &Program,
    turn: &Turn,
    cursor: &mut Cursor,
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
    observer: &mut O,
) -> Event {
    run::run(program, turn, cursor, frame, memory, observer.as_dyn())
}
