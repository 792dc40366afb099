//! Marks calls `convergent`, which forbids LLVM to move or copy them into branches.
//!
//! Threads must reach a barrier or shuffle together. LLVM knows this of its own intrinsics, and
//! recent rustc marks functions, but nothing marks inline assembly: an asm `bar.sync` has been
//! cloned into both arms of a branch. So every asm call, indirect call and function definition is
//! marked, as clang does for CUDA; LLVM removes the mark where it can prove that it is unnecessary.

use std::collections::{HashMap, HashSet};

use super::module::{Attributes, Call, Callee, Head, Module, has, unexpected};
use super::waiting::Waiting;
use crate::error::CudaBuilderError;

const MARK: &str = "convergent";

/// Adds `convergent` to the attribute groups of function definitions, asm calls and indirect calls.
pub(crate) fn mark(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    let mut groups = HashSet::new();
    for function in module.functions_mut() {
        match function.head.group() {
            Some(group) => drop(groups.insert(group)),
            None => function.head.add_attribute(MARK)?,
        }
        for instruction in function.instructions_mut() {
            match instruction.call()? {
                Some(call) if is_unknown(&call) => match call.group() {
                    Some(group) => drop(groups.insert(group)),
                    None => instruction.add_attribute(MARK)?,
                },
                _ => {}
            }
        }
    }
    for group in module.groups_mut() {
        if groups.contains(&group.number()) && !group.has(MARK) {
            group.prepend(MARK);
        }
    }
    Ok(())
}

/// Fails if LLVM may still move a call that waits for other threads, or assembly, which it cannot
/// see into.
pub(crate) fn check(module: &Module<'_>) -> Result<(), CudaBuilderError> {
    let waiting = Waiting::of(module)?;
    let groups = module.groups();
    let heads = (module.functions().map(|function| &function.head)).chain(module.declarations());
    let marked: HashSet<&str> = heads
        .filter(|head| is_marked(head.attributes(), head.group(), &groups))
        .map(Head::name)
        .collect();
    for instruction in module
        .functions()
        .flat_map(|function| function.instructions())
    {
        let Some(call) = instruction.call()? else {
            continue;
        };
        let must_be = is_unknown(&call) || waiting.waits(&call);
        let is_marked = is_marked(call.attributes, call.group(), &groups)
            || call.function().is_some_and(|name| marked.contains(name));
        if must_be && !is_marked {
            let reason = "a call that may wait for other threads and is not `convergent`";
            return Err(unexpected(reason, instruction.text()));
        }
    }
    Ok(())
}

/// Whether LLVM cannot see the callee.
fn is_unknown(call: &Call<'_>) -> bool {
    !matches!(call.callee, Callee::Direct(_))
}

fn is_marked(list: &str, group: Option<u32>, groups: &HashMap<u32, &Attributes<'_>>) -> bool {
    let group = group.and_then(|number| groups.get(&number));
    has(list, MARK) || group.is_some_and(|group| group.has(MARK))
}

#[cfg(test)]
mod tests {
    use super::{check, mark};
    use crate::ir::module::Module;
    use crate::ir::testing::rewritten;

    #[test]
    fn marks_asm_calls_with_and_without_a_group() {
        let ir = "define void @f() #3 {\n  call void asm sideeffect \"bar.sync 0;\", \"\"() #3, !dbg !1\n  \
                  %1 = call i32 asm \"mov.u32 $0, (%tid.x);\", \"=r\"(), !srcloc !2\n  ret void\n}\n\
                  attributes #3 = { nounwind }\nattributes #4 = { nounwind }\n";
        let expected = ir
            .replace("\"=r\"()", "\"=r\"() convergent")
            .replace("#3 = { ", "#3 = { convergent ");
        assert_eq!(rewritten(ir, mark), expected);
    }

    #[test]
    fn marks_definitions_and_indirect_calls_once() {
        let ir = "define void @f(ptr %0) unnamed_addr #0 !dbg !7 {\n  call void %0(i32 1) #1\n  call void @g(ptr %0)\n  ret void\n}\n\
                  define void @h() {\n  ret void\n}\n\
                  attributes #0 = { convergent nounwind }\nattributes #1 = { nounwind }\n";
        let expected = ir
            .replace("#1 = { ", "#1 = { convergent ")
            .replace("@h() ", "@h() convergent ");
        assert_eq!(rewritten(ir, mark), expected);
    }

    #[test]
    fn what_lost_the_mark_is_found() {
        let ir = |call: &str, attributes: &str| {
            format!(
                "define void @f(ptr %0) {{\n  call void {call} {attributes}\n  ret void\n}}\n\
                 define void @g() {{\n  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0) convergent\n  ret void\n}}\n\
                 attributes #1 = {{ convergent }}\n"
            )
        };
        for call in ["%0()", "asm sideeffect \"nop;\", \"\"()", "@g()"] {
            let check = |attributes| check(&Module::parse(&ir(call, attributes)).unwrap());
            assert!(check("nounwind").unwrap_err().to_string().contains(call));
            check("#1").unwrap();
            check("convergent").unwrap();
        }
        check(&Module::parse(&ir("@other()", "")).unwrap()).unwrap();
    }
}
