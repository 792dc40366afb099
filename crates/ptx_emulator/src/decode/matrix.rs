//! Matrix instructions of a whole warp: `mma`, `wmma`, `ldmatrix`, `stmatrix`, `movmatrix`.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::memory::space;
use super::op::{Address, Op, Reg, Row};
use super::rounding::{BF16, F16, NEAREST, canonical};
use super::wgmma::GroupMultiply;
use crate::error::ParseError;
use crate::fault::Space;
use crate::parse::Operand;

/// A matrix instruction; all 32 lanes take part.
pub(crate) struct MatrixOp {
    pub(crate) kind: MatrixKind,
    /// Registers that are written.
    pub(crate) targets: Vec<Reg>,
    /// Registers that are read: those of a, b and c, or what is stored.
    pub(crate) sources: Vec<Reg>,
    pub(crate) memory: Option<(Space, Address)>,
}

pub(crate) enum MatrixKind {
    /// `d = a * b + c`
    Multiply(Multiply),
    /// `wgmma.mma_async`
    Group(GroupMultiply),
    /// `wmma.load`
    Load(Tile),
    /// `wmma.store`
    Store(Tile),
    /// `ldmatrix`: 8×8 elements of 16 bits for each register.
    LoadMatrix { transposed: bool },
    /// `stmatrix`
    StoreMatrix { transposed: bool },
    /// `movmatrix`
    Transpose,
}

pub(crate) struct Multiply {
    /// Rows of a, columns of b, and what is summed over.
    pub(crate) shape: [usize; 3],
    pub(crate) a: Element,
    pub(crate) b: Element,
    pub(crate) c: Element,
    pub(crate) d: Element,
    /// Registers of a and of b; the others are those of c.
    pub(crate) registers: [usize; 2],
    /// Fragments of `wmma`, whose layout PTX leaves open.
    pub(crate) opaque: bool,
}

/// A matrix in memory that `wmma` moves.
pub(crate) struct Tile {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Elements that follow each other in memory are of one column.
    pub(crate) by_column: bool,
    pub(crate) element: Element,
    /// Elements from one row or column to the next; without it they are dense.
    pub(crate) stride: Option<Row>,
}

type Read = fn(u64) -> f64;
type Write = fn(f64) -> u64;

/// An element's size in bytes, and its meaning; doubles hold every product of narrower types exactly.
#[derive(Clone, Copy)]
pub(crate) struct Element {
    pub(crate) size: usize,
    pub(crate) read: Read,
    pub(crate) write: Write,
}

impl Element {
    pub(super) fn of(ty: Ty) -> Option<Self> {
        let (read, write): (Read, Write) = match ty {
            Ty::F16 => (
                |bits| F16.decode(bits as u32),
                |value| u64::from(F16.encode(value, 0.0, NEAREST)),
            ),
            Ty::BF16 => (
                |bits| BF16.decode(bits as u32),
                |value| u64::from(BF16.encode(value, 0.0, NEAREST)),
            ),
            // The low 13 bits of an operand do not count.
            Ty::Tf32 => (
                |bits| f64::from(f32::from_bits(bits as u32 & !0x1fff)),
                |value| u64::from((value as f32).to_bits()),
            ),
            Ty::F32 => (
                |bits| f64::from(f32::from_bits(bits as u32)),
                |value| u64::from(canonical(value as f32).to_bits()),
            ),
            Ty::F64 => (f64::from_bits, f64::to_bits),
            Ty::S8 => (|bits| f64::from(bits as i8), |value| value as i64 as u64),
            Ty::U8 => (|bits| f64::from(bits as u8), |value| value as i64 as u64),
            Ty::S32 => (
                |bits| f64::from(bits as i32),
                |value| u64::from(value as i64 as u32),
            ),
            _ => return None,
        };
        Some(Self {
            size: usize::from(ty.size()),
            read,
            write,
        })
    }

    /// A sum that stays at the largest or smallest integer.
    fn saturating(self) -> Self {
        let write = |value: f64| u64::from(value as i32 as u32);
        Self { write, ..self }
    }

