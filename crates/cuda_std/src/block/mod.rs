//! Safe kernels with shared memory.
//!
//! A kernel under `#![forbid(unsafe_code)]` that compiles, and passes the checks of `cuda_builder`,
//! has no data race on shared or global memory, no access out of bounds, no read of what nobody
//! wrote, and no barrier that some threads miss. It gets what it uses as parameters:
//!
//! | parameter | what it is |
//! | --- | --- |
//! | `&mut Block<256>`, [`Block`] | all threads of a block are here: positions, barriers, tiles of the grid, [`Warp`] |
//! | [`Shared<[T; N]>`](Shared), `Shared<[T]>`, `Shared<Tile<T, R, C>>` | an array in shared memory: write, barrier, read, barrier |
//! | [`Ring<A, N>`](Ring) | several of them in turn, for one barrier a step |
//! | [`Scratch<T>`](Scratch) | reductions, scans and broadcasts of the whole block |
//! | `&[T]`, [`Matrix<T>`](Matrix) | inputs |
//! | [`Out<T>`](Out), [`Out<T, FromEnd>`](FromEnd), [`Out<T, PerBlock>`](PerBlock), [`OutMatrix<T, R, C>`](OutMatrix) | outputs: each thread reaches its own elements only |
//! | [`Atomics<T>`](Atomics) | elements that all threads change |
//!
//! # Why it is sound
//!
//! **Who owns an element follows from types or from launch values, never from a choice that a
//! thread makes.** Two threads of a block may disagree about every value that they compute; so no
//! value decides who writes where.
//!
//! - *Shared arrays.* One rule says who writes which element without a barrier before it
//!   ([`Array`]), and every function that writes so follows it.
//! - *States.* Who may read or write an array follows from its state, a type; states change at
//!   barriers, to which every thread of the block passes the same state of the same array: a
//!   lifetime of its own keeps two arrays of one type apart, and the barrier is one place in the
//!   program that all threads reach, which the builder checks.
//! - *Outputs.* An output's map is part of its type, and tiles of the grid come from a block's
//!   iterators alone.
//! - *Elements* are [`Plain`](crate::Plain): no references, tokens or tiles travel to another
//!   thread. Every pattern of bits is a value, for a thread that panics leaves its elements
//!   unwritten while the others go on.

mod array;
mod atomics;
mod counting;
mod elements;
mod fold;
mod matrix;
mod number;
mod order;
mod out;
mod out_matrix;
mod phase;
mod position;
mod ring;
mod scratch;
mod shared;
mod slots;
#[cfg(test)]
mod testing;
mod threads;
mod tiles;
mod warp;
mod words;

pub use array::{Array, Pair, Tile};
pub use atomics::Atomics;
pub use counting::{Counting, Zeroed};
pub use elements::{Column, Elements, Reversed};
pub use matrix::Matrix;
pub use number::{Counter, Number};
pub use order::{ColMajor, RowMajor};
pub use out::{FromEnd, Mine, Out, PerBlock, Strided};
pub use out_matrix::{OutMatrix, Own};
pub use phase::Phase;
pub use ring::Ring;
#[doc(hidden)]
pub use ring::with_ring;
pub use scratch::Scratch;
#[doc(hidden)]
pub use scratch::{ScratchMemory, with_scratch};
#[doc(hidden)]
pub use shared::with_shared;
pub use shared::{Published, Refill, Shared, Written};
pub use slots::Slots;
pub use threads::{ANY, Block};
pub use tiles::{AlongX, AlongY, AlongZ, Linear, TileRange, Tiles};
pub use warp::Warp;
