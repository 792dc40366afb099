//! The direction of imports: modules of a crate do not import each other in circles, and layers
//! import only those below them.
//!
//! A module counts together with those below it: what a child imports, its parent needs. So a circle
//! of a module and its own descendants is none: a parent declares its children and re-exports from
//! them, and children extend their parent's types.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::workspace;

/// From the bottom up: a package may need packages of its own layer and of those before it.
const PACKAGES: [&[&str]; 8] = [
    &[
        "launch_contract",
        "cuda_std_macros",
        "cuda_tools",
        "libcuda_loader",
        "find_cuda_helper",
    ],
    &["ptx_emulator", "blockwise_cust"],
    &[
        "cuda_std",
        "cuda_builder",
        "kernel_arguments",
        "blockwise_debug",
    ],
    &["kernels", "blockwise", "blockwise_new", "blockwise_viewer"],
    &["blockwise_ops"],
    &["ladder", "blockwise_demo", "blockwise_mesh"],
    &["blockwise_cli"],
    &["blockwise_tests", "xtask", "workbench"],
];

/// The same for the modules of the emulator.
const EMULATOR: [&[&str]; 9] = [
    &[
        "source",
        "access",
        "fault",
        "error",
        "limits",
        "launch",
        "positions",
        "progress",
        "signature",
    ],
    &["tensor", "texture"],
    &["parse", "memory"],
    &["decode"],
    &["exec"],
    &["metrics", "sanitize"],
    &["module", "variables", "loaded"],
    &["check", "emulator"],
    &["report", "replay", "testing"],
];

/// Neighbours that import each other, none of whose files do. The list may get shorter.
const FOLDERS: [[&str; 2]; 4] = [
    // A buffer's memory keeps the check of permutations, which allocates.
    ["memory", "permutation"],
    // Dominators of blocks, which the check of uniformity owns: `cargo xtask checker` mutates them.
    ["ir", "uniformity"],
    // Unrolled loops run over the elements of a block.
    ["block", "unroll"],
    // Transfers show observers what they move; observers see memory.
    ["exec::memory", "exec::observe"],
];

/// The modules of a crate, and what each imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_modules_import_each_other() {
    let mut known: BTreeSet<_> = FOLDERS.map(|pair| names(&pair)).into();
    for package in packages() {
        let name = package.strip_prefix(workspace::root()).unwrap();
        let imports = imports(&package.join("src"));
        assert!(!imports.is_empty(), "{}", name.display());
        let mut circles = circles(&neighbours(&imports));
        circles.retain(|circle| !known.remove(circle));
        let name = name.display();
        assert!(
            circles.is_empty(),
            "{name}: these import each other: {circles:?}"
        );
    }
    assert!(known.is_empty(), "no circles any more: {known:?}");
}

#[test]
fn packages_need_what_is_below_them() {
    let manifests = packages().into_iter().map(|package| {
        let manifest = std::fs::read_to_string(package.join("Cargo.toml")).unwrap();
        // By the name that code uses.
        let library = manifest.split_once("[lib]\nname = \"");
        let name = library.or(manifest.split_once("name = \"")).unwrap().1;
        (name.split('"').next().unwrap().to_owned(), needs(&manifest))
    });
    let mut needs: Imports = manifests.collect();
    let own: BTreeSet<String> = needs.keys().cloned().collect();
    needs
        .values_mut()
        .for_each(|needs| needs.retain(|name| own.contains(name)));
    assert_eq!(upward(&needs, &PACKAGES), [""; 0]);
}

#[test]
fn the_emulators_modules_import_what_is_below_them() {
    let source = workspace::root().join("crates/ptx_emulator/src");
    assert_eq!(upward(&imports(&source), &EMULATOR), [""; 0]);
}

#[test]
fn arrows_up_are_found() {
    let layers: [&[&str]; 2] = [&["a", "b"], &["c"]];
    let imports: Imports = [
        ("".to_owned(), names(&["a", "c"])),
        ("a::x".to_owned(), names(&["b", "a::y"])),
        ("c".to_owned(), names(&["a::x", "b", ""])),
        ("b".to_owned(), names(&["c::z"])),
        ("d".to_owned(), names(&["a"])),
    ]
    .into();
    let expected = [
        "b imports c::z, which is above it",
        "c imports the root, which is above it",
        "d is in no layer",
    ];
    assert_eq!(upward(&imports, &layers), expected);
    let manifest = "[package]\nname = \"p\"\n[dependencies]\na.workspace = true # b\nc = { path = \"d\" }\n\
                    [dev-dependencies]\ne = \"1\"\n[target.'cfg(unix)'.dependencies]\nf=\"1\"\n";
    assert_eq!(needs(manifest), names(&["a", "c", "f"]));
}

