//! Operations whose result is one number: the launch is timed, without the host's part.

use std::cmp::Ordering;

use blockwise::{AnyBuffer, AnyView, Device, Type};
use blockwise_ops::operation::{
    self, Asked, Call, Expected, Fold, Operation, Options, Plan, Problem, Reduction,
};
use blockwise_ops::{AnyArray, AnyNumber, LaunchError};
use rayon::prelude::*;

use super::inputs::AnyWindow;
use super::{BenchError, Check, Inputs, Loaded, Problem as Benched};

/// Elements that a thread adds at a time for the expected result.
const PIECE: usize = 1 << 20;

pub(super) struct Folded {
    pub(super) operation: &'static Operation,
    pub(super) fold: &'static Fold,
    pub(super) problem: Problem,
    /// Of each rung.
    pub(super) options: Vec<Options>,
}

struct Copy {
    inputs: Vec<AnyBuffer>,
    results: AnyBuffer,
    call: Call,
    expected: AnyNumber,
}

struct OnDevice<'a> {
    device: &'a Device,
    of: &'a Folded,
    plan: Plan,
    copies: Vec<Copy>,
}

impl Folded {
    fn plan(&self, device: &Device, options: &Options) -> Result<Plan, LaunchError> {
        let plan = operation::plan(self.operation, &self.problem, options, device.properties())?;
        plan.ok_or(LaunchError::EmptyInput {
            what: "the operand",
        })
    }

    fn results(&self, device: &Device, plan: &Plan) -> Result<AnyBuffer, LaunchError> {
        let room = self.fold.room(&self.problem, plan);
        Ok(AnyBuffer::filled(device, Type::U8, room, 0xFF)?)
    }

    /// The exact result of these operands: numbers are such that any order gives it.
    fn expected(&self, inputs: &[AnyWindow]) -> Result<AnyNumber, LaunchError> {
        let len = self.problem.extents[0];
        let starts: Vec<_> = (0..len).step_by(PIECE).collect();
        let of_piece = |start: usize| {
            let mut problem = self.problem;
            problem.extents[0] = PIECE.min(len - start);
            let piece = start..start + problem.extents[0];
            let pieces = inputs.iter().map(|input| input.array(piece.clone()));
            let expected = (self.operation.reference)(Asked {
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
        let pieces = starts.into_par_iter().map(of_piece);
        let pieces = pieces.collect::<Result<Vec<_>, LaunchError>>()?;
        let merged = pieces.into_iter().reduce(|a, b| self.merged(a, b));
        Ok(
            match (merged.unwrap_or(AnyNumber::Integer(0)), self.problem.ty) {
                (AnyNumber::Integer(sum), Type::U64) => AnyNumber::Integer(i128::from(sum as u64)),
                (AnyNumber::Integer(sum), _) => AnyNumber::Integer(i128::from(sum as i64)),
                (AnyNumber::Float(sum), Type::F32) => AnyNumber::Float(f64::from(sum as f32)),
                (sum, _) => sum,
            },
        )
    }

    fn merged(&self, a: AnyNumber, b: AnyNumber) -> AnyNumber {
        let (left, right) = (a.to_f64(), b.to_f64());
        let order = match (a, b) {
            (AnyNumber::Integer(a), AnyNumber::Integer(b)) => a.cmp(&b),
            _ => left.partial_cmp(&right).unwrap_or(Ordering::Equal),
        };
        match (self.fold.by, a, b) {
            (Reduction::Sum, AnyNumber::Integer(a), AnyNumber::Integer(b)) => {
                AnyNumber::Integer(a.wrapping_add(b))
            }
            (Reduction::Sum, ..) => AnyNumber::Float(left + right),
            (Reduction::Min, ..) if order.is_le() => a,
            (Reduction::Max, ..) if order.is_ge() => a,
            _ => b,
        }
    }
}

impl Benched for Folded {
    fn load<'a>(
        &'a self,
        device: &'a Device,
        copies: usize,
        inputs: &mut Inputs,
    ) -> Result<Box<dyn Loaded + 'a>, BenchError> {
        let plan = self.plan(device, &Options::default())?;
        let (ty, numbers) = (self.problem.ty, self.operation.bench.numbers);
        let lens = (self.operation.lens)(&self.problem);
        let mut sets = Vec::new();
        for _ in 0..copies {
            let operands = 0..self.operation.operands.len();
            let windows = operands.map(|at| inputs.any(ty, numbers, lens.inputs[at]));
            let windows = windows.collect::<Result<Vec<_>, _>>()?;
            let upload = |window: &AnyWindow| AnyBuffer::upload(device, ty, window.bytes());
            sets.push(Copy {
                inputs: windows.iter().map(upload).collect::<Result<_, _>>()?,
                results: self.results(device, &plan)?,
                call: Call::new(device, self.operation, Options::default()),
                expected: self.expected(&windows)?,
            });
        }
        Ok(Box::new(OnDevice {
            device,
            of: self,
            plan,
            copies: sets,
        }))
    }
}

impl Loaded for OnDevice<'_> {
    fn select(&mut self, rung: usize) -> Result<(), BenchError> {
        let options = self.of.options[rung];
        self.plan = self.of.plan(self.device, &options)?;
        for copy in &mut self.copies {
            copy.results = self.of.results(self.device, &self.plan)?;
            // With a ticket of its own, at 0 whatever went wrong before.
            copy.call = Call::new(self.device, self.of.operation, options);
        }
        Ok(())
    }

    fn clear(&mut self) -> Result<(), BenchError> {
        for copy in &mut self.copies {
            copy.results.fill_bytes(0xFF)?;
        }
        Ok(())
    }

    fn enqueue(&mut self, copy: usize) -> Result<(), BenchError> {
        let Copy {
            inputs,
            results,
            call,
            ..
        } = &mut self.copies[copy];
        let views: Vec<AnyView<'_>> = inputs.iter().map(AnyBuffer::as_view).collect();
        call.enqueue_totals(None, &self.of.problem, &views, results.as_view_mut())?;
        Ok(())
    }

    fn verify(&self, copy: usize) -> Result<Check, BenchError> {
        let Folded { fold, problem, .. } = self.of;
        let Copy {
            results, expected, ..
        } = &self.copies[copy];
        let mut left = vec![0; fold.left(problem, &self.plan)];
        results
            .as_view()
            .view(..left.len())
            .copy_to_slice(&mut left)?;
        let result: AnyArray = (fold.number)(problem, &left)?;
        let right = result.number(0) == *expected;
        Ok(Check::exact("exactly", u64::from(!right)))
    }
}
