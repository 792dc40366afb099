//! Matrix products of parts of buffers, which begin anywhere.

use std::num::NonZeroU32;

use blockwise::{Device, Matrix};
use blockwise_ops::matmul::{FEW, NAIVE, SHORT, matmul_buffers};
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::{Options, matmul};
use blockwise_tests::check;
use blockwise_tests::data::{Draw, matrix};
use blockwise_tests::devices::devices;
use ndarray::Array2;

/// Parts of buffers begin anywhere; then single elements move.
#[test]
fn operands_at_any_address() {
    fn check<T: Precision + Draw>(device: &Device, shape: [usize; 3]) {
        let [rows, inner, cols] = shape;
        let (a, b) = (matrix::<T>(31, rows, inner), matrix::<T>(32, inner, cols));
        let shifted = |matrix: &Array2<T>| {
            let elements: Vec<T> = [T::default()]
                .into_iter()
                .chain(matrix.iter().copied())
                .collect();
            device.upload(&elements).expect("room")
        };
        let (on_device, mut c) = (
            [shifted(&a), shifted(&b)],
            shifted(&Array2::default((rows, cols))),
        );
        let [a_there, b_there] = on_device.each_ref().map(|buffer| buffer.view(1..));
        let (a_there, b_there) = (
            Matrix::new(a_there, rows, inner),
            Matrix::new(b_there, inner, cols),
        );
        matmul_buffers(
            device,
            a_there,
            b_there,
            c.view_mut(1..),
            &Options::default(),
        )
        .expect("a launch");
        let c = c.to_vec().expect("the copy").split_off(1);
        let c = Array2::from_shape_vec((rows, cols), c).expect("its length");
        let expected = oracle::matmul::<T>(a.view(), b.view());
        check::close(device, (T::NAME, shape), &c, &expected);
    }
    for device in devices() {
        for shape in [[20, 300, 8], [1, 64, 32], [33, 64, 1], [70, 16, 80]] {
            check::<f32>(device, shape);
            check::<f64>(device, shape);
        }
    }
}

/// B is read by aligned packs wherever it begins, and what lies beside it changes nothing: neither
/// does the address change a bit of the same division.
#[test]
fn few_rows_at_every_address() {
    fn check<T: Precision + Draw>(
        device: &Device,
        nan: T,
        shape: [usize; 3],
        slices: u32,
        instance: Option<u8>,
    ) {
        let [rows, inner, cols] = shape;
        let (a, b) = (matrix::<T>(41, rows, inner), matrix::<T>(42, inner, cols));
        let expected = oracle::matmul::<T>(a.view(), b.view());
        let a = device.upload(a.as_slice().expect("rows")).expect("room");
        let options = Options {
            count: NonZeroU32::new(slices),
            instance,
            ..Options::of(&FEW)
        };
        let mut first: Option<Array2<T>> = None;
        for offset in 0..16 / size_of::<T>() {
            let mut elements = vec![nan; offset];
            elements.extend(b.iter().copied());
            let end = elements.len();
            elements.extend([nan; 5]);
            let b = device.upload(&elements).expect("room");
            let mut c = device.zeros::<T>(rows * cols).expect("room");
            let (a, b) = (
                Matrix::new(a.view(..), rows, inner),
                Matrix::new(b.view(offset..end), inner, cols),
            );
            matmul_buffers(device, a, b, c.view_mut(..), &options).expect("a launch");
            let c = c.to_vec().expect("the copy");
            let c = Array2::from_shape_vec((rows, cols), c).expect("its length");
            let case = (T::NAME, shape, offset, options);
            check::close(device, case, &c, &expected);
            // Off packs another division may be chosen.
            if instance.is_some() || offset > 0 {
                check::same_bits(case, first.get_or_insert(c.clone()), &c);
            }
        }
    }
    // Up to 32 threads a row of B, in 32 to 512 threads; sixteen rows.
    let instances = [
        None,
        Some(0),
        Some(6),
        Some(12),
        Some(18),
        Some(22),
        Some(25),
    ];
    for device in devices() {
        for (shape, slices) in [
            ([1, 40, 36], 1),
            ([1, 1, 3], 1),
            ([1, 5, 1], 1),
            ([1, 70, 131], 2),
            ([2, 33, 35], 1),
            ([3, 131, 50], 3),
            ([4, 64, 124], 2),
            ([7, 75, 125], 2),
            ([16, 90, 132], 1),
            ([9, 1100, 6], 1),
        ] {
            for instance in instances {
                check::<f32>(device, f32::NAN, shape, slices, instance);
                // f64 has no instance for sixteen rows.
                if shape[0] <= 4 && instance != Some(25) {
                    check::<f64>(device, f64::NAN, shape, slices, instance);
                }
            }
        }
    }
}

/// C is written by aligned packs wherever it begins, nothing beside it, and with the naive kernel's
/// bits.
#[test]
fn short_sums_at_every_address() {
    fn check<T: Precision + Draw>(device: &Device, shape: [usize; 3]) {
        let [rows, inner, cols] = shape;
        let (a, b) = (matrix::<T>(43, rows, inner), matrix::<T>(44, inner, cols));
        let naive = matmul(device, a.view(), b.view(), &Options::of(&NAIVE)).expect("a launch");
        for offset in 0..16 / size_of::<T>() {
            let shifted = |matrix: &Array2<T>| {
                let mut elements = vec![T::default(); offset];
                elements.extend(matrix.iter().copied());
                device.upload(&elements).expect("room")
            };
            let (a, b) = (shifted(&a), shifted(&b));
            let beside = a.to_vec().expect("the copy")[offset];
            let len = offset + rows * cols;
            let mut c = device.upload(&vec![beside; len + 5]).expect("room");
            let (a, b) = (
                Matrix::new(a.view(offset..), rows, inner),
                Matrix::new(b.view(offset..), inner, cols),
            );
            let options = Options::of(&SHORT);
            let to = c.view_mut(offset..len);
            matmul_buffers(device, a, b, to, &options).expect("a launch");
            let c = c.to_vec().expect("the copy");
            let outside = c[..offset].iter().chain(&c[len..]);
            assert!(
                outside.copied().all(|it| it == beside),
                "{shape:?} {offset}"
            );
            let c = Array2::from_shape_vec((rows, cols), c[offset..len].to_vec());
            check::same_bits((T::NAME, shape, offset), &naive, &c.expect("its length"));
        }
    }
    for device in devices() {
        for shape in [
            [7, 1, 1],
            [70, 8, 5],
            [150, 3, 18],
            [37, 7, 131],
            [20, 8, 260],
            [37, 9, 131],
            [70, 16, 5],
            [300, 12, 18],
        ] {
            check::<f32>(device, shape);
            check::<f64>(device, shape);
        }
    }
}
