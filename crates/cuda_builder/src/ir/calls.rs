//! The call graph.

use std::collections::{HashMap, HashSet};

use super::module::{Function, Module};

/// The functions that a module defines, by name.
pub(crate) fn by_name<'m, 'a>(module: &'m Module<'a>) -> HashMap<&'m str, &'m Function<'a>> {
    module
        .functions()
        .map(|function| (function.name(), function))
        .collect()
}

/// The names of the kernels.
pub(crate) fn kernels<'m>(module: &'m Module<'_>) -> impl Iterator<Item = &'m str> {
    module
        .functions()
        .filter(|function| function.is_kernel())
        .map(Function::name)
}

/// The kernels that can reach a function, by calls or through its address; as text for messages.
pub(crate) fn kernels_of(module: &Module<'_>, function: &str) -> String {
    let functions = by_name(module);
    let leads: Vec<_> = kernels(module)
        .filter(|kernel| reached(&functions, [*kernel]).contains(function))
        .collect();
    if leads.is_empty() {
        return "(none)".to_owned();
    }
    leads.join("`, `")
}

/// Whether any function that may run uses a symbol with this prefix. A function may run if it is
/// reachable from the roots, or if its address is in a table.
pub(crate) fn uses(module: &Module<'_>, roots: &[String], prefix: &str) -> bool {
    let in_tables = module.globals().flat_map(|global| global.globals());
    let roots = roots.iter().map(String::as_str).chain(in_tables);
    reached(&by_name(module), roots)
        .into_iter()
        .any(|name| name.starts_with(prefix))
}

/// Whether a function may call itself, directly or through others.
pub(crate) fn calls_itself(module: &Module<'_>, name: &str) -> bool {
    let functions = by_name(module);
    let callees = functions
        .get(name)
        .into_iter()
        .flat_map(|function| function.instructions());
    let callees = callees.flat_map(|instruction| instruction.globals());
    reached(&functions, callees).contains(name)
}

/// All symbols mentioned by the functions reachable from the roots, and the roots.
fn reached<'m>(
    functions: &HashMap<&'m str, &'m Function<'_>>,
    roots: impl IntoIterator<Item = &'m str>,
) -> HashSet<&'m str> {
    let mut seen = HashSet::new();
    let mut waiting: Vec<_> = roots.into_iter().collect();
    while let Some(name) = waiting.pop() {
        if !seen.insert(name) {
            continue;
        }
        if let Some(function) = functions.get(name) {
            waiting.extend((function.instructions()).flat_map(|instruction| instruction.globals()));
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_calls_from_kernels() {
        let module = Module::parse(
            "define ptx_kernel void @k(i32 %0) #0 {\nstart:\n  call void @f(), !dbg !1\n  ret void\n}\n\
             define internal void @f() {\n  ret void\n}\ndefine void @lonely() {\n  ret void\n}\n",
        )
        .unwrap();
        assert_eq!(kernels(&module).collect::<Vec<_>>(), ["k"]);
        assert_eq!(kernels_of(&module, "f"), "k");
        assert_eq!(kernels_of(&module, "lonely"), "(none)");
    }

    #[test]
    fn what_cannot_run_uses_nothing() {
        let module = Module::parse(
            "@TABLE = constant [1 x ptr] [ptr @listed]\ndefine void @k() {\n  call void @a()\n  ret void\n}\n\
             define void @a() {\n  ret void\n}\ndefine void @dead() {\n  call void @__nv_dead()\n  ret void\n}\n\
             define void @listed() {\n  call void @__nv_listed()\n  ret void\n}\n",
        )
        .unwrap();
        let uses = |roots: &[&str], prefix| {
            let roots: Vec<_> = roots.iter().map(|&root| root.to_owned()).collect();
            uses(&module, &roots, prefix)
        };
        assert!(uses(&["k"], "a"));
        assert!(uses(&["k"], "__nv_listed"));
        assert!(!uses(&["k"], "__nv_dead"));
        assert!(uses(&["k", "dead"], "__nv_dead"));
    }
}
