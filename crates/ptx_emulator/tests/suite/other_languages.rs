//! Reports on what compilers of other languages make: CUDA C++, Triton, Numba. The user's line
//! stands first, with every frame that was inlined there, and hints speak the language of the
//! source.

use crate::common::{module, races, shape, with_header};
use ptx_emulator::report::{self, Sources, Style};
use ptx_emulator::{CheckReport, Finding, Module};
use std::path::Path;

/// Two warps store to the same words of global memory, each lane to its own.
fn kernel(files: &str, loc: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out) {{
    .reg .b64 %at; .reg .b32 %t, %lane;
    ld.param.u64 %at, [out]; mov.u32 %t, %tid.x;
    mov.u32 %lane, %laneid; mad.wide.u32 %at, %lane, 4, %at;
{loc}
    st.global.u32 [%at], %t;
    ret;
}}
.section .debug_str {{
$L__info_string0:
    .b8 115
}}
{files}"
    )
}

fn check(files: &str, loc: &str) -> CheckReport {
    races(&kernel(files, loc), shape(1, 64, 0))
}

#[track_caller]
fn only(files: &str, loc: &str) -> Finding {
    let [finding] = check(files, loc)
        .findings
        .try_into()
        .unwrap_or_else(|all| panic!("{all:#?}"));
    finding
}

const HEADER: &str = "/usr/local/cuda/bin/../targets/x86_64-linux/include/sm_30_intrinsics.hpp";

fn nvcc() -> (String, &'static str) {
    let files = format!(".file 1 \"/home/me/sums.cu\"\n.file 2 \"{HEADER}\"");
    let loc = "    .loc 1 40 5
    .loc 1 12 9, function_name $L__info_string0, inlined_at 1 40 5
    .loc 2 111 3, function_name $L__info_string0+7, inlined_at 1 12 9";
    (files, loc)
}

#[test]
fn nvcc_names_the_call_in_the_users_file() {
    let (files, loc) = nvcc();
    let report = check(&files, loc);
    let site = &report.findings[0].site;
    let source = site.place.source.as_ref().map(ToString::to_string);
    assert_eq!(source.as_deref(), Some("/home/me/sums.cu:12:9"));
    let text = with_header(&kernel(&files, loc));
    let sources = Sources::in_folder(Path::new("/nowhere")).with_ptx(Path::new("k.ptx"), &text);
    let text = report::text(std::slice::from_ref(&report), &sources, Style::Plain);
    let frames = format!(
        "in k at /home/me/sums.cu:12:9 (PTX line 11)
=========         in {HEADER}:111:3, inlined there
=========         inlined into /home/me/sums.cu:40:5"
    );
    assert!(text.contains(&frames), "{text}");
    let sarif: serde_json::Value =
        serde_json::from_str(&report::sarif(&[report], &sources)).expect("it is JSON");
    let frames = &sarif["runs"][0]["results"][0]["stacks"][0]["frames"];
    let lines: Vec<_> = frames.as_array().expect("it has frames").iter().collect();
    let line = |at: usize| lines[at]["location"]["physicalLocation"]["region"]["startLine"].clone();
    assert_eq!([line(0), line(1), line(2)], [111, 12, 40]);
}

#[test]
fn triton_names_the_call_in_the_users_file() {
    // With folders, as Triton writes them, and without, as in what was made to be the same on every
    // machine.
    for folder in ["/venv/lib/python3.12/site-packages/triton/language/", ""] {
        let user = if folder.is_empty() { "" } else { "/home/me/" };
        let files = format!(".file 1 \"{user}sums.py\"\n.file 2 \"{folder}standard.py\"");
        for loc in [
            "    .loc 2 216 36 // standard.py:216:36 @[ sums.py:21:28 ]",
            "    .loc 1 21 28\n    .loc 2 216 36, function_name $L__info_string0, inlined_at 1 21 28 // standard.py:216:36",
        ] {
            let finding = only(&files, loc);
            let source = finding.site.place.source.expect("it has lines");
            let name = Path::new(&source.file).file_name();
            assert_eq!(
                name.and_then(|name| name.to_str()),
                Some("sums.py"),
                "{loc}"
            );
            assert_eq!((source.line, finding.site.inlined.len()), (21, 2), "{loc}");
        }
    }
}

