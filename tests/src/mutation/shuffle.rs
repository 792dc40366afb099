//! Mutants of shuffles: another mode, segments of one lane, or a member mask without a lane.

use super::source::operands;
use super::{Changes, Source};

/// Each mode and the one that replaces it.
const MODES: [(&str, &str); 4] = [
    (".down.", ".up."),
    (".up.", ".down."),
    (".bfly.", ".idx."),
    (".idx.", ".bfly."),
];

/// Operand `c` for segments of one lane: 31 as segment mask (bits 8 to 12) and as clamp.
const ALONE: &str = "7967";

/// A member mask of every lane but the last one.
const WITHOUT_A_LANE: &str = "2147483647";

pub(super) fn changes(source: &Source) -> Changes {
    let mut changes = Changes::new();
    for (index, line) in source.instructions() {
        if !line.starts_with("shfl.sync.") {
            continue;
        }
        // shfl.sync.mode.b32 d|p, a, b, c, members
        let [target, value, lane, _, members] = operands(line)[..] else {
            continue;
        };
        let Some(opcode) = line.split_whitespace().next() else {
            continue;
        };
        let swapped = MODES.iter().find(|(mode, _)| opcode.contains(mode));
        let Some((mode, other)) = swapped else {
            continue;
        };
        changes.push((index, line.replacen(mode, other, 1)));
        for (segment, members) in [(ALONE, members), ("31", WITHOUT_A_LANE)] {
            let line = format!("{opcode} {target}, {value}, {lane}, {segment}, {members};");
            changes.push((index, line));
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_mode_single_lanes_and_a_missing_lane() {
        let text = ".visible .entry k()\n{\nshfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1;\n}\n";
        let after: Vec<_> = changes(&Source::split(text)[0]).into_iter().collect();
        let line = |line: &str| (2, line.to_owned());
        assert_eq!(
            after,
            [
                line("shfl.sync.up.b32 %r1|%p1, %r2, 16, 31, -1;"),
                line("shfl.sync.down.b32 %r1|%p1, %r2, 16, 7967, -1;"),
                line("shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, 2147483647;"),
            ]
        );
    }
}
