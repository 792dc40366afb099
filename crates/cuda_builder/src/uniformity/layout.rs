//! Sizes of LLVM's types, and the offsets of their parts.

use std::iter::Peekable;

use super::offset::Offset;
use crate::ir::module::{Instruction, Lexer, Spanned, Token, typed, value};

/// A type. Pointers of all address spaces have 8 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Integer(u64),
    Float(u64),
    Pointer,
    Array(u64, Box<Type>),
    Vector(u64, Box<Type>),
    Struct {
        fields: Vec<Type>,
        is_packed: bool,
    },
    /// A named type, or any other form.
    Other,
}

impl Type {
    pub(crate) fn parse(text: &str) -> Type {
        parse(&mut Lexer::new(text).peekable()).unwrap_or(Type::Other)
    }

    /// The number of bytes that a load or store of it accesses.
    pub(super) fn stored(&self) -> Option<u64> {
        match self {
            Type::Integer(bits) => Some(bits.div_ceil(8)),
            _ => self.size(),
        }
    }

    /// The distance between two elements in an array of it.
    pub(crate) fn size(&self) -> Option<u64> {
        Some(match self {
            Type::Integer(bits) => bits.div_ceil(8).next_multiple_of(self.align()?),
            Type::Float(bytes) => *bytes,
            Type::Pointer => 8,
            Type::Array(len, element) => element.size()?.checked_mul(*len)?,
            Type::Vector(len, element) => {
                let bytes = element.stored()?.checked_mul(*len)?;
                bytes.checked_next_power_of_two()?
            }
            Type::Struct { .. } => self.fields()?.1,
            Type::Other => return None,
        })
    }

    /// Its alignment.
    pub(crate) fn align(&self) -> Option<u64> {
        Some(match self {
            Type::Integer(bits) => bits.div_ceil(8).next_power_of_two().min(16),
            Type::Float(_) | Type::Pointer | Type::Vector(..) => self.size()?,
            Type::Array(_, element) => element.align()?,
            Type::Struct {
                is_packed: true, ..
            } => 1,
            Type::Struct { fields, .. } => {
                let aligns = fields.iter().map(Type::align);
                aligns.collect::<Option<Vec<_>>>()?.into_iter().max()?
            }
            Type::Other => return None,
        })
    }

    /// The offsets of a struct's fields, and its size.
    fn fields(&self) -> Option<(Vec<u64>, u64)> {
        let Type::Struct { fields, is_packed } = self else {
            return None;
        };
        let (mut offsets, mut end) = (Vec::new(), 0_u64);
        for field in fields {
            if !is_packed {
                end = end.next_multiple_of(field.align()?);
            }
            offsets.push(end);
            end = end.checked_add(field.size()?)?;
        }
        if !is_packed && !fields.is_empty() {
            end = end.next_multiple_of(self.align()?);
        }
        Some((offsets, end))
    }

    pub(super) fn is_number(&self) -> bool {
        match self {
            Type::Integer(_) | Type::Float(_) => true,
            Type::Vector(_, element) => element.is_number(),
            _ => false,
        }
    }

    /// Whether it consists of several values.
    pub(super) fn is_aggregate(&self) -> bool {
        matches!(self, Type::Array(..) | Type::Struct { .. } | Type::Other)
    }

    /// Whether a value of it may be or contain a pointer.
    fn holds_pointers(&self) -> bool {
        match self {
            Type::Integer(_) | Type::Float(_) => false,
            Type::Array(_, element) | Type::Vector(_, element) => element.holds_pointers(),
            Type::Struct { fields, .. } => fields.iter().any(Type::holds_pointers),
            Type::Pointer | Type::Other => true,
        }
    }

    /// The part at an index.
    fn part(&self, index: usize) -> Option<&Type> {
        match self {
            Type::Array(_, element) | Type::Vector(_, element) => Some(element),
            Type::Struct { fields, .. } => fields.get(index),
            _ => None,
        }
    }
}