fn names(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|&name| name.to_owned()).collect()
}

/// The imports that go up, or start outside all layers. A module is in the layer of its outermost
/// ancestor, and the root is above all layers.
fn upward(imports: &Imports, layers: &[&[&str]]) -> Vec<String> {
    let layer_of = |module: &str| {
        let outermost = module.split("::").next().unwrap();
        layers.iter().position(|layer| layer.contains(&outermost))
    };
    let mut found = Vec::new();
    for (module, imported) in imports.iter().filter(|(module, _)| !module.is_empty()) {
        let Some(layer) = layer_of(module) else {
            found.push(format!("{module} is in no layer"));
            continue;
        };
        for other in imported {
            if layer_of(other).is_none_or(|other| other > layer) {
                let other = if other.is_empty() { "the root" } else { other };
                found.push(format!("{module} imports {other}, which is above it"));
            }
        }
    }
    found
}

/// The packages that a manifest names, except dev-dependencies.
fn needs(manifest: &str) -> BTreeSet<String> {
    let mut counts = false;
    let mut needs = BTreeSet::new();
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            counts = section.ends_with("dependencies") && section != "dev-dependencies";
        } else if counts && line.starts_with(|c: char| c.is_alphabetic()) {
            let name = line.split(['.', '=', ' ']).next().unwrap();
            needs.insert(name.to_owned());
        }
    }
    needs
}

#[test]
fn circles_are_found() {
    let text = "use super::b::{self, X}; // use super::z;\nuse crate::c::Y as Z;\nsuper::e::f();\n";
    let modules = ["", "a", "b", "c", "e", "a::d"].map(str::to_owned).into();
    let found = imported("a", text, &modules);
    assert_eq!(found, ["b", "c", "e"].map(str::to_owned).into());
    assert_eq!(
        imported("b", "use super::a::d::D;", &modules),
        ["a::d".to_owned()].into()
    );
    let imports: Imports = [
        ("a".to_owned(), names(&["b"])),
        ("b".to_owned(), names(&["c"])),
        ("c".to_owned(), names(&["a", "e"])),
        ("e".to_owned(), names(&[])),
    ]
    .into();
    assert_eq!(circles(&imports), [names(&["a", "b", "c"])]);
    // `a` needs what its child imports; `c` and its child need each other only.
    let imports: Imports = [
        ("a".to_owned(), names(&["a::x"])),
        ("a::x".to_owned(), names(&["b::z", "c"])),
        ("b::z".to_owned(), names(&["a", ""])),
        ("c".to_owned(), names(&["c::d"])),
        ("c::d".to_owned(), names(&["c", ""])),
    ]
    .into();
    assert_eq!(circles(&neighbours(&imports)), [names(&["a", "b"])]);
}

/// The workspace's larger packages.
fn packages() -> Vec<PathBuf> {
    let root = workspace::root();
    let crates = std::fs::read_dir(root.join("crates")).unwrap();
    let crates = crates.map(|entry| entry.unwrap().path());
    let others = ["host", "kernels", "ladder", "tests", "xtask"].map(|folder| root.join(folder));
    crates
        .filter(|path| path.join("src").is_dir())
        .chain(others)
        .collect()
}

fn imports(src: &Path) -> Imports {
    let mut files = BTreeMap::new();
    collect(src, "", &mut files);
    let modules: BTreeSet<String> = files.keys().cloned().collect();
    files
        .iter()
        .map(|(module, file)| {
            let text = std::fs::read_to_string(file).unwrap();
            (module.clone(), imported(module, &text, &modules))
        })
        .collect()
}

/// The files below a folder by their modules' names, without tests.
fn collect(folder: &Path, module: &str, files: &mut BTreeMap<String, PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let inner = match (module, name.as_str()) {
            (_, "mod" | "lib" | "main") => module.to_owned(),
            ("", name) => name.to_owned(),
            (module, name) => format!("{module}::{name}"),
        };
        if name == "tests" {
            continue;
        } else if path.is_dir() {
            collect(&path, &inner, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.insert(inner, path);
        }
    }
}

