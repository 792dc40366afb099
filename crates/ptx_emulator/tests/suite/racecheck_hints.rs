//! What hints say: they name what is missing where it is missing, not what is already there.

use crate::common::{limits, module, shape};
use ptx_emulator::report::{self, Sources, Style};
use ptx_emulator::{CheckOptions, CheckReport, Emulator, Finding, Rule};

/// A launch of a kernel `k` of clusters, whose blocks are the third number. The body has the buffer in `%at`, its
/// thread in `%t`, its block in `%b`, the lane in `%lane`, a shared array `tile` and a barrier object
/// `object`.
#[track_caller]
fn check(body: &str, (grid, threads, cluster): (u32, u32, u32)) -> CheckReport {
    let text = format!(
        ".shared .align 16 .b8 tile[4096]; .shared .align 8 .b64 object;
.visible .entry k(.param .u64 out) {} {{
    .reg .b64 %at, %mine, %w<8>; .reg .b32 %t, %b, %lane, %tile, %own, %their, %r<16>; .reg .pred %p<8>, %first, %q;
    ld.param.u64 %at, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; and.b32 %lane, %t, 31; mov.u32 %tile, tile;
    mad.wide.u32 %mine, %t, 4, %at; mad.lo.u32 %own, %t, 16, %tile; xor.b32 %their, %t, 33; mad.lo.u32 %their, %their, 16, %tile;
    setp.eq.u32 %first, %t, 0;
{body}
done: ret;
}}",
        if cluster == 1 { String::new() } else { format!(".reqnctapercluster {cluster}") }
    );
    let emulator = Emulator::new(limits());
    let loaded = emulator.load(&module(&text)).expect("the module loads");
    let buffer = emulator.alloc(4 * 4096).expect("memory is there");
    let args = [&buffer.to_le_bytes()[..]];
    let config = shape(grid, threads, 0);
    let report = emulator.check(
        &loaded,
        "k",
        config,
        &args,
        &CheckOptions {
            init: false,
            ..CheckOptions::default()
        },
    );
    report.expect("it is launched")
}

/// Every finding's hint has these words, and none of the others.
#[track_caller]
fn hints(report: &CheckReport, words: &[&str], not: &[&str]) {
    assert!(!report.is_clean(), "nothing is found");
    for finding in &report.findings {
        let hint = finding.hint.as_deref().unwrap_or_default();
        for word in words {
            assert!(hint.contains(word), "no `{word}`: {finding:#?}");
        }
        for word in not {
            assert!(!hint.contains(word), "`{word}`: {finding:#?}");
        }
    }
}

/// A thread that is ahead reads what another one has yet to write: the barrier belongs before the
/// read, not after it.
#[test]
fn a_barrier_is_missing_where_one_thread_passes_both_lines() {
    let block = (1, 64, 1);
    let straight = check(
        "st.shared.u32 [%own], %t;\nld.shared.u32 %r0, [%their];",
        block,
    );
    hints(&straight, &["between PTX line 10 and PTX line 11"], &[]);
    let round = |inner: &str| {
        let body = format!(
            "mov.u32 %r1, 0;\nround: st.shared.u32 [%own], %r1;\n{inner}\nld.shared.u32 %r0, [%their];\n\
             add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 3; @%p0 bra round;"
        );
        check(&body, block)
    };
    hints(
        &round("bar.sync 0;"),
        &["between PTX line 13 and PTX line 11 of the loop's next round"],
        &[],
    );
    let none = round("");
    hints(&none, &["between PTX line 11 and PTX line 13"], &["round"]);
}

const COPY: &str = "cp.async.cg.shared.global [%own], [%at], 16; cp.async.commit_group;";

