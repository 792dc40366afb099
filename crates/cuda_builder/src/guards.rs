//! Lets inline assembly guard an instruction by the condition's own predicate.
//!
//! Rust passes a `bool` to assembly as an integer: `selp.b32 %r5, 1, 0, %p3;` before the template,
//! and in it `setp.ne.u32 inside, %r5, 0;` makes a predicate of it again. Without these two, ptxas
//! generates the same instructions. The pass works on PTX, because LLVM may compute an operand that
//! is a condition in another place, which cost one kernel 56 bytes of spills.

use std::collections::HashMap;

/// The same PTX, in which such assembly uses `%p3` instead of a predicate of its own.
pub(crate) fn name(ptx: &str) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut text = String::with_capacity(ptx.len());
    // Registers belong to a function, whose brace has a line of its own. Assembly's is indented.
    for function in lines.chunk_by(|_, next| *next != "{") {
        write(function, &mut text);
    }
    text
}

fn write(function: &[&str], text: &mut String) {
    let conditions = conditions(function);
    let mut at = 0;
    while let Some(line) = function.get(at) {
        at += 1;
        if let Some(guarded) = Guarded::of(&function[at - 1..])
            && let Some((predicate, _)) = conditions.get(guarded.integer)
        {
            guarded.write(predicate, text);
            at += guarded.body.len() + 3;
            continue;
        }
        let is_only_for_guards = condition(line)
            .and_then(|(integer, _)| conditions.get(integer))
            .is_some_and(|&(_, is_only)| is_only);
        if !is_only_for_guards {
            push(text, line);
        }
    }
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The integers that assembly tests as conditions, each with its predicate, and whether nothing else
/// reads the integer. Integer and predicate have a single definition, so that they always agree.
fn conditions<'t>(function: &[&'t str]) -> HashMap<&'t str, (&'t str, bool)> {
    let mut made: HashMap<&str, &str> =
        function.iter().filter_map(|line| condition(line)).collect();
    if made.is_empty() {
        return HashMap::new();
    }
    let mut defined: HashMap<&str, usize> = HashMap::new();
    let mut mentioned: HashMap<&str, usize> = HashMap::new();
    for line in function {
        for register in registers(target(line)) {
            *defined.entry(register).or_default() += 1;
        }
        for register in registers(line) {
            *mentioned.entry(register).or_default() += 1;
        }
    }
    let once = |register: &str| defined.get(register) == Some(&1);
    made.retain(|integer, predicate| once(integer) && once(predicate));
    let mut guards: HashMap<&str, usize> = HashMap::new();
    for at in 0..function.len() {
        if let Some(guarded) = Guarded::of(&function[at..]) {
            *guards.entry(guarded.integer).or_default() += 1;
        }
    }
    let with_uses = |(integer, predicate)| {
        let only = guards
            .get(integer)
            .is_some_and(|&guards| guards + 1 == mentioned[integer]);
        (integer, (predicate, only))
    };
    made.into_iter().map(with_uses).collect()
}

/// `%r5` and `%p3` of `selp.b32 %r5, 1, 0, %p3;`.
fn condition(line: &str) -> Option<(&str, &str)> {
    let operands = line.trim_start().strip_prefix("selp.b32")?.trim_start();
    operands.strip_suffix(';')?.split_once(", 1, 0, ")
}

/// Assembly that declares a predicate, makes it of an integer and then only guards by it.
struct Guarded<'t, 'l> {
    name: &'t str,
    integer: &'t str,
    /// The lines after these, without the closing brace.
    body: &'l [&'t str],
}

