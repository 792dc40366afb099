//! Barriers, shuffles, votes, matches, reductions and matrix instructions.

use crate::common::{launch, shape};
use ptx_emulator::FaultKind;

fn kernel(module_scope: &str, body: &str) -> String {
    format!(
        "{module_scope}
.visible .entry k(.param .u64 buffer) {{
    .reg .b64 %at, %mine, %rd<16>; .reg .b32 %t, %d, %r<40>; .reg .pred %p, %q, %pp<8>;
    ld.param.u64 %at, [buffer];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %mine, %t, 8, %at;
    {body}
    st.global.u32 [%mine], %d;
    ret;
}}"
    )
}

#[track_caller]
fn run(body: &str, threads: u32) -> Vec<u32> {
    let result = launch(
        &kernel("", body),
        shape(1, threads, 0),
        &[],
        threads as usize,
    );
    result
        .unwrap_or_else(|fault| panic!("{fault}"))
        .0
        .iter()
        .map(|&word| word as u32)
        .collect()
}

#[track_caller]
fn check(body: &str, expected: impl Fn(u32) -> u32) {
    assert_eq!(
        run(body, 32),
        (0..32).map(expected).collect::<Vec<u32>>(),
        "{body}"
    );
}

#[test]
fn shuffles() {
    check("shfl.sync.up.b32 %d, %t, 3, 0, -1;", |lane| {
        if lane < 3 { lane } else { lane - 3 }
    });
    check("shfl.sync.down.b32 %d, %t, 3, 31, -1;", |lane| {
        if lane > 28 { lane } else { lane + 3 }
    });
    check("shfl.sync.bfly.b32 %d, %t, 5, 31, -1;", |lane| lane ^ 5);
    check("shfl.sync.idx.b32 %d, %t, 9, 31, -1;", |_| 9);
    // Segments of eight lanes.
    check("shfl.sync.down.b32 %d, %t, 3, 0x181f, -1;", |lane| {
        if lane % 8 > 4 { lane } else { lane + 3 }
    });
    check("shfl.sync.up.b32 %d, %t, 3, 0x1800, -1;", |lane| {
        if lane % 8 < 3 { lane } else { lane - 3 }
    });
    check("shfl.sync.idx.b32 %d, %t, 2, 0x181f, -1;", |lane| {
        lane / 8 * 8 + 2
    });
    check(
        "shfl.sync.down.b32 %r0|%p, %t, 1, 31, -1; selp.u32 %d, 1, 0, %p;",
        |lane| u32::from(lane < 31),
    );
}

/// As PTX for targets before sm_70: the members are the lanes that execute it.
#[test]
fn shuffles_and_votes_without_members() {
    check("shfl.bfly.b32 %d, %t, 5, 31;", |lane| lane ^ 5);
    check(
        "shfl.down.b32 %r0|%p, %t, 1, 31; selp.u32 %d, 1, 0, %p;",
        |lane| u32::from(lane < 31),
    );
    check(
        "mov.u32 %d, 99; setp.lt.u32 %p, %t, 8; @!%p bra out; setp.ge.u32 %q, %t, 2; vote.ballot.b32 %d, %q; vote.all.pred %p, %p; @%p add.u32 %d, %d, 1; out:",
        |lane| if lane < 8 { 0xfd } else { 99 },
    );
}

#[test]
fn votes() {
    let lower = "setp.lt.u32 %p, %t, 4;";
    check(&format!("{lower} vote.sync.ballot.b32 %d, %p, -1;"), |_| 15);
    check(
        &format!("{lower} vote.sync.any.pred %q, %p, -1; selp.u32 %d, 1, 0, %q;"),
        |_| 1,
    );
    check(
        &format!("{lower} vote.sync.all.pred %q, %p, -1; selp.u32 %d, 1, 0, %q;"),
        |_| 0,
    );
    check(
        &format!("{lower} vote.sync.uni.pred %q, !%p, -1; selp.u32 %d, 1, 0, %q;"),
        |_| 0,
    );
    // Halves of the warp vote by themselves.
    let halves = "setp.lt.u32 %q, %t, 16; selp.b32 %r0, 0xffff, 0xffff0000, %q;";
    check(
        &format!("{lower} {halves} vote.sync.ballot.b32 %d, !%p, %r0;"),
        |lane| {
            if lane < 16 { 0xfff0 } else { 0xffff_0000 }
        },
    );
}

