//! Finds accesses to shared memory that are still generic after the optimiser.
//!
//! Such an access is slower, and relies on a chain of passes to be right (rust-cuda#402 is a store that came out wrong). A
//! kernel that keeps its shared pointers in inlined code has none.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::functions::{Function, callee, functions, kernels_of, reached_from};
use super::symbol::{demangle, symbols};
use crate::error::CudaBuilderError;

/// Fails if any function reads or writes memory through a generic pointer made from a shared one.
pub(crate) fn check(ir: &str) -> Result<(), CudaBuilderError> {
    let functions = functions(ir);
    for function in &functions {
        if let Some(access) = accesses(function).into_iter().next() {
            return Err(CudaBuilderError::GenericSharedAccess {
                kernel: kernels_of(&reached_from(&functions), function.name),
                variable: access.variable,
                function: demangle(function.name),
                access: access.opcode.to_owned(),
            });
        }
    }
    Ok(())
}

/// The functions without which there would be fewer such accesses: those that are given a shared pointer, by itself or in a
/// structure of their caller's, and those that hand one out.
pub(crate) fn in_the_way(ir: &str) -> BTreeSet<String> {
    let functions = functions(ir);
    let callable: HashSet<&str> = functions
        .iter()
        .filter(|function| !function.is_kernel)
        .map(|function| function.name)
        .collect();
    let mut names = BTreeSet::new();
    for function in &functions {
        for access in accesses(function) {
            match access.opcode {
                "call" => names.extend(callee(access.line)),
                "ret" => names.extend([function.name]),
                "store" => names.extend(sharers(function, access.line)),
                _ => {}
            }
        }
    }
    names.retain(|name| callable.contains(name) && !formats(name));
    names.into_iter().map(str::to_owned).collect()
}

/// An instruction that uses a generic pointer to shared memory.
struct Access<'a> {
    variable: String,
    opcode: &'a str,
    line: &'a str,
}

/// The instructions that use such pointers.
fn accesses<'a>(function: &Function<'a>) -> Vec<Access<'a>> {
    // Generic pointers to shared memory: register name -> variable. A phi may come before its operand's definition, so go
    // round until nothing new is found.
    let mut tainted: HashMap<&str, String> = HashMap::new();
    if formats(function.name) {
        return Vec::new();
    }
    loop {
        let known = tainted.len();
        let mut accesses = Vec::new();
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
                    "getelementptr" | "phi" | "select" | "freeze" | "addrspacecast" | "inttoptr"
                    | "insertvalue" | "extractvalue",
                    Some(result),
                ) => {
                    tainted.insert(result, variable);
                }
                // The address itself, as a number or compared, touches no memory; nor does what a debugger is told.
                ("ptrtoint" | "icmp", _) => {}
                _ if opcode.starts_with("#dbg_") => {}
                // Assembly says itself which space it accesses: `isspacep`, `cvta`, `cp.async` take generic addresses.
                ("call", _) if instruction.contains(" asm ") => {}
                ("call", _) if callee(line).is_some_and(formats) => {}
                ("store", _) if is_for_text(function, line) => {}
                _ => accesses.push(Access {
                    variable,
                    opcode,
                    line,
                }),
            }
        }
        if tainted.len() == known {
            return accesses;
        }
    }
}

/// Who else sees the place where the line stores a pointer: functions that are given its address, or the function's own caller.
fn sharers<'a>(function: &Function<'a>, store: &'a str) -> Vec<&'a str> {
    let bases = bases(function);
    let base = |register: &'a str| bases.get(register).copied().unwrap_or(register);
    let Some((_, place)) = stored(store) else {
        return Vec::new();
    };
    let is_local = |place: &str| {
        function.body.iter().any(|line| {
            let (result, instruction) = split_result(line);
            result == Some(place) && instruction.starts_with("alloca ")
        })
    };
    // Where its address is stored in turn counts too.
    let mut places = vec![base(place)];
    let mut next = 0;
    while let Some(&place) = places.get(next) {
        if !is_local(place) {
            return vec![function.name];
        }
        for (value, to) in function.body.iter().filter_map(|line| stored(line)) {
            if base(value) == place && !places.contains(&base(to)) {
                places.push(base(to));
            }
        }
        next += 1;
    }
    function
        .body
        .iter()
        .filter(|line| registers(line).any(|register| places.contains(&base(register))))
        .filter_map(|line| callee(line))
        .filter(|name| !name.starts_with("llvm."))
        .collect()
}

