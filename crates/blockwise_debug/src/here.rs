//! Names as a frame sees them: the source's variables, parameters, arrays, registers.

use crate::debuggee::Debuggee;
use crate::dwarf::{Bytes, Dwarf, Shape, Storage, Type, Variable};
use crate::element::{Element, Evaluated};
use crate::expression::{Part, Place, Scope, written};
use crate::lane::{LaneId, StackFrame, identity};
use crate::names::table;
use crate::threads;
use ptx_emulator::replay::{Register, Replay};
use std::cell::OnceCell;
use std::collections::HashMap;

/// Names as a frame sees them at the current step.
pub(crate) struct Here<'a> {
    pub(crate) debuggee: &'a Debuggee,
    pub(crate) frame: StackFrame,
    /// The frame's registers, read when one is first asked for: unoptimised code has thousands.
    registers: OnceCell<Vec<Register>>,
}

impl Debuggee {
    /// The current meaning of names in a frame.
    pub(crate) fn scope(&self, frame: StackFrame) -> Here<'_> {
        Here {
            debuggee: self,
            frame,
            registers: OnceCell::new(),
        }
    }

    /// The current meaning of names for a lane.
    pub(crate) fn scope_of(&self, lane: LaneId) -> Here<'_> {
        let ended = StackFrame {
            lane,
            call: 0,
            pc: u32::MAX,
            inner: 0,
        };
        self.scope(threads::top(self, lane).unwrap_or(ended))
    }
}

