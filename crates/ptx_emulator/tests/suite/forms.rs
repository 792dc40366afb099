//! Forms that others' compilers write and LLVM does not.

use crate::common::{compute, launch, module, one, shape};
use ptx_emulator::Module;

#[test]
fn an_alias_calls_the_function_that_it_names() {
    let text = ".func (.param .b32 d) twice(.param .b32 a) { .reg .b32 %r; ld.param.b32 %r, [a]; add.u32 %r, %r, %r; st.param.b32 [d], %r; ret; }
        .func (.param .b32 d) other(.param .b32 a); .alias other, twice;
        .visible .entry k(.param .u64 p) { .reg .b64 %l; .reg .b32 %r; ld.param.u64 %l, [p]; { .param .b32 a; .param .b32 d;
        st.param.b32 [a], 21; call (d), other, (a); ld.param.b32 %r, [d]; } st.global.u32 [%l], %r; ret; }";
    assert_eq!(
        launch(text, shape(1, 1, 0), &[], 1).expect("it runs").0,
        [42]
    );
    let error = crate::common::parse(".alias other, nothing;")
        .err()
        .expect("it names nothing");
    assert_eq!(
        error.message,
        "`other` is an alias of `nothing`, which is no function"
    );
}

#[test]
fn a_list_of_targets_gives_a_pointer_its_signature() {
    let text = ".func one(.param .b64 p) { .reg .b64 %l; ld.param.b64 %l, [p]; st.u32 [%l], 1; ret; }
        .func two(.param .b64 p) { .reg .b64 %l; ld.param.b64 %l, [p]; st.u32 [%l], 2; ret; }
        .visible .entry k(.param .u64 p) { .reg .b64 %l<3>; ld.param.u64 %l0, [p]; mov.u64 %l1, two; { .param .b64 a; st.param.b64 [a], %l0;
        targets: .calltargets one, two; call %l1, (a), targets; } ret; }";
    assert_eq!(
        launch(text, shape(1, 1, 0), &[], 1).expect("it runs").0,
        [2]
    );
}

#[test]
fn what_only_debuggers_read_is_passed_over() {
    let text = ".visible .entry k() { ret; }\n@@DWARF .section .debug_pubnames, \"\", @progbits\n@@DWARF .byte 0x2b\n.visible .entry l() { ret; }";
    let module = module(text);
    assert_eq!(
        module
            .entries()
            .map(|kernel| kernel.name())
            .collect::<Vec<_>>(),
        ["k", "l"]
    );
}

#[test]
fn parameters_in_registers_refuse_their_kernel_only() {
    let text = ".func (.reg .b32 d) f(.reg .b32 a) { mov.u32 d, a; ret; } .func g() { ret; }
        .visible .entry k() { .reg .b32 %r<3>; call (%r1), f, (%r2); ret; }
        .visible .entry l() { .reg .b32 %r<3>; call g, (%r2); ret; }
        .visible .entry good() { ret; }";
    let module: Module = module(text);
    let runs = |name: &str| {
        module
            .entry(name)
            .is_some_and(|kernel| kernel.unsupported().is_none())
    };
    assert_eq!([runs("k"), runs("l"), runs("good")], [false, false, true]);
}

#[test]
fn special_registers_have_narrow_and_wide_readers() {
    let threads = [[0; 3]; 3];
    assert_eq!(
        compute(
            "mov.u16 %h, %tid.x; mul.lo.u16 %h, %h, %ntid.x;",
            "%h",
            &threads
        ),
        [0, 3, 6]
    );
    assert_eq!(
        compute("cvt.u32.u16 %d, %tid.x;", "%d", &threads),
        [0, 1, 2]
    );
    let narrow = compute(
        "mov.u32 %r0, %gridid; cvt.u64.u32 %rd0, %r0; mov.u64 %D, %gridid; sub.u64 %D, %D, %rd0;",
        "%D",
        &threads,
    );
    assert_eq!(narrow, [0; 3]);
}

#[test]
fn offsets_may_be_sums() {
    let body = ".const .align 4 .b32 table[4] = {5, 6, 7, 8}; ld.const.u32 %d, [table+4+8];";
    assert_eq!(one(body, "%d", [0; 3]), 8);
}

#[test]
fn a_copy_may_leave_its_source_out() {
    let body = ".shared .align 16 .b8 s[64]; mov.u32 %r0, s; mad.lo.u32 %r0, %thread, 16, %r0; mov.u64 %D, -1; st.shared.v2.u64 [%r0], {%D, %D};
        setp.ne.u32 %p, %b, 0; cp.async.cg.shared.global [%r0], [%at], 16, %p; cp.async.wait_all; ld.shared.u64 %D, [%r0];";
    // The parameter's words lie 32 bytes apart: the copy is aligned.
    assert_eq!(compute(body, "%D", &[[7, 0, 0], [7, 1, 0]]), [7, 0]);
}