#[test]
fn a_copy_asks_for_its_wait() {
    let block = (1, 64, 1);
    // The barrier is there.
    let report = check(
        &format!("{COPY} bar.sync 0; ld.shared.u32 %r0, [%their];"),
        block,
    );
    hints(
        &report,
        &["cp.async.wait_group", "before the barrier that is already"],
        &["and after it a barrier", "bar.sync"],
    );
    // It is not: warp 0 reads before warp 1 copies.
    let mut report = check(&format!("{COPY} ld.shared.u32 %r0, [%their];"), block);
    report
        .findings
        .retain(|finding| finding.rule == Rule::AsyncCopy);
    hints(
        &report,
        &["cp.async.wait_group", "and after it a barrier"],
        &["already"],
    );
    // A thread needs no barrier for its own.
    let report = check(&format!("{COPY} ld.shared.u32 %r0, [%own];"), block);
    hints(&report, &["cp.async.wait_group"], &["barrier"]);
    // The wait is there, but comes after the barrier.
    let report = check(
        &format!("{COPY} bar.sync 0; cp.async.wait_group 0; ld.shared.u32 %r0, [%their];"),
        block,
    );
    for finding in report
        .findings
        .iter()
        .filter(|finding| finding.rule != Rule::AsyncCopy)
    {
        let hint = finding.hint.as_deref().unwrap_or_default();
        assert!(hint.contains("after the wait for the copy"), "{finding:#?}");
    }
    // A named barrier, and one of the warp.
    let report = check(
        &format!(
            "setp.ge.u32 %p1, %t, 64; @%p1 bra done; {COPY} bar.sync 1, 64; ld.shared.u32 %r0, [%their];"
        ),
        (1, 96, 1),
    );
    hints(
        &report,
        &["cp.async.wait_group"],
        &["and after it a barrier"],
    );
}

#[test]
fn a_copy_in_bulk_asks_for_its_object() {
    let body = |wait: &str| {
        format!(
            "mov.u32 %r8, object; @%first mbarrier.init.shared.b64 [%r8], 1; bar.sync 0;
@%first mbarrier.arrive.expect_tx.shared.b64 _, [%r8], 1024;
@%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%at], 1024, [%r8];
{wait} ld.shared.u32 %r0, [%own];"
        )
    };
    let wait = "again: mbarrier.try_wait.parity.shared.b64 %p1, [%r8], 0; @!%p1 bra again;";
    assert!(check(&body(wait), (1, 64, 1)).is_clean());
    hints(
        &check(&body(""), (1, 64, 1)),
        &["mbarrier.try_wait", "the copy reports to"],
        &["bar.sync", "bar.warp.sync"],
    );
}

#[test]
fn a_copy_is_read_or_written_in_its_space() {
    let block = (1, 64, 1);
    let message = |body: &str| {
        let report = check(&format!("{COPY} {body}"), block);
        report.findings[0].message.clone()
    };
    assert!(message("ld.shared.u32 %r0, [%own];").starts_with("shared memory is read while"));
    assert!(message("st.shared.u32 [%own], 0;").starts_with("shared memory is written while"));
    assert!(message("st.global.u32 [%at], 0;").starts_with("global memory is written while"));
}

#[test]
fn clusters_and_grids_have_barriers_of_their_own() {
    let share = "mov.u32 %r1, %cluster_ctarank; xor.b32 %r1, %r1, 1; mapa.shared::cluster.u32 %r2, %own, %r1;
        st.shared.u32 [%own], %t; bar.sync 0; ld.shared::cluster.u32 %r3, [%r2];";
    hints(
        &check(share, (2, 32, 2)),
        &["cluster.sync()", "barrier.cluster"],
        &["bar.sync", "second launch"],
    );
    let global = "st.global.u32 [%mine], %b; bar.sync 0; ld.global.u32 %r3, [%mine];";
    hints(
        &check(global, (2, 32, 2)),
        &["cluster.sync()"],
        &["second launch", "grid.sync"],
    );
    // Of one cluster to another, nothing is left but a flag.
    let far = "shr.u32 %r1, %b, 1; and.b32 %r2, %b, 1; mad.wide.u32 %w1, %r2, 4, %at; st.global.u32 [%w1], %r1;";
    hints(
        &check(
            &format!("setp.ne.u32 %p1, %t, 0; @%p1 bra done; {far}"),
            (4, 32, 2),
        ),
        &["second launch"],
        &["cluster.sync"],
    );
    // A grid that meets elsewhere.
    let grid = "mov.u32 %r4, %envreg2; mov.u32 %r5, %envreg1; mov.b64 %w0, {%r4, %r5};";
    hints(
        &check(&format!("{grid} {global}"), (2, 32, 1)),
        &["grid.sync()"],
        &["second launch", "cluster.sync"],
    );
}

