//! The benchmarks' works on the emulator: its times say nothing, its results must be right.

use std::io::Write;
use std::path::Path;

use blockwise::{Device, PtxFile};
use blockwise_cli::bench::{self, BenchError, Commands, Options, Peer, Sizes, Source};

#[path = "cli/command.rs"]
#[allow(dead_code, reason = "this file uses only a part of it")]
mod command;

/// An emulator with subtractions where this kernel adds.
fn mistaken(kernel: &str) -> Device {
    let folder = tempfile::tempdir().expect("a folder");
    let file = PtxFile::read(&command::with_mistake(folder.path(), kernel)).expect("PTX");
    let device = Device::emulator();
    // SAFETY: the kernel reads and writes what it did, only other numbers.
    unsafe { device.replace_kernels("blockwise_kernels", file) };
    device
}

fn given(filter: &[&str], sizes: &[&str]) -> Options {
    let sizes = sizes.iter().map(|size| size.parse().expect("a size"));
    Options {
        filter: filter.iter().map(|&text| text.to_owned()).collect(),
        sizes: Sizes::Given(sizes.collect()),
        seed: 7,
        own: false,
    }
}

#[test]
fn every_rung_of_every_work_is_right_at_odd_sizes() {
    let device = Device::emulator();
    // A single number is also a square and a cube, so the vectors go by themselves.
    let vectors = given(&["sum", "min", "max", "dot", "reverse"], &["5003"]);
    let others = given(&[], &["67x35", "1009x7", "33x47x18"]);
    let [vectors, others] = [vectors, others]
        .map(|options| bench::run(&device, &options, &mut [], |_| ()).expect("a report"));
    let rows: Vec<_> = vectors.rows.iter().chain(&others.rows).collect();
    for report in [&vectors, &others] {
        assert!(report.passed(), "{}", report.table());
    }
    for work in [
        "sum/f32/5003",
        "min/f32/5003",
        "dot/i64/5003",
        "conv-same/f32/1009x7",
        "conv-full/f64/1009x7",
        "transpose/f32/67x35",
        "reverse/f32/5003",
        "matmul/f32/33x47x18",
    ] {
        let timed = |row: &&bench::Row| row.work == work && row.timing.is_some();
        assert!(rows.iter().any(timed), "{work}");
    }
    let untimed: Vec<_> = (rows.iter().filter(|row| row.timing.is_none()))
        .map(|row| row.rung.as_str())
        .collect();
    assert_eq!(untimed, ["tensor"], "the emulator has no tensor cores");
}

#[test]
fn a_kernel_that_computes_something_else_is_told() {
    let device = mistaken("sum_tree_f32");
    let report =
        bench::run(&device, &given(&["sum/f32/"], &["5003"]), &mut [], |_| ()).expect("a report");
    assert!(!report.passed());
    for row in &report.rows {
        assert_eq!(row.passed, row.rung != "tree", "{}", report.table());
    }
    assert!(report.table().contains("WRONG"), "{}", report.table());
}

