//! Which calls wait for other threads.

use std::collections::{HashMap, HashSet};

use super::module::{Call, Callee, Module};
use crate::error::CudaBuilderError;

/// The functions of a module that reach a barrier, directly or through calls.
pub(crate) struct Waiting<'m> {
    functions: HashSet<&'m str>,
}

impl<'m> Waiting<'m> {
    pub(crate) fn of(module: &'m Module<'_>) -> Result<Self, CudaBuilderError> {
        let functions = leading_to(module, is_barrier)?;
        Ok(Waiting { functions })
    }

    /// Whether a call may wait at a barrier.
    pub(crate) fn waits(&self, call: &Call<'_>) -> bool {
        is_barrier(call)
            || call
                .function()
                .is_some_and(|name| self.functions.contains(name))
    }
}

/// The functions of a module that reach such a call, directly or through others.
pub(crate) fn leading_to<'m>(
    module: &'m Module<'_>,
    is_wanted: impl Fn(&Call<'_>) -> bool,
) -> Result<HashSet<&'m str>, CudaBuilderError> {
    let mut callers: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut found = Vec::new();
    for function in module.functions() {
        for instruction in function.instructions() {
            let Some(call) = instruction.call()? else {
                continue;
            };
            if is_wanted(&call) {
                found.push(function.name());
            } else if let Some(callee) = call.function() {
                callers.entry(callee).or_default().push(function.name());
            }
        }
    }
    let mut leading = HashSet::new();
    while let Some(name) = found.pop() {
        if leading.insert(name) {
            found.extend(callers.get(name).into_iter().flatten());
        }
    }
    Ok(leading)
}

/// Whether a call is itself a barrier of the block, the cluster or the warp.
fn is_barrier(call: &Call<'_>) -> bool {
    match call.callee {
        Callee::Direct(name) => name
            .strip_prefix("llvm.nvvm.")
            .is_some_and(|name| name.starts_with("barrier") || name.starts_with("bar.")),
        // The opcode starts a word; LLVM prints a new line as `\0A`.
        Callee::Assembly { template, .. } => template
            .replace("\\0A", " ")
            .replace("\\09", " ")
            .split([' ', ';', '{', '}', ':'])
            .any(|word| matches!(word.split('.').next(), Some("bar" | "barrier"))),
        Callee::Indirect(_) | Callee::Constant => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Waiting;
    use crate::ir::module::Module;
    use crate::ir::testing::function;

    #[track_caller]
    fn check(call: &str, expected: bool) {
        let ir = function(&format!("  call void {call}\n"));
        let module = Module::parse(&ir).unwrap();
        let waiting = Waiting::of(&module).unwrap();
        assert_eq!(waiting.functions.contains("test"), expected, "{call}");
    }

    #[test]
    fn barriers_wait_and_fences_do_not() {
        check("@llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", true);
        check("@llvm.nvvm.bar.warp.sync(i32 -1)", true);
        check("@llvm.nvvm.membar.cta()", false);
        check("asm sideeffect \"bar.sync 0;\", \"\"()", true);
        check(
            "asm sideeffect \"{\\0A\\09@p barrier.sync 1;\\0A}\", \"\"()",
            true,
        );
        check("asm sideeffect \"membar.cta;\", \"\"()", false);
        check(
            "asm sideeffect \"mbarrier.init.shared.b64 [$0], 1;\", \"r\"(i32 1)",
            false,
        );
    }

    #[test]
    fn callers_wait_too() {
        let ir = format!(
            "{}{}",
            function("  call void asm sideeffect \"bar.sync 0;\", \"\"()\n"),
            function("  call void @test(ptr %p)\n").replacen("@test", "@caller", 1)
        );
        let module = Module::parse(&ir).unwrap();
        let waiting = Waiting::of(&module).unwrap();
        assert!(waiting.functions.contains("caller"));
    }
}
