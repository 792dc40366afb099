//! Tests of README: its code and outputs are those that other tests compile, run and compare, and
//! it stays short.

use std::fs;

use super::{folder, pages};
use crate::workspace;

/// The most bytes that README may have.
const MOST: usize = 9_000;

fn read(file: &str) -> String {
    let path = workspace::root().join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The blocks of code in that language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let parts = text.split("```").skip(1).step_by(2);
    parts
        .filter_map(|part| part.strip_prefix(language)?.strip_prefix('\n'))
        .collect()
}

/// Whether the text contains these lines consecutively, at any indent.
fn stands_in(lines: &str, text: &str) -> bool {
    let trimmed = |text: &str| -> Vec<String> {
        let lines = text.trim().lines();
        lines.map(|line| line.trim().to_owned()).collect()
    };
    let (wanted, lines) = (trimmed(lines), trimmed(text));
    lines.windows(wanted.len()).any(|window| window == &*wanted)
}

#[test]
fn readme_is_a_first_page() {
    let bytes = read("README.md").len();
    assert!(bytes <= MOST, "{bytes} bytes: the reference is in the book");
}

#[test]
fn readme_shows_an_example_of_the_course() {
    let source = read("examples/06_checking_in_a_test.rs");
    let readme = read("README.md");
    let code = blocks(&readme, "rust");
    assert!(!code.is_empty());
    for item in code.iter().flat_map(|code| code.split("\n\n")) {
        assert!(stands_in(item, &source), "not in the example:\n{item}");
    }
}

#[test]
fn readme_shows_a_finding_of_the_book() {
    let finding = fs::read_to_string(folder().join("src/output/reverse_missing_barrier.txt"));
    let readme = read("README.md");
    let reports = blocks(&readme, "text");
    assert!(!reports.is_empty());
    for report in reports {
        assert!(stands_in(report, finding.as_ref().unwrap()), "{report}");
    }
}

#[test]
fn links_and_pictures_of_readme_lead_somewhere() {
    let readme = read("README.md");
    let ours = pages::links(&readme).filter(|link| !link.contains("://"));
    for link in ours {
        let file = link.split('#').next().unwrap_or_default();
        assert!(workspace::root().join(file).exists(), "{link}");
    }
}
