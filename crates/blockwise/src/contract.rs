//! Compares the contract recorded in the PTX with the program's: what the two builds of a kernel
//! saw besides its signature. `launch_contract::launch::RECORD_SUFFIX` documents the text.

use std::collections::BTreeMap;

use crate::parameters::split;

/// The first difference between the record in the PTX and the program's; `None` if they are equal.
pub(crate) fn difference(ptx: &str, program: &str) -> Option<String> {
    if ptx == program {
        return None;
    }
    let names = names(program);
    let (there, here) = (subjects(ptx), subjects(program));
    // A different definition usually means a different contract too, which says more; what the
    // types require follows from both. So these two are compared last.
    let mut all: Vec<_> = here.keys().chain(there.keys()).collect();
    all.sort_by_key(|(word, _)| ["kernel", "implied"].iter().position(|last| last == word));
    let mut differences = all.into_iter().filter_map(|subject| {
        let (there, here) = (there.get(subject).copied(), here.get(subject).copied());
        (there != here).then(|| describe(subject, there, here, &names))
    });
    differences
        .next()
        .or_else(|| Some("their records differ".to_owned()))
}

/// A line's keyword, and what it is about: a parameter, or the number of a rule.
type Subject<'r> = (&'r str, String);

/// The lines after the signature.
fn subjects(record: &str) -> BTreeMap<Subject<'_>, &str> {
    let mut rules = BTreeMap::new();
    let lines = record.lines().skip(1).filter_map(|line| {
        let (word, rest) = line.split_once(' ')?;
        let (which, rest) = match word {
            "require" | "implied" => {
                let number = rules.entry(word).or_insert(0);
                *number += 1;
                (format!("{number:04}"), rest)
            }
            "type" | "array" | "map" | "length" => {
                let (which, rest) = rest.split_once(' ')?;
                (which.to_owned(), rest)
            }
            _ => (String::new(), rest),
        };
        Some(((word, which), rest))
    });
    lines.collect()
}

/// The parameters' names, from the signature.
fn names(record: &str) -> Vec<&str> {
    let signature = record.lines().next().unwrap_or_default();
    let parameters = split(signature).into_iter();
    parameters
        .map(|parameter| {
            parameter
                .split_once(": ")
                .map_or(parameter, |(name, _)| name)
        })
        .collect()
}

fn describe(
    (word, which): &Subject<'_>,
    there: Option<&str>,
    here: Option<&str>,
    names: &[&str],
) -> String {
    let both = |show: &dyn Fn(&str) -> String| {
        let show = |side: Option<&str>| side.map_or("absent".to_owned(), show);
        format!("{} there and {} here", show(there), show(here))
    };
    let layout = |side: &str| match side.split_once('/') {
        Some((bytes, alignment)) => format!("{bytes} bytes aligned to {alignment}"),
        None => side.to_owned(),
    };
    let expression = |side: &str| {
        format!(
            "`{}`",
            Node::read(side).map_or(side.to_owned(), |node| node.show(names))
        )
    };
    match *word {
        "kernel" => {
            let safety = |side: &str| side.split(' ').next().unwrap_or_default().to_owned();
            if there.map(safety) == here.map(safety) {
                "two functions have this name, one for each build, or a rule that only the host \
                 checks differs: one definition must serve both"
                    .to_owned()
            } else {
                format!("the function is {}", both(&safety))
            }
        }
        "bounds" => format!(
            "`max_threads` and `min_blocks` are {}",
            both(&|side| side.to_owned())
        ),
        "type" => format!("the type of `{which}` has {}", both(&layout)),
        "array" => format!("the shared array `{which}` has {}", both(&layout)),
        "map" => format!("the map of `{which}` is {}", both(&|side| side.to_owned())),
        "require" | "implied" | "length" => {
            let what = match *word {
                "implied" => "what the types ask of the launch is".to_owned(),
                "require" => format!("rule {} is", which.trim_start_matches('0')),
                _ => {
                    let name = which.parse().ok().and_then(|index: usize| names.get(index));
                    format!("the length of `{}` is", name.copied().unwrap_or(which))
                }
            };
            let constants = constants(there, here);
            format!("{what} {}{constants}", both(&expression))
        }
        _ => format!("{word} is {}", both(&|side| side.to_owned())),
    }
}

