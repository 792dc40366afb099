//! Compacts PTX for embedding to a fifth of LLVM's output: the line table names each source
//! position once.

use std::collections::HashMap;

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
    /// Each position with its chain gets a number at its first occurrence in a piece, `//
    /// 2=a.rs:1:2 @ 1=b.rs:3:4 @ 0=c.rs:5:6`, and is only that number afterwards: `// 3=d.rs:7:8 @
    /// 1`, `// 2`. The emulator reads both forms.
    pub(crate) fn piece(&mut self, ptx: &str) -> String {
        let mut compact = String::with_capacity(ptx.len() / 4);
        let mut known = HashMap::new();
        let mut last = None;
        for line in ptx.lines() {
            let (code, comment) = line.split_at(comment_start(line));
            let code = code.trim_end();
            if !code.trim_start().starts_with(".loc") {
                if code == "{" {
                    last = None;
                }
                if !code.is_empty() {
                    compact.push_str(code);
                    compact.push('\n');
                }
                continue;
            }
            // A `.loc` applies until the next one.
            if last == Some((code, comment)) {
                continue;
            }
            last = Some((code, comment));
            compact.push_str(code);
            let chain = comment.trim_start_matches("//").trim();
            if !chain.is_empty() {
                compact.push_str(" // ");
                self.write(chain, &mut known, &mut compact);
            }
            compact.push('\n');
        }
        compact
    }

    fn write<'p>(
        &mut self,
        chain: &'p str,
        known: &mut HashMap<&'p str, usize>,
        text: &mut String,
    ) {
        let mut rest = chain.trim_end_matches([' ', ']']);
        // A path that contains the separator would be split in two; no real path does.
        if rest.contains(" @ ") {
            text.push_str(chain);
            return;
        }
        loop {
            if let Some(number) = known.get(rest) {
                text.push_str(&number.to_string());
                return;
            }
            let number = self.next;
            self.next += 1;
            known.insert(rest, number);
            let (place, outer) = rest.split_once(" @[ ").unwrap_or((rest, ""));
            text.push_str(&format!("{number}={place}"));
            if outer.is_empty() {
                return;
            }
            text.push_str(" @ ");
            rest = outer;
        }
    }
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
                   {\n\t.loc\t1 1 2 // a.rs:1:2 @[ b b.rs:3:4 @[ c.rs:5:6 ] ]\n\t.loc\t1 1 2 // x @ y:1:2\n}\n";
        assert_eq!(
            Compact::default().piece(ptx),
            "{\n\t.loc\t1 1 2 // 0=a.rs:1:2 @ 1=b b.rs:3:4 @ 2=c.rs:5:6\n\tret;\n\tret;\n\t.loc\t1 7 8 // 3=a.rs:7:8 @ 1\n\tret;\n\t.loc\t1 1 2 // 0\n}\n\
             {\n\t.loc\t1 1 2 // 0\n\t.loc\t1 1 2 // x @ y:1:2\n}\n"
        );
    }

    #[test]
    fn a_piece_names_its_places_itself() {
        let piece = "{\n\t.loc\t1 1 2 // a.rs:1:2 @[ b.rs:3:4 ]\n}\n";
        let mut compact = Compact::default();
        let [first, second] = [piece; 2].map(|piece| compact.piece(piece));
        assert_eq!(first, "{\n\t.loc\t1 1 2 // 0=a.rs:1:2 @ 1=b.rs:3:4\n}\n");
        assert_eq!(second, "{\n\t.loc\t1 1 2 // 2=a.rs:1:2 @ 3=b.rs:3:4\n}\n");
    }
}
