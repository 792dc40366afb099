//! Races on shared memory, and barriers that prevent them.

use crate::common::{limits, module, races as check, shape, thread};
use ptx_emulator::{CheckOptions, Emulator, Finding, Rule, Severity, Site, report};

/// A kernel with a shared array `tile`. The body has its thread in `%t`, that thread's word in
/// `%mine`, the lane in `%lane`, and its first line is line 11 of the PTX.
fn kernel(body: &str) -> String {
    format!(
        ".shared .align 16 .b8 tile[4096];
.visible .entry k(.param .u64 out) {{
    .reg .b64 %at, %w<8>; .reg .b32 %t, %lane, %tile, %mine, %their, %r<16>; .reg .b16 %h<8>; .reg .pred %p<8>;
    ld.param.u64 %at, [out];
    mov.u32 %t, %tid.x; mov.u32 %lane, %laneid;
    mov.u32 %tile, tile;
    mad.lo.u32 %mine, %t, 4, %tile;
{body}
    ret;
}}"
    )
}

#[track_caller]
fn clean(body: &str, threads: u32) {
    let report = check(&kernel(body), shape(1, threads, 0));
    assert!(report.is_clean(), "{:#?}", report.findings);
}

#[track_caller]
fn one(body: &str, threads: u32) -> Finding {
    let report = check(&kernel(body), shape(1, threads, 0));
    let [finding] = report.findings.as_slice() else {
        panic!("{:#?}", report.findings);
    };
    finding.clone()
}

/// The rules of all findings, each of them an error.
#[track_caller]
fn errors(body: &str, threads: u32) -> Vec<Rule> {
    let report = check(&kernel(body), shape(1, threads, 0));
    assert_eq!(
        report.count(Severity::Error),
        report.findings.len(),
        "{:#?}",
        report.findings
    );
    let mut rules: Vec<Rule> = report.findings.iter().map(|finding| finding.rule).collect();
    rules.sort_unstable();
    rules
}

/// The PTX line and the thread of the earlier access, then of the later one.
fn ends(finding: &Finding) -> [(u32, u32); 2] {
    let end = |site: &Site| (site.place.ptx_line, thread(site));
    [end(&finding.others[0]), end(&finding.site)]
}

/// Thread 0 writes a word, the thread `%r0` reads it.
const PASS: &str = "setp.eq.u32 %p0, %t, 0; setp.eq.u32 %p1, %t, READER;
    @%p0 st.shared.u32 [tile], 42;
    BARRIER
    @%p1 ld.shared.u32 %r1, [tile];";

#[test]
fn a_read_after_a_write_of_another_warp() {
    let body = PASS.replace("READER", "32");
    let finding = one(&body.replace("BARRIER", ""), 64);
    assert_eq!(
        (finding.rule, finding.severity),
        (Rule::ReadAfterWrite, Severity::Error)
    );
    assert_eq!(ends(&finding), [(12, 0), (14, 32)]);
    let value = |site: &Site| site.target.expect("an access").value;
    assert_eq!(
        [value(&finding.site), value(&finding.others[0])],
        [Some(42); 2]
    );
    assert_eq!(
        finding.hint.as_deref(),
        Some("a `bar.sync 0` between PTX line 12 and PTX line 14")
    );
    clean(&body.replace("BARRIER", "bar.sync 0;"), 64);
}

#[test]
fn within_a_warp_only_a_warp_barrier_orders() {
    let body = PASS.replace("READER", "5");
    let shuffle = "shfl.sync.idx.b32 %r2, %t, 0, 31, 0xffffffff;";
    for nothing in ["", shuffle] {
        let finding = one(&body.replace("BARRIER", nothing), 32);
        assert_eq!(
            (finding.rule, finding.severity),
            (Rule::ReadAfterWrite, Severity::Warning)
        );
        assert_eq!(ends(&finding), [(12, 0), (14, 5)]);
        let hint = finding.hint.expect("it has one");
        assert!(hint.contains("bar.warp.sync"), "{hint}");
    }
    clean(&body.replace("BARRIER", "bar.warp.sync 0xffffffff;"), 32);
}

