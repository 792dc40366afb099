//! Jobs of the operations that have a description: their launches, recorded.

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use blockwise::{Device, DeviceProperties, EmulatorLimits, Given, GivenLaunch, Type, Watch};
use blockwise_ops::OPERATIONS;
use blockwise_ops::operation::{
    self, Asked, Case, Expected, Given as Settings, Operation, Options, Posed, Setting, Takes,
    Variant,
};
use blockwise_ops::{AnyArray, LaunchPlan, compare};
use cuda_std::launch::Entry;
use launch_contract::for_type;

use super::{Job, Parameter};
use crate::data::random_bits;

/// The descriptions' cases.
pub(super) fn telling(_: &DeviceProperties) -> Vec<Job> {
    let device = recorder();
    let mut jobs = Vec::new();
    for &of in OPERATIONS {
        for case in of.cases {
            let named = |variant: &&&Variant| {
                case.variants.is_empty() || case.variants.contains(&variant.name)
            };
            for &variant in of.variants.iter().filter(named) {
                for ty in types(variant) {
                    for settings in settings(of, case.settings) {
                        jobs.extend(of_case(&device, (of, variant, ty, settings), case));
                    }
                }
            }
        }
    }
    jobs
}

/// Every variant at the sizes around its tiles, with a grid that covers them and one that strides.
/// Settings take turns.
pub(super) fn sizes(_: &DeviceProperties) -> Vec<Job> {
    let device = recorder();
    let mut jobs = Vec::new();
    for &of in OPERATIONS {
        let settings = settings(of, &[]);
        for &variant in of.variants {
            for (turn, ty) in types(variant).into_iter().enumerate() {
                let caps = [None, Some(1)];
                let cases = of
                    .edges
                    .iter()
                    .flat_map(|sizes| caps.map(|cap| (sizes, cap)));
                for (case, (sizes, grid_cap)) in cases.enumerate() {
                    let given = settings[(turn + case) % settings.len()];
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

/// A device that says what each launch was given.
fn recorder() -> Device {
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
            Setting::OneOf { values, .. } => values.len(),
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
    let inputs: Vec<_> = (shapes.iter().enumerate())
        .map(|(at, shape)| numbers(41 + at as u64, ty, shape))
        .collect();
    let mut plans = Vec::new();
    let mut jobs = Vec::new();
    for instance in instances(variant) {
        let options = Options {
            grid_cap: case.grid_cap,
            instance,
            count: NonZeroU32::new(case.count),
            ..Options::of(variant)
        };
        // One that does not fit may be another.
        match operation::plan(of, &posed.problem, &options, device.properties()) {
            Ok(Some(plan)) if !plans.contains(&plan) => plans.push(plan),
            _ => continue,
        }
        let name = format!("{name}, {instance:?}, {}", case.count);
        jobs.extend(launched(device, of, &name, &posed, &options, &inputs));
    }
    if case.spare {
        let dimensions = of.sizes.len().min(2);
        let spare = jobs.iter().cloned();
        let spare: Vec<_> = spare.map(|job| job.with_spare_blocks(dimensions)).collect();
        jobs.extend(spare);
    }
    jobs
}

/// The variant's instances, if it has several.
fn instances(variant: &Variant) -> Vec<Option<u8>> {
    let last = variant.kernels.iter().map(|kernel| kernel.instance).max();
    match last {
        None | Some(0) => vec![None],
        Some(last) => (0..=last).map(Some).collect(),
    }
}

/// Runs a variant, and makes a job of each of its launches.
fn launched(
    device: &Device,
    of: &'static Operation,
    name: &str,
    posed: &Posed,
    options: &Options,
    inputs: &[AnyArray],
) -> Vec<Job> {
    let problem = &posed.problem;
    device.take_launches();
    if let Err(error) = operation::run(device, of, posed, options, inputs) {
        panic!("{name}: {error}");
    }
    let launches = device.take_launches();
    let expected = (of.reference)(Asked {
        problem,
        inputs,
        runs: std::slice::from_ref(&(0..(of.lens)(problem).output)),
        before: &mut [0; 4],
    });
    let mut expected = Some(expected.unwrap_or_else(|error| panic!("{name}: {error}")));
    let mut jobs = Vec::new();
    for (at, launch) in launches.iter().enumerate().rev() {
        // What a launch before the last one computes is what those after it are given.
        let judged = match expected.take() {
            Some(expected) => Judged::Result(problem.ty, expected),
            None => Judged::Memory(of, &launches[at + 1..]),
        };
        // Another operation's is its own.
        let Some(entry) = entry(of, &launch.kernel) else {
            continue;
        };
        let plan = LaunchPlan {
            kernel: entry.name,
            grid: launch.config.grid,
            block: launch.config.block,
            dynamic_shared_bytes: launch.config.dynamic_shared_bytes,
        };
        jobs.push(recorded(
            name.to_owned(),
            plan,
            entry.signature,
            launch,
            judged,
        ));
    }
    jobs
}

/// How a recorded launch is judged.
enum Judged<'a> {
    /// It gives the result.
    Result(Type, Expected),
    /// Its outputs are in the memory that these launches are given.
    Memory(&'static Operation, &'a [GivenLaunch]),
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

/// What a parameter of Rust's is in the PTX.
enum Is {
    /// Nothing.
    Nothing,
    /// A length.
    Shared,
    /// An address and so many extents.
    Input(usize),
    /// The same, written.
    Output(usize),
    /// The same, written by atomics, and not compared.
    Memory(usize),
    /// A number.
    Value,
}

fn is(ty: &str) -> Is {
    match ty {
        _ if ty.starts_with("&mut Block") => Is::Nothing,
        _ if ty.starts_with("Shared<[") && !ty.contains(';') => Is::Shared,
        _ if ty.starts_with("Shared<") => Is::Nothing,
        _ if ty.starts_with("&[") => Is::Input(1),
        _ if ty.starts_with("Matrix<") => Is::Input(2),
        _ if ty.starts_with("*const") => Is::Input(0),
        _ if ty.starts_with("OutMatrix<") => Is::Output(2),
        _ if ty.starts_with("Out<") => Is::Output(1),
        _ if ty.starts_with("*mut") => Is::Output(0),
        _ if ty.starts_with("Atomics<") => Is::Memory(1),
        _ => Is::Value,
    }
}

/// The types of a signature such as `x: &[f32], y: Out<f32>`.
fn parameters(signature: &str) -> Vec<&str> {
    let (mut types, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, byte) in signature.bytes().chain([b',']).enumerate() {
        match byte {
            b'<' | b'[' | b'(' => depth += 1,
            b'>' | b']' | b')' => depth -= 1,
            b',' if depth == 0 => {
                let parameter = signature[start..at].trim();
                types.extend(parameter.split_once(": ").map(|(_, ty)| ty));
                start = at + 1;
            }
            _ => {}
        }
    }
    types
}

/// Where each written operand begins in a job's output.
const PLACE: usize = 256;

fn recorded(
    case: String,
    plan: LaunchPlan,
    signature: &str,
    launch: &GivenLaunch,
    judged: Judged<'_>,
) -> Job {
    let mut job = Job::new::<u8>(case, plan, 0, |_| Ok(()));
    job.fill = None;
    let mut given = launch.parameters.iter();
    let mut outputs = Vec::new();
    let number = |given: Option<&Given>| match given {
        Some(Given::Bytes(bytes)) => {
            let mut word = [0; 8];
            word[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
            u64::from_le_bytes(word)
        }
        _ => panic!("{signature}: a number is an address"),
    };
    for parameter in parameters(signature) {
        let is = is(parameter);
        let extents = match is {
            Is::Nothing => continue,
            Is::Shared => {
                job.parameters.push(Parameter::Shared(number(given.next())));
                continue;
            }
            Is::Value => {
                job.parameters.push(Parameter::Value(number(given.next())));
                continue;
            }
            Is::Input(extents) | Is::Output(extents) | Is::Memory(extents) => extents,
        };
        // What is empty has an address without memory.
        let (bytes, is_empty) = match given.next() {
            Some(Given::Memory { bytes, .. }) => (bytes.clone(), false),
            _ => (Vec::new(), true),
        };
        if let Is::Input(_) = is {
            job.parameters.push(Parameter::Input(job.inputs.len(), 0));
            job.inputs.push(bytes);
        } else {
            let place = job.start.len().next_multiple_of(PLACE);
            job.start.resize(place, 0);
            job.start.extend(&bytes);
            job.parameters.push(Parameter::Output(place as u64));
            if let Is::Output(_) = is {
                outputs.push(place..place + bytes.len());
            }
        }
        let extents: Vec<_> = (0..extents).map(|_| number(given.next())).collect();
        assert!(
            !is_empty || extents.is_empty() || extents.contains(&0),
            "{signature}: {parameter} is no address"
        );
        job.parameters
            .extend(extents.into_iter().map(Parameter::Extent));
    }
    job.output_bytes = job.start.len();
    assert!(!outputs.is_empty(), "a kernel has an output");
    let (ty, expected) = match judged {
        Judged::Result(ty, expected) => (ty, expected),
        Judged::Memory(of, after) => {
            let given = found(of, after, &outputs);
            let given: Vec<_> = outputs.into_iter().zip(given).collect();
            job.judge = Arc::new(move |bytes| {
                let same = |(place, expected): &(Range<usize>, Vec<u8>)| {
                    bytes
                        .get(place.clone())
                        .is_some_and(|bytes| bytes == expected)
                };
                match given.iter().all(same) {
                    true => Ok(()),
                    false => Err("not what the launches after it were given".to_owned()),
                }
            });
            return job;
        }
    };
    // What follows the first one, such as totals, is empty.
    let result = outputs[0].clone();
    job.judge = Arc::new(move |bytes| {
        let bytes = bytes.get(result.clone()).ok_or("the output is too short")?;
        let mut array = AnyArray::zeros(ty, &[bytes.len() / ty.bytes()]).map_err(text)?;
        array.bytes_mut().copy_from_slice(bytes);
        let comparison = match &expected {
            Expected::Exact(expected) => compare::any(&array, expected, None),
            Expected::Near(near) => {
                let mut values = AnyArray::zeros(Type::F64, &[near.len()]).map_err(text)?;
                let all: &mut [f64] = bytemuck::cast_slice_mut(values.bytes_mut());
                (all.iter_mut().zip(near)).for_each(|(value, near)| *value = near.value);
                let tolerance: Vec<_> = near.iter().map(|near| near.tolerance).collect();
                compare::any(&array, &values, Some(&tolerance))
            }
        };
        super::verdict(comparison)
    });
    job
}

/// The memory of each of these outputs, in their order, as launches after it read it.
fn found(of: &Operation, after: &[GivenLaunch], outputs: &[Range<usize>]) -> Vec<Vec<u8>> {
    // The last of a launch's inputs come from the last outputs.
    let read = after
        .iter()
        .flat_map(|launch| read(of, launch).into_iter().rev());
    let mut read: Vec<_> = read.collect();
    let of = |output: &Range<usize>| {
        if output.is_empty() {
            return Vec::new();
        }
        let at = read.iter().position(|bytes| bytes.len() == output.len());
        read.remove(at.expect("an output is used")).clone()
    };
    let mut found: Vec<_> = outputs.iter().rev().map(of).collect();
    found.reverse();
    found
}

/// The memory that a launch reads; that it is given, if it is another operation's.
fn read<'a>(of: &Operation, launch: &'a GivenLaunch) -> Vec<&'a Vec<u8>> {
    let memory = |given: &'a Given| match given {
        Given::Memory { bytes, .. } => Some(bytes),
        Given::Bytes(_) => None,
    };
    let Some(entry) = entry(of, &launch.kernel) else {
        return launch.parameters.iter().filter_map(memory).collect();
    };
    let (mut at, mut read) = (0, Vec::new());
    for parameter in parameters(entry.signature) {
        let is = is(parameter);
        if let (Is::Input(_), Some(given)) = (&is, launch.parameters.get(at)) {
            read.extend(memory(given));
        }
        at += match is {
            Is::Nothing => 0,
            Is::Shared | Is::Value => 1,
            Is::Input(extents) | Is::Output(extents) | Is::Memory(extents) => 1 + extents,
        };
    }
    read
}

/// The entry point of this name among an operation's.
fn entry(of: &Operation, name: &str) -> Option<&'static Entry> {
    let kernels = of.variants.iter().flat_map(|variant| variant.kernels);
    let mut entries = kernels.map(|kernel| kernel.entry);
    entries.find(|entry| entry.name == name)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_taken_apart() {
        let signature = "block: &mut Block<0,1,1>, tile: Shared<[f32]>, x: &[f32], y: Out<f32, Strided<4>>, n: usize";
        let expected = [
            "&mut Block<0,1,1>",
            "Shared<[f32]>",
            "&[f32]",
            "Out<f32, Strided<4>>",
            "usize",
        ];
        assert_eq!(parameters(signature), expected);
    }

    #[test]
    fn every_kernel_of_a_description_has_a_job() {
        let jobs = super::super::telling();
        for &of in OPERATIONS {
            for variant in of.variants {
                for kernel in variant.kernels {
                    let name = kernel.entry.name;
                    if name == "matmul_tensor_f32" {
                        // No emulator has its instructions.
                        continue;
                    }
                    assert!(jobs.iter().any(|job| job.plan.kernel == name), "{name}");
                }
            }
        }
    }
}
