//! Excerpts: some definitions of a module as a module of their own.
//!
//! The text depends on nothing else in the module: attribute groups and metadata are numbered in
//! the order of their use, and rustc's private constants, which it numbers, are named after their
//! contents. So a change elsewhere does not change an excerpt.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::lexer::is_name;
use super::{Item, Module};

/// rustc's private constants: `@anon.6f822be4ef8ed808868e439ae5d84a05.7`.
const NUMBERED: &str = "anon.";

/// The indices from which excerpts of a module are made.
pub(crate) struct Excerpts<'m> {
    module: &'m Module<'m>,
    attributes: HashMap<&'m str, &'m str>,
    nodes: HashMap<&'m str, &'m str>,
    /// `!llvm.module.flags = !{!11}`
    named: Vec<(&'m str, &'m str)>,
    /// New names of private constants.
    names: HashMap<&'m str, String>,
}

impl<'m> Excerpts<'m> {
    pub(crate) fn of(module: &'m Module<'m>) -> Self {
        let mut excerpts = Excerpts {
            module,
            attributes: HashMap::new(),
            nodes: HashMap::new(),
            named: Vec::new(),
            names: HashMap::new(),
        };
        for item in &module.items {
            match item {
                Item::Attributes(group) => {
                    let parts = group.source().trim_start().strip_prefix("attributes #");
                    excerpts
                        .attributes
                        .extend(parts.and_then(|parts| parts.split_once(" = ")));
                }
                Item::Metadata(node) => match node.parts() {
                    Some((number, node)) if is_number(number) => {
                        excerpts.nodes.insert(number, node);
                    }
                    other => excerpts.named.extend(other),
                },
                _ => {}
            }
        }
        excerpts.names = names(module);
        excerpts
    }

    /// The definitions of these symbols, and everything else that they need.
    pub(crate) fn with(&self, symbols: &HashSet<String>) -> String {
        let mut definitions = String::new();
        for item in &self.module.items {
            let is_kept = match item {
                Item::Text(_) => true,
                Item::Global(global) => symbols.contains(global.name()),
                Item::Declaration(head) => symbols.contains(head.name()),
                Item::Function(function) => symbols.contains(function.name()),
                Item::Attributes(_) | Item::Metadata(_) => false,
            };
            if is_kept {
                let _ = write!(definitions, "{item}");
            }
        }
        self.complete(&definitions)
    }

    /// Adds to definitions the attribute groups and the metadata of the module that they mention.
    /// They may define their own groups.
    pub(crate) fn complete(&self, definitions: &str) -> String {
        let mut text = String::with_capacity(definitions.len() * 3 / 2);
        let mut attributes = Numbers::default();
        let mut nodes = Numbers::default();
        mentions(definitions, &mut text, |sigil, name| match sigil {
            b'@' => self.names.get(name).cloned(),
            b'#' => Some(attributes.of(name)),
            _ => self.numbered(name, &mut nodes),
        });
        if !text.ends_with('\n') {
            text.push('\n');
        }
        for (number, name) in attributes.order.iter().enumerate() {
            // Their own groups are already in the definitions.
            if let Some(group) = self.attributes.get(name) {
                let _ = writeln!(text, "attributes #{number} = {}", group.trim_end());
            }
        }
        let mut printed = 0;
        let mut print = |text: &mut String, nodes: &mut Numbers<'m>| {
            while let Some(name) = nodes.order.get(printed) {
                let node = self.nodes[name].trim_end();
                let _ = write!(text, "!{printed} = ");
                mentions(node, text, |sigil, name| match sigil {
                    b'@' => self.names.get(name).cloned(),
                    b'!' => self.numbered(name, nodes),
                    _ => None,
                });
                text.push('\n');
                printed += 1;
            }
        };
        print(&mut text, &mut nodes);
        for (name, list) in &self.named {
            let of_units = *name == "llvm.dbg.cu";
            let mut list: Vec<_> = list
                .split(|c: char| !c.is_ascii_digit())
                .filter(|number| is_number(number))
                .collect();
            // Omits compilation units from which nothing here comes: they would bring their own
            // metadata.
            list.retain(|number| !of_units || nodes.numbers.contains_key(number));
            let list: Vec<_> = list
                .into_iter()
                .map(|number| format!("!{}", nodes.of(number)))
                .collect();
            if !list.is_empty() {
                let _ = writeln!(text, "!{name} = !{{{}}}", list.join(", "));
            }
        }
        print(&mut text, &mut nodes);
        text
    }

    /// The number of a node of the module.
    fn numbered(&self, name: &str, nodes: &mut Numbers<'m>) -> Option<String> {
        let (name, _) = self.nodes.get_key_value(name)?;
        Some(nodes.of(name))
    }
}

