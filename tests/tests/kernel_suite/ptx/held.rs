//! What stands between multiplications of doubles: loads that `ptxas` must not move up past them, and
//! copies.

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

/// A branch around copies costs moves of their addresses: 64 x 64 then takes 1.4 % longer.
#[test]
fn copies_of_small_tiles_of_doubles_have_no_branch() {
    for_each_entry(|place, entry| {
        let tiles = entry.name.strip_prefix("matmul_mma_");
        let tiles = tiles.and_then(|name| name.strip_suffix("_f64"));
        let copies = match tiles {
            Some("square") => 8,
            Some("small") => 4,
            // Three more follow the last multiplication.
            Some("flat" | "slim") => 3,
            _ => return,
        };
        let lines = &entry.instructions;
        let multiplies = |line: &String| line.starts_with("mma.");
        let first = lines.iter().position(multiplies).expect(place);
        let last = lines.iter().rposition(multiplies).expect(place);
        let count = |name: &str| {
            let named = lines[first..last].iter();
            named.filter(|line| line.starts_with(name)).count()
        };
        assert_eq!(
            (count("cp.async.cg."), count("bra")),
            (copies, 0),
            "{place}"
        );
    });
}
