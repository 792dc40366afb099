//! Mutation: small mistakes made on purpose in a good kernel's PTX, to see that a detector or the
//! oracle finds each.
//!
//! PTX as LLVM prints it has one instruction a line. A mutant replaces one line; the module's other
//! kernels are left out.

mod barrier;
mod explained;
mod loops;
mod predicate;
mod shared;
mod shuffle;
mod source;
mod survivors;
mod trial;

pub use explained::unexplained;
pub use source::Source;
pub use survivors::{SURVIVORS, Survivor};
pub use trial::{Extent, Trial, Verdict, run, trials, tried};

use std::fmt::{self, Display};

use source::instruction;

/// A kind of mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// A barrier of the block or the warp is missing.
    DeleteBarrier,
    /// A shuffle goes the other way, among fewer lanes, or with a member mask that leaves a lane
    /// out.
    ChangeShuffle,
    /// An access to shared memory goes to the element before or after.
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
            line: source.numbers[index],
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
    ///
    /// # Panics
    /// When the mutant is of another source.
    pub fn text(&self, source: &Source) -> String {
        let mut lines: Vec<_> = source.lines().collect();
        let index = source.numbers.binary_search(&self.line);
        lines[index.expect("a line of the source")] = &self.after;
        lines.push("");
        lines.join("\n")
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
\tcall.uni \thelper, ();
\tbar.sync \t0;
}
";

    #[test]
    fn a_mutant_has_one_line_changed_and_all_others_where_they_were() {
        let sources = Source::split(TEXT);
        assert_eq!(sources.len(), 2);
        let mutants = Operator::DeleteBarrier.mutants(&sources[1]);
        let lines: Vec<_> = mutants.iter().map(|mutant| mutant.line).collect();
        assert_eq!(lines, [12, 17], "the helper's barrier and the kernel's own");
        let text = mutants[1].text(&sources[1]);
        assert_eq!(text.lines().count(), sources[1].lines().count());
        assert!(!text.contains("bar.sync") && text.contains("bar.warp.sync"));
        assert!(!text.contains("first") && text.contains("second"));
    }
}
