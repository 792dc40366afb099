//! Branches, calls, exits and barriers: 9.7.12 and 9.7.13.

use super::case::Case;
use super::values::{Source, Values};

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = BRANCHES
        .iter()
        .map(|&(name, body)| {
            let source: Source = ("u32", Values::Below(100)).into();
            Case::with_body(name, body, &["b32"], &[source]).threads(96)
        })
        .collect();
    for &(name, globals, body) in CALLS {
        let case = Case::with_body(name, body, &["b64"], &["b64".into()]);
        cases.push(case.globals(globals).threads(96));
    }
    for &(name, body) in BARRIERS {
        cases.push(Case::with_body(name, body, &["b32"], &["b32".into()]).threads(128));
    }
    cases
}

const BRANCHES: &[(&str, &str)] = &[
    // Local memory of a size that the operand gives; freed, the next allocation is at its place.
    (
        "alloca",
        "stacksave.u64 %l1; mad.wide.u32 %l2, %a0, 4, 4; alloca.u64 %l3, %l2, 32; alloca.u64 %l4, 8; st.local.u64 [%l4], 1000;
	mov.u32 %d0, 0; mov.u32 %r1, %a0;
	$fill: mul.wide.u32 %l5, %r1, 4; add.u64 %l5, %l5, %l3; st.local.u32 [%l5], %r1; sub.u32 %r1, %r1, 1; setp.ge.s32 %p1, %r1, 0; @%p1 bra $fill;
	mov.u32 %r1, %a0;
	$sum: mul.wide.u32 %l5, %r1, 4; add.u64 %l5, %l5, %l3; ld.local.u32 %r2, [%l5]; add.u32 %d0, %d0, %r2; sub.u32 %r1, %r1, 1; setp.ge.s32 %p1, %r1, 0; @%p1 bra $sum;
	ld.local.u32 %r2, [%l4]; add.u32 %d0, %d0, %r2; and.b64 %l5, %l3, 31; cvt.u32.u64 %r2, %l5; mad.lo.u32 %d0, %r2, 10000, %d0;
	stackrestore.u64 %l1; alloca.u64 %l5, %l2, 32; setp.ne.u64 %p1, %l5, %l3; @%p1 add.u32 %d0, %d0, 100000;",
    ),
    // Each thread goes round as often as its operand says.
    (
        "bra.loop",
        "mov.u32 %d0, 1; mov.u32 %r1, %a0;
	$again: setp.eq.u32 %p1, %r1, 0; @%p1 bra $done; mad.lo.u32 %d0, %d0, 3, %r1; sub.u32 %r1, %r1, 1; bra.uni $again;
	$done:",
    ),
    (
        "bra.nested",
        "mov.u32 %d0, 0; mov.u32 %r1, 0;
	$outer: setp.ge.u32 %p1, %r1, %a0; @%p1 bra $done; mov.u32 %r2, %r1;
	$inner: add.u32 %d0, %d0, %r2; shr.u32 %r2, %r2, 1; setp.ne.u32 %p2, %r2, 0; @%p2 bra $inner;
	add.u32 %r1, %r1, 7; and.b32 %r3, %d0, 1; setp.eq.u32 %p3, %r3, 1; @%p3 bra $outer; add.u32 %d0, %d0, 1000; bra $outer;
	$done:",
    ),
    (
        "brx.idx",
        "mov.u32 %d0, 5; and.b32 %r1, %a0, 3;
	$table: .branchtargets $zero, $one, $two, $three;
	brx.idx %r1, $table;
	$zero: add.u32 %d0, %d0, 10; bra $done;
	$one: mul.lo.u32 %d0, %d0, 7;
	$two: add.u32 %d0, %d0, 100; bra $done;
	$three: not.b32 %d0, %d0;
	$done:",
    ),
    (
        "brx.idx.uni",
        "mov.u32 %d0, 5; mov.u32 %r1, %ctaid.x;
	$table: .branchtargets $zero, $one;
	brx.idx.uni %r1, $table;
	$one: mul.lo.u32 %d0, %d0, 7;
	$zero: add.u32 %d0, %d0, %a0;",
    ),
    (
        "guards",
        "mov.u32 %d0, %a0; setp.gt.u32 %p1, %a0, 50; @%p1 add.u32 %d0, %d0, 1000; @!%p1 sub.u32 %d0, %d0, 1000; \
         setp.gt.and.u32 %p2|%p3, %a0, 20, %p1; @%p2 xor.b32 %d0, %d0, 64; @%p3 setp.lt.u32 %p3, %a0, 30; @%p3 neg.s32 %d0, %d0; \
         @%p1 st.global.b32 [%out], %d0; @%p1 ld.global.b32 %d0, [%out];",
    ),
    (
        "exit",
        "mov.u32 %d0, %a0; st.global.b32 [%out], 4711; setp.gt.u32 %p1, %a0, 60; @%p1 exit; setp.lt.u32 %p2, %a0, 20; @%p2 ret;",
    ),
    (
        "trap.brkpt.not.taken",
        "mov.u32 %d0, %a0; setp.gt.u32 %p1, %a0, 1000; @%p1 trap; @%p1 brkpt; pmevent 3; pmevent.mask 5; nanosleep.u32 20;",
    ),
    (
        "scopes",
        "{ .reg .b32 %own; add.u32 %own, %a0, 1; { .reg .b32 %own; add.u32 %own, %a0, 2; mov.u32 %d0, %own; } \
         mad.lo.u32 %d0, %d0, 1000, %own; }",
    ),
];

