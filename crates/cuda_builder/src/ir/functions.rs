//! The functions of a module, and who calls whom.

use std::collections::{HashMap, HashSet};

use super::symbol::symbols;

/// A function's definition.
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    /// Whether it has PTX's calling convention for entry points.
    pub(crate) is_kernel: bool,
    /// The instruction lines, without labels and blank lines.
    pub(crate) body: Vec<&'a str>,
}

/// All functions that the module defines.
pub(crate) fn functions(ir: &str) -> Vec<Function<'_>> {
    let mut functions = Vec::new();
    let mut current: Option<Function<'_>> = None;
    for line in ir.lines() {
        match &mut current {
            None if line.starts_with("define ") => {
                current = Some(Function {
                    name: defined(line),
                    is_kernel: is_kernel(line),
                    body: Vec::new(),
                });
            }
            None => {}
            Some(_) if line == "}" => functions.extend(current.take()),
            Some(function) if line.starts_with("  ") => function.body.push(line),
            Some(_) => {}
        }
    }
    functions
}

/// The names of the module's kernels.
pub(crate) fn kernels(ir: &str) -> impl Iterator<Item = &str> {
    ir.lines()
        .filter(|line| line.starts_with("define ") && is_kernel(line))
        .map(defined)
}

/// The name in a definition's first line.
fn defined(line: &str) -> &str {
    symbols(line).next().map_or("", |symbol| symbol.name)
}

fn is_kernel(definition: &str) -> bool {
    definition
        .split(" @")
        .next()
        .is_some_and(|head| head.contains("ptx_kernel"))
}

/// The function that a call names, if the line is one.
pub(crate) fn callee(line: &str) -> Option<&str> {
    symbols(line)
        .find(|symbol| line[symbol.span.end..].starts_with('('))
        .map(|symbol| symbol.name)
}

/// For each function, the kernels from which calls or addresses lead to it (a kernel leads to itself).
pub(crate) fn reached_from<'a>(functions: &[Function<'a>]) -> HashMap<&'a str, Vec<&'a str>> {
    let by_name: HashMap<_, _> = functions
        .iter()
        .map(|function| (function.name, function))
        .collect();
    let mut reached: HashMap<&str, Vec<&str>> = HashMap::new();
    for kernel in functions.iter().filter(|function| function.is_kernel) {
        let mut seen = HashSet::new();
        let mut waiting = vec![kernel.name];
        while let Some(name) = waiting.pop() {
            let Some(function) = by_name.get(name).filter(|_| seen.insert(name)) else {
                continue;
            };
            reached.entry(function.name).or_default().push(kernel.name);
            waiting.extend(
                function
                    .body
                    .iter()
                    .flat_map(|line| symbols(line))
                    .map(|symbol| symbol.name),
            );
        }
    }
    reached
}

/// Whether any function that may run uses a symbol that begins so. Those that nothing refers to but each other cannot run; one
/// whose address is in a table may.
pub(crate) fn uses(ir: &str, roots: &[&str], prefix: &str) -> bool {
    let functions = functions(ir);
    let by_name: HashMap<_, _> = functions
        .iter()
        .map(|function| (function.name, function))
        .collect();
    let in_tables = ir
        .lines()
        .filter(|line| line.starts_with('@'))
        .flat_map(|line| symbols(line).map(|symbol| symbol.name));
    let mut waiting: Vec<&str> = roots.iter().copied().chain(in_tables).collect();
    let mut seen = HashSet::new();
    while let Some(name) = waiting.pop() {
        if name.starts_with(prefix) {
            return true;
        }
        let Some(function) = by_name.get(name).filter(|_| seen.insert(name)) else {
            continue;
        };
        let used = function.body.iter().flat_map(|line| symbols(line));
        waiting.extend(used.map(|symbol| symbol.name));
    }
    false
}

/// The kernels from which a function is reached, for a message.
pub(crate) fn kernels_of(reached: &HashMap<&str, Vec<&str>>, function: &str) -> String {
    reached
        .get(function)
        .map_or_else(|| "(none)".to_owned(), |kernels| kernels.join("`, `"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_calls_from_kernels() {
        let ir = "define ptx_kernel void @k(i32 %0) #0 {\nstart:\n  call void @f(), !dbg !1\n  ret void\n}\n\
                  define internal void @f() {\n  ret void\n}\ndefine void @lonely() {\n  ret void\n}\n";
        let functions = functions(ir);
        assert_eq!(
            functions.iter().map(|f| f.name).collect::<Vec<_>>(),
            ["k", "f", "lonely"]
        );
        assert_eq!(
            functions[0].body,
            ["  call void @f(), !dbg !1", "  ret void"]
        );
        let reached = reached_from(&functions);
        assert_eq!(kernels_of(&reached, "f"), "k");
        assert_eq!(kernels_of(&reached, "lonely"), "(none)");
    }

    #[test]
    fn what_cannot_run_uses_nothing() {
        let ir = "@TABLE = constant [1 x ptr] [ptr @listed]\ndefine void @k() {\n  call void @a()\n}\n\
                  define void @a() {\n  ret void\n}\ndefine void @dead() {\n  call void @__nv_dead()\n}\n\
                  define void @listed() {\n  call void @__nv_listed()\n}\n";
        assert!(uses(ir, &["k"], "a"));
        assert!(uses(ir, &["k"], "__nv_listed"));
        assert!(!uses(ir, &["k"], "__nv_dead"));
        assert!(uses(ir, &["k", "dead"], "__nv_dead"));
    }
}
