//! Integers, their bits, `bool` and `char`.

use super::*;
use blockwise_tests::bench::blocks;

/// Edges and mixed bits.
fn mixed_32(count: u32, factor: u32) -> Vec<u32> {
    let edges = [0, 1, u32::MAX, 1 << 31, i32::MAX.cast_unsigned(), 31, 32];
    let mixed = (0..count).map(|i| i.wrapping_mul(factor).rotate_left(i));
    edges.into_iter().chain(mixed).collect()
}

/// All pairs of the edges, then mixed ones.
fn pairs() -> (Vec<i32>, Vec<i32>) {
    let edges = [0, 1, -1, 2, -7, i32::MAX, i32::MIN, 1000, 46_341, 33];
    let (mut x, mut y) = (vec![], vec![]);
    for a in edges {
        for b in edges {
            x.push(a);
            y.push(b);
        }
    }
    let signed = |bits: Vec<u32>| bits.into_iter().map(u32::cast_signed);
    x.extend(signed(mixed_32(150, 0x9E37_79B9)));
    y.extend(signed(mixed_32(150, 0x85EB_CA6B)));
    (x, y)
}

#[test]
fn bit_tricks() {
    let (x, y) = (mixed_32(200, 0x9E37_79B9), mixed_32(200, 0xC2B2_AE35));
    let expected: Vec<u32> = x
        .iter()
        .zip(&y)
        .flat_map(|(&x, &y)| {
            let n = x % 32;
            let pair = u64::from(x) << 32 | u64::from(y);
            let log = if x == 0 { 99 } else { 31 - x.leading_zeros() };
            [
                x.count_ones() << 16 | pair.count_zeros(),
                x.leading_zeros() << 16 | pair.leading_zeros(),
                x.trailing_zeros() << 16 | pair.trailing_zeros(),
                x.reverse_bits() ^ x.swap_bytes(),
                x.rotate_left(n) ^ y.rotate_right(n),
                (pair << n >> 32) as u32,
                (pair.rotate_left(n + 7) >> 32) as u32,
                (f64::from(x).sqrt() as u32) << 16 | log,
            ]
        })
        .collect();
    check("bit_tricks", blocks(2, 128), &[&x, &y], &expected);
}

#[test]
fn checked_arithmetic() {
    let (x, y) = pairs();
    // In 128 bits nothing overflows.
    let wide = |x: i32, y: i32| (i128::from(x), i128::from(y));
    let expected: Vec<i32> = x
        .iter()
        .zip(&y)
        .flat_map(|(&x, &y)| {
            let (a, b) = wide(x, y);
            let fits = |value: i128| i32::try_from(value).ok();
            let clamp = |value: i128| value.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
            let product = a * b;
            let shifted = if (0..32).contains(&y) { x << y } else { 3 };
            [
                fits(a + b).unwrap_or(1),
                fits(a - b).unwrap_or(2),
                clamp(product),
                clamp(a - b),
                product as i32 ^ i32::from(fits(product).is_none()),
                a.abs() as i32,
                (a - b).abs() as i32,
                shifted ^ fits(a * a * a).unwrap_or(4),
            ]
        })
        .collect();
    check("careful_arithmetic", blocks(3, 128), &[&x, &y], &expected);
}

#[test]
fn integer_division() {
    let edges = [1, -1, 7, -7, i64::MIN, i64::MAX, 10, 1 << 32, -(1 << 31)];
    let (mut x, mut y) = (vec![], vec![]);
    for a in edges.into_iter().chain([0]) {
        for b in edges {
            x.push(a);
            y.push(b);
        }
    }
    let expected: Vec<i64> = x
        .iter()
        .zip(&y)
        .flat_map(|(&x, &y)| {
            let (a, b) = (i128::from(x), i128::from(y));
            let rest = a.rem_euclid(b);
            let (unsigned, by) = (x.cast_unsigned(), y.cast_unsigned());
            let columns = [a / b, a % b, (a - rest) / b, rest];
            let [q, r, qe, re] = columns.map(|wide| wide as i64);
            [q, r, qe, re, (unsigned / by) as i64, (unsigned % by) as i64]
        })
        .collect();
    check("quotients", blocks(3, 32), &[&x, &y], &expected);
}

