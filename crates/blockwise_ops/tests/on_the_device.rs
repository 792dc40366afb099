//! What only callers with operands on the device can do: record launches, work on parts of buffers,
//! keep memory for the next launch.

mod common;

use blockwise::{AnyView, Buffer, Device, Matrix, Type};
use blockwise_ops::conv1d::{self, CONV, convolve_buffers};
use blockwise_ops::matmul::{self, MATMUL, PIPELINED, SLICED_COPY, TENSOR, matmul_buffers};
use blockwise_ops::operation::{Call, Problem};
use blockwise_ops::reduce::{
    DOT, INTERLEAVED, KERNELS, SINGLE, SUM, TREE, WIDE, dot_buffers, enqueue, plan,
};
use blockwise_ops::{ConvMode, LaunchError, Options, Partials, Reduction, reverse, transpose};

fn on_each(test: fn(&Device) -> Result<(), LaunchError>) -> Result<(), LaunchError> {
    common::devices().iter().try_for_each(test)
}

/// Whole numbers, so that any order of additions gives the same sum.
fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i * 7 % 23) as f32 - 11.0).collect()
}

fn sum(values: &[f32]) -> f32 {
    values.iter().sum()
}

#[test]
fn a_recorded_sequence_sees_the_inputs_of_each_replay() -> Result<(), LaunchError> {
    on_each(recorded_sequence_on)
}

fn recorded_sequence_on(device: &Device) -> Result<(), LaunchError> {
    let (rows, cols) = (5, 67);
    let len = rows * cols;
    let mut input = device.upload(&numbers(len))?;
    let mut turned = device.zeros::<f32>(len)?;
    let mut backwards = device.zeros::<f32>(len)?;
    let options = Options::default();
    let plan = plan::<f32>(&DOT, len, &options, device.properties())?;
    let mut partials = Partials::alloc(device, &plan)?;
    let graph = device.graph(|stream| {
        let stream = Some(stream);
        let movement = Options::default();
        let matrix = Matrix::new(&input, rows, cols);
        transpose::enqueue(device, stream, matrix, &mut turned, &movement)?;
        reverse::enqueue(device, stream, &turned, &mut backwards, &Options::default())?;
        let twice = [input.as_view(); 2];
        enqueue(device, stream, &DOT, &twice, &mut partials, &options)?;
        enqueue(
            device,
            stream,
            &SUM,
            &[backwards.as_view()],
            &mut partials,
            &options,
        )?;
        Ok::<_, LaunchError>(())
    })?;
    for offset in [0.0, 3.0] {
        let values: Vec<_> = numbers(len).into_iter().map(|x| x + offset).collect();
        input.copy_from_slice(&values)?;
        graph.launch()?;
        let mut expected: Vec<_> = (0..len)
            .map(|i| values[i % rows * cols + i / rows])
            .collect();
        expected.reverse();
        assert_eq!(backwards.to_vec()?, expected);
        assert_eq!(partials.fold(Reduction::Sum)?, sum(&values));
    }
    Ok(())
}

#[test]
fn products_are_recorded_too() -> Result<(), LaunchError> {
    on_each(recorded_products_on)
}

fn recorded_products_on(device: &Device) -> Result<(), LaunchError> {
    let problem = Problem::new(blockwise::Type::F32, &[3, 4, 5]);
    let (a, b) = (device.upload(&numbers(12))?, device.upload(&numbers(20))?);
    let mut copied = device.filled::<f32>(15, 0xFF)?;
    let mut plain = device.filled::<f32>(15, 0xFF)?;
    let mut product = Call::new(device, &MATMUL, Options::of(&SLICED_COPY));
    product.prepare(&problem, true)?;
    let graph = device.graph(|stream| {
        let inputs = [&a, &b].map(|it| AnyView::from(it.as_view()));
        let c = copied.as_view_mut().into();
        product.enqueue(Some(stream), &problem, &inputs, c)?;
        let (a, b) = (Matrix::new(&a, 3, 4), Matrix::new(&b, 4, 5));
        matmul::enqueue(device, Some(stream), a, b, &mut plain, &Options::default()).map(drop)
    })?;
    assert!(
        plain.to_vec()?.iter().all(|x| x.is_nan()),
        "nothing ran yet"
    );
    graph.launch()?;
    assert_eq!(copied.to_vec()?, plain.to_vec()?);
    Ok(())
}

#[test]
fn where_operands_begin_chooses_a_product_unless_it_was_prepared() -> Result<(), LaunchError> {
    on_each(products_that_begin_anywhere_on)
}

