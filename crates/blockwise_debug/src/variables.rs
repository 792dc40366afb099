//! Scopes, variables and arrays as the protocol shows them.

use crate::debuggee::{Container, Debuggee};
use crate::dwarf::{Bytes, Shape, Type, Variable};
use crate::element::{Element, Evaluated};
use crate::expression::{Expression, Part, written};
use crate::lane::LaneId;
use crate::lane::StackFrame;
use ptx_emulator::Access;
use ptx_emulator::replay::Word;
use serde_json::{Value, json};

/// The most elements of an array in one answer, and the bytes that they take.
const MOST: u64 = 4096;
const MOST_BYTES: u64 = 1 << 20;
/// Bytes of values whose parts can be asked for, until the next stop.
const MOST_HELD: usize = 1 << 23;

impl Debuggee {
    /// The scopes of a frame.
    pub(crate) fn scopes(&mut self, frame: StackFrame) -> Value {
        let at = frame.lane;
        let scopes = [
            ("Locals", Container::Locals(frame), false),
            ("Parameters", Container::Parameters, false),
            ("Shared memory", Container::Shared(at.block), false),
            ("Global memory", Container::Global, true),
            ("Registers", Container::Registers(at, frame.call), true),
            ("Last step", Container::Step, false),
        ];
        let scopes = scopes.map(|(name, container, expensive)| {
            let mut scope = json!({
                "name": name,
                "variablesReference": self.refer(container),
                "expensive": expensive,
            });
            match name {
                "Locals" => scope["presentationHint"] = "locals".into(),
                "Registers" => scope["presentationHint"] = "registers".into(),
                _ => {}
            }
            scope
        });
        json!({ "scopes": scopes })
    }

    /// The variables of a reference: for an array, `count` elements from `start`.
    pub(crate) fn variables(
        &mut self,
        reference: i64,
        start: u64,
        count: Option<u64>,
    ) -> Result<Value, String> {
        let container = self.container(reference).cloned();
        let container = container.ok_or("the reference is of an earlier moment")?;
        let count = count.unwrap_or(MOST);
        let variables = match container {
            Container::Registers(LaneId { block, warp, lane }, call) => {
                let registers = self.replay.registers(block, warp, lane, call).into_iter();
                let shown = registers
                    .map(|register| variable(&register.name, bits(register.bits, register.value)));
                shown.collect()
            }
            Container::Locals(frame) => self.locals(frame),
            Container::Value(path, ty, bytes) => self.parts(&path, ty, &bytes, start, count),
            Container::Parameters => self.parameters(),
            Container::Shared(block) => self.arrays(true, block),
            Container::Global => self.arrays(false, 0),
            Container::Array(array, block, row) => self.elements(array, block, &row, start, count),
            Container::Step => self.touched(),
        };
        Ok(json!({ "variables": variables }))
    }

    /// The value of an expression in a frame: a number, or something with parts.
    pub(crate) fn evaluate(&mut self, text: &str, frame: StackFrame) -> Result<Value, String> {
        let expression = Expression::parse(text)?;
        if let Expression::Place(place) = &expression {
            let here = self.scope(frame);
            let parts = place.parts(&here)?;
            if let Some(Ok((ty, bytes))) = here.source(&place.name, &parts)
                && let Ok(dwarf) = &self.dwarf
                // A variant and a character are read as words.
                && (dwarf.evaluated(ty, &bytes).is_none()
                    || matches!(dwarf.shape(ty), Shape::Named(_) | Shape::Char))
                && bytes.iter().any(Option::is_some)
            {
                return Ok(result(self.value_of(
                    &written(&place.name, &parts),
                    "",
                    ty,
                    bytes,
                )));
            }
            let indices = parts.iter().map(|part| match part {
                Part::Index(index) => u64::try_from(*index).ok(),
                Part::Field(_) | Part::Len => None,
            });
            if let Some((number, row)) = here
                .array(&place.name)
                .zip(indices.collect::<Option<Vec<u64>>>())
                && let extents = &self.names.arrays[number].extents
                && (row.len() < extents.len())
                && row
                    .iter()
                    .zip(extents)
                    .all(|(index, extent)| index < extent)
            {
                return Ok(result(self.array(number, frame.lane.block, row)));
            }
            if let Some((number, at)) = here.shared_element(place, &parts) {
                let block = frame.lane.block;
                self.written.look(&mut self.replay, block);
                let ty = self.names.arrays[number].element.to_string();
                if let Some(value) = self.element(number, block, at) {
                    return Ok(json!({ "result": value, "type": ty, "variablesReference": 0 }));
                }
            }
        }
        let value = expression.value(&self.scope(frame))?;
        let ty = value.type_name();
        Ok(json!({ "result": value.text(), "type": ty, "variablesReference": 0 }))
    }

