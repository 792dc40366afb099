//! Finds outputs that no thread wrote.

use blockwise_ops::{Element, LaunchPlan};

/// What a launch left unwritten in an output that was poisoned before it, with the kernel's place
/// in its source; `None` when the grid covered everything.
///
/// `ptx` is the text that the kernel was loaded from. A value of all ones counts as unwritten, so
/// the inputs must not lead to one.
pub fn unwritten<T: Element>(ptx: &str, plan: &LaunchPlan, output: &[T]) -> Option<String> {
    let poisoned = |value: &T| {
        bytemuck::bytes_of(value)
            .iter()
            .all(|&byte| byte == u8::MAX)
    };
    let first = output.iter().position(poisoned)?;
    let count = output.iter().filter(|value| poisoned(value)).count();
    let place = ptx_emulator::Module::parse(ptx)
        .ok()
        .and_then(|module| module.entry(plan.kernel)?.location())
        .map_or_else(|| "an unknown line".to_owned(), |place| place.to_string());
    let ([columns, rows, layers], block) = (plan.grid, plan.block);
    Some(format!(
        "uncovered grid: {columns} x {rows} x {layers} blocks of {block:?} threads never wrote {count} of {} outputs, the first at {first}\n  \
         in kernel `{}`\n  at {place}",
        output.len(),
        plan.kernel
    ))
}
