//! Products on tensor cores, and what makes their operands: copies with another pitch, split tiles.

use cuda_std::launch::Shape;
use kernels::matmul::pitched::{self, matmul_pitch_f32};
use kernels::matmul::split::{self, TILE_WORDS, matmul_split_f32};
use kernels::matmul::tensor::{self, SHARED_BYTES, matmul_tensor_f32};

use super::super::support::Buffer;
use super::super::{Device, behind, memory, refused, shape, starts};

#[test]
fn copying_has_room_for_the_copies() {
    let start = |a, b, of_a, of_b, grid, block| {
        let kernel = matmul_pitch_f32::on(&Device::default())?.shape(shape(grid, block));
        let (mut of_a, mut of_b) = (memory(of_a), memory(of_b));
        kernel.launch(&memory(a), &memory(b), &mut of_a, &mut of_b, 5, 6, 9)
    };
    let (grid, block) = ([3, 2, 2], [pitched::THREADS, 1, 1]);
    starts(start(30, 54, 40, 96, grid, block));
    refused(start(29, 54, 40, 96, grid, block), "Some(a.len())");
    refused(start(30, 53, 40, 96, grid, block), "Some(b.len())");
    refused(start(30, 54, 39, 96, grid, block), "Some(of_a.len())");
    refused(start(30, 54, 40, 95, grid, block), "Some(of_b.len())");
    for (grid, block) in [
        ([3, 2, 1], block),
        ([3, 2, 3], block),
        (grid, [128, 1, 1]),
        (grid, [128, 2, 1]),
        (grid, [256, 1, 2]),
    ] {
        refused(start(30, 54, 40, 96, grid, block), "THREADS");
    }
}

/// Tiles of an operand of one tile.
const TILE: u64 = TILE_WORDS as u64;

#[test]
fn splitting_has_room_for_the_tiles_and_the_ranges() {
    let start = |of: [Buffer<u32>; 3], [a, b]: [u64; 2], grid, block| {
        let kernel = matmul_split_f32::on(&Device::default())?.shape(shape(grid, block));
        let [mut of_a, mut of_b, mut ranges] = of;
        kernel.launch(
            &memory(a),
            &memory(b),
            &mut of_a,
            &mut of_b,
            &mut ranges,
            5,
            6,
            9,
        )
    };
    let (grid, block) = ([3, 2, 2], [split::THREADS, 1, 1]);
    let (lens, tile) = ([30, 54], || memory(TILE));
    starts(start([tile(), tile(), memory(4)], lens, grid, block));
    for (of, rule) in [
        ([memory(TILE - 1), tile(), memory(4)], "Some(a_tiles.len())"),
        ([tile(), memory(TILE - 1), memory(4)], "Some(b_tiles.len())"),
        ([behind(TILE), tile(), memory(4)], "a_tiles.is_aligned"),
        ([tile(), behind(TILE), memory(4)], "b_tiles.is_aligned"),
        ([tile(), tile(), memory(3)], "ranges.len()"),
    ] {
        refused(start(of, lens, grid, block), rule);
    }
    let of = || [tile(), tile(), memory(4)];
    refused(start(of(), [29, 54], grid, block), "Some(a.len())");
    refused(start(of(), [30, 53], grid, block), "Some(b.len())");
    for (grid, block) in [
        ([3, 2, 1], block),
        ([3, 2, 3], block),
        (grid, [128, 1, 1]),
        (grid, [128, 2, 1]),
        (grid, [256, 1, 2]),
    ] {
        refused(start(of(), lens, grid, block), "THREADS");
    }
}

#[test]
fn tensor_cores_have_whole_tiles_and_their_shared_memory() {
    let start = |[a, b]: [Buffer<u32>; 2], ranges, c, shape: Shape| {
        let kernel = matmul_tensor_f32::on(&Device::default())?.shape(shape);
        kernel.launch(&a, &b, &memory(ranges), &mut memory(c), 5, 6, 9)
    };
    let of = |grid, block| shape(grid, block).shared(SHARED_BYTES as u32);
    let good = of([3, 1, 1], [tensor::THREADS, 1, 1]);
    let tile = || memory(TILE);
    starts(start([tile(), tile()], 4, 45, good));
    for (operands, rule) in [
        ([memory(TILE - 1), tile()], "Some(a.len())"),
        ([tile(), memory(TILE - 1)], "Some(b.len())"),
        ([behind(TILE), tile()], "a.is_aligned"),
        ([tile(), behind(TILE)], "b.is_aligned"),
    ] {
        refused(start(operands, 4, 45, good), rule);
    }
    refused(start([tile(), tile()], 3, 45, good), "ranges.len()");
    refused(start([tile(), tile()], 4, 44, good), "Some(c.len())");
    let threads = tensor::THREADS;
    for (shape, rule) in [
        (of([3, 1, 1], [256, 1, 1]), "block.x == THREADS"),
        (of([3, 1, 1], [threads, 2, 1]), "block.y"),
        (of([3, 1, 1], [threads, 1, 2]), "block.z"),
        (of([3, 2, 1], [threads, 1, 1]), "grid.y"),
        (of([3, 1, 2], [threads, 1, 1]), "grid.z"),
        (good.shared(SHARED_BYTES as u32 - 1), "shared_bytes"),
    ] {
        refused(start([tile(), tile()], 4, 45, shape), rule);
    }
}
