//! The FFT kernels, and what their shapes need: points, threads, memory, tables.

use std::sync::OnceLock;

use blockwise::{AnyViewMut, Error, Type};
use kernels::conv1d::fft::kernels as entries;
use kernels::conv1d::fft::shape::{self, Shape};
use kernels::conv1d::fft::{columns, each_row, levels, rows};

use super::plan::one_row;
use super::{lens, of_row};
use crate::operation::{Kernel, Operands, Plan, Problem, Takes, Task, Tier, Variant, kernel};
use crate::{Element, LaunchError};

/// In shared memory: the code of the kernel that convolves.
pub const CONVOLVE: u8 = 0;
/// In shared memory: the code of the kernel that writes the taps' spectrum, before [`CONVOLVE`].
pub const TAPS: u8 = 1;
/// In shared memory: the code of the kernel that convolves each row of a matrix, instead of
/// [`CONVOLVE`]. Not every shape and type has one.
pub(super) const EACH_ROW: u8 = 2;

/// Through global memory: the code of the kernel that convolves rows, between [`COLUMNS`] and
/// [`OUTPUTS`]. Its value is that of [`CONVOLVE`], so that [`plan`] returns this launch: the
/// longest.
pub(super) const ROWS: u8 = 0;
/// Through global memory: the code of the kernel that transforms columns, before [`ROWS`].
pub(super) const COLUMNS: u8 = 1;
/// Through global memory: the code of the kernel that writes the outputs, after [`ROWS`].
pub(super) const OUTPUTS: u8 = 2;

/// What a variant's transforms need, with an entry for each type.
#[derive(Debug)]
pub struct Transforms {
    /// In any order.
    pub of: &'static [Transform],
}

/// What a variant's transforms of one type need.
#[derive(Debug)]
pub struct Transform {
    /// The type of the elements.
    pub ty: Type,
    /// Points of a window.
    pub points: usize,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of the launch that takes the longest.
    pub shared_bytes: usize,
    /// The most taps.
    pub most_taps: usize,
    /// How many points at the start of a window give no output, from the number of taps and the
    /// taps' shift.
    pub discarded: fn(usize, usize) -> usize,
    /// Elements of the taps' spectrum.
    pub spectrum_len: usize,
    /// The table of twiddle factors, which the first call computes.
    pub factors: fn() -> &'static [u8],
    /// Only for transforms through global memory: what they need besides.
    pub rows: Option<Rows>,
}

/// What transforms through global memory need in addition to the rest of [`Transform`].
#[derive(Debug)]
pub struct Rows {
    /// Points of a row.
    pub columns: usize,
    /// Dynamic shared memory of the launch that writes the outputs, in bytes.
    pub levels_bytes: usize,
    /// Number of `u32` marks of a pair of windows: the loudness by which the pair is divided.
    pub marks_len: usize,
    /// The table of twiddle factors between the columns' transforms and the rows'.
    pub roots: fn() -> &'static [u8],
}

/// Bytes of the transforms in memory at a time, unless one pair of windows needs more.
const BATCH_BYTES: usize = 128 << 20;

/// How the outputs are divided into pairs of windows, and the pairs into batches of equal size, of
/// which the last may be smaller. If the rows share the taps, their pairs are counted through all
/// rows; otherwise each row has batches of its own.
#[derive(Clone, Copy)]
pub(super) struct Batches {
    /// Pairs of windows per batch.
    pub(super) pairs: usize,
    /// Pairs of windows in all batches.
    pub(super) all: usize,
}

impl Batches {
    pub(super) fn new(of: &Transform, task: &Task<'_>) -> Self {
        let [samples, taps, offset, outputs] = task.problem.extents;
        let discarded = shape::discarded(samples.min(taps), shape::shift(offset));
        let kept = of.points - discarded;
        let most = match task.options.count {
            Some(pairs) => pairs.get() as usize,
            None => (BATCH_BYTES / (of.points * 2 * task.problem.ty.bytes())).max(1),
        };
        let each = outputs.div_ceil(2 * kept).max(1);
        let rows = match lens(task.problem) {
            [_, [_, 1]] => task.problem.all_rows().max(1),
            _ => 1,
        };
        let pairs = each.saturating_mul(rows);
        Self {
            pairs: pairs.div_ceil(pairs.div_ceil(most)),
            all: pairs,
        }
    }
}

/// The transforms of a variant, if it has any of this type.
pub(super) fn transform(variant: &Variant, ty: Type) -> Option<&'static Transform> {
    let all = variant.trait_of::<Transforms>()?;
    all.of.iter().find(|it| it.ty == ty)
}

/// Whether a variant is an FFT kernel, which needs memory and has a larger error.
pub fn is_fft(variant: &Variant) -> bool {
    variant.trait_of::<Transforms>().is_some()
}

