//! Constant expressions: integers of 64 bits with C's operators, and floats.

use super::MAX_DEPTH;
use super::lexer::{Lexer, Token};
use crate::error::ParseError;

/// A value known when the text is parsed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    Signed(i64),
    Unsigned(u64),
    /// `0f…`
    Single(u32),
    /// `0d…` or a decimal
    Double(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Times,
    Over,
    Remainder,
    Plus,
    Minus,
    Left,
    Right,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Xor,
    Or,
    BothTrue,
    EitherTrue,
}

impl Operator {
    /// Higher binds tighter.
    fn precedence(self) -> u8 {
        use Operator as O;
        match self {
            O::Times | O::Over | O::Remainder => 10,
            O::Plus | O::Minus => SUM,
            O::Left | O::Right => 8,
            O::Less | O::LessOrEqual | O::Greater | O::GreaterOrEqual => 7,
            O::Equal | O::NotEqual => 6,
            O::And => 5,
            O::Xor => 4,
            O::Or => 3,
            O::BothTrue => 2,
            O::EitherTrue => 1,
        }
    }
}

const SUM: u8 = 9;

/// Parses an expression.
pub(super) fn constant(lexer: &mut Lexer<'_>) -> Result<Constant, ParseError> {
    expression(lexer, 0)
}

/// `+4*2-8`, added to a name or an address; `None` if nothing is added.
pub(super) fn offset(lexer: &mut Lexer<'_>) -> Result<Option<i64>, ParseError> {
    if !matches!(lexer.peek()?, Token::Mark('+' | '-')) {
        return Ok(None);
    }
    let sum = binary(lexer, Constant::Signed(0), SUM, 0)?;
    Ok(Some(integer(lexer, sum)? as i64))
}

/// The bits of an integer; a float is a mistake.
pub(super) fn integer(lexer: &Lexer<'_>, value: Constant) -> Result<u64, ParseError> {
    match value {
        Constant::Signed(value) => Ok(value as u64),
        Constant::Unsigned(value) => Ok(value),
        _ => Err(mistake(lexer, "an integer is needed here, not a float")),
    }
}

fn mistake(lexer: &Lexer<'_>, message: &str) -> ParseError {
    ParseError::syntax(lexer.line(), message)
}

fn expression(lexer: &mut Lexer<'_>, depth: usize) -> Result<Constant, ParseError> {
    if depth > MAX_DEPTH {
        let message = "a constant expression is nested too deep";
        return Err(ParseError::limit(lexer.line(), message));
    }
    let first = unary(lexer, depth)?;
    let condition = binary(lexer, first, 0, depth)?;
    if !lexer.accept('?')? {
        return Ok(condition);
    }
    let yes = expression(lexer, depth + 1)?;
    lexer.expect(':')?;
    let no = expression(lexer, depth + 1)?;
    let chosen = if integer(lexer, condition)? != 0 {
        yes
    } else {
        no
    };
    Ok(match (chosen, yes, no) {
        (Constant::Signed(value), _, Constant::Unsigned(_))
        | (Constant::Signed(value), Constant::Unsigned(_), _) => Constant::Unsigned(value as u64),
        _ => chosen,
    })
}

/// Applies the operators that follow `left` and bind at least as tightly as `lowest`.
fn binary(
    lexer: &mut Lexer<'_>,
    mut left: Constant,
    lowest: u8,
    depth: usize,
) -> Result<Constant, ParseError> {
    loop {
        let begin = lexer.clone();
        let operator = operator(lexer)?.filter(|operator| operator.precedence() >= lowest);
        let Some(operator) = operator else {
            *lexer = begin;
            return Ok(left);
        };
        let right = unary(lexer, depth)?;
        let right = binary(lexer, right, operator.precedence() + 1, depth)?;
        left = apply(lexer, operator, left, right)?;
    }
}

fn operator(lexer: &mut Lexer<'_>) -> Result<Option<Operator>, ParseError> {
    use Operator as O;
    let first = match lexer.peek()? {
        Token::Mark(mark @ ('*' | '/' | '+' | '-' | '<' | '>' | '=' | '!' | '&' | '^' | '|')) => {
            mark
        }
        Token::Word("%") => '%',
        _ => return Ok(None),
    };
    lexer.next()?;
    Ok(Some(match first {
        '*' => O::Times,
        '/' => O::Over,
        '%' => O::Remainder,
        '+' => O::Plus,
        '-' => O::Minus,
        '<' if lexer.accept('<')? => O::Left,
        '<' if lexer.accept('=')? => O::LessOrEqual,
        '<' => O::Less,
        '>' if lexer.accept('>')? => O::Right,
        '>' if lexer.accept('=')? => O::GreaterOrEqual,
        '>' => O::Greater,
        '=' if lexer.accept('=')? => O::Equal,
        '!' if lexer.accept('=')? => O::NotEqual,
        '&' if lexer.accept('&')? => O::BothTrue,
        '&' => O::And,
        '^' => O::Xor,
        '|' if lexer.accept('|')? => O::EitherTrue,
        '|' => O::Or,
        _ => return Ok(None),
    }))
}

