//! Barriers, and instructions that exchange data between the lanes of a warp.

use super::builder::Builder;
use super::cluster;
use super::form::{Form, Ty};
use super::op::{Barrier, BarrierKind, Op, Reduce, Row, ShuffleMode, WarpKind, WarpOp};
use super::program::Value;
use crate::error::ParseError;
use crate::parse::Operand;

/// `bar` and `barrier`.
pub(super) fn barrier<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    if form.base == "bar" && form.take("warp") {
        if !form.take("sync") {
            return Err(form.unsupported());
        }
        let [members] = form.finish()?;
        let members = b.r32(&form, members)?;
        b.emit(Op::WarpBarrier { members });
        return Ok(());
    }
    if form.base == "barrier" && form.take("cluster") {
        return cluster::barrier(b, form);
    }
    form.take("cta");
    // `bar` is `barrier.aligned`.
    let aligned = form.take("aligned") || form.base == "bar";
    let action = form
        .take_one_of(&["sync", "arrive", "red"])
        .ok_or_else(|| form.unsupported())?;
    if action == "red" {
        return barrier_reduction(b, form, aligned);
    }
    form.no_more_modifiers()?;
    let (id, count) = match form.operands {
        [id] if action == "sync" => (id, None),
        [id, count] => (id, Some(count)),
        _ => return Err(form.wrong("has another number of operands")),
    };
    let id = b.r32(&form, id)?;
    let count = count.map(|count| b.r32(&form, count)).transpose()?;
    let kind = if action == "sync" {
        BarrierKind::Sync
    } else {
        BarrierKind::Arrive
    };
    b.emit(Op::Barrier(Box::new(Barrier {
        kind,
        aligned,
        id,
        count,
    })));
    Ok(())
}

/// `bar.red.popc.u32 d, id[, count], [!]p` and `bar.red.and|or.pred`
fn barrier_reduction<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    aligned: bool,
) -> Result<(), ParseError> {
    let operation = form
        .take_one_of(&["popc", "and", "or"])
        .ok_or_else(|| form.unsupported())?;
    let ty = form.ty()?;
    form.no_more_modifiers()?;
    let (d, id, count, p) = match form.operands {
        [d, id, p] => (d, id, None, p),
        [d, id, count, p] => (d, id, Some(count), p),
        _ => return Err(form.wrong("has another number of operands")),
    };
    let id = b.r32(&form, id)?;
    let count = count.map(|count| b.r32(&form, count)).transpose()?;
    let p = b.pred(&form, p)?;
    let kind = match (operation, ty) {
        ("popc", Ty::U32) => BarrierKind::CountTrue {
            d: b.target32(&form, d)?,
            p,
        },
        ("and", Ty::Pred) => BarrierKind::All {
            d: b.only_pred(&form, d)?,
            p,
        },
        ("or", Ty::Pred) => BarrierKind::Any {
            d: b.only_pred(&form, d)?,
            p,
        },
        _ => return Err(form.unsupported()),
    };
    b.emit(Op::Barrier(Box::new(Barrier {
        kind,
        aligned,
        id,
        count,
    })));
    Ok(())
}

/// `shfl`, `vote`, `match`, `redux`, `activemask`, `elect`.
pub(super) fn exchange<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    if form.base == "activemask" {
        if form.ty()? != Ty::B32 {
            return Err(form.unsupported());
        }
        let [d] = form.finish()?;
        let d = b.target32(&form, d)?;
        // No member mask: the members are the executing lanes.
        let members = b.constant32(Value::Bits(0))?;
        return emit(b, &form, members, WarpKind::ActiveMask { d });
    }
    let members = members(b, &mut form)?;
    match form.base {
        "shfl" => shuffle(b, form, members),
        "vote" => vote(b, form, members),
        "match" => find_equal(b, form, members),
        "redux" => reduce(b, form, members),
        _ => elect(b, form, members),
    }
}

/// The member mask, which is the last operand. The forms without `.sync`, for targets before sm_70,
/// have none: their members are the executing lanes.
fn members<'a>(b: &mut Builder<'a, '_>, form: &mut Form<'_, 'a>) -> Result<Row, ParseError> {
    if form.take("sync") {
        let Some((members, rest)) = form.operands.split_last() else {
            return Err(form.wrong("needs a member mask"));
        };
        form.operands = rest;
        return b.r32(form, members);
    }
    if !matches!(form.base, "shfl" | "vote") {
        return Err(form.unsupported());
    }
    let (none, d) = (b.constant32(Value::Bits(0))?, b.temp32()?);
    emit(b, form, none, WarpKind::ActiveMask { d })?;
    Ok(d)
}

