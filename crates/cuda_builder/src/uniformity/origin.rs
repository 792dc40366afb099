//! The origin of an address within a function.

use super::body::Body;
use super::step::{Action, Step};
use crate::ir::module::{Opcode, local, value};

/// The value that an address is moved or cast from. Two addresses with the same origin differ by
/// their moves.
pub(super) fn of(body: &Body<'_>, address: usize) -> usize {
    let mut at = address;
    loop {
        match before(body, at) {
            Before::Nothing => return at,
            Before::One(base) => at = base,
            Before::Either(_) => return only(body, at).unwrap_or(at),
        }
    }
}

/// The only value that a phi is derived from, by moves and through iterations of loops. A value
/// from an earlier iteration of the loop that computes it arrives through a phi with something else
/// in the first iteration, so such a phi has none.
fn only(body: &Body<'_>, phi: usize) -> Option<usize> {
    let (mut seen, mut next, mut found) = (vec![phi], 0, None);
    while let Some(&one) = seen.get(next) {
        next += 1;
        let values = match before(body, one) {
            Before::Nothing if *found.get_or_insert(one) == one => continue,
            Before::Nothing => return None,
            Before::One(base) => vec![base],
            Before::Either(values) => values,
        };
        let new = values.into_iter().filter(|value| !seen.contains(value));
        let new: Vec<_> = new.collect();
        seen.extend(new);
    }
    found
}

enum Before {
    /// The value is computed differently, or from a constant.
    Nothing,
    One(usize),
    Either(Vec<usize>),
}

fn before(body: &Body<'_>, address: usize) -> Before {
    let Some(step) = body.definition(address) else {
        return Before::Nothing;
    };
    let is_cast = match step.instruction.opcode() {
        Opcode::AddrSpaceCast | Opcode::IntToPtr => true,
        Opcode::PtrToInt | Opcode::PtrToAddr => step.is_whole_address(),
        _ => false,
    };
    match &step.action {
        Action::Move(_) => step.base().map_or(Before::Nothing, Before::One),
        Action::Keep if is_cast => {
            (step.reads.first()).map_or(Before::Nothing, |&one| Before::One(one))
        }
        Action::Phi(incoming)
            if incoming
                .iter()
                .all(|(_, text)| local(value(text)).is_some()) =>
        {
            Before::Either(step.reads.clone())
        }
        _ => Before::Nothing,
    }
}

/// Whether a step moves a pointer within its memory, or by few bytes: no loop gets past the end of
/// the address space that way.
pub(super) fn stays_inside(body: &Body<'_>, step: &Step<'_>) -> bool {
    let operands = step.instruction.operands().trim_start();
    let mut reads = step.reads[usize::from(step.base().is_some())..].iter();
    let mut indices = step.instruction.pieces().skip(2);
    operands.starts_with("inbounds")
        || indices.all(|index| match local(value(index)) {
            Some(_) => reads.next().is_some_and(|&read| is_small(body, read)),
            None => value(index)
                .parse()
                .is_ok_and(|index: i64| index.unsigned_abs() < 4096),
        })
}

/// Whether a value has 8 bits, or is the negative of such a value.
fn is_small(body: &Body<'_>, number: usize) -> bool {
    let Some(step) = body.definition(number) else {
        return false;
    };
    let from = step
        .instruction
        .operands()
        .trim_start()
        .trim_start_matches("nneg ");
    match (step.instruction.opcode(), &step.reads[..]) {
        (Opcode::ZExt | Opcode::SExt, _) => from.starts_with("i1 ") || from.starts_with("i8 "),
        (Opcode::Sub, &[of]) => {
            let mut pieces = step.instruction.pieces();
            pieces.next().is_some_and(|from| value(from) == "0") && is_small(body, of)
        }
        _ => false,
    }
}