    /// The bytes that an expression names, for a data breakpoint.
    pub(crate) fn word(&self, text: &str, frame: StackFrame) -> Result<Word, String> {
        let none = || format!("`{}` is no element of an array: `name[index]`", text.trim());
        let Expression::Place(place) = Expression::parse(text)? else {
            return Err(none());
        };
        let here = self.scope(frame);
        let array = here
            .array(&place.name)
            .map(|number| &self.names.arrays[number]);
        let parts = place.parts(&here)?;
        let none_there = || {
            let instead = here.instead(&parts);
            format!("there is no array `{}`{instead}", place.name)
        };
        let array = array.ok_or_else(none_there)?;
        let indices = parts.into_iter().map(|part| match part {
            Part::Index(index) => Some(index),
            Part::Field(_) | Part::Len => None,
        });
        let indices: Option<Vec<i128>> = indices.collect();
        let indices = indices
            .filter(|indices| !indices.is_empty())
            .ok_or_else(none)?;
        let index = array.element_at(&indices);
        let index = index.map_err(|why| format!("there is no `{}`: {why}", text.trim()))?;
        let size = array.element.size();
        Ok(Word {
            block: array.is_shared().then_some(frame.lane.block),
            address: array.array.address + index * u64::from(size),
            size,
        })
    }

    /// The expression that names a child of a reference, and the block that it is in.
    pub(crate) fn path(&self, reference: i64, name: &str) -> Option<(String, Option<u64>)> {
        match self.container(reference)? {
            Container::Array(array, block, row) => {
                let array = &self.names.arrays.get(*array)?.name;
                Some((format!("{array}{}{name}", indices(row)), Some(*block)))
            }
            Container::Value(path, ..) => Some((below(path, name), None)),
            _ => None,
        }
    }

    fn container(&self, reference: i64) -> Option<&Container> {
        let at = usize::try_from(reference.checked_sub(1)?).ok()?;
        self.containers.get(at)
    }

    fn refer(&mut self, container: Container) -> i64 {
        self.containers.push(container);
        self.containers.len() as i64
    }

    /// The variables of the source, and the shared arrays that stand for some of them.
    fn locals(&mut self, frame: StackFrame) -> Vec<Value> {
        if let Err(none) = &self.dwarf {
            return vec![json!({ "name": "…", "value": none, "variablesReference": 0 })];
        }
        let here = self.scope(frame);
        let locals = here.locals().into_iter().map(|known| {
            let array = here.array_of(&known).or_else(|| {
                let is_gone = known.bytes.iter().all(Option::is_none);
                let mut arrays = self.names.arrays.iter();
                let array = arrays.position(|named| named.name == known.name);
                array.filter(|_| is_gone)
            });
            let passed = here.passed(&known);
            (known, array, passed)
        });
        let locals: Vec<_> = locals.collect();
        let mut shown = Vec::new();
        for (Variable { name, ty, bytes }, array, passed) in locals {
            shown.push(match (array, passed) {
                (Some(array), _) => {
                    let mut array = self.array(array, frame.lane.block, Vec::new());
                    array["name"] = name.into();
                    array
                }
                (None, Some(passed)) => {
                    let mut passed = self.value_of(&name, &name, ty, passed);
                    let value = passed["value"].as_str().unwrap_or_default();
                    passed["value"] = format!("{value} (as passed)").into();
                    passed
                }
                (None, None) => self.value_of(&name, &name, ty, bytes),
            });
        }
        shown
    }

