//! Which kernel computes a product, and in how many slices.
//!
//! The kernel, its tiles and its slices have the shortest time in a [model](super::cost) of the
//! launches; `blockwise tune` compares the choices on the device at hand.

use blockwise::DeviceProperties;
use kernels::matmul::policy::{Tiles, VECTOR, WIDE_BUSY};
use kernels::matmul::slices::{Cut, MOST_SLICES, Slicing};
use kernels::matmul::vector;
use kernels::pack::lanes;

use super::cost::{self, Cost, SHORTEST};
use super::vectors::vectors;
use super::{MatmulKernel, MatmulShape, mma};
use crate::{Float, tuning};

/// Nanoseconds of a launch that copies B before the product, and per row; bytes per nanosecond that
/// it reads and writes: 11 µs for 4099 × 601, 6 for 1000 × 1001, 16 for 8192 × 303.
const COPY: f64 = 3200.0;
const ROW: f64 = 0.8;
const COPIED: f64 = 4000.0;
/// The fraction of the time without a copy that a product with a copy may take.
const WORTH: f64 = 0.97;

/// Products of a vector with a shorter inner extent than this, and at most as many outputs, are
/// faster with a general kernel than with [`vector`]: f32 1 × 7 × 18266 takes 5.4 µs instead of
/// 6.5. For rows of f32 that are not whole vectors: 440 × 33 × 1 takes 4.2 instead of 4.8, 867 ×
/// 170 × 1 7.0 instead of 5.9.
const SHORT: usize = 16;
const SHORT_RAGGED: usize = 129;
const FEW_OUTPUTS: usize = 20_000;

/// Blocks per multiprocessor that keep memory busy with a vector's product, and the smallest inner
/// extent of their slices: 64 × 1,000,000 × 1 is fastest in 32 slices of 8 blocks, 1024 × 1024 × 1
/// in one slice, 1 × 1024 × 1024 in four slices of 32 blocks.
const VECTOR_BLOCKS: usize = 2;
const SHORTEST_ROW: usize = 2048;
const SHORTEST_COL: usize = 256;

/// Persistent blocks per multiprocessor where there are many more rows: 1,000,000 × 100 × 1 takes
/// 114 µs with these and 134 with one block per 32 rows.
const STAYING: usize = 8;
const MANY: usize = 8;

/// Blocks that compute the rows of a matrix times a vector.
pub(super) fn row_blocks<T: Float>(shape: MatmulShape, properties: &DeviceProperties) -> usize {
    let all = vector::row_blocks::<T>(shape.rows, shape.inner);
    let staying = STAYING * properties.multiprocessors_to_fill() as usize;
    if all > MANY * staying { staying } else { all }
}

/// The kernel that `blockwise tune` has saved for such products.
pub(super) fn saved<T: Float>(
    shape: MatmulShape,
    properties: &DeviceProperties,
) -> Option<MatmulKernel> {
    let extents = [shape.rows, shape.inner, shape.cols];
    let kernel: MatmulKernel = tuning::kernel(properties, "matmul", T::NAME, &extents)?;
    kernel.takes::<T>(shape).then_some(kernel)
}

/// The fastest kernel for the type and the shape in at most `most` slices: the saved one, or by the
/// model.
pub(super) fn kernel<T: Float>(
    shape: MatmulShape,
    most: usize,
    properties: &DeviceProperties,
) -> MatmulKernel {
    if let Some(kernel) = saved::<T>(shape, properties) {
        return kernel;
    }
    if vector_pays::<T>(shape) {
        return MatmulKernel::Vector;
    }
    let bytes = size_of::<T>();
    let multiprocessors = properties.multiprocessors_to_fill() as usize;
    let whole = |cost: Cost| Some(cost.time(shape, 1, [true; 2], multiprocessors));
    let time = |kernel| match kernel {
        MatmulKernel::Naive => whole(cost::naive(bytes)),
        MatmulKernel::Tiled => whole(cost::tiled(bytes)),
        MatmulKernel::RegisterTile => whole(cost::register_tile(bytes)),
        MatmulKernel::Pipelined => {
            let wide = Tiles::Wide.fit(shape.cols) && wide_fills(shape, properties);
            wide.then(|| whole(cost::WIDE))?
        }
        MatmulKernel::Sliced => {
            let vectors = vectors::<T>(kernel, shape, shape.cols, [true; 3]);
            Some(fastest::<T>(shape, most, vectors, properties).0)
        }
        MatmulKernel::Mma => Some(mma::slices(shape, most, properties).0),
        MatmulKernel::TiledRaw | MatmulKernel::Vector => None,
    };
    let all = MatmulKernel::ALL.iter().copied();
    let timed = all
        .filter(|kernel| kernel.takes::<T>(shape))
        .filter_map(|kernel| Some((time(kernel)?, kernel)));
    let fastest = timed.min_by(|(one, _), (other, _)| one.total_cmp(other));
    fastest.map_or(MatmulKernel::Tiled, |(_, kernel)| kernel)
}

