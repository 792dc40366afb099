//! How long a page of a million accesses takes to open and to step. The figures are printed and
//! kept under `target/trace`; what is asserted is the work that is done, for a busy machine has no
//! say in that.

use crate::driver::Browser;
use crate::{blockwise, file};
use serde_json::Value;

#[test]
fn a_page_of_a_million_accesses_steps_without_drawing_it_again() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let page = file("million.html");
    let out = page.to_str().expect("a name");
    let words = [
        "matmul", "--kernel", "tiled", "--rows", "80", "--inner", "80", "--cols", "80",
    ];
    let profile = blockwise(&[&["profile", "--json"], &words[..]].concat());
    let profile: Value = serde_json::from_str(&profile).expect("JSON");
    let total = &profile["kernels"][0]["total"];
    let kinds = [
        "shared_loads",
        "shared_stores",
        "global_loads",
        "global_stores",
    ];
    let requests: u64 = kinds
        .iter()
        .filter_map(|kind| total[kind]["requests"].as_u64())
        .sum();
    assert!(
        32 * requests >= 1_000_000,
        "{requests} requests of 32 lanes"
    );
    blockwise(&[&["trace"], &words[..], &["-o", out]].concat());
    browser.open(&page, "");
    let opened = browser.run("return document.documentElement.dataset.opened");

    // Steps from the middle, each until the page has its new layout.
    let script = "
        const view = document.querySelector('.view');
        const [forwards, backwards] = ['step+', 'step-'].map((name) => view.querySelector(`[data-command='${name}']`));
        const canvas = view.querySelector('.timeline');
        location.hash = '#view=0&block=0&step=' + Math.floor(LAST / 2);
        await new Promise((done) => setTimeout(done, 300));
        const before = Number(canvas.dataset.drawings);
        const times = [];
        for (let at = 0; at < 40; at++) {
          const start = performance.now();
          (at < 20 ? forwards : backwards).click();
          void document.body.offsetHeight;
          times.push(performance.now() - start);
        }
        return [times, Number(canvas.dataset.drawings) - before];";
    let last = browser.text(".place");
    let last = last.rsplit(' ').next().unwrap_or_default().to_owned();
    let script = format!(
        "return (async () => {{ {} }})()",
        script.replace("LAST", &last)
    );
    let (times, drawings): (Vec<f64>, u64) =
        serde_json::from_value(browser.run(&script)).expect("numbers");
    let summary = |times: &[f64]| {
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let most = times.iter().copied().fold(0.0, f64::max);
        format!("{mean:.1} ms (at most {most:.1})")
    };
    let text = format!(
        "{} accesses of lanes: opened in {} ms; a step forwards {}, backwards {}\n",
        32 * requests,
        opened.as_str().unwrap_or("?"),
        summary(&times[..20]),
        summary(&times[20..]),
    );
    print!("{text}");
    let kept = file("../trace/speed.txt");
    std::fs::create_dir_all(kept.parent().expect("a folder")).expect("a folder");
    std::fs::write(kept, text).expect("a file");
    assert_eq!(
        drawings, 0,
        "the whole time is shown: a step moves the cursor only"
    );
}
