//! The interpreter's loop: straight-line code, uniform branches, and memory accesses.
//!
//! Anything that changes a warp's splits (divergence, calls, barriers, exits) leaves the loop as an
//! [`Event`].
//!
//! The file is long because the loop is one function: an arm per operation, so that the cursor and
//! the counters stay in registers.

use super::float::{bits32, bits64, flushes, max32, max64, min32, min64, narrow, signed64, widen};
use super::frame::{Frame, Row32, Row64, lanes};
use super::memory::Memory;
use super::observe::{Observer, Turn};
use super::raise::{Checked, Raised, raise};
use super::{atomics, bulk, exchange, matrix, mbarrier, surface, tensor, texture};
use crate::decode::Program;
use crate::decode::op::{
    Compare, CompareType, Convert, FloatFn, FloatOp, IntOp, LaneOp, Op, PredOp,
};
use crate::fault::FaultKind;
use std::sync::atomic::{Ordering, fence};

/// What a warp is doing while it runs one of its splits.
#[derive(Clone)]
pub(super) struct Cursor {
    pub(super) pc: u32,
    pub(super) mask: u32,
    /// Stop before an instruction at or after this one: another split waits there.
    pub(super) switch_at: u32,
    /// Remaining quantum: backward branches until the split must yield.
    pub(super) quantum: u32,
    /// The same when the turn began.
    pub(super) granted: u32,
    /// Instructions until the launch pauses, if it is observed.
    pub(super) budget: u64,
    /// The target and the place of the last backward branch.
    pub(super) last_loop: Option<(u32, u32)>,
    /// The lowest target and the highest location of a backward branch.
    pub(super) span: (u32, u32),
    /// The block's clock at the cursor.
    pub(super) clock: u64,
    pub(super) warp_instructions: u64,
    pub(super) lane_instructions: u64,
}

/// Why the loop stopped; unless stated otherwise, the cursor is at the instruction.
pub(super) enum Event {
    /// The budget is used up: the turn continues here later.
    Pause,
    /// Another split is at this instruction, or before it.
    Switch,
    /// The quantum is used up; the cursor is at the branch target.
    QuantumEnd,
    /// The lanes diverge.
    Scatter(Vec<(u32, u32)>),
    /// A call by these lanes.
    Call(u32),
    Return(u32),
    Exit(u32),
    Barrier(u32),
    /// A warp-level instruction whose members have not all arrived.
    Wait(u32),
    /// The same for these lanes only; the rest of the split can execute the instruction and is
    /// still at it.
    Part(u32),
    Fault(Box<Raised>),
}

/// A split that runs, and its surroundings.
pub(super) struct Running<'a, 'm, O: ?Sized> {
    pub(super) program: &'a Program,
    pub(super) turn: &'a Turn,
    pub(super) cursor: &'a mut Cursor,
    pub(super) frame: &'a mut Frame<'m>,
    pub(super) memory: &'a mut Memory<'m>,
    pub(super) observer: &'a mut O,
}

