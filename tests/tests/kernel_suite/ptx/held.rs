//! Loads that `ptxas` must not move up past multiplications.

use std::collections::BTreeSet;

use super::for_each_entry;

/// Between two multiplications, a branch that no thread takes precedes the loads. Each has a number
/// of its own: `ptxas` leaves out a branch whose condition it has seen, and with it what keeps the
/// loads in their place.
#[test]
fn loads_of_tall_tiles_of_doubles_follow_a_branch() {
    for_each_entry(|place, entry| {
        if entry.name != "matmul_mma_tall_f64" {
            return;
        }
        let lines = &entry.instructions;
        let multiplies = |line: &String| line.starts_with("mma.");
        let first = lines.iter().position(multiplies).expect(place);
        let last = lines.iter().rposition(multiplies).expect(place);
        let (mut held, mut branches) = (true, 0);
        let mut numbers = BTreeSet::new();
        for line in &lines[first..last] {
            if multiplies(line) {
                held = false;
            } else if line.starts_with("exit") {
                (held, branches) = (true, branches + 1);
            } else if line.starts_with("ld.shared.") {
                assert!(held, "{place}: {line}");
            } else if line.starts_with("mov.b32") && line.contains(",-21474836") {
                numbers.extend(line.split(',').nth(1).map(str::to_owned));
            }
        }
        // One for each slot of a step.
        assert_eq!((branches, numbers.len()), (16, 16), "{place}");
    });
}
