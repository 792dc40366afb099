//! Where outputs go: pipes, devices and links are written into, and nothing is left by a command
//! that a signal ends.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{Run, blockwise, names, vector};
#[cfg(target_os = "linux")]
use crate::command::{limited, npy};

/// A folder with a signal and taps.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.npy"), vector(&[1.0, -2.0, 3.0])).unwrap();
    fs::write(folder.path().join("one.npy"), vector(&[1.0])).unwrap();
    folder
}

/// The command's words, in a folder, with bytes on its standard input.
fn piped(folder: &Path, line: &str, input: &[u8]) -> (i32, Vec<u8>, String) {
    let mut command = blockwise(line.split_whitespace());
    command.current_dir(folder);
    for set in [Command::stdin, Command::stdout, Command::stderr] {
        set(&mut command, Stdio::piped());
    }
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), output.stdout, text)
}

#[test]
fn a_dash_is_standard_input_and_output() {
    let folder = folder();
    let signal = vector(&[1.0, -2.0, 3.0]);
    let (code, stdout, stderr) = piped(folder.path(), "reverse - -o -", &signal);
    assert_eq!(code, 0, "{stderr}");
    let reversed = [3.0_f64, -2.0, 1.0].map(f64::to_le_bytes).concat();
    assert!(stdout.starts_with(b"\x93NUMPY") && stdout.ends_with(&reversed));
    // What is to be read goes where it is not mixed with the data.
    assert!(stderr.contains("[3] f64"), "{stderr}");

    let (code, stdout, stderr) = piped(folder.path(), "sum -", b"1\n2\n4.5\n");
    assert_eq!((code, &*stdout), (0, &b"7.5\n"[..]), "{stderr}");
    let sound = fs::read(crate::command::fixture("speech_like_48k.wav")).unwrap();
    let (code, stdout, stderr) = piped(folder.path(), "conv - one.npy -o -", &sound);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.starts_with(b"RIFF"));
    assert_eq!(names(folder.path()), ["one.npy", "x.npy"]);
}

/// `/dev/zero` has no end: it is not read to find out that it is no text.
#[test]
fn the_rest_of_what_is_no_text_is_not_read() {
    let folder = folder();
    for piece in [[0; 1 << 16], [0xC0; 1 << 16]] {
        let mut command = blockwise(["sum", "-"]);
        command.current_dir(folder.path()).stdin(Stdio::piped());
        command.stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let all = (0..256).try_for_each(|_| input.write_all(&piece));
        assert!(all.is_err(), "16 MiB were read");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(words.contains("text"), "{words}");
    }
}

/// What has no end is read until memory is short, and not until there is none; nor is a text whose
/// numbers would not fit.
#[cfg(target_os = "linux")]
#[test]
fn what_is_longer_than_memory_is_refused() {
    const KIB: u64 = 256 << 10;
    let folder = folder();
    let at = folder.path();
    let sound = fs::read(crate::command::fixture("speech_like_48k.wav")).unwrap();
    let numbers = vector(&[1.0, 2.0]);
    for begin in [&b"1\n"[..], &numbers, &sound] {
        let mut command = limited(at, "sum -", KIB);
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let piece = b"1\n".repeat(1 << 19);
        let mut pieces = std::iter::once(begin).chain(std::iter::repeat_n(&*piece, 512));
        let all = pieces.try_for_each(|piece| input.write_all(piece));
        assert!(all.is_err(), "512 MiB were read");
        let output = child.wait_with_output().unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(words.contains("that there is memory for"), "{words}");
    }
    // 8 Mi numbers in 16 MiB.
    fs::write(at.join("long.csv"), b"1\n".repeat(1 << 23)).unwrap();
    let run = Run::of(&mut limited(at, "sum long.csv", KIB));
    run.refused("no memory for 8388609 numbers");
    // Bytes that were never written take no room on the disk.
    let columns = npy("'<f8'", "True", "(4096, 4096)", &[]);
    for (name, begin, refused) in [
        ("longer.csv", &b"1\n"[..], "text is read whole"),
        ("columns.npy", &columns, "no memory to reorder"),
    ] {
        fs::write(at.join(name), begin).unwrap();
        let file = fs::File::options().write(true).open(at.join(name)).unwrap();
        file.set_len(begin.len() as u64 + (8 << 24)).unwrap();
        Run::of(&mut limited(at, &format!("sum {name}"), KIB)).refused(refused);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn standard_input_is_one_operand_by_each_of_its_names() {
    let folder = folder();
    let at = folder.path();
    let signal = vector(&[1.0, -2.0, 3.5]);
    for line in [
        "conv - - -o y.npy",
        "dot - /dev/stdin",
        "dot /dev/fd/0 /dev/fd/0",
        "matmul /proc/self/fd/0 - -o y.npy",
        "sum /dev/stdin --reference -",
    ] {
        // Of a matrix, too.
        let input = match line.starts_with("matmul") {
            true => b"1,2\n3,4\n".to_vec(),
            false => signal.clone(),
        };
        let (code, _, stderr) = piped(at, line, &input);
        assert_eq!(code, 2, "{line}: {stderr}");
        assert!(
            stderr.contains("standard input was read already"),
            "{line}: {stderr}"
        );
    }
    for name in ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
        let (code, stdout, stderr) = piped(at, &format!("sum {name}"), &signal);
        assert_eq!((code, &*stdout), (0, &b"2.5\n"[..]), "{name}: {stderr}");
        // A file there has no name either.
        let mut command = blockwise(["sum", name]);
        command.stdin(fs::File::open(at.join("x.npy")).unwrap());
        assert_eq!(Run::of(&mut command).ends(0).stdout, "2\n", "{name}");
    }
    assert_eq!(names(at), ["one.npy", "x.npy"]);
}

#[test]
fn one_standard_output_holds_one_output() {
    let folder = folder();
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 .ptr .align 4 x) { ret; }\n";
    fs::write(folder.path().join("k.ptx"), ptx).unwrap();
    let mut command = blockwise(["check", "k.ptx", "--arg", "u32[1]=zeros -> -", "-o", "-"]);
    Run::of(command.current_dir(folder.path())).refused("another output's already");
}

