use cuda_std::externally_visible;

#[externally_visible(always)]
pub fn helper() {}

fn main() {}
