//! `lop3`: any function of three bits, as a table of eight rows.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::lane::Lane;
use super::op::{Compare, CompareType, Op, Pred, PredOp, Reg, Row};
use super::program::Value;
use crate::error::ParseError;
use crate::parse::Operand;

pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    form: &mut Form<'_, 'a>,
) -> Result<(), ParseError> {
    if let Some(op) = form.take_one_of(&["or", "and"]) {
        return lop3_with_predicate(b, form, op == "or");
    }
    let form = &*form;
    let [d, x, y, z, table] = form.finish()?;
    let table = table_row(b, form, table)?;
    let mut sources = Vec::new();
    for operand in [x, y, z] {
        sources.push(b.source(form, operand, Ty::B32)?);
    }
    sources.push(Reg::R32(table));
    let d = b.target32(form, d)?;
    b.lane(Lane::to(Reg::R32(d)), logic3, &sources);
    Ok(())
}

/// Truth table of a three-input bit function.
fn table_row<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    table: &Operand<'a>,
) -> Result<Row, ParseError> {
    match *table {
        Operand::Int(table) if table <= 0xff => b.constant32(Value::Bits(table)),
        Operand::Int(_) => Err(form.wrong("needs a table of 8 bits")),
        _ => Err(form.wrong("needs a constant table")),
    }
}

fn logic3([x, y, z, table]: [u64; 4], _: bool) -> (u64, bool) {
    let minterm = |index: u64| {
        let pick = |value: u64, bit: u64| if index & bit != 0 { value } else { !value };
        if table >> index & 1 == 1 {
            pick(x, 4) & pick(y, 2) & pick(z, 1)
        } else {
            0
        }
    };
    let bits = (0..8).map(minterm).fold(0, |bits, term| bits | term);
    (bits & 0xffff_ffff, false)
}

/// `lop3.or.b32 d|p, x, y, z, table, q`: p is whether the result is non-zero, combined with q.
fn lop3_with_predicate<'a>(
    b: &mut Builder<'a, '_>,
    form: &mut Form<'_, 'a>,
    either: bool,
) -> Result<(), ParseError> {
    let (Some(Operand::Pair(d, p)), Some((q, rest))) =
        (form.operands.first(), form.operands.split_last())
    else {
        return Err(form.wrong("needs a pair of results, and a predicate at the end"));
    };
    let (q, p) = (b.pred(form, q)?, b.only_pred(form, &Operand::Name(p))?);
    let result = match *d {
        // Only the predicate is used.
        "_" => b.temp32()?,
        name => b.target32(form, &Operand::Name(name))?,
    };
    let [_, x, y, z, table] = rest else {
        return Err(form.wrong("takes 6 operands"));
    };
    let sources = [x, y, z].map(|operand| b.source(form, operand, Ty::B32));
    let [x, y, z] = sources;
    let sources = [x?, y?, z?, Reg::R32(table_row(b, form, table)?)];
    form.no_more_modifiers()?;
    b.lane(Lane::to(Reg::R32(result)), logic3, &sources);
    let zero = b.constant32(Value::Bits(0))?;
    let some = b.temp_pred()?;
    b.emit(Op::Compare {
        compare: Compare::Ne,
        ty: CompareType::U32,
        invert: false,
        d: some,
        a: result,
        b: zero,
    });
    b.emit(Op::Logic {
        op: if either { PredOp::Or } else { PredOp::And },
        d: p,
        a: Pred::new(some, false),
        b: q,
    });
    Ok(())
}