/// 1 × 34 × 8 of f64: in pairs by tensor cores, or in single elements by another kernel.
fn products_that_begin_anywhere_on(device: &Device) -> Result<(), LaunchError> {
    let problem = Problem::new(Type::F64, &[1, 34, 8]);
    let uploaded = |len| {
        let numbers: Vec<_> = numbers(len).into_iter().map(f64::from).collect();
        device.upload(&numbers)
    };
    let (a, b) = (uploaded(35)?, uploaded(273)?);
    let product = |call: &mut Call, begin: usize| {
        let mut c = device.filled::<f64>(8 + begin, 0xFF)?;
        let inputs = [&a, &b].map(|it| AnyView::from(it.view(begin..)));
        let inputs = inputs.each_ref().map(|it| it.view(..it.len() - 1 + begin));
        let output = c.as_view_mut().into_view_mut(begin..).into();
        let plan = call.enqueue(None, &problem, &inputs, output)?;
        let (a, b) = (a.to_vec()?, b.to_vec()?);
        let of_b = |row: usize, col: usize| b[begin + row * 8 + col];
        let sum = |col| (0..34).map(|row| a[begin + row] * of_b(row, col)).sum();
        let expected: Vec<f64> = (0..8).map(sum).collect();
        assert_eq!(c.to_vec()?[begin..], expected, "from {begin}");
        Ok::<_, LaunchError>(plan.expect("a launch"))
    };
    let new = || Call::new(device, &MATMUL, Options::default());
    // The variant of each launch follows from its own operands, whatever was launched before.
    let mut open = new();
    let plans = [0, 1, 0, 1].map(|begin| product(&mut open, begin));
    let [pairs, single, again, last] = plans.map(|plan| plan.expect("a product"));
    assert_ne!(pairs.kernel, single.kernel);
    assert_eq!([pairs, single], [again, last]);
    for aligned in [true, false] {
        let mut prepared = new();
        let variant = prepared.prepare(&problem, aligned)?;
        for begin in [0, 1] {
            let plan = product(&mut prepared, begin)?;
            assert!(variant.kernels.contains(plan.kernel), "from {begin}");
        }
    }
    Ok(())
}

#[test]
fn parts_of_buffers_begin_anywhere() -> Result<(), LaunchError> {
    on_each(parts_on)
}

fn parts_on(device: &Device) -> Result<(), LaunchError> {
    let values = numbers(400);
    let all = device.upload(&values)?;
    for from in 0..5 {
        let part = &values[from..from + 130];
        let mut output = device.filled::<f32>(300, 0xFF)?;
        for &kernel in CONV
            .variants
            .iter()
            .filter(|kernel| kernel.takes(Type::F32) && !conv1d::is_fft(kernel))
        {
            let options = Options::of(kernel);
            let (signal, taps) = (all.view(from..from + 130), all.view(200..203));
            let to = output.view_mut(from..from + 128);
            convolve_buffers(device, signal, taps, to, ConvMode::Valid, &options)?;
            let expected: Vec<f32> = (0..128)
                .map(|i| (0..3).map(|k| values[200 + k] * part[i + 2 - k]).sum())
                .collect();
            let written = output.to_vec()?;
            assert_eq!(written[from..from + 128], expected, "{kernel} from {from}");
            let others = written[..from].iter().chain(&written[from + 128..]);
            assert!(others.copied().all(f32::is_nan), "{kernel} from {from}");
        }
        for kernel in KERNELS {
            let options = Options {
                kernel: Some(kernel),
                ..Options::default()
            };
            let (a, b) = (all.view(from..from + 130), all.view(1..131));
            let (result, _) = dot_buffers(device, a, b, &options)?;
            let products: Vec<_> = (0..130).map(|i| part[i] * values[1 + i]).collect();
            assert_eq!(result, sum(&products), "{kernel} from {from}");
        }
        let mut output = device.filled::<f32>(140, 0xFF)?;
        let to = output.view_mut(from..from + 130);
        let options = Options::default();
        let matrix = Matrix::new(all.view(from..from + 130), 13, 10);
        transpose::enqueue(device, None, matrix, to, &options)?;
        let expected: Vec<_> = (0..130).map(|i| part[i % 13 * 10 + i / 13]).collect();
        assert_eq!(output.view(from..from + 130).to_vec()?, expected);
    }
    Ok(())
}

#[test]
fn a_product_of_unaligned_parts_takes_a_kernel_that_can() -> Result<(), LaunchError> {
    on_each(unaligned_product_on)
}

fn unaligned_product_on(device: &Device) -> Result<(), LaunchError> {
    let options = Options::of(&PIPELINED);
    let values = device.upload(&numbers(200))?;
    let (a, b) = (values.view(..54), |from: usize| {
        values.view(from..from + 48)
    });
    for from in [100, 101] {
        let mut c = device.filled::<f32>(72, 0xFF)?;
        let matrices = (Matrix::new(a, 9, 6), Matrix::new(b(from), 6, 8));
        let plan = matmul_buffers(device, matrices.0, matrices.1, &mut c, &options)?;
        let ragged = plan.is_some_and(|done| done.plan.kernel.contains("ragged"));
        assert_eq!(ragged, from == 101);
        let (left, right) = (a.to_vec()?, b(from).to_vec()?);
        let expected: Vec<f32> = (0..72)
            .map(|at| {
                (0..6)
                    .map(|k| left[at / 8 * 6 + k] * right[k * 8 + at % 8])
                    .sum()
            })
            .collect();
        assert_eq!(c.to_vec()?, expected);
    }
    Ok(())
}

