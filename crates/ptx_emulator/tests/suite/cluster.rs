//! Clusters: shared memory of other blocks, and the barrier of all.

use crate::common::{launch, limits, module, races, shape};
use ptx_emulator::{CheckOptions, CheckReport, Emulator, InvalidLaunch, LaunchConfig, LaunchError};

const HEAD: &str = ".reg .b32 %r<16>; .reg .b64 %l<9>; .reg .pred %p<4>; .shared .align 8 .b8 s[256]; .shared .align 8 .b64 bar;
    ld.param.u64 %l0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, s; mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x; mad.lo.u32 %r4, %r3, %r4, %r0; mul.wide.u32 %l1, %r4, 4; add.u64 %l1, %l1, %l0;
    mad.lo.u32 %r5, %r0, 4, %r2; xor.b32 %r6, %r1, 1; mapa.shared::cluster.u32 %r7, %r5, %r6;";
const MEET: &str = "barrier.cluster.arrive; barrier.cluster.wait;";

fn kernel(cluster: &str, body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 p) .reqnctapercluster {cluster} {{ {HEAD}\n{body}\nret; }}"
    )
}

/// What each thread left in the first words of the buffer.
#[track_caller]
fn run(cluster: &str, body: &str, (grid, block): (u32, u32)) -> Vec<u32> {
    let found = launch(&kernel(cluster, body), shape(grid, block, 0), &[], 2048);
    let words = found.expect("it runs").0;
    let words = words
        .iter()
        .flat_map(|word| [*word as u32, (word >> 32) as u32]);
    words.take((grid * block) as usize).collect()
}

#[track_caller]
fn fault(body: &str) -> String {
    let found = launch(&kernel("2", body), shape(2, 32, 0), &[], 2048);
    found.expect_err("it is wrong").to_string()
}

#[test]
fn blocks_read_what_their_neighbour_has() {
    let expected: Vec<u32> = (0..8 * 32).map(|thread| thread ^ 32).collect();
    for load in [
        "ld.shared::cluster.u32 %r8, [%r7];",
        "cvt.u64.u32 %l2, %r5; cvta.shared.u64 %l2, %l2; mapa.u64 %l2, %l2, %r6; ld.u32 %r8, [%l2];",
        "cvt.u64.u32 %l2, %r7; cvta.shared::cluster.u64 %l2, %l2; ld.volatile.u32 %r8, [%l2];",
    ] {
        let body =
            format!("st.shared.u32 [%r5], %r4; {MEET} {load} st.global.u32 [%l1], %r8; {MEET}");
        assert_eq!(run("2", &body, (8, 32)), expected, "{load}");
    }
}

#[test]
fn blocks_write_to_their_neighbour() {
    let store = "st.shared::cluster.u32 [%r7], %r4;";
    let add = "red.shared::cluster.add.u32 [%r7], %r4;";
    for change in [store, add] {
        let body =
            format!("{MEET} {change} {MEET} ld.shared.u32 %r8, [%r5]; st.global.u32 [%l1], %r8;");
        let expected: Vec<u32> = (0..4 * 48)
            .map(|thread| ((thread / 48) ^ 1) * 48 + thread % 48)
            .collect();
        assert_eq!(run("2", &body, (4, 48)), expected);
    }
    // A partial warp, bytes, and an address of the own block.
    let bytes = format!("{MEET} @%p0 bra skip; st.shared::cluster.u8 [%r7+1], 7; skip: {MEET}
        mapa.shared::cluster.u32 %r8, %r5, %r1; ld.shared::cluster.u32 %r8, [%r8]; st.global.u32 [%l1], %r8;");
    assert_eq!(run("2", &bytes, (2, 5)), [0x700; 10]);
}

#[test]
fn special_registers_say_where_a_block_is() {
    let text = ".visible .entry k(.param .u64 p) .reqnctapercluster 2, 3, 1 { .reg .b32 %r<20>; .reg .b64 %l<3>;
        mov.u32 %r0, %cluster_ctarank; mov.u32 %r1, %cluster_nctarank; mov.u32 %r2, %cluster_ctaid.x; mov.u32 %r3, %cluster_ctaid.y;
        mov.u32 %r4, %cluster_nctaid.x; mov.u32 %r5, %cluster_nctaid.y; mov.u32 %r6, %clusterid.x; mov.u32 %r7, %clusterid.y;
        mov.u32 %r8, %nclusterid.x; mov.u32 %r9, %nclusterid.y;
        ld.param.u64 %l0, [p]; mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ctaid.y; mad.lo.u32 %r11, %r11, 4, %r10;
        mul.wide.u32 %l1, %r11, 8; add.u64 %l0, %l0, %l1;
        mad.lo.u32 %r0, %r0, 7, %r1; mad.lo.u32 %r0, %r0, 7, %r2; mad.lo.u32 %r0, %r0, 7, %r3; mad.lo.u32 %r0, %r0, 7, %r4;
        mad.lo.u32 %r0, %r0, 7, %r5; mad.lo.u32 %r0, %r0, 7, %r6; mad.lo.u32 %r0, %r0, 7, %r7; mad.lo.u32 %r0, %r0, 7, %r8;
        mad.lo.u32 %r0, %r0, 7, %r9; cvt.u64.u32 %l1, %r0; st.global.u64 [%l0], %l1; ret; }";
    let config = LaunchConfig {
        grid: [4, 6, 1],
        block: [1, 1, 1],
        dynamic_shared_bytes: 0,
    };
    let (found, _) = launch(text, config, &[], 24).expect("it runs");
    for (number, found) in found.into_iter().enumerate() {
        let (x, y) = (number as u64 % 4, number as u64 / 4);
        let (cx, cy) = (x % 2, y % 3);
        let digits = [cx + 2 * cy, 6, cx, cy, 2, 3, x / 2, y / 3, 2, 2];
        let expected = digits.iter().fold(0, |all, digit| 7 * all + digit);
        assert_eq!(found, expected, "block {x}, {y}");
    }
}

