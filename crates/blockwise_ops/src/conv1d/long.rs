//! Convolutions by FFT through global memory, in batches of windows.

use blockwise::{Buffer, Device, DeviceProperties, Stream};
use kernels::conv1d::fft::columns::{RADIX, THREADS};
use kernels::conv1d::fft::shape::{discarded, shift};

use super::routines::{
    ColumnsOperands, LevelsOperands, LongRoutines, Operands, OutputsOperands, RowsOperands,
    TapsRowsOperands,
};
use super::{ConvKernel, ConvOptions};
use crate::launch::On;
use crate::limits::{blocks_for, plan_1d};
use crate::{Float, LaunchError, LaunchPlan};

/// Bytes of the transforms in memory at a time, unless one pair of windows needs more.
const BATCH_BYTES: usize = 128 << 20;

/// How the outputs are divided into pairs of windows, and these into batches of equal size.
#[derive(Clone, Copy)]
pub(super) struct Batches {
    discarded: usize,
    kept: usize,
    /// Pairs of windows per batch.
    pub(super) pairs: usize,
    /// Pairs of windows in all batches.
    all: usize,
}

impl Batches {
    pub(super) fn new<T: Float>(
        routines: &LongRoutines<T>,
        taps: usize,
        [offset, outputs]: [usize; 2],
        options: &ConvOptions,
    ) -> Self {
        let discarded = discarded(taps, shift(offset));
        let kept = routines.points() - discarded;
        let most = match options.tiles_each {
            Some(pairs) => pairs.get() as usize,
            None => (BATCH_BYTES / (routines.points() * 2 * size_of::<T>())).max(1),
        };
        let pairs = outputs.div_ceil(2 * kept).max(1);
        Self {
            discarded,
            kept,
            pairs: pairs.div_ceil(pairs.div_ceil(most)),
            all: pairs,
        }
    }
}

/// Bytes per nanosecond that the kernels read and write.
pub(super) const BANDWIDTH: f64 = 4000.0;

/// Time of a convolution on an H200 in ns: the launches, the points that are transformed, and the
/// signal and output. Measured for `f32` (docs/log/2026-11-23-long-convolution.md); `f64` moves
/// twice the bytes.
pub(super) fn time<T>(kernel: ConvKernel, taps: usize, outputs: usize) -> f64 {
    let (points, launches, each) = match kernel {
        ConvKernel::Fft65536 => (1 << 16, 18_000.0, 9.7e-3),
        ConvKernel::Fft131072 => (1 << 17, 20_000.0, 10.2e-3),
        ConvKernel::Fft262144 => (1 << 18, 26_000.0, 10.6e-3),
        _ => (1 << 19, 36_000.0, 13.2e-3),
    };
    let pairs = outputs.div_ceil(2 * (points - taps));
    let bytes = size_of::<T>() as f64;
    let copied = 2.0 * outputs as f64 * bytes / BANDWIDTH;
    launches + (pairs * points) as f64 * each * bytes / 4.0 + copied
}

/// The memory of a convolution by long FFTs.
pub(super) struct Long<T: Float> {
    routines: LongRoutines<T>,
    factors: Buffer<T>,
    roots: Buffer<T>,
    spectrum: Buffer<T>,
    /// The transforms of a batch, and of the taps.
    points: Buffer<T>,
    /// The marks of all pairs of windows, and of the taps.
    marks: Buffer<u32>,
}

impl<T: Float> Long<T> {
    pub(super) fn new(
        device: &Device,
        routines: LongRoutines<T>,
        batches: Batches,
    ) -> Result<Self, LaunchError> {
        let len = 2 * routines.points();
        Ok(Self {
            factors: device.upload((routines.factors)())?,
            roots: device.upload((routines.roots)())?,
            spectrum: device.zeros(routines.spectrum_len)?,
            points: device.zeros((batches.pairs + 1) * len)?,
            // The same number of outputs at another offset may need one pair more.
            marks: device.zeros((batches.all + 2) * routines.marks_len)?,
            routines,
        })
    }

