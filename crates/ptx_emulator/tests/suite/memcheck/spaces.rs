//! Each state space and allocation.

use super::{OUT, at, check, kernel, only, options, wrong};
use crate::common::{limits, module, shape, thread};
use ptx_emulator::Access::{Atomic, Read, Write};
use ptx_emulator::{Emulator, Rule, Space};

#[test]
fn global_memory() {
    let after = [
        "0 bytes after the end of the nearest allocation of 64 bytes",
        "ends after 64 bytes",
    ];
    let past = |access, size, first: u32| {
        at(
            access,
            Space::Global,
            (64, size),
            (first, 32 - u64::from(first)),
        )
    };
    wrong(
        "",
        "ld.global.u32 %r0, [%mine];",
        OUT,
        past(Read, 4, 16),
        &after,
    );
    wrong(
        "",
        "st.global.u32 [%mine], %t;",
        OUT,
        past(Write, 4, 16),
        &after,
    );
    wrong("", "ld.u32 %r0, [%mine];", OUT, past(Read, 4, 16), &after);
    wrong(
        "",
        "red.global.add.u32 [%mine], 1;",
        OUT,
        past(Atomic, 4, 16),
        &after,
    );
    wrong(
        "",
        "mad.wide.u32 %rd0, %t, 16, %at; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%rd0];",
        OUT,
        past(Read, 16, 4),
        &after,
    );
    wrong(
        "",
        "mad.wide.u32 %rd0, %t, 8, %at; atom.global.cas.b64 %rd1, [%rd0], 0, 1;",
        OUT,
        past(Atomic, 8, 8),
        &after,
    );
    let before = at(Write, Space::Global, (4_u64.wrapping_neg(), 4), (0, 32));
    wrong(
        "",
        "st.global.u32 [%at+-4], %t;",
        OUT,
        before,
        &["4 bytes before the nearest allocation", "negative"],
    );
}

#[test]
fn pointers_to_nowhere() {
    let null = |space| at(Read, space, (8_u64.wrapping_sub(1 << 40), 4), (0, 32));
    wrong(
        "",
        "mov.u64 %rd0, 0; ld.global.u32 %r0, [%rd0+8];",
        OUT,
        null(Space::Global),
        &["null pointer"],
    );
    wrong(
        "",
        "ld.u32 %r0, [8];",
        OUT,
        null(Space::Global),
        &["null pointer"],
    );
    let odd = at(Read, Space::Generic, (u64::MAX - 3, 4), (0, 32));
    wrong(
        "",
        "mov.u64 %rd0, -4; ld.u32 %r0, [%rd0];",
        OUT,
        odd,
        &["in no memory at all"],
    );
}

#[test]
fn variables_of_the_module_are_apart() {
    let two = ".global .align 4 .b8 first[64]; .global .align 4 .b8 second[64];";
    let finding = only(check(
        two,
        "mov.u64 %rd0, first; mad.wide.u32 %rd0, %t, 4, %rd0; ld.global.u32 %r0, [%rd0];",
        16,
    ));
    assert_eq!(
        (finding.rule, thread(&finding.site), finding.count),
        (OUT, 16, 16)
    );
    let constant = ".const .align 4 .b8 table[64];";
    let finding = only(check(
        constant,
        "mov.u64 %rd0, table; mad.wide.u32 %rd0, %t, 4, %rd0; ld.const.u32 %r0, [%rd0];",
        16,
    ));
    assert_eq!((finding.rule, thread(&finding.site)), (OUT, 16));
    let finding = only(check(
        constant,
        "mov.u64 %rd0, table; st.u32 [%rd0], 1;",
        16,
    ));
    assert_eq!(finding.rule, Rule::ReadOnly);
    assert!(
        finding
            .hint
            .unwrap_or_default()
            .contains("cannot be written")
    );
}

#[test]
fn shared_memory() {
    let array = ".shared .align 16 .b8 tile[64];";
    let words = [
        "in shared memory, 0 bytes after the end of `tile` of 64 bytes",
        "shared array's length",
    ];
    let dynamic = "mov.u32 %r0, tile; mad.lo.u32 %r0, %t, 4, %r0; ";
    let static_only = |body: &str| format!("{dynamic}{body}");
    let past_all = |access| at(access, Space::Shared, (64, 4), (16, 16));
    wrong(
        array,
        &static_only("st.shared.u32 [%r0], %t;"),
        OUT,
        past_all(Write),
        &words,
    );
    wrong(
        array,
        &static_only("atom.shared.add.u32 %r1, [%r0], 1;"),
        OUT,
        past_all(Atomic),
        &words,
    );
    wrong(
        array,
        "mov.u64 %rd0, tile; cvta.shared.u64 %rd0, %rd0; mad.wide.u32 %rd0, %t, 4, %rd0; st.u32 [%rd0], %t;",
        OUT,
        past_all(Write),
        &words,
    );
    let external = ".extern .shared .align 16 .b8 dynamic[];";
    let body = "mov.u32 %r0, dynamic; mad.lo.u32 %r0, %t, 4, %r0; ld.shared.u32 %r1, [%r0];";
    wrong(
        external,
        body,
        OUT,
        at(Read, Space::Shared, (16, 4), (4, 28)),
        &["that the launch gives it"],
    );
    let rows = "mov.u32 %r0, tile; mad.lo.u32 %r0, %t, 16, %r0; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r0];";
    wrong(
        array,
        rows,
        OUT,
        at(Read, Space::Shared, (64, 16), (4, 28)),
        &words,
    );
}

