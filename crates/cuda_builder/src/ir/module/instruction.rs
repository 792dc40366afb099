//! One instruction: its text and the ranges of its parts.

use std::borrow::Cow;

use super::call::Call;
use super::lexer::{Lexer, Spanned, Token, is_type};
use super::opcode::Opcode;
use super::unexpected;
use super::words::split;
use crate::error::CudaBuilderError;

/// An instruction or a debug record. The text is printed; the parts are derived from it.
#[derive(Clone, Debug)]
pub(crate) struct Instruction<'a> {
    /// The text from the end of the preceding line, including blank lines, comments and the line
    /// ending.
    text: Cow<'a, str>,
    opcode: Opcode,
    /// Positions of the instruction, its opcode, its operands, its metadata, and its end.
    start: usize,
    opcode_at: usize,
    operands_at: usize,
    metadata_at: usize,
    end: usize,
}

impl<'a> Instruction<'a> {
    /// Parses whole lines that contain one instruction.
    ///
    /// # Errors
    /// Text that LLVM would not print: an unknown opcode, an unterminated string or bracket.
    pub(super) fn parse(text: Cow<'a, str>) -> Result<Self, CudaBuilderError> {
        let malformed = |reason: &str| unexpected(reason, text.trim());
        let mut tokens = Lexer::new(&text);
        let first = tokens
            .next()
            .ok_or_else(|| malformed("no instruction in a line"))?;
        let start = first.span.start;
        let mut word = first;
        if let Token::Local(name) = word.token {
            let equals = tokens.next().map(|spanned| spanned.token);
            if equals != Some(Token::Mark(b'=')) || is_type(name) {
                return Err(malformed("no `=` after a result"));
            }
            word = tokens
                .next()
                .ok_or_else(|| malformed("no opcode after `=`"))?;
        }
        let opcode_at = word.span.start;
        if let Token::Word("tail" | "musttail" | "notail") = word.token {
            word = tokens
                .next()
                .filter(|spanned| spanned.token == Token::Word("call"))
                .ok_or_else(|| malformed("`tail` without `call`"))?;
        }
        let opcode = match word.token {
            Token::Word(word) => Opcode::of(word),
            Token::Group(record) if record.starts_with("dbg_") => Some(Opcode::DebugRecord),
            _ => None,
        };
        let opcode = opcode.ok_or_else(|| malformed("an instruction that is not known"))?;
        let operands_at = word.span.end;
        let (mut end, mut depth) = (operands_at, 0);
        let (mut comma, mut metadata_at) = (None, None);
        for Spanned {
            token,
            span,
            depth: outside,
        } in tokens
        {
            match token {
                Token::Unknown => return Err(malformed("a form that is not known")),
                Token::Metadata(_) if outside == 0 && metadata_at.is_none() => metadata_at = comma,
                Token::Mark(b'(' | b'[' | b'{' | b'<') => depth = outside + 1,
                _ => depth = outside,
            }
            comma = (outside == 0 && token == Token::Mark(b',')).then_some(span.start);
            end = span.end;
        }
        if depth > 0 {
            return Err(malformed("an open bracket"));
        }
        Ok(Instruction {
            text,
            opcode,
            start,
            opcode_at,
            operands_at,
            metadata_at: metadata_at.unwrap_or(end),
            end,
        })
    }

    /// Parses a new instruction: `%x = freeze i32 %y`, without indentation and line ending.
    ///
    /// # Errors
    /// As for [`Module::parse`](super::Module::parse).
    pub(crate) fn new(instruction: &str) -> Result<Self, CudaBuilderError> {
        Self::parse(Cow::Owned(format!("  {instruction}\n")))
    }

    /// Replaces the instruction, but not its indentation and line ending.
    pub(crate) fn replace(&mut self, instruction: &str) -> Result<(), CudaBuilderError> {
        let (before, after) = (&self.text[..self.start], &self.text[self.end..]);
        let text = format!("{before}{instruction}{after}");
        *self = Self::parse(Cow::Owned(text))?;
        Ok(())
    }

    /// Replaces the operands; the text starts with a space.
    pub(crate) fn set_operands(&mut self, operands: &str) -> Result<(), CudaBuilderError> {
        let before = &self.text[self.start..self.operands_at];
        let text = format!("{before}{operands}{}", self.metadata());
        self.replace(&text)
    }

    /// Adds an attribute to a call; other instructions are unchanged.
    pub(crate) fn add_attribute(&mut self, attribute: &str) -> Result<(), CudaBuilderError> {
        let Some(call) = self.call()? else {
            return Ok(());
        };
        let (before, after) = self.operands().split_at(call.attributes_at);
        let operands = format!("{before} {attribute}{after}");
        self.set_operands(&operands)
    }

    /// Replaces a call's attribute group.
    pub(crate) fn set_group(&mut self, number: u32) -> Result<(), CudaBuilderError> {
        let Some(call) = self.call()? else {
            return Ok(());
        };
        let (before, after) = self.operands().split_at(call.attributes_at);
        let operands = match super::attributes::group(after) {
            Some((_, span)) => format!(
                "{before}{}#{number}{}",
                &after[..span.start],
                &after[span.end..]
            ),
            None => format!("{before} #{number}{after}"),
        };
        self.set_operands(&operands)
    }

    /// What it does.
    pub(crate) fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// The whole text, for printing.
    pub(super) fn source(&self) -> &str {
        &self.text
    }

    /// The instruction without indentation and surrounding comments.
    pub(crate) fn text(&self) -> &str {
        &self.text[self.start..self.end]
    }

