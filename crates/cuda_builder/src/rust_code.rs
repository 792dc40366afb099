//! Distinguishes attributes in Rust source from text that only mentions them.

use std::ops::Range;

/// The text with comments and literals blanked. Positions do not change.
pub(crate) fn code(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    while at < text.len() {
        let (start, end) = literal(text, at).unwrap_or((at, at));
        for byte in &mut bytes[start..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        // Skips a closing quote, or one character.
        at = end.max(at) + 1;
    }
    // Multi-byte characters are blanked completely or not at all.
    String::from_utf8(bytes).unwrap_or_default()
}

/// The range to blank if a comment or literal starts at `at`; its end is the closing quote.
fn literal(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let rest = &bytes[at..];
    let find = |pattern: &str, from: usize| {
        let found = text.get(from..)?.find(pattern)?;
        Some(from + found)
    };
    match rest {
        [b'/', b'/', ..] => Some((at, find("\n", at).unwrap_or(text.len()))),
        [b'/', b'*', ..] => Some((at, end_of_comment(bytes, at))),
        [b'r', ..]
            if !is_name(at.checked_sub(1).map(|before| bytes[before])) || b_before(bytes, at) =>
        {
            let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
            let quote = at + 1 + hashes;
            let closing = format!("\"{}", "#".repeat(hashes));
            (bytes.get(quote) == Some(&b'"'))
                .then(|| (quote + 1, find(&closing, quote + 1).unwrap_or(text.len())))
        }
        [b'"', ..] => Some((at + 1, end_of_quoted(bytes, at + 1, b'"'))),
        // Not a lifetime.
        [b'\'', b'\\', ..] => Some((at + 1, end_of_quoted(bytes, at + 1, b'\''))),
        [b'\'', ..] => {
            let character = text[at + 1..].chars().next()?.len_utf8();
            (bytes.get(at + 1 + character) == Some(&b'\'')).then_some((at + 1, at + 1 + character))
        }
        _ => None,
    }
}

fn is_name(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether there is a `br` or `cr` that is not part of a longer name.
fn b_before(bytes: &[u8], at: usize) -> bool {
    at > 0
        && matches!(bytes[at - 1], b'b' | b'c')
        && !is_name(at.checked_sub(2).map(|at| bytes[at]))
}

fn end_of_quoted(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            _ if byte == quote => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Comments nest.
fn end_of_comment(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < bytes.len() {
        match bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// The contents of each attribute that starts with `opening`: `#[` or `#![`.
pub(crate) fn attributes<'c>(
    code: &'c str,
    opening: &'c str,
) -> impl Iterator<Item = Range<usize>> + 'c {
    code.match_indices(opening)
        .filter_map(move |(at, opening)| {
            let start = at + opening.len();
            closing(code, start).map(|end| start..end)
        })
}

/// Position of the bracket that closes the one opened before `start`.
pub(crate) fn closing(code: &str, start: usize) -> Option<usize> {
    let mut depth = 1;
    let end = code.as_bytes()[start..].iter().position(|byte| {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    end.map(|offset| start + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(code(text), expected, "{text}");
    }

    #[test]
    fn comments_and_literals_are_blank_and_nothing_moves() {
        check("a // b \" \nc", "a        \nc");
        check("a /* b /* c */ \" */ d", "a                   d");
        check("f(\"a\\\"#[b]\", c)", "f(\"       \", c)");
        check("r#\"a\"b\"# c", "r#\"   \"# c");
        check("br\"\\\" c'", "br\" \" c'");
        check("for\"a\"", "for\" \"");
        check("'\"' '\\'' &'a b 'ä'", "' ' '  ' &'a b '  '");
        check("r#type + x.r", "r#type + x.r");
        check("\"open\n x", "\"    \n  ");
        check("'", "'");
        check("ä'ä", "ä'ä");
    }
}
