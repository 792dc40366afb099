//! Choices among kernels, tiles and slices that were measured.

use super::super::with_task;
use super::*;
use crate::limits::h200;
use blockwise::Type;

fn chosen(ty: Type, of: [usize; 3]) -> (&'static Variant, Slicing) {
    with_task(ty, &of, |task| {
        let variant = kernel(task, MOST_SLICES);
        (variant, slicing(&task.of(variant)))
    })
}

/// Within 5 % of the fastest that was measured: tables of the log, and products of the sweeps.
#[test]
fn the_model_chooses_what_was_measured() {
    for (shape, cut, slices) in [
        ([512; 3], Cut::Flat, 4),
        ([64, 4096, 4096], Cut::Square, 8),
        ([256, 65536, 256], Cut::Square, 49),
        ([128, 8192, 128], Cut::Flat, 32),
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
        ([1392, 2536, 16], &SLICED),
        ([1000, 1000, 16], &SLICED),
        ([1000, 280, 16], &FEW),
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
        ([18_600, 168, 8], &MMA),
        ([9736, 6912, 8], &MMA),
        ([4096, 280, 8], &MMA),
        ([7528, 152, 16], &MMA),
        ([17_240, 281, 9], &MMA),
        ([1000, 281, 9], &DIRECT),
        ([10, 5684, 4307], &DIRECT),
        ([5, 567, 11_619], &MMA),
        ([13, 567, 11_619], &MMA),
        ([13, 200, 11_619], &MMA),
        ([8, 300, 4000], &MMA),
        ([8, 288, 18_992], &MMA),
        ([2776, 2960, 8], &MMA),
        ([9558, 3506, 2], &MMA),
        ([6424, 4024, 16], &MMA),
        ([3, 50, 8573], &MMA),
        ([14, 5, 5710], &SHORT),
        ([11, 3, 1356], &NAIVE),
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
        ([63, 1196, 4], &DIRECT),
        ([200, 500, 4], &DIRECT),
        ([50, 2000, 2], &DIRECT),
        ([3000, 64, 4], &MMA),
        ([286, 96, 3], &DIRECT),
        ([20_000, 40, 3], &MMA),
        ([1000, 300, 2], &DIRECT),
        ([7, 3273, 3], &DIRECT),
        // docs/log/2026-11-27-small-doubles.md, end.
        ([3, 69, 6], &DIRECT),
        ([456, 3328, 8], &MMA),
        ([17_880, 624, 8], &MMA),
        // docs/log/2026-11-30-rows.md.
        ([128, 128, 384], &MMA),
        ([8, 128, 1920], &MMA),
        ([5600, 152, 8], &MMA),
        ([6, 5649, 146], &MMA),
        ([1152, 8, 10_984], &SHORT),
        ([263, 2, 880], &SHORT),
    ] {
        assert_eq!(chosen(Type::F64, shape).0, kernel, "f64 {shape:?}");
    }
}

#[test]
fn b_is_copied_where_vectors_save_more() {
    let chosen = |of: [usize; 3]| with_task(Type::F32, &of, fastest);
    assert_eq!(chosen([4093, 4099, 4111]), &SLICED_COPY);
    let copied = [20_000, 1500, 255];
    assert_eq!(chosen(copied), &SLICED_COPY);
    assert_eq!(
        with_task(Type::F32, &copied, |task| slicing(&task.of(&SLICED_COPY))).cut,
        Cut::Square
    );
    for without in [
        [600, 4099, 604],
        [600, 4099, 601],
        [4099, 64, 4099],
        [1500, 1501, 1502],
        [129, 300, 515],
        [64, 4096, 4097],
        [300, 8192, 303],
        [13_125, 694, 131],
        [1909, 4823, 1945],
    ] {
        assert_ne!(chosen(without), &SLICED_COPY, "{without:?}");
    }
}

