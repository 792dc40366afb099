//! Barriers of a part of a block: they order exactly those that take part.

use super::{Launch, silent, with, wrong};
use ptx_emulator::CheckReport;

const COUNT: &str = include_str!("bar_count.ptx");

fn check(text: &str, threads: u32) -> CheckReport {
    let launch = Launch {
        text,
        grid: 1,
        threads,
        buffers: &[256],
        schedules: 64,
    };
    launch.check()
}

#[test]
fn a_barrier_of_fewer_threads_than_the_block() {
    silent(&check(COUNT, 96));
    // Not aligned: lanes come one by one.
    silent(&check(
        &with(COUNT, "bar.sync 1, 64", "barrier.sync 1, 64"),
        96,
    ));
    // With a reduction.
    let reduces = "bar.red.popc.u32 %r6, 1, 64, %p1";
    silent(&check(&with(COUNT, "bar.sync 1, 64", reduces), 96));
    // Its number and count in registers.
    let registers = "mov.u32 %r6, 7; mov.u32 %r7, 64; bar.sync %r6, %r7";
    silent(&check(&with(COUNT, "bar.sync 1, 64", registers), 96));
    // The neighbour is in the other warp.
    silent(&check(
        &with(COUNT, "xor.b32 %r4, %r4, 4", "xor.b32 %r4, %r4, 128"),
        96,
    ));
    // No barrier: lanes of a warp race, and warps do.
    wrong(&check(
        &with(
            &with(COUNT, "bar.sync 1, 64;", ""),
            "xor.b32 %r4, %r4, 4",
            "xor.b32 %r4, %r4, 128",
        ),
        96,
    ));
}

/// Pairs of warps meet at a barrier of their own, three times.
const PAIRS: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>; .reg .b32 %r<16>;
  .shared .align 4 .b8 s[512];
  mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 6; add.u32 %r2, %r2, 1; mov.u32 %r9, 0;
  mov.u32 %r3, s; mad.lo.u32 %r4, %r1, 4, %r3; xor.b32 %r5, %r1, 63; mad.lo.u32 %r5, %r5, 4, %r3;
again:
  st.shared.u32 [%r4], %r9;
  bar.sync %r2, 64;
  ld.shared.u32 %r6, [%r5];
  bar.sync %r2, 64;
  add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 3; @%p1 bra again;
  ret;
}";

#[test]
fn pairs_of_warps_meet_again_and_again() {
    silent(&check(PAIRS, 128));
    // The other pair's words.
    wrong(&check(
        &with(PAIRS, "xor.b32 %r5, %r1, 63", "xor.b32 %r5, %r1, 64"),
        128,
    ));
    // Only once a round.
    let once = with(
        PAIRS,
        "ld.shared.u32 %r6, [%r5];\n  bar.sync %r2, 64;",
        "ld.shared.u32 %r6, [%r5];",
    );
    wrong(&check(&once, 128));
}

/// Warps 0 and 1 fill one of two buffers while warps 2 and 3 empty the other, with `bar.arrive` by
/// those who need not wait.
const TWO_BUFFERS: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<6>; .reg .b32 %r<20>; .reg .b64 %d<4>;
  .shared .align 4 .b8 s[512];
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 63; mov.u32 %r3, s; mad.lo.u32 %r4, %r2, 4, %r3; mov.u32 %r9, 0;
  setp.ge.u32 %p1, %r1, 64; @%p1 bra consume;
fill:
  and.b32 %r5, %r9, 1; mad.lo.u32 %r6, %r5, 256, %r4; add.u32 %r7, %r5, 1; add.u32 %r8, %r5, 3;
  setp.lt.u32 %p2, %r9, 2; @%p2 bra first;
  bar.sync %r8, 128;
first:
  st.shared.u32 [%r6], %r9;
  bar.arrive %r7, 128;
  add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 6; @%p3 bra fill;
  ret;
consume:
  xor.b32 %r10, %r2, 33; mad.lo.u32 %r10, %r10, 4, %r3;
empty:
  and.b32 %r5, %r9, 1; mad.lo.u32 %r6, %r5, 256, %r10; add.u32 %r7, %r5, 1; add.u32 %r8, %r5, 3;
  bar.sync %r7, 128;
  ld.shared.u32 %r11, [%r6];
  setp.ge.u32 %p4, %r9, 4; @%p4 bra last;
  bar.arrive %r8, 128;
last:
  add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 6; @%p3 bra empty;
  ret;
}";

#[test]
fn some_announce_and_others_wait() {
    silent(&check(TWO_BUFFERS, 128));
    silent(&check(
        &with(
            &with(TWO_BUFFERS, "bar.arrive", "barrier.arrive"),
            "bar.sync",
            "barrier.sync",
        ),
        128,
    ));
    // The buffer is said to be free before it is read.
    let early = with(TWO_BUFFERS, "ld.shared.u32 %r11, [%r6];\n", "");
    let early = with(&early, "last:\n", "last:\n  ld.shared.u32 %r11, [%r6];\n");
    wrong(&check(&early, 128));
    // Filled after it is said to be full.
    let late = with(
        TWO_BUFFERS,
        "st.shared.u32 [%r6], %r9;\n  bar.arrive %r7, 128;",
        "bar.arrive %r7, 128;\n  st.shared.u32 [%r6], %r9;",
    );
    wrong(&check(&late, 128));
    // The other buffer's barrier.
    wrong(&check(
        &with(
            TWO_BUFFERS,
            "mad.lo.u32 %r6, %r5, 256, %r10;",
            "xor.b32 %r5, %r5, 1; mad.lo.u32 %r6, %r5, 256, %r10; xor.b32 %r5, %r5, 1;",
        ),
        128,
    ));
}