    /// Elements of one register.
    pub(crate) fn per_register(self) -> usize {
        if self.size == 8 { 1 } else { 4 / self.size }
    }
}

/// Registers of each lane for a matrix of `count` elements.
fn registers(count: usize, ty: Ty) -> usize {
    count * usize::from(ty.size()) / 32 / if ty.size() == 8 { 8 } else { 4 }
}

pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let sync = form.take("sync");
    if !(form.take("aligned") && sync) {
        return Err(form.unsupported());
    }
    match form.base {
        "mma" => multiply(b, form),
        "wmma" => match form.take_one_of(&["load", "store", "mma"]) {
            Some("load") => tile(b, form, false),
            Some("store") => tile(b, form, true),
            Some(_) => multiply_opaque(b, form),
            None => Err(form.unsupported()),
        },
        "movmatrix" => {
            if !(form.take("m8n8") && form.take("trans")) || form.ty()? != Ty::B16 {
                return Err(form.unsupported());
            }
            let [d, a] = form.finish()?;
            let (a, d) = (b.source32(&form, a, Ty::B32)?, b.target32(&form, d)?);
            emit(
                b,
                MatrixKind::Transpose,
                vec![Reg::R32(d)],
                vec![Reg::R32(a)],
                None,
            );
            Ok(())
        }
        _ => rows(b, form),
    }
}

fn emit(
    b: &mut Builder<'_, '_>,
    kind: MatrixKind,
    targets: Vec<Reg>,
    sources: Vec<Reg>,
    memory: Option<(Space, Address)>,
) {
    b.emit(Op::Matrix(Box::new(MatrixOp {
        kind,
        targets,
        sources,
        memory,
    })));
}

/// `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}`
fn multiply<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let shapes = [
        "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32", "m8n8k4", "m8n8k16",
    ];
    let shape = form
        .take_one_of(&shapes)
        .ok_or_else(|| form.unsupported())?;
    if !(form.take("row") && form.take("col")) {
        return Err(form.unsupported());
    }
    let saturate = form.take("satfinite");
    let (d, left, right, c) = (form.ty()?, form.ty()?, form.ty()?, form.ty()?);
    let integers = matches!((left, right), (Ty::S8 | Ty::U8, Ty::S8 | Ty::U8));
    let known = match (shape, left) {
        ("m16n8k8" | "m16n8k16", Ty::F16) => c == d && matches!(d, Ty::F16 | Ty::F32),
        ("m16n8k8" | "m16n8k16", Ty::BF16) | ("m16n8k4" | "m16n8k8", Ty::Tf32) => {
            (c, d) == (Ty::F32, Ty::F32)
        }
        ("m8n8k4" | "m16n8k4" | "m16n8k8" | "m16n8k16", Ty::F64) => (c, d) == (Ty::F64, Ty::F64),
        ("m8n8k16" | "m16n8k16" | "m16n8k32", _) => integers && (c, d) == (Ty::S32, Ty::S32),
        _ => false,
    };
    if !known || !(integers || left == right) || (saturate && !integers) {
        return Err(form.unsupported());
    }
    let shape = extents(shape);
    let [m, n, k] = shape;
    let counts = [
        registers(m * k, left),
        registers(k * n, right),
        registers(m * n, c),
        registers(m * n, d),
    ];
    product(
        b,
        &form,
        shape,
        [left, right, c, d],
        counts,
        (saturate, false),
    )
}

