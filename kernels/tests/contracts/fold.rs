//! Sums of a product's slices.

use cuda_std::launch::Shape;
use kernels::matmul::fold::{self, matmul_fold};

use super::support::Buffer;
use super::{Device, behind, memory, refused, shape, starts};

#[test]
fn sums_of_slices_are_as_long_as_the_product() {
    let start = |sums: Buffer<f64>, mut c: Buffer<f64>, shape: Shape| {
        let kernel = matmul_fold::<f64>::on(&Device::default())?.shape(shape);
        kernel.launch(&sums, &mut c, 3)
    };
    let good = || shape([2, 1, 1], [fold::THREADS, 1, 1]);
    starts(start(memory(30), memory(10), good()));
    // Any length and address.
    starts(start(memory(27), memory(9), good()));
    starts(start(behind(30), behind(10), good()));
    let of_blocks = |blocks| shape([blocks, 1, 1], [fold::THREADS, 1, 1]);
    starts(start(memory(27), memory(9), of_blocks(fold::MOST_BLOCKS)));
    for (outcome, rule) in [
        (
            start(memory(27), memory(9), of_blocks(fold::MOST_BLOCKS + 1)),
            "grid.x",
        ),
        (start(memory(31), memory(10), good()), "Some(sums.len())"),
        (
            start(memory(30), memory(10), shape([2, 1, 1], [256, 1, 1])),
            "block.x",
        ),
        (
            start(
                memory(30),
                memory(10),
                shape([2, 2, 1], [fold::THREADS, 1, 1]),
            ),
            "grid.y",
        ),
    ] {
        refused(outcome, rule);
    }
}
