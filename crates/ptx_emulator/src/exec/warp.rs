use super::frame::{ALL, Frame, Row32, Row64, lanes};
use super::launch::Launch;
use super::memory::{Memory, SharedWords};
use super::observe::{Arrived, Observer, Turn};
use super::run::{Cursor, Event, Stretch};
use super::schedule::Schedule;
use super::split::{Base, Split, State, Waiting};
use super::trouble::{Checked, Trouble, trouble};
use super::{exchange, simd, system};
use crate::decode::Special;
use crate::decode::op::{Barrier, BarrierKind, Call, Callee, Op, Row};
use crate::fault::{FaultKind, Place};
use crate::memory::FUNCTION_BASE;

/// Backward branches of a warp until other splits, warps and blocks get a turn.
const PATIENCE: u32 = 1024;
/// The same inside a loop that has used up its patience before: probably a spin lock.
const SPIN_PATIENCE: u32 = 32;
/// Rows of each file that the active calls of a warp may use together.
const MAX_STACK_ROWS: u32 = 1 << 16;

/// 32 threads, their registers and local memory.
pub(super) struct Warp {
    pub(super) index: u32,
    /// Lanes that exist: the last warp of a block may have fewer.
    pub(super) exists: u32,
    /// Lanes that have not exited.
    pub(super) live: u32,
    pub(super) splits: Vec<Split>,
    pub(super) exits: Vec<(u32, u32)>,
    w32: Vec<Row32>,
    w64: Vec<Row64>,
    predicates: Vec<u32>,
    local: Vec<Row32>,
    offsets: Row64,
    patience: u32,
    /// A loop that ran out of patience.
    spin: Option<(u32, u32)>,
    /// The next split is the one that waited longest, not the one that is behind.
    fair: bool,
    runs: u64,
    pub(super) last_loop: Option<u32>,
}

/// What a warp needs from its surroundings while it runs.
pub(super) struct Surroundings<'a, 'l, O: ?Sized> {
    pub(super) launch: &'a Launch<'l>,
    pub(super) observer: &'a mut O,
    pub(super) schedule: Option<&'a mut Schedule>,
    /// The block's place among those of its worker.
    pub(super) slot: usize,
    pub(super) block: [u32; 3],
    pub(super) shared: &'a mut SharedWords,
    pub(super) hints: &'a mut [u32],
    /// `bar.arrive`: barrier, thread count, threads.
    pub(super) arrivals: &'a mut Vec<Arrival>,
    pub(super) ticket: &'a mut u64,
    /// The block's clock when its turn began.
    pub(super) clock: u64,
    pub(super) warp_instructions: u64,
    pub(super) lane_instructions: u64,
}

/// Threads that announced themselves at a barrier without waiting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) id: u32,
    pub(super) count: u32,
    pub(super) threads: u32,
    pub(super) who: Arrived,
    pub(super) pc: u32,
}

/// How a warp's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnEnd {
    /// It could go on.
    Tired,
    /// All its lanes wait, or have exited.
    Stopped,
}

/// A fault with its instruction.
pub(super) struct Located {
    pub(super) trouble: Box<Trouble>,
    pub(super) pc: u32,
}

impl Warp {
    pub(super) fn new(index: u32) -> Self {
        Self {
            index,
            exists: 0,
            live: 0,
            splits: Vec::new(),
            exits: Vec::new(),
            w32: Vec::new(),
            w64: Vec::new(),
            predicates: Vec::new(),
            local: Vec::new(),
            offsets: [0; 32],
            patience: PATIENCE,
            spin: None,
            fair: false,
            runs: 0,
            last_loop: None,
        }
    }

