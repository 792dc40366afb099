//! The operations that have a description.

use blockwise::{AnyBuffer, AnyView, Device, DeviceProperties, Type};
use blockwise_ops::OPERATIONS;
use blockwise_ops::operation::{
    self, Call, Fold, Given, Operation, Parts, Plan, Posed, Rank, Task, Tier, Variant,
};
use blockwise_ops::{AnyNumber, LaunchError, Options};

use super::compared::Compared;
use super::cores;
use super::cross::Cross;
use super::folded;
use super::inputs::AnyWindow;
use super::launched::launched;
use super::sample::Sample;
use super::search::{CHOICE, Search, distinct};
use super::work::{Candidate, DEFAULT, Posing, rungs};
use super::{BenchError, Check, Inputs, Loaded, Problem, Size, Sizes, Work};

/// The works of every operation.
pub(super) fn works(sizes: &Sizes) -> Vec<Work> {
    let all = OPERATIONS.iter().copied();
    all.flat_map(|operation| works_of(operation, sizes))
        .collect()
}

/// Of the first type every variant, and of those that have others; else what a caller gets, and
/// every variant at sizes that were asked for.
pub(super) fn works_of(operation: &'static Operation, sizes: &Sizes) -> Vec<Work> {
    let mut works = Vec::new();
    for (at, &(ty, standard)) in operation.bench.types.iter().enumerate() {
        let quick: &[&[usize]] = match at == 0 || has_others(operation, ty) {
            true => &[operation.bench.quick],
            false => &[],
        };
        for size in picked(operation, sizes, quick, standard) {
            let given = match operation.is_batch(&size) {
                true => operation.with_mode(0),
                false => operation.benched(at),
            };
            let Ok(posed) = posed(operation, ty, &size, &given) else {
                continue;
            };
            let is_given = matches!(sizes, Sizes::Given(_));
            let every = is_telling(operation, at) || is_given;
            let mut candidates = vec![Candidate::new(Options::default(), DEFAULT, CHOICE)];
            let worth = |it: &&'static Variant| every && (it.worth)(&posed.problem);
            for variant in variants(operation, ty).filter(worth) {
                candidates.push(Candidate::new(Options::of(variant), variant, ""));
            }
            let posing = Posing { given, offset: 0 };
            works.push(work(operation, posed, posing, size, candidates));
        }
    }
    works
}

/// One work: what a caller gets, and every variant that is worth timing there if they are wanted.
/// `None` where the operation does not take such operands.
pub(super) fn work_at(
    operation: &'static Operation,
    ty: Type,
    size: Vec<usize>,
    posing: Posing,
    every: bool,
) -> Option<Work> {
    let posed = posed(operation, ty, &size, &posing.given).ok()?;
    let mut candidates = vec![Candidate::new(Options::default(), DEFAULT, CHOICE)];
    let worth = |it: &&'static Variant| every && (it.worth)(&posed.problem);
    for variant in variants(operation, ty).filter(worth) {
        candidates.push(Candidate::new(Options::of(variant), variant, ""));
    }
    Some(work(operation, posed, posing, size, candidates))
}

/// The launcher's choice and others: every variant, and what each can be set to.
pub(super) fn searches(sizes: &Sizes, properties: &DeviceProperties) -> Vec<Search> {
    let mut searches = Vec::new();
    for &operation in OPERATIONS {
        // Of the first type, and of others in another mode or with variants of their own.
        for (at, &(ty, standard)) in operation.bench.types.iter().enumerate() {
            let given = operation.benched(at);
            let has_own = operation.bench.every.contains(&ty) || has_others(operation, ty);
            let same = given == operation.benched(0) && !has_own;
            if at > 0 && same {
                continue;
            }
            let quick: &[&[usize]] = match at == 0 || has_others(operation, ty) {
                true => &[operation.bench.quick],
                false => &[],
            };
            let mut sizes = picked(operation, sizes, quick, standard);
            // A choice is saved for the extents of one problem.
            sizes.retain(|size| size.len() == operation.sizes.len());
            for size in sizes {
                if let Ok(posed) = posed(operation, ty, &size, &given) {
                    let posing = Posing { given, offset: 0 };
                    searches.push(search(operation, posed, posing, size, properties));
                }
            }
        }
    }
    searches
}

