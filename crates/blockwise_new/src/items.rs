//! Prepares a library's root for the device build: existing items become host-only.

/// Inserted before an item.
const HOST_ONLY: &str = "#[cfg(not(target_arch = \"nvptx64\"))]\n";
const NO_STD: &str = "#![cfg_attr(target_arch = \"nvptx64\", no_std)]\n";
const MODULE: &str = "pub mod kernels;\n\ncuda_std::embedded_kernels!();\n";

/// The library's root with the module `kernels`, and the number of items that are now host-only.
/// `None` if the text cannot be parsed, or has a module of that name.
pub(crate) fn with_kernels(text: &str) -> Option<(String, usize)> {
    let root = Root::read(text)?;
    let is_ours = |item: &usize| {
        let rest = text[*item..].trim_start_matches("pub ");
        rest.starts_with("mod kernels") || rest.starts_with("cuda_std::embedded_kernels")
    };
    if root.items.iter().any(is_ours) {
        return None;
    }
    let mut changed = text[..root.attributes].to_owned();
    if !changed.is_empty() && !changed.ends_with("\n\n") {
        changed.push('\n');
    }
    changed.push_str(NO_STD);
    let inner = &text[root.attributes..root.items_begin];
    changed.push_str(inner);
    if !changed.ends_with("\n\n") {
        changed.push('\n');
    }
    changed.push_str(MODULE);
    if !root.items.is_empty() {
        changed.push('\n');
    }
    let rest = &text[root.items_begin..];
    let mut copied = root.items_begin + (rest.len() - rest.trim_start_matches('\n').len());
    for &item in &root.items {
        changed.push_str(&text[copied..item]);
        changed.push_str(HOST_ONLY);
        copied = item;
    }
    changed.push_str(&text[copied..]);
    Some((changed, root.items.len()))
}

/// Positions of the parts of a file.
struct Root {
    /// After the inner doc comment.
    attributes: usize,
    /// The first item with its comments.
    items_begin: usize,
    /// The first attribute or word of each item.
    items: Vec<usize>,
}

impl Root {
    fn read(text: &str) -> Option<Self> {
        let tokens = tokens(text)?;
        let mut root = Root {
            attributes: 0,
            items_begin: 0,
            items: Vec::new(),
        };
        // Inner documentation and attributes come first, among other comments.
        let mut tokens = tokens.as_slice();
        let line_after = |at: usize| text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
        while let Some(at) = tokens.iter().position(|token| !token.is_outer_comment()) {
            let (first, rest) = (&tokens[at], &tokens[at + 1..]);
            let is = |at: usize, text| rest.get(at).is_some_and(|token| token.text == text);
            if first.is_comment() {
                root.attributes = line_after(first.at + first.text.len());
                root.items_begin = root.attributes;
                tokens = rest;
            } else if first.text == "#" && is(0, "!") && is(1, "[") {
                let end = rest
                    .iter()
                    .position(|token| token.text == "]" && token.depth == 0)?;
                root.items_begin = line_after(rest[end].at);
                tokens = &rest[end + 1..];
            } else {
                break;
            }
        }
        while let Some(start) = tokens.iter().position(|token| !token.is_comment()) {
            tokens = &tokens[start..];
            root.items.push(tokens[0].at);
            if tokens[0].at < root.items_begin {
                return None;
            }
            let end = end_of_item(tokens)?;
            tokens = &tokens[end..];
        }
        Some(root)
    }
}

/// The number of tokens of the first item.
fn end_of_item(tokens: &[Token<'_>]) -> Option<usize> {
    let words = tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| token.depth == 0 && !token.is_comment());
    let mut until_semicolon = false;
    // Attributes and visibility.
    let mut decided = false;
    for (at, token) in words {
        if !decided {
            match token.text {
                "#" | "[" | "]" | "pub" | "(" | ")" => continue,
                "use" | "static" | "type" => until_semicolon = true,
                "const" | "extern" => {
                    let next = tokens[at + 1..].iter().find(|token| !token.is_comment())?;
                    until_semicolon = match token.text {
                        "const" => !["fn", "unsafe", "async", "extern"].contains(&next.text),
                        _ => next.text == "crate",
                    };
                }
                _ => {}
            }
            decided = true;
        }
        if token.text == ";" || (token.text == "}" && !until_semicolon) {
            // `macro! { … };` has a semicolon of its own.
            let has_more = tokens.get(at + 1).is_some_and(|next| next.text == ";");
            return Some(if has_more { at + 2 } else { at + 1 });
        }
    }
    None
}

/// A word, a literal, a comment or a single other character.
pub(crate) struct Token<'a> {
    pub(crate) at: usize,
    pub(crate) text: &'a str,
    /// Number of brackets open around it; brackets themselves count as outside.
    pub(crate) depth: usize,
}

impl Token<'_> {
    pub(crate) fn is_comment(&self) -> bool {
        self.text.starts_with("//") || self.text.starts_with("/*")
    }

    /// A comment that does not document the enclosing item.
    fn is_outer_comment(&self) -> bool {
        self.is_comment() && !self.text.starts_with("//!") && !self.text.starts_with("/*!")
    }
}

