use super::effects::Cell;
use super::form::{Form, Ty};
use super::module::ModuleNames;
use super::op::{Address, CARRY, Inst, NO_ROW, Op, Pred, Reg, Row, Slot, TRUE};
use super::program::{FileSizes, Function, LOCAL_GAP, Special, Value};
use crate::error::ParseError;
use crate::metrics::Kind;
use crate::parse::{Base, Operand};
use std::collections::HashMap;

/// Frames with more rows than this are refused; row numbers have 16 bits, predicates 15.
const MAX_ROWS: u32 = 0x7ff0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Predicate,
    B16,
    B32,
    B64,
}

/// What a name stands for inside a function.
#[derive(Clone, Copy)]
pub(super) enum Symbol {
    Register(Class, Row),
    /// `%r<4>`: %r0 to %r3.
    Family(Class, u32),
    /// In the frame's local memory: `.local` variables, and parameters of functions that are not kernels.
    Local {
        offset: u32,
        size: u32,
        is_param: bool,
    },
    KernelParam {
        offset: u32,
        size: u32,
    },
    Variable(u32),
    Function(u32),
}

struct Scope<'a> {
    symbols: HashMap<&'a str, Symbol>,
    /// Its number among all scopes of the function, for labels.
    id: u32,
    /// The local memory in use before it.
    local_top: u32,
}

/// A branch whose target is not known yet.
struct Fixup<'a> {
    pc: usize,
    /// Which target of a `brx.idx`.
    index: usize,
    label: &'a str,
    scope: u32,
    line: u32,
}

/// Collects one function's instructions, rows and constants.
pub(super) struct Builder<'a, 'm> {
    pub(super) module: &'m mut ModuleNames<'a>,
    pub(super) code: Vec<Inst>,
    pub(super) lines: Vec<(u32, u32)>,
    pub(super) kinds: Vec<Option<Kind>>,
    /// The kind of the PTX instruction that is being decoded, until its first decoded one takes it.
    pub(super) kind: Option<Kind>,
    pub(super) guard: Pred,
    pub(super) line: u32,
    pub(super) frames: u32,
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
}

