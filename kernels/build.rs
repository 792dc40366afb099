//! Builds the crate for the device and embeds the PTX.

fn main() {
    cuda_builder::embed()
        .options(|builder| builder.deny_divergence(true))
        .finish();
}
