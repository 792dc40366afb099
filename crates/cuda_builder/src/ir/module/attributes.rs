//! Attribute groups: `attributes #7 = { convergent nounwind }`.

use std::borrow::Cow;

use super::lexer::{Lexer, Token};
use super::unexpected;
use crate::error::CudaBuilderError;

/// A group, which functions and calls refer to by number.
#[derive(Clone, Debug)]
pub(crate) struct Attributes<'a> {
    text: Cow<'a, str>,
    number: u32,
    /// Range of the attributes in the text.
    start: usize,
    end: usize,
}

impl<'a> Attributes<'a> {
    pub(super) fn parse(text: Cow<'a, str>) -> Result<Self, CudaBuilderError> {
        let malformed = || unexpected("an attribute group of another form", text.trim());
        let mut tokens = Lexer::new(&text);
        tokens.next();
        let number = match tokens.next().map(|spanned| spanned.token) {
            Some(Token::Group(number)) => number.parse().ok(),
            _ => None,
        };
        let equals = tokens.next().map(|spanned| spanned.token);
        let open = tokens.next().map(|spanned| (spanned.token, spanned.span));
        let close = tokens
            .find(|spanned| spanned.depth == 0)
            .map(|spanned| (spanned.token, spanned.span));
        match (number, equals, open, close, tokens.next()) {
            (
                Some(number),
                Some(Token::Mark(b'=')),
                Some((Token::Mark(b'{'), open)),
                Some((Token::Mark(b'}'), close)),
                None,
            ) => Ok(Attributes {
                number,
                start: open.end,
                end: close.start,
                text,
            }),
            _ => Err(malformed()),
        }
    }

    /// The number by which functions and calls refer to it.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(super) fn source(&self) -> &str {
        &self.text
    }

    /// The attributes as text: `convergent nounwind "target-cpu"="sm_80"`.
    pub(crate) fn list(&self) -> &str {
        self.text[self.start..self.end].trim()
    }

    /// Whether the group contains this one-word attribute.
    pub(crate) fn has(&self, attribute: &str) -> bool {
        has(self.list(), attribute)
    }

    /// Adds an attribute at the front.
    pub(crate) fn prepend(&mut self, attribute: &str) {
        let attribute = format!(" {attribute}");
        self.text.to_mut().insert_str(self.start, &attribute);
        self.end += attribute.len();
    }
}

/// Whether a list of attributes contains this word.
pub(crate) fn has(list: &str, attribute: &str) -> bool {
    Lexer::new(list).any(|spanned| spanned.depth == 0 && spanned.token == Token::Word(attribute))
}

/// The number of the group in a list, and the position of its `#7`.
pub(super) fn group(list: &str) -> Option<(u32, std::ops::Range<usize>)> {
    Lexer::new(list).find_map(|spanned| match spanned.token {
        Token::Group(number) if spanned.depth == 0 => Some((number.parse().ok()?, spanned.span)),
        _ => None,
    })
}
