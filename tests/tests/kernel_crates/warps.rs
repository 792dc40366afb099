//! Lanes of a warp.

use super::*;
use blockwise_tests::bench::{blocks, threads};

/// Numbers in which neighbours, halves and warps differ.
fn mixed(count: u32) -> Vec<u32> {
    (0..count)
        .map(|i| i.wrapping_mul(0x9E37_79B9) ^ 0x1234)
        .collect()
}

#[test]
fn warp_vote() {
    let values: Vec<u32> = (0..128_u32)
        .map(|i| match i / 32 {
            0 => 2 * i + 1,
            1 => 2 * i,
            2 => i * i / 3,
            _ => u32::from(i == 101),
        })
        .collect();
    let expected: Vec<u32> = values
        .chunks(32)
        .flat_map(|warp| {
            let odd = |(lane, value): (usize, &u32)| (value % 2) << lane;
            let which: u32 = warp.iter().enumerate().map(odd).sum();
            [u32::from(which == u32::MAX), u32::from(which != 0), which]
        })
        .collect();
    check("odd_votes", threads(128), &[&values], &expected);
}

#[test]
fn warp_shuffle_idx() {
    let values: Vec<i32> = mixed(64).into_iter().map(u32::cast_signed).collect();
    let from: Vec<u32> = (0..64).map(|i| i * 5 % 11).collect();
    let expected: Vec<i32> = (0..64)
        .flat_map(|i| {
            let group = i / 8 * 8;
            [values[group], values[group + from[i] as usize % 8]]
        })
        .collect();
    for bench in kernel_crates() {
        let (values, from) = (upload(bench, &values), upload(bench, &from));
        let arguments = Arguments::new().slice(&values).slice(&from);
        let got: Vec<i32> = bench.run("gather_in_eights", blocks(2, 32), arguments, 128);
        assert_same(&got, &expected);
    }
}

#[test]
fn warp_shuffle_up() {
    let values: Vec<u64> = mixed(96).into_iter().map(|x| u64::from(x) << 20).collect();
    let expected: Vec<u64> = values
        .chunks(32)
        .flat_map(|warp| (1..=32).map(|len| warp[..len].iter().sum()))
        .collect();
    check("warp_running_sums", threads(96), &[&values], &expected);
}

#[test]
fn warp_shuffle_down() {
    // Integers: exact in any order.
    let values: Vec<f64> = (0..115).map(|i| f64::from(i * i) - 1000.0).collect();
    let expected: Vec<f64> = values.chunks(32).map(|warp| warp.iter().sum()).collect();
    check("warp_sums", blocks(2, 64), &[&values], &expected);
}

#[test]
fn warp_shuffle_xor() {
    let values: Vec<f32> = mixed(64).into_iter().map(|x| x as f32 - 2e9).collect();
    let expected: Vec<f32> = values
        .chunks(16)
        .flat_map(|group| [group.iter().copied().fold(f32::MIN, f32::max); 16])
        .collect();
    check("greatest_of_sixteen", threads(64), &[&values], &expected);
}

#[test]
fn warp_shuffle_widths() {
    let values: Vec<i64> = mixed(32)
        .into_iter()
        .map(|x| i64::from(x).wrapping_mul(0x1_0000_8001) - 5)
        .collect();
    let expected: Vec<i64> = (0..32)
        .flat_map(|lane| {
            let flipped = values[lane ^ 1];
            let above = values[if lane < 29 { lane + 3 } else { lane }];
            let packed = i64::from(flipped as i8) << 32 | i64::from(flipped as u16);
            [packed, above, !above, above]
        })
        .collect();
    check("shuffled_widths", threads(32), &[&values], &expected);
}

#[test]
fn warp_match_any() {
    let keys: Vec<u32> = (0..64).map(|i| i * i % 7).collect();
    // Equal in the low half everywhere.
    let wide: Vec<i64> = (0..64).map(|i| (i % 5) << 40 | 3).collect();
    let lanes_like = |i: usize, same: &dyn Fn(usize) -> bool| {
        let warp = i / 32 * 32;
        (0..32)
            .filter(|lane| same(warp + lane))
            .fold(0_u32, |mask, lane| mask | 1 << lane)
    };
    let expected: Vec<u32> = (0..64)
        .flat_map(|i| {
            [
                lanes_like(i, &|other| keys[other] == keys[i]),
                lanes_like(i, &|other| wide[other] == wide[i]),
            ]
        })
        .collect();
    for bench in kernel_crates() {
        let (keys, wide) = (upload(bench, &keys), upload(bench, &wide));
        let arguments = Arguments::new().slice(&keys).slice(&wide);
        let got: Vec<u32> = bench.run("same_keys", threads(64), arguments, 128);
        assert_same(&got, &expected);
    }
}

#[test]
fn warp_match_all() {
    let mut keys = [1.25_f64; 128];
    keys[32 + 5] = 2.0; // an odd lane: the even ones agree
    keys[64 + 6] = 2.0;
    keys[96] = -1.25;
    check(
        "all_same",
        threads(128),
        &[&keys],
        &[1, 1, 0, 1, 0, 0, 0, 0_u32],
    );
}

#[test]
fn warp_reduce() {
    let mut values = mixed(96);
    values[32..64].fill(0xFFFF_FFF0);
    let expected: Vec<u32> = values
        .chunks(32)
        .flat_map(|warp| {
            let fold = |f: fn(u32, u32) -> u32| warp.iter().copied().reduce(f).unwrap();
            let signed = |f: fn(i32, i32) -> i32| {
                let values = warp.iter().map(|value| value.cast_signed());
                values.reduce(f).unwrap().cast_unsigned()
            };
            [
                fold(u32::wrapping_add),
                fold(u32::min),
                fold(u32::max),
                fold(|a, b| a & b),
                fold(|a, b| a | b),
                fold(|a, b| a ^ b),
                signed(i32::min),
                signed(i32::max),
            ]
        })
        .collect();
    check("warp_reductions", threads(96), &[&values], &expected);
}

#[test]
fn warp_lanes() {
    let expected: Vec<u32> = (0..64)
        .flat_map(|i| [i % 32, if i % 32 % 3 == 1 { 1 } else { 2 }])
        .collect();
    check::<u32, u32>("lanes", threads(64), &[], &expected);
}
