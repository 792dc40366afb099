//! Jobs of the operations that have a description: their launches, recorded.

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use blockwise::{Device, DeviceProperties, EmulatorLimits, Type, Watch};
use blockwise_ops::OPERATIONS;
use blockwise_ops::operation::{
    self, Asked, Case, Given as Settings, Operation, Options, Parts, Plan, Posed, Rank, Setting,
    Takes, Task, Variant,
};
use blockwise_ops::{AnyArray, LaunchError};
use launch_contract::for_type;

use super::replayed::{judged, replayed, text};
use super::{Job, Wanted, launches};
use crate::data::random_bits;

/// The descriptions' cases.
pub(super) fn telling(_: &DeviceProperties, wanted: Wanted) -> Vec<Job> {
    let device = recorder();
    let mut jobs = Vec::new();
    for &of in OPERATIONS {
        for case in ladder::cases(of) {
            let named = |variant: &&Variant| {
                let all = case.variants.is_empty() && !variant.on_request;
                all || case.variants.contains(&variant.name)
            };
            let (before, mut is_wanted) = (jobs.len(), false);
            let variants = ladder::variants(of).filter(named);
            for variant in variants.filter(|variant| has_wanted(variant, wanted)) {
                is_wanted = true;
                for ty in types(variant) {
                    for settings in settings(of, case.settings) {
                        jobs.extend(of_case(&device, (of, variant, ty, settings), case));
                    }
                }
            }
            let made = jobs.len() > before || !is_wanted || case.variants.is_empty();
            assert!(
                made,
                "{} {:?}: {:?} refuse it",
                of.name, case.sizes, case.variants
            );
        }
    }
    jobs
}

/// Every variant at the sizes around its tiles, with a grid that covers them and one that strides.
/// Settings take turns.
pub(super) fn sizes(_: &DeviceProperties, wanted: Wanted) -> Vec<Job> {
    let device = recorder();
    let mut jobs = Vec::new();
    for &of in OPERATIONS {
        let settings = settings(of, &[]);
        for variant in ladder::variants(of).filter(|variant| has_wanted(variant, wanted)) {
            for (turn, ty) in types(variant).into_iter().enumerate() {
                let caps = [None, Some(1)];
                let cases = of
                    .edges
                    .iter()
                    .flat_map(|sizes| caps.map(|cap| (sizes, cap)));
                for (case, (sizes, grid_cap)) in cases.enumerate() {
                    let given = settings[(turn + case) % settings.len()];
                    if !is_worth(of, variant, ty, sizes, &given)
                        && !matches!(of.parts, Parts::Panels)
                    {
                        continue;
                    }
                    let case = Case {
                        grid_cap,
                        ..Case::of(sizes)
                    };
                    jobs.extend(of_case(&device, (of, variant, ty, given), &case));
                }
            }
        }
    }
    jobs
}

/// Whether one of a variant's kernels is wanted.
fn has_wanted(variant: &Variant, wanted: Wanted) -> bool {
    let mut kernels = variant.kernels.iter();
    kernels.any(|kernel| wanted(kernel.entry.name))
}

/// Whether a variant is for such sizes.
fn is_worth(
    of: &Operation,
    variant: &Variant,
    ty: Type,
    sizes: &[usize],
    given: &Settings,
) -> bool {
    let shapes = (of.shapes)(sizes);
    let shapes: Vec<_> = shapes.iter().map(Vec::as_slice).collect();
    let posed = (of.pose)(ty, &shapes, given);
    !variant.on_request && posed.is_ok_and(|posed| (variant.worth)(&posed.problem))
}

/// A device that says what each launch was given.
pub(super) fn recorder() -> Device {
    Device::emulator_with(EmulatorLimits::default(), Watch::Launches)
}

/// One type for each of a variant's kernels.
fn types(variant: &Variant) -> Vec<Type> {
    let mut types = Vec::new();
    for kernel in variant.kernels {
        let ty = match kernel.takes {
            Takes::Type(ty) => ty,
            Takes::Width(1) => Type::U8,
            Takes::Width(2) => Type::U16,
            Takes::Width(4) => Type::U32,
            Takes::Width(_) => Type::U64,
        };
        if !types.contains(&ty) {
            types.push(ty);
        }
    }
    types
}

/// These settings, or every choice of them.
fn settings(of: &Operation, only: &[[u8; 2]]) -> Vec<Settings> {
    if !only.is_empty() {
        let given = |&settings| Settings {
            settings,
            ..Settings::default()
        };
        return only.iter().map(given).collect();
    }
    let mut all = vec![Settings::default()];
    let mut at = 0;
    for setting in of.settings {
        let values = match setting {
            Setting::OneOf { values, .. } | Setting::Mode { values, .. } => values.len(),
            Setting::Flag { .. } => 2,
            Setting::Axis { .. } => continue,
        };
        let with = |given: Settings| {
            (0..values).map(move |value| {
                let mut given = given;
                given.settings[at] = value as u8;
                given
            })
        };
        all = all.into_iter().flat_map(with).collect();
        at += 1;
    }
    all
}

