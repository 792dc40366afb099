//! Which kernel computes a product, and in how many slices.
//!
//! A model of a launch's time chooses tiles and slices: the busiest multiprocessor's blocks, each
//! with its part of the inner extent, and what the second launch costs that adds the slices. Its
//! figures are those of measurements on an H200 (driver 580, 2026-11-23; docs/log);
//! `blockwise tune` compares the choices on the device at hand.

use blockwise::DeviceProperties;
use kernels::matmul::policy::{Tiles, VECTOR, WIDE_BUSY};
use kernels::matmul::slices::{Cut, MOST_SLICES, Slicing, slice_len};
use kernels::matmul::vector;

use super::{MatmulKernel, MatmulShape, mma};
use crate::Float;

/// What a kernel's tiles cost.
struct Rate {
    /// Nanoseconds that an element of the inner extent takes a block on a multiprocessor that is
    /// full: with copies of 16 bytes, and of single elements.
    nanoseconds: [f64; 2],
    /// Blocks by which a multiprocessor seems to have more: what few blocks wait for each other.
    more: f64,
    /// Blocks that together have a warp for each of the four schedulers: fewer take as long.
    together: usize,
    /// Blocks that a multiprocessor holds, by their registers.
    resident: usize,
}

/// Two, four and six blocks of 64 × 64 take 25.5, 23 and 21.5 ns each for an element of the inner
/// extent, one takes 47, and three take as long as four; 600 × 4099 × 601 gives the figures for
/// single elements.
const fn rate(cut: Cut) -> Rate {
    let (nanoseconds, more, together, resident) = match cut {
        Cut::Tall => ([42.0, 49.0], 0.35, 1, 3),
        Cut::Square => ([20.5, 26.5], 0.5, 2, 6),
        Cut::Small => ([14.0, 16.5], 0.0, 2, 6),
    };
    Rate {
        nanoseconds,
        more,
        together,
        resident,
    }
}

/// Nanoseconds of a launch that computes nothing, of a second one after it, for each slice that it
/// adds, and of blocks that start when others end.
pub(super) const LAUNCH: f64 = 7000.0;
const FOLD: f64 = 3500.0;
const SLICE: f64 = 30.0;
const WAVE: f64 = 4000.0;
/// Bytes a nanosecond at which the sums of slices are written and read again, most of which stay in
/// the L2 cache: in vectors, and as single elements.
const SUMS: [f64; 2] = [8000.0, 2500.0];

/// Nanoseconds of a launch that copies B before the product, and of each row: 11 µs for 4099 × 601,
/// 6 for 1000 × 1001.
const COPY: f64 = 4500.0;
const ROW: f64 = 2.0;
/// Part of the time without a copy that one with it may take.
const WORTH: f64 = 0.97;

/// Elements of the inner extent of a slice, at least: the copies that run ahead fill three stages
/// of 16.
pub(super) const SHORTEST: usize = 48;

/// Multiply-adds up to which, and inner extents up to which, [`tiled`](kernels::matmul::tiled) is
/// faster: 256³ takes it 6.7 µs, and [`sliced`](kernels::matmul::sliced) 10.
const TILED_TO: usize = 1 << 24;
const TILED_INNER: usize = 256;

/// Blocks a multiprocessor that keep memory busy with a vector's product, and elements of the inner
/// extent of their slices, at least: 64 × 1,000,000 × 1 is fastest in 32 slices of 8 blocks, 1024 ×
/// 1024 × 1 in one slice, 1 × 1024 × 1024 in four slices of 32 blocks.
const VECTOR_BLOCKS: usize = 2;
const SHORTEST_ROW: usize = 2048;
const SHORTEST_COL: usize = 256;

/// Blocks a multiprocessor that stay where rows are many times as many: 1,000,000 × 100 × 1 takes
/// 114 µs with these and 134 with a block for each 32 rows.
const STAYING: usize = 8;
const MANY: usize = 8;

/// Blocks that compute the rows of a matrix times a vector.
pub(super) fn row_blocks<T: Float>(shape: MatmulShape, properties: &DeviceProperties) -> usize {
    let all = vector::row_blocks::<T>(shape.rows, shape.inner);
    let staying = STAYING * properties.multiprocessors_to_fill() as usize;
    if all > MANY * staying { staying } else { all }
}

