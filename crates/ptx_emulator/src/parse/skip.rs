use super::lexer::{Lexer, Token};
use crate::error::ParseError;
use crate::fault::Space;

pub(super) fn skip_statement(lexer: &mut Lexer<'_>) -> Result<(), ParseError> {
    loop {
        match lexer.next()? {
            Token::Mark(';') => return Ok(()),
            Token::End => return Err(lexer.unexpected(Token::End, "`;`")),
            _ => {}
        }
    }
}

pub(super) fn space(word: &str) -> Option<Space> {
    Some(match word {
        ".global" => Space::Global,
        ".const" => Space::Const,
        ".shared" => Space::Shared,
        ".local" => Space::Local,
        ".param" => Space::Param,
        _ => return None,
    })
}
