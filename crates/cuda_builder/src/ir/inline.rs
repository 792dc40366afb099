//! Makes LLVM inline functions that it otherwise would not.
//!
//! LLVM knows a pointer's memory space only in the function that names the variable: a function
//! that receives a shared pointer uses the generic space unless it is inlined. For `inline(never)`,
//! rustc marks both the function and each call.

use std::collections::{BTreeMap, BTreeSet};

use super::module::Module;
use super::names::demangle;
use crate::error::CudaBuilderError;

/// Marks the definitions and their calls `alwaysinline`, overriding rustc's attributes.
pub(crate) fn always(
    module: &mut Module<'_>,
    names: &BTreeSet<String>,
) -> Result<(), CudaBuilderError> {
    // Attribute groups are shared with other functions, so each group used gets a copy.
    let mut unused = 1 + module.groups().into_keys().max().unwrap_or(0);
    let mut twins = BTreeMap::new();
    let mut twin = |group: u32| {
        *twins.entry(group).or_insert_with(|| {
            unused += 1;
            unused - 1
        })
    };
    for function in module.functions_mut() {
        if names.contains(function.name()) {
            match function.head.group() {
                Some(group) => function.head.set_group(twin(group))?,
                None => function.head.add_attribute("alwaysinline")?,
            }
        }
        for instruction in function.instructions_mut() {
            let Some(call) = instruction.call()? else {
                continue;
            };
            let group = call.group().filter(|_| {
                let callee = call.function();
                callee.is_some_and(|name| names.contains(name))
            });
            if let Some(group) = group {
                let twin = twin(group);
                instruction.set_group(twin)?;
            }
        }
    }
    let groups = module.groups();
    let added = twins.into_iter().filter_map(|(group, twin)| {
        let list = groups.get(&group)?.list();
        let kept = list
            .split(' ')
            .filter(|word| !matches!(*word, "noinline" | "optnone"));
        let kept = kept.collect::<Vec<_>>().join(" ");
        Some(format!("attributes #{twin} = {{ alwaysinline {kept} }}\n"))
    });
    let added: String = added.collect();
    module.append(&added)
}

/// Keeps `core::fmt::write` out of line: if inlined, the kernel itself would read what it formats.
pub(crate) fn formatting_apart(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    for function in module.functions_mut() {
        if demangle(function.name()) == "core::fmt::write" {
            function.head.add_attribute("noinline")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::testing::rewritten;

    #[test]
    fn only_the_named_functions_and_their_calls_change() {
        let ir = "define void @f(ptr %0) unnamed_addr #0 !dbg !5 {\n  call void @f(ptr %0) #1\n  call void @g(ptr %0) #1, !dbg !7\n  ret void\n}\n\
                  define void @g(ptr %0) unnamed_addr #0 !dbg !6 {\n  ret void\n}\n\
                  attributes #0 = { noinline nounwind }\nattributes #1 = { noinline }\n";
        let names = BTreeSet::from(["g".to_owned(), "no_such".to_owned()]);
        let expected = ir
            .replace("@g(ptr %0) #1", "@g(ptr %0) #2")
            .replace("@g(ptr %0) unnamed_addr #0", "@g(ptr %0) unnamed_addr #3")
            + "attributes #3 = { alwaysinline nounwind }\nattributes #2 = { alwaysinline  }\n";
        assert_eq!(rewritten(ir, |module| always(module, &names)), expected);
    }

    #[test]
    fn write_of_fmt_stays_a_function() {
        let ir = "define i1 @_RNvNtCs0_4core3fmt5write(ptr %0) unnamed_addr #3 !dbg !7 {\n  ret i1 false\n}\ndefine void @write(ptr %0) #3 {\n  ret void\n}\n";
        assert_eq!(
            rewritten(ir, formatting_apart),
            ir.replacen("#3 !dbg", "noinline #3 !dbg", 1)
        );
    }
}
