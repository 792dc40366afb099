use crate::decode::op::{Address, Reg, Row};

/// One value per lane of a warp.
pub(crate) type Row32 = [u32; 32];
pub(crate) type Row64 = [u64; 32];

/// Every lane.
pub(crate) const ALL: u32 = u32::MAX;

/// The rows that a function's instructions refer to by number.
pub(crate) struct Frame<'a> {
    pub(crate) w32: &'a mut [Row32],
    pub(crate) w64: &'a mut [Row64],
    pub(crate) predicates: &'a mut [u32],
    /// Lanes that do not exist or have exited; writes to them are harmless.
    pub(crate) dead: u32,
}

impl Frame<'_> {
    #[inline(always)]
    pub(crate) fn r32(&self, row: Row) -> &Row32 {
        &self.w32[usize::from(row)]
    }

    #[inline(always)]
    pub(crate) fn r64(&self, row: Row) -> &Row64 {
        &self.w64[usize::from(row)]
    }

    /// A row to be written in all lanes.
    #[inline(always)]
    pub(crate) fn row32(&mut self, row: Row) -> &mut Row32 {
        &mut self.w32[usize::from(row)]
    }

    #[inline(always)]
    pub(crate) fn row64(&mut self, row: Row) -> &mut Row64 {
        &mut self.w64[usize::from(row)]
    }

    /// Writes the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn set32(&mut self, row: Row, values: &Row32, mask: u32) {
        let all = mask | self.dead == ALL;
        write(&mut self.w32[usize::from(row)], values, mask, all);
    }

    #[inline(always)]
    pub(crate) fn set64(&mut self, row: Row, values: &Row64, mask: u32) {
        let all = mask | self.dead == ALL;
        write(&mut self.w64[usize::from(row)], values, mask, all);
    }

    #[inline(always)]
    pub(crate) fn set_predicate(&mut self, row: Row, lanes: u32, mask: u32) {
        let target = &mut self.predicates[usize::from(row)];
        *target = (*target & !mask) | (lanes & mask);
    }

    /// One lane of a register of any width, zero-extended.
    pub(crate) fn get(&self, reg: Reg, lane: usize) -> u64 {
        match reg {
            Reg::R16(row) | Reg::R32(row) => u64::from(self.w32[usize::from(row)][lane]),
            Reg::R64(row) => self.w64[usize::from(row)][lane],
        }
    }

    /// Writes one lane of a register of any width.
    pub(crate) fn put(&mut self, reg: Reg, lane: usize, value: u64) {
        match reg {
            Reg::R16(row) => self.w32[usize::from(row)][lane] = value as u32 & 0xffff,
            Reg::R32(row) => self.w32[usize::from(row)][lane] = value as u32,
            Reg::R64(row) => self.w64[usize::from(row)][lane] = value,
        }
    }

    /// The addresses of an address operand.
    #[inline(always)]
    pub(crate) fn addresses(&self, address: Address) -> Row64 {
        let offset = i64::from(address.offset) as u64;
        let mut addresses = [0; 32];
        if address.wide {
            let row = self.r64(address.row);
            for lane in 0..32 {
                addresses[lane] = row[lane].wrapping_add(offset);
            }
        } else {
            let row = self.r32(address.row);
            for lane in 0..32 {
                // 32-bit addresses wrap at 32 bits.
                addresses[lane] = u64::from(row[lane].wrapping_add(offset as u32));
            }
        }
        addresses
    }
}

/// Writes the lanes of `mask`, or all lanes at once.
#[inline(always)]
fn write<T: Copy>(target: &mut [T; 32], values: &[T; 32], mask: u32, all: bool) {
    if all {
        *target = *values;
    } else {
        for lane in 0..32 {
            target[lane] = if mask & (1 << lane) != 0 {
                values[lane]
            } else {
                target[lane]
            };
        }
    }
}

/// The numbers of the lanes in a mask.
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}
