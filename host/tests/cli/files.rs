//! Broken, unsupported and forbidden files: one clear line, exit code 2, no output file.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{Run, blockwise, fixture, names, npy, vector};

/// A folder with sound operands.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    put("taps.npy", &vector(&[0.25, 0.5, 0.25]));
    put("signal.npy", &vector(&[1.0, -2.0, 3.0, 4.0]));
    put(
        "matrix.npy",
        &npy("'<f8'", "False", "(2, 3)", &[0; 2 * 3 * 8]),
    );
    put(
        "rows.npy",
        &npy("'<f8'", "False", "(3, 2)", &[0; 3 * 2 * 8]),
    );
    put(
        "sound.wav",
        &fs::read(fixture("speech_like_48k.wav")).unwrap(),
    );
    folder
}

/// The line is refused with a message that contains `expected`, and the folder is as it was.
#[track_caller]
fn check_refused(folder: &Path, line: &str, expected: &str) {
    let before = names(folder);
    Run::line(folder, line).refused(expected);
    assert_eq!(names(folder), before, "{line}");
}

/// A signal file with these bytes is refused.
#[track_caller]
fn check_signal(name: &str, bytes: &[u8], expected: &str) {
    let folder = folder();
    fs::write(folder.path().join(name), bytes).unwrap();
    check_refused(
        folder.path(),
        &format!("conv {name} taps.npy -o out.npy"),
        expected,
    );
}

#[test]
fn npy_that_numpy_writes_and_these_kernels_do_not_read() {
    check_signal(
        "o.npy",
        &npy("'|O'", "False", "(2,)", b"pickle"),
        "Python objects",
    );
    check_signal(
        "c.npy",
        &npy("'<c16'", "False", "(2,)", &[0; 32]),
        "complex numbers ('<c16')",
    );
}

/// The sum of a file with these bytes.
fn sum(name: &str, bytes: &[u8]) -> String {
    let folder = folder();
    fs::write(folder.path().join(name), bytes).unwrap();
    let run = Run::line(folder.path(), &format!("sum {name}")).ends(0);
    run.stdout.trim().to_owned()
}

#[test]
fn npy_of_every_type_and_order() {
    assert_eq!(
        sum("b.npy", &npy("'|b1'", "False", "(3,)", &[1, 0, 1])),
        "2"
    );
    assert_eq!(
        sum("i.npy", &npy("'|i1'", "False", "(2,)", &[0xFF, 3])),
        "2"
    );
    assert_eq!(
        sum(
            "i.npy",
            &npy("'>i4'", "False", "(2,)", &[0, 0, 1, 0, 0, 0, 0, 5])
        ),
        "261"
    );
    assert_eq!(
        sum("h.npy", &npy("'<f2'", "False", "(1,)", &[0, 0xC2])),
        "-3"
    );
    assert_eq!(
        sum(
            "u.npy",
            &npy("'<u8'", "False", "(1,)", &[0, 0, 0, 0, 1, 0, 0, 0])
        ),
        "4294967296"
    );
    let folder = folder();
    let at = folder.path();
    // Columns 0 3, 1 4, 2 5.
    let columns = npy("'|u1'", "True", "(2, 3)", &[0, 3, 1, 4, 2, 5]);
    fs::write(at.join("f.npy"), columns).unwrap();
    Run::line(at, "transpose f.npy -o t.csv").ends(0);
    assert_eq!(
        fs::read_to_string(at.join("t.csv")).unwrap(),
        "0,3\n1,4\n2,5\n"
    );
}

#[test]
fn csv_of_one_row_or_one_column_is_a_vector_or_a_matrix_as_is_wanted() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("row.csv"), "1,2,3\n").unwrap();
    fs::write(at.join("column.csv"), "1\n10\n100\n").unwrap();
    Run::line(at, "matmul row.csv column.csv -o one.csv").ends(0);
    assert_eq!(fs::read_to_string(at.join("one.csv")).unwrap(), "321.0\n");
    Run::line(at, "matmul column.csv row.csv -o all.csv").ends(0);
    let all = "1.0,2.0,3.0\n10.0,20.0,30.0\n100.0,200.0,300.0\n";
    assert_eq!(fs::read_to_string(at.join("all.csv")).unwrap(), all);
    Run::line(at, "transpose row.csv -o t.csv").ends(0);
    assert_eq!(
        fs::read_to_string(at.join("t.csv")).unwrap(),
        "1.0\n2.0\n3.0\n"
    );
    let dot = Run::line(at, "dot row.csv column.csv").ends(0);
    assert_eq!(dot.stdout, "321\n");
    Run::line(at, "transpose t.csv -o again.csv --reference row.csv").ends(0);
}