fn parse<'a>(tokens: &mut Peekable<impl Iterator<Item = Spanned<'a>>>) -> Option<Type> {
    match tokens.next()?.token {
        Token::Mark(b'<') => {
            let ty = match tokens.peek()?.token {
                Token::Mark(b'{') => {
                    tokens.next();
                    fields(tokens, true)?
                }
                _ => {
                    let (len, element) = sequence(tokens)?;
                    Type::Vector(len, Box::new(element))
                }
            };
            (tokens.next()?.token == Token::Mark(b'>')).then_some(ty)
        }
        Token::Mark(b'[') => {
            let (len, element) = sequence(tokens)?;
            let ty = Type::Array(len, Box::new(element));
            (tokens.next()?.token == Token::Mark(b']')).then_some(ty)
        }
        Token::Mark(b'{') => fields(tokens, false),
        Token::Word("ptr") => {
            if tokens.peek().map(|next| next.token) == Some(Token::Word("addrspace")) {
                tokens.find(|spanned| spanned.token == Token::Mark(b')'))?;
            }
            Some(Type::Pointer)
        }
        Token::Word("half" | "bfloat") => Some(Type::Float(2)),
        Token::Word("float") => Some(Type::Float(4)),
        Token::Word("double") => Some(Type::Float(8)),
        Token::Word("fp128") => Some(Type::Float(16)),
        Token::Word(word) => Some(Type::Integer(word.strip_prefix('i')?.parse().ok()?)),
        _ => None,
    }
}

/// `4 x i32`, without the brackets.
fn sequence<'a>(tokens: &mut Peekable<impl Iterator<Item = Spanned<'a>>>) -> Option<(u64, Type)> {
    let Token::Word(len) = tokens.next()?.token else {
        return None;
    };
    let len = len.parse().ok()?;
    (tokens.next()?.token == Token::Word("x")).then_some(())?;
    Some((len, parse(tokens)?))
}

/// The fields after an opening brace, up to the closing one.
fn fields<'a>(
    tokens: &mut Peekable<impl Iterator<Item = Spanned<'a>>>,
    is_packed: bool,
) -> Option<Type> {
    let mut fields = Vec::new();
    if tokens.peek()?.token == Token::Mark(b'}') {
        tokens.next();
        return Some(Type::Struct { fields, is_packed });
    }
    loop {
        fields.push(parse(tokens)?);
        match tokens.next()?.token {
            Token::Mark(b',') => {}
            Token::Mark(b'}') => return Some(Type::Struct { fields, is_packed }),
            _ => return None,
        }
    }
}

/// The number of bytes by which a `getelementptr` moves its pointer.
pub(super) fn moved(instruction: &Instruction<'_>) -> Offset {
    distance(instruction).unwrap_or(Offset::ANY)
}

fn distance(instruction: &Instruction<'_>) -> Option<Offset> {
    let mut pieces = instruction.pieces();
    let mut first = pieces.next()?;
    let mut is_inside = false;
    while let Some((word, rest)) = first.split_once(' ') {
        if !matches!(word, "inbounds" | "nuw" | "nusw") {
            break;
        }
        is_inside |= word == "inbounds";
        first = rest;
    }
    let mut ty = Type::parse(first);
    let mut indices = pieces.skip(1).map(|piece| value(piece).parse::<i64>().ok());
    let by = |index: Option<i64>, stride: u64| match index {
        Some(index) => Some(Offset::exact(
            index.checked_mul(i64::try_from(stride).ok()?)?,
        )),
        None if is_inside => Some(Offset::multiple(stride)),
        // The product may wrap.
        None => Some(Offset::multiple(stride & stride.wrapping_neg())),
    };
    let mut bytes = match indices.next()? {
        Some(0) => Offset::exact(0),
        index => by(index, ty.size()?)?,
    };
    for index in indices {
        let part = match &ty {
            Type::Struct { .. } => usize::try_from(index?).ok()?,
            _ => 0,
        };
        let step = match &ty {
            Type::Struct { .. } => by(Some(1), *ty.fields()?.0.get(part)?)?,
            ty => by(index, ty.part(0)?.size()?)?,
        };
        bytes = bytes.plus(step);
        ty = ty.part(part)?.clone();
    }
    Some(bytes)
}