/// `None` when there is nothing to launch, or the variant refuses the case.
fn of_case(
    device: &Device,
    (of, variant, ty, given): (&'static Operation, &'static Variant, Type, Settings),
    case: &Case,
) -> Vec<Job> {
    let options = Options {
        grid_cap: case.grid_cap,
        threads: case.threads,
        instance: case.instance,
        count: NonZeroU32::new(case.count),
        whole: case.whole,
        ..Options::of(variant)
    };
    let (shapes, given) = match case.axis {
        None => ((of.shapes)(case.sizes), given),
        Some((shape, axis)) => {
            let axis = Some(axis);
            (vec![shape.to_vec()], Settings { axis, ..given })
        }
    };
    let name = format!(
        "{} {ty} {:?}, {variant}, {:?}, {:?}",
        of.name, shapes, given, case.grid_cap
    );
    let slices: Vec<_> = shapes.iter().map(Vec::as_slice).collect();
    let posed = (of.pose)(ty, &slices, &given).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut jobs = match of.parts {
        Parts::Panels => launches::of_variant(device, of, &name, &posed, &options, &shapes),
        _ => Vec::from_iter(of_problem(device, of, name, &posed, &options, &shapes)),
    };
    if case.ahead > 0 {
        let bytes = case.ahead * ty.bytes();
        jobs = jobs.into_iter().map(|job| job.later(bytes)).collect();
    }
    if case.spare {
        let more = match of.operands[0].rank {
            // Slices lie along z, and y has a block for each product.
            Rank::Matrices if case.count > 0 => [1, 0, 1],
            Rank::Matrix | Rank::Matrices => [1, 1, 0],
            Rank::Any | Rank::Vector | Rank::Signal => [1, 0, 0],
        };
        let spare = jobs.iter().cloned();
        let spare: Vec<_> = spare.map(|job| job.with_spare_blocks(more)).collect();
        jobs.extend(spare);
    }
    jobs
}

/// The last launch of a problem, on operands of these shapes. `None` when there is nothing to
/// launch, or it is refused.
pub(super) fn of_problem(
    device: &Device,
    of: &'static Operation,
    name: String,
    posed: &Posed,
    options: &Options,
    shapes: &[Vec<usize>],
) -> Option<Job> {
    let (problem, ty) = (&posed.problem, posed.problem.ty);
    let gives = (of.gives)(ty);
    let plan = operation::plan(of, problem, options, device.properties());
    let plan = plan.ok().flatten()?;
    let inputs: Vec<_> = (shapes.iter().enumerate())
        .map(|(at, shape)| numbers(41 + at as u64, ty, shape))
        .collect();
    if let Err(error) = operation::run(device, of, posed, options, &inputs) {
        panic!("{name}: {error}");
    }
    let (mut job, place) = recorded(device, name.clone(), &plan);
    let (outputs, mut before) = (0..(of.lens)(problem).output, [0; 4]);
    let asked = Asked {
        problem,
        inputs: &inputs,
        runs: std::slice::from_ref(&outputs),
        before: &mut before,
    };
    let expected = match options.kernel {
        Some(variant) => of.expected(variant, asked),
        None => (of.reference)(asked),
    };
    let expected = expected.unwrap_or_else(|error| panic!("{name}: {error}"));
    let fold = of.parts.fold(problem);
    // What the kernel may be off beside, if that depends on its launch.
    let error = fold.zip(options.kernel).and_then(|(fold, variant)| {
        (fold.error)(&Task::new(variant, problem, options, device.properties()))
    });
    let error = error.unwrap_or(0.0);
    let result: Result = match fold {
        None => Box::new(move |bytes| {
            let mut array = AnyArray::zeros(gives, &[bytes.len() / gives.bytes()])?;
            array.bytes_mut().copy_from_slice(bytes);
            Ok(array)
        }),
        Some(fold) => {
            let problem = *problem;
            Box::new(move |bytes| (fold.number)(&problem, &bytes[..fold.left(&problem, &plan)]))
        }
    };
    job.judge = Arc::new(move |bytes| {
        let bytes = bytes.get(place.clone()).ok_or("the output is too short")?;
        judged(&result(bytes).map_err(text)?, &expected, error)
    });
    Some(job)
}

/// Numbers that are telling and exact: small whole ones, in an order that repeats nowhere.
fn numbers(seed: u64, ty: Type, shape: &[usize]) -> AnyArray {
    let mut array = AnyArray::zeros(ty, shape).expect("a small array");
    let mut random = random_bits(seed);
    for_type!(ty, T => {
        let values: &mut [T] = bytemuck::cast_slice_mut(array.bytes_mut());
        values.fill_with(|| (random() % 255) as i16 as T);
    }, else ());
    array
}

/// The same of the last launch, and its first output that is not empty; others, such as totals, are.
pub(super) fn recorded(device: &Device, case: String, plan: &Plan) -> (Job, Range<usize>) {
    let launch = device.take_launches().pop().expect("it was launched");
    let signature = plan.kernel.entry.signature;
    let (job, mut outputs) = replayed(case, plan.launch, signature, &launch);
    let first = outputs.iter().position(|place| !place.is_empty());
    (job, outputs.swap_remove(first.unwrap_or(0)))
}

/// The result of a launch from the bytes that it left.
type Result = Box<dyn Fn(&[u8]) -> std::result::Result<AnyArray, LaunchError> + Send + Sync>;
