use super::ast::{Function, Initial, ParamDecl, Tree, Variable};
use super::constant::{Constant, constant, offset};
use super::lexer::{Lexer, Token};
use super::{MAX_SOURCE_BYTES, function};
use crate::error::ParseError;
use crate::fault::Space;

/// Parses a whole PTX text.
pub(crate) fn parse(text: &str) -> Result<Tree<'_>, ParseError> {
    if text.len() > MAX_SOURCE_BYTES {
        let message = format!(
            "the text has {} bytes; at most {MAX_SOURCE_BYTES} are accepted",
            text.len()
        );
        return Err(ParseError::limit(1, message));
    }
    read(&mut Lexer::new(text))
}

pub(super) fn read<'a>(lexer: &mut Lexer<'a>) -> Result<Tree<'a>, ParseError> {
    let mut tree = Tree::default();
    loop {
        match lexer.next()? {
            Token::End => break,
            Token::Word(".version") => tree.version = version(lexer)?,
            Token::Word(".target") => {
                tree.target = lexer.word()?;
                while lexer.accept(',')? {
                    lexer.word()?;
                }
            }
            Token::Word(".address_size") => {
                let size = lexer.integer()?;
                if size != 64 {
                    return Err(ParseError::unsupported(
                        lexer.line(),
                        format!(".address_size {size}"),
                    ));
                }
            }
            Token::Word(".file") => tree.files.push(file(lexer)?),
            Token::Word(".section") => skip_section(lexer)?,
            Token::Word(".pragma") => skip_statement(lexer)?,
            Token::Word(".alias") => tree.aliases.push(alias(lexer)?),
            // `@@DWARF .byte 1, 2`: the form in which old compilers write section contents.
            Token::Mark('@') => lexer.skip_line(),
            Token::Word(word) => declaration(lexer, word, &mut tree)?,
            Token::Mark(';') => {}
            found => return Err(lexer.unexpected(found, "a directive")),
        }
    }
    match (tree.version, tree.target) {
        ((0, 0), _) => Err(ParseError::syntax(1, "not PTX: there is no `.version`")),
        (_, "") => Err(ParseError::syntax(1, "not PTX: there is no `.target`")),
        _ => Ok(tree),
    }
}

/// `.alias name, function;`
fn alias<'a>(lexer: &mut Lexer<'a>) -> Result<(&'a str, &'a str, u32), ParseError> {
    let name = lexer.word()?;
    lexer.expect(',')?;
    let function = lexer.word()?;
    lexer.expect(';')?;
    Ok((name, function, lexer.line()))
}

fn version(lexer: &mut Lexer<'_>) -> Result<(u32, u32), ParseError> {
    if let Token::Number(digits) = lexer.next()? {
        let parts = digits
            .split_once('.')
            .map(|(major, minor)| (major.parse(), minor.parse()));
        if let Some((Ok(major), Ok(minor))) = parts {
            return Ok((major, minor));
        }
    }
    Err(ParseError::syntax(
        lexer.line(),
        "expected a version such as 7.0",
    ))
}

fn file<'a>(lexer: &mut Lexer<'a>) -> Result<(u32, &'a str), ParseError> {
    let index = lexer.integer_u32()?;
    let name = match lexer.next()? {
        Token::Text(name) => name,
        found => return Err(lexer.unexpected(found, "a file name")),
    };
    // A time stamp and a size may follow.
    while lexer.accept(',')? {
        lexer.integer()?;
    }
    Ok((index, name))
}

/// `.section .debug_info { … }`: DWARF data, which is skipped.
fn skip_section(lexer: &mut Lexer<'_>) -> Result<(), ParseError> {
    lexer.word()?;
    lexer.expect('{')?;
    loop {
        match lexer.next()? {
            Token::Mark('}') => return Ok(()),
            Token::End => return Err(lexer.unexpected(Token::End, "`}`")),
            _ => {}
        }
    }
}

pub(super) fn skip_statement(lexer: &mut Lexer<'_>) -> Result<(), ParseError> {
    loop {
        match lexer.next()? {
            Token::Mark(';') => return Ok(()),
            Token::End => return Err(lexer.unexpected(Token::End, "`;`")),
            _ => {}
        }
    }
}

