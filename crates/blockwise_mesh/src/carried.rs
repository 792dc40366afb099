//! Operations each of whose parts starts from the result of all earlier parts, such as running
//! sums.
//!
//! Each rank computes the totals of its part and sends them to all; its part then starts from the
//! totals of all lower ranks, merged in order. The result has the bits of a single device's.
//!
//! So several ranks read their parts twice and write them once: three passes where one rank has
//! two. No order of contiguous parts does with less. A rank may write final values only after all
//! earlier parts were read once, and its own part is by far too long to stay on chip meanwhile.

use std::marker::PhantomData;

use blockwise::{AnyBuffer, AnyView, AnyViewMut};
use blockwise_ops::operation::{Call, Carry, Operation, Options, Parts, Problem};
use blockwise_ops::{Element, LaunchError};

use crate::call::Digest;
use crate::{Blocks, Rank, Result, ShardedMatrix, Split};

/// How such an operation's elements are divided over ranks: each part starts at a multiple of the
/// operation's alignment.
pub fn parts(carry: &Carry, problem: &Problem, ranks: usize) -> Split {
    aligned(problem.extents[0], (carry.align)(problem.ty), ranks)
}

/// Parts of `len` elements that begin at multiples of `align`.
pub(crate) fn aligned(len: usize, align: usize, ranks: usize) -> Split {
    let groups = Split::even(len.div_ceil(align), ranks);
    let lengths = (0..ranks).map(|rank| {
        let groups = groups.range(rank);
        (groups.end * align).min(len) - (groups.start * align).min(len)
    });
    Split::of(&lengths.collect::<Vec<_>>())
}

/// An operation whose parts are [carried](Parts::Carried), on elements that are passed as words of
/// their width, with memory that stays from call to call.
pub struct ShardedCarried<W: Element> {
    operation: &'static Operation,
    carry: &'static Carry,
    problem: Problem,
    split: Split,
    launches: Call,
    /// The totals of this rank's groups, as many as the longest part has.
    totals: AnyBuffer,
    /// What this rank's part begins with, and what the next one would.
    before: AnyBuffer,
    after: AnyBuffer,
    words: PhantomData<W>,
}

impl<W: Element> ShardedCarried<W> {
    /// Allocates. Input and output have one column and are divided as by [`parts`].
    ///
    /// # Errors
    /// An operation or a problem that cannot be divided this way, words of another width, and a
    /// lack of memory.
    pub fn new(
        rank: &Rank,
        operation: &'static Operation,
        problem: &Problem,
        options: &Options,
    ) -> Result<Self> {
        let carry = match operation.parts {
            Parts::Carried(carry) if (carry.is_one_line)(problem) => carry,
            _ => {
                let operation = operation.name;
                return Err(rank.failed(LaunchError::NotDivided { operation }));
            }
        };
        let (device, ty) = (rank.device(), problem.ty);
        if ty.bytes() != W::TYPE.bytes() {
            return Err(rank.failed(wrong(ty, W::TYPE)));
        }
        let split = parts(carry, problem, rank.ranks());
        let align = (carry.align)(ty);
        let groups = (0..rank.ranks()).map(|rank| split.range(rank).len().div_ceil(align));
        let most = groups.max().unwrap_or(0);
        let room = |len| AnyBuffer::filled(device, ty, len, 0).map_err(|e| rank.failed(e));
        Ok(Self {
            operation,
            carry,
            problem: *problem,
            launches: Call::new(device, operation, *options),
            totals: room(most)?,
            before: room(1)?,
            after: room(1)?,
            split,
            words: PhantomData,
        })
    }

    /// How input and output are divided.
    pub fn blocks(&self) -> Blocks {
        Blocks::by_rows(self.split.clone(), 1)
    }

