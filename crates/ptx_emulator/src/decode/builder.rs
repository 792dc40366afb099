use super::class::Kind;
use super::names::{Class, ModuleNames, Symbol};
use super::op::{CARRY, Cell, Inst, Op, Pred, Row, TRUE};
use super::program::{FileSizes, Function, LOCAL_GAP, Value};
use super::special_registers::{Special, is_foreign_register};
use crate::error::ParseError;
use crate::positions::Position;
use std::collections::HashMap;

/// Largest number of rows in a frame: row numbers have 16 bits, predicates 15.
const MAX_ROWS: u32 = 0x7ff0;

struct Scope<'a> {
    symbols: HashMap<&'a str, Symbol>,
    /// `%r<4>`: %r0 to %r3. `%r` itself is another name.
    families: HashMap<&'a str, (Class, u32)>,
    /// Number of the scope within the function, for labels.
    id: u32,
    /// Local memory in use when the scope was opened.
    local_top: u32,
}

/// A branch whose target is not yet known.
struct Fixup<'a> {
    pc: usize,
    /// Index of the target in a `brx.idx` table.
    index: usize,
    label: &'a str,
    scope: u32,
    line: u32,
}

/// The memory that a frame allocates from.
#[derive(Clone, Copy)]
pub(super) struct Stack {
    pub(super) start: u32,
    /// The bytes in use, zero when the frame is created.
    pub(super) used: Row,
}

/// Collects the instructions, rows and constants of one function.
pub(super) struct Builder<'a, 'm> {
    pub(super) module: &'m mut ModuleNames<'a>,
    pub(super) code: Vec<Inst>,
    pub(super) lines: Vec<(u32, Position)>,
    pub(super) kinds: Vec<Option<Kind>>,
    /// Kind of the PTX instruction being decoded; taken by the first decoded instruction.
    pub(super) kind: Option<Kind>,
    pub(super) guard: Pred,
    pub(super) line: u32,
    pub(super) position: Position,
    pub(super) is_entry: bool,
    pub(super) tables: HashMap<&'a str, Vec<&'a str>>,
    pub(super) prototypes: HashMap<&'a str, (Vec<u32>, Vec<u32>)>,
    pub(super) function: Function,
    scopes: Vec<Scope<'a>>,
    parents: Vec<u32>,
    labels: HashMap<(u32, &'a str), u32>,
    fixups: Vec<Fixup<'a>>,
    constants32: HashMap<Value, Row>,
    constants64: HashMap<Value, Row>,
    specials: HashMap<Special, Row>,
    local_top: u32,
    /// What the function's `alloca` takes from.
    pub(super) stack: Option<Stack>,
}

impl<'a, 'm> Builder<'a, 'm> {
    pub(super) fn new(module: &'m mut ModuleNames<'a>, name: &str, is_entry: bool) -> Self {
        let function = Function {
            name: name.to_owned(),
            start: None,
            end: 0,
            // Two fixed predicates: true, and the carry flag.
            rows: FileSizes {
                w32: 0,
                w64: 0,
                predicates: u32::from(CARRY) + 1,
            },
            constants32: Vec::new(),
            constants64: Vec::new(),
            specials: Vec::new(),
            registers32: Vec::new(),
            registers64: Vec::new(),
            names: Vec::new(),
            local_base: None,
            local_bytes: 0,
            local_arrays: Vec::new(),
            params: Vec::new(),
            returns: Vec::new(),
            callees: Vec::new(),
            calls_pointers: false,
            uses: Vec::new(),
            max_threads: None,
            required_threads: None,
            cluster: [1; 3],
            refused: None,
        };
        Self {
            module,
            code: Vec::new(),
            lines: Vec::new(),
            kinds: Vec::new(),
            kind: None,
            guard: TRUE,
            line: 0,
            position: Position::NONE,
            is_entry,
            tables: HashMap::new(),
            prototypes: HashMap::new(),
            function,
            scopes: vec![Scope {
                symbols: HashMap::new(),
                families: HashMap::new(),
                id: 0,
                local_top: 0,
            }],
            parents: vec![0],
            labels: HashMap::new(),
            fixups: Vec::new(),
            constants32: HashMap::new(),
            constants64: HashMap::new(),
            specials: HashMap::new(),
            local_top: 0,
            stack: None,
        }
    }

    pub(super) fn emit(&mut self, op: Op) {
        self.code.push(Inst {
            guard: self.guard,
            op,
        });
        self.lines.push((self.line, self.position));
        self.kinds.push(self.kind.take());
    }

    // Scopes and names.

    pub(super) fn open_scope(&mut self) {
        let id = self.parents.len() as u32;
        let parent = self.scope().id;
        self.parents.push(parent);
        self.scopes.push(Scope {
            symbols: HashMap::new(),
            families: HashMap::new(),
            id,
            local_top: self.local_top,
        });
    }

