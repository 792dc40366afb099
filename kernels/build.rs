//! Builds the crate for the device and embeds the PTX.

use cuda_builder::NvvmArch;

/// Kernels that are also built for compute capability 9.0, whose instructions make them faster or
/// possible.
const HOPPER: &[&str] = &[
    "matmul_mma_square_f64",
    "matmul_mma_tall_f64",
    "matmul_mma_large_f64",
    "matmul_mma_small_f64",
    "matmul_mma_squareragged_f64",
    "matmul_mma_tallragged_f64",
    "matmul_mma_flat_f64",
    "matmul_mma_slim_f64",
    "matmul_mma_smallragged_f64",
    "matmul_direct_small_f64",
    "matmul_direct_square_f64",
    "matmul_direct_wide_f64",
    "matmul_direct_narrow_f64",
    "matmul_tensor_f32",
    "matmul_fold_f32",
    "matmul_fold_f64",
];

fn main() {
    cuda_builder::embed()
        .release_arch_for(NvvmArch::Compute90a, HOPPER)
        .options(|builder| builder.deny_divergence(true))
        .finish();
}
