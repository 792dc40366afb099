//! Safe kernels with shared memory: what the launch makes, checks and computes for them.

#![forbid(unsafe_code)]

use cuda_std::block::{ANY, Append, Atomics, Block, FromEnd, PerBlock};
use cuda_std::block::{Matrix, OutMatrix, Ring, Scatter, Scratch, Shared, Tile};
use cuda_std::launch::{Dim, Shape};
use cuda_std::{Out, Plain, kernel};

use crate::support::{Buffer, Device, Error, Order};

/// Every parameter that the launch makes, and every view.
#[kernel(
    instances((f32, 16), (f64, 8)),
    shared(tile = block.threads() + a.cols(), bytes = n),
    require(a.cols() == c.rows(), a.len() > 1)
)]
#[allow(clippy::too_many_arguments)]
pub fn everything<T: Plain, const N: usize>(
    block: &mut Block<N, { N / 2 }>,
    fixed: Shared<Tile<T, N, N>>,
    bytes: Shared<[u8]>,
    ring: Ring<[T; N], 2>,
    a: Matrix<T>,
    scratch: Scratch<T>,
    tile: Shared<[T]>,
    n: usize,
    c: OutMatrix<T, N, N>,
    counts: Atomics<u32>,
    last: Out<T, FromEnd>,
    each: Out<T, PerBlock>,
) {
    let _ = (
        block, fixed, bytes, ring, a, scratch, tile, n, c, counts, last, each,
    );
}

/// A block of any length, under another name than `block`.
#[kernel(
    shared(tile = x.len() / (n as usize - 1) - size_of::<[u8; 2 + 2]>() * threads.threads()),
    require(grid.blocks() < 8)
)]
pub fn one_dimension(threads: &mut Block, tile: Shared<[u64]>, x: &[u8], n: u32) {
    let _ = (threads, tile, x, n);
}

/// Rows are fixed, columns the launch's choice.
#[kernel]
pub fn rows(block: &mut Block<ANY, 4>, a: Matrix<f32>, b: OutMatrix<f32, 4, 4>) {
    let _ = (block, a, b);
}

/// Threads of a grid of any shape.
#[kernel]
pub fn threads(y: Out<u32>) {
    let _ = y;
}

/// A thread for each element of a plane.
#[kernel(require(grid.z == 1))]
pub fn in_a_plane(y: Out<u32>) {
    let _ = y;
}

/// Tiles of a block of one dimension, and no output of its own.
#[kernel]
pub fn tiles_counted(block: &mut Block<64>, counts: Atomics<u32>) {
    let _ = (block, counts);
}

/// Memory that comes in pairs.
#[kernel]
pub fn pairs(y: Scatter<f32>, kept: Append<u8>) {
    let _ = (y, kept);
}

/// An array whose length is returned before its end.
#[kernel(shared(tile = {
    if n > 3 {
        return Some(n);
    }
    2
}))]
pub fn left_early(block: &mut Block, tile: Shared<[u64]>, n: usize) {
    let _ = (block, tile, n);
}

/// Types with the names that type parameters of a handle have.
#[derive(Clone, Copy, Plain)]
#[repr(transparent)]
pub struct F(u8);
#[derive(Clone, Copy, Plain)]
#[repr(transparent)]
/// As `F`.
pub struct D(u16);

/// A value and a rule of such types.
#[kernel(require(size_of::<L>() == 8))]
pub fn of_short_names(f: F, d: &[D]) {
    let _ = (f, d);
}
type L = u64;

fn bytes(values: &[u64]) -> Vec<Vec<u8>> {
    let bytes = |value: &u64| value.to_ne_bytes().to_vec();
    values.iter().map(bytes).collect()
}

