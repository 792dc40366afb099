//! `wgmma` of every type, with a in shared memory and in registers, against sums that the test
//! makes itself.

use crate::common::{launch, shape};

/// Byte `at` of row `row` of a, or of column `row - 64` of b.
fn byte(row: usize, at: usize) -> u8 {
    ((row as u32 * 32 + at as u32).wrapping_mul(0x9e37_79b1) >> 21) as u8
}

type Clean = fn(u8, usize) -> u8;
type Value = fn(u32) -> f64;

/// Where a piece of 16 bytes of a row lies: 8 rows after each other, then the second pieces.
fn place(row: usize, at: usize) -> usize {
    row / 8 * 256 + at / 16 * 128 + row % 8 * 16 + at % 16
}

/// The words of each thread's d, by a from memory and by a from registers.
fn run(form: &str, rest: [&str; 2], registers: usize, clean: Clean) -> [Vec<[u32; 4]>; 2] {
    let mut bytes = vec![0; 16384];
    let element = |row: usize, at: usize| clean(byte(row, at), at);
    for row in 0..72 {
        (0..32).for_each(|at| bytes[place(row, at)] = element(row, at));
    }
    for thread in 0..128 {
        let (warp, lane) = (thread / 32, thread % 32);
        for register in 0..4 {
            let row = 16 * warp + lane / 4 + 8 * (register % 2);
            for part in 0..4 {
                let at = 4 * (lane % 4) + 16 * (register / 2) + part;
                bytes[4096 + 16 * thread + 4 * register + part] = element(row, at);
            }
        }
    }
    let words: Vec<u64> = bytes
        .as_chunks()
        .0
        .iter()
        .map(|&word| u64::from_le_bytes(word))
        .collect();
    let d = (0..registers)
        .map(|at| format!("%d{at}"))
        .collect::<Vec<_>>()
        .join(", ");
    let (descriptor, stores) = ((128_u64 >> 4) << 16 | (256 >> 4) << 32, |at: usize| {
        (0..registers)
            .map(|r| format!("st.global.u32 [%l1+{}], %d{r};", at + 4 * r))
            .collect::<String>()
    });
    let text = format!(
        ".visible .entry k(.param .u64 p) {{ .reg .b32 %r<9>, %d<4>; .reg .b64 %l<9>; .reg .pred %p; .shared .align 1024 .b8 s[4096];
        ld.param.u64 %l0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %l1, %r0, 16; add.u64 %l1, %l1, %l0; mov.u32 %r1, s; mad.lo.u32 %r1, %r0, 16, %r1;
        ld.global.v2.u64 {{%l2, %l3}}, [%l1]; st.shared.v2.u64 [%r1], {{%l2, %l3}}; ld.global.v2.u64 {{%l2, %l3}}, [%l1+2048]; st.shared.v2.u64 [%r1+2048], {{%l2, %l3}};
        ld.global.v4.u32 {{%r2, %r3, %r4, %r5}}, [%l1+4096]; mov.u64 %l4, {descriptor}; add.u64 %l5, %l4, {};
        fence.proxy.async; bar.sync 0; setp.ne.u32 %p, 0, 0; wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.{form} {{{d}}}, %l4, %l5, %p{}; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; {}
        wgmma.mma_async.sync.aligned.{form} {{{d}}}, {{%r2, %r3, %r4, %r5}}, %l5, %p{}; wgmma.wait_group.sync.aligned 0; {} ret; }}",
        2048 >> 4,
        rest[0],
        stores(8192),
        rest[1],
        stores(12288),
    );
    let (found, _) = launch(&text, shape(1, 128, 0), &words, words.len()).expect("it runs");
    let words: Vec<u32> = found
        .iter()
        .flat_map(|&word| [word as u32, (word >> 32) as u32])
        .collect();
    [2048, 3072].map(|start| words[start..start + 512].as_chunks().0.to_vec())
}

/// Sums of 64 rows and 8 columns of what `value` makes of the elements, by their first byte.
fn expected(size: usize, clean: Clean, value: [Value; 2]) -> Vec<Vec<f64>> {
    let element = |row: usize, k: usize| {
        let bytes = (0..size)
            .rev()
            .map(|part| clean(byte(row, k * size + part), k * size + part));
        bytes.fold(0, |word, byte| word << 8 | u32::from(byte))
    };
    let sum = |row: usize, column: usize| -> f64 {
        let terms =
            (0..32 / size).map(|k| value[0](element(row, k)) * value[1](element(64 + column, k)));
        terms.sum()
    };
    (0..64)
        .map(|row| (0..8).map(|column| sum(row, column)).collect())
        .collect()
}

