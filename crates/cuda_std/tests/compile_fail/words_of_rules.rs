//! Names that a rule would mistake.

use cuda_std::prelude::*;

#[kernel(require(grid == 1))]
pub fn grid_of_the_launch(grid: usize) {
    let _ = grid;
}

#[kernel(require(block.x > 1))]
pub fn block_that_is_none(block: u32) {
    let _ = block;
}

#[kernel(require(n > 1, n < shared_bytes))]
pub fn bytes_of_the_launch(n: u32, shared_bytes: u32) {
    let _ = (n, shared_bytes);
}

#[kernel(require(grid.x > 1))]
pub fn grid_that_is_a_block(grid: &mut Block) {
    let _ = grid;
}

#[kernel(shared(tile = grid.blocks()))]
pub fn length_of_the_launch(block: &mut Block, tile: Shared<[f32]>, grid: &[f32]) {
    let _ = (block, tile, grid);
}

#[kernel(require(r#grid > 1))]
pub fn raw_word(r#grid: u32) {
    let _ = grid;
}

#[kernel(require({ grid.x > 1 }))]
pub fn word_for_the_host(grid: u32) {
    let _ = grid;
}

#[kernel(require(matches!(block.x, 1 | 2)))]
pub fn word_in_a_macro(block: u32) {
    let _ = block;
}

#[kernel(require((1..grid).contains(&n)))]
pub fn word_after_a_range(n: usize, grid: usize) {
    let _ = (n, grid);
}

#[kernel(shared(tile = r#block as usize))]
pub fn raw_word_in_a_length(own: &mut Block, tile: Shared<[f32]>, r#block: u32) {
    let _ = (own, tile, block);
}

#[kernel(require(left > 1))]
pub fn part_of_a_pattern([left, right]: [u32; 2]) {
    let _ = (left, right);
}

#[kernel(require(whole[0] > 1))]
pub fn bound_with_a_pattern(whole @ [_, _]: [u32; 2]) {
    let _ = whole;
}

macro_rules! twins {
    ($n:ident) => {
        #[kernel(require($n > 1))]
        pub fn twins($n: u32, n: u32) {
            let _ = ($n, n);
        }
    };
}
twins!(n);

macro_rules! outer {
    ($n:ident) => {
        macro_rules! inner {
            ($m:ident) => {
                #[kernel(require($n > $m))]
                pub fn nested($n: u32, $m: u32, n: u32) {
                    let _ = ($n, $m, n);
                }
            };
        }
        inner!(m);
    };
}
outer!(n);

#[kernel]
pub fn conditional(n: u32, #[cfg(target_arch = "nvptx64")] m: u32) {
    let _ = n;
}

#[kernel(instances(4), require(n == 4))]
pub fn word_as_a_constant<const grid: usize>(n: u32) {
    let _ = n;
}

fn main() {}
