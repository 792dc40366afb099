//! Every crate that generated code could name is this one, no name comes from a prelude, and globs
//! bring others of the usual names.
#![no_implicit_prelude]
#![forbid(unsafe_code)]
#![allow(non_camel_case_types, dead_code, unused_imports)]
#![allow(hidden_glob_reexports, ambiguous_glob_reexports)]

extern crate cuda_std as real;
extern crate self as alloc;
extern crate self as blockwise;
extern crate self as core;
extern crate self as cuda_std;
extern crate self as std;

pub use real::*;

use ::real::__private::core::prelude::v1::{Clone, Copy, derive};
use ::real::block::{Block, Out, Shared};

mod fake {
    pub enum Option<T> {
        Some(T),
        None,
    }
    pub use Option::*;
    pub enum Result {
        Ok,
        Err,
    }
    pub use Result::*;
    pub struct usize;
    pub struct Argument;
    pub struct Refusal;
    pub mod primitive {}
    pub mod launch {}
    pub mod block {}
    pub mod __private {}
    pub trait Into {}
    pub trait From {}
    pub trait PartialOrd {}
}
use fake::*;

#[derive(Clone, Copy, Plain)]
#[repr(C)]
pub struct Pair {
    pub left: f32,
    pub right: u32,
}

#[kernel(require(x.len() == y.len(), by > 1), shared(tile = block.threads() + x.len()))]
pub fn scaled(
    block: &mut Block,
    tile: Shared<[f32]>,
    by: u32,
    pair: Pair,
    x: &[f32],
    mut y: Out<f32>,
) {
    let _ = (block, tile, by, pair);
    for (i, y) in y.mine() {
        *y = x[i];
    }
}

fn main() {
    let entry = scaled::entry();
    ::real::__private::core::assert_eq!(
        entry.signature,
        "block: &mut Block<0,1,1>, tile: Shared<[f32]>, by: u32, pair: Pair{left:f32,right:u32}, x: &[f32], y: Out<f32>"
    );
    ::real::__private::core::assert!(entry.record.ends_with(
        "\nimplied (&& (== (grid y) 1) (== (grid z) 1))\nrequire (== (len 4) (len 5))\nrequire (> (value 2) 1)\
         \nlength 1 (+ (block *) (len 4))"
    ));
}
