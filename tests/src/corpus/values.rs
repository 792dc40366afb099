//! Operands: the edges of each type first, then seeded random values.

use crate::data::random_bits;

/// The name of a PTX type, such as `f32`.
pub(super) type Ty = &'static str;

/// Bytes of a value of a type; predicates are passed as 32 bits.
pub(super) fn size(ty: Ty) -> usize {
    match ty {
        "b8" | "u8" | "s8" => 1,
        "b16" | "u16" | "s16" | "f16" | "bf16" => 2,
        "b64" | "u64" | "s64" | "f64" => 8,
        _ => 4,
    }
}

/// Where operands come from.
#[derive(Clone, Debug)]
pub(super) enum Values {
    /// Edges and any bits.
    Any,
    /// The same without zero: for divisors.
    NonZero,
    /// Counts of shifts, positions and lengths of fields.
    Counts,
    /// Integers below a bound.
    Below(u64),
    /// Floats between these bounds, and NaN, infinities and zeros; in the type's bits.
    Range(f64, f64),
    /// These, thread by thread, and again from the start.
    List(Vec<u64>),
}

/// An operand: its type and where its values come from.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) ty: Ty,
    pub(super) values: Values,
}

impl From<Ty> for Source {
    fn from(ty: Ty) -> Self {
        let values = Values::Any;
        Self { ty, values }
    }
}

impl From<(Ty, Values)> for Source {
    fn from((ty, values): (Ty, Values)) -> Self {
        Self { ty, values }
    }
}

/// For each thread one value for each operand: a grid of the first edges, then edges mixed with
/// random values.
pub(super) fn tuples(sources: &[Source], count: usize, seed: u64) -> Vec<Vec<u64>> {
    let mut random = random_bits(seed);
    let edges: Vec<Vec<u64>> = sources.iter().map(edges).collect();
    // Two thirds of the threads go to the grid; a single operand takes all its edges.
    let side = match sources.len() {
        0 | 1 => count,
        operands => (count as f64 * 2.0 / 3.0).powf(1.0 / operands as f64) as usize,
    };
    let sides: Vec<usize> = edges.iter().map(|edges| edges.len().min(side)).collect();
    let grid: usize = sides.iter().product();
    (0..count)
        .map(|index| {
            let mut rest = index;
            let mut tuple: Vec<u64> = Vec::new();
            for (operand, source) in sources.iter().enumerate() {
                let value = if let Values::List(ref list) = source.values {
                    list[index % list.len()]
                } else if index < grid {
                    let at = rest % sides[operand];
                    rest /= sides[operand];
                    edges[operand][at]
                } else {
                    match (random() % 8, tuple.first()) {
                        (0..=2, _) => edges[operand][random() as usize % edges[operand].len()],
                        // Close to the first operand: cancellation, quotients near one.
                        (3, Some(&first)) if matches!(source.values, Values::Any) => {
                            (first ^ (random() % 4)) & mask(source.ty)
                        }
                        _ => draw(source, &mut random),
                    }
                };
                tuple.push(value);
            }
            tuple
        })
        .collect()
}

fn mask(ty: Ty) -> u64 {
    u64::MAX >> (64 - 8 * size(ty))
}

fn draw(source: &Source, random: &mut impl FnMut() -> u64) -> u64 {
    let bits = random();
    match source.values {
        Values::Any => draw_any(source.ty, bits, random()),
        Values::NonZero => draw_any(source.ty, bits, random()).max(1),
        Values::Counts => bits % 40,
        Values::Below(bound) => bits % bound,
        Values::Range(low, high) => {
            let part = (bits >> 11) as f64 / (1_u64 << 53) as f64;
            float_bits(source.ty, low + part * (high - low))
        }
        Values::List(_) => 0,
    }
}

