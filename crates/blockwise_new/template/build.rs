//! Compiles the kernels and embeds their PTX in the program.

fn main() {
    cuda_builder::embed().finish();
}