/// Numbers in the order of use.
#[derive(Default)]
struct Numbers<'n> {
    numbers: HashMap<&'n str, usize>,
    order: Vec<&'n str>,
}

impl<'n> Numbers<'n> {
    fn of(&mut self, name: &'n str) -> String {
        let next = self.order.len();
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.order.push(name);
        }
        number.to_string()
    }
}

/// Copies a text, asking for another name at each mention of a symbol, an attribute group or a
/// node: at `@name`, `#7` and `!7`, outside of strings and comments.
fn mentions<'t>(
    text: &'t str,
    copy: &mut String,
    mut other: impl FnMut(u8, &'t str) -> Option<String>,
) {
    let bytes = text.as_bytes();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = bytes[at..]
        .iter()
        .position(|byte| matches!(byte, b'"' | b';' | b'!' | b'#' | b'@'))
    {
        at += found;
        let sigil = bytes[at];
        at += 1;
        let rest = &bytes[at..];
        let end = |byte: u8| rest.iter().position(|&other| other == byte);
        match sigil {
            b'"' => at += end(b'"').map_or(rest.len(), |end| end + 1),
            b';' => at += end(b'\n').unwrap_or(rest.len()),
            _ => {
                let end = rest.iter().position(|&byte| !is_name(byte));
                let name = &text[at..at + end.unwrap_or(rest.len())];
                let is_mention = match sigil {
                    b'@' => name.starts_with(NUMBERED),
                    _ => is_number(name),
                };
                if is_mention && let Some(other) = other(sigil, name) {
                    copy.push_str(&text[copied..at]);
                    copy.push_str(&other);
                    copied = at + name.len();
                }
                at += name.len();
            }
        }
    }
    copy.push_str(&text[copied..]);
}

fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Names of the numbered private constants, by their contents.
fn names<'m>(module: &'m Module<'m>) -> HashMap<&'m str, String> {
    let globals: HashMap<_, _> = module
        .globals()
        .filter(|global| global.name().starts_with(NUMBERED))
        .map(|global| (global.name(), global))
        .collect();
    let mut names = HashMap::new();
    let mut waiting: Vec<_> = globals.keys().copied().collect();
    let mut begun = HashSet::new();
    while let Some(&name) = waiting.last() {
        let global = globals[name];
        if names.contains_key(name) {
            waiting.pop();
            continue;
        }
        // Constants that mention each other in a circle are named by what is known of them so far.
        if begun.insert(name) {
            let missing = global.globals().filter_map(|inner| {
                let (inner, _) = globals.get_key_value(inner)?;
                (!names.contains_key(inner)).then_some(*inner)
            });
            waiting.extend(missing);
            continue;
        }
        let mut contents = String::new();
        let text = &global.text()[global.symbol().len()..];
        mentions(text, &mut contents, |_, inner| names.get(inner).cloned());
        let mut hasher = DefaultHasher::new();
        contents.hash(&mut hasher);
        names.insert(name, format!("{NUMBERED}{:016x}", hasher.finish()));
        waiting.pop();
    }
    // Several constants with equal contents remain several, because defining a name twice is an
    // error.
    let mut used: HashMap<String, usize> = HashMap::new();
    for global in module.globals() {
        if let Some(name) = names.get_mut(global.name()) {
            let count = used.entry(name.clone()).or_default();
            *count += 1;
            if *count > 1 {
                let _ = write!(name, ".{count}");
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::references::References;

    fn excerpt(text: &str, roots: &[&str]) -> String {
        let module = Module::parse(text).unwrap();
        let references = References::of(&module);
        let reached = references.reached(roots.iter().copied());
        let reached = reached.into_iter().map(str::to_owned).collect();
        let excerpt = Excerpts::of(&module).with(&reached);
        Module::parse(&excerpt).unwrap();
        excerpt
    }

    const K: &str = "define ptx_kernel void @k() #4 !dbg !8 {\n  call void @h(ptr @anon.0a.7), !dbg !9 ; #3 !3\n  call void asm \"#3 !3\", \"\"() #3\n  ret void\n}\n";
    const H: &str = "declare void @h(ptr) #4\n";
    const OTHER: &str =
        "define void @other() #3 !dbg !6 {\n  call void @h(ptr @anon.0a.5)\n  ret void\n}\n";
    const GLOBALS: &str = "@anon.0a.5 = private constant [2 x i8] c\"@#\"\n@anon.0a.7 = private constant <{ ptr }> <{ ptr @anon.0a.9 }>\n\
                           @anon.0a.9 = private constant [2 x i8] c\"#3\"\n";
    const TABLES: &str = "attributes #3 = { nounwind }\nattributes #4 = { \"a\"=\"!3\" }\n!llvm.dbg.cu = !{!1, !2}\n!llvm.module.flags = !{!3}\n\
                          !1 = distinct !DICompileUnit(file: !4)\n!2 = distinct !DICompileUnit(file: !5)\n!3 = !{i32 2, !\"Debug Info Version\", i32 3}\n\
                          !4 = !DIFile(filename: \"a#3\")\n!5 = !DIFile(filename: \"b\")\n!6 = distinct !DISubprogram(unit: !1)\n\
                          !8 = distinct !DISubprogram(unit: !2)\n!9 = !DILocation(line: 3, scope: !8)\n";

    #[test]
    fn an_excerpt_has_what_it_mentions_and_numbers_of_its_own() {
        let text = excerpt(&format!("{GLOBALS}{OTHER}{K}{H}{TABLES}"), &["k"]);
        let [inner, outer] = [9, 7].map(|number| {
            let module = format!("{GLOBALS}{OTHER}{K}{H}{TABLES}");
            let module = Module::parse(&module).unwrap();
            names(&module)[format!("anon.0a.{number}").as_str()].clone()
        });
        assert_eq!(
            text,
            format!(
                "@{outer} = private constant <{{ ptr }}> <{{ ptr @{inner} }}>\n@{inner} = private constant [2 x i8] c\"#3\"\n\
                 define ptx_kernel void @k() #0 !dbg !0 {{\n  call void @h(ptr @{outer}), !dbg !1 ; #3 !3\n  call void asm \"#3 !3\", \"\"() #1\n  ret void\n}}\n\
                 declare void @h(ptr) #0\nattributes #0 = {{ \"a\"=\"!3\" }}\nattributes #1 = {{ nounwind }}\n\
                 !0 = distinct !DISubprogram(unit: !2)\n!1 = !DILocation(line: 3, scope: !0)\n!2 = distinct !DICompileUnit(file: !3)\n\
                 !3 = !DIFile(filename: \"b\")\n!llvm.dbg.cu = !{{!2}}\n!llvm.module.flags = !{{!4}}\n!4 = !{{i32 2, !\"Debug Info Version\", i32 3}}\n"
            )
        );
    }

    #[test]
    fn a_change_elsewhere_leaves_an_excerpt_as_it_was() {
        let before = format!("{GLOBALS}{OTHER}{K}{H}{TABLES}");
        let renumbered = |text: &str| {
            let pairs = [
                ("anon.0a.7", "anon.0a.17"),
                ("anon.0a.9", "anon.0a.8"),
                ("#4 ", "#14 "),
                ("#4\n", "#14\n"),
                ("!dbg !9", "!dbg !19"),
                ("!9 =", "!19 ="),
            ];
            pairs
                .iter()
                .fold(text.to_owned(), |text, (old, new)| text.replace(old, new))
        };
        let after = format!("@new = constant i8 0\n{}", renumbered(&before));
        assert_eq!(excerpt(&before, &["k"]), excerpt(&after, &["k"]));
        let changed = before.replace("c\"#3\"", "c\"#4\"");
        assert_ne!(excerpt(&before, &["k"]), excerpt(&changed, &["k"]));
    }

    #[test]
    fn equal_constants_stay_apart() {
        let text = "@anon.0a.1 = private constant i8 1\n@anon.0a.2 = private constant i8 1\n\
                    define void @f() {\n  call void @h(ptr @anon.0a.1, ptr @anon.0a.2)\n  ret void\n}\ndeclare void @h(ptr, ptr)\n";
        let module = Module::parse(text).unwrap();
        let names = names(&module);
        assert_ne!(names["anon.0a.1"], names["anon.0a.2"]);
    }
}