#[test]
fn a_warp_barrier_does_not_order_warps() {
    let body = PASS
        .replace("READER", "32")
        .replace("BARRIER", "bar.warp.sync 0xffffffff;");
    assert_eq!(one(&body, 64).severity, Severity::Error);
}

#[test]
fn a_write_after_a_read() {
    let body = "xor.b32 %r0, %t, 32; mad.lo.u32 %their, %r0, 4, %tile; setp.lt.u32 %p0, %t, 32; setp.ge.u32 %p1, %t, 32;
    @%p0 ld.shared.u32 %r1, [%their];
    BARRIER
    @%p1 st.shared.u32 [%mine], %t;";
    let finding = one(&body.replace("BARRIER", ""), 64);
    assert_eq!(
        (finding.rule, finding.severity),
        (Rule::WriteAfterRead, Severity::Error)
    );
    assert_eq!(finding.count, 32);
    assert_eq!(ends(&finding), [(12, 0), (14, 32)]);
    assert_eq!(finding.site.target.expect("an access").value, Some(32));
    clean(&body.replace("BARRIER", "bar.sync 0;"), 64);
}

#[test]
fn every_reader_counts_not_only_the_first() {
    // All threads read the word; one of any warp writes it.
    for writer in [0, 31, 32, 64, 127] {
        let body = format!(
            "setp.eq.u32 %p0, %t, {writer}; ld.shared.u32 %r1, [tile];\nBARRIER\n@%p0 st.shared.u32 [tile], 1;"
        );
        let report = check(&kernel(&body.replace("BARRIER", "")), shape(1, 128, 0));
        let rules = report
            .findings
            .iter()
            .map(|finding| (finding.rule, finding.severity));
        assert!(
            rules.clone().any(|found| matches!(
                found,
                (Rule::WriteAfterRead | Rule::ReadAfterWrite, Severity::Error)
            )),
            "{writer}: {:?}",
            rules.collect::<Vec<_>>()
        );
        clean(&body.replace("BARRIER", "bar.sync 0;"), 128);
    }
}

#[test]
fn two_writes() {
    let body = "and.b32 %r0, %t, 31; mad.lo.u32 %their, %r0, 4, %tile;
    st.shared.u32 [%their], VALUE;";
    let finding = one(&body.replace("VALUE", "%t"), 64);
    assert_eq!(
        (finding.rule, finding.severity),
        (Rule::WriteAfterWrite, Severity::Error)
    );
    assert_eq!(ends(&finding), [(12, 0), (12, 32)]);
    assert_eq!(finding.site.what, "write of 0x20 over 0x0, 4 bytes");
    // The same value from both.
    let finding = one(&body.replace("VALUE", "7"), 64);
    assert_eq!(finding.severity, Severity::Information);
    assert!(finding.message.contains("of the same value"));
}

#[test]
fn values_are_the_same_when_all_their_bytes_are() {
    // Each warp writes what `%r1` and `%r2` hold.
    let text = |values: &str, store: &str| {
        format!(
            "shr.u32 %r0, %t, 5; mad.lo.u32 %their, %lane, 16, %tile; {values}
    cvt.u64.u32 %w0, %r1; cvt.u16.u32 %h0, %r1;
    {store}"
        )
    };
    let same = "mov.u32 %r1, 7; mov.u32 %r2, 9;";
    for (store, others) in [
        (
            "st.shared.u8 [%their], %h0;",
            &["add.u32 %r1, %r0, 7;"] as &[&str],
        ),
        // The lowest byte is the same.
        (
            "st.shared.u16 [%their], %h0;",
            &["mad.lo.u32 %r1, %r0, 256, 7;"],
        ),
        (
            "st.shared.u32 [%their], %r1;",
            &["mad.lo.u32 %r1, %r0, 256, 7;"],
        ),
        (
            "st.shared.u64 [%their], %w0;",
            &["mad.lo.u32 %r1, %r0, 0x1000000, 7;"],
        ),
        (
            "st.shared.v2.u32 [%their], {%r1, %r2};",
            &["add.u32 %r1, %r0, 7;", "add.u32 %r2, %r0, 9;"],
        ),
    ] {
        let severity = |values: &str| one(&text(values, store), 64).severity;
        assert_eq!(severity(same), Severity::Information, "{store}");
        for other in others {
            let values = format!("{same} {other}");
            assert_eq!(severity(&values), Severity::Error, "{store} {other}");
        }
    }
}

