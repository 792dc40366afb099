//! The registers that an instruction reads and writes.

use super::{
    BarrierKind, Callee, Cell, CompareType, Convert, Direction, IntOp, MatrixKind, MbarrierKind,
    NO_ROW, Op, SurfaceKind, WarpKind, WarpOp,
};

impl Op {
    /// Every register that the instruction reads, except its guard.
    pub(crate) fn reads(&self, mut each: impl FnMut(Cell)) {
        use Cell::{R32, R64};
        match *self {
            Op::Nop
            | Op::Clock { .. }
            | Op::CopyCommit
            | Op::CopyWait { .. }
            | Op::ClusterBarrier { .. }
            | Op::Fence { .. }
            | Op::Branch { .. }
            | Op::Return
            | Op::Exit
            | Op::Trap
            | Op::Breakpoint => {}
            Op::Int32 { a, b, .. } | Op::Float32 { a, b, .. } | Op::MulWide { a, b, .. } => {
                [a, b].into_iter().for_each(|row| each(R32(row)))
            }
            Op::Int64 { op, a, b, .. } => {
                each(R64(a));
                let shifts = matches!(op, IntOp::Shl | IntOp::ShrUnsigned | IntOp::ShrSigned);
                each(Cell::wide(!shifts, b));
            }
            Op::Float64 { a, b, .. } => [a, b].into_iter().for_each(|row| each(R64(row))),
            Op::Mad32 { a, b, c, .. } | Op::Fma32 { a, b, c, .. } => {
                [a, b, c].into_iter().for_each(|row| each(R32(row)))
            }
            Op::Mad64 { a, b, c, .. } | Op::Fma64 { a, b, c, .. } => {
                [a, b, c].into_iter().for_each(|row| each(R64(row)))
            }
            Op::MadWide { a, b, c, .. } => [R32(a), R32(b), R64(c)].into_iter().for_each(each),
            Op::FloatFn32 { a, .. }
            | Op::Flush { a, .. }
            | Op::Saturate32 { a, .. }
            | Op::Mov32 { a, .. } => each(R32(a)),
            Op::FloatFn64 { a, .. } | Op::Mov64 { a, .. } | Op::Unpack { a, .. } => each(R64(a)),
            Op::Compare { ty, a, b, .. } => {
                let wide = matches!(ty, CompareType::U64 | CompareType::S64 | CompareType::F64);
                [a, b]
                    .into_iter()
                    .for_each(|row| each(Cell::wide(wide, row)));
            }
            Op::Logic { a, b, .. } => [a, b].into_iter().for_each(|pred| each(pred.into())),
            Op::Select32 { a, b, p, .. } => [R32(a), R32(b), p.into()].into_iter().for_each(each),
            Op::Select64 { a, b, p, .. } => [R64(a), R64(b), p.into()].into_iter().for_each(each),
            Op::Convert { op, a, .. } => {
                let wide = matches!(op, Convert::U64ToU32 | Convert::F64ToF32);
                each(Cell::wide(wide, a));
            }
            Op::Lane(ref op) => {
                op.sources
                    .iter()
                    .flatten()
                    .for_each(|&reg| each(reg.into()));
                each(op.flag_in.into());
            }
            Op::Pack { low, high, .. } => [R32(low), R32(high)].into_iter().for_each(each),
            Op::Load(ref t) => each(t.address.into()),
            Op::Store(ref t) => {
                each(t.address.into());
                (0..4).filter_map(|element| t.cell(element)).for_each(each);
            }
            Op::Atomic(ref op) => {
                each(op.address.into());
                each(op.b.into());
                op.c.into_iter().for_each(|c| each(c.into()));
            }
            Op::CopyAsync(ref op) => {
                each(op.to.into());
                each(op.from.into());
                op.source_size.into_iter().for_each(|row| each(R32(row)));
            }
            Op::CopyBulk(ref op) => {
                each(op.to.1.into());
                each(op.from.1.into());
                each(R32(op.size));
                op.blocks.into_iter().for_each(|row| each(R32(row)));
            }
            Op::CopyTensor(ref op) => op.reads(each),
            Op::BranchIndex { index, .. } => each(R32(index)),
            Op::Call(ref call) => match call.callee {
                Callee::Pointer(row) => each(R64(row)),
                Callee::Function(_) => {}
            },
            Op::Barrier(ref barrier) => {
                each(R32(barrier.id));
                barrier.count.into_iter().for_each(|row| each(R32(row)));
                match barrier.kind {
                    BarrierKind::CountTrue { p, .. }
                    | BarrierKind::All { p, .. }
                    | BarrierKind::Any { p, .. } => each(p.into()),
                    BarrierKind::Sync | BarrierKind::Arrive => {}
                }
            }
            Op::WarpBarrier { members } => each(R32(members)),
            Op::Warp(ref op) => {
                each(R32(op.members));
                match op.kind {
                    WarpKind::Shuffle { a, b, c, .. } => {
                        [a, b, c].into_iter().for_each(|row| each(R32(row)))
                    }
                    WarpKind::VoteAll { p, .. }
                    | WarpKind::VoteAny { p, .. }
                    | WarpKind::VoteUniform { p, .. }
                    | WarpKind::Ballot { p, .. } => each(p.into()),
                    WarpKind::MatchAny { a, .. } | WarpKind::MatchAll { a, .. } => each(a.into()),
                    WarpKind::Reduce { a, .. } => each(R32(a)),
                    WarpKind::ActiveMask { .. } | WarpKind::Elect { .. } => {}
                }
            }
            Op::Matrix(ref op) => {
                op.memory
                    .into_iter()
                    .for_each(|(_, address)| each(address.into()));
                if let MatrixKind::Group(ref group) = op.kind {
                    each(group.adds.into());
                }
                if let MatrixKind::Load(ref tile) | MatrixKind::Store(ref tile) = op.kind {
                    tile.stride.into_iter().for_each(|row| each(R32(row)));
                }
                op.sources.iter().for_each(|&a| each(a.into()));
            }
            Op::Mbarrier(ref op) => {
                each(op.address.into());
                op.blocks.into_iter().for_each(|row| each(R32(row)));
                op.kind.reads(each);
            }
            Op::Texture(ref op) => op.point.reads(each),
            Op::Surface(ref op) => {
                op.point.reads(&mut each);
                op.kind.reads(each);
            }
            Op::Query(ref op) => each(R64(op.handle)),
        }
    }

