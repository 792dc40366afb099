use cuda_std::prelude::*;

#[path = "../support/mod.rs"]
#[allow(dead_code)]
mod support;
use support::{Buffer, Device};

#[kernel]
pub fn copy(block: &mut Block<8, 8>, a: Matrix<f32>, b: OutMatrix<f32, 8, 8>) {
    let _ = (block, a, b);
}

fn main() {
    let (device, a, mut b) = (Device::default(), Buffer::<f32>::new(1, 6), Buffer::<f32>::new(2, 6));
    let launch = copy::on(&device).unwrap().grid(1);
    // Without sizes, of another type, of the wrong mutability.
    launch.launch(&a, (&mut b, 2, 3)).unwrap();
    launch.launch((&Buffer::<u32>::new(3, 6), 2, 3), (&mut b, 2, 3)).unwrap();
    launch.launch((&a, 2, 3), (&b, 2, 3)).unwrap();
}
