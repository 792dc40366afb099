//! Global variables.

use std::borrow::Cow;
use std::ops::Range;

use super::lexer::{Lexer, Spanned, Token, type_end};
use super::unexpected;
use super::words::split;
use crate::error::CudaBuilderError;

/// `@x = internal constant [2 x i8] c"ab", section "s", align 1`.
#[derive(Clone, Debug)]
pub(crate) struct Global<'a> {
    text: Cow<'a, str>,
    /// Ranges of the symbol with its sigil, of `internal`, of `constant`, of the type, of the
    /// initialiser up to a comma, and of the rest.
    symbol: Range<usize>,
    linkage: Range<usize>,
    keyword: Range<usize>,
    ty: Range<usize>,
    initialiser: Range<usize>,
    rest: Range<usize>,
}

impl<'a> Global<'a> {
    pub(super) fn parse(text: Cow<'a, str>) -> Result<Self, CudaBuilderError> {
        let malformed = || unexpected("a global variable of another form", text.trim());
        let mut tokens = Lexer::new(&text);
        let symbol = tokens.next().ok_or_else(malformed)?.span;
        let equals = tokens
            .next()
            .filter(|spanned| spanned.token == Token::Mark(b'='))
            .ok_or_else(malformed)?;
        let keyword = tokens
            .find(|Spanned { token, depth, .. }| {
                *depth == 0
                    && matches!(
                        token,
                        Token::Word("global" | "constant" | "alias" | "ifunc")
                    )
            })
            .ok_or_else(malformed)?
            .span;
        let ty_end = type_end(&text, keyword.end).ok_or_else(malformed)?;
        let (mut comma, mut end, mut depth) = (None, ty_end, 0);
        for Spanned {
            token,
            span,
            depth: outside,
        } in Lexer::from(&text, ty_end)
        {
            depth = outside;
            match token {
                Token::Unknown => return Err(malformed()),
                Token::Mark(b'(' | b'[' | b'{' | b'<') => depth += 1,
                Token::Mark(b',') if outside == 0 && comma.is_none() => comma = Some(span.start),
                _ => {}
            }
            end = span.end;
        }
        if depth > 0 {
            return Err(malformed());
        }
        let comma = comma.unwrap_or(end);
        Ok(Global {
            symbol,
            linkage: equals.span.end..keyword.start,
            ty: keyword.end..ty_end,
            keyword,
            initialiser: ty_end..comma,
            rest: comma..end,
            text,
        })
    }

    pub(super) fn source(&self) -> &str {
        &self.text
    }

    /// The definition without surrounding comments.
    pub(crate) fn text(&self) -> &str {
        &self.text[self.symbol.start..self.rest.end]
    }

    /// The variable's name.
    pub(crate) fn name(&self) -> &str {
        super::lexer::globals(self.symbol())
            .next()
            .unwrap_or_default()
    }

    /// The name with its sigil, quoted if necessary.
    pub(crate) fn symbol(&self) -> &str {
        &self.text[self.symbol.clone()]
    }

    /// The text before `global` or `constant`: `private unnamed_addr`, or empty.
    pub(crate) fn linkage(&self) -> &str {
        self.text[self.linkage.clone()].trim()
    }

    /// `global`, `constant`, `alias` or `ifunc`.
    pub(crate) fn keyword(&self) -> &str {
        &self.text[self.keyword.clone()]
    }

    /// The type.
    pub(crate) fn ty(&self) -> &str {
        self.text[self.ty.clone()].trim()
    }

    /// The initialiser; empty for an external variable.
    pub(crate) fn initialiser(&self) -> &str {
        self.text[self.initialiser.clone()].trim()
    }

    /// The variable's section.
    pub(crate) fn section(&self) -> Option<&str> {
        self.properties()
            .find_map(|property| property.strip_prefix("section \"")?.strip_suffix('"'))
    }

    /// The alignment, if given.
    pub(crate) fn alignment(&self) -> Option<u32> {
        self.properties()
            .find_map(|property| property.strip_prefix("align ")?.parse().ok())
    }

    /// The properties after the initialiser: `section "s"`, `align 1`, `!dbg !7`.
    pub(crate) fn properties(&self) -> impl Iterator<Item = &str> {
        split(&self.text[self.rest.clone()]).filter(|property| !property.is_empty())
    }

    /// The tokens of the initialiser.
    pub(crate) fn tokens(&self) -> Lexer<'_> {
        Lexer::new(self.initialiser())
    }

    /// The symbols that the initialiser and the properties mention.
    pub(crate) fn globals(&self) -> impl Iterator<Item = &str> {
        super::lexer::globals(&self.text[self.keyword.end..self.rest.end])
    }

    /// Replaces the definition: the text from the symbol on, without the line ending.
    pub(crate) fn replace(&mut self, definition: &str) -> Result<(), CudaBuilderError> {
        let (start, end) = (self.symbol.start, self.rest.end);
        let text = format!("{}{definition}{}", &self.text[..start], &self.text[end..]);
        *self = Self::parse(Cow::Owned(text))?;
        Ok(())
    }
}
