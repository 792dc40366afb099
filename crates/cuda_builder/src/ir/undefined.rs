//! Finds functions and statics that kernels use and that are defined nowhere.
//!
//! LLVM prints them as `.extern`, and the driver refuses the module when it is loaded.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::calls::kernels_of;
use super::module::{Global, Head, Module, Nodes};
use super::names::demangle;
use super::place;
use crate::error::CudaBuilderError;

/// The functions that CUDA's driver defines.
const OF_THE_DRIVER: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Fails if a function that may run mentions such a symbol.
pub(crate) fn check(module: &Module<'_>) -> Result<(), CudaBuilderError> {
    let undefined = undefined(module);
    if undefined.is_empty() {
        return Ok(());
    }
    let nodes = Nodes::of(module);
    // The kernels by symbol and place: code that is inlined into several is one place.
    let mut uses = BTreeMap::<_, BTreeSet<_>>::new();
    for function in module.functions() {
        for instruction in function.instructions() {
            let used = (instruction.globals()).filter(|name| undefined.contains_key(name));
            for symbol in used {
                let place = match place::of(instruction, &nodes) {
                    Some(place) => format!("at {place}"),
                    None => format!("in `{}`", demangle(function.name())),
                };
                (uses.entry((symbol, place)).or_default())
                    .insert(kernels_of(module, function.name()));
            }
        }
    }
    for table in module.globals() {
        for symbol in table.globals().filter(|name| undefined.contains_key(name)) {
            let users = (module.functions()).filter(|function| {
                let mut instructions = function.instructions();
                instructions.any(|one| one.globals().any(|name| name == table.name()))
            });
            let place = format!("in the static `{}`", demangle(table.name()));
            (uses.entry((symbol, place)).or_default())
                .extend(users.map(|user| kernels_of(module, user.name())));
        }
    }
    let reports: Vec<_> = (uses.into_iter())
        .map(|((symbol, place), kernels)| {
            let kernels: Vec<_> = kernels.into_iter().collect();
            report(&kernels.join("`, `"), (undefined[symbol], symbol), &place)
        })
        .collect();
    match reports.is_empty() {
        true => Ok(()),
        false => Err(CudaBuilderError::Undefined { reports }),
    }
}

fn report(kernel: &str, (what, symbol): (&str, &str), place: &str) -> String {
    let symbol = demangle(symbol);
    format!(
        "kernel `{kernel}`: {what} `{symbol}`, used {place}, is declared but defined nowhere, and no GPU loads a kernel that lacks it; \
         define it in Rust: no other language's code is linked into kernels"
    )
}

/// The symbols without a definition, and the kind of each.
fn undefined<'m>(module: &'m Module<'_>) -> HashMap<&'m str, &'static str> {
    let is_supplied = |name: &str| name.starts_with("llvm.") || OF_THE_DRIVER.contains(&name);
    let functions = (module.declarations().map(Head::name))
        .filter(|name| !is_supplied(name))
        .map(|name| (name, "the function"));
    // Shared memory without a definition is dynamic: the launch sets its size.
    let is_static = |global: &&Global<'_>| {
        matches!(global.keyword(), "global" | "constant")
            && global.initialiser().is_empty()
            && !global.linkage().contains("addrspace(3)")
    };
    let statics = (module.globals().filter(is_static)).map(|global| (global.name(), "the static"));
    functions.chain(statics).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::ir::module::Module;

    #[track_caller]
    fn check_text(rest: &str, expected: Option<&str>) {
        let ir = format!(
            "@dynamic = external addrspace(3) global [0 x i8], align 16\n\
             define ptx_kernel void @k(ptr %0) {{\n  call void @helper(ptr %0)\n  ret void\n}}\n{rest}\
             !1 = distinct !DISubprogram(name: \"k\", scope: !3, file: !3, line: 1)\n\
             !3 = !DIFile(filename: \"src/lib.rs\", directory: \"/\")\n\
             !4 = !DILocation(line: 12, column: 9, scope: !1)\n"
        );
        let result = check(&Module::parse(&ir).unwrap());
        match (result, expected) {
            (Ok(()), None) => {}
            (Err(error), Some(expected)) => assert_eq!(
                error.to_string(),
                format!(
                    "kernel `k`: {expected}, is declared but defined nowhere, and no GPU loads a kernel that lacks it; define it in \
                     Rust: no other language's code is linked into kernels"
                )
            ),
            (result, _) => panic!("{result:?}"),
        }
    }

    #[test]
    fn a_function_or_static_that_nobody_defines_is_named_with_kernel_and_line() {
        let helper =
            |line: &str| format!("define void @helper(ptr %0) {{\n  {line}\n  ret void\n}}\n");
        check_text(
            &(helper("%1 = call i32 @nobody(i32 1), !dbg !4") + "declare i32 @nobody(i32)\n"),
            Some("the function `nobody`, used at src/lib.rs:12:9"),
        );
        check_text(
            &(helper("store ptr @nobody, ptr %0, align 8") + "declare i32 @nobody(i32)\n"),
            Some("the function `nobody`, used in `helper`"),
        );
        check_text(
            &(helper("%1 = load i32, ptr @ELSEWHERE, align 4, !dbg !4")
                + "@ELSEWHERE = external global i32\n"),
            Some("the static `ELSEWHERE`, used at src/lib.rs:12:9"),
        );
        check_text(
            &(helper("%1 = load ptr, ptr @TABLE, align 8")
                + "@TABLE = constant [1 x ptr] [ptr @nobody]\ndeclare i32 @nobody(i32)\n"),
            Some("the function `nobody`, used in the static `TABLE`"),
        );
    }

    #[test]
    fn each_kernel_and_each_place_is_told() {
        let body = |line: u32| {
            format!("(ptr %0) {{\n  %1 = call i32 @nobody(i32 1), !dbg !{line}\n  ret void\n}}\n")
        };
        let ir = format!(
            "define ptx_kernel void @a{}define ptx_kernel void @b{}define ptx_kernel void @c{}declare i32 @nobody(i32)\n\
             !1 = distinct !DISubprogram(name: \"k\", scope: !3, file: !3, line: 1)\n\
             !3 = !DIFile(filename: \"src/lib.rs\", directory: \"/\")\n\
             !4 = !DILocation(line: 12, column: 9, scope: !1)\n\
             !5 = !DILocation(line: 15, column: 9, scope: !1)\n",
            body(4),
            body(5),
            body(4)
        );
        let reports = check(&Module::parse(&ir).unwrap()).unwrap_err().to_string();
        let starts: Vec<_> = (reports.lines())
            .filter_map(|line| line.split(", is declared").next())
            .collect();
        assert_eq!(
            starts,
            [
                "kernel `a`, `c`: the function `nobody`, used at src/lib.rs:12:9",
                "kernel `b`: the function `nobody`, used at src/lib.rs:15:9",
            ]
        );
    }

    #[test]
    fn what_the_driver_defines_or_nothing_uses_is_no_error() {
        let helper = "define void @helper(ptr %0) {\n  %1 = call i32 @vprintf(ptr %0, ptr %0)\n  \
                      %2 = load i8, ptr addrspace(3) @dynamic\n  call void @llvm.assume(i1 true)\n  ret void\n}\n";
        check_text(
            &(helper.to_owned()
                + "declare i32 @vprintf(ptr, ptr)\ndeclare void @llvm.assume(i1)\ndeclare void @unused()\n"),
            None,
        );
    }
}
