//! Matrix elements: their width and encoding.

use super::form::Form;
use super::fp8::Fp8;
use super::op::Element;
use super::rounding::{BF16, F16, NEAREST, canonical};

type Read = fn(u64) -> f64;
type Write = fn(f64) -> u64;

/// Truncates signed integers to their width.
fn integer(value: f64) -> u64 {
    value as i64 as u64
}

/// For types that are operands only, never results.
fn operand(_: f64) -> u64 {
    0
}

const ELEMENTS: [Element; 13] = [
    element(
        "f16",
        16,
        |bits| F16.decode(bits as u32),
        |value| u64::from(F16.encode(value, 0.0, NEAREST)),
    ),
    element(
        "bf16",
        16,
        |bits| BF16.decode(bits as u32),
        |value| u64::from(BF16.encode(value, 0.0, NEAREST)),
    ),
    // The low 13 bits of an operand are ignored.
    element(
        "tf32",
        32,
        |bits| f64::from(f32::from_bits(bits as u32 & !0x1fff)),
        |value| u64::from((value as f32).to_bits()),
    ),
    element(
        "f32",
        32,
        |bits| f64::from(f32::from_bits(bits as u32)),
        |value| u64::from(canonical(value as f32).to_bits()),
    ),
    element("f64", 64, f64::from_bits, f64::to_bits),
    element("s8", 8, |bits| f64::from(bits as i8), integer),
    element("u8", 8, |bits| f64::from(bits as u8), integer),
    element("s32", 32, |bits| f64::from(bits as i32), integer),
    element("e4m3", 8, |bits| Fp8::E4M3.decode(bits as u32), operand),
    element("e5m2", 8, |bits| Fp8::E5M2.decode(bits as u32), operand),
    element("s4", 4, |bits| f64::from((bits as i8) << 4 >> 4), operand),
    element("u4", 4, |bits| f64::from(bits as u8 & 15), operand),
    element("b1", 1, |bits| f64::from(bits as u8 & 1), operand),
];

const fn element(name: &'static str, bits: usize, read: Read, write: Write) -> Element {
    Element {
        name,
        bits,
        read,
        write,
    }
}

impl Element {
    /// Parses the next element type.
    pub(super) fn take(form: &mut Form<'_, '_>) -> Option<Self> {
        form.take_next(|part| ELEMENTS.into_iter().find(|element| element.name == part))
    }

    /// A memory word that holds several narrow elements of one row or column.
    pub(super) fn word() -> Self {
        element("b32", 32, |bits| f64::from(bits as u32), operand)
    }

    /// A 16-bit float.
    pub(crate) fn half() -> Self {
        ELEMENTS[0]
    }

    /// A sum that saturates.
    pub(super) fn saturating(self) -> Self {
        let write = |value: f64| u64::from(value as i32 as u32);
        Self { write, ..self }
    }

    /// Size in whole bytes, for elements of at least a byte.
    pub(crate) fn bytes(self) -> usize {
        self.bits / 8
    }

    /// Mask of one element at the low end of a register.
    pub(crate) fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// Elements of one register.
    pub(crate) fn per_register(self) -> usize {
        if self.bits == 64 { 1 } else { 32 / self.bits }
    }

    /// Registers per lane for a matrix of `count` elements.
    pub(super) fn registers(self, count: usize) -> usize {
        count / 32 / self.per_register()
    }

    pub(super) fn is_any(self, names: &[&str]) -> bool {
        names.contains(&self.name)
    }
}
