//! Functions: their headers and blocks.

use std::borrow::Cow;
use std::ops::Range;

use super::attributes;
use super::instruction::Instruction;
use super::lexer::{Lexer, Token};
use super::unexpected;
use super::words::split;
use crate::error::CudaBuilderError;

/// A function that the module defines.
#[derive(Clone, Debug)]
pub(crate) struct Function<'a> {
    /// The line that ends in `{`.
    pub(crate) head: Head<'a>,
    /// The first block is the entry. Each ends in a terminator.
    pub(crate) blocks: Vec<Block<'a>>,
    /// The line with the closing brace.
    pub(super) close: Cow<'a, str>,
}

/// A basic block.
#[derive(Clone, Debug)]
pub(crate) struct Block<'a> {
    /// The label by which other blocks refer to it; an entry without a printed label has its
    /// number.
    pub(crate) label: Cow<'a, str>,
    /// The lines up to and including the label. Empty for an entry without a label.
    pub(super) line: Cow<'a, str>,
    /// Including debug records. The last one is the terminator.
    pub(crate) instructions: Vec<Instruction<'a>>,
}

impl<'a> Function<'a> {
    /// The function's name.
    pub(crate) fn name(&self) -> &str {
        self.head.name()
    }

    /// Whether it has PTX's calling convention for entry points.
    pub(crate) fn is_kernel(&self) -> bool {
        self.head.is_kernel()
    }

    /// All instructions in textual order, including debug records.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = &Instruction<'a>> {
        self.blocks.iter().flat_map(|block| &block.instructions)
    }

    /// All instructions, mutably.
    pub(crate) fn instructions_mut(&mut self) -> impl Iterator<Item = &mut Instruction<'a>> {
        self.blocks
            .iter_mut()
            .flat_map(|block| &mut block.instructions)
    }

    /// Replaces each instruction for which `new` returns a list by that list, which may be empty.
    ///
    /// # Errors
    /// The first error that `new` returns.
    pub(crate) fn expand(
        &mut self,
        mut new: impl FnMut(&Instruction<'a>) -> Result<Option<Vec<Instruction<'a>>>, CudaBuilderError>,
    ) -> Result<(), CudaBuilderError> {
        for block in &mut self.blocks {
            let mut changes = Vec::new();
            for (at, instruction) in block.instructions.iter().enumerate() {
                if let Some(list) = new(instruction)? {
                    changes.push((at, list));
                }
            }
            if changes.is_empty() {
                continue;
            }
            let mut changes = changes.into_iter().peekable();
            let old = std::mem::take(&mut block.instructions);
            for (at, instruction) in old.into_iter().enumerate() {
                match changes.next_if(|(change, _)| *change == at) {
                    Some((_, list)) => block.instructions.extend(list),
                    None => block.instructions.push(instruction),
                }
            }
        }
        Ok(())
    }
}

impl<'a> Block<'a> {
    /// The instruction that ends the block.
    pub(crate) fn terminator(&self) -> Option<&Instruction<'a>> {
        self.instructions.last()
    }

    /// The labels of the successor blocks.
    pub(crate) fn successors(&self) -> impl Iterator<Item = &str> {
        self.terminator()
            .into_iter()
            .flat_map(Instruction::successors)
    }
}

/// The first line of a definition, or a declaration: `define internal i32 @f(ptr %0) #7 section "s"
/// !dbg !9 {`.
#[derive(Clone, Debug)]
pub(crate) struct Head<'a> {
    /// The text from the end of the preceding item.
    text: Cow<'a, str>,
    /// Ranges of the keyword, of the symbol with its sigil, of the parameters, and of the text
    /// between them and the brace.
    start: usize,
    symbol: Range<usize>,
    parameters: Range<usize>,
    attributes: Range<usize>,
}

impl<'a> Head<'a> {
    pub(super) fn parse(text: Cow<'a, str>) -> Result<Self, CudaBuilderError> {
        let malformed = || unexpected("a function of another form", text.trim());
        let mut tokens = Lexer::new(&text);
        let keyword = tokens.next().ok_or_else(malformed)?;
        let symbol = tokens
            .find(|spanned| spanned.depth == 0 && matches!(spanned.token, Token::Global(_)))
            .ok_or_else(malformed)?;
        let open = tokens
            .next()
            .filter(|open| open.token == Token::Mark(b'('))
            .ok_or_else(malformed)?;
        let close = tokens
            .find(|spanned| spanned.depth == 0 && spanned.token == Token::Mark(b')'))
            .ok_or_else(malformed)?;
        let is_definition = keyword.token == Token::Word("define");
        let (mut end, mut brace) = (close.span.end, None);
        for spanned in tokens {
            match spanned.token {
                _ if brace.is_some() => return Err(malformed()),
                Token::Unknown => return Err(malformed()),
                Token::Mark(b'{') if is_definition && spanned.depth == 0 => {
                    brace = Some(spanned.span.start);
                }
                _ => end = spanned.span.end,
            }
        }
        if is_definition != brace.is_some() {
            return Err(malformed());
        }
        Ok(Head {
            start: keyword.span.start,
            symbol: symbol.span,
            parameters: open.span.end..close.span.start,
            attributes: close.span.end..end,
            text,
        })
    }