/// Whether a variant's transforms go through global memory.
pub fn is_long(variant: &Variant) -> bool {
    let all = variant.trait_of::<Transforms>();
    all.is_some_and(|all| all.of.iter().any(|it| it.rows.is_some()))
}

/// The most taps of an FFT kernel; `None` for other kernels, and for types that it does not have.
pub fn most_taps<T: Element>(variant: &Variant) -> Option<usize> {
    transform(variant, T::TYPE).map(|it| it.most_taps)
}

/// The points of a kernel's FFTs; `None` as for [`most_taps`].
pub fn points<T: Element>(variant: &Variant) -> Option<usize> {
    transform(variant, T::TYPE).map(|it| it.points)
}

/// Whether all rows of a matrix are one [`EACH_ROW`] launch: they share the taps, and the variant
/// has that kernel for the type. Never through global memory: there, batches span the rows.
pub(super) fn takes_rows(variant: &Variant, problem: &Problem) -> bool {
    let [_, [_, of_taps]] = lens(problem);
    let mut kernels = variant.kernels.iter();
    problem.rows != [1; 2]
        && of_taps == 1
        && !is_long(variant)
        && kernels.any(|kernel| kernel.code == EACH_ROW && kernel.takes.has(problem.ty))
}

/// The plan of any FFT kernel. Through global memory, it is that of a batch's [`ROWS`] launch. Of a
/// matrix whose rows are launched one by one, it is the plan of one row.
pub(super) fn plan(task: &Task<'_>) -> Result<Plan, LaunchError> {
    // Refuses a type without a kernel; the error names the types that have one.
    task.kernel([CONVOLVE, 0])?;
    let of = transform(task.variant, task.problem.ty).ok_or(LaunchError::NoInstance {
        kernel: task.variant.name,
        given: task.problem.ty,
        known: task.variant.known(),
    })?;
    // Rows that share the taps need an `EACH_ROW` kernel or batches through global memory;
    // otherwise the matrix is refused. The ladder's kernels refuse every matrix.
    let [_, [_, of_taps]] = lens(task.problem);
    let alone = of_taps == 1 && of.rows.is_none() && !takes_rows(task.variant, task.problem);
    if alone || matches!(task.variant.tier, Tier::Ladder { .. }) {
        one_row(task)?;
    }
    let [samples, taps, offset, outputs] = task.problem.extents;
    let taps = samples.min(taps);
    if taps > of.most_taps {
        return Err(LaunchError::TooManyTaps {
            kernel: task.variant.name,
            taps,
            limit: of.most_taps as u32,
        });
    }
    let threads = task.fixed_block(of.threads)?;
    let blocks = match &of.rows {
        Some(_) => Batches::new(of, task).pairs * columns::RADIX,
        None => {
            let kept = of.points - (of.discarded)(taps, shape::shift(offset));
            outputs.div_ceil(2 * kept)
        }
    };
    let shared = of.shared_bytes as u64;
    match takes_rows(task.variant, task.problem) {
        true => {
            let rows = task.problem.all_rows();
            task.plan_layers([EACH_ROW, 0], blocks, rows, threads, shared)
        }
        false => task.plan_blocks([CONVOLVE, 0], blocks, threads, shared),
    }
}

/// The bytes of a table of complex numbers in a kernel's type.
macro_rules! table {
    ($t:ident, $table:expr) => {
        || {
            static TABLE: OnceLock<Vec<$t>> = OnceLock::new();
            let table = TABLE.get_or_init(|| {
                let table = $table;
                let parts = table.as_flattened().iter();
                parts.map(|&part| part as $t).collect()
            });
            bytemuck::cast_slice(table)
        }
    };
}

macro_rules! in_shared_memory {
    ($Type:ident $t:ident, $Shape:ident) => {
        Transform {
            ty: Type::$Type,
            points: <shape::$Shape as Shape>::POINTS,
            threads: <shape::$Shape as Shape>::THREADS as u32,
            shared_bytes: shape::shared_bytes::<shape::$Shape, $t>(),
            most_taps: shape::most_taps::<shape::$Shape, $t>(),
            discarded: shape::discarded,
            spectrum_len: shape::spectrum_len::<shape::$Shape>(),
            factors: table!($t, shape::factors::<shape::$Shape>()),
            rows: None,
        }
    };
}

macro_rules! through_global_memory {
    ($Type:ident $t:ident, $Shape:ident) => {
        Transform {
            ty: Type::$Type,
            points: columns::RADIX * <shape::$Shape as Shape>::POINTS,
            threads: <shape::$Shape as Shape>::THREADS as u32,
            shared_bytes: shape::rows_bytes::<shape::$Shape, $t>(),
            most_taps: shape::quarter_kept(columns::RADIX * <shape::$Shape as Shape>::POINTS),
            discarded: shape::discarded,
            spectrum_len: shape::long_spectrum_len::<shape::$Shape>(),
            factors: table!($t, shape::factors::<shape::$Shape>()),
            rows: Some(Rows {
                columns: <shape::$Shape as Shape>::POINTS,
                levels_bytes: shape::levels_bytes::<shape::$Shape, $t>(),
                marks_len: shape::marks_len(<shape::$Shape as Shape>::POINTS),
                roots: table!($t, columns::roots(<shape::$Shape as Shape>::POINTS)),
            }),
        }
    };
}

