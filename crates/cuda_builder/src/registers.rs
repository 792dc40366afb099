//! The registers of functions in PTX that LLVM prints.

use std::collections::HashMap;

/// The same text with each function's lines as `write` writes them. What stands before a brace
/// comes with the function before it.
pub(crate) fn functions(ptx: &str, mut write: impl FnMut(&[&str], &mut String)) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut text = String::with_capacity(ptx.len());
    // Registers belong to a function, whose brace has a line of its own. Assembly's is indented.
    for function in lines.chunk_by(|_, next| *next != "{") {
        write(function, &mut text);
    }
    text
}

pub(crate) fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// What becomes of lines of a function, by their place; `None` goes.
pub(crate) type Edits = HashMap<usize, Option<String>>;

pub(crate) fn edited(function: &[&str], edits: &Edits, text: &mut String) {
    for (at, line) in function.iter().enumerate() {
        match edits.get(&at) {
            Some(Some(edited)) => push(text, edited),
            Some(None) => {}
            None => push(text, line),
        }
    }
}

/// Whether a line is more than a position or a comment.
pub(crate) fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !(line.is_empty() || line.starts_with(".loc") || line.starts_with("//"))
}

/// How often each register of a function is mentioned and written.
pub(crate) struct Registers<'t> {
    defined: HashMap<&'t str, usize>,
    mentioned: HashMap<&'t str, usize>,
}

impl<'t> Registers<'t> {
    pub(crate) fn of(function: &[&'t str]) -> Self {
        let mut all = Registers {
            defined: HashMap::new(),
            mentioned: HashMap::new(),
        };
        for line in function {
            for register in registers(target(line)) {
                *all.defined.entry(register).or_default() += 1;
            }
            for register in registers(line) {
                *all.mentioned.entry(register).or_default() += 1;
            }
        }
        all
    }

    pub(crate) fn is_set_once(&self, register: &str) -> bool {
        self.defined.get(register) == Some(&1)
    }

    /// The places that name it, its definitions included.
    pub(crate) fn mentions(&self, register: &str) -> usize {
        self.mentioned.get(register).copied().unwrap_or_default()
    }
}

/// What an instruction may write: its first operand, `{%r1, %r2}` and `%p1|%p2` included. Of two
/// instructions in a line, all that is written there.
pub(crate) fn target(line: &str) -> &str {
    let line = line.trim_start();
    if line.starts_with(['.', '/', '}', '$']) {
        return "";
    }
    let code = line
        .split_once("//")
        .map_or(line, |(code, _)| code)
        .trim_end();
    if code.matches(';').count() > 1 {
        return code;
    }
    let guard = code.starts_with('@').then(|| code.find(' ')).flatten();
    let operation = code[guard.unwrap_or(0)..].trim_start();
    let operands = operation
        .find([' ', '\t'])
        .map_or("", |at| operation[at..].trim_start());
    match operands.starts_with('{') {
        true => operands.split('}').next().unwrap_or_default(),
        false => operands.split(',').next().unwrap_or_default(),
    }
}

/// The registers that a text names.
pub(crate) fn registers(text: &str) -> impl Iterator<Item = &str> {
    words(text).filter(|word| word.starts_with('%'))
}

pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "_%.".contains(c)))
}
