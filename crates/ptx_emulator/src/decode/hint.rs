//! Cache hints and launch control of dependent kernels: they change no result in the emulator.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::op::Op;
use super::program::Value;
use super::space::space;
use crate::error::ParseError;
use crate::fault::Space;
use crate::parse::Operand;

pub(super) fn decode<'a>(b: &mut Builder<'a, '_>, form: Form<'_, 'a>) -> Result<(), ParseError> {
    match form.base {
        "createpolicy" => create_policy(b, form),
        "griddepcontrol" => grid_dependency(b, form),
        "setmaxnreg" => register_count(b, form),
        _ => cache(b, form),
    }
}

/// `prefetch`, `prefetchu`, `discard`, `applypriority`
fn cache<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    if form.base == "prefetch" && form.take("tensormap") {
        // In constant memory, a parameter, or any space.
        form.take_one_of(&["const", "param"]);
        let [address] = form.finish()?;
        b.address(&form, address)?;
        b.emit(Op::Nop);
        return Ok(());
    }
    let space = space(&mut form);
    if !matches!(space, Space::Global | Space::Local | Space::Generic) {
        return Err(form.unsupported());
    }
    let levels = ["L1", "L2", "L2::evict_last", "L2::evict_normal"];
    let level = form
        .take_one_of(&levels)
        .ok_or_else(|| form.unsupported())?;
    let sized = match (form.base, level) {
        ("prefetch", "L1" | "L2") | ("prefetchu", "L1") => false,
        ("prefetch", _) if space == Space::Global => false,
        ("discard", "L2") | ("applypriority", "L2::evict_normal") => true,
        _ => return Err(form.unsupported()),
    };
    form.no_more_modifiers()?;
    let address = match form.operands {
        [address] if !sized => address,
        [address, Operand::Int(128)] if sized => address,
        _ => return Err(form.wrong("has other operands than PTX gives it")),
    };
    b.address(&form, address)?;
    b.emit(Op::Nop);
    Ok(())
}

/// `createpolicy.fractional.L2::evict_first.b64 policy, 1.0`: the policy is a number that is never
/// used.
fn create_policy<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let kind = form.take_one_of(&["fractional", "range", "cvt"]);
    let kind = kind.ok_or_else(|| form.unsupported())?;
    form.take("global");
    let priorities = [
        "L2",
        "L2::evict_last",
        "L2::evict_normal",
        "L2::evict_first",
        "L2::evict_unchanged",
    ];
    let mut count = 0;
    while form.take_one_of(&priorities).is_some() {
        count += 1;
    }
    if !(1..=2).contains(&count) || form.ty()? != Ty::B64 {
        return Err(form.unsupported());
    }
    form.no_more_modifiers()?;
    let d = match (kind, form.operands) {
        ("fractional", [d] | [d, _]) | ("range", [d, _, _, _]) | ("cvt", [d, _]) => d,
        _ => return Err(form.wrong("has another number of operands")),
    };
    let (d, a) = (b.target64(&form, d)?, b.constant64(Value::Bits(0))?);
    b.emit(Op::Mov64 { d, a });
    Ok(())
}

/// `griddepcontrol.wait` and `.launch_dependents`: no-ops, because kernels run one after the other.
fn grid_dependency<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let action = form.take_one_of(&["wait", "launch_dependents"]);
    action.ok_or_else(|| form.unsupported())?;
    let [] = form.finish()?;
    b.emit(Op::Nop);
    Ok(())
}

/// `setmaxnreg.inc.sync.aligned.u32 count`: a no-op, because registers are not limited.
fn register_count<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let direction = form.take_one_of(&["inc", "dec"]);
    direction.ok_or_else(|| form.unsupported())?;
    let sync = form.take("sync");
    if !(form.take("aligned") && sync) || form.ty()? != Ty::U32 {
        return Err(form.unsupported());
    }
    match form.finish()? {
        [Operand::Int(_)] => b.emit(Op::Nop),
        _ => return Err(form.wrong("needs a constant")),
    }
    Ok(())
}

/// Consumes `.L2::cache_hint` and the policy operand that follows the others.
pub(super) fn take_policy<'a>(
    b: &mut Builder<'a, '_>,
    form: &mut Form<'_, 'a>,
) -> Result<(), ParseError> {
    if form.take("L2::cache_hint") {
        let Some((policy, rest)) = form.operands.split_last() else {
            return Err(form.wrong("needs a cache policy"));
        };
        b.source64(form, policy, Ty::B64)?;
        form.operands = rest;
    }
    Ok(())
}
