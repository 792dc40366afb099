//! Notes on the compiler's errors about lines that people who know CUDA C++ write, where neither
//! cuda_std's types nor `#[kernel]` can say it: numbers of two types, statics, and what is no Rust.
//!
//! The host's compiler shows the error at its place; the build script's warning is the line to
//! write.

use std::collections::BTreeMap;

/// An error with the line that it is about.
struct Said<'a> {
    text: &'a str,
    /// The source line.
    line: &'a str,
    /// What is marked in it: its first byte and the one after it.
    marked: (usize, usize),
}

type Note = fn(&Said<'_>) -> Option<String>;

/// How an error begins, what its source line contains, and the note. The first row that applies to
/// a line speaks.
const HABITS: [(&str, &str, Note); 10] = [
    ("error[E0277]: cannot ", "", without_suffixes),
    ("error[E0308]: mismatched types", "", without_suffixes),
    ("error[E0277]: cannot ", "", operands),
    ("error[E0308]: mismatched types", "", converted),
    ("error[E0277]: the type `[", "", index),
    ("error[E0594]: cannot assign to ", "", of_static),
    ("error[E0133]: use of mutable static ", "", of_static),
    ("error: expected ", "<<<", launch),
    ("error: expected ", "__shared__", shared),
    ("error: expected ", "__global__", kernel),
];

/// The notes, each with its place: `src/kernels.rs:7: ..`.
pub(crate) fn notes(messages: &str) -> Vec<String> {
    let mut notes: BTreeMap<(String, usize), (usize, String)> = BTreeMap::new();
    for text in messages.split("\n\n") {
        // The first one may have a heading.
        let begins = text.find("\nerror").map_or(0, |heading| heading + 1);
        let text = &text[begins..];
        let Some((place, said)) = said(text) else {
            continue;
        };
        let note = (HABITS.iter().enumerate()).find_map(|(row, (title, part, note))| {
            let applies = text.starts_with(title) && said.line.contains(part);
            Some((row, applies.then(|| note(&said)).flatten()?))
        });
        if let Some((row, note)) = note {
            let known = notes.entry(place).or_insert((row, note.clone()));
            if row < known.0 {
                *known = (row, note);
            }
        }
    }
    let text = |((file, line), (_, note))| format!("{file}:{line}: {note}");
    notes.into_iter().map(text).collect()
}

fn said(text: &str) -> Option<((String, usize), Said<'_>)> {
    let mut lines = text.lines();
    let place = lines.find_map(|line| line.trim_start().strip_prefix("--> "))?;
    let mut parts = place.rsplitn(3, ':');
    let (_, number, file) = (parts.next()?, parts.next()?, parts.next()?);
    let starts = format!("{number} | ");
    let line = lines.find_map(|line| line.trim_start().strip_prefix(&starts))?;
    let marks = lines.next().and_then(|line| line.split_once("| "))?.1;
    let first = marks.find('^')?;
    let count = marks[first..]
        .bytes()
        .take_while(|mark| *mark == b'^')
        .count();
    // Marks are below characters; the compiler has made blanks of tabs.
    let byte = |column| {
        line.char_indices()
            .nth(column)
            .map_or(line.len(), |(at, _)| at)
    };
    let marked = (byte(first), byte(first + count));
    let said = Said { text, line, marked };
    Some(((file.to_owned(), number.parse().ok()?), said))
}

/// `0.5f32` and the like without their types.
fn without_suffixes(said: &Said<'_>) -> Option<String> {
    mixed(said.text)?;
    let mut plain = String::new();
    let mut rest = said.line.trim();
    while let Some(at) = ["f32", "f64"].iter().filter_map(|of| rest.find(of)).min() {
        let (before, after) = (&rest[..at], &rest[at + 3..]);
        let digits = before.trim_end_matches(|of: char| of.is_ascii_digit() || "._".contains(of));
        let literal = &before[digits.len()..];
        let is_whole = !after.starts_with(|of: char| of.is_alphanumeric() || of == '_')
            && !digits.ends_with(|of: char| of.is_alphanumeric());
        match is_whole && literal.starts_with(|of: char| of.is_ascii_digit()) {
            true => {
                plain += before.trim_end_matches('_');
                plain += if literal.contains('.') { "" } else { ".0" };
            }
            false => plain += &rest[..at + 3],
        }
        rest = after;
    }
    plain += rest;
    (plain != said.line.trim())
        .then(|| format!("a literal has the type of what it meets if it names none: `{plain}`"))
}

/// The two types of numbers that an error is about.
fn mixed(text: &str) -> Option<(&str, &str)> {
    let of = match text.starts_with("error[E0308]") {
        true => &text[text.find("expected `")?..],
        false => text.lines().next()?,
    };
    let mut quoted = of.split('`').skip(1).step_by(2);
    let types = (quoted.next()?, quoted.next()?);
    (is_number(types.0) && is_number(types.1) && types.0 != types.1).then_some(types)
}

fn is_float(of: &str) -> bool {
    ["f32", "f64", "{float}"].contains(&of)
}

fn is_number(of: &str) -> bool {
    let integers = [
        "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize",
    ];
    is_float(of) || of == "{integer}" || integers.contains(&of)
}

/// Two numbers of an operator.
fn operands(said: &Said<'_>) -> Option<String> {
    mixed(said.text)?;
    // Of `f32 * f64`, in the order of the line; of `a += b` the left one cannot be converted.
    let label = said
        .text
        .split("no implementation for `")
        .nth(1)?
        .split('`')
        .next()?;
    let [left, operator, right]: [&str; 3] =
        label.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let (a, b) = (
        before(&said.line[..said.marked.0])?,
        after(&said.line[said.marked.1..])?,
    );
    let to = |of: &str, value: &str| match (of, value.parse::<u64>()) {
        (_, Ok(_)) if is_float(of) => format!("{value}.0"),
        ("{float}", _) => format!("{value} as f32"),
        _ => format!("{value} as {of}"),
    };
    let by_right = format!("`{a} {operator} {}`", to(left, b));
    let by_left = format!("`{} {operator} {b}`", to(right, a));
    let way = match (is_float(left), is_float(right)) {
        _ if operator.ends_with('=') => by_right,
        (true, false) => by_right,
        (false, true) => by_left,
        _ => format!("{by_left} for a `{right}`, {by_right} for a `{left}`"),
    };
    Some(format!("numbers are converted where it is written: {way}"))
}

/// The operand that a text ends with.
fn before(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let mut depth = 0;
    let mut start = text.len();
    for (at, of) in text.char_indices().rev() {
        depth += match of {
            ')' | ']' => 1,
            '(' | '[' => -1,
            _ => 0,
        };
        let is_part = depth > 0 || of.is_alphanumeric() || "_.)]([".contains(of);
        if depth < 0 || !is_part {
            break;
        }
        start = at;
    }
    (start < text.len()).then(|| &text[start..])
}

/// The operand that a text begins with.
fn after(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let mut depth = 0;
    let mut end = 0;
    for (at, of) in text.char_indices() {
        depth += match of {
            '(' | '[' => 1,
            ')' | ']' => -1,
            _ => 0,
        };
        let is_part = depth > 0 || of.is_alphanumeric() || "_.)]([".contains(of);
        if depth < 0 || !is_part {
            break;
        }
        end = at + of.len_utf8();
    }
    (end > 0).then(|| &text[..end])
}

/// A number where another type is expected, unless the compiler shows how to convert it.
fn converted(said: &Said<'_>) -> Option<String> {
    let (wanted, _) = mixed(said.text)?;
    let value = said.line.get(said.marked.0..said.marked.1)?;
    let is_one = after(value) == Some(value);
    let value = if is_one {
        value.to_owned()
    } else {
        format!("({value})")
    };
    let is_shown = said.text.contains("\nhelp: ") || wanted.starts_with('{');
    (!is_shown).then(|| format!("numbers are converted where it is written: `{value} as {wanted}`"))
}

/// `x[j]` of another integer than `usize`.
fn index(said: &Said<'_>) -> Option<String> {
    let title = said.text.lines().next()?;
    let by = title
        .split_once("cannot be indexed by `")?
        .1
        .trim_end_matches('`');
    let at = said.line.get(said.marked.0..said.marked.1)?;
    let array = before(said.line.get(..said.marked.0)?.strip_suffix('[')?)?;
    let at = if after(at) == Some(at) {
        at.to_owned()
    } else {
        format!("({at})")
    };
    is_number(by).then(|| format!("an index is a `usize`: `{array}[{at} as usize]`"))
}

/// A kernel that writes to a static.
fn of_static(said: &Said<'_>) -> Option<String> {
    said.text.lines().next()?.contains("static").then(|| {
        "a kernel writes to its parameters: `mut y: Out<f32>` has an element for each thread, \
         `counts: Atomics<u32>` what all threads add to, `counts.add(0, 1);`, and \
         `tile: Shared<[f32; 256]>` is a block's"
            .to_owned()
    })
}

/// `scale<<<1, 256>>>(x)`.
fn launch(said: &Said<'_>) -> Option<String> {
    let (name, rest) = said.line.split_once("<<<")?;
    let name = before(&name.replace("::", "__of__"))?.replace("__of__", "::");
    let (shape, arguments) = rest.split_once(">>>")?;
    let arguments = after(arguments)?;
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for of in shape.chars() {
        depth += match of {
            '(' | '[' => 1,
            ')' | ']' => -1,
            _ => 0,
        };
        match (of, depth) {
            (',', 0) => parts.push(String::new()),
            _ => parts.last_mut()?.push(of),
        }
    }
    let extents = |index: usize| {
        parts
            .get(index)
            .map(|of| of.trim().trim_start_matches("dim3"))
    };
    let (grid, block) = (extents(0)?, extents(1)?);
    let call = |method: &str, of: &str| match of.starts_with('(') && of.contains(',') {
        true => format!(".{method}({of})"),
        false => format!(".{method}({})", of.trim_matches(['(', ')'])),
    };
    let stream = extents(3).map(|of| format!(".stream(&{of})"));
    Some(format!(
        "a launch is a call: `{name}::on(&device)?{}{}{}.launch{arguments}?;`, with `&x` and `&mut y` for buffers",
        call("grid", grid),
        call("block", block),
        stream.unwrap_or_default()
    ))
}

/// Rust's name of a number of C.
fn number(of: &str) -> Option<&'static str> {
    Some(match of {
        "float" => "f32",
        "double" => "f64",
        "int" => "i32",
        "unsigned" => "u32",
        _ => return None,
    })
}

