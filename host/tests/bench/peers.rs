//! Peers of the benchmark: a script, other builds, and `bench/peers.py` without a GPU.

use std::io::Write;
use std::path::{Path, PathBuf};

use blockwise::Device;
use blockwise_cli::bench::{self, Options, Peer, Sizes, Source};

use crate::{command, given};

/// A peer with an entry that takes 1 ms, one that is absent, and one that is wrong. What `END` is
/// replaced by is done instead of the third timing.
const PEER: &str = r#"
import json, sys
names = ["right", "absent", "wrong"]
def answer(what):
    print(json.dumps(what), flush=True)
timings = 0
for line in sys.stdin:
    ((what, about),) = json.loads(line).items()
    if what == "versions":
        answer({"versions": {"other": "1.0"}})
    elif what == "load":
        answer({"loaded": [{"implementation": "other", "rung": name, "policy": ""} for name in names]})
    elif what == "time" and names[about["entry"]] == "absent":
        answer({"failed": "skipped: no such package"})
    elif what == "time":
        timings += 1
        if timings == 3: pass  # END
        answer({"timed": [1e-3] * about["launches"]})
    elif what == "check":
        right = names[about["entry"]] == "right"
        answer({"checked": {"check": "exactly" if right else "WRONG: 1 elements", "passed": right}})
    else:
        answer({"kernels": ["first", "second"]})
"#;

/// The peer by this script; `None`, visibly, without Python.
fn peer(folder: &Path, script: &str) -> Option<Peer> {
    let path = folder.join("peer.py");
    std::fs::write(&path, script).unwrap();
    match Peer::start(&Source::Script(path), Path::new("python3"), "emulator") {
        Ok(peer) => Some(peer),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "SKIPPED: no Python: {error}");
            None
        }
    }
}

#[test]
fn peers_are_compared_by_turns_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let Some(peer) = peer(folder.path(), PEER) else {
        return;
    };
    let device = Device::emulator();
    let options = given(&["sum/f32/default", "sum/f32/shuffle"], &["5003"]);
    let mut counts = Vec::new();
    let done = |report: &bench::Report| counts.push(report.rows.len());
    let report = bench::run(&device, &options, &mut [peer], done).expect("a report");
    assert_eq!(counts, [1, 2, 3, 4, 5], "a row at a time");
    let [default, shuffle, right, absent, wrong] = &report.rows[..] else {
        panic!("{}", report.table());
    };
    assert_eq!([default, shuffle].map(|row| row.ratio), [None; 2]);
    assert_eq!(
        (right.implementation.as_str(), right.bytes, right.passed),
        ("other", 4 * 5003, true)
    );
    let ratio = right.ratio.expect("a ratio");
    assert!(ratio.pairs >= 6 && ratio.low <= ratio.median && ratio.median <= ratio.high);
    // The peer's 1 ms is the same in every launch, ours is not.
    let itself = right.itself.expect("the peer against itself");
    assert_eq!((itself.low, itself.high), (1.0, 1.0));
    let copied = right.of_copy.expect("a share") * report.ceilings.copy_bytes_per_second;
    assert!(
        (copied / (4.0 * 5003.0 / 1e-3) - 1.0).abs() < 1e-9,
        "{copied}"
    );
    assert_eq!(
        (absent.timing, absent.ratio, absent.passed),
        (None, None, false)
    );
    assert!(absent.check.contains("no such package"));
    assert!(!wrong.passed && wrong.check.contains("WRONG"));
    assert!(
        report.passed(),
        "a peer that is absent or wrong is no failure"
    );
    let markdown = report.markdown();
    for text in [
        "other 1.0",
        "| 1.000 ms | 1.000 ms | 1.000 ms |",
        "no such package",
    ] {
        assert!(markdown.contains(text), "{markdown}");
    }
    let svg = bench::svg(&report);
    assert!(
        svg.contains(">sum/f32/5003<") && svg.contains(">other 1.0<"),
        "{svg}"
    );
    assert_eq!(report.summary, None, "these sizes are not drawn");
}

#[test]
fn a_peer_that_ends_early_leaves_what_there_was_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::emulator();
    let options = given(&["sum/f32/default", "dot/f32/default"], &["503"]);
    for (end, how) in [
        ("raise SystemExit(3)", "peer.py failed: exit status: 3"),
        ("print('noise', flush=True)", "a line that is no answer"),
        (
            "answer({'kernels': []}); continue",
            "it answers another request",
        ),
    ] {
        let Some(peer) = peer(folder.path(), &PEER.replace("pass  # END", end)) else {
            return;
        };
        let mut peers = [peer];
        let report = bench::run(&device, &options, &mut peers, |_| ()).expect("a report");
        let ours = report
            .rows
            .iter()
            .filter(|row| row.implementation == bench::OURS);
        assert_eq!(ours.count(), 2, "{}", report.table());
        assert!(
            report.rows.iter().any(|row| row.check.contains(how)),
            "{}",
            report.table()
        );
        let failure = peers[0].failure().expect("why it ended");
        assert!(failure.to_string().contains(how), "{failure}");
        let _ = std::fs::remove_file(folder.path().join("peer.py"));
    }
}

