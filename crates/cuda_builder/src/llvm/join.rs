//! Joins the PTX of a module's parts to one text: the same as LLVM prints for the whole module,
//! except for names that LLVM invents.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::ptx::{Item, Kind, Ptx, code};

/// A part's text.
struct Part<'t> {
    ptx: Ptx<'t>,
    /// New names of items that differ from another part's item of the same name.
    renamed: HashMap<&'t str, String>,
}

/// Joins texts. Entry points get the order of `kernels`. `None` if the texts do not fit: a variable
/// that the host may look up differs, or there is something of an unknown form.
pub(super) fn join(texts: &[String], kernels: &[impl AsRef<str>]) -> Option<String> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut known: HashMap<(bool, &str), (usize, usize)> = HashMap::new();
    let mut chosen = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let mut part = Part {
            ptx: Ptx::parse(text)?,
            renamed: HashMap::new(),
        };
        let first = parts.first().unwrap_or(&part);
        if first.ptx.header != part.ptx.header {
            return None;
        }
        // A new name changes the items that mention it.
        loop {
            // A public function is looked up by its name, so it keeps its name even if LLVM
            // compiled it differently in two parts.
            let is_one = |item: &Item<'_>| {
                item.is_public && matches!(item.kind, Kind::Function | Kind::Prototype)
            };
            let differing = part.ptx.items.iter().find(|item| {
                let other = known.get(&key(item));
                !part.renamed.contains_key(item.name)
                    && !is_one(item)
                    && other.is_some_and(|&(other, at)| {
                        let other = &parts[other];
                        compared(&other.ptx.items[at], other) != compared(item, &part)
                    })
            });
            match differing {
                None => break,
                Some(item) if item.kind == Kind::Entry => return None,
                Some(item) if item.is_public && item.kind == Kind::Variable => return None,
                Some(item) => {
                    let name = format!("{}_{number}", item.name);
                    part.renamed.insert(item.name, name);
                }
            }
        }
        for (at, item) in part.ptx.items.iter().enumerate() {
            if part.renamed.contains_key(item.name) {
                chosen.push((number, at));
            } else {
                known.entry(key(item)).or_insert_with(|| {
                    chosen.push((number, at));
                    (number, at)
                });
            }
        }
        parts.push(part);
    }
    let names = kernels.iter().map(AsRef::as_ref);
    let places: HashMap<&str, _> = names.zip(0..).collect();
    let item = |&(part, at): &(usize, usize)| -> &Item<'_> { &parts[part].ptx.items[at] };
    chosen.sort_by_key(|chosen| {
        let item = item(chosen);
        let place = places.get(item.name).filter(|_| item.kind == Kind::Entry);
        (item.kind, place.copied().unwrap_or(0))
    });
    let mut joined = String::with_capacity(texts.iter().map(String::len).sum());
    joined.push_str(parts.first()?.ptx.header);
    let mut functions = 0;
    let mut files = Numbers::default();
    for chosen in &chosen {
        let (item, part) = (item(chosen), &parts[chosen.0]);
        let file = |file: &str, text: &mut String| {
            let _ = match part.ptx.files.get(file) {
                Some(path) => write!(text, "{}", files.of(path)),
                None => write!(text, "{file}"),
            };
        };
        copy(item, &part.renamed, functions, file, &mut joined);
        functions += usize::from(matches!(item.kind, Kind::Function | Kind::Entry));
    }
    joined.extend(parts.iter().find_map(|part| part.ptx.section));
    for (path, number) in files.0.iter().zip(1..) {
        let _ = writeln!(joined, "\t.file\t{number} {path}");
    }
    Some(joined)
}

/// An item's name; prototypes have those of functions.
fn key<'t>(item: &Item<'t>) -> (bool, &'t str) {
    (item.kind == Kind::Prototype, item.name)
}

