//! Miscellaneous device functions.

use crate::gpu_only;

/// Stops at a debugger (PTX `brkpt`). Without one the launch ends with an error.
#[gpu_only]
#[inline(always)]
pub fn breakpoint() {
    // SAFETY: the instruction accesses no memory.
    unsafe { core::arch::asm!("brkpt;", options(nostack)) }
}

/// Triggers the performance monitor's event `counter` (0 to 7) once for the warp. Panics for other
/// numbers.
#[gpu_only]
#[inline(always)]
pub fn profiler_counter(counter: u32) {
    macro_rules! event {
        ($($number:literal)*) => {
            match counter {
                // SAFETY: the instruction accesses no memory. Its operand is a constant.
                $( $number => unsafe { core::arch::asm!(concat!("pmevent ", $number, ";"), options(nostack)) }, )*
                _ => panic!("a profiler counter is a number from 0 to 7"),
            }
        };
    }
    event!(0 1 2 3 4 5 6 7)
}

/// The clock cycles that this multiprocessor has counted (PTX `%clock64`).
#[gpu_only]
#[inline(always)]
pub fn clock() -> u64 {
    let cycles;
    // SAFETY: reads a register. Not `pure`: each call must read it anew.
    unsafe { core::arch::asm!("mov.u64 {}, %clock64;", out(reg64) cycles, options(nomem, nostack)) }
    cycles
}
