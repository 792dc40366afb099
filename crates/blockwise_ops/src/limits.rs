//! A device's limits, checked before a launch.

use blockwise::DeviceProperties;

use crate::{LaunchError, LaunchPlan};

/// Checks a plan against a device's limits.
///
/// A kernel's static shared memory is unknown here: the device adds it in its own check.
///
/// # Errors
/// The first limit that the plan exceeds.
pub fn check(plan: &LaunchPlan, properties: &DeviceProperties) -> Result<(), LaunchError> {
    check_block(plan.block, properties)?;
    let grid = plan.grid;
    if grid.contains(&0) {
        return Err(LaunchError::ZeroGrid { grid });
    }
    if exceeds(grid, properties.max_grid) {
        return Err(LaunchError::TooManyBlocks {
            grid,
            limit: properties.max_grid,
        });
    }
    check_shared(plan.kernel, plan.dynamic_shared_bytes.into(), properties)
}

fn check_block(block: [u32; 3], properties: &DeviceProperties) -> Result<(), LaunchError> {
    if block.contains(&0) {
        return Err(LaunchError::ZeroThreads { block });
    }
    let threads: u128 = block.iter().map(|&extent| u128::from(extent)).product();
    if threads > properties.max_threads_per_block.into() || exceeds(block, properties.max_block) {
        return Err(LaunchError::TooManyThreads {
            block,
            limit: properties.max_threads_per_block,
            dims: properties.max_block,
        });
    }
    Ok(())
}

fn check_shared(
    kernel: &'static str,
    needed: u64,
    properties: &DeviceProperties,
) -> Result<(), LaunchError> {
    if needed > properties.shared_bytes_opt_in.into() {
        return Err(LaunchError::SharedMemory {
            kernel,
            needed,
            limit: properties.shared_bytes_opt_in,
        });
    }
    Ok(())
}

fn exceeds(extents: [u32; 3], limits: [u32; 3]) -> bool {
    extents
        .iter()
        .zip(&limits)
        .any(|(extent, limit)| extent > limit)
}

/// A checked plan with a one-dimensional block and grid. Refuses `shared_bytes` above the device's
/// limit, also what 32 bits cannot hold.
pub(crate) fn plan_1d(
    kernel: &'static str,
    blocks: u32,
    threads: u32,
    shared_bytes: u64,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    // In this order, so that a block that is too large is not reported as too much shared memory.
    check_block([threads, 1, 1], properties)?;
    check_shared(kernel, shared_bytes, properties)?;
    let plan = LaunchPlan {
        kernel,
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        // Checked above against a limit of 32 bits.
        dynamic_shared_bytes: shared_bytes as u32,
    };
    check(&plan, properties)?;
    Ok(plan)
}

/// A checked plan with a two-dimensional block and grid and no dynamic shared memory.
pub(crate) fn plan_2d(
    kernel: &'static str,
    grid: [u32; 2],
    block: [u32; 2],
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    let plan = LaunchPlan {
        kernel,
        grid: [grid[0], grid[1], 1],
        block: [block[0], block[1], 1],
        dynamic_shared_bytes: 0,
    };
    check(&plan, properties)?;
    Ok(plan)
}

/// The number of blocks that cover `items` with `per_block` each, but at most `cap` and at most
/// `limit`: fewer are correct too, because all kernels have grid-stride loops. At least one, except
/// for a cap of zero, which [`check`] refuses.
pub(crate) fn blocks_for(items: usize, per_block: u32, cap: Option<u32>, limit: u32) -> u32 {
    let covering = items.div_ceil(per_block.max(1) as usize).max(1);
    let covering = u32::try_from(covering).unwrap_or(u32::MAX);
    covering.min(cap.unwrap_or(limit)).min(limit)
}

#[cfg(test)]
pub(crate) fn h200() -> DeviceProperties {
    blockwise::Device::emulator().properties().clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(grid: [u32; 3], block: [u32; 3], dynamic_shared_bytes: u32) -> LaunchPlan {
        LaunchPlan {
            kernel: "any",
            grid,
            block,
            dynamic_shared_bytes,
        }
    }

    #[track_caller]
    fn refused(plan: LaunchPlan) -> LaunchError {
        check(&plan, &h200()).expect_err("a limit is broken")
    }

    #[test]
    fn each_limit_itself_is_allowed() {
        let one = [1, 1, 1];
        for block in [[1024, 1, 1], [1, 1024, 1], [16, 1, 64], [32, 32, 1]] {
            assert!(check(&plan(one, block, 0), &h200()).is_ok());
        }
        assert!(
            check(
                &plan([i32::MAX as u32, 65_535, 65_535], one, 227 * 1024),
                &h200()
            )
            .is_ok()
        );
    }

    #[test]
    fn one_more_than_each_limit_is_refused() {
        let one = [1, 1, 1];
        for block in [[1025, 1, 1], [33, 32, 1], [1, 1, 65], [u32::MAX; 3]] {
            assert!(matches!(
                refused(plan(one, block, 0)),
                LaunchError::TooManyThreads { .. }
            ));
        }
        for grid in [[1 << 31, 1, 1], [1, 65_536, 1], [1, 1, 65_536]] {
            assert!(matches!(
                refused(plan(grid, one, 0)),
                LaunchError::TooManyBlocks { .. }
            ));
        }
        let error = refused(plan(one, one, 227 * 1024 + 1)).to_string();
        assert!(
            error.contains("232449") && error.contains("232448"),
            "need and limit: {error}"
        );
    }

    #[test]
    fn nothing_along_any_axis_is_refused() {
        for axis in 0..3 {
            let mut extents = [1; 3];
            extents[axis] = 0;
            assert!(matches!(
                refused(plan([1; 3], extents, 0)),
                LaunchError::ZeroThreads { .. }
            ));
            assert!(matches!(
                refused(plan(extents, [1; 3], 0)),
                LaunchError::ZeroGrid { .. }
            ));
        }
    }

    #[test]
    fn blocks_cover_the_items_up_to_cap_and_limit() {
        assert_eq!(blocks_for(0, 256, None, 100), 1);
        assert_eq!(blocks_for(256, 256, None, 100), 1);
        assert_eq!(blocks_for(257, 256, None, 100), 2);
        assert_eq!(blocks_for(257, 256, Some(1), 100), 1);
        assert_eq!(blocks_for(usize::MAX, 1, None, 100), 100);
        assert_eq!(blocks_for(usize::MAX, 1, Some(200), 100), 100);
        assert_eq!(blocks_for(10, 1, Some(0), 100), 0);
    }
}
