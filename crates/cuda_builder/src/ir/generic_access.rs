//! Finds accesses to shared memory that are still generic after optimisation.
//!
//! Such an access is slower, and its correctness depends on a chain of passes (rust-cuda#402 is a
//! store that was miscompiled). A kernel that keeps its shared pointers in inlined code has none.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::calls::kernels_of;
use super::module::{Callee, Function, Instruction, Lexer, Module, Opcode, Token, local, value};
use super::names::{demangle, home, is_in};
use crate::error::CudaBuilderError;

/// Fails if any function accesses memory through a generic pointer derived from a shared one.
pub(crate) fn check(module: &Module<'_>) -> Result<(), CudaBuilderError> {
    for function in module.functions() {
        if let Some(access) = accesses(function)?.into_iter().next() {
            return Err(CudaBuilderError::GenericSharedAccess {
                kernel: kernels_of(module, function.name()),
                variable: access.variable,
                function: demangle(function.name()),
                access: access.instruction.opcode().word().to_owned(),
            });
        }
    }
    Ok(())
}

/// Functions whose inlining would remove such accesses: those that receive a shared pointer,
/// directly or in a structure of their caller, and those that return one.
pub(crate) fn in_the_way(module: &Module<'_>) -> Result<BTreeSet<String>, CudaBuilderError> {
    let callable: HashSet<&str> = module
        .functions()
        .filter(|function| !function.is_kernel())
        .map(Function::name)
        .collect();
    let mut names = BTreeSet::new();
    for function in module.functions() {
        for access in accesses(function)? {
            let instruction = access.instruction;
            match instruction.opcode() {
                Opcode::Call => names.extend(callee(instruction)?),
                Opcode::Ret => names.extend([function.name()]),
                Opcode::Store => names.extend(sharers(function, instruction)?),
                _ => {}
            }
        }
    }
    names.retain(|name| callable.contains(name) && !formats(name));
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// An instruction that uses a generic pointer to shared memory.
struct Access<'m> {
    variable: String,
    instruction: &'m Instruction<'m>,
}

/// The instructions of a function that use such pointers.
fn accesses<'m>(function: &'m Function<'m>) -> Result<Vec<Access<'m>>, CudaBuilderError> {
    if formats(function.name()) {
        return Ok(Vec::new());
    }
    // Generic pointers to shared memory: register -> variable. A phi may precede its operand's
    // definition, so iterate until nothing changes.
    let mut tainted: HashMap<&str, String> = HashMap::new();
    loop {
        let known = tainted.len();
        let mut accesses = Vec::new();
        for instruction in function.instructions() {
            let Some(variable) = shared_operand(instruction, &tainted) else {
                continue;
            };
            let is_harmless = match instruction.opcode() {
                Opcode::GetElementPtr
                | Opcode::Phi
                | Opcode::Select
                | Opcode::Freeze
                | Opcode::AddrSpaceCast
                | Opcode::IntToPtr
                | Opcode::InsertValue
                | Opcode::ExtractValue => {
                    tainted.extend(instruction.result().map(|result| (result, variable)));
                    continue;
                }
                // Using the address itself, as a number or in a comparison, accesses no memory;
                // neither do debug records.
                Opcode::PtrToInt | Opcode::PtrToAddr | Opcode::ICmp | Opcode::DebugRecord => true,
                // Assembly determines the space itself: `isspacep`, `cvta`, `cp.async` take generic
                // addresses.
                Opcode::Call => match instruction.call()?.map(|call| call.callee) {
                    Some(Callee::Assembly { .. }) => true,
                    Some(Callee::Direct(name)) => formats(name),
                    _ => false,
                },
                Opcode::Store => is_for_text(function, instruction)?,
                _ => false,
            };
            if !is_harmless {
                accesses.push(Access {
                    variable,
                    instruction,
                });
            }
        }
        if tainted.len() == known {
            return Ok(accesses);
        }
    }
}

/// The functions that can see where an instruction stores a pointer: those that receive the address
/// of that place, or the function's caller.
fn sharers<'m>(
    function: &'m Function<'m>,
    store: &'m Instruction<'m>,
) -> Result<Vec<&'m str>, CudaBuilderError> {
    let bases = bases(function);
    let base = |register: &'m str| bases.get(register).copied().unwrap_or(register);
    let Some((_, place)) = stored(store) else {
        return Ok(Vec::new());
    };
    let is_local = |place: &str| {
        function.instructions().any(|instruction| {
            instruction.opcode() == Opcode::Alloca && instruction.result() == Some(place)
        })
    };
    // Includes places where that address is itself stored.
    let mut places = vec![base(place)];
    let mut next = 0;
    while let Some(&place) = places.get(next) {
        if !is_local(place) {
            return Ok(vec![function.name()]);
        }
        for (value, to) in function.instructions().filter_map(stored) {
            if value.is_some_and(|value| base(value) == place) && !places.contains(&base(to)) {
                places.push(base(to));
            }
        }
        next += 1;
    }
    let mut sharers = Vec::new();
    for instruction in function.instructions() {
        if instruction
            .locals()
            .any(|register| places.contains(&base(register)))
        {
            sharers.extend(callee(instruction)?.filter(|name| !name.starts_with("llvm.")));
        }
    }
    Ok(sharers)
}