#[test]
fn a_logic_function_tells_whether_anything_is_left() {
    let with = |op: &str, q: &str| {
        format!(
            "setp.{q}.u32 %q, 0, 0; lop3.{op}.b32 %d|%p, %a, %b, %c, 0x80, %q; selp.u32 %r0, 100, 0, %p; add.u32 %d, %d, %r0;"
        )
    };
    let sources = [[6, 3, 7], [4, 3, 7]];
    assert_eq!(compute(&with("or", "ne"), "%d", &sources), [102, 0]);
    assert_eq!(compute(&with("or", "eq"), "%d", &sources), [102, 100]);
    assert_eq!(compute(&with("and", "ne"), "%d", &sources), [2, 0]);
    assert_eq!(
        one("lop3.or.b32 _|%p, %a, %b, %c, 0xfe, 0;", "%p", [0, 0, 1]),
        1
    );
}

#[test]
fn parts_of_registers_are_compared_and_averaged() {
    let sources = [[0x8000_0005, 0x0001_0005, 0]];
    assert_eq!(
        compute("vset2.s32.s32.le %d, %a, %b, %c;", "%d", &sources),
        [0x0001_0001]
    );
    assert_eq!(
        compute("vset2.u32.u32.le %d, %a, %b, %c;", "%d", &sources),
        [0x0000_0001]
    );
    assert_eq!(
        compute(
            "vset4.u32.u32.ne.add %d, %a, %b, %c;",
            "%d",
            &[[0x0102_0304, 0x0103_0504, 7]]
        ),
        [9]
    );
    assert_eq!(
        compute(
            "vavrg2.s32.s32.s32 %d, %a, %b, %c;",
            "%d",
            &[[0xfffd_0004, 0x0000_0001, 0]]
        ),
        [0xfffe_0003]
    );
    assert_eq!(
        compute(
            "vavrg4.u32.u32.u32 %d, %a, %b, %c;",
            "%d",
            &[[0xff00_0102, 0xff01_0103, 0]]
        ),
        [0xff01_0103]
    );
}

#[test]
fn one_number_is_made_of_parts() {
    assert_eq!(
        one(
            "vadd.s32.u32.s32.sat %d, %a.b0, %b.h1;",
            "%d",
            [0x1ff, 0xfffe_0000, 0]
        ),
        0xfd
    );
    assert_eq!(
        one(
            "vmin.s32.s32.s32 %d.b1, %a, %b, %c;",
            "%d",
            [5, 0xffff_ffff, 0x1234_5678]
        ),
        0x1234_ff78
    );
    assert_eq!(
        one(
            "vset.s32.u32.lt.add %d, %a, %b, %c;",
            "%d",
            [0xffff_ffff, 1, 9]
        ),
        10
    );
    assert_eq!(
        one(
            "vshr.u32.u32.u32.wrap.max %d, %a, %b, %c;",
            "%d",
            [0x100, 36, 3]
        ),
        16
    );
}

#[test]
fn constants_are_expressions() {
    let body = ".const .align 4 .b32 table[4] = {2 + 3, ~0, -(1 + 2) * 3, 1 ? 8 : 9};
        mov.u32 %r0, (1 + 2) * 3; ld.const.u32 %d, [table + 2 * (3 - 1)]; sub.u32 %d, %r0, %d;
        ld.const.u32 %r0, [table+(4*2)]; add.u32 %d, %d, %r0; mad.lo.u32 %d, %d, WARP_SZ - 31, !0 << 4;";
    // 9 + 1 - 9, and 16 more.
    assert_eq!(one(body, "%d", [0; 3]), 17);
    // A group of arguments that looks like one.
    let text = ".func (.param .b32 d) same(.param .b32 a) { .reg .b32 %r; ld.param.b32 %r, [a]; st.param.b32 [d], %r; ret; }
        .visible .entry k(.param .u64 p) { .reg .b64 %l; .reg .b32 %r; ld.param.u64 %l, [p]; { .param .b32 a; .param .b32 d;
        st.param.b32 [a], 2 * (3 + 4); call (d), same, (a); ld.param.b32 %r, [d]; } st.global.u32 [%l+(2-2)], %r; ret; }";
    assert_eq!(
        launch(text, shape(1, 1, 0), &[], 1).expect("it runs").0,
        [14]
    );
}

#[test]
fn an_initial_value_that_has_none_is_a_mistake() {
    for (value, message) in [
        ("1 / 0", "a constant is divided by zero"),
        (
            "1 + 2.5",
            "a constant of an integer and a float, or of `0f\u{2026}`",
        ),
    ] {
        let error = crate::common::parse(&format!(".global .u32 a = {value};")).err();
        assert_eq!(error.expect("a mistake").message, message);
    }
}

