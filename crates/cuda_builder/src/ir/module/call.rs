//! The parts of a call.

use std::ops::Range;

use super::instruction::split;
use super::lexer::{Lexer, Spanned, Token};
use super::opcode::Opcode;

/// `fast noundef i32 @f(ptr noundef %x, i32 1) #7`, which is what stands after `call`.
#[derive(Clone, Debug)]
pub(crate) struct Call<'i> {
    /// What is called.
    pub(crate) callee: Callee<'i>,
    /// Flags, calling convention and type of the result, with its attributes: `fast noundef i32`.
    pub(crate) result: &'i str,
    /// The text between the parentheses.
    arguments: &'i str,
    /// What stands after them: `#7`, `nounwind memory(none)`, `[ "bundle"() ]`.
    pub(crate) attributes: &'i str,
    /// Where the callee and those attributes begin in the operands of the instruction.
    pub(crate) callee_at: usize,
    pub(crate) attributes_at: usize,
}

/// What a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee<'i> {
    /// The function of that name.
    Direct(&'i str),
    /// The function whose address a local value holds.
    Indirect(&'i str),
    /// Inline assembly: its text and its constraints, as they are printed (`\0A` is a new line,
    /// `$0` an operand).
    Assembly {
        template: &'i str,
        constraints: &'i str,
    },
    /// A constant that is no function's name, as in `call void null()`.
    Constant,
}

impl<'i> Call<'i> {
    /// Reads the operands of a `call`.
    pub(super) fn of(text: &'i str) -> Option<Self> {
        let mut tokens = Lexer::new(text).peekable();
        // A type or an attribute may have parentheses, and a type may be a local name: neither has
        // its parenthesis close by.
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
            result: text[..callee_at].trim(),
            arguments: &text[open.span.end..close.span.start],
            attributes: text[close.span.end..].trim(),
            callee_at,
            attributes_at: close.span.end,
        })
    }

    /// The arguments as they stand: `ptr noundef %x`, `i32 1`.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &'i str> {
        split(self.arguments).filter(|argument| !argument.is_empty())
    }

    /// The function that it calls by name.
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

/// The strings of `asm sideeffect "bar.sync 0;", ""`, from after the word.
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

/// The value of an argument or another operand, without its type, attributes, and what may follow:
/// `%x` of `ptr noundef %x`, of `nneg i32 %x to i64`, of `ptr %x syncscope("block") acquire`.
pub(crate) fn value(operand: &str) -> &str {
    &operand[value_span(operand)]
}

/// The type that stands right before a value, and the value: `i32` and `%x` of `nneg i32 %x to
/// i64`.
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
            // The parenthesis of an attribute, or a bracket that closes a type or a value.
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