fn unary(lexer: &mut Lexer<'_>, depth: usize) -> Result<Constant, ParseError> {
    use Constant::{Double, Signed, Single, Unsigned};
    if depth > MAX_DEPTH {
        let message = "a constant expression is nested too deep";
        return Err(ParseError::limit(lexer.line(), message));
    }
    let token = lexer.next()?;
    Ok(match token {
        Token::Number(digits) => literal(lexer, digits)?,
        Token::Word("WARP_SZ") => Signed(32),
        Token::Mark('+') => unary(lexer, depth + 1)?,
        Token::Mark('-') => match unary(lexer, depth + 1)? {
            Signed(value) => Signed(value.wrapping_neg()),
            Unsigned(value) => Unsigned(value.wrapping_neg()),
            Single(bits) => Single(bits ^ 1 << 31),
            Double(value) => Double(-value),
        },
        Token::Mark('~') => match unary(lexer, depth + 1)? {
            Signed(value) => Signed(!value),
            value => Unsigned(!integer(lexer, value)?),
        },
        Token::Mark('!') => {
            let value = unary(lexer, depth + 1)?;
            Signed((integer(lexer, value)? == 0).into())
        }
        Token::Mark('(') => match lexer.peek()? {
            Token::Word(ty @ (".s64" | ".u64")) => {
                lexer.next()?;
                lexer.expect(')')?;
                let value = unary(lexer, depth + 1)?;
                let value = integer(lexer, value)?;
                match ty {
                    ".s64" => Signed(value as i64),
                    _ => Unsigned(value),
                }
            }
            _ => {
                let value = expression(lexer, depth + 1)?;
                lexer.expect(')')?;
                value
            }
        },
        found => return Err(lexer.unexpected(found, "a constant")),
    })
}

fn apply(
    lexer: &Lexer<'_>,
    operator: Operator,
    left: Constant,
    right: Constant,
) -> Result<Constant, ParseError> {
    use Constant::{Double, Signed, Unsigned};
    use Operator as O;
    let truth = |truth: bool| Ok(Signed(truth.into()));
    if let (Double(a), Double(b)) = (left, right) {
        return match operator {
            O::Times => Ok(Double(a * b)),
            O::Over => Ok(Double(a / b)),
            O::Plus => Ok(Double(a + b)),
            O::Minus => Ok(Double(a - b)),
            O::Less => truth(a < b),
            O::LessOrEqual => truth(a <= b),
            O::Greater => truth(a > b),
            O::GreaterOrEqual => truth(a >= b),
            O::Equal => truth(a == b),
            O::NotEqual => truth(a != b),
            _ => Err(mistake(lexer, "an operator of integers between floats")),
        };
    }
    let (a, b) = match (left, right) {
        (Signed(_) | Unsigned(_), Signed(_) | Unsigned(_)) => {
            (integer(lexer, left)?, integer(lexer, right)?)
        }
        _ => {
            return Err(mistake(
                lexer,
                "a constant of an integer and a float, or of `0f…`",
            ));
        }
    };
    let is_signed = matches!((left, right), (Signed(_), Signed(_)));
    let less = |a: u64, b: u64| {
        if is_signed {
            (a as i64) < b as i64
        } else {
            a < b
        }
    };
    let by_zero = || mistake(lexer, "a constant is divided by zero");
    let bits = match operator {
        O::Less => return truth(less(a, b)),
        O::LessOrEqual => return truth(!less(b, a)),
        O::Greater => return truth(less(b, a)),
        O::GreaterOrEqual => return truth(!less(a, b)),
        O::Equal => return truth(a == b),
        O::NotEqual => return truth(a != b),
        O::BothTrue => return truth(a != 0 && b != 0),
        O::EitherTrue => return truth(a != 0 || b != 0),
        O::Times => a.wrapping_mul(b),
        O::Over if b == 0 => return Err(by_zero()),
        O::Over if is_signed => (a as i64).wrapping_div(b as i64) as u64,
        O::Over => a / b,
        // Always unsigned.
        O::Remainder => a.checked_rem(b).ok_or_else(by_zero)?,
        O::Plus => a.wrapping_add(b),
        O::Minus => a.wrapping_sub(b),
        O::And => a & b,
        O::Xor => a ^ b,
        O::Or => a | b,
        // The count is taken modulo 64, and its type does not matter.
        O::Left | O::Right => {
            return Ok(match (operator, left) {
                (O::Right, Signed(value)) => Signed(value.wrapping_shr(b as u32)),
                (O::Right, _) => Unsigned(a.wrapping_shr(b as u32)),
                (_, Signed(value)) => Signed(value.wrapping_shl(b as u32)),
                _ => Unsigned(a.wrapping_shl(b as u32)),
            });
        }
    };
    Ok(if is_signed {
        Signed(bits as i64)
    } else {
        Unsigned(bits)
    })
}