#[test]
fn a_filter_that_leaves_nothing_is_an_error() {
    let device = Device::emulator();
    let error = bench::run(&device, &given(&["fft"], &["16"]), &mut [], |_| ()).unwrap_err();
    assert!(matches!(error, BenchError::NothingChosen { .. }), "{error}");
    assert!(error.to_string().contains("fft"), "{error}");
}

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
    let options = given(&["sum/f32/default", "min/f32/default"], &["503"]);
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
    if noise.contains("No module named 'numpy'") {
        let _ = writeln!(std::io::stderr(), "SKIPPED: no NumPy");
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

#[test]
fn without_a_gpu_the_command_says_what_to_do() {
    for name in ["bench", "tune"] {
        let refused = command::Run::of(&mut command::blockwise([name])).ends(2);
        assert!(
            refused.stderr.contains("cargo bench -p ptx_emulator"),
            "{refused:?}"
        );
        let emulated = command::blockwise([name, "--device", "emulator"]);
        let refused = command::Run::of(&mut { emulated }).ends(2);
        assert!(refused.stderr.contains("says nothing"), "{refused:?}");
    }
}

#[test]
fn every_policy_that_is_searched_is_right() {
    let device = Device::emulator();
    // A single number is also a square and a cube, so the vectors go by themselves.
    let vectors = given(&["sum/", "min/", "max/", "dot/"], &["5003"]);
    let others = given(&[], &["150x200", "3001x7", "3001x70", "130x19x140"]);
    let tunings =
        [vectors, others].map(|options| bench::tune(&device, &options, |_| ()).expect("a report"));
    let findings = || tunings.iter().flat_map(|tuning| &tuning.findings);
    let works: Vec<_> = findings().map(|it| it.work.as_str()).collect();
    for work in [
        "sum/f32/5003",
        "min/f32/5003",
        "max/f32/5003",
        "dot/f32/5003",
        "dot/i64/5003",
        "conv-same/f32/3001x7",
        "conv-same/f32/3001x70",
        "conv-full/f64/3001x7",
        "transpose/f32/150x200",
        "matmul/f32/130x19x140",
    ] {
        assert!(works.contains(&work), "{work}: {works:?}");
    }
    for finding in findings() {
        assert!(finding.candidates.len() > 3, "{finding:?}");
        assert!(finding.candidates.iter().all(|it| it.passed), "{finding:?}");
    }
    assert!(tunings.iter().all(bench::Tuning::passed));
    let none = given(&["sum/f32/single"], &["5003"]);
    let error = bench::tune(&device, &none, |_| ()).unwrap_err();
    assert!(matches!(error, BenchError::NothingChosen { .. }), "{error}");
}

#[test]
fn a_policy_whose_kernel_is_wrong_is_never_proposed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = command::of_crate(&ladder::KERNELS, folder.path(), "sum_single8_f32");
    let device = Device::emulator();
    let file = PtxFile::read(&file).expect("PTX");
    // SAFETY: as in `mistaken`.
    unsafe { device.replace_kernels(ladder::KERNELS.package, file) };
    let tuning = bench::tune(&device, &given(&["sum/f32/"], &["50003"]), |_| ()).expect("a report");
    let [finding] = &tuning.findings[..] else {
        panic!("{}", tuning.table());
    };
    for candidate in &finding.candidates {
        let eight = candidate.kernel == "single8" || candidate.policy.contains("8 packs");
        assert_eq!(candidate.passed, !eight, "{candidate:?}");
    }
    assert!(finding.best().is_some_and(|best| best.passed));
    assert!(tuning.passed(), "the launcher takes another");
}

#[test]
fn whole_commands_are_timed_beside_cp_and_their_results_are_compared() {
    let rows = |ours: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let commands = Commands {
            ours: ours.iter().map(Into::into).collect(),
            python: None,
            folder: folder.path().to_owned(),
        };
        let mut rows = Vec::new();
        let options = given(&["files/"], &["5003", "70001x31"]);
        bench::files(&options, &commands, |row| rows.push(row));
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 0, "files stay");
        rows
    };
    let program = env!("CARGO_BIN_EXE_blockwise");
    let right = rows(&[program, "--device", "emulator"]);
    let names: Vec<_> = (right.iter())
        .map(|row| (&*row.work, &*row.implementation, &*row.rung, row.passed))
        .collect();
    let mut expected = Vec::new();
    for work in ["files/sum/f32/5003", "files/conv/f32/70001x31"] {
        for by in ["cp", "blockwise"] {
            expected.extend(["first", "again"].map(|rung| (work, by, rung, true)));
        }
    }
    assert_eq!(names, expected, "{right:?}");
    assert!(right.iter().all(|row| row.timing.is_some()), "{right:?}");
    // A kernel that subtracts, and a program that does nothing.
    let folder = tempfile::tempdir().expect("a folder");
    let ptx = command::with_mistake(folder.path(), "sum_shuffle_f32");
    let ptx = ptx.to_str().expect("a name");
    let sum = &rows(&[program, "--device", "emulator", "--ptx", ptx])[2];
    assert!(!sum.passed && sum.check.starts_with("WRONG"), "{sum:?}");
    let nothing = rows(&["true"]);
    assert!(
        !nothing[2].passed && nothing[2].timing.is_none(),
        "{nothing:?}"
    );
}
