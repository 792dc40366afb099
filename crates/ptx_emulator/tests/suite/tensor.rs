//! `cp.async.bulk.tensor` and other instructions that notify a barrier object of the cluster: boxes
//! of tensors, to one block or to several, added up, and single values of other blocks.

use crate::common::{launch, limits, module, races, shape};
use ptx_emulator::{
    CheckOptions, Emulator, LaunchConfig, LaunchError, Swizzle, TensorElement, TensorMap,
};

const HEAD: &str = ".reg .b32 %r<16>; .reg .b64 %l<9>; .reg .pred %p<4>; .shared .align 1024 .b8 s[4096]; .shared .align 8 .b64 bar;
    ld.param.u64 %l0, [p]; mov.b64 %l1, map; cvta.param.u64 %l1, %l1; mov.u32 %r0, %tid.x; mov.u32 %r1, s; mov.u32 %r2, bar;
    setp.eq.u32 %p0, %r0, 0; mov.u32 %r15, %ctaid.x; @%p0 mbarrier.init.shared.b64 [%r2], 1; fence.mbarrier_init.release.cluster;
    prefetch.tensormap [%l1]; bar.sync 0;";
const WAIT: &str = "again: mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0; @!%p1 bra again;";
const LOAD: &str =
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
/// Each thread's word of the box, and of block 1 after that of block 0.
const OUT: &str = "mad.lo.u32 %r3, %r0, 4, %r1; ld.shared.u32 %r4, [%r3]; mov.u32 %r5, %ntid.x; mad.lo.u32 %r5, %r15, %r5, %r0;
    mul.wide.u32 %l2, %r5, 4; add.u64 %l2, %l2, %l0; st.global.u32 [%l2], %r4;";

fn kernel(header: &str, body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 p, .param .align 64 .b8 map[128]) {header} {{ {HEAD}\n{body}\nret; }}"
    )
}

/// An emulator with a tensor of 8 × 6 words, 100 y + x.
fn tensor() -> (Emulator, TensorMap) {
    let emulator = Emulator::new(limits());
    let words = (0..6_u32).flat_map(|y| (0..8).map(move |x| 100 * y + x));
    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    let address = emulator.alloc(bytes.len() as u64).expect("memory is there");
    emulator.write(address, &bytes).expect("it fits");
    let map = TensorMap::new(TensorElement::U32, address, &[8, 6], &[4, 4]);
    (emulator, map)
}

/// The first words of the buffer after a launch.
fn run(
    (emulator, map): (&Emulator, &TensorMap),
    text: &str,
    config: LaunchConfig,
) -> Result<Vec<u32>, LaunchError> {
    let loaded = emulator.load(&module(text)).expect("the module loads");
    let buffer = emulator.alloc(4 * 64).expect("memory is there");
    let map = map.encode().expect("a map");
    emulator.launch(&loaded, "k", config, &[&buffer.to_le_bytes(), &map])?;
    Ok(words(emulator, buffer, 64))
}

fn words(emulator: &Emulator, address: u64, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * count];
    emulator.read(address, &mut bytes).expect("it is there");
    let words = bytes.as_chunks().0;
    words.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

fn load(x: i32, y: i32) -> String {
    format!(
        "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 64; @%p0 {LOAD} [%r1], [%l1, {{{x}, {y}}}], [%r2]; {WAIT} {OUT}"
    )
}

/// The box at a place as it should come, zeros outside.
fn expected(x: i32, y: i32) -> Vec<u32> {
    let rows = (y..y + 4).flat_map(|y| (x..x + 4).map(move |x| (x, y)));
    let inside = |(x, y)| (0..8).contains(&x) && (0..6).contains(&y);
    rows.map(|at| {
        if inside(at) {
            (100 * at.1 + at.0) as u32
        } else {
            0
        }
    })
    .collect()
}

#[test]
fn boxes_come_with_zeros_around_the_tensor() {
    let (emulator, map) = tensor();
    for (x, y) in [(0, 0), (4, 2), (4, 1), (8, 4), (-4, -2), (0, -9)] {
        let found = run((&emulator, &map), &kernel("", &load(x, y)), shape(1, 16, 0));
        assert_eq!(found.expect("it runs")[..16], expected(x, y), "{x} {y}");
    }
}

