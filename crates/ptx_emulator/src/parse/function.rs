use super::ast::{Instruction, Loc, Statement, StatementKind};
use super::lexer::{Lexer, Token};
use super::opcodes::Family;
use super::skip::{skip_statement, space};
use super::{MAX_DEPTH, operand, variable};
use crate::error::ParseError;
use std::ops::ControlFlow;

/// The statements of a function, from after its opening brace to the closing one, and the first
/// unsupported form.
pub(super) fn body<'a>(
    lexer: &mut Lexer<'a>,
) -> Result<(Vec<Statement<'a>>, Option<ParseError>), ParseError> {
    let mut statements = Vec::new();
    let mut refused = None;
    let mut depth = 0;
    loop {
        let begin = lexer.clone();
        match statement(lexer, &mut depth, &mut statements) {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => return Ok((statements, refused)),
            // The rest of the function must still be valid PTX.
            Err(error) if error.is_unsupported() => {
                *lexer = begin;
                lexer.skip_past(&[';'], |_| {})?;
                refused.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Parses one statement; `Break` is the function's closing brace.
fn statement<'a>(
    lexer: &mut Lexer<'a>,
    depth: &mut usize,
    statements: &mut Vec<Statement<'a>>,
) -> Result<ControlFlow<()>, ParseError> {
    let token = lexer.next()?;
    let line = lexer.line();
    lexer.grow(3)?;
    let kind = match token {
        Token::Mark('{') if *depth < MAX_DEPTH => {
            *depth += 1;
            StatementKind::Open
        }
        Token::Mark('{') => return Err(ParseError::limit(line, "scopes are nested too deep")),
        Token::Mark('}') if *depth == 0 => return Ok(ControlFlow::Break(())),
        Token::Mark('}') => {
            *depth -= 1;
            StatementKind::Close
        }
        Token::Mark(';') => return Ok(ControlFlow::Continue(())),
        Token::Mark('@') => StatementKind::Instruction(guarded(lexer)?),
        Token::Word(directive) if directive.starts_with('.') => {
            match self::directive(lexer, directive, statements)? {
                Some(kind) => kind,
                None => return Ok(ControlFlow::Continue(())),
            }
        }
        Token::Word(name) if lexer.peek()? == Token::Mark(':') => {
            lexer.next()?;
            labelled(lexer, name)?
        }
        Token::Word(opcode) => StatementKind::Instruction(instruction(lexer, None, opcode)?),
        found => return Err(lexer.unexpected(found, "an instruction or `}`")),
    };
    statements.push(Statement { line, kind });
    Ok(ControlFlow::Continue(()))
}

/// A directive inside a function. Variables are added to `statements` directly, because one
/// declaration may have several.
fn directive<'a>(
    lexer: &mut Lexer<'a>,
    directive: &'a str,
    statements: &mut Vec<Statement<'a>>,
) -> Result<Option<StatementKind<'a>>, ParseError> {
    let line = lexer.line();
    Ok(match directive {
        ".reg" => Some(registers(lexer)?),
        ".loc" => Some(location(lexer)?),
        ".pragma" => {
            skip_statement(lexer)?;
            None
        }
        ".local" | ".shared" | ".param" | ".global" | ".const" => {
            let space = space(directive).expect("one of the five");
            let mut variables = Vec::new();
            variable::variables(lexer, space, false, &mut variables)?;
            let statement = |variable| Statement {
                line,
                kind: StatementKind::Variable(variable),
            };
            statements.extend(variables.into_iter().map(statement));
            None
        }
        _ => return Err(ParseError::unsupported(line, directive)),
    })
}

/// `.reg .b32 %r<4>, %x;`
fn registers<'a>(lexer: &mut Lexer<'a>) -> Result<StatementKind<'a>, ParseError> {
    let ty = lexer.word()?;
    if matches!(ty, ".v2" | ".v4") {
        return Err(ParseError::unsupported(lexer.line(), format!(".reg {ty}")));
    }
    let mut names = Vec::new();
    loop {
        let name = lexer.word()?;
        let mut count = None;
        if lexer.accept('<')? {
            count = Some(lexer.integer_u32()?);
            lexer.expect('>')?;
        }
        names.push((name, count));
        if !lexer.accept(',')? {
            break;
        }
    }
    lexer.expect(';')?;
    Ok(StatementKind::Registers { ty, names })
}