/// A block of the cluster that fills the other one's shared memory and arrives there.
#[test]
fn what_comes_from_another_block_of_the_cluster_is_waited_for() {
    let fill = |made: &str, wait: &str| {
        format!(
            "mov.u32 %r8, object; @%first mbarrier.init.shared.b64 [%r8], 32; fence.mbarrier_init.release.cluster; {made}
mov.u32 %r1, %cluster_ctarank; xor.b32 %r1, %r1, 1; mapa.shared::cluster.u32 %r2, %own, %r1; mapa.shared::cluster.u32 %r3, %r8, %r1;
st.shared::cluster.u32 [%r2], %t; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
{wait}
ld.shared.u32 %r4, [%own+0]; barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"
        )
    };
    let cluster = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;";
    let wait =
        "w: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%r8], 0; @!%q bra w;";
    let launch = (2, 32, 2);
    assert!(check(&fill(cluster, wait), launch).is_clean());
    hints(
        &check(&fill(cluster, ""), launch),
        &["a wait for an arrive", "cluster.sync()"],
        &["move it after", "second launch"],
    );
    let late = "mov.u32 %r8, object; mov.u32 %r1, %cluster_ctarank; xor.b32 %r1, %r1, 1; mapa.shared::cluster.u32 %r3, %r8, %r1;
@%first mbarrier.init.shared.b64 [%r8], 64; bar.sync 0; setp.ne.u32 %q, %b, 1; @%q bra done; mbarrier.arrive.shared::cluster.b64 _, [%r3];";
    hints(
        &check(late, launch),
        &["makes the barrier object", "cluster.sync()"],
        &["bar.sync 0"],
    );
}

#[test]
fn locks_name_their_fence() {
    let lock = |acquire: &str, release: &str| {
        format!(
            "setp.ne.u32 %p1, %lane, 0; @%p1 bra done;
try: atom.global.cas.b32 %r0, [%at], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra try;
{acquire} ld.global.u32 %r1, [%at+64]; add.u32 %r1, %r1, 1; st.global.u32 [%at+64], %r1; {release}
atom.global.exch.b32 %r2, [%at], 0;"
        )
    };
    let blocks = (2, 32, 1);
    hints(
        &check(&lock("", "membar.gl;"), blocks),
        &["fence.acq_rel.gpu", "lock", "after it is taken"],
        &["second launch"],
    );
    hints(
        &check(&lock("membar.cta;", "membar.gl;"), blocks),
        &["fence.acq_rel.gpu"],
        &["second launch"],
    );
    hints(
        &check(&lock("membar.gl;", ""), blocks),
        &["fence.acq_rel.gpu", "lock"],
        &[],
    );
    // Without any fence.
    hints(
        &check(&lock("", ""), blocks),
        &["a lock that both hold", "fence.acq_rel.gpu"],
        &[],
    );
    let warps = (1, 64, 1);
    hints(
        &check(&lock("", ""), warps),
        &["both must hold it, with a `fence.acq_rel.cta` after it is taken"],
        &[],
    );
    // A sum by compare-and-swap takes no lock.
    let sum = "setp.ne.u32 %p1, %lane, 0; @%p1 bra done; ld.global.u32 %r1, [%at]; try: mov.u32 %r0, %r1; add.u32 %r2, %r0, 1;
atom.global.cas.b32 %r1, [%at], %r0, %r2; setp.ne.u32 %p0, %r1, %r0; @%p0 bra try;
st.global.u32 [%at+64], %t;";
    hints(&check(sum, warps), &["bar.sync 0"], &["lock"]);
    hints(
        &check(&lock("", "membar.cta;"), warps),
        &["fence.acq_rel.cta", "lock"],
        &[],
    );
    hints(
        &check(&lock("membar.cta;", ""), warps),
        &["fence.acq_rel.cta", "lock"],
        &[],
    );
    let unread =
        lock("membar.gl;", "membar.gl;").replace("setp.ne.u32 %p0, %r0, 0; @%p0 bra try;", "");
    hints(&check(&unread, blocks), &["nobody looks whether"], &[]);
    // A flag that is seen without a fence.
    let flag = "setp.ne.u32 %p0, %t, 0; @%p0 bra done; setp.ne.u32 %p1, %b, 0; @%p1 bra wait;
        st.global.u32 [%at+64], 42; membar.gl; st.volatile.global.u32 [%at], 1; bra done;
wait: ld.volatile.global.u32 %r0, [%at]; setp.eq.u32 %p1, %r0, 0; @%p1 bra wait; ld.global.u32 %r1, [%at+64];";
    hints(
        &check(flag, blocks),
        &["fence.acq_rel.gpu", "after the atomic or the flag"],
        &["second launch"],
    );
}

