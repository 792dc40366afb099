use cuda_std::externally_visible;

#[externally_visible]
mod helpers {}

fn main() {}
