//! Products of narrow elements, against sums that the test makes itself from the fragments that PTX
//! pictures.

use crate::common::{launch, shape};

/// Rows of a and columns of b as words, neighbours along k in one; sums as s32 or f32.
struct Case<'a> {
    form: &'a str,
    rows: usize,
    /// Bits of an element, and how many are summed.
    bits: usize,
    depth: usize,
    float: bool,
}

fn word(seed: usize) -> u32 {
    (seed as u32).wrapping_mul(0x9e37_79b1) ^ 0x5bd1_e995
}

/// The words of row (or column) `at`.
fn line(case: &Case<'_>, at: usize, seed: usize, clean: fn(u32) -> u32) -> Vec<u32> {
    let words = case.depth * case.bits / 32;
    (0..words)
        .map(|word_at| clean(word(seed + 64 * at + word_at)))
        .collect()
}

/// The product by the instruction: 32 lanes' fragments are made from whole matrices, and its sums
/// are put together again.
fn product(case: &Case<'_>, clean: fn(u32) -> u32) -> Vec<Vec<u32>> {
    let a: Vec<Vec<u32>> = (0..case.rows)
        .map(|row| line(case, row, 1, clean))
        .collect();
    let b: Vec<Vec<u32>> = (0..8)
        .map(|column| line(case, column, 5000, clean))
        .collect();
    let per_line = a[0].len();
    let halves = case.rows / 8;
    // Registers of a: 8 rows, the next 8 rows, and again for the next four words.
    let of_a = halves * (per_line / 4);
    let of_b = per_line / 4;
    let mut input = Vec::new();
    for lane in 0..32 {
        let (g, t) = (lane / 4, lane % 4);
        let mut words: Vec<u32> = Vec::new();
        words.extend((0..of_a).map(|r| a[g + 8 * (r % halves)][t + 4 * (r / halves)]));
        words.extend((0..of_b).map(|r| b[g][t + 4 * r]));
        words.resize(16, 0);
        input.extend(words);
    }
    let list = |from: usize, count: usize| {
        (from..from + count)
            .map(|r| format!("%r{r}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let sums = 2 * halves;
    let loads: String = (0..of_a + of_b)
        .map(|r| format!("ld.global.u32 %r{r}, [%l1+{}];", 4 * r))
        .collect();
    let clear: String = (0..sums)
        .map(|r| {
            format!(
                "mov.u32 %d{r}, {};",
                if case.float { "0f40000000" } else { "2" }
            )
        })
        .collect();
    let stores: String = (0..sums)
        .map(|r| format!("st.global.u32 [%l1+{}], %d{r};", 4 * r))
        .collect();
    let d = (0..sums)
        .map(|r| format!("%d{r}"))
        .collect::<Vec<_>>()
        .join(", ");
    let text = format!(
        ".visible .entry k(.param .u64 p) {{ .reg .b32 %r<16>, %d<4>, %t; .reg .b64 %l<2>; ld.param.u64 %l0, [p]; mov.u32 %t, %tid.x;
        mad.wide.u32 %l1, %t, 64, %l0; {loads} {clear} {} {{{d}}}, {{{}}}, {{{}}}, {{{d}}}; {stores} ret; }}",
        case.form,
        list(0, of_a),
        list(of_a, of_b),
    );
    let words: Vec<u64> = input
        .as_chunks()
        .0
        .iter()
        .map(|&[low, high]| u64::from(low) | u64::from(high) << 32)
        .collect();
    let (found, _) = launch(&text, shape(1, 32, 0), &words, words.len()).expect("it runs");
    let found: Vec<u32> = found
        .iter()
        .flat_map(|&word| [word as u32, (word >> 32) as u32])
        .collect();
    let mut result = vec![vec![0; 8]; case.rows];
    for lane in 0..32 {
        for r in 0..sums {
            result[lane / 4 + 8 * (r / 2)][2 * (lane % 4) + r % 2] = found[16 * lane + r];
        }
    }
    result
}

/// The sum over pairs of elements, plus 2.
fn expected(
    case: &Case<'_>,
    clean: fn(u32) -> u32,
    term: impl Fn(u32, u32) -> f64,
) -> Vec<Vec<f64>> {
    let elements = |line: Vec<u32>| -> Vec<u32> {
        let per = 32 / case.bits;
        let mask = u32::MAX >> (32 - case.bits);
        line.iter()
            .flat_map(|word| (0..per).map(move |at| word >> (at * case.bits) & mask))
            .collect()
    };
    let row = |at, seed| elements(line(case, at, seed, clean));
    let sum = |m: usize, n: usize| {
        let pairs = row(m, 1).into_iter().zip(row(n, 5000));
        2.0 + pairs.map(|(x, y)| term(x, y)).sum::<f64>()
    };
    (0..case.rows)
        .map(|m| (0..8).map(|n| sum(m, n)).collect())
        .collect()
}

#[track_caller]
fn check(case: Case<'_>, clean: fn(u32) -> u32, term: impl Fn(u32, u32) -> f64) {
    let expected = expected(&case, clean, term);
    let value = |bits: &u32| {
        if case.float {
            f64::from(f32::from_bits(*bits))
        } else {
            f64::from(*bits as i32)
        }
    };
    let found: Vec<Vec<f64>> = product(&case, clean)
        .iter()
        .map(|row| row.iter().map(value).collect())
        .collect();
    assert_eq!(found, expected, "{}", case.form);
}

const INTEGERS: Case<'_> = Case {
    form: "",
    rows: 16,
    bits: 4,
    depth: 64,
    float: false,
};