impl Here<'_> {
    pub(crate) fn lane(&self) -> LaneId {
        self.frame.lane
    }

    /// The variables of the frame, by the source. Those that are optimised out in a closure have the
    /// bytes of the variable that it captured.
    pub(crate) fn locals(&self) -> Vec<Variable> {
        let mut locals = self.variables_of(self.frame.inner);
        let frames = self.debuggee.lines.frames(self.frame.pc).len();
        for inner in self.frame.inner + 1..frames {
            let outer = self.variables_of(inner).into_iter();
            let mut outer: HashMap<String, Variable> = outer
                .map(|variable| (variable.name.clone(), variable))
                .collect();
            for local in &mut locals {
                let captured = outer.remove(&local.name).filter(is_there);
                if let Some(captured) = captured.filter(|it| self.is_better(it, local)) {
                    *local = captured;
                }
            }
        }
        locals
    }

    fn variables_of(&self, inner: usize) -> Vec<Variable> {
        let Debuggee { lines, dwarf, .. } = self.debuggee;
        let StackFrame { pc, .. } = self.frame;
        let Some((frame, dwarf)) = lines.frames(pc).get(inner).zip(dwarf.as_ref().ok()) else {
            return Vec::new();
        };
        // Where a function begins, LLVM writes its line and no column.
        let innermost = lines.table(pc).last();
        let places = Places {
            here: self,
            is_set_up: innermost.is_some_and(|at| at.column > 0),
        };
        dwarf.variables(lines.ptx_line(pc), lines.table(pc), frame.depth, &places)
    }

    fn register(&self, name: &str) -> Option<&Register> {
        let registers = self.registers.get_or_init(|| {
            let LaneId { block, warp, lane } = self.frame.lane;
            let replay = &self.debuggee.replay;
            replay.registers(block, warp, lane, self.frame.call)
        });
        registers.iter().find(|register| register.name == name)
    }

    /// A variable of the frame, or of one that it is inlined into: closures use these.
    pub(crate) fn variable(&self, name: &str) -> Option<Variable> {
        let frames = self.debuggee.lines.frames(self.frame.pc).len();
        let mut found = (self.frame.inner..frames).filter_map(|inner| {
            let variables = self.variables_of(inner).into_iter();
            variables.rev().find(|variable| variable.name == name)
        });
        let first = found.next()?;
        // A closure's copy may be optimised out where the variable itself is not.
        let better = found.find(|outer| is_there(outer) && self.is_better(outer, &first));
        Some(better.unwrap_or(first))
    }

    /// Whether a variable says more than the closure's copy of it: that is optimised out, or a slice
    /// that rustc describes as its first element.
    fn is_better(&self, outer: &Variable, copy: &Variable) -> bool {
        let dwarf = self.debuggee.dwarf.as_ref().ok();
        let is_element = |dwarf: &Dwarf| matches!(dwarf.shape(outer.ty), Shape::Slice(element) if element == copy.ty);
        !is_there(copy) || dwarf.is_some_and(is_element)
    }

    /// The number of the shared array that a variable stands for: one of the types by which safe
    /// kernels follow the state of an array.
    pub(crate) fn array_of(&self, variable: &Variable) -> Option<usize> {
        let Debuggee { names, dwarf, .. } = self.debuggee;
        let shared = || {
            names
                .arrays
                .iter()
                .enumerate()
                .filter(|(_, named)| named.is_shared())
        };
        let name = dwarf.as_ref().ok()?.type_name(variable.ty);
        let states = ["Shared<", "Written<", "Published<", "Refill<", "Slots<"];
        if !states.iter().any(|state| name.starts_with(state)) {
            return None;
        }
        let mut named = shared().filter(|(_, named)| named.name == variable.name);
        if let Some((number, _)) = named.next() {
            return Some(number);
        }
        // By the type, if no other array has it.
        let dwarf = dwarf.as_ref().ok()?;
        let argument = dwarf.argument(variable.ty).and_then(|ty| table(dwarf, ty));
        let mut fit = shared().filter(|(_, named)| {
            let argument = argument.as_ref();
            argument.is_some_and(|(element, extents)| {
                *element == named.element && *extents == named.extents
            })
        });
        match (fit.next(), fit.next()) {
            (Some((number, _)), None) => Some(number),
            _ => {
                let mut all = shared();
                all.next()
                    .filter(|_| all.next().is_none())
                    .map(|(number, _)| number)
            }
        }
    }

    /// The number of the array that a name stands for.
    pub(crate) fn array(&self, name: &str) -> Option<usize> {
        let state = self
            .variable(name)
            .and_then(|variable| self.array_of(&variable));
        let arrays = &self.debuggee.names.arrays;
        state.or_else(|| arrays.iter().position(|named| named.name == name))
    }

    /// The shared array, and the number of its element, that an expression names.
    pub(crate) fn shared_element(
        &self,
        place: &Place,
        parts: &[Part<i128>],
    ) -> Option<(usize, u64)> {
        let number = self.array(&place.name)?;
        let named = &self.debuggee.names.arrays[number];
        let indices = parts.iter().map(|part| match part {
            Part::Index(index) => Some(*index),
            Part::Field(_) | Part::Len => None,
        });
        let indices = indices.collect::<Option<Vec<i128>>>()?;
        let is_element = named.is_shared() && !indices.is_empty();
        let at = named.element_at(&indices).ok().filter(|_| is_element)?;
        Some((number, at))
    }

    /// A kernel's parameter as it was passed, where the variable itself is optimised out.
    pub(crate) fn passed(&self, variable: &Variable) -> Option<Bytes> {
        let Debuggee { names, dwarf, .. } = self.debuggee;
        let is_gone = variable.bytes.iter().all(Option::is_none);
        let parameter = names
            .parameters
            .iter()
            .find(|it| it.name == variable.name)?;
        let size = dwarf.as_ref().ok()?.size(variable.ty);
        let fits = is_gone && size == parameter.bytes.len() as u64;
        fits.then(|| parameter.bytes.iter().copied().map(Some).collect())
    }

    /// Bytes of memory at a generic address.
    pub(crate) fn memory(&self, address: u64, size: u64) -> Option<Bytes> {
        let bytes = self.bytes(address, size)?;
        Some(bytes.into_iter().map(Some).collect())
    }

    fn bytes(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(size).ok().filter(|&size| size <= 1 << 16)?];
        let LaneId { block, warp, lane } = self.lane();
        let replay = &self.debuggee.replay;
        let read = replay.read_for((block, warp, lane), address, &mut bytes);
        read.then_some(bytes)
    }

    /// A part of a variable of the source: its type and its bytes. `None` if no variable has the
    /// name.
    pub(crate) fn source(
        &self,
        name: &str,
        parts: &[Part<i128>],
    ) -> Option<Result<(Type, Bytes), String>> {
        let variable = self.variable(name)?;
        // A shared array is shown by its elements, not by what a thread holds of it.
        if self.array_of(&variable).is_some() {
            return None;
        }
        Some(self.part_of(name, variable, parts))
    }

    fn part_of(
        &self,
        name: &str,
        variable: Variable,
        parts: &[Part<i128>],
    ) -> Result<(Type, Bytes), String> {
        let Ok(dwarf) = &self.debuggee.dwarf else {
            return Err(format!("`{name}` has no type"));
        };
        let (mut ty, mut bytes) = (variable.ty, variable.bytes);
        for (at, part) in parts.iter().enumerate() {
            let so_far = || written(name, &parts[..at]);
            let unreadable = |address: u64| {
                format!(
                    "`{}` refers to {address:#x}, where no memory is known",
                    so_far()
                )
            };
            // A reference is followed as Rust does.
            while let Shape::Pointer(Some(_)) = dwarf.shape(ty)
                && let Some((address, _, to)) = dwarf.target(ty, &bytes)
            {
                let read = self.memory(address, dwarf.size(to));
                (ty, bytes) = (to, read.ok_or_else(|| unreadable(address))?);
            }
            let gone = bytes.iter().all(Option::is_none) && !bytes.is_empty();
            if gone {
                return Err(format!("`{}` {GONE}", so_far()));
            }
            let next = match (part, dwarf.shape(ty)) {
                (Part::Index(index), Shape::Slice(_)) => {
                    let (address, length, element) = dwarf
                        .target(ty, &bytes)
                        .ok_or_else(|| format!("`{}` {GONE}", so_far()))?;
                    let at = u64::try_from(*index).ok().filter(|&at| at < length);
                    let at = at.ok_or_else(|| format!("`{}` has {length} elements", so_far()))?;
                    let size = dwarf.size(element);
                    let address = address.wrapping_add(at.wrapping_mul(size));
                    let read = self.memory(address, size);
                    Some((element, read.ok_or_else(|| unreadable(address))?))
                }
                (Part::Index(index), Shape::Array(_, length)) => {
                    let parts = dwarf.parts(ty, &bytes).into_iter();
                    let at = usize::try_from(*index).ok();
                    let mut parts = parts.skip(at.unwrap_or(usize::MAX));
                    let element = parts.next().map(|(_, ty, bytes)| (ty, bytes));
                    Some(element.ok_or_else(|| format!("`{}` has {length} elements", so_far()))?)
                }
                (Part::Field(field), _) => {
                    let mut parts = dwarf.parts(ty, &bytes).into_iter();
                    let found = parts.find(|(name, ..)| name == field);
                    found.map(|(_, ty, bytes)| (ty, bytes))
                }
                _ => None,
            };
            (ty, bytes) = next.ok_or_else(|| {
                let has = written("", std::slice::from_ref(part));
                format!(
                    "`{}`, a `{}`, has no `{has}`",
                    so_far(),
                    dwarf.type_name(ty)
                )
            })?;
        }
        Ok((ty, bytes))
    }

    fn source_value(&self, name: &str, parts: &[Part<i128>]) -> Option<Result<Evaluated, String>> {
        let dwarf = self.debuggee.dwarf.as_ref().ok()?;
        if let [before @ .., Part::Len] = parts {
            let (ty, bytes) = match self.source(name, before)? {
                Ok(found) => found,
                Err(problem) => return Some(Err(problem)),
            };
            let length = match dwarf.shape(ty) {
                Shape::Array(_, length) => Some(length),
                _ => dwarf.target(ty, &bytes).map(|(_, length, _)| length),
            };
            let length = length.map(|length| Evaluated::Integer(length.into()));
            let path = written(name, parts);
            return Some(length.ok_or_else(|| format!("`{path}` {GONE}")));
        }
        let (ty, bytes) = match self.source(name, parts)? {
            Ok(found) => found,
            Err(problem) => return Some(Err(problem)),
        };
        let path = written(name, parts);
        if !bytes.is_empty() && bytes.iter().any(Option::is_none) {
            return Some(Err(format!("`{path}` {GONE}")));
        }
        let value = dwarf.evaluated(ty, &bytes);
        Some(value.ok_or_else(|| format!("`{path}` is a `{}`, no number", dwarf.type_name(ty))))
    }
}