/// Whether [`vector`] is the fastest kernel for a vector's product.
fn vector_pays<T: Float>(shape: MatmulShape) -> bool {
    let MatmulShape { rows, inner, cols } = shape;
    let ragged = cols == 1 && size_of::<T>() == 4 && !inner.is_multiple_of(lanes::<T>());
    let short = inner < if ragged { SHORT_RAGGED } else { SHORT };
    let few = rows.max(cols) <= FEW_OUTPUTS;
    MatmulKernel::Vector.takes::<T>(shape) && !(short && few)
}

/// Whether tiles of [`Tiles::Wide`] keep the multiprocessors busy.
pub(super) fn wide_fills(shape: MatmulShape, properties: &DeviceProperties) -> bool {
    let at_once = properties.multiprocessors_to_fill() as usize;
    let wide = Tiles::Wide.policy().tiles(shape.rows, shape.cols);
    let most = wide.div_ceil(at_once).saturating_mul(at_once);
    wide > 0 && wide.saturating_mul(100) >= most.saturating_mul(WIDE_BUSY)
}

/// Whether there are enough tiles for copies of the operands to pay: at 512 × 4099 × 513 they take
/// 2.8 times as long as slices, at 1500 × 1501 × 1502 the same time.
pub(super) fn fills_without_slices(shape: MatmulShape, properties: &DeviceProperties) -> bool {
    let tiles = Tiles::Ragged.policy().tiles(shape.rows, shape.cols);
    tiles >= 2 * properties.multiprocessors_to_fill() as usize
}

/// The number of slices, at most `most`, with which the kernel is fastest.
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
        let (cut, slices) = (Cut::Small, mma::slices(shape, most, properties).1);
        return Slicing { cut, slices };
    }
    let vectors = vectors::<T>(kernel, shape, cols, [true; 3]);
    fastest::<T>(shape, most, vectors, properties).1
}

/// The number of slices with which `sliced` is fastest for a copy of B in vectors, if the copy
/// pays.
pub(super) fn slicing_of_copy<T: Float>(
    kernel: MatmulKernel,
    shape: MatmulShape,
    properties: &DeviceProperties,
) -> Option<Slicing> {
    let with = |pitch| vectors::<T>(kernel, shape, pitch, [true; 3]);
    if kernel != MatmulKernel::Sliced || with(shape.cols) || !with(VECTOR) {
        return None;
    }
    let fastest = |vectors| fastest::<T>(shape, MOST_SLICES, vectors, properties);
    let ((single, _), (copied, slicing)) = (fastest(false), fastest(true));
    let (inner, cols) = (shape.inner as f64, shape.cols as f64);
    let moved = 2.0 * size_of::<T>() as f64 * inner * cols;
    let copied = copied + COPY + ROW * inner + moved / COPIED;
    (copied < WORTH * single).then_some(slicing)
}