/// `wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {d}, {a}, {b}, {c}`
fn multiply_opaque<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    // How a and b lay in memory does not matter any more: a fragment knows rows from columns.
    for _ in 0..2 {
        if form.take_one_of(&["row", "col"]).is_none() {
            return Err(form.unsupported());
        }
    }
    let shape = opaque_shape(&mut form)?;
    let (saturate, rounds) = (form.take("satfinite"), form.take("rn"));
    let (d, second) = (form.ty()?, form.ty()?);
    let (left, right, c) = match second {
        Ty::F16 | Ty::F32 => (Ty::F16, Ty::F16, second),
        left => (left, form.ty()?, form.ty()?),
    };
    let integers = matches!((left, right), (Ty::S8 | Ty::U8, Ty::S8 | Ty::U8));
    let accumulator = |ty| match left {
        Ty::F16 => matches!(ty, Ty::F16 | Ty::F32),
        Ty::BF16 | Ty::Tf32 => ty == Ty::F32,
        Ty::F64 => ty == Ty::F64,
        _ => integers && ty == Ty::S32,
    };
    let same = integers || left == right;
    if !(same && has_shape(left, shape) && accumulator(c) && accumulator(d))
        || (saturate && !integers)
        || (rounds && left != Ty::F64)
    {
        return Err(form.unsupported());
    }
    let [m, n, k] = shape;
    let counts = [
        opaque_registers(m * k, left, true),
        opaque_registers(k * n, right, true),
        opaque_registers(m * n, c, false),
        opaque_registers(m * n, d, false),
    ];
    product(
        b,
        &form,
        shape,
        [left, right, c, d],
        counts,
        (saturate, true),
    )
}

/// Registers of a fragment; those of f16 operands have 8, whatever their shape.
fn opaque_registers(count: usize, ty: Ty, operand: bool) -> usize {
    if operand && ty == Ty::F16 {
        8
    } else {
        registers(count, ty)
    }
}

fn product<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    shape: [usize; 3],
    types: [Ty; 4],
    counts: [usize; 4],
    (saturate, opaque): (bool, bool),
) -> Result<(), ParseError> {
    let [d, left, right, c] = form.finish()?;
    let mut sources = Vec::new();
    for (operand, (ty, count)) in [left, right, c]
        .into_iter()
        .zip(types.into_iter().zip(counts))
    {
        sources.extend(self::sources(b, form, operand, ty, count)?);
    }
    let targets = self::targets(b, form, d, types[3], counts[3])?;
    let element = |ty| Element::of(ty).ok_or_else(|| form.unsupported());
    let result = element(types[3])?;
    let multiply = Multiply {
        shape,
        a: element(types[0])?,
        b: element(types[1])?,
        c: element(types[2])?,
        d: if saturate {
            result.saturating()
        } else {
            result
        },
        registers: [counts[0], counts[1]],
        opaque,
    };
    emit(b, MatrixKind::Multiply(multiply), targets, sources, None);
    Ok(())
}

/// `wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {d}, [p], stride` and
/// `wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [p], {d}, stride`
fn tile<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    stores: bool,
) -> Result<(), ParseError> {
    let matrices: &[_] = if stores { &["d"] } else { &["a", "b", "c"] };
    let matrix = form
        .take_one_of(matrices)
        .ok_or_else(|| form.unsupported())?;
    let by_column = match form.take_one_of(&["row", "col"]) {
        Some(layout) => layout == "col",
        None => return Err(form.unsupported()),
    };
    let shape = opaque_shape(&mut form)?;
    let space = space(&mut form);
    let ty = form.ty()?;
    form.no_more_modifiers()?;
    let operand = matches!(matrix, "a" | "b");
    let fits = match ty {
        Ty::F32 => !operand && !has_shape(Ty::F64, shape),
        Ty::S32 => !operand && has_shape(Ty::S8, shape),
        Ty::F16 | Ty::F64 => has_shape(ty, shape),
        _ => operand && has_shape(ty, shape),
    };
    if !fits || !matches!(space, Space::Global | Space::Shared | Space::Generic) {
        return Err(form.unsupported());
    }
    let [m, n, k] = shape;
    let (rows, columns) = match matrix {
        "a" => (m, k),
        "b" => (k, n),
        _ => (m, n),
    };
    let (fragment, address, stride) = match (stores, form.operands) {
        (false, [fragment, address]) | (true, [address, fragment]) => (fragment, address, None),
        (false, [fragment, address, stride]) | (true, [address, fragment, stride]) => {
            (fragment, address, Some(b.r32(&form, stride)?))
        }
        _ => return Err(form.wrong("has another number of operands")),
    };
    let count = opaque_registers(rows * columns, ty, operand);
    let memory = Some((space, b.address(&form, address)?));
    let element = Element::of(ty).ok_or_else(|| form.unsupported())?;
    let tile = Tile {
        rows,
        columns,
        by_column,
        element,
        stride,
    };
    if stores {
        let sources = sources(b, &form, fragment, ty, count)?;
        emit(b, MatrixKind::Store(tile), Vec::new(), sources, memory);
    } else {
        let targets = targets(b, &form, fragment, ty, count)?;
        emit(b, MatrixKind::Load(tile), targets, Vec::new(), memory);
    }
    Ok(())
}