/// `None` if brackets or quotes do not match.
pub(crate) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let (mut tokens, mut depth, mut at) = (Vec::new(), 0_usize, 0);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)?
        } else if let Some(length) = literal(rest)? {
            length
        } else if first.is_alphanumeric() || first == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        if matches!(first, '}' | ')' | ']') {
            depth = depth.checked_sub(1)?;
        }
        tokens.push(Token {
            at,
            text: &rest[..length],
            depth,
        });
        if matches!(first, '{' | '(' | '[') {
            depth += 1;
        }
        at += length;
    }
    (depth == 0).then_some(tokens)
}

/// Block comments nest.
fn block_comment(text: &str) -> Option<usize> {
    let (mut open, mut at) = (0, 0);
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with("/*") {
            (open, at) = (open + 1, at + 2);
        } else if rest.starts_with("*/") {
            (open, at) = (open - 1, at + 2);
            if open == 0 {
                return Some(at);
            }
        } else {
            at += rest.chars().next()?.len_utf8();
        }
    }
}

/// The length of the string or character at the start of the text; `Some(None)` if there is none.
fn literal(text: &str) -> Option<Option<usize>> {
    let unprefixed = text.trim_start_matches(['b', 'c']);
    let prefix = text.len() - unprefixed.len();
    let hashes = unprefixed
        .strip_prefix('r')
        .map(|raw| raw.len() - raw.trim_start_matches('#').len());
    if let Some(hashes) = hashes.filter(|hashes| unprefixed[1 + hashes..].starts_with('"')) {
        let start = prefix + 1 + hashes + 1;
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(Some(start + text[start..].find(&end)? + end.len()));
    }
    if prefix > 1 {
        return Some(None);
    }
    let quote = match unprefixed.chars().next() {
        Some('"') => '"',
        // A lifetime has no second quote after one character.
        Some('\'') => {
            let mut inside = unprefixed[1..].chars();
            let first = inside.next()?;
            if first != '\\' && inside.next() != Some('\'') {
                return Some(None);
            }
            '\''
        }
        _ => return Some(None),
    };
    let mut escaped = false;
    for (at, letter) in unprefixed.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return Some(Some(prefix + at + 1)),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_is_the_hosts() {
        let text = r##"// Copyright.
//! Documentation.
//! More.

#![warn(
    missing_docs
)]

// A comment.
use std::{fs, io};
/// Text with a } and a "quote.
#[derive(Debug)]
pub struct Name<'a>(&'a str, [u8; 3]);
pub(crate) mod inner;
const fn one() -> char { '}' }
const TABLE: [&str; 2] = { ["}", r#"";}"#] };
macro_rules! nothing { () => { ; } }
nothing!();
extern crate alloc;
extern "C" fn called() {}
impl<'a> Name<'a> { /* } /* nested */ */ fn new(c: char) -> bool { c == '\'' } }
"##;
        let (changed, items) = with_kernels(text).unwrap();
        assert_eq!(items, 10);
        assert!(changed.starts_with("// Copyright.\n//! Documentation.\n//! More.\n\n#![cfg_attr(target_arch = \"nvptx64\", no_std)]\n\n#![warn("), "{changed}");
        assert!(changed.contains(")]\n\npub mod kernels;\n\ncuda_std::embedded_kernels!();\n\n// A comment.\n#[cfg(not(target_arch = \"nvptx64\"))]\nuse std"), "{changed}");
        assert!(
            changed.contains(
                "quote.\n#[cfg(not(target_arch = \"nvptx64\"))]\n#[derive(Debug)]\npub struct"
            ),
            "{changed}"
        );
        for item in [
            "pub(crate) mod inner;",
            "const fn one",
            "const TABLE",
            "macro_rules!",
            "nothing!()",
            "extern crate",
            "extern \"C\"",
            "impl<'a>",
        ] {
            assert!(
                changed.contains(&format!("{HOST_ONLY}{item}")),
                "{item}\n{changed}"
            );
        }
        // Nothing else is touched.
        let lines = |text: &str| -> Vec<String> {
            text.lines()
                .filter(|line| !line.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let added = [HOST_ONLY, NO_STD].map(str::trim_end);
        let kept: Vec<_> = lines(&changed)
            .into_iter()
            .filter(|line| {
                !added.contains(&line.as_str()) && !MODULE.lines().any(|own| own == line)
            })
            .collect();
        assert_eq!(kept, lines(text));
    }

    #[test]
    fn an_empty_root_gets_the_module() {
        let header = "#![cfg_attr(target_arch = \"nvptx64\", no_std)]\n\npub mod kernels;\n\ncuda_std::embedded_kernels!();\n";
        for text in ["", "/*! Doc. */\n", "//! Doc.\n"] {
            let blank = if text.is_empty() { "" } else { "\n" };
            assert_eq!(
                with_kernels(text),
                Some((format!("{text}{blank}{header}"), 0))
            );
        }
    }

    #[test]
    fn what_cannot_be_followed_is_left_alone() {
        for text in [
            "fn open() {",
            "fn close() }",
            "pub mod kernels;",
            "mod kernels {}",
            "const A: &str = \"open;",
            "fn f()",
            "#![allow(unused)] fn f() {}",
        ] {
            assert!(with_kernels(text).is_none(), "{text}");
        }
    }
}
