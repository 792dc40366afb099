//! Builds the crate for the device and embeds the PTX.

/// The kernels of this crate: those of `kernels`, which it builds on, are embedded there.
const OWN: &[&str] = include!("own.rs");

fn main() {
    cuda_builder::embed()
        .options(|builder| builder.deny_divergence(true).only(OWN))
        .finish();
}
