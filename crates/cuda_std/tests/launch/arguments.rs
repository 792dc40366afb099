//! The arguments arrive in the signature's order, byte by byte, with the memory that they lead to.

use core::sync::atomic::AtomicU32;

use cuda_std::launch::{DevicePointer, Instance};

use crate::kernels::{Affine, Padded, everything, letters, names, saxpy};
use crate::support::{Buffer, Device, Error};

fn bytes(values: &[&[u8]]) -> Vec<Vec<u8>> {
    values.iter().map(|value| value.to_vec()).collect()
}

#[test]
fn values_and_slices() {
    let device = Device::default();
    let (x, mut y) = (Buffer::<f32>::new(0x100, 3), Buffer::<f32>::new(0x200, 3));
    let launch = saxpy::<f32>::on(&device).unwrap().grid(2).block(32);
    // SAFETY: nothing runs.
    unsafe { launch.launch(2.5, &x, &mut y) }.unwrap();
    let seen = device.last();
    assert_eq!(seen.kernel, "saxpy_f32");
    let expected = [
        &2.5_f32.to_ne_bytes()[..],
        &0x100_u64.to_ne_bytes(),
        &3_u64.to_ne_bytes(),
        &0x200_u64.to_ne_bytes(),
        &3_u64.to_ne_bytes(),
    ];
    assert_eq!(seen.arguments, bytes(&expected));
    assert_eq!(seen.memory, [(0x100, 3, false), (0x200, 3, true)]);
    // SAFETY: nothing runs. A buffer that may be written may be read.
    unsafe { launch.launch(2.5, &mut y, &mut Buffer::new(0x300, 3)) }.unwrap();
    assert_eq!(device.last().memory, [(0x200, 3, false), (0x300, 3, true)]);
}

fn called(x: u32, _: &u8) -> u32 {
    x
}

#[test]
fn every_kind_of_parameter() {
    let device = Device::default();
    let launch = everything::on(&device).unwrap().grid(1).block(1);
    let (padded, affine) = (
        Padded { small: 7, large: 8 },
        Affine {
            gain: 1.0,
            bias: [2, 3],
        },
    );
    let function: fn(u32, &u8) -> u32 = called;
    // SAFETY: nothing runs.
    unsafe {
        launch.launch(
            (1.0, 2.0),
            padded,
            (),
            affine,
            None,
            &Buffer::<[u32; 3]>::new(0x100, 1),
            &Buffer::<u8>::new(0x200, 2),
            &Buffer::<u8>::new(0x300, 3),
            &mut Buffer::<u16>::new(0x400, 4),
            DevicePointer::new(0x500),
            &mut Buffer::<[f32; 2]>::new(0x600, 6),
            function,
            Atomics(AtomicU32::new(0)),
            true,
            9,
        )
    }
    .unwrap();
    let seen = device.last();
    let at = |index: usize| &*seen.arguments[index];
    let number = |index: usize| u64::from_ne_bytes(at(index).try_into().unwrap());
    assert_eq!(seen.arguments.len(), 17);
    assert_eq!(
        at(0),
        [1.0_f32.to_ne_bytes(), 2.0_f32.to_ne_bytes()].concat()
    );
    assert_eq!((at(1).len(), at(1)[0], at(1)[8]), (16, 7, 8));
    // What has no bytes has no parameter.
    let [low, high] = [2_i16, 3].map(i16::to_ne_bytes);
    assert_eq!(at(2), [&1.0_f32.to_ne_bytes()[..], &low, &high].concat());
    assert_eq!(number(3), 0);
    assert_eq!(number(4), 0x100);
    assert_eq!((number(5), number(6)), (0x200, 2));
    assert_eq!((number(7), number(8)), (0x300, 3));
    assert_eq!((number(9), number(10)), (0x400, 4));
    assert_eq!((number(11), number(12)), (0x500, 0x600));
    assert_eq!(number(13), function as usize as u64);
    assert_eq!(number(14), 0x700);
    assert_eq!((at(15), at(16)), (&[1][..], &[9][..]));
    let sizes: Vec<_> = seen.arguments.iter().map(Vec::len).collect();
    assert_eq!(sizes, everything::entry().parameter_bytes);
    let expected = [
        (0x100, 1, false),
        (0x200, 2, false),
        (0x300, 3, false),
        (0x400, 4, true),
        (0x600, 6, true),
        (0x700, 1, false),
    ];
    assert_eq!(seen.memory, expected);
}

/// Memory of a type that is not plain.
struct Atomics(AtomicU32);

// SAFETY: nothing is run.
unsafe impl<'a> cuda_std::launch::Read<'a, [AtomicU32]> for Atomics {
    fn pass(self) -> cuda_std::launch::Memory<'a> {
        cuda_std::launch::Memory {
            address: 0x700 + u64::from(self.0.into_inner()),
            len: 1,
            owner: &(),
            written: false,
        }
    }
}

#[test]
fn an_empty_buffer_without_an_address_is_no_null_reference() {
    let device = Device::default();
    let (x, mut y) = (Buffer::<f32>::new(0, 0), Buffer::<f32>::new(0, 0));
    // SAFETY: nothing runs.
    unsafe {
        saxpy::<f32>::on(&device)
            .unwrap()
            .grid(1)
            .block(32)
            .launch(2.5, &x, &mut y)
    }
    .unwrap();
    let seen = device.last();
    for index in [1, 3] {
        let address = u64::from_ne_bytes((&*seen.arguments[index]).try_into().unwrap());
        assert!(address != 0 && address % 128 == 0, "{address:#x}");
        assert_eq!(seen.arguments[index + 1], [0; 8]);
    }
}

#[test]
fn any_names_can_be_parameters() {
    let device = Device::default();
    let memory = Buffer::<u32>::new(0x100, 3);
    // SAFETY: nothing runs.
    unsafe {
        names::on(&device)
            .unwrap()
            .grid(1)
            .block(1)
            .launch(5, 2, &memory, 4, 1, 2, 3, 4)
    }
    .unwrap();
    assert_eq!(device.last().arguments[0], 5_u32.to_ne_bytes());
    let l = Buffer::<u8>::new(0x100, 3);
    // SAFETY: nothing runs.
    unsafe {
        letters::<u8, u16, u32>::on(&device)
            .unwrap()
            .grid(1)
            .block(1)
            .launch(&l, 2, 3, None)
    }
    .unwrap();
    assert_eq!(
        device.last().arguments[2..4],
        bytes(&[&2_u16.to_ne_bytes(), &3_u32.to_ne_bytes()])
    );
}

/// Generic code of the host needs the kernel's bounds and that the instance exists.
fn twice<T: crate::kernels::Number>(
    device: &Device,
    a: T,
    x: &Buffer<T>,
    y: &mut Buffer<T>,
) -> Result<(), Error>
where
    saxpy<T>: Instance,
{
    let launch = saxpy::<T>::on(device)?.grid(1).block(32);
    // SAFETY: nothing runs.
    unsafe {
        launch.launch(a, x, &mut *y)?;
        launch.launch(a, x, y)
    }
}

#[test]
fn generic_hosts_launch_generic_kernels() {
    let device = Device::default();
    twice(&device, 1.0_f64, &Buffer::new(1, 1), &mut Buffer::new(2, 1)).unwrap();
    let launches = device.launches.take();
    assert_eq!(launches.len(), 2);
    assert_eq!(launches[1].kernel, "saxpy_f64");
}
