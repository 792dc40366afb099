//! Pages of `blockwise trace` in a real browser. Where there is none, the tests say that they were
//! skipped.
//!
//! Pictures of the pages are kept under `target/trace`.

mod broken;
mod driver;
mod emulator;
mod figures;
mod first_screen;
mod speed;
mod types;

use driver::Browser;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Reverses 64 numbers through shared memory; with its barrier.
const REVERSE: &str = include_str!("reverse.ptx");
/// A load from shared memory.
const LOAD: &str = "ld.shared.";

/// Runs the command in the workspace's folder. It succeeds, or finds something; what it prints.
fn blockwise(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blockwise"));
    command
        .current_dir(root())
        .env("BLOCKWISE_PTXAS", "/no/such/ptxas");
    let output = command.args(arguments).output().expect("the command");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// The workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A page of the reversal.
fn reversal(name: &str) -> PathBuf {
    let (ptx, page) = (file(&format!("{name}.ptx")), file(&format!("{name}.html")));
    std::fs::write(&ptx, REVERSE).expect("a file");
    let [ptx, out] = [&ptx, &page].map(|path| path.to_str().expect("a name"));
    let launch = ["--block", "64", "--arg", "u32[64]=iota", "--arg", "u32[64]"];
    blockwise(&[&["trace", "ptx", ptx, "-o", out], &launch[..]].concat());
    page
}

/// Clicks a button of the first view.
fn click(browser: &Browser, command: &str) {
    browser.run(&format!(
        "document.querySelector('[data-command=\"{command}\"]').click()"
    ));
}

fn step(browser: &Browser) -> String {
    browser.text(".place")
}

/// Runs the launch again after a change of the form.
fn play(browser: &Browser, change: &str) {
    browser.run(&format!(
        "document.querySelector('.play').open = true;
        const form = document.querySelector('.play form'); {change}; form.requestSubmit();"
    ));
}

/// What the first warp that loads from shared memory reads there.
fn loaded(browser: &Browser) -> String {
    click(browser, "end-");
    browser.run(&format!(
        "[...document.querySelectorAll('.line')].find((line) => line.textContent.includes({LOAD:?})).click()"
    ));
    let text = browser.run("return document.querySelector('.lanes').textContent");
    text.as_str().unwrap_or_default().to_owned()
}

#[test]
fn conflicts_of_a_transpose_are_those_of_the_profile() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let page = file("transpose.html");
    let shape = [
        "transpose",
        "--kernel",
        "tiled,padded",
        "--rows",
        "64",
        "--cols",
        "64",
    ];
    let out = page.to_str().expect("a name");
    blockwise(&[&["trace"], &shape[..], &["-o", out]].concat());
    let bytes = std::fs::read_to_string(&page).expect("the page");
    assert!(bytes.len() < 10_000_000 && !bytes.contains("://"));
    browser.open(&page, "");

    let conflicts = figures::totals(&browser, &shape);
    assert!(conflicts[0] > 0 && conflicts[1] == 0, "{conflicts:?}");
    click(&browser, "conflict+");
    let access = browser.text(".access");
    assert!(
        access.contains("bank conflict: 32 wavefronts, 1 would do"),
        "{access}"
    );
    browser.picture("transpose");
    asks_nobody(&browser);
}

/// No page that was opened has made a request.
fn asks_nobody(browser: &Browser) {
    let requests = browser.requests();
    assert!(!requests.is_empty(), "the log has at least the page");
    for url in requests {
        assert!(
            url.starts_with("file://") || url.starts_with("about:"),
            "{url}"
        );
    }
}

#[test]
fn steps_go_both_ways_and_links_lead_back() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let page = reversal("steps");
    browser.open(&page, "#view=0&block=0&warp=1&step=30");
    assert!(
        step(&browser).starts_with("step 30 of"),
        "{}",
        step(&browser)
    );
    let before = browser.text(".access");
    for _ in 0..5 {
        click(&browser, "step+");
    }
    assert_ne!(browser.text(".access"), before);
    for _ in 0..5 {
        click(&browser, "step-");
    }
    assert_eq!(browser.text(".access"), before);
    let hash = browser.run("return location.hash");
    assert!(
        hash.as_str().is_some_and(|hash| hash.ends_with("step=30")),
        "{hash}"
    );

    // The right arrow, and the next barrier.
    browser.keys("\u{e014}");
    assert!(step(&browser).starts_with("step 31 of"));
    browser.keys("B");
    let row = browser.run("return document.querySelector('.line.now code').textContent");
    assert_eq!(row, "\tbar.sync 0;");
}

