//! `cuda_std` beyond threads and warps: scoped atomics, address spaces, registers, asynchronous
//! copies, and Rust itself in a kernel. The kernels of `device_api` on every device that is there,
//! against values computed here.

use blockwise_ops::Element;
use blockwise_tests::Arguments;
use blockwise_tests::bench::{benches, blocks, threads};
use blockwise_tests::ptx::file;
use half::{bf16, f16};

/// An atomic operation's name, and what it leaves of an old value and its operand.
type Operation<T> = (&'static str, fn(T, T) -> T);

/// Runs `atomic_<op>_<type>` and compares all 30 places and old values.
#[track_caller]
fn check_atomics<T: Element + PartialEq>(operations: &[Operation<T>], start: T, value: T) {
    for bench in benches() {
        for (name, operation) in operations {
            let mut places = bench.device.upload(&[start; 30]).unwrap();
            let kernel = format!("atomic_{name}_{}", T::NAME);
            let arguments = Arguments::new().value(value).pointer(&mut places);
            let old: Vec<T> = bench.run(&kernel, threads(1), arguments, 30);
            assert_eq!(old, [start; 30], "{kernel}");
            assert_eq!(
                places.to_vec().unwrap(),
                [operation(start, value); 30],
                "{kernel}"
            );
        }
    }
}

macro_rules! integer_atomics {
    ($t:ident, $start:expr, $value:expr) => {
        check_atomics::<$t>(
            &[
                ("and", |a, b| a & b),
                ("or", |a, b| a | b),
                ("xor", |a, b| a ^ b),
                ("add", $t::wrapping_add),
                ("sub", $t::wrapping_sub),
                ("exch", |_, b| b),
                ("min", Ord::min),
                ("max", Ord::max),
            ],
            $start,
            $value,
        )
    };
}

macro_rules! float_atomics {
    ($t:ident, $start:expr, $value:expr) => {
        check_atomics::<$t>(
            &[
                ("and", |a, b| $t::from_bits(a.to_bits() & b.to_bits())),
                ("or", |a, b| $t::from_bits(a.to_bits() | b.to_bits())),
                ("xor", |a, b| $t::from_bits(a.to_bits() ^ b.to_bits())),
                ("add", |a, b| a + b),
                ("sub", |a, b| a - b),
                ("exch", |_, b| b),
            ],
            $start,
            $value,
        )
    };
}

#[test]
fn atomics_of_every_operation_ordering_type_and_scope() {
    // Where signed and unsigned, 32 and 64 bits, differ.
    integer_atomics!(u32, 0xF000_0001, 0x1234_5678);
    integer_atomics!(i32, -7, i32::MIN);
    integer_atomics!(u64, 0xF000_0001_0000_0003, 0x1234_5678_9ABC_DEF0);
    integer_atomics!(i64, -7, i64::MIN + 5);
    float_atomics!(f32, 1.5, -0.1);
    float_atomics!(f64, 1.5, -0.1);
}

#[test]
fn steps_swaps_loads_and_stores() {
    for bench in benches() {
        let mut places = bench
            .device
            .upload(&[0_u32, 5, u32::MAX, 5, 6, 11, 12, 13])
            .unwrap();
        let old: Vec<u32> = bench.run(
            "atomic_others",
            threads(1),
            Arguments::new().pointer(&mut places),
            8,
        );
        assert_eq!(old, [0, 5, u32::MAX, 5, 6, 11, 12, 13]);
        assert_eq!(places.to_vec().unwrap(), [u32::MAX, 4, 0, 7, 6, 11, 9, 13]);
    }
}

#[test]
fn a_blocks_sum_and_the_systems() {
    let values: Vec<f32> = (0..512).map(|i| (i % 37) as f32 - 18.0).collect();
    for bench in benches() {
        let input = bench.device.upload(&values).unwrap();
        let mut sums = bench.device.upload(&[0.0_f32; 4]).unwrap();
        let mut total = bench.device.upload(&[0.0_f64]).unwrap();
        let arguments = Arguments::new()
            .slice(&input)
            .pointer(&mut sums)
            .pointer(&mut total);
        bench
            .launch("scoped_sums", blocks(4, 128), &arguments)
            .unwrap();
        let expected: Vec<f32> = values.chunks(128).map(|block| block.iter().sum()).collect();
        assert_eq!(sums.to_vec().unwrap(), expected);
        assert_eq!(
            total.to_vec().unwrap(),
            [f64::from(values.iter().sum::<f32>())]
        );
    }
}

#[test]
fn every_ordering_and_scope_is_in_the_ptx() {
    let text = file("device_api", (9, 0)).text;
    for ordering in [".relaxed", ".acquire", ".release", ".acq_rel", ""] {
        for scope in [".cta", ".gpu", ".sys"] {
            for operation in ["add.u32", "add.f64", "min.s64", "exch.b32", "xor.b64"] {
                let instruction = format!("atom{ordering}{scope}.{operation} ");
                assert!(text.contains(&instruction), "{instruction}");
            }
        }
    }
    for instruction in [
        "fence.sc.gpu",
        "ld.acquire.gpu.u32",
        "st.release.sys.u32",
        ".func  (.param .b32 func_retval0) visible_helper",
    ] {
        assert!(text.contains(instruction), "{instruction}");
    }
}

#[test]
fn pointers_know_their_address_space() {
    for bench in benches() {
        let rows: Vec<u32> = bench.run("address_spaces", threads(1), Arguments::new(), 16);
        assert_eq!(rows, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
        let mut input = bench.device.upload(&[41_u32]).unwrap();
        let got: Vec<u32> = bench.run(
            "converted_pointers",
            threads(1),
            Arguments::new().pointer(&mut input),
            2,
        );
        assert_eq!(got, [41, 8]);
    }
}

#[test]
fn registers_and_what_is_known_at_compile_time() {
    for bench in benches() {
        for bytes in [0, 192, 4096] {
            let launch = threads(1).shared(bytes);
            let got: Vec<u32> = bench.run("machine", launch, Arguments::new(), 5);
            assert_eq!(got[0], bytes);
            // 64 bytes of its own, rounded up to the GPU's unit; newer GPUs keep 1 KiB for themselves.
            let rounded = bytes + 64..=bytes + 64 + 2048;
            assert!(rounded.contains(&got[1]), "{bytes}: {}", got[1]);
            assert_eq!(got[2..], [1, 80, 1]);
        }
        let doubled: Vec<u32> = bench.run("hinted", threads(1), Arguments::new().value(21_u32), 1);
        assert_eq!(doubled, [42]);
    }
}

#[test]
fn asynchronous_copies_arrive() {
    let input: Vec<u32> = (0..128).map(|i| i * i + 5).collect();
    for bench in benches() {
        let mut buffer = bench.device.upload(&input).unwrap();
        let got: Vec<u32> = bench.run(
            "copied_beside",
            threads(32),
            Arguments::new().pointer(&mut buffer),
            96,
        );
        let expected: Vec<u32> = (0..32)
            .flat_map(|thread| {
                let neighbour = (thread + 1) % 32 * 4;
                [input[neighbour + 3], input[neighbour], input[neighbour + 1]]
            })
            .collect();
        assert_eq!(got, expected);
    }
}

#[test]
fn wide_integers_trait_objects_closures_iterators_and_cores_atomics() {
    let values: Vec<u32> = (0..40).map(|i| i * 7 % 31).collect();
    for bench in benches() {
        let input = bench.device.upload(&values).unwrap();
        let mut total = bench.device.upload(&[0_u64]).unwrap();
        let arguments = Arguments::new().slice(&input).pointer(&mut total);
        let rows: Vec<u32> = bench.run("language", threads(32), arguments, 32 * 4);
        for (t, row) in (0..32_u32).zip(rows.chunks(4)) {
            let factorial = (1..=i128::from(t)).fold(1, i128::wrapping_mul);
            let expected = [
                if t % 2 == 0 {
                    (t + 1) * (t + 1)
                } else {
                    (t + 1) * 3
                },
                values[..t as usize].iter().map(|value| value * value).sum(),
                (0..4).fold(0, |bits, word| bits ^ (factorial >> (32 * word)) as u32),
                values.iter().filter(|value| **value > t).count() as u32,
            ];
            assert_eq!(row, expected, "thread {t}");
        }
        assert_eq!(total.to_vec().unwrap(), [(0..32).sum::<u64>()]);
    }
}

/// Pairs of words for `wide_conversions`: integers at and beside every power of two and every tie,
/// floats at every exponent and at the ends of the integers' ranges.
fn wide_words() -> Vec<u64> {
    let powers = (0..128).map(|shift| 1_u128 << shift);
    let integers = powers.flat_map(|power| {
        // Halves of the last place of an `f64` and an `f32` of that size.
        [0, power >> 53, power >> 24]
            .map(|half| power | half)
            .into_iter()
            .flat_map(|value| [value - 1, value, value + 1])
            .flat_map(|value| [value, !value, value.wrapping_mul(3)])
    });
    let integers = integers.chain([
        0,
        u128::MAX,
        u128::MAX - (1 << 103),
        u128::MAX - (1 << 103) + 1,
    ]);
    let doubles = (0..2048_u64).flat_map(|exponent| {
        [0, 1, 0x8_0000_0000_0000, 0xf_ffff_ffff_ffff].map(|mantissa| exponent << 52 | mantissa)
    });
    let doubles = doubles.flat_map(|bits| [bits, bits | 1 << 63]);
    let singles = (0..256_u64).flat_map(|exponent| {
        [0, 1, 0x40_0000, 0x7f_ffff].map(|mantissa| exponent << 23 | mantissa)
    });
    let singles = singles.flat_map(|bits| [bits, bits | 1 << 31]);
    let integers = integers.flat_map(|value| [value as u64, (value >> 64) as u64]);
    let floats = doubles.zip(singles.cycle());
    integers
        .chain(floats.flat_map(|(double, single)| [double, single]))
        .collect()
}

#[test]
fn wide_integers_become_floats_and_floats_wide_integers_as_on_the_host() {
    let words = wide_words();
    let rows = words.len() / 2;
    for bench in benches() {
        let input = bench.device.upload(&words).unwrap();
        let shape = blocks((rows as u32).div_ceil(128), 128);
        let got: Vec<u64> = bench.run(
            "wide_conversions",
            shape,
            Arguments::new().slice(&input),
            12 * rows,
        );
        for (pair, got) in words.chunks(2).zip(got.chunks(12)) {
            let wide = u128::from(pair[1]) << 64 | u128::from(pair[0]);
            let (double, single) = (f64::from_bits(pair[0]), f32::from_bits(pair[1] as u32));
            let floats = [
                (wide as f64).to_bits(),
                (wide as i128 as f64).to_bits(),
                (wide as f32).to_bits().into(),
                (wide as i128 as f32).to_bits().into(),
            ];
            assert_eq!(got[..4], floats, "{wide:#x}");
            let integers = [
                double as u128,
                double as i128 as u128,
                single as u128,
                single as i128 as u128,
            ];
            let got = got[4..]
                .chunks(2)
                .map(|word| u128::from(word[1]) << 64 | u128::from(word[0]));
            assert_eq!(got.collect::<Vec<_>>(), integers, "{double:e}, {single:e}");
        }
    }
}

#[test]
fn shuffles_move_any_width() {
    for bench in benches() {
        let rows: Vec<u64> = bench.run(
            "shuffles_of_other_widths",
            threads(32),
            Arguments::new(),
            32 * 7,
        );
        for (lane, row) in (0..32_u32).zip(rows.chunks(7)) {
            let source = lane.saturating_sub(1);
            let below = if lane < 29 { lane + 3 } else { lane };
            let wide = u128::from(below) << 100 | u128::from(below);
            let expected = [
                -((lane ^ 1) as i8) as u64,
                u64::from(source * 1000),
                wide as u64,
                (wide >> 64) as u64,
                u64::from(f16::from_f32(source as f32 / 4.0).to_bits()),
                u64::from(bf16::from_f32(source as f32 * 8.0).to_bits()),
                u64::from(lane < 29),
            ];
            assert_eq!(row, expected, "lane {lane}");
        }
    }
}
