//! Selects the machine code of the interpreter's loop: with vector extensions if the processor has
//! them.
//!
//! The only module with `unsafe`. Both versions are the same Rust code and give the same bits.

use super::observe::Observer;
use super::run::{self, Event, Running};

/// Runs a split until an event.
#[cfg(all(target_arch = "x86_64", not(test)))]
#[allow(unsafe_code)]
pub(super) fn run<O: Observer + ?Sized>(stretch: Running<'_, '_, O>) -> Event {
    #[target_feature(enable = "avx2,fma,popcnt,lzcnt,bmi1,bmi2")]
    fn with_avx2<O: Observer + ?Sized>(stretch: Running<'_, '_, O>) -> Event {
        run::run(stretch)
    }
    if has_avx2() {
        // SAFETY: the function requires only the features that `has_avx2` checks for, and the
        // processor has them.
        unsafe { with_avx2(stretch) }
    } else {
        portable(stretch)
    }
}

/// AVX2, and the extensions that the same processors have.
#[cfg(all(target_arch = "x86_64", not(test)))]
fn has_avx2() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("fma") && has!("popcnt") && has!("lzcnt") && has!("bmi1") && has!("bmi2")
}

/// Runs a split until an event. Unit tests run no kernel, and one copy of the loop compiles faster
/// than three.
#[cfg(any(not(target_arch = "x86_64"), test))]
pub(super) fn run<O: Observer + ?Sized>(stretch: Running<'_, '_, O>) -> Event {
    portable(stretch)
}

/// The same loop for any processor. It is slower anyway, so it makes virtual calls to its observer.
pub(super) fn portable<O: Observer + ?Sized>(stretch: Running<'_, '_, O>) -> Event {
    // Few processors of x86-64 need it: one copy there, which also asks an observer of nothing.
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn observed(stretch: Running<'_, '_, dyn Observer + '_>) -> Event {
        run::run(stretch)
    }
    observed(Running {
        program: stretch.program,
        turn: stretch.turn,
        cursor: stretch.cursor,
        frame: stretch.frame,
        memory: stretch.memory,
        observer: stretch.observer.as_dyn(),
    })
}
