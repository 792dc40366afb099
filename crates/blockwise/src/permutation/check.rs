//! [`Check`]: whether numbers are a permutation, by their fingerprint.
//!
//! Numbers are those from 0 to n − 1 in some order if and only if the polynomial that is the product
//! of all X + x equals the product of all X + i. A device computes both for one r, which is random.
//! If the polynomials differ, so do the values, except with a probability below n / 2⁹⁸: the
//! difference has a degree below n, so fewer than n / 4 irreducible factors of degree 4. r is a zero
//! only if its f ([`Point`]) is one of these. Each f belongs to at most 4! of the 2¹⁰⁴ possible
//! (a₀ … a₃), of which a quarter, and certainly an eighth, have an irreducible f.
//!
//! The product of all r + i is known for some n. A check multiplies the numbers from its n to the
//! next of these, as if they were given.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use launch_contract::launch::{Argument, Shape};

use super::field::{DEGREE, Element, ONE, P, Point, WINDOW};
use super::kernels::{self, KERNELS, THREADS, counters};
use crate::backend::{Callable, OWN, Queue};
use crate::busy::lock;
use crate::memory::Core;
use crate::{Buffer, DeviceKind, Error, Result};

/// Blocks for each multiprocessor: as many as an H100 has registers for.
const BLOCKS: usize = 3;
/// Fours of numbers for each thread, if there are enough: at its end is a product, which costs as
/// much as three of them.
const FOURS: usize = 4;
/// The product of all r + i below is known for multiples of a span. A check multiplies the numbers
/// from its length to the next multiple, too: on a GPU, in a microsecond at most.
const SPAN: u32 = 1 << 18;
const EMULATED_SPAN: u32 = 1 << 8;

/// What a device keeps for its checks.
pub(crate) struct Check {
    kernels: Vec<Arc<dyn Callable>>,
    pub(super) point: Point,
    /// Blocks that fill the device.
    blocks: usize,
    pub(super) span: u32,
    /// The products of r + i for all i below multiples of the span.
    known: Mutex<Vec<Element>>,
}

impl Check {
    pub(super) fn load(core: &Arc<Core>) -> Result<Self> {
        let properties = core.backend.properties();
        let is_gpu = properties.kind == DeviceKind::Cuda;
        let program = core.backend.load(&kernels::ptx(), OWN)?;
        let functions = KERNELS.iter().map(|(name, ..)| program.function(name));
        let check = Self {
            kernels: functions.collect::<Result<_>>()?,
            point: Point::draw(random)?,
            blocks: BLOCKS * properties.multiprocessors.max(1) as usize,
            span: if is_gpu { SPAN } else { EMULATED_SPAN },
            known: Mutex::new(vec![ONE]),
        };
        if is_gpu {
            // All that there can be, in a fraction of the time that the driver takes to compile the
            // kernels: so no length's first check takes longer than its others.
            check.below(core, WINDOW / SPAN)?;
        }
        Ok(check)
    }

    /// The product of r + i for all i below a multiple of the span.
    pub(super) fn below(&self, core: &Arc<Core>, spans: u32) -> Result<Element> {
        let mut known = lock(&self.known);
        if let Some(product) = known.get(spans as usize) {
            return Ok(*product);
        }
        let first = known.len() - 1;
        let columns = spans as usize - first;
        let plan = Plan {
            len: 0,
            base: 0,
            most: 0,
            first: first as u32 * self.span,
            span: self.span,
            end: spans * self.span,
            columns,
            threads: THREADS,
            blocks: (self.span as usize).div_ceil(THREADS * 32 * FOURS),
        };
        let mut product = known[first];
        for span in self.run(core, None, &plan)? {
            product = self.point.product(product, span);
            known.push(product);
        }
        Ok(product)
    }