const FUNCTIONS: &str = ".func (.param .b64 result) twice(.param .b64 value)
{
	.reg .b64 %l<4>;
	ld.param.u64 %l1, [value];
	add.u64 %l2, %l1, %l1;
	st.param.b64 [result], %l2;
	ret;
}
.func (.param .b64 result) odd(.param .b64 value)
{
	.reg .b64 %l<4>; .reg .pred %p<2>;
	ld.param.u64 %l1, [value];
	and.b64 %l2, %l1, 1;
	st.param.b64 [result], %l2;
	setp.eq.u64 %p1, %l2, 0;
	@%p1 ret;
	mul.lo.u64 %l2, %l1, 3;
	st.param.b64 [result], %l2;
}";

const CALLS: &[(&str, &str, &str)] = &[
    (
        "call",
        FUNCTIONS,
        "{ .param .b64 p; .param .b64 r; st.param.b64 [p], %a0; call.uni (r), twice, (p); ld.param.b64 %d0, [r]; }
	{ .param .b64 p; .param .b64 r; st.param.b64 [p], %d0; call (r), odd, (p); ld.param.b64 %l1, [r]; }
	{ .param .b64 p; .param .b64 r; st.param.b64 [p], %a0; call (r), odd, (p); ld.param.b64 %l2, [r]; }
	xor.b64 %d0, %l1, %l2;",
    ),
    (
        "call.indirect",
        FUNCTIONS,
        "and.b64 %l1, %a0, 1; setp.eq.u64 %p1, %l1, 0; mov.u64 %l2, twice; mov.u64 %l3, odd; selp.b64 %l4, %l2, %l3, %p1;
	{ .param .b64 p; .param .b64 r; st.param.b64 [p], %a0;
	shape: .callprototype (.param .b64 _) _ (.param .b64 _);
	call (r), %l4, (p), shape; ld.param.b64 %d0, [r]; }",
    ),
    (
        "call.table",
        ".func (.param .b64 result) twice(.param .b64 value);
.func (.param .b64 result) same(.param .b64 value)
{
	.reg .b64 %l<2>;
	ld.param.u64 %l1, [value];
	st.param.b64 [result], %l1;
	ret;
}
.global .align 8 .u64 table[2] = {twice, same};
.func (.param .b64 result) twice(.param .b64 value)
{
	.reg .b64 %l<4>;
	ld.param.u64 %l1, [value];
	add.u64 %l2, %l1, %l1;
	st.param.b64 [result], %l2;
	ret;
}",
        "and.b64 %l1, %a0, 8; mov.u64 %l2, table; add.u64 %l2, %l2, %l1; ld.global.u64 %l3, [%l2];
	{ .param .b64 p; .param .b64 r; st.param.b64 [p], %a0;
	shape: .callprototype (.param .b64 _) _ (.param .b64 _);
	call (r), %l3, (p), shape; ld.param.b64 %d0, [r]; }",
    ),
    (
        "call.struct",
        ".func (.param .align 8 .b8 result[16]) swapped(.param .align 8 .b8 pair[16], .param .b32 few, .param .b32 flag)
{
	.reg .b64 %l<4>; .reg .b32 %r<4>; .reg .b16 %h<2>;
	ld.param.v2.b64 {%l1, %l2}, [pair];
	ld.param.s8 %r1, [few];
	ld.param.b32 %r2, [flag];
	add.u32 %r1, %r1, %r2;
	cvt.u64.u32 %l3, %r1;
	add.u64 %l1, %l1, %l3;
	st.param.v2.b64 [result], {%l2, %l1};
	ret;
}",
        "cvt.u32.u64 %r1, %a0;
	{ .param .align 8 .b8 p[16]; .param .b32 q; .param .b32 f; .param .align 8 .b8 r[16];
	st.param.b64 [p], %a0; st.param.b64 [p+8], 77; st.param.b32 [q], %r1; st.param.b32 [f], 5;
	call.uni (r), swapped, (p, q, f); ld.param.b64 %l1, [r]; ld.param.b32 %r2, [r+8]; ld.param.b32 %r3, [r+12]; }
	cvt.u64.u32 %l2, %r2; cvt.u64.u32 %l3, %r3; shl.b64 %l3, %l3, 32; or.b64 %l2, %l2, %l3; sub.u64 %d0, %l2, %l1;",
    ),
    (
        "call.recursive",
        ".func (.param .b64 result) count(.param .b64 value)
{
	.reg .b64 %l<6>; .reg .pred %p<2>;
	ld.param.u64 %l1, [value];
	mov.b64 %l3, 0;
	setp.eq.u64 %p1, %l1, 0;
	@%p1 bra $end;
	shr.u64 %l2, %l1, 9;
	{ .param .b64 p; .param .b64 r; st.param.b64 [p], %l2; call (r), count, (p); ld.param.b64 %l3, [r]; }
	add.u64 %l3, %l3, %l1;
	$end: st.param.b64 [result], %l3;
	ret;
}",
        "{ .param .b64 p; .param .b64 r; st.param.b64 [p], %a0; call (r), count, (p); ld.param.b64 %d0, [r]; }",
    ),
];

