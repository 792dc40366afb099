//! What a page shows of each step is what the emulator has, and its sums are those of
//! `blockwise profile`.

use crate::driver::Browser;
use crate::emulator::{Run, document};
use crate::{asks_nobody, blockwise, broken, click, file, root};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Places in a block's time at which a page is looked at: the first, the last, and some between.
const PLACES: usize = 7;
/// Words of each array of shared memory that are compared there.
const WORDS: u32 = 5;

/// The sums of every view of the open page are those of the profile of `words`; the bank conflicts
/// of each view.
pub(crate) fn totals(browser: &Browser, words: &[&str]) -> Vec<u64> {
    let profile = blockwise(&[&["profile", "--json"], words].concat());
    let profile: Value = serde_json::from_str(&profile).expect("JSON");
    let kernels = profile["kernels"].as_array().expect("kernels");
    let of_view = |(view, kernel): (usize, &Value)| {
        let sum = |space: &str, what: &str| -> u64 {
            let kinds = ["loads", "stores", "atomics"].into_iter();
            let kinds = kinds.map(|kind| format!("{space}_{kind}"));
            kinds
                .filter_map(|kind| kernel["total"][kind][what].as_u64())
                .sum()
        };
        let shown = |label: &str| {
            let text = browser.text(&format!("[data-view=\"{view}\"] [data-total=\"{label}\"]"));
            text.parse::<u64>()
                .unwrap_or_else(|_| panic!("{label} in view {view}: {text}"))
        };
        let wavefronts = (
            sum("shared", "wavefronts"),
            sum("shared", "needed_wavefronts"),
        );
        assert_eq!(shown("wavefronts"), wavefronts.0);
        assert_eq!(shown("wavefronts needed"), wavefronts.1);
        assert_eq!(shown("bank conflicts"), wavefronts.0 - wavefronts.1);
        assert_eq!(shown("sectors"), sum("global", "sectors"));
        assert_eq!(shown("sectors needed"), sum("global", "needed_sectors"));
        wavefronts.0 - wavefronts.1
    };
    kernels.iter().enumerate().map(of_view).collect()
}