    pub(super) fn close_scope(&mut self) {
        // The parser has checked that braces balance, so the function's own scope remains.
        if let Some(scope) = self.scopes.pop() {
            // The memory of a call's parameters is reused by the next call.
            self.local_top = scope.local_top;
        }
    }

    fn scope(&mut self) -> &mut Scope<'a> {
        self.scopes
            .last_mut()
            .expect("the function's scope is never closed")
    }

    pub(super) fn declare(&mut self, name: &'a str, symbol: Symbol) -> Result<(), ParseError> {
        match self.scope().symbols.insert(name, symbol) {
            None => Ok(()),
            Some(_) => Err(self.twice(name)),
        }
    }

    fn twice(&self, name: &str) -> ParseError {
        ParseError::syntax(self.line, format!("`{name}` is declared twice"))
    }

    pub(super) fn declare_register(
        &mut self,
        ty: &str,
        name: &'a str,
        count: Option<u32>,
    ) -> Result<(), ParseError> {
        let class = match ty {
            ".pred" => Class::Predicate,
            // Only loads, stores and conversions take registers of 8 bits, and no more than that.
            ".b8" | ".u8" | ".s8" => Class::B16,
            ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => Class::B16,
            ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" => Class::B32,
            ".b64" | ".u64" | ".s64" | ".f64" => Class::B64,
            ".b128" => Class::B128,
            _ => return Err(ParseError::unsupported(self.line, format!(".reg {ty}"))),
        };
        let Some(count) = count else {
            let symbol = self.new_register(class, name)?;
            return self.declare(name, symbol);
        };
        match self.scope().families.insert(name, (class, count)) {
            None => Ok(()),
            Some(_) => Err(self.twice(name)),
        }
    }

    /// Allocates local memory in the frame.
    pub(super) fn reserve_local(&mut self, size: u64, align: u32) -> Result<u32, ParseError> {
        let start = u64::from(self.local_top).next_multiple_of(u64::from(align.max(1)));
        let end = start.checked_add(size).filter(|&end| end <= 1 << 24);
        let end = end.ok_or_else(|| {
            ParseError::limit(
                self.line,
                "more than 16 MiB of local memory in one function",
            )
        })?;
        self.local_top = end as u32;
        self.function.local_bytes = self.function.local_bytes.max(self.local_top);
        Ok(start as u32)
    }

    /// Allocates local memory for an array, with a guard gap on each side. Its memory is never
    /// shared with another array.
    pub(super) fn reserve_array(
        &mut self,
        name: &str,
        size: u64,
        align: u32,
    ) -> Result<u32, ParseError> {
        self.reserve_local(LOCAL_GAP.into(), 1)?;
        let start = self.reserve_local(size, align)?;
        let place = start..self.local_top;
        self.function.local_arrays.push((name.to_owned(), place));
        self.reserve_local(LOCAL_GAP.into(), 1)?;
        for scope in &mut self.scopes {
            scope.local_top = self.local_top;
        }
        Ok(start)
    }

    pub(super) fn lookup(&mut self, name: &'a str) -> Result<Symbol, ParseError> {
        for index in (0..self.scopes.len()).rev() {
            if let Some(&symbol) = self.scopes[index].symbols.get(name) {
                return Ok(symbol);
            }
            // `%r12` of the family `%r`.
            let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let digits = &name[prefix.len()..];
            let member = digits
                .parse::<u32>()
                .ok()
                .filter(|_| digits.len() == 1 || !digits.starts_with('0'));
            let family = self.scopes[index].families.get(prefix).copied();
            if let (Some(member), Some((class, count))) = (member, family) {
                if member >= count {
                    let message = format!("`{name}` is not one of the {count} declared registers");
                    return Err(ParseError::syntax(self.line, message));
                }
                let symbol = self.new_register(class, name)?;
                self.scopes[index].symbols.insert(name, symbol);
                return Ok(symbol);
            }
        }
        if let Some(reason) = self.module.refused.get(name) {
            return Err(reason.clone());
        }
        match self.module.lookup(name) {
            Some(symbol) => {
                match symbol {
                    Symbol::Variable(index) => self.function.uses.push(index),
                    Symbol::Function(index) => self.function.callees.push(index),
                    _ => {}
                }
                Ok(symbol)
            }
            None if is_foreign_register(name) => Err(ParseError::unsupported(self.line, name)),
            None => Err(ParseError::syntax(
                self.line,
                format!("`{name}` is not declared"),
            )),
        }
    }

    // Rows.

