//! The mutations, and how they are written into the check's source.
//!
//! A mutation changes an expression or a statement on one line: a condition becomes always or never
//! true, a step is left out, a level becomes the lowest, an instruction loses its effect.

use std::fmt;

/// One mutation.
#[derive(Debug)]
pub(super) struct Mutation {
    pub(super) file: String,
    pub(super) line: usize,
    /// The line, without indentation.
    pub(super) text: String,
    pub(super) what: String,
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mutation {
            file,
            line,
            text,
            what,
        } = self;
        write!(f, "{file}:{line}: {what}: {text}")
    }
}

/// The functions that the rewritten code calls.
pub(super) const SWITCH: &str = r#"
mod mutant {
    use super::step::Action;
    use super::fact::Fact;
    use super::level::{Level, Rank};
    use super::targets::Targets;
    use super::waits::{Answer, Scope};

    pub(super) fn on(number: usize) -> bool {
        static CHOSEN: std::sync::OnceLock<Option<usize>> = std::sync::OnceLock::new();
        let chosen = || std::env::var("CHECKER_MUTANT").ok()?.parse().ok();
        *CHOSEN.get_or_init(chosen) == Some(number)
    }
    pub(super) fn flag(always: usize, value: bool) -> bool {
        match value {
            _ if on(always) => true,
            _ if on(always + 1) => false,
            value => value,
        }
    }
    macro_rules! weakest {
        ($($name:ident $ty:ty = $value:expr;)*) => {$(
            #[allow(dead_code)]
            pub(super) fn $name<'m>(number: usize, value: $ty) -> $ty {
                if on(number) { $value } else { value }
            }
        )*};
    }
    weakest! {
        level Level = Level::Block;
        rank Rank<'m> = Rank::BLOCK;
        fact Fact<'m> = Fact::number(Rank::BLOCK);
        targets Targets<'m> = Targets::default();
        action Action<'m> = Action::Control;
        scope Scope = Scope::Warp;
        answer Answer = Answer::Block;
    }
}
"#;

/// Calls of these methods are left out where they are statements.
const STEPS: [&str; 9] = [
    "raise",
    "add",
    "push",
    "insert",
    "extend",
    "escape",
    "let_escape",
    "write",
    "merge",
];

/// Closures of these methods are conditions.
const ASKS: [&str; 6] = ["any", "all", "filter", "is_some_and", "is_none_or", "find"];

/// The text of a file with its mutations, numbered from `mutations.len()`.
pub(super) fn file(name: &str, text: &str, mutations: &mut Vec<Mutation>) -> String {
    // Files that only report or contain no rule.
    let left_out = ["report.rs", "copy.rs", "references.rs", "level.rs"];
    if left_out.contains(&name) {
        return text.to_owned();
    }
    let mut output = String::new();
    let mut is_over = false;
    for (at, line) in text.lines().enumerate() {
        is_over |= line == "#[cfg(test)]" && at > 20 && name != "mod.rs";
        let code = line.trim_start();
        let is_code = !is_over && !code.starts_with("//") && !code.starts_with('#');
        let mut rewriter = Rewriter {
            file: name,
            line: at + 1,
            text: code,
            mutations,
        };
        let indent = &line[..line.len() - code.len()];
        output.push_str(indent);
        match is_code {
            true => output.push_str(&rewriter.line()),
            false => output.push_str(code),
        }
        output.push('\n');
    }
    output
}

struct Rewriter<'a> {
    file: &'a str,
    line: usize,
    text: &'a str,
    mutations: &'a mut Vec<Mutation>,
}

