use cuda_std::prelude::*;

#[kernel]
pub unsafe fn scale((values, factor): (*mut f32, f32)) {
    let _ = (values, factor);
}

fn main() {}
