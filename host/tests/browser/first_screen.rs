//! What a page shows first: what happened, where, by which threads, at which address.

use serde_json::Value;

use crate::driver::Browser;
use crate::{REVERSE, blockwise, click, file, reversal, step};

fn texts(browser: &Browser, selector: &str) -> Vec<String> {
    let all = browser.run(&format!(
        "return [...document.querySelectorAll({selector:?})].map((item) => item.textContent)"
    ));
    let all = all.as_array().cloned().unwrap_or_default();
    all.iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_finding_is_told_on_the_first_screen() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let page = file("first.html");
    let ptx = file("first.ptx");
    std::fs::write(&ptx, REVERSE.replace("\tbar.sync 0;\n", "\n")).expect("a file");
    let [ptx, out] = [&ptx, &page].map(|path| path.to_str().expect("a name"));
    let launch = ["--block", "64", "--arg", "u32[64]=iota", "--arg", "u32[64]"];
    blockwise(&[&["check", ptx, "--html", out], &launch[..]].concat());
    for width in [900, 1400, 1920] {
        browser.resize(width, 1000);
        browser.open(&page, "");
        let wider = browser.run("return document.documentElement.scrollWidth - innerWidth");
        assert!(
            wider.as_i64().is_some_and(|wider| wider <= 0),
            "{width}: {wider}"
        );
        browser.picture(&format!("first_screen_{width}"));
    }
    // Each finding: its message, its two accesses with their lines, and where they are.
    let count = texts(&browser, ".finding > button").len();
    assert!(count > 1, "{count}");
    for number in 0..count {
        browser.run(&format!(
            "document.querySelectorAll('.finding > button')[{number}].click()"
        ));
        let button = &texts(&browser, ".finding > button")[number];
        let title = browser.text(".hero h3");
        let message = button.split_once(": ").map_or("", |(_, message)| message);
        assert!(title.ends_with(message), "{title}, {button}");
        assert!(
            title.starts_with(&format!("Finding {} of {count}", number + 1)),
            "{title}"
        );
        let sites = texts(&browser, ".hero .site");
        assert_eq!(sites.len(), 2, "{sites:?}");
        for site in &sites {
            for word in [
                "where",
                "PTX, line",
                "thread",
                "address",
                "memory, 0x",
                "when",
                "step",
            ] {
                assert!(site.contains(word), "{word}: {site}");
            }
        }
        // The line that is shown, and the step that is the current one, are the finding's.
        let lines = texts(&browser, ".hero .site pre b");
        assert!(
            lines
                .iter()
                .all(|line| line.contains("ld.") || line.contains("st.")),
            "{lines:?}"
        );
        let now = step(&browser);
        let now = now
            .trim_start_matches("step ")
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned();
        let here = texts(&browser, ".hero .site.here");
        assert_eq!(here.len(), 1, "{now}: {sites:?}");
        assert!(
            here[0].contains(&format!("step {now} of block")),
            "{now}: {here:?}"
        );
        // Its other access is one button away, and the step before another one.
        browser.run("document.querySelectorAll('.hero .site:not(.here) button')[0].click()");
        assert!(
            !step(&browser).starts_with(&format!("step {now} of")),
            "{now}"
        );
        assert_eq!(texts(&browser, ".hero .site.here").len(), 1);
        browser.run(&format!(
            "document.querySelectorAll('.finding > button')[{number}].click();
             document.querySelector('.hero .primary').click()"
        ));
        let before = now.parse::<u64>().expect("a number") - 1;
        assert!(
            step(&browser).starts_with(&format!("step {before} of")),
            "{}",
            step(&browser)
        );
    }
}

#[test]
fn a_launch_without_findings_opens_at_its_first_access_and_keys_say_when_they_cannot() {
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.open(&reversal("silent"), "");
    assert_eq!(browser.text(".hero h3"), "No findings");
    let line = browser.text(".hero .site pre b");
    assert!(line.contains("shared"), "{line}");
    let shown = browser.text(".access .readout");
    let place = step(&browser);
    let number = place.split(' ').nth(1).unwrap_or_default();
    assert!(
        shown.starts_with(&format!("step {number},")),
        "{shown}, {place}"
    );
    assert_eq!(browser.text(".said"), "");
    for (command, said) in [
        ("conflict+", "no bank conflict after this step"),
        ("conflict-", "no bank conflict before this step"),
        ("finding+", "no finding in this launch"),
    ] {
        click(&browser, command);
        assert_eq!(browser.text(".said"), said);
        assert_eq!(step(&browser), place);
    }
    click(&browser, "end+");
    click(&browser, "step+");
    assert_eq!(browser.text(".said"), "no step after this step");
    click(&browser, "step-");
    assert_eq!(browser.text(".said"), "");
}

