use crate::decode::{self, Program};
use crate::exec::{Addresses, Request};
use crate::fault::Space;
use rustc_demangle::demangle;
use std::ops::Range;

/// The variables of a launch with their addresses, for naming addresses in reports.
pub(crate) struct Variables<'a> {
    program: &'a Program,
    addresses: Addresses<'a>,
    /// The dynamic shared memory.
    dynamic: Range<u64>,
}

struct Variable {
    name: String,
    place: Range<u64>,
}

impl<'a> Variables<'a> {
    pub(crate) fn new(request: &Request<'a>) -> Self {
        Self {
            program: request.program,
            addresses: request.addresses.clone(),
            dynamic: request.dynamic_shared..request.shared_bytes,
        }
    }

    /// All variables of a space. Names are created on demand: there may be very many variables.
    fn all(&self, space: Space) -> Vec<Variable> {
        let module = self.addresses.module.iter();
        let module = module.map(|(&index, &address)| (index, address));
        let placed = module.chain(self.addresses.shared.iter().copied());
        let mut all: Vec<Variable> = placed
            .map(|(index, address)| (&self.program.variables[index as usize], address))
            .filter(|(variable, _)| variable.space == space)
            .map(|(variable, address)| Variable {
                name: format!("`{:#}`", demangle(&variable.name)),
                place: address..address + self.size(variable),
            })
            .collect();
        let named = |variable: &Variable| variable.place.start == self.dynamic.start;
        if space == Space::Shared && !self.dynamic.is_empty() && !all.iter().any(named) {
            all.push(Variable {
                name: "the dynamic shared memory".to_owned(),
                place: self.dynamic.clone(),
            });
        }
        // Arrays at the same place are sorted by name, so that the reported name is always the
        // same.
        all.sort_by(|a, b| {
            (a.place.start, a.place.end, &a.name).cmp(&(b.place.start, b.place.end, &b.name))
        });
        all
    }

    fn size(&self, variable: &decode::Variable) -> u64 {
        if variable.dynamic {
            self.dynamic.end - self.dynamic.start
        } else {
            variable.size
        }
    }

    /// "`tile`, byte 16 of 1024", if the variable at the address is known.
    pub(crate) fn name(&self, space: Space, address: u64) -> Option<String> {
        let mut all = self.all(space).into_iter();
        let Variable { name, place } = all.find(|known| known.place.contains(&address))?;
        let (at, size) = (address - place.start, place.end - place.start);
        Some(format!("{name}, byte {at} of {size}"))
    }

    /// The name of the variable that starts there.
    pub(crate) fn at(&self, space: Space, address: u64) -> Option<String> {
        let mut all = self.all(space).into_iter();
        let variable = all.find(|known| known.place.start == address)?;
        Some(variable.name)
    }

    /// Ranges of the shared variables, in order.
    pub(crate) fn shared(&self) -> Vec<Range<u64>> {
        let shared = self.addresses.shared.iter().map(|&(index, address)| {
            let size = self.size(&self.program.variables[index as usize]);
            address..address + size
        });
        let shared = shared.chain([self.dynamic.clone()]);
        let mut places: Vec<Range<u64>> = shared.filter(|place| !place.is_empty()).collect();
        places.sort_unstable_by_key(|place| (place.start, place.end));
        places.dedup();
        places
    }

    /// The shared memory that system software sets up.
    pub(crate) fn preset(&self) -> Option<Range<u64>> {
        let index = self.program.reserved_shared?;
        let mut shared = self.addresses.shared.iter();
        let &(_, address) = shared.find(|&&(at, _)| at == index)?;
        Some(address..address + self.program.variables[index as usize].size)
    }

    /// The variable of a space that is nearest to an address, and its range.
    pub(crate) fn nearest(&self, space: Space, address: u64) -> Option<(String, Range<u64>)> {
        let known = self.all(space).into_iter();
        let known = known.filter(|variable| !variable.place.is_empty());
        let nearest = known.min_by_key(|variable| distance(&variable.place, address))?;
        Some((nearest.name, nearest.place))
    }
}

/// Distance of an address from a range.
pub(crate) fn distance(place: &Range<u64>, address: u64) -> u64 {
    let before = place.start.saturating_sub(address);
    before.max(address.saturating_sub(place.end))
}