#[test]
fn what_csv_is_written_is_read_again() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("x.npy"), vector(&[f64::NAN, f64::INFINITY, -0.5])).unwrap();
    Run::line(at, "reverse x.npy -o y.csv").ends(0);
    assert_eq!(
        fs::read_to_string(at.join("y.csv")).unwrap(),
        "-0.5\ninf\nNaN\n"
    );
    Run::line(at, "reverse y.csv -o z.npy --reference x.npy").ends(0);
    let great = [0, 1, u64::MAX].map(u64::to_le_bytes).concat();
    fs::write(at.join("u.npy"), npy("'<u8'", "False", "(3, 1)", &great)).unwrap();
    Run::line(at, "transpose u.npy -o u.csv").ends(0);
    Run::line(at, "transpose u.csv -o v.npy --reference u.npy").ends(0);
    assert!(fs::read(at.join("v.npy")).unwrap().ends_with(&great));
    check_refused(at, "sum q.csv", "cannot read q.csv");
    fs::write(at.join("q.csv"), "1\n\"2\n3\n").unwrap();
    check_refused(at, "sum q.csv", "line 2: the quote is never closed");
}

#[test]
fn npy_that_is_broken() {
    let good = vector(&[1.0, 2.0]);
    check_signal("t.npy", &good[..good.len() - 1], "truncated");
    check_signal("h.npy", &good[..40], "header is truncated");
    check_signal("x.npy", &[&good[..], b"?"].concat(), "trailing bytes");
    check_signal("xx.npy", &good.repeat(2), "another array behind its own");
    check_signal("m.npy", b"1.0\n2.0\n", "magic");
    check_signal("z.npy", b"PK\x03\x04 a zip", "a ZIP archive");
    check_signal(
        "h.npy",
        b"MATLAB 7.3 MAT-file, Platform: GLNXA64",
        "MATLAB v7.3",
    );
    check_signal("r.csv", b"\x1F\x8B\x08 R", "R's .rds");
    check_signal("e.npy", b"", "empty");
    let huge = npy("'<f8'", "False", "(1152921504606846976, 9)", &[]);
    check_signal("huge.npy", &huge, "larger than this machine");
    let promised = npy("'<f8'", "False", "(100000000000,)", &[]);
    check_signal("promise.npy", &promised, "truncated");
}

#[test]
fn csv_that_is_not_numbers() {
    check_signal("e.csv", b"1\n2\n\n,\n", "line 4");
    check_signal("t.csv", b"a,b\n1,two\n", "line 2, column 2: `two`");
    check_signal("r.csv", b"1,2\n3\n", "line 2 has 1 cell,");
    check_signal("b.csv", b"1\n\xFF\n", "not UTF-8");
    // 2^53 + 1 is no float64; its neighbours are, and so are greater powers of two.
    let rounded = "element 1 is -9007199254740993, and is computed as float64, which would round";
    check_signal("l.csv", b"9007199254740992\n-9007199254740993\n", rounded);
    check_signal(
        "m.csv",
        b"340282366920938463463374607431768211457\n",
        "line 1, column 1: a float64 would keep",
    );
}

#[test]
fn csv_of_great_integers_that_are_float64() {
    let folder = folder();
    let text = "9007199254740994\n-36028797018963968\n9007199254740993.0\n";
    fs::write(folder.path().join("great.csv"), text).unwrap();
    // The last one has a decimal point, so it is rounded to 9007199254740992.
    let run = Run::line(folder.path(), "max great.csv").ends(0);
    assert_eq!(run.stdout.trim(), "9007199254740994");
}

#[test]
fn recordings_that_are_broken_or_coded_otherwise() {
    let good = fs::read(fixture("stereo_24bit_48k.wav")).unwrap();
    check_signal("t.wav", &good[..good.len() / 2], "truncated");
    check_signal("o.wav", &good[..good.len() - 1], "truncated");
    check_signal("h.wav", &good[..30], "truncated");
    check_signal("x.wav", b"ID3 and an mp3", "this is MP3");
    check_signal("n.wav", b"no sound at all", "no .wav file");
    let mut float24 = good.clone();
    float24[20] = 3;
    check_signal("d.wav", &float24, "24-bit floats");
    let mut odd = good.clone();
    let length = u32::from_le_bytes([odd[40], odd[41], odd[42], odd[43]]) - 1;
    odd[40..44].copy_from_slice(&length.to_le_bytes());
    check_signal("s.wav", &odd, "do not divide into frames");
}

