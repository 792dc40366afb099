//! Atomics: every operation, and many blocks at once.

use crate::common::{d, f, launch, launch_with, shape};
use ptx_emulator::Limits;

/// The old and the new value of a word after one atomic with `%A` and `%B`.
#[track_caller]
fn check(instruction: &str, wide: bool, operands: [u64; 3], expected: u64) {
    let (old, register) = if wide {
        ("%rd0", "b64")
    } else {
        ("%r0", "b32")
    };
    for space in ["", ".global", ".shared"] {
        let (prepare, address, finish) = if space == ".shared" {
            (
                "mov.u64 %rd5, box; ld.global.u64 %rd6, [%at]; st.shared.u64 [box], %rd6;",
                "%rd5",
                "ld.shared.u64 %rd6, [box]; st.global.u64 [%at], %rd6;",
            )
        } else {
            ("", "%at", "")
        };
        let (name, rest) = instruction.split_once(' ').expect("operands");
        let (operation, ty) = name.rsplit_once('.').expect("a type");
        let (base, operation) = operation.split_once('.').expect("an operation");
        let rest = rest.replace("ADDRESS", address);
        let text = format!(
            ".shared .align 8 .b8 box[8];
.visible .entry k(.param .u64 buffer) {{ .reg .b64 %at, %A, %B, %rd<8>; .reg .b32 %a, %b, %r<4>;
    ld.param.u64 %at, [buffer]; ld.global.u64 %A, [%at+8]; ld.global.u64 %B, [%at+16]; cvt.u32.u64 %a, %A; cvt.u32.u64 %b, %B;
    {prepare} {base}{space}.{operation}.{ty} {old}, {rest}; {finish} st.global.{register} [%at+24], {old}; ret; }}"
        );
        let initial = [operands[0], operands[1], operands[2], 0];
        let (words, _) =
            launch(&text, shape(1, 1, 0), &initial, 4).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(
            (words[0], words[3]),
            (expected, operands[0]),
            "{instruction} in {space}"
        );
    }
}

#[test]
fn every_operation_returns_the_old_value() {
    check("atom.add.u32 [ADDRESS], %a", false, [5, 0xffff_fffe, 0], 3);
    check("atom.add.u64 [ADDRESS], %A", true, [5, u64::MAX, 0], 4);
    check(
        "atom.add.f32 [ADDRESS], %a",
        false,
        [f(1.5), f(2.0), 0],
        f(3.5),
    );
    check(
        "atom.add.f64 [ADDRESS], %A",
        true,
        [d(1.5), d(2.0), 0],
        d(3.5),
    );
    check(
        "atom.min.s32 [ADDRESS], %a",
        false,
        [5, 0xffff_ffff, 0],
        0xffff_ffff,
    );
    check(
        "atom.max.u32 [ADDRESS], %a",
        false,
        [5, 0xffff_ffff, 0],
        0xffff_ffff,
    );
    check("atom.max.s64 [ADDRESS], %A", true, [5, u64::MAX, 0], 5);
    check("atom.inc.u32 [ADDRESS], %a", false, [5, 5, 0], 0);
    check("atom.inc.u32 [ADDRESS], %a", false, [4, 5, 0], 5);
    check("atom.dec.u32 [ADDRESS], %a", false, [0, 9, 0], 9);
    check("atom.dec.u32 [ADDRESS], %a", false, [20, 9, 0], 9);
    check("atom.and.b32 [ADDRESS], %a", false, [12, 10, 0], 8);
    check("atom.or.b64 [ADDRESS], %A", true, [12, 3, 0], 15);
    check("atom.xor.b32 [ADDRESS], %a", false, [12, 10, 0], 6);
    check("atom.exch.b64 [ADDRESS], %A", true, [12, 10, 0], 10);
    check("atom.cas.b32 [ADDRESS], %a, %b", false, [12, 12, 99], 99);
    check("atom.cas.b32 [ADDRESS], %a, %b", false, [12, 13, 99], 12);
    check(
        "atom.acq_rel.gpu.cas.b64 [ADDRESS], %A, %B",
        true,
        [12, 12, 99],
        99,
    );
}

#[test]
fn float_sums_flush_subnormals_in_global_memory_only() {
    let text = |space: &str, address: &str| {
        format!(
            ".shared .align 8 .b8 box[8];
.visible .entry k(.param .u64 buffer) {{ .reg .b64 %at, %rd<4>; .reg .b32 %r<4>; ld.param.u64 %at, [buffer];
    st.shared.u64 [box], 0; mov.u64 %rd0, box; red.{space}.add.f32 [{address}], 0f00000001; ld.{space}.u32 %r0, [{address}];
    st.global.u32 [%at], %r0; ret; }}"
        )
    };
    let result = |space, address| {
        launch(&text(space, address), shape(1, 1, 0), &[0], 1)
            .map(|(words, _)| words[0])
            .ok()
    };
    assert_eq!(
        (result("global", "%at"), result("shared", "%rd0")),
        (Some(0), Some(1))
    );
}

#[test]
fn no_increment_is_lost_between_blocks() {
    let text = ".visible .entry k(.param .u64 buffer) { .reg .b64 %at; .reg .b32 %r<4>; .reg .pred %p;
    ld.param.u64 %at, [buffer]; mov.u32 %r0, 0;
    again: red.global.add.u32 [%at], 1; red.global.add.u32 [%at+4], 2; red.global.add.u64 [%at+8], 3;
    red.global.add.f64 [%at+16], 0d3FF0000000000000;
    add.u32 %r0, %r0, 1; setp.lt.u32 %p, %r0, 10; @%p bra again; ret; }";
    let limits = Limits {
        workers: Some(4),
        ..Limits::default()
    };
    let (words, statistics) = launch_with(limits, text, shape(64, 96, 0), &[], 3)
        .unwrap_or_else(|fault| panic!("{fault}"));
    let total = 64 * 96 * 10;
    assert_eq!(
        words,
        [(2 * total) << 32 | total, 3 * total, d(total as f64)]
    );
    assert_eq!(statistics.blocks, 64);
}

#[test]
fn halves_of_a_word_are_written_by_different_blocks() {
    // Neighbouring bytes belong to different blocks: no store may undo another.
    let text = ".visible .entry k(.param .u64 buffer) { .reg .b64 %at, %rd0; .reg .b32 %r<4>; .reg .pred %p;
    ld.param.u64 %at, [buffer]; mov.u32 %r0, %ctaid.x; cvt.u64.u32 %rd0, %r0; add.u64 %at, %at, %rd0; mov.u32 %r1, 0;
    again: st.global.u8 [%at], %r1; add.u32 %r1, %r1, 1; setp.le.u32 %p, %r1, 200; @%p bra again; ret; }";
    let limits = Limits {
        workers: Some(4),
        ..Limits::default()
    };
    let (words, _) = launch_with(limits, text, shape(256, 1, 0), &[], 32)
        .unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(words, [0xc8c8_c8c8_c8c8_c8c8; 32]);
}
