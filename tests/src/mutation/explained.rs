//! Which mutants the table of survivors explains.

use super::survivors::{SURVIVORS, Survivor};
use super::{Mutant, Trial, Verdict};

impl Survivor {
    /// Whether it speaks of this kernel.
    fn is_of(&self, kernel: &str) -> bool {
        const RAW: &str = "_raw";
        let is_part =
            |part: &str| kernel.contains(part) && kernel.contains(RAW) == part.contains(RAW);
        self.kernels.split_whitespace().any(is_part)
    }

    /// Whether it explains this mutant.
    pub fn explains(&self, trial: &Trial) -> bool {
        self.is_about(&trial.mutant)
    }

    fn is_about(&self, mutant: &Mutant) -> bool {
        let (operator, change) = self.change;
        self.is_of(&mutant.kernel)
            && mutant.operator == operator
            && [&mutant.before, &mutant.after].map(|text| without_numbers(text)) == change
    }
}

/// Whether an entry is about a mutant.
pub(super) fn has_reason(mutant: &Mutant) -> bool {
    SURVIVORS.iter().any(|entry| entry.is_about(mutant))
}

/// Those of a kernel's mutants that have a reason, and are no more than may survive by it: whether
/// they do or not, no survivor lacks a reason.
pub(super) fn expected(mutants: &[Mutant]) -> Vec<Mutant> {
    let has_room = |entry: &Survivor| {
        let all = mutants.iter().filter(|mutant| entry.is_about(mutant));
        all.count() <= *entry.count.end()
    };
    let is_expected = |mutant: &&Mutant| {
        let mut entries = (SURVIVORS.iter())
            .filter(|entry| entry.is_about(mutant))
            .peekable();
        entries.peek().is_some() && entries.all(has_room)
    };
    mutants.iter().filter(is_expected).cloned().collect()
}

/// The survivors that no entry explains, and what is wrong with the entries: each must explain
/// exactly as many as it says.
pub fn unexplained(trials: &[Trial]) -> Vec<String> {
    let survived = || {
        trials
            .iter()
            .filter(|trial| trial.verdict == Verdict::Survived)
    };
    let explained = |trial: &&Trial| SURVIVORS.iter().any(|entry| entry.explains(trial));
    let mut wrong: Vec<String> = survived()
        .filter(|trial| !explained(trial))
        .map(|trial| trial.mutant.to_string())
        .collect();
    for entry in SURVIVORS {
        let mut kernels: Vec<_> = trials.iter().map(|trial| &trial.mutant.kernel).collect();
        kernels.sort();
        kernels.dedup();
        for kernel in kernels.into_iter().filter(|kernel| entry.is_of(kernel)) {
            let own =
                survived().filter(|trial| trial.mutant.kernel == *kernel && entry.explains(trial));
            let found = own.count();
            if !entry.count.contains(&found) {
                wrong.push(format!("{kernel} has {found} survivors of {entry:?}"));
            }
        }
    }
    wrong
}

/// `%rd12` and `%rd7` as `%rd`, so that an entry holds when the compiler numbers registers
/// otherwise. White space as one space, and one after each comma.
fn without_numbers(text: &str) -> String {
    let mut plain = String::new();
    let mut register = false;
    for c in text
        .replace(',', ", ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
    {
        register = c == '%' || register && c.is_ascii_alphanumeric();
        if !(register && c.is_ascii_digit()) {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::super::Operator;
    use super::*;

    #[test]
    fn as_many_are_expected_as_may_survive() {
        let mutant = |line, before: &str| Mutant {
            kernel: "sum_wide_f64".to_owned(),
            operator: Operator::DropPredicate,
            line,
            before: before.to_owned(),
            after: "setp.ne.u32 %p5, 0, 0;".to_owned(),
        };
        let (other, known) = (
            mutant(7, "setp.ne.u32 %p1, %r1, 9;"),
            mutant(8, "setp.gt.u32 \t%p5, %r1, 31;"),
        );
        let one = expected(&[other, known.clone()]);
        assert_eq!(one, std::slice::from_ref(&known));
        let another = Mutant {
            line: 9,
            ..known.clone()
        };
        let two = expected(&[known, another]);
        assert!(two.is_empty(), "only one of them may survive: {two:?}");
    }

    #[test]
    fn registers_lose_their_numbers_and_nothing_else_does() {
        assert_eq!(
            without_numbers("setp.lt.u64\t%p13,%rd5, 16;"),
            "setp.lt.u64 %p, %rd, 16;"
        );
    }
}
