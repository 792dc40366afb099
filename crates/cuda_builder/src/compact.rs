//! Compacts PTX for embedding to a fifth of LLVM's output: the line table names each source
//! position once.

use std::collections::{HashMap, HashSet};

/// Compacts the pieces of a text. Each can be read without the others.
#[derive(Default)]
pub(crate) struct Compact {
    /// The number of the next chain.
    next: usize,
}

impl Compact {
    /// The same code without comments, empty lines and repeated `.loc`.
    ///
    /// After a `.loc` LLVM prints the inlining chain, `// a.rs:1:2 @[ b.rs:3:4 @[ c.rs:5:6 ] ]`.
    /// Each position with its chain is written once in a piece, `// a.rs:1:2 @ 0=b.rs:3:4 @
    /// c.rs:5:6`, with a number if it comes again, and is only that number afterwards: `// d.rs:7:8 @
    /// 0`, `// 0`. A tenth of the packed bytes would be numbers that nothing names. The emulator
    /// reads both forms.
    pub(crate) fn piece(&mut self, ptx: &str) -> String {
        let lines = lines(ptx);
        let (mut seen, mut again) = (HashSet::new(), HashSet::new());
        for (_, chain) in lines.iter().filter(|line| !line.1.contains(SEPARATOR)) {
            if let Some(known) = chains(chain).find(|chain| !seen.insert(*chain)) {
                again.insert(known);
            }
        }
        let mut compact = String::with_capacity(ptx.len() / 4);
        let mut known = HashMap::new();
        for (code, chain) in lines {
            compact.push_str(code);
            if !chain.is_empty() {
                compact.push_str(" // ");
                self.write(chain, &again, &mut known, &mut compact);
            }
            compact.push('\n');
        }
        compact
    }

    fn write<'p>(
        &mut self,
        chain: &'p str,
        again: &HashSet<&str>,
        known: &mut HashMap<&'p str, usize>,
        text: &mut String,
    ) {
        if chain.contains(SEPARATOR) {
            text.push_str(chain);
            return;
        }
        for (at, chain) in chains(chain).enumerate() {
            if at > 0 {
                text.push_str(SEPARATOR);
            }
            if let Some(number) = known.get(chain) {
                text.push_str(&number.to_string());
                return;
            }
            let place = chain.split(INLINED).next().unwrap_or(chain);
            // A path such as `1=a.rs` would be read as a number.
            if again.contains(chain) || place.contains('=') {
                known.insert(chain, self.next);
                text.push_str(&format!("{}=", self.next));
                self.next += 1;
            }
            text.push_str(place);
        }
    }
}

/// What stands in LLVM's chains before the place that one is inlined at.
const INLINED: &str = " @[ ";
/// The same in ours. A path that contains it would be split in two; no real path does.
const SEPARATOR: &str = " @ ";

/// The lines that stay, and of a `.loc` its chain.
fn lines(ptx: &str) -> Vec<(&str, &str)> {
    let mut lines = Vec::new();
    let mut last = None;
    for line in ptx.lines() {
        let (code, comment) = line.split_at(comment_start(line));
        let code = code.trim_end();
        if !code.trim_start().starts_with(".loc") {
            if code == "{" {
                last = None;
            }
            if !code.is_empty() {
                lines.push((code, ""));
            }
            continue;
        }
        // A `.loc` applies until the next one.
        if last == Some((code, comment)) {
            continue;
        }
        last = Some((code, comment));
        let chain = comment.trim_start_matches("//").trim();
        lines.push((code, chain.trim_end_matches([' ', ']'])));
    }
    lines
}

/// A chain, and those of the places that it is inlined at.
fn chains(chain: &str) -> impl Iterator<Item = &str> {
    let all = (!chain.is_empty()).then_some(chain);
    std::iter::successors(all, |chain| Some(chain.split_once(INLINED)?.1))
}

/// Start of a `//` comment outside quotes, or the end of the line.
fn comment_start(line: &str) -> usize {
    let mut quoted = false;
    let bytes = line.as_bytes();
    let begins = |at: usize| bytes[at] == b'/' && bytes.get(at + 1) == Some(&b'/');
    (0..bytes.len())
        .find(|&at| {
            quoted ^= bytes[at] == b'"';
            !quoted && begins(at)
        })
        .unwrap_or(line.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_nothing_goes() {
        let ptx = "//\n// Generated\n\n.version 7.0\n.visible .entry k(\n\t.param .u64 p // first\n)\n{\n\t.loc\t1 3 5\n\
                   $L__BB0_2:                              // %exit\n                                        // -- End\n}\n\t.file\t1 \"/a//b.rs\" // c\n";
        assert_eq!(
            Compact::default().piece(ptx),
            ".version 7.0\n.visible .entry k(\n\t.param .u64 p\n)\n{\n\t.loc\t1 3 5\n$L__BB0_2:\n}\n\t.file\t1 \"/a//b.rs\"\n"
        );
    }

    #[test]
    fn each_place_is_written_once() {
        let ptx = "{\n\t.loc\t1 1 2    // a.rs:1:2 @[ b b.rs:3:4 @[ c.rs:5:6 ] ]\n\tret;\n\t.loc\t1 1 2    // a.rs:1:2 @[ b b.rs:3:4 @[ c.rs:5:6 ] ]\n\
                   \tret;\n\t.loc\t1 7 8  // a.rs:7:8 @[ b b.rs:3:4 @[ c.rs:5:6 ] ]\n\tret;\n\t.loc\t1 1 2 // a.rs:1:2 @[ b b.rs:3:4 @[ c.rs:5:6 ] ]\n}\n\
                   {\n\t.loc\t1 1 2 // a.rs:1:2 @[ b b.rs:3:4 @[ c.rs:5:6 ] ]\n\t.loc\t1 1 2 // x @ y:1:2 @[ b.rs:3:4 ]\n}\n";
        assert_eq!(
            Compact::default().piece(ptx),
            "{\n\t.loc\t1 1 2 // 0=a.rs:1:2 @ 1=b b.rs:3:4 @ c.rs:5:6\n\tret;\n\tret;\n\t.loc\t1 7 8 // a.rs:7:8 @ 1\n\tret;\n\t.loc\t1 1 2 // 0\n}\n\
             {\n\t.loc\t1 1 2 // 0\n\t.loc\t1 1 2 // x @ y:1:2 @[ b.rs:3:4\n}\n"
        );
    }

    #[test]
    fn a_piece_names_its_places_itself() {
        let piece = "{\n\t.loc\t1 1 2 // a.rs:1:2 @[ b.rs:3:4 ]\n\t.loc\t1 5 6 // c.rs:5:6 @[ b.rs:3:4 ]\n}\n";
        let mut compact = Compact::default();
        for number in 0..2 {
            assert_eq!(
                compact.piece(piece),
                format!(
                    "{{\n\t.loc\t1 1 2 // a.rs:1:2 @ {number}=b.rs:3:4\n\t.loc\t1 5 6 // c.rs:5:6 @ {number}\n}}\n"
                )
            );
        }
    }

    #[test]
    fn a_path_is_no_number() {
        assert_eq!(
            Compact::default().piece("\t.loc\t1 1 2 // 7=a.rs:1:2 @[ b=c.rs:3:4 ]\n"),
            "\t.loc\t1 1 2 // 0=7=a.rs:1:2 @ 1=b=c.rs:3:4\n"
        );
    }
}
