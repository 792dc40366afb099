//! Outputs of a launch compared with an operation's reference, on all of the host's cores.

use std::ops::Range;

use blockwise::{AnyBuffer, Type};
use blockwise_ops::operation::{
    self, Asked, Carry, Expected, Operation, Problem, Variant, Windows,
};
use blockwise_ops::{AnyArray, LaunchError};

use super::inputs::AnyWindow;
use super::sample::Sample;
use super::{BenchError, Check, cores};

/// Outputs that are compared at a time, at most.
const PIECE: usize = 1 << 20;
/// The same of a scan, whose reference takes eight times the room of its outputs.
const LINE: usize = 1 << 16;
/// Runs of outputs that threads compare.
const PIECES: usize = 64;

/// What is compared.
pub(super) struct Compared<'a> {
    pub(super) operation: &'static Operation,
    pub(super) problem: &'a Problem,
    pub(super) inputs: &'a [(AnyWindow, AnyBuffer)],
    /// The outputs' type.
    pub(super) ty: Type,
    pub(super) result: &'a AnyArray,
}

impl Compared<'_> {
    /// Any outputs, each from all inputs.
    pub(super) fn any(&self) -> Result<Check, BenchError> {
        let inputs = self.whole()?;
        // Few outputs may each take long, as sums along an axis do.
        let piece = self.result.len().div_ceil(PIECES).clamp(1, PIECE);
        let compare = |run: &Range<usize>| {
            let expected = (self.operation.reference)(Asked {
                problem: self.problem,
                inputs: &inputs,
                runs: std::slice::from_ref(run),
                before: &mut [0; 4],
            })?;
            self.outputs(run, &expected)
        };
        all(cores::each(self.pieces(piece).iter(), compare))
    }

    /// A line of outputs, each of which depends on the inputs up to it. The results of single
    /// pieces give the prefix of each piece.
    pub(super) fn line(&self, carry: &Carry) -> Result<Check, BenchError> {
        let pieces = self.pieces(LINE);
        let asked = |run: &Range<usize>, wanted: Range<usize>, mut before: [u64; 4]| {
            let part = self
                .inputs
                .iter()
                .map(|(input, _)| input.array(run.clone()));
            let mut problem = *self.problem;
            problem.extents[0] = run.len();
            let expected = (self.operation.reference)(Asked {
                problem: &problem,
                inputs: &part.collect::<Result<Vec<_>, _>>()?,
                runs: std::slice::from_ref(&wanted),
                before: &mut before,
            })?;
            Ok::<_, BenchError>((expected, before))
        };
        let parts = cores::each(pieces.iter(), |run| asked(run, 0..0, [0; 4]));
        let mut begins = Vec::with_capacity(pieces.len());
        let mut before = [0; 4];
        for part in parts {
            begins.push(before);
            before = (carry.joined)(self.problem, before, part?.1);
        }
        let compare = |(run, before): (&Range<usize>, _)| {
            let (expected, _) = asked(run, 0..run.len(), before)?;
            self.outputs(run, &expected)
        };
        all(cores::each(pieces.iter().zip(begins), compare))
    }

    /// A sample of runs of outputs, each part of a row from the inputs that it needs.
    pub(super) fn windows(
        &self,
        windows: &Windows,
        variant: &'static Variant,
        sample: &Sample,
    ) -> Result<Check, BenchError> {
        let (of, problem) = (self.operation, self.problem);
        let compare = |run: &Range<usize>| {
            let one = problem.row();
            let lens = (of.lens)(&one);
            let rows = operation::Problem::in_rows(std::slice::from_ref(run), lens.output);
            let checks = rows.into_iter().map(|(row, run)| {
                let (part, within) = windows.around(&one, &run, lens.output);
                let inputs = self.inputs.iter().zip(part.inputs).enumerate();
                let inputs = inputs.map(|(at, ((input, _), range))| {
                    let row = if problem.rows[at] == 1 { 0 } else { row };
                    let first = row * lens.inputs[at];
                    input.array(first + range.start..first + range.end)
                });
                let expected = of.expected(
                    variant,
                    Asked {
                        problem: &part.problem,
                        inputs: &inputs.collect::<Result<Vec<_>, _>>()?,
                        runs: std::slice::from_ref(&within),
                        before: &mut [0; 4],
                    },
                )?;
                let first = row * lens.output;
                self.outputs(&(first + run.start..first + run.end), &expected)
            });
            all(checks)
        };
        let check = all(cores::each(sample.runs.iter(), compare))?;
        // The inputs are finite: a NaN was not written.
        let whole = Check::exact(sample.describe(), cores::unwritten(self.result));
        Ok(whole.and(check))
    }

    /// The inputs.
    pub(super) fn whole(&self) -> Result<Vec<AnyArray>, LaunchError> {
        let whole = |(input, _): &(AnyWindow, AnyBuffer)| input.array(0..input.len());
        self.inputs.iter().map(whole).collect()
    }

    /// The outputs in runs of `piece`; the last run may be shorter.
    fn pieces(&self, piece: usize) -> Vec<Range<usize>> {
        let len = self.result.len();
        let starts = (0..len).step_by(piece);
        starts.map(|at| at..len.min(at + piece)).collect()
    }

    /// Compares a run of outputs with what is expected. Where one has elements that the other has
    /// not, each of these is wrong.
    fn outputs(&self, run: &Range<usize>, expected: &Expected) -> Result<Check, BenchError> {
        let width = self.ty.bytes();
        match expected {
            Expected::Exact(expected) => {
                let bytes = &self.result.bytes()[run.start * width..run.end * width];
                let pairs = bytes
                    .chunks_exact(width)
                    .zip(expected.bytes().chunks_exact(width));
                let wrong = pairs.filter(|(value, expected)| value != expected).count();
                let wrong = wrong + run.len().abs_diff(expected.len());
                Ok(Check::exact("every element, exactly", wrong as u64))
            }
            Expected::Near(expected) => {
                let unpaired = run.len().abs_diff(expected.len());
                let mut check = Check::exact("every element", unpaired as u64);
                for (at, near) in run.clone().zip(expected) {
                    check.near(self.ty, self.result.number(at).to_f64(), near);
                }
                Ok(check)
            }
        }
    }
}

