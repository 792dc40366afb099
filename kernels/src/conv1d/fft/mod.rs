//! Convolution by fast Fourier transforms in shared memory: the cost hardly depends on the number
//! of taps.
//!
//! The kernels hold several steps in registers. The crate `ladder` has the ones before them: with one
//! butterfly per thread and step, and without the gaps below.
//!
//! Change from [`blocked`](super::blocked): with m taps a direct sum takes m multiply-adds per
//! output. Here a block takes a window of N samples, transforms it, multiplies by the taps'
//! transform and transforms back. That is a circular convolution of the window: its first m − 1
//! outputs are discarded, and windows overlap by that much (overlap-save).
//!
//! - Two windows share one transform, as its real and imaginary parts. The taps are real, so the
//!   parts do not mix.
//! - A thread holds 16 or 32 points in registers. A pass transforms them in groups of 8, 16 or 32,
//!   multiplies by twiddle factors from a table, and exchanges them through shared memory. Three
//!   passes make 2¹¹ to 2¹⁴ points.
//! - The forward passes leave the spectrum permuted, and the inverse passes take it in that order,
//!   so nothing is reordered. A separate kernel writes the taps' spectrum in the same order. The
//!   inverse is the forward transform of numbers with swapped parts.
//! - Shared memory: a thread writes a pass's results to slots that only it has read in that pass.
//!   One barrier between two passes therefore suffices: it orders all writes of one before all
//!   reads of the next. The next window's first writes go to slots that only the same thread has
//!   read last.
//! - Banks: point r of a butterfly is a power of two away from point 0, and in the last pass
//!   adjacent lanes are 16 points apart. A gap after every 16 slots puts any 16 lanes, which the
//!   hardware serves together, into different banks.
//! - Rounding errors are relative to the loudest sample of a block. Where some outputs have only
//!   quiet samples nearby, the block is divided (`quiet.rs`): the threads vote at the first barrier
//!   of the inverse.
//!
//! **Long transforms** (`fft65536` to `fft524288`) are for more taps than fit into shared memory.
//! N = 32 · M points are a matrix of 32 rows and M columns in global memory:
//!
//! 1. [`columns`] loads two windows, transforms each column of 32 points in one thread's registers,
//!    and multiplies by twiddle factors. Adjacent lanes have adjacent columns, so that loads and
//!    stores coalesce, and nothing goes through shared memory.
//! 2. [`rows`] transforms a row per block like the kernels above, multiplies it by the taps'
//!    spectrum, and transforms it back, in place.
//! 3. [`levels`] transforms the columns back and writes the outputs; those of divided windows are
//!    computed level by level.
//!
//! So a point is read and written three times, whatever the number of taps. Windows go through the
//! passes in batches that share their memory. Figures: docs/log/2026-11-23-long-convolution.md.
//!
//! All sizes that affect an index are constants of the [`Shape`](shape::Shape), so that each pass
//! is straight-line code: a prototype in CUDA C++ that computed strides in loops over the radices
//! executed five times the instructions with 32 points per thread.
//!
//! Registers by `ptxas` 13.5 for sm_90. The part that computes a divided block's levels, by loops
//! over small steps (`rolled.rs`), may use a stack (docs/log/2026-11-26-quiet-passages.md):
//!
//! | kernel | points per thread | threads | blocks | registers |
//! | --- | --- | --- | --- | --- |
//! | `fft-radix2` | 2 | 1024 | 1 | 55 |
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
//! | `fft-radix2`, a butterfly per thread and step | 2006 | 2005 | 2005 | | |
//! | [`blocked`](super::blocked), direct sums | 360 | 640 | 2460 | 9740 | |

mod butterfly;
pub mod columns;
mod complex;
pub mod each_row;
pub mod kernels;
pub mod levels;
mod operands;
mod outputs;
mod passes;
mod probes;
mod quiet;
mod rolled;
pub mod rows;
pub mod shape;
mod window;

pub use complex::Transformed;