#[test]
fn shapes_at_random_are_summed_up_with_what_the_worst_did() {
    let folder = tempfile::tempdir().unwrap();
    let Some(peer) = peer(folder.path(), PEER) else {
        return;
    };
    let device = Device::emulator();
    let options = Options {
        sizes: Sizes::Random(9),
        ..given(&[], &[])
    };
    let report = bench::run(&device, &options, &mut [peer], |_| ()).expect("a report");
    assert!(report.passed(), "{}", report.table());
    let ours = report
        .rows
        .iter()
        .filter(|row| row.implementation == bench::OURS);
    assert!(
        ours.clone()
            .all(|row| row.rung == "default" && row.launched.contains("blocks of"))
    );
    assert_eq!(ours.count(), 9, "one of each operation");
    let summary = report.summary.as_ref().expect("a summary");
    let all = summary.groups.last().expect("a group");
    assert_eq!(
        (all.name.as_str(), all.shapes),
        ("all", 9),
        "the wrong entry does not count"
    );
    assert!(
        summary
            .worst
            .iter()
            .all(|it| it.other.ends_with("other right: first, second"))
    );
    assert_eq!(
        summary.itself.as_ref().map(|it| (it.shapes, it.at_one)),
        Some((9, 9))
    );
    let text = report.table();
    assert!(
        text.contains("seed 7") && text.contains("the fastest peer against itself"),
        "{text}"
    );
    let json = serde_json::to_string(&report).expect("JSON");
    let again = serde_json::from_str::<bench::Report>(&json).expect("a report");
    let worst = |report: bench::Report| report.summary.expect("a summary").worst.len();
    assert_eq!((again.rows.len(), worst(again)), (report.rows.len(), 9));
}

#[test]
fn every_kernel_is_right_at_shapes_of_any_kind() {
    let device = Device::emulator();
    let options = Options {
        sizes: Sizes::Random(45),
        own: true,
        ..given(&[], &[])
    };
    let report = bench::run(&device, &options, &mut [], |_| ()).expect("a report");
    assert!(report.passed(), "{}", report.table());
    let has = |what: &str| report.rows.iter().any(|row| row.work.contains(what));
    for part in ["@0", "@1", "+1", "conv-", "scan/", "f64", "i64"] {
        assert!(has(part), "{part} in {}", report.table());
    }
    let compared = report.rows.iter().filter(|row| row.ratio.is_some());
    assert!(compared.clone().count() > 100);
    assert!(
        compared
            .clone()
            .all(|row| row.implementation == bench::OURS)
    );
    let summary = report.summary.as_ref().expect("a summary");
    assert_eq!(summary.against, bench::Against::Own);
    assert_eq!(summary.itself, None);
}

#[test]
fn another_build_is_a_peer_of_its_own_kernels() {
    let build = Source::Build(env!("CARGO_BIN_EXE_blockwise").into());
    let start = || Peer::start(&build, Path::new("python3"), "emulator").expect("the command");
    let device = Device::emulator();
    // Each kernel beside that of the same name.
    let options = given(&["sum/f32/shuffle", "sum/f32/tree/"], &["5003"]);
    let report = bench::run(&device, &options, &mut [start()], |_| ()).expect("a report");
    let rows: Vec<_> = (report.rows.iter())
        .map(|row| (row.rung.as_str(), row.ratio.is_some(), row.passed))
        .collect();
    let ours = [("tree", false, true), ("shuffle", false, true)];
    let theirs = [("tree", true, true), ("shuffle", true, true)];
    assert_eq!(rows, [ours, theirs].concat());
    let versions: Vec<_> = report.run.versions.keys().collect();
    assert!(versions[0].starts_with("build:"), "{versions:?}");
    // At random, the default beside the default.
    let options = Options {
        sizes: Sizes::Random(9),
        ..given(&[], &[])
    };
    let report = bench::run(&device, &options, &mut [start()], |_| ()).expect("a report");
    let theirs = report
        .rows
        .iter()
        .filter(|row| row.implementation != bench::OURS);
    assert!(
        theirs
            .clone()
            .all(|row| row.passed && row.rung == "default"),
        "{}",
        report.table()
    );
    assert_eq!(theirs.count(), 9);
    let summary = report.summary.expect("a summary");
    assert!(summary.worst[0].other.contains("default: "), "{summary:?}");
}

