fn main() {
    let names: Vec<String> = std::env::args().skip(2).collect();
    let out = std::env::args().nth(1).unwrap();
    cuda_builder::CudaBuilder::new("kernels")
        .arch(cuda_builder::NvvmArch::Compute80)
        .deny_divergence(true)
        .only(&names)
        .copy_to(&out)
        .build()
        .unwrap();
}
