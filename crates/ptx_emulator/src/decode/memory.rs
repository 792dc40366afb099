use super::builder::Builder;
use super::form::{Form, Ty};
use super::hint;
use super::names::Symbol;
use super::op::{NO_ROW, Op, Order, Reg, Row, Scope, Transfer, Width};
use super::operand::is_sink;
use super::program::Value;
use super::space::space;
use crate::error::ParseError;
use crate::fault::Space;
use crate::parse::{Base, Operand};

/// Parses a scope.
pub(super) fn scope(form: &mut Form<'_, '_>) -> Option<Scope> {
    Some(match form.take_one_of(&["cta", "cluster", "gpu", "sys"])? {
        "cta" => Scope::Block,
        "cluster" => Scope::Cluster,
        "gpu" => Scope::Device,
        _ => Scope::System,
    })
}

/// Parses the memory-order modifiers of a load or store.
pub(super) fn order(form: &mut Form<'_, '_>) -> Result<(Order, Scope), ParseError> {
    // Memory-mapped I/O is treated as system-scope memory.
    let is_device = form.take("mmio");
    let kinds = [
        "weak", "volatile", "relaxed", "acquire", "release", "acq_rel",
    ];
    let kind = form.take_one_of(&kinds);
    let scope = scope(form);
    match (kind, scope) {
        _ if is_device && (kind, scope) != (Some("relaxed"), Some(Scope::System)) => {
            Err(form.unsupported())
        }
        (Some("acquire"), Some(scope)) => Ok((Order::Acquire, scope)),
        (Some("release"), Some(scope)) => Ok((Order::Release, scope)),
        (Some("relaxed"), Some(scope)) => Ok((Order::Relaxed, scope)),
        (Some("acq_rel"), scope) => Ok((Order::Both, scope.unwrap_or(Scope::Device))),
        (Some("volatile"), None) => Ok((Order::Volatile, Scope::System)),
        (Some("weak") | None, None) => Ok((Order::Weak, Scope::Block)),
        _ => Err(form.unsupported()),
    }
}

/// Consumes hints that change no result.
fn cache_hints(form: &mut Form<'_, '_>) {
    let hints = [
        "ca",
        "cg",
        "cs",
        "lu",
        "cv",
        "wb",
        "wt",
        "L1::evict_normal",
        "L1::evict_unchanged",
        "L1::evict_first",
        "L1::evict_last",
        "L1::no_allocate",
        "L2::64B",
        "L2::128B",
        "L2::256B",
        "L2::evict_normal",
        "L2::evict_first",
        "L2::evict_last",
    ];
    while form.take_one_of(&hints).is_some() {}
}

/// The form of a load or store, without its operands.
struct Shape {
    space: Space,
    /// In `.shared::cluster`; the address becomes a generic one.
    cluster: bool,
    order: Order,
    scope: Scope,
    ty: Ty,
    count: u8,
    /// The two elements are the halves of one 128-bit register.
    wide: bool,
}

fn shape(form: &mut Form<'_, '_>) -> Result<Shape, ParseError> {
    let (order, scope) = order(form)?;
    let space = space(form);
    let cluster = space == Space::Generic && form.take("shared::cluster");
    cache_hints(form);
    let vector = form.take_one_of(&["v2", "v4"]);
    let (ty, count, wide) = match (form.ty()?, vector) {
        (Ty::B128, None) => (Ty::B64, 2, true),
        (ty, None) => (ty, 1, false),
        (ty, Some("v2")) => (ty, 2, false),
        (ty, Some(_)) => (ty, 4, false),
    };
    if ty == Ty::Pred || matches!(ty, Ty::F16x2 | Ty::BF16x2 | Ty::Tf32) || ty.size() * count > 16 {
        return Err(form.unsupported());
    }
    Ok(Shape {
        space,
        cluster,
        order,
        scope,
        ty,
        count,
        wide,
    })
}

/// The two rows of a 128-bit load or store.
fn wide_rows<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    operand: &Operand<'a>,
) -> Result<([Row; 4], Width), ParseError> {
    let [low, high] = b.r128(form, operand)?;
    Ok(([low, high, NO_ROW, NO_ROW], Width::R64))
}

