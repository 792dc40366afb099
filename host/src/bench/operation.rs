//! The operations that have a description.

use blockwise::{AnyBuffer, AnyView, Device, DeviceProperties, Type};
use blockwise_ops::OPERATIONS;
use blockwise_ops::operation::{self, Asked, Call, Expected, Given, Operation, Parts, Posed, Task};
use blockwise_ops::{AnyArray, LaunchError, Options, Variant};
use rayon::prelude::*;

use super::inputs::AnyWindow;
use super::sample::Sample;
use super::search::{CHOICE, Search, distinct};
use super::work::{Candidate, DEFAULT, rungs};
use super::{BenchError, Check, Inputs, Loaded, Problem, Size, Sizes, Work};

/// Outputs that are compared at a time.
const PIECE: usize = 1 << 20;

/// The works of every operation.
pub(super) fn works(sizes: &Sizes) -> Vec<Work> {
    let all = OPERATIONS.iter().copied();
    all.flat_map(|operation| works_of(operation, sizes))
        .collect()
}

/// Whether a type is the first, or has other variants than that one.
fn is_telling(operation: &Operation, ty: Type) -> bool {
    let (first, _) = operation.bench.types[0];
    ty == first || (operation.variants.iter()).any(|it| it.takes(ty) != it.takes(first))
}

/// Of the first type every variant, and of those that have others; else what a caller gets, and
/// every variant at sizes that were asked for.
pub(super) fn works_of(operation: &'static Operation, sizes: &Sizes) -> Vec<Work> {
    let mut works = Vec::new();
    for &(ty, standard) in operation.bench.types {
        let is_telling = is_telling(operation, ty);
        let quick: &[&[usize]] = match is_telling {
            true => &[operation.bench.quick],
            false => &[],
        };
        for size in sizes.pick_any(operation.sizes.len(), quick, standard) {
            let Ok(posed) = posed(operation, ty, &size) else {
                continue;
            };
            let every = is_telling || matches!(sizes, Sizes::Given(_));
            let mut candidates = vec![Candidate::new(Options::default(), DEFAULT, CHOICE)];
            let shown = |it: &&&Variant| every && it.takes(ty) && (it.suits)(&posed.problem);
            for &variant in operation.variants.iter().filter(shown) {
                candidates.push(Candidate::new(Options::of(variant), variant, ""));
            }
            works.push(work(operation, posed, size, candidates));
        }
    }
    works
}

/// The launcher's choice and others: every variant, and what each can be set to.
pub(super) fn searches(sizes: &Sizes, properties: &DeviceProperties) -> Vec<Search> {
    let mut searches = Vec::new();
    let types = |of: &'static Operation| {
        let telling = of
            .bench
            .types
            .iter()
            .filter(move |(ty, _)| is_telling(of, *ty));
        telling.map(move |&(ty, sizes)| (of, ty, sizes))
    };
    for (operation, ty, standard) in OPERATIONS.iter().copied().flat_map(types) {
        let quick: &[&[usize]] = &[operation.bench.quick];
        for size in sizes.pick_any(operation.sizes.len(), quick, standard) {
            let Ok(posed) = posed(operation, ty, &size) else {
                continue;
            };
            let problem = &posed.problem;
            let mut candidates = vec![Candidate::new(Options::default(), DEFAULT, CHOICE)];
            let suits = |it: &&&Variant| it.takes(ty) && (it.suits)(problem);
            for &variant in operation.variants.iter().filter(suits) {
                candidates.push(Candidate::new(Options::of(variant), variant, ""));
                let options = Options::of(variant);
                let task = Task {
                    problem,
                    options: &options,
                    device: properties,
                    aligned: true,
                    variant,
                };
                for (options, policy) in (variant.tweaks)(&task) {
                    candidates.push(Candidate::new(options, variant, policy));
                }
            }
            distinct(&mut candidates, |candidate| {
                let plan = operation::plan(operation, problem, &candidate.options, properties);
                plan.ok().flatten().map(|plan| plan.launch)
            });
            searches.push(Search {
                work: work(operation, posed, size, candidates),
                place: operation.name,
            });
        }
    }
    searches
}

/// The problem at a size, with default settings.
pub(super) fn posed(operation: &Operation, ty: Type, size: &[usize]) -> Result<Posed, LaunchError> {
    let shapes = (operation.shapes)(size);
    let shapes: Vec<_> = shapes.iter().map(Vec::as_slice).collect();
    (operation.pose)(ty, &shapes, &Given::default())
}

fn work(
    operation: &'static Operation,
    posed: Posed,
    size: Vec<usize>,
    candidates: Vec<Candidate<Options>>,
) -> Work {
    let least = (operation.work)(&posed.problem);
    Work {
        operation: operation.name,
        ty: posed.problem.ty.name(),
        bytes: least.bytes,
        operations: least.operations,
        rungs: rungs(&candidates, Candidate::described),
        problem: Box::new(Described {
            operation,
            posed,
            options: (candidates.into_iter()).map(|it| it.options).collect(),
        }),
        size: Size(size),
    }
}

struct Described {
    operation: &'static Operation,
    posed: Posed,
    /// Of each rung.
    options: Vec<Options>,
}

struct Copy {
    inputs: Vec<(AnyWindow, AnyBuffer)>,
    output: AnyBuffer,
    /// Of a product, whose reference would take too long: outputs that are compared.
    sample: Sample,
}

struct OnDevice<'a> {
    device: &'a Device,
    of: &'a Described,
    call: Call,
    copies: Vec<Copy>,
}