pub(super) static FFT2048_TRANSFORMS: Transforms = Transforms {
    of: &[in_shared_memory!(F32 f32, Points2048)],
};
pub(super) static FFT4096_TRANSFORMS: Transforms = Transforms {
    of: &[
        in_shared_memory!(F32 f32, Points4096),
        in_shared_memory!(F64 f64, Points4096),
    ],
};
pub(super) static FFT8192_TRANSFORMS: Transforms = Transforms {
    of: &[in_shared_memory!(F32 f32, Points8192)],
};
pub(super) static FFT16384_TRANSFORMS: Transforms = Transforms {
    of: &[in_shared_memory!(F32 f32, Points16384)],
};
pub(super) static FFT65536_TRANSFORMS: Transforms = Transforms {
    of: &[through_global_memory!(F32 f32, Points2048)],
};
pub(super) static FFT131072_TRANSFORMS: Transforms = Transforms {
    of: &[
        through_global_memory!(F32 f32, Points4096),
        through_global_memory!(F64 f64, Points4096),
    ],
};
pub(super) static FFT262144_TRANSFORMS: Transforms = Transforms {
    of: &[through_global_memory!(F32 f32, Points8192)],
};
pub(super) static FFT524288_TRANSFORMS: Transforms = Transforms {
    of: &[through_global_memory!(F32 f32, Points16384)],
};

/// The kernels of a transform in shared memory. `taps` computes the taps' spectrum from taps and
/// factors. The others take signal, taps, spectrum and factors. With `rows CONVOLVE`, a single
/// signal is convolved by the rows' kernel as a matrix of one row: it is as fast there.
macro_rules! transforms {
    ($($Type:ident $t:ident: taps $taps:ident $(, $what:ident $code:ident $convolve:ident)*;)*) => {
        &[$(
            $(transforms!(@$what $Type $t $code $convolve),)*
            kernel!(Takes::Type(Type::$Type), [TAPS, 0], entries::$taps<$t>, |of| (
                of.inputs[0].plain::<$t>()?,
                of.inputs[1].plain::<$t>()?,
                of.output.plain::<$t>()?,
                shape::shift(of.problem.extents[2])
            ))
        ),*]
    };
    (@signal $Type:ident $t:ident $code:ident $convolve:ident) => {
        kernel!(Takes::Type(Type::$Type), [$code, 0], entries::$convolve<$t>, |of| (
            of.inputs[0].plain::<$t>()?,
            of.inputs[1].plain::<$t>()?,
            of.inputs[2].plain::<$t>()?,
            of.inputs[3].plain::<$t>()?,
            of.output.plain::<$t>()?,
            of.problem.extents[2],
            shape::shift(of.problem.extents[2])
        ))
    };
    (@rows $Type:ident $t:ident $code:ident $convolve:ident) => {
        kernel!(Takes::Type(Type::$Type), [$code, 0], each_row::$convolve<$t>, |of| {
            let ([samples, _, outputs], [signal_pitch, _]) = of_row(&of.problem);
            (
                of.inputs[0].plain::<$t>()?,
                of.inputs[1].plain::<$t>()?,
                of.inputs[2].plain::<$t>()?,
                of.inputs[3].plain::<$t>()?,
                of.output.plain::<$t>()?,
                of.problem.extents[2],
                shape::shift(of.problem.extents[2]),
                samples,
                outputs,
                signal_pitch
            )
        })
    };
}

/// The scalars of a pass over columns. Its problem has extents of its own: pairs of windows before
/// the batch, the batch's pairs, the offset, and a row's outputs.
struct Pass {
    shift: usize,
    /// The first sample of a row's first window.
    start: usize,
    /// Samples between two windows.
    kept: usize,
    before: usize,
    pairs: usize,
    /// Pairs of a row.
    each: usize,
    samples: usize,
    outputs: usize,
    pitch: usize,
}

impl Pass {
    fn of<S: Shape>(of: &Operands<'_>) -> Self {
        let [before, pairs, offset, outputs] = of.problem.extents;
        let [rows, _] = of.problem.rows;
        let samples = of.inputs[0].len() / rows.max(1);
        let shift = shape::shift(offset);
        let discarded = shape::discarded(of.inputs[1].len(), shift);
        let kept = columns::RADIX * S::POINTS - discarded;
        Self {
            shift,
            start: (offset + shift).wrapping_sub(discarded),
            kept,
            before,
            pairs,
            each: outputs.div_ceil(2 * kept),
            samples,
            outputs,
            pitch: if rows == 1 { 0 } else { samples },
        }
    }
}

