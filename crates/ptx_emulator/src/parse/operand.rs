use super::MAX_DEPTH;
use super::ast::{Base, Operand};
use super::constant::{Constant, constant, integer, offset};
use super::lexer::{Lexer, Token};
use crate::error::ParseError;

/// `a, b, c` up to, but not including, the mark that ends the list. With `groups`, `(a, b)` is a
/// group as in a call; elsewhere parentheses are those of a constant expression.
pub(super) fn list<'a>(
    lexer: &mut Lexer<'a>,
    end: char,
    depth: usize,
    groups: bool,
) -> Result<Vec<Operand<'a>>, ParseError> {
    let mut operands = Vec::new();
    if lexer.peek()? == Token::Mark(end) {
        return Ok(operands);
    }
    loop {
        operands.push(operand(lexer, depth, groups)?);
        if !lexer.accept(',')? {
            return Ok(operands);
        }
    }
}

fn operand<'a>(
    lexer: &mut Lexer<'a>,
    depth: usize,
    groups: bool,
) -> Result<Operand<'a>, ParseError> {
    if depth > MAX_DEPTH {
        return Err(ParseError::limit(
            lexer.line(),
            "operands are nested too deep",
        ));
    }
    lexer.grow(1)?;
    match lexer.peek()? {
        Token::Word("WARP_SZ") | Token::Number(_) | Token::Mark('-' | '+' | '~') => {
            return Ok(value(constant(lexer)?));
        }
        // Only calls have groups, and they read them themselves.
        Token::Mark('(') if !groups => return Ok(value(constant(lexer)?)),
        Token::Mark('!') => return negated(lexer),
        _ => {}
    }
    match lexer.next()? {
        Token::Word(name) => named(lexer, name),
        Token::Mark('{') => {
            let parts = list(lexer, '}', depth + 1, false)?;
            lexer.expect('}')?;
            Ok(if lexer.accept('|')? {
                Operand::Tagged(parts, lexer.word()?)
            } else {
                Operand::Vector(parts)
            })
        }
        Token::Mark('(') => {
            let parts = list(lexer, ')', depth + 1, false)?;
            lexer.expect(')')?;
            Ok(Operand::Group(parts))
        }
        Token::Mark('[') => address(lexer, depth),
        found => Err(lexer.unexpected(found, "an operand")),
    }
}

/// `!%p1`, or a constant such as `!0`.
fn negated<'a>(lexer: &mut Lexer<'a>) -> Result<Operand<'a>, ParseError> {
    let begin = lexer.clone();
    lexer.next()?;
    match lexer.peek()? {
        Token::Word(name) if name != "WARP_SZ" => {
            lexer.next()?;
            Ok(Operand::Not(name))
        }
        _ => {
            *lexer = begin;
            Ok(value(constant(lexer)?))
        }
    }
}

fn value<'a>(constant: Constant) -> Operand<'a> {
    match constant {
        Constant::Signed(value) => Operand::Int(value as u64),
        Constant::Unsigned(value) => Operand::Int(value),
        Constant::Single(bits) => Operand::F32(bits),
        Constant::Double(value) => Operand::F64(value.to_bits()),
    }
}

fn named<'a>(lexer: &mut Lexer<'a>, name: &'a str) -> Result<Operand<'a>, ParseError> {
    if lexer.accept('|')? {
        return Ok(Operand::Pair(name, lexer.word()?));
    }
    if lexer.peek()? == Token::Mark('[') {
        let form = format!("an element of `{name}` as an operand");
        return Err(ParseError::unsupported(lexer.line(), form));
    }
    Ok(match offset(lexer)? {
        Some(offset) => Operand::Offset(name, offset),
        None => Operand::Name(name),
    })
}

fn address<'a>(lexer: &mut Lexer<'a>, depth: usize) -> Result<Operand<'a>, ParseError> {
    let (base, offset) = match lexer.peek()? {
        Token::Word(name) => {
            lexer.next()?;
            (Base::Name(name), offset(lexer)?.unwrap_or(0))
        }
        _ => {
            let address = constant(lexer)?;
            (Base::Absolute(integer(lexer, address)?), 0)
        }
    };
    if lexer.accept(',')? {
        let parts = list(lexer, ']', depth + 1, false)?;
        lexer.expect(']')?;
        return Ok(Operand::Indexed(base, offset, parts));
    }
    lexer.expect(']')?;
    Ok(Operand::Address(base, offset))
}
