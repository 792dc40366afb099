//! Parameters, variables and their initial values.

use super::ast::{Initial, ParamDecl, Variable};
use super::constant::{Constant, constant, offset};
use super::lexer::{Lexer, Token};
use crate::error::ParseError;
use crate::fault::Space;

/// `(.param .align 8 .b8 name[16], …)`
pub(super) fn params<'a>(lexer: &mut Lexer<'a>) -> Result<Vec<ParamDecl<'a>>, ParseError> {
    let mut params = Vec::new();
    lexer.expect('(')?;
    if lexer.accept(')')? {
        return Ok(params);
    }
    loop {
        match lexer.next()? {
            Token::Word(".param") => {}
            Token::Word(".reg") => {
                return Err(ParseError::unsupported(lexer.line(), ".reg parameter"));
            }
            found => return Err(lexer.unexpected(found, "`.param`")),
        }
        params.push(param(lexer)?);
        if !lexer.accept(',')? {
            break;
        }
    }
    lexer.expect(')')?;
    Ok(params)
}

fn param<'a>(lexer: &mut Lexer<'a>) -> Result<ParamDecl<'a>, ParseError> {
    let (mut align, mut element) = (None, None);
    let mut is_pointer = false;
    let name = loop {
        match lexer.word()? {
            ".align" => align = Some(alignment(lexer)?),
            // `.ptr [.space] .align n` describes the pointee, not the parameter.
            ".ptr" => {
                is_pointer = true;
                if let Token::Word(".global" | ".shared" | ".const" | ".local") = lexer.peek()? {
                    lexer.next()?;
                }
                if lexer.accept_word(".align")? {
                    alignment(lexer)?;
                }
            }
            word if word.starts_with('.') => element = Some((word, element_size(lexer, word)?)),
            name => break name,
        }
    };
    let (ty, element) =
        element.ok_or_else(|| ParseError::syntax(lexer.line(), "a parameter without a type"))?;
    let count = match dimensions(lexer)? {
        Some(None) => {
            let form = "parameter array without a size";
            return Err(ParseError::unsupported(lexer.line(), form));
        }
        count => count.flatten(),
    };
    let size = u32::try_from(count.unwrap_or(1).saturating_mul(u64::from(element)))
        .ok()
        .filter(|&size| size <= 1 << 15)
        .ok_or_else(|| {
            ParseError::limit(
                lexer.line(),
                format!("parameter `{name}` is larger than 32 KiB"),
            )
        })?;
    Ok(ParamDecl {
        name,
        element: ty,
        count,
        is_pointer,
        size,
        align: align.unwrap_or(element),
    })
}

fn alignment(lexer: &mut Lexer<'_>) -> Result<u32, ParseError> {
    let align = lexer.integer_u32()?;
    if align.is_power_of_two() && align <= 1024 {
        Ok(align)
    } else {
        let message = format!("alignment {align}; it must be a power of two up to 1024");
        Err(ParseError::syntax(lexer.line(), message))
    }
}

fn element_size(lexer: &Lexer<'_>, ty: &str) -> Result<u32, ParseError> {
    Ok(match ty {
        ".b8" | ".u8" | ".s8" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" => 8,
        ".b128" => 16,
        _ => return Err(ParseError::unsupported(lexer.line(), ty)),
    })
}

/// `[4][8]`: the product; `None` inside for `[]`, `None` outside when there is no bracket.
fn dimensions(lexer: &mut Lexer<'_>) -> Result<Option<Option<u64>>, ParseError> {
    let mut count = None;
    while lexer.accept('[')? {
        let extent = if lexer.peek()? == Token::Mark(']') {
            None
        } else {
            Some(lexer.integer()?)
        };
        lexer.expect(']')?;
        count = Some(match (count, extent) {
            (None, extent) => extent,
            (Some(Some(outer)), Some(extent)) => Some(u64::saturating_mul(outer, extent)),
            (Some(_), _) => {
                return Err(ParseError::unsupported(
                    lexer.line(),
                    "array whose size is not in its declaration",
                ));
            }
        });
    }
    Ok(count)
}

/// `.align 16 .b8 name[4096] = {…}, other;` after the name of the state space.
pub(super) fn variables<'a>(
    lexer: &mut Lexer<'a>,
    space: Space,
    is_extern: bool,
    into: &mut Vec<Variable<'a>>,
) -> Result<(), ParseError> {
    let (mut align, mut element) = (None, None);
    let mut is_reference = false;
    let mut name = loop {
        match lexer.word()? {
            ".align" => align = Some(alignment(lexer)?),
            ".texref" | ".surfref" | ".samplerref" if space == Space::Global => {
                is_reference = true;
                element = Some(8);
            }
            vector @ (".v2" | ".v4") => return Err(ParseError::unsupported(lexer.line(), vector)),
            ".attribute" => attribute(lexer)?,
            word if word.starts_with('.') => element = Some(element_size(lexer, word)?),
            name => break name,
        }
    };
    let element =
        element.ok_or_else(|| ParseError::syntax(lexer.line(), "a variable without a type"))?;
    // Other allocations are aligned to 512 only.
    if let Some(align) = align.filter(|&align| align > 512 && space != Space::Shared) {
        let form = format!(".align {align} outside of shared memory");
        return Err(ParseError::unsupported(lexer.line(), form));
    }
    loop {
        let line = lexer.line();
        if lexer.accept('<')? {
            return Err(ParseError::unsupported(line, "variable names with a count"));
        }
        let mut count = dimensions(lexer)?.unwrap_or(Some(1));
        let mut initial = Vec::new();
        if is_reference && lexer.accept('=')? {
            // Sampler settings come from the host's binding.
            lexer.skip_past(&['}'], |_| {})?;
        } else if lexer.accept('=')? {
            let length = initializer(lexer, &mut 0, &mut initial, false)?;
            count = count.or(Some(length));
            let size = count.unwrap_or(0);
            if initial.iter().any(|&(at, _)| at >= size) {
                return Err(ParseError::syntax(
                    line,
                    format!("`{name}` has more initial values than elements"),
                ));
            }
        }
        let align = align.unwrap_or(element);
        into.push(Variable {
            name,
            space,
            align,
            element,
            count,
            initial,
            is_extern,
            is_reference,
            line,
        });
        if !lexer.accept(',')? {
            break;
        }
        name = lexer.word()?;
    }
    lexer.expect(';')
}

