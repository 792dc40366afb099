//! The device's limits, measured in the same run.

use blockwise::{Device, DeviceKind};
use ladder::fma_rate as peak;
use serde::{Deserialize, Serialize};

use super::measure::{self, Delay, Effort};
use super::{BenchError, Timing};

/// The ceilings, with the timings behind them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// Bytes per second of a copy within the device, reads plus writes.
    pub copy_bytes_per_second: f64,
    /// The copy.
    pub copy: Timing,
    /// `f32` operations per second of fused multiply-adds, two each.
    pub fma_per_second: f64,
    /// The fused multiply-adds.
    pub fma: Timing,
}

/// Elements of the copy: 2 GiB read and 2 GiB written.
const COPIED: usize = 1 << 29;
/// Steps of the multiply-adds: about 2 ms on a GPU.
const ROUNDS: u32 = 2000;
/// The smallest launch, because an emulator is slow.
const EMULATED: (usize, u32) = (1 << 10, 1);
/// Blocks per multiprocessor: as many threads as fit.
const BLOCKS_EACH: u32 = 8;
/// Threads whose results are compared.
const COMPARED: usize = 16;

impl Ceilings {
    /// Measures both.
    ///
    /// # Errors
    /// When the device fails, or the multiply-adds are wrong.
    pub fn measure(device: &Device) -> Result<Self, BenchError> {
        let (copied, rounds) = match device.properties().kind {
            DeviceKind::Cuda => (COPIED, ROUNDS),
            DeviceKind::Emulator => EMULATED,
        };
        let mut delay = Delay::long(device)?;

        let from = device.filled::<f32>(copied, 0x3F)?;
        let mut to = device.zeros::<f32>(copied)?;
        let copy_once = |_| Ok(to.copy_from_buffer(&from)?);
        let copy = measure::samples(device, &mut delay, 1, Effort::WHOLE, copy_once)?;

        let blocks = device.properties().multiprocessors * BLOCKS_EACH;
        let threads = peak::threads(blocks);
        let mut output = device.zeros::<f32>(threads)?;
        output.fill_bytes(0xFF)?;
        let fma = measure::samples(device, &mut delay, 1, Effort::WHOLE, |_| {
            peak::enqueue(device, None, &mut output, blocks, rounds)?;
            Ok(())
        })?;
        let results = output.to_vec()?;
        for thread in (0..threads).step_by(threads / COMPARED) {
            if results[thread] != peak::expected(thread, rounds) {
                return Err(BenchError::WrongPeak { thread });
            }
        }
        Ok(Ceilings {
            copy_bytes_per_second: (2 * copied * size_of::<f32>()) as f64 / copy.median,
            copy,
            fma_per_second: peak::operations(blocks, rounds) as f64 / fma.median,
            fma,
        })
    }
}