/// Too few blocks of `few_rows` would read B, or tiles of 32 × 64 compute more than eight rows
/// faster.
#[test]
fn narrow_products_of_more_than_four_rows_go_in_tiles() {
    for shape in [
        [8, 19_336, 104],
        [5, 9000, 40],
        [8, 700, 256],
        [6, 600, 120],
        [16, 2000, 256],
        [16, 800, 128],
        [12, 5001, 101],
        [9, 12_544, 512],
        [16, 4000, 700],
        [10, 8000, 1000],
        [15, 4352, 2497],
        [12, 2000, 3000],
        [16, 4000, 4000],
        [16, 200, 4000],
    ] {
        assert_eq!(chosen(Type::F32, shape).0, &SLICED, "{shape:?}");
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
        (Type::F32, [8, 24, 19_120], 1),
        (Type::F32, [8, 5000, 384], 24),
        (Type::F32, [8, 512, 104], 4),
        (Type::F32, [192, 425, 8], 1),
        (Type::F32, [4096, 1000, 8], 3),
        (Type::F32, [17_240, 304, 16], 1),
        (Type::F32, [5000, 60, 16], 1),
        (Type::F32, [20_000, 24, 8], 1),
        (Type::F32, [9000, 5000, 16], 3),
        (Type::F32, [20_000, 1000, 16], 1),
        (Type::F32, [1, 7, 18_266], 1),
        (Type::F32, [100_000, 4, 2], 1),
        (Type::F64, [132, 1671, 1], 1),
    ] {
        let (kernel, slicing) = chosen(ty, shape);
        assert_eq!((kernel, slicing.slices), (&FEW, slices), "{ty} {shape:?}");
    }
    for (ty, shape) in [
        (Type::F32, [9984, 16, 15]),
        (Type::F32, [11_201, 24, 16]),
        (Type::F32, [11_201, 40, 12]),
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

/// Within 10 % of the fastest that was measured (docs/log/2026-11-27-batches.md,
/// 2026-11-28-any-address.md, 2026-11-28-choice-of-batches.md).
#[test]
fn batches_take_what_was_measured() {
    for (ty, batch, [rows, inner, cols], expected) in [
        (Type::F32, 4, [19_016, 8, 8], &SMALL),
        (Type::F32, 449, [326, 195, 1], &FEW),
        (Type::F32, 382, [8, 496, 8], &FEW),
        (Type::F32, 604, [104, 376, 8], &FEW),
        (Type::F32, 80, [19_840, 408, 8], &FEW),
        (Type::F32, 59, [176, 13_632, 8], &FEW),
        (Type::F32, 596, [1776, 104, 8], &FEW),
        (Type::F32, 2573, [3, 137, 16], &SMALL),
        (Type::F32, 1702, [2, 39, 4], &SMALL),
        (Type::F32, 33, [1472, 8, 8], &SMALL),
        (Type::F64, 1630, [8; 3], &SMALL),
        (Type::F64, 4, [392, 208, 16], &MMA),
        (Type::F64, 2, [8, 592, 384], &MMA),
        (Type::F32, 684, [8, 20, 228], &SMALL),
        (Type::F32, 3000, [24, 104, 8], &SMALL),
        (Type::F32, 400, [63, 31, 65], &SLICED),
        (Type::F64, 4944, [18, 13, 99], &SMALL),
        (Type::F64, 10_996, [2, 44, 43], &SMALL),
        (Type::F64, 300, [45; 3], &MMA),
        (Type::F64, 200, [24, 64, 100], &MMA),
        (Type::F64, 2000, [48; 3], &MMA),
        (Type::F32, 8, [8, 2800, 1104], &FEW),
        (Type::F32, 100, [8, 48, 16], &FEW),
        (Type::F32, 76, [128, 128, 256], &SLICED),
        (Type::F32, 64, [512; 3], &PIPELINED),
        (Type::F32, 11_026, [72, 72, 8], &SMALL),
        (Type::F32, 2712, [451, 18, 20], &SMALL),
        (Type::F32, 1783, [584, 24, 24], &SMALL),
        (Type::F32, 7919, [8, 104, 16], &SMALL),
        (Type::F32, 15_021, [43, 55, 125], &SMALL),
        (Type::F32, 10_000, [16; 3], &SMALL),
        (Type::F32, 2000, [48; 3], &SMALL),
        (Type::F32, 12_617, [8; 3], &SMALL),
        (Type::F32, 4096, [32; 3], &SMALL),
        (Type::F32, 591, [23, 6, 3807], &SHORT),
        (Type::F32, 4000, [70, 7, 64], &SHORT),
        (Type::F32, 5000, [40, 5, 33], &SMALL),
        (Type::F32, 374, [9, 13, 7132], &SHORT),
        (Type::F32, 2, [16, 8, 1], &SHORT),
        (Type::F64, 147, [1856, 72, 16], &MMA),
        (Type::F64, 670, [8, 8, 12_312], &SHORT),
        (Type::F64, 151, [11, 8, 2931], &SHORT),
        (Type::F64, 46, [16, 48, 3448], &MMA),
        (Type::F64, 3079, [24, 1320, 8], &MMA),
        (Type::F64, 1, [22, 1230, 6545], &MMA),
        (Type::F64, 195, [19, 9501, 231], &MMA),
        (Type::F64, 44, [1, 5466, 4], &FEW),
        (Type::F64, 4096, [32; 3], &MMA),
        (Type::F64, 10_000, [16; 3], &SMALL),
        (Type::F64, 13_425, [101, 1, 114], &SHORT),
    ] {
        let chosen = with_task(ty, &[rows, inner, cols, batch], fastest);
        assert_eq!(chosen, expected, "{ty} {batch} {rows}x{inner}x{cols}");
    }
}

/// The faster of one slice and several (docs/log/2026-11-27-batches.md).
#[test]
fn slices_of_a_batch_must_pay() {
    for (batch, of, several) in [
        (5, [128, 384, 2176], false),
        (7, [128, 128, 128], false),
        (2, [128, 128, 128], false),
        (7, [128, 1024, 128], true),
        (12, [128, 1152, 128], true),
    ] {
        let (_, slicing) = in_slices((of, batch), 4, MOST_SLICES, of[2], true, &h200());
        assert_eq!(slicing.slices > 1, several, "{batch} {of:?}");
    }
}

/// Few matrices of 128 × 128 fill too few tiles of 64 × 64; 250 are faster in them (38.8 µs).
#[test]
fn few_products_have_the_smallest_tiles() {
    for (batch, expected) in [(2, Cut::Flat), (19, Cut::Flat), (250, Cut::Square)] {
        let (_, slicing) = in_slices(([128; 3], batch), 4, 1, 128, true, &h200());
        assert_eq!(slicing.cut, expected, "{batch}");
    }
    // A grid has a layer for each of 65,535 products, and blocks of tall tiles stride.
    for (batch, expected) in [(65_535, Cut::Small), (65_536, Cut::Tall)] {
        let (_, slicing) = in_slices(([40, 20, 20], batch), 4, 1, 20, true, &h200());
        assert_eq!(slicing.cut, expected, "{batch}");
    }
}

#[test]
fn a_product_without_elements_has_a_kernel() {
    for shape in [[0; 3], [0, 5, 7], [5, 0, 7], [1, 0, 5], [5, 7, 0]] {
        let (kernel, slicing) = chosen(Type::F32, shape);
        assert!(*kernel != FEW && slicing.slices == 1, "{shape:?}");
    }
}

/// 4311 × 14 × 2156 takes `mma` 51.9 µs at an odd address, 2044 times 128 × 32 × 8 `small` 44.6
/// (docs/log/2026-11-30-rows.md).
#[test]
fn operands_off_packs_do_not_take_kernels_that_move_them() {
    for (ty, sizes, aligned, off) in [
        (Type::F64, [4311, 14, 2156, 1], &MMA, &SHORT),
        (Type::F32, [128, 32, 8, 2044], &SMALL, &FEW),
        (Type::F32, [4096, 4096, 4096, 1], &PIPELINED, &SLICED),
    ] {
        let chosen = with_task(ty, &sizes, |task| {
            [true, false].map(|aligned| fastest(&Task { aligned, ..*task }))
        });
        assert_eq!(chosen, [aligned, off], "{ty} {sizes:?}");
    }
}