#[test]
fn a_file_of_another_format_is_named_with_a_way_out() {
    let folder = folder();
    let at = folder.path();
    let sound = fs::read(at.join("sound.wav")).unwrap();
    fs::write(at.join("s.npy"), &sound).unwrap();
    fs::write(at.join("s.csv"), &sound).unwrap();
    fs::write(at.join("s"), &sound).unwrap();
    fs::write(at.join("a.wav"), vector(&[1.0])).unwrap();
    fs::write(at.join("a.txt"), "1 2\n3 4\n").unwrap();
    fs::write(at.join("a.mat"), [0; 40]).unwrap();
    fs::write(at.join("a.raw"), [1; 40]).unwrap();
    fs::write(at.join("video.wav"), b"\x1A\x45\xDF\xA3 video").unwrap();
    fs::write(at.join("noise.wav"), b"\x01\x02 noise").unwrap();
    fs::write(at.join("b.npy"), npy("'<V2'", "False", "(2,)", &[0; 4])).unwrap();
    for (line, expected, hint) in [
        ("sum s.npy", "s.npy: this is a .wav file", "end with .wav"),
        ("sum s.csv", "s.csv: this is a .wav file", "end with .wav"),
        ("sum s", "s: this is a .wav file", "end with .wav"),
        ("sum a.wav", "a.wav: this is a .npy file", "end with .npy"),
        ("sum a.txt", "a.txt: the extension", "numpy.loadtxt"),
        ("sum a.mat", "a.mat: the extension", "scipy.io.loadmat"),
        ("sum a.raw", "a.raw: the extension", "numpy.fromfile"),
        (
            "sum video.wav",
            "video.wav: this is Matroska",
            "ffmpeg -i IN",
        ),
        (
            "sum noise.wav",
            "noise.wav: this is no .wav",
            "ffmpeg -i IN",
        ),
        ("sum b.npy", "b.npy: elements are records", "bfloat16"),
        (
            "reverse taps.npy -o o.txt",
            "o.txt: the extension",
            "let the output's name end",
        ),
        (
            "transpose sound.wav -o o.npy",
            "sound.wav is sound",
            "scipy.io.wavfile.read",
        ),
        (
            "conv sound.wav matrix.npy -o o.wav",
            "matrix.npy has shape [2, 3], and beside the recording sound.wav",
            "a .wav with these channels",
        ),
        (
            "conv matrix.npy sound.wav -o o.npy",
            "matrix.npy has shape [2, 3], and beside the recording sound.wav",
            "a .wav with these channels",
        ),
    ] {
        check_refused(at, line, expected);
        let run = Run::line(at, line);
        let (_, advice) = run.stderr.split_once("\nhint: ").expect("a hint");
        assert!(advice.contains(hint), "{line}: {advice}");
    }
    // NumPy reads these names of types, too.
    let ones = [1.0_f64, 2.0].map(f64::to_le_bytes).concat();
    for name in ["'float64'", "'d'", "'<d'"] {
        assert_eq!(sum("t.npy", &npy(name, "False", "(2,)", &ones)), "3");
    }
}

#[test]
fn an_integer_that_is_computed_as_float64_has_advice_for_its_command() {
    let folder = folder();
    let at = folder.path();
    let great = ((1_i64 << 53) + 1).to_le_bytes();
    fs::write(at.join("i.npy"), npy("'<i8'", "False", "(1,)", &great)).unwrap();
    fs::write(at.join("f.npy"), vector(&[1.0])).unwrap();
    for line in ["mean i.npy", "dot i.npy f.npy", "conv i.npy i.npy -o o.npy"] {
        let run = Run::line(at, line);
        run.refused("i.npy: element 0 is 9007199254740993");
        assert!(run.stderr.contains("`array >> 32`, times 2^32"), "{run:?}");
        assert!(!run.stderr.contains("convolutions"), "{run:?}");
    }
}

