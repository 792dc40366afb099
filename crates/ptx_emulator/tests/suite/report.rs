//! Reports as text, JSON and SARIF. The texts stand in `tests/reports`; with BLESS=1 they are
//! written instead of compared.

use crate::common::{limits, parse, shape, with_header};
use ptx_emulator::report::{self, Document, Sources, Style};
use ptx_emulator::{
    Access, CheckOptions, CheckReport, Emulator, Finding, Limits, Place, Rule, Severity, Site,
    SourceLocation, Space, Statistics, Target,
};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Kernels of one parameter `buffer`, with the line table of `tests/reports/kernels.rs`.
const KERNELS: &str = r#"
.visible .entry double(.param .u64 buffer) {
    .reg .b64 %at, %mine; .reg .b32 %t; .reg .f32 %f;
    ld.param.u64 %at, [buffer];
    .loc 2 49 5 // crates/cuda_std/src/thread.rs:49:5 @[ tests/reports/kernels.rs:5:13 ]
    mov.u32 %t, %tid.x;
    mul.wide.u32 %mine, %t, 4;
    add.u64 %mine, %mine, %at;
    .loc 1 6 14
    ld.global.f32 %f, [%mine];
    add.f32 %f, %f, %f;
    st.global.f32 [%mine], %f;
    ret;
}
.visible .entry neighbours(.param .u64 buffer) {
    .reg .b32 %t; .reg .pred %p;
    mov.u32 %t, %tid.x;
    .loc 1 14 8
    setp.gt.u32 %p, %t, 3;
    @!%p bra END;
    .loc 2 70 5 // crates/cuda_std/src/thread.rs:70:5 @[ tests/reports/kernels.rs:15:9 @[ tests/reports/kernels.rs:9:1 ] ]
    bar.sync 0;
END:
    ret;
}
.visible .entry wait(.param .u64 buffer) {
    .reg .b64 %at; .reg .b32 %x; .reg .pred %p;
    ld.param.u64 %at, [buffer];
LOOP:
    .loc 1 21 5
    ld.volatile.global.u32 %x, [%at];
    setp.eq.u32 %p, %x, 0;
    @%p bra LOOP;
    ret;
}
.visible .entry plain(.param .u64 buffer) {
    .reg .b64 %at;
    ld.param.u64 %at, [buffer];
    st.global.u32 [%at+2], 1;
    ret;
}
.file 1 "tests/reports/kernels.rs"
.file 2 "crates/cuda_std/src/thread.rs"
"#;

/// Launches 64 threads on a buffer of 16 words.
/// The emulator's folder, from that of either package that has these tests.
const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/ptx_emulator");

fn check_kernel(kernel: &str) -> CheckReport {
    let limits = Limits {
        warp_instructions: 1000,
        ..limits()
    };
    let emulator = Emulator::new(limits);
    let module = parse(KERNELS).unwrap_or_else(|error| panic!("{error}"));
    let module = emulator.load(&module).expect("it loads");
    let buffer = emulator.alloc(64).expect("there is memory");
    emulator.write(buffer, &[0; 64]).expect("it fits");
    let (config, options) = (shape(1, 64, 0), CheckOptions::default());
    emulator
        .check(&module, kernel, config, &[&buffer.to_le_bytes()], &options)
        .expect("a sound launch")
}

fn sources() -> Sources {
    Sources::in_folder(Path::new(HERE)).with_ptx(Path::new("kernels.ptx"), &with_header(KERNELS))
}

fn site(what: &str, line: u32, thread: u32) -> Site {
    Site {
        what: what.to_owned(),
        place: place(30, "tests/reports/kernels.rs", line, 5),
        inlined: Vec::new(),
        block: [1, 0, 0],
        thread: Some([thread, 0, 0]),
        epoch: 2,
        target: Some(Target {
            access: Access::Write,
            space: Space::Shared,
            address: 0x80,
            size: 4,
            value: Some(0x2a),
        }),
    }
}