fn s4(bits: u32) -> f64 {
    f64::from((bits as i32) << 28 >> 28)
}

#[test]
fn nibbles_are_multiplied_with_their_signs() {
    let term = |x, y| s4(x) * f64::from(y);
    let form = "mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32";
    check(Case { form, ..INTEGERS }, |word| word, term);
    let form = "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s4.u4.s32";
    check(
        Case {
            form,
            depth: 32,
            ..INTEGERS
        },
        |word| word,
        term,
    );
    let form = "mma.sync.aligned.m8n8k32.row.col.s32.u4.s4.s32";
    check(
        Case {
            form,
            depth: 32,
            rows: 8,
            ..INTEGERS
        },
        |word| word,
        |x, y| f64::from(x) * s4(y),
    );
    let form = "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32";
    check(
        Case {
            form,
            depth: 32,
            rows: 8,
            ..INTEGERS
        },
        |word| word,
        |x, y| s4(x) * s4(y),
    );
}

#[test]
fn bits_are_combined_and_counted() {
    let bits = Case {
        bits: 1,
        ..INTEGERS
    };
    for (op, term) in [
        ("and", (|x, y| f64::from(x & y)) as fn(u32, u32) -> f64),
        ("xor", |x, y| f64::from(x ^ y)),
    ] {
        for (shape, rows, depth) in [
            ("m16n8k256", 16, 256),
            ("m16n8k128", 16, 128),
            ("m8n8k128", 8, 128),
        ] {
            let form = format!("mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.{op}.popc");
            check(
                Case {
                    form: &form,
                    rows,
                    depth,
                    ..bits
                },
                |word| word,
                term,
            );
        }
        let form = format!("wmma.mma.{op}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32");
        check(
            Case {
                form: &form,
                rows: 8,
                depth: 128,
                ..bits
            },
            |word| word,
            term,
        );
    }
}

#[test]
fn eighths_of_a_float_are_multiplied() {
    // Exponents from 6 to 7: 0.5 to 1.9, whose products and sums are exact.
    let clean = |word: u32| word & 0x8f8f_8f8f | 0x3030_3030;
    let e4m3 = |bits: u32| {
        let magnitude = f64::from(bits & 7 | 8) * 2_f64.powi((bits >> 3 & 15) as i32 - 10);
        if bits >> 7 == 1 {
            -magnitude
        } else {
            magnitude
        }
    };
    let case = Case {
        form: "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
        bits: 8,
        depth: 32,
        float: true,
        ..INTEGERS
    };
    check(case, clean, |x, y| e4m3(x) * e4m3(y));
}

#[test]
fn narrow_fragments_come_from_memory() {
    // Row g of a and column g of b are 16 bytes each; c and d are 8 rows of 8 words.
    let text = ".visible .entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %l<5>; ld.param.u64 %l0, [p]; add.u64 %l1, %l0, 128; add.u64 %l2, %l0, 256;
        wmma.load.a.sync.aligned.row.m8n8k32.global.s4 {%r0}, [%l0], 32; wmma.load.b.sync.aligned.col.m8n8k32.global.s4 {%r1}, [%l1], 32;
        wmma.load.c.sync.aligned.row.m8n8k32.global.s32 {%r2, %r3}, [%l2], 8;
        wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32 {%r4, %r5}, {%r0}, {%r1}, {%r2, %r3};
        wmma.store.d.sync.aligned.row.m8n8k32.global.s32 [%l2], {%r4, %r5}, 8; ret; }";
    let words: Vec<u32> = (0..64)
        .map(word)
        .chain((0..64).map(|at| at as u32))
        .collect();
    let pairs: Vec<u64> = words
        .as_chunks()
        .0
        .iter()
        .map(|&[low, high]| u64::from(low) | u64::from(high) << 32)
        .collect();
    let (found, _) = launch(text, shape(1, 32, 0), &pairs, pairs.len()).expect("it runs");
    let found = found[32..]
        .iter()
        .flat_map(|&word| [word as i32, (word >> 32) as i32]);
    let nibbles =
        |line: usize| (0..32).map(move |k| s4(word(4 * line + k / 8) >> (4 * (k % 8)) & 15));
    let sum = |m: usize, n: usize| {
        nibbles(m)
            .zip(nibbles(8 + n))
            .map(|(x, y)| x * y)
            .sum::<f64>()
    };
    let expected = (0..64).map(|at| sum(at / 8, at % 8) as i32 + at as i32);
    assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}