/// `sum` reads one of the `per` sums of a register.
#[track_caller]
fn check(
    form: &str,
    rest: [&str; 2],
    (per, sum): (usize, Value),
    (size, clean): (usize, Clean),
    value: [Value; 2],
) {
    let expected = expected(size, clean, value);
    for (found, name) in run(form, rest, 4 / per, clean)
        .iter()
        .zip(["memory", "registers"])
    {
        for (thread, words) in found.iter().enumerate() {
            for at in 0..4 {
                let row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (at / 2);
                let column = 2 * (thread % 4) + at % 2;
                let word = words[at / per] >> (32 / per * (at % per));
                assert_eq!(
                    sum(word),
                    expected[row][column],
                    "{form} from {name}, row {row}, column {column}"
                );
            }
        }
    }
}

fn f32_sum(bits: u32) -> f64 {
    f64::from(f32::from_bits(bits))
}

fn f16(bits: u32) -> f64 {
    let magnitude = match bits >> 10 & 31 {
        0 => f64::from(bits & 1023) * 2_f64.powi(-24),
        exponent => f64::from(bits & 1023 | 1024) * 2_f64.powi(exponent as i32 - 25),
    };
    if bits >> 15 & 1 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

fn e4m3(bits: u32) -> f64 {
    let magnitude = f64::from(bits & 7 | 8) * 2_f64.powi((bits >> 3 & 15) as i32 - 10);
    if bits >> 7 & 1 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

fn e5m2(bits: u32) -> f64 {
    f16(bits << 8)
}

/// Halves from 1 to 2 in quarters: sums of 16 products are exact in f16.
const HALVES: Clean = |byte, at| if at % 2 == 1 { byte & 0x83 | 0x3c } else { 0 };
/// Either format of 8 bits from 0.5 on, in few bits.
const EIGHTHS: Clean = |byte, _| byte & 0x84 | 0x38;
const ANY: Clean = |byte, _| byte;
const SCALES: [&str; 2] = [", 1, 1", ", 1, 1"];

#[test]
fn halves_are_multiplied_from_memory_and_from_registers() {
    let rest = [", 1, 1, 0, 0", ", 1, 1, 0"];
    check(
        "m64n8k16.f32.f16.f16",
        rest,
        (1, f32_sum),
        (2, HALVES),
        [f16, f16],
    );
    check(
        "m64n8k16.f16.f16.f16",
        rest,
        (2, f16),
        (2, HALVES),
        [f16, f16],
    );
    let bf16: Value = |bits| f64::from(f32::from_bits(bits << 16));
    check(
        "m64n8k16.f32.bf16.bf16",
        rest,
        (1, f32_sum),
        (2, HALVES),
        [bf16, bf16],
    );
}

#[test]
fn tf32_is_multiplied_from_registers_too() {
    // The last 13 bits do not count.
    let tf32: Value = |bits| f64::from(f32::from_bits(bits & !0x1fff));
    let clean: Clean = |byte, at| [0xff, 0, byte & 0x80, byte & 0x80 | 0x3f][at % 4];
    check(
        "m64n8k8.f32.tf32.tf32",
        SCALES,
        (1, f32_sum),
        (4, clean),
        [tf32, tf32],
    );
}

#[test]
fn eighths_of_a_float_are_multiplied_in_both_formats() {
    check(
        "m64n8k32.f32.e4m3.e5m2",
        SCALES,
        (1, f32_sum),
        (1, EIGHTHS),
        [e4m3, e5m2],
    );
    check(
        "m64n8k32.f32.e5m2.e4m3",
        SCALES,
        (1, f32_sum),
        (1, EIGHTHS),
        [e5m2, e4m3],
    );
    check(
        "m64n8k32.f16.e4m3.e4m3",
        SCALES,
        (2, f16),
        (1, EIGHTHS),
        [e4m3, e4m3],
    );
}

#[test]
fn bytes_are_multiplied_with_their_signs() {
    let signed: Value = |bits| f64::from(bits as i8);
    let unsigned: Value = |bits| f64::from(bits as u8);
    let sum: Value = |bits| f64::from(bits as i32);
    check(
        "m64n8k32.s32.s8.u8",
        ["", ""],
        (1, sum),
        (1, ANY),
        [signed, unsigned],
    );
    check(
        "m64n8k32.s32.u8.s8.satfinite",
        ["", ""],
        (1, sum),
        (1, ANY),
        [unsigned, signed],
    );
}
