//! The book's exercises: each fails until it is solved, and passes with its solution.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use blockwise_new::New;

use crate::place::{Place, text};
use crate::{new, read, repository};

/// Names of the files in a folder that are an exercise's, in order: `e01_threads` for
/// `e01_threads.rs`.
fn exercises(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = names
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| name.starts_with('e'))
        .collect();
    names.sort();
    names
}

/// How many tests of each exercise passed, and how many failed.
fn outcomes(place: &Place, project: &Path) -> BTreeMap<String, (usize, usize)> {
    let output = place.cargo(project, &["test", "--no-fail-fast", "--tests"]);
    let said = text(&output);
    let mut outcomes = BTreeMap::new();
    // The order of the two streams is lost, and cargo runs test programs in the order of their
    // names.
    let results = said.lines().filter_map(|line| {
        let counts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
        let mut counts = counts.split("; ").map(|count| {
            let number = count.split(' ').next()?;
            number.parse::<usize>().ok()
        });
        Some((counts.next()??, counts.next()??))
    });
    // The first is the library's own.
    let results: Vec<_> = results.skip(1).collect();
    let names = exercises(&project.join("tests"));
    assert_eq!(results.len(), names.len(), "{said}");
    outcomes.extend(names.into_iter().zip(results));
    outcomes
}

#[test]
fn every_exercise_fails_until_it_is_solved() {
    let place = Place::new(&["exercises"]);
    let project = place.folder.join("exercises");
    let made = New {
        exercises: true,
        member: false,
        ..new(&project)
    };
    let outcome = made.run().unwrap();
    assert!(
        outcome.text.contains("cargo test --test e01_threads"),
        "{}",
        outcome.text
    );
    place.passes(&project, &["fmt", "--check"]);

    let names = exercises(&project.join("src"));
    assert_eq!(names.len(), 16);
    assert_eq!(names, exercises(&project.join("tests")));
    let solutions = repository().join("crates/blockwise_new/exercises/solutions");
    assert_eq!(names, exercises(&solutions));
    for name in &names {
        let file = format!("{name}.rs");
        assert!(
            read(project.join("src").join(&file)).contains("TODO"),
            "{name}"
        );
        assert!(!read(solutions.join(&file)).contains("TODO"), "{name}");
    }

    for (name, (_, failed)) in outcomes(&place, &project) {
        assert!(failed > 0, "{name} passes unsolved");
    }
    for name in &names {
        let file = format!("{name}.rs");
        fs::copy(solutions.join(&file), project.join("src").join(&file)).unwrap();
    }
    for (name, (passed, failed)) in outcomes(&place, &project) {
        assert!(passed > 0 && failed == 0, "{name}: {failed} tests fail");
    }
    place.passes(&project, &["fmt", "--check"]);
}