/// `, where N is 4usize there and 8usize here`.
fn constants(there: Option<&str>, here: Option<&str>) -> String {
    let read = |side: Option<&str>| {
        let mut constants = BTreeMap::new();
        if let Some(node) = side.and_then(Node::read) {
            node.constants(&mut constants);
        }
        constants
    };
    let (there, here) = (read(there), read(here));
    let mut differing = Vec::new();
    for (name, value) in &there {
        if let Some(other) = here.get(name).filter(|other| *other != value) {
            differing.push(format!("`{name}` is {value} there and {other} here"));
        }
    }
    match &differing[..] {
        [] => String::new(),
        differing => format!(", where {}", differing.join(" and ")),
    }
}

/// An expression of a record.
enum Node {
    Word(String),
    Text(String),
    List(Vec<Node>),
}

impl Node {
    fn read(text: &str) -> Option<Self> {
        let mut rest = text;
        let node = Self::next(&mut rest)?;
        rest.trim().is_empty().then_some(node)
    }

    fn next(rest: &mut &str) -> Option<Self> {
        *rest = rest.trim_start();
        if let Some(inside) = rest.strip_prefix('(') {
            *rest = inside;
            let mut list = Vec::new();
            loop {
                *rest = rest.trim_start();
                if let Some(after) = rest.strip_prefix(')') {
                    *rest = after;
                    return Some(Self::List(list));
                }
                list.push(Self::next(rest)?);
            }
        }
        if let Some(inside) = rest.strip_prefix('"') {
            let mut escaped = false;
            let end = inside.find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            })?;
            *rest = &inside[end + 1..];
            return Some(Self::Text(inside[..end].replace("\\\"", "\"")));
        }
        let end = rest.find([' ', '(', ')']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        *rest = after;
        (!word.is_empty()).then(|| Self::Word(word.to_owned()))
    }

    fn constants(&self, found: &mut BTreeMap<String, String>) {
        let Self::List(list) = self else {
            return;
        };
        if let [Self::Word(word), Self::Text(name), Self::Word(value)] = &list[..]
            && word == "const"
        {
            found.insert(name.clone(), value.clone());
        }
        for node in list {
            node.constants(found);
        }
    }

    /// As Rust writes it.
    fn show(&self, names: &[&str]) -> String {
        let list = match self {
            Self::Word(text) | Self::Text(text) => return text.clone(),
            Self::List(list) => list,
        };
        let Some((Self::Word(word), rest)) = list.split_first() else {
            return String::new();
        };
        let parameter = |node: &Self| match node {
            Self::Word(index) => {
                let name = index.parse().ok().and_then(|index: usize| names.get(index));
                name.map_or_else(|| index.clone(), |name| (*name).to_owned())
            }
            _ => node.show(names),
        };
        // In brackets where it is an operation itself.
        let part = |node: &Self| match node {
            Self::List(list) if matches!(&list[..], [Self::Word(word), _, _] if is_operator(word)) =>
            {
                format!("({})", node.show(names))
            }
            node => node.show(names),
        };
        match (&**word, rest) {
            ("const", [name, _]) => name.show(names),
            ("host", []) => "an expression for the host".to_owned(),
            ("value", [index]) => parameter(index),
            ("len" | "rows" | "cols" | "is_empty", [index]) => {
                format!("{}.{word}()", parameter(index))
            }
            ("grid", [Self::Word(axis)]) if axis == "*" => "grid.blocks()".to_owned(),
            ("block", [Self::Word(axis)]) if axis == "*" => "block.threads()".to_owned(),
            ("grid" | "block", [axis]) => format!("{word}.{}", axis.show(names)),
            ("is_aligned_to", [index, bytes]) => {
                format!("{}.is_aligned_to({})", parameter(index), bytes.show(names))
            }
            ("some", [node]) => format!("Some({})", node.show(names)),
            ("is_some", [node]) => format!("{}.is_some()", node.show(names)),
            ("!", [node]) => format!("!{}", part(node)),
            ("as", [ty, node]) => format!("{} as {}", part(node), ty.show(names)),
            (operator, [left, right]) if is_operator(operator) => {
                format!("{} {operator} {}", part(left), part(right))
            }
            (method, [left, right]) => {
                format!("{}.{method}({})", part(left), right.show(names))
            }
            (word, _) => word.to_owned(),
        }
    }
}

