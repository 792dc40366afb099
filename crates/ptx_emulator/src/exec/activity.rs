/// What the blocks of a worker know of each other.
#[derive(Clone, Default)]
pub(super) struct Activity {
    /// Counts events that may have changed memory.
    pub(super) epoch: u64,
    /// An atomic operation has changed a value.
    pub(super) changed: bool,
}

impl Activity {
    /// Memory may have changed: earlier still inspections prove nothing.
    pub(super) fn disturb(&mut self) {
        self.epoch += 1;
    }
}
