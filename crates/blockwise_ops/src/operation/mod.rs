//! What an operation is, as data: one description for the command line, the benchmark, the
//! profiler, the detectors' jobs and the documentation.
//!
//! ```text
//! operands' types and shapes ─ Operation::types, pose ─► Problem ─ Variant::plan ─► Plan ─ Kernel::launch ─► device
//! ```
//!
//! An [`Operation`] is a `static` of plain values and functions in a folder of its own;
//! [`OPERATIONS`](crate::OPERATIONS) lists them. In the description, the [`Type`] of elements is
//! known only at run time ([`AnyView`](blockwise::AnyView), [`AnyArray`]), so that code for all
//! operations is compiled once. A [`Kernel`] has Rust's types again.

mod axis;
mod call;
mod entry;
mod fold;
mod held;
mod modes;
mod order;
mod parts;
mod problem;
mod variant;

use std::fmt;
use std::ops::Range;

use blockwise::Type;

use crate::LaunchError;
use crate::array::AnyArray;

pub use crate::launch::On;
pub use axis::Axis;
pub use call::{Call, Choice, Reason, array, choose, enqueue, plan, run};
pub use entry::{Kernel, LaunchFn, Operands, Takes, kernel, words};
pub use fold::{Fold, Reduction};
pub use held::{Held, Hold};
pub use parts::in_parts;
pub use problem::{Given, Lens, Posed, Problem, Work};
pub use variant::{Options, Plan, Task, Tier, Variant};

pub(crate) use call::{PACK, are_aligned, enqueue_part};
pub(crate) use entry::{raw_kernel, raw_words};
pub(crate) use order::order;

/// Poses a problem from the type of the computation, the operands' shapes, and the settings.
pub type Pose = fn(Type, &[&[usize]], &Given) -> Result<Posed, LaunchError>;

/// An operation.
pub struct Operation {
    /// Its name on the command line and in tables.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// The words of an example after its name.
    pub example: &'static str,
    /// What it takes.
    pub operands: &'static [Operand],
    /// What a caller may choose; in [`Problem::settings`] in this order.
    pub settings: &'static [Setting],
    /// The result, in a few words.
    pub result: &'static str,
    /// The type of the computation, from the operands' types.
    pub types: fn(&[Type], &Given) -> Type,
    /// What `types` changes, in a line; empty if it changes nothing.
    pub widens: &'static str,
    /// The result's type, from the type of the computation.
    pub gives: fn(Type) -> Type,
    /// The extents that tables, profiles and predictions name.
    pub sizes: &'static [Size],
    /// The operands' shapes at such sizes.
    pub shapes: fn(&[usize]) -> Vec<Vec<usize>>,
    /// Checks the operands' shapes and the settings.
    pub pose: Pose,
    /// The operands' lengths.
    pub lens: fn(&Problem) -> Lens,
    /// The least work that the problem needs.
    pub work: fn(&Problem) -> Work,
    /// The reference.
    pub reference: fn(Asked<'_>) -> Result<Expected, LaunchError>,
    /// The kernels.
    pub variants: &'static [&'static Variant],
    /// The fastest variant, by its model.
    pub choice: fn(&Task<'_>) -> &'static Variant,
    /// How it is divided into parts.
    pub parts: Parts,
    /// What the benchmark times.
    pub bench: Bench,
    /// Launches for the detectors' jobs, chosen so that together they reach nearly all code.
    pub cases: &'static [Case],
    /// Sizes around the tiles, for sweeps of every kernel.
    pub edges: &'static [&'static [usize]],
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Operation {
    /// Each is itself only.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Operation {}

/// An input of an operation.
pub struct Operand {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Its dimensions.
    pub rank: Rank,
}

/// How many dimensions an operand has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// Two; text with one row or one column counts as a matrix too.
    Matrix,
    /// As [`Matrix`](Self::Matrix), or three: matrices one after the other.
    Matrices,
    /// Any number.
    Any,
    /// One; a command also takes a recording, each of whose channels is a vector.
    Signal,
    /// One.
    Vector,
}

/// What a caller may choose.
pub enum Setting {
    /// One of some words; the first is the default.
    OneOf {
        /// Its name.
        name: &'static str,
        /// What it sets, in a line.
        about: &'static str,
        /// The words.
        values: &'static [&'static str],
    },
    /// Yes or no; no is the default.
    Flag {
        /// Its name.
        name: &'static str,
        /// What it sets, in a line.
        about: &'static str,
    },
    /// An axis of the operand; without one, the whole array is meant. [`Given::axis`], not among
    /// [`Given::settings`].
    Axis {
        /// What it sets, in a line.
        about: &'static str,
    },
    /// As [`OneOf`](Self::OneOf), each of whose words has rows of its own in tables and saved
    /// choices.
    Mode {
        /// Its name.
        name: &'static str,
        /// What it sets, in a line.
        about: &'static str,
        /// The words.
        values: &'static [&'static str],
        /// The words in the order that help shows.
        shown: &'static [&'static str],
        /// What the operation is called there with each word.
        labels: &'static [&'static str],
        /// The word that the benchmark takes for each of [`Bench::types`], by its index.
        bench: &'static [u8],
    },
}

