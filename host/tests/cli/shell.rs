//! Completions, manual pages, and what `--quiet` leaves out.

use std::fs;

use crate::command::{Run, blockwise, fixture, names, program, vector};

#[test]
fn completions_and_manual_know_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (shell, mark) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef blockwise"),
        ("fish", "complete -c blockwise"),
    ] {
        let run = Run::line(at, &format!("completions {shell}")).ends(0);
        assert!(
            run.stdout.contains(mark) && run.stdout.contains("transpose"),
            "{shell}"
        );
    }
    Run::line(at, "man -o pages").ends(0);
    let pages = names(&at.join("pages"));
    for page in ["blockwise.1", "blockwise-conv.1", "blockwise-profile-ptx.1"] {
        assert!(pages.iter().any(|name| name == page), "{pages:?}");
    }
    let conv = fs::read_to_string(at.join("pages/blockwise-conv.1")).unwrap();
    assert!(
        conv.contains(".TH blockwise\\-conv") || conv.contains(".TH blockwise-conv"),
        "{conv}"
    );
    assert!(conv.contains("numpy.convolve"));
}

#[test]
fn files_in_a_folder_need_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("a.txt"), "mine").unwrap();
    for line in ["man -o", "demo conv --plot"] {
        Run::line(at, &format!("{line} -")).refused("`-` is standard output");
        Run::line(at, &format!("{line} a.txt")).refused("a.txt is not a folder");
        #[cfg(unix)]
        Run::line(at, &format!("{line} /dev/null")).refused("/dev/null is not a folder");
    }
    assert_eq!(names(at), ["a.txt"]);
    assert_eq!(fs::read_to_string(at.join("a.txt")).unwrap(), "mine");
}

#[test]
fn quiet_leaves_out_what_is_no_result_and_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("loud.npy"), vector(&[1e6])).unwrap();
    let conv = |more: &[&str]| {
        let mut command = blockwise(["conv"]);
        command
            .arg(fixture("speech_like_48k.wav"))
            .args(["loud.npy", "-o", "out.wav"]);
        Run::of(command.args(more).current_dir(at)).ends(0)
    };
    let run = conv(&[]);
    assert!(run.stderr.contains("are clipped"), "{run:?}");
    let run = conv(&["--quiet"]);
    assert_eq!(run.stderr, "");
    assert!(run.stdout.contains("out.wav"));
    // What was clipped is in the document.
    let clipped = &conv(&["--json", "--quiet"]).json()["clipped"];
    assert!(
        clipped.as_u64().is_some_and(|clipped| clipped > 0),
        "{clipped}"
    );
    let run = Run::of(program().args(["sum", "loud.npy", "-q"]).current_dir(at)).ends(0);
    assert_eq!((&*run.stdout, &*run.stderr), ("1000000\n", ""));
    Run::line(at, "sum missing.npy --quiet").refused("cannot read missing.npy");
}

#[test]
fn a_recordings_samples_are_reduced() {
    let at = std::path::Path::new(".");
    let value = |line: &str| {
        let mut words: Vec<_> = line.split(' ').map(std::ffi::OsString::from).collect();
        words.push(fixture("stereo_24bit_48k.wav").into());
        Run::of(blockwise(words).current_dir(at)).ends(0).stdout
    };
    let mut reader = hound::WavReader::open(fixture("stereo_24bit_48k.wav")).unwrap();
    let samples: Vec<i64> = reader
        .samples::<i32>()
        .map(|sample| sample.unwrap().into())
        .collect();
    assert_eq!(value("sum").trim(), samples.iter().sum::<i64>().to_string());
    assert_eq!(
        value("max").trim(),
        samples.iter().max().unwrap().to_string()
    );
    assert_eq!(
        value("min").trim(),
        samples.iter().min().unwrap().to_string()
    );
}