    /// Starts the operation; waits for the totals of all parts, where there are several.
    ///
    /// # Errors
    /// Arrays of other parts, and failures of a device or of the communication.
    #[track_caller]
    pub fn enqueue(
        &mut self,
        rank: &mut Rank,
        input: &ShardedMatrix<W>,
        output: &mut ShardedMatrix<W>,
    ) -> Result<()> {
        let blocks = self.blocks();
        input.check_blocks(rank, "the input", &blocks)?;
        output.check_blocks(rank, "the output", &blocks)?;
        let ty = self.problem.ty;
        let digest = blocks.digest(Digest::new());
        let call = rank.call::<W>(self.operation.name, &[self.split.len()], digest);
        let mut part = self.problem;
        part.extents[0] = self.split.range(rank.number()).len();
        let mine = || {
            let words = AnyView::from(input.part().as_view());
            words.retyped(ty).ok_or_else(|| wrong(ty, W::TYPE))
        };
        let begins = rank.ranks() > 1 && {
            let own = self.totals(rank, &part, mine().map_err(|e| rank.failed(e))?)?;
            let all = rank.all::<u8>(&call, &own)?;
            self.begin(rank, &all)?
        };
        let Self {
            launches,
            before,
            after,
            ..
        } = self;
        let to = AnyViewMut::from(output.part_mut()).retyped(ty);
        let to = to.ok_or_else(|| rank.failed(wrong(ty, W::TYPE)))?;
        let mine = mine().map_err(|e| rank.failed(e))?;
        let ends = (begins.then(|| before.as_view()), after.as_view_mut());
        let started = rank.enqueue("kernel", None, || {
            launches.enqueue_part(None, &part, &[mine], to, ends)
        });
        started.map(drop).map_err(|e| rank.failed(e))
    }

    /// The bytes of this part's totals, one for each group. No part needs those of the last one.
    fn totals(&mut self, rank: &Rank, part: &Problem, mine: AnyView<'_>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.totals.len() * part.ty.bytes()];
        let groups = self.groups(rank.number());
        let is_last = self.split.range(rank.number()).end == self.split.len();
        if groups == 0 || is_last {
            return Ok(bytes);
        }
        let Self {
            launches,
            totals,
            after,
            ..
        } = self;
        let nowhere = after.as_view_mut().into_view_mut(..0);
        let own = totals.as_view_mut().into_view_mut(..groups);
        let counted = rank.enqueue("totals", None, || {
            launches.enqueue_part(None, part, &[mine], nowhere, (None, own))
        });
        counted.map_err(|e| rank.failed(e))?;
        rank.synchronize()?;
        let read = totals.as_view().copy_to_slice(&mut bytes);
        read.map_err(|e| rank.failed(e))?;
        Ok(bytes)
    }

    /// Folds the totals of all lower ranks, in order: what this part begins with, if anything.
    fn begin(&mut self, rank: &Rank, all: &[Vec<u8>]) -> Result<bool> {
        let width = self.problem.ty.bytes();
        let lower = (0..rank.number()).zip(all);
        let totals = lower.map(|(rank, totals)| {
            let bytes = self.groups(rank) * width;
            totals.get(..bytes).unwrap_or(totals)
        });
        let totals = totals.collect::<Vec<_>>().concat();
        let Some(before) = (self.carry.fold)(&self.problem, &totals) else {
            return Ok(false);
        };
        let copied = self.before.as_view_mut().copy_from_slice(&before);
        copied.map_err(|e| rank.failed(e))?;
        Ok(true)
    }

    fn groups(&self, rank: usize) -> usize {
        let align = (self.carry.align)(self.problem.ty);
        self.split.range(rank).len().div_ceil(align)
    }
}

/// Computes an operation whose parts are [carried](Parts::Carried), on elements passed as words of
/// their width, and waits. The matrix has one column and is divided as by [`parts`].
///
/// # Errors
/// An operation or a problem that cannot be divided this way, and failures of a device or of the
/// communication.
#[track_caller]
pub fn carried<W: Element>(
    rank: &mut Rank,
    operation: &'static Operation,
    problem: &Problem,
    input: &ShardedMatrix<W>,
    options: &Options,
) -> Result<ShardedMatrix<W>> {
    let mut carried = ShardedCarried::new(rank, operation, problem, options)?;
    let mut output = ShardedMatrix::zeros(rank, carried.blocks())?;
    carried.enqueue(rank, input, &mut output)?;
    rank.synchronize()?;
    Ok(output)
}

/// The error for words of a different width than the elements'.
fn wrong(wanted: blockwise::Type, given: blockwise::Type) -> LaunchError {
    LaunchError::OperandType {
        what: "input",
        wanted,
        given: Some(given),
    }
}