/// Runs until an event.
#[inline(always)]
pub(super) fn run<O: Observer + ?Sized>(stretch: Running<'_, '_, O>) -> Event {
    let Running {
        program,
        turn,
        cursor,
        frame,
        memory,
        observer,
    } = stretch;
    let code = program.code.as_slice();
    let active = cursor.mask;
    let mut pc = cursor.pc;
    // A launch without an observer is compiled without the test.
    let (pauses, budget) = (observer.watches(), cursor.budget);
    let mut steps = 0;
    let mut lane_steps = 0;
    let mut waits = 0;
    let event = loop {
        if pc >= cursor.switch_at {
            break Event::Switch;
        }
        if pauses && steps >= budget {
            break Event::Pause;
        }
        let inst = &code[pc as usize];
        let mask = inst.guard.lanes(frame.predicates) & active;
        steps += 1;
        if mask == 0 {
            observer.skip(pc, active, frame);
            pc += 1;
            continue;
        }
        lane_steps += u64::from(mask.count_ones());
        // Those execute once all members have arrived.
        if !matches!(inst.op, Op::Warp(_) | Op::Matrix(_)) {
            observer.step(program, pc, mask, active, frame);
        }

        /// Computes an expression for each lane.
        macro_rules! each32 {
            ($d:expr, $lane:ident => $value:expr) => {{
                let mut values: Row32 = [0; 32];
                for $lane in 0..32 {
                    values[$lane] = $value;
                }
                frame.set32($d, &values, mask);
            }};
        }
        macro_rules! each64 {
            ($d:expr, $lane:ident => $value:expr) => {{
                let mut values: Row64 = [0; 32];
                for $lane in 0..32 {
                    values[$lane] = $value;
                }
                frame.set64($d, &values, mask);
            }};
        }
        macro_rules! int32 {
            ($d:ident, $a:ident, $b:ident, |$x:ident, $y:ident| $value:expr) => {{
                let (a, b) = (frame.r32($a), frame.r32($b));
                each32!($d, lane => { let ($x, $y) = (a[lane], b[lane]); $value })
            }};
        }
        macro_rules! int64 {
            ($d:ident, $a:ident, $b:ident, |$x:ident, $y:ident| $value:expr) => {{
                let (a, b) = (frame.r64($a), frame.r64($b));
                each64!($d, lane => { let ($x, $y) = (a[lane], b[lane]); $value })
            }};
        }
        macro_rules! shift64 {
            ($d:ident, $a:ident, $b:ident, |$x:ident, $y:ident| $value:expr) => {{
                let (a, b) = (frame.r64($a), frame.r32($b));
                each64!($d, lane => { let ($x, $y) = (a[lane], b[lane]); $value })
            }};
        }
        macro_rules! float32 {
            ($d:ident, $a:ident, $b:ident, |$x:ident, $y:ident| $value:expr) => {{
                let (a, b) = (frame.r32($a), frame.r32($b));
                each32!($d, lane => {
                    let ($x, $y) = (f32::from_bits(a[lane]), f32::from_bits(b[lane]));
                    bits32($value)
                })
            }};
        }
        macro_rules! float64 {
            ($d:ident, $a:ident, $b:ident, |$x:ident, $y:ident| $value:expr) => {{
                let (a, b) = (frame.r64($a), frame.r64($b));
                each64!($d, lane => {
                    let ($x, $y) = (f64::from_bits(a[lane]), f64::from_bits(b[lane]));
                    bits64($value)
                })
            }};
        }
        macro_rules! compare {
            ($row:ident, $ty:ty, $from:expr, $compare:ident, $d:ident, $a:ident, $b:ident, $invert:ident) => {{
                let (a, b) = (frame.$row($a), frame.$row($b));
                let from = $from;
                macro_rules! test {
                    ($operator:tt) => {{
                        let mut lanes = 0;
                        for lane in 0..32 {
                            let (x, y): ($ty, $ty) = (from(a[lane]), from(b[lane]));
                            lanes |= u32::from(x $operator y) << lane;
                        }
                        lanes
                    }};
                }
                let lanes = match $compare {
                    Compare::Eq => test!(==),
                    Compare::Ne => test!(!=),
                    Compare::Lt => test!(<),
                    Compare::Le => test!(<=),
                    Compare::Gt => test!(>),
                    Compare::Ge => test!(>=),
                };
                frame.set_predicate($d, if $invert { !lanes } else { lanes }, mask);
            }};
        }
        /// These lanes must wait: their instruction is counted when its members have arrived.
        macro_rules! wait {
            ($missing:expr) => {{
                observer.waits(pc, mask);
                waits = 1;
                steps -= 1;
                lane_steps -= u64::from(mask.count_ones());
                break waiting($missing, mask);
            }};
        }
        macro_rules! checked {
            ($result:expr) => {
                if let Err(raised) = $result {
                    break Event::Fault(raised);
                }
            };
        }

        match inst.op {
            Op::Nop => {}
            Op::Int32 { op, d, a, b } => match op {
                IntOp::Add => int32!(d, a, b, |x, y| x.wrapping_add(y)),
                IntOp::Sub => int32!(d, a, b, |x, y| x.wrapping_sub(y)),
                IntOp::Mul => int32!(d, a, b, |x, y| x.wrapping_mul(y)),
                IntOp::MulHiUnsigned => {
                    int32!(d, a, b, |x, y| ((u64::from(x) * u64::from(y)) >> 32) as u32)
                }
                IntOp::MulHiSigned => {
                    int32!(
                        d,
                        a,
                        b,
                        |x, y| ((i64::from(x as i32) * i64::from(y as i32)) >> 32) as u32
                    )
                }
                IntOp::And => int32!(d, a, b, |x, y| x & y),
                IntOp::Or => int32!(d, a, b, |x, y| x | y),
                IntOp::Xor => int32!(d, a, b, |x, y| x ^ y),
                IntOp::Shl => int32!(d, a, b, |x, y| if y < 32 { x << (y & 31) } else { 0 }),
                IntOp::ShrUnsigned => {
                    int32!(d, a, b, |x, y| if y < 32 { x >> (y & 31) } else { 0 })
                }
                IntOp::ShrSigned => int32!(d, a, b, |x, y| ((x as i32) >> y.min(31)) as u32),
                IntOp::MinUnsigned => int32!(d, a, b, |x, y| x.min(y)),
                IntOp::MaxUnsigned => int32!(d, a, b, |x, y| x.max(y)),
                IntOp::MinSigned => int32!(d, a, b, |x, y| (x as i32).min(y as i32) as u32),
                IntOp::MaxSigned => int32!(d, a, b, |x, y| (x as i32).max(y as i32) as u32),
            },
            Op::Int64 { op, d, a, b } => match op {
                IntOp::Add => int64!(d, a, b, |x, y| x.wrapping_add(y)),
                IntOp::Sub => int64!(d, a, b, |x, y| x.wrapping_sub(y)),
                IntOp::Mul => int64!(d, a, b, |x, y| x.wrapping_mul(y)),
                IntOp::MulHiUnsigned => int64!(d, a, b, |x, y| ((u128::from(x) * u128::from(y))
                    >> 64) as u64),
                IntOp::MulHiSigned => {
                    int64!(
                        d,
                        a,
                        b,
                        |x, y| ((i128::from(x as i64) * i128::from(y as i64)) >> 64) as u64
                    )
                }
                IntOp::And => int64!(d, a, b, |x, y| x & y),
                IntOp::Or => int64!(d, a, b, |x, y| x | y),
                IntOp::Xor => int64!(d, a, b, |x, y| x ^ y),
                IntOp::Shl => shift64!(d, a, b, |x, y| if y < 64 { x << (y & 63) } else { 0 }),
                IntOp::ShrUnsigned => {
                    shift64!(d, a, b, |x, y| if y < 64 { x >> (y & 63) } else { 0 })
                }
                IntOp::ShrSigned => shift64!(d, a, b, |x, y| ((x as i64) >> y.min(63)) as u64),
                IntOp::MinUnsigned => int64!(d, a, b, |x, y| x.min(y)),
                IntOp::MaxUnsigned => int64!(d, a, b, |x, y| x.max(y)),
                IntOp::MinSigned => int64!(d, a, b, |x, y| (x as i64).min(y as i64) as u64),
                IntOp::MaxSigned => int64!(d, a, b, |x, y| (x as i64).max(y as i64) as u64),
            },
            Op::Mad32 { d, a, b, c } => {
                let (a, b, c) = (frame.r32(a), frame.r32(b), frame.r32(c));
                each32!(d, lane => a[lane].wrapping_mul(b[lane]).wrapping_add(c[lane]));
            }
            Op::Mad64 { d, a, b, c } => {
                let (a, b, c) = (frame.r64(a), frame.r64(b), frame.r64(c));
                each64!(d, lane => a[lane].wrapping_mul(b[lane]).wrapping_add(c[lane]));
            }
            Op::MulWide { signed, d, a, b } => {
                let (a, b) = (frame.r32(a), frame.r32(b));
                if signed {
                    each64!(d, lane => (i64::from(a[lane] as i32) * i64::from(b[lane] as i32)) as u64);
                } else {
                    each64!(d, lane => u64::from(a[lane]) * u64::from(b[lane]));
                }
            }
            Op::MadWide { signed, d, a, b, c } => {
                let (a, b, c) = (frame.r32(a), frame.r32(b), frame.r64(c));
                if signed {
                    each64!(d, lane => ((i64::from(a[lane] as i32) * i64::from(b[lane] as i32)) as u64).wrapping_add(c[lane]));
                } else {
                    each64!(d, lane => (u64::from(a[lane]) * u64::from(b[lane])).wrapping_add(c[lane]));
                }
            }
            Op::Float32 { op, d, a, b } => match op {
                FloatOp::Add => float32!(d, a, b, |x, y| x + y),
                FloatOp::Sub => float32!(d, a, b, |x, y| x - y),
                FloatOp::Mul => float32!(d, a, b, |x, y| x * y),
                FloatOp::MulFlushed => float32!(d, a, b, |x, y| {
                    let flush = flushes(f64::from(x) * f64::from(y));
                    x * y * if flush { 0.0 } else { 1.0 }
                }),
                FloatOp::Div => float32!(d, a, b, |x, y| x / y),
                FloatOp::Min => float32!(d, a, b, |x, y| min32(x, y)),
                FloatOp::Max => float32!(d, a, b, |x, y| max32(x, y)),
            },
            Op::Float64 { op, d, a, b } => match op {
                FloatOp::Add => float64!(d, a, b, |x, y| x + y),
                FloatOp::Sub => float64!(d, a, b, |x, y| x - y),
                FloatOp::Mul | FloatOp::MulFlushed => float64!(d, a, b, |x, y| x * y),
                FloatOp::Div => float64!(d, a, b, |x, y| x / y),
                FloatOp::Min => float64!(d, a, b, |x, y| min64(x, y)),
                FloatOp::Max => float64!(d, a, b, |x, y| max64(x, y)),
            },
            Op::Fma32 { flush, d, a, b, c } => {
                let (a, b, c) = (frame.r32(a), frame.r32(b), frame.r32(c));
                if flush {
                    each32!(d, lane => {
                        let [x, y, z] = [a[lane], b[lane], c[lane]].map(f32::from_bits);
                        let flush = flushes(f64::from(x) * f64::from(y) + f64::from(z));
                        bits32(x.mul_add(y, z) * if flush { 0.0 } else { 1.0 })
                    });
                } else {
                    each32!(d, lane => {
                        let [x, y, z] = [a[lane], b[lane], c[lane]].map(f32::from_bits);
                        bits32(x.mul_add(y, z))
                    });
                }
            }
            Op::Fma64 { d, a, b, c } => {
                let (a, b, c) = (frame.r64(a), frame.r64(b), frame.r64(c));
                each64!(d, lane => {
                    let [x, y, z] = [a[lane], b[lane], c[lane]].map(f64::from_bits);
                    bits64(x.mul_add(y, z))
                });
            }
            Op::FloatFn32 { op, d, a } => {
                let a = frame.r32(a);
                match op {
                    FloatFn::Neg => each32!(d, lane => bits32(-f32::from_bits(a[lane]))),
                    FloatFn::Abs => each32!(d, lane => bits32(f32::from_bits(a[lane]).abs())),
                    FloatFn::Sqrt => each32!(d, lane => bits32(f32::from_bits(a[lane]).sqrt())),
                    FloatFn::Recip => each32!(d, lane => bits32(1.0 / f32::from_bits(a[lane]))),
                }
            }
            Op::FloatFn64 { op, d, a } => {
                let a = frame.r64(a);
                match op {
                    FloatFn::Neg => each64!(d, lane => signed64(a[lane], a[lane] ^ (1 << 63))),
                    FloatFn::Abs => {
                        each64!(d, lane => signed64(a[lane], a[lane] & (u64::MAX >> 1)))
                    }
                    FloatFn::Sqrt => each64!(d, lane => bits64(f64::from_bits(a[lane]).sqrt())),
                    FloatFn::Recip => each64!(d, lane => bits64(1.0 / f64::from_bits(a[lane]))),
                }
            }
            Op::Flush { d, a } => {
                let a = frame.r32(a);
                each32!(d, lane => if a[lane] & 0x7f80_0000 == 0 { a[lane] & (1 << 31) } else { a[lane] });
            }
            Op::Saturate32 { d, a } => {
                let a = frame.r32(a);
                each32!(d, lane => {
                    let x = f32::from_bits(a[lane]);
                    (if x >= 1.0 { 1.0_f32 } else if x > 0.0 { x } else { 0.0 }).to_bits()
                });
            }
            Op::Compare {
                compare,
                ty,
                invert,
                d,
                a,
                b,
            } => match ty {
                CompareType::U32 => compare!(r32, u32, |bits: u32| bits, compare, d, a, b, invert),
                CompareType::S32 => {
                    compare!(r32, i32, |bits: u32| bits as i32, compare, d, a, b, invert)
                }
                CompareType::U64 => compare!(r64, u64, |bits: u64| bits, compare, d, a, b, invert),
                CompareType::S64 => {
                    compare!(r64, i64, |bits: u64| bits as i64, compare, d, a, b, invert)
                }
                CompareType::F32 => compare!(r32, f32, f32::from_bits, compare, d, a, b, invert),
                CompareType::F64 => compare!(r64, f64, f64::from_bits, compare, d, a, b, invert),
            },
            Op::Logic { op, d, a, b } => {
                let (a, b) = (a.lanes(frame.predicates), b.lanes(frame.predicates));
                let lanes = match op {
                    PredOp::And => a & b,
                    PredOp::Or => a | b,
                    PredOp::Xor => a ^ b,
                };
                frame.set_predicate(d, lanes, mask);
            }
            Op::Select32 { d, a, b, p } => {
                let p = p.lanes(frame.predicates);
                let (a, b) = (frame.r32(a), frame.r32(b));
                each32!(d, lane => if p & (1 << lane) != 0 { a[lane] } else { b[lane] });
            }
            Op::Select64 { d, a, b, p } => {
                let p = p.lanes(frame.predicates);
                let (a, b) = (frame.r64(a), frame.r64(b));
                each64!(d, lane => if p & (1 << lane) != 0 { a[lane] } else { b[lane] });
            }
            Op::Mov32 { d, a } => {
                let values = *frame.r32(a);
                frame.set32(d, &values, mask);
            }
            Op::Mov64 { d, a } => {
                let values = *frame.r64(a);
                frame.set64(d, &values, mask);
            }
            Op::Pack { d, low, high } => {
                let (low, high) = (frame.r32(low), frame.r32(high));
                each64!(d, lane => u64::from(high[lane]) << 32 | u64::from(low[lane]));
            }
            Op::Unpack { low, high, a } => {
                let values = *frame.r64(a);
                if low != crate::decode::op::NO_ROW {
                    each32!(low, lane => values[lane] as u32);
                }
                if high != crate::decode::op::NO_ROW {
                    each32!(high, lane => (values[lane] >> 32) as u32);
                }
            }
            Op::Convert { op, d, a } => match op {
                Convert::U32ToU64 => {
                    let a = frame.r32(a);
                    each64!(d, lane => u64::from(a[lane]));
                }
                Convert::S32ToS64 => {
                    let a = frame.r32(a);
                    each64!(d, lane => a[lane] as i32 as u64);
                }
                Convert::U64ToU32 => {
                    let a = frame.r64(a);
                    each32!(d, lane => a[lane] as u32);
                }
                Convert::F32ToF64 => {
                    let a = frame.r32(a);
                    each64!(d, lane => widen(a[lane]));
                }
                Convert::F64ToF32 => {
                    let a = frame.r64(a);
                    each32!(d, lane => narrow(a[lane]));
                }
                Convert::S32ToF32 => {
                    let a = frame.r32(a);
                    each32!(d, lane => (a[lane] as i32 as f32).to_bits());
                }
                Convert::U32ToF32 => {
                    let a = frame.r32(a);
                    each32!(d, lane => (a[lane] as f32).to_bits());
                }
                Convert::S32ToF64 => {
                    let a = frame.r32(a);
                    each64!(d, lane => f64::from(a[lane] as i32).to_bits());
                }
                Convert::U32ToF64 => {
                    let a = frame.r32(a);
                    each64!(d, lane => f64::from(a[lane]).to_bits());
                }
            },
            Op::Lane(ref op) => {
                let undefined = lane_op(op, frame, mask);
                if undefined != 0 {
                    observer.divides_by_zero(pc, undefined);
                }
            }
            Op::Clock { d } => {
                let now = cursor.clock + steps;
                lanes(mask).for_each(|lane| frame.put(d, lane, now));
            }
            Op::Load(ref transfer) => {
                checked!(memory.load(frame, transfer, mask, pc, observer));
            }
            Op::Store(ref transfer) => {
                checked!(memory.store(frame, transfer, mask, pc, observer));
            }
            Op::Atomic(ref op) => {
                checked!(atomics::execute(op, frame, memory, mask, pc, observer));
            }
            Op::CopyAsync(ref op) => {
                checked!(atomics::copy_async(op, frame, memory, mask, pc, observer));
            }
            Op::CopyBulk(ref op) => {
                checked!(bulk::execute(op, frame, memory, mask, pc, observer));
            }
            Op::CopyTensor(ref op) => {
                checked!(tensor::execute(op, frame, memory, mask, pc, observer));
            }
            // Copies complete at issue: nothing to wait for.
            Op::CopyCommit | Op::CopyWait { .. } => {}
            Op::Fence { .. } => fence(Ordering::SeqCst),
            Op::Branch { target } => {
                let stay = active & !mask;
                if target <= pc {
                    cursor.last_loop = Some((target, pc));
                    cursor.span = (cursor.span.0.min(target), cursor.span.1.max(pc));
                    if cursor.quantum == 0 && stay == 0 {
                        pc = target;
                        break Event::QuantumEnd;
                    }
                    cursor.quantum = cursor.quantum.saturating_sub(1);
                }
                if stay != 0 && target != pc + 1 {
                    break Event::Scatter(vec![(target, mask), (pc + 1, stay)]);
                }
                pc = target;
                continue;
            }
            Op::BranchIndex { index, ref targets } => {
                match branch_targets(frame.r32(index), targets, mask) {
                    Err(raised) => break Event::Fault(raised),
                    Ok(mut places) => {
                        if active & !mask != 0 {
                            places.push((pc + 1, active & !mask));
                        }
                        if let Some(target) = places
                            .iter()
                            .map(|&(target, _)| target)
                            .min()
                            .filter(|&target| target <= pc)
                        {
                            cursor.last_loop = Some((target, pc));
                            cursor.span = (cursor.span.0.min(target), cursor.span.1.max(pc));
                            cursor.quantum = cursor.quantum.saturating_sub(1);
                        }
                        break Event::Scatter(places);
                    }
                }
            }
            Op::Call(_) => break Event::Call(mask),
            Op::Return => break Event::Return(mask),
            Op::Exit => break Event::Exit(mask),
            Op::Trap => break Event::Fault(raise(first(mask), FaultKind::Trap)),
            Op::Breakpoint => break Event::Fault(raise(first(mask), FaultKind::Breakpoint)),
            Op::Barrier(_) | Op::ClusterBarrier { .. } => break Event::Barrier(mask),
            Op::WarpBarrier { members } => {
                let row = frame.r32(members);
                checked!(exchange::members_only("bar.warp.sync", row, mask));
                let missing = exchange::incomplete(row, mask, !frame.dead);
                if missing != 0 {
                    break waiting(missing, mask);
                }
                exchange::groups(frame.r32(members), mask, |group| {
                    observer.warp_barrier(turn.slot, turn.warp, group);
                });
            }
            Op::Warp(ref op) => {
                let row = frame.r32(op.members);
                let missing = exchange::incomplete(row, mask, !frame.dead);
                if missing != 0 {
                    checked!(exchange::members_only(&op.form, row, mask));
                    wait!(missing);
                }
                observer.step(program, pc, mask, active, frame);
                let stray = |stray| observer.stray(pc, &stray);
                checked!(exchange::execute(op, frame, mask, stray));
            }
            Op::Matrix(ref op) => {
                if mask != !frame.dead {
                    wait!(mask);
                }
                observer.step(program, pc, mask, active, frame);
                checked!(matrix::execute(
                    op, frame, memory, mask, pc, observer, turn.warp
                ));
            }
            Op::Texture(ref op) => {
                checked!(texture::fetch(op, frame, memory, mask, pc, observer));
            }
            Op::Surface(ref op) => {
                checked!(surface::execute(op, frame, memory, mask, pc, observer));
            }
            Op::Query(ref op) => checked!(texture::query(op, frame, memory, mask)),
            Op::Mbarrier(ref op) => {
                checked!(mbarrier::execute(op, frame, memory, mask, pc, observer));
            }
        }
        pc += 1;
    };
    cursor.pc = pc;
    cursor.clock += steps;
    cursor.budget = budget.saturating_sub(steps + waits);
    cursor.warp_instructions += steps;
    cursor.lane_instructions += lane_steps;
    event
}

