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
        assert!(!expected.is_empty(), "{kernel}: nothing was found");
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
    asks_nobody(&browser);
}

/// C has 40 rows of 50, and 3 × 2 blocks of 16 × 16 threads write 32 rows of 48.
#[test]
fn elements_that_nobody_wrote_are_shown_beside_their_neighbours_writers() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let checks = checks();
    let words = checks
        .iter()
        .find(|words| words[2] == "matmul_uncovered_grid");
    let words: Vec<&str> = words.expect("the book has it")[1..]
        .iter()
        .map(String::as_str)
        .collect();
    let page = file("gaps.html");
    let (ptx, out) = (ptx(), page.to_str().expect("a name"));
    let check = ["check", ptx.to_str().expect("a name"), "--html", out];
    let said = blockwise(&[&check, &words[..]].concat());
    assert!(
        said.contains("ERROR SUMMARY: 0 errors, 1 for information"),
        "{said}"
    );
    browser.open(&page, "");
    let text = || browser.text(".outputs .readout");
    assert_eq!(browser.text(".outputs .array b + span"), "[[f32; 50]; 40]");
    let first = text();
    assert!(
        first.starts_with("[0][48] = 0, element 48: nobody wrote it · before it [0][47] = "),
        "{first}"
    );
    assert!(
        first.contains("element 47: written by thread 15 of block 2 in step "),
        "{first}"
    );

    // A click on an element leads to the step that wrote it, in its block.
    let click = |row: u32, column: u32| {
        browser.run(&format!(
            "const canvas = document.querySelector('.outputs canvas');
             const box = canvas.getBoundingClientRect();
             const tall = parseFloat(canvas.parentElement.style.height) / 40, wide = Math.floor(parseFloat(canvas.style.width) / 50);
             const at = {{ clientX: box.left + ({column} + 0.5) * wide, clientY: box.top + ({row} + 0.5) * tall, bubbles: true }};
             canvas.dispatchEvent(new PointerEvent('click', at));"
        ));
        browser.text(".access .readout")
    };
    let place = || browser.text(".head .note");
    let written = click(1, 17);
    assert!(
        place().starts_with("Shown: block 1, 0, 0 of 6"),
        "{}",
        place()
    );
    assert!(written.contains("warp 0"), "{written}");
    let access = browser.text(".access");
    assert!(
        access.contains("write of global memory, 4 bytes a lane"),
        "{access}"
    );
    // An element that no thread wrote leads to no step.
    assert_eq!(click(1, 49), written);
    asks_nobody(&browser);
}