/// Whether a peer from such a source is told that it is enough to compare some of the results.
fn is_told_brief(source: fn(PathBuf) -> Source) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let (program, told) = (folder.path().join("peer"), folder.path().join("told"));
    let script = format!(
        "#!/bin/sh
        read -r versions; echo '{{\"versions\": {{}}}}'
        read -r load; echo \"$load\" > {told:?}; echo '{{\"loaded\": []}}'
        read -r last"
    );
    // By another process: a file that this one has open for writing may not be run.
    let mut copied = std::process::Command::new("sh");
    copied.args(["-c", r#"printf %s "$1" > "$0" && chmod +x "$0""#]);
    let copied = copied.arg(&program).arg(script).status();
    assert!(copied.expect("a shell").success());
    let peer = Peer::start(&source(program), Path::new("sh"), "emulator").expect("a peer");
    let options = given(&["sum/f32/default"], &["5003"]);
    let device = Device::emulator();
    let report = bench::run(&device, &options, &mut [peer], |_| ()).expect("a report");
    assert!(report.passed(), "{}", report.table());
    let told: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(told).unwrap()).expect("a request");
    told["load"]["brief"].as_bool().expect("an answer")
}

#[test]
fn beside_another_build_some_of_the_results_are_compared() {
    assert!(is_told_brief(Source::Build));
    assert!(!is_told_brief(Source::Script));
}

#[test]
fn what_is_no_build_says_so() {
    let missing = Source::Build("/nothing/here".into());
    let error = Peer::start(&missing, Path::new("python3"), "emulator").err();
    let text = error.expect("no such program").to_string();
    assert!(text.contains("cannot run /nothing/here"), "{text}");
    assert!("build:".parse::<Source>().is_err());
    let device = Device::emulator();
    let folder = tempfile::tempdir().unwrap();
    // An older build does not know the option: it ends, and what we did stays.
    let other = [
        "--device",
        "emulator",
        "bench",
        "--random",
        "1",
        "--filter",
        "sum/f32",
        "--peers",
        "build:/bin/false",
        "--output",
        "out",
    ];
    let mut command = command::program();
    let refused = command::Run::of(command.args(other).current_dir(folder.path())).ends(2);
    for text in [
        "build:/bin/false failed: exit status: 1",
        "--random",
        "sum/f32/",
    ] {
        assert!(refused.stderr.contains(text), "{text} in {refused:?}");
    }
    assert!(folder.path().join("out/results.json").is_file());
    drop(device);
}

/// A CuPy without a GPU: the first read of an array is a fault that takes the context.
const FAULTY_CUPY: &str = r#"
lost = False
class Any:
    nbytes = 0
    attributes = {"L2CacheSize": 1, "MultiProcessorCount": 1}
    def __init__(self, *_): pass
    def __getattr__(self, _): return Any()
    def __call__(self, *_, **__): return Any()
    def __imul__(self, _): return self
    def __isub__(self, _): return self
    def __getitem__(self, _):
        global lost
        lost = True
        raise RuntimeError("illegal access")
    def synchronize(self):
        if lost: raise RuntimeError("the context is lost")
    def __del__(self):
        if lost: raise RuntimeError("noise")
class cuda(Any): Device = Event = Any
RawKernel, dtype, float32, empty, random = Any, Any, "float32", Any(), Any()
get_default_memory_pool, uint8 = Any(), "uint8"
__version__ = "0"
"#;

/// What `bench/peers.py` answers to these requests, with the CuPy of a folder; `None`, visibly,
/// without Python or NumPy.
fn answers(cupy: &Path, requests: &[String]) -> Option<Vec<serde_json::Value>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/peers.py");
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("requests");
    std::fs::write(&input, requests.join("\n")).unwrap();
    let mut python = std::process::Command::new("python3");
    python.arg("-B").arg(script).env("PYTHONPATH", cupy);
    python.stdin(std::fs::File::open(&input).unwrap());
    let output = match python.output() {
        Ok(output) => output,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "SKIPPED: no Python: {error}");
            return None;
        }
    };
    let noise = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout);
    if [&noise, &said]
        .iter()
        .any(|text| text.contains("No module named 'numpy'"))
    {
        let hint = "`cargo xtask setup --browser` installs it";
        let _ = writeln!(std::io::stderr(), "SKIPPED: no NumPy here; {hint}");
        return None;
    }
    assert!(
        output.status.success() && !noise.contains("noise"),
        "{noise}"
    );
    let lines = serde_json::Deserializer::from_slice(&output.stdout);
    let lines: Result<Vec<_>, _> = lines.into_iter().collect();
    Some(lines.expect("lines of JSON"))
}

