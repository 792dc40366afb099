//! Where the time of a command goes: of several devices, and of one.

use std::fs;

use crate::command::{Run, npy, vector};

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

/// Each command whose result is an array says where its time went, on one device too.
#[test]
fn one_device_reports_its_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<u8> = (0..900)
        .flat_map(|i| f64::from(i % 31).to_le_bytes())
        .collect();
    let square = npy("'<f8'", "False", "(30, 30)", &values);
    fs::write(folder.path().join("a.npy"), square).unwrap();
    for command in ["matmul a.npy a.npy", "sum a.npy --axis 0"] {
        for gpus in ["", " --gpus 1"] {
            if command.contains("--axis") && !gpus.is_empty() {
                continue;
            }
            let line = format!("--json {command} -o y.npy{gpus}");
            let run = Run::line(folder.path(), &line).ends(0);
            let seconds = run.json()["seconds"].clone();
            for part in ["reading", "copying", "computing", "writing"] {
                assert!(
                    seconds[part].as_f64().is_some_and(|time| time > 0.0),
                    "{command}, {part}: {seconds}"
                );
            }
            assert!(seconds.get("links").is_none(), "{seconds}");
            assert_eq!(run.stderr, "", "{run:?}");
        }
    }
    let line = "--json matmul a.npy a.npy -o y.npy --gpus 3";
    let several = Run::line(folder.path(), line).ends(0).json();
    let writing = several["seconds"]["writing"].as_f64();
    assert!(writing.is_some_and(|time| time > 0.0), "{several}");
}
