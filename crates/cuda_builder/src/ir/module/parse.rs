//! Parses a module, line by line.

use std::borrow::Cow;

use super::attributes::Attributes;
use super::function::{Block, Function, Head};
use super::global::Global;
use super::instruction::Instruction;
use super::lexer::{Lexer, Token, is_type};
use super::metadata::Metadata;
use super::{Item, Module, unexpected};
use crate::error::CudaBuilderError;

type Result<T> = std::result::Result<T, CudaBuilderError>;

/// Parses a module that borrows from the text; without `bodies` only what is outside functions.
pub(super) fn module(text: &str, bodies: bool) -> Result<Module<'_>> {
    let mut parser = Parser {
        text,
        at: 0,
        bodies,
        keep: Cow::Borrowed,
    };
    let items = parser.items()?;
    Ok(Module { items })
}

/// Parses items of a module, without borrowing from the text.
pub(super) fn owned<'a>(text: &str) -> Result<Vec<Item<'a>>> {
    let mut parser = Parser {
        text,
        at: 0,
        bodies: true,
        keep: |text| Cow::Owned(text.to_owned()),
    };
    parser.items()
}

struct Parser<'t, 'a> {
    text: &'t str,
    /// Start of the next line.
    at: usize,
    bodies: bool,
    keep: fn(&'t str) -> Cow<'a, str>,
}

impl<'t, 'a> Parser<'t, 'a> {
    /// The next line, including its line ending.
    fn line(&mut self) -> Option<&'t str> {
        let rest = &self.text[self.at..];
        let length = rest
            .as_bytes()
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(rest.len(), |at| at + 1);
        self.at += length;
        (length > 0).then(|| &rest[..length])
    }

    /// The text from `start` to the end of the last line.
    fn since(&self, start: usize) -> Cow<'a, str> {
        (self.keep)(&self.text[start..self.at])
    }

    fn items(&mut self) -> Result<Vec<Item<'a>>> {
        let mut items = Vec::new();
        let mut start = 0;
        while let Some(line) = self.line() {
            if is_blank(line) {
                continue;
            }
            let item = match line.split([' ', '"']).next().unwrap_or_default() {
                "define" => self.function(start)?,
                "declare" => Item::Declaration(Head::parse(self.since(start))?),
                "attributes" => Item::Attributes(Attributes::parse(self.since(start))?),
                "source_filename" | "target" | "module" => Item::Text(self.since(start)),
                word => match word.as_bytes().first() {
                    Some(b'@') => Item::Global(Global::parse(self.since(start))?),
                    Some(b'!') => Item::Metadata(Metadata::new(self.since(start))),
                    Some(b'$') => Item::Text(self.since(start)),
                    Some(b'%') => named_type(line, self.since(start))?,
                    _ => return Err(unexpected("a line that is not known", line.trim())),
                },
            };
            items.push(item);
            start = self.at;
        }
        if start < self.at {
            items.push(Item::Text(self.since(start)));
        }
        Ok(items)
    }

    /// A function whose header has been read.
    fn function(&mut self, start: usize) -> Result<Item<'a>> {
        let head = Head::parse(self.since(start))?;
        let entry = self.entry(&head)?;
        let mut blocks = vec![Block {
            label: Cow::Owned(entry),
            line: Cow::Borrowed(""),
            instructions: Vec::new(),
        }];
        if !self.bodies {
            blocks.clear();
        }
        let mut start = self.at;
        loop {
            let Some(line) = self.line() else {
                return Err(unexpected("a function without an end", head.text()));
            };
            if line.trim_end() == "}" {
                break;
            }
            if is_blank(line) || !self.bodies {
                continue;
            }
            if line.starts_with("  ") {
                let instruction = self.instruction(start)?;
                // There is at least one.
                if let Some(block) = blocks.last_mut() {
                    push(block, instruction)?;
                }
            } else {
                let label = self.label(line)?;
                let line = self.since(start);
                let block = Block {
                    label,
                    line,
                    instructions: Vec::new(),
                };
                match &mut *blocks {
                    // Its own label; a second label would mean an empty block.
                    [entry] if entry.line.is_empty() && entry.instructions.is_empty() => {
                        *entry = block;
                    }
                    _ => blocks.push(block),
                }
            }
            start = self.at;
        }
        for block in &blocks {
            let is_ended = (block.terminator())
                .is_some_and(|instruction| instruction.opcode().is_terminator());
            if !is_ended {
                let reason = format!("a block without an end (`{}`)", block.label);
                return Err(unexpected(&reason, head.text()));
            }
        }
        Ok(Item::Function(Box::new(Function {
            head,
            blocks,
            close: self.since(start),
        })))
    }

    /// The label of an entry block without one: the number after the parameters'.
    fn entry(&self, head: &Head<'_>) -> Result<String> {
        let mut unnamed = 0;
        for parameter in head.parameters() {
            if let Some(name) = super::local(super::value(parameter)) {
                if is_type(name) {
                    return Err(unexpected("a value that is called as a type", head.text()));
                }
                unnamed += usize::from(name.bytes().all(|byte| byte.is_ascii_digit()));
            }
        }
        Ok(unnamed.to_string())
    }

    /// An instruction whose first line has been read.
    fn instruction(&mut self, start: usize) -> Result<Instruction<'a>> {
        // LLVM prints only the cases of a `switch` on separate lines.
        if self.text[start..self.at].trim_end().ends_with('[') {
            while let Some(line) = self.line() {
                if line.trim_start().starts_with(']') {
                    break;
                }
            }
        }
        Instruction::parse(self.since(start))
    }

    /// `bb3:   ; preds = …`.
    fn label(&self, line: &'t str) -> Result<Cow<'a, str>> {
        let malformed = || unexpected("a line of a function that is not known", line.trim());
        let mut tokens = Lexer::new(line);
        let name = tokens.next().ok_or_else(malformed)?;
        let colon = tokens.next().map(|spanned| (spanned.token, spanned.span));
        match (name.token, colon, tokens.next()) {
            (Token::Word(name) | Token::Text(name), Some((Token::Mark(b':'), _)), None) => {
                Ok((self.keep)(name))
            }
            _ => Err(malformed()),
        }
    }
}

fn push<'a>(block: &mut Block<'a>, instruction: Instruction<'a>) -> Result<()> {
    let is_ended = (block.terminator()).is_some_and(|last| last.opcode().is_terminator());
    if is_ended {
        return Err(unexpected(
            "an instruction after its block's end",
            instruction.text(),
        ));
    }
    block.instructions.push(instruction);
    Ok(())
}

/// `%struct.float2 = type { float, float }`.
fn named_type<'a>(line: &str, text: Cow<'a, str>) -> Result<Item<'a>> {
    match Lexer::new(line).next().map(|spanned| spanned.token) {
        Some(Token::Local(name)) if is_type(name) => Ok(Item::Text(text)),
        _ => Err(unexpected("a type that is called as a value", line.trim())),
    }
}

fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with(';')
}
