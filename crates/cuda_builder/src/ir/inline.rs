//! Has LLVM inline functions that it would have left alone.
//!
//! The space of a pointer is known only where its variable is: a function that is given a shared pointer accesses it through the
//! generic space, unless it becomes part of its caller. rustc writes `inline(never)` on the function and on each call.

use std::collections::{BTreeMap, BTreeSet};

use super::functions::callee;
use super::symbol::{demangle, symbols};

/// Marks the definitions and their calls `alwaysinline`, whatever rustc wrote there.
pub(crate) fn always(ir: &str, names: &BTreeSet<String>) -> String {
    let mut unused = 1 + ir
        .lines()
        .filter_map(|line| Some(attributes(line)?.0))
        .max()
        .unwrap_or(0);
    // A group of attributes is shared with functions that stay as they are, so each used one gets a twin.
    let mut twins = BTreeMap::new();
    let mut marked = String::with_capacity(ir.len() + 1024);
    for line in ir.lines() {
        let name = if line.starts_with("define ") {
            symbols(line).next().map(|symbol| symbol.name)
        } else {
            callee(line)
        };
        let is_named = name.is_some_and(|name| names.contains(name));
        match group(line).filter(|_| is_named) {
            Some((before, number, after)) => {
                let twin = *twins.entry(number).or_insert_with(|| {
                    unused += 1;
                    unused - 1
                });
                marked.push_str(&format!("{before}#{twin}{after}"));
            }
            None => marked.push_str(line),
        }
        marked.push('\n');
    }
    for (number, attributes) in ir.lines().filter_map(attributes) {
        if let Some(twin) = twins.get(&number) {
            let kept = attributes
                .split(' ')
                .filter(|word| !matches!(*word, "noinline" | "optnone"));
            let kept = kept.collect::<Vec<_>>().join(" ");
            marked.push_str(&format!("attributes #{twin} = {{ alwaysinline {kept}\n"));
        }
    }
    marked
}

/// Keeps `core::fmt::write` a function of its own: inside a kernel it would be the kernel that reads what it formats.
pub(crate) fn formatting_apart(ir: &str) -> String {
    let mut marked = String::with_capacity(ir.len() + 16);
    for line in ir.lines() {
        let is_write = line.starts_with("define ")
            && symbols(line)
                .next()
                .is_some_and(|symbol| demangle(symbol.name) == "core::fmt::write");
        match group(line).filter(|_| is_write) {
            Some((before, number, after)) => {
                marked.push_str(&format!("{before}noinline #{number}{after}"))
            }
            None => marked.push_str(line),
        }
        marked.push('\n');
    }
    marked
}

/// The number and the text of an attribute group's definition.
fn attributes(line: &str) -> Option<(u32, &str)> {
    let (number, attributes) = line.strip_prefix("attributes #")?.split_once(" = { ")?;
    Some((number.parse().ok()?, attributes))
}

/// The line of a definition or a call around the number of its attribute group.
fn group(line: &str) -> Option<(&str, u32, &str)> {
    let parameters = line.rfind(')')?;
    let at = parameters + line[parameters..].find(" #")? + 1;
    let digits = line[at + 1..].find(|c: char| !c.is_ascii_digit());
    let end = digits.map_or(line.len(), |digits| at + 1 + digits);
    Some((&line[..at], line[at + 1..end].parse().ok()?, &line[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_functions_and_their_calls_change() {
        let ir = "define void @f(ptr %0) unnamed_addr #0 !dbg !5 {\n  call void @f(ptr %0) #1\n  call void @g(ptr %0) #1, !dbg !7\n\
                  define void @g(ptr %0) unnamed_addr #0 !dbg !6 {\n\
                  attributes #0 = { noinline nounwind }\nattributes #1 = { noinline }\n";
        assert_eq!(
            always(ir, &BTreeSet::from(["g".to_owned(), "no_such".to_owned()])),
            "define void @f(ptr %0) unnamed_addr #0 !dbg !5 {\n  call void @f(ptr %0) #1\n  call void @g(ptr %0) #2, !dbg !7\n\
             define void @g(ptr %0) unnamed_addr #3 !dbg !6 {\n\
             attributes #0 = { noinline nounwind }\nattributes #1 = { noinline }\n\
             attributes #3 = { alwaysinline nounwind }\nattributes #2 = { alwaysinline }\n"
        );
    }

    #[test]
    fn write_of_fmt_stays_a_function() {
        let ir = "define i1 @_RNvNtCs0_4core3fmt5write(ptr %0) unnamed_addr #3 !dbg !7 {\ndefine void @write(ptr %0) #3 {\n";
        assert_eq!(
            formatting_apart(ir),
            ir.replacen("#3 !dbg", "noinline #3 !dbg", 1)
        );
    }
}
