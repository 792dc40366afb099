//! Makes every mutant of every good kernel, or of those whose names begin so, and shows how each was
//! caught: `cargo xtask mutants NAME…`.

use std::process::ExitCode;

use blockwise_tests::jobs;
use blockwise_tests::mutation::{
    Extent, Operator, SURVIVORS, Source, Trial, Verdict, trials, tried, unexplained,
};
use blockwise_tests::ptx::good;
use ptx_emulator::Tool;

const COLUMNS: [(&str, Verdict); 6] = [
    ("racecheck", Verdict::Detector(Tool::Racecheck)),
    ("memcheck", Verdict::Detector(Tool::Memcheck)),
    ("initcheck", Verdict::Detector(Tool::Initcheck)),
    ("synccheck", Verdict::Detector(Tool::Synccheck)),
    ("oracle", Verdict::Oracle),
    ("survived", Verdict::Survived),
];

fn main() -> ExitCode {
    let (files, jobs) = (good(), jobs::telling());
    let names: Vec<_> = std::env::args().skip(1).collect();
    let sources = |text: &str| {
        if names.is_empty() {
            return tried(text);
        }
        let mut sources = Source::split(text);
        sources.retain(|source| names.iter().any(|name| source.kernel.starts_with(name)));
        sources
    };
    let of_one_target = files.iter().filter(|file| file.target == files[0].target);
    let trials = of_one_target.flat_map(|file| trials(sources(&file.text), &jobs, Extent::Whole));
    let trials: Vec<_> = trials.collect();
    table(&trials);
    println!();
    for trial in trials
        .iter()
        .filter(|trial| trial.verdict == Verdict::Survived)
    {
        let mut reasons = SURVIVORS.iter().filter(|entry| entry.explains(trial));
        let reason = reasons.next().map_or("NOT EXPLAINED", |entry| entry.reason);
        println!("survived: {}\n  {reason}", trial.mutant);
    }
    let wrong = unexplained(&trials);
    for line in &wrong {
        println!("wrong in the list of survivors: {line}");
    }
    ExitCode::from(u8::from(!wrong.is_empty()))
}

/// Operators by what caught their mutants.
fn table(trials: &[Trial]) {
    print!("{:<19}{:>9}", "operator", "mutants");
    COLUMNS.iter().for_each(|(name, _)| print!("{name:>11}"));
    println!("{:>9}", "caught");
    for operator in Operator::ALL {
        let own: Vec<_> = trials
            .iter()
            .filter(|trial| trial.mutant.operator == operator)
            .collect();
        let count =
            |verdict: &Verdict| own.iter().filter(|trial| trial.verdict == *verdict).count();
        print!("{operator:<19}{:>9}", own.len());
        COLUMNS
            .iter()
            .for_each(|(_, verdict)| print!("{:>11}", count(verdict)));
        let caught = own.len() - count(&Verdict::Survived);
        println!("{:>8.1}%", 100.0 * caught as f64 / own.len() as f64);
    }
    for trial in trials {
        if let Verdict::Invalid(reason) = &trial.verdict {
            println!("invalid, {reason}: {}", trial.mutant);
        }
    }
}