#[test]
fn a_block_alone_is_a_cluster() {
    let text = ".visible .entry k(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %l;
        ld.param.u64 %l, [p]; mov.u32 %r0, %cluster_nctarank; mov.u32 %r1, %clusterid.x; mov.u32 %r2, %ctaid.x;
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; st.global.v2.u32 [%l], {%r0, %r1}; ret; }";
    let found = launch(text, shape(3, 1, 0), &[], 1).expect("it runs").0;
    assert_eq!(found[0] as u32, 1);
}

#[test]
fn an_address_tells_its_block() {
    let body = "getctarank.shared::cluster.u32 %r8, %r7; getctarank.shared::cluster.u32 %r9, %r5; mad.lo.u32 %r8, %r8, 10, %r9;
        cvt.u64.u32 %l2, %r7; cvta.shared::cluster.u64 %l2, %l2; isspacep.shared::cluster %p0, %l2; isspacep.shared::cta %p1, %l2;
        getctarank.u64 %r9, %l2; mad.lo.u32 %r8, %r8, 10, %r9; @%p0 add.u32 %r8, %r8, 1000; @%p1 add.u32 %r8, %r8, 5000; st.global.u32 [%l1], %r8;";
    assert_eq!(run("2", body, (2, 1)), [1101, 1010]);
}

#[test]
fn objects_of_other_blocks_take_arrivals() {
    let body = format!(
        "mov.u32 %r9, bar; setp.eq.u32 %p0, %r0, 0; @%p0 mbarrier.init.shared.b64 [%r9], 32; {MEET}
        mapa.shared::cluster.u32 %r10, %r9, %r6; st.shared::cluster.u32 [%r7], %r4;
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];
        again: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p1, [%r9], 0; @!%p1 bra again;
        ld.shared.u32 %r8, [%r5]; st.global.u32 [%l1], %r8; {MEET}"
    );
    let expected: Vec<u32> = (0..64).map(|thread| thread ^ 32).collect();
    assert_eq!(run("2", &body, (2, 32)), expected);
    let report = check(&body);
    assert!(report.is_clean(), "{:?}", report.findings);
}

#[test]
fn threads_that_are_gone_are_not_waited_for() {
    let body = format!("setp.eq.u32 %p0, %r1, 1; @%p0 ret; {MEET} st.global.u32 [%l1], 9;");
    let found = run("2", &body, (2, 32));
    assert_eq!(found, [[9; 32], [0; 32]].concat());
}

#[test]
fn a_phase_is_complete_though_some_wait_late() {
    // The second block arrives at the next phase only when it has waited for this one.
    let body = "barrier.cluster.arrive; mov.u32 %r8, 0; setp.eq.u32 %p0, %r1, 0;
        loop: add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 5000; @%p1 bra loop;
        barrier.cluster.wait; barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire; st.global.u32 [%l1], %r8;";
    assert_eq!(run("4", body, (8, 64)), [5000; 512]);
}

#[test]
fn misuse_of_the_barrier_is_a_fault() {
    let twice = fault("barrier.cluster.arrive; barrier.cluster.arrive;");
    assert!(
        twice.contains("`barrier.cluster.arrive` twice without a wait between"),
        "{twice}"
    );
    let alone = fault("barrier.cluster.wait;");
    assert!(
        alone.contains("`barrier.cluster.wait` without an arrival before it"),
        "{alone}"
    );
    let divergent =
        fault("setp.lt.u32 %p0, %r0, 7; @%p0 barrier.cluster.arrive.aligned; bar.warp.sync -1;");
    assert!(
        divergent.contains("by a part of a warp") || divergent.contains("bar.warp.sync"),
        "{divergent}"
    );
    // The second block waits for what the first one's threads would do after the barrier.
    let stuck = fault(&format!(
        "setp.eq.u32 %p0, %r1, 0; @%p0 bra wait; mbarrier.init.shared.b64 [bar], 1; barrier.sync 1, 64; wait: {MEET}"
    ));
    assert!(stuck.contains("wait"), "{stuck}");
}

