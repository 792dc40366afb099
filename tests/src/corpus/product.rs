//! `mma` of every shape and type (9.7.14.5), on small numbers whose sums are exact in every order.

use super::case::Case;
use super::small::{eighths, half, pack};
use super::values::{Source, Values};
use crate::data::random_bits;

/// A type of elements: its name, its bits, and a register of them from random bits.
type Element = (&'static str, usize, fn(u64) -> u64);

const F16: Element = ("f16", 16, |random| pack(random, 16, half));
const BF16: Element = ("bf16", 16, |random| {
    pack(random, 16, |value| u64::from(value.to_bits() >> 16))
});
const TF32: Element = ("tf32", 32, |random| {
    pack(random, 32, |value| u64::from(value.to_bits()))
});
const F64: Element = ("f64", 64, |random| random % 61);

/// Fits every integer type.
fn any(random: u64) -> u64 {
    random & 0xffff_ffff
}

fn integer(name: &'static str, bits: usize) -> Element {
    (name, bits, any)
}

const E4M3: Element = ("e4m3", 8, |random| eighths(random, 4));
const E5M2: Element = ("e5m2", 8, |random| eighths(random, 5));

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add =
        |shape: [usize; 3], sum: &'static str, a: Element, b: Element, more: [&str; 2]| {
            cases.push(case(shape, sum, [a, b], more));
        };
    let plain = ["", ""];
    for k in [8, 16] {
        add([16, 8, k], "f16", F16, F16, plain);
        add([16, 8, k], "f32", F16, F16, plain);
        add([16, 8, k], "f32", BF16, BF16, plain);
        add([16, 8, k / 2], "f32", TF32, TF32, plain);
    }
    for shape in [[8, 8, 4], [16, 8, 4], [16, 8, 8], [16, 8, 16]] {
        add(shape, "f64", F64, F64, plain);
    }
    for (names, bits, shapes) in [
        (["s8", "u8"], 8, [[8, 8, 16], [16, 8, 16], [16, 8, 32]]),
        (["s4", "u4"], 4, [[8, 8, 32], [16, 8, 32], [16, 8, 64]]),
    ] {
        for shape in shapes {
            for (a, b) in names.iter().flat_map(|a| names.map(|b| (a, b))) {
                for saturates in ["", ".satfinite"] {
                    let [a, b] = [a, b].map(|name| integer(name, bits));
                    add(shape, "s32", a, b, [saturates, ""]);
                }
            }
        }
    }
    for shape in [[8, 8, 128], [16, 8, 128], [16, 8, 256]] {
        for operation in [".xor.popc", ".and.popc"] {
            let bits = integer("b1", 1);
            add(shape, "s32", bits, bits, ["", operation]);
        }
    }
    for (a, b) in [E4M3, E5M2]
        .into_iter()
        .flat_map(|a| [E4M3, E5M2].map(|b| (a, b)))
    {
        add([16, 8, 32], "f32", a, b, plain);
    }
    cases
}

fn case(
    [m, n, k]: [usize; 3],
    sum: &'static str,
    [a, b]: [Element; 2],
    [saturates, operation]: [&str; 2],
) -> Case {
    let form = format!(
        "mma.sync.aligned.m{m}n{n}k{k}.row.col{saturates}.{sum}.{}.{}.{sum}{operation}",
        a.0, b.0
    );
    let wide = a.1 == 64;
    let class = if wide { "b64" } else { "b32" };
    let register = if wide { 64 } else { 32 };
    let [of_a, of_b] = [(m * k, a), (k * n, b)].map(|(count, of)| count * of.1 / 32 / register);
    let of_sums = m * n / 32 / if sum == "f16" { 2 } else { 1 };
    let list = |from: usize, count: usize| {
        let names: Vec<String> = (from..from + count).map(|at| format!("%a{at}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let results: Vec<String> = (0..of_sums).map(|at| format!("%d{at}")).collect();
    // Doubles are made from integers, so that their sums are exact.
    let all = of_a + of_b + of_sums;
    let doubles: String = match wide {
        true => (0..all)
            .map(|at| format!("cvt.rn.f64.s64 %a{at}, %a{at};"))
            .collect(),
        false => String::new(),
    };
    let body = format!(
        "{doubles} {form} {{{}}}, {}, {}, {};",
        results.join(", "),
        list(0, of_a),
        list(of_a, of_b),
        list(of_a + of_b, of_sums),
    );
    let source = |seed: usize, values: fn(u64) -> u64| -> Source {
        let mut random = random_bits(seed as u64 + 1);
        let list = (0..97).map(|_| values(random())).collect();
        (class, Values::List(list)).into()
    };
    let of_sum = match sum {
        "f16" => F16.2,
        "f32" => TF32.2,
        "f64" => F64.2,
        _ => any,
    };
    let sources: Vec<Source> = (0..all)
        .map(|at| match at {
            at if at < of_a => source(at, a.2),
            at if at < of_a + of_b => source(at, b.2),
            at => source(at, of_sum),
        })
        .collect();
    Case::with_body(&form, &body, &vec![class; of_sums], &sources).threads(32)
}
