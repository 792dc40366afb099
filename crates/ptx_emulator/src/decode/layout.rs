//! Where a kernel's shared variables lie.

use super::program::Program;
use crate::fault::Space;

/// A gap between two variables has so many bytes when there is room. It keeps every alignment and every bank.
const GAP: u64 = 1024;
/// Gaps are multiples of this: no access asks for a larger alignment.
const GAP_UNIT: u64 = 128;

/// The static shared memory of a kernel's blocks.
pub(crate) struct SharedLayout {
    /// The start of each variable, by its index.
    pub(crate) variables: Vec<(u32, u64)>,
    /// Where the last of them ends.
    pub(crate) fixed: u64,
    /// Where the dynamic array begins, and so the size of all that is static.
    pub(crate) dynamic: u64,
}

impl SharedLayout {
    /// The same with gaps between the variables and before the dynamic array, so that an index past the end of one does
    /// not land in the next. `room` is how many bytes all gaps may take together.
    pub(crate) fn spread(mut self, room: u64) -> Self {
        let gap = room / self.variables.len().max(1) as u64;
        let gap = GAP.min(gap - gap % GAP_UNIT);
        let mut starts: Vec<u64> = self.variables.iter().map(|&(_, start)| start).collect();
        starts.dedup();
        let moved = |start| start + gap * starts.partition_point(|&other| other < start) as u64;
        for (_, start) in &mut self.variables {
            *start = moved(*start);
        }
        self.dynamic = moved(self.dynamic);
        self.fixed = moved(self.fixed).saturating_sub(gap);
        self
    }
}

impl Program {
    /// Where each shared variable lies for a kernel. Dynamic arrays all start behind the static variables.
    pub(crate) fn shared_layout(&self, entry: u32) -> SharedLayout {
        let reached = self.reachable(entry).into_iter();
        let mut used: Vec<u32> = reached
            .flat_map(|function| self.functions[function as usize].uses.iter().copied())
            .filter(|&index| self.variables[index as usize].space == Space::Shared)
            .collect();
        used.sort_unstable();
        used.dedup();
        let (arrays, fixed): (Vec<u32>, Vec<u32>) = used
            .into_iter()
            .partition(|&index| self.variables[index as usize].dynamic);
        let mut variables = Vec::new();
        let mut end = 0_u64;
        for index in fixed {
            let variable = &self.variables[index as usize];
            let start = end.next_multiple_of(u64::from(variable.align));
            variables.push((index, start));
            end = start.saturating_add(variable.size).min(1 << 40);
        }
        let aligns = arrays
            .iter()
            .map(|&index| self.variables[index as usize].align);
        let dynamic = end.next_multiple_of(u64::from(aligns.max().unwrap_or(1)));
        variables.extend(arrays.into_iter().map(|index| (index, dynamic)));
        let fixed = end;
        SharedLayout {
            variables,
            fixed,
            dynamic,
        }
    }
}