fn is_operator(word: &str) -> bool {
    !word.starts_with(|c: char| c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::difference;

    const RECORD: &str = "block: &mut Block<0,1,1>, x: &[f32], tile: Shared<[f32]>, n: usize\n\
        kernel safe 0123456789abcdef\nbounds 256 2\ntype x 4/4\ntype tile 4/4\narray slots 1024/4\ntype n 8/8\n\
        map x Strided<4>\nimplied (&& (== (grid y) 1) (== (grid z) 1))\n\
        require (&& (== (len 1) (const \"N\" 4usize)) (== (% (block x) 32) 0))\n\
        require (host)\n\
        length 2 (+ (block *) (const \"N\" 4usize))";

    #[track_caller]
    fn check(from: &str, to: &str, expected: &str) {
        assert!(RECORD.contains(from), "{from}");
        let changed = RECORD.replacen(from, to, 1);
        assert_eq!(difference(&changed, RECORD).as_deref(), Some(expected));
    }

    #[test]
    fn what_differs_is_named_with_both_values() {
        assert_eq!(difference(RECORD, RECORD), None);
        check(
            "N\" 4usize",
            "N\" 8usize",
            "rule 1 is `(x.len() == N) && ((block.x % 32) == 0)` there and `(x.len() == N) && ((block.x % 32) == 0)` here, \
             where `N` is 8usize there and 4usize here",
        );
        check(
            "(+ (block *) (const \"N\" 4usize))",
            "1024",
            "the length of `tile` is `1024` there and `block.threads() + N` here",
        );
        check(
            "\nrequire (host)",
            "",
            "rule 2 is absent there and `an expression for the host` here",
        );
        check(
            "type n 8/8",
            "type n 4/4",
            "the type of `n` has 4 bytes aligned to 4 there and 8 bytes aligned to 8 here",
        );
        check(
            "slots 1024/4",
            "slots 4/4",
            "the shared array `slots` has 4 bytes aligned to 4 there and 1024 bytes aligned to 4 here",
        );
        check(
            "bounds 256 2\n",
            "",
            "`max_threads` and `min_blocks` are absent there and 256 2 here",
        );
        check(
            "Strided<4>",
            "FromEnd",
            "the map of `x` is FromEnd there and Strided<4> here",
        );
        check(
            "implied (&& (== (grid y) 1) (== (grid z) 1))\n",
            "",
            "what the types ask of the launch is absent there and `(grid.y == 1) && (grid.z == 1)` here",
        );
        check(
            "safe 0",
            "unsafe 0",
            "the function is unsafe there and safe here",
        );
        check(
            "safe 0",
            "safe 1",
            "two functions have this name, one for each build, or a rule that only the host checks differs: one definition must serve both",
        );
        check(
            "\nlength",
            "\nnewer 3\nlength",
            "newer is 3 there and absent here",
        );
    }

    #[test]
    fn a_record_that_cannot_be_read_differs() {
        check(
            "(== (len 1)",
            "(== (len 1",
            "rule 1 is `(&& (== (len 1 (const \"N\" 4usize)) (== (% (block x) 32) 0))` there and `(x.len() == N) && ((block.x % 32) == 0)` here",
        );
        assert!(difference(&format!("{RECORD}\n"), RECORD).is_some());
    }
}