#[test]
fn a_swizzle_exchanges_the_pieces_of_a_row() {
    let (emulator, map) = tensor();
    let map = TensorMap {
        box_extents: vec![8, 4],
        swizzle: Swizzle::B32,
        ..map
    };
    let body = load(0, 0).replace("[%r2], 64", "[%r2], 128");
    let found = run((&emulator, &map), &kernel("", &body), shape(1, 32, 0)).expect("it runs");
    // Rows of 32 bytes: from 128 bytes on, which these do not reach, the two pieces would change
    // places.
    let rows = |y: u32| (0..8).map(move |x| 100 * y + x);
    assert_eq!(found[..32], (0..4).flat_map(rows).collect::<Vec<_>>());
    let body = body
        .replace("[%r1],", "[%r1+128],")
        .replace("[%r3];", "[%r3+128];");
    let found = run((&emulator, &map), &kernel("", &body), shape(1, 32, 0)).expect("it runs");
    let swapped = |y: u32| (0..8).map(move |x| 100 * y + (x ^ 4));
    assert_eq!(found[..32], (0..4).flat_map(swapped).collect::<Vec<_>>());
}

#[test]
fn every_third_row_can_be_taken_but_not_every_second_element_of_a_row() {
    let (emulator, map) = tensor();
    let map = TensorMap {
        box_extents: vec![8, 6],
        element_strides: vec![2, 3],
        ..map
    };
    let found = run((&emulator, &map), &kernel("", &load(0, 1)), shape(1, 16, 0));
    let rows: Vec<u32> = (100..108).chain(400..408).collect();
    assert_eq!(found.expect("it runs")[..16], rows);
}

#[test]
fn boxes_go_back_and_what_lies_outside_stays_out() {
    let (emulator, map) = tensor();
    let store = "mad.lo.u32 %r3, %r0, 4, %r1; add.u32 %r4, %r0, 7; st.shared.u32 [%r3], %r4; fence.proxy.async.shared::cta; bar.sync 0;";
    for (copy, adds) in [
        (
            "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
            0,
        ),
        (
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group",
            1,
        ),
    ] {
        let body = format!(
            "{store} @%p0 {copy} [%l1, {{4, 4}}], [%r1]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
        );
        let before = words(&emulator, map.address, 48);
        run((&emulator, &map), &kernel("", &body), shape(1, 16, 0)).expect("it runs");
        let mut expected = before.clone();
        for (x, y) in (4..8).flat_map(|x| [(x, 4), (x, 5)]) {
            let value = (4 * (y - 4) + (x - 4) + 7) as u32;
            expected[8 * y + x] = adds * before[8 * y + x] + value;
        }
        assert_eq!(words(&emulator, map.address, 48), expected, "{copy}");
    }
}

#[test]
fn a_store_writes_the_whole_of_the_last_piece_of_a_row() {
    let (emulator, map) = tensor();
    let map = TensorMap {
        extents: vec![5, 6],
        ..map
    };
    let body = "mad.lo.u32 %r3, %r0, 4, %r1; add.u32 %r4, %r0, 7; st.shared.u32 [%r3], %r4; fence.proxy.async.shared::cta; bar.sync 0;
        @%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%l1, {4, 5}], [%r1];
        @%p0 cp.async.bulk.commit_group; @%p0 cp.async.bulk.wait_group 0;";
    run((&emulator, &map), &kernel("", body), shape(1, 16, 0)).expect("it runs");
    assert_eq!(words(&emulator, map.address, 48)[43..], [503, 7, 8, 9, 10]);
}

#[test]
fn a_multicast_comes_to_each_block_and_its_object() {
    let (emulator, map) = tensor();
    let body = format!(
        ".reg .b16 %h; mov.u16 %h, 3; @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 64;
         barrier.cluster.arrive; barrier.cluster.wait; setp.eq.and.u32 %p2, %r15, 0, %p0;
         @%p2 {LOAD}.multicast::cluster [%r1], [%l1, {{4, 2}}], [%r2], %h; {WAIT} {OUT} barrier.cluster.arrive; barrier.cluster.wait;"
    );
    let text = kernel(".reqnctapercluster 2", &body);
    let found = run((&emulator, &map), &text, shape(2, 16, 0)).expect("it runs");
    assert_eq!(found[..32], [expected(4, 2), expected(4, 2)].concat());
}

