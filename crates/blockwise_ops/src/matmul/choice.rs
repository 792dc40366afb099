//! Which kernel computes a product, and in how many slices.
//!
//! The kernel, its tiles and its slices have the shortest time in a [model](super::cost) of the
//! launches; `blockwise tune` compares the choices on the device at hand.

use std::ops::RangeInclusive;

use blockwise::{DeviceProperties, Type};
use kernels::matmul::policy::{PITCHED_FROM, Tiles, VECTOR as PACK, WIDE_BUSY};
use kernels::matmul::slices::{Cut, MOST_SLICES, Slicing};

use super::cost::{self, Cost, SHORTEST};
use super::vectors::{lanes, vectors};
use super::{
    DIRECT, FEW, MATMUL, MMA, NAIVE, PIPELINED, PITCHED, REGISTER_TILE, SHORT, SLICED, SLICED_COPY,
    SMALL, TENSOR, TILED, direct, extents, few, is_one, mma, short, small,
};
use crate::operation::{Options, Problem, Task, Variant};

/// The cost of copying B before the product: nanoseconds of the launch and of each row, and the
/// bytes that it reads and writes per nanosecond: 11 µs for 4099 × 601, 6 for 1000 × 1001, 16 for
/// 8192 × 303.
const COPY: f64 = 3200.0;
const ROW: f64 = 0.8;
const COPIED: f64 = 4000.0;
/// A copy of B is made only if the product then takes less than this fraction of the time without
/// it.
const WORTH: f64 = 0.97;
/// A batch is cut into several slices only if the model's time for them is below this fraction of
/// its time for one. Measured, one slice takes 0.87 to 0.95 of what the model says, several take
/// all of it: 5 of 128 × 384 × 2176 take 40.3 µs in one slice, 46.2 in two.
const OF_BATCH: f64 = 0.92;

/// The fastest method: copies of the operands where they pay, else a kernel, perhaps with a copy of
/// B. No copies if the caller set any option.
pub(super) fn fastest(task: &Task<'_>) -> &'static Variant {
    let (problem, device) = (task.problem, task.device);
    if problem.settings[0] == 1 {
        return &TENSOR;
    }
    let of = extents(problem);
    // `once` is ignored, so that a single call has the bits of repeated ones.
    let once = task.options.once;
    let open = Options {
        once,
        ..Options::default()
    };
    let is_open = is_one(problem) && *task.options == open;
    if is_open && is_pitched(problem, device) {
        return &PITCHED;
    }
    let one = task.options.count.is_some_and(|count| count.get() == 1);
    let most = if one { 1 } else { MOST_SLICES };
    if small::pays(problem) && !short::pays(problem) {
        return &SMALL;
    }
    let kernel = kernel(problem, most, device);
    match is_open && copy_pays(kernel, of, problem.ty.bytes(), device) {
        true => &SLICED_COPY,
        false => kernel,
    }
}

/// The fastest kernel in at most `most` slices, by the model; for a batch, only among the kernels
/// that take batches.
pub(super) fn kernel(
    problem: &Problem,
    most: usize,
    device: &DeviceProperties,
) -> &'static Variant {
    if few::pays(problem) {
        return &FEW;
    }
    if short::pays(problem) {
        return &SHORT;
    }
    let of = (extents(problem), problem.extents[3]);
    fastest_in(MATMUL.variants, of, problem.ty, most, device).unwrap_or(&TILED)
}

