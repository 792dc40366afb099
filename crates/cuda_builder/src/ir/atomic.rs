//! Preserves the memory ordering of read-modify-write atomics.
//!
//! LLVM 22's NVPTX backend prints every `atomicrmw` as relaxed, whatever its ordering (fences,
//! loads, stores and `cmpxchg` keep theirs). So an ordered one becomes a relaxed one between
//! fences, which is also how the PTX memory model defines the other orderings.
//!
//! GPUs before sm_70 have no orders at all: LLVM ends at an ordered load or store for one, where
//! fences (`membar`) do the same.
//!
//! A single-thread fence (`compiler_fence`) has no GPU instruction, and the backend fails on it. It
//! becomes empty assembly, across which LLVM does not move memory accesses either.

use super::module::{Instruction, Lexer, Module, ORDERINGS, Opcode, Token, unexpected};
use crate::error::CudaBuilderError;

/// The replacement of a `compiler_fence`.
const ONE_THREAD: &str = "call void asm sideeffect \"\", \"~{memory}\"()";

/// Rewrites every ordered `atomicrmw` and every single-thread fence; without orders in PTX also
/// every ordered load and store.
pub(crate) fn order(module: &mut Module<'_>, has_orders: bool) -> Result<(), CudaBuilderError> {
    for function in module.functions_mut() {
        function.expand(|instruction| match instruction.opcode() {
            Opcode::Fence if Atomic::of(instruction)?.is_of_one_thread() => {
                let text = format!("{ONE_THREAD}{}", instruction.position_text());
                Ok(Some(vec![Instruction::new(&text)?]))
            }
            Opcode::AtomicRmw => fenced(instruction),
            Opcode::Load | Opcode::Store if !has_orders && is_atomic(instruction) => {
                fenced(instruction)
            }
            _ => Ok(None),
        })?;
    }
    Ok(())
}

/// Fails if an atomic remains whose ordering LLVM would drop.
pub(crate) fn check(module: &Module<'_>) -> Result<(), CudaBuilderError> {
    for instruction in module
        .functions()
        .flat_map(|function| function.instructions())
    {
        let would_be_lost = match instruction.opcode() {
            Opcode::AtomicRmw => Atomic::of(instruction)?.ordering != "monotonic",
            Opcode::Fence => Atomic::of(instruction)?.is_of_one_thread(),
            _ => false,
        };
        if would_be_lost {
            return Err(unexpected(
                "an ordering that would be lost",
                instruction.text(),
            ));
        }
    }
    Ok(())
}

/// Whether a load or store is atomic.
fn is_atomic(instruction: &Instruction<'_>) -> bool {
    let first = Lexer::new(instruction.operands()).next();
    first.is_some_and(|spanned| spanned.token == Token::Word("atomic"))
}

/// The relaxed form of an ordered atomic between its fences; a relaxed one is unchanged.
fn fenced<'a>(
    instruction: &Instruction<'a>,
) -> Result<Option<Vec<Instruction<'a>>>, CudaBuilderError> {
    let Atomic {
        before,
        scope,
        ordering,
        after,
    } = Atomic::of(instruction)?;
    if matches!(ordering, "monotonic" | "unordered") {
        return Ok(None);
    }
    let fence = |kind: &str| Instruction::new(&format!("fence {scope}{kind}"));
    let mut list = Vec::new();
    match ordering {
        "release" | "acq_rel" => list.push(fence("release")?),
        "seq_cst" => list.push(fence("seq_cst")?),
        _ => {}
    }
    let mut relaxed = instruction.clone();
    relaxed.set_operands(&format!("{before}{scope}monotonic{after}"))?;
    list.push(relaxed);
    if ordering != "release" && instruction.opcode() != Opcode::Store {
        list.push(fence("acquire")?);
    }
    Ok(Some(list))
}

/// The operands of an atomic or a fence.
struct Atomic<'i> {
    /// The text before scope and ordering: ` add ptr %p, i32 1 `.
    before: &'i str,
    /// `syncscope("block") `, or empty.
    scope: &'i str,
    ordering: &'i str,
    /// The text after the ordering: `, align 4`.
    after: &'i str,
}

impl<'i> Atomic<'i> {
    fn of(instruction: &'i Instruction<'_>) -> Result<Self, CudaBuilderError> {
        let operands = instruction.operands();
        let mut scope = None;
        for spanned in Lexer::new(operands).filter(|spanned| spanned.depth == 0) {
            match spanned.token {
                Token::Word("syncscope") => scope = Some(spanned.span.start),
                Token::Word(ordering) if ORDERINGS.contains(&ordering) => {
                    let scope = scope.unwrap_or(spanned.span.start);
                    let after = &operands[spanned.span.end..];
                    if !after.is_empty() && !after.starts_with(", align ") {
                        break;
                    }
                    return Ok(Atomic {
                        before: &operands[..scope],
                        scope: &operands[scope..spanned.span.start],
                        ordering,
                        after,
                    });
                }
                _ => {}
            }
        }
        Err(unexpected("an atomic of another form", instruction.text()))
    }

