//! `atom.global.add.v4.f32`: each element is a separate atomic.

use super::atomic::order;
use super::builder::Builder;
use super::form::{Form, Ty};
use super::hint;
use super::op::{AtomicKind, AtomicOp, Op, PartOfWord, Reg};
use super::operand::is_sink;
use super::space::space;
use crate::error::ParseError;
use crate::fault::Space;
use crate::parse::Operand;

pub(super) fn is_vector(form: &Form<'_, '_>) -> bool {
    form.text.split('.').any(|part| matches!(part, "v2" | "v4"))
}

pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let (order, scope) = order(&mut form);
    let count = if form.take_one_of(&["v2", "v4"]) == Some("v2") {
        2
    } else {
        4
    };
    let space = space(&mut form);
    if !matches!(space, Space::Generic | Space::Global)
        || !form.take("add")
        || form.ty()? != Ty::F32
    {
        return Err(form.unsupported());
    }
    hint::take_policy(b, &mut form)?;
    form.no_more_modifiers()?;
    let (d, address, values) = match (form.base, form.operands) {
        ("atom", [d, address, Operand::Vector(values)]) => (Some(d), address, values),
        ("red", [address, Operand::Vector(values)]) => (None, address, values),
        _ => return Err(form.wrong("has operands of another shape")),
    };
    let targets = match d {
        Some(Operand::Vector(targets)) => Some(targets),
        Some(d) if !is_sink(d) => return Err(form.wrong("needs a vector of registers")),
        _ => None,
    };
    if values.len() != count || targets.is_some_and(|targets| targets.len() != count) {
        return Err(form.wrong(format!("needs {count} registers in braces")));
    }
    let values: Result<Vec<Reg>, _> = values
        .iter()
        .map(|value| b.source(&form, value, Ty::F32))
        .collect();
    let values = values?;
    let mut address = b.address(&form, address)?;
    for (index, &value) in values.iter().enumerate() {
        let d = match targets.map(|targets| &targets[index]) {
            Some(d) if !is_sink(d) => Some(b.target(&form, d, Ty::F32)?),
            _ => None,
        };
        // The first result must not overwrite a value that is still to be added.
        if d.is_some_and(|d| values[index + 1..].contains(&d)) {
            return Err(form.unsupported());
        }
        b.emit(Op::Atomic(Box::new(AtomicOp {
            kind: AtomicKind::AddF32,
            space,
            size: 4,
            order,
            scope,
            address,
            d,
            b: value,
            c: None,
            part: PartOfWord::Whole,
        })));
        let next = address.offset.checked_add(4);
        address.offset = next.ok_or_else(|| form.unsupported())?;
    }
    Ok(())
}