    /// Makes it the warp of a new block, at the kernel's first instruction.
    pub(super) fn start<O: Observer + ?Sized>(&mut self, around: &mut Surroundings<'_, '_, O>) {
        let launch = around.launch;
        let threads = launch.threads - 32 * self.index;
        self.exists = if threads >= 32 {
            ALL
        } else {
            (1 << threads) - 1
        };
        self.live = self.exists;
        self.exits.clear();
        self.splits.clear();
        (self.patience, self.spin, self.fair, self.last_loop) = (PATIENCE, None, false, None);
        let base = Base {
            function: launch.entry,
            ..Base::default()
        };
        self.enter(around, base, ALL);
        let function = &launch.program.functions[launch.entry as usize];
        let pc = function.start.unwrap_or(0);
        let (mask, state) = (self.exists, State::Runnable);
        self.splits.push(Split {
            pc,
            mask,
            state,
            base,
            stack: Vec::new(),
            last_run: 0,
        });
    }

    /// Makes a frame for a function and fills its constants, special registers and zeros, for some lanes.
    fn enter<O: Observer + ?Sized>(
        &mut self,
        around: &mut Surroundings<'_, '_, O>,
        base: Base,
        mask: u32,
    ) {
        let (launch, block) = (around.launch, around.block);
        around.observer.enters(&self.turn(around, base), mask);
        fn grow<T: Clone>(rows: &mut Vec<T>, end: u32, zero: T) {
            if rows.len() < end as usize {
                rows.resize(end as usize, zero);
            }
        }
        let function = &launch.program.functions[base.function as usize];
        grow(&mut self.w32, base.w32 + function.rows.w32, [0; 32]);
        grow(&mut self.w64, base.w64 + function.rows.w64, [0; 32]);
        grow(
            &mut self.predicates,
            base.predicates + function.rows.predicates,
            0,
        );
        let local_end = (base.local + function.local_bytes).div_ceil(4) + 1;
        grow(&mut self.local, local_end, [0; 32]);

        for row in &mut self.local[(base.local / 4) as usize..local_end as usize] {
            lanes(mask).for_each(|lane| row[lane] = 0);
        }
        let predicates = &mut self.predicates[base.predicates as usize..];
        predicates[..function.rows.predicates as usize]
            .iter_mut()
            .for_each(|lanes| *lanes &= !mask);
        // Not for other lanes: the row may be one of another function that they are in.
        predicates[0] |= mask;
        let mut frame = Frame {
            w32: &mut self.w32[base.w32 as usize..],
            w64: &mut self.w64[base.w64 as usize..],
            predicates,
            dead: 0,
        };
        for &row in &function.registers32 {
            frame.set32(row, &[0; 32], mask);
        }
        for &row in &function.registers64 {
            frame.set64(row, &[0; 32], mask);
        }
        let constants = &launch.constants[base.function as usize];
        for &(row, value) in &constants.w32 {
            frame.set32(row, &[value; 32], mask);
        }
        for &(row, value) in &constants.w64 {
            frame.set64(row, &[value; 32], mask);
        }
        if let Some(row) = function.local_base {
            frame.set64(row, &[u64::from(base.local); 32], mask);
        }
        for &(row, special) in &function.specials {
            let value = special_row(special, launch, block, self.index);
            frame.set32(row, &value, mask);
        }
    }

    /// Runs until all lanes wait or the warp has had its turn.
    pub(super) fn run<O: Observer + ?Sized>(
        &mut self,
        around: &mut Surroundings<'_, '_, O>,
    ) -> Result<TurnEnd, Located> {
        loop {
            let Some(mut split) = self.choose(around) else {
                return Ok(TurnEnd::Stopped);
            };
            let (event, cursor) = self.run_split(&split, around);
            split.pc = cursor.pc;
            around.warp_instructions += cursor.warp_instructions;
            around.lane_instructions += cursor.lane_instructions;
            if let Some((head, _)) = cursor.last_loop {
                self.last_loop = Some(head);
            }
            let tired = matches!(event, Event::Tired);
            self.fair = false;
            let at = cursor.pc;
            self.handle(split, event, around)
                .map_err(|trouble| Located { trouble, pc: at })?;
            if tired || self.patience == 0 || around.schedule.is_some() {
                self.patience = PATIENCE;
                self.spin = cursor.last_loop.or(self.spin);
                self.fair = true;
                // Lanes that wait for each other may have met while one that does not belong to them spins.
                self.release_members(around);
                return Ok(TurnEnd::Tired);
            }
        }
    }

