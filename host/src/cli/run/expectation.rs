//! The comparison of results with a reference from a file.

use blockwise::Type;
use blockwise_ops::compare::{self, Comparison, ShapeMismatch};
use blockwise_ops::operation::{Asked, Expected, Operation, Posed, Problem, Variant};
use blockwise_ops::{AnyArray, oracle};

use crate::cli::failure::Failure;
use crate::cli::operand::{self, Reference};
use crate::io::Reader;

/// The reference that results are compared with.
pub(super) struct Expectation<'a> {
    pub(super) of: &'a Reference,
    pub(super) name: String,
    reader: Reader,
    ty: Type,
}

impl<'a> Expectation<'a> {
    /// Opens it, if there is one; its shape must be the result's.
    pub(super) fn open(of: &'a Reference, posed: &Posed) -> Result<Option<Self>, Failure> {
        let Some(path) = of.path() else {
            return Ok(None);
        };
        let reader = operand::open(path)?;
        let array = operand::contents(&reader)?;
        let ty = array.stored();
        // Dimensions of one element say nothing: a number may be kept as () or (1,), and text keeps
        // a row and a vector alike.
        let telling = |shape: &[usize]| -> Vec<usize> {
            let extents = shape.iter().copied();
            extents.filter(|&extent| extent != 1).collect()
        };
        if telling(&posed.result) != telling(array.shape()) {
            let mismatch = ShapeMismatch {
                result: posed.result.clone(),
                reference: array.shape().to_vec(),
            };
            return Err(Failure::from(mismatch).about(path));
        }
        Ok(Some(Self {
            of,
            name: path.display().to_string(),
            reader,
            ty,
        }))
    }

    /// Compares a piece of the result: exactly, or within the errors that both may have.
    pub(super) fn compare(
        &mut self,
        (of, variant): (&Operation, Option<&Variant>),
        (problem, operands): (&Problem, &[AnyArray]),
        result: &AnyArray,
        before: &mut [u64; 4],
    ) -> Result<Comparison, Failure> {
        let run = 0..result.len();
        let asked = Asked {
            problem,
            inputs: operands,
            runs: std::slice::from_ref(&run),
            before,
        };
        let oracle = match variant {
            Some(variant) => of.expected(variant, asked)?,
            None => (of.reference)(asked)?,
        };
        self.within(result, |ty, _| match oracle {
            Expected::Exact(_) => exactly(),
            Expected::Near(near) => {
                let unit = operand::unit_roundoff(ty);
                let allowed = near.iter().map(|near| {
                    // A reference adds its terms in its own way, and rounds its result.
                    let theirs = oracle::gamma(near.terms, unit) * near.magnitude.min(f64::MAX);
                    near.tolerance + theirs + unit * near.value.abs()
                });
                (
                    Some(allowed.collect()),
                    "what our kernels promise, and the roundings on a reference's longest path (--rtol and --atol for other references)".to_owned(),
                )
            }
        })
    }

    /// Compares a piece of the result with the next piece of the reference: within the user's
    /// tolerance, else within the one that `promised` derives from the reference's type and values;
    /// it also says where that comes from.
    pub(super) fn within(
        &mut self,
        result: &AnyArray,
        promised: impl FnOnce(Type, &AnyArray) -> (Option<Vec<f64>>, String),
    ) -> Result<Comparison, Failure> {
        let mut expected = AnyArray::zeros(self.ty, result.shape())?;
        self.reader.read_as(self.ty, expected.bytes_mut())?;
        let (tolerance, bound) = match self.of.allowed() {
            Some([rtol, atol]) => {
                let allowed = |at| atol + rtol * expected.number(at).to_f64().abs();
                let allowed: Vec<f64> = (0..expected.len()).map(allowed).collect();
                (Some(allowed), "--atol + --rtol * |reference|".to_owned())
            }
            None => promised(self.ty, &expected),
        };
        let tolerance = tolerance.map(|all: Vec<f64>| -> Vec<f64> {
            let finite = |tolerance: f64| {
                if tolerance.is_finite() {
                    tolerance
                } else {
                    0.0
                }
            };
            all.into_iter().map(finite).collect()
        });
        let compared = compare::any(result, &expected, tolerance.as_deref())?;
        Ok(compared.bounded_by(bound))
    }
}

/// The bound of results that are exact.
pub(super) fn exactly() -> (Option<Vec<f64>>, String) {
    (None, "none: the result is exact".to_owned())
}