/// The fastest of these for a batch of products; `None` if the model covers none of them.
pub(super) fn fastest_in(
    kernels: &[&'static Variant],
    (of, batch): ([usize; 3], usize),
    ty: Type,
    most: usize,
    device: &DeviceProperties,
) -> Option<&'static Variant> {
    let bytes = ty.bytes();
    let multiprocessors = device.multiprocessors_to_fill() as usize;
    let vectors = [of[2].is_multiple_of(lanes(bytes)); 2];
    let whole = |cost: Cost| Some(cost.time(of, batch, 1, vectors, multiprocessors));
    let time = |kernel: &Variant| match kernel {
        _ if batch != 1 && [&NAIVE, &TILED, &REGISTER_TILE].contains(&kernel) => None,
        _ if *kernel == NAIVE => whole(cost::naive(bytes)),
        _ if *kernel == TILED => whole(cost::tiled(bytes)),
        _ if *kernel == REGISTER_TILE => whole(cost::register_tile(bytes)),
        _ if *kernel == PIPELINED => {
            let in_one = batch <= device.max_grid[2] as usize;
            let wide = in_one && Tiles::Wide.fit(of[2]) && wide_fills(of, batch, device);
            wide.then(|| whole(cost::WIDE))?
        }
        _ if *kernel == SLICED => Some(in_slices(of, batch, bytes, most, of[2], device).0),
        _ if *kernel == DIRECT => direct::time_of((of, batch), most, device),
        _ if *kernel == MMA && !mma::is_counted(of) => None,
        _ if *kernel == MMA && direct::is_faster(of, batch) => None,
        _ if *kernel == MMA => Some(mma::slices(of, batch, most, device).0),
        _ => None,
    };
    let all = kernels.iter().copied();
    let timed = all
        .filter(|kernel| kernel.takes(ty))
        .filter_map(|kernel| Some((time(kernel)?, kernel)));
    let fastest = timed.min_by(|(one, _), (other, _)| one.total_cmp(other));
    fastest.map(|(_, kernel)| kernel)
}

/// Whether tiles of [`Tiles::Wide`] keep the multiprocessors busy.
pub(super) fn wide_fills(
    [rows, _, cols]: [usize; 3],
    batch: usize,
    device: &DeviceProperties,
) -> bool {
    let at_once = device.multiprocessors_to_fill() as usize;
    let wide = Tiles::Wide.policy().tiles(rows, cols);
    let wide = wide.saturating_mul(batch);
    let most = wide.div_ceil(at_once).saturating_mul(at_once);
    wide > 0 && wide.saturating_mul(100) >= most.saturating_mul(WIDE_BUSY)
}

/// The number of full waves of tiles of [`Tiles::Wide`]; 0 if these tiles do not fit the columns.
pub(super) fn wide_waves([rows, _, cols]: [usize; 3], device: &DeviceProperties) -> usize {
    let at_once = device.multiprocessors_to_fill() as usize;
    match Tiles::Wide.fit(cols) {
        true => Tiles::Wide.policy().tiles(rows, cols) / at_once.max(1),
        false => 0,
    }
}

/// Whether there are enough tiles for copies of the operands to pay. With copies, 512 × 4099 × 513
/// takes 2.8 times as long as in slices, 1500 × 1501 × 1502, which has 288 tiles, 219 µs instead of
/// 193, and 2047 × 2049 × 2051 418 instead of 472 (H100).
fn fills_without_slices([rows, _, cols]: [usize; 3], device: &DeviceProperties) -> bool {
    let tiles = Tiles::Ragged.policy().tiles(rows, cols);
    tiles >= 3 * device.multiprocessors_to_fill() as usize
}

/// Whether a product that may use memory is computed from copies of its operands.
pub(super) fn is_pitched(problem: &Problem, device: &DeviceProperties) -> bool {
    fills_without_slices(extents(problem), device) && pitched_pays(problem)
}

/// Whether copies of the operands pay, if there are enough tiles.
pub(super) fn pitched_pays(problem: &Problem) -> bool {
    let of = extents(problem);
    problem.ty == Type::F32
        && !of[2].is_multiple_of(PACK)
        && of.iter().all(|&extent| extent >= PITCHED_FROM)
}