/// An item's text independent of its place in its part.
fn compared(item: &Item<'_>, part: &Part<'_>) -> String {
    let mut text = String::new();
    let file = |file: &str, text: &mut String| {
        text.push_str(part.ptx.files.get(file).unwrap_or(&file));
    };
    copy(item, &part.renamed, 0, file, &mut text);
    let lines = text.lines().map(|line| code(line).trim_end());
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// Copies an item's text. Labels and stacks have the number of their function in the module.
fn copy(
    item: &Item<'_>,
    renamed: &HashMap<&str, String>,
    function: usize,
    mut file: impl FnMut(&str, &mut String),
    text: &mut String,
) {
    let new;
    let mut rest = item.text;
    if !renamed.is_empty() {
        new = with_names(rest, renamed);
        rest = &new;
    }
    if !matches!(item.kind, Kind::Function | Kind::Entry) {
        text.push_str(rest);
        return;
    }
    for line in rest.split_inclusive('\n') {
        let place = line.trim_start().strip_prefix(".loc");
        if let Some(place) = place.filter(|place| place.starts_with([' ', '\t'])) {
            let place = place.trim_start();
            let start = line.len() - place.len();
            let end = place.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
            text.push_str(&line[..start]);
            file(&place[..end], text);
            text.push_str(&place[end..]);
            continue;
        }
        let mut copied = 0;
        for (mark, after) in [("BB", "_"), ("__local_depot", "")] {
            let mut at = copied;
            while let Some(found) = line[at..].find(mark) {
                let digits = at + found + mark.len();
                let number = &line[digits..];
                let len = number.bytes().take_while(u8::is_ascii_digit).count();
                let before = &line[..at + found];
                let is_label =
                    mark != "BB" || before.ends_with("$L__") || before.ends_with([' ', '=']);
                at = digits + len;
                if is_label && len > 0 && number[len..].starts_with(after) {
                    text.push_str(&line[copied..digits]);
                    let _ = write!(text, "{function}");
                    copied = at;
                }
            }
        }
        text.push_str(&line[copied..]);
    }
}

/// A text in which symbols have new names.
fn with_names(text: &str, renamed: &HashMap<&str, String>) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
    let mut new = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_name) {
        new.push_str(&rest[..start]);
        rest = &rest[start..];
        let (word, after) = rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
        new.push_str(renamed.get(word).map_or(word, String::as_str));
        rest = after;
    }
    new + rest
}

/// Numbers from 1, in the order of use.
#[derive(Default)]
struct Numbers<'t>(Vec<&'t str>);