/// The kernel that is fastest for the type and the shape.
pub(super) fn kernel<T: Float>(shape: MatmulShape, properties: &DeviceProperties) -> MatmulKernel {
    let MatmulShape { rows, inner, cols } = shape;
    let work = rows.saturating_mul(cols).saturating_mul(inner);
    if MatmulKernel::Vector.takes::<T>(shape) {
        MatmulKernel::Vector
    } else if work <= TILED_TO && inner <= TILED_INNER {
        MatmulKernel::Tiled
    } else if MatmulKernel::Mma.takes::<T>(shape) {
        MatmulKernel::Mma
    } else if Tiles::Wide.fit(cols) && wide_fills(shape, properties) {
        MatmulKernel::Pipelined
    } else {
        MatmulKernel::Sliced
    }
}

/// Whether tiles of [`Tiles::Wide`] keep the multiprocessors busy.
pub(super) fn wide_fills(shape: MatmulShape, properties: &DeviceProperties) -> bool {
    let at_once = properties.multiprocessors_to_fill() as usize;
    let wide = Tiles::Wide.policy().tiles(shape.rows, shape.cols);
    let most = wide.div_ceil(at_once).saturating_mul(at_once);
    wide > 0 && wide.saturating_mul(100) >= most.saturating_mul(WIDE_BUSY)
}

/// Whether there are enough tiles for copies of the operands to pay: at 512 × 4099 × 513 they take
/// 2.8 times as long as slices, at 1500 × 1501 × 1502 as long.
pub(super) fn fills_without_slices(shape: MatmulShape, properties: &DeviceProperties) -> bool {
    let tiles = Tiles::Ragged.policy().tiles(shape.rows, shape.cols);
    tiles >= 2 * properties.multiprocessors_to_fill() as usize
}

/// The slices, at most `most`, in which the kernel is fastest.
pub(super) fn slicing<T: Float>(
    kernel: MatmulKernel,
    shape: MatmulShape,
    most: usize,
    properties: &DeviceProperties,
) -> Slicing {
    let MatmulShape { rows, inner, cols } = shape;
    if kernel == MatmulKernel::Vector {
        let (blocks, shortest) = match cols {
            1 => (vector::row_blocks::<T>(rows, inner), SHORTEST_ROW),
            _ => (vector::col_blocks::<T>(cols), SHORTEST_COL),
        };
        let wanted = VECTOR_BLOCKS * properties.multiprocessors_to_fill() as usize / blocks.max(1);
        let slices = wanted.min(inner / shortest).clamp(1, most);
        let cut = Cut::Small;
        return Slicing { cut, slices };
    }
    if kernel == MatmulKernel::Mma {
        let (cut, slices) = (Cut::Small, mma::slices(shape, most, properties));
        return Slicing { cut, slices };
    }
    fastest::<T>(shape, most, cols.is_multiple_of(VECTOR), properties).1
}

/// The slices in which `sliced` is fastest for a copy of B that moves in vectors, if that is worth
/// the copy.
pub(super) fn slicing_of_copy<T: Float>(
    kernel: MatmulKernel,
    shape: MatmulShape,
    properties: &DeviceProperties,
) -> Option<Slicing> {
    if kernel != MatmulKernel::Sliced || shape.cols.is_multiple_of(VECTOR) {
        return None;
    }
    let fastest = |whole| fastest::<T>(shape, MOST_SLICES, whole, properties);
    let ((single, _), (copied, slicing)) = (fastest(false), fastest(true));
    let copied = copied + COPY + ROW * shape.inner as f64;
    (copied < WORTH * single).then_some(slicing)
}

/// The fastest slices, at most `most`, and their nanoseconds. `whole` says whether B moves in
/// vectors.
fn fastest<T: Float>(
    shape: MatmulShape,
    most: usize,
    whole: bool,
    properties: &DeviceProperties,
) -> (f64, Slicing) {
    let MatmulShape { rows, inner, cols } = shape;
    let multiprocessors = properties.multiprocessors_to_fill() as usize;
    let time = |cut: Cut, slices: usize| {
        let (policy, rate) = (cut.policy(true), rate(cut));
        let blocks = policy.tiles(rows, cols).saturating_mul(slices);
        let each = blocks.div_ceil(multiprocessors);
        let waves = each.div_ceil(rate.resident).max(1) - 1;
        let turns = each.div_ceil(rate.together).saturating_mul(rate.together);
        // Blocks that are left over after whole waves keep few multiprocessors busy.
        let left = waves > 0 && !each.is_multiple_of(rate.resident);
        let last = if left { rate.together } else { 0 };
        let busy = turns.saturating_add(last) as f64 + rate.more;
        let steps = busy * slice_len(inner, slices) as f64;
        let computed = steps * rate.nanoseconds[usize::from(!whole)] + waves as f64 * WAVE;
        LAUNCH + computed + folding::<T>(shape, slices)
    };
    let longest = (inner / SHORTEST).clamp(1, most);
    let all = Cut::ALL
        .into_iter()
        .flat_map(|cut| (1..=longest).map(move |slices| (time(cut, slices), cut, slices)));
    let fastest = all.min_by(|(one, ..), (other, ..)| one.total_cmp(other));
    let (time, cut, slices) = fastest.unwrap_or((0.0, Cut::Small, 1));
    (time, Slicing { cut, slices })
}