    /// Takes out the split to run next.
    fn choose<O: Observer + ?Sized>(
        &mut self,
        around: &mut Surroundings<'_, '_, O>,
    ) -> Option<Split> {
        loop {
            let is_runnable = |split: &Split| split.state == State::Runnable;
            let mut runnable = self
                .splits
                .iter()
                .enumerate()
                .filter(|(_, split)| is_runnable(split));
            let best = if let Some(schedule) = &mut around.schedule {
                match runnable.clone().count() {
                    0 => None,
                    count => runnable.nth(schedule.pick(count)),
                }
            } else if self.fair {
                runnable.min_by_key(|(_, split)| split.last_run)
            } else {
                runnable.min_by_key(|(_, split)| split.order())
            };
            if let Some((at, _)) = best {
                let mut split = self.splits.swap_remove(at);
                if let Some(schedule) = &mut around.schedule {
                    let now = schedule.part(split.mask);
                    if now != split.mask {
                        let mask = split.mask & !now;
                        self.splits.push(Split {
                            mask,
                            ..split.clone()
                        });
                        split.mask = now;
                    }
                }
                self.runs += 1;
                split.last_run = self.runs;
                return Some(split);
            }
            if !self.release_members(around) {
                return None;
            }
        }
    }

    /// What an observer is told about lanes of this warp.
    fn turn<O: ?Sized>(&self, around: &Surroundings<'_, '_, O>, base: Base) -> Turn {
        Turn {
            slot: around.slot,
            warp: self.index,
            base,
            live: self.live,
        }
    }

    fn run_split<O: Observer + ?Sized>(
        &mut self,
        split: &Split,
        around: &mut Surroundings<'_, '_, O>,
    ) -> (Event, Cursor) {
        let launch = around.launch;
        let turn = self.turn(around, split.base);
        around.observer.turn(&turn);
        // Those of another call never meet this one: to stop for them would only let each make room for the other, for ever.
        let others = self.splits.iter().filter(|other| {
            !self.fair && other.state == State::Runnable && other.is_in_call_of(split)
        });
        let mut switch_at = others.map(|other| other.pc).min().unwrap_or(u32::MAX);
        let spins = self
            .spin
            .is_some_and(|(head, tail)| (head..=tail).contains(&split.pc));
        let mut granted = if spins {
            self.patience.min(SPIN_PATIENCE)
        } else {
            self.patience
        };
        if let Some(schedule) = &mut around.schedule {
            switch_at = split.pc.saturating_add(schedule.stretch());
            granted = granted.min(schedule.loops());
        }
        let mut cursor = Cursor {
            pc: split.pc,
            mask: split.mask,
            switch_at,
            patience: granted,
            last_loop: None,
            clock: around.clock + around.warp_instructions,
            warp_instructions: 0,
            lane_instructions: 0,
        };
        let Base {
            function,
            w32,
            w64,
            predicates,
            local,
        } = split.base;
        let function = &launch.program.functions[function as usize];
        let mut frame = Frame {
            w32: &mut self.w32[w32 as usize..(w32 + function.rows.w32) as usize],
            w64: &mut self.w64[w64 as usize..(w64 + function.rows.w64) as usize],
            predicates: &mut self.predicates
                [predicates as usize..(predicates + function.rows.predicates) as usize],
            dead: !self.live,
        };
        let mut memory = Memory {
            table: launch.table,
            hints: around.hints,
            alone: launch.alone,
            shared: around.shared,
            shared_bytes: launch.shared_bytes,
            local: &mut self.local,
            local_bytes: u64::from(local + function.local_bytes),
            params: &launch.params,
            offsets: &mut self.offsets,
        };
        let run = if launch.portable {
            simd::portable::<O>
        } else {
            simd::run::<O>
        };
        let event = run(Stretch {
            program: launch.program,
            turn: &turn,
            cursor: &mut cursor,
            frame: &mut frame,
            memory: &mut memory,
            observer: around.observer,
        });
        self.patience -= granted - cursor.patience;
        (event, cursor)
    }