/// Whether a pointer is stored only for functions that format text.
fn is_for_text<'m>(
    function: &'m Function<'m>,
    store: &'m Instruction<'m>,
) -> Result<bool, CudaBuilderError> {
    let sharers = sharers(function, store)?;
    Ok(!sharers.is_empty() && sharers.into_iter().all(formats))
}

/// The registers of a store: the value, if it is not a constant, and the address.
fn stored<'m>(instruction: &'m Instruction<'_>) -> Option<(Option<&'m str>, &'m str)> {
    if instruction.opcode() != Opcode::Store {
        return None;
    }
    let mut operands = instruction.pieces().map(value).map(local);
    let (stored, place) = (operands.next()?, operands.next()?);
    Some((stored, place?))
}

/// The function that an instruction calls by name.
fn callee<'m>(instruction: &'m Instruction<'_>) -> Result<Option<&'m str>, CudaBuilderError> {
    Ok(instruction.call()?.and_then(|call| call.function()))
}

/// Whether the function formats text. It may receive a reference to a shared value: it takes
/// everything by reference, reads it a few times at most, and a generic address is correct. This
/// does not include a user's own `impl Display`.
fn formats(name: &str) -> bool {
    let home = home(name);
    let is_library = ["core", "alloc"]
        .iter()
        .any(|library| is_in(&home, library));
    ["core::fmt", "core::panicking", "cuda_std::io"]
        .iter()
        .any(|module| is_in(&home, module))
        || (is_library && demangle(name).contains(" as core::fmt::"))
}

/// For each register that points inside an object, the register of the object.
fn bases<'m>(function: &'m Function<'m>) -> HashMap<&'m str, &'m str> {
    let mut bases = HashMap::new();
    for instruction in function.instructions() {
        let pointer = match instruction.opcode() {
            Opcode::GetElementPtr => instruction.pieces().nth(1),
            Opcode::AddrSpaceCast => instruction.pieces().next(),
            _ => None,
        };
        let whole = pointer.and_then(|pointer| local(value(pointer)));
        if let (Some(result), Some(whole)) = (instruction.result(), whole) {
            bases.insert(result, bases.get(whole).copied().unwrap_or(whole));
        }
    }
    bases
}

/// The shared variable that a generic pointer among the operands points to.
fn shared_operand(
    instruction: &Instruction<'_>,
    tainted: &HashMap<&str, String>,
) -> Option<String> {
    const SHARED: &str = "ptr addrspace(3)";
    let operands = instruction.operands();
    if let Some((_, cast)) = operands.split_once(&format!("addrspacecast ({SHARED}")) {
        let variable = Lexer::new(cast).find_map(|spanned| match spanned.token {
            Token::Global(name) => Some(demangle(name)),
            _ => None,
        });
        return Some(variable.unwrap_or_else(|| "?".to_owned()));
    }
    if instruction.opcode() == Opcode::AddrSpaceCast && operands.trim_start().starts_with(SHARED) {
        return Some(format!("{} (a shared pointer)", value(operands)));
    }
    if tainted.is_empty() {
        return None;
    }
    instruction
        .locals()
        .find_map(|register| tainted.get(register).cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAST: &str = "addrspacecast (ptr addrspace(3) @s to ptr)";

    #[track_caller]
    fn check_body(body: &str, expected: Result<(), &str>) {
        let ir = format!("define ptx_kernel void @k(ptr %0) {{\nb:\n{body}  ret void\n}}\n");
        match (check(&Module::parse(&ir).unwrap()), expected) {
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
        let module = Module::parse(&ir).unwrap();
        let names: Vec<_> = in_the_way(&module).unwrap().into_iter().collect();
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

    #[test]
    fn a_users_own_formatting_is_no_exception() {
        let call = |name: &str| format!("  %1 = call i1 @{name}(ptr {CAST})\n");
        // <u32 as core::fmt::Display>::fmt, <core::option::Option<u32> as core::fmt::Debug>::fmt
        for name in [
            "_RNvXs_NtNtCs0_4core3fmt3nummNtB6_7Display3fmt",
            "_RNvXs_NtCs0_4core6optionINtB4_6OptionmENtNtB6_3fmt5Debug3fmt",
        ] {
            check_body(&call(name), Ok(()));
        }
        // <kernels::Tile as core::fmt::Display>::fmt
        let user = "_RNvXs_Cs1_7kernelsNtB4_4TileNtNtCs0_4core3fmt7Display3fmt";
        check_body(&call(user), Err("(call)"));
    }
}