    /// Whether all that it does is to compute registers from registers, each lane for itself.
    pub(crate) fn only_computes(&self) -> bool {
        matches!(
            self,
            Op::Nop
                | Op::Int32 { .. }
                | Op::Int64 { .. }
                | Op::Mad32 { .. }
                | Op::Mad64 { .. }
                | Op::MulWide { .. }
                | Op::MadWide { .. }
                | Op::Float32 { .. }
                | Op::Float64 { .. }
                | Op::Fma32 { .. }
                | Op::Fma64 { .. }
                | Op::FloatFn32 { .. }
                | Op::FloatFn64 { .. }
                | Op::Flush { .. }
                | Op::Saturate32 { .. }
                | Op::Compare { .. }
                | Op::Logic { .. }
                | Op::Select32 { .. }
                | Op::Select64 { .. }
                | Op::Mov32 { .. }
                | Op::Mov64 { .. }
                | Op::Convert { .. }
                | Op::Pack { .. }
                | Op::Unpack { .. }
                | Op::Lane(_)
        )
    }

    /// Every register that the instruction writes.
    pub(crate) fn writes(&self, mut each: impl FnMut(Cell)) {
        use Cell::{Predicate, R32, R64};
        match *self {
            Op::Nop
            | Op::CopyCommit
            | Op::CopyWait { .. }
            | Op::Fence { .. }
            | Op::Branch { .. }
            | Op::BranchIndex { .. }
            | Op::Call(_)
            | Op::Return
            | Op::Exit
            | Op::Trap
            | Op::Breakpoint
            | Op::Store(_)
            | Op::CopyAsync(_)
            | Op::CopyBulk(_)
            | Op::ClusterBarrier { .. }
            | Op::WarpBarrier { .. } => {}
            Op::Texture(ref op) => {
                let targets = op.targets.iter().flatten();
                targets.for_each(|&d| each(R32(d)));
            }
            Op::Surface(ref op) => {
                if let SurfaceKind::Load(ref t) = op.kind {
                    (0..4).filter_map(|element| t.cell(element)).for_each(each);
                }
            }
            Op::Query(ref op) => each(R32(op.d)),
            Op::CopyTensor(ref op) => {
                if let Direction::Load { bytes, .. } = op.direction {
                    each(R32(bytes));
                }
            }
            Op::Int32 { d, .. }
            | Op::Float32 { d, .. }
            | Op::Mad32 { d, .. }
            | Op::Fma32 { d, .. }
            | Op::FloatFn32 { d, .. }
            | Op::Flush { d, .. }
            | Op::Saturate32 { d, .. }
            | Op::Select32 { d, .. }
            | Op::Mov32 { d, .. } => each(R32(d)),
            Op::Int64 { d, .. }
            | Op::Float64 { d, .. }
            | Op::Mad64 { d, .. }
            | Op::Fma64 { d, .. }
            | Op::MulWide { d, .. }
            | Op::MadWide { d, .. }
            | Op::FloatFn64 { d, .. }
            | Op::Select64 { d, .. }
            | Op::Mov64 { d, .. }
            | Op::Pack { d, .. } => each(R64(d)),
            Op::Compare { d, .. } | Op::Logic { d, .. } => each(Predicate(d)),
            Op::Convert { op, d, .. } => {
                let narrow = matches!(
                    op,
                    Convert::U64ToU32 | Convert::F64ToF32 | Convert::S32ToF32 | Convert::U32ToF32
                );
                each(Cell::wide(!narrow, d));
            }
            Op::Lane(ref op) => {
                op.d.into_iter().for_each(|d| each(d.into()));
                op.flag_out.into_iter().for_each(|d| each(Predicate(d)));
            }
            Op::Unpack { low, high, .. } => {
                let halves = [low, high].into_iter().filter(|&row| row != NO_ROW);
                halves.for_each(|row| each(R32(row)));
            }
            Op::Clock { d } => each(d.into()),
            Op::Load(ref t) => (0..4).filter_map(|element| t.cell(element)).for_each(each),
            Op::Atomic(ref op) => op.d.into_iter().for_each(|d| each(d.into())),
            Op::Barrier(ref barrier) => match barrier.kind {
                BarrierKind::CountTrue { d, .. } => each(R32(d)),
                BarrierKind::All { d, .. } | BarrierKind::Any { d, .. } => each(Predicate(d)),
                BarrierKind::Sync | BarrierKind::Arrive => {}
            },
            Op::Warp(ref op) => op.writes(each),
            Op::Matrix(ref op) => op.targets.iter().for_each(|&d| each(d.into())),
            Op::Mbarrier(ref op) => match op.kind {
                MbarrierKind::Arrive { state, .. } => {
                    state.into_iter().for_each(|d| each(R64(d)));
                }
                MbarrierKind::Test { p, .. } => each(Predicate(p)),
                _ => {}
            },
        }
    }
}

