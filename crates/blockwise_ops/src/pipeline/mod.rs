//! Operands of any length, in chunks and bounded memory.
//!
//! Each chunk is copied to the device, processed and copied back on its own
//! [`Stream`](blockwise::Stream), while the caller provides the next one and consumes the results
//! of the last: with [`IN_FLIGHT`] chunks, the copies in both directions, the kernels and file
//! accesses overlap. Closures provide samples and consume results.

mod axis;
mod conv1d;
mod reduce;
mod ring;
mod times;

pub use axis::{AxisReducer, Piece};
pub use conv1d::Convolver;
pub use reduce::Reducer;
pub use ring::{CHUNK, IN_FLIGHT};
pub use times::DeviceTimes;