/// An integer, or a float: `0f3F800000`, `0d3FF0000000000000`, `1.5`.
fn literal(lexer: &Lexer<'_>, digits: &str) -> Result<Constant, ParseError> {
    let bits = |hex: &str, length: usize| {
        let bits = u64::from_str_radix(hex, 16).ok();
        bits.filter(|_| hex.len() == length).ok_or_else(|| {
            let message = format!("`{digits}` needs exactly {length} hexadecimal digits");
            ParseError::syntax(lexer.line(), message)
        })
    };
    let rest = digits.get(2..).unwrap_or_default();
    let is_hexadecimal = matches!(digits.get(..2), Some("0x" | "0X"));
    match digits.get(..2) {
        Some("0f" | "0F") => Ok(Constant::Single(bits(rest, 8)? as u32)),
        Some("0d" | "0D") => Ok(Constant::Double(f64::from_bits(bits(rest, 16)?))),
        _ if !is_hexadecimal && digits.contains(['.', 'e', 'E']) => {
            let parsed = digits.parse().map(Constant::Double);
            let wrong = || mistake(lexer, &format!("`{digits}` is not a number"));
            parsed.map_err(|_| wrong())
        }
        _ => {
            let value = lexer.parse_integer(digits)?;
            let signed = i64::try_from(value)
                .ok()
                .filter(|_| !digits.ends_with(['u', 'U']));
            Ok(signed.map_or(Constant::Unsigned(value), Constant::Signed))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<Constant, ParseError> {
        let mut lexer = Lexer::new(text);
        let value = constant(&mut lexer)?;
        assert_eq!(lexer.next()?, Token::End, "{text}");
        Ok(value)
    }

    /// The values are those that ptxas 13.5 puts into a variable.
    #[test]
    fn integers_are_as_ptxas_computes_them() {
        for (text, bits) in [
            ("~0", -1),
            ("!5", 0),
            ("!0", 1),
            ("- -5", 5),
            ("+5", 5),
            ("-(1+2)*3", -9),
            ("1<<2+1", 8),
            ("0xff&0xf", 15),
            ("5 ^ 3 | 8", 14),
            ("1|2^3&4", 3),
            ("10-3-2", 5),
            ("2+3*4-1", 13),
            ("-7 / 2", -3),
            ("-7 % 4", 1),
            ("-5/2U", 0x7fff_ffff_ffff_fffd),
            ("~0U>>1", i64::MAX),
            ("(.u64)-1 >> 1", i64::MAX),
            ("(.s64)0xFFFFFFFFFFFFFFFF < 0", 1),
            ("9223372036854775808 >> 63", 1),
            ("-9223372036854775808", i64::MIN),
            ("-1 >> 1", -1),
            ("-1 < 1", 1),
            ("-1 < 1U", 0),
            ("1 < 2 == 1", 1),
            ("3 > 2 && 1", 1),
            ("1 == 1 || 0 != 0", 1),
            ("3 >= 4 || 3 <= 2", 0),
            ("1 << 64", 1),
            ("1<<-1", i64::MIN),
            ("-8>>70", -1),
            ("1?2:3?4:5", 2),
            ("0?2:0?4:5", 5),
            ("WARP_SZ*2", 64),
            ("010 + 0b101", 13),
        ] {
            let value = value(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let bits_of = integer(&Lexer::new(""), value).expect("an integer");
            assert_eq!(bits_of as i64, bits, "{text}");
        }
    }

    #[test]
    fn floats_have_sums_and_comparisons() {
        assert_eq!(value("-1.5 + 2.0 * .5"), Ok(Constant::Double(-0.5)));
        assert_eq!(value("2.0 / 4.0 < 1.0"), Ok(Constant::Signed(1)));
        assert_eq!(value("-0f3F800000"), Ok(Constant::Single(0xbf80_0000)));
        assert_eq!(value("1e3"), Ok(Constant::Double(1000.0)));
    }

    #[test]
    fn what_has_no_value_is_a_mistake() {
        let deep = format!("{}1", "(".repeat(100_000));
        let long = format!("{}1", "-".repeat(100_000));
        for text in [
            "1/0",
            "1 % 0",
            "1 + 2.5",
            "~1.5",
            "1.0 % 2.0",
            "1.5 ? 1 : 2",
            "(1",
            "1 ? 2",
            "*",
            "(.b32) 1",
            "0f3F800000 + 1.0",
            &deep,
            &long,
        ] {
            assert!(value(text).is_err(), "{text:.40}");
        }
        assert_eq!(
            value("(-9223372036854775807 - 1) / -1"),
            Ok(Constant::Signed(i64::MIN))
        );
    }
}
