//! What operations whose result is one number come to.

use std::cmp::Ordering;

use blockwise::Type;
use blockwise_ops::operation::{
    Asked, Expected, Fold, Given, Operation, Parts, Problem, Reduction,
};
use blockwise_ops::reduce::{MEAN, SUM};
use blockwise_ops::{AnyNumber, LaunchError};

use super::cores;
use super::inputs::AnyWindow;

/// Elements that a thread adds at a time.
const PIECE: usize = 1 << 20;

/// The exact result of these operands: numbers are such that any order gives it.
pub(super) fn expected(
    operation: &Operation,
    fold: &Fold,
    problem: &Problem,
    inputs: &[&AnyWindow],
) -> Result<AnyNumber, LaunchError> {
    if operation == &MEAN {
        return mean(problem, inputs);
    }
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
    let merged = (pieces.into_iter()).reduce(|a, b| merged(fold.by, a, b));
    Ok(
        match (merged.unwrap_or(AnyNumber::Integer(0)), problem.ty) {
            (AnyNumber::Integer(sum), Type::U64) => AnyNumber::Integer(i128::from(sum as u64)),
            (AnyNumber::Integer(sum), _) => AnyNumber::Integer(i128::from(sum as i64)),
            (AnyNumber::Float(sum), Type::F32) => AnyNumber::Float(f64::from(sum as f32)),
            (sum, _) => sum,
        },
    )
}

/// The sum of whole numbers is exact: it is divided, and rounded.
fn mean(problem: &Problem, inputs: &[&AnyWindow]) -> Result<AnyNumber, LaunchError> {
    let Parts::Folded(fold) = SUM.parts else {
        let operation = SUM.name;
        return Err(LaunchError::NotDivided { operation });
    };
    let len = problem.extents[0];
    let posed = (SUM.pose)(problem.ty, &[&[len]], &Given::default())?;
    let sum = expected(&SUM, fold, &posed.problem, inputs)?.to_f64();
    let mean = sum / len as f64;
    Ok(AnyNumber::Float(match problem.ty {
        Type::F32 => f64::from(mean as f32),
        _ => mean,
    }))
}

fn merged(by: Reduction, a: AnyNumber, b: AnyNumber) -> AnyNumber {
    let (left, right) = (a.to_f64(), b.to_f64());
    let order = match (a, b) {
        (AnyNumber::Integer(a), AnyNumber::Integer(b)) => a.cmp(&b),
        _ => left.partial_cmp(&right).unwrap_or(Ordering::Equal),
    };
    match (by, a, b) {
        (Reduction::Sum, AnyNumber::Integer(a), AnyNumber::Integer(b)) => {
            AnyNumber::Integer(a.wrapping_add(b))
        }
        (Reduction::Sum, ..) => AnyNumber::Float(left + right),
        (Reduction::Min, ..) if order.is_le() => a,
        (Reduction::Max, ..) if order.is_ge() => a,
        _ => b,
    }
}
