//! Every small mistake in a good kernel is found, or `SURVIVORS` says why it cannot be.
//! `cargo xtask mutants` shows the table. Each run draws half of the families of kernels, and
//! one element type for each. In long kernels it deletes every barrier and draws a sixth of the other mistakes.
//! `cargo xtask test --all` makes every mistake in every kernel that `tried` keeps.

use std::sync::LazyLock;

use blockwise_tests::mutation::{
    Extent, Operator, SURVIVORS, Trial, Verdict, trials, tried, unexplained,
};
use blockwise_tests::ptx::{files, good};
use blockwise_tests::sampling::Sample;
use blockwise_tests::{jobs, whole_sweeps};
use ptx_emulator::Tool;

static TRIALS: LazyLock<Vec<Trial>> = LazyLock::new(|| {
    let extent = match whole_sweeps() {
        true => Extent::Whole,
        false => Extent::Drawn(Sample::draw("mistakes in kernels")),
    };
    let jobs = jobs::telling();
    let files = good();
    // One architecture of each crate.
    let first = files.iter().filter(|file| file.target == files[0].target);
    let trials = first.map(|file| trials(tried(&file.text), &jobs, extent));
    trials.flatten().collect()
});

fn of(barriers: bool) -> impl Iterator<Item = &'static Trial> {
    let kind = move |trial: &&Trial| (trial.mutant.operator == Operator::DeleteBarrier) == barriers;
    TRIALS.iter().filter(kind)
}

/// A detector must report it; a wrong result alone is not enough. Excepted are the barriers in
/// `SURVIVORS`: they order atomics, which cannot race.
#[test]
fn every_deleted_barrier_is_reported_as_a_race_or_a_divergence() {
    let reported = |trial: &&Trial| {
        let tools = [Tool::Racecheck, Tool::Synccheck].map(Verdict::Detector);
        tools.contains(&trial.verdict)
    };
    let explained = |trial: &&Trial| SURVIVORS.iter().any(|entry| entry.explains(trial));
    let missed: Vec<_> = of(true)
        .filter(|trial| !reported(trial) && !explained(trial))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
    // A run that draws half of the families has as few as the draw gives.
    let least = if whole_sweeps() { 120 } else { 5 };
    assert!(of(true).count() >= least, "{}", of(true).count());
}

/// At most one in 15 mistakes survives, deleted barriers aside. A survivor does what the good
/// kernel does: many would show little. The limit is for all kernels together, not for each.
#[test]
fn few_mistakes_change_nothing() {
    if !whole_sweeps() {
        println!("left to `cargo xtask test --all`: the share of mistakes that change nothing");
        return;
    }
    let survived = |trial: &&Trial| trial.verdict == Verdict::Survived;
    let (survived, all) = (of(false).filter(survived).count(), of(false).count());
    assert!(15 * survived <= all, "{survived} of {all}");
}

#[test]
fn every_mutant_is_ptx() {
    let invalid = |trial: &&Trial| matches!(trial.verdict, Verdict::Invalid(_));
    let invalid: Vec<_> = TRIALS.iter().filter(invalid).collect();
    assert!(invalid.is_empty(), "{invalid:#?}");
}

#[test]
fn every_survivor_is_explained_and_every_explanation_needed() {
    let wrong = unexplained(&TRIALS);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each operator makes at least 50 mutants of these kernels. One that finds little to change shows
/// little.
#[test]
fn every_operator_is_at_work() {
    let kernels = tried(&files("kernels")[0].text);
    for operator in Operator::ALL {
        let mutants = |kernel| operator.mutants(kernel).len();
        let count: usize = kernels.iter().map(mutants).sum();
        assert!(count >= 50, "{operator}: {count}");
    }
}
