//! Lowers `compare_exchange` on a thread's own stack.
//!
//! PTX has no atomics on local memory. LLVM 22 lowers the other ones to load, operation and store,
//! but prints `atom.local.cas`, which ptxas rejects. No other thread sees that memory, so the same
//! lowering is correct here. A pointer that may also point elsewhere stays generic, and its
//! instruction unchanged.

use std::collections::HashSet;

use super::module::{Function, Instruction, Module, Opcode, local, typed, unexpected, value};
use crate::error::CudaBuilderError;

/// Rewrites every `cmpxchg` whose address is in the function's own frame.
pub(crate) fn lower(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    let mut count = 0;
    for function in module.functions_mut() {
        let compares = |instruction: &Instruction<'_>| instruction.opcode() == Opcode::CmpXchg;
        if !function.instructions().any(compares) {
            continue;
        }
        let own = own_pointers(function)?;
        function.expand(|instruction| {
            let address = instruction.pieces().next().map(value).and_then(local);
            if !compares(instruction) || !address.is_some_and(|name| own.contains(name)) {
                return Ok(None);
            }
            count += 1;
            let lines = plain(instruction, count).ok_or_else(|| {
                unexpected(
                    "a comparison of another form on a thread's own stack",
                    instruction.text(),
                )
            })?;
            lines
                .iter()
                .map(|line| Instruction::new(line))
                .collect::<Result<_, _>>()
                .map(Some)
        })?;
    }
    Ok(())
}

/// The registers that can only point into the function's frame.
pub(super) fn own_pointers(function: &Function<'_>) -> Result<HashSet<String>, CudaBuilderError> {
    // For each candidate, the pointers that it is derived from; `None` is any other.
    let mut made_of: Vec<(&str, Vec<Option<&str>>)> = Vec::new();
    for instruction in function.instructions() {
        let pieces = || instruction.pieces().map(|piece| local(value(piece)));
        let bases: Vec<_> = match instruction.opcode() {
            Opcode::Alloca => Vec::new(),
            Opcode::AddrSpaceCast | Opcode::Freeze => pieces().take(1).collect(),
            Opcode::GetElementPtr => pieces().skip(1).take(1).collect(),
            Opcode::Select => pieces().skip(1).collect(),
            Opcode::Phi => (instruction.incoming()?.iter())
                .map(|incoming| local(incoming.value))
                .collect(),
            _ => continue,
        };
        made_of.extend(instruction.result().map(|result| (result, bases)));
    }
    // Greatest fixed point: all qualify until one is derived from something else, because a loop's
    // phi is derived from itself.
    let mut own: HashSet<&str> = made_of.iter().map(|(name, _)| *name).collect();
    loop {
        let before = own.len();
        for (name, bases) in &made_of {
            if !bases
                .iter()
                .all(|base| base.is_some_and(|base| own.contains(base)))
            {
                own.remove(name);
            }
        }
        if own.len() == before {
            return Ok(own.into_iter().map(str::to_owned).collect());
        }
    }
}

/// `cmpxchg [weak] [volatile] ptr %p, TYPE EXPECTED, TYPE NEW [syncscope("…")] ORDERING ORDERING,
/// align N`; its result is the old value and whether it equalled the expected one.
fn plain(instruction: &Instruction<'_>, number: u32) -> Option<Vec<String>> {
    let mut pieces = instruction.pieces();
    let (first, second) = (pieces.next()?, pieces.next()?);
    let (third, alignment) = (pieces.next()?, pieces.next()?);
    let (pointer, address) = typed(first);
    let ((ty, expected), (_, new)) = (typed(second), typed(third));
    let (result, name) = (instruction.result_text(), format!("%own.stack.{number}"));
    let position = instruction.position_text();
    let pair = format!("{{ {ty}, i1 }}");
    let lines = [
        format!("{name} = load {ty}, {pointer} {address}, {alignment}"),
        format!("{name}.c = icmp eq {ty} {name}, {expected}"),
        format!("{name}.n = select i1 {name}.c, {ty} {new}, {ty} {name}"),
        format!("store {ty} {name}.n, {pointer} {address}, {alignment}"),
        format!("{name}.p = insertvalue {pair} poison, {ty} {name}, 0"),
        format!("{result}insertvalue {pair} {name}.p, i1 {name}.c, 1"),
    ];
    Some(lines.into_iter().map(|line| line + &position).collect())
}

#[cfg(test)]
mod tests {
    use super::lower;
    use crate::ir::testing::{check_body, function, rewritten};

    const ALLOCA: &str =
        "  %s = alloca [8 x i8], align 4\n  %q = getelementptr i8, ptr %s, i64 %0\n";

    #[track_caller]
    fn check(body: &str, expected: &str) {
        check_body(
            lower,
            &format!("{ALLOCA}{body}"),
            &format!("{ALLOCA}{expected}"),
        );
    }

    #[test]
    fn a_comparison_keeps_its_pair() {
        check(
            "  %1 = cmpxchg weak ptr %q, i32 %a, i32 %b syncscope(\"device\") seq_cst monotonic, align 4\n",
            "  %own.stack.1 = load i32, ptr %q, align 4\n  %own.stack.1.c = icmp eq i32 %own.stack.1, %a\n  \
             %own.stack.1.n = select i1 %own.stack.1.c, i32 %b, i32 %own.stack.1\n  \
             store i32 %own.stack.1.n, ptr %q, align 4\n  \
             %own.stack.1.p = insertvalue { i32, i1 } poison, i32 %own.stack.1, 0\n  \
             %1 = insertvalue { i32, i1 } %own.stack.1.p, i1 %own.stack.1.c, 1\n",
        );
    }

    #[test]
    fn what_may_lead_elsewhere_stays() {
        let body = "  %c = select i1 %0, ptr %q, ptr %p\n  %d = phi ptr [ %q, %a ], [ %e, %b ]\n  \
                    %e = getelementptr i8, ptr %c, i64 4\n  %1 = cmpxchg ptr %d, i32 0, i32 1 monotonic monotonic, align 4\n  \
                    %2 = cmpxchg ptr @g, i32 0, i32 1 monotonic monotonic, align 4\n";
        check(body, body);
    }

    #[test]
    fn a_pointer_that_a_loop_moves_is_still_its_own() {
        let body = "  %d = phi ptr [ %q, %a ], [ %e, %b ]\n  %e = getelementptr i8, ptr %d, i64 4\n  \
                    %1 = cmpxchg ptr %d, i32 0, i32 1 monotonic monotonic, align 4\n";
        let ir = function(&format!("{ALLOCA}{body}"));
        assert!(!rewritten(&ir, lower).contains("cmpxchg"));
    }
}
