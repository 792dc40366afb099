//! Finds accesses to shared memory that are still generic after optimisation.
//!
//! Such an access is slower, and its correctness depends on a chain of passes (rust-cuda#402 is a
//! store that was miscompiled). A kernel that keeps its shared pointers in inlined code has none.
//!
//! An address that is only compared or subtracted, as in the iterators of slices, is a number and
//! accesses nothing. Recursive functions of Rust's library, which sort, may have a generic pointer:
//! nothing in the user's code would make LLVM inline them.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::calls::{calls_itself, kernels_of};
use super::module::{
    Callee, Function, Instruction, Lexer, Module, Nodes, Opcode, Spanned, Token, element, local,
    typed, value,
};
use super::names::{demangle, home, is_in};
use super::place;
use crate::error::CudaBuilderError;

/// Fails if any function accesses memory through a generic pointer derived from a shared one.
pub(crate) fn check(module: &Module<'_>) -> Result<(), CudaBuilderError> {
    let (mut reports, nodes) = (Vec::new(), Nodes::of(module));
    for function in module.functions() {
        for access in accesses(function)? {
            if recurses(module, &access) {
                continue;
            }
            let place = match place::of(access.instruction, &nodes) {
                Some(place) => format!("at {place}"),
                None => format!("in `{}`", demangle(function.name())),
            };
            let (use_of_it, advice) = access.describe(module)?;
            let (kernel, variable) = (kernels_of(module, function.name()), access.variable);
            let report = format!(
                "kernel `{kernel}`: shared memory `{variable}` {use_of_it} {place}, {advice}"
            );
            if !reports.contains(&report) {
                reports.push(report);
            }
        }
    }
    match reports.is_empty() {
        true => Ok(()),
        false => Err(CudaBuilderError::GenericSharedAccess { reports }),
    }
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
                Opcode::Call if recurses(module, &access) => {}
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
    /// The pointer itself is stored.
    is_kept: bool,
}

/// Whether an access is a call of a recursive function in Rust's library.
fn recurses(module: &Module<'_>, access: &Access<'_>) -> bool {
    let name = callee(access.instruction).ok().flatten();
    name.is_some_and(|name| place::is_of(name, &["core", "alloc"]) && calls_itself(module, name))
}

impl Access<'_> {
    /// What happens to the pointer, and what to do about it.
    fn describe(&self, module: &Module<'_>) -> Result<(String, &'static str), CudaBuilderError> {
        const CHOICE: &str = "which may also be to other memory: access shared memory in one branch and the other memory in another, \
            and choose between the values";
        let call = self.instruction.call()?;
        let function = call.as_ref().and_then(|call| call.function());
        let text = |text: &str| text.to_owned();
        Ok(match (self.instruction.opcode(), function) {
            (Opcode::Call, None) => (
                text("is passed to a function through a pointer"),
                "which no compiler can follow: call the function by its name, through generics instead of `dyn` and `fn`",
            ),
            (Opcode::Call, Some(name)) if calls_itself(module, name) => (
                format!("is passed to `{}`", demangle(name)),
                "which calls itself and so cannot be inlined: pass an index into the array or a copy of its values, or use a loop",
            ),
            (Opcode::Call, Some(name)) if !name.starts_with("llvm.") => (
                format!("is passed to `{}`", demangle(name)),
                "which is not inlined: mark it `#[inline(always)]`, or pass an index into the array",
            ),
            (Opcode::Store, _) if self.is_kept => (
                text("has its address stored in memory"),
                "such as a table, an array of slices or a structure that is indexed: store indices into the array, and use a \
                 local variable for its pointer",
            ),
            (Opcode::Ret, _) => (
                text("is returned by a function"),
                "which is not inlined: mark it `#[inline(always)]`, or return an index into the array",
            ),
            (Opcode::Load, _) => (text("is read through a pointer"), CHOICE),
            (Opcode::Store, _) => (text("is written through a pointer"), CHOICE),
            _ => (text("is accessed through a pointer"), CHOICE),
        })
    }
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
                Opcode::ExtractValue if !extracts_pointer(instruction) => true,
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
                Opcode::Call => match instruction.call()?.map(|call| call.callee) {
                    // Assembly determines the space itself: `isspacep`, `cvta`, `cp.async` take
                    // generic addresses.
                    Some(Callee::Assembly { .. }) => true,
                    Some(Callee::Direct(name)) if name.starts_with("llvm.ptrmask.") => {
                        tainted.extend(instruction.result().map(|result| (result, variable)));
                        continue;
                    }
                    Some(Callee::Direct(name)) => is_promise(name) || formats(name),
                    _ => false,
                },
                Opcode::Store => is_for_text(function, instruction)?,
                _ => false,
            };
            if !is_harmless {
                let kept = instruction.pieces().next().is_some_and(|stored| {
                    instruction.opcode() == Opcode::Store && typed(stored).0.starts_with("ptr")
                });
                accesses.push(Access {
                    variable,
                    instruction,
                    is_kept: kept && is_shared(stored_value(instruction), &tainted),
                });
            }
        }
        if tainted.len() == known {
            return Ok(accesses);
        }
    }
}

/// Whether an intrinsic only informs the optimiser about its arguments.
fn is_promise(name: &str) -> bool {
    ["assume", "lifetime.", "invariant.", "experimental.noalias"]
        .iter()
        .any(|word| {
            name.strip_prefix("llvm.")
                .is_some_and(|name| name.starts_with(word))
        })
}

