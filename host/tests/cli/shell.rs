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
    for line in ["man -o", "demo conv --plot", "profile reverse --plot"] {
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

const LOOP: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { .reg .b32 %r<3>; .reg .pred %p;
mov.u32 %r0, 0; again: add.u32 %r0, %r0, 1; setp.lt.u32 %p, %r0, 3000; @%p bra again; ret; }";

/// `script` runs a command on a terminal of its own.
#[cfg(target_os = "linux")]
#[test]
fn long_work_shows_a_bar_on_a_terminal_and_nothing_in_a_pipe() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("k.ptx"), LOOP).unwrap();
    let line = "check k.ptx --block 1 --schedules 300";
    let on_a_terminal = |more: &str| {
        let program = env!("CARGO_BIN_EXE_blockwise");
        let mut command = Command::new("script");
        command.args(["-qec", &format!("'{program}' {line} {more}"), "/dev/null"]);
        command.env("TERM", "xterm").stdin(Stdio::null());
        command.current_dir(at).output()
    };
    let Ok(shown) = on_a_terminal("") else {
        let _ = writeln!(std::io::stderr(), "SKIPPED: there is no `script`");
        return;
    };
    let text = |output: std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let shown = text(shown);
    assert!(shown.contains(" of 301 "), "{shown}");
    let quiet = text(on_a_terminal("--quiet").unwrap());
    assert!(
        quiet.contains("ERROR SUMMARY") && !quiet.contains(" of 301 "),
        "{quiet}"
    );
    let piped = Run::line(at, line).ends(0);
    assert_eq!(piped.stderr, "");
    assert!(!piped.stdout.contains(" of 301 "));
}
