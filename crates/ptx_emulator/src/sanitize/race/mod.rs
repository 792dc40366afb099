//! racecheck: two accesses of different threads to the same bytes, at least one of them a write, with nothing that
//! orders them.

use super::{Ledger, Scene};
use crate::exec::{Arrived, Complete, Frame, Memory, Seen};

/// The detector's memory of one launch.
pub(crate) struct Race {}

impl Race {
    pub(crate) fn new() -> Self {
        Self {}
    }

    pub(crate) fn block(&mut self, _slot: usize) {}

    pub(crate) fn step(&mut self, _scene: &Scene<'_>, _pc: u32, _mask: u32) {}

    pub(crate) fn access(
        &mut self,
        _scene: &Scene<'_>,
        _ledger: &mut Ledger,
        _pc: u32,
        _seen: &Seen<'_>,
        _frame: &Frame<'_>,
        _memory: &Memory<'_>,
    ) {
    }

    pub(crate) fn warp_barrier(&mut self, _slot: usize, _warp: u32, _mask: u32) {}

    pub(crate) fn arrives(&mut self, _slot: usize, _arrived: &Arrived) {}

    pub(crate) fn barrier(&mut self, _slot: usize, _complete: &Complete<'_>) {}
}
