//! Operands as rows and addresses.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::names::{Class, RESERVED_SHARED_BYTES, Symbol};
use super::op::{Address, Convert, IntOp, NO_ROW, Op, Pred, Reg, Row, Slot, TRUE};
use super::program::Value;
use super::special_registers::{Special, special_register};
use crate::error::ParseError;
use crate::parse::{Base, Operand};

impl<'a> Builder<'a, '_> {
    /// A register of 16 bits, or a constant.
    pub(super) fn r16(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
    ) -> Result<Row, ParseError> {
        match *operand {
            Operand::Name(name) if special_register(name).is_some() => {
                let whole = self.r32(form, operand)?;
                let low = self.constant32(Value::Bits(0xffff))?;
                let d = self.temp32()?;
                self.emit(Op::Int32 {
                    op: IntOp::And,
                    d,
                    a: whole,
                    b: low,
                });
                Ok(d)
            }
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
                if matches!(name, "%envreg1" | "%envreg2") {
                    return self.workspace(name == "%envreg1");
                }
                // Performance counters, which count nothing here.
                if matches!(
                    name.strip_prefix("%pm").map(str::as_bytes),
                    Some([b'0'..=b'7'])
                ) {
                    return self.constant32(Value::Bits(0));
                }
                if let Some(part) = name.strip_prefix("%reserved_smem_offset_") {
                    return self.reserved_shared(form, part);
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
                Symbol::Register(Class::B32, a) => {
                    let offset = self.constant32(Value::Bits(offset as u64 & 0xffff_ffff))?;
                    let d = self.temp32()?;
                    self.emit(Op::Int32 {
                        op: IntOp::Add,
                        d,
                        a,
                        b: offset,
                    });
                    Ok(d)
                }
                _ => Err(form.unsupported()),
            },
            Operand::Int(value) => self.constant32(Value::Bits(narrow(form, value, 32)?)),
            Operand::F32(bits) => self.constant32(Value::Bits(u64::from(bits))),
            _ => Err(form.wrong("needs a 32-bit register or a constant")),
        }
    }

    /// The upper or lower half of the address of the grid's workspace, which CUDA passes in two
    /// environment registers.
    fn workspace(&mut self, upper: bool) -> Result<Row, ParseError> {
        let index = self.module.workspace();
        self.function.uses.push(index);
        let a = self.constant64(Value::Variable { index, offset: 0 })?;
        let d = self.temp32()?;
        let (low, high) = if upper { (SINK, d) } else { (d, SINK) };
        self.emit(Op::Unpack { low, high, a });
        Ok(d)
    }

    /// A place in the shared memory that belongs to system software, such as the scratch memory of
    /// `cooperative_groups`, which needs 288 bytes at `_1`.
    fn reserved_shared(&mut self, form: &Form<'_, 'a>, part: &str) -> Result<Row, ParseError> {
        let size = RESERVED_SHARED_BYTES;
        let offset = match part {
            "cap" => return self.constant32(Value::Bits(size)),
            "begin" | "0" => 0,
            "1" => size as i64 / 2,
            "end" => size as i64,
            _ => return Err(form.unsupported()),
        };
        let index = self.module.reserved_shared();
        self.function.uses.push(index);
        self.constant32(Value::Variable { index, offset })
    }

    /// A register of 64 bits, a constant or an address.
    pub(super) fn r64(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
    ) -> Result<Row, ParseError> {
        match *operand {
            Operand::Name("%gridid") => {
                let a = self.special(Special::Grid)?;
                let d = self.temp64()?;
                let op = Convert::U32ToU64;
                self.emit(Op::Convert { op, d, a });
                Ok(d)
            }
            Operand::Name(name) => self.address_of(form, name, 0),
            Operand::Offset(name, offset) => self.address_of(form, name, offset),
            Operand::Int(value) => self.constant64(Value::Bits(value)),
            Operand::F64(bits) => self.constant64(Value::Bits(bits)),
            _ => Err(form.wrong("needs a 64-bit register or a constant")),
        }
    }

    /// A 64-bit register, or the address of a variable in its state space.
    fn address_of(
        &mut self,
        form: &Form<'_, 'a>,
        name: &'a str,
        offset: i64,
    ) -> Result<Row, ParseError> {
        match self.lookup(name)? {
            Symbol::Register(Class::B64, row) if offset == 0 => Ok(row),
            Symbol::Register(Class::B64, a) => self.add64(a, offset),
            Symbol::Variable(index) => self.constant64(Value::Variable { index, offset }),
            Symbol::Function(index) if offset == 0 => self.constant64(Value::Function(index)),
            Symbol::KernelParam { offset: start, .. } => {
                self.constant64(Value::Bits(i64::from(start).wrapping_add(offset) as u64))
            }
            Symbol::Local { offset: start, .. } => {
                self.local_address(i64::from(start).wrapping_add(offset))
            }
            _ => Err(form.wrong(format!(
                "needs a 64-bit register or a variable, not `{name}`"
            ))),
        }
    }

    /// A register or constant of the type's width; `F32` and `F64` accept float constants of either
    /// width.
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

    /// The low and high row of a register of 128 bits.
    pub(super) fn r128(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
    ) -> Result<[Row; 2], ParseError> {
        if let Operand::Name(name) = *operand
            && let Symbol::Register(Class::B128, low) = self.lookup(name)?
        {
            return Ok([low, low + 1]);
        }
        Err(form.wrong("needs a 128-bit register"))
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

    /// `[base+offset]`; the space determines what a name may be.
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
        // No compiler writes such an offset: add it in a separate instruction.
        let mut base = row;
        if !wide {
            base = self.temp64()?;
            self.emit(Op::Convert {
                op: Convert::U32ToU64,
                d: base,
                a: row,
            });
        }
        Ok(Address {
            row: self.add64(base, offset)?,
            wide: true,
            offset: 0,
        })
    }

    /// The address of a place in the frame's local memory.
    pub(super) fn local_address(&mut self, offset: i64) -> Result<Row, ParseError> {
        if self.is_entry {
            return self.constant64(Value::Bits(offset as u64));
        }
        let base = self.local_base()?;
        self.add64(base, offset)
    }

    /// A row plus a constant.
    fn add64(&mut self, a: Row, constant: i64) -> Result<Row, ParseError> {
        let constant = self.constant64(Value::Bits(constant as u64))?;
        let d = self.temp64()?;
        self.emit(Op::Int64 {
            op: IntOp::Add,
            d,
            a,
            b: constant,
        });
        Ok(d)
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
        // Registers and constants as arguments, as PTX before 2.0 allowed.
        Err(form.unsupported())
    }
}

/// Checks that an integer fits, signed or unsigned, and truncates it.
fn narrow(form: &Form<'_, '_>, value: u64, bits: u32) -> Result<u64, ParseError> {
    let signed = value as i64;
    let fits = value >> bits == 0 || (signed < 0 && signed >= -(1 << (bits - 1)));
    if fits {
        Ok(value & ((1 << bits) - 1))
    } else {
        Err(form.wrong(format!("has a constant of more than {bits} bits")))
    }
}

/// `_` in a vector of destinations.
pub(super) fn is_sink(operand: &Operand<'_>) -> bool {
    *operand == Operand::Name("_")
}

pub(super) const SINK: Row = NO_ROW;
