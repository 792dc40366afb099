//! The copy of the module to analyse: the kernels that wait and what they reach, reduced to control
//! flow.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::error::CudaBuilderError;
use crate::ir::module::{Function, Item, Module, Opcode, has};

/// Makes [the copy](text) readable: functions are inlined and variables become values. No pass here
/// merges, moves, duplicates or inverts control flow; code that is dropped decides nothing.
pub(super) fn passes(kernels: &[&str]) -> String {
    let kept: Vec<_> = kernels
        .iter()
        .map(|name| format!("preserve-gv={name}"))
        .collect();
    let kept = kept.join(";");
    // First everything that rustc wants inlined, then the rest bottom-up, so that a caller is
    // judged with its simplified callees.
    let readable = "function(sroa<preserve-cfg>,early-cse,sccp,adce)";
    format!(
        "internalize<{kept}>,globaldce,function(sroa<preserve-cfg>,early-cse),always-inline,cgscc(inline,{readable}),globaldce"
    )
}

/// Keeps LLVM from emitting what nothing here reads.
pub(super) const SETTINGS: [&str; 3] = [
    // Inlines even large closures: what they capture by reference is a value only in their caller.
    "-inline-threshold=500",
    "-enable-noalias-to-md-conversion=false",
    "-preserve-alignment-assumptions-during-inlining=false",
];

/// The copy of the reachable symbols, as text without tables: with the module's numbers of attribute
/// groups and metadata.
///
/// - Every function that waits is inlined, regardless of its attributes, unless it is recursive.
/// - Functions that never return and do not wait are empty: a thread that panics exits.
/// - Source positions remain only on branches, comparisons, calls, loads and stores.
pub(super) fn text(
    module: &Module<'_>,
    reached: &HashSet<&str>,
    waiting: &HashSet<&str>,
) -> Result<String, CudaBuilderError> {
    let groups = module.groups();
    let inlined = 1 + groups.keys().max().copied().unwrap_or(0);
    let mut text = String::new();
    for item in &module.items {
        match item {
            Item::Function(function) if reached.contains(function.name()) => {
                let waits = waiting.contains(function.name());
                let mut head = function.head.clone();
                if waits && !function.is_kernel() {
                    head.set_group(inlined)?;
                }
                let group = function.head.group().and_then(|group| groups.get(&group));
                let is_end = !waits && group.is_some_and(|group| has(group.list(), "noreturn"));
                text.push_str(head.text());
                text.push('\n');
                match is_end {
                    true => text.push_str("  unreachable\n"),
                    false => body(&mut text, function, waiting)?,
                }
                text.push_str("}\n");
            }
            Item::Function(_) | Item::Attributes(_) | Item::Metadata(_) => {}
            Item::Global(global) if !reached.contains(global.name()) => {}
            Item::Declaration(head) if !reached.contains(head.name()) => {}
            item => {
                let _ = write!(text, "{item}");
            }
        }
    }
    let _ = writeln!(
        text,
        "attributes #{inlined} = {{ alwaysinline convergent nounwind }}"
    );
    Ok(text)
}

fn body(
    text: &mut String,
    function: &Function<'_>,
    waiting: &HashSet<&str>,
) -> Result<(), CudaBuilderError> {
    for block in &function.blocks {
        // A name of digits would be a different one in quotes.
        let is_number = block.label.bytes().all(|byte| byte.is_ascii_digit());
        let quote = if is_number { "" } else { "\"" };
        let _ = writeln!(text, "{quote}{}{quote}:", block.label);
        for instruction in &block.instructions {
            let operation = instruction.operation();
            let (operation, keeps_position) = match (instruction.opcode(), instruction.call()?) {
                (Opcode::DebugRecord, _) => continue,
                (_, Some(call)) if call.function().is_some_and(is_left_out) => continue,
                // rustc writes `noinline` on calls too.
                (_, Some(call)) if call.function().is_some_and(|name| waiting.contains(name)) => {
                    let end = operation.len() - (instruction.operands().len() - call.attributes_at);
                    (&operation[..end], true)
                }
                (opcode, call) => {
                    // Reports mention these: branches, and instructions that they may depend on.
                    let told = matches!(
                        opcode,
                        Opcode::Br | Opcode::Switch | Opcode::Load | Opcode::Store | Opcode::ICmp
                    );
                    (operation, told || call.is_some())
                }
            };
            text.push_str("  ");
            text.push_str(instruction.result_text());
            text.push_str(operation);
            if keeps_position {
                text.push_str(&instruction.position_text());
            }
            text.push('\n');
        }
    }
    Ok(())
}

/// Whether calls of an intrinsic can be dropped.
fn is_left_out(intrinsic: &str) -> bool {
    let left_out = ["lifetime.", "assume", "experimental.", "dbg."];
    let name = intrinsic.strip_prefix("llvm.");
    name.is_some_and(|name| left_out.iter().any(|left| name.starts_with(left)))
}
