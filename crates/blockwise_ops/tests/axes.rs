//! Reductions along axes of arrays of any shape, however their lines are divided.

mod common;

use std::num::NonZeroU32;

use blockwise::{Device, Type};
use blockwise_ops::operation::{Asked, Call, Expected, Given, Operation, Options, run};
use blockwise_ops::reduce::{ARGMAX, ARGMIN, MAX, MEAN, MIN, SUM, index_along};
use blockwise_ops::{AnyArray, LaunchError, Number};
use ndarray::{ArrayD, ArrayView1, IxDyn, array};

static ALL: [&Operation; 6] = [&SUM, &MEAN, &MIN, &MAX, &ARGMIN, &ARGMAX];

/// Shapes around the blocks' tiles: 256 threads, columns in one tile up to 31, in tiles of 32 to 256.
const SHAPES: &[&[usize]] = &[
    &[1],
    &[255],
    &[257],
    &[5003],
    &[1, 1],
    &[3, 1],
    &[300, 7],
    &[7, 300],
    &[2, 8, 31],
    &[2, 9, 32],
    &[5, 33, 33],
    &[2, 3, 257],
    &[1, 70, 263],
    &[17, 1, 5],
    &[2, 7, 1064],
    &[3, 1, 520],
    &[2, 3, 4, 5],
    &[1000, 3],
    &[3, 2049],
    &[0, 4],
    &[4, 0],
    &[2, 0, 3],
];

fn numbers(len: usize, special: &[f64]) -> Vec<f64> {
    let number = |i: usize| match i * 7919 % 101 {
        0 if !special.is_empty() => special[i / 3 % special.len()],
        // Equal ones are frequent.
        rest => (rest % 13) as f64 - 6.0,
    };
    (0..len).map(number).collect()
}

/// Every operation along every axis, in one part or in several, by one block or by as many as it
/// takes: within the reference's tolerance.
fn every_axis<T: Number>(
    device: &Device,
    special: &[f64],
    of: impl Fn(f64) -> T,
) -> Result<(), LaunchError> {
    for &shape in SHAPES {
        let len = shape.iter().product();
        let values: Vec<T> = numbers(len, special).into_iter().map(&of).collect();
        let values = ArrayD::from_shape_vec(IxDyn(shape), values).expect("as many elements");
        let input = [AnyArray::of(values.view())?];
        for axis in 0..shape.len() {
            for operation in ALL {
                along(device, operation, T::TYPE, shape, axis as isize, &input)?;
            }
        }
    }
    Ok(())
}

fn along(
    device: &Device,
    operation: &'static Operation,
    ty: Type,
    shape: &[usize],
    axis: isize,
    input: &[AnyArray],
) -> Result<(), LaunchError> {
    let given = Given {
        axis: Some(axis),
        ..Given::default()
    };
    let Ok(posed) = (operation.pose)(ty, &[shape], &given) else {
        let is_extreme = ![&SUM, &MEAN].contains(&operation);
        let is_empty = shape[axis as usize] == 0 && is_extreme;
        assert!(is_empty || operation == &MEAN && !ty.is_float());
        return Ok(());
    };
    let outputs = (operation.lens)(&posed.problem).output;
    let expected = (operation.reference)(Asked {
        problem: &posed.problem,
        inputs: input,
        runs: std::slice::from_ref(&(0..outputs)),
        before: &mut [0; 4],
    })?;
    // By turns, so that every shape meets each with some operation.
    let turn = ALL.iter().position(|it| *it == operation).unwrap_or(0) + shape.len();
    for at in [turn, turn + 1] {
        let divided = [
            (None, None),
            (None, Some(1)),
            (Some(3), None),
            (Some(2), Some(1)),
        ];
        let (parts, grid_cap) = divided[at % divided.len()];
        let options = Options {
            count: parts.and_then(NonZeroU32::new),
            grid_cap,
            ..Options::default()
        };
        let (result, _) = run(device, operation, &posed, &options, input)?;
        assert_eq!(result.ty(), (operation.gives)(ty));
        let case = format!("{operation:?} of {ty} {shape:?} along {axis}, {options:?}");
        for at in 0..outputs {
            let got = result.number(at).to_f64();
            let (value, tolerance) = match &expected {
                Expected::Exact(expected) => (expected.number(at).to_f64(), 0.0),
                Expected::Near(near) => (near[at].value, near[at].tolerance),
            };
            let is_near = (got - value).abs() <= tolerance || got == value;
            assert!(
                is_near || got.is_nan() && value.is_nan(),
                "{case}: {got} at {at}, not {value}"
            );
        }
    }
    Ok(())
}

#[test]
fn every_axis_of_every_shape_is_the_references() -> Result<(), LaunchError> {
    for device in &common::devices() {
        every_axis(device, &[], |x| x as i64 * (1 << 40))?;
        every_axis(device, &[], |x| (x + 6.0) as u64 * (u64::MAX / 12))?;
        every_axis(device, &[f64::NAN, f64::INFINITY, -0.0, 0.0], |x| x as f32)?;
        every_axis(device, &[f64::NAN, f64::NEG_INFINITY, 0.0, -0.0], |x| x)?;
    }
    Ok(())
}

