//! Operations of a warp, in blocks whose last warp is not whole too.

use cuda_std::prelude::*;

/// What a lane sees: see [`lanes`].
pub type Seen = [u32; 16];

/// Each thread's results, by its number in the grid: lane, warp, lanes; then, with x its element,
/// the lane's of `shuffle(x, 3)`, of lane + 1, of the lane `x % 37`, `shuffle_down(x, 5)`,
/// `shuffle_up(x, 2)`, `shuffle_xor(x, 6)`; `all`, `any`, `ballot` of x odd; `match_any(x % 4)`;
/// the sum and the inclusive sum; the sum of the segment that begins where x is a multiple of 3, or
/// 0.
#[kernel(
    instances((0, 0, 0), (1, 1, 1), (31, 1, 1), (33, 1, 1), (256, 1, 1), (1024, 1, 1), (16, 16, 1), (7, 5, 3)),
    require(input.len() == output.len())
)]
pub fn lanes<const X: usize, const Y: usize, const Z: usize>(
    block: &mut Block<X, Y, Z>,
    input: &[u32],
    mut output: Out<[u32; 16]>,
) {
    for place in block.tiles(output.len()) {
        let x = input
            .get(place.start() + block.thread())
            .copied()
            .unwrap_or(0);
        let warp = block.warp();
        let odd = x % 2 == 1;
        let seen = [
            warp.lane() as u32,
            warp.index() as u32,
            warp.lanes() as u32,
            warp.shuffle(x, 3),
            warp.shuffle(x, warp.lane() + 1),
            warp.shuffle(x, x as usize % 37),
            warp.shuffle_down(x, 5),
            warp.shuffle_up(x, 2),
            warp.shuffle_xor(x, 6),
            u32::from(warp.all(odd)),
            u32::from(warp.any(odd)),
            warp.ballot(odd),
            warp.match_any(x % 4),
            warp.fold(x, u32::wrapping_add),
            warp.inclusive_scan(x, u32::wrapping_add),
            warp.fold_segments(x, x % 3 == 0, u32::wrapping_add)
                .unwrap_or(0),
        ];
        output.store(block, place, |_| seen);
    }
}

/// Distances out of every warp give a lane its own value.
#[kernel(require(output.len() == block.threads(), grid.blocks() == 1))]
pub fn far(block: &mut Block, mut output: Out<[u64; 4]>) {
    let mine = 1000 + block.thread() as u64;
    let warp = block.warp();
    let seen = [
        warp.shuffle(mine, usize::MAX),
        warp.shuffle_down(mine, 1 << 32),
        warp.shuffle_up(mine, 32),
        warp.shuffle_xor(mine, 1 << 40),
    ];
    for place in block.tiles(output.len()) {
        output.store(block, place, |_| seen);
    }
}
