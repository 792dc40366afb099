//! Builds the crate for the device and embeds the PTX.

/// The kernels of this crate: those of `kernels`, which it builds on, are embedded there.
const OWN: &[&str] = &[
    "conv1d_fft4096_ungapped_f32",
    "conv1d_fft_radix2",
    "conv1d_taps_fft4096_ungapped_f32",
    "conv1d_taps_fft_radix2",
    "dot_single8_f32",
    "dot_single8_f64",
    "dot_single8_i64",
    "extreme_single8_f32",
    "extreme_single8_f64",
    "extreme_single8_i64",
    "peak_fma_f32",
    "sum_single8_f32",
    "sum_single8_f64",
    "sum_single8_i64",
    "transpose_aligned_narrow_u32",
    "transpose_aligned_narrow_u64",
];

fn main() {
    cuda_builder::embed()
        .options(|builder| builder.deny_divergence(true).only(OWN))
        .finish();
}