fn place(ptx_line: u32, file: &str, line: u32, column: u32) -> Place {
    let file = file.to_owned();
    Place {
        ptx_line,
        source: Some(SourceLocation { file, line, column }),
    }
}

/// A race between two lines.
fn race() -> CheckReport {
    let mut read = site("read of 4 bytes, value 0x2a", 13, 31);
    if let Some(target) = &mut read.target {
        target.access = Access::Read;
    }
    report_of(Finding {
        rule: Rule::ReadAfterWrite,
        severity: Severity::Error,
        message: "read of what another thread wrote, with no barrier between the two".to_owned(),
        site: read,
        others: vec![site("write of 4 bytes, value 0x2a", 12, 32)],
        hint: Some("put a barrier between the two lines".to_owned()),
        count: 63,
        seed: Some(7),
        step: 0,
    })
}

fn report_of(finding: Finding) -> CheckReport {
    CheckReport {
        kernel: "neighbours".to_owned(),
        findings: vec![finding],
        dropped: 0,
        notices: Vec::new(),
        schedules: 1,
        statistics: Statistics {
            blocks: 2,
            ..Statistics::default()
        },
    }
}

/// The text of these checks is the one in the file of that name.
#[track_caller]
fn check_text(name: &str, checks: &[CheckReport]) {
    let text = report::text(checks, &sources(), Style::Plain);
    let path = Path::new(HERE).join(format!("tests/reports/{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("it can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == expected,
        "{name}.txt is another one; BLESS=1 writes it\n{text}"
    );
}

#[test]
fn an_access_outside_shows_the_rust_line() {
    check_text("out_of_bounds", &[check_kernel("double")]);
}

#[test]
fn a_divergent_barrier_shows_where_the_others_are_and_what_was_inlined() {
    check_text("divergent_barrier", &[check_kernel("neighbours")]);
}

#[test]
fn an_endless_loop_ends_in_a_finding() {
    check_text("step_limit", &[check_kernel("wait")]);
}

#[test]
fn without_a_line_table_the_ptx_is_shown() {
    check_text("misaligned_in_ptx", &[check_kernel("plain")]);
}

#[test]
fn a_race_shows_both_accesses() {
    check_text("race", &[race()]);
}

#[test]
fn accesses_of_one_line_share_it() {
    let mut check = race();
    let finding = &mut check.findings[0];
    finding.rule = Rule::WriteAfterWrite;
    finding.severity = Severity::Warning;
    finding.site = site("write of 4 bytes, value 0x1", 12, 3);
    check.dropped = 2;
    check_text("race_in_one_line", &[check]);
}

#[test]
fn accesses_far_apart_have_excerpts_of_their_own() {
    let folder = Folder::new("far_apart");
    let text = "let x = 1;\n".repeat(200_000);
    std::fs::write(folder.0.join("far.rs"), text).expect("written");
    let mut check = race();
    check.findings[0].site.place = place(10, "far.rs", 3, 5);
    check.findings[0].others[0].place = place(10, "far.rs", 199_999, 5);
    let text = report::text(&[check], &Sources::in_folder(&folder.0), Style::Plain);
    assert!(
        text.contains("--> far.rs:3:5") && text.contains("far.rs:199999:5"),
        "{text}"
    );
    assert!(!text.contains("..."), "{text}");
}

#[test]
fn several_checks_have_one_summary() {
    let clean = CheckReport {
        findings: Vec::new(),
        ..race()
    };
    check_text("several", &[clean, race(), check_kernel("plain")]);
}

/// A race whose read is said to be there.
fn text_of_place(place: Place, folder: &Path) -> String {
    let mut check = race();
    check.findings[0].site.place = place;
    check.findings[0].others.clear();
    let sources =
        Sources::in_folder(folder).with_ptx(Path::new("kernels.ptx"), &with_header(KERNELS));
    report::text(&[check], &sources, Style::Plain)
}

#[test]
fn sources_that_cannot_be_shown_are_replaced_by_the_ptx() {
    let folder = Path::new(HERE);
    let ptx_line = "kernels.ptx:10";
    let kernels = "tests/reports/kernels.rs";
    let shown = |file: &str, line, column| text_of_place(place(10, file, line, column), folder);

    assert!(shown(kernels, 12, 5).contains("--> tests/reports/kernels.rs:12:5"));
    // The file was changed: its line is not there or empty. A column past the line's end leaves the
    // line.
    for (line, column) in [(1000, 1), (0, 0), (u32::MAX, u32::MAX), (2, 1)] {
        assert!(
            shown(kernels, line, column).contains(ptx_line),
            "{line}:{column}"
        );
    }
    assert!(shown(kernels, 12, 999).contains("tests/reports/kernels.rs:12"));
    for file in [
        "",
        "/",
        "..",
        "no/such/file.rs",
        "/dev/zero",
        "/dev/stdin",
        "/proc/self/maps",
        "a\0b",
        "tests",
        "~/x",
        "\u{1b}[31m.rs",
        "C:\\x.rs",
    ] {
        let text = shown(file, 1, 1);
        assert!(text.contains(ptx_line), "{file:?}: {text}");
        assert!(!text.contains(['\u{1b}', '\0']), "{file:?}: {text}");
    }
    // Neither a source nor such a line of the PTX: the report says everything else.
    assert!(text_of_place(place(9999, "x.rs", 1, 1), folder).contains("x.rs:1:1 (PTX line 9999)"));
}

/// A folder for one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn odd_files_are_shown_or_left_out_but_never_a_panic() {
    let folder = Folder::new("odd_files");
    let shown = |name: &str, bytes: &[u8], column| {
        std::fs::write(folder.0.join(name), bytes).expect("it can be written");
        text_of_place(place(10, name, 1, column), &folder.0)
    };
    let latin = shown("latin.rs", b"let gr\xfc\xdfe = 1; // \xe4", 6);
    assert!(latin.contains("--> latin.rs:1"), "{latin}");
    // A column inside a character.
    let inside = shown("inside.rs", "äöü = 1;".as_bytes(), 2);
    assert!(inside.contains("--> inside.rs:1"), "{inside}");
    let control = shown("control.rs", b"let x = \"\x1b[2J\";\r\n", 1);
    assert!(
        control.contains("control.rs") && !control.contains('\u{1b}'),
        "{control}"
    );
    let empty = shown("empty.rs", b"", 1);
    assert!(empty.contains("kernels.ptx:10"), "{empty}");
    let huge = shown("huge.rs", &vec![b'x'; 5 << 20], 1);
    assert!(huge.contains("kernels.ptx:10"), "{}", huge.len());
    let long = shown("long.rs", &vec![b'x'; 1 << 20], 1);
    assert!(long.contains("kernels.ptx:10"), "{}", long.len());
}