/// The event for lanes of `mask` that wait for other members.
fn waiting(missing: u32, mask: u32) -> Event {
    if missing == mask {
        Event::Wait(mask)
    } else {
        Event::Part(missing)
    }
}

fn first(mask: u32) -> usize {
    (mask.trailing_zeros() & 31) as usize
}

/// An instruction computed lane by lane. Returns the lanes that divided by zero.
#[inline(never)]
fn lane_op(op: &LaneOp, frame: &mut Frame<'_>, mask: u32) -> u32 {
    let flags = op.flag_in.lanes(frame.predicates);
    let (mut flags_out, mut undefined) = (0, 0);
    for lane in lanes(mask) {
        let sources = op
            .sources
            .map(|source| source.map_or(0, |source| frame.get(source, lane)));
        undefined |= u32::from(op.divides && sources[1] == 0) << lane;
        let (value, flag) = (op.eval)(sources, flags & (1 << lane) != 0);
        if let Some(d) = op.d {
            frame.put(d, lane, value);
        }
        flags_out |= u32::from(flag) << lane;
    }
    if let Some(row) = op.flag_out {
        frame.set_predicate(row, flags_out, mask);
    }
    undefined
}

/// The branch target of each lane.
#[inline(never)]
fn branch_targets(indices: &Row32, targets: &[u32], mask: u32) -> Checked<Vec<(u32, u32)>> {
    let mut places: Vec<(u32, u32)> = Vec::new();
    for lane in lanes(mask) {
        let index = indices[lane];
        let Some(&target) = targets.get(index as usize) else {
            return Err(raise(
                lane,
                FaultKind::BranchIndex {
                    index,
                    targets: targets.len() as u32,
                },
            ));
        };
        match places.iter_mut().find(|(place, _)| *place == target) {
            Some((_, mask)) => *mask |= 1 << lane,
            None => places.push((target, 1 << lane)),
        }
    }
    Ok(places)
}