/// What a variable without a value is.
const GONE: &str = "is optimised out here";
/// The build that has it.
const KEPT: &str = "; a launch with `\"build\": \"locals\"` keeps it";

/// Whether any byte of a variable is known.
fn is_there(variable: &Variable) -> bool {
    variable.bytes.iter().any(Option::is_some)
}

/// What the variables of a frame are kept in.
struct Places<'a> {
    here: &'a Here<'a>,
    /// The function has written its parameters to its frame.
    is_set_up: bool,
}

/// A function's frame in local memory is a variable of this name and a number.
const FRAME: &str = "__local_depot";
/// The register with its address.
const FRAME_START: &str = "%SPL";

impl Storage for Places<'_> {
    fn register(&self, name: &str) -> Option<u64> {
        let is_written = self.here.debuggee.replay.at() > 0;
        (self.here.register(name))
            .filter(|_| is_written)
            .map(|register| register.value)
    }

    fn symbol(&self, name: &str, offset: u64, size: u64) -> Option<Vec<u8>> {
        let Debuggee { replay, names, .. } = self.here.debuggee;
        if name.starts_with(FRAME) {
            let start = self.register(FRAME_START).filter(|_| self.is_set_up)?;
            let at = start.checked_add(offset)?;
            return self.memory(Replay::local_address(at), size);
        }
        let named = names
            .arrays
            .iter()
            .find(|named| named.array.symbol == name)?;
        let address = named.array.address.checked_add(offset)?;
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        let read = match named.is_shared() {
            true => replay.read_shared(self.here.frame.lane.block, address, &mut bytes),
            false => replay.read(address, &mut bytes).is_ok(),
        };
        read.then_some(bytes)
    }

    fn memory(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        self.here.bytes(address, size)
    }
}

