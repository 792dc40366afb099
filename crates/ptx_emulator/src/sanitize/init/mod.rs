//! initcheck: uses of values that nobody wrote.

use super::{Ledger, Scene};
use crate::exec::{Frame, Memory, Seen, Turn};

/// The detector's memory of one launch.
pub(crate) struct Init {}

impl Init {
    pub(crate) fn new() -> Self {
        Self {}
    }

    pub(crate) fn block(&mut self, _slot: usize) {}

    pub(crate) fn enters(&mut self, _scene: &Scene<'_>, _turn: &Turn, _mask: u32) {}

    pub(crate) fn copies_local(
        &mut self,
        _turn: &Turn,
        _from: u32,
        _to: u32,
        _size: u32,
        _mask: u32,
    ) {
    }

    pub(crate) fn step(
        &mut self,
        _scene: &Scene<'_>,
        _ledger: &mut Ledger,
        _pc: u32,
        _mask: u32,
        _active: u32,
        _frame: &Frame<'_>,
    ) {
    }

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
}
