//! Which kernel convolves: the fastest by the models of [`cost`](super::cost).

use super::CONV;
use super::transform::is_fft;
use super::variants::{DIRECT, TILED};
use crate::LaunchError;
use crate::operation::{Task, Variant};

/// The fastest kernel. Kernels by transforms are for launches that leave everything open.
pub(super) fn fastest(task: &Task<'_>) -> &'static Variant {
    let options = task.options;
    if options.threads.is_none() && options.count.is_none() {
        let fastest = least(task, |_| true);
        if is_fft(fastest) {
            return fastest;
        }
    }
    without_memory(task)
}

/// The fastest kernel without transforms: it needs no memory but the operands'.
pub(super) fn without_memory(task: &Task<'_>) -> &'static Variant {
    let fastest = match task.options.threads {
        Some(_) if task.problem.rows == [1; 2] => &TILED,
        _ => least(task, |variant| !is_fft(variant)),
    };
    if *fastest != TILED {
        return fastest;
    }
    match (TILED.plan)(&task.of(&TILED)) {
        Err(LaunchError::SharedMemory { .. } | LaunchError::SizeOverflow { .. }) => &DIRECT,
        _ => &TILED,
    }
}

/// The fastest of some kernels, by their models.
fn least(task: &Task<'_>, taken: fn(&Variant) -> bool) -> &'static Variant {
    let all = CONV.variants.iter().filter(|variant| taken(variant));
    let times = all.filter_map(|&variant| Some((variant, variant.nanoseconds(task)?)));
    let least = times.min_by(|(_, one), (_, other)| one.total_cmp(other));
    least.map_or(&TILED, |(variant, _)| variant)
}

#[cfg(test)]
mod tests {
    use blockwise::Type;

    use super::super::variants::*;
    use super::super::{CONV, matrix, problem};
    use super::*;
    use crate::ConvMode;
    use crate::limits::h200;
    use crate::operation::{Options, Problem};

    /// Outputs of mode same.
    fn task(ty: Type, taps: usize, outputs: usize) -> Problem {
        problem(ty, [outputs, taps], ConvMode::Same).expect("no overflow")
    }

    /// Outputs of mode full.
    fn full(ty: Type, samples: usize, taps: usize) -> Problem {
        problem(ty, [samples, taps], ConvMode::Full).expect("no overflow")
    }

    fn chosen(problem: &Problem, once: bool) -> &'static Variant {
        let options = Options {
            once,
            ..Options::default()
        };
        of(problem, &options, fastest)
    }

    fn direct_sums(problem: &Problem) -> &'static Variant {
        of(problem, &Options::default(), without_memory)
    }

    fn of(
        problem: &Problem,
        options: &Options,
        choice: fn(&Task<'_>) -> &'static Variant,
    ) -> &'static Variant {
        choice(&Task::new(CONV.variants[0], problem, options, &h200()))
    }

    #[test]
    fn transforms_are_taken_where_they_were_measured_to_be_the_fastest() {
        for (taps, outputs, kernel) in [
            (127, 1 << 26, &FFT2048),
            (255, 1 << 22, &FFT2048),
            (1023, 1 << 26, &FFT8192),
            (2001, 1 << 20, &FFT4096),
            (2047, 1 << 24, &FFT8192),
            (4095, 1 << 22, &FFT8192),
            (8191, 1 << 26, &FFT16384),
            (9763, 117_188, &FFT65536),
            (1149, 5104, &FFT2048),
            (16_383, 1 << 26, &FFT262144),
            (65_535, 1 << 26, &FFT262144),
        ] {
            let chosen = chosen(&task(Type::F32, taps, outputs), false);
            assert_eq!(chosen, kernel, "{outputs} outputs, {taps} taps");
        }
        let wide = chosen(&task(Type::F64, 2001, 1 << 20), false);
        assert_eq!(wide, &FFT4096);
        for (taps, outputs) in [(63, 1 << 26), (100, 5000), (400_000, 1 << 26)] {
            let chosen = chosen(&task(Type::F32, taps, outputs), false);
            assert!(!is_fft(chosen), "{outputs} outputs, {taps} taps");
        }
    }

    #[test]
    fn rows_of_many_taps_are_transformed() {
        // The sums of each row took 1.5 and 5 times as long (docs/log/2026-11-27-rows.md).
        for (ty, rows, taps, outputs, kernel) in [
            (Type::F32, 10, 1664, 2432, &FFT8192),
            (Type::F32, 49_152, 128, 1024, &FFT2048),
            (Type::F32, 768, 31, 4096, &ROWS_EACH),
            (Type::F32, 64, 31, 1_000_000, &ROWS_EACH),
            (Type::F32, 7694, 128, 256, &ROWS_EACH),
            (Type::F32, 1330, 154, 251, &ROWS_EACH),
            (Type::F32, 489, 384, 14_464, &FFT2048),
            (Type::F64, 2368, 8023, 12_115, &FFT131072),
            (Type::F64, 120, 3111, 3923, &FFT4096),
            (Type::F64, 120, 3554, 3923, &FFT131072),
        ] {
            let matrix = Problem {
                rows: [rows, 1],
                ..task(ty, taps, outputs)
            };
            let chosen = chosen(&matrix, false);
            assert_eq!(chosen, kernel, "{rows} rows of {outputs}, {taps} taps");
        }
    }

    #[test]
    fn rows_are_joined_where_the_sums_anew_are_few() {
        // As measured: docs/log/2026-11-30-rows.md.
        for (rows, taps, outputs, form) in [
            (1239, 7, 1932, matrix::JOINED),
            (9071, 8, 240, matrix::JOINED),
            (10_416, 64, 240, matrix::JOINED),
            (18_750, 1, 64, matrix::JOINED),
            (156_250, 64, 64, matrix::NARROW),
            (4687, 64, 64, matrix::NARROW),
            (117, 16, 512, matrix::NARROW),
            (610, 96, 4096, matrix::NARROW),
            (64, 8, 1_000_000, matrix::JOINED),
            (64, 31, 1_000_000, matrix::WIDE),
        ] {
            let form_of = |of_taps| {
                let problem = Problem {
                    rows: [rows, of_taps],
                    ..task(Type::F32, taps, outputs)
                };
                let options = Options::default();
                matrix::form(&Task::new(&ROWS_EACH, &problem, &options, &h200()))
            };
            assert_eq!(form_of(1), form, "{rows} rows of {outputs}, {taps} taps");
            // Taps of their own are in no row's tile.
            assert_ne!(form_of(rows), matrix::JOINED, "{rows} rows of {outputs}");
        }
    }

    #[test]
    fn a_single_call_pays_for_the_factors() {
        let small = task(Type::F32, 1149, 5104);
        assert_eq!(chosen(&small, true), &TILED);
        let large = task(Type::F32, 1149, 1 << 24);
        assert!(is_fft(chosen(&large, true)));
    }

    #[test]
    fn few_outputs_are_tiled_and_many_stay_in_registers() {
        for (taps, outputs, kernel) in [
            (1, 1 << 10, &DIRECT),
            (4, 1 << 17, &DIRECT),
            (12, 1 << 16, &TILED),
            (63, 1 << 17, &TILED),
            (5, 1 << 20, &WINDOW),
            (63, 1 << 20, &WINDOW),
            (255, 1 << 16, &TILED),
            (255, 1 << 19, &BLOCKED),
        ] {
            let chosen = direct_sums(&task(Type::F32, taps, outputs));
            assert_eq!(chosen, kernel, "{outputs} outputs, {taps} taps");
        }
    }

    #[test]
    fn few_outputs_of_f64_have_a_block_each() {
        for (samples, taps, kernel) in [
            (16, 10, &BLOCK_PER_OUTPUT),
            (306, 240, &BLOCK_PER_OUTPUT),
            (523, 461, &BLOCK_PER_OUTPUT),
            (1442, 243, &BLOCK_PER_OUTPUT),
            (1016, 918, &FFT4096),
            (1725, 5, &DIRECT),
            (5339, 22, &TILED),
            (12_143, 310, &TILED),
            (40_000, 84, &BLOCKED),
            (992_985, 34, &BLOCKED),
        ] {
            let chosen = chosen(&full(Type::F64, samples, taps), false);
            assert_eq!(chosen, kernel, "{samples} samples, {taps} taps");
        }
        let narrow = chosen(&full(Type::F32, 306, 240), false);
        assert_eq!(narrow, &TILED);
    }

    #[test]
    fn a_part_of_the_outputs_and_another_mode_have_no_block_each() {
        let part = |offset, len| Problem {
            extents: [306, 240, offset, len],
            ..full(Type::F64, 306, 240)
        };
        assert_eq!(direct_sums(&part(0, 545)), &BLOCK_PER_OUTPUT);
        for task in [part(0, 544), part(1, 544), task(Type::F64, 240, 306)] {
            assert_eq!(direct_sums(&task), &TILED);
        }
    }
}
