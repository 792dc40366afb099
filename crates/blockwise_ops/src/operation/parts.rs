//! Parts of a problem, one launch each.

use blockwise::DeviceProperties;

use super::{Operation, Options, Parts, Problem, Task, Variant, choose};
use crate::LaunchError;

/// The options for computing a problem in runs of its outputs ([`Parts::Windows`]). The kernel is
/// the whole problem's, so that direct sums keep their bits. If it computes no parts, it is the
/// fastest that does, or `None` if the caller chose the kernel.
///
/// # Errors
/// If the kernel belongs to another operation, or this operation is not divided into windows.
pub fn in_parts(
    operation: &'static Operation,
    problem: &Problem,
    options: &Options,
    device: &DeviceProperties,
) -> Result<Option<Options>, LaunchError> {
    let Parts::Windows(windows) = operation.parts else {
        let operation = operation.name;
        return Err(LaunchError::NotDivided { operation });
    };
    let outputs = (operation.lens)(problem).output;
    // Any part will do: a variant computes all of them, or none.
    let part = (windows.part)(problem, 0..outputs.saturating_sub(1).max(1)).problem;
    let chosen = choose(operation, problem, options, device)?.variant;
    let task = Task::new(chosen, &part, options, device);
    let able = |variant: &'static Variant| match (variant.plan)(&task.of(variant)) {
        Err(LaunchError::NoParts { .. }) => false,
        planned => variant == chosen || planned.is_ok(),
    };
    let of = |kernel| Options {
        kernel: Some(kernel),
        ..*options
    };
    if able(chosen) {
        return Ok(Some(of(chosen)));
    }
    if options.kernel.is_some() {
        return Ok(None);
    }
    let others = operation.variants.iter().copied();
    let others = others.filter(|variant| variant.hold.is_none() && able(variant));
    let times = others.filter_map(|variant| Some((variant, variant.nanoseconds(&task)?)));
    let fastest = times.min_by(|(_, one), (_, other)| one.total_cmp(other));
    Ok(fastest.map(|(variant, _)| of(variant)))
}
