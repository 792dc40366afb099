//! Finds accesses to shared memory that are still generic after the optimiser.
//!
//! Such an access is slower, and relies on a chain of passes to be right (rust-cuda#402 is a store that came out wrong). A
//! kernel that keeps its shared pointers in inlined code has none.

use std::collections::HashMap;

use super::functions::{Function, functions, kernels_of, reached_from};
use super::symbol::{demangle, symbols};
use crate::error::CudaBuilderError;

/// Fails if any function reads or writes memory through a generic pointer made from a shared one.
pub(crate) fn check(ir: &str) -> Result<(), CudaBuilderError> {
    let functions = functions(ir);
    for function in &functions {
        if let Some((variable, access)) = generic_access(function) {
            return Err(CudaBuilderError::GenericSharedAccess {
                kernel: kernels_of(&reached_from(&functions), function.name),
                variable,
                function: demangle(function.name),
                access,
            });
        }
    }
    Ok(())
}

/// The first instruction that uses such a pointer, and the variable behind it.
fn generic_access(function: &Function<'_>) -> Option<(String, String)> {
    // Generic pointers to shared memory: register name -> variable. A phi may come before its operand's definition, so go
    // round until nothing new is found.
    let mut tainted: HashMap<&str, String> = HashMap::new();
    loop {
        let known = tainted.len();
        for line in &function.body {
            let Some(variable) = shared_operand(line, &tainted) else {
                continue;
            };
            let (result, instruction) = split_result(line);
            let opcode = instruction
                .split(' ')
                .find(|word| !matches!(*word, "tail" | "musttail" | "notail"))
                .unwrap_or("");
            match (opcode, result) {
                (
                    "getelementptr" | "phi" | "select" | "freeze" | "addrspacecast" | "inttoptr",
                    Some(result),
                ) => {
                    tainted.insert(result, variable);
                }
                // The address itself, as a number or compared, touches no memory.
                ("ptrtoint" | "icmp", _) => {}
                // Assembly says itself which space it accesses: `isspacep`, `cvta`, `cp.async` take generic addresses.
                ("call", _) if instruction.contains(" asm ") => {}
                _ => return Some((variable, opcode.to_owned())),
            }
        }
        if tainted.len() == known {
            return None;
        }
    }
}

/// The shared variable behind a generic pointer among the line's operands.
fn shared_operand(line: &str, tainted: &HashMap<&str, String>) -> Option<String> {
    let (_, instruction) = split_result(line);
    if let Some((_, cast)) = instruction.split_once("addrspacecast (ptr addrspace(3)") {
        return Some(
            symbols(cast)
                .next()
                .map_or_else(|| "?".to_owned(), |symbol| demangle(symbol.name)),
        );
    }
    if let Some(source) = instruction.strip_prefix("addrspacecast ptr addrspace(3) ") {
        let pointer = source.split(' ').next().unwrap_or("?");
        return Some(format!("{pointer} (a shared pointer)"));
    }
    instruction
        .split(|c: char| !(c.is_ascii_alphanumeric() || "%-$._".contains(c)))
        .find_map(|word| tainted.get(word).cloned())
}

/// `  %1 = load …` as (`%1`, `load …`).
fn split_result(line: &str) -> (Option<&str>, &str) {
    let line = line.trim_start();
    match line.split_once(" = ") {
        Some((result, instruction)) if result.starts_with('%') => (Some(result), instruction),
        _ => (None, line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAST: &str = "addrspacecast (ptr addrspace(3) @s to ptr)";

    #[track_caller]
    fn check_body(body: &str, expected: Result<(), &str>) {
        let ir = format!("define ptx_kernel void @k(ptr %0) {{\n{body}}}\n");
        match (check(&ir), expected) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (result, _) => panic!("{result:?}"),
        }
    }

    #[test]
    fn specific_accesses_and_plain_addresses_pass() {
        check_body(
            "  store i32 1, ptr addrspace(3) @s, align 4\n  %1 = load i32, ptr %0, align 4\n",
            Ok(()),
        );
        check_body(&format!("  %1 = ptrtoint ptr {CAST} to i64\n"), Ok(()));
    }

    #[test]
    fn assembly_may_take_any_address() {
        check_body(
            &format!("  %1 = call i32 asm \"isspacep.shared $0, $1;\", \"=r,l\"(ptr {CAST})\n"),
            Ok(()),
        );
    }

    #[test]
    fn a_direct_access_is_named() {
        check_body(
            &format!("  store i32 1, ptr {CAST}, align 4\n"),
            Err("kernel `k`: shared memory `s` is accessed"),
        );
        check_body(
            &format!("  %1 = call i32 @f(ptr {CAST})\n"),
            Err("in `k` (call)"),
        );
    }

    #[test]
    fn an_access_is_followed_through_pointers() {
        let body = format!(
            "  %2 = phi ptr [ %3, %b ], [ %0, %a ]\n  %1 = getelementptr i8, ptr {CAST}, i64 4\n  %3 = select i1 true, ptr %1, ptr %0\n  %4 = load i32, ptr %2, align 4\n"
        );
        check_body(&body, Err("shared memory `s`"));
        check_body(
            "  %1 = addrspacecast ptr addrspace(3) %9 to ptr\n  store i32 0, ptr %1\n",
            Err("(store)"),
        );
    }
}