/// `[.extern|.visible|.weak|.common] (.entry|.func|variable)`
fn declaration<'a>(
    lexer: &mut Lexer<'a>,
    first: &'a str,
    tree: &mut Tree<'a>,
) -> Result<(), ParseError> {
    let mut word = first;
    let mut is_extern = false;
    while matches!(word, ".extern" | ".visible" | ".weak" | ".common") {
        is_extern |= word == ".extern";
        word = lexer.word()?;
    }
    match word {
        ".entry" | ".func" => {
            let begin = lexer.clone();
            let is_entry = word == ".entry";
            let function = match function(lexer, is_entry) {
                Err(error) if error.is_unsupported() => {
                    *lexer = begin;
                    refused_function(lexer, is_entry, error)?
                }
                function => function?,
            };
            tree.functions.push(function);
        }
        ".global" | ".const" | ".shared" | ".tex" => {
            let begin = lexer.clone();
            match module_variables(lexer, word, is_extern, &mut tree.variables) {
                Err(error) if error.is_unsupported() => {
                    *lexer = begin;
                    let refused = &mut tree.refused;
                    lexer.skip_past(&[';'], |token| match token {
                        Token::Word(name) if !name.starts_with('.') => {
                            refused.push((name, error.clone()));
                        }
                        _ => {}
                    })?;
                }
                result => result?,
            }
        }
        _ if word.starts_with('.') => return Err(ParseError::unsupported(lexer.line(), word)),
        _ => return Err(lexer.unexpected(Token::Word(word), "a directive")),
    }
    Ok(())
}

/// The variables of one declaration, in the given state space.
fn module_variables<'a>(
    lexer: &mut Lexer<'a>,
    word: &str,
    is_extern: bool,
    into: &mut Vec<Variable<'a>>,
) -> Result<(), ParseError> {
    let unsupported = |lexer: &Lexer<'_>, form| Err(ParseError::unsupported(lexer.line(), form));
    if word == ".const" && lexer.accept('[')? {
        let bank = lexer.integer()?;
        return unsupported(lexer, format!(".const[{bank}]"));
    }
    match space(word) {
        Some(space) => variables(lexer, space, is_extern, into),
        None => unsupported(lexer, word.to_owned()),
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

/// A function of which only the name could be parsed.
fn refused_function<'a>(
    lexer: &mut Lexer<'a>,
    is_entry: bool,
    error: ParseError,
) -> Result<Function<'a>, ParseError> {
    let line = lexer.line();
    if lexer.accept('(')? {
        lexer.skip_past(&[')'], |_| {})?;
    }
    let name = lexer.word()?;
    lexer.skip_past(&[';', '}'], |_| {})?;
    Ok(Function {
        name,
        is_entry,
        returns: Vec::new(),
        params: Vec::new(),
        max_threads: None,
        required_threads: None,
        cluster: None,
        body: None,
        refused: Some(error),
        line,
    })
}

/// A declaration or definition, after its first word.
fn function<'a>(lexer: &mut Lexer<'a>, is_entry: bool) -> Result<Function<'a>, ParseError> {
    let line = lexer.line();
    let returns = if lexer.peek()? == Token::Mark('(') {
        params(lexer)?
    } else {
        Vec::new()
    };
    let name = lexer.word()?;
    let params = if lexer.peek()? == Token::Mark('(') {
        params(lexer)?
    } else {
        Vec::new()
    };
    let mut function = Function {
        name,
        is_entry,
        returns,
        params,
        max_threads: None,
        required_threads: None,
        cluster: None,
        body: None,
        refused: None,
        line,
    };
    let mut explicit = None;
    loop {
        match lexer.next()? {
            Token::Word(".noreturn") => {}
            Token::Word(".explicitcluster") => explicit = Some(lexer.line()),
            Token::Word(".reqnctapercluster") => function.cluster = Some(extents(lexer)?),
            Token::Word(".maxntid") => function.max_threads = Some(extents(lexer)?),
            Token::Word(".reqntid") => function.required_threads = Some(extents(lexer)?),
            Token::Word(
                ".minnctapersm"
                | ".maxnctapersm"
                | ".maxnreg"
                | ".maxclusterrank"
                | ".abi_preserve"
                | ".abi_preserve_control",
            ) => {
                lexer.integer()?;
            }
            Token::Word(".pragma") => skip_statement(lexer)?,
            Token::Word(directive) => return Err(ParseError::unsupported(lexer.line(), directive)),
            Token::Mark(';') => return Ok(function),
            Token::Mark('{') => {
                let (body, refused) = function::body(lexer)?;
                (function.body, function.refused) = (Some(body), refused);
                if let (Some(line), None) = (explicit, function.cluster) {
                    let form = ".explicitcluster without .reqnctapercluster";
                    function.refused = Some(ParseError::unsupported(line, form));
                }
                return Ok(function);
            }
            found => return Err(lexer.unexpected(found, "`;` or `{`")),
        }
    }
}

fn extents(lexer: &mut Lexer<'_>) -> Result<[u32; 3], ParseError> {
    let mut extents = [1; 3];
    for (index, extent) in extents.iter_mut().enumerate() {
        if index > 0 && !lexer.accept(',')? {
            break;
        }
        *extent = lexer.integer_u32()?;
    }
    Ok(extents)
}

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
            // How many registers the callee leaves alone.
            Token::Word(".abi_preserve" | ".abi_preserve_control") => {
                lexer.integer()?;
            }
            Token::Word(directive) => return Err(ParseError::unsupported(lexer.line(), directive)),
            found => return Err(lexer.unexpected(found, "`;`")),
        }
    }
    Ok((returns, params))
}
