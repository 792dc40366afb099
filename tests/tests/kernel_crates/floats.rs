//! Floating-point numbers beyond the functions that the tests `accuracy` and `device` have.

use super::*;
use blockwise_tests::bench::blocks;
use half::{bf16, f16};

#[test]
fn float_rounding() {
    let mut x: Vec<f32> = (-40..40).map(|i| i as f32 / 4.0).collect();
    x.extend([
        0.499_999_97,
        -0.499_999_97,
        8_388_609.0,
        -1e30,
        3e9,
        -0.0,
        255.9,
        256.0,
    ]);
    let expected: Vec<u32> = x
        .iter()
        .flat_map(|x| {
            let floats = [
                x.floor(),
                x.ceil(),
                x.round(),
                x.round_ties_even(),
                x.trunc(),
                x - x.trunc(),
            ];
            let [a, b, c, d, e, f] = floats.map(f32::to_bits);
            [
                a,
                b,
                c,
                d,
                e,
                f,
                (*x as i32).cast_unsigned(),
                u32::from(*x as u8),
            ]
        })
        .collect();
    check("roundings", blocks(1, 128), &[&x], &expected);
}

#[test]
fn float_signs() {
    let numbers = [1.5, -2.5, 1e-310, -1e300, f64::INFINITY, f64::MIN_POSITIVE];
    let x = numbers.repeat(4);
    let others = [2.0, -3.0, f64::NAN, f64::NEG_INFINITY];
    let y: Vec<f64> = others.iter().flat_map(|&y| [y; 6]).collect();
    let expected: Vec<u64> = x
        .iter()
        .zip(&y)
        .flat_map(|(&x, &y)| {
            let class = x.classify() as u64 * 16 + (x.total_cmp(&y) as i64 + 1) as u64;
            let floats = [x.abs(), x.signum(), x.copysign(y), x.min(y), x.max(y)];
            let [a, b, c, d, e] = floats.map(f64::to_bits);
            [a, b, c, d, e, class]
        })
        .collect();
    check("signs", blocks(1, 32), &[&x, &y], &expected);

    // Quiet and signalling NaNs with payloads, numbers, zeros and subnormals, of both signs. The
    // same bits are a number of 64 bits and, in their lower half, one of 32.
    let bits: Vec<u64> = [
        0x7FF8_0000_7FC0_1234_u64,
        0x7FF0_0001_7F80_0001,
        0x7FF7_FFFF_7FBF_FFFF,
        0x7FFF_FFFF_7FFF_FFFF,
        0x7FF8_0000_0000_0000,
        0x4008_0000_3FC0_0000,
        0x0000_0001_0000_0001,
        0x7FF0_0000_7F80_0000,
    ]
    .into_iter()
    .flat_map(|bits| [bits, bits ^ 0x8000_0000_8000_0000])
    .collect();
    let x: Vec<u64> = bits.iter().flat_map(|&x| [x; 3]).collect();
    let others = [
        0x4000_0000_4000_0000,
        0xBFF0_0000_BF80_0000,
        0xFFF8_0000_FFC0_0001,
    ];
    let y = others.repeat(bits.len());
    let (wide, narrow) = (1_u64 << 63, 1_u32 << 31);
    let expected: Vec<u64> = (x.iter().zip(&y))
        .flat_map(|(&x, &y)| {
            let is_positive = f64::from_bits(y) > 0.0;
            let a = [x ^ wide, x & !wide, x | wide, x & !wide | y & wide];
            let chosen = if is_positive { x } else { x ^ wide };
            let (c, d) = (x as u32, y as u32);
            let narrow_chosen = if is_positive { c } else { c ^ narrow };
            let b = [
                c ^ narrow,
                c & !narrow,
                c | narrow,
                c & !narrow | d & narrow,
            ];
            let pairs = a.into_iter().chain([chosen]);
            pairs
                .zip(b.into_iter().chain([narrow_chosen]))
                .flat_map(|(wide, narrow)| [wide, u64::from(narrow)])
                .collect::<Vec<_>>()
        })
        .collect();
    check("sign_bits", blocks(2, 32), &[&x, &y], &expected);

    // Every column but the second gives the number back.
    let expected: Vec<u64> = (bits.iter())
        .flat_map(|&x| {
            let c = x as u32;
            let mut columns = [x, u64::from(c)].repeat(6);
            if f64::from_bits(x) < 0.0 {
                columns[2] = x ^ wide;
            }
            if f32::from_bits(c) < 0.0 {
                columns[3] = u64::from(c ^ narrow);
            }
            columns
        })
        .collect();
    check("signs_by_turns", blocks(1, 32), &[&bits], &expected);

    for bench in kernel_crates() {
        let halves: Vec<f32> = bits
            .iter()
            .map(|&bits| f32::from_bits(bits as u32))
            .collect();
        let got: Vec<f32> = results(
            bench,
            "stored_signs",
            blocks(1, 32),
            &[&halves],
            2 * bits.len(),
        );
        let got: Vec<u32> = got.into_iter().map(f32::to_bits).collect();
        let of = |bits: &u64| [*bits as u32 ^ narrow, *bits as u32 & !narrow];
        assert_same(&got, &bits.iter().flat_map(of).collect::<Vec<_>>());

        let wholes: Vec<f64> = bits.iter().map(|&bits| f64::from_bits(bits)).collect();
        let got: Vec<f64> = results(
            bench,
            "stored_wide_signs",
            blocks(1, 32),
            &[&wholes],
            2 * bits.len(),
        );
        let got: Vec<u64> = got.into_iter().map(f64::to_bits).collect();
        let of = |bits: &u64| [bits ^ wide, bits & !wide];
        assert_same(&got, &bits.iter().flat_map(of).collect::<Vec<_>>());
    }
}

