use super::MAX_NODES;
use crate::error::ParseError;

/// A token of PTX. A word may start with a dot (directive) and contain dots (opcode with
/// modifiers).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    Number(&'a str),
    Text(&'a str),
    Mark(char),
    End,
}

/// Splits a text into tokens, with one token of look-ahead. A clone reads the same tokens again.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    at_line: u32,
    peeked: Option<(Token<'a>, u32)>,
    token_line: u32,
    nodes: u32,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            at_line: 1,
            peeked: None,
            token_line: 1,
            nodes: 0,
        }
    }

    /// Counts nodes of the syntax tree, whose size is limited.
    pub(super) fn grow(&mut self, nodes: u32) -> Result<(), ParseError> {
        self.nodes += nodes;
        if self.nodes <= MAX_NODES {
            return Ok(());
        }
        let message = "more than 32 million statements, operands and initial values";
        Err(ParseError::limit(self.token_line, message))
    }

    #[cfg(test)]
    pub(super) fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The line of the last token.
    pub(super) fn line(&self) -> u32 {
        self.token_line
    }

    pub(super) fn next(&mut self) -> Result<Token<'a>, ParseError> {
        let (token, line) = match self.peeked.take() {
            Some(peeked) => peeked,
            None => self.read()?,
        };
        self.token_line = line;
        Ok(token)
    }

    pub(super) fn peek(&mut self) -> Result<Token<'a>, ParseError> {
        match self.peeked {
            Some((token, _)) => Ok(token),
            None => {
                let read = self.read()?;
                self.peeked = Some(read);
                Ok(read.0)
            }
        }
    }

    /// Consumes the next token if it is this mark.
    pub(super) fn accept(&mut self, mark: char) -> Result<bool, ParseError> {
        let found = self.peek()? == Token::Mark(mark);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    /// Consumes the next token if it is this word.
    pub(super) fn accept_word(&mut self, word: &str) -> Result<bool, ParseError> {
        let found = self.peek()? == Token::Word(word);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    pub(super) fn expect(&mut self, mark: char) -> Result<(), ParseError> {
        let found = self.next()?;
        if found == Token::Mark(mark) {
            Ok(())
        } else {
            Err(self.unexpected(found, &format!("`{mark}`")))
        }
    }

    pub(super) fn word(&mut self) -> Result<&'a str, ParseError> {
        match self.next()? {
            Token::Word(word) => Ok(word),
            found => Err(self.unexpected(found, "a name")),
        }
    }

    /// An unsigned decimal, octal, hexadecimal or binary number.
    pub(super) fn integer(&mut self) -> Result<u64, ParseError> {
        match self.next()? {
            Token::Number(digits) => self.parse_integer(digits),
            found => Err(self.unexpected(found, "a number")),
        }
    }

    pub(super) fn integer_u32(&mut self) -> Result<u32, ParseError> {
        let value = self.integer()?;
        u32::try_from(value)
            .map_err(|_| ParseError::syntax(self.token_line, format!("{value} is too large here")))
    }

    pub(super) fn parse_integer(&self, digits: &str) -> Result<u64, ParseError> {
        let bare = digits.trim_end_matches(['u', 'U']);
        let radix = |prefix: [&str; 2]| prefix.iter().find_map(|p| bare.strip_prefix(p));
        let parsed = if let Some(hex) = radix(["0x", "0X"]) {
            u64::from_str_radix(hex, 16)
        } else if let Some(binary) = radix(["0b", "0B"]) {
            u64::from_str_radix(binary, 2)
        } else if bare.len() > 1 && bare.starts_with('0') {
            u64::from_str_radix(&bare[1..], 8)
        } else {
            bare.parse()
        };
        parsed.map_err(|_| {
            ParseError::syntax(
                self.token_line,
                format!("`{digits}` is not an integer of 64 bits"),
            )
        })
    }

    /// Reads decimal numbers, each followed by a comma, as far as there are any.
    ///
    /// Valid only if no token has been peeked.
    pub(super) fn decimals(&mut self, mut each: impl FnMut(u64)) -> Result<(), ParseError> {
        loop {
            let bytes = &self.text.as_bytes()[self.at..];
            let blanks = bytes.iter().take_while(|&&byte| byte == b' ').count();
            let digits = &bytes[blanks..];
            let count = digits
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            // A leading zero makes it octal. Numbers of 18 digits fit.
            let is_decimal = count == 1 || (2..=18).contains(&count) && digits[0] != b'0';
            if !is_decimal || digits.get(count) != Some(&b',') {
                return Ok(());
            }
            self.grow(1)?;
            self.at += blanks + count + 1;
            let digits = digits[..count].iter();
            each(digits.fold(0, |value, digit| 10 * value + u64::from(digit - b'0')));
        }
    }

    /// Skips tokens up to and including the next of these marks outside braces; a brace group
    /// counts as one token. `each` is called for each token.
    pub(super) fn skip_past(
        &mut self,
        ends: &[char],
        mut each: impl FnMut(Token<'a>),
    ) -> Result<(), ParseError> {
        let mut depth = 0_u32;
        loop {
            let token = self.next()?;
            match token {
                Token::Mark('{') => depth += 1,
                Token::Mark('}') if depth > 0 => depth -= 1,
                Token::Mark('}') | Token::End => return Err(self.unexpected(token, "`;`")),
                _ => {}
            }
            each(token);
            if matches!(token, Token::Mark(mark) if depth == 0 && ends.contains(&mark)) {
                return Ok(());
            }
        }
    }

    /// Skips the rest of the line of the last token.
    ///
    /// Valid only if no token has been peeked.
    pub(super) fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    /// The comment at the end of the last token's line; empty if there is none.
    ///
    /// Valid only if no token has been peeked: callers parse a directive's name and then call this.
    pub(super) fn comment_of_line(&self) -> &'a str {
        let rest = &self.text[self.at..];
        let line = rest.split_once('\n').map_or(rest, |(line, _)| line);
        line.split_once("//")
            .map_or("", |(_, comment)| comment.trim())
    }

    pub(super) fn unexpected(&self, found: Token<'_>, wanted: &str) -> ParseError {
        let found = match found {
            Token::Word(text) | Token::Number(text) => format!("`{text}`"),
            Token::Text(text) => format!("\"{text}\""),
            Token::Mark(mark) => format!("`{mark}`"),
            Token::End => "the end of the text".to_owned(),
        };
        ParseError::syntax(self.token_line, format!("expected {wanted}, found {found}"))
    }

    fn read(&mut self) -> Result<(Token<'a>, u32), ParseError> {
        self.skip_blank()?;
        let line = self.at_line;
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else {
            return Ok((Token::End, line));
        };
        let (token, length) = if first == '"' {
            let end = rest[1..]
                .find(['"', '\n'])
                .filter(|&end| rest[1 + end..].starts_with('"'));
            let end =
                end.ok_or_else(|| ParseError::syntax(line, "a string without its closing quote"))?;
            (Token::Text(&rest[1..1 + end]), end + 2)
        } else if first.is_ascii_digit() || is_fraction(rest) {
            let end = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
                .unwrap_or(rest.len());
            (Token::Number(&rest[..end]), end)
        } else if is_word(first) {
            let end = word_length(rest);
            (Token::Word(&rest[..end]), end)
        } else {
            (Token::Mark(first), first.len_utf8())
        };
        self.at += length;
        Ok((token, line))
    }

    fn skip_blank(&mut self) -> Result<(), ParseError> {
        loop {
            let rest = &self.text[self.at..];
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/");
                let end = end
                    .ok_or_else(|| ParseError::syntax(self.at_line, "a comment without its end"))?;
                self.at_line += comment[..end].matches('\n').count() as u32;
                self.at += end + 4;
            } else {
                match rest.as_bytes().first() {
                    // Kernels that a text leaves out are thousands of empty lines.
                    Some(b'\n') => {
                        let lines = rest.bytes().take_while(|&byte| byte == b'\n').count();
                        self.at_line += lines as u32;
                        self.at += lines;
                        continue;
                    }
                    Some(b' ' | b'\t' | b'\r' | 0x0c | 0x0b) => {}
                    // Some tools terminate the text with a zero byte.
                    Some(0) if rest.len() == 1 => {}
                    _ => return Ok(()),
                }
                self.at += 1;
            }
        }
    }
}

/// `.5`
fn is_fraction(text: &str) -> bool {
    text.starts_with('.') && text[1..].starts_with(|c: char| c.is_ascii_digit())
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}

/// Words include `::` between letters, as in `.shared::cta`. A directive ends where the next one
/// starts: `.reg.b32`.
fn word_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let directive = text.starts_with('.');
    let mut at = 0;
    while at < bytes.len() {
        if directive && at > 0 && bytes[at] == b'.' {
            break;
        }
        if is_word(char::from(bytes[at])) {
            at += 1;
        } else if bytes[at..].starts_with(b"::")
            && bytes.get(at + 2).is_some_and(u8::is_ascii_alphanumeric)
        {
            at += 2;
        } else {
            break;
        }
    }
    at
}
