//! `cp.async.bulk`: many bytes at once between global and shared memory.

use crate::common::{launch, races, shape};
use ptx_emulator::{CheckReport, Fault};

const HEAD: &str = ".reg .b32 %r<12>; .reg .b64 %l<6>; .reg .pred %p<3>; .shared .align 16 .b8 s[512]; .shared .align 8 .b64 bar;
    ld.param.u64 %l0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, s; mov.u32 %r2, bar; setp.eq.u32 %p0, %r0, 0;
    mad.lo.u32 %r3, %r0, 8, %r1; mul.wide.u32 %l1, %r0, 8; add.u64 %l1, %l1, %l0;
    @%p0 mbarrier.init.shared.b64 [%r2], 1; barrier.sync 0;";
const WAIT: &str = "again: mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0; @!%p1 bra again;";
const LOAD: &str = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";

fn kernel(body: &str) -> String {
    format!(".visible .entry k(.param .u64 p) {{ {HEAD}\n{body}\nret; }}")
}

fn run(body: &str) -> Result<Vec<u64>, Box<Fault>> {
    let initial: Vec<u64> = (0..128).map(|word| 3 * word + 1).collect();
    launch(&kernel(body), shape(1, 64, 0), &initial, 128).map(|(words, _)| words)
}

/// From the buffer's first half to its second, through shared memory.
fn through(copy: &str) -> String {
    format!("{copy} ld.shared.u64 %l2, [%r3]; st.global.u64 [%l1+512], %l2;")
}

#[test]
fn bytes_come_to_shared_memory_and_the_object_knows() {
    let expected: Vec<u64> = (0..64).map(|word| 3 * word + 1).collect();
    let whole = format!(
        "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 512; @%p0 {LOAD} [%r1], [%l0], 512, [%r2]; {WAIT}"
    );
    let own = whole.replace("shared::cluster", "shared::cta");
    // The bytes may come before the object expects them.
    let early = format!(
        "mov.u32 %r4, 256; @%p0 {LOAD} [%r1], [%l0], %r4, [%r2]; @%p0 mbarrier.expect_tx.relaxed.cta.shared.b64 [%r2], 512;
         @%p0 mbarrier.arrive.shared.b64 _, [%r2]; @%p0 {LOAD} [%r1+256], [%l0+256], 256, [%r2]; {WAIT}"
    );
    for copy in [whole, own, early] {
        assert_eq!(
            run(&through(&copy)).expect("it runs")[64..],
            expected,
            "{copy}"
        );
    }
}

#[test]
fn bytes_go_to_global_memory_in_groups() {
    let body = "mul.wide.u32 %l2, %r0, 7; st.shared.u64 [%r3], %l2; fence.proxy.async.shared::cta; barrier.sync 0;
        @%p0 cp.async.bulk.global.shared::cta.bulk_group [%l0+512], [%r1], 512; @%p0 cp.async.bulk.commit_group;
        @%p0 cp.async.bulk.wait_group.read 0; @%p0 cp.async.bulk.wait_group 0;
        cp.async.bulk.prefetch.L2.global [%l0], 16;";
    let expected: Vec<u64> = (0..64).map(|word| 7 * word).collect();
    assert_eq!(run(body).expect("it runs")[64..], expected);
}

#[test]
fn bytes_go_to_the_shared_memory_of_another_block() {
    let text = ".visible .entry k(.param .u64 p) .reqnctapercluster 2 {
        .reg .b32 %r<12>; .reg .b64 %l<6>; .reg .pred %p<3>; .shared .align 16 .b8 from[64]; .shared .align 16 .b8 to[64];
        .shared .align 8 .b64 bar; ld.param.u64 %l0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1;
        setp.eq.u32 %p0, %r0, 0; mov.u32 %r3, from; mad.lo.u32 %r3, %r0, 8, %r3; mad.lo.u32 %r4, %r1, 8, %r0; cvt.u64.u32 %l1, %r4;
        st.shared.u64 [%r3], %l1; mov.u32 %r5, bar; mov.u32 %r6, to; mov.u32 %r7, from;
        @%p0 mbarrier.init.shared.b64 [%r5], 1; @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r5], 64; fence.proxy.async;
        barrier.cluster.arrive; barrier.cluster.wait;
        mapa.shared::cluster.u32 %r8, %r6, %r2; mapa.shared::cluster.u32 %r9, %r5, %r2;
        @%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r8], [%r7], 64, [%r9];
        again: mbarrier.try_wait.parity.shared.b64 %p1, [%r5], 0; @!%p1 bra again;
        mad.lo.u32 %r6, %r0, 8, %r6; ld.shared.u64 %l2, [%r6]; mul.wide.u32 %l3, %r4, 8; add.u64 %l3, %l3, %l0;
        st.global.u64 [%l3], %l2; barrier.cluster.arrive; barrier.cluster.wait; ret; }";
    let (found, _) = launch(text, shape(2, 8, 0), &[], 16).expect("it runs");
    let expected: Vec<u64> = (0..16).map(|word| word ^ 8).collect();
    assert_eq!(found, expected);
    let report = races(text, shape(2, 8, 0));
    assert!(report.is_clean(), "{:?}", report.findings);
}

#[test]
fn sizes_and_addresses_are_checked() {
    let object = "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 512;";
    for (copy, text) in [
        (
            format!("@%p0 {LOAD} [%r1], [%l0], 24, [%r2];"),
            "24 bytes; it must be a multiple of 16",
        ),
        (
            format!("@%p0 {LOAD} [%r1+8], [%l0], 16, [%r2];"),
            "misaligned",
        ),
        (
            format!("@%p0 {LOAD} [%r1], [%l0+8], 16, [%r2];"),
            "misaligned",
        ),
        (
            format!("@%p0 {LOAD} [%r1], [%l0+1008], 32, [%r2];"),
            "global",
        ),
        (
            format!("@%p0 {LOAD} [%r1+496], [%l0], 512, [%r2];"),
            "shared",
        ),
        (
            format!("@%p0 {LOAD} [%r1], [%l0], 16, [%r1+32];"),
            "not initialised",
        ),
    ] {
        let fault = run(&format!("{object} {copy}"))
            .expect_err(&copy)
            .to_string();
        assert!(fault.contains(text), "{copy}: {fault}");
    }
}

#[test]
fn a_reader_that_does_not_wait_races() {
    let check = |wait: &str| -> CheckReport {
        let copy = format!(
            "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 512; @%p0 {LOAD} [%r1], [%l0], 512, [%r2]; {wait}"
        );
        races(&kernel(&through(&copy)), shape(1, 64, 0))
    };
    let report = check(WAIT);
    assert!(report.is_clean(), "{:?}", report.findings);
    assert!(!check("").is_clean());
}
