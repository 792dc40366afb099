//! Arguments of every kind (structs, slices, pointers, many), and buffers of a crate's own types.

use super::*;
use blockwise_tests::bench::{blocks, threads};

#[test]
fn struct_arguments() {
    // As C lays them out: `Padded` and `Nested` of the crate.
    let large = [0x0012_3456_789A_BCDE_u64, 0x0000_0F0F_0F0F_0F0F];
    let mut first = [0xEE_u8; 16];
    first[0] = 200;
    first[8..].copy_from_slice(&large[0].to_ne_bytes());
    let mut nested = [0xEE_u8; 32];
    nested[..4].copy_from_slice(&2.5_f32.to_ne_bytes());
    nested[8] = 77;
    nested[16..24].copy_from_slice(&large[1].to_ne_bytes());
    let offsets = [-3_i16, 500, i16::MIN];
    nested[24..30].copy_from_slice(bytemuck::cast_slice(&offsets));
    let pair = [41_u32, u32::MAX];
    let expected: Vec<f64> = (0..12)
        .map(|t| {
            let offset = f64::from(offsets[t % 3]);
            match t / 3 {
                0 => 2.5 * offset,
                1 => (large[0] ^ large[1]) as f64 + offset,
                2 => 200.0 + 256.0 * 77.0,
                _ => f64::from(pair[t % 2]),
            }
        })
        .collect();
    for bench in kernel_crates() {
        let arguments = Arguments::new()
            .by_value(&first)
            .by_value(&nested)
            .by_value(bytemuck::cast_slice(&pair));
        let got: Vec<f64> = bench.run("struct_arguments", threads(12), arguments, 12);
        assert_same(&got, &expected);
    }
}

#[test]
fn many_arguments() {
    let expected = [
        200.0,
        -100.0,
        60_000.0,
        -30_000.0,
        4e9,
        -2e9,
        1e19,
        -9e18,
        0.1_f32.into(),
        -1e300,
        1.0,
        f64::from('ß' as u32),
        1e15,
        -1e15,
        u64::MAX as f64,
        255.0,
    ];
    for bench in kernel_crates() {
        let mut out = upload(bench, &[f64::NAN; 16]);
        let arguments = Arguments::new()
            .value(200_u8)
            .value(-100_i8)
            .value(60_000_u16)
            .value(-30_000_i16)
            .value(4_000_000_000_u32)
            .value(-2_000_000_000_i32)
            .value(10_000_000_000_000_000_000_u64)
            .value(-9_000_000_000_000_000_000_i64)
            .value(0.1_f32)
            .value(-1e300_f64)
            .value(1_u8)
            .value('ß' as u32)
            .value(1_000_000_000_000_000_u64)
            .value(-1_000_000_000_000_000_i64)
            .value(u128::from(u64::MAX) << 64)
            .pointer(&mut out)
            .value(255_u8);
        bench
            .launch("many_arguments", threads(1), &arguments)
            .unwrap();
        assert_same(&out.to_vec().unwrap(), &expected);
    }
}

#[test]
fn slice_arguments() {
    for (count, shift) in [(50_u32, vec![0.5_f32, -8.0]), (1, vec![])] {
        let points: Vec<f32> = (0..count)
            .flat_map(|i| [i as f32, i as f32 * 0.25, f32::from_bits(1000 + i)])
            .collect();
        let [dx, dy] = *shift.first_chunk().unwrap_or(&[0.0, 0.0]);
        let moved: Vec<u32> = points
            .chunks(3)
            .flat_map(|point| [point[0] + dx, point[1] + dy, point[2]])
            .map(f32::to_bits)
            .collect();
        let names: Vec<u32> = (0..count).map(|i| 1000 + i + count).collect();
        for bench in kernel_crates() {
            let mut there = upload(bench, &points);
            let shift = upload(bench, &shift);
            let mut got = upload(bench, &vec![u32::MAX; count as usize]);
            let arguments = Arguments::new()
                .pointer(&mut there)
                .value(u64::from(count))
                .address(&shift)
                .value(shift.len() as u64 / 2)
                .pointer(&mut got)
                .value(u64::from(count));
            bench
                .launch("moved_points", blocks(2, 32), &arguments)
                .unwrap();
            let bits: Vec<u32> = there
                .to_vec()
                .unwrap()
                .into_iter()
                .map(f32::to_bits)
                .collect();
            assert_same(&bits, &moved);
            assert_same(&got.to_vec().unwrap(), &names);
        }
    }
}