    fn handle<O: Observer + ?Sized>(
        &mut self,
        mut split: Split,
        event: Event,
        around: &mut Surroundings<'_, '_, O>,
    ) -> Checked<()> {
        let active = split.mask;
        match event {
            Event::Switch | Event::Tired => self.push(split),
            Event::Scatter(places) => {
                for (pc, mask) in places {
                    self.push(Split {
                        pc,
                        mask,
                        ..split.clone()
                    });
                }
            }
            Event::Exit(mask) => self.exit(split, mask),
            Event::Return(mask) => {
                let rest = Split {
                    pc: split.pc + 1,
                    mask: active & !mask,
                    ..split.clone()
                };
                match split.stack.pop() {
                    None => {
                        self.exit(split, mask);
                        return Ok(());
                    }
                    Some((base, pc)) => {
                        self.copy_returns(around, split.base, base, pc, mask);
                        self.push(Split {
                            pc,
                            mask,
                            base,
                            ..split
                        });
                    }
                }
                self.push(rest);
            }
            Event::Call(mask) => {
                self.push(Split {
                    pc: split.pc + 1,
                    mask: active & !mask,
                    ..split.clone()
                });
                self.patience = self.patience.saturating_sub(1);
                self.call(Split { mask, ..split }, around)?;
            }
            Event::Barrier(mask) => {
                self.push(Split {
                    pc: split.pc + 1,
                    mask: active & !mask,
                    ..split.clone()
                });
                self.arrive(Split { mask, ..split }, around)?;
            }
            Event::Wait(mask) => {
                self.push(Split {
                    pc: split.pc + 1,
                    mask: active & !mask,
                    ..split.clone()
                });
                self.push(Split {
                    mask,
                    state: State::Members,
                    ..split
                });
            }
            Event::Fault(trouble) => return Err(trouble),
        }
        Ok(())
    }

    /// Adds a split, or its lanes to one that stands at the same place.
    pub(super) fn push(&mut self, split: Split) {
        if split.mask == 0 {
            return;
        }
        match self.splits.iter_mut().find(|other| other.meets(&split)) {
            Some(other) => other.mask |= split.mask,
            None => self.splits.push(split),
        }
    }

    /// Joins splits that stand at the same place.
    pub(super) fn merge(&mut self) {
        if self.splits.len() > 1 {
            for split in std::mem::take(&mut self.splits) {
                self.push(split);
            }
        }
    }

    fn exit(&mut self, split: Split, mask: u32) {
        self.live &= !mask;
        match self.exits.iter_mut().find(|(pc, _)| *pc == split.pc) {
            Some((_, lanes)) => *lanes |= mask,
            None => self.exits.push((split.pc, mask)),
        }
        self.push(Split {
            pc: split.pc + 1,
            mask: split.mask & !mask,
            ..split
        });
    }