/// A slot of shared memory for each thread, written by its neighbour 33 threads on.
const BARRIERS: &[(&str, &str)] = &[
    (
        "bar.sync",
        ".shared .align 4 .b32 slots[128]; mov.u32 %r1, slots; mad.lo.u32 %r2, %thread, 4, %r1; st.shared.b32 [%r2], %a0; bar.sync 0; \
         add.u32 %r3, %thread, 33; and.b32 %r3, %r3, 127; mad.lo.u32 %r3, %r3, 4, %r1; ld.shared.b32 %d0, [%r3];",
    ),
    (
        "barrier.sync",
        ".shared .align 4 .b32 slots[128]; mov.u32 %r1, slots; mad.lo.u32 %r2, %thread, 4, %r1; st.shared.b32 [%r2], %a0; \
         barrier.cta.sync.aligned 3, 128; barrier.sync 1; \
         add.u32 %r3, %thread, 33; and.b32 %r3, %r3, 127; mad.lo.u32 %r3, %r3, 4, %r1; ld.shared.b32 %d0, [%r3];",
    ),
    (
        "bar.arrive",
        ".shared .align 4 .b32 slots[128]; mov.u32 %r1, slots; mad.lo.u32 %r2, %thread, 4, %r1; mov.u32 %d0, 1; \
         setp.lt.u32 %p1, %thread, 64; @!%p1 bra $second; st.shared.b32 [%r2], %a0; membar.cta; bar.arrive 5, 128; bra $done; \
         $second: bar.sync 5, 128; ld.shared.b32 %d0, [%r2+-256]; $done: barrier.sync 0;",
    ),
    (
        "bar.red.popc",
        "setp.gt.s32 %p1, %a0, 0; bar.red.popc.u32 %d0, 0, %p1;",
    ),
    (
        "bar.red.popc.not",
        "setp.gt.s32 %p1, %a0, 0; barrier.cta.red.popc.aligned.u32 %d0, 2, 128, !%p1;",
    ),
    (
        "bar.red.and",
        "setp.ne.s32 %p1, %a0, 12345; bar.red.and.pred %p2, 0, %p1; selp.b32 %d0, 1, 0, %p2;",
    ),
    (
        "bar.red.or",
        "setp.gt.u32 %p1, %thread, 126; bar.red.or.pred %p2, 0, %p1; selp.b32 %d0, 1, 0, %p2;",
    ),
    (
        "barrier.red",
        "setp.gt.u32 %p1, %thread, 127; barrier.red.or.pred %p2, 0, %p1; selp.b32 %d0, 1, 0, %p2;",
    ),
    (
        "barrier.cta.red",
        "setp.gt.u32 %p1, %thread, 3; barrier.cta.red.and.aligned.pred %p2, 0, %p1; selp.b32 %d0, 1, 0, %p2;",
    ),
    (
        "bar.cta",
        "bar.cta.sync 0; setp.lt.u32 %p1, %thread, 9; bar.cta.red.popc.u32 %d0, 0, %p1;",
    ),
    (
        "barrier.forms",
        "barrier.sync.aligned 1; barrier.cta.sync 2; setp.lt.u32 %p1, %thread, 50; barrier.red.and.pred %p2, 3, %p1; \
         barrier.red.and.aligned.pred %p3, 4, %p1; barrier.cta.red.and.pred %p4, 5, %p1; barrier.cta.red.or.aligned.pred %p5, 6, %p1; \
         barrier.red.or.aligned.pred %p6, 7, %p1; barrier.cta.red.or.pred %p7, 8, %p1; barrier.red.popc.u32 %r1, 9, %p1; \
         barrier.red.popc.aligned.u32 %r2, 10, %p1; barrier.cta.red.popc.u32 %r3, 11, %p1; bar.cta.red.and.pred %p8, 12, %p1; \
         bar.cta.red.or.pred %p9, 13, !%p1; \
         selp.b32 %r4, 1, 0, %p2; selp.b32 %r5, 2, 0, %p3; selp.b32 %r6, 4, 0, %p4; selp.b32 %r7, 8, 0, %p5; selp.b32 %r8, 16, 0, %p6; \
         selp.b32 %r9, 32, 0, %p7; selp.b32 %r10, 64, 0, %p8; selp.b32 %r11, 128, 0, %p9; mad.lo.u32 %d0, %r1, 256, %r2; \
         mad.lo.u32 %d0, %r3, 65536, %d0; shl.b32 %d0, %d0, 8; add.u32 %d0, %d0, %r4; add.u32 %d0, %d0, %r5; add.u32 %d0, %d0, %r6; \
         add.u32 %d0, %d0, %r7; add.u32 %d0, %d0, %r8; add.u32 %d0, %d0, %r9; add.u32 %d0, %d0, %r10; add.u32 %d0, %d0, %r11;",
    ),
    (
        "barrier.arrive.forms",
        "mov.u32 %d0, %a0; setp.lt.u32 %p1, %thread, 32; @%p1 barrier.arrive.aligned 4, 64; @%p1 barrier.cta.arrive 5, 64; \
         @%p1 barrier.cta.arrive.aligned 6, 64; @%p1 bar.cta.arrive 7, 64; setp.ge.u32 %p2, %thread, 96; @%p2 barrier.sync 4, 64; \
         @%p2 barrier.sync 5, 64; @%p2 bar.sync 6, 64; @%p2 bar.sync 7, 64;",
    ),
    (
        "barrier.arrive",
        "mov.u32 %d0, %a0; setp.lt.u32 %p1, %thread, 32; @%p1 barrier.arrive 4, 64; setp.ge.u32 %p2, %thread, 96; @%p2 barrier.sync 4, 64;",
    ),
];
