//! `alloca`, `stacksave` and `stackrestore`: local memory of a size that is known at run time.

use super::builder::{Builder, Stack};
use super::form::{Form, Ty};
use super::lane::Lane;
use super::op::{LaneFn, Op, Reg};
use super::program::Value;
use crate::error::ParseError;
use crate::parse::Operand;

/// What a function that allocates reserves in each frame.
const STACK_BYTES: u64 = 16 << 10;
/// An offset outside every thread's local memory, for what does not fit: its first access faults.
const NOWHERE: u64 = 1 << 31;
const ALIGNMENT: u64 = 16;

pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    if form.ty()? != Ty::U64 {
        return Err(form.unsupported());
    }
    let stack = stack(b)?;
    match form.base {
        "stacksave" => {
            let [d] = form.finish()?;
            let d = b.target64(&form, d)?;
            b.emit(Op::Mov64 { d, a: stack.used });
            Ok(())
        }
        "stackrestore" => {
            let [a] = form.finish()?;
            let (d, a) = (stack.used, b.r64(&form, a)?);
            b.emit(Op::Mov64 { d, a });
            Ok(())
        }
        _ => allocate(b, form, stack),
    }
}

/// `alloca.u64 d, size[, alignment]`
fn allocate<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    Stack { start, used }: Stack,
) -> Result<(), ParseError> {
    let mut alignment = ALIGNMENT;
    if let [d @ .., Operand::Int(bytes)] = form.operands
        && d.len() == 2
    {
        if !bytes.is_power_of_two() || *bytes > STACK_BYTES {
            return Err(form.unsupported());
        }
        alignment = *bytes;
        form.operands = d;
    }
    let place: LaneFn = |[start, used, size, alignment], _| {
        let free = start.checked_add(used);
        let place = free.and_then(|free| free.checked_next_multiple_of(alignment));
        let fits = |place: &u64| {
            size <= STACK_BYTES && (start..=start + STACK_BYTES - size).contains(place)
        };
        (place.filter(fits).unwrap_or(NOWHERE), false)
    };
    let grow: LaneFn = |[start, used, size, place], _| {
        let end = (place - start).wrapping_add(size);
        (if place == NOWHERE { used } else { end }, false)
    };
    let [d, size] = form.finish()?;
    let (d, size) = (b.target64(&form, d)?, b.r64(&form, size)?);
    let alignment = b.constant64(Value::Bits(alignment))?;
    let (start, at) = (b.local_address(start.into())?, b.temp64()?);
    let operands = [start, used, size, alignment].map(Reg::R64);
    b.lane(Lane::to(Reg::R64(at)), place, &operands);
    let operands = [start, used, size, at].map(Reg::R64);
    b.lane(Lane::to(Reg::R64(used)), grow, &operands);
    b.emit(Op::Mov64 { d, a: at });
    Ok(())
}

fn stack(b: &mut Builder<'_, '_>) -> Result<Stack, ParseError> {
    if let Some(stack) = b.stack {
        return Ok(stack);
    }
    let stack = Stack {
        start: b.reserve_array("alloca", STACK_BYTES, ALIGNMENT as u32)?,
        used: b.zeroed64()?,
    };
    b.stack = Some(stack);
    Ok(stack)
}
