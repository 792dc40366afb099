//! Deleted barriers.

use super::{Changes, Source};

/// What only waits. A barrier that also computes something (`bar.red`) cannot just go.
const WAITS: [&str; 5] = [
    "bar.sync",
    "barrier.sync",
    "bar.warp.sync",
    "bar.cta.sync",
    "barrier.cta.sync",
];

pub(super) fn changes(source: &Source) -> Changes {
    let waits = |line: &str| WAITS.iter().any(|opcode| line.starts_with(opcode));
    let barriers = source.instructions().filter(|(_, line)| waits(line));
    barriers.map(|(index, _)| (index, String::new())).collect()
}
