//! Finds barriers that rustc duplicated.
//!
//! MIR's JumpThreading may copy a block that ends in a known branch, barrier and all (rust-lang/rust#137086); threads then
//! wait at different copies. The builder switches that pass off; this check is there for the next such pass. Before LLVM
//! has inlined or unrolled anything, two calls that lead to a barrier and carry the same source position in one function
//! are copies of one call.

use std::collections::{HashMap, HashSet};

use super::functions::{Function, functions, kernels_of, reached_from};
use super::symbol::{demangle, symbols};
use crate::error::CudaBuilderError;

/// Intrinsics that wait for other threads of the block or warp.
const INTRINSICS: [&str; 3] = [
    "llvm.nvvm.barrier",
    "llvm.nvvm.bar.warp.sync",
    "llvm.nvvm.bar.sync",
];

/// Fails if a call that leads to a barrier stands twice in a function with the same source position.
pub(crate) fn check(ir: &str) -> Result<(), CudaBuilderError> {
    let functions = functions(ir);
    let waiting = waiting_functions(&functions);
    for function in &functions {
        let mut copies: HashMap<&str, usize> = HashMap::new();
        for line in function.body.iter().filter(|line| waits(line, &waiting)) {
            if let Some(position) = position(line) {
                *copies.entry(position).or_default() += 1;
            }
        }
        let duplicated = copies.into_iter().filter(|&(_, copies)| copies > 1).min();
        if let Some((position, copies)) = duplicated {
            return Err(CudaBuilderError::DuplicatedBarrier {
                kernel: kernels_of(&reached_from(&functions), function.name),
                function: demangle(function.name),
                location: line_and_column(ir, position),
                copies,
            });
        }
    }
    Ok(())
}

/// The functions from which a barrier is reached, directly or through calls.
fn waiting_functions<'a>(functions: &[Function<'a>]) -> HashSet<&'a str> {
    let mut waiting = HashSet::new();
    loop {
        let found: Vec<_> = functions
            .iter()
            .filter(|function| !waiting.contains(function.name))
            .filter(|function| function.body.iter().any(|line| waits(line, &waiting)))
            .map(|function| function.name)
            .collect();
        if found.is_empty() {
            return waiting;
        }
        waiting.extend(found);
    }
}

/// Whether the line is a call that may wait at a barrier.
fn waits(line: &str, waiting: &HashSet<&str>) -> bool {
    let Some((_, call)) = line.split_once("call ") else {
        return false;
    };
    if let Some((_, assembly)) = call.split_once(" asm ") {
        return ["bar.", "barrier"]
            .iter()
            .any(|word| assembly.contains(word));
    }
    symbols(call).next().is_some_and(|callee| {
        waiting.contains(callee.name)
            || INTRINSICS
                .iter()
                .any(|intrinsic| callee.name.starts_with(intrinsic))
    })
}

/// The metadata node of the source position: the `!12` in `!dbg !12`.
fn position(line: &str) -> Option<&str> {
    let (_, rest) = line.rsplit_once("!dbg ")?;
    let end = rest[1..]
        .find(|c: char| !c.is_ascii_digit())
        .map_or(rest.len(), |at| at + 1);
    Some(&rest[..end])
}

/// `line:column` of a position's node.
fn line_and_column(ir: &str, node: &str) -> String {
    let field = |text: &str, name: &str| {
        let (_, rest) = text.split_once(name)?;
        Some(rest.split([',', ')']).next()?.to_owned())
    };
    ir.lines()
        .find_map(|line| line.strip_prefix(node)?.strip_prefix(" = "))
        .and_then(|text| {
            Some(format!(
                "line {}:{}",
                field(text, "line: ")?,
                field(text, "column: ")?
            ))
        })
        .unwrap_or_else(|| "an unknown line".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_CALLS: &str = "define ptx_kernel void @k() {\n  call void @wait(), !dbg !4\n  call void @wait(), !dbg !SECOND\n}\n\
        define internal void @wait() {\n  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !2\n}\n\
        !4 = !DILocation(line: 12, column: 9, scope: !1)\n!5 = !DILocation(line: 13, column: 9, scope: !1)\n";

    #[test]
    fn two_barriers_of_the_source_are_two() {
        check(&TWO_CALLS.replace("SECOND", "5")).unwrap();
    }

    #[test]
    fn a_copy_is_found_through_calls_and_named() {
        let error = check(&TWO_CALLS.replace("SECOND", "4"))
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
    fn assembly_counts_and_other_calls_do_not() {
        let kernel = |call: &str| {
            format!(
                "define ptx_kernel void @k() {{\n  call void {call}, !dbg !4\n  call void {call}, !dbg !4\n}}\n"
            )
        };
        check(&kernel("@llvm.assume(i1 true)")).unwrap();
        check(&kernel("asm sideeffect \"bar.sync 1;\", \"\"() #1")).unwrap_err();
    }
}