#[test]
fn shapes_that_do_not_fit() {
    let folder = folder();
    let at = folder.path();
    check_refused(at, "matmul matrix.npy matrix.npy -o out.npy", "2x3");
    check_refused(
        at,
        "matmul signal.npy matrix.npy -o out.npy",
        "a matrix is wanted",
    );
    check_refused(at, "dot signal.npy taps.npy", "4 elements");
    check_refused(at, "transpose signal.npy -o out.npy", "a matrix is wanted");
    // Both shapes, whichever is wrong, and the line that mends it.
    for (line, shapes) in [
        (
            "dot matrix.npy taps.npy",
            "matrix.npy has shape [2, 3], and a vector is wanted; taps.npy has shape [",
        ),
        (
            "dot taps.npy matrix.npy",
            "matrix.npy has shape [2, 3], and a vector is wanted; taps.npy has shape [",
        ),
        (
            "conv matrix.npy rows.npy -o out.npy",
            "the signal is 2x3 and the list of taps is 3x2",
        ),
        (
            "matmul signal.npy matrix.npy -o out.npy",
            "a matrix is wanted; matrix.npy has shape [2, 3]",
        ),
        (
            "matmul matrix.npy signal.npy -o out.npy",
            "a matrix is wanted; matrix.npy has shape [2, 3]",
        ),
    ] {
        check_refused(at, line, shapes);
    }
    fs::write(at.join("none.npy"), vector(&[])).unwrap();
    check_refused(at, "min none.npy", "empty");
    check_refused(at, "conv none.npy taps.npy -o out.npy", "empty");
    check_refused(at, "matmul sound.wav matrix.npy -o out.npy", "is sound");
    let stereo = fixture("stereo_24bit_48k.wav");
    fs::write(at.join("stereo.wav"), fs::read(stereo).unwrap()).unwrap();
    check_refused(
        at,
        "conv signal.npy stereo.wav -o out.npy",
        "has 2 channels, and the signal 1",
    );
    let mut slow = fs::read(at.join("stereo.wav")).unwrap();
    slow[24..28].copy_from_slice(&44_100_u32.to_le_bytes());
    fs::write(at.join("slow.wav"), slow).unwrap();
    check_refused(
        at,
        "conv stereo.wav slow.wav -o out.wav",
        "has 44100 Hz, and stereo.wav 48000 Hz",
    );
    check_refused(
        at,
        "conv signal.npy taps.npy -o out.npy --kernel block-per-output",
        "mode full only",
    );
}

#[test]
fn places_that_cannot_be_read_or_written() {
    let folder = folder();
    let at = folder.path();
    fs::create_dir(at.join("folder.npy")).unwrap();
    check_refused(at, "sum folder.npy", "is a folder");
    check_refused(at, "sum missing.npy", "cannot read missing.npy");
    fs::write(at.join("taps.txt"), "1\n2\n").unwrap();
    check_refused(at, "sum taps.txt", ".npy, .csv, .wav");
    for (output, expected) in [
        ("no/such/out.npy", "there is no such folder"),
        ("folder.npy", "is a folder"),
        ("out.txt", ".npy, .csv, .wav"),
        ("out.wav", "only `conv` of a .wav signal"),
        ("taps.npy/out.npy", "cannot write"),
    ] {
        check_refused(
            at,
            &format!("conv signal.npy taps.npy -o {output}"),
            expected,
        );
    }
}