/// Columns in packs, if views begin with whole ones: the results are the same wherever they begin.
#[test]
fn columns_begin_anywhere() -> Result<(), LaunchError> {
    const SHAPE: [usize; 2] = [7, 1036];
    let given = Given {
        axis: Some(0),
        ..Given::default()
    };
    let values: Vec<f32> = numbers(SHAPE[0] * SHAPE[1] + 1, &[])
        .into_iter()
        .map(|x| x as f32 + 0.1)
        .collect();
    let options = Options {
        grid_cap: Some(1),
        ..Options::default()
    };
    for device in &common::devices() {
        let posed = (SUM.pose)(Type::F32, &[&SHAPE], &given)?;
        let mut call = Call::new(device, &SUM, options);
        for (from, to) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let input = device.upload(&values)?;
            let mut output = device.upload(&[7.0_f32; SHAPE[1] + 1])?;
            let of = input.view(from..).view(..SHAPE[0] * SHAPE[1]);
            let sums = output.view_mut(to..to + SHAPE[1]);
            call.enqueue(None, &posed.problem, &[of.into()], sums.into())?;
            let sums = output.to_vec()?;
            for (at, &sum) in sums[to..][..SHAPE[1]].iter().enumerate() {
                let column = (0..SHAPE[0]).map(|row| values[from + row * SHAPE[1] + at]);
                let expected = column.map(f64::from).sum::<f64>() as f32;
                assert_eq!(sum, expected, "column {at} from {from} to {to}");
            }
            let beside = if to == 0 { SHAPE[1] } else { 0 };
            assert_eq!(sums[beside], 7.0, "from {from} to {to}");
        }
    }
    Ok(())
}

/// Of equals the first, whichever thread, part or block has it.
#[test]
fn the_first_of_equals_is_found_anywhere() -> Result<(), LaunchError> {
    for device in &common::devices() {
        for value in [0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN] {
            let mut line = vec![value; 5003];
            for of in [&ARGMIN, &ARGMAX] {
                let all = index_along(device, ArrayView1::from(&line).into_dyn(), None, of)?;
                assert_eq!(all.first(), Some(&0), "{of:?} of {value}");
            }
            // −0 equals 0, and NaN is before everything, of either sign.
            for at in [0, 1, 255, 256, 2501, 5002] {
                let kept = line[at];
                line[at] = if value == 0.0 { -0.0 } else { f32::NAN };
                let expected = if value.is_nan() || value == 0.0 {
                    0
                } else {
                    at
                };
                for of in [&ARGMIN, &ARGMAX] {
                    let found =
                        index_along(device, ArrayView1::from(&line).into_dyn(), Some(0), of)?;
                    assert_eq!(
                        found.first(),
                        Some(&(expected as i64)),
                        "{of:?}, {value} but at {at}"
                    );
                }
                line[at] = kept;
            }
        }
    }
    Ok(())
}

/// A mean is rounded once; there is none of integers.
#[test]
fn means_are_rounded_once() -> Result<(), LaunchError> {
    for device in &common::devices() {
        let mean = |values: &[f32]| {
            let values = ArrayView1::from(values).into_dyn();
            let of = Options::default();
            let whole = blockwise_ops::operation::array(
                device,
                &MEAN,
                &Given::default(),
                &of,
                std::slice::from_ref(&values),
            );
            let along = Given {
                axis: Some(0),
                ..Given::default()
            };
            let line = blockwise_ops::operation::array(
                device,
                &MEAN,
                &along,
                &of,
                std::slice::from_ref(&values),
            )?;
            let (whole, line) = (whole?[IxDyn(&[])], line[IxDyn(&[])]);
            assert!(
                whole == line || whole.is_nan() && line.is_nan(),
                "{whole}, {line}"
            );
            Ok::<_, LaunchError>(line)
        };
        // The sum is no `f32`, and beyond their range.
        assert_eq!(mean(&[16_777_216.0, 1.0, 16_777_216.0])?, 11_184_811.0);
        assert_eq!(mean(&[f32::MAX, f32::MAX, f32::MAX])?, f32::MAX);
        assert_eq!(mean(&[f32::from_bits(1), 0.0])?, 0.0);
        assert_eq!(mean(&[f32::from_bits(3), 0.0])?, f32::from_bits(2));
        assert!(mean(&[f32::INFINITY, 1.0])?.is_infinite());
        assert!(mean(&[])?.is_nan());
        let integers = array![7_i64, -8, 0].into_dyn();
        let (given, of) = (Given::default(), Options::default());
        let mean = blockwise_ops::operation::array(device, &MEAN, &given, &of, &[integers.view()]);
        assert!(matches!(mean, Err(LaunchError::NoInstance { .. })));
    }
    Ok(())
}

/// What is not for indices says so, and a reduction without memory for parts too.
#[test]
fn what_has_no_total_is_refused() {
    let device = Device::emulator();
    let options = Options::default();
    let plan = blockwise_ops::reduce::plan::<f32>(&ARGMIN, 5, &options, device.properties());
    assert!(matches!(
        plan,
        Err(LaunchError::NotDivided {
            operation: "argmin"
        })
    ));
    let reducer = blockwise_ops::pipeline::Reducer::<f32>::new(&device, 5, &ARGMAX, &options, 5);
    assert!(matches!(
        reducer.err(),
        Some(LaunchError::NotDivided {
            operation: "argmax"
        })
    ));
    let wrong = index_along(&device, array![1.0_f32].into_dyn().view(), None, &SUM);
    assert!(wrong.is_err());
}