impl Here<'_> {
    /// What to ask for in place of an element of an array that is optimised out: the shared arrays
    /// of the kernel have names of their own.
    pub(crate) fn instead(&self, parts: &[Part<i128>]) -> String {
        let arrays = self.debuggee.names.arrays.iter();
        let shared = arrays.filter(|named| named.is_shared());
        let place = written("", parts);
        let names: Vec<_> = shared
            .map(|named| format!("`{}{place}`", named.name))
            .collect();
        match (parts, &names[..]) {
            ([Part::Index(_), ..], [first, others @ ..]) => {
                let others: String = others.iter().map(|name| format!(" or {name}")).collect();
                format!("; a shared array's element is {first}{others}")
            }
            _ => String::new(),
        }
    }
}

impl Scope for Here<'_> {
    fn value(&self, name: &str, parts: &[Part<i128>]) -> Result<Evaluated, String> {
        let Debuggee { replay, names, .. } = self.debuggee;
        let path = written(name, parts);
        let source = self.source_value(name, parts);
        if let Some(Ok(value)) = source {
            return Ok(value);
        }
        if let Some(value) = identity(replay, self.lane(), &path) {
            return Ok(value);
        }
        if path == "step" {
            return Ok(Evaluated::Integer(replay.at().into()));
        }
        if let Some(parameter) = names.parameters.iter().find(|known| known.name == path) {
            let size = parameter.bytes.len() as u32;
            let element = parameter.element.filter(|element| element.size() == size);
            let element = element.unwrap_or(Element::Unsigned(size));
            return Ok(element.value(&parameter.bytes));
        }
        if let Some(array) = self.array(name).map(|number| &names.arrays[number]) {
            let indices = parts.iter().map(|part| match part {
                Part::Index(index) => Some(*index),
                Part::Field(_) | Part::Len => None,
            });
            return match (parts, indices.collect::<Option<Vec<i128>>>()) {
                ([Part::Len], _) => Ok(Evaluated::Integer(array.extents[0].into())),
                (_, Some(indices)) if !indices.is_empty() => {
                    let at = array.element_at(&indices);
                    let at = at.map_err(|why| format!("there is no `{path}`: {why}"))?;
                    let bytes = array.read(replay, self.lane().block, at);
                    let bytes =
                        bytes.ok_or_else(|| format!("`{path}` is gone: its block has ended"))?;
                    Ok(array.element.value(&bytes))
                }
                _ => Err(format!(
                    "`{path}` is no number: `{name}` is {}",
                    array.type_from(0)
                )),
            };
        }
        let is_register = name.starts_with('%') && parts.is_empty();
        if let Some(register) = is_register.then(|| self.register(name)).flatten() {
            return Ok(match register.bits {
                1 => Evaluated::Bool(register.value != 0),
                _ => Evaluated::Integer(register.value.into()),
            });
        }
        let instead = self.instead(parts);
        match (source, &self.debuggee.dwarf) {
            (Some(Err(problem)), _) if problem.ends_with(GONE) && instead.is_empty() => {
                Err(problem + KEPT)
            }
            (Some(Err(problem)), _) => Err(problem + &instead),
            (_, Err(none)) => Err(format!("there is no `{path}` here{instead}; {none}")),
            _ => Err(format!("there is no `{path}` here{instead}")),
        }
    }
}
