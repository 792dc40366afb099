//! Each rule of `#[kernel]` and `#[address_space]`, broken once: the compiler's message is the
//! `.stderr` beside the program. And what people who know CUDA write first.

use std::path::Path;

#[test]
fn broken_rules_are_compile_errors() {
    // By themselves they are checked in one run of cargo.
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
    cases.compile_fail("tests/cuda_habits/*.rs");
}

#[test]
fn programs_that_keep_the_rules_compile() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/compile_pass/*.rs");
}

/// A line `.. // shows: TEXT` of `cuda_habits` has an error with that text, the line to write, and no
/// other before it.
#[test]
fn habits_of_cuda_are_told_the_line_to_write() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda_habits");
    let (mut count, mut silent) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        let (source, said) = (read(&path), read(&path.with_extension("stderr")));
        let errors: Vec<_> = said.split("\nerror").collect();
        let name = path.file_name().unwrap().display();
        for (line, text) in (1..).zip(source.lines()) {
            let Some((_, shown)) = text.split_once("// shows: ") else {
                continue;
            };
            count += 1;
            let place = format!("--> tests/cuda_habits/{name}:{line}:");
            // Source lines are quoted in errors, this mark among them.
            let says = |error: &&str| {
                let mut lines = error.lines().map(|line| line.split("// shows: ").next());
                lines.any(|line| line.is_some_and(|line| line.contains(shown)))
            };
            let first = errors.iter().find(|error| error.contains(&place));
            if !first.is_some_and(says) {
                silent.push(format!(
                    "{name}:{line}: the first error does not show {shown}"
                ));
            }
        }
    }
    assert!(count >= 150, "{count}");
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}