#[test]
fn matches_and_reductions() {
    check(
        "and.b32 %r0, %t, 1; match.any.sync.b32 %d, %r0, -1;",
        |lane| {
            if lane % 2 == 0 {
                0x5555_5555
            } else {
                0xaaaa_aaaa
            }
        },
    );
    check(
        "and.b32 %r0, %t, 1; match.all.sync.b32 %d|%p, %r0, -1;",
        |_| 0,
    );
    check(
        "cvt.u64.u32 %rd0, 7; match.all.sync.b64 %r0|%p, %rd0, -1; selp.u32 %d, %r0, 1, %p;",
        |_| u32::MAX,
    );
    check("redux.sync.add.u32 %d, %t, -1;", |_| 496);
    check(
        "sub.u32 %r0, %t, 5; redux.sync.min.s32 %d, %r0, -1;",
        |_| (-5_i32) as u32,
    );
    check(
        "sub.u32 %r0, %t, 5; redux.sync.max.u32 %d, %r0, -1;",
        |_| u32::MAX,
    );
    check("redux.sync.xor.b32 %d, %t, -1;", |_| 0);
    check("elect.sync %r0|%p, -1; selp.u32 %d, %r0, 77, %p;", |lane| {
        if lane == 0 { 0 } else { 77 }
    });
}

#[test]
fn lanes_that_part_meet_again_at_a_shuffle() {
    // The upper half loops longer before it comes; the shuffle waits for it.
    let body = "mov.u32 %r1, 0; setp.lt.u32 %p, %t, 16; @%p bra go;
                again: add.u32 %r1, %r1, 1; setp.lt.u32 %q, %r1, 50; @%q bra again;
                go: shfl.sync.bfly.b32 %d, %r1, 16, 31, -1;";
    check(body, |lane| if lane < 16 { 50 } else { 0 });
}

#[test]
fn a_member_that_never_comes_is_a_fault() {
    let body = "setp.eq.u32 %p, %t, 3; @%p bra out; shfl.sync.idx.b32 %d, %t, 0, 31, -1; bra out; out: bar.warp.sync -1;";
    let fault =
        launch(&kernel("", body), shape(1, 32, 0), &[], 32).expect_err("lane 3 does not come");
    let FaultKind::WarpSync {
        members,
        active,
        problem,
        ..
    } = fault.kind
    else {
        panic!("{fault}")
    };
    assert_eq!((members, active), (u32::MAX, !8));
    assert!(
        problem.contains("lanes 0x00000008 wait at PTX line"),
        "{problem}"
    );
}

/// The low lanes reach the instruction once by themselves, and then with all: the high ones wait
/// for that.
#[test]
fn lanes_with_another_mask_are_not_the_members_that_have_come() {
    let rounds = "mov.u32 %d, 0; setp.lt.u32 %p, %t, 16; selp.u32 %r0, 0xffff, 0xffffffff, %p; setp.ge.u32 %q, %t, 0;
        again: BALLOT add.u32 %d, %d, %r1; @%p bra low; bra done;
        low: setp.eq.u32 %pp0, %r0, 0xffffffff; @%pp0 bra done; mov.u32 %r0, 0xffffffff; bra again;
        done:";
    let ballot = "vote.sync.ballot.b32 %r1, %q, %r0; popc.b32 %r1, %r1;";
    check(&rounds.replace("BALLOT", ballot), |lane| {
        if lane < 16 { 16 + 32 } else { 32 }
    });
    // A barrier of the warp is not complete by them either: who reads after it finds what was
    // written before it.
    let barrier =
        "@%p st.global.u32 [%mine+4], %r0; bar.warp.sync %r0; ld.volatile.global.u32 %r1, [%at+4];";
    check(&rounds.replace("BALLOT", barrier), |lane| {
        if lane < 16 { 0xfffe } else { u32::MAX }
    });
}

#[test]
fn lanes_outside_the_member_mask_are_a_fault() {
    let body = "shfl.sync.idx.b32 %d, %t, 0, 31, 0xff;";
    let fault = launch(&kernel("", body), shape(1, 32, 0), &[], 32).expect_err("the mask is wrong");
    let text = "lane 8 executes it without being a member";
    assert!(fault.to_string().contains(text), "{fault}");
}

/// PTX leaves the result undefined, and nothing more: a sum over a warp that is not full goes on.
#[test]
fn a_shuffle_may_read_from_a_lane_that_is_not_there() {
    for (body, threads) in [
        (
            "setp.lt.u32 %p, %t, 8; @!%p exit; shfl.sync.down.b32 %r0, %t, 4, 31, -1; mov.u32 %d, 7;",
            32,
        ),
        (
            "setp.lt.u32 %p, %t, 8; @!%p bra out; shfl.sync.down.b32 %r0, %t, 4, 31, 0xff; mov.u32 %d, 7; out:",
            32,
        ),
        ("shfl.sync.down.b32 %r0, %t, 4, 31, -1; mov.u32 %d, 7;", 8),
    ] {
        let (words, _) = launch(&kernel("", body), shape(1, threads, 0), &[], 32)
            .unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(words[..8], [7; 8], "{body}");
    }
    // Lanes that read from others are not touched by that.
    let body = "setp.lt.u32 %p, %t, 8; @!%p exit; shfl.sync.down.b32 %d, %t, 4, 31, -1;";
    let (words, _) = launch(&kernel("", body), shape(1, 32, 0), &[], 32).expect("it runs");
    assert_eq!(words[..4], [4, 5, 6, 7]);
}

