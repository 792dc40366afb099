//! Panics of Rust kernels, which leave a report in the module's memory and trap: see `cuda_std::panic`.

use crate::decode::Program;
use crate::fault::FaultKind;
use crate::memory::{Allocation, Table};
use cuda_std::panic::{CHANNEL, Channel, Report};
use std::collections::HashMap;
use std::mem::offset_of;
use std::sync::atomic::{Ordering, fence};

/// The address of the module's channel, if its kernels can panic.
pub(super) fn channel(program: &Program, addresses: &HashMap<u32, u64>) -> Option<u64> {
    let mut variables = program.variables.iter();
    let index = variables.position(|variable| variable.name == CHANNEL)?;
    addresses.get(&u32::try_from(index).ok()?).copied()
}

/// What a thread that traps has panicked with. Then the report is empty, for the next one.
pub(super) fn take(table: &Table, channel: u64) -> Option<FaultKind> {
    let (at, offset) = place(table, channel, size_of::<Channel>())?;
    let claimed = offset + offset_of!(Channel, claimed) as u64;
    if at.load::<4>(claimed) == 0 {
        return None;
    }
    let address = at.load::<8>(offset + offset_of!(Channel, report) as u64);
    let (memory, start) = place(table, address, size_of::<Report>())?;
    let mut bytes = [0; size_of::<Report>()];
    memory.read(start, &mut bytes);
    let report = Report::from_bytes(&bytes);
    memory.write(start, &[0; size_of::<Report>()]);
    // Another worker's thread may wait for it.
    fence(Ordering::SeqCst);
    at.store::<4>(claimed, 0);
    Some(FaultKind::Assert {
        message: report.message(),
        file: report.file.as_str().to_owned(),
        line: report.line,
        function: String::new(),
    })
}

fn place(table: &Table, address: u64, size: usize) -> Option<(&Allocation, u64)> {
    let allocation = table.allocations().get(table.find(address, size as u64)?)?;
    Some((allocation, allocation.offset_of(address, size as u64)?))
}
