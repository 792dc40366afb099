//! Changed shuffles.

use super::source::operands;
use super::{Changes, Source};

/// Each mode and its opposite.
const MODES: [(&str, &str); 4] = [
    (".down.", ".up."),
    (".up.", ".down."),
    (".bfly.", ".idx."),
    (".idx.", ".bfly."),
];

/// Segments of one lane: the mask of the segment in bits 8 to 12, and the clamp.
const ALONE: &str = "7967";

/// Every lane but the last one.
const WITHOUT_A_LANE: &str = "2147483647";

pub(super) fn changes(source: &Source) -> Changes {
    let mut changes = Changes::new();
    for (index, line) in source.instructions() {
        // shfl.sync.mode.b32 d|p, a, b, c, members
        let [target, value, lane, _, members] = operands(line)[..] else {
            continue;
        };
        let Some(opcode) = line.split_whitespace().next() else {
            continue;
        };
        let swapped = MODES.iter().find(|(mode, _)| opcode.contains(mode));
        let (true, Some((mode, other))) = (opcode.starts_with("shfl.sync."), swapped) else {
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
    fn the_other_way_alone_and_without_a_lane() {
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
