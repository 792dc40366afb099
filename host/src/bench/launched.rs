//! A launch, in a line for people.

use blockwise_ops::LaunchPlan;
use blockwise_ops::operation::{Operation, Plan, Variant};

/// Variant, kernel, grid and block. Of operands that begin elsewhere, another variant than the
/// selected one may have been taken.
pub(super) fn launched(of: &Operation, selected: &'static Variant, plan: &Plan) -> String {
    let has = |variant: &&'static Variant| variant.kernels.contains(plan.kernel);
    let variants = [selected].into_iter().chain(of.variants.iter().copied());
    let variant = variants.into_iter().find(has).unwrap_or(selected);
    let LaunchPlan {
        kernel,
        grid,
        block,
        dynamic_shared_bytes,
    } = plan.launch;
    let by = |extents: [u32; 3]| match extents {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x}x{y}"),
        [x, y, z] => format!("{x}x{y}x{z}"),
    };
    let shared = match dynamic_shared_bytes {
        0 => String::new(),
        bytes => format!(", {bytes} B shared"),
    };
    let (grid, block) = (by(grid), by(block));
    format!("{variant}: {kernel}, {grid} blocks of {block}{shared}")
}

#[cfg(test)]
mod tests {
    use blockwise::{Device, Type};
    use blockwise_ops::Options;
    use blockwise_ops::operation::{Problem, plan};
    use blockwise_ops::transpose::{PADDED, TILED, TRANSPOSE};

    use super::*;

    #[test]
    fn the_variant_is_that_of_the_kernel() {
        let device = Device::emulator();
        let problem = Problem::new(Type::F32, &[40, 70]);
        let plan = plan(
            &TRANSPOSE,
            &problem,
            &Options::of(&TILED),
            device.properties(),
        );
        let plan = plan.expect("a plan").expect("a launch");
        let text = launched(&TRANSPOSE, &TILED, &plan);
        assert_eq!(text, "tiled: transpose_tiled_u32, 3x2 blocks of 32x8");
        assert_eq!(launched(&TRANSPOSE, &PADDED, &plan), text);
    }
}
