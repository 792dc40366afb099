//! Groups of kernels, which LLVM compiles one by one: on all cores, and after a change only those
//! that it affects.
//!
//! A kernel's PTX does not depend on its group. Kernels stay together if they share more than
//! functions, which are inlined into each: a variable that one may write and another read, or
//! constant memory, whose limit is for all of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::ir::calls;
use crate::ir::module::{Global, Item, Module, has};
use crate::ir::references::References;

/// When to divide a module.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Modules with fewer kernels or less text stay whole: a tool's start costs more than it saves.
    pub(super) kernels: usize,
    pub(super) bytes: usize,
    /// The most kernels of a group, unless it must be larger.
    pub(super) group: usize,
}

pub(super) const LIMITS: Limits = Limits {
    kernels: 12,
    bytes: 4 << 20,
    group: 8,
};

/// Kernels with what they need.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) kernels: Vec<String>,
    /// All symbols that they reach, and the public ones assigned to them.
    pub(super) symbols: HashSet<String>,
}

/// The groups of a module's kernels, in its order. `None` if it should stay whole.
pub(super) fn groups(
    module: &Module<'_>,
    public: &HashSet<&str>,
    limits: Limits,
) -> Option<Vec<Group>> {
    let kernels: Vec<_> = calls::kernels(module).collect();
    let sizes = sizes(module);
    let bytes: usize = sizes.values().sum();
    if kernels.len() < limits.kernels || bytes < limits.bytes || is_indivisible(module) {
        return None;
    }
    let references = References::of(module);
    let reached: Vec<_> = kernels
        .iter()
        .map(|kernel| references.reached([*kernel]))
        .collect();
    let group = |members: Vec<usize>| Group {
        symbols: (members.iter().flat_map(|&member| &reached[member]))
            .map(|&symbol| symbol.to_owned())
            .collect(),
        kernels: members
            .iter()
            .map(|&member| kernels[member].to_owned())
            .collect(),
    };
    let members = divided(&kernels, &tied(module, public, &reached), limits);
    let mut groups: Vec<_> = members.into_iter().map(group).collect();
    let of_groups = groups.iter().flat_map(|group| &group.symbols);
    let in_groups: usize = of_groups.filter_map(|symbol| sizes.get(&**symbol)).sum();
    // Otherwise LLVM would compile what many kernels share once for each group.
    if groups.len() == 1 || in_groups > 2 * bytes {
        return None;
    }
    give_public(module, public, &references, &mut groups);
    Some(groups)
}

/// Gives each public symbol that no kernel reaches to one group: a kernel's record to the kernel's.
fn give_public<'m>(
    module: &'m Module<'m>,
    public: &HashSet<&str>,
    references: &References<'m>,
    groups: &mut [Group],
) {
    let defined = (module.functions().map(|function| function.name()))
        .chain(module.globals().map(Global::name));
    for symbol in defined.filter(|symbol| public.contains(symbol)) {
        if groups.iter().any(|group| group.symbols.contains(symbol)) {
            continue;
        }
        let kernel = symbol.split_once("__").map(|(kernel, _)| kernel);
        let own = groups
            .iter()
            .position(|group| group.kernels.iter().any(|one| Some(&**one) == kernel));
        let symbols = references.reached([symbol]);
        let symbols = symbols.into_iter().map(str::to_owned);
        groups[own.unwrap_or(0)].symbols.extend(symbols);
    }
}

/// Whether something belongs to the module as a whole.
fn is_indivisible(module: &Module<'_>) -> bool {
    module.items.iter().any(|item| match item {
        Item::Text(text) => text.lines().any(|line| line.starts_with("module asm")),
        Item::Global(global) => has(global.linkage(), "appending"),
        // An annotation of a function.
        Item::Metadata(node) => node.node().contains('@') && !node.node().contains("!DI"),
        _ => false,
    })
}

/// The bytes of each definition's text.
fn sizes<'m>(module: &'m Module<'m>) -> HashMap<&'m str, usize> {
    let functions = module.functions().map(|function| {
        let lines = function.instructions();
        let bytes = lines.map(|instruction| instruction.text().len()).sum();
        (function.name(), bytes)
    });
    let globals = module.globals();
    functions
        .chain(globals.map(|global| (global.name(), global.text().len())))
        .collect()
}

/// For each kernel, the first one that it must stay together with, or itself.
fn tied(module: &Module<'_>, public: &HashSet<&str>, reached: &[HashSet<&str>]) -> Vec<usize> {
    let is_defined = |global: &&Global<'_>| !global.initialiser().is_empty();
    let tying: HashMap<_, _> = (module.globals().filter(is_defined))
        .filter_map(|global| {
            if global.linkage().contains("addrspace(4)") {
                return Some((global.name(), ""));
            }
            // LLVM assumes nothing about a public variable.
            let is_variable = global.keyword() == "global" && !public.contains(global.name());
            is_variable.then_some((global.name(), global.name()))
        })
        .chain(calls::kernels(module).map(|name| (name, name)))
        .collect();
    let mut first_of: Vec<_> = (0..reached.len()).collect();
    let root = |first_of: &[usize], mut kernel: usize| {
        while first_of[kernel] != kernel {
            kernel = first_of[kernel];
        }
        kernel
    };
    let mut users = HashMap::new();
    for (kernel, symbols) in reached.iter().enumerate() {
        let ties: HashSet<_> = symbols
            .iter()
            .filter_map(|symbol| tying.get(symbol))
            .collect();
        for tie in ties {
            let other = root(&first_of, *users.entry(*tie).or_insert(kernel));
            let own = root(&first_of, kernel);
            first_of[own.max(other)] = own.min(other);
        }
    }
    (0..reached.len())
        .map(|kernel| root(&first_of, kernel))
        .collect()
}

