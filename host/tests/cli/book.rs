//! The book's outputs are what the command says today, and its traces can be made.

use std::fs;
use std::path::Path;

use crate::command::{Run, blockwise};
use list::{BROKEN, OUTPUTS, Part, TRACES};

#[path = "../../../crates/workbench/src/book/cut.rs"]
mod cut;
#[path = "../../../crates/workbench/src/book/list.rs"]
mod list;
#[path = "../../../crates/workbench/src/book/options.rs"]
mod options;

/// Runs the commands of the book that `is_meant` chooses, and compares.
fn compare(is_meant: fn(&Part) -> bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // Where BROKEN is, unless cargo's folder is elsewhere.
    let ptx = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../ptx/broken_kernels.sm_80.ptx");
    assert!(
        ptx.is_file(),
        "no {}; `cargo xtask test` builds it",
        ptx.display()
    );
    let ptx = ptx.to_str().expect("a name");
    let mut stale = Vec::new();
    for output in OUTPUTS.iter().filter(|output| is_meant(&output.part)) {
        let words = output.words().into_iter();
        let words = words.map(|word| if word == BROKEN { ptx } else { word });
        let mut command = blockwise(words);
        command
            .current_dir(&root)
            .env("BLOCKWISE_PTXAS", "/no/such/ptxas");
        let run = Run::of(&mut command);
        assert!(matches!(run.code, Some(0 | 1)), "{run:?}");
        let text = output.shown(&run.stdout).expect("the rows are there");
        let file = root
            .join("docs/book/src/output")
            .join(output.name)
            .with_extension("txt");
        let kept = fs::read_to_string(&file).unwrap_or_default();
        if kept != text {
            stale.push(format!(
                "{}\n--- kept\n{kept}\n--- now\n{text}",
                output.name
            ));
        }
    }
    assert!(
        stale.is_empty(),
        "`cargo xtask book` writes these anew:\n{}",
        stale.join("\n")
    );
}

#[test]
fn the_books_figures_are_those_of_the_profiler() {
    compare(|part| matches!(part, Part::Figures { .. }));
}

#[test]
fn the_books_findings_are_those_of_the_check() {
    compare(|part| matches!(part, Part::Finding { .. }));
}

#[test]
fn every_option_is_in_the_book() {
    let now = options::markdown(|words| {
        let words = words.iter().cloned().chain(["--help".to_owned()]);
        Ok(Run::of(&mut blockwise(words)).ends(0).stdout)
    });
    let kept = include_str!("../../../docs/book/src/output/options.md");
    assert!(
        now.expect("every command has help") == kept,
        "`cargo xtask book` writes docs/book/src/output/{} anew",
        options::FILE
    );
}

#[test]
fn the_books_traces_are_small_pages_that_ask_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    for trace in TRACES {
        let line = format!("trace {} -o {}.html", trace.words, trace.name);
        Run::line(folder.path(), &line).ends(0);
        let page = folder.path().join(trace.name).with_extension("html");
        let page = fs::read_to_string(page).expect("a page");
        assert!(page.starts_with("<!doctype html>"), "{}", trace.name);
        assert!(
            page.len() < 2_000_000,
            "{}: {} bytes",
            trace.name,
            page.len()
        );
        assert!(!page.contains("://"), "{}", trace.name);
    }
}