fn search(
    operation: &'static Operation,
    posed: Posed,
    posing: Posing,
    size: Vec<usize>,
    properties: &DeviceProperties,
) -> Search {
    let problem = &posed.problem;
    let mut candidates = vec![Candidate::new(Options::default(), DEFAULT, CHOICE)];
    let worth = |it: &&'static Variant| (it.worth)(problem);
    for variant in variants(operation, problem.ty).filter(worth) {
        // A document's kernel may round differently, so it is never the default.
        if variant.tier == Tier::Document && matches!(operation.parts, Parts::Folded(_)) {
            continue;
        }
        candidates.push(Candidate::new(Options::of(variant), variant, ""));
        let options = Options::of(variant);
        let task = Task::new(variant, problem, &options, properties);
        for (options, policy) in (variant.tweaks)(&task) {
            candidates.push(Candidate::new(options, variant, policy));
        }
    }
    distinct(&mut candidates, |candidate| {
        let plan = operation::plan(operation, problem, &candidate.options, properties);
        plan.ok().flatten().map(|plan| plan.launch)
    });
    Search {
        work: work(operation, posed, posing, size, candidates),
        place: operation.name,
    }
}

/// The variants for a type that one can ask for.
fn variants(operation: &'static Operation, ty: Type) -> impl Iterator<Item = &'static Variant> {
    let all = ladder::variants(operation);
    all.filter(move |it| it.takes(ty) && it.tier != Tier::Step)
}

/// Whether a type has variants that the first does not have.
fn has_others(operation: &Operation, ty: Type) -> bool {
    let (first, _) = operation.bench.types[0];
    let mut variants = operation.variants.iter();
    variants.any(|it| it.takes(ty) && !it.takes(first))
}

/// Whether every variant of the type at this place of the table is shown.
fn is_telling(operation: &Operation, at: usize) -> bool {
    let (ty, _) = operation.bench.types[at];
    at == 0 || operation.bench.every.contains(&ty) || has_others(operation, ty)
}

/// The sizes of an operation. A single number is the side of a matrix, but no signal with its taps.
/// Of those that were given, the longer ones are [batches](blockwise_ops::operation::Bench::batch).
fn picked(
    operation: &Operation,
    sizes: &Sizes,
    quick: &[&[usize]],
    standard: &[&[usize]],
) -> Vec<Vec<usize>> {
    let extents = operation.sizes.len();
    let square = operation.operands[0].rank != Rank::Signal;
    let mut picked = sizes.pick(extents, square, quick, standard);
    if let (Sizes::Given(given), Some(_)) = (sizes, operation.bench.batch) {
        let batches = given.iter().filter(|size| size.0.len() > extents);
        let batches = batches.filter(|size| !(operation.shapes)(&size.0).is_empty());
        picked.extend(batches.map(|size| size.0.clone()));
    }
    picked
}

/// The problem at a size; with an axis, the size is the array's shape.
pub(super) fn posed(
    operation: &Operation,
    ty: Type,
    size: &[usize],
    given: &Given,
) -> Result<Posed, LaunchError> {
    let shapes = match given.axis {
        Some(_) => vec![size.to_vec()],
        None => (operation.shapes)(size),
    };
    let shapes: Vec<_> = shapes.iter().map(Vec::as_slice).collect();
    (operation.pose)(ty, &shapes, given)
}

fn work(
    operation: &'static Operation,
    posed: Posed,
    posing: Posing,
    size: Vec<usize>,
    candidates: Vec<Candidate<Options>>,
) -> Work {
    let least = (operation.work)(&posed.problem);
    Work {
        of: operation,
        posing,
        operation: match posing.given.axis {
            Some(_) => operation.label(posed.problem.settings),
            None => operation.label_at(posed.problem.settings, &size),
        },
        ty: posed.problem.ty.name(),
        bytes: least.bytes,
        operations: least.operations,
        rungs: rungs(&candidates, Candidate::described),
        problem: problem(operation, posed, posing.offset, candidates),
        size: Size(size),
    }
}

fn problem(
    operation: &'static Operation,
    posed: Posed,
    offset: usize,
    candidates: Vec<Candidate<Options>>,
) -> Box<dyn Problem> {
    let options = candidates.into_iter().map(|it| it.options).collect();
    Box::new(Described {
        operation,
        posed,
        offset,
        options,
    })
}

struct Described {
    operation: &'static Operation,
    posed: Posed,
    /// Elements in each buffer before the operand or the result.
    offset: usize,
    /// Of each rung.
    options: Vec<Options>,
}

impl Described {
    fn fold(&self) -> Option<&'static Fold> {
        self.operation.parts.fold(&self.posed.problem)
    }

    /// Says at once what it cannot do.
    fn plan(&self, device: &Device, options: &Options) -> Result<Option<Plan>, LaunchError> {
        let problem = &self.posed.problem;
        operation::plan(self.operation, problem, options, device.properties())
    }

    /// Memory for what a launch leaves: the output, or the results of its blocks.
    fn output(&self, device: &Device, plan: Option<&Plan>) -> Result<AnyBuffer, LaunchError> {
        let problem = &self.posed.problem;
        let (ty, len) = match (self.fold(), plan) {
            (Some(fold), Some(plan)) => (Type::U8, fold.room(problem, plan)),
            _ => {
                let output = (self.operation.lens)(problem).output;
                ((self.operation.gives)(problem.ty), self.offset + output)
            }
        };
        Ok(AnyBuffer::filled(device, ty, len, 0)?)
    }
}

