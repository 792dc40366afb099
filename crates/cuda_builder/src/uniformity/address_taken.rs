//! Functions that wait for other threads and are called through pointers.
//!
//! The analysis cannot follow a call through a pointer: the function that runs, and with it the
//! barrier, may differ between threads. So the address of a function that leads to a wait must not
//! be taken at all, whether for a vtable, a function pointer or an argument.

use std::collections::HashSet;

use crate::error::CudaBuilderError;
use crate::ir::module::Module;

/// The functions of `waiting` that are mentioned other than as a callee.
pub(super) fn functions<'m>(
    module: &'m Module<'m>,
    waiting: &HashSet<&str>,
) -> Result<HashSet<&'m str>, CudaBuilderError> {
    let mut taken: HashSet<_> = module
        .globals()
        .flat_map(|global| global.globals())
        .collect();
    for function in module.functions() {
        for instruction in function.instructions() {
            let callee = instruction.call()?.and_then(|call| call.function());
            // The callee comes first; its name may also be among the arguments.
            taken.extend(instruction.globals().skip(usize::from(callee.is_some())));
        }
    }
    taken.retain(|symbol| waiting.contains(symbol));
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uniformity::program::waiting;

    #[track_caller]
    fn check(rest: &str, expected: &[&str]) {
        let text = format!(
            "define void @wait() {{\n  call void asm sideeffect \"bar.sync 0;\", \"\"()\n  ret void\n}}\n\
             define void @outer(ptr %0) {{\n  call void @wait()\n  ret void\n}}\n{rest}"
        );
        let module = Module::parse(&text).unwrap();
        let waiting = waiting(&module).unwrap();
        let mut found: Vec<_> = functions(&module, &waiting).unwrap().into_iter().collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn calls_by_name_take_no_address() {
        check(
            "define void @k() {\n  call void @outer(ptr null)\n  ret void\n}\n",
            &[],
        );
    }

    #[test]
    fn tables_arguments_and_stores_do() {
        check("@table = constant [1 x ptr] [ptr @outer]\n", &["outer"]);
        check(
            "define void @k() {\n  call void @outer(ptr @wait)\n  ret void\n}\n",
            &["wait"],
        );
        check(
            "define void @k() {\n  call void @outer(ptr @outer)\n  ret void\n}\n",
            &["outer"],
        );
        check(
            "define void @k(ptr %0) {\n  store ptr @wait, ptr %0\n  ret void\n}\n",
            &["wait"],
        );
    }

    #[test]
    fn functions_that_wait_for_nobody_may_be_pointed_to() {
        check(
            "@table = constant [1 x ptr] [ptr @f]\ndefine void @f() {\n  ret void\n}\n",
            &[],
        );
    }
}
