use crate::error::ParseError;
use crate::parse::{Instruction, Operand};

/// An instruction type, as in `add.s32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    BF16,
    BF16x2,
    F32,
    F64,
    Tf32,
    Pred,
}

impl Ty {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "b8" => Ty::B8,
            "b16" => Ty::B16,
            "b32" => Ty::B32,
            "b64" => Ty::B64,
            "b128" => Ty::B128,
            "u8" => Ty::U8,
            "u16" => Ty::U16,
            "u32" => Ty::U32,
            "u64" => Ty::U64,
            "s8" => Ty::S8,
            "s16" => Ty::S16,
            "s32" => Ty::S32,
            "s64" => Ty::S64,
            "f16" => Ty::F16,
            "f16x2" => Ty::F16x2,
            "bf16" => Ty::BF16,
            "bf16x2" => Ty::BF16x2,
            "f32" => Ty::F32,
            "f64" => Ty::F64,
            "tf32" => Ty::Tf32,
            "pred" => Ty::Pred,
            _ => return None,
        })
    }

    /// Size in bytes; 0 for predicates.
    pub(super) fn size(self) -> u8 {
        match self {
            Ty::Pred => 0,
            Ty::B8 | Ty::U8 | Ty::S8 => 1,
            Ty::B16 | Ty::U16 | Ty::S16 | Ty::F16 | Ty::BF16 => 2,
            Ty::B32 | Ty::U32 | Ty::S32 | Ty::F32 | Ty::F16x2 | Ty::BF16x2 | Ty::Tf32 => 4,
            Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => 8,
            Ty::B128 => 16,
        }
    }

    pub(super) fn is_signed(self) -> bool {
        matches!(self, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64)
    }

    pub(super) fn is_integer(self) -> bool {
        self.is_signed() || matches!(self, Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64)
    }

    pub(super) fn is_bits(self) -> bool {
        matches!(self, Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64)
    }
}

/// An instruction whose modifiers are consumed one by one. Modifiers that remain at the end make
/// the instruction unsupported: none is ignored by accident.
pub(super) struct Form<'i, 'a> {
    pub(super) text: &'a str,
    pub(super) line: u32,
    pub(super) base: &'a str,
    pub(super) operands: &'i [Operand<'a>],
    rest: Vec<&'a str>,
}

impl<'i, 'a> Form<'i, 'a> {
    pub(super) fn new(instruction: &'i Instruction<'a>, line: u32) -> Self {
        let mut parts = instruction.opcode.split('.');
        let base = parts.next().unwrap_or_default();
        Self {
            text: instruction.opcode,
            line,
            base,
            operands: &instruction.operands,
            rest: parts.collect(),
        }
    }

    /// Consumes a modifier if it is present, and returns whether it was.
    pub(super) fn take(&mut self, modifier: &str) -> bool {
        let found = self.rest.iter().position(|&part| part == modifier);
        found.map(|at| self.rest.remove(at)).is_some()
    }

    /// Consumes the first of these modifiers that is present.
    pub(super) fn take_one_of(&mut self, modifiers: &[&'static str]) -> Option<&'static str> {
        modifiers
            .iter()
            .copied()
            .find(|modifier| self.take(modifier))
    }

    /// Consumes the next type, in textual order.
    pub(super) fn ty(&mut self) -> Result<Ty, ParseError> {
        self.take_next(Ty::parse).ok_or_else(|| self.unsupported())
    }

    /// Consumes the first modifier, in textual order, that `meaning` accepts.
    pub(super) fn take_next<T>(&mut self, meaning: impl Fn(&str) -> Option<T>) -> Option<T> {
        let mut rest = self.rest.iter().enumerate();
        let (at, found) = rest.find_map(|(at, part)| meaning(part).map(|found| (at, found)))?;
        self.rest.remove(at);
        Some(found)
    }

    /// Checks that all modifiers are consumed, and returns the operands, of which there must be
    /// `N`.
    pub(super) fn finish<const N: usize>(&self) -> Result<[&'i Operand<'a>; N], ParseError> {
        self.no_more_modifiers()?;
        let count = self.operands.len();
        // Newer PTX gives known instructions further operands.
        if count > N {
            let form = format!("{} with {count} operands", self.text);
            return Err(ParseError::unsupported(self.line, form));
        }
        if count < N {
            return Err(self.wrong(format!("takes {N} operands, not {count}")));
        }
        Ok(std::array::from_fn(|index| &self.operands[index]))
    }

    pub(super) fn no_more_modifiers(&self) -> Result<(), ParseError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.unsupported())
        }
    }

    pub(super) fn unsupported(&self) -> ParseError {
        ParseError::unsupported(self.line, self.text)
    }

    /// An error: the instruction is malformed.
    pub(super) fn wrong(&self, what: impl std::fmt::Display) -> ParseError {
        ParseError::syntax(self.line, format!("`{}` {what}", self.text))
    }
}
