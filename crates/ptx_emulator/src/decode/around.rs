//! Modifiers of operations on 32-bit floats: `.ftz` before and after the operation, `.sat` after
//! it.

use super::builder::Builder;
use super::op::{Op, Reg, Row};
use super::rounding::FLUSH;
use crate::error::ParseError;

/// `.ftz` and `.sat`: applied before and after the operation.
#[derive(Clone, Copy)]
pub(super) struct Around {
    pub(super) flush: bool,
    pub(super) saturate: bool,
}

impl Around {
    /// The rounding mode, with flushing if the instruction has `.ftz`.
    pub(super) fn mode(self, mode: u8) -> u8 {
        if self.flush { mode | FLUSH } else { mode }
    }
}

pub(super) fn r32(rows: &[Row]) -> Vec<Reg> {
    rows.iter().map(|&row| Reg::R32(row)).collect()
}

/// Emits the operation with the flushing and clamping that the modifiers ask for.
pub(super) fn wrap32<'a, 'm>(
    b: &mut Builder<'a, 'm>,
    around: Around,
    d: Row,
    sources: &[Row],
    operation: impl FnOnce(&mut Builder<'a, 'm>, Row, &[Row]),
) -> Result<(), ParseError> {
    let mut flushed = sources.to_vec();
    if around.flush {
        for row in &mut flushed {
            let t = b.temp32()?;
            b.emit(Op::Flush { d: t, a: *row });
            *row = t;
        }
    }
    // Only the last instruction may overwrite the guard, and only 32-bit rows are written here.
    operation(b, d, &flushed);
    if around.flush {
        b.emit(Op::Flush { d, a: d });
    }
    if around.saturate {
        b.emit(Op::Saturate32 { d, a: d });
    }
    Ok(())
}

pub(super) fn single(value: f32) -> (u64, bool) {
    (u64::from(value.to_bits()), false)
}
