//! Operands of any length, chunk by chunk in bounded memory.
//!
//! A chunk is copied to the device, worked on and copied back on a [`Stream`] of its own, while the caller
//! brings the next one and takes the results of the last: with [`IN_FLIGHT`] chunks the copies in both directions, the kernels and
//! the files overlap. Nothing here knows where samples come from or go to: closures do.

mod conv1d;
mod reduce;

use blockwise::{Device, StagedBuffer, Stream};

use crate::{Element, LaunchError};

pub use conv1d::Convolver;
pub use reduce::{Operation, Reducer};

/// Chunks in flight: one each for the copy in, the kernel and the copy out.
pub const IN_FLIGHT: usize = 3;

/// Elements of a chunk, unless asked for otherwise: 64 MiB of `f32`. A GPU's copies are at full speed from about a MiB on.
pub const CHUNK: usize = 1 << 24;

/// What chunks need, used in turn. Each lane keeps its memory for the next chunk: most chunks have one length.
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

    /// Gives the next chunk its lane, after `finish` has seen to the chunk that was in it: the oldest of all.
    fn turn<E>(&mut self, finish: impl FnOnce(&mut L) -> Result<(), E>) -> Result<&mut L, E> {
        let slot = &mut self.lanes[self.next];
        if slot.busy {
            finish(&mut slot.lane)?;
        }
        slot.busy = true;
        self.next = (self.next + 1) % IN_FLIGHT;
        Ok(&mut slot.lane)
    }

    /// Lets `finish` see to every chunk in flight, the oldest first.
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

/// The buffer that is there, if it has the length, else a new one in its place.
fn fit<'a, T: Element>(
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
