//! Finds barriers that rustc duplicated.
//!
//! MIR's JumpThreading may duplicate a block that ends in a known branch, including its barrier
//! (rust-lang/rust#137086); threads then wait at different copies. The builder disables that pass;
//! this check guards against the next one. Before LLVM has inlined or unrolled anything, two calls
//! in one function that lead to a barrier and have the same source position are copies of one call,
//! unless they pass different constants: then they come from a repetition in a macro.

use std::collections::BTreeMap;

use super::calls::kernels_of;
use super::module::{Module, Nodes, value};
use super::names::demangle;
use super::waiting::Waiting;
use crate::error::CudaBuilderError;

/// Fails if a function contains two calls that lead to a barrier with the same source position and
/// the same constant arguments.
pub(crate) fn check(module: &Module<'_>) -> Result<(), CudaBuilderError> {
    let waiting = Waiting::of(module)?;
    for function in module.functions() {
        let mut copies: BTreeMap<(&str, Vec<i64>), usize> = BTreeMap::new();
        for instruction in function.instructions() {
            if let Some(call) = instruction.call()?
                && waiting.waits(&call)
                && let Some(position) = instruction.position()
            {
                let numbers = call.arguments().filter_map(|text| value(text).parse().ok());
                *copies.entry((position, numbers.collect())).or_default() += 1;
            }
        }
        let duplicated = copies.into_iter().find(|&(_, copies)| copies > 1);
        if let Some(((position, _), copies)) = duplicated {
            return Err(CudaBuilderError::DuplicatedBarrier {
                kernel: kernels_of(module, function.name()),
                function: demangle(function.name()),
                location: line_and_column(module, position),
                copies,
            });
        }
    }
    Ok(())
}

/// `line 12:9` for a position's node.
fn line_and_column(module: &Module<'_>, position: &str) -> String {
    let nodes = Nodes::of(module);
    nodes.frames(position).first().map_or_else(
        || "an unknown line".to_owned(),
        |frame| format!("line {}:{}", frame.line, frame.column),
    )
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::error::CudaBuilderError;
    use crate::ir::module::Module;

    const TWO_CALLS: &str = "define ptx_kernel void @k() {\n  call void @wait(), !dbg !4\n  call void @wait(), !dbg !SECOND\n  ret void\n}\n\
        define internal void @wait() {\n  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !2\n  ret void\n}\n\
        !1 = distinct !DISubprogram(name: \"k\", scope: !3, file: !3, line: 1)\n!3 = !DIFile(filename: \"lib.rs\", directory: \"/\")\n\
        !4 = !DILocation(line: 12, column: 9, scope: !1)\n!5 = !DILocation(line: 13, column: 9, scope: !1)\n";

    fn check_text(ir: &str) -> Result<(), CudaBuilderError> {
        check(&Module::parse(ir).unwrap())
    }

    #[test]
    fn two_barriers_of_the_source_are_two() {
        check_text(&TWO_CALLS.replace("SECOND", "5")).unwrap();
    }

    #[test]
    fn calls_with_other_numbers_are_no_copies() {
        let repeated = |first, second| {
            let call = |number| format!("  call void @wait(ptr %p, i64 {number}), !dbg !4\n");
            let calls = [call(first), call(second)].concat();
            check_text(&TWO_CALLS.replace(
                "  call void @wait(), !dbg !4\n  call void @wait(), !dbg !SECOND\n",
                &calls,
            ))
        };
        repeated(0, 1).unwrap();
        repeated(1, 1).unwrap_err();
    }

    #[test]
    fn a_copy_is_found_through_calls_and_named() {
        let error = check_text(&TWO_CALLS.replace("SECOND", "4"))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(
                "kernel `k`: the compiler duplicated the barrier at line 12:9 in `k` (2 copies)"
            ),
            "{error}"
        );
    }

    #[test]
    fn calls_that_do_not_wait_may_stand_twice() {
        let kernel = |call: &str| {
            format!(
                "define ptx_kernel void @k() {{\n  call void {call}, !dbg !4\n  call void {call}, !dbg !4\n  ret void\n}}\n"
            )
        };
        check_text(&kernel("@llvm.assume(i1 true)")).unwrap();
        check_text(&kernel("asm sideeffect \"membar.cta;\", \"\"() #1")).unwrap();
        check_text(&kernel("asm sideeffect \"bar.sync 1;\", \"\"() #1")).unwrap_err();
    }
}