#[test]
fn warp_barriers_join_different_instructions() {
    let body = "setp.lt.u32 %p, %t, 16; mov.u32 %d, 1; @%p bra low; bar.warp.sync -1; mov.u32 %d, 2; bra out;
                low: bar.warp.sync -1; out: add.u32 %d, %d, 10;";
    check(body, |lane| if lane < 16 { 11 } else { 12 });
}

#[test]
fn barriers_reduce_predicates() {
    let body = "setp.lt.u32 %p, %t, 37; bar.red.popc.u32 %d, 0, %p;";
    assert_eq!(run(body, 96), [37; 96]);
    let body = "setp.lt.u32 %p, %t, 37; bar.red.or.pred %q, 0, !%p; selp.u32 %d, 1, 0, %q;";
    assert_eq!(run(body, 40), [1; 40]);
    let body = "setp.lt.u32 %p, %t, 37; barrier.cta.red.and.aligned.pred %q, 3, %p; selp.u32 %d, 1, 0, %q;";
    assert_eq!(run(body, 64), [0; 64]);
}

/// Two warps hand values over to two others: one side only arrives.
#[test]
fn barriers_with_counts_serve_producers_and_consumers() {
    let text = kernel(
        ".shared .align 4 .b8 box[256];",
        "mov.u32 %r0, box; setp.ge.u32 %p, %t, 64; @%p bra consume;
         mad.lo.u32 %r1, %t, 4, %r0; mul.lo.u32 %r2, %t, 3; st.shared.u32 [%r1], %r2; bar.arrive 1, 128;
         mov.u32 %d, 5; bra out;
         consume: bar.sync 1, 128; sub.u32 %r3, %t, 64; mad.lo.u32 %r1, %r3, 4, %r0; ld.shared.u32 %d, [%r1];
         out:",
    );
    let (words, _) =
        launch(&text, shape(1, 128, 0), &[], 128).unwrap_or_else(|fault| panic!("{fault}"));
    let expected: Vec<u64> = (0..128)
        .map(|t| if t < 64 { 5 } else { 3 * (t - 64) })
        .collect();
    assert_eq!(words, expected);
}

#[test]
fn unaligned_barriers_may_be_different_instructions() {
    let body = "setp.lt.u32 %p, %t, 5; @%p bra low; barrier.sync 0; mov.u32 %d, 1; bra out;
                low: barrier.sync 0; mov.u32 %d, 2; out:";
    check(body, |lane| if lane < 5 { 2 } else { 1 });
}

/// An identity times a matrix is the matrix; values are exact in tf32.
#[test]
fn matrices_multiply() {
    let body = "shr.u32 %r0, %t, 2; and.b32 %r1, %t, 3;
                setp.eq.u32 %p, %r0, %r1; selp.b32 %r2, 0f3F800000, 0, %p;
                add.u32 %r3, %r1, 4; setp.eq.u32 %p, %r0, %r3; selp.b32 %r4, 0f3F800000, 0, %p;
                mad.lo.u32 %r5, %r1, 8, %r0; cvt.rn.f32.u32 %r5, %r5; mad.lo.u32 %r6, %r3, 8, %r0; cvt.rn.f32.u32 %r6, %r6;
                mov.b32 %r7, 0f42C80000;
                mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r10, %r11, %r12, %r13}, {%r2, %r2, %r4, %r4},
                    {%r5, %r6}, {%r7, %r7, %r7, %r7};
                cvt.rzi.u32.f32 %r10, %r10; cvt.rzi.u32.f32 %r13, %r13; shl.b32 %r13, %r13, 16; or.b32 %d, %r10, %r13;";
    // Both halves of A are the identity, so rows g and g + 8 of the result are row g of B, plus
    // 100.
    check(body, |lane| {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        (100 + 8 * row + column + 1) << 16 | (100 + 8 * row + column)
    });
}

#[test]
fn matrices_are_loaded_by_rows() {
    let text = kernel(
        ".shared .align 16 .b8 tile[128];",
        "mov.u32 %r0, tile; mad.lo.u32 %r1, %t, 4, %r0; mul.lo.u32 %r2, %t, 2; add.u32 %r3, %r2, 1; shl.b32 %r3, %r3, 16;
         or.b32 %r2, %r2, %r3; st.shared.u32 [%r1], %r2; bar.warp.sync -1;
         and.b32 %r4, %t, 7; mad.lo.u32 %r5, %r4, 16, %r0;
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r5]; ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r7}, [%r5];
         and.b32 %r6, %r6, 0xff; shr.u32 %r7, %r7, 16; shl.b32 %r7, %r7, 16; or.b32 %d, %r6, %r7;",
    );
    let (words, _) =
        launch(&text, shape(1, 32, 0), &[], 32).unwrap_or_else(|fault| panic!("{fault}"));
    let expected: Vec<u64> = (0..32)
        .map(|lane| {
            let (major, minor) = (lane / 4, 2 * (lane % 4));
            (8 * (minor + 1) + major) << 16 | (8 * major + minor)
        })
        .collect();
    assert_eq!(words, expected);
}
