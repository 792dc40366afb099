//! The parts of a call.

use std::ops::Range;

use super::lexer::{Lexer, Spanned, Token};
use super::opcode::Opcode;
use super::words::split;

/// `fast noundef i32 @f(ptr noundef %x, i32 1) #7`: a call without its opcode.
#[derive(Clone, Debug)]
pub(crate) struct Call<'i> {
    /// What is called.
    pub(crate) callee: Callee<'i>,
    /// The text between the parentheses.
    arguments: &'i str,
    /// The text after the arguments: `#7`, `nounwind memory(none)`, `[ "bundle"() ]`.
    pub(crate) attributes: &'i str,
    /// Position of the callee and of those attributes in the instruction's operands.
    pub(crate) callee_at: usize,
    pub(crate) attributes_at: usize,
}

/// The callee of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee<'i> {
    /// A function, by name.
    Direct(&'i str),
    /// A function whose address is in a local value.
    Indirect(&'i str),
    /// Inline assembly: its template and constraints as printed (`\0A` is a new line, `$0` an
    /// operand).
    Assembly {
        template: &'i str,
        constraints: &'i str,
    },
    /// A constant that is not a function's name, as in `call void null()`.
    Constant,
}

impl<'i> Call<'i> {
    /// Parses the operands of a `call`.
    pub(super) fn of(text: &'i str) -> Option<Self> {
        let mut tokens = Lexer::new(text).peekable();
        // Types and attributes may contain parentheses, and a type may be a local name; neither is
        // directly followed by its parenthesis.
        let calls = |name: &Spanned<'_>, next: Option<&Spanned<'_>>| {
            next.is_some_and(|next| {
                next.token == Token::Mark(b'(') && next.span.start == name.span.end
            })
        };
        let mut strings = None;
        let (callee, callee_at) = loop {
            let spanned = tokens.next()?;
            if spanned.depth > 0 {
                continue;
            }
            let callee = match spanned.token {
                Token::Global(name) => Callee::Direct(name),
                Token::Local(name) => Callee::Indirect(name),
                Token::Word("null" | "undef" | "poison") => Callee::Constant,
                Token::Word("asm") => {
                    strings = Some(spanned.span.start);
                    break (Callee::Constant, spanned.span.start);
                }
                _ => continue,
            };
            if calls(&spanned, tokens.peek()) {
                break (callee, spanned.span.start);
            }
        };
        let callee = if strings.is_some() {
            assembly(&mut tokens)?
        } else {
            callee
        };
        let open = tokens.next()?;
        let close = tokens
            .find(|spanned| spanned.depth == 0 && spanned.token == Token::Mark(b')'))
            .filter(|_| open.token == Token::Mark(b'('))?;
        Some(Call {
            callee,
            arguments: &text[open.span.end..close.span.start],
            attributes: text[close.span.end..].trim(),
            callee_at,
            attributes_at: close.span.end,
        })
    }

    /// The arguments as written: `ptr noundef %x`, `i32 1`.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &'i str> {
        split(self.arguments).filter(|argument| !argument.is_empty())
    }

    /// The callee, if it is called by name.
    pub(crate) fn function(&self) -> Option<&'i str> {
        match self.callee {
            Callee::Direct(name) => Some(name),
            _ => None,
        }
    }

    /// The number of its attribute group.
    pub(crate) fn group(&self) -> Option<u32> {
        super::attributes::group(self.attributes).map(|(number, _)| number)
    }
}

/// The strings of `asm sideeffect "bar.sync 0;", ""`, from after the keyword.
fn assembly<'i>(tokens: &mut impl Iterator<Item = Spanned<'i>>) -> Option<Callee<'i>> {
    let template = tokens.find_map(|spanned| match spanned.token {
        Token::Word(_) => None,
        Token::Text(template) => Some(Some(template)),
        _ => Some(None),
    })??;
    match (tokens.next()?.token, tokens.next()?.token) {
        (Token::Mark(b','), Token::Text(constraints)) => Some(Callee::Assembly {
            template,
            constraints,
        }),
        _ => None,
    }
}

/// The value of an argument or other operand, without its type, attributes and suffixes: `%x` in
/// `ptr noundef %x`, in `nneg i32 %x to i64`, in `ptr %x syncscope("block") acquire`.
pub(crate) fn value(operand: &str) -> &str {
    &operand[value_span(operand)]
}

/// The type directly before a value, and the value: `i32` and `%x` in `nneg i32 %x to i64`.
pub(crate) fn typed(operand: &str) -> (&str, &str) {
    let span = value_span(operand);
    let before = operand[..span.start].trim_end();
    let mut start = 0;
    for Spanned { token, span, depth } in Lexer::new(before) {
        match token {
            // `ptr addrspace(3)`
            Token::Word("addrspace") => {}
            Token::Word(_) | Token::Local(_) | Token::Mark(b'[' | b'{' | b'<') if depth == 0 => {
                start = span.start;
            }
            _ => {}
        }
    }
    (&before[start..], &operand[span])
}

/// The type of a part of an aggregate or vector: `i64` of `{ ptr, i64 }` at 1.
pub(crate) fn element(ty: &str, index: usize) -> Option<&str> {
    let packed = (ty.strip_prefix("<{")).and_then(|ty| ty.strip_suffix("}>"));
    let fields = packed.or_else(|| ty.strip_prefix('{')?.strip_suffix('}'));
    if let Some(fields) = fields {
        return split(fields).nth(index);
    }
    let array = (ty.strip_prefix('[')).and_then(|ty| ty.strip_suffix(']'));
    let lanes = array.or_else(|| ty.strip_prefix('<')?.strip_suffix('>'));
    Some(lanes?.split_once(" x ")?.1)
}

fn value_span(operand: &str) -> Range<usize> {
    let (mut start, mut end) = (0, operand.len());
    let mut string_at = None;
    let mut tokens = Lexer::new(operand).filter(|spanned| spanned.depth == 0);
    while let Some(Spanned { token, span, .. }) = tokens.next() {
        match token {
            Token::Word("to" | "syncscope") => {
                end = span.start;
                break;
            }
            Token::Word(word) if ORDERINGS.contains(&word) => {
                end = span.start;
                break;
            }
            // A constant expression: `getelementptr inbounds (i8, ptr @x, i64 4)`.
            Token::Word(word) if Opcode::of(word).is_some() || word == "splat" => {
                start = span.start;
                let close = tokens.find(|spanned| spanned.token == Token::Mark(b')'));
                end = close.map_or(end, |close| close.span.end);
                break;
            }
            // `c"…"`
            Token::Text(_) if string_at == Some(span.start) => {}
            // The parenthesis of an attribute, or the closing bracket of a type or a value.
            Token::Mark(b'(' | b')' | b']' | b'}' | b'>') => {}
            _ => start = span.start,
        }
        string_at = (token == Token::Word("c")).then_some(span.end);
    }
    start..start + operand[start..end].trim_end().len()
}

/// The orderings of atomic instructions, weakest first.
pub(crate) const ORDERINGS: [&str; 6] = [
    "unordered",
    "monotonic",
    "acquire",
    "release",
    "acq_rel",
    "seq_cst",
];