fn load(operation: &str, ty: &str, size: &[usize], more: &str) -> String {
    let bytes = 8 * size.iter().product::<usize>();
    format!(
        r#"{{"load": {{"work": "w", "operation": "{operation}", "type": "{ty}", "size": {size:?}, "bytes": {bytes}, "operations": 1, {more}}}}}"#
    )
}

fn of_entry(what: &str, entry: usize) -> String {
    let launches = if what == "time" {
        r#", "launches": 3"#
    } else {
        ""
    };
    format!(r#"{{"{what}": {{"entry": {entry}{launches}}}}}"#)
}

#[test]
fn a_peer_that_loses_the_context_is_told_and_the_rest_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cupy.py"), FAULTY_CUPY).unwrap();
    std::fs::write(folder.path().join("torch.py"), "raise ImportError('none')").unwrap();
    let whole = r#""brief": false"#;
    let requests = [
        load("reverse", "f32", &[9], whole),
        of_entry("time", 0),
        of_entry("time", 1),
        of_entry("time", 2),
        load("conv-same", "f32", &[99, 64], whole),
        of_entry("time", 0),
        load("conv-same", "f32", &[99, 65], whole),
        load("conv-same", "f32", &[99, 64], r#""brief": true"#),
        load("nothing", "f32", &[9], whole),
    ];
    let Some(answers) = answers(folder.path(), &requests) else {
        return;
    };
    let has = |at: usize, rung: &str| {
        let entries = answers[at]["loaded"].as_array().expect("entries");
        entries.iter().any(|entry| entry["rung"] == rung)
    };
    assert_eq!(answers[1]["failed"], "skipped: ImportError: none");
    assert_eq!(
        answers[2]["failed"],
        "skipped: RuntimeError: illegal access"
    );
    let lost = "skipped: cupy out[...] = input[::-1] lost the CUDA context";
    assert!(has(0, "dynamic"), "the twins too: {answers:?}");
    assert_eq!([&answers[3]["failed"], &answers[5]["failed"]], [lost; 2]);
    // Our rung takes 64 taps at most, and so does its twin.
    assert!(has(4, "window") && has(6, "blocked") && !has(6, "window"));
    assert!(has(7, "conv1d (cuDNN)") && !has(7, "window") && !has(7, "document: shared memory"));
    assert_eq!(answers[8]["loaded"], serde_json::json!([]));
}

/// The script's inputs, calls and references, with NumPy for the device.
#[test]
fn what_peers_compare_is_right_for_every_kind_of_shape() {
    let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_cupy");
    let kinds: &[(&str, &str, &[usize], &str)] = &[
        ("sum", "f32", &[5003], "null"),
        ("sum", "i64", &[3, 40, 7], "0"),
        ("sum", "f64", &[30, 40], "1"),
        ("min", "f32", &[501], "null"),
        ("min", "i64", &[20, 31], "0"),
        ("max", "f64", &[3, 5, 7], "2"),
        ("mean", "f32", &[501], "null"),
        ("mean", "f64", &[30, 40], "1"),
        ("argmin", "f32", &[501], "null"),
        ("argmin", "f64", &[20, 31], "0"),
        ("argmax", "i64", &[3, 5, 7], "2"),
        ("dot", "i64", &[99], "null"),
        ("conv-same", "f32", &[99, 8], "null"),
        ("conv-full", "f64", &[99, 65], "null"),
        ("conv-valid", "f32", &[64, 63], "null"),
        ("transpose", "f64", &[9, 5], "null"),
        ("reverse", "f32", &[9], "null"),
        ("reverse", "f32", &[9, 4, 3], "1"),
        ("scan", "i32", &[9, 4, 5], "1"),
        ("scan", "f32", &[999], "null"),
    ];
    // CuPy's is the entry after PyTorch's, or the first.
    let entry = |operation: &str| usize::from(operation != "dot" && !operation.starts_with("conv"));
    let mut requests = Vec::new();
    for &(operation, ty, size, axis) in kinds {
        for offset in [0, 1] {
            let more = format!(r#""axis": {axis}, "offset": {offset}, "brief": true"#);
            requests.push(load(operation, ty, size, &more));
            requests.push(of_entry("time", entry(operation)));
            requests.push(of_entry("check", entry(operation)));
        }
    }
    let Some(answers) = answers(&fake, &requests) else {
        return;
    };
    assert_eq!(answers.len(), requests.len());
    for (request, answer) in requests.chunks(3).zip(answers.chunks(3)) {
        let seconds = answer[1]["timed"].as_array().map(Vec::len);
        assert_eq!(seconds, Some(3), "{request:?}: {answer:?}");
        assert_eq!(
            answer[2]["checked"]["passed"], true,
            "{request:?}: {answer:?}"
        );
    }
}