struct Copy {
    inputs: Vec<(AnyWindow, AnyBuffer)>,
    output: AnyBuffer,
    /// What they are folded to, of an operation whose result is one number: the launch is timed,
    /// without the host's part.
    number: Option<AnyNumber>,
    /// Of a product, whose reference would take too long: outputs that are compared.
    cross: Cross,
}

struct OnDevice<'a> {
    device: &'a Device,
    of: &'a Described,
    call: Call,
    plan: Option<Plan>,
    /// The selected variant.
    variant: &'static Variant,
    /// What was launched last.
    launched: Option<Plan>,
    copies: Vec<Copy>,
    /// What is compared, of an operation whose reference takes long.
    sample: Sample,
}

impl Problem for Described {
    fn load<'a>(
        &'a self,
        device: &'a Device,
        copies: usize,
        inputs: &mut Inputs,
    ) -> Result<Box<dyn Loaded + 'a>, BenchError> {
        let Self {
            operation,
            posed,
            offset,
            ..
        } = self;
        let ty = posed.problem.ty;
        let lens = (operation.lens)(&posed.problem);
        let plan = self.plan(device, &Options::default())?;
        let copy = |_| {
            let operand = |(at, _)| {
                // What lies before the operand is random too.
                let mut input =
                    inputs.any(ty, operation.bench.numbers, offset + lens.inputs[at])?;
                let buffer = AnyBuffer::upload(device, ty, input.bytes())?;
                input.skip(*offset);
                Ok::<_, BenchError>((input, buffer))
            };
            let operands = operation.operands.iter().enumerate();
            let operands = operands.map(operand).collect::<Result<Vec<_>, _>>()?;
            let number = (self.fold()).map(|fold| {
                let windows = operands.iter().map(|(window, _)| window);
                folded::expected(
                    operation,
                    fold,
                    &posed.problem,
                    &windows.collect::<Vec<_>>(),
                )
            });
            Ok(Copy {
                inputs: operands,
                output: self.output(device, plan.as_ref())?,
                number: number.transpose()?,
                cross: match operation.parts {
                    Parts::Panels => Cross::new(&posed.problem, inputs.number()),
                    _ => Cross::default(),
                },
            })
        };
        let copies = (0..copies).map(copy).collect::<Result<_, BenchError>>()?;
        Ok(Box::new(OnDevice {
            device,
            of: self,
            call: Call::new(device, operation, Options::default()),
            plan,
            variant: operation.variants[0],
            launched: None,
            copies,
            sample: {
                let products = (operation.work)(&posed.problem).operations / 2;
                let each = products / (lens.output as u64).max(1);
                Sample::of(lens.output, each, inputs.number())
            },
        }))
    }
}