/// The slices of the kernel: the requested number, else the fastest within the limit.
pub(super) fn slicing(task: &Task<'_>) -> Slicing {
    let (of, device) = (extents(task.problem), task.device);
    let ([_, inner, cols], batch) = (of, task.problem.extents[3]);
    let bytes = task.problem.ty.bytes();
    let asked = task.options.count.map(|count| count.get() as usize);
    let cut = Cut::Small;
    let with = |slices: usize| Slicing { cut, slices };
    if *task.variant == FEW {
        return with(asked.unwrap_or_else(|| few::fastest(of, batch, bytes, device).1));
    }
    if *task.variant == DIRECT {
        return with(direct::chosen(task).slices);
    }
    if *task.variant == MMA {
        return with(asked.unwrap_or_else(|| mma::slices(of, batch, MOST_SLICES, device).1[0]));
    }
    let pitch = if *task.variant == SLICED_COPY {
        PACK
    } else {
        cols
    };
    let cuts = match task.options.instance.map(usize::from) {
        Some(at) => Cut::ALL.get(at..=at).unwrap_or_default(),
        None => Cut::of_batch(batch),
    };
    let slices = match asked {
        Some(slices) => slices..=slices,
        None => 1..=longest(inner, MOST_SLICES),
    };
    let vectors = vectors(&SLICED, of, bytes, pitch, [true; 3]);
    fastest_of((of, batch), bytes, cuts, slices, vectors, device).1
}

fn longest(inner: usize, most: usize) -> usize {
    match inner < SLICED_FROM {
        true => 1,
        false => (inner / SHORTEST).clamp(1, most),
    }
}

/// The inner extent from which on slices are considered: 128 × 128 × 1408 takes 9.2 µs in one, 10.3
/// in two.
const SLICED_FROM: usize = 192;

/// Whether a copy of B in vectors makes `sliced` faster, if that is the kernel.
fn copy_pays(kernel: &Variant, of: [usize; 3], bytes: usize, device: &DeviceProperties) -> bool {
    let [_, inner, cols] = of;
    let with = |pitch| vectors(&SLICED, of, bytes, pitch, [true; 3]);
    if *kernel != SLICED || with(cols) || !with(PACK) {
        return false;
    }
    let fastest = |pitch| in_slices(of, 1, bytes, MOST_SLICES, pitch, device).0;
    let (single, copied) = (fastest(cols), fastest(PACK));
    let (inner, cols) = (inner as f64, cols as f64);
    let moved = 2.0 * bytes as f64 * inner * cols;
    copied + COPY + ROW * inner + moved / COPIED < WORTH * single
}

/// The nanoseconds of `sliced` in the fastest slices, at most `most`, if rows of B have this pitch.
fn in_slices(
    of: [usize; 3],
    batch: usize,
    bytes: usize,
    most: usize,
    pitch: usize,
    device: &DeviceProperties,
) -> (f64, Slicing) {
    let vectors = vectors(&SLICED, of, bytes, pitch, [true; 3]);
    fastest_of(
        (of, batch),
        bytes,
        Cut::of_batch(batch),
        1..=longest(of[1], most),
        vectors,
        device,
    )
}

