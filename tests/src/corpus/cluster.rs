//! Clusters (9.7.13.4, 9.7.9.24), shared memory of other blocks, and copies of many bytes
//! (9.7.9.26).

use super::case::Case;
use super::rule::Rule;

/// Two blocks of 32 threads.
const THREADS: u32 = 64;
/// 16 bytes for each thread of a block at `%r2`, the same of the other block at `%r5`
/// (`.shared::cluster`) and `%l2` (generic).
const SLOTS: &str = ".shared .align 16 .b8 slots[512]; mov.u32 %r1, slots; mov.u32 %r8, %tid.x; \
                     mad.lo.u32 %r2, %r8, 16, %r1; mov.u32 %r3, %cluster_ctarank; xor.b32 %r4, %r3, 1; \
                     mapa.shared::cluster.u32 %r5, %r2, %r4; cvt.u64.u32 %l1, %r2; cvta.shared.u64 %l1, %l1; \
                     mapa.u64 %l2, %l1, %r4;";
const OWN: &str = "st.shared.v2.b64 [%r2], {%a0, %a1};";
const MEET: &str = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = specials();
    cases.extend(remote());
    cases.extend(barriers());
    cases.extend(bulk());
    cases.extend(completions());
    cases
}

/// Values and bytes that add up in the shared memory of the other block, or in global memory, and
/// the barrier object there that counts the bytes.
fn completions() -> Vec<Case> {
    let object = "mbarrier::complete_tx::bytes";
    let before = "mov.b64 %l3, 0; st.shared.v2.b64 [%r2], {%a0, %a1}; .shared .align 8 .b64 object; mov.u32 %r6, object; \
                  setp.eq.u32 %p1, %r8, 0; @%p1 mbarrier.init.shared::cta.b64 [%r6], 1; \
                  mapa.shared::cluster.u32 %r7, %r6, %r4; fence.mbarrier_init.release.cluster;";
    let wait = "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r6], 0; @!%p2 bra WAIT; \
                ld.shared.v2.b64 {%d0, %d1}, [%r2];";
    let new = |name: &str, bytes: u32, send: &str| {
        let expect = format!(
            "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], {};",
            32 * bytes
        );
        let body = format!("{SLOTS} {before} {expect} {MEET} {send} {wait} {MEET}");
        pair(name, &body).cluster(2)
    };
    let store = format!("st.async.weak.shared::cluster.{object}");
    let reduce = format!("red.async.relaxed.cluster.shared::cluster.{object}");
    let mut cases = vec![
        new(
            "st.async.b32",
            4,
            &format!("cvt.u32.u64 %r9, %a1; {store}.b32 [%r5], %r9, [%r7];"),
        ),
        new(
            "st.async.v2.b64",
            16,
            &format!("{store}.v2.b64 [%r5], {{%a1, %a0}}, [%r7];"),
        ),
        new(
            "red.async.add.u64",
            8,
            &format!("{reduce}.add.u64 [%r5+8], %a0, [%r7];"),
        ),
    ];
    for op in [
        "inc.u32", "dec.u32", "min.s32", "max.u32", "and.b32", "xor.b32", "add.s32",
    ] {
        let send = format!("cvt.u32.u64 %r9, %a1; {reduce}.{op} [%r5], %r9, [%r7];");
        cases.push(new(&format!("red.async.{op}"), 4, &send));
    }
    let wide = [
        "and.b64", "or.b64", "xor.b64", "min.u64", "max.u64", "min.s64", "max.s64", "add.f32",
        "add.f64",
    ];
    let halves = [
        "add.noftz.f16",
        "add.noftz.bf16",
        "min.f16",
        "max.f16",
        "min.bf16",
        "max.bf16",
    ];
    let narrow = [
        "and.b32", "or.b32", "xor.b32", "inc.u32", "dec.u32", "min.u32", "max.u32", "min.s32",
        "max.s32", "add.u32", "add.s32", "add.u64",
    ];
    for op in narrow {
        let form = format!("cp.reduce.async.bulk.shared::cluster.shared::cta.{object}.{op}");
        // From another array: the blocks send at the same time.
        let send = format!(
            ".shared .align 16 .b8 source[512]; mov.u32 %r9, source; mad.lo.u32 %r9, %r8, 16, %r9; st.shared.v2.b64 [%r9], {{%a1, %a0}}; \
             fence.proxy.async.shared::cta; {form} [%r5], [%r9], 16, [%r7];"
        );
        cases.push(new(&format!("cp.reduce.cluster.{op}"), 16, &send));
    }
    for op in narrow.into_iter().chain(wide).chain(halves) {
        let form = format!("cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}");
        let body = format!(
            "{SLOTS} {OWN} st.global.b64 [%out], %a1; st.global.b64 [%out+8], %a0; fence.proxy.async; {form} [%out], [%r2], 16; \
             cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; fence.proxy.async; ld.global.b64 %d0, [%out]; \
             ld.global.b64 %d1, [%out+8];"
        );
        let rule = match op {
            "add.f64" => Rule::AnyNan64,
            _ => Rule::Bits,
        };
        let case = pair(&format!("cp.reduce.global.{op}"), &body);
        cases.push(case.threads(32).rule(rule));
    }
    cases
}