/// Warps that hold copies of one matrix store it at one place, as XLA's products do.
#[test]
fn a_matrix_that_two_warps_store_is_compared_by_value() {
    for transposed in ["", ".trans"] {
        let text = |value: &str| {
            format!(
                ".shared .align 16 .b8 tile[256];
.visible .entry k(.param .u64 buffer) {{
    .reg .b32 %r<8>;
    mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; {value}
    mov.u32 %r3, tile; and.b32 %r4, %r1, 15; mad.lo.u32 %r3, %r4, 16, %r3;
    stmatrix.sync.aligned.m8n8.x2{transposed}.shared.b16 [%r3], {{%r1, %r2}}; ret; }}"
            )
        };
        let severities = |value: &str| {
            let report = check(&text(value), shape(1, 64, 0));
            let of = report.findings.iter().map(|finding| finding.severity);
            of.collect::<Vec<_>>()
        };
        assert_eq!(
            severities("shl.b32 %r2, %r1, 7;"),
            [Severity::Information],
            "{transposed}"
        );
        // One element of the second matrix differs.
        let other = "setp.eq.u32 %p, %r0, 45; shl.b32 %r2, %r1, 7; @%p add.u32 %r2, %r2, 0x10000;";
        let other = format!("{{ .reg .pred %p; {other} }}");
        assert_eq!(severities(&other), [Severity::Error], "{transposed}");
    }
}

#[test]
fn only_with_strict_the_same_value_is_an_error() {
    let text = module(&kernel("st.shared.u32 [tile], 7;"));
    let check = |options: CheckOptions| {
        let emulator = Emulator::new(limits());
        let loaded = emulator.load(&text).expect("the module loads");
        let buffer = emulator.alloc(4).expect("memory is there");
        let args = [&buffer.to_le_bytes()[..]];
        let report = emulator.check(&loaded, "k", shape(1, 64, 0), &args, &options);
        report.expect("it is launched")
    };
    let report = check(CheckOptions::default());
    assert_eq!(report.count(Severity::Information), 1);
    assert!(report.is_clean());
    let strict = check(CheckOptions {
        strict: true,
        ..CheckOptions::default()
    });
    assert_eq!(strict.count(Severity::Error), 1);
    assert!(!strict.passes(Severity::Error));
}

#[test]
fn what_is_worse_takes_the_place_of_what_is_only_for_information() {
    // Two pairs that write the same value, a race within the warp, and one between warps.
    let body = "and.b32 %r0, %t, 31; mad.lo.u32 %their, %r0, 4, %tile; setp.eq.u32 %p0, %t, 0; setp.eq.u32 %p1, %t, 1;
    st.shared.u32 [%their], 7;
    st.shared.u32 [%their+256], 7;
    @%p0 st.shared.u32 [tile+512], 1;
    @%p1 ld.shared.u32 %r1, [tile+512];
    st.shared.u32 [%their+1024], %t;";
    let text = module(&kernel(body));
    let check = |max_findings| {
        let emulator = Emulator::new(limits());
        let loaded = emulator.load(&text).expect("the module loads");
        let buffer = emulator.alloc(4).expect("memory is there");
        let options = CheckOptions {
            max_findings,
            ..CheckOptions::default()
        };
        let args = [&buffer.to_le_bytes()[..]];
        let report = emulator.check(&loaded, "k", shape(1, 64, 0), &args, &options);
        let report = report.expect("it is launched");
        let kept = report.findings.iter().map(|finding| finding.severity);
        (
            kept.collect::<Vec<_>>(),
            report.dropped,
            report.passes(Severity::Error),
        )
    };
    use Severity::{Error, Information, Warning};
    assert_eq!(check(100).0, [Error, Warning, Information, Information]);
    assert_eq!(check(2), (vec![Error, Warning], 2, false));
    assert_eq!(check(1), (vec![Error], 3, false));
    assert_eq!(check(0), (Vec::new(), 4, false));
}

