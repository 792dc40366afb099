//! A turn of a warp: which split runs, what ends its run, and what follows.

use super::{QUANTUM, RaisedAt, SPIN_QUANTUM, TurnEnd, Warp, WarpContext};
use crate::decode::op::Op;
use crate::exec::frame::Frame;
use crate::exec::memory::Memory;
use crate::exec::observe::{Observer, Turn};
use crate::exec::raise::Checked;
use crate::exec::rounds::Rounds;
use crate::exec::run::{Cursor, Event, Running};
use crate::exec::simd;
use crate::exec::split::{Base, Split, State};

impl Warp {
    /// Runs until all lanes wait or the turn is over.
    pub(in crate::exec) fn run<O: Observer + ?Sized>(
        &mut self,
        around: &mut WarpContext<'_, '_, O>,
    ) -> Result<TurnEnd, RaisedAt> {
        loop {
            let (mut split, mut cursor) = match self.paused.take() {
                Some(paused) => paused,
                None => {
                    let Some(split) = self.choose(around) else {
                        return Ok(TurnEnd::Stopped);
                    };
                    let cursor = self.begin(&split, around);
                    (split, cursor)
                }
            };
            let event = self.run_split(&split, &mut cursor, around);
            around.warp_instructions += std::mem::take(&mut cursor.warp_instructions);
            around.lane_instructions += std::mem::take(&mut cursor.lane_instructions);
            if matches!(event, Event::Pause) {
                self.paused = Some((split, cursor));
                return Ok(TurnEnd::Paused);
            }
            split.pc = cursor.pc;
            self.account(&split, &cursor);
            let quantum_ended = matches!(event, Event::QuantumEnd);
            self.fair = false;
            let at = cursor.pc;
            self.handle(split, event, around)
                .map_err(|raised| RaisedAt { raised, pc: at })?;
            if quantum_ended || self.quantum == 0 || around.schedule.is_some() {
                self.quantum = QUANTUM;
                self.spin = cursor.last_loop.or(self.spin);
                self.fair = true;
                // Lanes that wait for each other may all have arrived while an unrelated lane
                // spins.
                self.release_members(around);
                return Ok(TurnEnd::QuantumEnd);
            }
        }
    }

    /// Removes and returns the split to run next.
    fn choose<O: Observer + ?Sized>(
        &mut self,
        around: &mut WarpContext<'_, '_, O>,
    ) -> Option<Split> {
        loop {
            let mut runnable = self
                .splits
                .iter()
                .enumerate()
                .filter(|(_, split)| split.is_runnable());
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

    /// The description of these lanes for observers.
    pub(super) fn turn<O: ?Sized>(&self, around: &WarpContext<'_, '_, O>, base: Base) -> Turn {
        Turn {
            slot: around.slot,
            warp: self.index,
            base,
            live: self.live,
        }
    }

    /// The cursor of a split's turn, with its limits.
    fn begin<O: ?Sized>(&self, split: &Split, around: &mut WarpContext<'_, '_, O>) -> Cursor {
        // Splits in another call never merge with this one: stopping for them would only make both
        // yield to each other for ever.
        let others = self.splits.iter().filter(|other| {
            !self.fair && other.state == State::Runnable && other.is_in_call_of(split)
        });
        let mut switch_at = others.map(|other| other.pc).min().unwrap_or(u32::MAX);
        let spins = self
            .spin
            .is_some_and(|(head, tail)| (head..=tail).contains(&split.pc));
        let mut granted = if spins {
            self.quantum.min(SPIN_QUANTUM)
        } else {
            self.quantum
        };
        if let Some(schedule) = &mut around.schedule {
            switch_at = split.pc.saturating_add(schedule.stretch());
            let code = &around.launch.program.code;
            let mut ahead = (split.pc..switch_at).take_while(|&pc| (pc as usize) < code.len());
            let atomic = ahead.find(|&pc| matches!(code[pc as usize].op, Op::Atomic(_)));
            if let Some(pc) = atomic.filter(|_| schedule.ends_between()) {
                switch_at = pc + 1;
            }
            granted = granted.min(schedule.loops());
        }
        Cursor {
            pc: split.pc,
            mask: split.mask,
            switch_at,
            quantum: granted,
            granted,
            budget: 0,
            last_loop: None,
            span: (u32::MAX, 0),
            clock: around.clock + around.warp_instructions,
            warp_instructions: 0,
            lane_instructions: 0,
        }
    }

    fn run_split<O: Observer + ?Sized>(
        &mut self,
        split: &Split,
        cursor: &mut Cursor,
        around: &mut WarpContext<'_, '_, O>,
    ) -> Event {
        let launch = around.launch;
        let turn = self.turn(around, split.base);
        around.observer.turn(&turn);
        cursor.budget = *around.budget;
        let Base {
            function,
            w32,
            w64,
            predicates,
            local,
            ..
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
            changed: &mut around.activity.changed,
            alone: launch.alone,
            shared: around.shared,
            shared_bytes: launch.shared_bytes,
            peers: around.peers.iter_mut().map(|peer| &mut **peer).collect(),
            rank: around.rank,
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
        let event = run(Running {
            program: launch.program,
            turn: &turn,
            cursor,
            frame: &mut frame,
            memory: &mut memory,
            observer: around.observer,
        });
        *around.budget = cursor.budget;
        event
    }

    /// Counts the backward branches of a turn that ended.
    fn account(&mut self, split: &Split, cursor: &Cursor) {
        let rounds = cursor.granted - cursor.quantum;
        self.quantum -= rounds;
        if cursor.last_loop.is_some() {
            let (head, tail) = cursor.span;
            self.loops.add(Rounds {
                body: head..=tail,
                depth: split.stack.len(),
                // Even without a quantum, one branch is taken.
                count: u64::from(rounds).max(1),
            });
        }
    }

    fn handle<O: Observer + ?Sized>(
        &mut self,
        split: Split,
        event: Event,
        around: &mut WarpContext<'_, '_, O>,
    ) -> Checked<()> {
        match event {
            Event::Switch | Event::QuantumEnd => self.push(split),
            Event::Scatter(places) => {
                for (pc, mask) in places {
                    self.push(Split {
                        pc,
                        mask,
                        ..split.clone()
                    });
                }
            }
            Event::Exit(mask) => self.exit(split, mask, around),
            Event::Return(mask) if split.stack.is_empty() => self.exit(split, mask, around),
            Event::Return(mask) => {
                let mut split = self.leave_others(split, mask);
                if let Some((base, pc)) = split.stack.pop() {
                    self.copy_returns(around, split.base, base, pc, mask);
                    self.push(Split { pc, base, ..split });
                }
            }
            Event::Call(mask) => {
                let split = self.leave_others(split, mask);
                self.quantum = self.quantum.saturating_sub(1);
                self.call(split, around)?;
            }
            Event::Barrier(mask) => {
                let split = self.leave_others(split, mask);
                self.arrive(split, around)?;
            }
            Event::Wait(mask) => {
                let split = self.leave_others(split, mask);
                self.push(Split {
                    state: State::Members,
                    ..split
                });
            }
            Event::Part(mask) => {
                self.push(Split {
                    mask: split.mask & !mask,
                    ..split.clone()
                });
                self.push(Split {
                    mask,
                    state: State::Members,
                    ..split
                });
            }
            Event::Fault(raised) => return Err(raised),
            // Its turn has not ended.
            Event::Pause => {}
        }
        Ok(())
    }
}
