//! What a typed launch hands to the runtime, seen by a device that only remembers it.

#![deny(missing_docs, unreachable_pub)]

#[allow(dead_code, missing_docs, unreachable_pub)]
mod support;

#[path = "launch/kernels.rs"]
pub mod kernels;

#[path = "launch/arguments.rs"]
mod arguments;
#[path = "launch/blocks.rs"]
pub mod blocks;
#[path = "launch/contract.rs"]
mod contract;
#[path = "launch/entries.rs"]
mod entries;
#[path = "launch/shape.rs"]
mod shape;