/// Goes to a step of a view by a link.
fn follow(browser: &Browser, view: usize, block: u64, step: usize) {
    browser.run(&format!(
        "location.hash = '#view={view}&block={block}&step={step}'"
    ));
    let shown = format!("return document.querySelectorAll('.view')[{view}].dataset.step");
    let start = Instant::now();
    let expected = Value::from(step.to_string());
    while browser.run(&shown) != expected {
        assert!(start.elapsed() < Duration::from_secs(60), "no step {step}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What the page says of the current step: its text, and `[offset, text]` for some words of shared
/// memory.
fn shown(browser: &Browser, view: usize) -> (String, Vec<(u32, String)>) {
    let script = "
        const view = document.querySelectorAll('.view')[VIEW];
        const words = [];
        for (const array of view.querySelectorAll('.array')) {
          const type = array.querySelector('select');
          type.value = 'hex';
          type.dispatchEvent(new Event('change'));
          const [columns, scroll] = [array.querySelector('.columns').valueAsNumber, array.querySelector('.cells')];
          const canvas = scroll.querySelector('canvas');
          scroll.scrollTop = 0;
          const width = Number(canvas.dataset.cell);
          const height = Math.min(width, 20);
          const bytes = Number(array.dataset.bytes);
          for (let number = 0; number < COUNT; number++) {
            const word = Math.min(number * 37, bytes / 4 - 1);
            const [row, column] = [Math.floor(word / columns), word % columns];
            if (row >= 10) continue;
            const box = canvas.getBoundingClientRect();
            canvas.dispatchEvent(new PointerEvent('pointermove', { bubbles: true,
              clientX: box.left + (column + 0.5) * width, clientY: box.top + (row + 0.5) * height }));
            words.push([Number(array.dataset.start) + 4 * word, array.querySelector('.readout').textContent]);
          }
        }
        return [view.querySelector('.access').textContent, words];";
    let script = script
        .replace("VIEW", &view.to_string())
        .replace("COUNT", &WORDS.to_string());
    serde_json::from_value(browser.run(&script)).expect("texts")
}

/// Compares the page with the emulator after the step at which both stand.
fn compare(browser: &Browser, view: usize, run: &mut Run, step: usize) {
    let (access, words) = shown(browser, view);
    run.go(step);
    let who = format!("step {step}, phase ");
    assert!(
        access.contains(&who) && access.contains(&format!(": warp {}, lanes", run.warp())),
        "{access}"
    );
    for said in run.costs().iter().chain(&run.values()) {
        assert!(access.contains(said), "step {step}: `{said}` in {access}");
    }
    if step + 1 == run.steps.len() {
        // The block's shared memory is gone with it.
        return;
    }
    for (offset, text) in words {
        let (value, writer) = run.word(offset);
        assert!(
            text.contains(&format!(" = {value:x}, bank {}: ", offset / 4 % 32)),
            "step {step}: {value:x} in {text}"
        );
        let writer = match writer {
            Some((warp, step)) => (
                format!("written by warp {warp}, lane "),
                format!(" in step {step}, phase "),
            ),
            None => ("nobody wrote it yet".to_owned(), String::new()),
        };
        assert!(
            text.contains(&writer.0) && text.contains(&writer.1),
            "step {step}: {writer:?} in {text}"
        );
    }
}

/// Walks through a view of the open page, forwards and backwards.
fn walk(browser: &Browser, view: usize) {
    let document = document(browser);
    let block = browser.run(&format!(
        "return document.querySelectorAll('.view .block')[{view}].value"
    ));
    let block: u64 = block
        .as_str()
        .and_then(|text| text.parse().ok())
        .expect("a block");
    let mut run = Run::new(&document, &document.launches[view], block);
    let last = run.steps.len() - 1;
    let places: Vec<usize> = (0..PLACES).map(|at| at * last / (PLACES - 1)).collect();
    for &step in places.iter().chain(places.iter().rev().skip(1)) {
        follow(browser, view, block, step);
        compare(browser, view, &mut run, step);
    }
    // Step by step: the button belongs to the view that the link made the active one.
    let middle = last / 2;
    follow(browser, view, block, middle);
    let command = |name: &str| {
        let selector = format!("[data-view=\"{view}\"] [data-command=\"{name}\"]");
        browser.run(&format!("document.querySelector('{selector}').click()"));
    };
    for step in [middle + 1, middle + 2, middle + 3] {
        command("step+");
        compare(browser, view, &mut run, step);
    }
    for step in [middle + 2, middle + 1, middle, middle - 1] {
        command("step-");
        compare(browser, view, &mut run, step);
    }
}

/// Opens a page of `trace` with these words, and compares its views.
fn page(browser: &Browser, name: &str, words: &[&str]) -> Vec<u64> {
    let page = file(&format!("figures_{name}.html"));
    let out = page.to_str().expect("a name");
    blockwise(&[&["trace"], words, &["-o", out]].concat());
    browser.open(&page, "");
    let conflicts = totals(browser, words);
    (0..conflicts.len()).for_each(|view| walk(browser, view));
    browser.picture(&format!("figures_{name}"));
    conflicts
}

#[test]
fn transposes_reductions_and_products_are_shown_as_they_run() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let transpose = [
        "transpose",
        "--kernel",
        "tiled,padded",
        "--rows",
        "40",
        "--cols",
        "36",
    ];
    let conflicts = page(&browser, "transpose", &transpose);
    assert!(conflicts[0] > 0 && conflicts[1] == 0, "{conflicts:?}");
    let reduce = ["sum", "--len", "600", "--kernel", "interleaved,tree"];
    let conflicts = page(&browser, "reduce", &reduce);
    assert!(conflicts[0] > conflicts[1], "{conflicts:?}");
    let product = [
        "matmul", "--kernel", "tiled", "--rows", "33", "--inner", "20", "--cols", "34",
    ];
    page(&browser, "matmul", &product);
    asks_nobody(&browser);
}

#[test]
fn broken_kernels_are_shown_as_they_run() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let ptx = broken::ptx();
    let ptx = ptx.to_str().expect("a name");
    let reverse = "--kernel reverse_missing_barrier --grid 4 --block 256 --arg slice:u32[1000]=iota --arg u32[1000]";
    let halo = "--kernel conv1d_halo_off_by_one --grid 4 --block 256 --shared 1056 --arg slice:f32[1000]=random:1 \
                --arg slice:f32[9]=random:2 --arg f32[1000] --arg u64:1000 --arg u64:4";
    for (name, words) in [("missing_barrier", reverse), ("halo", halo)] {
        let words: Vec<&str> = words.split_whitespace().collect();
        let page = file(&format!("figures_{name}.html"));
        let out = page.to_str().expect("a name");
        blockwise(&[&["trace", "ptx", ptx], &words[..], &["-o", out]].concat());
        browser.open(&page, "");
        walk(&browser, 0);
        browser.picture(&format!("figures_{name}"));
    }
    asks_nobody(&browser);
}

#[test]
fn ptx_of_nvcc_triton_and_numba_is_shown_as_it_runs() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let nvcc = "--grid 2,2 --block 32,8 --arg f64[1400]=random:1 --arg f64[1400] --arg u32:35 --arg u32:40";
    let triton = "--grid 2 --block 128 --shared 4096 --arg f32[960]=random:1 --arg f32[960] --arg u32:40 --arg u32:24 \
                  --arg u64:0 --arg u64:0";
    let numba = "--grid 3 --block 64 --arg u64:0 --arg u64:0 --arg u64:170 --arg u64:8 --arg f64[170]=random:1 --arg u64:170 \
                 --arg u64:8 --arg u64:0 --arg u64:0 --arg u64:1 --arg u64:8 --arg f64[1]=zeros --arg u64:1 --arg u64:8";
    for (name, words) in [
        ("transpose", nvcc),
        ("triton_transpose", triton),
        ("numba_reduce_sum", numba),
    ] {
        let ptx = root().join(format!("tests/fixtures/foreign/cases/{name}.sm_80.ptx"));
        let ptx = ptx.to_str().expect("a name");
        let words: Vec<&str> = ["ptx", ptx]
            .into_iter()
            .chain(words.split_whitespace())
            .collect();
        page(&browser, &format!("foreign_{name}"), &words);
        // Nothing is wrong with them.
        assert_eq!(
            browser.run("return document.querySelectorAll('.finding').length"),
            0,
            "{name}"
        );
        click(&browser, "end-");
    }
    asks_nobody(&browser);
}
