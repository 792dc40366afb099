//! Launches on parts of buffers.

use std::fmt::Debug;
use std::ops::Range;

use blockwise::{Device, Module, Plain};
use device_api::{axpy, count_other_than, stamped};

use super::benches;

/// Parts of 100 elements: whole, empty, single, and those whose begin has no alignment but the
/// element's.
const PARTS: [Range<usize>; 7] = [0..100, 0..0, 99..100, 1..2, 3..50, 17..99, 100..100];

/// A launch on each part, by a kernel that writes all that it is given; the rest keeps what it was.
#[track_caller]
fn check<T: Plain + PartialEq + Debug>(
    device: &Device,
    before: T,
    after: T,
    launch: impl Fn(blockwise::ViewMut<'_, T>),
) {
    for part in PARTS {
        let mut data = device.upload(&[before; 100]).unwrap();
        launch(data.view_mut(part.clone()));
        let mut expected = [before; 100];
        expected[part.clone()].fill(after);
        let case = (T::NAME, part);
        assert_eq!(data.to_vec().unwrap(), expected, "{case:?}");
    }
}

macro_rules! check_stamped {
    ($($t:ty)*) => {
        fn check_stamped(device: &Device, module: &Module) {$(
            // More threads than elements.
            let kernel = stamped::<$t>::on(module).unwrap().grid(4).block(32);
            check(device, 3 as $t, 200 as $t, |part| kernel.launch(200 as $t, part).unwrap());
        )*}
    };
}
check_stamped!(u8 u16 u32 f64);

#[test]
fn a_part_is_written_and_nothing_beside_it() {
    for (device, module) in benches() {
        check_stamped(device, &module);
    }
}

#[test]
fn two_parts_of_one_buffer_are_input_and_output() {
    for (device, module) in benches() {
        let values: Vec<f32> = (0..40).map(|i| i as f32).collect();
        let mut data = device.upload(&values).unwrap();
        let (x, y) = data.split_at_mut(15);
        let kernel = axpy::<f32>::on(&module).unwrap().grid(1).block(32);
        kernel
            .launch(10.0, x.as_view().view(5..15), y.into_view_mut(2..12))
            .unwrap();
        let mut expected = values.clone();
        for i in 0..10 {
            expected[17 + i] += 10.0 * values[5 + i];
        }
        assert_eq!(data.to_vec().unwrap(), expected);
    }
}

/// The contract counts the elements of the part, not of the buffer.
#[test]
fn the_length_is_that_of_the_part() {
    for (device, module) in benches() {
        let input = device.upload(&[5_u32; 10]).unwrap();
        let mut wrong = device.upload(&[0_u32; 10]).unwrap();
        let kernel = count_other_than::on(&module).unwrap().grid(1).block(32);
        let error = kernel.launch(input.view(..9), 4, &mut wrong).unwrap_err();
        let text = error.to_string();
        for part in ["count_other_than", "input.len() == wrong.len()", "9", "10"] {
            assert!(text.contains(part), "no `{part}` in: {text}");
        }
        assert_eq!(wrong.to_vec().unwrap(), [0; 10]);
        kernel
            .launch(input.view(1..), 4, wrong.view_mut(..9))
            .unwrap();
        let got = wrong.to_vec().unwrap();
        assert_eq!(got[..9], [1; 9]);
        assert_eq!(got[9], 0);
    }
}

#[test]
fn a_cast_part_is_the_same_bytes() {
    for (device, module) in benches() {
        let mut data = device.upload(&[1.0_f32; 8]).unwrap();
        let kernel = stamped::<u32>::on(&module).unwrap().grid(1).block(32);
        let words = data.view_mut(2..4).cast::<u32>().unwrap();
        kernel.launch((-0.5_f32).to_bits(), words).unwrap();
        let got = data.to_vec().unwrap();
        assert_eq!(got, [1.0, 1.0, -0.5, -0.5, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(data.view(..).cast::<f64>().unwrap().len(), 4);
        // No whole number of them, and at an address that is not aligned.
        assert!(data.view(..3).cast::<f64>().is_err());
        assert!(data.view(1..3).cast::<f64>().is_err());
    }
}
