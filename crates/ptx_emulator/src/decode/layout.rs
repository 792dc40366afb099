//! Placement of a kernel's shared variables.

use super::program::Program;
use crate::fault::Space;

/// Size of a gap between two variables, if there is room. It preserves alignment and banks.
const GAP: u64 = 1024;
/// Gaps are multiples of this, the largest alignment of any access.
const GAP_UNIT: u64 = 128;

/// The static shared memory of a kernel's blocks.
pub(crate) struct SharedLayout {
    /// Start of each variable, by its index.
    pub(crate) variables: Vec<(u32, u64)>,
    /// End of the last variable.
    pub(crate) fixed: u64,
    /// Start of the dynamic array, and so the total static size.
    pub(crate) dynamic: u64,
}

impl SharedLayout {
    /// The same layout with gaps between the variables and before the dynamic array, so that an
    /// index past the end of a variable does not reach the next one. `room` is the total size of
    /// all gaps.
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
    /// Placement of each shared variable of a kernel. Dynamic arrays all start after the static
    /// ones.
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
