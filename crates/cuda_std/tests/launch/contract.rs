//! What a launch is refused for, and what it says.

use cuda_std::launch::{DevicePointer, Refusal};

use crate::kernels::{in_packs, pointers, safe, saxpy, scaled_f32, scaled_u8};
use crate::support::{Buffer, Device, Error};

#[track_caller]
fn refused(result: Result<(), Error>, message: &str) {
    match result.unwrap_err() {
        Error::Refused(refusal) => assert_eq!(refusal.to_string(), message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rules_name_what_was_given() {
    let device = Device::default();
    let (x, mut y) = (Buffer::<f32>::new(1, 3), Buffer::<f32>::new(2, 2));
    let launch = saxpy::<f32>::on(&device).unwrap().grid((2, 3)).block(32);
    // SAFETY: nothing runs.
    refused(
        unsafe { launch.launch(1.0, &x, &mut y) },
        "kernel `saxpy_f32` needs x.len() == y.len(), but was launched with x.len() = 3, y.len() = 2, grid 2 x 3 x 1, block 32 x 1 x 1",
    );
    let launch = launch.block(33).shared_bytes(16);
    let mut y = Buffer::<f32>::new(2, 3);
    // SAFETY: nothing runs.
    refused(
        unsafe { launch.launch(1.0, &x, &mut y) },
        "kernel `saxpy_f32` needs block.x % 32 == 0, but was launched with x.len() = 3, y.len() = 3, grid 2 x 3 x 1, block 33 x 1 x 1, \
         16 shared bytes",
    );
    assert!(device.launches.take().is_empty(), "nothing was started");
}

#[test]
fn a_safe_kernel_is_launched_without_unsafe() {
    let device = Device::default();
    let (x, mut y) = (Buffer::new(1, 3), Buffer::new(2, 3));
    let launch = safe::on(&device)
        .unwrap()
        .grid(1)
        .block(32)
        .shared_bytes(128);
    launch.launch(2, &x, &mut y).unwrap();
    assert_eq!(device.last().memory, [(1, 3, false), (2, 3, true)]);
    let given = "x.len() = 3, y.len() = 3, grid 1 x 1 x 1, block 32 x 1 x 1, 128 shared bytes";
    refused(
        launch.launch(1, &x, &mut y),
        &format!("kernel `safe` needs n > 1, but was launched with n = 1, {given}"),
    );
    refused(
        launch.shared_bytes(127).launch(2, &x, &mut y),
        "kernel `safe` needs shared_bytes >= 4 * block.x, but was launched with n = 2, x.len() = 3, y.len() = 3, grid 1 x 1 x 1, \
         block 32 x 1 x 1, 127 shared bytes",
    );
}

#[test]
fn memory_begins_where_a_rule_says() {
    let device = Device::default();
    let launch = in_packs::on(&device).unwrap().grid(1).block(32);
    let given = "x.len() = 3, y.len() = 3, grid 1 x 1 x 1, block 32 x 1 x 1";
    let start = |x, y| launch.launch(&Buffer::new(x, 3), &mut Buffer::new(y, 3));
    start(1024 + 16, 1024 + 128).unwrap();
    refused(
        start(1024 + 8, 1024),
        &format!("kernel `in_packs` needs x.is_aligned_to(16), but was launched with {given}"),
    );
    refused(
        start(1024, 1024 + 64),
        &format!(
            "kernel `in_packs` needs y.is_aligned_to(4 * block.x as usize), but was launched with {given}"
        ),
    );
    // No elements lie anywhere.
    let nothing = launch.launch(&Buffer::new(1024 + 8, 0), &mut Buffer::new(0, 0));
    nothing.unwrap();
}

#[test]
fn pointers_have_the_extent_of_their_memory() {
    let device = Device::default();
    let launch = pointers::on(&device).unwrap().grid(1).block(1);
    let (from, mut to, other) = (Buffer::new(1, 3), Buffer::new(2, 4), Buffer::new(3, 1));
    // SAFETY: nothing runs.
    unsafe {
        refused(
            launch.launch(&from, &mut to, &other),
            "kernel `pointers` needs from.len() >= to.len(), but was launched with other.len() = 1, grid 1 x 1 x 1, block 1 x 1 x 1",
        );
        // Nothing is known of a bare address.
        launch.launch(DevicePointer::NULL, &mut to, &other).unwrap();
        launch.launch(&from, DevicePointer::new(7), &other).unwrap();
        refused(
            launch.launch(&from, DevicePointer::NULL, &Buffer::new(3, 0)),
            "kernel `pointers` needs other.len() >= 1, but was launched with other.len() = 0, grid 1 x 1 x 1, block 1 x 1 x 1",
        );
    }
}

#[test]
fn rules_of_kernels_that_macros_write() {
    let device = Device::default();
    let launch = scaled_f32::on(&device).unwrap().grid(1).block(1);
    // SAFETY: nothing runs.
    unsafe {
        launch.launch(&mut Buffer::new(1, 3), 1.0, 3).unwrap();
        refused(
            launch.launch(&mut Buffer::new(1, 3), 1.0, 4),
            "kernel `scaled_f32` needs values.len() >= least, but was launched with values.len() = 3, factor = 1.0, least = 4, \
             grid 1 x 1 x 1, block 1 x 1 x 1",
        );
        let launch = scaled_u8::on(&device).unwrap().grid(0).block(1);
        refused(
            launch.launch(&mut Buffer::new(1, 3), 1, 3),
            "kernel `scaled_u8` needs grid.x > 0, but was launched with bytes.len() = 3, by = 1, most = 3, grid 0 x 1 x 1, block 1 x 1 x 1",
        );
    }
}

#[test]
fn a_refusal_is_an_error() {
    let refusal = Refusal {
        kernel: "k",
        rule: "x.len() > 0",
        given: "x.len() = 0".to_owned(),
    };
    let error: Box<dyn std::error::Error> = Box::new(refusal);
    assert_eq!(
        error.to_string(),
        "kernel `k` needs x.len() > 0, but was launched with x.len() = 0"
    );
}
