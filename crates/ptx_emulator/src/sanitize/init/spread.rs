//! Propagation of undefined bits from operands to results.
//!
//! Moves, logic and shifts are tracked bit by bit, because compilers load whole words and then
//! extract fields. Sums and products are undefined from the lowest undefined bit upwards. Any other
//! result is undefined as a whole if any operand bit is.

use crate::decode::Cell;
use crate::decode::op::{Convert, IntOp, LaneOp, Op, PredOp, Reg};

/// An operand in one lane.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) value: u64,
    pub(super) undefined: u64,
}

/// The bits of `d` that an instruction leaves undefined in one lane. `reads` are its operands, and
/// `get` returns one.
pub(super) fn result(op: &Op, reads: &[Cell], d: Cell, get: impl Fn(Cell) -> Operand) -> u64 {
    use Cell::{R32, R64};
    let any = |bits: u64| if bits == 0 { 0 } else { u64::MAX };
    let bits = match *op {
        // A register minus (or xor) itself is 0, whatever it holds.
        Op::Int32 { op, a, b, .. } | Op::Int64 { op, a, b, .. }
            if a == b && matches!(op, IntOp::Sub | IntOp::Xor) =>
        {
            0
        }
        Op::Int32 { op, a, b, .. } => integer(op, 32, get(R32(a)), get(R32(b))),
        Op::Int64 { op, a, b, .. } => {
            let shifts = matches!(op, IntOp::Shl | IntOp::ShrUnsigned | IntOp::ShrSigned);
            let b = if shifts { R32(b) } else { R64(b) };
            integer(op, 64, get(R64(a)), get(b))
        }
        Op::Mad32 { .. } | Op::Mad64 { .. } | Op::MulWide { .. } | Op::MadWide { .. } => {
            upwards(union(reads, &get))
        }
        Op::Mov32 { a, .. } => get(R32(a)).undefined,
        Op::Mov64 { a, .. } => get(R64(a)).undefined,
        Op::Pack { low, high, .. } => get(R32(low)).undefined | get(R32(high)).undefined << 32,
        Op::Unpack { low, a, .. } if d == R32(low) => get(R64(a)).undefined,
        Op::Unpack { a, .. } => get(R64(a)).undefined >> 32,
        Op::Convert {
            op: Convert::U32ToU64,
            a,
            ..
        } => get(R32(a)).undefined,
        Op::Convert {
            op: Convert::S32ToS64,
            a,
            ..
        } => get(R32(a)).undefined as u32 as i32 as u64,
        Op::Convert {
            op: Convert::U64ToU32,
            a,
            ..
        } => get(R64(a)).undefined,
        Op::Select32 { a, b, p, .. } => select(get(p.into()), p.holds(get(p.into()).value), || {
            (get(R32(a)), get(R32(b)))
        }),
        Op::Select64 { a, b, p, .. } => select(get(p.into()), p.holds(get(p.into()).value), || {
            (get(R64(a)), get(R64(b)))
        }),
        Op::Logic { op, a, b, .. } => {
            let operand = |p: crate::decode::op::Pred| Operand {
                value: u64::from(p.holds(get(p.into()).value)),
                ..get(p.into())
            };
            let op = match op {
                PredOp::And => IntOp::And,
                PredOp::Or => IntOp::Or,
                PredOp::Xor => IntOp::Xor,
            };
            integer(op, 1, operand(a), operand(b))
        }
        Op::Lane(ref lane) if lane.d.map(Cell::from) == Some(d) && !lane.divides => {
            varying(lane, get)
        }
        _ => any(union(reads, &get)),
    };
    bits & all_bits(d)
}

/// Whether the undefined bits of a result depend on the operands' values, which differ by lane.
pub(super) fn depends_on_values(op: &Op) -> bool {
    match op {
        Op::Int32 { op, .. } | Op::Int64 { op, .. } => matches!(
            op,
            IntOp::Mul
                | IntOp::And
                | IntOp::Or
                | IntOp::Shl
                | IntOp::ShrUnsigned
                | IntOp::ShrSigned
        ),
        Op::Select32 { .. } | Op::Select64 { .. } | Op::Logic { .. } | Op::Lane(_) => true,
        _ => false,
    }
}