#[test]
fn another_order_of_threads_reads_other_values_and_the_finding_stays() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let (ptx, page) = (broken::ptx(), file("seeds.html"));
    let [ptx, out] = [&ptx, &page].map(|path| path.to_str().expect("a name"));
    let launch = "--kernel reverse_missing_barrier --grid 2 --block 256 --arg slice:u32[512]=iota --arg u32[512]";
    let launch: Vec<&str> = launch.split_whitespace().collect();
    blockwise(&[&["trace", "ptx", ptx, "-o", out], &launch[..]].concat());
    browser.open(&page, "");
    let races = "return document.querySelectorAll('[data-rule^=race]').length";
    assert_ne!(browser.run(races), 0);
    browser.picture("missing_barrier");
    let mut read = vec![loaded(&browser)];
    for seed in 1..=6 {
        play(&browser, &format!("form.elements.seed.value = {seed}"));
        assert_ne!(browser.run(races), 0, "seed {seed}");
        read.push(loaded(&browser));
    }
    read.sort();
    read.dedup();
    assert!(read.len() > 1, "{read:?}");
}

#[test]
fn a_barrier_that_is_deleted_brings_up_the_race() {
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.open(&reversal("deleted"), "");
    let findings = "return document.querySelectorAll('.finding').length";
    assert_eq!(browser.run(findings), 0);
    play(
        &browser,
        "form.elements.ptx.value = form.elements.ptx.value.replace('bar.sync 0;', '')",
    );
    let races = "return document.querySelectorAll('[data-rule^=race]').length";
    assert_ne!(browser.run(races), 0);
    // What is refused is said, and the launch before stays.
    play(&browser, "form.elements.grid.value = '0'");
    assert!(browser.text(".play [role=alert]").contains("grid"));
    assert_ne!(browser.run(races), 0);
}

#[test]
fn memory_has_values_and_writers() {
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.open(&reversal("memory"), "");
    click(&browser, "end+");
    let hover = "const canvas = document.querySelector('.cells canvas'); const box = canvas.getBoundingClientRect();
        canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + 4, clientY: box.top + 24, bubbles: true }));
        return document.querySelector('.array .readout').textContent";
    let text = browser.run(hover);
    let text = text.as_str().unwrap_or_default();
    // Row 1 begins with element 32, which the first lane of warp 1 wrote.
    assert!(
        text.starts_with("[1][0] = 32, bank 0: written by warp 1, lane 0"),
        "{text}"
    );
    click(&browser, "end-");
    let text = browser.run(hover);
    assert!(
        text.as_str()
            .is_some_and(|text| text.ends_with("nobody wrote it yet")),
        "{text}"
    );
}

#[test]
fn dark_and_narrow() {
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.open(&reversal("narrow"), "");
    let paper = "return getComputedStyle(document.body).backgroundColor";
    let before = browser.run(paper);
    browser.keys("t");
    assert_ne!(browser.run(paper), before);
    browser.picture("dark");
    browser.resize(500, 900);
    let wider = browser.run("return document.documentElement.scrollWidth - innerWidth");
    assert!(wider.as_i64().is_some_and(|wider| wider <= 0), "{wider}");
    browser.picture("narrow");
}

#[test]
fn every_finding_of_a_check_opens_at_its_moment() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let page = file("check.html");
    let ptx = file("check.ptx");
    std::fs::write(&ptx, REVERSE.replace("\tbar.sync 0;\n", "\n")).expect("a file");
    let [ptx, out] = [&ptx, &page].map(|path| path.to_str().expect("a name"));
    let launch = ["--block", "64", "--arg", "u32[64]=iota", "--arg", "u32[64]"];
    blockwise(&[&["check", ptx, "--html", out], &launch[..]].concat());
    browser.open(&page, "");
    let count = browser.run("return document.querySelectorAll('.finding').length");
    let count = count.as_u64().expect("a number");
    assert!(count > 1, "{count}");
    let mut moments = Vec::new();
    for number in 0..count {
        browser.run(&format!(
            "document.querySelectorAll('.finding > button')[{number}].click()"
        ));
        moments.push(step(&browser));
        let line = browser.run("return document.querySelector('.line.now code').textContent");
        let line = line.as_str().unwrap_or_default().to_owned();
        assert!(
            line.contains("shared") || line.contains("st.global"),
            "{line}"
        );
    }
    moments.sort();
    moments.dedup();
    assert!(moments.len() > 1, "{moments:?}");
}
