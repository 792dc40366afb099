//! Runs a [`Check`] on its device.

use std::sync::{Arc, Mutex};

use super::check::{Check, FOURS, Plan};
use super::field::{DEGREE, Element, ONE, P, Point, WINDOW};
use super::kernels::{self, KERNELS, THREADS};
use crate::backend::OWN;
use crate::busy::lock;
use crate::memory::{Allocation, Core};
use crate::{Buffer, DeviceKind, Error, Result};

/// Blocks for each multiprocessor: as many as an H100 has registers for.
const BLOCKS: usize = 3;
/// The product of all r + i below is known for multiples of a span. A check multiplies the numbers
/// from its length to the next multiple, too: on a GPU, in a microsecond at most.
const SPAN: u32 = 1 << 18;
const EMULATED_SPAN: u32 = 1 << 8;

impl Check {
    pub(super) fn load(core: &Arc<Core>) -> Result<Self> {
        let properties = core.backend.properties();
        let is_gpu = properties.kind == DeviceKind::Cuda;
        let program = core.backend.load(&kernels::ptx(), OWN)?;
        let functions = KERNELS
            .iter()
            .map(|(name, ..)| program.function(name, false));
        let check = Self {
            kernels: functions.collect::<Result<_>>()?,
            point: Point::draw(random)?,
            blocks: BLOCKS * properties.multiprocessors.max(1) as usize,
            span: if is_gpu { SPAN } else { EMULATED_SPAN },
            known: Mutex::new(vec![ONE]),
            memory: Mutex::default(),
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

    /// The product of each column.
    pub(super) fn run(
        &self,
        core: &Arc<Core>,
        numbers: Option<&Buffer<u32>>,
        plan: &Plan,
    ) -> Result<Vec<Element>> {
        let mut results = vec![0; plan.result_bytes()];
        let memory = self.memory(core, plan)?;
        let at = memory.address;
        let at_results = at + plan.bytes() as u64;
        let at_numbers = numbers.map_or(at, |numbers| numbers.memory.address);
        let reads = numbers.map(|numbers| (&*numbers.memory, false));
        let uses = reads.into_iter().chain([(&memory, true)]);
        core.fetch(&core.queue, uses, &mut results, |queue, results| {
            // SAFETY: the memory has these lengths and a larger alignment. It is freed after all
            // earlier work.
            let mut start = |to| unsafe { self.start(queue, plan, at_numbers, at, to) };
            // SAFETY: the results have room after what the kernel needs.
            unsafe { queue.deliver(at_results, results, &mut start) }
        })?;
        if let Some(bytes) = self.kept_bytes(plan) {
            let other = lock(&self.memory).replace(memory.into_block());
            // Of a check in another thread.
            drop(other.map(|block| Allocation::of_block(core, block, bytes)));
        }
        let (words, _) = results.as_chunks();
        let numbers = Vec::from_iter(words.iter().map(|&word| u32::from_ne_bytes(word) % P));
        let (results, _) = numbers.as_chunks::<DEGREE>();
        Ok(results.to_vec())
    }

    /// Memory for a plan and its results, whose counters are zero.
    fn memory(&self, core: &Arc<Core>, plan: &Plan) -> Result<Allocation> {
        let kept = self.kept_bytes(plan);
        if let Some(bytes) = kept
            && let Some(block) = lock(&self.memory).take()
        {
            return Ok(Allocation::of_block(core, block, bytes));
        }
        let bytes = kept.unwrap_or_else(|| plan.bytes() + plan.result_bytes());
        let memory = Allocation::of(core, bytes)?;
        let uses = [(&memory, true)].into_iter();
        core.enqueue(&core.queue, uses, |queue| {
            // SAFETY: the memory has more bytes.
            unsafe { queue.fill(memory.address, 4 * kernels::counters(plan.columns), 0) }
        })?;
        Ok(memory)
    }

    /// The bytes of the memory that is kept, if the plan uses it: for one column of any length.
    fn kept_bytes(&self, plan: &Plan) -> Option<usize> {
        let Self { blocks, .. } = *self;
        let most = Plan { blocks, ..*plan };
        let is_kept = plan.columns == 1 && plan.blocks <= blocks;
        is_kept.then(|| most.bytes() + most.result_bytes())
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