#[test]
fn files_of_a_workspace_are_found_from_a_crate_and_from_the_ptx() {
    let folder = Folder::new("workspace");
    let below = folder.0.join("target/ptx");
    std::fs::create_dir_all(&below).expect("a folder");
    std::fs::write(folder.0.join("found_here.rs"), "let found = 1;").expect("written");
    let place = || place(10, "found_here.rs", 1, 5);
    let from_crate = text_of_place(place(), &below);
    assert!(from_crate.contains("found = 1"), "{from_crate}");

    let mut check = race();
    check.findings[0].site.place = place();
    let sources = Sources::in_folder(Path::new("/")).with_ptx(&below.join("k.ptx"), "");
    let text = report::text(&[check], &sources, Style::Plain);
    assert!(text.contains("found = 1"), "{text}");
}

#[test]
fn colours_are_only_on_request_and_change_no_word() {
    let plain = report::text(&[race()], &sources(), Style::Plain);
    let coloured = report::text(&[race()], &sources(), Style::Coloured);
    assert!(!plain.contains('\u{1b}'));
    assert!(coloured.contains("\u{1b}[1;31m"));
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped += before;
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    assert_eq!(stripped + rest, plain);
}

#[test]
fn json_comes_back_as_written() {
    let mut checks = vec![race(), check_kernel("double"), check_kernel("neighbours")];
    if let Some(target) = &mut checks[0].findings[0].site.target {
        target.value = Some(u64::MAX);
    }
    let text = report::json(&checks, Vec::new());
    let document: Document = serde_json::from_str(&text).expect("our own form");
    assert_eq!(document, Document::new(&checks, Vec::new()));
    assert_eq!((document.version, document.errors), (1, 3));

    // What others may rely on.
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let finding = &value["checks"][0]["findings"][0];
    assert_eq!(finding["rule"], "race-read-after-write");
    assert_eq!(finding["severity"], "error");
    assert_eq!(finding["seed"], 7);
    assert_eq!(finding["site"]["target"]["value"], "0xffffffffffffffff");
    assert_eq!(finding["site"]["target"]["access"], "read");
    assert_eq!(finding["others"][0]["place"]["source"]["line"], 12);
    assert_eq!(
        finding["others"][0]["thread"],
        serde_json::json!([32, 0, 0])
    );
}