/// The registers of a load or store, one per vector element.
fn elements<'i, 'a>(
    form: &Form<'i, 'a>,
    operand: &'i Operand<'a>,
    count: u8,
) -> Result<&'i [Operand<'a>], ParseError> {
    let elements = match operand {
        Operand::Vector(parts) => parts.as_slice(),
        single => std::slice::from_ref(single),
    };
    if elements.len() == usize::from(count) {
        Ok(elements)
    } else {
        Err(form.wrong(format!("needs {count} registers, not {}", elements.len())))
    }
}

/// Function parameters are in local memory; kernel parameters are a space of their own.
fn resolve_param<'a>(
    b: &mut Builder<'a, '_>,
    space: Space,
    address: &Operand<'a>,
) -> Result<Space, ParseError> {
    if space != Space::Param {
        return Ok(space);
    }
    if let Operand::Address(Base::Name(name), _) = *address {
        return Ok(match b.lookup(name)? {
            Symbol::Local { .. } => Space::Local,
            Symbol::Register(..) if !b.is_entry => Space::Local,
            _ => Space::Param,
        });
    }
    Ok(space)
}

pub(super) fn load<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    if form.base == "ldu" {
        // `ldu`: a load with the same address in all lanes. The emulator does not depend on that.
        cache_hints(&mut form);
    }
    let constant = form.base == "ldu" || form.take("nc");
    let Shape {
        space,
        cluster,
        order,
        scope,
        ty,
        count,
        wide,
    } = shape(&mut form)?;
    if matches!(order, Order::Release | Order::Both) {
        return Err(form.unsupported());
    }
    hint::take_policy(b, &mut form)?;
    let [d, address] = form.finish()?;
    let space = resolve_param(b, space, address)?;
    let (rows, width) = match wide {
        true => wide_rows(b, &form, d)?,
        false => loaded_rows(b, &form, d, count)?,
    };
    check_width(&form, width, ty)?;
    // Constant rows are extended to 32 or 64 bits and cannot hold a sign-extended 16-bit register;
    // such loads take the general path.
    let as_constant = !(width == Width::R16 && ty == Ty::S8);
    if space == Space::Param
        && as_constant
        && let Some(offset) =
            kernel_param(b, &form, address, u32::from(ty.size()) * u32::from(count))?
    {
        return load_kernel_param(b, ty, width, &rows[..usize::from(count)], offset);
    }
    let address = b.shared_address(&form, address, cluster)?;
    let size = ty.size();
    b.emit(Op::Load(Transfer {
        space,
        size,
        count,
        signed: ty.is_signed(),
        width,
        order,
        scope,
        constant,
        address,
        rows,
    }));
    Ok(())
}

pub(super) fn loaded_rows<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    d: &Operand<'a>,
    count: u8,
) -> Result<([Row; 4], Width), ParseError> {
    let mut rows = [NO_ROW; 4];
    let mut width = None;
    for (row, element) in rows.iter_mut().zip(elements(form, d, count)?) {
        if !is_sink(element) {
            let reg = b.any_register(form, element)?;
            *row = same_width(form, &mut width, reg)?;
        }
    }
    let width = width.ok_or_else(|| form.wrong("loads nothing"))?;
    Ok((rows, width))
}

/// The row of an element, which must be as wide as the preceding ones.
fn same_width(form: &Form<'_, '_>, width: &mut Option<Width>, reg: Reg) -> Result<Row, ParseError> {
    let (this, row) = match reg {
        Reg::R16(row) => (Width::R16, row),
        Reg::R32(row) => (Width::R32, row),
        Reg::R64(row) => (Width::R64, row),
    };
    if width.is_some_and(|width| width != this) {
        return Err(form.wrong("has registers of different widths"));
    }
    *width = Some(this);
    Ok(row)
}