impl Rewriter<'_> {
    fn number(&mut self, what: &str) -> usize {
        self.mutations.push(Mutation {
            file: self.file.to_owned(),
            line: self.line,
            text: self.text.to_owned(),
            what: what.to_owned(),
        });
        self.mutations.len() - 1
    }

    fn flag(&mut self, condition: &str) -> String {
        let shown: String = condition.chars().take(60).collect();
        let always = self.number(&format!("always `{shown}`"));
        self.number(&format!("never `{shown}`"));
        format!("crate::uniformity::mutant::flag({always}, {condition})")
    }

    fn wrap(&mut self, function: &str, expression: &str) -> String {
        let shown: String = expression.chars().take(60).collect();
        let number = self.number(&format!("no {function} `{shown}`"));
        format!("crate::uniformity::mutant::{function}({number}, {expression})")
    }

    fn line(&mut self) -> String {
        let text = self.text;
        if let Some(changed) = self.condition().or_else(|| self.step()) {
            return changed;
        }
        let mut line = self.closures(text);
        if self.file == "transfer.rs" && text.starts_with("Action::") {
            line = self.arm(&line, "fact", |_| true);
        }
        if self.file == "body.rs" {
            line = self.arm(&line, "action", |value| {
                let is_none = value == "Action::Control"
                    || value == "Action::Known(Level::Block, Reason::Thread)";
                value.starts_with("Action::") && !value.ends_with('{') && !is_none
            });
        }
        if matches!(self.file, "context.rs" | "transfer.rs") {
            line = self.calls(&line, ".or(", "rank", true);
        }
        if self.file == "waits.rs" && !text.starts_with("pub") {
            line = self.words(&line, "Scope::Block", "scope");
            line = self.words(&line, "Answer::Own", "answer");
        }
        if text.contains("Rank::new(Level::") || text.starts_with("Level::Divergent,") {
            line = self.words(&line, "Level::Divergent", "level");
        }
        if text.contains("=> Action::Known(") || text.contains("=> Level::Divergent") {
            line = self.words(&line, "Level::Divergent", "level");
        }
        line = self.calls(&line, "Fact::unknown(", "fact", false);
        if !text.contains("fn ") {
            line = self.calls(&line, "Targets::unknown(", "targets", false);
        }
        self.literals(&line)
    }

    /// `if c {`, `} else if c {`, `p if c => …`, `&& c`.
    fn condition(&mut self) -> Option<String> {
        let text = self.text;
        let is_plain = |condition: &str| !condition.contains("let ") && is_balanced(condition);
        for start in ["if ", "} else if "] {
            let condition = (text.strip_prefix(start)).and_then(|rest| rest.strip_suffix(" {"));
            if let Some(condition) = condition.filter(|condition| is_plain(condition)) {
                return Some(format!("{start}{} {{", self.flag(condition)));
            }
        }
        if let (Some((pattern, rest)), false) = (text.split_once(" if "), text.starts_with("let "))
            && let Some((condition, value)) = rest.split_once(" =>")
            && is_plain(condition)
        {
            return Some(format!("{pattern} if {} =>{value}", self.flag(condition)));
        }
        for start in ["&& ", "|| "] {
            if let Some(condition) = text.strip_prefix(start)
                && is_plain(condition)
                && !condition.ends_with(['{', ';', ',', '('])
            {
                return Some(format!("{start}{}", self.flag(condition)));
            }
        }
        None
    }

    /// A statement that is one call with an effect.
    fn step(&mut self) -> Option<String> {
        let text = self.text;
        let call = text.strip_suffix(");")?;
        let is_assignment = text.contains(" |= ");
        let (object, rest) = call.split_once('(')?;
        let method = object.rsplit('.').next()?;
        let is_step = object.contains('.') && STEPS.contains(&method);
        // A line that continues the one before is not a statement.
        if text.starts_with("let ")
            || text.starts_with('.')
            || !(is_step || is_assignment)
            || !is_balanced(&format!("({rest})"))
        {
            return None;
        }
        let number = self.number("left out");
        Some(format!(
            "if !crate::uniformity::mutant::on({number}) {{ {text} }}"
        ))
    }

    /// The conditions of closures: `.any(|x| c)`.
    fn closures(&mut self, line: &str) -> String {
        for ask in ASKS {
            let start = format!(".{ask}(|");
            let Some(at) = line.find(&start) else {
                continue;
            };
            let Some(bar) = line[at + start.len()..].find("| ") else {
                continue;
            };
            let from = at + start.len() + bar + 2;
            let Some(end) = closing(&line[from..]) else {
                continue;
            };
            let condition = &line[from..from + end];
            if condition.starts_with('{') || condition.contains("let ") {
                continue;
            }
            let flag = self.flag(condition);
            return format!("{}{flag}{}", &line[..from], &line[from + end..]);
        }
        line.to_owned()
    }

    /// The value of an arm on one line.
    fn arm(&mut self, line: &str, function: &str, is_one: impl Fn(&str) -> bool) -> String {
        let Some((pattern, value)) = line.split_once(" => ") else {
            return line.to_owned();
        };
        match value.strip_suffix(',') {
            Some(value) if is_balanced(value) && is_one(value) && value != "none" => {
                format!("{pattern} => {},", self.wrap(function, value))
            }
            _ => line.to_owned(),
        }
    }

    /// Calls whose result, or whose argument, is weakened.
    fn calls(&mut self, line: &str, call: &str, function: &str, argument: bool) -> String {
        let (mut output, mut rest) = (String::new(), line);
        while let Some(at) = rest.find(call) {
            let inside = at + call.len();
            let Some(end) = closing(&rest[inside..]) else {
                break;
            };
            let (from, to) = match argument {
                true => (inside, inside + end),
                false => (at, inside + end + 1),
            };
            output.push_str(&rest[..from]);
            output.push_str(&self.wrap(function, &rest[from..to]));
            rest = &rest[to..];
        }
        output + rest
    }

    fn words(&mut self, line: &str, word: &str, function: &str) -> String {
        match line.contains("mutant") {
            true => line.to_owned(),
            false => line.replacen(word, &self.wrap_if(line, word, function), 1),
        }
    }

    fn wrap_if(&mut self, line: &str, word: &str, function: &str) -> String {
        match line.contains(word) {
            true => self.wrap(function, word),
            false => word.to_owned(),
        }
    }

    /// `=> true,`, `: false,`.
    fn literals(&mut self, line: &str) -> String {
        if line.contains("mutant") {
            return line.to_owned();
        }
        for literal in ["true", "false"] {
            for (start, end) in [("=> ", ","), (": ", ","), (", ", ")")] {
                let word = format!("{start}{literal}{end}");
                let is_pattern = line.contains("is_packed");
                if let Some(at) = line.find(&word).filter(|_| !is_pattern) {
                    let number = self.number(&format!("not `{literal}`"));
                    let (from, to) = (at + start.len(), at + start.len() + literal.len());
                    return format!(
                        "{}(crate::uniformity::mutant::on({number}) != {literal}){}",
                        &line[..from],
                        &line[to..]
                    );
                }
            }
        }
        line.to_owned()
    }
}

/// The position of the parenthesis that closes the one opened before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth == 0 => return Some(at),
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn is_balanced(text: &str) -> bool {
    let opens = text.matches(['(', '[', '{']).count();
    closing(text).is_none() && opens == text.matches([')', ']', '}']).count()
}
