//! How soon the fuzzer finds a missing barrier:
//! `cargo run -p safe_fuzz --example fuzz_mutants -- KERNELS [FIRST_SEED]`.
//!
//! For each place of the library: the kernels written until one of them showed that its barrier is
//! missing, how many wait there, and in how many of those it shows.

use safe_fuzz::{Kernel, Style, Workshop, check, mutants, places};
use std::collections::BTreeMap;

/// As the example `fuzz` has them.
const BATCH: u64 = 48;
const STATEMENTS: usize = 24;
const SCHEDULES: u32 = 3;

#[derive(Default)]
struct Row {
    /// The number of the first kernel that shows it, from 1.
    first: Option<u64>,
    waiting: usize,
    found: usize,
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let (Some(Ok(count)), first) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: mutants KERNELS [FIRST_SEED]");
        return;
    };
    let first = first.and_then(Result::ok).unwrap_or(0);
    let (workshop, end) = (Workshop::new("mutants"), first + count);
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    rows.extend(places().into_iter().map(|place| (place, Row::default())));
    for seed in (first..end).step_by(BATCH as usize) {
        let seeds = seed..end.min(seed + BATCH);
        let kernels = seeds.map(|seed| Kernel::new(seed, STATEMENTS)).collect();
        let built = workshop.build(kernels, Style::Safe);
        for mutant in mutants(&built) {
            let Some(row) = rows.get_mut(&mutant.place) else {
                continue;
            };
            row.waiting += mutant.kernels.len();
            for verdict in check(&mutant.ptx, mutant.kernels, SCHEDULES) {
                if !verdict.findings.is_empty() {
                    row.found += 1;
                    let number = verdict.kernel.seed - first + 1;
                    row.first = Some(row.first.map_or(number, |least| least.min(number)));
                }
            }
        }
        eprintln!("{} of {count}", seed + BATCH - first);
    }
    println!(
        "| barrier | kernels until found | kernels that have it | found in |\n| --- | --- | --- | --- |"
    );
    for (place, row) in rows {
        let first = row
            .first
            .map_or("-".to_owned(), |number| number.to_string());
        println!("| `{place}` | {first} | {} | {} |", row.waiting, row.found);
    }
}