/// The members of each group. Group boundaries depend on names only, so that adding or removing a
/// kernel changes only its own group and perhaps the next one.
fn divided(kernels: &[&str], first_of: &[usize], limits: Limits) -> Vec<Vec<usize>> {
    let mut units: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (kernel, first) in first_of.iter().enumerate() {
        units.entry(*first).or_default().push(kernel);
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (first, unit) in units {
        let mut hasher = DefaultHasher::new();
        kernels[first].hash(&mut hasher);
        let begins = hasher.finish().is_multiple_of(2 * limits.group as u64);
        match groups.last_mut() {
            Some(group) if !begins && group.len() + unit.len() <= limits.group => {
                group.extend(unit);
            }
            _ => groups.push(unit),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limits = Limits {
        kernels: 2,
        bytes: 0,
        group: 1,
    };

    fn kernel(name: &str, calls: &str) -> String {
        let calls = calls.split(' ').filter(|call| !call.is_empty());
        let calls: String = calls
            .map(|call| format!("  call void @f(ptr @{call})\n"))
            .collect();
        format!("define ptx_kernel void @{name}() {{\n{calls}  ret void\n}}\n")
    }

    /// Checks the kernels of each group, and its other symbols.
    #[track_caller]
    fn check(rest: &str, kernels: [&str; 3], expected: &[&str]) {
        let [a, b, c] = kernels;
        let text = [
            kernel("a", a),
            kernel("b", b),
            kernel("c", c),
            rest.to_owned(),
            "define internal void @f(ptr %0) {\n  ret void\n}\n".to_owned(),
        ]
        .concat();
        let module = Module::parse(&text).unwrap();
        let public = HashSet::from(["a", "b", "c", "b__signature", "open", "help"]);
        let found = groups(&module, &public, SMALL).map(|groups| {
            let text = |group: &Group| {
                let mut symbols: Vec<_> = group.symbols.iter().map(String::as_str).collect();
                symbols.sort_unstable();
                symbols.join(" ")
            };
            groups.iter().map(text).collect::<Vec<_>>()
        });
        let expected: Vec<_> = expected.iter().map(|&text| text.to_owned()).collect();
        let expected = Some(expected).filter(|expected| !expected.is_empty());
        assert_eq!(found, expected, "{rest}");
    }

    #[test]
    fn what_is_only_read_or_opaque_ties_nothing() {
        let rest = "@d = constant i8 1\n@open = global i8 0\n@there = external addrspace(3) global [0 x i8]\n";
        let all = ["a", "b", "c"].map(|kernel| format!("{kernel} d f open there"));
        check(
            rest,
            ["open there d"; 3],
            &all.each_ref().map(String::as_str),
        );
    }

    #[test]
    fn kernels_that_share_a_variable_stay_together() {
        let rest = "@x = internal global i8 0\n@y = internal addrspace(3) global i8 undef\n";
        check(rest, ["x", "y", "x"], &["a c f x", "b f y"]);
        check(rest, ["x y", "y", "x"], &[]);
        let constant =
            "@x = addrspace(4) constant i8 0\n@y = internal addrspace(4) constant i8 undef\n";
        check(constant, ["x", "y", ""], &["a b f x y", "c"]);
    }

    #[test]
    fn a_kernel_that_another_one_names_is_compiled_once() {
        let rest = "define void @help() {\n  ret void\n}\n";
        check(rest, ["help", "", "help"], &["a f help", "b", "c f help"]);
        check("", ["c", "", ""], &["a c f", "b"]);
    }

    #[test]
    fn public_symbols_have_one_group() {
        let rest = "@b__signature = constant i8 0\n@open = global i8 0\n";
        check(rest, ["", "", ""], &["a open", "b b__signature", "c"]);
    }

    #[test]
    fn what_belongs_to_the_module_keeps_it_whole() {
        check("module asm \".reg\"\n", [""; 3], &[]);
        check(
            "@llvm.used = appending global [1 x ptr] [ptr @f]\n",
            [""; 3],
            &[],
        );
        check("!nvvm.annotations = !{!1}\n!1 = !{ptr @f}\n", [""; 3], &[]);
        let few = Limits {
            kernels: 4,
            ..SMALL
        };
        let text = [kernel("a", ""), kernel("b", "")].concat();
        let module = Module::parse(&text).unwrap();
        assert!(groups(&module, &HashSet::new(), few).is_none());
        let much = Limits {
            bytes: 1 << 10,
            ..SMALL
        };
        assert!(groups(&module, &HashSet::new(), much).is_none());
    }

    #[test]
    fn a_kernel_more_changes_groups_next_to_it() {
        let names: Vec<_> = (0..200)
            .map(|number| format!("kernel{number:03}"))
            .collect();
        let mut kernels: Vec<_> = names.iter().map(String::as_str).collect();
        let divide = |kernels: &[&str]| {
            let alone: Vec<_> = (0..kernels.len()).collect();
            let groups = divided(kernels, &alone, LIMITS).into_iter();
            let names =
                |group: Vec<usize>| group.iter().map(|&at| kernels[at].to_owned()).collect();
            groups.map(names).collect::<HashSet<Vec<String>>>()
        };
        let before = divide(&kernels);
        kernels.insert(77, "kernel076a");
        let after = divide(&kernels);
        let new = after.difference(&before).count();
        assert!(before.len() >= 25 && new <= 6, "{} {new}", before.len());
    }
}
