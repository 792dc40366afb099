//! Operands of any length, in chunks and bounded memory.
//!
//! Each chunk is copied to the device, processed and copied back on its own [`Stream`], while the
//! caller provides the next one and consumes the results of the last: with [`IN_FLIGHT`] chunks,
//! the copies in both directions, the kernels and file accesses overlap. Closures provide samples
//! and consume results.

mod axis;
mod conv1d;
mod reduce;

use blockwise::{Device, Event, Plain, StagedBuffer, Stream};

use crate::LaunchError;

pub use axis::{AxisReducer, Piece};
pub use conv1d::Convolver;
pub use reduce::Reducer;

/// Chunks in flight: one each for the copy to the device, the kernel and the copy back.
pub const IN_FLIGHT: usize = 3;

/// Default number of elements per chunk: 32 MiB of `f32`. A GPU's copies reach full speed at about
/// 1 MiB; page-locking the memory of a chunk takes 0.4 ms per MiB.
pub const CHUNK: usize = 1 << 23;

/// The device's time for chunks, in seconds. Overlapping work counts more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceTimes {
    /// Copies to and from the device.
    pub copying: f64,
    /// Running kernels.
    pub computing: f64,
}

impl DeviceTimes {
    /// Adds a chunk that has finished: its events are before and after its copies to the device,
    /// after its kernels, and after its copies back.
    fn add(&mut self, chunk: &[Event; 4]) -> Result<(), LaunchError> {
        let [start, copied, computed, end] = chunk;
        self.copying += copied.seconds_since(start)? + end.seconds_since(computed)?;
        self.computing += computed.seconds_since(copied)?;
        Ok(())
    }
}

/// The resources of chunks, used in turn. Each lane keeps its memory for the next chunk, because
/// most chunks have the same length.
struct Ring<L> {
    lanes: Vec<Slot<L>>,
    next: usize,
}

struct Slot<L> {
    lane: L,
    busy: bool,
}

impl<L> Ring<L> {
    fn new(
        device: &Device,
        lane: impl Fn(Stream) -> Result<L, LaunchError>,
    ) -> Result<Self, LaunchError> {
        let slot = |_| {
            Ok(Slot {
                lane: lane(device.stream()?)?,
                busy: false,
            })
        };
        let lanes: Result<_, LaunchError> = (0..IN_FLIGHT).map(slot).collect();
        Ok(Self {
            lanes: lanes?,
            next: 0,
        })
    }

    /// The next chunk's lane, and whether the oldest chunk is still in it.
    fn turn(&mut self) -> (&mut L, bool) {
        let slot = &mut self.lanes[self.next];
        self.next = (self.next + 1) % IN_FLIGHT;
        (&mut slot.lane, std::mem::replace(&mut slot.busy, true))
    }

    /// Lets `finish` handle every chunk in flight, the oldest first.
    fn drain<E>(&mut self, mut finish: impl FnMut(&mut L) -> Result<(), E>) -> Result<(), E> {
        for _ in 0..IN_FLIGHT {
            let slot = &mut self.lanes[self.next];
            if std::mem::take(&mut slot.busy) {
                finish(&mut slot.lane)?;
            }
            self.next = (self.next + 1) % IN_FLIGHT;
        }
        Ok(())
    }
}

/// The existing buffer if it has the length, otherwise a new one in its place.
fn fit<'a, T: Plain>(
    buffer: &'a mut Option<StagedBuffer<T>>,
    stream: &Stream,
    len: usize,
) -> Result<&'a mut StagedBuffer<T>, LaunchError> {
    let kept = buffer.take().filter(|kept| kept.len() == len);
    let fitting = match kept {
        Some(kept) => kept,
        None => StagedBuffer::new(stream, len)?,
    };
    Ok(buffer.insert(fitting))
}