/// The fastest of these cuts and numbers of slices, and its nanoseconds. `vectors` says whether the
/// operands move 16 bytes at a time.
fn fastest_of(
    (of, batch): ([usize; 3], usize),
    bytes: usize,
    cuts: &[Cut],
    slices: RangeInclusive<usize>,
    vectors: bool,
    device: &DeviceProperties,
) -> (f64, Slicing) {
    let multiprocessors = device.multiprocessors_to_fill() as usize;
    let stores = vectors && of[2].is_multiple_of(lanes(bytes));
    let all = cuts.iter().flat_map(|&cut| {
        let cost = cost::sliced(cut);
        slices.clone().map(move |slices| {
            let multiplied = cost.time(of, batch, slices, [vectors, stores], multiprocessors);
            let time = multiplied + cost::fold(of, batch, slices, bytes, multiplied, device);
            let worth = match (batch, slices) {
                (0 | 1, _) | (_, 1) => 1.0,
                _ => OF_BATCH,
            };
            (time / worth, Slicing { cut, slices })
        })
    });
    let fastest = all.min_by(|(one, _), (other, _)| one.total_cmp(other));
    let (cut, slices) = (Cut::Small, 1);
    fastest.unwrap_or((0.0, Slicing { cut, slices }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;

    fn chosen(ty: Type, of: [usize; 3]) -> (&'static Variant, Slicing) {
        let (problem, options, device) = (Problem::new(ty, &of), Options::default(), h200());
        let variant = kernel(&problem, MOST_SLICES, &device);
        (
            variant,
            slicing(&task(&problem, &options, &device, variant)),
        )
    }

    fn task<'a>(
        problem: &'a Problem,
        options: &'a Options,
        device: &'a DeviceProperties,
        variant: &'static Variant,
    ) -> Task<'a> {
        Task::new(variant, problem, options, device)
    }

    /// Within 5 % of the fastest that was measured: tables of the log, and products of the sweeps.
    #[test]
    fn the_model_chooses_what_was_measured() {
        for (shape, cut, slices) in [
            ([512; 3], Cut::Small, 2),
            ([64, 4096, 4096], Cut::Square, 8),
            ([256, 65536, 256], Cut::Square, 49),
            ([128, 8192, 128], Cut::Small, 32),
            ([1536; 3], Cut::Square, 4),
            ([600, 4099, 604], Cut::Square, 5),
            ([1024; 3], Cut::Square, 1),
        ] {
            let expected = (&SLICED, Slicing { cut, slices });
            assert_eq!(chosen(Type::F32, shape), expected, "{shape:?}");
        }
        for (shape, slices) in [([1024; 3], 1), ([2048; 3], 1)] {
            let (kernel, slicing) = chosen(Type::F64, shape);
            assert_eq!((kernel, slicing.slices), (&MMA, slices), "{shape:?}");
        }
        for (shape, kernel) in [
            ([744, 8, 7992], &SHORT),
            ([2499, 6, 4931], &SHORT),
            ([398, 4, 771], &SHORT),
            ([300, 2, 300], &NAIVE),
            ([707, 42, 6318], &SLICED),
            ([233, 1, 1659], &SHORT),
            ([2, 1, 17152], &NAIVE),
            ([14, 5, 5710], &NAIVE),
            ([138, 15, 200], &TILED),
            ([43, 129, 97], &TILED),
            ([8, 80, 128], &TILED),
            ([16, 200, 304], &SLICED),
            ([1712, 5056, 16], &SLICED),
            ([4080, 27, 1192], &SLICED),
            ([4096; 3], &PIPELINED),
            ([8192; 3], &PIPELINED),
        ] {
            assert_eq!(chosen(Type::F32, shape).0, kernel, "f32 {shape:?}");
        }
        for (shape, kernel) in [
            ([2499, 6, 4931], &SHORT),
            ([366, 1, 1209], &SHORT),
            ([233, 1, 359], &NAIVE),
            ([43, 129, 97], &DIRECT),
            ([24, 136, 40], &DIRECT),
            ([128, 128, 128], &DIRECT),
            ([128, 1408, 128], &MMA),
            ([18_600, 168, 8], &DIRECT),
            ([9736, 6912, 8], &DIRECT),
            ([10, 5684, 4307], &DIRECT),
            ([2776, 2960, 8], &DIRECT),
            ([9558, 3506, 2], &DIRECT),
            ([6424, 4024, 16], &MMA),
            ([3, 50, 8573], &DIRECT),
            ([14, 5, 5710], &TILED),
            ([11, 3, 1356], &TILED),
            ([8, 1, 221], &NAIVE),
            ([97, 1, 5658], &SHORT),
            ([128, 128, 1024], &MMA),
            ([1152, 128, 128], &MMA),
            ([4408, 32, 64], &MMA),
            ([128, 384, 5120], &MMA),
            ([1943, 17, 249], &MMA),
            ([4316, 30, 34], &MMA),
            ([8426, 4, 1864], &SHORT),
            ([265, 699, 2717], &MMA),
            // docs/log/2026-11-28-doubles-choice.md.
            ([8, 90, 37], &DIRECT),
            ([29, 55, 601], &DIRECT),
            ([24, 56, 24], &DIRECT),
            ([700, 20, 30], &TILED),
            ([8, 88, 208], &DIRECT),
            ([205, 13, 1111], &SHORT),
            ([3268, 768, 11], &MMA),
            ([112, 16, 48], &TILED),
            ([3460, 2, 639], &SHORT),
            ([2798, 10, 5407], &SHORT),
            ([5000, 500, 10], &MMA),
            ([3300, 900, 12], &MMA),
            ([2000, 1100, 16], &MMA),
            ([10, 88, 3], &DIRECT),
            ([12, 47, 4], &DIRECT),
            ([63, 1196, 4], &DIRECT),
            ([200, 500, 4], &DIRECT),
            ([50, 2000, 2], &DIRECT),
            ([3000, 64, 4], &DIRECT),
            ([7400, 126, 4], &DIRECT),
            ([286, 96, 3], &DIRECT),
            ([20_000, 40, 3], &MMA),
            ([1000, 300, 2], &DIRECT),
            ([7, 3273, 3], &DIRECT),
            // docs/log/2026-11-27-small-doubles.md, end.
            ([3, 69, 6], &DIRECT),
            ([456, 3328, 8], &MMA),
            ([17_880, 624, 8], &DIRECT),
        ] {
            assert_eq!(chosen(Type::F64, shape).0, kernel, "f64 {shape:?}");
        }
    }

    #[test]
    fn b_is_copied_where_vectors_save_more() {
        let (options, device) = (Options::default(), h200());
        let chosen = |of: [usize; 3]| {
            let problem = Problem::new(Type::F32, &of);
            fastest(&task(&problem, &options, &device, &TILED))
        };
        let copied = [13_125, 694, 131];
        assert_eq!(chosen(copied), &SLICED_COPY);
        let problem = Problem::new(Type::F32, &copied);
        assert_eq!(
            slicing(&task(&problem, &options, &device, &SLICED_COPY)).cut,
            Cut::Small
        );
        for without in [
            [600, 4099, 604],
            [600, 4099, 601],
            [4099, 64, 4099],
            [1500, 1501, 1502],
            [129, 300, 515],
            [64, 4096, 4097],
            [300, 8192, 303],
        ] {
            assert_ne!(chosen(without), &SLICED_COPY, "{without:?}");
        }
    }

    #[test]
    fn few_rows_or_columns_go_without_tiles() {
        for (ty, shape, slices) in [
            (Type::F32, [1, 1024, 400], 1),
            (Type::F32, [1, 529, 456], 1),
            (Type::F32, [1, 4096, 4096], 8),
            (Type::F32, [4096, 4096, 1], 1),
            (Type::F32, [64, 1_000_000, 1], 12),
            (Type::F32, [172, 5754, 1], 4),
            (Type::F32, [4, 2063, 5416], 6),
            (Type::F32, [3, 2443, 129], 16),
            (Type::F32, [1, 12_001, 19], 16),
            (Type::F32, [1, 5078, 4265], 7),
            (Type::F32, [1, 4095, 4097], 7),
            (Type::F32, [4, 2063, 5417], 6),
            (Type::F32, [2, 6001, 2503], 6),
            (Type::F32, [1, 300, 13_131], 1),
            (Type::F64, [1, 5078, 2133], 7),
            (Type::F32, [15, 4352, 2497], 6),
            (Type::F32, [192, 425, 8], 1),
            (Type::F32, [1, 7, 18_266], 1),
            (Type::F32, [100_000, 4, 2], 1),
            (Type::F64, [132, 1671, 1], 1),
        ] {
            let (kernel, slicing) = chosen(ty, shape);
            assert_eq!((kernel, slicing.slices), (&FEW, slices), "{ty} {shape:?}");
        }
        for (ty, shape) in [
            (Type::F32, [9984, 16, 15]),
            (Type::F32, [20_000, 1000, 16]),
            (Type::F32, [16, 20, 3000]),
            (Type::F32, [17, 4000, 17]),
            (Type::F64, [5, 3104, 53]),
            (Type::F64, [3, 6579, 81]),
            (Type::F64, [4, 9566, 135]),
            (Type::F64, [1, 39, 4]),
            (Type::F64, [3000, 120, 12]),
        ] {
            assert_ne!(chosen(ty, shape).0, &FEW, "{ty} {shape:?}");
        }
    }

    /// The fastest that was measured (docs/log/2026-11-27-batches.md).
    #[test]
    fn batches_take_what_was_measured() {
        let device = h200();
        for (ty, batch, [rows, inner, cols], expected) in [
            (Type::F32, 4, [19_016, 8, 8], &SMALL),
            (Type::F32, 449, [326, 195, 1], &FEW),
            (Type::F32, 382, [8, 496, 8], &FEW),
            (Type::F32, 2573, [3, 137, 16], &FEW),
            (Type::F32, 163, [32, 5928, 16], &FEW),
            (Type::F32, 756, [320, 256, 16], &SLICED),
            (Type::F32, 8, [8, 2800, 1104], &FEW),
            (Type::F32, 100, [8, 48, 16], &FEW),
            (Type::F32, 76, [128, 128, 256], &SLICED),
            (Type::F64, 89, [8, 1048, 8], &DIRECT),
            (Type::F64, 12, [6, 3652, 69], &DIRECT),
            (Type::F64, 147, [1856, 72, 16], &MMA),
            (Type::F64, 128, [8; 3], &MMA),
            (Type::F64, 751, [8, 8, 160], &SMALL),
            (Type::F64, 4, [2542, 3814, 2], &DIRECT),
            (Type::F64, 670, [8, 8, 12_312], &DIRECT),
            (Type::F64, 46, [16, 48, 3448], &MMA),
            (Type::F64, 9, [10, 570, 2], &FEW),
            (Type::F64, 44, [1, 5466, 4], &FEW),
            (Type::F64, 4096, [32; 3], &MMA),
            // docs/log/2026-11-28-any-address.md.
            (Type::F32, 591, [23, 6, 3807], &SHORT),
            (Type::F32, 4000, [70, 7, 64], &SHORT),
            (Type::F32, 5000, [40, 5, 33], &SMALL),
            (Type::F64, 13_425, [101, 1, 114], &SHORT),
        ] {
            let problem = Problem::new(ty, &[rows, inner, cols, batch]);
            let options = Options::default();
            let chosen = fastest(&task(&problem, &options, &device, &TILED));
            assert_eq!(chosen, expected, "{ty} {batch} {rows}x{inner}x{cols}");
        }
    }

    /// The faster of one slice and several (docs/log/2026-11-27-batches.md).
    #[test]
    fn slices_of_a_batch_must_pay() {
        for (batch, of, several) in [
            (5, [128, 384, 2176], false),
            (7, [128, 128, 128], false),
            (7, [128, 1024, 128], true),
            (12, [128, 1152, 128], true),
        ] {
            let (_, slicing) = in_slices(of, batch, 4, MOST_SLICES, of[2], &h200());
            assert_eq!(slicing.slices > 1, several, "{batch} {of:?}");
        }
    }

    #[test]
    fn a_product_without_elements_has_a_kernel() {
        for shape in [[0; 3], [0, 5, 7], [5, 0, 7], [1, 0, 5], [5, 7, 0]] {
            let (kernel, slicing) = chosen(Type::F32, shape);
            assert!(*kernel != FEW && slicing.slices == 1, "{shape:?}");
        }
    }
}