#[test]
fn local_memory_and_parameters() {
    let body = ".local .align 4 .b8 array[16]; mov.u64 %rd0, array; mad.wide.u32 %rd0, %t, 4, %rd0; st.local.u32 [%rd0], %t;";
    wrong(
        "",
        body,
        OUT,
        // The array begins after a gap of 64 bytes.
        at(Write, Space::Local, (80, 4), (4, 28)),
        &[
            "in local memory, 0 bytes after the end of `array` of 16 bytes",
            "local array",
        ],
    );
    let generic = body
        .replace("mad.wide", "cvta.local.u64 %rd0, %rd0; mad.wide")
        .replace("st.local", "st");
    wrong(
        "",
        &generic,
        OUT,
        at(Write, Space::Local, (80, 4), (4, 28)),
        &["in local memory"],
    );
    let params = "mov.b64 %rd0, buffer; ld.param.u32 %r0, [%rd0+16];";
    wrong(
        "",
        params,
        OUT,
        at(Read, Space::Param, (16, 4), (0, 32)),
        &["kernel's parameters"],
    );
}

#[test]
fn a_buffer_shorter_than_its_length_says() {
    let body = "mov.u32 %r0, %ntid.x; ld.param.u64 %rd1, [length]; cvt.u64.u32 %rd2, %t; setp.lt.u64 %p0, %rd2, %rd1; @%p0 ld.global.u32 %r1, [%mine];";
    assert!(check("", body, 16).is_clean());
    let finding = only(check("", body, 20));
    assert_eq!(
        (finding.rule, thread(&finding.site), finding.count),
        (OUT, 16, 4)
    );
    let hint = finding.hint.unwrap_or_default();
    let expected = "the allocation ends after 64 bytes, but the parameters say that there are 20 elements, which are 80 bytes of 4 each: ";
    assert!(hint.starts_with(expected), "{hint}");
}

#[test]
fn freed_memory_and_allocations_of_nothing() {
    let emulator = Emulator::new(limits());
    let loaded = emulator
        .load(&module(&kernel("", "ld.global.u32 %r0, [%mine];")))
        .expect("it loads");
    let launch = |address: u64| {
        let args = [address.to_le_bytes(), [0; 8]];
        let args = args.each_ref().map(|arg| arg.as_slice());
        let options = options();
        only(
            emulator
                .check(&loaded, "k", shape(1, 32, 0), &args, &options)
                .expect("it is launched"),
        )
    };
    let stale = emulator.alloc(4096).expect("memory is there");
    emulator.free(stale).expect("it is an allocation");
    // What is allocated next does not take its place.
    let next = emulator.alloc(4096).expect("memory is there");
    assert_ne!(stale, next);
    let finding = launch(stale);
    assert!(
        finding
            .message
            .contains("at byte 0 of a freed allocation of 4096 bytes"),
        "{}",
        finding.message
    );
    assert!(
        finding
            .hint
            .unwrap_or_default()
            .contains("was freed before the launch")
    );
    // An index far past the end does not reach it either: it falls into the gap.
    let gap = launch(next + (1 << 19));
    assert_eq!(
        gap.site.target.expect("an access").address,
        next + (1 << 19)
    );
    assert!(
        gap.message
            .contains("after the end of the nearest allocation of 4096 bytes"),
        "{}",
        gap.message
    );
    let nothing = emulator.alloc(0).expect("nothing has an address");
    let finding = launch(nothing);
    assert!(
        finding
            .message
            .contains("0 bytes after the end of the nearest allocation of 0 bytes"),
        "{}",
        finding.message
    );
}

#[test]
fn accesses_up_to_the_last_byte_are_fine() {
    let tile = ".shared .align 16 .b8 tile[512];";
    let body = "setp.lt.u32 %p0, %t, 16; @%p0 st.global.u32 [%mine], %t; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%at+48];
                mov.u32 %r4, tile; mad.lo.u32 %r4, %t, 16, %r4; st.shared.v4.u32 [%r4], {%r0, %r1, %r2, %r3};
                .local .align 8 .b8 array[16]; st.local.u64 [array+8], %at; ld.param.u64 %rd0, [length];";
    let report = check(tile, body, 16);
    assert!(report.is_clean(), "{report:#?}");
}