    /// Whether each number from `base` to `base + most - 1` is once among the numbers.
    pub(super) fn is_full(&self, numbers: &Buffer<u32>, base: u32, most: u32) -> Result<bool> {
        let core = &numbers.memory.core;
        let plan = self.plan(numbers.len(), base, most);
        let below = self.below(core, plan.end / self.span)?;
        let products = self.run(core, Some(numbers), &plan)?;
        Ok(products == [self.expected(&plan, below)])
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

    /// The product of a plan whose window is full, if the one of all numbers below its end is given.
    pub(super) fn expected(&self, plan: &Plan, below: Element) -> Element {
        let others = self.point.plus_times(plan.most, ONE);
        let others = (self.point).power(others, plan.len as u64 - u64::from(plan.most));
        self.point.product(below, others)
    }

    /// The product of each column.
    pub(super) fn run(
        &self,
        core: &Arc<Core>,
        numbers: Option<&Buffer<u32>>,
        plan: &Plan,
    ) -> Result<Vec<Element>> {
        let memory = Buffer::<u32>::alloc(core, plan.words())?;
        let at = memory.memory.address;
        let at_numbers = numbers.map_or(at, |numbers| numbers.memory.address);
        let reads = numbers.map(|numbers| (&*numbers.memory, false));
        let uses = reads.into_iter().chain([(&*memory.memory, true)]);
        core.enqueue(&core.queue, uses, |queue| {
            // SAFETY: the buffers have these lengths and a larger alignment. Memory is freed after
            // all earlier work.
            unsafe { self.start(queue, plan, at_numbers, at) }
        })?;
        let results = memory.view(plan.results()).to_vec()?;
        let (results, _) = results.as_chunks::<DEGREE>();
        let reduced = |result: &Element| result.map(|number| number % P);
        Ok(results.iter().map(reduced).collect())
    }

    /// Starts a kernel.
    ///
    /// # Safety
    /// There are as many numbers at `numbers` as planned, aligned to 16 bytes, and as much memory.
    /// Both stay until the kernel has finished.
    unsafe fn start(
        &self,
        queue: &dyn Queue,
        plan: &Plan,
        numbers: u64,
        memory: u64,
    ) -> Result<()> {
        let (len, twice) = (plan.len as u64, self.point.0.map(|of| 2 * of));
        let arguments = [
            Argument::new(&numbers),
            Argument::new(&len),
            Argument::new(&plan.base),
            Argument::new(&plan.most),
            Argument::new(&plan.first),
            Argument::new(&plan.span),
            Argument::new(&twice),
            Argument::new(&memory),
        ];
        // The last one takes all numbers that there can be.
        let suits = KERNELS.iter().position(|(_, most, _)| plan.end <= *most);
        let kernel = &self.kernels[suits.unwrap_or(KERNELS.len() - 1)];
        let grid = (plan.columns as u32, plan.blocks as u32);
        // SAFETY: the memory is the caller's. The kernels have these parameters, read the numbers,
        // and write to memory that has room for all blocks.
        unsafe {
            queue.fill(memory, 4 * counters(plan.columns), 0)?;
            kernel.launch(queue, Shape::new(grid, plan.threads as u32), &arguments)
        }
    }
}

fn random() -> Result<[u32; DEGREE]> {
    let mut numbers = [0; DEGREE];
    for number in &mut numbers {
        *number = getrandom::u32().map_err(|error| Error::NoRandomness {
            reason: error.to_string(),
        })?;
    }
    Ok(numbers)
}

/// A launch of a kernel.
pub(super) struct Plan {
    len: usize,
    base: u32,
    most: u32,
    first: u32,
    span: u32,
    /// The end of the last column's span.
    pub(super) end: u32,
    columns: usize,
    threads: usize,
    pub(super) blocks: usize,
}

impl Plan {
    /// The words of memory that the kernel needs.
    fn words(&self) -> usize {
        self.results().end + self.columns * self.blocks * DEGREE
    }

    /// Where the results are in the memory, in words.
    fn results(&self) -> Range<usize> {
        let counters = counters(self.columns);
        counters..counters + self.columns * DEGREE
    }
}