#[test]
fn small_integers() {
    let count = 256_usize;
    let a: Vec<i8> = (0..count).map(|i| i as u8 as i8).collect();
    let b: Vec<i8> = (0..count).map(|i| (i * 77 + 13) as u8 as i8).collect();
    let c: Vec<u16> = (0..count).map(|i| (i * 2221) as u16).collect();
    let d: Vec<i16> = (0..count).map(|i| (i * 40_503) as u16 as i16).collect();
    let bytes: Vec<i8> = (0..count)
        .map(|i| {
            let average = (i32::from(a[i]) + i32::from(b[i])).div_euclid(2);
            let sum = i32::from((average * 3) as i8) + i32::from(a[i]);
            sum.clamp(-128, 127) as i8
        })
        .collect();
    let words: Vec<u16> = (0..count)
        .map(|i| {
            let sum = (i32::from(c[i]) + i32::from(d[i])).clamp(0, 65_535) as u32;
            (sum << 3 | sum >> 13) as u16 ^ u16::from(a[i] as u8)
        })
        .collect();
    for bench in kernel_crates() {
        let [a, b] = [&a, &b].map(|values| upload::<u32>(bench, bytemuck::cast_slice(values)));
        let c = upload::<u32>(bench, bytemuck::cast_slice(&c));
        let d = upload::<u32>(bench, bytemuck::cast_slice(&d));
        let mut got_bytes = upload(bench, &[u32::MAX; 64]);
        let arguments = [&a, &b, &c, &d]
            .into_iter()
            .fold(Arguments::new(), |all, buffer| {
                all.address(buffer).value(count as u64)
            })
            .pointer(&mut got_bytes);
        let got_words: Vec<u32> = bench.run("small_integers", blocks(2, 128), arguments, 128);
        assert_same(bytemuck::cast_slice::<u32, u16>(&got_words), &words);
        let got_bytes = got_bytes.to_vec().unwrap();
        assert_same(bytemuck::cast_slice::<u32, i8>(&got_bytes), &bytes);
    }
}

#[test]
fn bools_and_chars() {
    let mut codes: Vec<u32> = (0..250).collect();
    codes.extend([0xD7FF, 0xD800, 0xDFFF, 0x10_FFFF, 0x11_0000, u32::MAX]);
    let flags: Vec<u8> = codes
        .iter()
        .map(|&code| {
            let surrogate = (0xD800..0xE000).contains(&code) || code > 0x10_FFFF;
            let letter = (65..91).contains(&code) || (97..123).contains(&code);
            u8::from(letter || (code > 255 && !surrogate))
        })
        .collect();
    let upper: Vec<u32> = codes
        .iter()
        .map(|&code| match code {
            97..123 => code - 32,
            0xD800..0xE000 | 0x11_0000.. => 0xFFFD,
            _ => code,
        })
        .collect();
    for bench in kernel_crates() {
        let input = upload(bench, &codes);
        let mut got = upload(bench, &[u32::MAX; 64]);
        let arguments = Arguments::new().slice(&input).pointer(&mut got);
        let letters: Vec<u32> = bench.run("characters", blocks(2, 128), arguments, 256);
        assert_same(&letters, &upper);
        let got = got.to_vec().unwrap();
        assert_same(bytemuck::cast_slice::<u32, u8>(&got), &flags);
    }
}

#[test]
fn wide_integers() {
    let a: Vec<u64> = (0..100_u64)
        .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .collect();
    let mut b: Vec<u64> = a.iter().map(|a| a.rotate_left(17) ^ 99).collect();
    b[3] = u64::MAX;
    let expected: Vec<u64> = a
        .iter()
        .zip(&b)
        .flat_map(|(&a, &b)| {
            let (a, b) = (u128::from(a), u128::from(b));
            let product = a * b;
            let signed = -(product as i128 >> 3);
            let columns = [
                product,
                product.wrapping_mul(product) / (a + 1),
                (signed % (b as i128 + 1)) as u128,
                product << (b % 64) as u32,
            ];
            columns
                .into_iter()
                .flat_map(|wide| [wide as u64, (wide >> 64) as u64])
        })
        .collect();
    check("wide_arithmetic", blocks(1, 128), &[&a, &b], &expected);
}

#[test]
fn raw_intrinsics() {
    let (x, y) = pairs();
    let expected: Vec<i32> = x
        .iter()
        .zip(&y)
        .flat_map(|(&x, &y)| {
            [
                x.leading_zeros().cast_signed(),
                x.count_ones().cast_signed(),
                ((i64::from(x) * i64::from(y)) >> 32) as i32,
                y << 16 | x & 0xFFFF,
                1 << (x & 7),
            ]
        })
        .collect();
    check("libdevice_calls", blocks(3, 128), &[&x, &y], &expected);
}
