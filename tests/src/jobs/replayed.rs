//! Recorded launches as jobs: what their parameters are in Rust, and how results are judged.

use std::ops::Range;

use blockwise::{Given, GivenLaunch, Type};
use blockwise_ops::operation::Expected;
use blockwise_ops::{AnyArray, LaunchPlan, compare};

use super::{Job, Parameter};

/// What a parameter of Rust's is in the PTX.
pub(super) enum Is {
    /// Nothing.
    Nothing,
    /// A length.
    Shared,
    /// An address and this many extents.
    Input(usize),
    /// The same, written.
    Output(usize),
    /// The same, written by atomics, and not compared.
    Memory(usize),
    /// A number.
    Value,
}

pub(super) fn is(ty: &str) -> Is {
    match ty {
        _ if ty.starts_with("&mut Block") => Is::Nothing,
        _ if ty.starts_with("Shared<[") && !ty.contains(';') => Is::Shared,
        _ if ty.starts_with("Shared<") => Is::Nothing,
        _ if ty.starts_with("&[") => Is::Input(1),
        _ if ty.starts_with("Matrix<") => Is::Input(2),
        _ if ty.starts_with("*mut [") => Is::Output(1),
        _ if ty.starts_with("*const") => Is::Input(0),
        _ if ty.starts_with("OutMatrix<") => Is::Output(2),
        _ if ty.starts_with("Out<") => Is::Output(1),
        _ if ty.starts_with("*mut") => Is::Output(0),
        _ if ty.starts_with("Atomics<") => Is::Memory(1),
        _ => Is::Value,
    }
}

/// The types of a signature such as `x: &[f32], y: Out<f32>`.
pub(super) fn parameters(signature: &str) -> Vec<&str> {
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

/// A launch as a job without a judge, and where its outputs lie in the job's output.
pub(super) fn replayed(
    case: String,
    plan: LaunchPlan,
    signature: &str,
    launch: &GivenLaunch,
) -> (Job, Vec<Range<usize>>) {
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
        let memory = given.next();
        let extents: Vec<_> = (0..extents).map(|_| number(given.next())).collect();
        // What is empty has an address without memory, or that of another operand.
        let (bytes, is_empty) = match memory {
            Some(Given::Memory { bytes, .. }) if !extents.contains(&0) => (bytes.clone(), false),
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
        assert!(
            !is_empty || extents.is_empty() || extents.contains(&0),
            "{signature}: {parameter} is no address"
        );
        job.parameters
            .extend(extents.into_iter().map(Parameter::Extent));
    }
    job.output_bytes = job.start.len();
    assert!(!outputs.is_empty(), "{signature}: no output");
    (job, outputs)
}

/// `error` is what kernels may be off beside their tolerance, in parts of the magnitude.
pub(super) fn judged(
    array: &AnyArray,
    expected: &Expected,
    error: f64,
) -> std::result::Result<(), String> {
    let comparison = match expected {
        Expected::Exact(expected) => compare::any(array, expected, None),
        Expected::Near(near) => {
            let mut values = AnyArray::zeros(Type::F64, &[near.len()]).map_err(text)?;
            let all: &mut [f64] = bytemuck::cast_slice_mut(values.bytes_mut());
            (all.iter_mut().zip(near)).for_each(|(value, near)| *value = near.value);
            let tolerance = near
                .iter()
                .map(|near| near.tolerance + error * near.magnitude);
            compare::any(array, &values, Some(&tolerance.collect::<Vec<_>>()))
        }
    };
    super::verdict(comparison)
}

pub(super) fn text(error: impl std::fmt::Display) -> String {
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
}