    fn new_row(&mut self, class: Class) -> Result<Row, ParseError> {
        let rows = &mut self.function.rows;
        let count = match class {
            Class::Predicate => &mut rows.predicates,
            Class::B16 | Class::B32 => &mut rows.w32,
            Class::B64 | Class::B128 => &mut rows.w64,
        };
        if *count >= MAX_ROWS {
            let message = format!(
                "the function uses more than {MAX_ROWS} registers and constants of one width"
            );
            return Err(ParseError::limit(self.line, message));
        }
        let row = *count as Row;
        *count += 1;
        match class {
            Class::Predicate => {}
            Class::B16 | Class::B32 => self.function.registers32.push(row),
            Class::B64 | Class::B128 => self.function.registers64.push(row),
        }
        Ok(row)
    }

    fn new_register(&mut self, class: Class, name: &str) -> Result<Symbol, ParseError> {
        let row = self.new_row(class)?;
        let cell = match class {
            Class::Predicate => Cell::Predicate(row),
            Class::B16 | Class::B32 => Cell::R32(row),
            Class::B64 | Class::B128 => Cell::R64(row),
        };
        self.function.names.push((cell, name.to_owned()));
        if class == Class::B128 {
            let high = self.new_row(class)?;
            let names = &mut self.function.names;
            names.push((Cell::R64(high), name.to_owned()));
        }
        Ok(Symbol::Register(class, row))
    }

    pub(super) fn temp32(&mut self) -> Result<Row, ParseError> {
        self.new_row(Class::B32)
    }

    pub(super) fn temp64(&mut self) -> Result<Row, ParseError> {
        self.new_row(Class::B64)
    }

    pub(super) fn temp_pred(&mut self) -> Result<Row, ParseError> {
        self.new_row(Class::Predicate)
    }

    pub(super) fn constant32(&mut self, value: Value) -> Result<Row, ParseError> {
        if let Some(&row) = self.constants32.get(&value) {
            return Ok(row);
        }
        let row = self.new_row(Class::B32)?;
        self.function.registers32.pop();
        self.function.constants32.push((row, value));
        self.constants32.insert(value, row);
        Ok(row)
    }

    pub(super) fn constant64(&mut self, value: Value) -> Result<Row, ParseError> {
        if let Some(&row) = self.constants64.get(&value) {
            return Ok(row);
        }
        let row = self.new_row(Class::B64)?;
        self.function.registers64.pop();
        self.function.constants64.push((row, value));
        self.constants64.insert(value, row);
        Ok(row)
    }

    /// A row of its own that is zero when a frame is created.
    pub(super) fn zeroed64(&mut self) -> Result<Row, ParseError> {
        let row = self.new_row(Class::B64)?;
        self.function.registers64.pop();
        self.function.constants64.push((row, Value::Bits(0)));
        Ok(row)
    }

    pub(super) fn special(&mut self, special: Special) -> Result<Row, ParseError> {
        if let Some(&row) = self.specials.get(&special) {
            return Ok(row);
        }
        let row = self.new_row(Class::B32)?;
        self.function.registers32.pop();
        self.function.specials.push((row, special));
        self.specials.insert(special, row);
        Ok(row)
    }

    /// The row that holds the start of the frame's local memory.
    pub(super) fn local_base(&mut self) -> Result<Row, ParseError> {
        if let Some(row) = self.function.local_base {
            return Ok(row);
        }
        let row = self.new_row(Class::B64)?;
        self.function.registers64.pop();
        self.function.local_base = Some(row);
        Ok(row)
    }

    // Labels.

    pub(super) fn label(&mut self, name: &'a str) -> Result<(), ParseError> {
        let scope = self.scope().id;
        let pc = self.code.len() as u32;
        match self.labels.insert((scope, name), pc) {
            None => Ok(()),
            Some(_) => Err(ParseError::syntax(
                self.line,
                format!("label `{name}` is defined twice"),
            )),
        }
    }

    /// The next instruction emitted branches to `label`.
    pub(super) fn branch_to(&mut self, index: usize, label: &'a str) {
        let fixup = Fixup {
            pc: self.code.len(),
            index,
            label,
            scope: self.scope().id,
            line: self.line,
        };
        self.fixups.push(fixup);
    }

    /// Resolves branch targets, once all labels are known; `start` is the code's position in the
    /// program.
    pub(super) fn resolve_labels(&mut self, start: u32) -> Result<(), ParseError> {
        for fixup in std::mem::take(&mut self.fixups) {
            let mut scope = fixup.scope;
            let target = loop {
                match self.labels.get(&(scope, fixup.label)) {
                    Some(&target) => break start + target,
                    None if scope == 0 => {
                        let message = format!("there is no label `{}`", fixup.label);
                        return Err(ParseError::syntax(fixup.line, message));
                    }
                    None => scope = self.parents[scope as usize],
                }
            };
            match &mut self.code[fixup.pc].op {
                Op::Branch { target: slot } => *slot = target,
                Op::BranchIndex { targets, .. } => targets[fixup.index] = target,
                _ => {}
            }
        }
        Ok(())
    }
}
