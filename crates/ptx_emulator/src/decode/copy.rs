//! `cp`: asynchronous copies; those of 4 to 16 bytes are decoded here.

use super::builder::Builder;
use super::form::Form;
use super::op::{CopyAsync, Op, Row};
use super::program::Value;
use super::{bulk, hint, mbarrier, tensor};
use crate::error::ParseError;
use crate::parse::Operand;

/// Number of source bytes that `cp.async` reads; none where the ignore predicate holds.
fn source_bytes<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    operand: &Operand<'a>,
    size: u32,
) -> Result<Row, ParseError> {
    let Ok(p) = b.pred(form, operand) else {
        return b.r32(form, operand);
    };
    if matches!(operand, Operand::Int(_)) {
        return b.r32(form, operand);
    }
    let (zero, all) = (
        b.constant32(Value::Bits(0))?,
        b.constant32(Value::Bits(size.into()))?,
    );
    let d = b.temp32()?;
    b.emit(Op::Select32 {
        d,
        a: zero,
        b: all,
        p,
    });
    Ok(d)
}

/// `cp.async.ca|cg.shared.global [to], [from], size[, source_size | , ignore_source]`,
/// `cp.async.commit_group`, `wait_group n`, `wait_all`. The copy executes when it is issued, which
/// PTX allows.
pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    if form.take("reduce") {
        return bulk::reduce(b, form);
    }
    if !form.take("async") {
        return Err(form.unsupported());
    }
    if form.take("bulk") {
        return match form.take("tensor") {
            true if !form.take("prefetch") => tensor::copy(b, form),
            true => tensor::prefetch(b, form),
            false => bulk::decode(b, form),
        };
    }
    if form.take("mbarrier") {
        return mbarrier::copies(b, form);
    }
    if let Some(what) = form.take_one_of(&["commit_group", "wait_group", "wait_all"]) {
        form.no_more_modifiers()?;
        b.emit(match (what, form.operands) {
            ("commit_group", []) => Op::CopyCommit,
            ("wait_all", []) => Op::CopyWait { groups: None },
            ("wait_group", &[Operand::Int(groups)]) => Op::CopyWait {
                groups: Some(groups.min(u64::from(u32::MAX)) as u32),
            },
            _ => return Err(form.wrong("has other operands than PTX gives it")),
        });
        return Ok(());
    }
    let all_levels = form
        .take_one_of(&["ca", "cg"])
        .ok_or_else(|| form.unsupported())?
        == "ca";
    let shared = form.take_one_of(&["shared", "shared::cta"]).is_some();
    if !shared || !form.take("global") {
        return Err(form.unsupported());
    }
    form.take_one_of(&["L2::64B", "L2::128B", "L2::256B"]);
    hint::take_policy(b, &mut form)?;
    form.no_more_modifiers()?;
    let (to, from, size, source_size) = match form.operands {
        [to, from, size] => (to, from, size, None),
        [to, from, size, source] => (to, from, size, Some(source)),
        _ => return Err(form.wrong("takes 3 or 4 operands")),
    };
    let size = match *size {
        Operand::Int(16) => 16,
        Operand::Int(size @ (4 | 8)) if all_levels => size as u32,
        _ => return Err(form.wrong("copies 4, 8 or 16 bytes; `.cg` only 16")),
    };
    let source_size = match source_size {
        Some(operand) => Some(source_bytes(b, &form, operand, size)?),
        None => None,
    };
    let (to, from) = (b.address(&form, to)?, b.address(&form, from)?);
    b.emit(Op::CopyAsync(Box::new(CopyAsync {
        to,
        from,
        size,
        source_size,
    })));
    Ok(())
}