fn elect<'a>(b: &mut Builder<'a, '_>, form: Form<'_, 'a>, members: Row) -> Result<(), ParseError> {
    let [d] = form.finish()?;
    let &Operand::Pair(d, p) = d else {
        return Err(form.wrong("needs `d|p`"));
    };
    let d = if d == "_" {
        None
    } else {
        Some(b.target32(&form, &Operand::Name(d))?)
    };
    let p = b
        .target_pred(&form, p)?
        .ok_or_else(|| form.wrong("needs a predicate"))?;
    emit(b, &form, members, WarpKind::Elect { d, p })
}

fn emit(
    b: &mut Builder<'_, '_>,
    form: &Form<'_, '_>,
    members: Row,
    kind: WarpKind,
) -> Result<(), ParseError> {
    b.emit(Op::Warp(Box::new(WarpOp {
        form: form.text.to_owned(),
        members,
        kind,
    })));
    Ok(())
}

fn shuffle<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    members: Row,
) -> Result<(), ParseError> {
    let mode = match form.take_one_of(&["up", "down", "bfly", "idx"]) {
        Some("up") => ShuffleMode::Up,
        Some("down") => ShuffleMode::Down,
        Some("bfly") => ShuffleMode::Butterfly,
        Some(_) => ShuffleMode::Index,
        None => return Err(form.unsupported()),
    };
    if form.ty()? != Ty::B32 {
        return Err(form.unsupported());
    }
    let [d, value, lane, clamp] = form.finish()?;
    let a = b.source32(&form, value, Ty::B32)?;
    let (lane, clamp) = (b.r32(&form, lane)?, b.r32(&form, clamp)?);
    let (d, p) = match *d {
        Operand::Pair(d, p) => (
            b.target32(&form, &Operand::Name(d))?,
            b.target_pred(&form, p)?,
        ),
        ref d => (b.target32(&form, d)?, None),
    };
    emit(
        b,
        &form,
        members,
        WarpKind::Shuffle {
            mode,
            d,
            p,
            a,
            b: lane,
            c: clamp,
        },
    )
}

fn vote<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    members: Row,
) -> Result<(), ParseError> {
    let kind = form
        .take_one_of(&["all", "any", "uni", "ballot"])
        .ok_or_else(|| form.unsupported())?;
    let ty = form.ty()?;
    let [d, p] = form.finish()?;
    let p = b.pred(&form, p)?;
    let kind = match (kind, ty) {
        ("ballot", Ty::B32) => WarpKind::Ballot {
            d: b.target32(&form, d)?,
            p,
        },
        ("all", Ty::Pred) => WarpKind::VoteAll {
            d: b.only_pred(&form, d)?,
            p,
        },
        ("any", Ty::Pred) => WarpKind::VoteAny {
            d: b.only_pred(&form, d)?,
            p,
        },
        ("uni", Ty::Pred) => WarpKind::VoteUniform {
            d: b.only_pred(&form, d)?,
            p,
        },
        _ => return Err(form.unsupported()),
    };
    emit(b, &form, members, kind)
}

fn find_equal<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    members: Row,
) -> Result<(), ParseError> {
    let all = form
        .take_one_of(&["any", "all"])
        .ok_or_else(|| form.unsupported())?
        == "all";
    let ty = form.ty()?;
    if !matches!(ty, Ty::B32 | Ty::B64) {
        return Err(form.unsupported());
    }
    let [d, a] = form.finish()?;
    let a = b.source(&form, a, ty)?;
    let kind = match *d {
        Operand::Pair(d, p) if all => WarpKind::MatchAll {
            d: b.target32(&form, &Operand::Name(d))?,
            p: b.target_pred(&form, p)?,
            a,
        },
        ref d if all => WarpKind::MatchAll {
            d: b.target32(&form, d)?,
            p: None,
            a,
        },
        ref d => WarpKind::MatchAny {
            d: b.target32(&form, d)?,
            a,
        },
    };
    emit(b, &form, members, kind)
}

fn reduce<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    members: Row,
) -> Result<(), ParseError> {
    let operation = form.take_one_of(&["add", "min", "max", "and", "or", "xor"]);
    let operation = operation.ok_or_else(|| form.unsupported())?;
    let ty = form.ty()?;
    let op = match (operation, ty) {
        ("add", Ty::U32 | Ty::S32) => Reduce::Add,
        ("min", Ty::U32) => Reduce::MinUnsigned,
        ("max", Ty::U32) => Reduce::MaxUnsigned,
        ("min", Ty::S32) => Reduce::MinSigned,
        ("max", Ty::S32) => Reduce::MaxSigned,
        ("and", Ty::B32) => Reduce::And,
        ("or", Ty::B32) => Reduce::Or,
        ("xor", Ty::B32) => Reduce::Xor,
        _ => return Err(form.unsupported()),
    };
    let [d, a] = form.finish()?;
    let a = b.source32(&form, a, ty)?;
    let d = b.target32(&form, d)?;
    emit(b, &form, members, WarpKind::Reduce { op, d, a })
}
