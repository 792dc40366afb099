//! Checks made before a launch.

use crate::decode::Entry;
use crate::decode::Function;
use crate::error::InvalidLaunch;
use crate::exec::MAX_SHARED_BYTES;
use crate::launch::LaunchConfig;
use crate::limits::Limits;
use crate::metrics::{Demand, H200, Occupancy};

/// Limit for the registers, constants and local memory of one block, in bytes of host memory.
const MAX_BLOCK_BYTES: u64 = 1 << 30;

pub(crate) fn shape(
    config: LaunchConfig,
    limits: &Limits,
    function: &Function,
) -> Result<(), InvalidLaunch> {
    let fits = |extents: [u32; 3], limit: [u32; 3]| {
        extents
            .iter()
            .zip(limit)
            .all(|(&n, limit)| n > 0 && n <= limit)
    };
    if !fits(config.grid, limits.grid_dims) {
        return Err(InvalidLaunch::Grid {
            grid: config.grid,
            limit: limits.grid_dims,
        });
    }
    let volume = |extents: [u32; 3]| {
        extents
            .iter()
            .map(|&n| u64::from(n))
            .try_fold(1_u64, u64::checked_mul)
    };
    let threads = volume(config.block);
    let mut most = u64::from(limits.threads_per_block);
    if let Some(limit) = function.max_threads.and_then(volume) {
        most = most.min(limit);
    }
    if let Some(required) = function.required_threads
        && required != config.block
    {
        return Err(InvalidLaunch::OtherBlock {
            block: config.block,
            required,
        });
    }
    if !fits(config.block, limits.block_dims) || threads.is_none_or(|threads| threads > most) {
        return Err(InvalidLaunch::Block {
            block: config.block,
            limit: limits.block_dims,
            threads: most as u32,
        });
    }
    let clusters = function.cluster;
    if config
        .grid
        .iter()
        .zip(clusters)
        .any(|(grid, cluster)| grid % cluster != 0)
    {
        return Err(InvalidLaunch::Cluster {
            grid: config.grid,
            cluster: clusters,
        });
    }
    // Blocks are counted in 64 bits.
    match volume(config.grid) {
        Some(_) => Ok(()),
        None => Err(InvalidLaunch::Grid {
            grid: config.grid,
            limit: limits.grid_dims,
        }),
    }
}

/// The bytes of the param space.
pub(crate) fn arguments(entry: &Entry, args: &[&[u8]]) -> Result<Vec<u8>, InvalidLaunch> {
    let kernel = || entry.name().to_owned();
    if args.len() != entry.slots.len() {
        return Err(InvalidLaunch::ArgumentCount {
            kernel: kernel(),
            expected: entry.slots.len(),
            given: args.len(),
        });
    }
    let end = entry.slots.last().map_or(0, |slot| slot.offset + slot.size);
    let mut params = vec![0; end as usize];
    for (index, (slot, arg)) in entry.slots.iter().zip(args).enumerate() {
        if arg.len() != slot.size as usize {
            let (expected, given) = (slot.size, arg.len());
            return Err(InvalidLaunch::ArgumentSize {
                kernel: kernel(),
                index,
                expected,
                given,
            });
        }
        params[slot.offset as usize..][..arg.len()].copy_from_slice(arg);
    }
    Ok(params)
}

/// The shared bytes of a block.
pub(crate) fn shared(
    fixed: u64,
    config: LaunchConfig,
    limits: &Limits,
) -> Result<u64, InvalidLaunch> {
    let dynamic = u64::from(config.dynamic_shared_bytes);
    let needed = fixed.saturating_add(dynamic);
    let refused = |limit| {
        Err(InvalidLaunch::Shared {
            needed,
            fixed,
            dynamic,
            limit,
        })
    };
    if fixed > u64::from(limits.shared_bytes_per_block) {
        return refused(u64::from(limits.shared_bytes_per_block));
    }
    let limit = u64::from(limits.shared_bytes_opt_in).min(MAX_SHARED_BYTES);
    if needed > limit {
        refused(limit)
    } else {
        Ok(needed)
    }
}

/// Whether all blocks fit on a device at the same time.
pub(crate) fn cooperative(
    entry: &Entry,
    config: LaunchConfig,
    shared_bytes: u64,
) -> Result<(), InvalidLaunch> {
    let demand = Demand {
        threads: config.block.iter().product(),
        registers: None,
        shared_bytes: u32::try_from(shared_bytes).unwrap_or(u32::MAX),
    };
    let most = u64::from(Occupancy::of(demand, &H200).blocks * H200.multiprocessors);
    let blocks = config
        .grid
        .iter()
        .map(|&extent| u64::from(extent))
        .product();
    if blocks > most {
        let kernel = entry.name().to_owned();
        return Err(InvalidLaunch::Cooperative {
            kernel,
            blocks,
            most,
        });
    }
    Ok(())
}

/// Checks the host memory that one block needs.
pub(crate) fn resources(
    entry: &Entry,
    function: &Function,
    config: LaunchConfig,
    limits: &Limits,
) -> Result<(), InvalidLaunch> {
    let refused = |what, needed, limit| {
        Err(InvalidLaunch::Resources {
            kernel: entry.name().to_owned(),
            what,
            needed,
            limit,
        })
    };
    let local = u64::from(function.local_bytes);
    if local > u64::from(limits.local_bytes_per_thread) {
        return refused(
            "local memory for each thread",
            local,
            limits.local_bytes_per_thread.into(),
        );
    }
    let threads: u64 = config.block.iter().map(|&n| u64::from(n)).product();
    let rows = u64::from(function.rows.w32) * 4 + u64::from(function.rows.w64) * 8;
    let needed = threads.next_multiple_of(32) * (rows + local);
    if needed > MAX_BLOCK_BYTES {
        refused(
            "registers and local memory for each block",
            needed,
            MAX_BLOCK_BYTES,
        )
    } else {
        Ok(())
    }
}