#[cfg(unix)]
#[test]
fn links_are_followed_even_where_they_lead_to_nothing() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    let at = folder.path();
    fs::create_dir(at.join("there")).unwrap();
    symlink("there/new.npy", at.join("link.npy")).unwrap();
    for _ in 0..2 {
        Run::line(at, "reverse x.npy -o link.npy").ends(0);
        assert!(
            fs::symlink_metadata(at.join("link.npy"))
                .unwrap()
                .is_symlink()
        );
        assert_eq!(names(&at.join("there")), ["new.npy"]);
    }
}

#[cfg(unix)]
/// The other names of a file keep its old contents, and a note says so once.
#[test]
fn a_file_with_several_names_gets_a_note() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("out.npy"), "old").unwrap();
    fs::set_permissions(at("out.npy"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(at("out.npy"), at("other.npy")).unwrap();
    let run = Run::line(folder.path(), "reverse x.npy -o out.npy").ends(0);
    let note = "out.npy is one of 2 names of a file (hard links): the others keep its old contents";
    assert_eq!(run.stderr.matches(note).count(), 1, "{run:?}");
    assert_eq!(fs::read(at("other.npy")).unwrap(), b"old");
    assert_ne!(fs::read(at("out.npy")).unwrap(), b"old");
    let mode = fs::metadata(at("out.npy")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // It has one name now.
    let again = Run::line(folder.path(), "reverse x.npy -o out.npy").ends(0);
    assert!(!again.stderr.contains("hard links"), "{again:?}");
    fs::hard_link(at("out.npy"), at("third.npy")).unwrap();
    let quiet = Run::line(folder.path(), "--quiet reverse x.npy -o out.npy").ends(0);
    assert!(!quiet.stderr.contains("hard links"), "{quiet:?}");
}

#[test]
fn pipes_are_written_into_as_they_are() {
    use std::os::unix::fs::FileTypeExt;
    let folder = folder();
    let pipe = folder.path().join("pipe.npy");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let reader = {
        let pipe = pipe.clone();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            fs::File::open(pipe)
                .unwrap()
                .read_to_end(&mut bytes)
                .unwrap();
            bytes
        })
    };
    Run::line(folder.path(), "reverse x.npy -o pipe.npy").ends(0);
    let bytes = reader.join().unwrap();
    assert!(bytes.starts_with(b"\x93NUMPY") && bytes.ends_with(&1.0_f64.to_le_bytes()));
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(names(folder.path()), ["one.npy", "pipe.npy", "x.npy"]);
}

