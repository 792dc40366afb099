use cuda_std::gpu_only;

#[gpu_only(sm_80)]
fn barrier() {}

fn main() {}