impl<'a, 'm> Builder<'a, 'm> {
    pub(super) fn new(module: &'m mut ModuleNames<'a>, name: &str, is_entry: bool) -> Self {
        let function = Function {
            name: name.to_owned(),
            start: None,
            // The predicates that are always there: true, and the carry flag.
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
        };
        Self {
            module,
            code: Vec::new(),
            lines: Vec::new(),
            kinds: Vec::new(),
            kind: None,
            guard: TRUE,
            line: 0,
            frames: 0,
            is_entry,
            tables: HashMap::new(),
            prototypes: HashMap::new(),
            function,
            scopes: vec![Scope {
                symbols: HashMap::new(),
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
        }
    }

    pub(super) fn emit(&mut self, op: Op) {
        self.code.push(Inst {
            guard: self.guard,
            op,
        });
        self.lines.push((self.line, self.frames));
        self.kinds.push(self.kind.take());
    }

    // Scopes and names.

    pub(super) fn open_scope(&mut self) {
        let id = self.parents.len() as u32;
        let parent = self.scope().id;
        self.parents.push(parent);
        self.scopes.push(Scope {
            symbols: HashMap::new(),
            id,
            local_top: self.local_top,
        });
    }

    pub(super) fn close_scope(&mut self) {
        // The parser has balanced the braces, so the function's own scope stays.
        if let Some(scope) = self.scopes.pop() {
            // The memory of a call's parameters serves the next call too.
            self.local_top = scope.local_top;
        }
    }

    fn scope(&mut self) -> &mut Scope<'a> {
        self.scopes
            .last_mut()
            .expect("the function's scope is never closed")
    }

    pub(super) fn declare(&mut self, name: &'a str, symbol: Symbol) -> Result<(), ParseError> {
        let line = self.line;
        match self.scope().symbols.insert(name, symbol) {
            None => Ok(()),
            Some(_) => Err(ParseError::syntax(
                line,
                format!("`{name}` is declared twice"),
            )),
        }
    }

    pub(super) fn declare_register(
        &mut self,
        ty: &str,
        name: &'a str,
        count: Option<u32>,
    ) -> Result<(), ParseError> {
        let class = match ty {
            ".pred" => Class::Predicate,
            ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => Class::B16,
            ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" => Class::B32,
            ".b64" | ".u64" | ".s64" | ".f64" => Class::B64,
            _ => return Err(ParseError::unsupported(self.line, format!(".reg {ty}"))),
        };
        let symbol = match count {
            Some(count) => Symbol::Family(class, count),
            None => self.new_register(class, name)?,
        };
        self.declare(name, symbol)
    }

    /// Takes local memory of the frame.
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

    /// Takes local memory for an array, with a guard gap on each side. No other array of the function ever has it.
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
            let family = self.scopes[index].symbols.get(prefix).copied();
            if let (Some(member), Some(Symbol::Family(class, count))) = (member, family) {
                if member >= count {
                    let message = format!("`{name}` is not one of the {count} declared registers");
                    return Err(ParseError::syntax(self.line, message));
                }
                let symbol = self.new_register(class, name)?;
                self.scopes[index].symbols.insert(name, symbol);
                return Ok(symbol);
            }
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
            Class::B64 => &mut rows.w64,
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
            Class::B64 => self.function.registers64.push(row),
        }
        Ok(row)
    }

    fn new_register(&mut self, class: Class, name: &str) -> Result<Symbol, ParseError> {
        let row = self.new_row(class)?;
        let cell = match class {
            Class::Predicate => Cell::Predicate(row),
            Class::B16 | Class::B32 => Cell::R32(row),
            Class::B64 => Cell::R64(row),
        };
        self.function.names.push((cell, name.to_owned()));
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

    fn special(&mut self, special: Special) -> Result<Row, ParseError> {
        if let Some(&row) = self.specials.get(&special) {
            return Ok(row);
        }
        let row = self.new_row(Class::B32)?;
        self.function.registers32.pop();
        self.function.specials.push((row, special));
        self.specials.insert(special, row);
        Ok(row)
    }

    /// The row with the start of the frame's local memory.
    fn local_base(&mut self) -> Result<Row, ParseError> {
        if let Some(row) = self.function.local_base {
            return Ok(row);
        }
        let row = self.new_row(Class::B64)?;
        self.function.registers64.pop();
        self.function.local_base = Some(row);
        Ok(row)
    }

    // Operands.

    /// A register of 16 bits, or a constant.
    pub(super) fn r16(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
    ) -> Result<Row, ParseError> {
        match *operand {
            Operand::Name(name) => match self.lookup(name)? {
                Symbol::Register(Class::B16, row) => Ok(row),
                _ => Err(form.wrong(format!("needs a 16-bit register, not `{name}`"))),
            },
            Operand::Int(value) => self.constant32(Value::Bits(narrow(form, value, 16)?)),
            _ => Err(form.wrong("needs a 16-bit register or an integer")),
        }
    }

    /// A register of 32 bits, a constant or a special register.
    pub(super) fn r32(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
    ) -> Result<Row, ParseError> {
        match *operand {
            Operand::Name(name) => {
                if let Some(special) = special_register(name) {
                    return self.special(special);
                }
                if name == "WARP_SZ" {
                    return self.constant32(Value::Bits(32));
                }
                match self.lookup(name)? {
                    Symbol::Register(Class::B32, row) => Ok(row),
                    Symbol::Variable(index) => {
                        self.constant32(Value::Variable { index, offset: 0 })
                    }
                    Symbol::Local { offset, .. } if self.is_entry => {
                        self.constant32(Value::Bits(u64::from(offset)))
                    }
                    _ => Err(form.wrong(format!("needs a 32-bit register, not `{name}`"))),
                }
            }
            Operand::Offset(name, offset) => match self.lookup(name)? {
                Symbol::Variable(index) => self.constant32(Value::Variable { index, offset }),
                _ => Err(form.wrong(format!("needs a variable before the offset, not `{name}`"))),
            },
            Operand::Int(value) => self.constant32(Value::Bits(narrow(form, value, 32)?)),
            Operand::F32(bits) => self.constant32(Value::Bits(u64::from(bits))),
            _ => Err(form.wrong("needs a 32-bit register or a constant")),
        }
    }

    /// A register of 64 bits, a constant or an address.
    pub(super) fn r64(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
    ) -> Result<Row, ParseError> {
        match *operand {
            Operand::Name(name) => self.address_of(form, name, 0),
            Operand::Offset(name, offset) => self.address_of(form, name, offset),
            Operand::Int(value) => self.constant64(Value::Bits(value)),
            Operand::F64(bits) => self.constant64(Value::Bits(bits)),
            _ => Err(form.wrong("needs a 64-bit register or a constant")),
        }
    }

    /// A 64-bit register, or the address of a variable in its own space.
    fn address_of(
        &mut self,
        form: &Form<'_, 'a>,
        name: &'a str,
        offset: i64,
    ) -> Result<Row, ParseError> {
        match self.lookup(name)? {
            Symbol::Register(Class::B64, row) if offset == 0 => Ok(row),
            Symbol::Variable(index) => self.constant64(Value::Variable { index, offset }),
            Symbol::Function(index) if offset == 0 => self.constant64(Value::Function(index)),
            Symbol::KernelParam { offset: start, .. } => {
                self.constant64(Value::Bits(i64::from(start).wrapping_add(offset) as u64))
            }
            Symbol::Local { offset: start, .. } if self.is_entry => {
                self.constant64(Value::Bits(i64::from(start).wrapping_add(offset) as u64))
            }
            Symbol::Local { offset: start, .. } => {
                let base = self.local_base()?;
                let constant =
                    self.constant64(Value::Bits(i64::from(start).wrapping_add(offset) as u64))?;
                let d = self.temp64()?;
                self.emit(Op::Int64 {
                    op: super::op::IntOp::Add,
                    d,
                    a: base,
                    b: constant,
                });
                Ok(d)
            }
            _ => Err(form.wrong(format!(
                "needs a 64-bit register or a variable, not `{name}`"
            ))),
        }
    }

    /// A register or constant as wide as the type; `F32` and `F64` take float constants of either width.
    pub(super) fn source(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
        ty: Ty,
    ) -> Result<Reg, ParseError> {
        match (ty, operand) {
            (Ty::F32, &Operand::F64(bits)) => {
                let value = f64::from_bits(bits) as f32;
                Ok(Reg::R32(
                    self.constant32(Value::Bits(u64::from(value.to_bits())))?,
                ))
            }
            (Ty::F64, &Operand::F32(bits)) => {
                let value = f64::from(f32::from_bits(bits));
                Ok(Reg::R64(self.constant64(Value::Bits(value.to_bits()))?))
            }
            (Ty::F32 | Ty::F64, Operand::Int(_)) => {
                Err(form.wrong("needs a float constant such as 0f3F800000"))
            }
            _ => match ty.size() {
                2 => Ok(Reg::R16(self.r16(form, operand)?)),
                4 => Ok(Reg::R32(self.r32(form, operand)?)),
                8 => Ok(Reg::R64(self.r64(form, operand)?)),
                _ => Err(form.unsupported()),
            },
        }
    }

    pub(super) fn source32(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
        ty: Ty,
    ) -> Result<Row, ParseError> {
        match self.source(form, operand, ty)? {
            Reg::R32(row) => Ok(row),
            _ => Err(form.unsupported()),
        }
    }

    pub(super) fn source64(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
        ty: Ty,
    ) -> Result<Row, ParseError> {
        match self.source(form, operand, ty)? {
            Reg::R64(row) => Ok(row),
            _ => Err(form.unsupported()),
        }
    }

    /// A register to write, of any width.
    pub(super) fn any_register(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
    ) -> Result<Reg, ParseError> {
        match *operand {
            Operand::Name(name) => match self.lookup(name)? {
                Symbol::Register(Class::B16, row) => Ok(Reg::R16(row)),
                Symbol::Register(Class::B32, row) => Ok(Reg::R32(row)),
                Symbol::Register(Class::B64, row) => Ok(Reg::R64(row)),
                _ => Err(form.wrong(format!("needs a register, not `{name}`"))),
            },
            _ => Err(form.wrong("needs a register")),
        }
    }

    /// A register to write, as wide as the type.
    pub(super) fn target(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
        ty: Ty,
    ) -> Result<Reg, ParseError> {
        let reg = self.any_register(form, operand)?;
        let fits = matches!(
            (reg, ty.size()),
            (Reg::R16(_), 2) | (Reg::R32(_), 4) | (Reg::R64(_), 8)
        );
        if fits {
            Ok(reg)
        } else {
            Err(form.wrong("has a destination register of another width"))
        }
    }

    pub(super) fn target32(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
    ) -> Result<Row, ParseError> {
        match self.target(form, operand, Ty::B32)? {
            Reg::R32(row) => Ok(row),
            _ => Err(form.unsupported()),
        }
    }

    pub(super) fn target64(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
    ) -> Result<Row, ParseError> {
        match self.target(form, operand, Ty::B64)? {
            Reg::R64(row) => Ok(row),
            _ => Err(form.unsupported()),
        }
    }

    /// A predicate register to write; `_` is none.
    pub(super) fn target_pred(
        &mut self,
        form: &Form<'_, 'a>,
        name: &'a str,
    ) -> Result<Option<Row>, ParseError> {
        if name == "_" {
            return Ok(None);
        }
        match self.lookup(name)? {
            Symbol::Register(Class::Predicate, row) => Ok(Some(row)),
            _ => Err(form.wrong(format!("needs a predicate, not `{name}`"))),
        }
    }

    pub(super) fn only_pred(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
    ) -> Result<Row, ParseError> {
        match *operand {
            Operand::Name(name) => self
                .target_pred(form, name)?
                .ok_or_else(|| form.wrong("needs a predicate, not `_`")),
            _ => Err(form.wrong("needs a predicate")),
        }
    }

    pub(super) fn pred(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
    ) -> Result<Pred, ParseError> {
        let (name, negated) = match *operand {
            Operand::Name(name) => (name, false),
            Operand::Not(name) => (name, true),
            Operand::Int(value) => return Ok(if value == 0 { TRUE.not() } else { TRUE }),
            _ => return Err(form.wrong("needs a predicate")),
        };
        match self.target_pred(form, name)? {
            Some(row) => Ok(Pred::new(row, negated)),
            None => Err(form.wrong("needs a predicate, not `_`")),
        }
    }

    pub(super) fn guard_pred(&mut self, name: &'a str, negated: bool) -> Result<Pred, ParseError> {
        match self.lookup(name)? {
            Symbol::Register(Class::Predicate, row) => Ok(Pred::new(row, negated)),
            _ => Err(ParseError::syntax(
                self.line,
                format!("the guard `{name}` is not a predicate"),
            )),
        }
    }

    /// `[base+offset]` in a space; for a name the space says what it may be.
    pub(super) fn address(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
    ) -> Result<Address, ParseError> {
        let Operand::Address(base, offset) = *operand else {
            return Err(form.wrong("needs an address in brackets"));
        };
        let constant = |row| {
            Ok(Address {
                row,
                wide: true,
                offset: 0,
            })
        };
        match base {
            Base::Absolute(base) => {
                constant(self.constant64(Value::Bits(base.wrapping_add(offset as u64)))?)
            }
            Base::Name(name) => match self.lookup(name)? {
                Symbol::Register(Class::B32, row) => self.register_address(row, false, offset),
                Symbol::Register(Class::B64, row) => self.register_address(row, true, offset),
                Symbol::Variable(index) => {
                    constant(self.constant64(Value::Variable { index, offset })?)
                }
                Symbol::Local { offset: start, .. } if self.is_entry => constant(
                    self.constant64(Value::Bits(i64::from(start).wrapping_add(offset) as u64))?,
                ),
                Symbol::KernelParam { offset: start, .. } => constant(
                    self.constant64(Value::Bits(i64::from(start).wrapping_add(offset) as u64))?,
                ),
                Symbol::Local { offset: start, .. } => {
                    let base = self.local_base()?;
                    self.register_address(base, true, i64::from(start).wrapping_add(offset))
                }
                _ => Err(form.wrong(format!("has no address `{name}`"))),
            },
        }
    }

    fn register_address(
        &mut self,
        row: Row,
        wide: bool,
        offset: i64,
    ) -> Result<Address, ParseError> {
        if let Ok(offset) = i32::try_from(offset) {
            return Ok(Address { row, wide, offset });
        }
        // An offset that no compiler writes: add it first.
        let constant = self.constant64(Value::Bits(offset as u64))?;
        let mut base = row;
        if !wide {
            base = self.temp64()?;
            self.emit(Op::Convert {
                op: super::op::Convert::U32ToU64,
                d: base,
                a: row,
            });
        }
        let d = self.temp64()?;
        self.emit(Op::Int64 {
            op: super::op::IntOp::Add,
            d,
            a: base,
            b: constant,
        });
        Ok(Address {
            row: d,
            wide: true,
            offset: 0,
        })
    }

    /// A function parameter's memory, by name.
    pub(super) fn param_slot(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
    ) -> Result<Slot, ParseError> {
        if let Operand::Name(name) = *operand
            && let Symbol::Local {
                offset,
                size,
                is_param: true,
            } = self.lookup(name)?
        {
            return Ok(Slot { offset, size });
        }
        Err(form.wrong("takes the names of `.param` variables"))
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

    /// Fills in the targets of branches, now that all labels are known; `start` is where the code will lie.
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

/// Checks that an integer fits, signed or unsigned, and cuts it to its bits.
fn narrow(form: &Form<'_, '_>, value: u64, bits: u32) -> Result<u64, ParseError> {
    let signed = value as i64;
    let fits = value >> bits == 0 || (signed < 0 && signed >= -(1 << (bits - 1)));
    if fits {
        Ok(value & ((1 << bits) - 1))
    } else {
        Err(form.wrong(format!("has a constant of more than {bits} bits")))
    }
}

fn special_register(name: &str) -> Option<Special> {
    let axis = |name: &str| match name {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    if let Some((register, component)) = name.split_once('.') {
        let axis = axis(component)?;
        return Some(match register {
            "%tid" => Special::ThreadIndex(axis),
            "%ntid" => Special::BlockSize(axis),
            "%ctaid" => Special::BlockIndex(axis),
            "%nctaid" => Special::GridSize(axis),
            _ => return None,
        });
    }
    Some(match name {
        "%laneid" => Special::Lane,
        "%warpid" => Special::Warp,
        "%nwarpid" => Special::WarpCount,
        "%smid" => Special::Multiprocessor,
        "%nsmid" => Special::MultiprocessorCount,
        "%gridid" => Special::Grid,
        "%lanemask_eq" => Special::LanesEqual,
        "%lanemask_lt" => Special::LanesLess,
        "%lanemask_le" => Special::LanesLessEqual,
        "%lanemask_gt" => Special::LanesGreater,
        "%lanemask_ge" => Special::LanesGreaterEqual,
        "%dynamic_smem_size" => Special::DynamicShared,
        "%total_smem_size" => Special::TotalShared,
        _ => return None,
    })
}

/// Special registers of PTX that the emulator does not have.
fn is_foreign_register(name: &str) -> bool {
    let names = [
        "%aggr_smem_size",
        "%clock_hi",
        "%current_graph_exec",
        "%globaltimer_hi",
        "%is_explicit_cluster",
        "%nctaid",
        "%ctaid",
        "%ntid",
        "%tid",
    ];
    let families = [
        "%cluster",
        "%envreg",
        "%nclusterid",
        "%pm",
        "%reserved_smem",
    ];
    names.contains(&name) || families.iter().any(|family| name.starts_with(family))
}

/// `_` in a vector of destinations.
pub(super) fn is_sink(operand: &Operand<'_>) -> bool {
    *operand == Operand::Name("_")
}

pub(super) const SINK: Row = NO_ROW;
