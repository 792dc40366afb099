//! Positions, votes and tiles of the grid.

use safe_kernels::positions::{EACH, positions, tiles_in_space, votes};

use super::{GRIDS, LENGTHS, device, for_each_block, numbers, threads, values};

#[test]
fn threads_and_blocks_are_counted_x_first() {
    let device = &device();
    for grid in GRIDS {
        for_each_block!(device, positions, |kernel, block| {
            let (per_block, blocks) = (threads(block), threads(grid));
            let mut output = device.upload(&vec![0; per_block * blocks * EACH]).unwrap();
            kernel.grid(grid).launch(&mut output).unwrap();
            let split = |n: usize, [x, y, _]: [u32; 3]| {
                let (x, y) = (x as usize, y as usize);
                [n % x, n / x % y, n / x / y].map(|axis| axis as u32)
            };
            for (i, got) in values(&output).chunks(EACH).enumerate() {
                let (t, b) = (i % per_block, i / per_block);
                let ([x, y, z], [bx, by, bz]) = (split(t, block), split(b, grid));
                let expected = [t as u32, x, y, z, per_block as u32, b as u32, bx, by, bz];
                assert_eq!(got, expected, "{block:?}, {grid:?}");
            }
        });
    }
}

#[test]
fn barriers_that_vote() {
    let device = &device();
    for len in LENGTHS {
        for odd in [0, 1, 2] {
            // Some, none or all are odd.
            let host = Vec::from_iter(
                numbers(len)
                    .into_iter()
                    .map(|x| if odd == 2 { x } else { 2 * x + odd }),
            );
            let input = device.upload(&host).unwrap();
            for_each_block!(device, votes, |kernel, block| {
                let mut output = device.zeros(len).unwrap();
                kernel.grid(2).launch(&input, &mut output).unwrap();
                let per_block = threads(block);
                let expected = (0..len).map(|i| {
                    let start = i / per_block * per_block;
                    let is_odd = |at: usize| host.get(at).is_none_or(|x| x % 2 == 1);
                    let odd = (start..start + per_block).filter(|&at| is_odd(at)).count();
                    [odd as u32, u32::from(odd == per_block), u32::from(odd > 0)]
                });
                assert_eq!(
                    values(&output),
                    Vec::from_iter(expected),
                    "{block:?}, {len}"
                );
            });
        }
    }
}

#[test]
fn each_tile_of_space_is_one_blocks() {
    let device = device();
    for grid in [(1, 1, 1), (2, 3, 2), (4, 1, 5)] {
        let (width, height, depth) = (23, 5, 10);
        let mut output = device.upload(&[0_u32]).unwrap();
        let kernel = tiles_in_space::on(&device).unwrap().grid(grid);
        kernel.launch(&mut output, width, height, depth).unwrap();
        let starts = |len: usize, tile: usize| (0..len).step_by(tile);
        let expected: usize = starts(width, 5)
            .flat_map(|x| starts(height, 2).map(move |y| x + 100 * y))
            .flat_map(|xy| starts(depth, 3).map(move |z| 1 + xy + 10_000 * z))
            .sum();
        assert_eq!(values(&output), [expected as u32], "{grid:?}");
    }
}
