//! [`Check`]: whether numbers are a permutation, by their fingerprint.
//!
//! Numbers are those from 0 to n − 1 in some order if and only if the polynomial that is the
//! product of all X + x equals the product of all X + i. A device computes both for one r, which is
//! random. If the polynomials differ, so do the values, except with a probability below n / 2⁹⁸:
//! the difference has a degree below n, so fewer than n / 4 irreducible factors of degree 4. r is a
//! zero only if its f ([`Point`]) is one of these. Each f belongs to at most 4! of the 2¹⁰⁴
//! possible (a₀ … a₃), of which a quarter, and certainly an eighth, have an irreducible f.
//!
//! The product of all r + i is known for some n. A check multiplies the numbers from its n to the
//! next of these, as if they were given.

use std::sync::{Arc, Mutex, PoisonError};

use launch_contract::launch::{Argument, Shape};

use super::field::{DEGREE, Element, ONE, Point};
use super::kernels::{KERNELS, THREADS, counters};
use crate::Result;
use crate::backend::{Callable, Queue};
use crate::unused::Block;

/// Groups of four numbers for each thread, if there are enough: a thread ends with a product that
/// costs as much as three groups.
pub(super) const FOURS: usize = 4;

/// What a device keeps for its checks.
pub(crate) struct Check {
    pub(super) kernels: Vec<Arc<dyn Callable>>,
    pub(super) point: Point,
    /// Blocks that fill the device.
    pub(super) blocks: usize,
    pub(super) span: u32,
    /// The products of r + i for all i below multiples of the span.
    pub(super) known: Mutex<Vec<Element>>,
    /// Memory for a launch of one column, with its counter zero. `None` while a check uses it; a
    /// check returns it only after success.
    pub(super) memory: Mutex<Option<Block>>,
}

impl Check {
    pub(crate) fn into_memory(self) -> Option<Block> {
        let memory = self.memory.into_inner();
        memory.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn plan(&self, len: usize, base: u32, most: u32) -> Plan {
        let end = most.next_multiple_of(self.span);
        let fours = (len + (end - most) as usize) / 4;
        let threads = fours.clamp(4, THREADS).next_power_of_two();
        Plan {
            len,
            base,
            most,
            first: most,
            span: end - most,
            end,
            columns: 1,
            threads,
            blocks: fours.div_ceil(threads * FOURS).clamp(1, self.blocks),
        }
    }

    /// The product of a plan whose window is full, if the one of all numbers below its end is
    /// given.
    pub(super) fn expected(&self, plan: &Plan, below: Element) -> Element {
        let others = self.point.plus_times(plan.most, ONE);
        let others = (self.point).power(others, plan.len as u64 - u64::from(plan.most));
        self.point.product(below, others)
    }

    /// Starts a kernel, which writes to `results`.
    ///
    /// # Safety
    /// `numbers` has the planned count, aligned to 16 bytes; the memory has the planned size, with
    /// its counters zero; `results` has an element for each column. All stay allocated until the
    /// kernel has finished.
    pub(super) unsafe fn start(
        &self,
        queue: &dyn Queue,
        plan: &Plan,
        numbers: u64,
        memory: u64,
        results: u64,
    ) -> Result<()> {
        let (len, twice) = (plan.len as u64, self.point.0.map(|of| 2 * of));
        // From one four of a thread to the next: computed in the kernel, it would be a wide product
        // before each load.
        let stride = 16 * (plan.blocks * plan.threads) as u64;
        let arguments = [
            Argument::new(&numbers),
            Argument::new(&len),
            Argument::new(&plan.base),
            Argument::new(&plan.most),
            Argument::new(&plan.first),
            Argument::new(&plan.span),
            Argument::new(&twice),
            Argument::new(&memory),
            Argument::new(&results),
            Argument::new(&stride),
        ];
        // The last one takes all numbers that there can be.
        let suits = KERNELS.iter().position(|(_, most, _)| plan.end <= *most);
        let kernel = &self.kernels[suits.unwrap_or(KERNELS.len() - 1)];
        let grid = (plan.columns as u32, plan.blocks as u32);
        let shape = Shape::new(grid, plan.threads as u32);
        // SAFETY: the memory is the caller's. The kernels have these parameters, read the numbers,
        // and write to memory that has room for all blocks.
        unsafe { kernel.launch(queue, shape, &arguments) }
    }
}

/// A launch of a kernel.
pub(super) struct Plan {
    pub(super) len: usize,
    pub(super) base: u32,
    pub(super) most: u32,
    pub(super) first: u32,
    pub(super) span: u32,
    /// The end of the last column's span.
    pub(super) end: u32,
    pub(super) columns: usize,
    pub(super) threads: usize,
    pub(super) blocks: usize,
}

impl Plan {
    /// The bytes of memory that the kernel needs: counters and products of blocks.
    pub(super) fn bytes(&self) -> usize {
        4 * (counters(self.columns) + self.columns * self.blocks * DEGREE)
    }

    /// The bytes of the results.
    pub(super) fn result_bytes(&self) -> usize {
        4 * self.columns * DEGREE
    }
}
