//! A few seeds: with `cargo xtask test --all` 16, otherwise four of these, each time others.

use std::time::{SystemTime, UNIX_EPOCH};

use safe_fuzz::{Kernel, Style, Workshop, check, mutants, places, round};

/// Whether every seed is tried.
fn whole_sweeps() -> bool {
    std::env::var_os("BLOCKWISE_TEST_ALL").is_some()
}

#[test]
fn what_is_built_is_clean() {
    let seeds = if whole_sweeps() {
        0..16
    } else {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let first = 4 * u64::from(now.subsec_nanos() % 4);
        println!(
            "drawn: random kernels; the seeds are {first} to {}",
            first + 3
        );
        first..first + 4
    };
    let count = (seeds.end - seeds.start) as usize;
    let tally = round(&Workshop::new("short"), seeds, 16, 2);
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
    let (clean, alarms) = (tally.clean, tally.alarms.len());
    assert!(4 * clean >= count && alarms <= 3, "{tally}");
}

/// A fuzzer that no longer writes what a barrier is there for would find every kernel clean.
#[test]
fn each_barrier_of_the_library_is_missed() {
    if !whole_sweeps() {
        println!("left to `cargo xtask test --all`: each barrier of the library taken out");
        return;
    }
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
