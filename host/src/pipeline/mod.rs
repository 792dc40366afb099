//! Operands of any length, chunk by chunk in bounded memory.
//!
//! A chunk is copied to the device, worked on and copied back on a [`Stream`] of its own, while the caller
//! brings the next one and takes the results of the last: with [`IN_FLIGHT`] chunks the copies in both directions, the kernels and
//! the files overlap. Nothing here knows where samples come from or go to: closures do.

mod conv1d;
mod reduce;

use crate::device::{Device, Element, StagedBuffer, Stream};
use crate::launch::LaunchError;

pub use conv1d::Convolver;
pub use reduce::{Operation, Reducer};

/// Chunks on their way at a time: one each for the copy in, the kernel and the copy out.
pub const IN_FLIGHT: usize = 3;

/// Elements of a chunk, unless asked for otherwise: 64 MiB of `f32`. A GPU's copies are at full speed from about a MiB on.
pub const CHUNK: usize = 1 << 24;

/// The buffer that is there, if it has the length, else a new one in its place.
fn fit<'a, T: Element>(
    buffer: &'a mut Option<StagedBuffer<T>>,
    device: &Device,
    stream: &Stream,
    len: usize,
) -> Result<&'a mut StagedBuffer<T>, LaunchError> {
    let kept = buffer.take().filter(|kept| kept.len() == len);
    let fitting = match kept {
        Some(kept) => kept,
        None => StagedBuffer::alloc(device, stream, len)?,
    };
    Ok(buffer.insert(fitting))
}
