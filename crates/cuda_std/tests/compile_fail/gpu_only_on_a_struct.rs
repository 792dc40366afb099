use cuda_std::gpu_only;

#[gpu_only]
struct Counter(u32);

fn main() {}