    /// Arrives at a barrier: waits there, or only announces itself.
    fn arrive<O: Observer + ?Sized>(
        &mut self,
        mut split: Split,
        around: &mut Surroundings<'_, '_, O>,
    ) -> Checked<()> {
        let Op::Barrier(ref barrier) = around.launch.program.code[split.pc as usize].op else {
            return Ok(());
        };
        let Barrier {
            kind,
            aligned,
            id,
            count,
        } = **barrier;
        let uniform = |row: Row, what: &str| {
            let values = &self.w32[(split.base.w32 + u32::from(row)) as usize];
            let first = split.mask.trailing_zeros() as usize;
            if *values == [values[first]; 32] {
                return Ok(values[first]);
            }
            match lanes(split.mask).find(|&lane| values[lane] != values[first]) {
                None => Ok(values[first]),
                Some(lane) => {
                    let problem =
                        format!("lanes {first} and {lane} give different {what} to one barrier");
                    Err(trouble(lane, FaultKind::InvalidOperand { problem }))
                }
            }
        };
        let invalid = |problem| {
            Err(trouble(
                split.mask.trailing_zeros() as usize,
                FaultKind::InvalidOperand { problem },
            ))
        };
        let id = uniform(id, "numbers")?;
        if id >= 16 {
            return invalid(format!("barrier {id}; a block has barriers 0 to 15"));
        }
        let count = count
            .map(|count| uniform(count, "thread counts"))
            .transpose()?;
        if let Some(count) = count.filter(|&count| count == 0 || count % 32 != 0) {
            return invalid(format!(
                "barrier for {count} threads; the count must be a multiple of 32"
            ));
        }
        *around.ticket += 1;
        let ticket = *around.ticket;
        let who = Arrived {
            warp: self.index,
            mask: split.mask,
            ticket,
        };
        around.observer.arrives(around.slot, &who);
        if kind == BarrierKind::Arrive {
            // An aligned instruction counts whole warps.
            let threads = if aligned { 32 } else { split.mask.count_ones() };
            if aligned && split.mask != self.live {
                return invalid("`bar.arrive` by a part of a warp".to_owned());
            }
            let count = count.unwrap_or(0);
            around.arrivals.push(Arrival {
                id,
                count,
                threads,
                who,
                pc: split.pc,
            });
            // Nobody may ever wait for them: then they are let go before there are too many.
            let all = around.arrivals.iter().filter(|arrival| arrival.id == id);
            if all.map(|arrival| arrival.threads).sum::<u32>() >= count {
                self.patience = 0;
            }
            split.pc += 1;
            self.push(split);
        } else {
            split.state = State::Barrier(Waiting {
                id,
                count,
                aligned,
                ticket,
            });
            self.push(split);
        }
        Ok(())
    }

    /// Lets go the splits at warp-level instructions whose members have all come; whether there was one.
    fn release_members<O: Observer + ?Sized>(
        &mut self,
        around: &mut Surroundings<'_, '_, O>,
    ) -> bool {
        let launch = around.launch;
        let code = &launch.program.code;
        let is_warp_barrier =
            |split: &Split| matches!(code[split.pc as usize].op, Op::WarpBarrier { .. });
        let waiting = |split: &&Split| split.state == State::Members;
        // `bar.warp.sync` may be a different instruction in each lane.
        let at_barriers = self
            .splits
            .iter()
            .filter(waiting)
            .filter(|&split| is_warp_barrier(split))
            .fold(0, |all, split| all | split.mask);
        let mut released = Vec::new();
        for (index, split) in self
            .splits
            .iter()
            .enumerate()
            .filter(|(_, split)| waiting(split))
        {
            let present = if is_warp_barrier(split) {
                at_barriers
            } else {
                split.mask
            };
            if self.members(launch, split) & !present == 0 {
                released.push(index);
            }
        }
        let mut met = (0, [0; 32]);
        for &index in &released {
            let split = &self.splits[index];
            if let Op::WarpBarrier { members } = code[split.pc as usize].op {
                let row = &self.w32[(split.base.w32 + u32::from(members)) as usize];
                lanes(split.mask).for_each(|lane| met.1[lane] = row[lane]);
                met.0 |= split.mask;
            }
        }
        exchange::groups(&met.1, met.0, |group| {
            around.observer.warp_barrier(around.slot, self.index, group);
        });
        for &index in released.iter().rev() {
            let mut split = self.splits.swap_remove(index);
            if is_warp_barrier(&split) {
                split.pc += 1;
            }
            split.state = State::Runnable;
            self.push(split);
        }
        !released.is_empty()
    }