/// What modules with the same parent import of each other, each together with those below it.
fn neighbours(imports: &Imports) -> Imports {
    let mut found = Imports::new();
    for (module, imported) in imports {
        for other in imported {
            let [from, to] = [module, other].map(|path| path.split("::").collect::<Vec<_>>());
            let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            // The root, and what is inside the other one, is no neighbour.
            let inside = shared == from.len().min(to.len());
            if !inside && !module.is_empty() && !other.is_empty() {
                let [from, to] = [from, to].map(|path| path[..=shared].join("::"));
                found.entry(from).or_default().insert(to);
            }
        }
    }
    found
}

/// The modules that a text names, in `use` declarations or inline paths.
fn imported(module: &str, text: &str, modules: &BTreeSet<String>) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let code: Vec<_> = text
        .lines()
        .map(|line| line.split("//").next().unwrap())
        .collect();
    let code = code.join("\n");
    let mut paths = Vec::new();
    for (at, keyword) in code.match_indices("use ") {
        if code[..at].ends_with(|c: char| !c.is_whitespace()) {
            continue;
        }
        let tree = code[at + keyword.len()..].split(';').next().unwrap();
        let tree = tree.replace(" as ", "::");
        expand("", &tree.split_whitespace().collect::<String>(), &mut paths);
    }
    paths.extend(inline(&code));
    let found = paths
        .iter()
        .filter_map(|path| resolve(module, path, modules));
    found.filter(|found| found != module).collect()
}

/// The paths that start with `crate` or `super`, outside braces.
fn inline(code: &str) -> impl Iterator<Item = String> {
    let is_part = |c: char| c.is_alphanumeric() || "_:".contains(c);
    let starts = ["crate::", "super::"].map(|start| code.match_indices(start));
    let starts = starts.into_iter().flatten().map(|(at, _)| at);
    let whole = starts.filter(move |&at| !code[..at].ends_with(|c| is_part(c) || c == '$'));
    let paths = whole.map(move |at| code[at..].split(|c| !is_part(c)).next().unwrap());
    let paths = paths.filter(|path| !path.ends_with("::"));
    paths.map(str::to_owned)
}

/// `a::{b, c::{d}}` as `a::b` and `a::c::d`.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let Some((head, rest)) = tree.split_once('{') else {
        return paths.push(format!("{prefix}{tree}"));
    };
    let prefix = format!("{prefix}{head}");
    let (mut depth, mut start) = (0, 0);
    for (at, c) in rest.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                expand(&prefix, &rest[start..at], paths);
                start = at + 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
}

/// The innermost module of a path, if it is one of this crate.
fn resolve(module: &str, path: &str, modules: &BTreeSet<String>) -> Option<String> {
    let mut at: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
    let mut parts = path.split("::").peekable();
    match *parts.peek()? {
        "crate" => at.clear(),
        "super" | "self" => {}
        child => {
            let child = [&at[..], &[child]].concat().join("::");
            modules.contains(&child).then_some(())?;
        }
    }
    for part in parts {
        match part {
            "super" => drop(at.pop()),
            "crate" | "self" => {}
            part if modules.contains(&[&at[..], &[part]].concat().join("::")) => at.push(part),
            _ => break,
        }
    }
    Some(at.join("::"))
}

/// Sets of two or more modules that all reach each other.
fn circles(imports: &Imports) -> Vec<BTreeSet<String>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> = imports
        .keys()
        .map(|module| (module.as_str(), reached(imports, module)))
        .collect();
    let mut circles: Vec<_> = reach
        .iter()
        .map(|(module, to)| {
            let back = |other: &&&str| reach.get(**other).is_some_and(|back| back.contains(module));
            to.iter()
                .filter(back)
                .map(|&other| other.to_owned())
                .collect::<BTreeSet<_>>()
        })
        .filter(|circle| circle.len() > 1)
        .collect();
    circles.sort();
    circles.dedup();
    circles
}

fn reached<'a>(imports: &'a Imports, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = imports[from].iter().map(String::as_str).collect();
    while let Some(module) = next.pop() {
        if reached.insert(module) {
            next.extend(
                imports
                    .get(module)
                    .into_iter()
                    .flatten()
                    .map(String::as_str),
            );
        }
    }
    reached
}
