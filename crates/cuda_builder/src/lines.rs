//! The lines of functions in PTX that LLVM prints, for passes that replace some.

use std::collections::HashMap;

/// What becomes of a function's lines, by their place; `None` goes.
pub(crate) type Edits = HashMap<usize, Option<String>>;

/// The same text with the edits that a pass finds in each function. What stands before a brace
/// comes with the function before it.
pub(crate) fn edit(ptx: &str, pass: fn(&[(usize, &str)]) -> Edits) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut text = String::with_capacity(ptx.len());
    // A function's brace has a line of its own. Assembly's is indented.
    for function in lines.chunk_by(|_, next| *next != "{") {
        let code: Vec<(usize, &str)> = (function.iter().copied().enumerate())
            .filter(|(_, line)| is_code(line))
            .collect();
        let edits = pass(&code);
        for (at, line) in function.iter().enumerate() {
            let line = match edits.get(&at) {
                Some(Some(edited)) => edited,
                Some(None) => continue,
                None => *line,
            };
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Whether a line is more than a position or a comment.
fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !(line.is_empty() || line.starts_with(".loc") || line.starts_with("//"))
}