fn opaque_shape(form: &mut Form<'_, '_>) -> Result<[usize; 3], ParseError> {
    let shapes = ["m16n16k16", "m32n8k16", "m8n32k16", "m16n16k8", "m8n8k4"];
    let shape = form.take_one_of(&shapes);
    shape.map(extents).ok_or_else(|| form.unsupported())
}

/// Whether `wmma` multiplies matrices of this shape with operands of the type.
fn has_shape(operand: Ty, shape: [usize; 3]) -> bool {
    match shape {
        [16, 16, 8] => operand == Ty::Tf32,
        [8, 8, 4] => operand == Ty::F64,
        _ => matches!(operand, Ty::F16 | Ty::BF16 | Ty::S8 | Ty::U8),
    }
}

/// The numbers of a shape such as `m16n8k16`.
fn extents(shape: &str) -> [usize; 3] {
    let mut numbers = shape
        .split(|c: char| c.is_ascii_alphabetic())
        .filter_map(|number| number.parse().ok());
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

/// `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {d}, [p]` and `stmatrix`, the other way round
fn rows<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let count = match form.take_one_of(&["x1", "x2", "x4"]) {
        Some("x1") => 1,
        Some("x2") => 2,
        Some(_) => 4,
        None => return Err(form.unsupported()),
    };
    if !form.take("m8n8") {
        return Err(form.unsupported());
    }
    let transposed = form.take("trans");
    let space = space(&mut form);
    if !matches!(space, Space::Shared | Space::Generic) || form.ty()? != Ty::B16 {
        return Err(form.unsupported());
    }
    let [first, second] = form.finish()?;
    if form.base == "ldmatrix" {
        let memory = Some((space, b.address(&form, second)?));
        let targets = targets(b, &form, first, Ty::B32, count)?;
        emit(
            b,
            MatrixKind::LoadMatrix { transposed },
            targets,
            Vec::new(),
            memory,
        );
    } else {
        let memory = Some((space, b.address(&form, first)?));
        let sources = sources(b, &form, second, Ty::B32, count)?;
        emit(
            b,
            MatrixKind::StoreMatrix { transposed },
            Vec::new(),
            sources,
            memory,
        );
    }
    Ok(())
}

/// The operands of `{…}`, which must be so many; one may stand without braces.
fn parts<'i, 'a>(
    form: &Form<'_, 'a>,
    operand: &'i Operand<'a>,
    count: usize,
) -> Result<&'i [Operand<'a>], ParseError> {
    let parts = match operand {
        Operand::Vector(parts) => parts.as_slice(),
        single => std::slice::from_ref(single),
    };
    if parts.len() == count {
        Ok(parts)
    } else {
        Err(form.wrong(format!(
            "needs {count} registers in braces, not {}",
            parts.len()
        )))
    }
}

/// Fragments are registers of 32 bits, but for doubles.
fn register_type(ty: Ty) -> Ty {
    if ty.size() == 8 { Ty::B64 } else { Ty::B32 }
}

fn targets<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    operand: &Operand<'a>,
    ty: Ty,
    count: usize,
) -> Result<Vec<Reg>, ParseError> {
    let parts = parts(form, operand, count)?;
    let targets = parts
        .iter()
        .map(|part| b.target(form, part, register_type(ty)));
    targets.collect()
}

fn sources<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    operand: &Operand<'a>,
    ty: Ty,
    count: usize,
) -> Result<Vec<Reg>, ParseError> {
    let parts = parts(form, operand, count)?;
    let sources = parts
        .iter()
        .map(|part| b.source(form, part, register_type(ty)));
    sources.collect()
}
