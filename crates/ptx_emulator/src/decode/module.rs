use super::builder::Builder;
use super::class::Kind;
use super::entry::{Entry, Param};
use super::form::Form;
use super::instruction;
use super::names::{ModuleNames, RESERVED_SHARED, Symbol, WORKSPACE};
use super::op::{Op, Slot, TRUE};
use super::order;
use super::part_word;
use super::program::{Function, Program};
use super::replaced;
use super::variables::declare_variables;
use crate::error::ParseError;
use crate::fault::Space;
use crate::parse::{self, Locations, ParamDecl, Statement, StatementKind, Tree};
use crate::positions::{Position, Positions};

/// Limit for the instructions of all functions of a module together.
const MAX_INSTRUCTIONS: usize = 1 << 24;
/// Largest cluster of any device; more than 8 blocks need a launch attribute.
const MAX_CLUSTER_BLOCKS: u64 = 16;
/// Decodes a whole module.
pub(crate) fn decode(tree: &Tree<'_>) -> Result<(Program, Vec<Entry>), ParseError> {
    let mut names = ModuleNames {
        refused: tree.refused.iter().cloned().collect(),
        ..ModuleNames::default()
    };
    let variable_of = declare_variables(&mut names, tree)?;
    let definitions = declare_functions(&mut names, tree)?;
    for &(name, function, line) in &tree.aliases {
        match names.lookup(function) {
            Some(symbol @ Symbol::Function(_)) => names.names.insert(name, symbol),
            _ => {
                let message = format!("`{name}` is an alias of `{function}`, which is no function");
                return Err(ParseError::syntax(line, message));
            }
        };
    }
    for (variable, &index) in tree.variables.iter().zip(&variable_of) {
        match names.fill(index as usize, variable) {
            Err(error) if error.is_unsupported() => {
                names.refused.insert(variable.name, error);
            }
            result => result?,
        }
    }
    let mut program = Program {
        code: Vec::new(),
        lines: Vec::new(),
        kinds: Vec::new(),
        positions: Positions::default(),
        functions: Vec::new(),
        variables: Vec::new(),
        workspace: None,
        reserved_shared: None,
    };
    let mut entries = Vec::new();
    let mut locations = Locations::new(&tree.files, comments(tree));
    for definition in definitions {
        let start = program.code.len();
        if definition.is_entry {
            limit_parameters(tree, definition)?;
        }
        let (function, params) = function(definition, &mut names, &mut program, &mut locations)?;
        let is_known = function.start.is_some() || function.refused.is_some();
        if is_known && definition.is_entry {
            let positions = program.lines[start..].iter().map(|&(_, position)| position);
            let location = positions.filter(|&position| position != Position::NONE);
            let location = location.map(|position| program.positions.user(position));
            let location = location.flatten().next();
            entries.push((program.functions.len() as u32, params, location));
        }
        program.functions.push(function);
    }
    program.variables = names.variables;
    program.workspace = names.system.get(WORKSPACE).copied();
    program.reserved_shared = names.system.get(RESERVED_SHARED).copied();
    part_word::mark(&mut program);
    let entries = entries.into_iter();
    let entries = entries
        .map(|(function, params, location)| Entry::new(&program, function, params, location));
    let entries = entries.collect();
    Ok((program, entries))
}

/// The text after each `.loc`, in order.
fn comments<'a>(tree: &Tree<'a>) -> impl Iterator<Item = &'a str> {
    let statements = tree.functions.iter().flat_map(|function| &function.body);
    statements
        .flatten()
        .filter_map(|statement| match statement.kind {
            StatementKind::Location(loc) => Some(loc.comment),
            _ => None,
        })
}

