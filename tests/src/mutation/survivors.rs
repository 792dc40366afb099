//! Mutants that nothing can catch, each with the reason.

use super::{Operator, Trial, Verdict};

/// Mutants that survive because they do the same as the good kernel.
#[derive(Clone, Copy, Debug)]
pub struct Survivor {
    /// What the kernel's name begins with.
    pub kernels: &'static str,
    /// The operator.
    pub operator: Operator,
    /// The instruction before and after, registers without their numbers.
    pub change: [&'static str; 2],
    /// How many such mutants each of these kernels has.
    pub count: usize,
    /// Why nothing changes.
    pub reason: &'static str,
}

/// The list.
pub const SURVIVORS: &[Survivor] = &[];

impl Survivor {
    /// Whether it explains this mutant.
    pub fn explains(&self, trial: &Trial) -> bool {
        let mutant = &trial.mutant;
        mutant.kernel.starts_with(self.kernels)
            && mutant.operator == self.operator
            && [&mutant.before, &mutant.after].map(|text| without_numbers(text)) == self.change
    }
}

/// The survivors that no entry explains, and what is wrong with the entries: each must explain exactly as many as it says.
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
        for kernel in kernels
            .into_iter()
            .filter(|kernel| kernel.starts_with(entry.kernels))
        {
            let own =
                survived().filter(|trial| trial.mutant.kernel == *kernel && entry.explains(trial));
            let found = own.count();
            if found != entry.count {
                wrong.push(format!(
                    "{kernel} has {found} survivors, not {}, of {entry:?}",
                    entry.count
                ));
            }
        }
    }
    wrong
}

/// `%rd12` and `%rd7` as `%rd`, so that an entry holds when the compiler numbers registers otherwise. White space as one
/// space.
pub(super) fn without_numbers(text: &str) -> String {
    let mut plain = String::new();
    let mut register = false;
    for c in text
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
    use super::*;

    #[test]
    fn registers_lose_their_numbers_and_nothing_else_does() {
        assert_eq!(
            without_numbers("setp.lt.u64 \t%p13, %rd5, 16;"),
            "setp.lt.u64 %p, %rd, 16;"
        );
    }
}
