use super::lexer::{Lexer, Token};

/// Splits a text at its outermost commas and trims the pieces.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut tokens = Lexer::new(text);
    let mut start = Some(0);
    std::iter::from_fn(move || {
        let from = start?;
        let comma = tokens.find(|spanned| spanned.depth == 0 && spanned.token == Token::Mark(b','));
        start = comma.as_ref().map(|comma| comma.span.end);
        Some(text[from..comma.map_or(text.len(), |comma| comma.span.start)].trim())
    })
}