impl<'t> Numbers<'t> {
    fn of(&mut self, path: &'t str) -> usize {
        match self.0.iter().position(|other| *other == path) {
            Some(at) => at + 1,
            None => {
                self.0.push(path);
                self.0.len()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str =
        "//\n// Generated\n//\n\n.version 7.0\n.target sm_80\n.address_size 64\n\n";
    const PROTOTYPE: &str =
        ".func  (.param .b32 func_retval0) help\n(\n\t.param .b32 help_param_0\n)\n;\n";
    const EXTERN: &str = ".extern .shared .align 16 .b8 dynamic[];\n";

    fn record(kernel: &str) -> String {
        format!(
            "\t// .globl\t{kernel}__signature\n.visible .global .align 1 .b8 {kernel}__signature[2] = {{1, 2}};\n"
        )
    }

    fn entry(name: &str, number: usize, file: usize) -> String {
        format!(
            ".visible .entry {name}(\n\t.param .u64 {name}_param_0\n)\n.maxntid 256, 1, 1\n{{\n\t.local .b8 \t__local_depot{number}[4];\n\t.loc\t{file} 7 5 // a.rs:7:5\n\
             $L__BB{number}_2: // Header=BB{number}_1\n\t// begin inline asm\n{{\n}}\n\t// end inline asm\n\t@%p1 bra \t$L__BB{number}_2;\n\tcall.uni (retval0), help, (param0);\n}}\n"
        )
    }

    fn help(number: usize, file: usize, value: u32) -> String {
        format!(
            ".func  (.param .b32 func_retval0) help(\n\t.param .b32 help_param_0\n)\n{{\n\t.loc\t{file} 1 1\n$L__BB{number}_1:\n\tmov.b32 %r1, {value};\n\tst.param [func_retval0], table;\n}}\n"
        )
    }

    fn end(files: &[&str]) -> String {
        let mut end = "\t.section\t.debug_macinfo\t{\t}\n".to_owned();
        for (file, number) in files.iter().zip(1..) {
            let _ = writeln!(end, "\t.file\t{number} \"{file}\"");
        }
        end
    }

    fn joined(parts: &[&[&str]], kernels: &[&str]) -> Option<String> {
        let texts: Vec<_> = parts.iter().map(|part| part.concat()).collect();
        join(&texts, kernels)
    }

    #[test]
    fn the_parts_are_the_whole() {
        let [a, b, c] = ["a", "b", "c"].map(record);
        let whole = [
            HEADER,
            PROTOTYPE,
            &a,
            &c,
            EXTERN,
            &b,
            &help(0, 1, 5),
            &entry("a", 1, 1),
            &entry("b", 2, 2),
            &entry("c", 3, 3),
            &end(&["/x/h.rs", "/x//a.rs", "/y"]),
        ];
        let first = [
            HEADER,
            PROTOTYPE,
            &a,
            &c,
            EXTERN,
            &help(0, 1, 5),
            &entry("a", 1, 1),
            &entry("c", 2, 2),
            &end(&["/x/h.rs", "/y"]),
        ];
        let second = [
            HEADER,
            PROTOTYPE,
            EXTERN,
            &b,
            &entry("b", 0, 1),
            &help(1, 2, 5),
            &end(&["/x//a.rs", "/x/h.rs"]),
        ];
        let kernels = ["a", "b", "c"];
        assert_eq!(joined(&[&first, &second], &kernels), Some(whole.concat()));
        assert_eq!(joined(&[&whole], &kernels), Some(whole.concat()));
    }

    /// The emulator recognises a panic by the name of such a function.
    #[test]
    fn a_public_function_keeps_its_name_whatever_llvm_made_of_it() {
        let part = |kernel: &str, value: u32| {
            let help = help(0, 1, value).replace(".func", ".weak .func");
            [HEADER, &help, &entry(kernel, 1, 1)].concat()
        };
        let text = join(&[part("a", 5), part("b", 6)], &["a", "b"]).unwrap();
        assert_eq!(text.matches("help(\n").count(), 1, "{text}");
        assert!(!text.contains("help_1("), "{text}");
    }

    #[test]
    fn what_differs_gets_a_name_of_its_own_and_so_does_what_mentions_it() {
        let table = |value: u32| format!(".global .align 4 .b8 table[1] = {{{value}}};\n");
        let part = |kernel: &str, value: u32, of_table: u32| {
            [
                HEADER,
                PROTOTYPE,
                &table(of_table),
                &help(0, 1, value),
                &entry(kernel, 1, 1),
            ]
            .concat()
        };
        let both = |one: String, other: String| join(&[one, other], &["a", "b"]).unwrap();
        let same = both(part("a", 5, 1), part("b", 5, 1));
        assert_eq!(same.matches(".func").count(), 2, "{same}");
        for (value, of_table, is_renamed) in [(6, 1, false), (5, 2, true)] {
            let text = both(part("a", 5, 1), part("b", value, of_table));
            assert_eq!(text.matches("help_1(\n").count(), 1, "{text}");
            assert_eq!(text.matches("help_1\n(").count(), 1, "{text}");
            assert!(
                text.contains("(retval0), help_1, (param0)") && text.contains("(retval0), help, "),
                "{text}"
            );
            assert_eq!(text.contains("table_1[1] = {2}"), is_renamed, "{text}");
            assert_eq!(
                text.contains("[func_retval0], table_1;"),
                is_renamed,
                "{text}"
            );
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let part = |rest: &str| [HEADER, rest].concat();
        let refused = |one: &str, other: &str| {
            assert!(
                join(&[part(one), part(other)], &[""; 0]).is_none(),
                "{one}{other}"
            )
        };
        refused(
            ".visible .global .align 4 .u32 count = 1;\n",
            ".visible .global .align 4 .u32 count = 2;\n",
        );
        refused(&entry("a", 0, 1), &entry("a", 0, 1).replace("7 5", "7 6"));
        refused("", "\t.section .debug_info\n{\n");
        refused("", ".pragma \"x\";\n");
        refused("", ".visible .entry k()\n{\n");
        let newer = part("").replace("7.0", "8.1");
        assert!(join(&[part(""), newer], &[""; 0]).is_none());
        assert!(join(&[], &[""; 0]).is_none());
    }
}