/// Whether an `extractvalue` takes a pointer out of a structure: a slice also has a length.
fn extracts_pointer(instruction: &Instruction<'_>) -> bool {
    let mut pieces = instruction.pieces();
    let mut ty = pieces.next().map(|whole| typed(whole).0);
    for index in pieces {
        ty = ty.and_then(|ty| element(ty, index.parse().ok()?));
    }
    ty.is_none_or(|ty| ty.contains("ptr"))
}

/// The value that a store writes, as written.
fn stored_value<'m>(instruction: &'m Instruction<'_>) -> &'m str {
    instruction.pieces().next().unwrap_or_default()
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
    let operands = instruction.operands();
    let opcode = instruction.opcode();
    if let Some(variable) = cast(operands, opcode == Opcode::IntToPtr) {
        return Some(variable);
    }
    if opcode == Opcode::AddrSpaceCast && operands.trim_start().starts_with(SHARED) {
        return Some(format!("{} (a shared pointer)", value(operands)));
    }
    if tainted.is_empty() {
        return None;
    }
    instruction
        .locals()
        .find_map(|register| tainted.get(register).cloned())
}

const SHARED: &str = "ptr addrspace(3)";

/// Whether an operand is a generic pointer to shared memory.
fn is_shared(operand: &str, tainted: &HashMap<&str, String>) -> bool {
    let register = local(value(operand));
    register.is_some_and(|register| tainted.contains_key(register))
        || cast(operand, false).is_some()
}

/// The shared variable that a constant expression casts to a generic pointer. If only the address
/// is taken, the result is a number, unless it becomes a pointer again.
fn cast(operands: &str, mut to_pointer: bool) -> Option<String> {
    let mut tokens = Lexer::new(operands);
    while let Some(Spanned { token, span, depth }) = tokens.next() {
        match token {
            Token::Word("inttoptr") => to_pointer = true,
            Token::Word("ptrtoint" | "ptrtoaddr") if !to_pointer => {
                tokens.find(|spanned| spanned.depth == depth && spanned.token == Token::Mark(b')'));
            }
            Token::Word("addrspacecast")
                if operands[span.end..].starts_with(" (ptr addrspace(3)") =>
            {
                let variable = tokens.find_map(|spanned| match spanned.token {
                    Token::Global(name) => Some(demangle(name)),
                    _ => None,
                });
                return Some(variable.unwrap_or_else(|| "?".to_owned()));
            }
            _ => {}
        }
    }
    None
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
            Err(
                "kernel `k`: shared memory `s` is written through a pointer in `k`, which may also be to",
            ),
        );
        check_body(
            &format!("  %1 = call i32 @f(ptr {CAST})\n"),
            Err("is passed to `f` in `k`, which is not inlined"),
        );
        check_body(
            &format!("  %1 = call i32 %9(ptr {CAST})\n"),
            Err("through a pointer in `k`, which no compiler can follow: call"),
        );
        check_body(
            &format!("  store ptr {CAST}, ptr %0, align 8\n"),
            Err("has its address stored in memory in `k`, such as a table"),
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
            Err("is written through"),
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
        check_body(&body.replace(format, "keep"), Err("address stored"));
        check_body(&format!("  call void @{format}(ptr {CAST})\n"), Ok(()));
        check_body(&body.replace("ptr %b)", "ptr %0)"), Err("address stored"));
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
        check_body(&call(user), Err("is passed to"));
    }

    #[test]
    fn an_address_is_a_number_and_accesses_nothing() {
        let end = format!("ptrtoint (ptr getelementptr (i8, ptr {CAST}, i64 128) to i64)");
        for line in [
            format!("%2 = sub nuw i64 {end}, %1"),
            format!("%2 = icmp ugt i64 sub (i64 {end}, i64 ptrtoint (ptr {CAST} to i64)), 12"),
            format!("store i64 {end}, ptr %0, align 8"),
            "%2 = extractvalue { ptr, i64 } %s, 1\n  %3 = add i64 %2, 1".to_owned(),
            format!("call void @llvm.assume(i1 true) [ \"align\"(ptr {CAST}, i64 4) ]"),
        ] {
            let slice = format!("  %s = insertvalue {{ ptr, i64 }} poison, ptr {CAST}, 0\n");
            check_body(&format!("{slice}  {line}\n"), Ok(()));
        }
        // A number that becomes a pointer again is one.
        let back =
            format!("  %1 = load i32, ptr inttoptr (i64 add (i64 {end}, i64 4) to ptr), align 4\n");
        check_body(&back, Err("is read through"));
        let back = format!("  %1 = inttoptr i64 {end} to ptr\n  %2 = load i32, ptr %1, align 4\n");
        check_body(&back, Err("is read through"));
    }

    #[test]
    fn only_the_library_s_own_recursion_may_have_a_pointer() {
        let sort = "_RNvNtNtCs0_4core5slice4sort9quicksort";
        let ir = |name: &str, inner: &str| {
            format!(
                "define ptx_kernel void @k(ptr %0) {{\n  call void @{name}(ptr {CAST})\n  ret void\n}}\n\
                 define void @{name}(ptr %0) {{\n  call void @{inner}(ptr %0)\n  ret void\n}}\n\
                 define void @leaf(ptr %0) {{\n  ret void\n}}\n"
            )
        };
        let refused = |name: &str, inner: &str| {
            let ir = ir(name, inner);
            let module = Module::parse(&ir).unwrap();
            let inlined = in_the_way(&module).unwrap();
            (
                check(&module).err().map(|error| error.to_string()),
                inlined.len(),
            )
        };
        assert_eq!(refused(sort, sort), (None, 0));
        assert!(matches!(refused(sort, "leaf"), (Some(_), 1)));
        let (error, _) = refused("own", "own");
        assert!(error.is_some_and(|error| error.contains("which calls itself")));
    }
}