/// Declares the names and signatures of functions. Returns the declaration of each that is decoded:
/// the one with a body, if there is one.
fn declare_functions<'a, 't>(
    names: &mut ModuleNames<'a>,
    tree: &'t Tree<'a>,
) -> Result<Vec<&'t parse::Function<'a>>, ParseError> {
    let mut definitions: Vec<&parse::Function<'a>> = Vec::new();
    for function in &tree.functions {
        let sizes =
            |params: &[ParamDecl<'_>]| params.iter().map(|param| param.size).collect::<Vec<_>>();
        let signature = (sizes(&function.returns), sizes(&function.params));
        let line = function.line;
        match names.lookup(function.name) {
            None => {
                names
                    .names
                    .insert(function.name, Symbol::Function(definitions.len() as u32));
                names.signatures.push(signature);
                names.are_entries.push(function.is_entry);
                definitions.push(function);
            }
            Some(Symbol::Function(index)) => {
                let index = index as usize;
                // A refused function may have parameters that could not be parsed.
                if function.refused.is_some() {
                    definitions[index] = function;
                    continue;
                }
                if definitions[index].refused.is_some() {
                    continue;
                }
                if names.signatures[index] != signature
                    || definitions[index].is_entry != function.is_entry
                {
                    let message = format!("`{}` is declared in two ways", function.name);
                    return Err(ParseError::syntax(line, message));
                }
                if function.body.is_some() {
                    if definitions[index].body.is_some() {
                        let message = format!("`{}` is defined twice", function.name);
                        return Err(ParseError::syntax(line, message));
                    }
                    definitions[index] = function;
                }
            }
            Some(_) => {
                let message = format!("`{}` is declared as a variable too", function.name);
                return Err(ParseError::syntax(line, message));
            }
        }
    }
    Ok(definitions)
}

/// Refuses more parameters than ptxas does: 4,352 bytes, or 32,764 from PTX 8.1 and sm_70 on.
fn limit_parameters(tree: &Tree<'_>, entry: &parse::Function<'_>) -> Result<(), ParseError> {
    let bytes = entry.params.iter().fold(0_u64, |end, param| {
        end.next_multiple_of(u64::from(param.align)) + u64::from(param.size)
    });
    let digits = tree.target.trim_start_matches("sm_");
    let digits = digits.trim_end_matches(|c: char| !c.is_ascii_digit());
    let is_newer = tree.version >= (8, 1) && digits.parse().is_ok_and(|target: u32| target >= 70);
    let (most, way) = if is_newer {
        (32_764, "")
    } else {
        (4352, "; PTX 8.1 allows 32764 from sm_70 on")
    };
    if bytes <= most {
        return Ok(());
    }
    let name = entry.name;
    let message = format!(
        "kernel `{name}` has {bytes} bytes of parameters, and at most {most} are allowed{way}"
    );
    Err(ParseError::limit(entry.line, message))
}

/// Decodes one function and appends its code to the program.
fn function<'a>(
    tree: &parse::Function<'a>,
    names: &mut ModuleNames<'a>,
    program: &mut Program,
    locations: &mut Locations<'a>,
) -> Result<(Function, Vec<(Slot, Param)>), ParseError> {
    let mut b = Builder::new(names, tree.name, tree.is_entry);
    b.line = tree.line;
    b.function.max_threads = tree.max_threads;
    b.function.required_threads = tree.required_threads;
    if let Some(cluster) = tree.cluster {
        let blocks = cluster
            .iter()
            .fold(1, |all: u64, &extent| all.saturating_mul(extent.into()));
        if !(1..=MAX_CLUSTER_BLOCKS).contains(&blocks) {
            let message = format!("a cluster of {blocks} blocks; it has 1 to {MAX_CLUSTER_BLOCKS}");
            return Err(ParseError::limit(tree.line, message));
        }
        b.function.cluster = cluster;
    }
    let mut kernel_params = Vec::new();
    if tree.is_entry {
        let mut end = 0_u32;
        for param in &tree.params {
            let offset = end.next_multiple_of(param.align);
            // `limit_parameters` has seen that it is no more than ptxas accepts.
            end = offset + param.size;
            b.declare(
                param.name,
                Symbol::KernelParam {
                    offset,
                    size: param.size,
                },
            )?;
            kernel_params.push((
                Slot {
                    offset,
                    size: param.size,
                },
                Param::new(param),
            ));
        }
    } else {
        b.function.returns = declare_params(&mut b, &tree.returns)?;
        b.function.params = declare_params(&mut b, &tree.params)?;
    }
    let body = tree.body.as_ref();
    let body = body.filter(|_| !replaced::NAMES.contains(&tree.name));
    let refused = tree.refused.clone().map_or(Ok(()), Err);
    let coded = refused.and_then(|()| match body {
        Some(body) => code(&mut b, (body, tree.line), program, locations),
        None => Ok(()),
    });
    match coded {
        Err(error) if error.is_unsupported() => {
            b.function.refused = Some(error);
            // A refused function's known callees are incomplete.
            b.function.callees.clear();
            b.function.uses.clear();
        }
        coded => coded?,
    }
    let mut function = b.function;
    function.callees.sort_unstable();
    function.callees.dedup();
    function.uses.sort_unstable();
    function.uses.dedup();
    Ok((function, kernel_params))
}

