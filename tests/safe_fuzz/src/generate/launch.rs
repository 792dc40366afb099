//! The shapes of blocks and grids, and what a launch passes.

use crate::rng::Rng;

/// An argument in the PTX.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// The address of N initialised bytes.
    Memory(usize),
    /// A `usize`.
    Size(usize),
    /// A `u32`.
    Number(u32),
}

/// One launch of a kernel, in a shape that the type of its block allows.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// In the order of the PTX's parameters.
    pub arguments: Vec<Argument>,
    /// The bytes of the dynamic shared arrays.
    pub shared_bytes: usize,
}

impl Launch {
    pub(super) fn threads(&self) -> usize {
        self.block.iter().map(|&n| n as usize).product()
    }

    pub(super) fn blocks(&self) -> usize {
        self.grid.iter().map(|&n| n as usize).product()
    }

    /// Passes a matrix or an array: its address, then its extents.
    pub(super) fn memory(&mut self, size: usize, extents: &[usize]) {
        let len: usize = extents.iter().product();
        self.arguments.push(Argument::Memory(size * len));
        self.arguments
            .extend(extents.iter().copied().map(Argument::Size));
    }

    /// Adds a dynamic shared array, and passes its length.
    pub(super) fn dynamic(&mut self, size: usize, align: usize, len: usize) {
        self.shared_bytes = self.shared_bytes.next_multiple_of(align) + size * len;
        self.arguments.push(Argument::Size(len));
    }
}

/// Types of a block, each with shapes that it may be launched with.
const BLOCKS: [(&str, &[[u32; 3]]); 17] = [
    ("Block<1>", &[[1, 1, 1]]),
    ("Block<31>", &[[31, 1, 1]]),
    ("Block<32>", &[[32, 1, 1]]),
    ("Block<33>", &[[33, 1, 1]]),
    ("Block<64>", &[[64, 1, 1]]),
    ("Block<96>", &[[96, 1, 1]]),
    ("Block<128>", &[[128, 1, 1]]),
    ("Block", &[[64, 1, 1], [1, 1, 1], [40, 1, 1], [100, 1, 1]]),
    ("Block", &[[33, 1, 1], [7, 1, 1], [32, 1, 1]]),
    ("Block<8, 4>", &[[8, 4, 1]]),
    ("Block<16, 8>", &[[16, 8, 1]]),
    ("Block<5, 7>", &[[5, 7, 1]]),
    ("Block<ANY, ANY>", &[[8, 8, 1], [3, 11, 1], [32, 2, 1]]),
    ("Block<ANY, 4>", &[[8, 4, 1], [9, 4, 1]]),
    ("Block<4, 4, 2>", &[[4, 4, 2]]),
    ("Block<3, 5, 3>", &[[3, 5, 3]]),
    ("Block<ANY, ANY, ANY>", &[[4, 2, 4], [1, 33, 1], [2, 2, 9]]),
];

/// The type of a block, and two launches of it. A kernel with an output matrix needs a block
/// without a z extent. The grid has this many dimensions.
pub(super) fn shapes(
    rng: &mut Rng,
    with_matrix: bool,
    dimensions: usize,
) -> (&'static str, Vec<Launch>) {
    let (block, shapes) = loop {
        let &(name, shapes) = rng.pick(&BLOCKS);
        let has_planes = name.matches(',').count() == 2;
        if !(with_matrix && has_planes) {
            break (name, shapes);
        }
    };
    let extent = |rng: &mut Rng, axis| match axis < dimensions {
        true => 1 + rng.below(3) as u32,
        false => 1,
    };
    let launches = (0..2).map(|_| Launch {
        grid: [0, 1, 2].map(|axis| extent(rng, axis)),
        block: *rng.pick(shapes),
        arguments: Vec::new(),
        shared_bytes: 0,
    });
    (block, launches.collect())
}

/// The length of an input or an output.
pub(super) fn length(rng: &mut Rng) -> usize {
    *rng.pick(&[0, 1, 2, 31, 32, 33, 64, 100, 129, 300])
}