    fn is_of_one_thread(&self) -> bool {
        self.scope.contains("\"singlethread\"")
    }
}

#[cfg(test)]
mod tests {
    use super::{ONE_THREAD, check, order};
    use crate::error::CudaBuilderError;
    use crate::ir::module::Module;
    use crate::ir::testing::{check_body, function};

    fn order_of_new(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
        order(module, true)
    }

    #[test]
    fn each_ordering_gets_its_fences() {
        let line = |ordering: &str| {
            format!("  %1 = atomicrmw add ptr %p, i32 1 {ordering}, align 4, !dbg !3\n")
        };
        let relaxed = line("monotonic");
        for (ordering, expected) in [
            ("monotonic", relaxed.clone()),
            ("acquire", format!("{relaxed}  fence acquire\n")),
            ("release", format!("  fence release\n{relaxed}")),
            (
                "acq_rel",
                format!("  fence release\n{relaxed}  fence acquire\n"),
            ),
            (
                "seq_cst",
                format!("  fence seq_cst\n{relaxed}  fence acquire\n"),
            ),
        ] {
            check_body(order_of_new, &line(ordering), &expected);
        }
    }

    #[test]
    fn without_orders_in_ptx_loads_and_stores_get_fences_too() {
        let load = |ordering: &str| {
            format!("  %1 = load atomic i32, ptr %p {ordering}, align 4, !dbg !3\n")
        };
        let store = |ordering: &str| format!("  store atomic i32 7, ptr %p {ordering}, align 4\n");
        let (loaded, stored) = (load("monotonic"), store("monotonic"));
        for (line, expected) in [
            (loaded.clone(), loaded.clone()),
            (load("acquire"), format!("{loaded}  fence acquire\n")),
            (
                load("seq_cst"),
                format!("  fence seq_cst\n{loaded}  fence acquire\n"),
            ),
            (store("release"), format!("  fence release\n{stored}")),
            (store("seq_cst"), format!("  fence seq_cst\n{stored}")),
        ] {
            check_body(|module| order(module, false), &line, &expected);
            check_body(order_of_new, &line, &line);
        }
        let plain = "  %1 = load i32, ptr %p, align 4\n  store i32 %1, ptr %p, align 4\n";
        check_body(|module| order(module, false), plain, plain);
    }

    #[test]
    fn the_scope_is_kept() {
        check_body(
            order_of_new,
            "  %1 = atomicrmw volatile fadd ptr %p, float 1.0 syncscope(\"block\") acq_rel, align 4\n",
            "  fence syncscope(\"block\") release\n  %1 = atomicrmw volatile fadd ptr %p, float 1.0 syncscope(\"block\") monotonic, align 4\n  \
             fence syncscope(\"block\") acquire\n",
        );
    }

    #[test]
    fn a_fence_of_one_thread_is_for_the_compiler() {
        check_body(
            order_of_new,
            "  fence syncscope(\"singlethread\") seq_cst, !dbg !5\n  fence seq_cst\n",
            &format!("  {ONE_THREAD}, !dbg !5\n  fence seq_cst\n"),
        );
    }

    #[test]
    fn an_ordering_that_is_not_known_is_an_error() {
        for line in [
            "%1 = atomicrmw add ptr %p, i32 1 stronger, align 4",
            "%1 = atomicrmw add ptr %p, i32 1 acquire elsewhere, align 4",
            "fence syncscope(\"singlethread\")",
        ] {
            let ir = function(&format!("  {line}\n"));
            let mut module = Module::parse(&ir).unwrap();
            let error = order(&mut module, true).unwrap_err();
            assert!(error.to_string().contains(line), "{error}");
            check(&module).unwrap_err();
        }
    }

    #[test]
    fn what_is_ordered_after_all_is_found() {
        let check = |line: &str| check(&Module::parse(&function(line)).unwrap());
        check("  %1 = atomicrmw add ptr %p, i32 1 acquire, align 4\n").unwrap_err();
        check("  fence syncscope(\"singlethread\") seq_cst\n").unwrap_err();
        check("  %1 = atomicrmw add ptr %p, i32 1 monotonic, align 4\n  fence acquire\n").unwrap();
    }
}