    /// The living lanes that a waiting split needs.
    pub(super) fn members(&self, launch: &Launch<'_>, split: &Split) -> u32 {
        let row = match launch.program.code[split.pc as usize].op {
            Op::WarpBarrier { members } => members,
            Op::Warp(ref op) => op.members,
            _ => return self.live,
        };
        exchange::needed(
            &self.w32[(split.base.w32 + u32::from(row)) as usize],
            split.mask,
        ) & self.live
    }

    /// Calls a function; lanes that call different ones part.
    fn call<O: Observer + ?Sized>(
        &mut self,
        split: Split,
        around: &mut Surroundings<'_, '_, O>,
    ) -> Checked<()> {
        let launch = around.launch;
        let Op::Call(ref call) = launch.program.code[split.pc as usize].op else {
            return Ok(());
        };
        let row = match call.callee {
            Callee::Function(index) => return self.call_function(split, call, index, around),
            Callee::Pointer(row) => self.w64[(split.base.w64 + u32::from(row)) as usize],
        };
        let mut rest = split.mask;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let mask = lanes(rest)
                .filter(|&lane| row[lane] == row[first])
                .fold(0, |mask, lane| mask | 1 << lane);
            rest &= !mask;
            let index = row[first].wrapping_sub(FUNCTION_BASE) / 16;
            let bad = |reason| {
                trouble(
                    first,
                    FaultKind::BadCall {
                        address: row[first],
                        reason,
                    },
                )
            };
            let function = usize::try_from(index)
                .ok()
                .and_then(|index| launch.program.functions.get(index));
            let Some(function) =
                function.filter(|_| row[first] >= FUNCTION_BASE && row[first] % 16 == 0)
            else {
                return Err(bad("no function of the module is there"));
            };
            let same = |a: &[crate::decode::op::Slot], b: &[crate::decode::op::Slot]| {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.size == b.size)
            };
            if !same(&function.params, &call.args) || !same(&function.returns, &call.returns) {
                return Err(bad("the function there takes other parameters"));
            }
            self.call_function(
                Split {
                    mask,
                    ..split.clone()
                },
                call,
                index as u32,
                around,
            )?;
        }
        Ok(())
    }

    fn call_function<O: Observer + ?Sized>(
        &mut self,
        mut split: Split,
        call: &Call,
        index: u32,
        around: &mut Surroundings<'_, '_, O>,
    ) -> Checked<()> {
        let launch = around.launch;
        let caller = &launch.program.functions[split.base.function as usize];
        let callee = &launch.program.functions[index as usize];
        let first = split.mask.trailing_zeros() as usize;
        let Some(start) = callee.start else {
            return self.call_system(split, call, index, around);
        };
        let depth = split.stack.len() as u32 + 1;
        let overflow =
            |limit: String| Err(trouble(first, FaultKind::StackOverflow { depth, limit }));
        if depth > launch.limits.call_depth {
            return overflow(format!("{} calls", launch.limits.call_depth));
        }
        let base = split.base.next(caller, index);
        let local_end = u64::from(base.local) + u64::from(callee.local_bytes);
        if local_end > u64::from(launch.limits.local_bytes_per_thread) {
            return overflow(format!(
                "{} bytes of local memory",
                launch.limits.local_bytes_per_thread
            ));
        }
        let ends = [
            base.w32 + callee.rows.w32,
            base.w64 + callee.rows.w64,
            base.predicates + callee.rows.predicates,
        ];
        if ends.iter().any(|&end| end > MAX_STACK_ROWS) {
            return overflow(format!("{MAX_STACK_ROWS} registers"));
        }
        self.enter(around, base, split.mask);
        for (from, to) in call.args.iter().zip(&callee.params) {
            let (from_byte, to_byte) = (split.base.local + from.offset, base.local + to.offset);
            self.copy_local(around, base, [from_byte, to_byte], from.size, split.mask);
        }
        split.stack.push((split.base, split.pc + 1));
        self.push(Split {
            pc: start,
            base,
            ..split
        });
        Ok(())
    }

    /// Calls a function of the driver, lane by lane.
    fn call_system<O: Observer + ?Sized>(
        &mut self,
        mut split: Split,
        call: &Call,
        index: u32,
        around: &mut Surroundings<'_, '_, O>,
    ) -> Checked<()> {
        let launch = around.launch;
        let name = &launch.program.functions[index as usize].name;
        for lane in lanes(split.mask) {
            let arguments: Vec<u64> = call
                .args
                .iter()
                .map(|slot| self.local_value(split.base, slot.offset, slot.size, lane))
                .collect();
            let local_bytes = 4 * self.local.len() as u64;
            let mut caller = system::Caller {
                launch,
                memory: self.memory(around, local_bytes),
                lane,
                pc: split.pc,
            };
            let result = caller.call(name, &arguments, &call.returns);
            let result = result.map_err(|kind| trouble(lane, kind))?;
            if name == "malloc" && result != 0 {
                let heap = launch.table.heap_base();
                around
                    .observer
                    .takes(heap, result - heap..result - heap + arguments[0]);
            }
            for slot in &call.returns {
                let first = (split.base.local + slot.offset) / 4;
                for word in 0..slot.size.div_ceil(4) {
                    self.local[(first + word) as usize][lane] = (result >> (32 * word)) as u32;
                }
            }
        }
        let turn = self.turn(around, split.base);
        for slot in &call.returns {
            let to = split.base.local + slot.offset;
            around
                .observer
                .writes_local(&turn, to, slot.size, split.mask);
        }
        split.pc += 1;
        self.push(split);
        Ok(())
    }

    fn copy_returns<O: Observer + ?Sized>(
        &mut self,
        around: &mut Surroundings<'_, '_, O>,
        callee: Base,
        caller: Base,
        pc: u32,
        mask: u32,
    ) {
        let launch = around.launch;
        if let Op::Call(ref call) = launch.program.code[pc as usize - 1].op {
            let function = &launch.program.functions[callee.function as usize];
            for (from, to) in function.returns.iter().zip(&call.returns) {
                let bytes = [callee.local + from.offset, caller.local + to.offset];
                self.copy_local(around, caller, bytes, from.size, mask);
            }
        }
    }

    /// Copies parameters, which are aligned to 8 bytes, word by word.
    fn copy_local<O: Observer + ?Sized>(
        &mut self,
        around: &mut Surroundings<'_, '_, O>,
        base: Base,
        [from, to]: [u32; 2],
        size: u32,
        mask: u32,
    ) {
        let turn = self.turn(around, base);
        around.observer.copies_local(&turn, from, to, size, mask);
        for word in 0..size.div_ceil(4) {
            let values = self.local[(from / 4 + word) as usize];
            let target = &mut self.local[(to / 4 + word) as usize];
            lanes(mask).for_each(|lane| target[lane] = values[lane]);
        }
    }

    fn local_value(&self, base: Base, offset: u32, size: u32, lane: usize) -> u64 {
        let word =
            |index: u32| u64::from(self.local.get(index as usize).map_or(0, |row| row[lane]));
        let index = (base.local + offset) / 4;
        let value = word(index) | word(index + 1) << 32;
        if size >= 8 {
            value
        } else {
            value & ((1 << (8 * size)) - 1)
        }
    }

    /// The memory that lanes of this warp see.
    fn memory<'a, O: ?Sized>(
        &'a mut self,
        around: &'a mut Surroundings<'_, '_, O>,
        local_bytes: u64,
    ) -> Memory<'a> {
        let launch = around.launch;
        Memory {
            table: launch.table,
            hints: around.hints,
            alone: launch.alone,
            shared: around.shared,
            shared_bytes: launch.shared_bytes,
            local: &mut self.local,
            local_bytes,
            params: &launch.params,
            offsets: &mut self.offsets,
        }
    }

    /// The predicate operand of a barrier's reduction.
    pub(super) fn reduced(&self, split: &Split, kind: BarrierKind) -> Option<u32> {
        let (BarrierKind::CountTrue { p, .. }
        | BarrierKind::All { p, .. }
        | BarrierKind::Any { p, .. }) = kind
        else {
            return None;
        };
        Some(p.lanes(&self.predicates[split.base.predicates as usize..]) & split.mask)
    }

    /// Writes the result of a barrier's reduction: how many threads took part, and for how many the predicate held.
    pub(super) fn write_reduction(
        &mut self,
        (base, mask): (Base, u32),
        kind: BarrierKind,
        threads: u32,
        held: u32,
    ) {
        let mut frame = Frame {
            w32: &mut self.w32[base.w32 as usize..],
            w64: &mut [],
            predicates: &mut self.predicates[base.predicates as usize..],
            dead: 0,
        };
        let spread = |condition: bool| if condition { ALL } else { 0 };
        match kind {
            BarrierKind::CountTrue { d, .. } => frame.set32(d, &[held; 32], mask),
            BarrierKind::All { d, .. } => frame.set_predicate(d, spread(held == threads), mask),
            BarrierKind::Any { d, .. } => frame.set_predicate(d, spread(held > 0), mask),
            BarrierKind::Sync | BarrierKind::Arrive => {}
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.live == 0
    }

    pub(super) fn has_runnable(&self) -> bool {
        self.splits
            .iter()
            .any(|split| split.state == State::Runnable)
    }

    pub(super) fn awaits_members(&self) -> bool {
        self.splits
            .iter()
            .any(|split| split.state == State::Members)
    }

    /// Where its lanes are, for reports: waiting splits.
    pub(super) fn waiting_places<'s>(
        &'s self,
        launch: &'s Launch<'_>,
    ) -> impl Iterator<Item = (u32, Place)> + 's {
        self.splits
            .iter()
            .map(|split| (split.mask.count_ones(), launch.program.place(split.pc)))
    }
}