    /// The name of its result.
    pub(crate) fn result(&self) -> Option<&str> {
        match Lexer::new(self.text()).next()?.token {
            Token::Local(name) => Some(name),
            _ => None,
        }
    }

    /// `%3 = `, or empty: the start of a replacement with the same result.
    pub(crate) fn result_text(&self) -> &str {
        &self.text[self.start..self.opcode_at]
    }

    /// The text after the opcode: flags, types, operands. Empty for `unreachable`.
    pub(crate) fn operands(&self) -> &str {
        &self.text[self.operands_at..self.metadata_at]
    }

    /// `, !dbg !7, !noalias !9`, or nothing.
    pub(crate) fn metadata(&self) -> &str {
        &self.text[self.metadata_at..self.end]
    }

    /// Opcode with prefix and operands, without metadata: `tail call void @f()`.
    pub(crate) fn operation(&self) -> &str {
        &self.text[self.opcode_at..self.metadata_at]
    }

    /// The node attached under a name: `7` for `!dbg !7`.
    pub(crate) fn attachment(&self, name: &str) -> Option<&str> {
        let mut tokens = Lexer::new(self.metadata()).map(|spanned| spanned.token);
        tokens.find(|&token| token == Token::Metadata(name))?;
        match tokens.next()? {
            Token::Metadata(node) => Some(node),
            _ => None,
        }
    }

    /// The node of its source position.
    pub(crate) fn position(&self) -> Option<&str> {
        self.attachment("dbg")
    }

    /// `, !dbg !7`, or empty: for an instruction that replaces this one.
    pub(crate) fn position_text(&self) -> String {
        self.position()
            .map_or_else(String::new, |node| format!(", !dbg !{node}"))
    }

    /// The tokens of its operands.
    pub(crate) fn tokens(&self) -> Lexer<'_> {
        Lexer::new(self.operands())
    }

    /// The operands split at outermost commas: `nuw i64 %a` and `%b` in `add nuw i64 %a, %b`.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &str> {
        split(self.operands())
    }

    /// The values that it reads, in order; for a phi, the incoming ones.
    pub(crate) fn locals(&self) -> impl Iterator<Item = &str> {
        let is_phi = self.opcode == Opcode::Phi;
        let mut before = Token::Unknown;
        self.tokens().filter_map(move |spanned| {
            let (token, previous) = (spanned.token, before);
            before = token;
            match token {
                _ if previous == Token::Word("label") => None,
                // `[ %value, %block ]`
                _ if is_phi && spanned.depth == 1 && previous == Token::Mark(b',') => None,
                Token::Local(name) if !is_type(name) => Some(name),
                _ => None,
            }
        })
    }

    /// The global symbols that it mentions, including the callee.
    pub(crate) fn globals(&self) -> impl Iterator<Item = &str> {
        super::lexer::globals(self.operands())
    }

    /// The successors of a terminator, with repetitions.
    pub(crate) fn successors(&self) -> impl Iterator<Item = &str> {
        let mut before = Token::Unknown;
        self.tokens()
            .filter_map(move |Spanned { token, .. }| {
                let previous = std::mem::replace(&mut before, token);
                match token {
                    Token::Local(name) if previous == Token::Word("label") => Some(name),
                    _ => None,
                }
            })
            .take(if self.opcode.is_terminator() {
                usize::MAX
            } else {
                0
            })
    }

    /// The incoming values of a phi with their blocks.
    ///
    /// # Errors
    /// A pair in an unknown form.
    pub(crate) fn incoming(&self) -> Result<Vec<Incoming<'_>>, CudaBuilderError> {
        let text = self.operands();
        let (mut pairs, mut open, mut comma) = (Vec::new(), None, None);
        for Spanned { token, span, depth } in self.tokens() {
            match token {
                // The type may be an array: `phi [2 x i32] [ %a, %b ]`.
                Token::Mark(b'[') if depth == 0 => (open, comma) = (Some(span.end), None),
                Token::Mark(b',') if depth == 1 => comma = Some(span.start),
                Token::Mark(b']') if depth == 0 => {
                    let (Some(open), Some(comma)) = (open.take(), comma.take()) else {
                        continue;
                    };
                    let label = Lexer::new(&text[comma + 1..span.start]).next();
                    let Some(Token::Local(block)) = label.map(|label| label.token) else {
                        return Err(unexpected("a phi of another form", self.text()));
                    };
                    let value = text[open..comma].trim();
                    pairs.push(Incoming { value, block });
                }
                _ => {}
            }
        }
        let is_known = self.opcode == Opcode::Phi && !pairs.is_empty();
        is_known
            .then_some(pairs)
            .ok_or_else(|| unexpected("a phi of another form", self.text()))
    }

    /// The parts of a call; `None` for other instructions.
    ///
    /// # Errors
    /// A call in an unknown form.
    pub(crate) fn call(&self) -> Result<Option<Call<'_>>, CudaBuilderError> {
        if self.opcode != Opcode::Call {
            return Ok(None);
        }
        Call::of(self.operands())
            .ok_or_else(|| unexpected("a call of another form", self.text()))
            .map(Some)
    }
}

/// One incoming value of a phi.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Incoming<'i> {
    /// As written: `%3`, `0`, `@f`, `null`. See [`local`].
    pub(crate) value: &'i str,
    /// The block's name.
    pub(crate) block: &'i str,
}

/// The name, if the text is just a local value.
pub(crate) fn local(text: &str) -> Option<&str> {
    let mut tokens = Lexer::new(text);
    match (tokens.next()?.token, tokens.next()) {
        (Token::Local(name), None) => Some(name),
        _ => None,
    }
}