pub(super) fn check_width(form: &Form<'_, '_>, width: Width, ty: Ty) -> Result<(), ParseError> {
    let bytes = match width {
        Width::R16 => 2,
        Width::R32 => 4,
        Width::R64 => 8,
    };
    if bytes < ty.size() {
        return Err(form.wrong("has a register that is narrower than its type"));
    }
    // Floats are never extended.
    let float = matches!(ty, Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64);
    if float && bytes > ty.size() {
        Err(form.wrong("has a register that is wider than its type"))
    } else {
        Ok(())
    }
}

/// The offset of a kernel parameter that is named directly, if all bytes are inside it.
fn kernel_param<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    address: &Operand<'a>,
    bytes: u32,
) -> Result<Option<u32>, ParseError> {
    let &Operand::Address(Base::Name(name), offset) = address else {
        return Ok(None);
    };
    let Symbol::KernelParam {
        offset: start,
        size,
    } = b.lookup(name)?
    else {
        return Ok(None);
    };
    let fits = u32::try_from(offset)
        .ok()
        .filter(|offset| offset.checked_add(bytes).is_some_and(|end| end <= size));
    match fits {
        Some(offset) if (start + offset).is_multiple_of(bytes) => Ok(Some(start + offset)),
        Some(_) => Ok(None),
        None => Err(form.wrong(format!("reads past the end of the parameter `{name}`"))),
    }
}

/// Kernel parameters are equal in all lanes: their value is a constant row.
fn load_kernel_param(
    b: &mut Builder<'_, '_>,
    ty: Ty,
    width: Width,
    rows: &[u16],
    offset: u32,
) -> Result<(), ParseError> {
    for (index, &d) in rows.iter().enumerate() {
        if d == NO_ROW {
            continue;
        }
        let offset = offset + index as u32 * u32::from(ty.size());
        let value = Value::Param {
            offset,
            size: ty.size(),
            signed: ty.is_signed() && width != Width::R16,
        };
        if width == Width::R64 {
            let a = b.constant64(value)?;
            b.emit(Op::Mov64 { d, a });
        } else {
            let a = b.constant32(value)?;
            b.emit(Op::Mov32 { d, a });
        }
    }
    Ok(())
}

pub(super) fn store<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let Shape {
        space,
        cluster,
        order,
        scope,
        ty,
        count,
        wide,
    } = shape(&mut form)?;
    if matches!(order, Order::Acquire | Order::Both) || space == Space::Const {
        return Err(form.unsupported());
    }
    hint::take_policy(b, &mut form)?;
    let [address, value] = form.finish()?;
    let space = resolve_param(b, space, address)?;
    if space == Space::Param {
        return Err(form.wrong("writes a parameter of the kernel"));
    }
    let (rows, width) = match wide {
        true => wide_rows(b, &form, value)?,
        false => stored_rows(b, &form, value, (ty, count))?,
    };
    check_width(&form, width, ty)?;
    let address = b.shared_address(&form, address, cluster)?;
    b.emit(Op::Store(Transfer {
        space,
        size: ty.size(),
        count,
        signed: false,
        width,
        order,
        scope,
        constant: false,
        address,
        rows,
    }));
    Ok(())
}

pub(super) fn stored_rows<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    value: &Operand<'a>,
    (ty, count): (Ty, u8),
) -> Result<([Row; 4], Width), ParseError> {
    let mut rows = [NO_ROW; 4];
    let mut width = None;
    for (row, element) in rows.iter_mut().zip(elements(form, value, count)?) {
        let reg = match element {
            // A register may be wider than the type; constants are as wide as the type.
            Operand::Name(_) => match b.any_register(form, element) {
                Ok(reg) => reg,
                Err(_) => b.source(form, element, ty)?,
            },
            &Operand::Int(value) if ty.size() == 1 => {
                Reg::R16(b.constant32(Value::Bits(value & 0xff))?)
            }
            // Constants of untyped (`.b`) types are plain bits.
            Operand::Int(_) if matches!(ty, Ty::F32) => b.source(form, element, Ty::B32)?,
            Operand::Int(_) if matches!(ty, Ty::F64) => b.source(form, element, Ty::B64)?,
            _ => b.source(form, element, ty)?,
        };
        *row = same_width(form, &mut width, reg)?;
    }
    let width = width.ok_or_else(|| form.wrong("stores nothing"))?;
    Ok((rows, width))
}