/// Merges the checks of all pieces.
fn all(checks: impl IntoIterator<Item = Result<Check, BenchError>>) -> Result<Check, BenchError> {
    let mut all: Option<Check> = None;
    for check in checks {
        let check = check?;
        all = Some(match all {
            Some(all) => all.and(check),
            None => check,
        });
    }
    Ok(all.unwrap_or_else(|| Check::exact("every element", 0)))
}

#[cfg(test)]
mod tests {
    use blockwise::Device;
    use blockwise_ops::operation::{Given, Near, Numbers, Parts};
    use blockwise_ops::scan::SCAN;

    use super::*;
    use crate::bench::Inputs;

    #[test]
    fn a_line_is_compared_across_its_pieces_and_one_wrong_element_shows() {
        let (device, len) = (Device::emulator(), 3 * LINE + 5);
        let Parts::Carried(carry) = SCAN.parts else {
            panic!("scans are carried");
        };
        let posed = (SCAN.pose)(Type::F32, &[&[len]], &Given::default()).expect("a problem");
        let input = Inputs::new(1).any(Type::F32, Numbers::Whole, len);
        let input = input.expect("numbers");
        let mut result = AnyArray::zeros(Type::F32, &[len]).expect("room");
        let values: &[f32] = bytemuck::cast_slice(input.bytes());
        let mut sum = 0.0;
        let sums: &mut [f32] = bytemuck::cast_slice_mut(result.bytes_mut());
        for (to, value) in sums.iter_mut().zip(values) {
            sum += value;
            *to = sum;
        }
        let buffer = AnyBuffer::filled(&device, Type::F32, 0, 0).expect("a buffer");
        let inputs = [(input, buffer)];
        let wrong = |result: &AnyArray| {
            let compared = Compared {
                operation: &SCAN,
                problem: &posed.problem,
                inputs: &inputs,
                ty: Type::F32,
                result,
            };
            compared.line(carry).expect("a comparison").wrong
        };
        assert_eq!(wrong(&result), 0);
        for at in [0, LINE - 1, LINE, 2 * LINE + 7, len - 1] {
            let mut other = result.clone();
            let values: &mut [f32] = bytemuck::cast_slice_mut(other.bytes_mut());
            values[at] += 1000.0;
            assert_eq!(wrong(&other), 1, "{at}");
        }
    }
    /// A reference that has not as many elements as the outputs is no reference for all of them.
    #[test]
    fn outputs_without_a_reference_are_wrong() {
        let posed = (SCAN.pose)(Type::I64, &[&[5]], &Given::default()).expect("a problem");
        let compared = Compared {
            operation: &SCAN,
            problem: &posed.problem,
            inputs: &[],
            ty: Type::I64,
            result: &AnyArray::zeros(Type::I64, &[9]).expect("room"),
        };
        for len in 0..9_usize {
            let near = Near {
                value: 0.0,
                tolerance: 0.0,
                magnitude: 0.0,
                terms: 0,
            };
            let exact = AnyArray::zeros(Type::I64, &[len]).expect("room");
            for expected in [Expected::Exact(exact), Expected::Near(vec![near; len])] {
                let check = compared.outputs(&(2..7), &expected).expect("a check");
                assert_eq!(check.wrong, len.abs_diff(5) as u64, "{expected:?}");
            }
        }
    }
}
