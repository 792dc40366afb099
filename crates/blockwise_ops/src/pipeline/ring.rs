//! Chunks in flight, and their memory.

use blockwise::{Device, Plain, StagedBuffer, Stream};

use crate::LaunchError;

/// Chunks in flight: one each for the copy to the device, the kernel and the copy back.
pub const IN_FLIGHT: usize = 3;

/// Default number of elements per chunk: 32 MiB of `f32`. A GPU's copies reach full speed at about
/// 1 MiB; page-locking the memory of a chunk takes 0.4 ms per MiB.
pub const CHUNK: usize = 1 << 23;

/// The resources of chunks, used in turn. Each lane keeps its memory for the next chunk, because
/// most chunks have the same length.
pub(super) struct Ring<L> {
    lanes: Vec<Slot<L>>,
    next: usize,
}

struct Slot<L> {
    lane: L,
    busy: bool,
}

impl<L> Ring<L> {
    pub(super) fn new(
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
    pub(super) fn turn(&mut self) -> (&mut L, bool) {
        let slot = &mut self.lanes[self.next];
        self.next = (self.next + 1) % IN_FLIGHT;
        (&mut slot.lane, std::mem::replace(&mut slot.busy, true))
    }

    /// The lanes of the chunks in flight, the oldest first.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = &mut L> {
        let (later, first) = self.lanes.split_at_mut(self.next);
        let slots = first.iter_mut().chain(later);
        slots.filter_map(|slot| std::mem::take(&mut slot.busy).then_some(&mut slot.lane))
    }
}

/// The existing buffer if it has the length, otherwise a new one in its place.
pub(super) fn fit<'a, T: Plain>(
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
