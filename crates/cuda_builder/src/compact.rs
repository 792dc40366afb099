//! PTX as it goes into a program: without LLVM's comments, a quarter of the text.

/// The same code without comments and empty lines. What stands behind a `.loc` stays: it is LLVM's chain of inlined calls.
pub(crate) fn compact(ptx: &str) -> String {
    let mut compact = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        let (code, comment) = line.split_at(comment_start(line));
        let code = code.trim_end();
        if code.is_empty() {
            continue;
        }
        compact.push_str(code);
        if code.trim_start().starts_with(".loc") && !comment.is_empty() {
            compact.push(' ');
            compact.push_str(comment.trim_end());
        }
        compact.push('\n');
    }
    compact
}

/// Where `//` begins that is not inside quotes, or the line ends.
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
        let ptx = "//\n// Generated\n\n.version 7.0\n.visible .entry k(\n\t.param .u64 p // first\n)\n{\n\t.loc\t1 3 5          // lib.rs:3:5 @[ a.rs:1:2 ]\n\
                   $L__BB0_2:                              // %exit\n                                        // -- End\n}\n\t.file\t1 \"/a//b.rs\" // c\n";
        assert_eq!(
            compact(ptx),
            ".version 7.0\n.visible .entry k(\n\t.param .u64 p\n)\n{\n\t.loc\t1 3 5 // lib.rs:3:5 @[ a.rs:1:2 ]\n\
             $L__BB0_2:\n}\n\t.file\t1 \"/a//b.rs\"\n"
        );
    }
}
