//! Safe kernels with shared memory.
//!
//! A kernel under `#![forbid(unsafe_code)]` that compiles, and passes the checks of `cuda_builder`,
//! has no data race on shared or global memory, no out-of-bounds access, no uninitialised read and
//! no divergent barrier. It gets everything that it uses as parameters:
//!
//! | parameter | meaning |
//! | --- | --- |
//! | `&mut Block<256>`, [`Block`] | all threads of a block are here: positions, barriers, tiles of the grid, [`Warp`] |
//! | [`Shared<[T; N]>`](Shared), `Shared<[T]>`, `Shared<Tile<T, R, C>>` | an array in shared memory: write, barrier, read, barrier |
//! | [`Ring<A, N>`](Ring) | several arrays in turn, for one barrier per step |
//! | [`Scratch<T>`](Scratch) | reductions, scans and broadcasts of the whole block |
//! | `&[T]`, [`Matrix<T>`](Matrix) | inputs |
//! | [`Out<T>`](Out), [`Out<T, FromEnd>`](FromEnd), [`Out<T, PerBlock>`](PerBlock), [`OutMatrix<T, R, C>`](OutMatrix) | outputs: each thread accesses its own elements only |
//! | [`Atomics<T>`](Atomics) | elements that all threads may change |
//! | [`Append<T>`](Append) | stream compaction: threads take elements by tickets |
//! | [`Scatter<T>`](Scatter) | an output through a permutation that was checked once |
//!
//! # Why it is sound
//!
//! **The owner of an element follows from types or launch values, never from a value that a thread
//! computes.** Two threads of a block may disagree about every value that they compute, so no such
//! value decides which thread writes where.
//!
//! - *Shared arrays.* One rule ([`Array`]) determines which thread may write which element without
//!   a preceding barrier, and every function that writes this way follows it.
//! - *States.* Which threads may read or write an array follows from its state, which is a type.
//!   States change at barriers, to which every thread of the block passes the same state of the
//!   same array: a separate lifetime distinguishes two arrays of one type, and the barrier is one
//!   place in the program that all threads reach, which the builder checks.
//! - *Outputs.* An output's map is part of its type, and tiles of the grid come only from a block's
//!   iterators.
//! - *Elements* are [`Plain`](crate::Plain): references, tokens and tiles cannot reach another
//!   thread. Every bit pattern is valid, because a thread that panics leaves its elements unwritten
//!   while the others continue.

mod append;
mod array;
mod atomics;
mod by_index;
mod counting;
mod elements;
mod fold;
mod guesses;
mod made;
mod matrix;
mod number;
mod order;
mod out;
mod out_matrix;
mod phase;
mod position;
mod registers;
mod ring;
mod scatter;
mod scratch;
mod shared;
mod slots;
#[cfg(test)]
mod testing;
mod threads;
mod tiles;
mod warp;
mod whole_array;
mod words;

pub use append::Append;
pub use array::{Array, Pair, Tile};
pub use atomics::Atomics;
pub use counting::{Counting, Zeroed};
pub use elements::{Column, Elements, Reversed};
#[doc(hidden)]
pub use made::{MadeByLaunch, made_by_launch};
pub use matrix::Matrix;
pub use number::{Counter, Number};
pub use order::{ColMajor, RowMajor};
#[doc(hidden)]
pub use out::Map;
pub use out::{FromEnd, Mine, Out, PerBlock, Strided};
pub use out_matrix::{OutMatrix, Own};
pub use phase::Phase;
pub use position::ANY;
#[doc(hidden)]
pub use position::one_dimensional;
pub use ring::Ring;
#[doc(hidden)]
pub use ring::with_ring;
pub use scatter::{Placed, Scatter};
pub use scratch::Scratch;
#[doc(hidden)]
pub use scratch::{ScratchMemory, with_scratch};
#[doc(hidden)]
pub use shared::with_shared;
pub use shared::{Published, Refill, Shared, Written};
pub use slots::Slots;
pub use threads::Block;
pub use tiles::{AlongX, AlongY, AlongZ, Linear, TileRange, Tiles};
pub use warp::Warp;