#[test]
fn what_is_wrong_with_a_copy_is_told() {
    let (emulator, map) = tensor();
    let good = load(0, 0);
    for (body, problem) in [
        (
            good.replace("[%r1],", "[%r1+64],"),
            "not aligned to 128 bytes",
        ),
        (
            good.replace("[%l1,", "[%l0,"),
            "is no tensor map of this emulator",
        ),
        (
            good.replace(".2d.", ".1d.").replace("{0, 0}", "{0}"),
            "1 dimensions through a tensor map of 2",
        ),
        (good.replace("[%r1],", "[%r1+4096],"), "out of bounds"),
        (
            good.replace("{0, 0}", "{2, 0}"),
            "the box begins at byte 8 of a row, which is not a multiple of 16",
        ),
        (
            "@%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%l1, {-4, 0}], [%r1];".to_owned(),
            "a box is written at [-4, 0]: an H200 faults below 0",
        ),
    ] {
        let error = run((&emulator, &map), &kernel("", &body), shape(1, 16, 0));
        let error = error.expect_err(problem).to_string();
        assert!(error.contains(problem), "{error}");
    }
    emulator.free(map.address).expect("it is there");
    let error = run((&emulator, &map), &kernel("", &good), shape(1, 16, 0));
    let error = error.expect_err("the tensor is gone").to_string();
    assert!(error.contains("freed"), "{error}");
}

#[test]
fn a_reader_that_does_not_wait_for_its_box_races() {
    let (emulator, map) = tensor();
    let map = map.encode().expect("a map");
    let check = |body: &str| {
        let loaded = emulator.load(&module(&kernel("", body))).expect("it loads");
        let buffer = emulator
            .alloc(4 * 64)
            .expect("memory is there")
            .to_le_bytes();
        let report = emulator.check(
            &loaded,
            "k",
            shape(1, 64, 0),
            &[&buffer, &map],
            &CheckOptions::default(),
        );
        report.expect("it is launched")
    };
    let body = load(0, 0).replace(
        "ld.shared.u32 %r4, [%r3];",
        "and.b32 %r3, %r3, -449; ld.shared.u32 %r4, [%r3];",
    );
    let report = check(&body);
    assert!(report.is_clean(), "{:?}", report.findings);
    assert!(!check(&body.replace(WAIT, "")).is_clean());
}

const PAIR: &str = ".visible .entry k(.param .u64 p) .reqnctapercluster 2 { .reg .b32 %r<12>; .reg .b64 %l<6>; .reg .pred %p<3>;
    .shared .align 16 .b8 s[64]; .shared .align 8 .b64 bar; ld.param.u64 %l0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, s; mov.u32 %r2, bar;
    mov.u32 %r3, %cluster_ctarank; xor.b32 %r4, %r3, 1; setp.eq.u32 %p0, %r0, 0; mad.lo.u32 %r5, %r3, 8, %r0; mad.lo.u32 %r6, %r0, 4, %r1;
    st.shared.u32 [%r6], 1000; @%p0 mbarrier.init.shared.b64 [%r2], 1; @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 32;
    mapa.shared::cluster.u32 %r7, %r6, %r4; mapa.shared::cluster.u32 %r8, %r2, %r4; barrier.cluster.arrive; barrier.cluster.wait;";

#[test]
fn a_neighbour_waits_for_values_that_are_stored_or_added() {
    let object = "mbarrier::complete_tx::bytes";
    for (send, base) in [
        (
            format!("st.async.weak.shared::cluster.{object}.b32 [%r7], %r5, [%r8];"),
            0,
        ),
        (
            format!(
                "red.async.relaxed.cluster.shared::cluster.{object}.add.u32 [%r7], %r5, [%r8];"
            ),
            1000,
        ),
    ] {
        let text = format!(
            "{PAIR} {send} {WAIT} ld.shared.u32 %r9, [%r6]; mul.wide.u32 %l1, %r5, 4; add.u64 %l1, %l1, %l0; st.global.u32 [%l1], %r9;
             barrier.cluster.arrive; barrier.cluster.wait; ret; }}"
        );
        let (found, _) = launch(&text, shape(2, 8, 0), &[], 8).expect("it runs");
        let found: Vec<u64> = found
            .iter()
            .flat_map(|word| [word & 0xffff_ffff, word >> 32])
            .collect();
        let expected: Vec<u64> = (0..16).map(|thread| base + (thread ^ 8)).collect();
        assert_eq!(found, expected, "{send}");
        let report = races(&text, shape(2, 8, 0));
        assert!(report.is_clean(), "{:?}", report.findings);
        assert!(
            !races(&text.replace(WAIT, ""), shape(2, 8, 0)).is_clean(),
            "{send}"
        );
    }
}

