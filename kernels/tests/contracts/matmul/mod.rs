//! Matrix products.

mod direct;
mod few;
mod pipelined;
mod short;
mod slices;
mod small;
mod tensor;

use cuda_std::launch::Shape;
use kernels::matmul::policy::Policy;

use super::shape;

fn of_policy(policy: &Policy) -> Shape {
    let threads = policy.threads() as u32;
    shape([2, 2, 1], [threads, 1, 1]).shared(policy.shared_bytes() as u32)
}

/// Blocks, grids and shared memory that are not the policy's.
fn wrong_shapes(policy: &Policy) -> [(Shape, &'static str); 6] {
    let (good, bytes) = (of_policy(policy), policy.shared_bytes() as u32);
    let threads = policy.threads() as u32;
    let of = |grid, block| shape(grid, block).shared(bytes);
    [
        (of([2, 2, 1], [threads - 32, 1, 1]), "block.x"),
        (of([2, 2, 1], [threads + 32, 1, 1]), "block.x"),
        (of([2, 2, 1], [threads, 2, 1]), "block.y"),
        (of([2, 2, 1], [threads, 1, 2]), "block.z"),
        (of([2, 2, 2], [threads, 1, 1]), "grid.z"),
        (good.shared(bytes - 1), "shared_bytes"),
    ]
}
