//! What an operation is, as data: one description for the command line, the benchmark, the
//! profiler, the detectors' jobs and the documentation.
//!
//! ```text
//! operands' types and shapes ─ Operation::types, pose ─► Problem ─ Variant::plan ─► Plan ─ Kernel::launch ─► device
//! ```
//!
//! An [`Operation`] is a `static` of plain values and functions in a folder of its own;
//! [`OPERATIONS`](crate::OPERATIONS) lists them. Above it, elements have a [`Type`] that is known when the program runs
//! ([`AnyView`](blockwise::AnyView), [`AnyArray`]), so that code for all operations is compiled
//! once. A [`Kernel`] has Rust's types again.

mod axis;
mod call;
mod held;
mod problem;
mod variant;

use std::fmt;
use std::ops::Range;

use blockwise::Type;

use crate::LaunchError;
use crate::array::AnyArray;

pub use axis::Axis;
pub use call::{Call, array, enqueue, plan, run};
pub use held::{Held, Hold};
pub use problem::{Given, Lens, Posed, Problem, Work};
pub use variant::{Kernel, LaunchFn, Operands, Options, Plan, Takes, Task, Tier, Variant};

pub(crate) use variant::{kernel, words};

/// Poses a problem: the type that is computed with, the operands' shapes, and the settings.
pub type Pose = fn(Type, &[&[usize]], &Given) -> Result<Posed, LaunchError>;

/// An operation.
pub struct Operation {
    /// Its name on the command line and in tables.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// What it takes.
    pub operands: &'static [Operand],
    /// What a caller may choose; in [`Problem::settings`] in this order.
    pub settings: &'static [Setting],
    /// What it gives, in a few words.
    pub result: &'static str,
    /// The type that is computed with, of the operands' own.
    pub types: fn(&[Type], &Given) -> Type,
    /// What `types` changes, in a line; empty if it changes nothing.
    pub widens: &'static str,
    /// The extents that tables, profiles and predictions name.
    pub sizes: &'static [Size],
    /// The operands' shapes at such sizes.
    pub shapes: fn(&[usize]) -> Vec<Vec<usize>>,
    /// Checks the operands' shapes and the settings.
    pub pose: Pose,
    /// The operands' lengths.
    pub lens: fn(&Problem) -> Lens,
    /// The least that has to be done.
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
    /// The telling cases for the detectors' jobs: together they miss little.
    pub cases: &'static [Case],
    /// Sizes around the tiles, for sweeps of every kernel.
    pub edges: &'static [&'static [usize]],
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

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
    /// Two; text of one row or one column is a matrix too.
    Matrix,
    /// Any number.
    Any,
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
    /// A matrix in row shards whose tiles change places.
    Tiles,
    /// In parts of equal lengths, of which each begins with what the parts before it come to.
    Carried(&'static Carry),
    /// A product of two matrices on a grid of devices: each gathers its rows of the first, and its
    /// columns of the second in panels.
    Panels,
}

/// How a part begins with what the parts before it come to.
pub struct Carry {
    /// Whether a problem can be divided so: its elements are one line.
    pub is_one_line: fn(&Problem) -> bool,
    /// Parts begin at multiples of so many elements. What a part adds has a total for each.
    pub align: fn(Type) -> usize,
    /// Merges two totals, the earlier one first, by their bytes.
    pub merge: fn(&Problem, &[u8], &[u8]) -> Vec<u8>,
}

/// What the benchmark times.
pub struct Bench {
    /// The sizes of each type.
    pub types: &'static [(Type, &'static [&'static [usize]])],
    /// The sizes of a quick run.
    pub quick: &'static [usize],
    /// The largest extents of sizes that are drawn at random.
    pub drawn: &'static [f64],
    /// What the numbers are like.
    pub numbers: Numbers,
}

/// What random numbers are like.
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
    /// Whether it is launched with a block more along each dimension, too.
    pub spare: bool,
    /// What the variant counts: 0 lets it choose.
    pub count: u32,
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
            count: 0,
        }
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

    /// The same with so many blocks along each dimension, at most.
    #[must_use]
    pub const fn capped(self, blocks: u32) -> Self {
        let grid_cap = Some(blocks);
        Self { grid_cap, ..self }
    }

    /// The same with so many of what the variant counts.
    #[must_use]
    pub const fn counting(self, count: u32) -> Self {
        Self { count, ..self }
    }

    /// The same, also with a block more along each dimension.
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
    /// Of an operation whose parts are [carried](Parts::Carried), what the parts before this one
    /// came to: zeros before the first.
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
    /// The sum of its terms' magnitudes.
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
