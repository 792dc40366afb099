//! A whole text: directives, declarations and functions.

use super::ast::{Function, Tree, Variable};
use super::lexer::{Lexer, Token};
use super::skip::{skip_statement, space};
use super::variable::{params, variables};
use super::{MAX_SOURCE_BYTES, function};
use crate::error::ParseError;

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
