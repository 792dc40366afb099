//! What is known about test programs in advance: how long each takes, and why some may take long.

use super::program::Outcome;

/// CPU seconds from which a program needs a reason. Wall seconds depend on what else runs.
const LONG: f64 = 20.0;

/// Twice as many: machines, and what else they do, differ by that. Below it a reason is only asked
/// for.
const TOO_LONG: f64 = 40.0;

/// A line for each notable program: CPU seconds, its name, and the reason.
const PROGRAMS: &str = include_str!("programs.txt");

/// A line of the table.
struct Known<'a> {
    seconds: f64,
    name: &'a str,
    reason: &'a str,
}

fn known() -> impl Iterator<Item = Known<'static>> {
    let lines = PROGRAMS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let (seconds, rest) = line.trim_start().split_once(' ')?;
        let (name, reason) = rest.trim_start().split_once(' ').unwrap_or((rest, ""));
        Some(Known {
            seconds: seconds.parse().ok()?,
            name: name.trim(),
            reason: reason.trim(),
        })
    })
}

/// CPU seconds that a program took when last measured; programs that are not listed are short.
pub(crate) fn expected(name: &str) -> f64 {
    let known = known().find(|known| known.name == name);
    known.map_or(1.0, |known| known.seconds)
}

/// What to say about the time of a program, and whether it counts as a failure. `test --all` has no
/// limit: long sweeps belong there.
pub(crate) fn judge(name: &str, outcome: &Outcome, all: bool) -> Option<(String, bool)> {
    let has_reason = known().any(|known| known.name == name && !known.reason.is_empty());
    if outcome.cpu <= LONG || has_reason || all {
        return None;
    }
    let text = format!(
        "{name} takes {:.0} CPU seconds: over {LONG} it needs a reason in crates/workbench/src/test/programs.txt, \
         or its sweeps belong to `cargo xtask test --all`",
        outcome.cpu
    );
    Some((text, outcome.cpu > TOO_LONG))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_table_is_understood() {
        let lines = PROGRAMS.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(known().count(), lines.count());
        for known in known() {
            assert!(known.name.contains('/') || known.name == "documentation");
            let is_long = known.seconds > LONG;
            assert!(!is_long || !known.reason.is_empty(), "{}", known.name);
        }
    }

    #[test]
    fn a_long_program_without_a_reason_fails() {
        let judged = |name, cpu| {
            let outcome = Outcome {
                cpu,
                ..Outcome::default()
            };
            judge(name, &outcome, false).map(|(_, fails)| fails)
        };
        assert_eq!(judged("new/program", 19.0), None);
        assert_eq!(judged("new/program", 25.0), Some(false));
        assert_eq!(judged("new/program", 39.0), Some(false));
        assert_eq!(judged("new/program", 41.0), Some(true));
        let with_reason = known().find(|known| known.seconds > LONG).unwrap();
        assert_eq!(judged(with_reason.name, 100.0), None);
        let outcome = Outcome {
            cpu: 50.0,
            ..Outcome::default()
        };
        assert_eq!(judge("new/program", &outcome, true), None);
    }
}