/// Decodes a function's body, which starts at that line, and appends its code to the program.
fn code<'a>(
    b: &mut Builder<'a, '_>,
    (body, line): (&[Statement<'a>], u32),
    program: &mut Program,
    locations: &mut Locations<'a>,
) -> Result<(), ParseError> {
    // A separate scope, so that the body may shadow a parameter's name.
    b.open_scope();
    self::body(b, body, program, locations)?;
    // Falling off the end returns.
    b.guard = TRUE;
    b.emit(Op::Return);
    let start = program.code.len();
    if start + b.code.len() > MAX_INSTRUCTIONS {
        return Err(ParseError::limit(line, "more than 16 million instructions"));
    }
    b.resolve_labels(start as u32)?;
    let code = order::Code {
        insts: &mut b.code,
        lines: &mut b.lines,
        kinds: &mut b.kinds,
    };
    order::arrange(code, start as u32);
    b.function.start = Some(start as u32);
    program.code.append(&mut b.code);
    program.lines.append(&mut b.lines);
    program.kinds.append(&mut b.kinds);
    b.function.end = program.code.len() as u32;
    Ok(())
}

fn declare_params<'a>(
    b: &mut Builder<'a, '_>,
    params: &[ParamDecl<'a>],
) -> Result<Vec<Slot>, ParseError> {
    let mut slots = Vec::new();
    for param in params {
        let offset = b.reserve_local(u64::from(param.size), param.align.max(8))?;
        slots.push(Slot {
            offset,
            size: param.size,
        });
        if param.name != "_" {
            b.declare(
                param.name,
                Symbol::Local {
                    offset,
                    size: param.size,
                    is_param: true,
                },
            )?;
        }
    }
    Ok(slots)
}

fn body<'a>(
    b: &mut Builder<'a, '_>,
    body: &[Statement<'a>],
    program: &mut Program,
    locations: &mut Locations<'a>,
) -> Result<(), ParseError> {
    // First the tables and prototypes: they may follow their use.
    for statement in body {
        match &statement.kind {
            StatementKind::BranchTargets { name, labels } => {
                b.tables.insert(name, labels.clone());
            }
            StatementKind::CallTargets { name, functions } => {
                b.line = statement.line;
                for function in functions {
                    let Symbol::Function(index) = b.lookup(function)? else {
                        let message = format!("`{function}` is no function");
                        return Err(ParseError::syntax(b.line, message));
                    };
                    let signature = b.module.signatures[index as usize].clone();
                    b.prototypes.insert(name, signature);
                }
            }
            StatementKind::Prototype {
                name,
                returns,
                params,
            } => {
                let sizes =
                    |params: &[ParamDecl<'_>]| params.iter().map(|param| param.size).collect();
                b.prototypes.insert(name, (sizes(returns), sizes(params)));
            }
            _ => {}
        }
    }
    locations.begin();
    for statement in body {
        b.line = statement.line;
        match &statement.kind {
            StatementKind::Open => b.open_scope(),
            StatementKind::Close => b.close_scope(),
            StatementKind::Label(name) => b.label(name)?,
            StatementKind::Registers { ty, names } => {
                for &(name, count) in names {
                    b.declare_register(ty, name, count)?;
                }
            }
            StatementKind::Variable(variable) => local_variable(b, variable)?,
            StatementKind::Location(loc) => {
                let position = locations.read(loc, &mut program.positions);
                // Line 0 means that the compiler merged several lines: keep the last known one.
                if position != Position::NONE {
                    b.position = position;
                }
            }
            StatementKind::BranchTargets { .. }
            | StatementKind::CallTargets { .. }
            | StatementKind::Prototype { .. } => {}
            StatementKind::Instruction(instruction) => {
                b.guard = match instruction.guard {
                    Some((name, negated)) => b.guard_pred(name, negated)?,
                    None => TRUE,
                };
                b.kind = Some(Kind::of(instruction.opcode));
                instruction::decode(b, Form::new(instruction, statement.line))?;
            }
        }
    }
    Ok(())
}

fn local_variable<'a>(
    b: &mut Builder<'a, '_>,
    variable: &parse::Variable<'a>,
) -> Result<(), ParseError> {
    let symbol = match variable.space {
        Space::Local | Space::Param => {
            let size = variable.count.map(|_| variable.size());
            let size =
                size.ok_or_else(|| ParseError::syntax(variable.line, "an array without a size"))?;
            if !variable.initial.is_empty() {
                return Err(ParseError::unsupported(
                    variable.line,
                    "initial value of a local variable",
                ));
            }
            let is_param = variable.space == Space::Param;
            let offset = if is_param {
                // Calls copy parameters word by word.
                b.reserve_local(size, variable.align.max(8))?
            } else {
                b.reserve_array(variable.name, size, variable.align)?
            };
            Symbol::Local {
                offset,
                size: size as u32,
                is_param,
            }
        }
        _ => {
            let index = b.module.add_variable(variable)?;
            b.module.fill(index as usize, variable)?;
            // Part of the kernel's shared memory even if only its address is taken.
            b.function.uses.push(index);
            Symbol::Variable(index)
        }
    };
    b.declare(variable.name, symbol)
}