/// Nanoseconds of the launch that adds the slices.
pub(super) fn folding<T: Float>(shape: MatmulShape, slices: usize) -> f64 {
    if slices == 1 {
        return 0.0;
    }
    let bytes = 2.0 * (slices * size_of::<T>()) as f64 * shape.rows as f64 * shape.cols as f64;
    let rate = SUMS[usize::from(!shape.cols.is_multiple_of(VECTOR))];
    FOLD + SLICE * slices as f64 + bytes / rate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;

    fn chosen<T: Float>([rows, inner, cols]: [usize; 3]) -> (MatmulKernel, Slicing) {
        let shape = MatmulShape { rows, inner, cols };
        let kernel = kernel::<T>(shape, &h200());
        let slicing = slicing::<T>(kernel, shape, 1024, &h200());
        (kernel, slicing)
    }

    /// Within 5 % of what the sweep found fastest.
    #[test]
    fn the_model_chooses_what_was_measured() {
        for (shape, cut, slices) in [
            ([512; 3], Cut::Square, 4),
            ([64, 4096, 4096], Cut::Square, 8),
            ([256, 65536, 256], Cut::Square, 49),
            ([128, 8192, 128], Cut::Small, 32),
            ([1536; 3], Cut::Square, 4),
            ([600, 4099, 604], Cut::Square, 5),
            ([1024; 3], Cut::Square, 1),
        ] {
            let expected = (MatmulKernel::Sliced, Slicing { cut, slices });
            assert_eq!(chosen::<f32>(shape), expected, "{shape:?}");
        }
        for (shape, slices) in [([512; 3], 4), ([1024; 3], 1), ([2048; 3], 1)] {
            let (kernel, slicing) = chosen::<f64>(shape);
            assert_eq!(
                (kernel, slicing.slices),
                (MatmulKernel::Mma, slices),
                "{shape:?}"
            );
        }
    }

    #[test]
    fn b_is_copied_where_vectors_save_more() {
        let copied = |[rows, inner, cols]: [usize; 3]| {
            let shape = MatmulShape { rows, inner, cols };
            let kernel = kernel::<f32>(shape, &h200());
            slicing_of_copy::<f32>(kernel, shape, &h200())
        };
        let slicing = copied([600, 4099, 601]).expect("a copy of a sixth of the time saved");
        assert_eq!(slicing.cut, Cut::Square);
        for without in [
            [600, 4099, 604],
            [129, 300, 515],
            [64, 4096, 4097],
            [300, 8192, 303],
        ] {
            assert_eq!(copied(without), None, "{without:?}");
        }
    }

    #[test]
    fn vectors_are_cut_until_they_fill_the_device() {
        for (shape, slices) in [
            ([4096, 4096, 1], 1),
            ([1, 4096, 4096], 2),
            ([64, 1_000_000, 1], 33),
            ([1, 1024, 1024], 4),
            ([1024, 1024, 1], 1),
            ([1, 0, 5], 1),
        ] {
            let (kernel, slicing) = chosen::<f32>(shape);
            assert_eq!(
                (kernel, slicing.slices),
                (MatmulKernel::Vector, slices),
                "{shape:?}"
            );
        }
    }

    #[test]
    fn blocks_stay_where_rows_are_many_times_as_many() {
        for (rows, blocks) in [(1_000_000, 8 * 132), (250_000, 7813), (4096, 128)] {
            let [inner, cols] = [100, 1];
            let shape = MatmulShape { rows, inner, cols };
            assert_eq!(row_blocks::<f32>(shape, &h200()), blocks, "{rows}");
        }
    }

    #[test]
    fn what_is_large_or_small_goes_without_slices() {
        assert_eq!(chosen::<f32>([4096; 3]).0, MatmulKernel::Pipelined);
        assert_eq!(chosen::<f32>([33, 5, 16]).0, MatmulKernel::Tiled);
        assert_eq!(chosen::<f64>([256; 3]).0, MatmulKernel::Tiled);
    }
}