#[test]
fn one_instruction_writes_a_word_twice() {
    let body = "shr.u32 %r0, %t, 1; mad.lo.u32 %their, %r0, 4, %tile;
    st.shared.u32 [%their], VALUE;";
    let finding = one(&body.replace("VALUE", "%t"), 32);
    assert_eq!(
        (finding.rule, finding.severity),
        (Rule::WriteAfterWrite, Severity::Error)
    );
    assert_eq!(ends(&finding), [(12, 0), (12, 1)]);
    assert_eq!(finding.count, 16);
    assert_eq!(
        one(&body.replace("VALUE", "7"), 32).severity,
        Severity::Information
    );
}

#[test]
fn a_pair_within_a_warp_and_between_warps_is_an_error() {
    // Thread 0 writes; the rest of its warp reads first, then other warps.
    let body =
        "setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [tile], 1; @!%p0 ld.shared.u32 %r1, [tile];";
    let finding = one(body, 128);
    assert_eq!((finding.severity, finding.count), (Severity::Error, 127));
    assert_eq!(ends(&finding)[1].1, 32);
}

#[test]
fn bytes_of_one_word_are_apart() {
    // Four threads of different warps share a word, each its byte; then two of them share a byte.
    let body = "shr.u32 %r0, %t, 5; add.u32 %r1, %tile, %r0; cvt.u16.u32 %h0, %t; setp.eq.u32 %p0, %lane, 0;
    @%p0 st.shared.u8 [%r1], %h0; @%p0 ld.shared.u8 %h1, [%r1];";
    clean(body, 128);
    let shared = body.replace("shr.u32 %r0, %t, 5", "shr.u32 %r0, %t, 6");
    assert_eq!(
        errors(&shared, 64),
        [Rule::WriteAfterRead, Rule::WriteAfterWrite]
    );
    // A word read meets the bytes.
    let meets = format!("{body} bar.warp.sync 0xffffffff; @%p0 ld.shared.u32 %r5, [tile];");
    assert_eq!(
        errors(&meets, 64),
        [Rule::ReadAfterWrite, Rule::WriteAfterRead]
    );
    clean(&meets.replace("bar.warp.sync 0xffffffff", "bar.sync 0"), 64);
}

#[test]
fn vectors_touch_every_word() {
    let body = "mad.lo.u32 %their, %t, 16, %tile; setp.eq.u32 %p0, %t, 40;
    st.shared.v4.u32 [%their], {%t, %t, %t, %t};
    BARRIER
    @%p0 ld.shared.u32 %r1, [tile+508];";
    let finding = one(&body.replace("BARRIER", ""), 64);
    assert_eq!(ends(&finding), [(12, 31), (14, 40)]);
    clean(&body.replace("BARRIER", "bar.sync 0;"), 64);
}

#[test]
fn a_loop_with_one_barrier_instead_of_two() {
    let body = "xor.b32 %r0, %t, 32; mad.lo.u32 %their, %r0, 4, %tile; mov.u32 %r2, 0;
again: st.shared.u32 [%mine], %r2;
    bar.sync 0;
    ld.shared.u32 %r1, [%their];
    BARRIER
    add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 3; @%p0 bra again;";
    // Warp 0 goes on while warp 1 has not yet read.
    assert_eq!(
        errors(&body.replace("BARRIER", ""), 64),
        [Rule::ReadAfterWrite, Rule::WriteAfterRead]
    );
    clean(&body.replace("BARRIER", "bar.sync 0;"), 64);
}

#[test]
fn blocks_have_shared_memory_of_their_own() {
    let report = check(&kernel("st.shared.u32 [%mine], %t;"), shape(40, 64, 0));
    assert!(report.is_clean(), "{:#?}", report.findings);
}

#[test]
fn reports_are_the_same_every_time() {
    let body = "xor.b32 %r0, %t, 33; mad.lo.u32 %their, %r0, 4, %tile;
    st.shared.u32 [%mine], %t; ld.shared.u32 %r1, [%their]; st.shared.u32 [%their], %r1;";
    let run = |_| check(&kernel(body), shape(3, 128, 0));
    let [first, second] = [0, 1].map(run);
    assert!(!first.is_clean());
    assert_eq!(first, second);
}

