//! The list of examples.

use blockwise::{Device, Result};

use crate::{
    a_struct_of_your_own, atomics, checking_in_a_test, choosing_a_block_size, exclusive_elements,
    first_kernel, generic_kernels, other_libraries, profiling, reduction, shared_memory,
    streams_and_graphs, tiles_2d, warps,
};

/// An example of the course.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What it is about.
    pub title: &'static str,
    /// Runs it.
    pub run: fn(&Device) -> Result<()>,
}

macro_rules! course {
    ($($module:ident: $title:literal;)*) => {
        /// The examples in their order: number 1 is the first.
        pub const COURSE: &[Example] = &[$(Example { title: $title, run: $module::run }),*];
    };
}
course! {
    first_kernel: "A first kernel: y = a·x + y";
    shared_memory: "Shared memory: means of neighbours";
    reduction: "A reduction: the sum of a vector";
    tiles_2d: "Tiles in two dimensions: a matrix product";
    streams_and_graphs: "Streams, pinned memory and graphs";
    checking_in_a_test: "Checking in a test: a race and its line";
    profiling: "Profiling: bank conflicts of a transpose";
    a_struct_of_your_own: "A struct of your own: bouncing particles";
    generic_kernels: "Generic kernels: one function, six entry points";
    choosing_a_block_size: "Choosing a block size, by measuring";
    atomics: "Atomics: a histogram of bytes";
    warps: "Warps: a dot product without shared memory";
    exclusive_elements: "Elements at computed indices: compaction and scatter";
    other_libraries: "Other libraries: their memory and their stream";
}