#[track_caller]
fn refused(result: Result<(), Error>, message: &str) {
    match result.unwrap_err() {
        Error::Refused(refusal) => assert_eq!(refusal.to_string(), message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_record_says_the_block_and_every_parameter_of_the_ptx() {
    let entry = everything::<f32, 16>::entry();
    assert_eq!(
        entry.signature,
        "block: &mut Block<16,8,1>, bytes: Shared<[u8]>, a: Matrix<f32>, tile: Shared<[f32]>, n: usize, c: OutMatrix<f32>, \
         counts: Atomics<u32>, last: Out<f32>, each: Out<f32>"
    );
    assert_eq!(entry.parameter_bytes, [8; 15]);
    assert_eq!(entry.block, [16, 8, 1]);
    let entry = everything::<f64, 8>::entry();
    assert!(entry.signature.starts_with("block: &mut Block<8,4,1>, "));
    assert_eq!(entry.block, [8, 4, 1]);
    assert_eq!(one_dimension::entry().block, [0, 1, 1]);
    assert!((one_dimension::entry().signature).starts_with("threads: &mut Block<0,1,1>, "));
    assert_eq!(rows::entry().block, [0, 4, 1]);
    assert_eq!(crate::kernels::safe::entry().block, [0, 0, 0]);
}

#[test]
fn the_arguments_are_in_the_order_of_the_ptx() {
    let device = Device::default();
    let a = Buffer::<f32>::new(0x100, 15);
    let (mut c, mut counts) = (Buffer::new(0x200, 35), Buffer::new(0x300, 2));
    let (mut last, mut each) = (Buffer::new(0x400, 3), Buffer::new(0x500, 6));
    let launch = everything::<f32, 16>::on(&device).unwrap().grid(6);
    let c_of = |c| (c, 5, 7);
    (launch.launch(
        (&a, 3, 5),
        9,
        c_of(&mut c),
        &mut counts,
        &mut last,
        &mut each,
    ))
    .unwrap();
    let seen = device.last();
    // 9 bytes, then at 12 a tile of 128 threads and 5 columns.
    assert_eq!(seen.shape, Shape::new(6, (16, 8)).shared(12 + 4 * 133));
    let expected = [
        9, 0x100, 3, 5, 133, 9, 0x200, 5, 7, 0x300, 2, 0x400, 3, 0x500, 6,
    ];
    assert_eq!(seen.arguments, bytes(&expected));
    let expected = [
        (0x100, 15, false),
        (0x200, 35, true),
        (0x300, 2, true),
        (0x400, 3, true),
        (0x500, 6, true),
    ];
    assert_eq!(seen.memory, expected);
}

#[test]
fn matrices_of_another_size_and_deep_grids_are_refused() {
    let device = Device::default();
    let launch = |grid: Dim, (rows, cols), len, b_len| {
        let (a, mut b) = (Buffer::<f32>::new(1, len), Buffer::new(2, b_len));
        let launch = rows::on(&device).unwrap().grid(grid).block((8, 4));
        launch.launch((&a, rows, cols), (&mut b, 2, 2))
    };
    let refusal = |rule: &str, (rows, cols): (usize, usize), len, b_len, grid| {
        format!(
            "kernel `rows` needs {rule}, but was launched with a.rows() = {rows}, a.cols() = {cols}, a.len() = {len}, \
             b.rows() = 2, b.cols() = 2, b.len() = {b_len}, grid {grid}, block 8 x 4 x 1"
        )
    };
    launch((6, 5).into(), (3, 5), 15, 4).unwrap();
    assert_eq!(device.last().memory, [(1, 15, false), (2, 4, true)]);
    launch(1.into(), (0, 5), 0, 4).unwrap();
    let _ = device.last();
    let whole = "a.len() == a.rows() * a.cols()";
    // The last product is 2^64.
    for (size, len) in [((3, 5), 14), ((3, 5), 16), ((1 << 32, 1 << 32), 0)] {
        refused(
            launch(1.into(), size, len, 4),
            &refusal(whole, size, len, 4, "1 x 1 x 1"),
        );
    }
    refused(
        launch(1.into(), (3, 5), 15, 5),
        &refusal("b.len() == b.rows() * b.cols()", (3, 5), 15, 5, "1 x 1 x 1"),
    );
    refused(
        launch((1, 1, 2).into(), (3, 5), 15, 4),
        &refusal("grid.z == 1", (3, 5), 15, 4, "1 x 1 x 2"),
    );
    let most = "at most isize::MAX rows and columns of a, 2³² if it is empty";
    for size in [(0, 1 << 63), (1 << 63, 0), (0, (1 << 32) + 1)] {
        refused(
            launch(1.into(), size, 0, 4),
            &refusal(most, size, 0, 4, "1 x 1 x 1"),
        );
    }
    assert!(device.launches.take().is_empty());
}

#[test]
fn outputs_of_blocks_ask_for_a_grid_of_one_dimension() {
    let device = Device::default();
    let launch = |grid: Dim, c_rows: u64, each| {
        let (a, mut c) = (Buffer::<f64>::new(1, 15), Buffer::new(2, 7 * c_rows));
        let (mut counts, mut last) = (Buffer::new(3, 1), Buffer::new(4, 1));
        let (c, mut each) = ((&mut c, c_rows as usize, 7), Buffer::new(5, each));
        let launch = everything::<f64, 8>::on(&device).unwrap().grid(grid);
        launch.launch((&a, 3, 5), 9, c, &mut counts, &mut last, &mut each)
    };
    let refusal = |rule: &str, c: &str, each, grid| {
        format!(
            "kernel `everything_f64_8` needs {rule}, but was launched with a.rows() = 3, a.cols() = 5, a.len() = 15, n = 9, {c}, \
             counts.len() = 1, last.len() = 1, each.len() = {each}, grid {grid}, block 8 x 4 x 1"
        )
    };
    let c = "c.rows() = 5, c.cols() = 7, c.len() = 35";
    launch(6.into(), 5, 6).unwrap();
    let _ = device.last();
    refused(
        launch(6.into(), 5, 5),
        &refusal("each.len() >= grid.blocks()", c, 5, "6 x 1 x 1"),
    );
    for (grid, text) in [((3, 2, 1), "3 x 2 x 1"), ((3, 1, 2), "3 x 1 x 2")] {
        refused(
            launch(grid.into(), 5, 6),
            &refusal("grid.y == 1 && grid.z == 1", c, 6, text),
        );
    }
    // The kernel's own rule, after those of its types.
    let c = "c.rows() = 4, c.cols() = 7, c.len() = 28";
    refused(
        launch(6.into(), 4, 6),
        &refusal("a.cols() == c.rows()", c, 6, "6 x 1 x 1"),
    );
}

/// Threads along an axis that a kernel does not count along would do nothing, or the same again.
#[test]
fn a_kernel_of_one_dimension_has_such_a_grid() {
    let device = Device::default();
    let refusal = |rule: &str, kernel: &str, y: &str, grid: &str, block: &str| {
        format!(
            "kernel `{kernel}` needs {rule}, but was launched with {y}.len() = 1, grid {grid}, block {block}"
        )
    };
    let launch = |grid: [u32; 3], block: [u32; 3]| {
        let launch = threads::on(&device).unwrap().grid(grid).block(block);
        launch.launch(&mut Buffer::new(1, 1))
    };
    let grid_rule = "grid.y == 1 && grid.z == 1";
    for (grid, text) in [
        ([3, 2, 1], "3 x 2 x 1"),
        ([3, 1, 4], "3 x 1 x 4"),
        ([1, 65_535, 1], "1 x 65535 x 1"),
    ] {
        let refused_for = refusal(grid_rule, "threads", "y", text, "1 x 1 x 1");
        refused(launch(grid, [1; 3]), &refused_for);
    }
    let block_rule = "block.y == 1 && block.z == 1";
    for (block, text) in [([8, 2, 1], "8 x 2 x 1"), ([8, 1, 2], "8 x 1 x 2")] {
        refused(
            launch([1; 3], block),
            &refusal(block_rule, "threads", "y", "1 x 1 x 1", text),
        );
    }
    launch([7, 1, 1], [8, 1, 1]).unwrap();
    // The PTX records what the types ask, so that a build which asks something else is refused.
    let implied = |record: &'static str| -> Vec<&str> {
        let lines = record.lines();
        lines
            .filter_map(|line| line.strip_prefix("implied "))
            .collect()
    };
    let flat = |what: &str| format!("(&& (== ({what} y) 1) (== ({what} z) 1))");
    assert_eq!(
        implied(threads::entry().record),
        [flat("grid"), flat("block")]
    );
    assert_eq!(implied(tiles_counted::entry().record), [flat("grid")]);
    assert_eq!(
        implied(everything::<f64, 8>::entry().record),
        [flat("grid")]
    );
    assert!(implied(in_a_plane::entry().record).is_empty());
    // Its own rule is about the grid, and says which.
    let plane = in_a_plane::on(&device).unwrap().grid((3, 2)).block((4, 4));
    plane.launch(&mut Buffer::new(1, 1)).unwrap();
    let space = plane.grid((3, 2, 2)).launch(&mut Buffer::new(1, 1));
    refused(
        space,
        &refusal("grid.z == 1", "in_a_plane", "y", "3 x 2 x 2", "4 x 4 x 1"),
    );
    // Tiles of a block of one dimension are counted along x, whatever the kernel does with them.
    let counts = || Buffer::<u32>::new(1, 1);
    let count = tiles_counted::on(&device).unwrap();
    count.clone().grid(5).launch(&mut counts()).unwrap();
    let refused_for = refusal(
        grid_rule,
        "tiles_counted",
        "counts",
        "5 x 2 x 1",
        "64 x 1 x 1",
    );
    refused(count.grid((5, 2)).launch(&mut counts()), &refused_for);
}

#[test]
fn pairs_of_memory_fit_each_other() {
    let device = Device::default();
    let launch = |y, order, kept, counts| {
        let launch = pairs::on(&device).unwrap().grid(1).block(32);
        let (mut y, order) = (Buffer::<f32>::new(1, y), Order(Buffer::new(2, order)));
        let (mut kept, mut count) = (Buffer::<u8>::new(3, kept), Buffer::<u64>::new(4, counts));
        launch.launch((&mut y, &order), (&mut kept, &mut count))
    };
    launch(5, 5, 7, 1).unwrap();
    let memory = [(1, 5, true), (2, 5, false), (3, 7, true), (4, 1, true)];
    assert_eq!(device.last().memory, memory);
    let given = |y, order, kept, counts| {
        format!(
            "but was launched with y.len() = {y}, y's permutation.len() = {order}, kept.len() = {kept}, kept's count.len() = {counts}, \
             grid 1 x 1 x 1, block 32 x 1 x 1"
        )
    };
    for order in [0, 4, 6] {
        let text = given(5, order, 7, 1);
        refused(
            launch(5, order, 7, 1),
            &format!("kernel `pairs` needs y.len() == its permutation's length, {text}"),
        );
    }
    for counts in [0, 2] {
        let text = given(0, 0, 7, counts);
        refused(
            launch(0, 0, 7, counts),
            &format!("kernel `pairs` needs one count of kept, {text}"),
        );
    }
}

#[test]
fn the_launch_has_the_block_of_the_type_and_no_other() {
    let device = Device::default();
    let a = Buffer::<u8>::new(1, 100);
    let launch = one_dimension::on(&device).unwrap().grid(1);
    let other = |given| {
        format!(
            "kernel `one_dimension` needs the block of its `&mut Block<..>`, but was launched with block {given} in place of any x 1 x 1"
        )
    };
    refused(
        launch.clone().block((3, 2)).launch(&a, 2),
        &other("3 x 2 x 1"),
    );
    refused(
        launch.clone().block((3, 1, 2)).launch(&a, 2),
        &other("3 x 1 x 2"),
    );
    launch.block(3).launch(&a, 2).unwrap();
    assert_eq!(device.last().shape.block, Dim::from(3));
    let launch = rows::on(&device).unwrap().grid(1);
    let (a, mut b) = (Buffer::<f32>::new(1, 0), Buffer::new(2, 0));
    refused(
        (launch.clone().shape(Shape::new(1, (7, 3)))).launch((&a, 0, 0), (&mut b, 0, 0)),
        "kernel `rows` needs the block of its `&mut Block<..>`, but was launched with block 7 x 3 x 1 in place of any x 4 x 1",
    );
    (launch.block((7, 4)).launch((&a, 0, 0), (&mut b, 0, 0))).unwrap();
    assert_eq!(device.last().shape.block, Dim::from((7, 4)));
    // Covered in the block of the type: 16 threads along x.
    let launch = everything::<f32, 16>::on(&device).unwrap();
    let launch = launch.covering(33).unwrap();
    assert!(format!("{launch:?}").contains("grid: Some(Dim { x: 3, y: 1, z: 1 })"));
}

#[test]
fn lengths_that_are_no_size_are_refused() {
    let device = Device::default();
    let launch = |blocks: u32, len: u64, n: u32| {
        let x = Buffer::<u8>::new(1, len);
        let launch = one_dimension::on(&device).unwrap().grid(blocks).block(3);
        launch.launch(&x, n)
    };
    // 100 / 4 - 4 * 3 elements of 8 bytes.
    launch(1, 100, 5).unwrap();
    let seen = device.last();
    assert_eq!(seen.shape.shared_bytes, 13 * 8);
    assert_eq!(seen.arguments[0], 13_u64.to_ne_bytes());
    let refusal = |blocks: u32, len: u64, n: u32| {
        format!(
            "kernel `one_dimension` needs a size from 0 to 4 GiB for \
             tile = x.len() / (n as usize - 1) - size_of::<[u8; 2 + 2]>() * threads.threads(), \
             but was launched with x.len() = {len}, n = {n}, grid {blocks} x 1 x 1, block 3 x 1 x 1"
        )
    };
    // Below 0, divided by 0, a step below 0, and more than 4 GiB.
    for (len, n) in [(47, 5), (100, 1), (100, 0), (1 << 32, 2)] {
        refused(launch(1, len, n), &refusal(1, len, n));
    }
    let rule = launch(8, 47, 5).unwrap_err();
    assert!(
        format!("{rule:?}").contains("grid.blocks() < 8"),
        "rules go first"
    );
}

#[test]
fn shared_bytes_are_the_launchs_alone() {
    let device = Device::default();
    let x = Buffer::<u8>::new(1, 100);
    let launch = one_dimension::on(&device).unwrap();
    let with = |bytes| launch.clone().shape(Shape::new(1, 3).shared(bytes));
    for bytes in [0, 104] {
        with(bytes).launch(&x, 5).unwrap();
        assert_eq!(device.last().shape.shared_bytes, 104);
    }
    refused(
        with(103).launch(&x, 5),
        "kernel `one_dimension` needs no other shared bytes than `shared(..)` computes, but was launched with \
         x.len() = 100, n = 5, grid 1 x 1 x 1, block 3 x 1 x 1, 103 shared bytes",
    );
    assert!(device.launches.take().is_empty());
}

#[test]
fn what_a_size_returns_early_has_its_bytes_too() {
    let device = Device::default();
    let launch = left_early::on(&device).unwrap().grid(1).block(32);
    for (n, len) in [(2, 2), (100, 100)] {
        launch.launch(n).unwrap();
        let seen = device.last();
        assert_eq!(seen.arguments, bytes(&[len, n as u64]));
        assert_eq!(u64::from(seen.shape.shared_bytes), 8 * len);
    }
    refused(
        launch.launch(usize::MAX),
        &format!(
            "kernel `left_early` needs a size from 0 to 4 GiB for tile = {{ if n > 3 {{ return Some(n); }} 2 }}, but was launched with \
             n = {}, grid 1 x 1 x 1, block 32 x 1 x 1",
            usize::MAX
        ),
    );
}

#[test]
fn a_type_named_like_a_parameter_of_the_handle_is_itself() {
    let device = Device::default();
    let d = Buffer::<D>::new(1, 3);
    let launch = of_short_names::on(&device).unwrap().grid(1).block(1);
    launch.launch(F(7), &d).unwrap();
    assert_eq!(device.last().arguments[0], [7]);
}

#[test]
fn extents_have_products() {
    assert_eq!(Dim::from((4, 3, 2)).threads(), 24);
    assert_eq!(Dim::from((4, 3, 2)).blocks(), 24);
    assert_eq!(Dim::from([u32::MAX; 3]).blocks(), usize::MAX);
}
