//! `ld` and `st`.

use super::Memory;
use crate::decode::op::{NO_ROW, Transfer, Width};
use crate::exec::frame::{ALL, Frame, Row32};
use crate::exec::observe::{Observer, Seen};
use crate::exec::raise::Checked;
use crate::fault::Access;
use std::sync::atomic::{self, Ordering};

impl Memory<'_> {
    /// `ld`
    #[inline(always)]
    pub(in crate::exec) fn load<O: Observer + ?Sized>(
        &mut self,
        frame: &mut Frame<'_>,
        t: &Transfer,
        mask: u32,
        pc: u32,
        observer: &mut O,
    ) -> Checked<()> {
        let kind = (t.space, Access::Read);
        if mask == ALL
            && let Some(rows) = self.rows(kind, frame, t, pc)
        {
            self.show(&rows, (t.bytes(), Access::Read), frame, pc, observer);
            for (index, &row) in t.rows[..usize::from(t.count)].iter().enumerate() {
                let at = index as u64 * u64::from(t.size);
                if row == NO_ROW {
                    continue;
                }
                if t.size == 8 {
                    self.read64(&rows, at, frame.row64(row));
                } else if t.size == 4 && t.width == Width::R32 {
                    self.read32::<4>(&rows, at, frame.row32(row));
                } else {
                    let mut values = [0; 32];
                    match t.size {
                        4 => self.read32::<4>(&rows, at, &mut values),
                        2 => self.read32::<2>(&rows, at, &mut values),
                        _ => self.read32::<1>(&rows, at, &mut values),
                    }
                    put_narrow(frame, t, row, values, ALL);
                }
            }
        } else {
            let addresses = frame.addresses(t.address);
            let mut rest = mask;
            while rest != 0 {
                let part = self.part(kind, &addresses, t.bytes(), rest, pc)?;
                rest &= !part.lanes;
                let seen = Seen::new(part, self.offsets, t.bytes(), Access::Read);
                observer.access(pc, &seen, frame, self);
                for (index, &row) in t.rows[..usize::from(t.count)].iter().enumerate() {
                    let at = index as u64 * u64::from(t.size);
                    if row == NO_ROW {
                        continue;
                    }
                    if t.size == 8 {
                        let values = self.gather64(&part, at);
                        frame.set64(row, &values, part.lanes);
                        continue;
                    }
                    let values = match t.size {
                        4 => self.gather32::<4>(&part, at),
                        2 => self.gather32::<2>(&part, at),
                        _ => self.gather32::<1>(&part, at),
                    };
                    put_narrow(frame, t, row, values, part.lanes);
                }
            }
        }
        if t.order.acquires() {
            atomic::fence(Ordering::Acquire);
        }
        Ok(())
    }

    /// `st`
    #[inline(always)]
    pub(in crate::exec) fn store<O: Observer + ?Sized>(
        &mut self,
        frame: &Frame<'_>,
        t: &Transfer,
        mask: u32,
        pc: u32,
        observer: &mut O,
    ) -> Checked<()> {
        if t.order.releases() {
            atomic::fence(Ordering::Release);
        }
        let kind = (t.space, Access::Write);
        if mask == ALL
            && let Some(rows) = self.rows(kind, frame, t, pc)
        {
            self.show(&rows, (t.bytes(), Access::Write), frame, pc, observer);
            for (index, &row) in t.rows[..usize::from(t.count)].iter().enumerate() {
                let at = index as u64 * u64::from(t.size);
                if t.size == 8 {
                    self.write64(&rows, at, frame.r64(row));
                    continue;
                }
                let mut narrowed = [0; 32];
                let values = narrow(frame, t, row, &mut narrowed);
                match t.size {
                    4 => self.write32::<4>(&rows, at, values),
                    2 => self.write32::<2>(&rows, at, values),
                    _ => self.write32::<1>(&rows, at, values),
                }
            }
            return Ok(());
        }
        let addresses = frame.addresses(t.address);
        let mut rest = mask;
        while rest != 0 {
            let part = self.part(kind, &addresses, t.bytes(), rest, pc)?;
            rest &= !part.lanes;
            let seen = Seen::new(part, self.offsets, t.bytes(), Access::Write);
            observer.access(pc, &seen, frame, self);
            for (index, &row) in t.rows[..usize::from(t.count)].iter().enumerate() {
                let at = index as u64 * u64::from(t.size);
                if t.size == 8 {
                    self.scatter64(&part, at, frame.r64(row));
                    continue;
                }
                let mut narrowed = [0; 32];
                let values = narrow(frame, t, row, &mut narrowed);
                match t.size {
                    4 => self.scatter32::<4>(&part, at, values),
                    2 => self.scatter32::<2>(&part, at, values),
                    _ => self.scatter32::<1>(&part, at, values),
                }
            }
        }
        Ok(())
    }
}

/// Writes loaded values of at most 32 bits to a register, extended to its width.
#[inline(always)]
fn put_narrow(frame: &mut Frame<'_>, t: &Transfer, row: u16, mut values: Row32, mask: u32) {
    if t.signed {
        let shift = 32 - 8 * u32::from(t.size);
        for value in &mut values {
            *value = ((*value << shift) as i32 >> shift) as u32;
        }
    }
    match t.width {
        Width::R32 => frame.set32(row, &values, mask),
        Width::R16 => frame.set32(row, &values.map(|value| value & 0xffff), mask),
        Width::R64 => {
            let signed = t.signed;
            let extend = |value: u32| {
                if signed {
                    value as i32 as u64
                } else {
                    u64::from(value)
                }
            };
            frame.set64(row, &values.map(extend), mask);
        }
    }
}

/// The values of a register for a store of at most 32 bits.
#[inline(always)]
fn narrow<'a>(frame: &'a Frame<'_>, t: &Transfer, row: u16, narrowed: &'a mut Row32) -> &'a Row32 {
    match t.width {
        Width::R64 => {
            *narrowed = frame.r64(row).map(|value| value as u32);
            narrowed
        }
        _ => frame.r32(row),
    }
}