/// The kernels of a transform through global memory, whose launches have inputs and extents of
/// their own: [`Long`](super::long::Long) makes them.
macro_rules! long_transforms {
    ($($Type:ident $t:ident $Shape:ident: $rows:ident, $load:ident, $outputs:ident;)*) => {
        &[$(
            kernel!(Takes::Type(Type::$Type), [ROWS, 0], rows::$rows<$t>, |of| (
                of.inputs[0].plain::<$t>()?,
                of.inputs[1].plain::<$t>()?,
                of.inputs[2].plain::<u32>()?,
                of.output.plain::<$t>()?
            )),
            kernel!(Takes::Type(Type::$Type), [COLUMNS, 0], columns::$load<$t>, |of| {
                let pass = Pass::of::<shape::$Shape>(&of);
                (
                    of.inputs[0].plain::<$t>()?,
                    of.inputs[1].plain::<$t>()?,
                    of.inputs[2].plain::<$t>()?,
                    of.output.plain::<$t>()?,
                    more(of.memory)?.plain::<u32>()?,
                    <shape::$Shape as Shape>::POINTS,
                    pass.start,
                    pass.kept,
                    pass.before,
                    pass.pairs,
                    pass.each,
                    pass.shift,
                    pass.samples,
                    pass.pitch
                )
            }),
            kernel!(Takes::Type(Type::$Type), [OUTPUTS, 0], levels::$outputs<$t>, |of| {
                let pass = Pass::of::<shape::$Shape>(&of);
                (
                    of.inputs[0].plain::<$t>()?,
                    of.inputs[1].plain::<$t>()?,
                    of.inputs[2].plain::<$t>()?,
                    of.inputs[3].plain::<$t>()?,
                    of.inputs[4].plain::<$t>()?,
                    of.inputs[5].plain::<u32>()?,
                    more(of.memory)?.plain::<$t>()?,
                    of.output.plain::<$t>()?,
                    of.problem.extents[2],
                    pass.shift,
                    pass.before,
                    pass.pairs,
                    pass.each,
                    pass.samples,
                    pass.outputs,
                    pass.pitch
                )
            })
        ),*]
    };
}

/// What a launch writes beside its output.
fn more(memory: Option<AnyViewMut<'_>>) -> Result<AnyViewMut<'_>, Error> {
    memory.ok_or(Error::Cast {
        from: "nothing",
        to: "the launch's memory",
    })
}

pub(super) static FFT2048_KERNELS: &[Kernel] = transforms! {
    F32 f32: taps conv1d_taps_fft2048,
        signal CONVOLVE conv1d_fft2048, rows EACH_ROW conv1d_fft2048_rows;
};
pub(super) static FFT4096_KERNELS: &[Kernel] = transforms! {
    F32 f32: taps conv1d_taps_fft4096,
        signal CONVOLVE conv1d_fft4096;
    F64 f64: taps conv1d_taps_fft4096_wide,
        rows CONVOLVE conv1d_fft4096_wide, rows EACH_ROW conv1d_fft4096_wide;
};
pub(super) static FFT8192_KERNELS: &[Kernel] = transforms! {
    F32 f32: taps conv1d_taps_fft8192,
        rows CONVOLVE conv1d_fft8192, rows EACH_ROW conv1d_fft8192;
};
pub(super) static FFT16384_KERNELS: &[Kernel] = transforms! {
    F32 f32: taps conv1d_taps_fft16384,
        rows CONVOLVE conv1d_fft16384, rows EACH_ROW conv1d_fft16384;
};
pub(super) static FFT65536_KERNELS: &[Kernel] = long_transforms! {
    F32 f32 Points2048: conv1d_fft_rows2048, conv1d_fft_columns, conv1d_fft_outputs2048;
};
pub(super) static FFT131072_KERNELS: &[Kernel] = long_transforms! {
    F32 f32 Points4096: conv1d_fft_rows4096, conv1d_fft_columns, conv1d_fft_outputs4096;
    F64 f64 Points4096: conv1d_fft_rows4096_wide, conv1d_fft_columns_wide, conv1d_fft_outputs4096_wide;
};
pub(super) static FFT262144_KERNELS: &[Kernel] = long_transforms! {
    F32 f32 Points8192: conv1d_fft_rows8192, conv1d_fft_columns, conv1d_fft_outputs8192;
};
pub(super) static FFT524288_KERNELS: &[Kernel] = long_transforms! {
    F32 f32 Points16384: conv1d_fft_rows16384, conv1d_fft_columns, conv1d_fft_outputs16384;
};
