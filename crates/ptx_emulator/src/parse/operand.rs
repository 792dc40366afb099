use super::MAX_DEPTH;
use super::ast::{Base, Operand};
use super::lexer::{Lexer, Token};
use crate::error::ParseError;

/// `a, b, c` up to, but not including, the mark that ends the list.
pub(super) fn list<'a>(
    lexer: &mut Lexer<'a>,
    end: char,
    depth: usize,
) -> Result<Vec<Operand<'a>>, ParseError> {
    let mut operands = Vec::new();
    if lexer.peek()? == Token::Mark(end) {
        return Ok(operands);
    }
    loop {
        operands.push(operand(lexer, depth)?);
        if !lexer.accept(',')? {
            return Ok(operands);
        }
    }
}

fn operand<'a>(lexer: &mut Lexer<'a>, depth: usize) -> Result<Operand<'a>, ParseError> {
    if depth > MAX_DEPTH {
        return Err(ParseError::limit(
            lexer.line(),
            "operands are nested too deep",
        ));
    }
    lexer.grow(1)?;
    match lexer.next()? {
        Token::Word(name) => named(lexer, name),
        Token::Number(digits) => number(lexer, digits, false),
        Token::Mark('-') => match lexer.next()? {
            Token::Number(digits) => number(lexer, digits, true),
            found => Err(lexer.unexpected(found, "a number")),
        },
        Token::Mark('!') => Ok(Operand::Not(lexer.word()?)),
        Token::Mark('{') => {
            let parts = list(lexer, '}', depth + 1)?;
            lexer.expect('}')?;
            Ok(if lexer.accept('|')? {
                Operand::Tagged(parts, lexer.word()?)
            } else {
                Operand::Vector(parts)
            })
        }
        Token::Mark('(') => {
            let parts = list(lexer, ')', depth + 1)?;
            lexer.expect(')')?;
            Ok(Operand::Group(parts))
        }
        Token::Mark('[') => address(lexer, depth),
        found => Err(lexer.unexpected(found, "an operand")),
    }
}

fn named<'a>(lexer: &mut Lexer<'a>, name: &'a str) -> Result<Operand<'a>, ParseError> {
    if lexer.accept('|')? {
        return Ok(Operand::Pair(name, lexer.word()?));
    }
    Ok(match offset(lexer)? {
        Some(offset) => Operand::Offset(name, offset),
        None => Operand::Name(name),
    })
}

fn address<'a>(lexer: &mut Lexer<'a>, depth: usize) -> Result<Operand<'a>, ParseError> {
    let base = match lexer.next()? {
        Token::Word(name) => Base::Name(name),
        Token::Number(digits) => Base::Absolute(lexer.parse_integer(digits)?),
        found => return Err(lexer.unexpected(found, "an address")),
    };
    let offset = offset(lexer)?.unwrap_or(0);
    if lexer.accept(',')? {
        let parts = list(lexer, ']', depth + 1)?;
        lexer.expect(']')?;
        return Ok(Operand::Indexed(base, offset, parts));
    }
    lexer.expect(']')?;
    Ok(Operand::Address(base, offset))
}

/// `+4`, `-4`, `+-4` or several of them, if present.
pub(super) fn offset(lexer: &mut Lexer<'_>) -> Result<Option<i64>, ParseError> {
    let mut sum = None;
    loop {
        let plus = lexer.accept('+')?;
        let negative = lexer.accept('-')?;
        if !plus && !negative {
            return Ok(sum);
        }
        let value = lexer.integer()? as i64;
        let value = if negative {
            value.wrapping_neg()
        } else {
            value
        };
        sum = Some(sum.unwrap_or(0_i64).wrapping_add(value));
    }
}

/// An integer (wrapped to 64 bits), or the bits of a float: `0f3F800000`, `0d3FF0000000000000`, `1.5`.
pub(super) fn number<'a>(
    lexer: &Lexer<'_>,
    digits: &str,
    negative: bool,
) -> Result<Operand<'a>, ParseError> {
    let bits = |hex: &str, length: usize| {
        let valid = hex.len() == length;
        u64::from_str_radix(hex, 16)
            .ok()
            .filter(|_| valid)
            .ok_or_else(|| {
                ParseError::syntax(
                    lexer.line(),
                    format!("`{digits}` needs exactly {length} hexadecimal digits"),
                )
            })
    };
    let rest = digits.get(2..).unwrap_or_default();
    match digits.get(..2) {
        Some("0f" | "0F") => Ok(Operand::F32(
            bits(rest, 8)? as u32 ^ (u32::from(negative) << 31),
        )),
        Some("0d" | "0D") => Ok(Operand::F64(bits(rest, 16)? ^ (u64::from(negative) << 63))),
        Some("0x" | "0X") => integer(lexer, digits, negative),
        _ if digits.contains(['.', 'e', 'E']) => {
            let parsed: Result<f64, _> = digits.parse();
            let value = parsed.map_err(|_| {
                ParseError::syntax(lexer.line(), format!("`{digits}` is not a number"))
            })?;
            Ok(Operand::F64(
                if negative { -value } else { value }.to_bits(),
            ))
        }
        _ => integer(lexer, digits, negative),
    }
}

fn integer<'a>(lexer: &Lexer<'_>, digits: &str, negative: bool) -> Result<Operand<'a>, ParseError> {
    let value = lexer.parse_integer(digits)?;
    Ok(Operand::Int(if negative {
        value.wrapping_neg()
    } else {
        value
    }))
}