    /// Starts three launches per batch, the first of which include the taps', and one launch for
    /// the pairs of windows that need more.
    pub(super) fn enqueue(
        &mut self,
        device: &Device,
        stream: Option<&Stream>,
        of: Operands<'_, T>,
        options: &ConvOptions,
    ) -> Result<(), LaunchError> {
        let properties = device.properties();
        let Operands {
            signal,
            taps,
            mut output,
            offset,
        } = of;
        let Self {
            routines,
            factors,
            roots,
            spectrum,
            points,
            marks,
        } = self;
        let (columns, len) = (routines.columns, 2 * routines.points());
        let room = points.len() / len - 1;
        let across = |name, pairs: usize| {
            let blocks = blocks_for(
                pairs * columns,
                THREADS,
                options.grid_cap,
                properties.max_grid[0],
            );
            plan_1d(name, blocks, THREADS, 0, properties)
        };
        let [_, taps_bytes, levels_bytes] = routines.shared_bytes;

        let shift = shift(offset);
        let batches = Batches::new(routines, taps.len(), [offset, output.len()], options);
        let pair = 2 * batches.kept;
        let most = batches.pairs.min(room) * pair;
        for first in (0..output.len()).step_by(most) {
            let outputs = most.min(output.len() - first);
            let (before, pairs) = (first / pair, outputs.div_ceil(pair));
            // The first batch includes the taps.
            let all = pairs + usize::from(first == 0);
            let name = routines.load.entry.name;
            (routines.load.launch)(
                On::new(device, stream, &across(name, all)?),
                ColumnsOperands {
                    signal,
                    taps,
                    roots: roots.as_view(),
                    points: points.view_mut(..all * len),
                    marks: marks.view_mut(before * routines.marks_len..),
                    columns,
                    start: (offset + first + shift).wrapping_sub(batches.discarded),
                    kept: batches.kept,
                    pairs,
                    shift,
                },
            )?;
            if first == 0 {
                let name = routines.taps.entry.name;
                let taps_marks = pairs * routines.marks_len..all * routines.marks_len;
                (routines.taps.launch)(
                    On::new(
                        device,
                        stream,
                        &routines.plan(name, RADIX as u32, taps_bytes, properties)?,
                    ),
                    TapsRowsOperands {
                        points: points.view(pairs * len..all * len),
                        marks: marks.view(taps_marks),
                        factors: factors.as_view(),
                        spectrum: spectrum.as_view_mut(),
                    },
                )?;
            }
            (routines.rows.launch)(
                On::new(
                    device,
                    stream,
                    &routines.rows_plan(pairs, options, properties)?,
                ),
                RowsOperands {
                    spectrum: spectrum.as_view(),
                    factors: factors.as_view(),
                    points: points.view_mut(..pairs * len),
                },
            )?;
            let store = &routines.store;
            (store.launch)(
                On::new(device, stream, &across(store.entry.name, pairs)?),
                OutputsOperands {
                    points: points.view(..pairs * len),
                    roots: roots.as_view(),
                    output: output.as_view_mut().into_view_mut(first..first + outputs),
                    columns,
                    discarded: batches.discarded,
                },
            )?;
        }
        if output.is_empty() {
            return Ok(());
        }
        let name = routines.levels.entry.name;
        let blocks = blocks_for(
            batches.all.min(room + 1),
            1,
            options.grid_cap,
            properties.max_grid[0],
        );
        (routines.levels.launch)(
            On::new(
                device,
                stream,
                &routines.plan(name, blocks, levels_bytes, properties)?,
            ),
            LevelsOperands {
                of: Operands {
                    signal,
                    taps,
                    output,
                    offset,
                },
                spectrum: spectrum.as_view(),
                factors: factors.as_view(),
                roots: roots.as_view(),
                marks: marks.as_view(),
                points: points.as_view_mut(),
                shift,
            },
        )?;
        Ok(())
    }
}

impl<T: Float> LongRoutines<T> {
    /// Points per transform.
    pub(super) fn points(&self) -> usize {
        RADIX * self.columns
    }

    /// The launch for the rows of some pairs of windows.
    pub(super) fn rows_plan(
        &self,
        pairs: usize,
        options: &ConvOptions,
        properties: &DeviceProperties,
    ) -> Result<LaunchPlan, LaunchError> {
        let blocks = blocks_for(pairs * RADIX, 1, options.grid_cap, properties.max_grid[0]);
        self.plan(
            self.rows.entry.name,
            blocks,
            self.shared_bytes[0],
            properties,
        )
    }

    fn plan(
        &self,
        name: &'static str,
        blocks: u32,
        shared_bytes: usize,
        properties: &DeviceProperties,
    ) -> Result<LaunchPlan, LaunchError> {
        plan_1d(name, blocks, self.threads, shared_bytes as u64, properties)
    }
}