/// All bits of a register.
pub(super) fn all_bits(cell: Cell) -> u64 {
    match cell {
        Cell::R32(_) => u64::from(u32::MAX),
        Cell::R64(_) => u64::MAX,
        Cell::Predicate(_) => 1,
    }
}

fn union(reads: &[Cell], get: impl Fn(Cell) -> Operand) -> u64 {
    let bits = reads.iter().map(|&cell| get(cell).undefined);
    bits.fold(0, |all, bits| all | bits)
}

/// All bits from the lowest one upwards, as carries propagate.
fn upwards(bits: u64) -> u64 {
    bits | bits.wrapping_neg()
}

fn select(p: Operand, holds: bool, operands: impl FnOnce() -> (Operand, Operand)) -> u64 {
    if p.undefined != 0 {
        return u64::MAX;
    }
    let (a, b) = operands();
    if holds { a.undefined } else { b.undefined }
}

fn integer(op: IntOp, width: u32, a: Operand, b: Operand) -> u64 {
    let either = a.undefined | b.undefined;
    if either == 0 {
        return 0;
    }
    let count = b.value.min(u64::from(width)) as u32;
    let shift = |shifted: Option<u64>| {
        if b.undefined != 0 {
            u64::MAX
        } else {
            shifted.unwrap_or(0)
        }
    };
    match op {
        IntOp::Mul if [a, b].iter().any(|x| x.undefined == 0 && x.value == 0) => 0,
        IntOp::Add | IntOp::Sub | IntOp::Mul => upwards(either),
        // A defined 0 determines the result, and for `or` a defined 1.
        IntOp::And => either & (a.undefined | a.value) & (b.undefined | b.value),
        IntOp::Or => either & (a.undefined | !a.value) & (b.undefined | !b.value),
        IntOp::Xor => either,
        IntOp::Shl => shift(a.undefined.checked_shl(count).filter(|_| count < width)),
        IntOp::ShrUnsigned => shift(a.undefined.checked_shr(count)),
        IntOp::ShrSigned => {
            let unused = 64 - width;
            let signed = ((a.undefined << unused) as i64) >> unused;
            shift(Some((signed >> count.min(width - 1)) as u64))
        }
        IntOp::MulHiUnsigned
        | IntOp::MulHiSigned
        | IntOp::MinUnsigned
        | IntOp::MaxUnsigned
        | IntOp::MinSigned
        | IntOp::MaxSigned => u64::MAX,
    }
}

/// Values tried for undefined bits; those at odd indices are rotated differently for each operand.
const FILLINGS: [u64; 8] = [
    0,
    u64::MAX,
    0x5555_5555_5555_5555,
    0x9e37_79b9_7f4a_7c15,
    0x3333_3333_3333_3333,
    0xbf58_476d_1ce4_e5b9,
    0x0f0f_0f0f_0f0f_0f0f,
    0x94d0_49bb_1331_11eb,
];

/// The result bits that depend on undefined operand bits: those are set to different values and the
/// results compared. This recognises fields that `prmt`, `bfe` or a narrowing `cvt` discard.
fn varying(op: &LaneOp, get: impl Fn(Cell) -> Operand) -> u64 {
    let flag = get(op.flag_in.into());
    if flag.undefined != 0 {
        return u64::MAX;
    }
    let none = Operand {
        value: 0,
        undefined: 0,
    };
    let sources = op.sources.map(|source| match source {
        // A 16-bit register occupies half a cell.
        Some(reg @ Reg::R16(_)) => Operand {
            undefined: get(reg.into()).undefined & 0xffff,
            ..get(reg.into())
        },
        Some(reg) => get(reg.into()),
        None => none,
    });
    if sources.iter().all(|source| source.undefined == 0) {
        return 0;
    }
    let mut bits = 0;
    let mut first = None;
    for filling in FILLINGS {
        let mut turn = 0;
        let values = sources.map(|Operand { value, undefined }| {
            turn += 7;
            value & !undefined | filling.rotate_left(turn) & undefined
        });
        let (result, _) = (op.eval)(values, op.flag_in.holds(flag.value));
        bits |= result ^ *first.get_or_insert(result);
    }
    match op.d {
        Some(Reg::R16(_)) => bits & 0xffff,
        _ => bits,
    }
}
