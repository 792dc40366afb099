//! A few seeds, the same every time.

use safe_fuzz::{Workshop, round};

#[test]
fn what_is_built_is_clean() {
    let tally = round(&Workshop::new("short"), 0..24, 16, 2);
    for (kernel, report) in &tally.wrong {
        println!("seed {}:\n{report}", kernel.seed);
    }
    for verdict in &tally.findings {
        println!("seed {}: {:#?}", verdict.kernel.seed, verdict.findings);
    }
    assert!(
        tally.wrong.is_empty() && tally.findings.is_empty(),
        "{tally}"
    );
    assert!(tally.clean >= 16, "{tally}");
}