    /// A value of the source, with its parts.
    fn value_of(&mut self, path: &str, name: &str, ty: Type, bytes: Bytes) -> Value {
        let Ok(dwarf) = &self.dwarf else {
            return variable(name, String::new());
        };
        let mut shown = json!({
            "name": name,
            "value": dwarf.text(ty, &bytes),
            "type": dwarf.type_name(ty),
            "evaluateName": path,
            "variablesReference": 0,
        });
        let indexed = match dwarf.shape(ty) {
            Shape::Array(_, length) => Some(length),
            Shape::Slice(_) => dwarf.target(ty, &bytes).map(|(_, length, _)| length),
            _ => None,
        };
        let has_parts = match dwarf.shape(ty) {
            Shape::Array(..) | Shape::Slice(_) => indexed.is_some_and(|length| length > 0),
            Shape::Pointer(_) => dwarf.target(ty, &bytes).is_some(),
            _ => !dwarf.parts(ty, &bytes).is_empty(),
        };
        if let Some(length) = indexed {
            shown["indexedVariables"] = length.into();
        }
        let held = self.held + bytes.len();
        if has_parts && held <= MOST_HELD && bytes.iter().any(Option::is_some) {
            self.held = held;
            shown["variablesReference"] = self
                .refer(Container::Value(path.to_owned(), ty, bytes))
                .into();
        }
        shown
    }

    fn parts(
        &mut self,
        path: &str,
        ty: Type,
        bytes: &[Option<u8>],
        start: u64,
        count: u64,
    ) -> Vec<Value> {
        let Ok(dwarf) = &self.dwarf else {
            return Vec::new();
        };
        let here = self.scope_of(self.focus);
        let parts: Vec<(String, Type, Option<Bytes>)> = match dwarf.target(ty, bytes) {
            Some((address, length, element)) => {
                let size = dwarf.size(element);
                let end = start.saturating_add(count.min(MOST)).min(length);
                let is_slice = matches!(dwarf.shape(ty), Shape::Slice(_));
                let name = |at: u64| {
                    if is_slice {
                        format!("[{at}]")
                    } else {
                        "*".to_owned()
                    }
                };
                let address = |at: u64| address.wrapping_add(at.wrapping_mul(size));
                let end = end.min(start.saturating_add(MOST_BYTES / size.max(1)));
                let elements = start..end;
                elements
                    .map(|at| (name(at), element, here.memory(address(at), size)))
                    .collect()
            }
            None => {
                let parts = dwarf.parts(ty, bytes).into_iter();
                let is_array = matches!(dwarf.shape(ty), Shape::Array(..));
                let first = if is_array { start } else { 0 };
                let parts = parts.skip(first as usize).take(count.min(MOST) as usize);
                parts
                    .map(|(name, ty, bytes)| (name, ty, Some(bytes)))
                    .collect()
            }
        };
        let shown = parts.into_iter().map(|(name, ty, bytes)| match bytes {
            Some(bytes) => self.value_of(&below(path, &name), &name, ty, bytes),
            None => variable(&name, "no memory of the launch is there".to_owned()),
        });
        shown.collect()
    }

    fn parameters(&self) -> Vec<Value> {
        let parameters = self.names.parameters.iter();
        let shown = parameters.map(|parameter| {
            let size = parameter.bytes.len() as u32;
            let value = match (size, parameter.element) {
                (_, Some(element)) if element.size() == size => {
                    element.value(&parameter.bytes).text()
                }
                (1..=8, _) => Element::Unsigned(size).value(&parameter.bytes).text(),
                _ => format!("{:02x?}", parameter.bytes),
            };
            variable(&parameter.name, value)
        });
        shown.collect()
    }

    fn arrays(&mut self, shared: bool, block: u64) -> Vec<Value> {
        let numbers = 0..self.names.arrays.len();
        let mut wanted: Vec<usize> = numbers.collect();
        wanted.retain(|&number| self.names.arrays[number].is_shared() == shared);
        wanted
            .into_iter()
            .map(|number| self.array(number, block, Vec::new()))
            .collect()
    }

    /// An array, or a row of it.
    fn array(&mut self, number: usize, block: u64, row: Vec<u64>) -> Value {
        let named = &self.names.arrays[number];
        let ty = named.type_from(row.len());
        let name = match row.last() {
            Some(last) => format!("[{last}]"),
            None => named.name.clone(),
        };
        let path = format!("{}{}", named.name, indices(&row));
        let length = named.extents[row.len()];
        let address = row
            .is_empty()
            .then(|| format!("{:#x}", named.array.address));
        let mut shown = json!({
            "name": name,
            "value": ty,
            "type": ty,
            "evaluateName": path,
            "indexedVariables": length,
        });
        if let Some(address) = address {
            shown["memoryReference"] = address.into();
        }
        shown["variablesReference"] = self.refer(Container::Array(number, block, row)).into();
        shown
    }

