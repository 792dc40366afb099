//! Scopes, variables and arrays as the protocol shows them.

use crate::debuggee::{Container, Debuggee};
use crate::element::{Element, Number};
use crate::expression::Term;
use crate::lane::LaneId;
use ptx_emulator::Access;
use ptx_emulator::replay::Word;
use serde_json::{Value, json};

/// The most elements of an array in one answer.
const MOST: u64 = 4096;

impl Debuggee {
    /// The scopes of a lane in one of its calls.
    pub(crate) fn scopes(&mut self, at: LaneId, call: usize) -> Value {
        let scopes = [
            ("Registers", Container::Registers(at, call), false),
            ("Parameters", Container::Parameters, false),
            ("Shared memory", Container::Shared(at.block), false),
            ("Global memory", Container::Global, true),
            ("Last step", Container::Step, false),
        ];
        let scopes = scopes.map(|(name, container, expensive)| {
            json!({
                "name": name,
                "variablesReference": self.refer(container),
                "expensive": expensive,
            })
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
        let container = self.container(reference);
        let container = container.ok_or("the reference is of an earlier moment")?;
        let variables = match container {
            Container::Registers(LaneId { block, warp, lane }, call) => {
                let registers = self.replay.registers(block, warp, lane, call).into_iter();
                let shown = registers
                    .map(|register| variable(&register.name, bits(register.bits, register.value)));
                shown.collect()
            }
            Container::Parameters => self.parameters(),
            Container::Shared(block) => self.arrays(true, block),
            Container::Global => self.arrays(false, 0),
            Container::Array(array, block) => {
                self.elements(array, block, start, count.unwrap_or(MOST))
            }
            Container::Step => self.touched(),
        };
        Ok(json!({ "variables": variables }))
    }

    /// The value of an expression for a lane: a name, a number, an element, or a whole array.
    pub(crate) fn evaluate(&mut self, text: &str, at: LaneId) -> Result<Value, String> {
        let term = Term::parse(text)?;
        if let Term::Name(name) = &term
            && let Some(number) = self
                .names
                .arrays
                .iter()
                .position(|named| named.name == *name)
        {
            let mut array = self.array(number, at.block);
            array["result"] = array["value"].take();
            return Ok(array);
        }
        let value = term.value(&self.scope(at));
        let value = value.ok_or_else(|| format!("`{}` has no value here", text.trim()))?;
        Ok(json!({ "result": text_of(value), "variablesReference": 0 }))
    }

    /// The bytes that an expression names, for a data breakpoint.
    pub(crate) fn word(&self, text: &str, at: LaneId) -> Result<Word, String> {
        let Term::Index(name, index) = Term::parse(text)? else {
            return Err(format!("`{text}` is no element of an array: `name[index]`"));
        };
        let array = self
            .names
            .array(&name)
            .ok_or_else(|| format!("there is no array `{name}`"))?;
        let index = match index.value(&self.scope(at)) {
            Some(Number::Integer(index)) => u64::try_from(index).ok(),
            _ => None,
        };
        let index = index.filter(|&index| index < array.len());
        let index = index.ok_or_else(|| format!("`{name}` has {} elements", array.len()))?;
        let size = array.element.size();
        Ok(Word {
            block: array.is_shared().then_some(at.block),
            address: array.array.address + index * u64::from(size),
            size,
        })
    }

    /// The expression that names a child of a reference, and the block that it is in.
    pub(crate) fn path(&self, reference: i64, name: &str) -> Option<(String, u64)> {
        match self.container(reference)? {
            Container::Array(array, block) => {
                let array = &self.names.arrays.get(array)?.name;
                Some((format!("{array}{name}"), block))
            }
            _ => None,
        }
    }

    fn container(&self, reference: i64) -> Option<Container> {
        let at = usize::try_from(reference.checked_sub(1)?).ok()?;
        self.containers.get(at).copied()
    }

    fn refer(&mut self, container: Container) -> i64 {
        self.containers.push(container);
        self.containers.len() as i64
    }

    fn parameters(&self) -> Vec<Value> {
        let parameters = self.names.parameters.iter();
        let shown = parameters.map(|parameter| {
            let size = parameter.bytes.len() as u32;
            let value = match (size, parameter.element) {
                (_, Some(element)) if element.size() == size => {
                    text_of(element.value(&parameter.bytes))
                }
                (1..=8, _) => text_of(Element::Unsigned(size).value(&parameter.bytes)),
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
            .map(|number| self.array(number, block))
            .collect()
    }

    fn array(&mut self, number: usize, block: u64) -> Value {
        let reference = self.refer(Container::Array(number, block));
        let named = &self.names.arrays[number];
        json!({
            "name": named.name,
            "value": format!("[{}; {}]", named.element, named.len()),
            "type": format!("[{}; {}]", named.element, named.len()),
            "variablesReference": reference,
            "indexedVariables": named.len(),
            "memoryReference": format!("{:#x}", named.array.address),
        })
    }

    fn elements(&self, number: usize, block: u64, start: u64, count: u64) -> Vec<Value> {
        let named = &self.names.arrays[number];
        let end = start.saturating_add(count.min(MOST)).min(named.len());
        let elements = (start..end).map(|index| {
            let value = named.read(&self.replay, block, index);
            let value = value.map(|bytes| text_of(named.element.value(&bytes)));
            let mut element = variable(
                &format!("[{index}]"),
                value.unwrap_or_else(|| "gone".to_owned()),
            );
            element["evaluateName"] = format!("{}[{index}]", named.name).into();
            element
        });
        elements.collect()
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

fn variable(name: &str, value: String) -> Value {
    json!({ "name": name, "value": value, "evaluateName": name, "variablesReference": 0 })
}

/// A value as text; an integer also in hexadecimal.
fn text_of(value: Number) -> String {
    match value {
        Number::Integer(value) if value > 9 => format!("{value} ({value:#x})"),
        value => value.to_string(),
    }
}

/// The possible interpretations of a register's bits.
fn bits(width: u32, value: u64) -> String {
    let number = text_of(Number::Integer(value.into()));
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
