//! `blockwise trace --format perfetto`: the file holds to the Trace Event format, and its sums are
//! those of the profile. Pages are looked at in a browser (`tests/browser`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::command::{Run, blockwise};

/// Two warps, each reading what the other writes, with no barrier between; two rounds, the second
/// after a barrier.
const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry exchange(.param .u64 y)
{
    .shared .align 4 .b8 tile[256];
    .reg .b32 %t, %s, %v; .reg .b64 %y;
    ld.param.u64 %y, [y];
    mov.u32 %t, %tid.x; mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s;
    st.shared.u32 [%s], %t;
    xor.b32 %s, %s, 128;
    ld.shared.u32 %v, [%s];
    bar.sync 0;
    mad.wide.u32 %y, %t, 4, %y;
    st.global.u32 [%y], %v;
    ret;
}
";

/// The events of a file.
#[track_caller]
fn events(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).expect("a file");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(file["otherData"]["steps_left_out"], 0);
    file["traceEvents"].as_array().expect("events").clone()
}

fn of<'a>(events: &'a [Value], phase: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["ph"] == phase)
}

/// The process and thread of an event.
fn thread(event: &Value) -> (u64, u64) {
    let number = |name: &str| {
        event[name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name}: {event}"))
    };
    (number("pid"), number("tid"))
}

/// What Perfetto's importer asks of the events: known phases, numbers in their places, slices that
/// do not overlap in a thread, and a name for every thread.
fn is_well_formed(events: &[Value]) {
    let known = |event: &Value| ["X", "M", "C", "i"].contains(&event["ph"].as_str().unwrap_or(""));
    assert!(events.iter().all(known));
    let mut slices: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
    for event in of(events, "X") {
        let number = |name: &str| event[name].as_u64().unwrap_or_else(|| panic!("{event}"));
        assert!(
            event["name"].is_string() && event["cat"].is_string(),
            "{event}"
        );
        assert!(number("dur") > 0, "{event}");
        let slice = (number("ts"), number("ts") + number("dur"));
        slices.entry(thread(event)).or_default().push(slice);
    }
    for (thread, slices) in &mut slices {
        slices.sort_unstable();
        for pair in slices.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "{pair:?} of {thread:?}");
        }
    }
    let named = of(events, "M").filter(|event| event["name"] == "thread_name");
    let named: BTreeSet<_> = named.map(thread).collect();
    assert_eq!(named, slices.keys().copied().collect());
    for event in of(events, "C") {
        let args = event["args"].as_object().expect("values");
        assert!(
            args.values().all(Value::is_u64) && event["ts"].is_u64(),
            "{event}"
        );
    }
}

/// The last values of a counter, summed over the processes of a range: those that are needed, and
/// all.
fn counted(events: &[Value], name: &str, processes: std::ops::Range<u64>) -> (u64, u64) {
    let mut last: BTreeMap<u64, (u64, u64, u64)> = BTreeMap::new();
    for event in of(events, "C").filter(|event| event["name"] == name) {
        let number = |value: &Value| value.as_u64().expect("a number");
        let (needed, beyond) = (
            number(&event["args"]["needed"]),
            number(&event["args"]["beyond"]),
        );
        let now = (number(&event["ts"]), needed, needed + beyond);
        let known = last.entry(number(&event["pid"])).or_default();
        *known = now.max(*known);
    }
    let values = last.range(processes).map(|(_, value)| value);
    values.fold((0, 0), |sum, value| (sum.0 + value.1, sum.1 + value.2))
}

#[test]
fn a_trace_for_perfetto_has_the_sums_of_the_profile() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| Run::line(folder.path(), line).ends(0);
    let shape = "transpose --rows 40 --cols 36 --kernel tiled,padded";
    let said = run(&format!("trace {shape} --format perfetto"));
    assert!(
        said.stdout.starts_with("trace.json: tiled, padded;"),
        "{said:?}"
    );
    let events = events(&folder.path().join("trace.json"));
    is_well_formed(&events);
    let profile = run(&format!("profile {shape} --json")).json();
    // Four blocks a launch.
    for (kernel, processes) in profile["kernels"]
        .as_array()
        .unwrap()
        .iter()
        .zip([1..5, 5..9])
    {
        let sum = |space: &str, what: &str| -> u64 {
            let kinds = ["loads", "stores"].map(|kind| format!("{space}_{kind}"));
            kinds
                .iter()
                .map(|kind| kernel["total"][kind][what].as_u64().unwrap())
                .sum()
        };
        let expected = (
            sum("shared", "needed_wavefronts"),
            sum("shared", "wavefronts"),
        );
        assert_eq!(counted(&events, "wavefronts", processes.clone()), expected);
        let expected = (sum("global", "needed_sectors"), sum("global", "sectors"));
        assert_eq!(counted(&events, "sectors", processes.clone()), expected);
        let own = |event: &&Value| processes.contains(&thread(event).0);
        let conflicts = of(&events, "X")
            .filter(own)
            .filter(|event| event["cat"] == "bank conflict");
        let slices = of(&events, "X").filter(own).count() as u64;
        assert_eq!(kernel["total"]["warp_instructions"], slices);
        assert_eq!(conflicts.count() > 0, kernel["name"] == "tiled");
        // Each of the eight warps of a block waits for the others at the barrier; the last one does
        // not.
        let barriers: Vec<&Value> = of(&events, "X")
            .filter(own)
            .filter(|event| event["cat"] == "barrier")
            .collect();
        assert_eq!(kernel["total"]["barriers"], barriers.len());
        assert!(barriers.iter().any(|event| event["dur"].as_u64() > Some(1)));
    }
    let place = of(&events, "X")
        .find(|event| event["cat"] == "bank conflict")
        .unwrap();
    let source = place["args"]["source"]
        .as_str()
        .expect("a line of the source");
    assert!(source.contains("kernels/src/transpose/"), "{source}");
    assert_eq!(place["args"]["wavefronts needed"], 1);
}

