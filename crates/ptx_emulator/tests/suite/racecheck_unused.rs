//! Copies of a computation in several warps, of which one stores in place: the copies' reads race
//! with its write. Without effect that is information, otherwise an error.

use crate::common::{limits, module, shape};
use ptx_emulator::{CheckOptions, CheckReport, Emulator, Finding, Rule, Severity};

/// Two warps load word `lane`, the warp `OWNER` stores it; `%owns` holds in its threads. The body
/// gets the word in `%x`.
fn kernel(owner: u32, body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out) {{
    .reg .b64 %at, %w<8>; .reg .b32 %t, %lane, %x, %y, %r<8>; .reg .pred %owns, %p<8>;
    ld.param.u64 %at, [out];
    mov.u32 %t, %tid.x; and.b32 %lane, %t, 31; shr.u32 %r0, %t, 5;
    setp.eq.u32 %owns, %r0, {owner};
    mad.wide.u32 %at, %lane, 4, %at;
    ld.global.u32 %x, [%at];
    add.u32 %y, %x, 1;
    {body}
    @%owns st.global.u32 [%at], %y;
    ret;
}}"
    )
}

fn check(text: &str, threads: u32, strict: bool) -> CheckReport {
    let emulator = Emulator::new(limits());
    let loaded = emulator.load(&module(text)).expect("the module loads");
    let buffer = emulator.alloc(4 * 4096).expect("memory is there");
    let options = CheckOptions {
        init: false,
        strict,
        ..CheckOptions::default()
    };
    let args = [&buffer.to_le_bytes()[..]];
    let config = shape(1, threads, 0);
    let report = emulator
        .check(&loaded, "k", config, &args, &options)
        .expect("it is launched");
    // However often it was run: each word was counted up once.
    let mut word = [0; 4];
    emulator.read(buffer + 8, &mut word).expect("it is there");
    assert_eq!(u32::from_le_bytes(word), 1);
    report
}

#[track_caller]
fn one(text: &str, strict: bool) -> Finding {
    let report = check(text, 64, strict);
    let [finding] = report.findings.as_slice() else {
        panic!("{:#?}", report.findings);
    };
    finding.clone()
}

#[test]
fn a_copy_without_effect_is_information_in_either_order() {
    let orders = [(0, Rule::ReadAfterWrite), (1, Rule::WriteAfterRead)];
    for (owner, rule) in orders {
        let text = kernel(owner, "");
        let finding = one(&text, false);
        assert_eq!(
            (finding.rule, finding.severity),
            (rule, Severity::Information)
        );
        assert!(finding.message.ends_with("; the value read has no effect"));
        assert_eq!(one(&text, true).severity, Severity::Error);
    }
}

/// Computations whose result is not used.
const UNUSED: [&str; 4] = [
    "mul.lo.u32 %r1, %x, 3; cvt.rn.f32.u32 %r2, %r1; max.u32 %x, %r1, 5;",
    "shfl.sync.bfly.b32 %r1, %x, 16, 31, -1; add.u32 %y, %r1, %y; sub.u32 %y, %y, %r1;",
    "setp.gt.u32 %p0, %x, 7; @%p0 mov.u32 %r1, 1; selp.u32 %r2, 1, 2, %p0;",
    "setp.gt.u32 %p0, %x, 7; and.pred %p1, %p0, %owns; and.pred %p2, %owns, %owns;",
];

#[test]
fn computing_with_the_value_is_no_effect() {
    for body in UNUSED {
        for owner in [0, 1] {
            let finding = one(&kernel(owner, body), false);
            assert_eq!(finding.severity, Severity::Information, "{body}");
        }
    }
}

/// What lets a copy's value take effect.
const USED: [&str; 12] = [
    "st.global.u32 [%at+1024], %x;",
    "cvt.u64.u32 %w0, %y; cvt.u32.u64 %r1, %w0; st.global.u32 [%at+1024], %r1;",
    "shfl.sync.bfly.b32 %r1, %x, 16, 31, -1; st.global.u32 [%at+1024], %r1;",
    "shfl.sync.idx.b32 %r1, %lane, %x, 31, -1;",
    "setp.gt.u32 %p0, %x, 7; selp.u32 %r1, 1, 2, %p0; red.global.add.u32 [%at+1024], %r1;",
    "setp.gt.u32 %p0, %x, 7; @%p0 bra skip; mov.u32 %r1, 0;\nskip:",
    "setp.gt.u32 %p0, %x, 7; @%p0 st.global.u32 [%at+1024], 1;",
    "setp.gt.u32 %p0, %x, 7; @%p0 mov.u32 %lane, 1; st.global.u32 [%at+1024], %lane;",
    "mul.wide.u32 %w0, %x, 0; add.u64 %w0, %w0, %at; ld.global.u32 %r1, [%w0+1024];",
    "setp.gt.u32 %p0, %x, 7; vote.sync.any.pred %p1, %p0, -1;",
    "redux.sync.add.u32 %r1, %x, -1;",
    "st.local.u32 [room], %x;",
];

/// Whether the race of the copies is an error; what they store may race too.
fn is_error(report: &CheckReport) -> bool {
    let rules = [Rule::ReadAfterWrite, Rule::WriteAfterRead];
    let mut races = report.findings.iter();
    races.any(|race| rules.contains(&race.rule) && race.severity == Severity::Error)
}

#[test]
fn an_effect_of_the_value_is_an_error() {
    for body in USED {
        for owner in [0, 1] {
            let text = kernel(owner, body);
            let text = text.replace(".reg .b64 %at", ".local .b32 room; .reg .b64 %at");
            let report = check(&text, 64, false);
            assert!(is_error(&report), "{body}: {:#?}", report.findings);
        }
    }
}

#[test]
fn one_thread_that_uses_the_value_is_enough() {
    let body = "setp.eq.u32 %p0, %t, 13; setp.eq.u32 %p1, %t, 45; or.pred %p0, %p0, %p1;
    @%p0 st.global.u32 [%at+1024], %x;";
    for owner in [0, 1] {
        let report = check(&kernel(owner, body), 64, false);
        assert!(is_error(&report), "{:#?}", report.findings);
    }
}

#[test]
fn copies_that_all_store_use_each_others_values() {
    let body = "setp.ge.u32 %owns, %t, 0; min.u32 %y, %y, 1;";
    for owner in [0, 1] {
        let report = check(&kernel(owner, body), 64, false);
        assert!(is_error(&report), "{:#?}", report.findings);
    }
}

#[test]
fn a_value_that_nobody_uses_at_all_is_no_copy() {
    for owner in [0, 1] {
        let report = check(&kernel(owner, "mov.u32 %y, 1;"), 64, false);
        assert!(is_error(&report), "{:#?}", report.findings);
    }
}