/// Texts that the canvases of the page draw from now on are in `window.drawn`.
const WATCH_TEXTS: &str = "window.drawn = []; \
    const original = CanvasRenderingContext2D.prototype.fillText; \
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) { \
        window.drawn.push(text); original.call(this, text, x, y); }";

/// The texts of the cells that the page draws when `.columns` becomes a number.
fn cells(browser: &Browser, columns: u32) -> Vec<String> {
    browser.run(&format!(
        "window.drawn = []; const input = document.querySelector('.array .columns'); \
         input.value = {columns}; input.dispatchEvent(new Event('input'))"
    ));
    let drawn = browser.run("return window.drawn");
    let texts = drawn.as_array().cloned().unwrap_or_default();
    let texts = texts.iter().filter_map(Value::as_str);
    let is_value =
        |text: &&str| text.ends_with('…') || text.chars().all(|letter| letter.is_ascii_digit());
    texts.filter(is_value).map(str::to_owned).collect()
}

/// A number in a cell is whole, or says that it is not.
#[test]
fn values_are_not_cut_to_other_values() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let page = file("large.html");
    let ptx = file("large.ptx");
    std::fs::write(&ptx, REVERSE).expect("a file");
    let [ptx, out] = [&ptx, &page].map(|path| path.to_str().expect("a name"));
    let values: Vec<String> = (0..64_u64)
        .map(|i| (1_000_000_007 + i * 13_000_001).to_string())
        .collect();
    let input = file("large.npy");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let header = "{'descr': '<u4', 'fortran_order': False, 'shape': (64,), }";
    bytes.extend(format!("{header:<117}\n").bytes());
    let words = values
        .iter()
        .map(|value| value.parse::<u32>().expect("fits"));
    bytes.extend(words.flat_map(u32::to_le_bytes));
    std::fs::write(&input, bytes).expect("a file");
    let argument = format!("u32[64]={}", input.to_str().expect("a name"));
    blockwise(&[
        "trace", "ptx", ptx, "--block", "64", "--arg", &argument, "--arg", "u32[64]", "--html", out,
    ]);
    browser.resize(900, 1000);
    browser.open(&page, "");
    let heading = browser.text("h1");
    assert!(heading.ends_with(" of large.ptx"), "{heading}");
    click(&browser, "end+");
    browser.run(WATCH_TEXTS);
    let narrow = cells(&browser, 32);
    assert!(!narrow.is_empty());
    for text in &narrow {
        assert!(values.contains(text) || text.ends_with('…'), "{text}");
    }
    let wide = cells(&browser, 4);
    assert!(!wide.is_empty());
    for text in &wide {
        assert!(values.contains(text), "{text}");
    }
}

/// A fault is told once: by its finding.
#[test]
fn a_fault_is_told_once() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let page = file("fault.html");
    let ptx = file("fault.ptx");
    std::fs::write(&ptx, REVERSE).expect("a file");
    let [ptx, out] = [&ptx, &page].map(|path| path.to_str().expect("a name"));
    let launch = ["--block", "64", "--arg", "u32[64]=iota", "--arg", "u32[8]"];
    blockwise(&[&["check", ptx, "--html", out], &launch[..]].concat());
    browser.resize(900, 1000);
    browser.open(&page, "");
    let hero = browser.text(".hero h3");
    assert!(hero.contains("out of bounds"), "{hero}");
    let told = texts(&browser, ".bad")
        .into_iter()
        .filter(|text| !text.is_empty());
    assert_eq!(
        told.collect::<Vec<_>>(),
        ["The launch ended in this error."]
    );
    // The access that did not take place has its address, which the message has too.
    let site = browser.text(".hero .site");
    let (_, address) = hero.split_once(" at 0x").expect(&hero);
    let address = address.split(' ').next().expect("a word");
    let shown = format!("global memory, 0x{address}, 4 bytes");
    assert!(site.contains(&shown), "{shown}: {site}");
}
