//! `cuda_std`, function by function: the kernels of `device_api` on every device that is there,
//! against values computed here from the documentation of CUDA and the PTX ISA.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "each launch is of the shape, and with the buffers, that its kernel's documentation asks for"
)]

use blockwise::{Buffer, Device};
use blockwise_ops::Element;
use blockwise_tests::bench::{Bench, POISON, benches};
use blockwise_tests::ptx::file;
use device_api::{
    atomics, block_votes, checked_read, float_functions_f32, float_functions_f64, match_u64,
    neighbour_by_sync_warp, positions, spaces, warp_reductions, warp_votes,
};

/// A value for each lane in which neighbours and halves differ.
fn lane_values() -> Vec<u32> {
    (0..32u32)
        .map(|lane| lane.wrapping_mul(0x9E37_79B9) ^ 0x1234)
        .collect()
}

#[test]
fn positions_in_three_dimensions() {
    let (grid, block) = ([3, 2, 2], [5, 3, 2]);
    let count = 12 * 30;
    for bench in benches() {
        let rows: Vec<u32> = bench.output(count * 21, |out| {
            let kernel = positions::on(&bench.module)?.grid(grid).block(block);
            unsafe { kernel.launch(out) }
        });
        for (row, got) in rows.chunks(21).enumerate() {
            let row = row as u32;
            let (b, t) = (row / 30, row % 30);
            let bi = [b % 3, b / 3 % 2, b / 6];
            let ti = [t % 5, t / 5 % 3, t / 15];
            let at = |axis: usize| bi[axis] * block[axis] + ti[axis];
            let mut expected = vec![];
            expected.extend(ti);
            expected.extend(bi);
            expected.extend(block);
            expected.extend(grid);
            expected.extend([
                row,
                at(0),
                at(0),
                at(1),
                at(0),
                at(1),
                at(2),
                t % 32,
                u32::from(row == 0),
            ]);
            assert_eq!(got, expected, "row {row}");
        }
    }
}

#[test]
fn barriers_that_count() {
    for bench in benches() {
        for count in [1, 31, 32, 33, 100, 256] {
            for flags in [
                vec![0; 256],
                vec![7; 256],
                (0..256).map(|i| i % 3).collect::<Vec<u32>>(),
            ] {
                let flags = &flags[..count as usize];
                let input = bench.device.upload(flags).unwrap();
                let rows: Vec<u32> = bench.output(flags.len() * 6, |out| {
                    let kernel = block_votes::on(&bench.module)?.grid(1).block(count);
                    unsafe { kernel.launch(&input, out) }
                });
                let set = flags.iter().filter(|&&flag| flag != 0).count() as u32;
                let expected = [
                    set,
                    u32::from(set == count),
                    u32::from(set > 0),
                    count,
                    1,
                    0,
                ];
                assert!(
                    rows.chunks(6).all(|row| row == expected),
                    "{count} threads: {rows:?}, not {expected:?}"
                );
            }
        }
    }
}

/// The source lane of a shuffle and whether it is in range, from the PTX ISA's description of
/// `shfl.sync`.
fn source_lane(mode: usize, lane: u32, b: u32, width: u32) -> (u32, bool) {
    let segment = lane / width * width;
    let (b, last) = (b & 31, segment + width - 1);
    let (source, in_range) = match mode {
        0 => (lane + b, lane + b <= last),
        1 => (lane.wrapping_sub(b), lane >= segment + b),
        2 => (segment | (b & (width - 1)), true),
        _ => (lane ^ b, (lane ^ b) <= last),
    };
    (if in_range { source } else { lane }, in_range)
}

/// Values, `b`, the width, and the outputs: shuffled values and whether they are in range.
type Shuffle<T> =
    fn(&Bench, &Buffer<T>, u32, u32, &mut Buffer<T>, &mut Buffer<u32>) -> blockwise::Result<()>;

/// A kernel of shuffles, launched with one warp.
macro_rules! shuffle {
    ($kernel:ident) => {
        |bench, values, b, width, out, in_range| {
            let kernel = device_api::$kernel::on(&bench.module)?.grid(1).block(32);
            unsafe { kernel.launch(values, b, width, out, in_range) }
        }
    };
}

