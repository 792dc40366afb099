//! Replaces core's panic functions by those of `cuda_std`, which need no `core::fmt`.
//!
//! A function in the section `cuda_std.replaces.PATH` is called wherever the module calls the
//! function of that path. If core's has other parameters, core's stays in use, and formats.

use std::collections::{BTreeSet, HashMap};

use super::inline;
use super::module::{Head, Module};
use super::names::demangle;
use crate::error::CudaBuilderError;

/// Prefix of the section's name.
const SECTION: &str = "cuda_std.replaces.";

/// The names of the marked functions. Nothing calls them before [`replace`].
pub(crate) fn names<'m>(module: &'m Module<'_>) -> impl Iterator<Item = &'m str> {
    (module.functions())
        .filter(|function| replaced(&function.head).is_some())
        .map(|function| function.name())
}

/// Redirects calls to the marked functions and removes the marks.
pub(crate) fn replace(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    let groups = module.groups();
    let mut new = HashMap::new();
    let mut inlined = BTreeSet::new();
    for function in module.functions() {
        let head = &function.head;
        if let Some(path) = replaced(head) {
            new.insert(path.to_owned(), (head.name().to_owned(), types(head)));
            let group = head.group().and_then(|group| groups.get(&group));
            if group.is_some_and(|group| group.has("alwaysinline")) {
                inlined.insert(head.name().to_owned());
            }
        }
    }
    let mut callees = HashMap::new();
    for function in module.functions() {
        if let Some((name, types_of_new)) = new.get(&demangle(function.name()))
            && *types_of_new == types(&function.head)
        {
            callees.insert(function.name().to_owned(), name.clone());
        }
    }
    for function in module.functions_mut() {
        if replaced(&function.head).is_some() {
            function.head.remove_section()?;
        }
    }
    if callees.is_empty() {
        return Ok(());
    }
    for instruction in module.instructions_mut() {
        let Some(call) = instruction.call()? else {
            continue;
        };
        if let Some(name) = call.function().and_then(|name| callees.get(name)) {
            let (before, from) = instruction.operands().split_at(call.callee_at);
            let arguments = from.find('(').map_or("", |open| &from[open..]);
            let operands = format!("{before}@{name}{arguments}");
            instruction.set_operands(&operands)?;
        }
    }
    // rustc marks each call of core's functions `noinline`.
    inline::always(module, &inlined)
}

/// The path of the function that this one replaces.
fn replaced<'h>(head: &'h Head<'_>) -> Option<&'h str> {
    head.section()?.strip_prefix(SECTION)
}

/// The parameter types.
fn types(head: &Head<'_>) -> Vec<String> {
    let types = head
        .parameters()
        .map(|parameter| parameter.split(' ').next());
    types.flatten().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{names, replace};
    use crate::ir::module::Module;
    use crate::ir::testing::rewritten;

    const IR: &str = "define ptx_kernel void @k(ptr noundef %0, i64 %1) #0 !dbg !5 {\n  \
          call void @_RNvNtCs0_4core9panicking5check(i64 noundef %1, ptr noalias align 8 @place) #1, !dbg !7\n  unreachable, !dbg !7\n}\n\
        define internal void @_RNvNtCs0_4core9panicking5check(i64 noundef %0, ptr %1) #0 {\n  ret void\n}\n\
        define void @mine(i64 %0, ptr %1) unnamed_addr #2 section \"cuda_std.replaces.core::panicking::check\" {\n  ret void\n}\n\
        attributes #0 = { noinline }\nattributes #1 = { noinline noreturn }\nattributes #2 = { cold }\n";

    #[test]
    fn the_marked_function_is_called_in_the_place_of_core_s() {
        let expected = IR
            .replace(
                "call void @_RNvNtCs0_4core9panicking5check(",
                "call void @mine(",
            )
            .replace(" section \"cuda_std.replaces.core::panicking::check\"", "");
        assert_eq!(rewritten(IR, replace), expected);
        assert_eq!(
            names(&Module::parse(IR).unwrap()).collect::<Vec<_>>(),
            ["mine"]
        );
        // rustc's older names.
        let legacy = "_ZN4core9panicking5check17h0123456789abcdefE";
        let older = IR.replace("_RNvNtCs0_4core9panicking5check", legacy);
        assert!(rewritten(&older, replace).contains("call void @mine(i64 noundef %1"));
    }

    #[test]
    fn one_that_is_always_inlined_is_inlined_at_each_call() {
        let ir = IR.replace("{ cold }", "{ alwaysinline cold }");
        let text = rewritten(&ir, replace);
        assert!(text.contains("@place) #3, !dbg !7"), "{text}");
        assert!(
            text.contains("attributes #3 = { alwaysinline noreturn }"),
            "{text}"
        );
    }

    #[test]
    fn core_s_function_stays_when_its_parameters_are_others() {
        for other in ["i32 %0, ptr %1", "i64 %0", "i64 %0, ptr %1, ptr %2"] {
            let ir = IR.replace("check(i64 noundef %0, ptr %1)", &format!("check({other})"));
            let text = rewritten(&ir, replace);
            assert!(
                text.contains("call void @_RNvNtCs0_4core9panicking5check("),
                "{text}"
            );
            assert!(!text.contains("section"), "{text}");
        }
    }
}