#[test]
fn partials_serve_any_launch_with_no_more_blocks() -> Result<(), LaunchError> {
    on_each(partials_on)
}

fn partials_on(device: &Device) -> Result<(), LaunchError> {
    let options = |kernel, grid_cap| Options {
        threads: Some(32),
        grid_cap: Some(grid_cap),
        ..Options::of(kernel)
    };
    let values = numbers(5000);
    let input = device.upload(&values)?;
    let most = options(&TREE, 7);
    let plan = plan::<f32>(&SUM, 5000, &most, device.properties())?;
    let mut partials = Partials::alloc(device, &plan)?;
    let nothing = partials
        .fold(Reduction::Sum)
        .expect_err("nothing was launched");
    assert!(
        matches!(nothing, LaunchError::EmptyInput { .. }),
        "{nothing}"
    );
    for (kernel, blocks) in [(&SINGLE, 5), (&TREE, 7), (&SINGLE, 2), (&INTERLEAVED, 3)] {
        let options = options(kernel, blocks);
        enqueue(
            device,
            None,
            &SUM,
            &[input.as_view()],
            &mut partials,
            &options,
        )?;
        assert_eq!(partials.fold(Reduction::Sum)?, sum(&values), "{kernel}");
    }
    let options = options(&WIDE, 8);
    let error = enqueue(
        device,
        None,
        &SUM,
        &[input.as_view()],
        &mut partials,
        &options,
    );
    let error = error.expect_err("eight blocks, room for seven");
    assert!(
        matches!(
            error,
            LaunchError::BufferLength {
                needed: 8,
                given: 7,
                ..
            }
        ),
        "{error}"
    );
    partials.reset()?;
    assert!(partials.fold(Reduction::Sum).is_err());
    Ok(())
}

#[test]
fn lengths_that_do_not_fit_are_refused() -> Result<(), LaunchError> {
    on_each(wrong_lengths_on)
}

fn wrong_lengths_on(device: &Device) -> Result<(), LaunchError> {
    let input = device.upload(&numbers(12))?;
    let mut output = device.zeros::<f32>(11)?;
    let convolution = Options::default();
    let mode = ConvMode::Same;
    for error in [
        conv1d::enqueue(
            device,
            None,
            &input,
            &input,
            &mut output,
            mode,
            &convolution,
        )
        .map(drop),
        reverse::enqueue(device, None, &input, &mut output, &Options::default()).map(drop),
        transpose::enqueue(
            device,
            None,
            Matrix::new(&input, 3, 4),
            &mut output,
            &Options::default(),
        )
        .map(drop),
    ] {
        let error = error.expect_err("11 elements for 12");
        assert!(
            matches!(
                error,
                LaunchError::BufferLength {
                    needed: 12,
                    given: 11,
                    ..
                }
            ),
            "{error}"
        );
    }
    Ok(())
}

#[test]
fn the_product_on_tensor_cores_is_recorded_with_its_ranges() -> Result<(), LaunchError> {
    on_each(tensor_cores_on)
}

fn tensor_cores_on(device: &Device) -> Result<(), LaunchError> {
    let problem = Problem::new(blockwise::Type::F32, &[5, 3, 7]);
    let mut product = Call::new(device, &MATMUL, Options::of(&TENSOR));
    match product.prepare(&problem, true) {
        Err(error @ LaunchError::TensorCores { .. }) => {
            println!("skipped on the GPU: {error}");
            return Ok(());
        }
        prepared => drop(prepared?),
    }
    let (mut a, b) = (device.upload(&numbers(15))?, device.upload(&numbers(21))?);
    let (mut c, mut plain): (Buffer<f32>, _) = (device.filled(35, 0xFF)?, device.zeros(35)?);
    let graph = device.graph(|stream| {
        let inputs = [&a, &b].map(|it| AnyView::from(it.as_view()));
        let c = c.as_view_mut().into();
        product
            .enqueue(Some(stream), &problem, &inputs, c)
            .map(drop)
    })?;
    // An infinity is left to FP32 arithmetic, and finite numbers after it are not: each replay
    // begins with new ranges.
    for first in [1.0, f32::INFINITY, 2.0] {
        let mut values = numbers(15);
        values[0] = first;
        a.copy_from_slice(&values)?;
        graph.launch()?;
        let (a, b) = (Matrix::new(&a, 5, 3), Matrix::new(&b, 3, 7));
        matmul::enqueue(device, None, a, b, &mut plain, &Options::default())?;
        let (c, plain) = (c.to_vec()?, plain.to_vec()?);
        let same = |(x, y): (&f32, &f32)| x == y || x.is_nan() && y.is_nan();
        assert!(c.iter().zip(&plain).all(same), "{first}: {c:?}, {plain:?}");
    }
    Ok(())
}
