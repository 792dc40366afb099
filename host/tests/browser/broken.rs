//! Every broken kernel: its check writes a page, which opens at the finding.

use crate::driver::Browser;
use crate::{asks_nobody, blockwise, file, root};
use serde_json::Value;
use std::path::PathBuf;

/// Where the book's commands have it, unless cargo's folder is elsewhere.
pub(crate) fn ptx() -> PathBuf {
    let ptx = file("../ptx/broken_kernels.sm_80.ptx");
    assert!(
        ptx.is_file(),
        "no {}; `cargo xtask test` builds it",
        ptx.display()
    );
    ptx
}

/// The command lines of the book that check a broken kernel, each as its words.
fn checks() -> Vec<Vec<String>> {
    let folder = root().join("docs/book/src/output");
    let entries = std::fs::read_dir(folder).expect("the book's outputs");
    let mut all = Vec::new();
    for entry in entries {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("text");
        let command = text.split("\n\n").next().unwrap_or_default();
        if let Some(words) = command.strip_prefix("$ blockwise check ") {
            let words = words.split_whitespace().filter(|word| *word != "\\");
            all.push(
                words
                    .map(|word| word.trim_matches('\'').to_owned())
                    .collect(),
            );
        }
    }
    all.sort();
    all
}

#[test]
fn a_check_of_every_broken_kernel_opens_at_its_finding() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let checks = checks();
    assert_eq!(checks.len(), 18);
    let ptx = ptx();
    let ptx = ptx.to_str().expect("a name");
    let mut clean = Vec::new();
    for words in &checks {
        let kernel = &words[2];
        let page = file(&format!("{kernel}.html"));
        let out = page.to_str().expect("a name");
        let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        let check = [&["check", ptx, "--json", "--html", out], &words[..]].concat();
        let check: Value = serde_json::from_str(&blockwise(&check)).expect("JSON");
        let expected = check["checks"][0]["findings"].as_array().expect("findings");
        browser.open(&page, "");
        browser.picture(&format!("broken_{kernel}"));
        if expected.is_empty() {
            // Its grid is too small: what it does is right, and it does not do all.
            clean.push(kernel.as_str());
            let said = browser.text(".findings");
            assert!(said.starts_with("No findings"), "{kernel}: {said}");
            continue;
        }
        // What the check found, and nothing else.
        let rules =
            "return [...document.querySelectorAll('.finding')].map((item) => item.dataset.rule)";
        let rules = browser.run(rules);
        let all: Vec<&Value> = expected.iter().map(|finding| &finding["rule"]).collect();
        assert_eq!(
            rules.as_array().map(|rules| rules.iter().collect()),
            Some(all),
            "{kernel}"
        );

        // The page stands at the first one: its line is the current one, in the source and in the
        // PTX.
        let place = &expected[0]["site"]["place"];
        let (source, line) = (&place["source"], &place["ptx_line"]);
        let now = browser.run(
            "return [...document.querySelectorAll('.line.now')].map((row) => row.dataset.line)",
        );
        let now: Vec<&str> = now
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let source = format!(
            "{}:{}",
            source["file"].as_str().unwrap_or_default(),
            source["line"]
        );
        assert!(
            now.contains(&source.as_str()),
            "{kernel}: {source} in {now:?}"
        );
        assert!(
            now.contains(&format!("ptx:{line}").as_str()),
            "{kernel}: PTX line {line} in {now:?}"
        );
        // Both can be seen, and each file is there once.
        let hidden = "return [...document.querySelectorAll('.line.now')].filter((row) => {
            const [its, box] = [row.getBoundingClientRect(), row.parentElement.getBoundingClientRect()];
            return its.top < box.top - 1 || its.bottom > box.bottom + 1;
        }).map((row) => row.dataset.line)";
        let hidden = browser.run(hidden);
        let hidden: Vec<&str> = hidden
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        assert!(
            !hidden.contains(&source.as_str()) && !hidden.contains(&format!("ptx:{line}").as_str()),
            "{kernel}: {hidden:?}"
        );
        let titles = browser.run(
            "return [...document.querySelectorAll('.pane h4')].map((title) => title.textContent)",
        );
        let titles: Vec<&str> = titles
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let own = titles
            .iter()
            .filter(|title| title.ends_with(&format!("broken_kernels/src/{kernel}.rs")));
        assert_eq!(own.count(), 1, "{kernel}: {titles:?}");
        let step = browser.run("return document.querySelector('.view').dataset.step");
        assert!(step.is_string(), "{kernel}: {step}");
    }
    assert_eq!(clean, ["matmul_uncovered_grid"]);
    asks_nobody(&browser);
}