fn pair(name: &str, body: &str) -> Case {
    let pair = ["b64", "b64"];
    Case::with_body(name, body, &pair, &pair.map(Into::into)).threads(THREADS)
}

fn specials() -> Vec<Case> {
    let registers = [
        "cluster_ctarank",
        "cluster_nctarank",
        "cluster_ctaid.x",
        "cluster_ctaid.y",
        "cluster_nctaid.x",
        "cluster_nctaid.z",
        "clusterid.x",
        "clusterid.y",
        "nclusterid.x",
        "nclusterid.z",
    ];
    let mut cases = Vec::new();
    for register in registers {
        for blocks in [1, 2, 4] {
            let body = format!("mov.u32 %d0, %{register};");
            let name = format!("mov.{register}.of.{blocks}");
            let case = Case::with_body(&name, &body, &["b32"], &["b32".into()]);
            cases.push(case.threads(32 * blocks).cluster(blocks));
        }
    }
    cases
}

fn remote() -> Vec<Case> {
    let new = |name: &str, before: &str, after: &str| {
        let body = format!("{SLOTS} {before} {MEET} {after} {MEET}");
        pair(name, &body).cluster(2)
    };
    let read = "ld.shared.v2.b64 {%d0, %d1}, [%r2];";
    let zero = "mov.b64 %l3, 0; st.shared.v2.b64 [%r2], {%l3, %l3};";
    let mut cases = vec![
        new(
            "ld.shared::cluster.v2.b64",
            OWN,
            "ld.shared::cluster.v2.b64 {%d0, %d1}, [%r5];",
        ),
        new(
            "ld.shared::cluster.b32",
            OWN,
            "ld.shared::cluster.b32 %r6, [%r5+4]; ld.shared::cluster.u8 %r7, [%r5+11]; \
             cvt.u64.u32 %d0, %r6; cvt.u64.u32 %d1, %r7;",
        ),
        new("mapa.u64", OWN, "ld.v2.b64 {%d0, %d1}, [%l2];"),
        new(
            "mapa.shared::cluster.u64",
            OWN,
            "cvt.u64.u32 %l4, %r2; mapa.shared::cluster.u64 %l4, %l4, %r4; \
             ld.shared::cluster.v2.b64 {%d0, %d1}, [%l4];",
        ),
        new(
            "mapa.own",
            OWN,
            "mapa.shared::cluster.u32 %r6, %r2, %r3; ld.shared::cluster.b64 %d0, [%r6]; \
             ld.shared::cluster.b64 %d1, [%r2+8];",
        ),
        new(
            "getctarank",
            OWN,
            "getctarank.shared::cluster.u32 %r6, %r5; cvt.u64.u32 %d0, %r6; getctarank.u64 %r6, %l1; cvt.u64.u32 %d1, %r6; cvt.u64.u32 %l4, %r5; getctarank.shared::cluster.u64 %r6, %l4; mad.wide.u32 %d1, %r6, 10, %d1;",
        ),
        new(
            "isspacep.shared::cluster",
            OWN,
            "isspacep.shared::cluster %p1, %l2; selp.b64 %d0, 1, 0, %p1; isspacep.shared::cta %p1, %l2; selp.b64 %d1, 1, 0, %p1;",
        ),
        new(
            "isspacep.own",
            OWN,
            "isspacep.shared::cluster %p1, %l1; selp.b64 %d0, 1, 0, %p1; isspacep.shared::cta %p1, %l1; selp.b64 %d1, 1, 0, %p1;",
        ),
        new(
            "st.shared::cluster.v2.b64",
            zero,
            &format!("st.shared::cluster.v2.b64 [%r5], {{%a1, %a0}}; {MEET} {read}"),
        ),
        new(
            "st.cluster.generic",
            zero,
            &format!("st.b64 [%l2+8], %a0; {MEET} {read}"),
        ),
    ];
    for (form, value) in [
        ("red.shared::cluster.add.u32 [%r1], ", "%r8"),
        ("red.relaxed.cluster.shared::cluster.add.u64 [%r1], ", "%a0"),
        ("red.shared::cluster.max.s64 [%r1], ", "%a1"),
        ("atom.shared::cluster.xor.b32 %r7, [%r1], ", "%r8"),
        (
            "atom.acq_rel.cluster.shared::cluster.add.u64 %l5, [%r1], ",
            "%a0",
        ),
    ] {
        // All threads of both blocks change what the first block has first.
        let opcode = form.split(' ').next().unwrap_or_default();
        let change = format!(
            "mov.u32 %r9, 0; mapa.shared::cluster.u32 %r1, %r1, %r9; {form}{value}; {MEET} \
             ld.shared::cluster.b64 %d0, [%r1]; mov.b64 %d1, 0;"
        );
        cases.push(new(opcode, zero, &change));
    }
    cases
}

