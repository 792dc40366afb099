//! What Rust and core give a kernel.

use super::*;
use blockwise::DeviceKind;
use blockwise_tests::bench::{benches_of, blocks, threads};

#[test]
fn slices_and_iterators() {
    let values: Vec<i32> = (0..77).map(|i| i * 29 % 83 - 20).collect();
    let mut expected = Vec::new();
    for i in 0..values.len() {
        // By indices, as the kernel is by iterators.
        let weighted: i32 = (0..i).map(|at| values[at] * (i - at) as i32).sum();
        let mut distance = 0;
        let mut first = -1;
        let mut thirds = 0;
        for at in 0..i {
            if at > 0 {
                distance = distance.max((values[at] - values[at - 1]).abs());
            }
            if values[at] > 50 && first < 0 {
                first = at as i32;
            }
            if at % 3 == 1 {
                thirds += values[at];
            }
        }
        expected.extend([weighted, distance, first, thirds]);
    }
    check("iterators", threads(96), &[&values], &expected);
}

#[test]
fn slice_chunks() {
    let data: Vec<u32> = (0..16 * 21).map(|i| i * i % 1009).collect();
    let mut expected = data.clone();
    for (t, own) in expected.chunks_mut(16).enumerate() {
        let before = own.to_vec();
        for at in 0..8 {
            own[at] = before[(at + t) % 8];
        }
        own[10..14].copy_from_slice(&before[8..12]);
        let tail = [own[12], own[13], own[14], own[15]];
        for (at, value) in tail.into_iter().rev().enumerate() {
            own[12 + at] = value;
        }
        own[0] = own[2] + own[5] + own[7];
    }
    for bench in kernel_crates() {
        let mut buffer = upload(bench, &data);
        let count = data.len() as u64;
        let arguments = Arguments::new().pointer(&mut buffer).value(count);
        bench.launch("rearranged", threads(32), &arguments).unwrap();
        assert_same(&buffer.to_vec().unwrap(), &expected);
    }
}

#[test]
fn slice_sort() {
    for n in [1, 19, 20, 21, 100] {
        let data: Vec<i32> = (0..33 * n).map(|i| i * 7919 % 211 - 100).collect();
        let mut expected = data.clone();
        for (row, own) in expected.chunks_mut(n as usize).enumerate() {
            own.sort();
            if row % 2 == 1 {
                own.reverse();
            }
        }
        for bench in kernel_crates() {
            let mut buffer = upload(bench, &data);
            let arguments = Arguments::new()
                .pointer(&mut buffer)
                .value(n as u64)
                .value(33_u32);
            bench
                .launch("sorted_rows", threads(64), &arguments)
                .unwrap();
            assert_same(&buffer.to_vec().unwrap(), &expected);
        }
    }
}

#[test]
fn binary_search() {
    let table: Vec<f32> = (0..37).map(|i| i as f32 * 2.0 - 9.0).collect();
    let keys: Vec<f32> = (0..90).map(|i| i as f32 - 14.0).collect();
    let expected: Vec<i32> = keys
        .iter()
        .flat_map(|key| {
            let below = table.iter().filter(|entry| *entry < key).count() as i32;
            let there = table.contains(key);
            [if there { below } else { -1 - below }, below]
        })
        .collect();
    check("look_up", threads(96), &[&table, &keys], &expected);
}

#[test]
fn closures() {
    for bench in kernel_crates() {
        let got: Vec<f64> = bench.run("integrals", threads(32), Arguments::new(), 64);
        for (t, row) in (0..32).zip(got.chunks(2)) {
            // The midpoints of a square miss 1/12 of the step's square, times the second
            // derivative's half.
            let a = f64::from(t);
            let exact = a * a / 3.0 + a + 1.0 - a * a / 12.0 / 4096.0;
            assert_close(row, &[exact, 64.0], |_| 1e-13 * exact);
        }
    }
}

#[test]
fn const_generics() {
    fn cubed<const N: usize>(matrix: &[i64]) -> Vec<i64> {
        let product = |a: &[i64], b: &[i64]| -> Vec<i64> {
            let cell = |at: usize| (0..N).map(|k| a[at / N * N + k] * b[k * N + at % N]).sum();
            (0..N * N).map(cell).collect()
        };
        product(&product(matrix, matrix), matrix)
    }
    let numbers: Vec<i64> = (0..32 * 9).map(|i| i * 31 % 23 - 11).collect();
    let small: Vec<i32> = numbers[..128].iter().map(|&x| x as i32).collect();
    let expected: Vec<i32> = numbers[..128]
        .chunks(4)
        .flat_map(|matrix| cubed::<2>(matrix).into_iter().map(|x| x as i32))
        .collect();
    check_changed("cubes_2", threads(32), &small, &expected);
    let floats: Vec<f64> = numbers.iter().map(|&x| x as f64).collect();
    let expected: Vec<f64> = numbers
        .chunks(9)
        .flat_map(|matrix| cubed::<3>(matrix).into_iter().map(|x| x as f64))
        .collect();
    check_changed("cubes_3", threads(32), &floats, &expected);
}

#[test]
fn trait_objects() {
    let expected: Vec<f32> = (0..96)
        .map(|t| {
            let side = t as f32;
            match t % 3 {
                0 => 9.0,
                1 => 4.0 * side * side,
                _ => -6.0 * (side * side - 1.0),
            }
        })
        .collect();
    check::<u32, f32>("shapes", threads(96), &[], &expected);
}

