//! A tile kept in a static would let another block store to this block's elements.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

use std::sync::Mutex;

static PLACE: Mutex<Option<TileRange<cuda_std::block::Linear>>> = Mutex::new(None);

fn main() {}