#[test]
fn a_constant_can_be_added_to_a_register() {
    assert_eq!(one("add.u32 %d, %a+7, %b+-2;", "%d", [10, 5, 0]), 20);
    assert_eq!(
        one("mov.u64 %D, %A+-1;", "%D", [1 << 40, 0, 0]),
        (1 << 40) - 1
    );
}

/// As CUB loads bytes.
#[test]
fn registers_of_a_byte_are_loaded_and_converted() {
    let body = "{ .reg .u8 byte; ld.global.nc.u8 byte, [%at+1]; cvt.u32.u8 %d, byte; }";
    assert_eq!(one(body, "%d", [0x8421, 0, 0]), 0x84);
    let body = "{ .reg .s8 byte; ld.global.s8 byte, [%at+1]; cvt.s32.s8 %d, byte; st.global.s8 [%at+8], byte; ld.global.u8 %r0, [%at+8]; add.u32 %d, %d, %r0; }";
    assert_eq!(one(body, "%d", [0x8421, 0, 0]), 8);
}

#[test]
fn performance_counters_count_nothing() {
    assert_eq!(one("mov.u32 %d, %pm3; add.u32 %d, %d, 5;", "%d", [0; 3]), 5);
}

/// As `alloca()` and arrays of a variable length are compiled.
const SUM: &str = ".local .align 8 .b8 guard[8]; st.local.u64 [guard], -1;
    stacksave.u64 %rd4; mul.wide.u32 %rd0, %a, 4; alloca.u64 %rd1, %rd0, 32; alloca.u64 %rd2, 8;
    cvta.local.u64 %rd5, %rd1; cvta.to.local.u64 %rd1, %rd5; mov.u32 %r0, 0;
    fill: mul.wide.u32 %rd3, %r0, 4; add.u64 %rd3, %rd3, %rd5; st.u32 [%rd3], %r0; add.u32 %r0, %r0, 1; setp.lt.u32 %pp0, %r0, %a; @%pp0 bra fill;
    st.local.u64 [%rd2], 1000; mov.u32 %d, 0;
    sum: sub.u32 %r0, %r0, 1; mul.wide.u32 %rd3, %r0, 4; add.u64 %rd3, %rd3, %rd1; ld.local.u32 %r1, [%rd3]; add.u32 %d, %d, %r1; setp.ne.u32 %pp0, %r0, 0; @%pp0 bra sum;
    ld.local.u32 %r1, [%rd2]; add.u32 %d, %d, %r1; sub.u64 %rd6, %rd2, %rd1; cvt.u32.u64 %r1, %rd6; mad.lo.u32 %d, %r1, 10000, %d;
    stackrestore.u64 %rd4; alloca.u64 %rd7, 16, 32; setp.ne.u64 %pp1, %rd7, %rd1; @%pp1 trap;";

#[test]
fn local_memory_of_a_size_known_at_run_time() {
    let operands = [[10, 0, 0], [3, 0, 0], [1000, 0, 0]];
    // The second piece is after the first, at the next multiple of 16 bytes.
    let expected = [
        45 + 1000 + 480_000,
        3 + 1000 + 160_000,
        499_500 + 1000 + 40_000_000,
    ];
    assert_eq!(compute(SUM, "%d", &operands), expected);
}

#[test]
fn local_memory_that_is_too_large_faults() {
    let text = ".func (.param .b64 d) f(.param .b64 n) { .reg .b64 %l<3>; ld.param.b64 %l0, [n]; alloca.u64 %l1, %l0, 16; st.local.u32 [%l1], 7;
        st.param.b64 [d], %l1; ret; }
        .visible .entry k(.param .u64 p) { .reg .b64 %l<3>; ld.param.u64 %l0, [p]; ld.global.u64 %l1, [%l0]; { .param .b64 d; .param .b64 n;
        st.param.b64 [n], %l1; call (d), f, (n); ld.param.b64 %l1, [d]; } st.global.u64 [%l0], 1; ret; }";
    for fits in [0, 100, 16 << 10] {
        let (found, _) = launch(text, shape(1, 1, 0), &[fits], 1).expect("it fits");
        assert_eq!(found, [1]);
    }
    for size in [(16 << 10) + 1, 1 << 40, u64::MAX] {
        let fault = launch(text, shape(1, 1, 0), &[size], 1).expect_err("it does not fit");
        let fault = fault.to_string();
        assert!(fault.contains("local memory"), "{fault}");
    }
}

#[test]
fn halves_of_the_clocks() {
    for clock in ["%clock_hi", "%globaltimer_hi"] {
        assert_eq!(one(&format!("mov.u32 %d, {clock};"), "%d", [0; 3]) >> 20, 0);
    }
}