#[test]
fn a_kernel_is_where_the_user_wrote_it() {
    let (files, loc) = nvcc();
    let text =
        with_header(&kernel(&files, loc).replace("    ld.param", &format!("{loc}\n    ld.param")));
    let module = Module::parse(&text).expect("it is PTX");
    let location = module.entry("k").and_then(|entry| entry.location());
    let location = location.map(|location| location.to_string());
    assert_eq!(location.as_deref(), Some("/home/me/sums.cu:12:9"));
}

#[test]
fn hints_speak_the_language_of_the_source() {
    let others = [
        "sync_threads",
        "__syncthreads",
        "cuda.syncthreads",
        "bar.sync",
    ];
    for (file, said) in [
        ("src/lib.rs", "sync_threads"),
        ("sums.cu", "__syncthreads"),
        ("include/sums.cuh", "__syncthreads"),
        ("sums.py", "cuda.syncthreads"),
        ("sums.zig", "bar.sync"),
    ] {
        let files = format!(".file 1 \"{file}\"");
        let hint = only(&files, "    .loc 1 4 5").hint.expect("it has one");
        for other in others {
            // `__syncthreads` and `cuda.syncthreads` are different words.
            assert_eq!(hint.contains(other), other == said, "{file}: {hint}");
        }
    }
    let hint = only("", "").hint.expect("it has one");
    assert!(hint.contains("bar.sync"), "{hint}");
}

/// No rule's hint has words of Rust or of this crate's interface for a program in CUDA C++ or
/// Python.
#[test]
fn no_hint_speaks_rust_to_authors_of_other_languages() {
    let bodies = [
        "trap;",
        "loop: bra loop;",
        "bar.sync 0; setp.lt.u32 %p, %t, 4; @%p bar.sync 0;",
        "shfl.sync.idx.b32 %t, %t, 0, 31, 3;",
        "{ .reg .b32 %x; add.u32 %x, %x, 1; st.global.u32 [%at], %x; }",
        ".shared .b32 s; ld.shared.u32 %t, [s]; st.global.u32 [%at], %t;",
        "call f, ();",
        "st.global.u32 [%at], %t;",
        "red.relaxed.cta.global.add.u32 [%at], 1;",
        ".shared .align 4 .b32 s; cp.async.ca.shared.global [s], [%at], 4; ld.shared.u32 %t, [s];",
    ];
    for file in ["a.cu", "a.py"] {
        for body in bodies {
            let text = format!(
                ".func f() {{ .loc 1 9 1
 call f, (); ret; }}
.visible .entry k(.param .u64 out) {{
    .reg .b64 %at; .reg .b32 %t; .reg .pred %p;
    .loc 1 3 5
    ld.param.u64 %at, [out]; mov.u32 %t, %tid.x;
    {body}
    ret;
}}
.file 1 \"{file}\""
            );
            let report = checked(&text);
            assert!(!report.findings.is_empty(), "{body}");
            for finding in &report.findings {
                let hint = finding.hint.as_deref().unwrap_or_default();
                for word in [
                    "::", "panic", "bar.", "membar", "cp_async", "Limits", ".cta",
                ] {
                    let cuda = hint
                        .replace("cuda::thread_scope", "")
                        .replace("cuda::pipeline::", "");
                    assert!(!cuda.contains(word), "{file}, {body}: `{word}` in {hint}");
                }
            }
        }
    }
}

/// Two blocks of two warps, with all detectors.
fn checked(text: &str) -> CheckReport {
    use ptx_emulator::{CheckOptions, Emulator, Limits};
    let limits = Limits {
        warp_instructions: 10_000,
        ..crate::common::limits()
    };
    let emulator = Emulator::new(limits);
    let loaded = emulator.load(&module(text)).expect("the module loads");
    let buffer = emulator.alloc(64).expect("memory is there");
    let args = [&buffer.to_le_bytes()[..]];
    let config = shape(2, 64, 0);
    let options = CheckOptions::default();
    let report = emulator.check(&loaded, "k", config, &args, &options);
    report.expect("it is launched")
}
