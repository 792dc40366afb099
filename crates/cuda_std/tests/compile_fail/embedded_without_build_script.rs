cuda_std::embedded_kernels!();

fn main() {}