/// `.attribute(.managed)`: host visibility makes no difference to the device.
fn attribute(lexer: &mut Lexer<'_>) -> Result<(), ParseError> {
    lexer.expect('(')?;
    loop {
        let name = lexer.word()?;
        if name != ".managed" {
            let form = format!(".attribute({name})");
            return Err(ParseError::unsupported(lexer.line(), form));
        }
        if !lexer.accept(',')? {
            return lexer.expect(')');
        }
    }
}

/// One value or `{…}`; returns the number of elements.
fn initializer<'a>(
    lexer: &mut Lexer<'a>,
    at: &mut u64,
    into: &mut Vec<(u64, Initial<'a>)>,
    nested: bool,
) -> Result<u64, ParseError> {
    if lexer.accept('{')? {
        if nested {
            return Err(ParseError::unsupported(
                lexer.line(),
                "initial values in nested braces",
            ));
        }
        // Most elements are bytes of texts: records of kernels, strings.
        lexer.decimals(|value| {
            into.push((*at, Initial::Bits(value)));
            *at += 1;
        })?;
        while !lexer.accept('}')? {
            initializer(lexer, at, into, true)?;
            if !lexer.accept(',')? {
                lexer.expect('}')?;
                break;
            }
        }
    } else {
        lexer.grow(1)?;
        into.push((*at, initial_value(lexer)?));
        *at += 1;
    }
    Ok(*at)
}

fn initial_value<'a>(lexer: &mut Lexer<'a>) -> Result<Initial<'a>, ParseError> {
    let begin = lexer.clone();
    match lexer.next()? {
        Token::Word(name) if name != "WARP_SZ" => return initial_address(lexer, name),
        // `0xFF00(symbol)`: the byte of an address that the mask selects.
        Token::Number(digits) if lexer.accept('(')? => {
            let selected = lexer.parse_integer(digits)?;
            let name = lexer.word()?;
            let mut value = initial_address(lexer, name)?;
            lexer.expect(')')?;
            if let Initial::Address { mask, .. } = &mut value {
                *mask = Some(selected);
            }
            return Ok(value);
        }
        _ => *lexer = begin,
    }
    Ok(match constant(lexer)? {
        Constant::Signed(value) => Initial::Bits(value as u64),
        Constant::Unsigned(value) => Initial::Bits(value),
        Constant::Single(bits) => Initial::Single(bits),
        Constant::Double(value) => Initial::Double(value),
    })
}

/// `symbol+4`, `generic(symbol)+4`
fn initial_address<'a>(lexer: &mut Lexer<'a>, name: &'a str) -> Result<Initial<'a>, ParseError> {
    let generic = name == "generic" && lexer.accept('(')?;
    let symbol = if generic { lexer.word()? } else { name };
    let mut sum = offset(lexer)?.unwrap_or(0);
    if generic {
        lexer.expect(')')?;
        sum = sum.wrapping_add(offset(lexer)?.unwrap_or(0));
    }
    Ok(Initial::Address {
        symbol,
        offset: sum,
        generic,
        mask: None,
    })
}

/// Return values and parameters of a `.callprototype`, whose name is `_`.
pub(super) fn prototype<'a>(
    lexer: &mut Lexer<'a>,
) -> Result<(Vec<ParamDecl<'a>>, Vec<ParamDecl<'a>>), ParseError> {
    let returns = if lexer.peek()? == Token::Mark('(') {
        params(lexer)?
    } else {
        Vec::new()
    };
    lexer.word()?;
    let params = if lexer.peek()? == Token::Mark('(') {
        params(lexer)?
    } else {
        Vec::new()
    };
    while lexer.peek()? != Token::Mark(';') {
        match lexer.next()? {
            Token::Word(".noreturn") => {}
            // The number of registers that the callee preserves.
            Token::Word(".abi_preserve" | ".abi_preserve_control") => {
                lexer.integer()?;
            }
            Token::Word(directive) => return Err(ParseError::unsupported(lexer.line(), directive)),
            found => return Err(lexer.unexpected(found, "`;`")),
        }
    }
    Ok((returns, params))
}
