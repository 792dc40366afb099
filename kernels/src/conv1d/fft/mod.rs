//! Convolution by fast Fourier transforms in shared memory: the cost hardly depends on the number of taps.
//!
//! Change from [`blocked`](super::blocked): with m taps a direct sum takes m multiply-adds an output. Here a block takes a window of N samples,
//! transforms it, multiplies with the taps' transform and transforms back. That is a convolution around the ends of the window, so the first
//! m − 1 outputs of it are thrown away, and windows overlap by as much (overlap-save).
//!
//! - Two windows are one transform: their samples are its real and imaginary parts. Taps are real, so the parts do not mix.
//! - A thread holds 16 or 32 points in registers. A pass transforms them in groups of 8, 16 or 32, multiplies with factors
//!   from a table, and hands them on through shared memory. Three passes make 2¹¹ to 2¹⁴ points.
//! - The forward passes leave the spectrum in an order of their own, the inverse ones take it from there: nothing is reordered, and the taps'
//!   spectrum, which a kernel of its own writes, has the same order. The inverse is the forward transform of numbers whose parts are exchanged.
//! - Shared memory: a thread writes a pass's results where it alone has read that pass's points. So one barrier between two passes is enough: it
//!   puts all writes of one before all reads of the next. The next window's first writes are to slots that the thread alone has read last.
//! - Banks: point r of a butterfly lies a power of two from point 0, and in the last pass neighbouring lanes lie 16 points apart. A gap after every 16
//!   slots puts any 16 lanes, which the hardware serves at a time, in different banks.
//! - Rounding errors are a part of the window's norm, not of each output. Where a window's products with the spectrum are so large that the
//!   inverse might overflow, or no numbers, all its outputs are direct sums: the threads vote at the first barrier of the inverse.
//!
//! All sizes that decide an index are constants of the [`Shape`](shape::Shape), so that each pass is straight-line code: a prototype in CUDA C++ that
//! computed strides by loops over the radices executed five times the instructions with 32 points a thread.
//!
//! Registers by `ptxas` 13.5 for sm_90, none with a stack or spills:
//!
//! | kernel | points a thread | threads | blocks | registers |
//! | --- | --- | --- | --- | --- |
//! | `fft2048` | 16 | 128 | 6 | 80 |
//! | `fft4096` | 16 | 256 | 3 | 80 |
//! | `fft4096` of `f64` | 16 | 256 | 1 | 204 |
//! | `fft8192` | 32 | 256 | 2 | 128 |
//! | `fft16384` | 32 | 512 | 1 | 128 |
//!
//! | 2²⁶ samples, H200, µs | 127 taps | 255 | 1023 | 4095 | 8191 |
//! | --- | --- | --- | --- | --- | --- |
//! | `fft2048` | **177** | **187** | 296 | | |
//! | `fft4096` | 196 | 200 | 240 | | |
//! | `fft8192` | 216 | 220 | **236** | 367 | |
//! | `fft16384` | 315 | 313 | 323 | **346** | **459** |
//! | `fft4096-ungapped`, with bank conflicts | 295 | 303 | 369 | | |
//! | [`blocked`](super::blocked), direct sums | 360 | 640 | 2460 | 9740 | |

mod butterfly;
mod complex;
pub mod kernels;
mod passes;
pub mod shape;
mod window;

pub use complex::Transformed;