    pub(super) fn source(&self) -> &str {
        &self.text
    }

    /// The line without preceding comments.
    pub(crate) fn text(&self) -> &str {
        self.text[self.start..].trim_end()
    }

    /// The function's name.
    pub(crate) fn name(&self) -> &str {
        super::lexer::globals(&self.text[self.symbol.clone()])
            .next()
            .unwrap_or_default()
    }

    /// The text before the name, which ends in the result type: `define internal noundef i32`.
    pub(crate) fn before(&self) -> &str {
        self.text[self.start..self.symbol.start].trim_end()
    }

    /// Whether it has PTX's calling convention for entry points.
    pub(crate) fn is_kernel(&self) -> bool {
        attributes::has(self.before(), "ptx_kernel")
    }

    /// The parameters as written: `ptr noundef %0`; in a declaration `ptr`.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &str> {
        split(&self.text[self.parameters.clone()]).filter(|parameter| !parameter.is_empty())
    }

    /// The text after the parameters: `unnamed_addr #7 section "s" !dbg !9`.
    pub(crate) fn attributes(&self) -> &str {
        self.text[self.attributes.clone()].trim()
    }

    /// The number of its attribute group.
    pub(crate) fn group(&self) -> Option<u32> {
        attributes::group(self.attributes()).map(|(number, _)| number)
    }

    /// The value of a string attribute on the function itself: `16,16,1` for
    /// `"nvvm.reqntid"="16,16,1"`.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let mut tokens = Lexer::new(self.attributes()).map(|spanned| spanned.token);
        tokens.find(|&token| token == Token::Text(name))?;
        match (tokens.next()?, tokens.next()?) {
            (Token::Mark(b'='), Token::Text(value)) => Some(value),
            _ => None,
        }
    }

    /// The function's section.
    pub(crate) fn section(&self) -> Option<&str> {
        section(self.attributes()).map(|(section, _)| section)
    }

    /// Removes the section.
    pub(crate) fn remove_section(&mut self) -> Result<(), CudaBuilderError> {
        let Some((_, span)) = section(&self.text[self.attributes.clone()]) else {
            return Ok(());
        };
        let start = self.attributes.start;
        self.edit(start + span.start..start + span.end, "")
    }

    /// Adds an attribute to the function itself.
    pub(crate) fn add_attribute(&mut self, attribute: &str) -> Result<(), CudaBuilderError> {
        let list = &self.text[self.attributes.clone()];
        // LLVM expects attributes after `unnamed_addr` and before the section.
        let first = Lexer::new(list).find(|spanned| {
            let before = ["unnamed_addr", "local_unnamed_addr"];
            !matches!(spanned.token, Token::Word(word) if before.contains(&word))
        });
        let at = self.attributes.start + first.map_or(list.len(), |first| first.span.start);
        if at == self.attributes.end {
            self.edit(at..at, &format!(" {attribute}"))
        } else {
            self.edit(at..at, &format!("{attribute} "))
        }
    }

    /// Replaces the function's attribute group.
    pub(crate) fn set_group(&mut self, number: u32) -> Result<(), CudaBuilderError> {
        let start = self.attributes.start;
        match attributes::group(&self.text[self.attributes.clone()]) {
            Some((_, span)) => {
                self.edit(start + span.start..start + span.end, &format!("#{number}"))
            }
            None => self.add_attribute(&format!("#{number}")),
        }
    }

    fn edit(&mut self, range: Range<usize>, new: &str) -> Result<(), CudaBuilderError> {
        let mut text = self.text.to_string();
        text.replace_range(range, new);
        *self = Self::parse(Cow::Owned(text))?;
        Ok(())
    }
}

/// The section in a list of attributes, and the range to remove.
fn section(list: &str) -> Option<(&str, Range<usize>)> {
    let mut tokens = Lexer::new(list);
    let mut end = 0;
    loop {
        let spanned = tokens.next()?;
        if spanned.depth == 0 && spanned.token == Token::Word("section") {
            let name = tokens.next()?;
            return match name.token {
                Token::Text(section) => Some((section, end..name.span.end)),
                _ => None,
            };
        }
        end = spanned.span.end;
    }
}