#[test]
fn every_rule_has_a_name_of_its_own_that_json_keeps() {
    let mut names: Vec<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    for &rule in Rule::ALL {
        assert_eq!(serde_json::json!(rule), rule.name());
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Rule::ALL.len());
}

#[test]
fn sarif_has_what_the_schema_asks_for() {
    let mut warning = race();
    warning.findings[0].severity = Severity::Warning;
    warning.findings[0].site.place = place(30, "/elsewhere/a b#.rs", 3, 1);
    warning.findings[0].others[0].place = place(30, "tests/reports/no such.rs", 0, 0);
    let mut nowhere = race();
    nowhere.findings[0].site.place.source = None;
    let checks = [race(), warning, nowhere];
    let log: Value = serde_json::from_str(&report::sarif(&checks, &sources())).expect("JSON");

    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "blockwise");
    let rules = driver["rules"].as_array().expect("rules");
    assert_eq!(rules.len(), Rule::ALL.len());
    for rule in rules {
        assert!(rule["id"].is_string() && rule["shortDescription"]["text"].is_string());
    }
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 3);
    for result in results {
        assert!(!result["message"]["text"].as_str().expect("text").is_empty());
        assert!(["error", "warning"].contains(&result["level"].as_str().expect("a level")));
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert_eq!(result["occurrenceCount"], 63);
        let related = result["relatedLocations"].as_array().expect("related");
        assert_eq!(related[0]["id"], 1);
        assert!(related[0]["message"]["text"].is_string());
        for location in result["locations"]
            .as_array()
            .expect("locations")
            .iter()
            .chain(related)
        {
            let physical = &location["physicalLocation"];
            let uri = physical["artifactLocation"]["uri"].as_str().expect("a URI");
            let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~/:%".contains(c);
            assert!(uri.chars().all(allowed), "{uri}");
            assert!(physical["region"]["startLine"].as_u64() >= Some(1));
            assert_ne!(physical["region"]["startColumn"], 0);
        }
    }
    let uri = |result: usize| {
        let location = &results[result]["locations"][0]["physicalLocation"];
        (
            location["artifactLocation"].clone(),
            location["region"].clone(),
        )
    };
    let root = "%SRCROOT%";
    let (artifact, region) = uri(0);
    assert_eq!(artifact["uri"], "tests/reports/kernels.rs");
    assert_eq!(artifact["uriBaseId"], root);
    assert_eq!(
        region,
        serde_json::json!({ "startLine": 13, "startColumn": 5 })
    );
    assert_eq!(uri(1).0["uri"], "file:///elsewhere/a%20b%23.rs");
    assert_eq!(uri(2).0["uri"], "kernels.ptx");
    assert_eq!(results[1]["level"], "warning");
}

#[test]
fn sarif_of_nothing_is_a_run_without_results() {
    let log: Value = serde_json::from_str(&report::sarif(&[], &sources())).expect("JSON");
    assert_eq!(log["runs"][0]["results"], serde_json::json!([]));
}
