//! Calls of the program's functions, in frames of the warp's stack, and of driver functions.

use super::{MAX_STACK_ROWS, Warp, WarpContext};
use crate::decode::op::{Call, Callee, Op, Slot};
use crate::exec::frame::lanes;
use crate::exec::observe::Observer;
use crate::exec::raise::{Checked, raise};
use crate::exec::split::{Base, Split};
use crate::exec::system;
use crate::fault::FaultKind;
use crate::memory::FUNCTION_BASE;

impl Warp {
    /// Calls a function; lanes that call different functions diverge.
    pub(super) fn call<O: Observer + ?Sized>(
        &mut self,
        split: Split,
        around: &mut WarpContext<'_, '_, O>,
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
                raise(
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
            let same = |a: &[Slot], b: &[Slot]| {
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
        around: &mut WarpContext<'_, '_, O>,
    ) -> Checked<()> {
        let launch = around.launch;
        let caller = &launch.program.functions[split.base.function as usize];
        let callee = &launch.program.functions[index as usize];
        let first = split.mask.trailing_zeros() as usize;
        let Some(start) = callee.start else {
            return self.call_system(split, call, index, around);
        };
        let depth = split.stack.len() as u32 + 1;
        let overflow = |limit: String| Err(raise(first, FaultKind::StackOverflow { depth, limit }));
        let base = split.base.next(caller, (index, callee));
        if base.stack > launch.stack_bytes {
            return overflow(format!("{} bytes of stack", launch.stack_bytes));
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

    /// Calls a driver function, lane by lane.
    fn call_system<O: Observer + ?Sized>(
        &mut self,
        mut split: Split,
        call: &Call,
        index: u32,
        around: &mut WarpContext<'_, '_, O>,
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
            let result = result.map_err(|kind| raise(lane, kind))?;
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

    pub(super) fn copy_returns<O: Observer + ?Sized>(
        &mut self,
        around: &mut WarpContext<'_, '_, O>,
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
        around: &mut WarpContext<'_, '_, O>,
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
}
