//! A few seeds, the same every time.

use safe_fuzz::{Kernel, Style, Workshop, check, mutants, places, round};

#[test]
fn what_is_built_is_clean() {
    let tally = round(&Workshop::new("short"), 0..16, 16, 2);
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
    for (kernel, report) in &tally.alarms {
        println!(
            "seed {}, refused and not seen to diverge: {report}",
            kernel.seed
        );
    }
    assert!(tally.clean >= 8 && tally.alarms.len() <= 3, "{tally}");
}

/// A fuzzer that no longer writes what a barrier is there for would find every kernel clean.
#[test]
fn each_barrier_of_the_library_is_missed() {
    let kernels = (1000..1032).map(|seed| Kernel::new(seed, 24)).collect();
    let built = Workshop::new("missing").build(kernels, Style::Safe);
    let found: Vec<_> = (mutants(&built).into_iter())
        .filter(|mutant| {
            let verdicts = check(&mutant.ptx, mutant.kernels.clone(), 2);
            verdicts.iter().any(|verdict| !verdict.findings.is_empty())
        })
        .map(|mutant| mutant.place)
        .collect();
    let passed_over: Vec<_> = (places().into_iter())
        .filter(|place| !found.contains(place))
        .collect();
    assert!(passed_over.is_empty(), "{passed_over:?} of {:?}", places());
}