/// Whether a pointer is stored for functions that format text, and for nobody else.
fn is_for_text<'a>(function: &Function<'a>, store: &'a str) -> bool {
    let sharers = sharers(function, store);
    !sharers.is_empty() && sharers.into_iter().all(formats)
}

/// The registers of a store, or empty text for a constant: what, and where to.
fn stored(line: &str) -> Option<(&str, &str)> {
    let (value, place) = line
        .trim_start()
        .strip_prefix("store ")?
        .rsplit_once(", ptr ")?;
    Some((
        registers(value).next().unwrap_or(""),
        registers(place).next()?,
    ))
}

/// Whether the function formats text. A reference to a shared value may be given to it: it takes all by reference, reads it a
/// few times at most, and a generic address is as right as another.
fn formats(name: &str) -> bool {
    let path = demangle(name);
    ["core::fmt::", "core::panicking::", "cuda_std::io::"]
        .iter()
        .any(|module| path.contains(module))
}

/// For each register that is an address inside of something, the register of the whole.
fn bases<'a>(function: &Function<'a>) -> HashMap<&'a str, &'a str> {
    let mut bases = HashMap::new();
    for line in &function.body {
        let (Some(result), instruction) = split_result(line) else {
            continue;
        };
        let is_address = ["getelementptr ", "addrspacecast "]
            .iter()
            .any(|opcode| instruction.starts_with(opcode));
        let whole = registers(instruction).next().filter(|_| is_address);
        if let Some(whole) = whole {
            bases.insert(result, bases.get(whole).copied().unwrap_or(whole));
        }
    }
    bases
}

/// The words of a line that may be registers.
fn registers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || "%-$._".contains(c)))
        .filter(|word| word.starts_with('%'))
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
    registers(instruction).find_map(|word| tainted.get(word).cloned())
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
        check_body(
            &format!("    #dbg_value(ptr {CAST}, !7, !DIExpression(), !8)\n"),
            Ok(()),
        );
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

    #[test]
    fn who_is_in_the_way_is_given_holds_or_returns_the_pointer() {
        let ir = format!(
            "define ptx_kernel void @k(ptr %0) {{\n  %h = alloca [16 x i8], align 8\n  %p = getelementptr i8, ptr %h, i64 8\n  \
             store ptr {CAST}, ptr %p, align 8\n  call void @holds(ptr %h)\n  call void @given(ptr {CAST})\n  \
             call void @other(ptr %0)\n  ret void\n}}\ndefine ptr @returns() {{\n  ret ptr {CAST}\n}}\n\
             define void @fills(ptr %0) {{\n  store ptr {CAST}, ptr %0, align 8\n  ret void\n}}\n\
             define void @holds(ptr %0) {{\n  ret void\n}}\ndefine void @given(ptr %0) {{\n  ret void\n}}\n\
             define void @other(ptr %0) {{\n  ret void\n}}\n"
        );
        let names: Vec<_> = in_the_way(&ir).into_iter().collect();
        assert_eq!(names, ["fills", "given", "holds", "returns"]);
    }

    #[test]
    fn formatting_may_have_a_reference() {
        let format = "_RNvNtCs0_4core3fmt5write";
        let body = format!(
            "  %a = alloca [16 x i8], align 8\n  %b = alloca [16 x i8], align 8\n  store ptr {CAST}, ptr %a, align 8\n  \
             store ptr %a, ptr %b, align 8\n  call void @{format}(ptr %b)\n"
        );
        check_body(&body, Ok(()));
        check_body(&body.replace(format, "keep"), Err("(store)"));
        check_body(&format!("  call void @{format}(ptr {CAST})\n"), Ok(()));
        check_body(&body.replace("ptr %b)", "ptr %0)"), Err("(store)"));
    }
}