/// `.loc 1 62 5 // comment`, with or without `, function_name label, inlined_at 1 2 3`. A statement
/// may follow on the same line.
fn location<'a>(lexer: &mut Lexer<'a>) -> Result<StatementKind<'a>, ParseError> {
    let comment = lexer.comment_of_line();
    let at = position(lexer)?;
    let mut inlined_at = None;
    while lexer.accept(',')? {
        match lexer.word()? {
            "function_name" => {
                lexer.word()?;
                if lexer.accept('+')? {
                    lexer.integer()?;
                }
            }
            "inlined_at" => inlined_at = Some(position(lexer)?),
            other => {
                let found = Token::Word(other);
                return Err(lexer.unexpected(found, "`function_name` or `inlined_at`"));
            }
        }
    }
    Ok(StatementKind::Location(Loc {
        at,
        inlined_at,
        comment,
    }))
}

/// The numbers of a file, a line and a column.
fn position(lexer: &mut Lexer<'_>) -> Result<[u32; 3], ParseError> {
    Ok([
        lexer.integer_u32()?,
        lexer.integer_u32()?,
        lexer.integer_u32()?,
    ])
}

/// Parses what follows `name:`.
fn labelled<'a>(lexer: &mut Lexer<'a>, name: &'a str) -> Result<StatementKind<'a>, ParseError> {
    match lexer.peek()? {
        Token::Word(".branchtargets") => {
            lexer.next()?;
            let labels = names(lexer)?;
            Ok(StatementKind::BranchTargets { name, labels })
        }
        Token::Word(".callprototype") => {
            lexer.next()?;
            let (returns, params) = variable::prototype(lexer)?;
            lexer.expect(';')?;
            Ok(StatementKind::Prototype {
                name,
                returns,
                params,
            })
        }
        Token::Word(".calltargets") => {
            lexer.next()?;
            let functions = names(lexer)?;
            Ok(StatementKind::CallTargets { name, functions })
        }
        _ => Ok(StatementKind::Label(name)),
    }
}

/// `a, b, c;`
fn names<'a>(lexer: &mut Lexer<'a>) -> Result<Vec<&'a str>, ParseError> {
    let mut names = vec![lexer.word()?];
    if lexer.peek()? == Token::Mark('<') {
        return Err(ParseError::unsupported(lexer.line(), "names with a count"));
    }
    while lexer.accept(',')? {
        names.push(lexer.word()?);
    }
    lexer.expect(';')?;
    Ok(names)
}

/// `@%p1 opcode …` or `@!%p1 opcode …`
fn guarded<'a>(lexer: &mut Lexer<'a>) -> Result<Instruction<'a>, ParseError> {
    let negated = lexer.accept('!')?;
    let predicate = lexer.word()?;
    let opcode = lexer.word()?;
    instruction(lexer, Some((predicate, negated)), opcode)
}

fn instruction<'a>(
    lexer: &mut Lexer<'a>,
    guard: Option<(&'a str, bool)>,
    opcode: &'a str,
) -> Result<Instruction<'a>, ParseError> {
    let line = lexer.line();
    let is_call = opcode == "call" || opcode.starts_with("call.");
    let operands = operand::list(lexer, ';', 0, is_call).and_then(|operands| {
        lexer.expect(';')?;
        Ok(operands)
    });
    match operands {
        Ok(operands) => Ok(Instruction {
            guard,
            opcode,
            operands,
        }),
        // Texture and video instructions have a special operand syntax.
        Err(_) if Family::of(opcode).is_none() => Err(ParseError::unsupported(line, opcode)),
        Err(error) => Err(error),
    }
}
