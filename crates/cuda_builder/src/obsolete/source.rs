//! The attributes at the start of a crate's root file, and the text without what the compiler has
//! removed.

use std::ops::Range;

use crate::rust_code::{attributes, closing, code};

/// The text with blanks for `register_attr(…)`, for `crate_type = "…"` inside `cfg_attr`, which has
/// become an error, and for every feature that `unknown` flags. `None` if nothing changes.
pub(super) fn without_obsolete(
    text: &str,
    unknown: impl Fn(&[&str]) -> Vec<bool>,
) -> Option<String> {
    let mut blanks: Vec<Range<usize>> = Vec::new();
    let mut features: Vec<Range<usize>> = Vec::new();
    for attribute in attributes(&code(text), "#![") {
        let code = &text[attribute.clone()];
        // Features requested for other targets only, as in `cfg_attr(docsrs, …)`, are left alone.
        if code.starts_with("cfg_attr") && !code.contains("cuda") && !code.contains("nvptx") {
            continue;
        }
        if code.starts_with("cfg_attr") {
            blanks.extend(crate_settings(text, attribute.clone()));
        }
        for (name, arguments) in calls(text, attribute) {
            match &text[name.clone()] {
                "feature" => features.extend(items(text, arguments)),
                "register_attr" => blanks.push(name.start..arguments.end + 1),
                _ => {}
            }
        }
    }
    if !features.is_empty() {
        let names: Vec<_> = features
            .iter()
            .map(|range| text[range.clone()].trim())
            .collect();
        let flags = unknown(&names);
        blanks.extend(
            features
                .into_iter()
                .zip(flags)
                .filter(|(_, unknown)| *unknown)
                .map(|(range, _)| range),
        );
    }
    if blanks.is_empty() {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    for blank in blanks {
        // A lone `#![register_attr(…)]` must not become `#![]`, and no two commas may be adjacent.
        let only = text[..blank.start].trim_end().ends_with('[');
        let comma = text[blank.end..]
            .trim_start()
            .starts_with(',')
            .then(|| blank.end + text[blank.end..].find(',').unwrap_or(0));
        for at in blank.clone() {
            if bytes[at] != b'\n' {
                bytes[at] = b' ';
            }
        }
        if let Some(comma) = comma {
            bytes[comma] = b' ';
        }
        if only {
            bytes[blank.start..blank.start + 7].copy_from_slice(b"allow()");
        }
    }
    String::from_utf8(bytes).ok()
}

/// Every `name(arguments)` in the range: the name, and the arguments.
fn calls(text: &str, range: Range<usize>) -> Vec<(Range<usize>, Range<usize>)> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
    let bytes = text.as_bytes();
    range
        .clone()
        .filter(|&at| bytes[at] == b'(')
        .filter_map(|at| {
            let length = bytes[range.start..at]
                .iter()
                .rev()
                .take_while(|byte| is_name(**byte))
                .count();
            Some((at - length..at, at + 1..closing(text, at + 1)?))
        })
        .collect()
}

/// Every `crate_type = "…"` and `crate_name = "…"` in the range.
fn crate_settings(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let code = &text[range.clone()];
    ["crate_type", "crate_name"]
        .iter()
        .flat_map(|name| code.match_indices(name))
        .filter_map(|(at, name)| {
            let value = code[at + name.len()..].trim_start().strip_prefix('=')?;
            let rest = value.trim_start().strip_prefix('"')?;
            let end = range.end - rest.len() + rest.find('"')? + 1;
            Some(range.start + at..end)
        })
        .collect()
}

/// The elements of a list, split at commas, without empty ones.
fn items(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut start = range.start;
    let mut items = Vec::new();
    for part in text[range].split(',') {
        let indent = part.len() - part.trim_start().len();
        let item = start + indent..start + indent + part.trim().len();
        start += part.len() + 1;
        if !item.is_empty() {
            items.push(item);
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(names: &[&str]) -> Vec<bool> {
        names
            .iter()
            .map(|name| ["register_attr", "old"].contains(name))
            .collect()
    }

    #[track_caller]
    fn check(before: &str, after: &str) {
        assert_eq!(before.len(), after.len(), "positions stay");
        assert_eq!(without_obsolete(before, gone).as_deref(), Some(after));
    }

    #[test]
    fn what_the_compiler_lost_becomes_blank_and_nothing_moves() {
        check(
            "#![cfg_attr(\n  target_os = \"cuda\",\n  no_std,\n  feature(register_attr),\n  register_attr(nvvm_internal)\n)]\nmod a;",
            "#![cfg_attr(\n  target_os = \"cuda\",\n  no_std,\n  feature(             ),\n                              \n)]\nmod a;",
        );
        check(
            "#![feature(old, new)]\n#![feature(new, old,)]",
            "#![feature(     new)]\n#![feature(new,     )]",
        );
        check(
            "#![cfg_attr(target_arch = \"nvptx64\", register_attr(a), no_std)]",
            "#![cfg_attr(target_arch = \"nvptx64\",                   no_std)]",
        );
        check(
            "#![cfg_attr(target_os = \"cuda\", no_std, crate_type = \"staticlib\", feature(new))]",
            "#![cfg_attr(target_os = \"cuda\", no_std,                           feature(new))]",
        );
        check(
            "#![cfg_attr(target_os = \"cuda\", crate_name=\"a\")]",
            "#![cfg_attr(target_os = \"cuda\",               )]",
        );
        check(
            "#![register_attr(nvvm_internal)]",
            "#![allow()                     ]",
        );
    }

    #[test]
    fn what_is_fine_elsewhere_or_only_written_about_is_left_alone() {
        for text in [
            "#![no_std]\n#![feature(new)]",
            "#![cfg_attr(docsrs, feature(old))]",
            "#![crate_type = \"cdylib\"]",
            "#![cfg_attr(target_os = \"cuda\", doc = \"has a crate_type of its own\")]",
            "// #![feature(old)]\n//! #![feature(register_attr)]\n",
            "/* #![feature(old)] */ const OLD: &str = \"#![feature(register_attr)]\";",
            "#![doc = \"unclosed",
            "",
        ] {
            assert_eq!(without_obsolete(text, gone), None, "{text}");
        }
    }
}