/// `__shared__ float tile[256];`.
fn shared(said: &Said<'_>) -> Option<String> {
    let declared = said.line.split_once("__shared__")?.1.trim();
    let (element, name) = declared.split_once(' ')?;
    let element = number(element).unwrap_or(element);
    let (name, length) = name.trim_end_matches(';').split_once('[')?;
    let length = length.trim_end_matches(']');
    let parameter = match length {
        "" => format!(
            "`{name}: Shared<[{element}]>` with `#[kernel(shared({name} = block.threads()))]`"
        ),
        _ => format!("`{name}: Shared<[{element}; {length}]>`"),
    };
    Some(format!(
        "shared memory is a parameter of the kernel: {parameter}; `let written = {name}.write(block, |i| x[i]);` \
         writes it and `let {name} = block.sync_threads(written);` is the barrier"
    ))
}

/// `__global__ void scale(..)`.
fn kernel(said: &Said<'_>) -> Option<String> {
    let name = before(said.line.split_once("void ")?.1.split_once('(')?.0)?;
    Some(format!(
        "a kernel is a function with an attribute: `#[kernel] pub fn {name}(a: f32, x: &[f32], mut y: Out<f32>) {{`; \
         its outputs are `Out`, and `for (i, y) in y.mine() {{ *y = a * x[i]; }}` gives each thread its elements"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error of the compiler's about a marked line: `^` after it, at the columns meant.
    fn error(title: &str, line: &str, marked: &str, label: &str) -> String {
        let line = &line.replace('\t', "    ");
        let at = line[..line.rfind(marked).unwrap()].chars().count();
        let marks = " ".repeat(at) + &"^".repeat(marked.chars().count());
        format!(
            "{title}\n --> src/kernels.rs:6:{}\n  |\n6 | {line}\n  | {marks} {label}\n",
            at + 1
        )
    }

    #[track_caller]
    fn shows(error: &str, part: &str) {
        let notes = notes(error);
        assert!(
            notes.len() == 1
                && notes[0].starts_with("src/kernels.rs:6: ")
                && notes[0].contains(part),
            "{notes:?}"
        );
    }

    #[test]
    fn literals_of_another_type_lose_it() {
        let title = "error[E0277]: cannot multiply `f32` by `f64`";
        let label = "no implementation for `f32 * f64`";
        shows(
            &error(title, "    *y = 0.5f32 * x[i];", "*", label),
            "`*y = 0.5 * x[i];`",
        );
        shows(
            &error(title, "    *y = 2_f32 * f64_of_x - 1.0_f32;", "*", label),
            "`*y = 2.0 * f64_of_x - 1.0;`",
        );
        let expected = "expected `f64`, found `f32`";
        let two = error(
            "error[E0308]: mismatched types",
            "    *y = 0.5f32 * x;",
            "x",
            expected,
        ) + "\n"
            + &error(title, "    *y = 0.5f32 * x;", "*", label);
        shows(&two, "`*y = 0.5 * x;`");
        shows(
            &format!("cargo could not compile k:\n{two}"),
            "`*y = 0.5 * x;`",
        );
    }

    #[test]
    fn values_of_another_type_are_converted() {
        let both = |left, right| format!("no implementation for `{left} * {right}`");
        let title = |a, b| format!("error[E0277]: cannot multiply `{a}` by `{b}`");
        let error = |a, b, line| error(&title(a, b), line, " * ", &both(a, b));
        shows(
            &error("f64", "f32", "*y = a * x[i + 1];"),
            "`a as f32 * x[i + 1]` for a `f32`, `a * x[i + 1] as f64` for a `f64`",
        );
        shows(
            &error("f32", "u32", "*y = (x[i] - m) * n;"),
            "`(x[i] - m) * n as f32`",
        );
        shows(&error("{integer}", "f32", "*y = 2 * x[i];"), "`2.0 * x[i]`");
        assert_eq!(notes(&error("Pair", "f32", "*y = 2 * x[i];")), [""; 0]);
        // Neither letters beyond ASCII nor tabs move the marks.
        let line = "\tlet größe = /* µs */ länge[é] * n; // → ns";
        shows(&error("f32", "u32", line), "`länge[é] * n as f32`");
        // Of wide letters, which take two columns, the note may be about other text, no more.
        let wide = error("f32", "u32", "幅 * n;").replace("| ^", "|   ^");
        notes(&wide);
    }

    #[test]
    fn values_in_the_wrong_place_are_converted() {
        let title = "error[E0308]: mismatched types";
        let label = "expected `f32`, found `f64`";
        shows(&error(title, "*y = a;", "a", label), "`a as f32`");
        shows(
            &error(title, "*y -= a * 2.0;", "a * 2.0", label),
            "`(a * 2.0) as f32`",
        );
        let with_help = error(title, "v > b", "b", "expected `f64`, found `f32`")
            + "help: you can convert an `f32` to an `f64`\n";
        assert_eq!(notes(&with_help), [""; 0]);
        let other = error(title, "*y = a;", "a", "expected `f32`, found `Option<f32>`");
        assert_eq!(notes(&other), [""; 0]);
    }

    #[test]
    fn indices_are_converted() {
        let title = "error[E0277]: the type `[f32]` cannot be indexed by `i32`";
        let label = "slice indices are of type `usize` or ranges of `usize`";
        shows(
            &error(title, "*y = a * x[j];", "j", label),
            "`x[j as usize]`",
        );
        shows(
            &error(title, "*y = t.x[j - 1];", "j - 1", label),
            "`t.x[(j - 1) as usize]`",
        );
        let title = "error[E0277]: the type `[f32]` cannot be indexed by `(usize, usize)`";
        assert_eq!(notes(&error(title, "*y = x[j];", "j", "")), [""; 0]);
    }

    #[test]
    fn statics_are_parameters() {
        let title =
            "error[E0594]: cannot assign to `TABLE[_]`, as `TABLE` is an immutable static item";
        shows(
            &error(title, "TABLE[0] = 1.0;", "TABLE[0] = 1.0", ""),
            "`mut y: Out<f32>`",
        );
        let title = "error[E0133]: use of mutable static is unsafe and requires unsafe block";
        shows(
            &error(title, "COUNT += 1;", "COUNT", ""),
            "`counts.add(0, 1);`",
        );
        let title = "error[E0594]: cannot assign to `x`, as it is not declared as mutable";
        assert_eq!(notes(&error(title, "x = 1;", "x", "")), [""; 0]);
    }

    #[test]
    fn words_of_c_are_rust() {
        let title = "error: expected type, found `1`";
        shows(
            &error(
                title,
                "    scale<<<1, 256>>>(2.0, &x, &mut y);",
                "1",
                "expected type",
            ),
            "`scale::on(&device)?.grid(1).block(256).launch(2.0, &x, &mut y)?;`",
        );
        shows(
            &error(
                title,
                "  demo::k<<<dim3(n / 16, 1), (256), 0, s>>>(f(x), y);",
                "1",
                "",
            ),
            "`demo::k::on(&device)?.grid((n / 16, 1)).block(256).stream(&s).launch(f(x), y)?;`",
        );
        let title = "error: expected one of `!` or `::`, found `float`";
        shows(
            &error(title, "__shared__ float tile[256];", "float", ""),
            "`tile: Shared<[f32; 256]>`;",
        );
        shows(
            &error(title, "extern __shared__ double tile[];", "double", ""),
            "`tile: Shared<[f64]>` with `#[kernel(shared(tile = block.threads()))]`",
        );
        shows(
            &error(
                title,
                "__global__ void scale(float a, float *x) {",
                "void",
                "",
            ),
            "`#[kernel] pub fn scale(",
        );
    }
}
