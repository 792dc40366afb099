//! The PTX of one kernel, as lines.

use std::ops::RangeInclusive;

/// The PTX of one kernel: the module without the other kernels and the functions that it does not
/// call.
#[derive(Clone, Debug)]
pub struct Source {
    /// The kernel's name.
    pub kernel: String,
    pub(super) lines: Vec<String>,
    /// The number of each line in the module's file, counted from 1.
    pub(super) numbers: Vec<usize>,
}

/// What the name of a kernel's signature ends with.
const SIGNATURE: &str = "__signature[";

/// A kernel or function with a body.
struct Body<'a> {
    kernel: bool,
    name: &'a str,
    lines: RangeInclusive<usize>,
}

impl Source {
    /// The kernels of a PTX text, each for itself.
    pub fn split(text: &str) -> Vec<Self> {
        let lines: Vec<_> = text.lines().collect();
        let bodies = bodies(&lines);
        let alone = |kernel: &Body<'_>| {
            let (mut kept, mut next) = (Vec::new(), 0);
            for body in unused(kernel, &bodies, &lines) {
                kept.extend(next..*body.lines.start());
                next = body.lines.end() + 1;
            }
            kept.extend(next..lines.len());
            kept.retain(|&index| !describes_another(lines[index], kernel.name));
            Self {
                kernel: kernel.name.to_owned(),
                lines: kept.iter().map(|&index| lines[index].to_owned()).collect(),
                numbers: kept.iter().map(|index| index + 1).collect(),
            }
        };
        bodies
            .iter()
            .filter(|body| body.kernel)
            .map(alone)
            .collect()
    }

    /// The module's text.
    pub fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// The instructions: the index of each line, and its text without comment and white space
    /// around.
    pub(super) fn instructions(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().map(instruction).enumerate()
    }
}

/// Whether a line is the signature of another kernel. All of them are most of what a parser would
/// read of each mutant.
fn describes_another(line: &str, kernel: &str) -> bool {
    let declared = line.split_once(SIGNATURE).map(|(declared, _)| declared);
    let described = declared.and_then(|declared| declared.split(' ').next_back());
    described.is_some_and(|described| described != kernel)
}

fn bodies<'a>(lines: &[&'a str]) -> Vec<Body<'a>> {
    let mut bodies = Vec::new();
    let mut start = None;
    let mut depth = 0;
    for (index, line) in lines.iter().enumerate() {
        if depth == 0
            && let Some((kernel, name)) = head(line)
        {
            start = Some((index, kernel, name));
        }
        let code = instruction(line);
        if depth == 0 && code == ";" {
            // Only a declaration.
            start = None;
        }
        depth += code.matches('{').count();
        if !code.contains('}') {
            continue;
        }
        depth = depth.saturating_sub(code.matches('}').count());
        if depth == 0
            && let Some((start, kernel, name)) = start.take()
        {
            let lines = start..=index;
            bodies.push(Body {
                kernel,
                name,
                lines,
            });
        }
    }
    bodies
}

/// The first line of a kernel or function: whether it is a kernel, and its name.
fn head(line: &str) -> Option<(bool, &str)> {
    let line = line
        .trim_start_matches(".visible ")
        .trim_start_matches(".weak ");
    let (kernel, rest) = match line.strip_prefix(".entry") {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix(".func")?),
    };
    // What a function returns stands before its name.
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(returned) => returned.split_once(')')?.1,
        None => rest,
    };
    let name = rest.split('(').next()?.trim();
    Some((kernel, name))
}

/// The bodies that a kernel does not need: other kernels, and functions that it names neither itself
/// nor by way of another one.
fn unused<'a, 'b>(
    kernel: &'a Body<'b>,
    bodies: &'a [Body<'b>],
    lines: &[&str],
) -> Vec<&'a Body<'b>> {
    let mut used = vec![kernel];
    let mut next = 0;
    while let Some(body) = used.get(next) {
        let text = lines[body.lines.clone()].join("\n");
        let own = used.clone();
        let known = |other: &Body<'_>| own.iter().any(|body| body.name == other.name);
        used.extend(
            bodies
                .iter()
                .filter(|other| !other.kernel && !known(other) && text.contains(other.name)),
        );
        next += 1;
    }
    let needed = |other: &Body<'_>| used.iter().any(|body| body.name == other.name);
    bodies.iter().filter(|other| !needed(other)).collect()
}

/// A line without its comment and white space around.
pub(super) fn instruction(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim()
}

/// The operands of an instruction without a guard: what stands between its opcode and the
/// semicolon, at the commas outside of brackets.
pub(super) fn operands(instruction: &str) -> Vec<&str> {
    let Some((_, list)) = instruction.split_once(char::is_whitespace) else {
        return Vec::new();
    };
    let list = list.trim_end_matches(';');
    let mut depth = 0_i32;
    let separates = move |c: char| {
        depth += match c {
            '{' | '[' => 1,
            '}' | ']' => -1,
            _ => 0,
        };
        c == ',' && depth == 0
    };
    list.split(separates).map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_keeps_the_functions_that_it_calls() {
        let text = ".func  (.param .b32 r) inner(\n.param .b32 x\n)\n;\n.visible .entry first()\n{\n{\n.reg .b32 t;\n}\n\
                    call.uni outer;\n}\n.func outer()\n{\ncall (r), inner, (x);\n}\n\
                    .func  (.param .b32 r) inner(\n.param .b32 x\n)\n{\nret;\n}\n\
                    .visible .entry second()\n{\nbar.sync 0;\n}\n";
        let sources = Source::split(text);
        let kernels: Vec<_> = sources
            .iter()
            .map(|source| source.kernel.as_str())
            .collect();
        assert_eq!(kernels, ["first", "second"]);
        let (first, second) = (sources[0].text(), sources[1].text());
        assert!(
            first.contains("call.uni outer")
                && first.contains("call (r), inner")
                && first.contains("\nret;")
        );
        assert!(!first.contains("bar.sync") && second.contains("bar.sync"));
        assert!(!second.contains("call") && !second.contains("\nret;"));
        assert!(
            second.starts_with(".func  (.param .b32 r) inner("),
            "a declaration stays"
        );
        let in_file = |source: &Source| {
            let numbers = source.numbers.iter();
            let lines = numbers.map(|number| text.lines().nth(number - 1).unwrap());
            lines.eq(source.lines())
        };
        assert!(sources.iter().all(in_file));
    }

    #[test]
    fn a_kernel_keeps_its_own_signature() {
        let text = ".visible .global .align 8 .b64 first__signature[1] = {0x26};\n\
                    .visible .global .align 8 .b64 second__signature[1] = {0x27};\n\
                    .visible .entry first()\n{\nret;\n}\n\
                    .visible .entry second()\n{\nret;\n}\n";
        for source in Source::split(text) {
            let signatures = source.text().matches("__signature").count();
            assert_eq!(signatures, 1);
            assert!(source.text().contains(&format!(" {}__sig", source.kernel)));
        }
    }

    #[test]
    fn operands_are_split_outside_of_brackets() {
        assert_eq!(
            operands("st.shared.v2.b32 \t[%rd1+8], {%r1, %r2};"),
            ["[%rd1+8]", "{%r1, %r2}"]
        );
        assert_eq!(operands("ret;"), [""; 0]);
    }
}