/// An extent that tables name.
pub struct Size {
    /// Its name.
    pub name: &'static str,
    /// What it counts, in a few words; empty if the name says it.
    pub about: &'static str,
    /// What a profile takes by itself.
    pub profile: usize,
}

/// How a problem is divided over chunks and devices.
#[derive(Clone, Copy)]
pub enum Parts {
    /// Not at all.
    Whole,
    /// A matrix in row shards, whose tiles are exchanged.
    Tiles,
    /// In parts of equal length, each of which starts from the result of all earlier parts.
    Carried(&'static Carry),
    /// In parts of any lengths, whose totals are merged in order and rounded once. Along an axis,
    /// any run of outputs comes from a run of the elements.
    Folded(&'static Fold),
    /// In runs of outputs, each from runs of the inputs that overlap their neighbours'.
    Windows(&'static Windows),
    /// A product of two matrices on a grid of devices: each gathers its rows of the first, and its
    /// columns of the second in panels.
    Panels,
}

/// How a run of outputs is a problem of its own.
pub struct Windows {
    /// The problem of these outputs.
    pub part: fn(&Problem, Range<usize>) -> Part,
    /// Outputs on each side of a run whose inputs the run's error may depend on too.
    pub reach: fn(&Problem) -> usize,
}

/// A run of outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its problem.
    pub problem: Problem,
    /// The runs of the inputs that it needs.
    pub inputs: [Range<usize>; 2],
}

impl Windows {
    /// A run of outputs with those in reach of it, of `outputs` in all, and where the run is among
    /// them: enough for a reference.
    pub fn around(
        &self,
        problem: &Problem,
        run: &Range<usize>,
        outputs: usize,
    ) -> (Part, Range<usize>) {
        let reach = (self.reach)(problem);
        let first = run.start.saturating_sub(reach);
        let end = run.end.saturating_add(reach).min(outputs);
        let part = (self.part)(problem, first..end);
        (part, run.start - first..run.end - first)
    }
}

/// How a part starts from the result of all earlier parts.
pub struct Carry {
    /// Whether a problem can be divided this way: its elements are one line.
    pub is_one_line: fn(&Problem) -> bool,
    /// Parts begin at multiples of this many elements; a part has one total for each such group.
    pub align: fn(Type) -> usize,
    /// Folds the bytes of totals, in order. `None` if there are none.
    pub fold: fn(&Problem, &[u8]) -> Option<Vec<u8>>,
    /// Whether each result is one of the elements, or what is there before any: the largest or
    /// smallest number. The results are then written in the elements' own type, where the
    /// computation's is wider; numbers that this type lacks would saturate.
    pub picks: fn(&Problem) -> bool,
    /// Joins two successive parts: their [`Asked::before`], as the reference left it for each.
    pub joined: fn(&Problem, [u64; 4], [u64; 4]) -> [u64; 4],
}

/// What the benchmark times.
pub struct Bench {
    /// The sizes of each type.
    pub types: &'static [(Type, &'static [&'static [usize]])],
    /// The sizes of a quick run.
    pub quick: &'static [usize],
    /// The largest extents of shapes that are drawn at random: 20,000 for a matrix' sides, and for
    /// a vector as many elements as such a matrix has.
    pub drawn: &'static [usize],
    /// For an operation with batches, or on each row of a matrix: their name in tables, and the
    /// most products or rows of one that are drawn. Their sizes have that number before the
    /// extents.
    pub batch: Option<(&'static str, usize)>,
    /// The distribution of the numbers.
    pub numbers: Numbers,
    /// Types for which every variant is timed, besides the first one of `types`.
    pub every: &'static [Type],
}

/// The distribution of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numbers {
    /// Whole numbers from −8 to 8. Their sums, and the sums of their products, are exact in `f32`
    /// as long as every partial sum stays below 2²⁴, which a random walk of 2²⁹ steps does: any
    /// order gives the same bits, and a single element that is left out or taken twice shows.
    Whole,
    /// Floats from −1 to 1 with all bits of the significand in use; integers over the whole range.
    Uniform,
}

/// A case for the jobs of the detectors.
pub struct Case {
    /// The variants by name; all of them if there are none.
    pub variants: &'static [&'static str],
    /// The sizes.
    pub sizes: &'static [usize],
    /// Instead of the sizes: an operand of this shape, along an axis.
    pub axis: Option<(&'static [usize], isize)>,
    /// The settings; every choice of them if there are none.
    pub settings: &'static [[u8; 2]],
    /// Blocks along each dimension of the grid, at most.
    pub grid_cap: Option<u32>,
    /// Whether it is also launched with one more block along each dimension, which the contracts of
    /// its variants must allow.
    pub spare: bool,
    /// Threads of a block, where the variant leaves them open.
    pub threads: Option<u32>,
    /// Which of the variant's instances: `None` lets it choose.
    pub instance: Option<u8>,
    /// What the variant counts: 0 lets it choose.
    pub count: u32,
    /// Of a product in slices, the first rows that are in one.
    pub whole: Option<usize>,
    /// Elements ahead of each operand in its memory, for variants whose contracts allow them.
    pub ahead: usize,
}

impl Case {
    /// Every variant and setting, with a grid that covers the sizes.
    pub const fn of(sizes: &'static [usize]) -> Self {
        Self {
            variants: &[],
            sizes,
            axis: None,
            settings: &[],
            grid_cap: None,
            spare: false,
            threads: None,
            instance: None,
            count: 0,
            whole: None,
            ahead: 0,
        }
    }

    /// The same with operands that begin this many elements into their memory.
    #[must_use]
    pub const fn behind(self, ahead: usize) -> Self {
        Self { ahead, ..self }
    }

    /// The same by this instance of the variants.
    #[must_use]
    pub const fn instance(self, instance: u8) -> Self {
        Self {
            instance: Some(instance),
            ..self
        }
    }

    /// The same with this block size, where the variant leaves it open.
    #[must_use]
    pub const fn blocks_of(self, threads: u32) -> Self {
        let threads = Some(threads);
        Self { threads, ..self }
    }

    /// The same for some variants, by name.
    #[must_use]
    pub const fn by(self, variants: &'static [&'static str]) -> Self {
        Self { variants, ..self }
    }

    /// The same for an operand of this shape, along an axis.
    #[must_use]
    pub const fn along(self, shape: &'static [usize], axis: isize) -> Self {
        let axis = Some((shape, axis));
        Self { axis, ..self }
    }

    /// The same with these settings only.
    #[must_use]
    pub const fn set(self, settings: &'static [[u8; 2]]) -> Self {
        Self { settings, ..self }
    }

    /// The same with at most `blocks` blocks along each dimension of the grid.
    #[must_use]
    pub const fn capped(self, blocks: u32) -> Self {
        let grid_cap = Some(blocks);
        Self { grid_cap, ..self }
    }

    /// The same with this count of slices, tiles or windows.
    #[must_use]
    pub const fn counting(self, count: u32) -> Self {
        Self { count, ..self }
    }

    /// The same with this many rows in one slice.
    #[must_use]
    pub const fn whole(self, rows: usize) -> Self {
        let whole = Some(rows);
        Self { whole, ..self }
    }

    /// The same, also with one more block along each dimension.
    #[must_use]
    pub const fn spare(self) -> Self {
        Self {
            spare: true,
            ..self
        }
    }
}

/// What is asked of a reference: some outputs.
pub struct Asked<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// The operands.
    pub inputs: &'a [AnyArray],
    /// Runs of outputs, in ascending order.
    pub runs: &'a [Range<usize>],
    /// If parts are [carried](Parts::Carried): the result of all earlier parts, zeros before the
    /// first.
    pub before: &'a mut [u64; 4],
}

/// Reference values of the outputs that were asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// These, exactly.
    Exact(AnyArray),
    /// These, within a tolerance.
    Near(Vec<Near>),
}

/// A reference value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// The value in float64.
    pub value: f64,
    /// The largest error that a correct kernel may have.
    pub tolerance: f64,
    /// The sum of its terms' magnitudes, to which the error of any sum of them is proportional.
    pub magnitude: f64,
    /// Roundings between a term and the sum of a reference: its terms, if it may add them one by
    /// one.
    pub terms: usize,
}

impl Expected {
    /// Elements that were moved: output i is input `origin(i)`.
    pub(crate) fn moved(
        input: &AnyArray,
        runs: &[Range<usize>],
        origin: impl Fn(usize) -> usize,
    ) -> Result<Self, LaunchError> {
        let len = runs.iter().map(ExactSizeIterator::len).sum();
        let mut output = AnyArray::zeros(input.ty(), &[len])?;
        let width = input.ty().bytes();
        let from = input.bytes();
        let places = runs.iter().cloned().flatten();
        for (to, at) in output.bytes_mut().chunks_exact_mut(width).zip(places) {
            let at = origin(at) * width;
            to.copy_from_slice(&from[at..at + width]);
        }
        Ok(Self::Exact(output))
    }
}
