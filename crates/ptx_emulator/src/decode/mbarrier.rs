//! `mbarrier`: barrier objects in shared memory.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::lane::Lane;
use super::op::{COUNT_BITS, MbarrierKind, MbarrierOp, Op, Order, Reg};
use super::operand::is_sink;
use super::space::space;
use crate::error::ParseError;
use crate::fault::Space;

pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let actions = [
        "init",
        "inval",
        "expect_tx",
        "complete_tx",
        "arrive",
        "arrive_drop",
        "test_wait",
        "try_wait",
        "pending_count",
    ];
    // `arrive.expect_tx` is also an arrival.
    let arrival = form.take_one_of(&["arrive", "arrive_drop"]);
    let action = match arrival.or_else(|| form.take_one_of(&actions)) {
        Some(action) => action,
        None => return Err(form.unsupported()),
    };
    if action == "pending_count" {
        return pending(b, form);
    }
    let order = order(&mut form, action)?;
    let (adds_bytes, open, parity) = (
        arrival.is_some() && form.take("expect_tx"),
        arrival.is_some() && form.take("noComplete"),
        matches!(action, "test_wait" | "try_wait") && form.take("parity"),
    );
    let space = space(&mut form);
    // Operations on another block's object may arrive or count bytes, but return nothing.
    let tells = arrival.is_some() || matches!(action, "expect_tx" | "complete_tx");
    let cluster = space == Space::Generic && tells && form.take("shared::cluster");
    if !matches!(space, Space::Shared | Space::Generic) || form.ty()? != Ty::B64 {
        return Err(form.unsupported());
    }
    form.no_more_modifiers()?;
    let (kind, address) = match (action, form.operands) {
        ("init", [address, count]) => (
            MbarrierKind::Init {
                count: b.r32(&form, count)?,
            },
            address,
        ),
        ("inval", [address]) => (MbarrierKind::Invalidate, address),
        ("expect_tx", [address, bytes]) => (
            MbarrierKind::Expect {
                bytes: b.r32(&form, bytes)?,
            },
            address,
        ),
        ("complete_tx", [address, bytes]) => (
            MbarrierKind::Complete {
                bytes: b.r32(&form, bytes)?,
            },
            address,
        ),
        ("arrive" | "arrive_drop", [state, address, rest @ ..]) if rest.len() <= 1 => {
            let state = if is_sink(state) {
                None
            } else {
                Some(b.target64(&form, state)?)
            };
            let number = rest
                .first()
                .map(|operand| b.r32(&form, operand))
                .transpose()?;
            if (adds_bytes || open) && number.is_none() || (adds_bytes && open) {
                return Err(form.wrong("has another number of operands"));
            }
            let (count, bytes) = if adds_bytes {
                (None, number)
            } else {
                (number, None)
            };
            let drops = action == "arrive_drop";
            let arrive = MbarrierKind::Arrive {
                state,
                count,
                bytes,
                drops,
                open,
            };
            (arrive, address)
        }
        // The suspend-time operand is a hint.
        ("test_wait", [p, address, state])
        | ("try_wait", [p, address, state] | [p, address, state, _]) => {
            let state = b.source(&form, state, if parity { Ty::B32 } else { Ty::B64 })?;
            (
                MbarrierKind::Test {
                    p: b.only_pred(&form, p)?,
                    state,
                },
                address,
            )
        }
        _ => return Err(form.wrong("has another number of operands")),
    };
    let address = b.shared_address(&form, address, cluster)?;
    b.emit(Op::Mbarrier(Box::new(MbarrierOp {
        kind,
        space,
        order,
        address,
        blocks: None,
    })));
    Ok(())
}

/// Parses the memory order: by default arrivals release and waits acquire.
fn order(form: &mut Form<'_, '_>, action: &str) -> Result<Order, ParseError> {
    let written = form.take_one_of(&["relaxed", "acquire", "release"]);
    let scope = form.take_one_of(&["cta", "cluster"]);
    let (default, allowed) = match action {
        "arrive" | "arrive_drop" => (Order::Release, "release"),
        "test_wait" | "try_wait" => (Order::Acquire, "acquire"),
        _ => (Order::Relaxed, "relaxed"),
    };
    match (written, scope) {
        (None, None) => Ok(default),
        (Some("relaxed"), Some(_)) => Ok(Order::Relaxed),
        (Some(written), Some(_)) if written == allowed => Ok(default),
        _ => Err(form.unsupported()),
    }
}

/// `mbarrier.pending_count.b64 d, state`
fn pending<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    if form.ty()? != Ty::B64 {
        return Err(form.unsupported());
    }
    let [d, state] = form.finish()?;
    let (state, d) = (b.source64(&form, state, Ty::B64)?, b.target32(&form, d)?);
    let count: super::op::LaneFn = |[state, ..], _| (state & ((1 << COUNT_BITS) - 1), false);
    b.lane(Lane::to(Reg::R32(d)), count, &[Reg::R64(state)]);
    Ok(())
}

/// `cp.async.mbarrier.arrive[.noinc].shared.b64 [p]`
pub(super) fn copies<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let arrives = form.take("arrive");
    let counted = form.take("noinc");
    let space = space(&mut form);
    if !arrives || !matches!(space, Space::Shared | Space::Generic) || form.ty()? != Ty::B64 {
        return Err(form.unsupported());
    }
    let [address] = form.finish()?;
    let address = b.address(&form, address)?;
    b.emit(Op::Mbarrier(Box::new(MbarrierOp {
        kind: MbarrierKind::Copies { counted },
        space,
        order: Order::Release,
        address,
        blocks: None,
    })));
    Ok(())
}
