//! What is timed, as plain data, and the interface of a family.

use std::fmt;

use blockwise::{Device, Type};
use blockwise_ops::operation::{Given, Near, Operation};
use blockwise_ops::oracle::Precision;

use super::{BenchError, Inputs, Size};

/// What an operation is asked beside its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Posing {
    /// Its settings, and the axis.
    pub given: Given,
    /// Elements between a multiple of 256 bytes and the beginning of each operand and of the result.
    pub offset: usize,
}

/// An operation at a size, the same for every kernel and every peer.
pub struct Work {
    /// The operation.
    pub of: &'static Operation,
    /// Its settings and the operands' places.
    pub posing: Posing,
    /// What is computed, such as `sum`.
    pub operation: &'static str,
    /// The element type's name in Rust.
    pub ty: &'static str,
    /// The extents.
    pub size: Size,
    /// The fewest bytes that must be moved: each input read once, each output written once.
    pub bytes: u64,
    /// The arithmetic operations that must be done.
    pub operations: u64,
    /// The kernels and policies that can compute it.
    pub rungs: Vec<Rung>,
    /// Creates inputs, starts kernels and checks results.
    pub problem: Box<dyn Problem>,
}

/// One kernel or policy for a work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rung {
    /// Its index in the family's list, for [`Loaded::select`].
    pub index: usize,
    /// The kernel's name in its family.
    pub name: String,
    /// Threads, tiles and the like, for people.
    pub policy: String,
}

impl Work {
    /// The name without a kernel: `sum/f32/2^29`; `sum/f32/300x4000@1` along axis 1, and
    /// `sum/f32/300+1` of operands that begin an element later.
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.operation, self.ty, self.place())
    }

    /// The name of one of its rows: `sum/f32/shuffle/2^29`.
    pub fn row_name(&self, rung: &Rung) -> String {
        format!(
            "{}/{}/{}/{}",
            self.operation,
            self.ty,
            rung.name,
            self.place()
        )
    }

    fn place(&self) -> String {
        let Posing { given, offset } = self.posing;
        let axis = given.axis.map(|axis| format!("@{axis}"));
        let offset = (offset > 0).then(|| format!("+{offset}"));
        format!(
            "{}{}{}",
            self.size,
            axis.unwrap_or_default(),
            offset.unwrap_or_default()
        )
    }

    /// Keeps the kernels whose name contains one of the texts; all if there are none.
    pub(super) fn choose(&mut self, filter: &[String]) {
        let mut rungs = std::mem::take(&mut self.rungs);
        rungs.retain(|rung| is_chosen(filter, &self.row_name(rung)));
        self.rungs = rungs;
    }
}

/// Whether a name contains one of these texts, if there are any.
pub(super) fn is_chosen(filter: &[String], name: &str) -> bool {
    filter.is_empty() || filter.iter().any(|text| name.contains(text.as_str()))
}

/// The name of the launcher's default.
pub(super) const DEFAULT: &str = "default";

/// A kernel or policy for a work: its options, and its name in the table.
#[derive(Clone)]
pub(super) struct Candidate<O> {
    /// The options for the launcher.
    pub options: O,
    /// The kernel's name in its family.
    pub name: String,
    /// Threads, tiles and the like.
    pub policy: String,
}

impl<O> Candidate<O> {
    pub(super) fn new(options: O, name: impl fmt::Display, policy: impl Into<String>) -> Self {
        Candidate {
            options,
            name: name.to_string(),
            policy: policy.into(),
        }
    }

    /// For [`rungs`].
    pub(super) fn described(&self) -> (String, String) {
        (self.name.clone(), self.policy.clone())
    }
}

/// The numbered rungs of `ways`, each described by its name and policy.
pub(super) fn rungs<W>(candidates: &[W], describe: impl Fn(&W) -> (String, String)) -> Vec<Rung> {
    candidates
        .iter()
        .enumerate()
        .map(|(index, candidate)| {
            let (name, policy) = describe(candidate);
            Rung {
                index,
                name,
                policy,
            }
        })
        .collect()
}

/// How a family creates a work's inputs.
pub trait Problem {
    /// Puts `copies` sets of random inputs into the device's memory, each with different numbers.
    ///
    /// # Errors
    /// When the device fails.
    fn load<'a>(
        &'a self,
        device: &'a Device,
        copies: usize,
        inputs: &mut Inputs,
    ) -> Result<Box<dyn Loaded + 'a>, BenchError>;
}

/// A work with its inputs on the device.
pub trait Loaded {
    /// Selects the kernel with this index, and allocates outputs for it.
    ///
    /// # Errors
    /// When the kernel cannot do this work, or the device fails.
    fn select(&mut self, rung: usize) -> Result<(), BenchError>;

    /// Fills the outputs of every copy with 0xFF bytes, so that unwritten elements show.
    ///
    /// # Errors
    /// When the device fails.
    fn clear(&mut self) -> Result<(), BenchError>;

    /// Starts the selected kernel on a copy, without waiting for it.
    ///
    /// # Errors
    /// When the device fails.
    fn enqueue(&mut self, copy: usize) -> Result<(), BenchError>;

    /// What the last launch was, for people: the variant, its kernel, grid and block.
    fn launched(&self) -> String;

    /// Compares the outputs of a copy with the oracle, after all launches so far.
    ///
    /// # Errors
    /// When the device fails.
    fn verify(&self, copy: usize) -> Result<Check, BenchError>;
}

/// The outcome of a comparison with the oracle.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What was compared, such as `every element, exactly`.
    pub how: String,
    /// Elements outside their tolerance.
    pub wrong: u64,
    /// The largest error as a fraction of the allowed error; 0 for exact results.
    pub worst: f64,
}

impl Check {
    /// A comparison of results that must be exact.
    pub fn exact(how: impl Into<String>, wrong: u64) -> Self {
        Check {
            how: how.into(),
            wrong,
            worst: 0.0,
        }
    }

    /// Adds an element that may differ by `tolerance` from the expected value. NaN never passes.
    pub(super) fn element<T: Precision>(&mut self, value: T, expected: f64, tolerance: f64) {
        let error = (Into::<f64>::into(value) - expected).abs();
        if error <= tolerance {
            self.worst = self
                .worst
                .max(if error > 0.0 { error / tolerance } else { 0.0 });
        } else if value != T::nearest(expected) {
            self.wrong += 1;
        }
    }

    /// The same for an element of a type.
    pub(super) fn near(&mut self, ty: Type, value: f64, near: &Near) {
        match ty {
            Type::F64 => self.element(value, near.value, near.tolerance),
            _ => self.element(value as f32, near.value, near.tolerance),
        }
    }

    /// The outcome in words.
    pub(super) fn verdict(&self) -> String {
        match self.wrong {
            0 if self.worst > 0.0 => format!("{}: {:.2} of the bound", self.how, self.worst),
            0 => self.how.clone(),
            wrong => format!("WRONG: {wrong} elements; {}", self.how),
        }
    }

    /// Combines two outcomes.
    #[must_use]
    pub fn and(self, other: Check) -> Check {
        Check {
            how: self.how,
            wrong: self.wrong + other.wrong,
            worst: self.worst.max(other.worst),
        }
    }
}
