//! The kernels of the book's page of types, which the build script takes from that page.

use cuda_std::prelude::*;

// ANCHOR: block
/// How many elements of each block's share are negative.
#[kernel]
pub fn count_negative(block: &mut Block<256>, x: &[f32], mut counts: Out<u32, PerBlock>) {
    let mut count = 0;
    for place in block.tiles(x.len()) {
        let mine = x.get(place.start() + block.thread());
        count += block.sync_threads_count(mine.is_some_and(|x| *x < 0.0));
    }
    counts.store(block, count);
}
// ANCHOR_END: block

// ANCHOR: shared
/// Turns each tile of 256 elements around.
#[kernel(require(x.len() == y.len(), x.len() % 256 == 0))]
pub fn turn_tiles(
    block: &mut Block<256>,
    mut tile: Shared<[u32; 256]>,
    x: &[u32],
    mut y: Out<u32>,
) {
    for place in block.tiles(x.len()) {
        let written = tile.write(block, |i| x[place.start() + i]);
        let loaded = block.sync_threads(written);
        y.store(block, place, |i| loaded[255 - i % 256]);
        tile = block.sync_threads(loaded);
    }
}

/// The same with one array for all rounds; its barriers are in `fill`.
#[kernel(require(x.len() == y.len(), x.len() % 256 == 0))]
pub fn turn_refilled(block: &mut Block<256>, tile: Shared<[u32; 256]>, x: &[u32], mut y: Out<u32>) {
    let mut tile = tile.refill();
    for place in block.tiles(x.len()) {
        let loaded = tile.fill(block, |i| x[place.start() + i]);
        y.store(block, place, |i| loaded[255 - i % 256]);
    }
}

/// The sum of each block's share, by a tree.
#[kernel(shared(slots = block.threads()))]
pub fn sum_by_tree(
    block: &mut Block,
    slots: Shared<[f32]>,
    x: &[f32],
    mut sums: Out<f32, PerBlock>,
) {
    let share = block.fold_strided(x, 0.0, |sum, x| sum + x);
    let Some(mut slots) = slots.slots(block, share) else {
        return;
    };
    while slots.len() > 1 {
        slots.fold_halves(block, |low, high| low + high);
    }
    if let Some(sum) = slots.mine() {
        sums.store(block, sum);
    }
}
// ANCHOR_END: shared

// ANCHOR: ring
/// Each element plus its neighbour's in the tile.
#[kernel(require(x.len() == y.len()))]
pub fn add_neighbours(
    block: &mut Block<64>,
    mut tiles: Ring<[u32; 64], 2>,
    x: &[u32],
    mut y: Out<u32>,
) {
    for place in block.tiles(x.len()) {
        let tile = tiles.next(block, |i| x.get(place.start() + i).copied().unwrap_or(0));
        y.store(block, place, |i| tile[i % 64] + tile[(i + 1) % 64]);
    }
}
// ANCHOR_END: ring

// ANCHOR: scratch
/// Each element over the largest one of its tile.
#[kernel(require(x.len() == y.len()))]
pub fn over_the_largest(
    block: &mut Block<256>,
    mut scratch: Scratch<f32>,
    x: &[f32],
    mut y: Out<f32>,
) {
    for place in block.tiles(x.len()) {
        let mine = x
            .get(place.start() + block.thread())
            .copied()
            .unwrap_or(0.0);
        let largest = scratch.reduce(block, mine, f32::max);
        y.store(block, place, |_| mine / largest);
    }
}
// ANCHOR_END: scratch

// ANCHOR: warp
/// Each element less the one before it in its warp; the first of a warp less itself.
#[kernel(require(x.len() == y.len()))]
pub fn steps_in_warps(block: &mut Block<256>, x: &[i32], mut y: Out<i32>) {
    for place in block.tiles(x.len()) {
        let mine = x.get(place.start() + block.thread()).copied().unwrap_or(0);
        let before = block.warp().shuffle_up(mine, 1);
        y.store(block, place, |_| mine - before);
    }
}
// ANCHOR_END: warp

