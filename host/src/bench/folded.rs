//! The reference of operations whose result is one number.

use std::cmp::Ordering;
use std::ops::Range;

use blockwise::Type;
use blockwise_ops::operation::{Asked, Expected, Fold, Operation, Problem, Reduction};
use blockwise_ops::{AnyNumber, LaunchError};
use launch_contract::for_type;

use super::cores;
use super::inputs::{AnyWindow, Random};

/// Elements that a thread takes at a time.
const PIECE: usize = 1 << 20;

/// The exact result of these operands: numbers are such that any order gives it.
pub(super) fn expected(
    operation: &Operation,
    fold: &Fold,
    problem: &Problem,
    inputs: &[&AnyWindow],
) -> Result<AnyNumber, LaunchError> {
    let len = problem.extents[0];
    if fold.by != Reduction::Sum {
        return extreme(operation, fold, problem, inputs);
    }
    let sum = sum(inputs, len);
    let value = match fold.is_mean {
        true => sum as f64 / len as f64,
        false => sum as f64,
    };
    Ok(match problem.ty {
        Type::F32 => AnyNumber::Float(f64::from(value as f32)),
        Type::F64 => AnyNumber::Float(value),
        Type::U64 => AnyNumber::Integer(i128::from(sum as u64)),
        _ => AnyNumber::Integer(i128::from(sum)),
    })
}

/// The sum of [whole numbers](super::Kind::Whole), or of their products, in integers: 2^63 is far.
fn sum(inputs: &[&AnyWindow], len: usize) -> i64 {
    let of_piece = |start: usize| {
        let piece = start..len.min(start + PIECE);
        for_type!(inputs[0].ty(), T => {
            let values = |at: usize| integers::<T>(inputs[at], &piece);
            match inputs.len() {
                1 => values(0).sum::<i64>(),
                _ => values(0).zip(values(1)).map(|(a, b)| a * b).sum(),
            }
        }, else 0)
    };
    let pieces = cores::each((0..len).step_by(PIECE), of_piece);
    pieces.into_iter().sum()
}

fn integers<T: Random>(input: &AnyWindow, piece: &Range<usize>) -> impl Iterator<Item = i64> {
    let values: &[T] = bytemuck::cast_slice(input.bytes());
    values[piece.clone()].iter().map(|value| value.integer())
}

fn extreme(
    operation: &Operation,
    fold: &Fold,
    problem: &Problem,
    inputs: &[&AnyWindow],
) -> Result<AnyNumber, LaunchError> {
    let len = problem.extents[0];
    let of_piece = |start: usize| {
        let mut problem = *problem;
        problem.extents[0] = PIECE.min(len - start);
        let piece = start..start + problem.extents[0];
        let pieces = inputs.iter().map(|input| input.array(piece.clone()));
        let expected = (operation.reference)(Asked {
            problem: &problem,
            inputs: &pieces.collect::<Result<Vec<_>, _>>()?,
            runs: std::slice::from_ref(&(0..1)),
            before: &mut [0; 4],
        })?;
        Ok(match expected {
            Expected::Exact(number) => number.number(0),
            Expected::Near(near) => AnyNumber::Float(near[0].value),
        })
    };
    let pieces = cores::each((0..len).step_by(PIECE), of_piece);
    let pieces = pieces
        .into_iter()
        .collect::<Result<Vec<_>, LaunchError>>()?;
    let merged = (pieces.into_iter()).reduce(|a, b| further(fold.by, a, b));
    Ok(merged.unwrap_or(AnyNumber::Integer(0)))
}

/// The smaller one of two, or the larger one.
fn further(by: Reduction, a: AnyNumber, b: AnyNumber) -> AnyNumber {
    let order = match (a, b) {
        (AnyNumber::Integer(a), AnyNumber::Integer(b)) => a.cmp(&b),
        _ => {
            let order = a.to_f64().partial_cmp(&b.to_f64());
            order.unwrap_or(Ordering::Equal)
        }
    };
    match by {
        Reduction::Min if order.is_le() => a,
        Reduction::Max if order.is_ge() => a,
        _ => b,
    }
}

#[cfg(test)]
mod tests {
    use blockwise_ops::OPERATIONS;
    use blockwise_ops::operation::{Given, Numbers, Parts};

    use super::*;
    use crate::bench::Inputs;

    /// By the operations' own references, which add exactly in a way of their own.
    #[test]
    fn results_are_those_of_the_references() {
        let mut inputs = Inputs::new(5);
        for &operation in OPERATIONS {
            let Parts::Folded(fold) = operation.parts else {
                continue;
            };
            let is_sum = fold.by == Reduction::Sum;
            let whole = operation.bench.numbers == Numbers::Whole;
            assert_eq!(is_sum, whole, "{}", operation.name);
            for &(ty, _) in operation.bench.types {
                for len in [1, 1000, PIECE + 7] {
                    let posed = (operation.pose)(ty, &[&[len][..]; 2], &Given::default());
                    let problem = posed.expect("a problem").problem;
                    if operation.parts.fold(&problem).is_none() {
                        continue;
                    }
                    let operands = operation.operands.iter();
                    let operands = operands.map(|_| inputs.any(ty, operation.bench.numbers, len));
                    let operands = operands.collect::<Result<Vec<_>, _>>().expect("inputs");
                    let windows: Vec<_> = operands.iter().collect();
                    let ours = expected(operation, fold, &problem, &windows).expect("a number");
                    let arrays = operands.iter().map(|window| window.array(0..len));
                    let asked = Asked {
                        problem: &problem,
                        inputs: &arrays.collect::<Result<Vec<_>, _>>().expect("arrays"),
                        runs: std::slice::from_ref(&(0..1)),
                        before: &mut [0; 4],
                    };
                    let theirs = match (operation.reference)(asked).expect("a reference") {
                        Expected::Exact(number) => number.number(0),
                        Expected::Near(near) if ty == Type::F32 => {
                            AnyNumber::Float(f64::from(near[0].value as f32))
                        }
                        Expected::Near(near) => AnyNumber::Float(near[0].value),
                    };
                    assert_eq!(ours, theirs, "{} of {len} {ty}", operation.name);
                }
            }
        }
    }
}
