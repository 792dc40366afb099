//! Global symbols (`@name`, `@"quoted name"`) in a line of IR.

use std::ops::Range;

/// A symbol and where it stands, from the `@` to the name's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol<'a> {
    pub(crate) name: &'a str,
    pub(crate) span: Range<usize>,
}

/// All global symbols of a line, left to right; text inside string constants does not count.
pub(crate) fn symbols(line: &str) -> impl Iterator<Item = Symbol<'_>> {
    let bytes = line.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            match bytes[at] {
                b'@' => {
                    let symbol = symbol_at(line, at)?;
                    at = symbol.span.end;
                    return Some(symbol);
                }
                // A string constant, or a quoted local name: skip to its closing quote.
                b'"' => at += 1 + line[at + 1..].find('"')? + 1,
                b';' => return None,
                _ => at += 1,
            }
        }
        None
    })
}

fn symbol_at(line: &str, at: usize) -> Option<Symbol<'_>> {
    let rest = &line[at + 1..];
    let (name, length) = match rest.strip_prefix('"') {
        Some(quoted) => {
            let end = quoted.find('"')?;
            (&quoted[..end], end + 2)
        }
        None => {
            let end = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || "-$._".contains(c)))
                .unwrap_or(rest.len());
            (&rest[..end], end)
        }
    };
    Some(Symbol {
        name,
        span: at..at + 1 + length,
    })
}

/// The name as a Rust programmer wrote it: path without crate hash.
pub(crate) fn demangle(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let found: Vec<_> = symbols(line).map(|symbol| symbol.name).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn finds_plain_and_quoted_names() {
        check("store ptr @a.b$c, ptr @\"d e\", align 8", &["a.b$c", "d e"]);
        check(
            "@x = constant <{ ptr, i8 }> <{ ptr @y, i8 0 }>",
            &["x", "y"],
        );
    }

    #[test]
    fn passes_over_strings_and_comments() {
        check(r#"@s = constant [4 x i8] c"@no\00", align 1 ; @no"#, &["s"]);
        check(r#"call void asm "mov @x;", ""() ; @no"#, &[]);
    }
}
