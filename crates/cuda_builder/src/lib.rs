//! Builds a Rust crate to PTX with the stock compiler, after the crate of the same name in rust-cuda.

pub mod tools;