/// Warp 0 fills the tile, warp 1 reads it after the object says so.
fn pipeline(fill: &str) -> String {
    format!(
        "mov.u32 %r8, object; @%first mbarrier.init.shared.b64 [%r8], 1; bar.sync 0;
setp.eq.u32 %q, %lane, 0; setp.ge.u32 %p0, %t, 32; @%p0 bra empty;
{fill} bra done;
empty: mbarrier.try_wait.parity.shared.b64 %p2, [%r8], 0; @!%p2 bra empty;
ld.shared.u32 %r1, [%their];"
    )
}
const FILL: &str = "st.shared.u32 [%own], %t;";
const ARRIVE: &str = "@%q mbarrier.arrive.shared.b64 %w0, [%r8];";

#[test]
fn an_elected_arrival_asks_for_a_barrier_of_the_warp() {
    let block = (1, 64, 1);
    let report = check(
        &pipeline(&format!("{FILL} bar.warp.sync -1; {ARRIVE}")),
        block,
    );
    assert!(report.is_clean(), "{:#?}", report.findings);
    let report = check(&pipeline(&format!("{FILL} {ARRIVE}")), block);
    hints(
        &report,
        &["`__syncwarp()`", "bar.warp.sync", "elected lane's arrive"],
        &["bar.sync 0"],
    );
    // Filled after the arrival.
    let report = check(
        &pipeline(&format!("bar.warp.sync -1; {ARRIVE} {FILL}")),
        block,
    );
    hints(&report, &["a later arrive"], &["bar.sync 0"]);
    // Without any.
    let late = pipeline(&format!(
        "bar.warp.sync -1; {ARRIVE} bar.warp.sync -1; {FILL}"
    ));
    hints(&check(&late, block), &["a later arrive"], &["bar.sync 0"]);
    // The object is not there yet.
    let early = "mov.u32 %r8, object; @%first mbarrier.init.shared.b64 [%r8], 64; mbarrier.arrive.shared.b64 %w0, [%r8];";
    let report = check(early, block);
    let hint = report.findings[0].hint.as_deref().unwrap_or_default();
    assert!(
        hint.contains("makes the barrier object") && hint.contains("bar.sync 0"),
        "{hint}"
    );
}

#[test]
fn a_flag_for_a_warp_asks_for_the_same() {
    let flag = |between: &str| {
        format!(
            "setp.eq.u32 %q, %lane, 0; setp.ne.u32 %p1, %b, 0; @%p1 bra wait;
st.global.u32 [%mine+64], %t; {between} @%q st.release.gpu.global.u32 [%at], 1; bra done;
wait: ld.acquire.gpu.global.u32 %r0, [%at]; setp.eq.u32 %p1, %r0, 0; @%p1 bra wait; ld.global.u32 %r1, [%mine+64];"
        )
    };
    assert!(check(&flag("bar.warp.sync -1;"), (2, 32, 1)).is_clean());
    hints(
        &check(&flag(""), (2, 32, 1)),
        &["__syncwarp()", "elected lane's release"],
        &["second launch"],
    );
}