/// The bytes of a pack: kernels move packs where operands begin at whole ones.
const PACK: usize = 16;

impl Loaded for OnDevice<'_> {
    fn select(&mut self, rung: usize) -> Result<(), BenchError> {
        let options = self.of.options[rung];
        self.plan = self.of.plan(self.device, &options)?;
        if self.of.fold().is_some() {
            for copy in &mut self.copies {
                copy.output = self.of.output(self.device, self.plan.as_ref())?;
            }
        }
        self.call = Call::new(self.device, self.of.operation, options);
        let problem = &self.of.posed.problem;
        let types = [problem.ty, (self.of.operation.gives)(problem.ty)];
        let begins = types.map(|ty| self.of.offset * ty.bytes());
        let aligned = begins.iter().all(|begin| begin.is_multiple_of(PACK));
        self.variant = self.call.prepare(problem, aligned)?;
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
        let offset = self.of.offset;
        let views = inputs
            .iter()
            .map(|(_, buffer)| buffer.as_view().view(offset..));
        let views: Vec<AnyView<'_>> = views.collect();
        let (problem, output) = (&self.of.posed.problem, output.as_view_mut());
        self.launched = match self.of.fold() {
            Some(_) => self.call.enqueue_totals(None, problem, &views, output)?,
            None => {
                let output = output.into_view_mut(offset..);
                self.call.enqueue(None, problem, &views, output)?
            }
        };
        Ok(())
    }

    fn launched(&self) -> String {
        let of = self.of.operation;
        (self.launched).map_or_else(String::new, |plan| launched(of, self.variant, &plan))
    }

    fn verify(&self, copy: usize) -> Result<Check, BenchError> {
        let Described {
            operation, posed, ..
        } = self.of;
        let Copy {
            inputs,
            output,
            number,
            cross,
        } = &self.copies[copy];
        let problem = &posed.problem;
        if let (Some(fold), Some(plan), Some(number)) = (self.of.fold(), &self.plan, number) {
            let mut left = vec![0; fold.left(problem, plan)];
            let results = output.as_view().view(..left.len());
            results.copy_to_slice(&mut left)?;
            let right = (fold.number)(problem, &left)?.number(0) == *number;
            return Ok(Check::exact("exactly", u64::from(!right)));
        }
        let output = output.as_view().view(self.of.offset..);
        let ty = (operation.gives)(problem.ty);
        let mut result = cores::room(ty, output.len())?;
        output.copy_to_slice(result.bytes_mut())?;
        let compared = Compared {
            operation,
            problem,
            inputs,
            ty,
            result: &result,
        };
        match operation.parts {
            Parts::Carried(carry) if (carry.is_one_line)(problem) => compared.line(carry),
            Parts::Windows(windows) => compared.windows(windows, self.variant, &self.sample),
            Parts::Panels => cross.check(operation, problem, || compared.whole(), &result),
            _ => compared.any(),
        }
    }
}

#[cfg(test)]
mod tests {
    use blockwise_ops::conv1d::CONV;
    use blockwise_ops::matmul::MATMUL;

    use super::*;

    #[test]
    fn given_sizes_with_an_extent_more_are_rows_or_a_batch() {
        let given = ["9", "3x40x5", "2x3x4x5"].map(|size| size.parse().expect("a size"));
        let sizes = Sizes::Given(given.into());
        let names = |of| {
            let works = works_of(of, &sizes);
            works.iter().map(Work::name).collect::<Vec<_>>()
        };
        let rows = ["conv-rows/f32/3x40x5", "conv-rows/f64/3x40x5"];
        assert_eq!(names(&CONV), rows);
        let products = names(&MATMUL);
        let expected = [
            "matmul/f32/9x9x9",
            "matmul/f32/3x40x5",
            "matmul-batch/f32/2x3x4x5",
        ];
        assert_eq!(products[..3], expected);
    }
}