#[test]
fn bytes_are_added_up_in_bulk() {
    let text = ".visible .entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %l<4>; .reg .pred %p<3>; .shared .align 16 .b8 s[32];
        ld.param.u64 %l0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1; add.u32 %r3, %r0, 1; st.shared.u32 [%r2], %r3;
        setp.eq.u32 %p0, %r0, 0; fence.proxy.async.shared::cta; bar.sync 0;
        @%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%l0], [%r1], 32;
        @%p0 cp.async.bulk.commit_group; @%p0 cp.async.bulk.wait_group 0; ret; }";
    let (found, _) = launch(text, shape(3, 8, 0), &[1 << 32 | 5, 0, 0, 0], 4).expect("it runs");
    let pair = |low: u64, high: u64| high << 32 | low;
    assert_eq!(found, [pair(8, 7), pair(9, 12), pair(15, 18), pair(21, 24)]);
    let report = races(text, shape(3, 8, 0));
    assert!(report.is_clean(), "{:?}", report.findings);
}

/// A map that the first warp makes from zeros, field by field, and copies to global memory.
const MADE: &str = ".shared .align 128 .b8 made[128]; mov.u32 %r6, made; mad.lo.u32 %r7, %r0, 4, %r6; st.shared.u32 [%r7], 0; bar.warp.sync -1;
    ld.param.u64 %l3, [q]; mov.u32 %r8, 8; mov.u64 %l4, 32;
    @%p0 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r6], %l3;
    @%p0 tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r6], 1;
    @%p0 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r6], 0, 4;
    @%p0 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r6], 1, 4;
    @%p0 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r6], 0, %r8;
    @%p0 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r6], 1, 6;
    @%p0 tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r6], 0, %l4;
    @%p0 tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r6], 0, 1;
    @%p0 tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r6], 1, 1;
    @%p0 tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r6], 2;
    @%p0 tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r6], 0;
    @%p0 tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r6], 0;
    @%p0 tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r6], 0; bar.warp.sync -1;
    add.u64 %l1, %l0, 256;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%l1], [%r6], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%l1], 128;";

#[test]
fn a_kernel_makes_its_own_map() {
    let (emulator, map) = tensor();
    let text = |made: &str| {
        let first = "and.b32 %r3, %r3, -65; ld.shared.u32 %r4, [%r3];";
        let body = load(4, 2).replace("ld.shared.u32 %r4, [%r3];", first);
        let body = format!("{made} {body}");
        kernel("", &body).replace("map[128]", "map[128], .param .u64 q")
    };
    let check = |text: &str| {
        let loaded = emulator.load(&module(text)).expect("it loads");
        let buffer = emulator.alloc(4 * 128).expect("memory is there");
        let bytes = [buffer.to_le_bytes(), map.address.to_le_bytes()];
        let args = [&bytes[0][..], &[0; 128], &bytes[1]];
        let options = CheckOptions::default();
        let report = emulator.check(&loaded, "k", shape(1, 32, 0), &args, &options);
        (
            report.expect("it is launched"),
            words(&emulator, buffer, 16),
        )
    };
    let (report, found) = check(&text(MADE));
    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!(found, expected(4, 2));
    for (field, problem) in [
        ("rank", "it has no mark of one"),
        ("box_dim", "a box spans 1 to 256 elements"),
        ("global_dim", "an extent is 0"),
    ] {
        let lines = MADE.lines().filter(|line| !line.contains(field));
        let (report, _) = check(&text(&lines.collect::<Vec<_>>().join("\n")));
        let message = &report.findings[0].message;
        assert!(message.contains(problem), "{field}: {message}");
    }
}