impl SurfaceKind {
    fn reads(&self, mut each: impl FnMut(Cell)) {
        match self {
            SurfaceKind::Load(_) => {}
            SurfaceKind::Store(t) => (0..4).filter_map(|element| t.cell(element)).for_each(each),
            SurfaceKind::StoreTexel(rows) => {
                let rows = rows.iter().filter(|&&row| row != NO_ROW);
                rows.for_each(|&row| each(Cell::R32(row)));
            }
            SurfaceKind::Reduce { op, .. } => each(op.b.into()),
        }
    }
}

impl WarpOp {
    /// Every register that the instruction writes.
    pub(crate) fn writes(&self, mut each: impl FnMut(Cell)) {
        use Cell::{Predicate, R32};
        match self.kind {
            WarpKind::Shuffle { d, p, .. } | WarpKind::MatchAll { d, p, .. } => {
                each(R32(d));
                p.into_iter().for_each(|p| each(Predicate(p)));
            }
            WarpKind::VoteAll { d, .. }
            | WarpKind::VoteAny { d, .. }
            | WarpKind::VoteUniform { d, .. } => each(Predicate(d)),
            WarpKind::Ballot { d, .. }
            | WarpKind::MatchAny { d, .. }
            | WarpKind::Reduce { d, .. }
            | WarpKind::ActiveMask { d } => each(R32(d)),
            WarpKind::Elect { d, p } => {
                d.into_iter().for_each(|d| each(R32(d)));
                each(Predicate(p));
            }
        }
    }
}

impl MbarrierKind {
    fn reads(&self, mut each: impl FnMut(Cell)) {
        match *self {
            MbarrierKind::Init { count: row }
            | MbarrierKind::Expect { bytes: row }
            | MbarrierKind::Complete { bytes: row } => each(Cell::R32(row)),
            MbarrierKind::Arrive { count, bytes, .. } => {
                let rows = count.into_iter().chain(bytes);
                rows.for_each(|row| each(Cell::R32(row)));
            }
            MbarrierKind::Test { state, .. } => each(state.into()),
            MbarrierKind::Invalidate | MbarrierKind::Copies { .. } => {}
        }
    }
}
