//! The instances that `blockwise tune` compares.

use kernels::matmul::direct::DirectTiles;
use kernels::matmul::mma::MmaTiles;
use kernels::matmul::policy::Tiles;
use kernels::matmul::slices::Cut;

use super::{extents, plan};
use crate::operation::{Options, Task};

/// Instances of `pipelined`, with a block for each tile or with few blocks that stay.
pub(super) fn tiles(task: &Task<'_>) -> Vec<(Options, String)> {
    let blocks = task.device.multiprocessors_to_fill();
    let each = |tiles: Tiles| {
        [None, Some(2), Some(3), Some(4)].map(|each: Option<u32>| {
            let options = Options {
                instance: Some(tiles as u8),
                grid_cap: each.map(|each| each * blocks),
                ..Options::of(task.variant)
            };
            let stay = each.map(|each| format!(", {each} blocks a multiprocessor"));
            let policy = plan::described(&tiles.policy());
            (
                options,
                format!("{tiles:?}: {policy}{}", stay.unwrap_or_default()),
            )
        })
    };
    Tiles::ALL.into_iter().flat_map(each).collect()
}

/// Instances of `sliced` with several numbers of slices.
pub(super) fn cuts(task: &Task<'_>) -> Vec<(Options, String)> {
    let [_, inner, _] = extents(task.problem);
    let slices = [1, 2, 4, 8, 16, 64].into_iter();
    let slices = slices.filter(|&slices| 32 * slices as usize <= inner.max(32));
    let of = |cut: Cut| {
        slices.clone().map(move |slices: u32| {
            let options = Options {
                instance: Some(cut as u8),
                count: slices.try_into().ok(),
                ..Options::of(task.variant)
            };
            let policy = plan::described(&cut.policy(true));
            (options, format!("{cut:?}: {policy}, {slices} slices"))
        })
    };
    Cut::ALL.into_iter().flat_map(of).collect()
}

/// Instances of `mma`, in as many slices as the launcher takes for its own choice of tiles.
pub(super) fn mma_tiles(task: &Task<'_>) -> Vec<(Options, String)> {
    let of = |tiles: MmaTiles| {
        let options = Options {
            instance: Some(tiles as u8),
            ..Options::of(task.variant)
        };
        let policy = plan::described(&tiles.policy(true));
        (options, format!("{tiles:?}: {policy}"))
    };
    MmaTiles::ALL.map(of).into()
}

/// Instances of `direct`.
pub(super) fn direct_tiles(task: &Task<'_>) -> Vec<(Options, String)> {
    let of = |tiles: DirectTiles| {
        let options = Options {
            instance: Some(tiles as u8),
            ..Options::of(task.variant)
        };
        let [rows, cols] = tiles.sides();
        (options, format!("{tiles:?}: {rows} x {cols}"))
    };
    DirectTiles::ALL.map(of).into()
}
