//! What a block computes together.

use cuda_std::prelude::*;

/// x ↦ a x + b. Applying one after the other is associative, and not commutative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Plain)]
#[repr(C)]
pub struct Affine {
    /// a
    pub a: u32,
    /// b
    pub b: u32,
    /// Makes it three words.
    pub steps: u32,
}

impl Affine {
    /// x ↦ x
    pub const IDENTITY: Self = Self {
        a: 1,
        b: 0,
        steps: 0,
    };

    /// Of an input element.
    pub fn of(x: u32) -> Self {
        Self {
            a: 2 * x + 1,
            b: x ^ 5,
            steps: 1,
        }
    }

    /// First `self`, then `next`.
    pub fn then(self, next: Self) -> Self {
        Self {
            a: self.a.wrapping_mul(next.a),
            b: self.b.wrapping_mul(next.a).wrapping_add(next.b),
            steps: self.steps + next.steps,
        }
    }
}

/// For each tile: the reduction, the inclusive and the exclusive scan, and the element of thread
/// `from`, of the elements as [`Affine`]s; threads past the end have the identity.
#[kernel(
    instances((0, 0, 0), (1, 1, 1), (31, 1, 1), (33, 1, 1), (256, 1, 1), (1024, 1, 1), (16, 16, 1), (7, 5, 3)),
    require(reduced.len() == input.len(), inclusive.len() == input.len(), exclusive.len() == input.len(), broadcast.len() == input.len())
)]
#[allow(clippy::too_many_arguments, reason = "an output for each operation")]
pub fn together<const X: usize, const Y: usize, const Z: usize>(
    block: &mut Block<X, Y, Z>,
    mut scratch: Scratch<Affine>,
    input: &[u32],
    from: usize,
    mut reduced: Out<Affine>,
    mut inclusive: Out<Affine>,
    mut exclusive: Out<Affine>,
    mut broadcast: Out<Affine>,
) {
    for place in block.tiles(input.len()) {
        let at = place.start() + block.thread();
        let mine = input.get(at).map_or(Affine::IDENTITY, |x| Affine::of(*x));
        let all = scratch.reduce(block, mine, Affine::then);
        reduced.store(block, place, |_| all);
        let up_to = scratch.inclusive_scan(block, mine, Affine::then);
        inclusive.store(block, place, |_| up_to);
        let before = scratch.exclusive_scan(block, mine, Affine::IDENTITY, Affine::then);
        exclusive.store(block, place, |_| before);
        let theirs = scratch.broadcast(block, mine, from);
        broadcast.store(block, place, |_| theirs);
    }
}

/// Broadcasts from a thread that each thread chooses: whatever comes, it is some thread's value,
/// and no race.
#[kernel(require(input.len() == output.len()))]
pub fn disagreeing(block: &mut Block, mut scratch: Scratch<u8>, input: &[u8], mut output: Out<u8>) {
    for place in block.tiles(input.len()) {
        let mine = input
            .get(place.start() + block.thread())
            .copied()
            .unwrap_or(0);
        let theirs = scratch.broadcast(block, mine, block.thread().wrapping_mul(7));
        output.store(block, place, |_| theirs);
    }
}
