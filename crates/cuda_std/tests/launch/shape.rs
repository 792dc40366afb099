//! The shape and the stream of a launch.

use cuda_std::launch::{Dim, Shape};

use crate::kernels::absent_twin as kernel;
use crate::support::{Device, Error, Stream};

#[test]
fn dimensions_come_from_numbers_pairs_triples_and_arrays() {
    let dim = |x, y, z| Dim { x, y, z };
    assert_eq!(Dim::from(4), dim(4, 1, 1));
    assert_eq!(Dim::from((4, 3)), dim(4, 3, 1));
    assert_eq!(Dim::from((4, 3, 2)), dim(4, 3, 2));
    assert_eq!(Dim::from([4, 3, 2]), dim(4, 3, 2));
    assert_eq!(<[u32; 3]>::from(dim(4, 3, 2)), [4, 3, 2]);
    assert_eq!(dim(4, 3, 2).to_string(), "4 x 3 x 2");
    assert!(dim(4, 1, 1) == 4 && dim(4, 3, 1) == (4, 3) && dim(4, 3, 2) == (4, 3, 2));
    assert!(dim(4, 2, 1) != 4 && dim(4, 1, 2) != 4 && dim(4, 3, 2) != (4, 3));
}

#[test]
fn the_shape_arrives() {
    let device = Device::default();
    let launch = kernel::on(&device)
        .unwrap()
        .grid((5, 6))
        .block([7, 8, 9])
        .shared_bytes(10);
    // SAFETY: nothing runs.
    unsafe { launch.launch() }.unwrap();
    assert_eq!(
        device.last().shape,
        Shape::new((5, 6), (7, 8, 9)).shared(10)
    );
    let launch = launch.shape(Shape::new(1, 2));
    // SAFETY: nothing runs.
    unsafe { launch.launch() }.unwrap();
    assert_eq!(device.last().shape, Shape::new(1, 2));
}

#[test]
fn a_missing_grid_or_block_is_refused() {
    let device = Device::default();
    let message = |result: Result<(), Error>| match result {
        Err(Error::Refused(refusal)) => refusal.to_string(),
        other => panic!("{other:?}"),
    };
    // SAFETY: nothing runs.
    unsafe {
        assert_eq!(
            message(kernel::on(&device).unwrap().block(1).launch()),
            "kernel `absent_twin` needs a grid: `.grid(..)`, `.covering(..)` or `.shape(..)`, but was launched with none"
        );
        assert_eq!(
            message(kernel::on(&device).unwrap().grid(1).launch()),
            "kernel `absent_twin` needs a block: `.block(..)`, `.covering(..)` or `.shape(..)`, but was launched with none"
        );
    }
}

#[test]
fn covering_rounds_up() {
    let device = Device::default();
    let shape = |launch: Result<kernel<_>, Error>| {
        // SAFETY: nothing runs.
        unsafe { launch.unwrap().launch() }.unwrap();
        device.last().shape
    };
    let found = || kernel::on(&device).unwrap();
    assert_eq!(shape(found().covering(0)), Shape::new(1, 256));
    assert_eq!(shape(found().covering(256)), Shape::new(1, 256));
    assert_eq!(shape(found().covering(257)), Shape::new(2, 256));
    assert_eq!(
        shape(found().shared_bytes(4).covering(65)),
        Shape::new(2, 64).shared(4)
    );
    assert_eq!(
        shape(found().block((8, 4)).covering(17)),
        Shape::new(3, (8, 4))
    );
    assert_eq!(
        shape(found().block(1).covering(i32::MAX as usize)),
        Shape::new(i32::MAX as u32, 1)
    );
    let refused = (found().block(1))
        .covering(i32::MAX as usize + 1)
        .unwrap_err();
    assert!(
        matches!(refused, Error::Refused(refusal) if refusal.to_string().contains("at most 2147483647 blocks"))
    );
}

#[test]
fn the_stream_arrives() {
    let device = Device::default();
    let stream = Stream(7);
    let launch = kernel::on(&device)
        .unwrap()
        .grid(1)
        .block(1)
        .stream(&stream);
    // SAFETY: nothing runs.
    unsafe { launch.launch() }.unwrap();
    assert_eq!(device.last().stream, Some(7));
}

#[test]
fn a_launch_can_be_copied_and_printed() {
    let device = Device::default();
    let launch = kernel::on(&device).unwrap().grid((2, 3));
    let other = launch.clone().block(4);
    // SAFETY: nothing runs.
    unsafe { other.launch() }.unwrap();
    assert_eq!(device.last().shape, Shape::new((2, 3), 4));
    assert_eq!(
        format!("{launch:?}"),
        "Launch { kernel: \"absent_twin\", grid: Some(Dim { x: 2, y: 3, z: 1 }), block: None, shared_bytes: 0, .. }"
    );
}