#[track_caller]
fn check_shuffles<T: Element>(launch: Shuffle<T>, values: &[T]) {
    for bench in benches() {
        let input = bench.device.upload(values).unwrap();
        for width in [32, 16, 8, 4, 2, 1] {
            for b in [0, 1, 3, 7, 16, 31] {
                let mut out = bench.poisoned::<T>(32 * 4);
                let flags: Vec<u32> = bench.output(32 * 4, |flags| {
                    launch(&bench, &input, b, width, &mut out, flags)
                });
                let shuffled = out.to_vec().unwrap();
                for (at, (got, flag)) in shuffled.iter().zip(flags).enumerate() {
                    let (lane, mode) = (at as u32 / 4, at % 4);
                    let (source, in_range) = source_lane(mode, lane, b, width);
                    let name = T::NAME;
                    let case = format!("{name}, mode {mode}, lane {lane}, b {b}, width {width}");
                    assert_eq!(*got, values[source as usize], "{case}");
                    assert_eq!(flag, u32::from(in_range), "{case}");
                }
            }
        }
    }
}

#[test]
fn shuffles_move_32_and_64_bits() {
    let values = lane_values();
    check_shuffles(shuffle!(shuffles_u32), &values);
    check_shuffles(
        shuffle!(shuffles_f32),
        &values.iter().map(|&v| v as f32 / 7.0).collect::<Vec<_>>(),
    );
    check_shuffles(
        shuffle!(shuffles_f64),
        &values
            .iter()
            .map(|&v| f64::from(v) / 7.0)
            .collect::<Vec<_>>(),
    );
    check_shuffles(
        shuffle!(shuffles_i64),
        &values
            .iter()
            .map(|&v| (i64::from(v) << 32) - i64::from(v))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn votes_and_matches_of_the_lanes_in_the_mask() {
    let cases: [Vec<u32>; 3] = [
        vec![5; 32],
        vec![0; 32],
        (0..32).map(|lane| lane % 4).collect(),
    ];
    for bench in benches() {
        for values in &cases {
            for mask in [u32::MAX, 0x0000_FFFF, 0xF0F0_1111, 1 << 31] {
                let input = bench.device.upload(values).unwrap();
                let rows: Vec<u32> = bench.output(32 * 5, |out| {
                    let kernel = warp_votes::on(&bench.module)?.grid(1).block(32);
                    unsafe { kernel.launch(&input, mask, out) }
                });
                let lanes = |wanted: &dyn Fn(u32) -> bool| {
                    (0..32)
                        .filter(|lane| mask >> lane & 1 == 1 && wanted(values[*lane as usize]))
                        .fold(0u32, |all, lane| all | 1 << lane)
                };
                let set = lanes(&|value| value != 0);
                for lane in 0..32 {
                    let same = lanes(&|value| value == values[lane]);
                    let expected = [
                        u32::from(set == mask),
                        u32::from(set != 0),
                        set,
                        same,
                        if same == mask { mask } else { 0 },
                    ];
                    let poison = [u32::from_ne_bytes([POISON; 4]); 5];
                    let expected = if mask >> lane & 1 == 1 {
                        expected
                    } else {
                        poison
                    };
                    assert_eq!(
                        rows[lane * 5..][..5],
                        expected,
                        "lane {lane}, mask {mask:#x}, {values:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn matches_compare_all_64_bits() {
    // Equal in the low half everywhere, in the high half by fours; then in all bits.
    let by_fours = (0..32).map(|lane| [(lane / 4) << 32 | 9, 0xF << (lane / 4 * 4), 0]);
    let all = (0..32).map(|_| [7 << 32, u32::MAX.into(), u32::MAX.into()]);
    for lanes in [Vec::from_iter(by_fours), Vec::from_iter(all)] {
        let values: Vec<u64> = lanes.iter().map(|&[value, ..]| value).collect();
        let expected: Vec<u32> = (lanes.iter())
            .flat_map(|&[_, any, all]| [any as u32, u32::MAX, all as u32])
            .collect();
        for bench in benches() {
            let input = bench.device.upload(&values).unwrap();
            let rows: Vec<u32> = bench.output(96, |out| {
                let kernel = match_u64::on(&bench.module)?.grid(1).block(32);
                unsafe { kernel.launch(&input, out) }
            });
            assert_eq!(rows, expected);
        }
    }
}

#[test]
fn warp_reductions_signed_and_unsigned() {
    let values = lane_values();
    let signed = || values.iter().map(|&value| value as i32);
    let expected = [
        values
            .iter()
            .fold(0, |sum: u32, &value| sum.wrapping_add(value)),
        *values.iter().min().unwrap(),
        *values.iter().max().unwrap(),
        values.iter().fold(u32::MAX, |all, value| all & value),
        values.iter().fold(0, |all, value| all | value),
        values.iter().fold(0, |all, value| all ^ value),
        signed().fold(0, i32::wrapping_add) as u32,
        signed().min().unwrap() as u32,
        signed().max().unwrap() as u32,
    ];
    for bench in benches() {
        let input = bench.device.upload(&values).unwrap();
        let rows: Vec<u32> = bench.output(32 * 9, |out| {
            let kernel = warp_reductions::on(&bench.module)?.grid(1).block(32);
            unsafe { kernel.launch(&input, out) }
        });
        assert!(
            rows.chunks(9).all(|row| row == expected),
            "{rows:?}, not {expected:?}"
        );
    }
}

#[test]
fn a_warp_barrier_orders_shared_memory() {
    let values = lane_values();
    for bench in benches() {
        let input = bench.device.upload(&values).unwrap();
        let got: Vec<u32> = bench.output(32, |out| {
            let kernel = neighbour_by_sync_warp::on(&bench.module)?;
            unsafe { kernel.grid(1).block(32).launch(&input, out) }
        });
        let expected: Vec<u32> = (0..32).map(|lane| values[(lane + 1) % 32]).collect();
        assert_eq!(got, expected);
    }
}

#[test]
fn shared_static_shared_array_dynamic_and_constant_memory_are_four_places() {
    const PRIMES: [u32; 8] = [2, 3, 5, 7, 11, 13, 17, 19];
    for bench in benches() {
        let rows: Vec<u32> = bench.output(3 * 64 * 3, |out| {
            let kernel = spaces::on(&bench.module)?.grid(3).block(64);
            unsafe { kernel.shared_bytes(64 * 8).launch(out) }
        });
        for (row, got) in rows.chunks(3).enumerate() {
            let mirrored = row / 64 * 64 + 63 - row % 64;
            let expected = [
                PRIMES[mirrored % 64 % 8],
                mirrored as u32 * 10,
                mirrored as u32 + 1,
            ];
            assert_eq!(got, expected, "thread {row}");
        }
    }
}

#[test]
fn atomics_lose_nothing_across_blocks() {
    // Small whole numbers: every order of additions gives the same sum.
    let values: Vec<f32> = (0..1000).map(|i| ((i * 37) % 101) as f32 - 50.0).collect();
    let sum: f32 = values.iter().sum();
    for bench in benches() {
        let input = bench.device.upload(&values).unwrap();
        let floats = [0.0_f32, f32::INFINITY, f32::NEG_INFINITY];
        let mut floats = bench.device.upload(&floats).unwrap();
        let doubles = [0.0_f64, f64::INFINITY, f64::NEG_INFINITY];
        let mut doubles = bench.device.upload(&doubles).unwrap();
        let mut counter = bench.device.upload(&[0_u32]).unwrap();
        let kernel = atomics::on(&bench.module).unwrap().grid(8).block(128);
        unsafe { kernel.launch(&input, &mut floats, &mut doubles, &mut counter) }.unwrap();
        assert_eq!(floats.to_vec().unwrap(), [sum, -50.0, 50.0]);
        assert_eq!(doubles.to_vec().unwrap(), [f64::from(sum), -50.0, 50.0]);
        assert_eq!(counter.to_vec().unwrap(), [1000]);
    }
}

/// The columns of `float_functions_f32` and `_f64`, by the host's functions.
macro_rules! float_columns {
    ($t:ty, $x:expr, $y:expr) => {{
        let (x, y): ($t, $t) = ($x, $y);
        [
            x.floor(),
            x.ceil(),
            x.round(),
            x.round_ties_even(),
            x.trunc(),
            x - x.trunc(),
            x.abs(),
            x.copysign(y),
            x.mul_add(y, x),
            x.sqrt(),
            1.0 / x,
            x.min(y),
            x.max(y),
        ]
    }};
}

macro_rules! check_float_functions {
    ($t:ty, $kernel:ident, $smallest:expr) => {
        let edges: &[$t] = &[
            0.0,
            -0.0,
            0.5,
            -0.5,
            1.0,
            1.5,
            2.5,
            -2.5,
            -3.7,
            0.1,
            4.0,
            1e20,
            -1e20,
            $smallest,
            <$t>::MIN_POSITIVE,
            <$t>::MAX,
            <$t>::EPSILON,
            <$t>::INFINITY,
            <$t>::NEG_INFINITY,
            <$t>::NAN,
            <$t>::from_bits((0.5 as $t).to_bits() - 1),
        ];
        let pairs: Vec<($t, $t)> = edges
            .iter()
            .flat_map(|&x| edges.iter().map(move |&y| (x, y)))
            .collect();
        let (x, y): (Vec<$t>, Vec<$t>) = pairs.iter().copied().unzip();
        for bench in benches() {
            let (x, y) = (
                bench.device.upload(&x).unwrap(),
                bench.device.upload(&y).unwrap(),
            );
            let rows: Vec<$t> = bench.output(pairs.len() * 13, |out| {
                let kernel = $kernel::on(&bench.module)?.covering(pairs.len())?;
                unsafe { kernel.launch(&x, &y, out) }
            });
            for ((x, y), got) in pairs.iter().zip(rows.chunks(13)) {
                for (column, (got, expected)) in
                    got.iter().zip(float_columns!($t, *x, *y)).enumerate()
                {
                    // Which NaN, and which zero of min(0, -0), IEEE 754 leaves open.
                    let same = got.to_bits() == expected.to_bits()
                        || (got.is_nan() && expected.is_nan())
                        || (column >= 11 && *got == 0.0 && expected == 0.0);
                    assert!(
                        same,
                        "{} column {column} of ({x:e}, {y:e}): {got:e}, not {expected:e}",
                        stringify!($kernel)
                    );
                }
            }
        }
    };
}

#[test]
fn float_functions_are_those_of_the_host_bit_for_bit() {
    check_float_functions!(f32, float_functions_f32, 1e-45);
    check_float_functions!(f64, float_functions_f64, 5e-324);
}

#[test]
fn a_panic_ends_the_launch_with_its_place_in_the_source() {
    // The emulator only: on a GPU a failed assertion ends the process's whole context.
    let bench = Bench::new(Device::emulator());
    let input = bench.device.upload(&[1_u32, 2, 3]).unwrap();
    let mut out = bench.device.upload(&[0_u32]).unwrap();
    let kernel = checked_read::on(&bench.module).unwrap().grid(1).block(1);
    let error = unsafe { kernel.launch(&input, 3, &mut out) }.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("checked_read") && text.contains("memory.rs"),
        "{text}"
    );
    unsafe { kernel.launch(&input, 2, &mut out) }.unwrap();
    assert_eq!(out.to_vec().unwrap(), [3]);
}

#[test]
fn fences_and_orderings_are_in_the_ptx() {
    let text = file("device_api", (9, 0)).text;
    let body = |kernel: &str| {
        let start = text.find(&format!(".entry {kernel}(")).unwrap();
        &text[start..start + text[start..].find("\n}").unwrap()]
    };
    let fences = body("fences");
    let order: Vec<_> = ["membar.cta", "membar.gl", "membar.sys"]
        .map(|fence| fences.find(fence).unwrap())
        .into();
    assert!(order.is_sorted(), "{fences}");
    // The counter's AcqRel addition: LLVM alone would print it relaxed.
    let atomics = body("atomics");
    let instructions: Vec<_> = atomics
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with(['.', '$', '/']))
        .collect();
    let addition = instructions
        .iter()
        .position(|line| line.starts_with("atom.") && line.contains(".add.u32"))
        .unwrap();
    for neighbour in [addition - 1, addition + 1] {
        assert!(
            instructions[neighbour].starts_with("fence.acq_rel"),
            "{atomics}"
        );
    }
}
