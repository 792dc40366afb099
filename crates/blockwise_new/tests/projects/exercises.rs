//! The book's exercises: each fails until it is solved, and passes with its solution.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use blockwise_new::New;

use crate::place::{Place, text};
use crate::{new, read, repository, whole_sweeps};

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

/// One program of all exercises' tests: sixteen would be linked one by one, twice.
const ALL: &str = "all";

fn write_all(project: &Path, names: &[String]) {
    let modules: String = names
        .iter()
        .map(|name| format!("#[path = \"{name}.rs\"]\nmod {name};\n"))
        .collect();
    fs::write(project.join(format!("tests/{ALL}.rs")), modules).unwrap();
}

/// How many tests of each exercise passed, and how many failed.
fn outcomes(place: &Place, project: &Path, names: &[String]) -> BTreeMap<String, (usize, usize)> {
    let output = place.cargo(project, &["test", "--test", ALL]);
    let said = text(&output);
    let mut outcomes: BTreeMap<_, _> = names.iter().map(|name| (name.clone(), (0, 0))).collect();
    for line in said.lines() {
        let test = line.strip_prefix("test ");
        let Some((test, outcome)) = test.and_then(|test| test.split_once(" ... ")) else {
            continue;
        };
        let (exercise, _) = test.split_once("::").unwrap();
        let (passed, failed) = outcomes.get_mut(exercise).unwrap();
        match outcome {
            "ok" => *passed += 1,
            _ => *failed += 1,
        }
    }
    let ran = |&(passed, failed): &(usize, usize)| passed + failed > 0;
    assert!(outcomes.values().all(ran), "{said}");
    outcomes
}

#[test]
fn every_exercise_fails_until_it_is_solved() {
    let scratch = tempfile::tempdir().unwrap();
    let place = whole_sweeps().then(|| Place::new(&["exercises"]));
    let folder = place.as_ref().map_or(scratch.path(), |place| &place.folder);
    let project = folder.join("exercises");
    let made = New {
        exercises: true,
        ..new(&project)
    };
    let outcome = made.run().unwrap();
    assert!(
        outcome.text.contains("cargo test --test e01_threads"),
        "{}",
        outcome.text
    );

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

    let Some(place) = place else { return };
    place.passes(&project, &["fmt", "--check"]);
    write_all(&project, &names);
    for (name, (_, failed)) in outcomes(&place, &project, &names) {
        assert!(failed > 0, "{name} passes unsolved");
    }
    for name in &names {
        let file = format!("{name}.rs");
        fs::copy(solutions.join(&file), project.join("src").join(&file)).unwrap();
    }
    for (name, (passed, failed)) in outcomes(&place, &project, &names) {
        assert!(passed > 0 && failed == 0, "{name}: {failed} tests fail");
    }
    place.passes(&project, &["fmt", "--check"]);
}
