//! Where the time goes when several devices work on a file that is larger than a chunk.

use std::fs;

use crate::command::{Run, vector};

#[test]
fn the_time_of_files_device_and_links_is_reported_of_several_devices() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<f64> = (0..5000).map(|i| f64::from(i * 7 % 31)).collect();
    fs::write(folder.path().join("x.npy"), vector(&values)).unwrap();
    fs::write(folder.path().join("taps.npy"), vector(&values[..9])).unwrap();
    for command in [
        "sum x.npy",
        "dot x.npy x.npy",
        "conv x.npy taps.npy -o y.npy",
    ] {
        let run = |rest: &str| {
            let line = format!("--json {command} --chunk 300 {rest}");
            Run::line(folder.path(), &line).ends(0)
        };
        let several = run("--gpus 2");
        assert!(
            several.stderr.contains("the longest of a rank: reading "),
            "{several:?}"
        );
        let seconds = several.json()["seconds"].clone();
        let time = |part: &str| seconds[part].as_f64().unwrap_or(-1.0);
        assert!(time("reading") > 0.0 && time("copying") > 0.0, "{seconds}");
        assert!(time("computing") > 0.0, "{seconds}");
        assert!(time("links") >= 0.0, "{seconds}");
        let one = run("");
        assert!(one.json()["seconds"].get("links").is_none(), "{one:?}");
        assert!(!one.stderr.contains("the longest of a rank"), "{one:?}");
    }
}
