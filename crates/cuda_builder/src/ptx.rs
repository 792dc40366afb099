//! The parts of a PTX text printed by LLVM.

use std::collections::HashMap;

/// A text.
pub(crate) struct Ptx<'t> {
    /// Up to the address size.
    pub(crate) header: &'t str,
    pub(crate) items: Vec<Item<'t>>,
    /// The source files by the numbers in `.loc`, quoted.
    pub(crate) files: HashMap<&'t str, &'t str>,
    /// The line that ends a text with a line table.
    pub(crate) section: Option<&'t str>,
    /// Everything after the last item.
    pub(crate) end: &'t str,
}

/// A declaration or definition.
pub(crate) struct Item<'t> {
    pub(crate) kind: Kind,
    pub(crate) name: &'t str,
    /// The host may look it up.
    pub(crate) is_public: bool,
    /// A variable in global memory.
    pub(crate) is_global: bool,
    /// From the end of the preceding item, so that comments stay with it.
    pub(crate) text: &'t str,
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Prototype,
    Variable,
    Function,
    Entry,
}

impl<'t> Ptx<'t> {
    /// Takes a text apart. `None` if it has an unknown form, as with full debug information.
    pub(crate) fn parse(text: &'t str) -> Option<Self> {
        let mut ptx = Ptx {
            header: "",
            items: Vec::new(),
            files: HashMap::new(),
            section: None,
            end: "",
        };
        let (mut start, mut at, mut end) = (0, 0, 0);
        let mut open: Option<Open<'t>> = None;
        for line in text.split_inclusive('\n') {
            at += line.len();
            let code = code(line);
            if open.is_none() {
                let mut words = code.split_whitespace();
                match words.next().unwrap_or_default() {
                    "" | ".version" | ".target" => {}
                    ".address_size" => (ptx.header, start, end) = (&text[..at], at, at),
                    ".file" => {
                        let number = words.next()?;
                        let path = code.split_once(number)?.1.trim();
                        ptx.files.insert(number, path);
                        start = at;
                    }
                    ".section" => {
                        ptx.section = Some(line).filter(|_| code.trim_end().ends_with('}'));
                        ptx.section?;
                        start = at;
                    }
                    _ => open = Some(Open::of(code)?),
                }
            }
            if let Some(item) = &mut open
                && let Some(kind) = item.ends(line, code)
            {
                ptx.items.push(Item {
                    kind,
                    name: item.name,
                    is_public: item.is_public,
                    is_global: item.is_global,
                    text: &text[start..at],
                });
                (open, start, end) = (None, at, at);
            }
        }
        ptx.end = &text[end..];
        (open.is_none() && !ptx.header.is_empty()).then_some(ptx)
    }
}

/// An item whose end has not been read.
struct Open<'t> {
    kind: Kind,
    name: &'t str,
    is_public: bool,
    is_global: bool,
    has_body: bool,
    /// Inside inline assembly, whose lines may be anything.
    is_assembly: bool,
}

impl<'t> Open<'t> {
    /// The item that begins in a line.
    fn of(code: &'t str) -> Option<Self> {
        let head = code.split(['(', '[', '=', ';']).next()?;
        let has = |word: &str| head.split_whitespace().any(|other| other == word);
        let kind = match () {
            () if has(".func") => Kind::Function,
            () if has(".entry") => Kind::Entry,
            () if [".global", ".const", ".shared"]
                .iter()
                .any(|space| has(space)) =>
            {
                Kind::Variable
            }
            () => return None,
        };
        let name = match kind {
            Kind::Function => {
                let rest = code.split_once(".func")?.1.trim_start();
                match rest.strip_prefix('(') {
                    Some(rest) => rest.split_once(')')?.1.split(['(', ';']).next()?,
                    None => rest.split(['(', ';']).next()?,
                }
            }
            _ => head.split_whitespace().next_back()?,
        };
        Some(Open {
            kind,
            name: name.trim(),
            is_public: [".visible", ".weak", ".extern"]
                .iter()
                .any(|word| has(word)),
            is_global: has(".global"),
            has_body: false,
            is_assembly: false,
        })
    }

    /// The item's kind, if it ends with this line.
    fn ends(&mut self, line: &str, code: &str) -> Option<Kind> {
        match line.trim() {
            "// begin inline asm" => self.is_assembly = true,
            "// end inline asm" => self.is_assembly = false,
            _ if self.is_assembly => {}
            _ if self.has_body => return (code.trim_end() == "}").then_some(self.kind),
            _ if code.trim_end().ends_with(';') => {
                let is_variable = self.kind == Kind::Variable;
                return Some(if is_variable {
                    self.kind
                } else {
                    Kind::Prototype
                });
            }
            _ => self.has_body = self.kind != Kind::Variable && code.trim_end() == "{",
        }
        None
    }
}

/// A line without its comment. File names and strings of LLVM's own have no slashes in pairs, but a
/// path may.
pub(crate) fn code(line: &str) -> &str {
    match line.find("//") {
        Some(at) if !line[..at].contains('"') => &line[..at],
        _ => line,
    }
}