// ANCHOR: out
/// Negative elements become 0.
#[kernel]
pub fn clip(mut y: Out<f32>) {
    for (_, y) in y.mine() {
        *y = y.max(0.0);
    }
}

/// y = 2 x, with four loads of a thread in flight.
#[kernel(require(x.len() == y.len()))]
pub fn double_by_fours(block: &mut Block<256>, x: &[f32], mut y: Out<f32, Strided<4>>) {
    for place in block.tiles_of(y.len()) {
        y.store(block, place, |i| 2.0 * x[i]);
    }
}
// ANCHOR_END: out

// ANCHOR: matrix
/// b = a, turned around.
#[kernel(require(a.rows() == b.cols(), a.cols() == b.rows()))]
pub fn turn_matrix(
    block: &mut Block<32, 8>,
    tile: Shared<Tile<f32, 32, 32, 33>>,
    a: Matrix<f32>,
    mut b: OutMatrix<f32, 32, 32>,
) {
    let mut tile = tile.refill();
    for top in block.tiles_y::<32>(b.rows()) {
        for left in block.tiles_x::<32>(b.cols()) {
            let loaded = tile.fill(block, |(r, c)| {
                a.or_default(left.start() + r, top.start() + c)
            });
            b.store(block, top, left, |own| loaded[own.col][own.row]);
        }
    }
}
// ANCHOR_END: matrix

// ANCHOR: atomics
/// The bytes of a text by value: counted in shared memory, then added once per block.
#[kernel(require(counts.len() == 256))]
pub fn count_bytes(
    block: &mut Block<256>,
    bins: Shared<[u32; 256]>,
    text: &[u8],
    counts: Atomics<u32>,
) {
    let zeroed = bins.zeroed(block);
    let bins = block.sync_threads(zeroed);
    for place in block.tiles(text.len()) {
        if let Some(&byte) = text.get(place.start() + block.thread()) {
            bins.add(usize::from(byte), 1);
        }
    }
    let bins = block.sync_threads(bins);
    counts.add(block.thread(), bins[block.thread()]);
}
// ANCHOR_END: atomics

// ANCHOR: append
/// Keeps the positive elements, in any order.
#[kernel]
pub fn keep_positive(
    block: &mut Block<256>,
    mut scratch: Scratch<u64>,
    x: &[f32],
    mut kept: Append<f32>,
) {
    for place in block.tiles_of::<8>(x.len()) {
        let (load, choose) = (|i| x.get(i).copied(), |x| (x > 0.0).then_some(x));
        kept.store(block, &mut scratch, place, load, choose);
    }
}

/// `sorted[order[i]] = x[i]`
#[kernel(require(x.len() == sorted.len()))]
pub fn put_in_order(x: &[f32], mut sorted: Scatter<f32>) {
    for (i, mut element) in sorted.mine() {
        *element = x[i];
    }
}
// ANCHOR_END: append

#[cfg(not(target_arch = "nvptx64"))]
// ANCHOR: host
/// How often `l` is in a text, and three numbers put in order.
pub fn launch_some(device: &blockwise::Device) -> blockwise::Result<(u32, Vec<f32>)> {
    let text = device.upload(b"hello, all")?;
    let mut counts = device.zeros::<u32>(256)?;
    count_bytes::on(device)?
        .grid(4)
        .launch(&text, &mut counts)?;

    let order = blockwise::Permutation::new(device.upload(&[2, 0, 1])?)?;
    let x = device.upload(&[9.0, 3.0, 1.0, 2.0])?;
    let mut sorted = device.zeros::<f32>(3)?;
    let put = put_in_order::on(device)?.covering(3)?;
    put.launch(x.view(1..), (&mut sorted, &order))?;
    Ok((counts.to_vec()?[usize::from(b'l')], sorted.to_vec()?))
}
// ANCHOR_END: host
