//! Values that go from lane to lane: shuffles, votes, matrices, divergent lanes.

use super::{BODY, TILE, check, clean, memory, only};
use crate::common::{shape, thread};
use ptx_emulator::Space;

#[test]
fn a_shuffle_takes_the_taint_of_its_source_lane() {
    // Only lane 3 has an undefined value; lanes 3 and 7 take each other's.
    let body = "mov.u32 %r0, tile;
mov.u32 %r1, %t;
setp.eq.u32 %p0, %t, 3;
@%p0 ld.shared.u32 %r1, [%r0];
shfl.sync.bfly.b32 %r2, %r1, 4, 31, -1;
st.global.u32 [%out], %r2;";
    let finding = only(check(TILE, body, shape(1, 32, 0)));
    assert_eq!((finding.site.thread, finding.count), (Some([7, 0, 0]), 1));
    assert_eq!(finding.others[0].thread, Some([3, 0, 0]));
}

#[test]
fn votes_and_reductions_depend_on_every_lane() {
    let body = "mov.u32 %r0, tile;
mov.u32 %r1, %t;
setp.eq.u32 %p0, %t, 3;
@%p0 ld.shared.u32 %r1, [%r0];
setp.gt.u32 %p1, %r1, 5;
INSTRUCTION
st.global.u32 [%out], %r2;";
    for instruction in [
        "redux.sync.add.u32 %r2, %r1, -1;",
        "match.any.sync.b32 %r2, %r1, -1;",
        "vote.sync.any.pred %p2, %p1, -1; selp.u32 %r2, 1, 2, %p2;",
    ] {
        let report = check(
            TILE,
            &body.replace("INSTRUCTION", instruction),
            shape(1, 32, 0),
        );
        assert_eq!(only(report).count, 32, "{instruction}");
    }
    // A ballot's other bits are known.
    let ballot = "vote.sync.ballot.b32 %r2, %p1, -1; and.b32 %r2, %r2, MASK;";
    let ballot = body.replace("INSTRUCTION", ballot);
    clean(
        TILE,
        &ballot
            .replace("MASK", "0xfffffff7")
            .replace("eq.u32 %p0, %t, 3", "eq.u32 %p0, %t, 35"),
    );
    assert!(check(TILE, &ballot.replace("MASK", "0xfffffff7"), shape(1, 32, 0)).is_clean());
    assert!(!check(TILE, &ballot.replace("MASK", "0x0000000c"), shape(1, 32, 0)).is_clean());
}

#[test]
fn matrices_are_undefined_by_rows_and_columns() {
    let before = ".shared .align 16 .b8 tile[1024];";
    // Rows 0 to 7 of the left operand are defined, 8 to 15 not; the accumulator is zero.
    let body = "mov.u32 %r0, tile;
mov.f32 %f0, 0f3F800000;
ld.shared.f32 %f1, [%r0];
mov.f32 %f2, %f0;
mov.f32 %f3, %f1;
mov.f32 %f4, %f0;
mov.f32 %f5, %f0;
mov.f32 %f6, 0f00000000;
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f10, %f11, %f12, %f13}, {%f0, %f1, %f2, %f3}, {%f4, %f5}, {%f6, %f6, %f6, %f6};
st.global.f32 [%out], %f10;
st.global.f32 [%out], %f11;
st.global.f32 [%out], %f12;";
    let report = check(before, body, shape(1, 32, 0));
    memory(report, Space::Shared, 2, 11, &[]);
}

#[test]
fn matrices_loaded_from_shared_memory() {
    // Rows of 16 bytes: lane l stores the second half of row l, the loads bring both.
    let body = "mov.u32 %r0, tile;
mad.lo.u32 %r0, %t, 16, %r0;
st.shared.v2.u32 [%r0+8], {%t, %t};
bar.warp.sync -1;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r0];
and.b32 %r5, %t, 2;
setp.ne.u32 %p0, %r5, 0;
@%p0 st.global.u32 [%out], %r3;
st.global.u32 [%out], %r4;";
    let finding = only(check(TILE, body, shape(1, 32, 0)));
    assert_eq!(finding.site.place.ptx_line, BODY + 8);
    // Lanes 4r and 4r + 1 hold the first half of each row.
    assert_eq!((finding.site.thread, finding.count), (Some([0, 0, 0]), 16));
    assert_eq!(
        finding.others[0].target.expect("an access").address,
        24 * 16
    );
}

#[test]
fn what_all_lanes_do_alike_is_reported_of_the_lane_that_uses_it() {
    // All lanes read one word and compute with it and with a register in a loop; only lane 5 uses
    // the result.
    let body = "mov.u32 %r0, 0;
again: ld.shared.u32 %r1, [s];
add.u32 %r2, %r2, %r1;
add.u32 %r0, %r0, 1;
setp.lt.u32 %p0, %r0, 9;
@%p0 bra again;
setp.eq.u32 %p1, %t, 5;
@%p1 st.global.u32 [%out], USED;";
    for used in ["%r1", "%r2"] {
        let report = check(
            ".shared .b32 s;",
            &body.replace("USED", used),
            shape(1, 64, 0),
        );
        let finding = only(report);
        assert_eq!(finding.count, 1);
        assert_eq!(thread(&finding.site), 5);
        assert_eq!(thread(&finding.others[0]), 5, "{finding:#?}");
    }
}

#[test]
fn lanes_that_part_keep_their_own_undefined_bits() {
    // Lanes 0 to 3 write their half of what all lanes had read, lane 2 all of it.
    let body = |lane: u32| {
        format!(
            "ld.shared.u32 %r1, [s];
setp.lt.u32 %p0, %t, 4;
@%p0 and.b32 %r1, %r1, 0xffff;
setp.eq.u32 %p1, %t, 2;
@%p1 mov.u32 %r1, 7;
setp.eq.u32 %p2, %t, {lane};
shr.u32 %r2, %r1, SHIFT;
@%p2 st.global.u32 [%out], %r2;"
        )
    };
    for (lane, shift, is_undefined) in [
        (0, 4, true),
        (0, 16, false),
        (2, 0, false),
        (3, 16, false),
        (4, 20, true),
        (31, 31, true),
    ] {
        let body = body(lane).replace("SHIFT", &shift.to_string());
        let report = check(".shared .b32 s;", &body, shape(1, 32, 0));
        assert_eq!(!report.is_clean(), is_undefined, "{lane} {shift}");
    }
}

#[test]
fn lanes_read_one_place_of_their_own_local_memory() {
    // Lane 9 has written its word.
    let body = |lane: u32| {
        format!(
            ".local .b32 own; setp.eq.u32 %p0, %t, 9;
@%p0 st.local.u32 [own], %t;
ld.local.u32 %r1, [own];
setp.eq.u32 %p1, %t, {lane};
@%p1 st.global.u32 [%out], %r1;"
        )
    };
    for lane in [0, 9, 10] {
        let report = check("", &body(lane), shape(1, 32, 0));
        assert_eq!(report.is_clean(), lane == 9, "{lane}");
    }
}
