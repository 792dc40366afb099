//! Processes that tests leave behind: each is named, ended, and a failure.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};

/// How long one may take to end after its test: a browser takes a moment.
const PATIENCE: Duration = Duration::from_secs(10);

/// Makes this process the parent of those whose own parent ends first.
pub(crate) fn adopt() {
    // Without it they are not found, and nothing else changes.
    let _ = set_child_subreaper(Some(getpid()));
}

/// The command lines of processes that are still there once all test programs have ended.
pub(crate) fn end() -> Vec<String> {
    let start = Instant::now();
    while !children().is_empty() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(100));
    }
    let end = |(pid, line)| {
        let _ = kill_process(pid, Signal::KILL);
        format!("a test left a process: {line}")
    };
    children().into_iter().map(end).collect()
}

/// This process's children that have not ended, with their command lines.
fn children() -> Vec<(Pid, String)> {
    let own = getpid().as_raw_nonzero().to_string();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let child = |entry: std::fs::DirEntry| {
        let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // The second field, the program's name, may hold blanks and parentheses.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let (state, parent) = (fields.next()?, fields.next()?);
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        (parent == own && state != "Z").then(|| (pid, line.trim().to_owned()))
    };
    processes.filter_map(child).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_whose_parent_has_ended_is_named_and_ended() {
        adopt();
        let started = std::process::Command::new("sh")
            .args(["-c", "sleep 1234 >/dev/null 2>&1 & echo $!"])
            .output();
        let output = started.expect("a shell");
        let pid = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let found = || {
            let all = children().into_iter();
            all.filter(|(one, _)| one.as_raw_nonzero().to_string() == pid)
                .collect::<Vec<_>>()
        };
        // The shell's child has the shell's command line, or none, until it runs `sleep`.
        let start = Instant::now();
        let one = loop {
            match &found()[..] {
                [(one, line)] if line == "sleep 1234" => break *one,
                other => assert!(start.elapsed() < PATIENCE, "{other:?}"),
            }
        };
        kill_process(one, Signal::KILL).expect("it is ours");
        let start = Instant::now();
        while !found().is_empty() {
            assert!(start.elapsed() < PATIENCE);
        }
    }
}