/// Any bits, or a number of moderate size.
fn draw_any(ty: Ty, bits: u64, choice: u64) -> u64 {
    let moderate = |exponents: u64, bias: u64, mantissa: u32, sign: u32| {
        let exponent = bias - exponents / 2 + choice / 2 % exponents;
        (bits & 1) << sign | exponent << mantissa | (bits >> 1) & ((1 << mantissa) - 1)
    };
    match ty {
        "f16x2" | "bf16x2" => {
            let half = if ty == "f16x2" { "f16" } else { "bf16" };
            draw_any(half, bits, choice) | draw_any(half, bits >> 32, choice >> 32) << 16
        }
        _ if choice.is_multiple_of(2) => bits & mask(ty),
        "f16" => moderate(12, 15, 10, 15),
        "bf16" => moderate(16, 127, 7, 15),
        "f32" => moderate(40, 127, 23, 31),
        "f64" => moderate(80, 1023, 52, 63),
        // Short integers in wide types.
        _ => (bits & mask(ty)) >> (choice / 2 % (8 * size(ty) as u64)),
    }
}

/// A number as a type's bits, rounded towards zero where that is needed.
fn float_bits(ty: Ty, value: f64) -> u64 {
    let single = u64::from((value as f32).to_bits());
    match ty {
        "f64" => value.to_bits(),
        "bf16" => single >> 16,
        "f16" => {
            // Only numbers in the normal range of f16 are asked for; what is smaller becomes zero.
            let exponent = (single >> 23 & 0xff) as i64 - 112;
            let sign = single >> 16 & 0x8000;
            if exponent <= 0 {
                sign
            } else {
                sign | (exponent as u64) << 10 | single >> 13 & 0x3ff
            }
        }
        "f16x2" => float_bits("f16", value) * 0x1_0001,
        "bf16x2" => float_bits("bf16", value) * 0x1_0001,
        _ => single,
    }
}

fn edges(source: &Source) -> Vec<u64> {
    match &source.values {
        Values::Any => type_edges(source.ty),
        Values::NonZero => type_edges(source.ty)
            .into_iter()
            .filter(|&bits| bits != 0)
            .collect(),
        Values::Counts => vec![
            0,
            1,
            31,
            32,
            33,
            8,
            16,
            63,
            64,
            65,
            15,
            17,
            7,
            30,
            62,
            100,
            127,
            128,
            255,
            256,
            257,
            0x1_0001,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
        ],
        Values::Below(bound) => (0..*bound).take(64).collect(),
        Values::Range(low, high) => {
            let specials = type_edges(source.ty).into_iter().take(8);
            let ends = [*low, *high].map(|value| float_bits(source.ty, value));
            specials.chain(ends).collect()
        }
        Values::List(_) => vec![0],
    }
}

/// The edges of a type, the most telling ones first.
fn type_edges(ty: Ty) -> Vec<u64> {
    match ty {
        "pred" => vec![0, 1],
        "f16" => float_edges(5, 10),
        "bf16" => float_edges(8, 7),
        "f32" => float_edges(8, 23),
        "f64" => float_edges(11, 52),
        "f16x2" | "bf16x2" => {
            let half = type_edges(if ty == "f16x2" { "f16" } else { "bf16" });
            let other = half.iter().cycle().skip(5);
            half.iter()
                .zip(other)
                .map(|(low, high)| low | high << 16)
                .collect()
        }
        _ => integer_edges(8 * size(ty) as u32),
    }
}

fn integer_edges(bits: u32) -> Vec<u64> {
    let top = bits - 1;
    let half = bits / 2;
    let mut edges: Vec<u64> = vec![0, 1, u64::MAX, 1 << top, (1 << top) - 1, 2, (1 << top) + 1];
    edges.extend([
        (1 << half) - 1,
        1 << half,
        (1 << half) + 1,
        3,
        u64::MAX - 1,
        10,
    ]);
    edges.extend([
        0x5555_5555_5555_5555,
        0xaaaa_aaaa_aaaa_aaaa,
        7,
        (1 << top) - 2,
        u64::MAX << half,
    ]);
    edges.extend(
        (2..top)
            .step_by(3)
            .flat_map(|k| [(1 << k) - 1, 1 << k, (1 << k) + 1]),
    );
    for edge in &mut edges {
        *edge &= u64::MAX >> (64 - bits);
    }
    let mut seen = std::collections::HashSet::new();
    edges.retain(|edge| seen.insert(*edge));
    edges
}

