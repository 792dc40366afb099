//! Mutation: small mistakes made on purpose in a good kernel's PTX, to see that a detector or the oracle finds each.
//!
//! PTX as LLVM prints it has one instruction a line. A mutant replaces one line and keeps the number of lines, so that a
//! report's places are those of the good kernel.

mod barrier;
mod loops;
mod predicate;
mod shared;
mod shuffle;
mod survivors;
mod trial;

pub use survivors::{SURVIVORS, Survivor, unexplained};
pub use trial::{Trial, Verdict, run, trials};

use std::fmt::{self, Display};

/// The PTX of one kernel: the module with all other kernels' lines made empty.
#[derive(Clone, Debug)]
pub struct Source {
    /// The kernel's name.
    pub kernel: String,
    lines: Vec<String>,
}

/// A way to make mistakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// A barrier of the block or the warp is missing.
    DeleteBarrier,
    /// A shuffle goes the other way, among fewer lanes, or with a member mask that leaves a lane out.
    ChangeShuffle,
    /// An access to shared memory goes to the element before or behind.
    ShiftShared,
    /// A comparison that guards a branch is always true or always false.
    DropPredicate,
    /// A loop makes one round more.
    WidenLoop,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Operator; 5] = [
        Self::DeleteBarrier,
        Self::ChangeShuffle,
        Self::ShiftShared,
        Self::DropPredicate,
        Self::WidenLoop,
    ];

    /// All mutants that it makes of a kernel.
    pub fn mutants(self, source: &Source) -> Vec<Mutant> {
        let changes = match self {
            Self::DeleteBarrier => barrier::changes(source),
            Self::ChangeShuffle => shuffle::changes(source),
            Self::ShiftShared => shared::changes(source),
            Self::DropPredicate => predicate::changes(source),
            Self::WidenLoop => loops::changes(source),
        };
        let mutant = |(index, line): (usize, String)| Mutant {
            kernel: source.kernel.clone(),
            operator: self,
            line: index + 1,
            before: instruction(&source.lines[index]).to_owned(),
            after: line,
        };
        changes.into_iter().map(mutant).collect()
    }
}

impl Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::DeleteBarrier => "delete barrier",
            Self::ChangeShuffle => "change shuffle",
            Self::ShiftShared => "shift shared index",
            Self::DropPredicate => "drop predicate",
            Self::WidenLoop => "widen loop",
        })
    }
}

/// Lines to put in the place of others: index and text.
type Changes = Vec<(usize, String)>;

/// A kernel with one mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The kernel's name.
    pub kernel: String,
    /// What was done.
    pub operator: Operator,
    /// The line in the PTX file, counted from 1.
    pub line: usize,
    /// The instruction that stood there.
    pub before: String,
    /// What stands there now.
    pub after: String,
}

impl Mutant {
    /// The module's text with the mistake in it.
    pub fn text(&self, source: &Source) -> String {
        let lines = source.lines.iter().enumerate();
        let line = |(index, line)| {
            if index + 1 == self.line {
                &self.after
            } else {
                line
            }
        };
        lines.map(line).flat_map(|line| [line, "\n"]).collect()
    }
}

impl Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kernel,
            operator,
            line,
            before,
            after,
        } = self;
        write!(
            f,
            "{kernel}, {operator}, line {line}: `{before}` -> `{after}`"
        )
    }
}

impl Source {
    /// The kernels of a PTX text, each for itself.
    pub fn split(text: &str) -> Vec<Self> {
        let lines: Vec<_> = text.lines().collect();
        let mut entries = Vec::new();
        let mut start = None;
        let mut depth = 0;
        for (index, line) in lines.iter().enumerate() {
            if let Some(rest) = line.strip_prefix(".visible .entry ") {
                let name = rest.split(['(', ' ']).next().unwrap_or_default();
                start = Some((index, name.to_owned()));
            }
            let code = instruction(line);
            depth += code.matches('{').count();
            if !code.contains('}') {
                continue;
            }
            depth = depth.saturating_sub(code.matches('}').count());
            if depth == 0
                && let Some((start, name)) = start.take()
            {
                entries.push((start..=index, name));
            }
        }
        let alone = |(own, kernel): &(std::ops::RangeInclusive<usize>, String)| {
            let other = |index: &usize| {
                let mut all = entries.iter();
                !own.contains(index) && all.any(|(range, _)| range.contains(index))
            };
            let line = |index| {
                if other(&index) {
                    String::new()
                } else {
                    lines[index].to_owned()
                }
            };
            Self {
                kernel: kernel.clone(),
                lines: (0..lines.len()).map(line).collect(),
            }
        };
        entries.iter().map(alone).collect()
    }

    /// The module's text.
    pub fn text(&self) -> String {
        self.lines.iter().flat_map(|line| [line, "\n"]).collect()
    }

    /// The instructions: the index of each line, and its text without guard, comment and white space around.
    fn instructions(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.lines.iter().enumerate();
        lines.map(|(index, line)| (index, instruction(line)))
    }
}

/// A line without its comment and white space around.
fn instruction(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim()
}

/// The operands of an instruction without a guard: what stands between its opcode and the semicolon, at the commas outside
/// of brackets.
fn operands(instruction: &str) -> Vec<&str> {
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

    const TEXT: &str = "
.visible .entry first()
{
{
.reg .pred in;
}
\tbar.sync \t0;                    // orders
\tret;
}
.func helper()
{
\tbar.warp.sync \t-1;
}
.visible .entry second()
{
\tbar.sync \t0;
}
";

    #[test]
    fn a_mutant_has_one_line_changed_and_all_others_where_they_were() {
        let sources = Source::split(TEXT);
        assert_eq!(sources.len(), 2);
        let mutants = Operator::DeleteBarrier.mutants(&sources[1]);
        let lines: Vec<_> = mutants.iter().map(|mutant| mutant.line).collect();
        assert_eq!(lines, [12, 16], "the helper's barrier and the kernel's own");
        let text = mutants[1].text(&sources[1]);
        assert_eq!(text.lines().count(), TEXT.lines().count());
        assert!(!text.contains("bar.sync") && text.contains("bar.warp.sync"));
        assert!(!text.contains("first") && text.contains("second"));
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