/// Whether the result of an `extractvalue` may be a pointer.
pub(super) fn extracts_pointers(instruction: &Instruction<'_>) -> bool {
    let mut pieces = instruction.pieces();
    let whole = Type::parse(pieces.next().map_or("", |piece| typed(piece).0));
    let part = pieces.try_fold(whole, |ty, index| ty.part(index.parse().ok()?).cloned());
    part.is_none_or(|part| part.holds_pointers())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn size(ty: &str, expected: Option<u64>) {
        assert_eq!(Type::parse(ty).size(), expected, "{ty}");
    }

    #[test]
    fn types_have_sizes() {
        size("i1", Some(1));
        size("i24", Some(4));
        size("i128", Some(16));
        size("double", Some(8));
        size("ptr addrspace(3)", Some(8));
        size("{ ptr addrspace(3), i32 }", Some(16));
        size("[3 x i16]", Some(6));
        size("<3 x float>", Some(16));
        size("{ i8, i64, i8 }", Some(24));
        size("<{ i8, i64, [2 x i8] }>", Some(11));
        size("{ ptr, { i32, i8 } }", Some(16));
        size("{}", Some(0));
        size("%struct.pair", None);
        size("[4 x %struct.pair]", None);
        assert_eq!(Type::parse("i24").stored(), Some(3));
        assert!(Type::parse("<2 x float>").is_number());
        assert!(!Type::parse("ptr").is_number() && !Type::parse("{ i32 }").is_number());
    }

    #[track_caller]
    fn by(operands: &str, expected: Offset) {
        let text = format!("%q = getelementptr {operands}");
        assert_eq!(moved(&Instruction::new(&text).unwrap()), expected, "{text}");
    }

    #[test]
    fn constant_indices_are_bytes() {
        let bytes = Offset::exact;
        by("inbounds nuw i8, ptr %p, i64 24", bytes(24));
        by("inbounds i32, ptr %p, i64 -1", bytes(-4));
        by("[4 x i32], ptr %p, i64 1, i64 2", bytes(24));
        by("{ i8, [3 x i64] }, ptr %p, i64 0, i32 1, i64 2", bytes(24));
        by("%struct.pair, ptr %p, i64 0", bytes(0));
        by("%struct.pair, ptr %p, i64 1", Offset::ANY);
    }

    #[test]
    fn other_indices_are_multiples() {
        by("i8, ptr %p, i64 %n", Offset::ANY);
        by("[4 x i32], ptr %p, i64 0, i64 %n", Offset::multiple(4));
        by(
            "{ i64, i64 }, ptr %p, i64 %n, i32 1",
            Offset::multiple(16).plus(Offset::exact(8)),
        );
        by("inbounds [3 x i64], ptr %p, i64 %n", Offset::multiple(24));
        // The product may wrap.
        by("[3 x i64], ptr %p, i64 %n", Offset::multiple(8));
    }

    #[test]
    fn parts_of_a_pair_are_pointers_or_numbers() {
        let extracts = |operands: &str| {
            let text = format!("%q = extractvalue {operands}");
            extracts_pointers(&Instruction::new(&text).unwrap())
        };
        assert!(extracts("{ ptr, i64 } %p, 0"));
        assert!(!extracts("{ ptr, i64 } %p, 1"));
        assert!(extracts("{ i64, { i8, ptr } } %p, 1"));
        assert!(!extracts("{ i64, { i8, ptr } } %p, 1, 0"));
        assert!(extracts("%struct.pair %p, 1"));
    }
}