/// Zeros, NaN, infinities, subnormals, ends of the range, ones with their neighbours, ties, powers
/// of two.
fn float_edges(exponent: u32, mantissa: u32) -> Vec<u64> {
    let sign = 1 << (exponent + mantissa);
    let bias = (1 << (exponent - 1)) - 1;
    let infinity = ((1 << exponent) - 1) << mantissa;
    let power = |k: i64| ((bias + k).max(1) as u64) << mantissa;
    let (one, quiet) = (power(0), 1 << (mantissa - 1));
    let mut edges = vec![
        0,
        sign,
        infinity | quiet,
        infinity,
        infinity | sign,
        one,
        one | sign,
        1,
    ];
    // The largest subnormal, the smallest normal number, the largest number.
    edges.extend([
        sign | ((1 << mantissa) - 1),
        1 << mantissa,
        infinity - 1,
        sign | (infinity - 1),
    ]);
    // NaN: signalling, with a payload and a sign, all ones.
    edges.extend([
        infinity | 1,
        sign | infinity | quiet | 5,
        sign | (infinity + (1 << mantissa) - 1),
    ]);
    edges.extend([
        one + 1,
        one - 1,
        power(-1),
        sign | power(-1),
        one | quiet,
        power(1) | quiet >> 1,
    ]);
    // One half and one quarter of a last place of one, and three halves of it.
    let place = i64::from(mantissa);
    edges.extend([
        power(-place - 1),
        power(-place - 2),
        power(-place - 1) | quiet,
    ]);
    edges.extend([
        sign | one | quiet,
        sign | power(1) | quiet >> 1,
        sign | 1,
        (1 << mantissa) - 1,
    ]);
    // Where integers end: fractions of a half, the last odd number, the ends of the integer types.
    edges.extend([
        power(place - 1) + 1,
        power(place),
        power(place) + 1,
        sign | (power(place - 1) + 1),
    ]);
    for bits in [7, 8, 15, 16, 31, 32, 63, 64] {
        if bits <= bias {
            edges.extend([
                power(bits),
                power(bits) - 1,
                sign | power(bits),
                sign | (power(bits) + 1),
            ]);
        }
    }
    // Bounds of the other float formats: the largest f16 and the tie above it, the smallest ones.
    for k in [
        -126, -127, -149, -150, -14, -15, -24, -25, 127, 128, -133, -134,
    ] {
        if k > -bias && k <= bias {
            edges.extend([power(k), power(k) | quiet, sign | (power(k) + 1)]);
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_begin_with_their_specials() {
        let edges = type_edges("f32");
        assert_eq!(
            &edges[..7],
            [
                0.0,
                -0.0,
                f32::NAN,
                f32::INFINITY,
                f32::NEG_INFINITY,
                1.0,
                -1.0
            ]
            .map(|value: f32| u64::from(value.to_bits()))
        );
        assert!(edges.contains(&u64::from(f32::MIN_POSITIVE.to_bits())));
        assert!(edges.contains(&u64::from(2_147_483_648.0_f32.to_bits())));
        assert_eq!(float_bits("f16", 1.5), 0x3e00);
    }

    #[test]
    fn every_pair_of_first_edges_occurs() {
        let sources = ["s32".into(), "s32".into()];
        let tuples = tuples(&sources, 384, 1);
        assert_eq!(tuples.len(), 384);
        for pair in [[0, 0], [0x8000_0000, 0xffff_ffff], [1, 0x7fff_ffff]] {
            assert!(tuples.iter().any(|tuple| tuple[..] == pair), "{pair:x?}");
        }
    }
}
