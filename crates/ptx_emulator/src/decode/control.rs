use super::builder::Builder;
use super::form::{Form, Ty};
use super::names::Symbol;
use super::op::{Call, Callee, Op, Slot};
use crate::error::ParseError;
use crate::parse::Operand;

/// Branches, calls, returns and exits.
pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    // `.uni` promises the assembler that all lanes agree; the emulator checks each time.
    form.take("uni");
    match form.base {
        "bra" => {
            let [label] = form.finish()?;
            let &Operand::Name(label) = label else {
                return Err(form.wrong("needs a label"));
            };
            b.branch_to(0, label);
            b.emit(Op::Branch { target: 0 });
        }
        "brx" => branch_index(b, form)?,
        "call" => call(b, form)?,
        "nanosleep" => {
            if form.ty()? != Ty::U32 {
                return Err(form.unsupported());
            }
            let [duration] = form.finish()?;
            b.r32(&form, duration)?;
            b.emit(Op::Nop);
        }
        "pmevent" => {
            form.take("mask");
            let [_] = form.finish()?;
            b.emit(Op::Nop);
        }
        base => {
            let [] = form.finish()?;
            b.emit(match base {
                "ret" => Op::Return,
                "exit" => Op::Exit,
                "trap" => Op::Trap,
                _ => Op::Breakpoint,
            });
        }
    }
    Ok(())
}

/// `brx.idx index, table`
fn branch_index<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    if !form.take("idx") {
        return Err(form.unsupported());
    }
    let [index, table] = form.finish()?;
    let index = b.r32(&form, index)?;
    let labels = match table {
        Operand::Name(name) => b.tables.get(name).cloned(),
        _ => None,
    };
    let labels = labels.ok_or_else(|| form.wrong("needs the name of a `.branchtargets` list"))?;
    for (number, label) in labels.iter().enumerate() {
        b.branch_to(number, label);
    }
    b.emit(Op::BranchIndex {
        index,
        targets: vec![0; labels.len()].into(),
    });
    Ok(())
}

/// `call[.uni] [(returns),] callee[, (args)[, prototype]]`
fn call<'a>(b: &mut Builder<'a, '_>, form: Form<'_, 'a>) -> Result<(), ParseError> {
    form.no_more_modifiers()?;
    let (returns, rest) = match form.operands {
        [Operand::Group(returns), rest @ ..] => (returns.as_slice(), rest),
        rest => (&[][..], rest),
    };
    let (name, args, prototype) = match *rest {
        [Operand::Name(name)] => (name, &[][..], None),
        [Operand::Name(name), Operand::Group(ref args)] => (name, args.as_slice(), None),
        [
            Operand::Name(name),
            Operand::Group(ref args),
            Operand::Name(prototype),
        ] => (name, args.as_slice(), Some(prototype)),
        _ => return Err(form.wrong("has operands of another shape")),
    };
    let slots =
        |b: &mut Builder<'a, '_>, operands: &[Operand<'a>]| -> Result<Vec<Slot>, ParseError> {
            operands
                .iter()
                .map(|operand| b.param_slot(&form, operand))
                .collect()
        };
    let (returns, args) = (slots(b, returns)?, slots(b, args)?);
    let (callee, signature) = match b.lookup(name)? {
        Symbol::Function(index) if b.module.are_entries[index as usize] => {
            return Err(form.wrong(format!("takes a function, and `{name}` is a kernel")));
        }
        Symbol::Function(index) => (
            Callee::Function(index),
            b.module.signatures[index as usize].clone(),
        ),
        _ => {
            let pointer = b.source64(&form, &Operand::Name(name), Ty::B64)?;
            b.function.calls_pointers = true;
            let prototype = prototype.and_then(|name| b.prototypes.get(name).cloned());
            let prototype = prototype
                .ok_or_else(|| form.wrong("through a pointer needs a `.callprototype`"))?;
            (Callee::Pointer(pointer), prototype)
        }
    };
    let sizes = |slots: &[Slot]| slots.iter().map(|slot| slot.size).collect::<Vec<_>>();
    if (sizes(&returns), sizes(&args)) != signature {
        return Err(form.wrong(format!(
            "passes parameters of other sizes than `{name}` declares"
        )));
    }
    b.emit(Op::Call(Box::new(Call {
        callee,
        args,
        returns,
    })));
    Ok(())
}
