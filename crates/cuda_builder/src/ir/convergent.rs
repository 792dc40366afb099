//! Forbids LLVM to move or copy calls into branches.
//!
//! A barrier or a shuffle must be reached by its threads together. LLVM knows that of its own intrinsics, and recent
//! rustc marks functions; of inline assembly nobody tells it: seen was an asm `bar.sync` cloned into both arms of a branch.
//! So every asm call, indirect call and function definition is marked `convergent`, as clang does for CUDA; LLVM takes the
//! mark off again where it can prove that it is not needed.

use std::collections::HashSet;

/// Adds `convergent` to the attribute groups of function definitions, asm calls and indirect calls.
pub(crate) fn mark(ir: &str) -> String {
    let groups: HashSet<&str> = ir
        .lines()
        .filter(|line| needs_mark(line))
        .filter_map(group)
        .collect();
    let mut marked = String::with_capacity(ir.len() + 1024);
    for line in ir.lines() {
        let without_group = needs_mark(line) && group(line).is_none();
        match line
            .strip_prefix("attributes #")
            .and_then(|rest| rest.split_once(" = { "))
        {
            Some((number, attributes)) if groups.contains(number) && !has_mark(attributes) => {
                marked.push_str(&format!(
                    "attributes #{number} = {{ convergent {attributes}"
                ));
            }
            _ if without_group => marked.push_str(&append(line)),
            _ => marked.push_str(line),
        }
        marked.push('\n');
    }
    marked
}

fn needs_mark(line: &str) -> bool {
    line.starts_with("define ") || (is_call(line) && (is_asm(line) || is_indirect(line)))
}

fn is_call(line: &str) -> bool {
    line.starts_with("  ") && line.contains("call ")
}

fn is_asm(line: &str) -> bool {
    line.contains(" asm ")
}

/// `call void %7(…)`: the callee is a register.
fn is_indirect(line: &str) -> bool {
    line.split_once('(').is_some_and(|(head, _)| {
        head.rsplit(' ')
            .next()
            .is_some_and(|callee| callee.starts_with('%'))
            && head.contains("call ")
    })
}

fn has_mark(attributes: &str) -> bool {
    attributes
        .split(' ')
        .any(|attribute| attribute == "convergent")
}

/// The number of the line's attribute group: `#7` behind the closing parenthesis.
fn group(line: &str) -> Option<&str> {
    let (_, rest) = line[line.rfind(')')?..].split_once('#')?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    Some(&rest[..end])
}

/// The line with the attribute itself, in front of metadata or a body's brace.
fn append(line: &str) -> String {
    let close = line.rfind(')').map_or(line.len(), |at| at + 1);
    format!("{} convergent{}", &line[..close], &line[close..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_asm_calls_with_and_without_a_group() {
        let ir = "  call void asm sideeffect \"bar.sync 0;\", \"\"() #3, !dbg !1\n  %1 = call i32 asm \"mov.u32 $0, (%tid.x);\", \"=r\"(), !srcloc !2\n\
                  attributes #3 = { nounwind }\nattributes #4 = { nounwind }\n";
        let expected = "  call void asm sideeffect \"bar.sync 0;\", \"\"() #3, !dbg !1\n  %1 = call i32 asm \"mov.u32 $0, (%tid.x);\", \"=r\"() convergent, !srcloc !2\n\
                  attributes #3 = { convergent nounwind }\nattributes #4 = { nounwind }\n";
        assert_eq!(mark(ir), expected);
    }

    #[test]
    fn marks_definitions_and_indirect_calls_once() {
        let ir = "define void @f(ptr %0) unnamed_addr #0 !dbg !7 {\n  call void %0(i32 1) #1\n  call void @g(ptr %0)\n}\n\
                  attributes #0 = { convergent nounwind }\nattributes #1 = { nounwind }\n";
        let expected = "define void @f(ptr %0) unnamed_addr #0 !dbg !7 {\n  call void %0(i32 1) #1\n  call void @g(ptr %0)\n}\n\
                  attributes #0 = { convergent nounwind }\nattributes #1 = { convergent nounwind }\n";
        assert_eq!(mark(ir), expected);
    }
}
