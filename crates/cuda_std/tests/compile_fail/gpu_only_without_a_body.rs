use cuda_std::gpu_only;

trait Clock {
    #[gpu_only]
    fn ticks(&self) -> u64;
}

fn main() {}