#[test]
fn enums_and_match() {
    let push = |value: i32| (value + 0x80_0000).cast_unsigned();
    let [add, mul, dup, stop] = [1_u32, 2, 3, 9].map(|code| code << 24);
    let swap = |depth: u32| 4 << 24 | depth;
    // t → (t² − 5) · 3 + t
    let program = [
        dup,
        dup,
        mul,
        push(-5),
        add,
        push(3),
        mul,
        swap(1),
        add,
        stop,
        mul,
    ];
    let expected: Vec<i32> = (0..64).map(|t| (t * t - 5) * 3 + t).collect();
    check("interpret", threads(64), &[&program], &expected);
    // Nothing to add to; a program that does not stop.
    for broken in [[add, stop], [dup, dup]] {
        check("interpret", threads(32), &[&broken], &[i32::MIN; 32]);
    }
}

#[test]
fn options_and_results() {
    let x: Vec<u32> = (0..200).map(|i| i * 7).collect();
    let y: Vec<u32> = (0..200).map(|i| i % 9).collect();
    let expected: Vec<u32> = x
        .iter()
        .zip(&y)
        .map(|(&x, &y)| match (y, x.checked_div(y).unwrap_or(0)) {
            (0, _) => 1000,
            (_, large @ 101..) => 2000 + large,
            (_, quotient) if quotient % 2 == 0 => quotient / 2,
            (_, quotient) => quotient,
        })
        .collect();
    check("careful_quotients", blocks(2, 128), &[&x, &y], &expected);
}

#[test]
fn formatting() {
    let mut values: Vec<i64> = (0..40).map(|i| i * i * i * -98_765_432_101).collect();
    values[1] = i64::MAX;
    values[2] = i64::MIN;
    for bench in kernel_crates() {
        let launch = threads(64);
        let got: Vec<u64> = results(bench, "formatted", launch, &[&values], 8 * values.len());
        let bytes: &[u8] = bytemuck::cast_slice(&got);
        for (i, (line, value)) in bytes.chunks(64).zip(&values).enumerate() {
            let even = i % 2 == 0;
            let expected = format!("{i:>3}|{value:+}|{value:#010x}|{even:<5}|ß");
            let text = std::str::from_utf8(line).unwrap();
            assert_eq!(text.trim_end_matches('\0'), expected);
        }
    }
}

#[test]
fn recursion() {
    // Ackermann's function of 2 and n is 2n + 3.
    let expected: Vec<u32> = (0..20)
        .flat_map(|t| [2 * t + 3, u32::from(t % 2 == 0)])
        .collect();
    check::<u32, u32>("recursive", threads(20), &[], &expected);

    let deep = |n: u64| (1..=n).fold(1_u64, |value, n| value.wrapping_mul(3) ^ n);
    // Devices of its own: the stack is the device's.
    for bench in benches_of("kernel_crates") {
        let stack = bench.device.stack_bytes().unwrap();
        for (bytes, depth) in [(32 << 10, 300), (64 << 10, 1_000)] {
            bench.device.set_stack_bytes(bytes).unwrap();
            let arguments = Arguments::new().value(depth);
            let got: Vec<u64> = bench.run("deep_calls", threads(40), arguments, 40);
            assert_same(&got, &(depth..depth + 40).map(deep).collect::<Vec<_>>());
        }
        // On a GPU such a launch would end the context.
        if bench.device.properties().kind == DeviceKind::Emulator {
            bench.device.set_stack_bytes(4 << 10).unwrap();
            let mut out = bench.device.zeros::<u64>(1).unwrap();
            let arguments = Arguments::new().value(300_u64).pointer(&mut out);
            let launched = bench.launch("deep_calls", threads(1), &arguments);
            let text = format!("{:?}", launched.unwrap_err());
            assert!(text.contains("4096 bytes of stack"), "{text}");
        }
        bench.device.set_stack_bytes(stack).unwrap();
    }
}

#[test]
fn function_pointers() {
    let steps: [fn(u32) -> u32; 3] = [|x| 2 * x, |x| x * x, |x| x + 1];
    let expected: Vec<u32> = (0..64)
        .map(|t| steps[t / 3 % 3](steps[t % 3](t as u32)))
        .collect();
    check::<u32, u32>("chosen_steps", threads(64), &[], &expected);
}

#[test]
fn text() {
    let columns = |word: &str, number: u32| {
        let hash = word.chars().fold(7_u32, |hash, letter| {
            let letter = u32::from(letter.to_ascii_uppercase());
            hash.wrapping_mul(31).wrapping_add(letter)
        });
        [word.len() as u32, word.chars().count() as u32, hash, number]
    };
    let expected = [
        columns("Größe", 0),
        columns("naïve", 0),
        columns("日本語", 0),
        columns("block-42;17", 42),
    ];
    check::<u32, u32>("text_columns", threads(32), &[], expected.as_flattened());
}

#[test]
fn vek_vectors() {
    let vectors: Vec<f64> = (0..3 * 41).map(|i| f64::from(i * 17 % 31) - 9.5).collect();
    let expected: Vec<f64> = vectors
        .chunks(3)
        .flat_map(|v| [-v[1], v[0] + v[2], v[2] - v[1]])
        .collect();
    for bench in kernel_crates() {
        let mut buffer = upload(bench, &vectors);
        let arguments = Arguments::new().pointer(&mut buffer).value(41_u32);
        bench.launch("turned", threads(64), &arguments).unwrap();
        assert_same(&buffer.to_vec().unwrap(), &expected);
    }
}