#[test]
fn findings_are_instants_at_their_step() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), PTX).unwrap();
    let launch = "k.ptx --block 64 --arg u32[64]=zeros";
    Run::line(
        folder.path(),
        &format!("trace ptx {launch} --format perfetto -o p.json"),
    )
    .ends(0);
    let events = events(&folder.path().join("p.json"));
    is_well_formed(&events);
    let check = Run::line(folder.path(), &format!("check {launch} --json"))
        .ends(1)
        .json();
    let findings = check["checks"][0]["findings"].as_array().unwrap();
    let instants: Vec<&Value> = of(&events, "i").collect();
    assert!(!findings.is_empty());
    assert_eq!(instants.len(), findings.len());
    for (instant, finding) in instants.iter().zip(findings) {
        assert_eq!(instant["args"]["rule"], finding["rule"]);
        assert_eq!(instant["ts"], finding["step"]);
        let warp = finding["site"]["thread"][0].as_u64().unwrap() / 32;
        assert_eq!(thread(instant), (1, warp + 1));
        // A slice of that warp begins there: the access itself.
        let there = of(&events, "X")
            .find(|event| event["ts"] == finding["step"])
            .unwrap();
        assert_eq!(thread(there), (1, warp + 1));
        let place = format!("{}: ", finding["site"]["place"]["ptx_line"]);
        let line = there["args"]["PTX"].as_str().unwrap();
        assert!(line.starts_with(&place), "{place}{line}");
    }
    let page = Run::line(folder.path(), &format!("trace ptx {launch}")).ends(0);
    assert!(
        page.stdout
            .starts_with("trace.html: exchange; open it in a browser"),
        "{page:?}"
    );
    assert!(
        fs::read_to_string(folder.path().join("trace.html"))
            .unwrap()
            .starts_with("<!doctype html>")
    );
}

/// What was written is also said to programs.
#[test]
fn json_says_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| Run::line(folder.path(), line).ends(0).json();
    let page = run("--json trace reverse --len 40 --kernel direct,static -o page.html");
    assert_eq!(page["command"], "trace");
    assert_eq!(page["output"], "page.html");
    assert_eq!(page["format"], "html");
    assert_eq!(page["launches"], serde_json::json!(["direct", "static"]));
    let events = run("--json trace reverse --len 40 --kernel direct --format perfetto");
    assert_eq!(
        (&events["output"], &events["format"]),
        (&"trace.json".into(), &"perfetto".into())
    );
    assert_eq!(events["steps_left_out"], 0);
    assert_eq!(
        crate::command::names(folder.path()),
        ["page.html", "trace.json"]
    );
}

/// A loop without an end is named while it runs, once, and its trace ends with the steps.
#[test]
fn an_endless_loop_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let endless = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .visible .entry k() { .reg .b32 %a; mov.u32 %a, 1;\nROUND:\n add.u32 %a, %a, 1;\n bra ROUND;\n}\n";
    fs::write(folder.path().join("k.ptx"), endless).unwrap();
    let trace = |steps: &str| {
        let mut command = blockwise(["trace", "ptx", "k.ptx", "--steps", steps]);
        command.current_dir(folder.path());
        command
    };
    let run = Run::of(&mut trace("100000")).ends(0);
    assert_eq!(run.stderr, "");
    // It is named after a second: how many steps that is depends on the machine.
    let mut endless = trace("1000000000000")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(endless.stderr.take().unwrap());
    let mut said = String::new();
    stderr.read_line(&mut said).unwrap();
    let named = "still running: block (0, 0, 0), thread (0, 0, 0) is in the loop ";
    assert!(said.starts_with(named), "{said}");
    // Progress is heard of many times in this time.
    std::thread::sleep(Duration::from_millis(300));
    endless.kill().unwrap();
    endless.wait().unwrap();
    let mut more = String::new();
    stderr.read_to_string(&mut more).unwrap();
    assert_eq!(more, "");
}
