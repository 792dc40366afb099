//! Convolutions by transforms through global memory, in batches of windows.

use blockwise::{Buffer, Device, DeviceProperties, Stream};
use kernels::conv1d::fft::columns::{RADIX, THREADS};
use kernels::conv1d::fft::shape::{discarded, shift};

use super::routines::{
    ColumnsOperands, LongRoutines, Operands, OutputsOperands, RowsOperands, TapsRowsOperands,
};
use super::{ConvKernel, ConvOptions};
use crate::launch::On;
use crate::limits::{blocks_for, plan_1d};
use crate::{Float, LaunchError, LaunchPlan};

/// Bytes of the transforms that are in memory at a time, unless one pair of windows needs more.
const BATCH_BYTES: usize = 128 << 20;

/// The division of the outputs into pairs of windows, and those into batches of equal size.
#[derive(Clone, Copy)]
pub(super) struct Batches {
    discarded: usize,
    kept: usize,
    /// Pairs of windows per batch.
    pub(super) pairs: usize,
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
        }
    }
}

/// Bytes a nanosecond at which kernels read and write.
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

/// The memory of a convolution by long transforms.
pub(super) struct Long<T: Float> {
    routines: LongRoutines<T>,
    factors: Buffer<T>,
    roots: Buffer<T>,
    spectrum: Buffer<T>,
    /// The transforms of a batch.
    points: Buffer<T>,
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
            spectrum: device.alloc(len)?,
            points: device.alloc(batches.pairs * len)?,
            routines,
        })
    }

    /// Starts the transform of the taps, then three launches per batch.
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
        } = self;
        let (columns, len) = (routines.columns, 2 * routines.points());
        let room = points.len() / len;
        let across = |name, pairs: usize| {
            let blocks = blocks_for(
                pairs * columns,
                THREADS,
                options.grid_cap,
                properties.max_grid[0],
            );
            plan_1d(name, blocks, THREADS, 0, properties)
        };

        let shift = shift(offset);
        let load = routines.load.entry.name;
        (routines.load.launch)(
            On::new(device, stream, &across(load, 1)?),
            ColumnsOperands {
                signal: taps,
                roots: roots.as_view(),
                points: points.view_mut(..len),
                columns,
                start: 0_usize.wrapping_sub(shift),
                // No second window.
                kept: usize::MAX / 2,
            },
        )?;
        let name = routines.taps.entry.name;
        (routines.taps.launch)(
            On::new(
                device,
                stream,
                &routines.plan(name, RADIX as u32, properties)?,
            ),
            TapsRowsOperands {
                points: points.view(..len),
                factors: factors.as_view(),
                spectrum: spectrum.as_view_mut(),
            },
        )?;

        let batches = Batches::new(routines, taps.len(), [offset, output.len()], options);
        let pair = 2 * batches.kept;
        let most = batches.pairs.min(room) * pair;
        for first in (0..output.len()).step_by(most) {
            let outputs = most.min(output.len() - first);
            let pairs = outputs.div_ceil(pair);
            let offset = offset + first;
            (routines.load.launch)(
                On::new(device, stream, &across(load, pairs)?),
                ColumnsOperands {
                    signal,
                    roots: roots.as_view(),
                    points: points.view_mut(..pairs * len),
                    columns,
                    start: (offset + shift).wrapping_sub(batches.discarded),
                    kept: batches.kept,
                },
            )?;
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
                    of: Operands {
                        signal,
                        taps,
                        output: output.as_view_mut().into_view_mut(first..first + outputs),
                        offset,
                    },
                    columns,
                    discarded: batches.discarded,
                },
            )?;
        }
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
        self.plan(self.rows.entry.name, blocks, properties)
    }

    fn plan(
        &self,
        name: &'static str,
        blocks: u32,
        properties: &DeviceProperties,
    ) -> Result<LaunchPlan, LaunchError> {
        plan_1d(
            name,
            blocks,
            self.threads,
            self.shared_bytes as u64,
            properties,
        )
    }
}