fn special_row(special: Special, launch: &Launch<'_>, block: [u32; 3], warp: u32) -> Row32 {
    let uniform = |value: u32| [value; 32];
    let by_lane = |value: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| value(lane as u32));
    match special {
        Special::ThreadIndex(axis) => thread_indices(launch.config.block, warp, axis),
        Special::BlockSize(axis) => uniform(launch.config.block[usize::from(axis)]),
        Special::BlockIndex(axis) => uniform(block[usize::from(axis)]),
        Special::GridSize(axis) => uniform(launch.config.grid[usize::from(axis)]),
        Special::Lane => by_lane(&|lane| lane),
        Special::Warp => uniform(warp),
        Special::WarpCount => uniform(64),
        Special::Multiprocessor => uniform(block[0] % MULTIPROCESSORS),
        Special::MultiprocessorCount => uniform(MULTIPROCESSORS),
        Special::Grid => uniform(1),
        Special::LanesEqual => by_lane(&|lane| 1 << lane),
        Special::LanesLess => by_lane(&|lane| (1 << lane) - 1),
        Special::LanesLessEqual => by_lane(&|lane| ALL >> (31 - lane)),
        Special::LanesGreater => by_lane(&|lane| (ALL << lane) & !(1 << lane)),
        Special::LanesGreaterEqual => by_lane(&|lane| ALL << lane),
        Special::DynamicShared => uniform(launch.config.dynamic_shared_bytes),
        Special::TotalShared => uniform(launch.own_shared_bytes as u32),
    }
}

/// `%tid` of a warp's threads along an axis.
fn thread_indices([x, y, _]: [u32; 3], warp: u32, axis: u8) -> Row32 {
    let first = 32 * warp;
    let mut thread = [first % x, first / x % y, first / x / y];
    std::array::from_fn(|_| {
        let index = thread[usize::from(axis)];
        thread[0] += 1;
        if thread[0] == x {
            thread = [0, thread[1] + 1, thread[2]];
        }
        if thread[1] == y {
            thread = [0, 0, thread[2] + 1];
        }
        index
    })
}

/// As many as an H200 has.
const MULTIPROCESSORS: u32 = 132;