impl<'t, 'l> Guarded<'t, 'l> {
    /// `None` if the lines do not begin with such assembly.
    fn of(lines: &'l [&'t str]) -> Option<Self> {
        let ["\t{", declaration, comparison, rest @ ..] = lines else {
            return None;
        };
        let name = declaration.strip_prefix(".reg .pred ")?.strip_suffix(';')?;
        let operands = comparison.strip_prefix("setp.ne.u32 ")?;
        let integer = operands.strip_prefix(name)?.strip_prefix(", ")?;
        let integer = integer.strip_suffix(", 0;")?;
        let body = &rest[..rest.iter().position(|line| *line == "}")?];
        let guarded = Guarded {
            name,
            integer,
            body,
        };
        let only_guards = body.iter().all(|line| {
            let mut words = words(guarded.instruction(line).unwrap_or(line));
            words.all(|word| word != name && word != integer)
        });
        only_guards.then_some(guarded)
    }

    /// What the predicate guards in a line, from the space on.
    fn instruction<'a>(&self, line: &'a str) -> Option<&'a str> {
        let rest = line.strip_prefix('@')?.strip_prefix(self.name)?;
        rest.starts_with(' ').then_some(rest)
    }

    /// The same with another predicate, in braces if there are other declarations.
    fn write(&self, predicate: &str, text: &mut String) {
        let has_braces = self.body.iter().any(|line| line.starts_with(".reg"));
        if has_braces {
            push(text, "\t{");
        }
        for line in self.body {
            let indent = if has_braces { "" } else { "\t" };
            match self.instruction(line) {
                Some(rest) => push(text, &format!("{indent}@{predicate}{rest}")),
                None => push(text, line),
            }
        }
        if has_braces {
            push(text, "}");
        }
    }
}

/// What an instruction may write: its first operand, `{%r1, %r2}` and `%p1|%p2` included. Of two
/// instructions in a line, all that is written there.
fn target(line: &str) -> &str {
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
fn registers(text: &str) -> impl Iterator<Item = &str> {
    words(text).filter(|word| word.starts_with('%'))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "_%.".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::name;

    const BLOCK: &str = "\t{\n.reg .pred inside;\nsetp.ne.u32 inside, %r5, 0;\n@inside ld.global.b32 %r6, [%rd1];\n}\n";
    const CONDITION: &str = "\tsetp.lt.u64 \t%p3, %rd4, %rd5;\n\tselp.b32 \t%r5, 1, 0, %p3;\n";

    #[track_caller]
    fn check(body: &str, expected: &str) {
        let function = |body: &str| format!(".visible .entry k()\n{{\n{body}\tret;\n}}\n");
        assert_eq!(name(&function(body)), function(expected));
    }

    #[test]
    fn a_load_is_guarded_by_its_condition() {
        let test = "\tsetp.lt.u64 \t%p3, %rd4, %rd5;\n";
        let load = "\t@%p3 ld.global.b32 %r6, [%rd1];\n";
        check(
            &format!("{CONDITION}{BLOCK}{BLOCK}"),
            &format!("{test}{load}{load}"),
        );
        // Another reader keeps the integer, other declarations keep the braces.
        let reader = "\tadd.s32 \t%r7, %r5, 1;\n";
        let two = BLOCK.replace("@inside", ".reg .b32 x;\n@inside");
        check(
            &format!("{CONDITION}{two}{reader}"),
            &format!(
                "{CONDITION}\t{{\n.reg .b32 x;\n@%p3 ld.global.b32 %r6, [%rd1];\n}}\n{reader}"
            ),
        );
    }

    #[test]
    fn what_may_have_another_value_stays() {
        let same = |body: String| check(&body, &body);
        same(format!("{CONDITION}\tnot.pred \t%p3, %p4;\n{BLOCK}"));
        same(format!("{CONDITION}\tmov.b32 \t%r5, %r8;\n{BLOCK}"));
        same(format!(
            "{CONDITION}\tld.shared.v2.b32 \t{{%r9, %r5}}, [%rd2];\n{BLOCK}"
        ));
        same(format!(
            "{CONDITION}\tsetp.eq.b32 \t%p9|%p3, %r1, %r2;\n{BLOCK}"
        ));
        same(format!("\tmov.b32 \t%r5, %r8;\n{BLOCK}"));
        // Assembly's own registers.
        same(format!(
            "\t{{\n.reg .pred p;\nselp.b32 x, 1, 0, p;\n}}\n{BLOCK}"
        ));
        // It is read otherwise, too, or the predicate is negated.
        same(format!(
            "{CONDITION}{}",
            BLOCK.replace("[%rd1]", "[%rd1];\nmov.u32 %r9, %r5")
        ));
        same(format!(
            "{CONDITION}{}",
            BLOCK.replace("@inside", "@!inside")
        ));
        // Registers of another function.
        let text = format!("{{\n{CONDITION}}}\n{{\n{BLOCK}}}\n");
        assert_eq!(name(&text), text);
    }
}
