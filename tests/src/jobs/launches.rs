//! Jobs of variants that are more than one launch: each launch is a job.

use std::ops::Range;
use std::sync::Arc;

use blockwise::{Device, Given, GivenLaunch, Type};
use blockwise_ops::operation::{self, Asked, Expected, Operation, Options, Posed, Variant};
use blockwise_ops::{AnyArray, LaunchPlan};
use cuda_std::launch::Entry;

use super::Job;
use super::replayed::{Is, is, judged, parameters, replayed, text};
use crate::data::random_bits;

/// Every instance of a variant that fits, or the one asked for, and every launch of each.
pub(super) fn of_variant(
    device: &Device,
    of: &'static Operation,
    name: &str,
    posed: &Posed,
    options: &Options,
    shapes: &[Vec<usize>],
) -> Vec<Job> {
    let inputs: Vec<_> = (shapes.iter().enumerate())
        .map(|(at, shape)| numbers(41 + at as u64, posed.problem.ty, shape))
        .collect();
    let (mut plans, mut jobs) = (Vec::new(), Vec::new());
    let all = match options.instance {
        None => options.kernel.map_or_else(Vec::new, instances),
        asked => vec![asked],
    };
    for instance in all {
        let options = Options {
            instance,
            ..*options
        };
        // One that does not fit may be another.
        match operation::plan(of, &posed.problem, &options, device.properties()) {
            Ok(Some(plan)) if !plans.contains(&plan) => plans.push(plan),
            _ => continue,
        }
        let name = format!(
            "{name}, {instance:?}, {:?}, {:?}",
            options.count, options.whole
        );
        jobs.extend(launched(device, of, &name, posed, &options, &inputs));
    }
    jobs
}

/// Floats with all their bits: of whole numbers, half a double's bits are zero, and what moves them
/// is not missed.
fn numbers(seed: u64, ty: Type, shape: &[usize]) -> AnyArray {
    let mut array = AnyArray::zeros(ty, shape).expect("a small array");
    let mut random = random_bits(seed);
    let bytes = array.bytes_mut();
    match ty {
        Type::F32 => bytemuck::cast_slice_mut::<u8, f32>(bytes)
            .fill_with(|| (random() >> 32) as i32 as f32 * 2_f32.powi(-31)),
        Type::F64 => bytemuck::cast_slice_mut::<u8, f64>(bytes)
            .fill_with(|| random() as i64 as f64 * 2_f64.powi(-63)),
        _ => panic!("products are of floats"),
    }
    array
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
    let ran = operation::run(device, of, posed, options, inputs);
    let (result, _) = ran.unwrap_or_else(|error| panic!("{name}: {error}"));
    let launches = device.take_launches();
    let expected = (of.reference)(Asked {
        problem,
        inputs,
        runs: std::slice::from_ref(&(0..(of.lens)(problem).output)),
        before: &mut [0; 4],
    });
    let mut expected = Some(expected.unwrap_or_else(|error| panic!("{name}: {error}")));
    let [_, _, cols, _] = problem.extents;
    let in_one = options.whole.map(|rows| rows * cols * problem.ty.bytes());
    let first = in_one.map(|bytes| &result.bytes()[..bytes]);
    let mut jobs = Vec::new();
    for (at, launch) in launches.iter().enumerate().rev() {
        // What a launch before the last one computes is what those after it are given.
        let judged = match expected.take() {
            Some(expected) => Judged::Result(problem.ty, expected),
            None => Judged::Memory(of, &launches[at + 1..], first),
        };
        // Of a product of which a launch before gives the first rows, the last launch writes behind
        // the beginning of its memory, which no record has.
        if first.is_some() && at > 0 {
            continue;
        }
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
        jobs.push(job(name.to_owned(), plan, entry.signature, launch, judged));
    }
    jobs
}

/// How a recorded launch is judged.
enum Judged<'a> {
    /// It gives the result.
    Result(Type, Expected),
    /// Its outputs are in the memory that these launches are given; the first one may be these bytes.
    Memory(&'static Operation, &'a [GivenLaunch], Option<&'a [u8]>),
}

fn job(
    case: String,
    plan: LaunchPlan,
    signature: &str,
    launch: &GivenLaunch,
    by: Judged<'_>,
) -> Job {
    let (mut job, mut outputs) = replayed(case, plan, signature, launch);
    job.judge = match by {
        Judged::Memory(of, after, first) => {
            if let Some(first) = first {
                outputs[0].end = outputs[0].start + first.len();
            }
            let given = found(of, after, first, &outputs);
            let given: Vec<_> = outputs.into_iter().zip(given).collect();
            Arc::new(move |bytes| {
                let same = |(place, expected): &(Range<usize>, Vec<u8>)| {
                    bytes
                        .get(place.clone())
                        .is_some_and(|bytes| bytes == expected)
                };
                match given.iter().all(same) {
                    true => Ok(()),
                    false => Err("not what the launches after it were given".to_owned()),
                }
            })
        }
        Judged::Result(ty, expected) => {
            // What follows the first one, such as totals, is empty.
            let result = outputs[0].clone();
            Arc::new(move |bytes| {
                let bytes = bytes.get(result.clone()).ok_or("the output is too short")?;
                let mut array = AnyArray::zeros(ty, &[bytes.len() / ty.bytes()]).map_err(text)?;
                array.bytes_mut().copy_from_slice(bytes);
                judged(&array, &expected, 0.0)
            })
        }
    };
    job
}

/// The memory of each of these outputs, in their order, as launches after it read it. What none of
/// them reads is `first`.
fn found(
    of: &Operation,
    after: &[GivenLaunch],
    first: Option<&[u8]>,
    outputs: &[Range<usize>],
) -> Vec<Vec<u8>> {
    // The last of a launch's inputs come from the last outputs.
    let read = after
        .iter()
        .flat_map(|launch| read(of, launch).into_iter().rev());
    let mut read: Vec<_> = read.collect();
    let of = |output: &Range<usize>| {
        if output.is_empty() {
            return Vec::new();
        }
        match read.iter().position(|bytes| bytes.len() == output.len()) {
            Some(at) => read.remove(at).clone(),
            None => first.expect("an output is used").to_vec(),
        }
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
        if let (&Is::Input(extents), Some(given)) = (&is, launch.parameters.get(at)) {
            // What is empty may have the address of another operand.
            let mut extents = launch.parameters.iter().skip(at + 1).take(extents);
            let is_zero = |given: &Given| matches!(given, Given::Bytes(bytes) if bytes.iter().all(|&byte| byte == 0));
            if !extents.any(is_zero) {
                read.extend(memory(given));
            }
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
    let kernels = ladder::variants(of).flat_map(|variant| variant.kernels);
    let mut entries = kernels.map(|kernel| kernel.entry);
    entries.find(|entry| entry.name == name)
}