#[test]
fn addresses_outside_are_a_fault() {
    for body in [
        "mapa.shared::cluster.u32 %r8, %r5, 2; ld.shared::cluster.u32 %r8, [%r8];",
        "st.shared::cluster.u32 [%r7+1024], 1;",
        "ld.shared.u32 %r8, [%r7];",
        "cvt.u64.u32 %l2, %r7; cvta.shared::cluster.u64 %l2, %l2; atom.add.u32 %r8, [%l2+99999], 1;",
    ] {
        let text = fault(body);
        assert!(text.contains("shared"), "{body}: {text}");
    }
    assert!(fault("ld.shared::cluster.u32 %r8, [%r7+2];").contains("misaligned"));
}

#[test]
fn grids_are_whole_clusters() {
    let emulator = Emulator::new(limits());
    let loaded = emulator.load(&module(&kernel("2", ""))).expect("it loads");
    let error = emulator.launch(&loaded, "k", shape(3, 32, 0), &[&0_u64.to_le_bytes()]);
    let error = error.expect_err("three is odd");
    assert!(matches!(
        error,
        LaunchError::Invalid(InvalidLaunch::Cluster { .. })
    ));
    assert_eq!(
        error.to_string(),
        "launch refused: grid [3, 1, 1]: each extent must be a multiple of the kernel's clusters, [2, 1, 1]"
    );
    assert!(crate::common::parse(&kernel("17", "")).is_err());
    assert!(crate::common::parse(&kernel("4294967295, 4294967295, 4294967295", "")).is_err());
    assert!(crate::common::parse(&kernel("0", "")).is_err());
}

/// All detectors, on two clusters of two blocks.
fn check(body: &str) -> CheckReport {
    let emulator = Emulator::new(limits());
    let loaded = emulator
        .load(&module(&kernel("2", body)))
        .expect("it loads");
    let buffer = emulator.alloc(4096).expect("memory");
    let options = CheckOptions::default();
    let report = emulator.check(
        &loaded,
        "k",
        shape(4, 32, 0),
        &[&buffer.to_le_bytes()],
        &options,
    );
    report.expect("it runs")
}

#[test]
fn races_over_shared_memory_of_others_are_found() {
    let good = format!(
        "st.shared.u32 [%r5], %r4; {MEET} ld.shared::cluster.u32 %r8, [%r7]; st.global.u32 [%l1], %r8; {MEET}"
    );
    let report = check(&good);
    assert!(report.is_clean(), "{:?}", report.findings);
    // Between the store and the load there is no barrier, or only the block's.
    for between in ["", "bar.sync 0;"] {
        let bad = format!(
            "{MEET} st.shared.u32 [%r5], %r4; {between} ld.shared::cluster.u32 %r8, [%r7]; st.global.u32 [%l1], %r8; {MEET}"
        );
        let report = races(&kernel("2", &bad), shape(4, 32, 0));
        assert!(!report.is_clean(), "{between}");
    }
    // Another block's store and an own load.
    let bad = format!(
        "{MEET} st.shared::cluster.u32 [%r7], %r4; ld.shared.u32 %r8, [%r5]; st.global.u32 [%l1], %r8; {MEET}"
    );
    assert!(!races(&kernel("2", &bad), shape(4, 32, 0)).is_clean());
}

#[test]
fn the_barrier_orders_global_memory_of_the_cluster() {
    // The next block's word, in a cluster of two.
    let other = "xor.b32 %r9, %r4, 32; mul.wide.u32 %l3, %r9, 4; add.u64 %l3, %l3, %l0;";
    let with = |between: &str| {
        let body = format!(
            "{other} st.global.u32 [%l1], %r4; {between} ld.global.u32 %r8, [%l3]; {MEET} st.global.u32 [%l1], %r8;"
        );
        races(&kernel("2", &body), shape(4, 32, 0))
    };
    let report = with(MEET);
    assert!(report.is_clean(), "{:?}", report.findings);
    assert!(!with("").is_clean());
    assert!(!with("bar.sync 0;").is_clean());
    // Not that of another cluster.
    let far = "xor.b32 %r9, %r4, 64; mul.wide.u32 %l3, %r9, 4; add.u64 %l3, %l3, %l0;";
    let body = format!("{far} st.global.u32 [%l1], %r4; {MEET} ld.global.u32 %r8, [%l3];");
    assert!(!races(&kernel("2", &body), shape(4, 32, 0)).is_clean());
}
