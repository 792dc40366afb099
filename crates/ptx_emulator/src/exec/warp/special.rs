//! Special registers, filled in when a frame is created.

use crate::decode::Special;
use crate::exec::frame::{ALL, Row32};
use crate::exec::launch::Launch;

/// The number of an H200.
const MULTIPROCESSORS: u32 = 132;

/// A special register's value in each lane of a warp.
pub(super) fn special_row(
    special: Special,
    launch: &Launch<'_>,
    (block, rank): ([u32; 3], u32),
    warp: u32,
) -> Row32 {
    let cluster = launch.cluster;
    let along = |axis: u8, value: &dyn Fn(u32, u32) -> u32| {
        let axis = usize::from(axis);
        value(block[axis], cluster[axis])
    };
    let uniform = |value: u32| [value; 32];
    let by_lane = |value: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| value(lane as u32));
    match special {
        Special::ThreadIndex(axis) => thread_indices(launch.config.block, warp, axis),
        Special::BlockSize(axis) => uniform(launch.config.block[usize::from(axis)]),
        Special::BlockIndex(axis) => uniform(block[usize::from(axis)]),
        Special::GridSize(axis) => uniform(launch.config.grid[usize::from(axis)]),
        Special::Lane => by_lane(&|lane| lane),
        Special::Warp => uniform(warp),
        Special::WarpCount => uniform(64),
        Special::Multiprocessor => uniform(block[0] % MULTIPROCESSORS),
        Special::MultiprocessorCount => uniform(MULTIPROCESSORS),
        Special::Grid => uniform(1),
        Special::LanesEqual => by_lane(&|lane| 1 << lane),
        Special::LanesLess => by_lane(&|lane| (1 << lane) - 1),
        Special::LanesLessEqual => by_lane(&|lane| ALL >> (31 - lane)),
        Special::LanesGreater => by_lane(&|lane| (ALL << lane) & !(1 << lane)),
        Special::LanesGreaterEqual => by_lane(&|lane| ALL << lane),
        Special::ClusterRank => uniform(rank),
        Special::ClusterRanks => uniform(cluster.iter().product()),
        Special::ClusterBlockIndex(axis) => uniform(along(axis, &|block, extent| block % extent)),
        Special::ClusterSize(axis) => uniform(cluster[usize::from(axis)]),
        Special::ClusterIndex(axis) => uniform(along(axis, &|block, extent| block / extent)),
        Special::ClusterGridSize(axis) => {
            let axis = usize::from(axis);
            uniform(launch.config.grid[axis] / cluster[axis])
        }
        Special::DynamicShared => uniform(launch.config.dynamic_shared_bytes),
        Special::TotalShared => uniform(launch.own_shared_bytes as u32),
    }
}

/// `%tid` of a warp's threads along an axis.
fn thread_indices([x, y, _]: [u32; 3], warp: u32, axis: u8) -> Row32 {
    let first = 32 * warp;
    let mut thread = [first % x, first / x % y, first / x / y];
    std::array::from_fn(|_| {
        let index = thread[usize::from(axis)];
        thread[0] += 1;
        if thread[0] == x {
            thread = [0, thread[1] + 1, thread[2]];
        }
        if thread[1] == y {
            thread = [0, 0, thread[2] + 1];
        }
        index
    })
}
