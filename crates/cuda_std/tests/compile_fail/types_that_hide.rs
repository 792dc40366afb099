//! Types that are named like cuda_std's, with another block or another map behind them.

use cuda_std::prelude::*;

pub mod mine {
    pub struct Block<const N: usize>;
    pub type Out<'a, T> = cuda_std::Out<'a, T, cuda_std::block::PerBlock>;
    pub type Square<const N: usize> = cuda_std::block::Block<N, N>;
    pub mod square {
        pub use super::Square as Block;
    }
}

#[kernel]
pub fn block(block: &mut mine::Block<16>) {
    let _ = block;
}

#[kernel]
pub fn hidden_extent(block: &mut mine::square::Block<16>) {
    let _ = block;
}

#[kernel]
pub fn hidden_map(output: mine::Out<f32>) {
    let _ = output;
}

fn main() {}