/// Every block writes the same word on each of some pages; the budget holds only the first.
#[test]
fn what_lies_beyond_the_memory_budget_is_said_not_to_be_watched() {
    let text = ".visible .entry k(.param .u64 buffer) {
.reg .b64 %at; .reg .b32 %b;
ld.param.u64 %at, [buffer]; mov.u32 %b, %ctaid.x;
st.global.u32 [%at], %b;
st.global.u32 [%at+1048576], %b;
ret;
}";
    let emulator = Emulator::new(limits());
    let loaded = emulator.load(&module(text)).expect("it loads");
    let buffer = emulator.alloc(2 << 20).expect("memory is there");
    let check = |race_bytes| {
        let options = CheckOptions {
            race_bytes,
            init: false,
            ..CheckOptions::default()
        };
        let args = [&buffer.to_le_bytes()[..]];
        emulator
            .check(&loaded, "k", shape(2, 1, 0), &args, &options)
            .expect("it is launched")
    };
    let all = check(CheckOptions::default().race_bytes);
    assert_eq!((all.findings.len(), all.notices.len()), (2, 0));
    let cut = check(1);
    assert_eq!(cut.findings.len(), 1);
    let [notice] = cut.notices.as_slice() else {
        panic!("{:#?}", cut.notices);
    };
    assert!(
        notice.contains("races on global memory beyond the first"),
        "{notice}"
    );
    let checks = [cut];
    let text = report::text(&checks, &report::Sources::new(), report::Style::Plain);
    assert!(text.contains("NOT ALL WAS CHECKED: 1 notice"), "{text}");
    assert!(report::json(&checks, Vec::new()).contains("--race-memory"));
    let sarif = report::sarif(&checks, &report::Sources::new());
    assert!(sarif.contains("toolExecutionNotifications") && sarif.contains("--race-memory"));
}

#[test]
fn a_counter_must_be_cleared_before_others_count() {
    let counter = "setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [tile], 0; BARRIER
        atom.shared.add.u32 %r1, [tile], 1;";
    let ordered = check(
        &kernel(&counter.replace("BARRIER", "bar.sync 0;")),
        shape(1, 64, 0),
    );
    assert!(ordered.is_clean(), "{:#?}", ordered.findings);
    // The thread that clears it counts first: its own atomic does not hide the store from the
    // others.
    let broken = check(&kernel(&counter.replace("BARRIER", "")), shape(1, 64, 0));
    let [finding] = broken.findings.as_slice() else {
        panic!("{:#?}", broken.findings);
    };
    assert_eq!(finding.rule, Rule::WriteAfterWrite);
}

#[test]
fn one_pair_of_source_lines_is_one_finding() {
    let body = ".loc 1 5 9
    st.shared.u32 [%mine], %t; st.shared.u32 [%mine+1024], %t;
    xor.b32 %r3, %t, 32; mad.lo.u32 %their, %r3, 4, %tile;
    .loc 1 6 9
    ld.shared.u32 %r1, [%their];
    .loc 1 LINE 9
    ld.shared.u32 %r2, [%their+1024];";
    let counts = |text: &str| {
        let report = check(text, shape(1, 64, 0));
        let all = report.findings.iter();
        all.map(|finding| (finding.rule, finding.count))
            .collect::<Vec<_>>()
    };
    let of = |line| {
        format!(
            "{}\n.file 1 \"loop.rs\"",
            kernel(&body.replace("LINE", line))
        )
    };
    let (before, after) = (Rule::WriteAfterRead, Rule::ReadAfterWrite);
    assert_eq!(counts(&of("6")), [(before, 64), (after, 64)]);
    let apart = [(before, 32), (before, 32), (after, 32), (after, 32)];
    assert_eq!(counts(&of("7")), apart);
    let without_lines = kernel(&body.replace(".loc 1 LINE 9", "").replace(".loc", "//"));
    assert_eq!(counts(&without_lines), apart);
}