/// The number of slices, at most `most`, with which `sliced` is fastest, and the nanoseconds.
/// `vectors` says whether the operands move 16 bytes at a time.
fn fastest<T: Float>(
    shape: MatmulShape,
    most: usize,
    vectors: bool,
    properties: &DeviceProperties,
) -> (f64, Slicing) {
    let multiprocessors = properties.multiprocessors_to_fill() as usize;
    let stores = vectors && shape.cols.is_multiple_of(lanes::<T>());
    let longest = (shape.inner / SHORTEST).clamp(1, most);
    let all = Cut::ALL.iter().flat_map(|&cut| {
        let cost = cost::sliced(cut);
        (1..=longest).map(move |slices| {
            let multiplied = cost.time(shape, slices, [vectors, stores], multiprocessors);
            let time = multiplied + cost::fold(shape, slices, size_of::<T>());
            (time, Slicing { cut, slices })
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

    fn chosen<T: Float>([rows, inner, cols]: [usize; 3]) -> (MatmulKernel, Slicing) {
        let shape = MatmulShape { rows, inner, cols };
        let kernel = kernel::<T>(shape, MOST_SLICES, &h200());
        let slicing = slicing::<T>(kernel, shape, MOST_SLICES, &h200());
        (kernel, slicing)
    }

    /// Within 5 % of the fastest that was measured: tables of the log, and products of the sweeps.
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
        for (shape, slices) in [([1024; 3], 1), ([2048; 3], 1)] {
            let (kernel, slicing) = chosen::<f64>(shape);
            assert_eq!(
                (kernel, slicing.slices),
                (MatmulKernel::Mma, slices),
                "{shape:?}"
            );
        }
        for (shape, kernel) in [
            ([2499, 6, 4931], MatmulKernel::RegisterTile),
            ([14407, 11, 1785], MatmulKernel::RegisterTile),
            ([19269, 7, 354], MatmulKernel::RegisterTile),
            ([233, 1, 1659], MatmulKernel::Naive),
            ([2, 1, 17152], MatmulKernel::Naive),
            ([138, 15, 200], MatmulKernel::Tiled),
            ([43, 129, 97], MatmulKernel::Tiled),
            ([8426, 4, 1864], MatmulKernel::Pipelined),
            ([4080, 27, 1192], MatmulKernel::Sliced),
            ([4096; 3], MatmulKernel::Pipelined),
            ([8192; 3], MatmulKernel::Pipelined),
        ] {
            assert_eq!(chosen::<f32>(shape).0, kernel, "f32 {shape:?}");
        }
        for (shape, kernel) in [
            ([2499, 6, 4931], MatmulKernel::RegisterTile),
            ([1084, 1, 8065], MatmulKernel::RegisterTile),
            ([233, 1, 1659], MatmulKernel::Naive),
            ([43, 129, 97], MatmulKernel::Tiled),
            ([1943, 17, 249], MatmulKernel::Mma),
            ([410, 178, 209], MatmulKernel::Mma),
            ([4316, 30, 34], MatmulKernel::Mma),
            ([8426, 4, 1864], MatmulKernel::Mma),
            ([265, 699, 2717], MatmulKernel::Mma),
        ] {
            assert_eq!(chosen::<f64>(shape).0, kernel, "f64 {shape:?}");
        }
    }

    #[test]
    fn b_is_copied_where_vectors_save_more() {
        let copied = |[rows, inner, cols]: [usize; 3]| {
            let shape = MatmulShape { rows, inner, cols };
            let kernel = kernel::<f32>(shape, MOST_SLICES, &h200());
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
            ([1, 16, 5], 1),
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
    fn a_product_without_elements_has_a_kernel() {
        for shape in [[0; 3], [0, 5, 7], [5, 0, 7], [1, 0, 5], [5, 7, 0]] {
            let (kernel, slicing) = chosen::<f32>(shape);
            assert!(
                kernel != MatmulKernel::Vector && slicing.slices == 1,
                "{shape:?}"
            );
        }
    }

    #[test]
    fn short_sums_of_few_outputs_go_without_vector() {
        for (shape, kernel) in [
            ([1, 7, 18_266], MatmulKernel::Tiled),
            ([1, 7, 1_000_000], MatmulKernel::Vector),
            ([201, 126, 1], MatmulKernel::Tiled),
            ([201, 128, 1], MatmulKernel::Vector),
        ] {
            assert_eq!(chosen::<f32>(shape).0, kernel, "{shape:?}");
        }
    }
}