/// As root, a rename over `/dev/null` would succeed: a device node of the test's own stands for it.
#[cfg(unix)]
#[test]
fn devices_are_written_into_as_they_are() {
    use std::os::unix::fs::FileTypeExt;
    let folder = folder();
    let device = folder.path().join("null");
    let made = Command::new("mknod")
        .arg(&device)
        .args(["c", "1", "3"])
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        let _ = writeln!(std::io::stderr(), "SKIPPED: only root makes device nodes");
        return;
    }
    Run::line(folder.path(), "reverse x.npy -o null").ends(0);
    assert!(
        fs::symlink_metadata(&device)
            .unwrap()
            .file_type()
            .is_char_device()
    );
    Run::line(folder.path(), "reverse x.npy -o /dev/null").ends(0);
    assert_eq!(names(folder.path()), ["null", "one.npy", "x.npy"]);
}

/// A convolution that waits for its signal in a pipe has its output's temporary file already: it is
/// made when the first samples arrive.
#[cfg(unix)]
#[test]
fn a_signal_leaves_no_temporary_file() {
    use std::os::unix::process::ExitStatusExt;
    // Enough work for a minute: the command is ended long before.
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("x.npy"), vector(&vec![1.0; 1 << 22])).unwrap();
    fs::write(at.join("taps.npy"), vector(&vec![1.0; 1 << 10])).unwrap();
    let inputs = ["taps.npy", "x.npy"];
    // A shell's background job ignores SIGINT, and so does what it starts.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .map_or(0, |bits| u64::from_str_radix(bits.trim(), 16).unwrap());
    let signals = [("INT", 2), ("TERM", 15), ("HUP", 1)].into_iter();
    for (signal, number) in signals.filter(|(_, number)| ignored >> (number - 1) & 1 == 0) {
        let mut command = blockwise([
            "conv", "x.npy", "taps.npy", "-o", "y.npy", "--chunk", "4096",
        ]);
        command
            .current_dir(at)
            .stderr(Stdio::null())
            .stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        // Until its hidden file is there.
        while names(at).len() == inputs.len() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before");
            std::thread::yield_now();
        }
        // The shell's own: a bare machine has no other.
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -s {signal} {}", child.id())])
            .status();
        assert!(sent.unwrap().success());
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        assert_eq!(names(at), inputs, "{signal}");
    }
    // What this leaves cannot be prevented; the next run mentions it.
    let mut command = blockwise([
        "conv", "x.npy", "taps.npy", "-o", "y.npy", "--chunk", "4096",
    ]);
    command
        .current_dir(at)
        .stderr(Stdio::null())
        .stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    while !names(at).iter().any(|name| {
        at.join(name)
            .metadata()
            .is_ok_and(|file| name.starts_with('.') && file.len() > 0)
    }) {
        assert!(child.try_wait().unwrap().is_none(), "it ended before");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left = names(at)
        .into_iter()
        .find(|name| name.starts_with('.'))
        .expect("it is left");
    if Path::new("/proc/self").exists() {
        let run = Run::line(at, "reverse taps.npy -o z.npy").ends(0);
        assert!(run.stderr.contains(&left), "{run:?}");
    }
}

/// In a file of text the write fails that exceeds the limit; an array has its length from the
/// beginning.
#[cfg(unix)]
#[test]
fn a_file_beyond_the_users_limit_is_an_error_that_leaves_the_older_one() {
    let folder = folder();
    let at = folder.path();
    let long: Vec<f64> = (0..40_000).map(|index| f64::from(index) * 0.1).collect();
    fs::write(at.join("long.npy"), vector(&long)).unwrap();
    for (output, chunk) in [("out.npy", 40_000), ("out.csv", 1000), ("out.csv", 40_000)] {
        fs::write(at.join(output), "old").unwrap();
        let line = format!("conv long.npy one.npy -o {output} --chunk {chunk}");
        let program = blockwise(line.split_whitespace());
        let mut limited = Command::new("sh");
        limited
            .current_dir(at)
            .args(["-c", "ulimit -f 32 && exec \"$0\" \"$@\""])
            .arg(program.get_program())
            .args(program.get_args());
        for (name, value) in program.get_envs() {
            limited.env(name, value.unwrap_or_default());
        }
        Run::of(&mut limited).refused("cannot write");
        assert_eq!(fs::read(at.join(output)).unwrap(), b"old");
        fs::remove_file(at.join(output)).unwrap();
        assert_eq!(names(at), ["long.npy", "one.npy", "x.npy"]);
    }
}
