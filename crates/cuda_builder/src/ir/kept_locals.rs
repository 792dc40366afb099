//! Keeps the source's variables in memory, where a debugger finds them.
//!
//! With full debug information rustc gives each variable a slot on the stack and declares it there.
//! LLVM's optimiser promotes the slots to registers, and then loses values: what became a predicate,
//! was folded or is no longer needed. A volatile write cannot be removed, so the slot stays, and so
//! does the declared place; everything else is optimised as before.
//!
//! Slots with pointers are left alone: a pointer that is read back from memory has lost its address
//! space, one to another slot would keep that in memory as well, and those of shared arrays must not
//! be in memory at all. LLVM mostly keeps track of pointers.

use std::collections::{HashMap, HashSet};

use super::module::{Function, Instruction, Module, Opcode, local, typed};
use crate::error::CudaBuilderError;

/// What is done with a slot.
#[derive(Default)]
struct Slot {
    is_declared: bool,
    /// Something besides plain reads and writes of it, such as a call that may write it.
    has_other_uses: bool,
    /// A pointer is written to it.
    holds_pointers: bool,
}

/// Makes the writes of variables volatile.
pub(crate) fn keep(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    for function in module.functions_mut() {
        let (roots, kept) = slots(function);
        for instruction in function.instructions_mut() {
            let address = address(instruction).and_then(|name| roots.get(name));
            let is_kept = address.is_some_and(|root| kept.contains(root));
            if instruction.opcode() == Opcode::Store && is_kept && !is_special(instruction) {
                let operands = format!(" volatile{}", instruction.operands());
                instruction.set_operands(&operands)?;
            }
        }
    }
    Ok(())
}

/// The slot that each pointer into one belongs to, and the slots to keep.
fn slots(function: &Function<'_>) -> (HashMap<String, String>, HashSet<String>) {
    let mut roots: HashMap<String, String> = HashMap::new();
    let mut slots: HashMap<String, Slot> = HashMap::new();
    for instruction in function.instructions() {
        let root = |name: &str| roots.get(name).cloned();
        match instruction.opcode() {
            Opcode::Alloca => {
                if let Some(name) = instruction.result() {
                    roots.insert(name.to_owned(), name.to_owned());
                    slots.insert(name.to_owned(), Slot::default());
                }
            }
            Opcode::GetElementPtr => {
                let base = instruction
                    .pieces()
                    .nth(1)
                    .and_then(|piece| local(typed(piece).1));
                if let (Some(name), Some(root)) = (instruction.result(), base.and_then(root)) {
                    roots.insert(name.to_owned(), root);
                }
            }
            Opcode::DebugRecord => {
                let slot = instruction.locals().next().and_then(root);
                if let Some(slot) = slot.and_then(|root| slots.get_mut(&root)) {
                    slot.is_declared |= instruction.text().starts_with("#dbg_declare(");
                }
            }
            // Its own address may be written elsewhere: whoever reads it there reads the slot.
            Opcode::Store if !is_special(instruction) => {
                let value = instruction.pieces().next().unwrap_or_default().trim();
                let slot = address(instruction).and_then(root);
                if let Some(slot) = slot.and_then(|root| slots.get_mut(&root)) {
                    slot.holds_pointers |= value.contains("ptr");
                }
            }
            Opcode::Load => {}
            Opcode::Call if is_of_lifetimes(instruction) => {}
            _ => {
                for name in instruction.locals() {
                    if let Some(slot) = root(name).and_then(|root| slots.get_mut(&root)) {
                        slot.has_other_uses = true;
                    }
                }
            }
        }
    }
    let kept = slots
        .into_iter()
        .filter(|(_, slot)| slot.is_declared && !slot.has_other_uses && !slot.holds_pointers);
    let kept = kept.map(|(name, _)| name).collect();
    (roots, kept)
}

/// The address of a write: `store i32 %a, ptr %b, align 4`.
fn address<'i>(instruction: &'i Instruction<'_>) -> Option<&'i str> {
    local(typed(instruction.pieces().nth(1)?).1)
}

/// Whether a write is atomic, or volatile already.
fn is_special(instruction: &Instruction<'_>) -> bool {
    let operands = instruction.operands().trim_start();
    operands.starts_with("atomic ") || operands.starts_with("volatile ")
}

fn is_of_lifetimes(instruction: &Instruction<'_>) -> bool {
    instruction
        .globals()
        .any(|name| name.starts_with("llvm.lifetime."))
}

#[cfg(test)]
mod tests {
    use super::keep;
    use crate::ir::testing::check_body;

    const SLOT: &str =
        "  %s = alloca [8 x i8], align 4\n    #dbg_declare(ptr %s, !1, !DIExpression(), !2)\n";

    #[track_caller]
    fn kept(body: &str, expected: &str) {
        check_body(keep, &format!("{SLOT}{body}"), &format!("{SLOT}{expected}"));
    }

    #[track_caller]
    fn left(body: &str) {
        kept(body, body);
    }

    #[test]
    fn writes_of_variables_stay() {
        kept(
            "  store i32 %a, ptr %s, align 4, !dbg !3\n  %v = load i32, ptr %s, align 4\n",
            "  store volatile i32 %a, ptr %s, align 4, !dbg !3\n  %v = load i32, ptr %s, align 4\n",
        );
        kept(
            "  %f = getelementptr inbounds i8, ptr %s, i64 4\n  store float %a, ptr %f, align 4\n",
            "  %f = getelementptr inbounds i8, ptr %s, i64 4\n  store volatile float %a, ptr %f, align 4\n",
        );
        kept(
            "  call void @llvm.lifetime.start.p0(ptr %s)\n  store i8 1, ptr %s, align 1\n",
            "  call void @llvm.lifetime.start.p0(ptr %s)\n  store volatile i8 1, ptr %s, align 1\n",
        );
        // A closure that captures it.
        kept(
            "  store ptr %s, ptr %env, align 8\n  store i32 7, ptr %s, align 4\n",
            "  store ptr %s, ptr %env, align 8\n  store volatile i32 7, ptr %s, align 4\n",
        );
    }

    #[test]
    fn pointers_and_what_others_may_write_stay_as_they_are() {
        left("  store ptr %a, ptr %s, align 8\n");
        left("  store ptr addrspacecast (ptr addrspace(3) @t to ptr), ptr %s, align 8\n");
        left("  store i32 1, ptr %s, align 4\n  call void @f(ptr %s)\n");
        left(
            "  store i32 1, ptr %s, align 4\n  call void @llvm.memcpy.p0.p0.i64(ptr %s, ptr %a, i64 8, i1 false)\n",
        );
        left("  %p = select i1 %c, ptr %s, ptr %q\n  store i32 1, ptr %s, align 4\n");
        left("  store i32 1, ptr %q, align 4\n");
        left("  store atomic i32 1, ptr %s monotonic, align 4\n");
        // No variable.
        let body = "  %s = alloca i32, align 4\n  store i32 1, ptr %s, align 4\n";
        check_body(keep, body, body);
    }
}