impl Problem for Described {
    fn load<'a>(
        &'a self,
        device: &'a Device,
        copies: usize,
        inputs: &mut Inputs,
    ) -> Result<Box<dyn Loaded + 'a>, BenchError> {
        let Self {
            operation, posed, ..
        } = self;
        let ty = posed.problem.ty;
        let lens = (operation.lens)(&posed.problem);
        let copy = |_| {
            let operand = |(at, _)| {
                let input = inputs.any(ty, operation.bench.numbers, lens.inputs[at])?;
                let buffer = AnyBuffer::upload(device, ty, input.bytes())?;
                Ok::<_, BenchError>((input, buffer))
            };
            let operands = operation.operands.iter().enumerate();
            Ok(Copy {
                inputs: operands.map(operand).collect::<Result<_, _>>()?,
                output: AnyBuffer::filled(device, ty, lens.output, 0)?,
                sample: match operation.parts {
                    Parts::Panels => Sample::new(&posed.problem, inputs.number()),
                    _ => Sample::default(),
                },
            })
        };
        let copies = (0..copies).map(copy).collect::<Result<_, BenchError>>()?;
        Ok(Box::new(OnDevice {
            device,
            of: self,
            call: Call::new(device, operation, Options::default()),
            copies,
        }))
    }
}

impl Loaded for OnDevice<'_> {
    fn select(&mut self, rung: usize) -> Result<(), BenchError> {
        let Described {
            operation,
            posed,
            options,
        } = self.of;
        // Says at once what it cannot do.
        let properties = self.device.properties();
        operation::plan(operation, &posed.problem, &options[rung], properties)?;
        self.call = Call::new(self.device, operation, options[rung]);
        Ok(())
    }

    fn clear(&mut self) -> Result<(), BenchError> {
        for copy in &mut self.copies {
            copy.output.fill_bytes(0xFF)?;
        }
        Ok(())
    }

    fn enqueue(&mut self, copy: usize) -> Result<(), BenchError> {
        let Copy { inputs, output, .. } = &mut self.copies[copy];
        let views: Vec<AnyView<'_>> = inputs.iter().map(|(_, buffer)| buffer.as_view()).collect();
        (self.call).enqueue(None, &self.of.posed.problem, &views, output.as_view_mut())?;
        Ok(())
    }

    fn verify(&self, copy: usize) -> Result<Check, BenchError> {
        let Described {
            operation, posed, ..
        } = self.of;
        let Copy {
            inputs,
            output,
            sample,
        } = &self.copies[copy];
        let problem = &posed.problem;
        let mut result = AnyArray::zeros(problem.ty, &[output.len()])?;
        output.as_view().copy_to_slice(result.bytes_mut())?;
        let pieces = (0..result.len()).step_by(PIECE);
        let pieces: Vec<_> = pieces.map(|at| at..result.len().min(at + PIECE)).collect();
        let bytes = |run: &std::ops::Range<usize>| {
            let width = problem.ty.bytes();
            &result.bytes()[run.start * width..run.end * width]
        };
        let none = Check::exact("every element", 0);
        if let Parts::Carried(_) = operation.parts {
            let mut before = [0; 4];
            let mut check: Option<Check> = None;
            for run in &pieces {
                let part = inputs.iter().map(|(input, _)| input.array(run.clone()));
                let part = part.collect::<Result<Vec<_>, _>>()?;
                let mut problem = *problem;
                problem.extents[0] = run.len();
                let expected = (operation.reference)(Asked {
                    problem: &problem,
                    inputs: &part,
                    runs: std::slice::from_ref(&(0..run.len())),
                    before: &mut before,
                })?;
                let next = compared(problem.ty, bytes(run), &expected)?;
                check = Some(match check {
                    Some(check) => check.and(next),
                    None => next,
                });
            }
            return Ok(check.unwrap_or(none));
        }
        let whole = |(input, buffer): &(AnyWindow, AnyBuffer)| input.array(0..buffer.len());
        if let Parts::Panels = operation.parts {
            let inputs = || inputs.iter().map(whole).collect::<Result<Vec<_>, _>>();
            return sample.check(operation, problem, inputs, &result);
        }
        let inputs = inputs.iter().map(whole).collect::<Result<Vec<_>, _>>()?;
        let checks = pieces.par_iter().map(|run| {
            let expected = (operation.reference)(Asked {
                problem,
                inputs: &inputs,
                runs: std::slice::from_ref(run),
                before: &mut [0; 4],
            })?;
            compared(problem.ty, bytes(run), &expected)
        });
        let checks = checks.collect::<Result<Vec<_>, BenchError>>()?;
        Ok(checks.into_iter().reduce(Check::and).unwrap_or(none))
    }
}

/// Compares some outputs, by their bytes, with what is expected.
fn compared(ty: Type, bytes: &[u8], expected: &Expected) -> Result<Check, BenchError> {
    match expected {
        Expected::Exact(expected) => {
            let width = ty.bytes();
            let pairs = bytes
                .chunks_exact(width)
                .zip(expected.bytes().chunks_exact(width));
            let wrong = pairs.filter(|(value, expected)| value != expected).count();
            Ok(Check::exact("every element, exactly", wrong as u64))
        }
        Expected::Near(expected) => {
            let mut result = AnyArray::zeros(ty, &[expected.len()])?;
            result.bytes_mut().copy_from_slice(bytes);
            let mut check = Check::exact("every element", 0);
            for (at, near) in expected.iter().enumerate() {
                check.near(ty, result.number(at).to_f64(), near);
            }
            Ok(check)
        }
    }
}
