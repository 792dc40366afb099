//! Embeds the kernel.

fn main() {
    cuda_builder::embed().finish();
}