#[test]
fn named_barriers_are_named() {
    let body = "setp.ge.u32 %p0, %t, 64; @%p0 bra done; st.shared.u32 [%own], %t; BARRIER ld.shared.u32 %r1, [%their]; bar.sync 2, 64;";
    hints(
        &check(&body.replace("BARRIER", ""), (1, 96, 1)),
        &["a named barrier"],
        &[],
    );
    assert!(check(&body.replace("BARRIER", "bar.sync 1, 64;"), (1, 96, 1)).is_clean());
    // The announcement comes too early.
    let early = "setp.ge.u32 %p0, %t, 32; @%p0 bra wait; bar.arrive 1, 64; st.shared.u32 [%own], %t; bra done;
wait: bar.sync 1, 64; ld.shared.u32 %r1, [%their];";
    hints(&check(early, (1, 64, 1)), &["a later arrive"], &[]);
    // Without any of these, the block's barrier is what is missing.
    hints(
        &check(
            "st.shared.u32 [%own], %t; ld.shared.u32 %r1, [%their];",
            (1, 64, 1),
        ),
        &["a `bar.sync 0` between"],
        &["named", "mbarrier", "lock"],
    );
}

#[test]
fn global_addresses_have_parameter_and_element() {
    let report = check(
        "add.u32 %r1, %b, 7; st.global.u32 [%at+20], %r1;",
        (2, 1, 1),
    );
    let [Finding { site, others, .. }] = report.findings.as_slice() else {
        panic!("{:#?}", report.findings);
    };
    for site in [site, &others[0]] {
        assert!(site.what.ends_with(", element 5 of `out`"), "{}", site.what);
    }
    // Outside of the buffer.
    let report = check("st.global.u32 [%at+16384], %t;", (1, 1, 1));
    let message = &report.findings[0].message;
    assert!(
        message.contains("element 4096 of `out`, which has 4096"),
        "{message}"
    );
    let report = check("st.global.u32 [%at+-4], %t;", (1, 1, 1));
    let message = &report.findings[0].message;
    assert!(message.contains("element -1 of `out`"), "{message}");
}

#[test]
fn a_read_is_titled_a_read_of_its_space() {
    let emulator = Emulator::new(limits());
    let title = |body: &str| {
        let text = format!(
            ".shared .align 4 .b8 tile[64];
.visible .entry k(.param .u64 in, .param .u64 out) {{ .reg .b64 %in, %out; .reg .b32 %r<4>;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
{body}
ret; }}"
        );
        let loaded = emulator.load(&module(&text)).expect("the module loads");
        let [from, to] = [0, 1].map(|_| emulator.alloc(64).expect("memory is there").to_le_bytes());
        let report = emulator.check(
            &loaded,
            "k",
            shape(1, 1, 0),
            &[&from, &to],
            &CheckOptions::default(),
        );
        let report = report.expect("it is launched");
        report::text(&[report], &Sources::new(), Style::Plain)
    };
    let shared = title("ld.shared.u32 %r1, [tile]; st.global.u32 [%out], %r1;");
    assert!(
        shared.contains("Uninitialised __shared__ read of 4 bytes"),
        "{shared}"
    );
    let global = title("ld.global.u32 %r1, [%in+12]; st.global.u32 [%out], %r1;");
    assert!(
        global.contains("Uninitialised __global__ read of 4 bytes"),
        "{global}"
    );
    assert!(global.contains("element 3 of `in`"), "{global}");
    // Through a generic address.
    let generic = title(
        "mov.u64 %in, tile; cvta.shared.u64 %in, %in; ld.u32 %r1, [%in]; st.global.u32 [%out], %r1;",
    );
    assert!(
        generic.contains("Uninitialised __shared__ read of 4 bytes"),
        "{generic}"
    );
}