#[test]
fn float_remainders() {
    let x: Vec<f32> = (0..300).map(|i| (i as f32 - 150.0) * 1.37).collect();
    let y: Vec<f32> = (0..300)
        .map(|i| [2.5, -7.25, 0.1, 1e-3, -1e6][i % 5])
        .collect();
    let expected: Vec<f32> = x
        .iter()
        .zip(&y)
        .flat_map(|(x, y)| [x % y, x.div_euclid(*y), x.rem_euclid(*y)])
        .collect();
    check("float_remainders", blocks(3, 128), &[&x, &y], &expected);
}

#[test]
fn fused_multiply_add() {
    // Whole numbers of at most 53 bits: their products are exact in 128.
    let whole = |seed: u64| (1..=200_u64).map(move |i| (i.wrapping_mul(seed) >> 11) as f64);
    let x: Vec<f64> = whole(0x9E37_79B9_7F4A_7C15).collect();
    let y: Vec<f64> = whole(0xD1B5_4A32_D192_ED03).collect();
    for bench in kernel_crates() {
        let got: Vec<f64> = results(bench, "exact_products", blocks(2, 128), &[&x, &y], 400);
        for ((row, &x), &y) in got.chunks(2).zip(&x).zip(&y) {
            assert_eq!(row[0], x * y);
            assert_eq!(row[0] as i128 + row[1] as i128, x as i128 * y as i128);
        }
    }
}

#[test]
fn half_precision() {
    let halves = |numbers: &dyn Fn(u32) -> f32| -> Vec<f16> {
        (0..202).map(|i| f16::from_f32(numbers(i))).collect()
    };
    let (x, y) = (
        halves(&|i| i as f32 * 0.31 - 20.0),
        halves(&|i| 1.0 / (i as f32 + 0.5)),
    );
    let a = f16::from_f32(-1.7);
    // The product of two halves is exact in `f32`.
    let expected: Vec<u16> = x
        .iter()
        .zip(&y)
        .map(|(x, y)| f16::from_f32(a.to_f32() * x.to_f32() + y.to_f32()).to_bits())
        .collect();
    let pack = |halves: &[f16]| -> Vec<u32> {
        let pairs = halves.chunks(2);
        pairs
            .map(|pair| u32::from(pair[1].to_bits()) << 16 | u32::from(pair[0].to_bits()))
            .collect()
    };
    for bench in kernel_crates() {
        let (x, y) = (upload(bench, &pack(&x)), upload(bench, &pack(&y)));
        let arguments = Arguments::new()
            .value(a.to_bits())
            .address(&x)
            .value(202_u64)
            .address(&y)
            .value(202_u64);
        let got: Vec<u32> = bench.run("half_axpy", blocks(2, 128), arguments, 101);
        assert_same(bytemuck::cast_slice::<u32, u16>(&got), &expected);
    }
}

#[test]
fn brain_floats() {
    let mut x: Vec<f32> = (0..150).map(|i| (i as f32 - 70.0) * 1.003).collect();
    // Ties to even and just beside them.
    x.extend([0x3F80_8000, 0x3F81_8000, 0x3F80_8001, 0xBF80_7FFF].map(f32::from_bits));
    let rounded: Vec<bf16> = x.iter().map(|&x| bf16::from_f32(x)).collect();
    let expected: Vec<u32> = (0..x.len())
        .map(|i| {
            let (own, other) = (rounded[i], rounded[(i + 1) % x.len()]);
            let greater = if own > other { own } else { other };
            u32::from(own.to_bits()) << 16 | u32::from(greater.to_bits())
        })
        .collect();
    check("brain_floats", blocks(2, 128), &[&x], &expected);
}
