//! Lexer for LLVM IR.

use std::ops::Range;

/// A token of IR. Names are without sigil and quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// `%3`, `%"a b"`: a value, a block's label, or a named type (see [`is_type`]).
    Local(&'a str),
    /// `@f`, `@"a b"`.
    Global(&'a str),
    /// `!7`, `!dbg`; empty in `!{…}` and `!"text"`.
    Metadata(&'a str),
    /// `#7`: an attribute group; a debug record's name, such as `#dbg_value`.
    Group(&'a str),
    /// A keyword, a type, a number.
    Word(&'a str),
    /// `"…"` as written: LLVM escapes as `\22`.
    Text(&'a str),
    /// One of `()[]{}<>,=:*|`.
    Mark(u8),
    /// Anything else, such as an unterminated string.
    Unknown,
}

/// A token with its position.
#[derive(Clone, Debug)]
pub(crate) struct Spanned<'a> {
    pub(crate) token: Token<'a>,
    pub(crate) span: Range<usize>,
    /// Number of brackets open around the token; a bracket is itself outside.
    pub(crate) depth: usize,
}

/// Produces tokens from left to right, skipping spaces and comments.
#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self::from(text, 0)
    }

    /// Starts at a byte of the text, between two tokens; spans are relative to the text's start.
    pub(crate) fn from(text: &'a str, at: usize) -> Self {
        Lexer { text, at, depth: 0 }
    }

    fn word(&self, from: usize) -> &'a str {
        let rest = &self.text.as_bytes()[from..];
        let length = rest
            .iter()
            .position(|&byte| !is_name(byte))
            .unwrap_or(rest.len());
        &self.text[from..from + length]
    }

    /// The text between a quote at `from` and the next one.
    fn quoted(&self, from: usize) -> Option<&'a str> {
        let rest = &self.text[from + 1..];
        rest.as_bytes()
            .iter()
            .position(|&byte| byte == b'"')
            .map(|length| &rest[..length])
    }

    /// The name after a sigil, and its end.
    fn name(&self, from: usize) -> Option<(&'a str, usize)> {
        if self.text.as_bytes().get(from) != Some(&b'"') {
            let name = self.word(from);
            return (!name.is_empty()).then_some((name, from + name.len()));
        }
        // `%"7"` differs from `%7`, but would have the same name here.
        let name = self.quoted(from)?;
        let is_plain = !name.is_empty() && !name.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then_some((name, from + name.len() + 2))
    }

    /// The token at the current byte, and its end.
    fn token(&self) -> (Token<'a>, usize) {
        let at = self.at;
        let named = |make: fn(&'a str) -> Token<'a>| match self.name(at + 1) {
            Some((name, end)) => (make(name), end),
            None => (Token::Unknown, self.text.len()),
        };
        match self.text.as_bytes()[at] {
            b'%' => named(Token::Local),
            b'@' => named(Token::Global),
            b'#' => named(Token::Group),
            b'!' => {
                let name = self.word(at + 1);
                (Token::Metadata(name), at + 1 + name.len())
            }
            b'"' => match self.quoted(at) {
                Some(text) => (Token::Text(text), at + text.len() + 2),
                None => (Token::Unknown, self.text.len()),
            },
            byte if is_name(byte) => {
                let word = self.word(at);
                (Token::Word(word), at + word.len())
            }
            byte if b"()[]{}<>,=:*|".contains(&byte) => (Token::Mark(byte), at + 1),
            _ => (Token::Unknown, self.text.len()),
        }
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Spanned<'a>;

    #[inline]
    fn next(&mut self) -> Option<Spanned<'a>> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                b';' => {
                    let rest = &bytes[self.at..];
                    self.at += rest
                        .iter()
                        .position(|&byte| byte == b'\n')
                        .unwrap_or(rest.len());
                }
                _ => break,
            }
        }
        let (mut token, end) = self.token();
        let mut depth = self.depth;
        match token {
            Token::Mark(b'(' | b'[' | b'{' | b'<') => self.depth += 1,
            Token::Mark(b')' | b']' | b'}' | b'>') => match self.depth.checked_sub(1) {
                Some(outside) => (self.depth, depth) = (outside, outside),
                None => token = Token::Unknown,
            },
            _ => {}
        }
        let span = self.at..end;
        self.at = end;
        Some(Spanned { token, span, depth })
    }
}

pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'$' | b'.' | b'_' | b'+')
}

/// Whether a local name is a type's: libdevice's types are named as in clang, and no value is.
pub(crate) fn is_type(local: &str) -> bool {
    ["struct.", "class.", "union."]
        .iter()
        .any(|kind| local.starts_with(kind))
}

/// The end of the type that starts at `from`.
pub(super) fn type_end(text: &str, from: usize) -> Option<usize> {
    let mut tokens = Lexer::from(text, from);
    let first = tokens.next()?;
    match first.token {
        Token::Mark(b'[' | b'{' | b'<') => {
            Some(tokens.find(|spanned| spanned.depth == 0)?.span.end)
        }
        Token::Word("ptr") => {
            let space = tokens.next().map(|spanned| spanned.token);
            if space != Some(Token::Word("addrspace")) {
                return Some(first.span.end);
            }
            let close = tokens.find(|spanned| spanned.token == Token::Mark(b')'))?;
            Some(close.span.end)
        }
        Token::Word(_) | Token::Local(_) => Some(first.span.end),
        _ => None,
    }
}

/// The names of the global symbols in a text.
pub(crate) fn globals(text: &str) -> impl Iterator<Item = &str> {
    // Most texts mention none and are long.
    let text = if text.contains('@') { text } else { "" };
    Lexer::new(text).filter_map(|spanned| match spanned.token {
        Token::Global(name) => Some(name),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[Token<'_>]) {
        let found: Vec<_> = Lexer::new(text).map(|spanned| spanned.token).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn names_are_without_sigil_and_quotes() {
        check(
            "%3 %.i %\"a b\" @f.b$c @\"d e\" #4 !dbg !5 !{",
            &[
                Token::Local("3"),
                Token::Local(".i"),
                Token::Local("a b"),
                Token::Global("f.b$c"),
                Token::Global("d e"),
                Token::Group("4"),
                Token::Metadata("dbg"),
                Token::Metadata("5"),
                Token::Metadata(""),
                Token::Mark(b'{'),
            ],
        );
    }

    #[test]
    fn strings_and_comments_hold_no_names() {
        check(
            "c\"@no\\00\", 1.0e+00 ; @no\n...",
            &[
                Token::Word("c"),
                Token::Text("@no\\00"),
                Token::Mark(b','),
                Token::Word("1.0e+00"),
                Token::Word("..."),
            ],
        );
    }

    #[test]
    fn what_is_not_understood_is_unknown() {
        for text in ["\"open", "%\"7\"", "% 1", "ä", ")", "@"] {
            assert_eq!(
                Lexer::new(text).next().map(|spanned| spanned.token),
                Some(Token::Unknown),
                "{text}"
            );
        }
    }

    #[test]
    fn brackets_stand_outside_of_what_they_enclose() {
        let depths: Vec<_> = Lexer::new("a ( b [ c ] )")
            .map(|spanned| spanned.depth)
            .collect();
        assert_eq!(depths, [0, 0, 1, 1, 2, 1, 0]);
    }
}