    fn elements(
        &mut self,
        number: usize,
        block: u64,
        row: &[u64],
        start: u64,
        count: u64,
    ) -> Vec<Value> {
        if self.names.arrays[number].is_shared() {
            self.written.look(&mut self.replay, block);
        }
        let named = &self.names.arrays[number];
        let length = named.extents[row.len()];
        let end = start.saturating_add(count.min(MOST)).min(length);
        let inner = |index: u64| [row, &[index]].concat();
        if row.len() + 1 < named.extents.len() {
            let rows = start..end;
            return rows
                .map(|index| self.array(number, block, inner(index)))
                .collect();
        }
        let elements = (start..end).map(|index| {
            let at: Vec<i128> = inner(index).into_iter().map(i128::from).collect();
            let value = match named.element_at(&at) {
                Ok(at) => self.element(number, block, at),
                Err(_) => None,
            };
            let mut element = variable(
                &format!("[{index}]"),
                value.unwrap_or_else(|| "gone".to_owned()),
            );
            element["evaluateName"] = format!("{}{}", named.name, indices(&inner(index))).into();
            element["type"] = named.element.to_string().into();
            element
        });
        elements.collect()
    }

    /// An element's value as text; `None` if its block has ended.
    fn element(&self, number: usize, block: u64, at: u64) -> Option<String> {
        let named = &self.names.arrays[number];
        let bytes = named.read(&self.replay, block, at)?;
        let size = named.element.size();
        let address = named.array.address + at * u64::from(size);
        Some(
            match named.is_shared() && self.written.lacks(self.replay.at(), block, address, size) {
                true => "never written".to_owned(),
                false => named.element.value(&bytes).text(),
            },
        )
    }

    fn touched(&self) -> Vec<Value> {
        let Some((_, touched)) = self.replay.done() else {
            return Vec::new();
        };
        let lanes = touched
            .iter()
            .flat_map(|touch| touch.lanes.iter().map(move |lane| (touch, lane)));
        let shown = lanes.map(|(touch, lane)| {
            let hex = |bytes: &[u8]| {
                let digits: String = bytes
                    .iter()
                    .rev()
                    .map(|byte| format!("{byte:02x}"))
                    .collect();
                format!("0x{digits}")
            };
            let name = format!("lane {}: {} {:#x}", lane.lane, touch.space, lane.address);
            let value = match touch.access {
                Access::Read => format!("read {}", hex(&lane.before)),
                Access::Write => {
                    format!("wrote {}, before {}", hex(&lane.after), hex(&lane.before))
                }
                Access::Atomic => format!("{} to {}", hex(&lane.before), hex(&lane.after)),
            };
            variable(&name, value)
        });
        shown.collect()
    }
}

/// `[3][4]`
fn indices(row: &[u64]) -> String {
    row.iter().map(|index| format!("[{index}]")).collect()
}

/// The expression of a part of a value.
fn below(path: &str, name: &str) -> String {
    match name {
        // References are followed where they stand.
        "*" => path.to_owned(),
        index if index.starts_with('[') => format!("{path}{index}"),
        field => format!("{path}.{field}"),
    }
}

/// A variable as the answer to `evaluate`.
fn result(mut variable: Value) -> Value {
    if let Some(fields) = variable.as_object_mut() {
        let value = fields.remove("value").unwrap_or_default();
        fields.insert("result".to_owned(), value);
        for unknown in ["name", "evaluateName"] {
            fields.remove(unknown);
        }
    }
    variable
}

fn variable(name: &str, value: String) -> Value {
    json!({ "name": name, "value": value, "evaluateName": name, "variablesReference": 0 })
}

/// The possible interpretations of a register's bits.
fn bits(width: u32, value: u64) -> String {
    let number = Evaluated::Integer(value.into()).text();
    let float = match width {
        1 => return (value != 0).to_string(),
        32 => f64::from(f32::from_bits(value as u32)),
        _ => f64::from_bits(value),
    };
    match float.is_normal() {
        true => format!("{number} or {float:?}"),
        false => number,
    }
}