#[test]
fn raw_pointers() {
    let count = 45_usize;
    let words: Vec<u32> = (0..36_u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
    let bytes: &[u8] = bytemuck::cast_slice(&words);
    let expected: Vec<u32> = (0..count)
        .map(|i| {
            let start = 3 * i + 1;
            let word: [u8; 4] = bytes[start..start + 4].try_into().unwrap();
            u32::from_le_bytes(word).wrapping_add(start as u32)
        })
        .collect();
    let mut after = bytes.to_vec();
    after[3 * count + 1] += 1;
    for bench in kernel_crates() {
        let mut there = upload(bench, &words);
        let arguments = Arguments::new().pointer(&mut there).value(count as u64);
        let got: Vec<u32> = bench.run("unaligned_words", threads(64), arguments, count);
        assert_same(&got, &expected);
        let left = there.to_vec().unwrap();
        assert_same(bytemuck::cast_slice::<u32, u8>(&left), &after);
    }
}

#[test]
fn copy_types() {
    // Quarters: every result is exact.
    let particle = |i: u32| {
        let at = |axis: u32| ((i * 7 + axis * 3) % 41) as f32 / 4.0;
        let speed = |axis: u32| ((i + 5 * axis) % 9) as f32 - 4.0;
        let floats = [at(0), at(1), at(2), speed(0), speed(1), speed(2)];
        let [a, b, c, d, e, f] = floats.map(f32::to_bits);
        [a, b, c, d, e, f, 1 + i % 2]
    };
    let before: Vec<u32> = (0..70).flat_map(particle).collect();
    let mut after = before.clone();
    for particle in after.chunks_mut(7) {
        let factor = if particle[6] == 1 { 0.5 } else { 1.0 };
        for axis in 0..3 {
            let speed = f32::from_bits(particle[3 + axis]);
            let position = f32::from_bits(particle[axis]) + factor * 0.5 * speed;
            particle[axis] = position.to_bits();
        }
        if f32::from_bits(particle[0]) > 10.0 {
            particle[6] = 1;
        }
    }
    for bench in kernel_crates() {
        let mut there = upload(bench, &before);
        let arguments = Arguments::new()
            .pointer(&mut there)
            .value(70_u32)
            .value(0.5_f32);
        bench
            .launch("moved_particles", blocks(3, 32), &arguments)
            .unwrap();
        assert_same(&there.to_vec().unwrap(), &after);
    }
}

#[test]
fn memory_moves() {
    let before: Vec<u64> = (0..8 * 33).map(|i| i * 0x0101_0101_0101).collect();
    let mut after = before.clone();
    for (own, old) in after.chunks_mut(8).zip(before.chunks(8)) {
        // Of a thread's eight words, 1 to 4 move to 2 to 5, then the low half of 5 is filled with
        // 0x5A; 1 moves to 6 and leaves 0; 6 moves to 0; 7 becomes the sum of 0 and 7.
        own[2..6].copy_from_slice(&old[1..5]);
        own[5] = own[5] & !0xFFFF_FFFF | 0x5A5A_5A5A;
        own[6] = old[1];
        own[1] = 0;
        own[0] = old[6];
        own[7] = old[7] + old[0];
    }
    check_changed("memory_moves", threads(33), &before, &after);
}