fn barriers() -> Vec<Case> {
    let forms = [
        ("arrive", "wait"),
        ("arrive.aligned", "wait.aligned"),
        ("arrive.release", "wait.acquire"),
        ("arrive.release.aligned", "wait.acquire.aligned"),
    ];
    let mut cases = Vec::new();
    for (arrive, wait) in forms {
        let body = format!(
            "{SLOTS} {OWN} barrier.cluster.{arrive}; barrier.cluster.{wait}; \
             ld.shared::cluster.v2.b64 {{%d1, %d0}}, [%r5]; {MEET}"
        );
        cases.push(pair(&format!("barrier.cluster.{arrive}"), &body).cluster(2));
    }
    for aligned in ["", ".aligned"] {
        let relaxed = format!(
            "{SLOTS} {OWN} fence.acq_rel.cluster; barrier.cluster.arrive.relaxed{aligned}; barrier.cluster.wait.acquire{aligned}; \
             ld.shared::cluster.v2.b64 {{%d1, %d0}}, [%r5]; {MEET}"
        );
        let name = format!("barrier.cluster.arrive.relaxed{aligned}");
        cases.push(pair(&name, &relaxed).cluster(2));
    }
    // Each thread brings its pair to the other block and arrives at that block's object.
    let object = format!(
        "{SLOTS} .shared .align 8 .b64 object; mov.u32 %r9, object; setp.eq.u32 %p1, %r8, 0; \
         @%p1 mbarrier.init.shared::cta.b64 [%r9], 32; @%p1 fence.mbarrier_init.release.cluster; {MEET} \
         mapa.shared::cluster.u32 %r10, %r9, %r4; st.shared::cluster.v2.b64 [%r5], {{%a0, %a1}}; \
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10]; \
         WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra WAIT; \
         ld.shared.v2.b64 {{%d0, %d1}}, [%r2]; {MEET}"
    );
    cases.push(pair("mbarrier.arrive.cluster", &object).cluster(2));
    cases
}

fn bulk() -> Vec<Case> {
    let object = ".shared .align 16 .b8 box[1024]; .shared .align 8 .b64 object; mov.u32 %r9, object; mov.u32 %r1, box; \
                  mad.lo.u32 %r2, %thread, 16, %r1; setp.eq.u32 %p1, %thread, 0; \
                  @%p1 mbarrier.init.shared::cta.b64 [%r9], 1; @%p1 fence.mbarrier_init.release.cluster; bar.sync 0;";
    let wait = "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra WAIT;";
    let mut cases = Vec::new();
    for space in ["shared::cluster", "shared::cta"] {
        let form = format!("cp.async.bulk.{space}.global.mbarrier::complete_tx::bytes");
        let body = format!(
            "{object} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 1024; @%p1 {form} [%r1], [%in], 1024, [%r9]; \
             {wait} ld.shared.v2.b64 {{%d0, %d1}}, [%r2];"
        );
        cases.push(pair(&form, &body));
    }
    // Two copies for one phase, the second of another length.
    let form = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
    let parts = format!(
        "{object} @%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r9], 1024; \
         @%p1 {form} [%r1+512], [%in], 512, [%r9]; @%p1 {form} [%r1], [%in+512], 512, [%r9]; \
         @%p1 mbarrier.arrive.shared::cta.b64 _, [%r9]; {wait} ld.shared.v2.b64 {{%d0, %d1}}, [%r2];"
    );
    cases.push(pair("cp.async.bulk.parts", &parts));
    for read in ["", ".read"] {
        let body = format!(
            "{object} st.shared.v2.b64 [%r2], {{%a1, %a0}}; fence.proxy.async.shared::cta; bar.sync 0; \
             @%p1 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r1], 1024; @%p1 cp.async.bulk.commit_group; \
             @%p1 cp.async.bulk.wait_group{read} 0; @%p1 cp.async.bulk.wait_group 0; bar.sync 0; \
             ld.global.v2.b64 {{%d1, %d0}}, [%out];"
        );
        cases.push(pair(&format!("cp.async.bulk.global{read}"), &body));
    }
    let prefetch =
        "cp.async.bulk.prefetch.L2.global [%l3], 16; mov.b64 %d0, %a0; mov.b64 %d1, %a1;";
    let prefetch = format!("and.b64 %l3, %in, -16; {prefetch}");
    cases.push(pair("cp.async.bulk.prefetch.L2.global", &prefetch));
    // From the one block's shared memory to the other's.
    let form = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes";
    let across = format!(
        "{SLOTS} {OWN} .shared .align 16 .b8 inbox[512]; .shared .align 8 .b64 object; mov.u32 %r9, object; mov.u32 %r11, inbox; \
         setp.eq.u32 %p1, %r8, 0; @%p1 mbarrier.init.shared::cta.b64 [%r9], 1; @%p1 fence.mbarrier_init.release.cluster; \
         @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 512; fence.proxy.async.shared::cta; {MEET} \
         mapa.shared::cluster.u32 %r12, %r11, %r4; mapa.shared::cluster.u32 %r10, %r9, %r4; \
         @%p1 {form} [%r12], [%r1], 512, [%r10]; {wait} mad.lo.u32 %r13, %r8, 16, %r11; \
         ld.shared.v2.b64 {{%d0, %d1}}, [%r13]; {MEET}"
    );
    cases.push(pair(form, &across).cluster(2));
    cases
}