#[cfg(unix)]
#[test]
fn the_systems_errors_name_no_temporary_file() {
    let folder = folder();
    let run = Run::line(
        folder.path(),
        "conv signal.npy taps.npy -o taps.npy/out.npy",
    );
    run.refused("cannot write taps.npy/out.npy: Not a directory");
    assert!(!run.stderr.contains(".blockwise-"), "{run:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named_with_a_way_out() {
    let folder = folder();
    let run = Run::line(folder.path(), "conv signal.npy taps.npy -o /dev/full");
    run.refused("No space left on device");
    assert!(run.stderr.contains("hint: make room there"), "{run:?}");
}

#[test]
fn what_is_no_number_is_said_to_be_none() {
    let folder = folder();
    for line in [
        "scan signal.npy -o out.npy --axis first",
        "sum signal.npy --meeting-timeout 1s",
        "check k.ptx --steps 1e6",
        "debug --port http",
    ] {
        let run = Run::line(folder.path(), line).ends(2);
        assert!(run.stderr.contains("it is no whole number"), "{run:?}");
    }
    let json = Run::line(folder.path(), "check k.ptx --seed x --json").ends(2);
    let json = json.json();
    let error = "invalid value 'x' for '--seed <SEED>': it is no whole number";
    assert_eq!(json["error"], error);
}

#[cfg(unix)]
#[test]
fn folders_and_files_without_permission() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let at = folder.path();
    fs::create_dir(at.join("locked")).unwrap();
    fs::write(at.join("secret.npy"), vector(&[1.0])).unwrap();
    let mode = |name: &str, mode| {
        fs::set_permissions(at.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("locked", 0o555);
    mode("secret.npy", 0o000);
    if fs::write(at.join("locked/try"), "").is_ok() {
        // The handle, not `eprintln!`: the harness captures the latter in tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: files without permission: this user may do everything"
        );
        return;
    }
    check_refused(
        at,
        "conv signal.npy taps.npy -o locked/out.npy",
        "permission denied",
    );
    check_refused(at, "sum secret.npy", "cannot read secret.npy");
    assert!(names(&at.join("locked")).is_empty());
    mode("locked", 0o755);
}

/// The taps come through a pipe, for which the command waits once it has opened the signal.
#[cfg(unix)]
#[test]
fn a_file_that_becomes_shorter_while_it_is_read_is_refused() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("long.npy"), vector(&[1.0; 10_000])).unwrap();
    let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
    assert!(made.success());
    let before = names(folder.path());
    let line = "conv long.npy pipe -o out.npy --chunk 1000";
    let mut command = blockwise(line.split_whitespace());
    let command = (command.current_dir(folder.path())).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // Opens when the command does.
    let mut pipe = fs::OpenOptions::new().write(true).open(at("pipe")).unwrap();
    let long = fs::OpenOptions::new().write(true).open(at("long.npy"));
    long.unwrap().set_len(50_000).unwrap();
    pipe.write_all(&vector(&[0.5, 0.5])).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let expected = "long.npy: the file became shorter while it was read";
    assert!(stderr.contains(expected), "{stderr}");
    assert_eq!(names(folder.path()), before);
}

/// The first page of a process's memory is not there: reading it fails as a broken disk does.
#[cfg(target_os = "linux")]
#[test]
fn a_read_that_fails_is_told() {
    let folder = folder();
    for name in ["broken.npy", "broken.csv"] {
        std::os::unix::fs::symlink("/proc/self/mem", folder.path().join(name)).unwrap();
        let line = format!("conv {name} taps.npy -o out.npy");
        let expected = format!("cannot read {name}: Input/output error");
        check_refused(folder.path(), &line, &expected);
    }
}

#[test]
fn a_failed_command_leaves_an_older_output_as_it_was() {
    let folder = folder();
    fs::write(folder.path().join("out.npy"), "older").unwrap();
    check_refused(
        folder.path(),
        "matmul matrix.npy matrix.npy -o out.npy",
        "2x3",
    );
    assert_eq!(fs::read(folder.path().join("out.npy")).unwrap(), b"older");
    Run::line(folder.path(), "conv signal.npy taps.npy -o out.npy").ends(0);
    // The input itself can be the output.
    Run::line(folder.path(), "reverse signal.npy -o signal.npy").ends(0);
    let reversed = fs::read(folder.path().join("signal.npy")).unwrap();
    assert!(reversed.ends_with(&1.0_f64.to_le_bytes()));
}

#[test]
fn errors_can_be_json() {
    let folder = folder();
    let json = Run::line(folder.path(), "sum missing.npy --json")
        .ends(2)
        .json();
    assert!(
        json["error"]
            .as_str()
            .is_some_and(|error| error.contains("missing.npy")),
        "{json}"
    );
    let usage = Run::line(folder.path(), "conv --json --mode sideways")
        .ends(2)
        .json();
    let message =
        "invalid value 'sideways' for '--mode <MODE>' [possible values: full, same, valid]";
    assert_eq!(usage["error"], message);
    let missing = Run::line(folder.path(), "conv --json signal.npy")
        .ends(2)
        .json();
    let message = "the following required arguments were not provided: --output <FILE> <TAPS>";
    assert_eq!(missing["error"], message);
}

#[test]
fn unlike_types_are_promoted_to_float64() {
    let folder = folder();
    let ones = [1.0_f32.to_le_bytes(), 2.0_f32.to_le_bytes()].concat();
    fs::write(
        folder.path().join("f32.npy"),
        npy("'<f4'", "False", "(2,)", &ones),
    )
    .unwrap();
    let ty = |line: &str| Run::line(folder.path(), line).ends(0).json()["type"].clone();
    assert_eq!(ty("conv f32.npy f32.npy -o a.npy --json"), "f32");
    assert_eq!(ty("conv f32.npy taps.npy -o b.npy --json"), "f64");
    assert_eq!(ty("sum f32.npy --json"), "f32");
}
