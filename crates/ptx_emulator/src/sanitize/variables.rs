use crate::exec::Request;
use crate::fault::Space;
use rustc_demangle::demangle;
use std::ops::Range;

/// The variables of a launch with their places, so that an address can be named.
pub(crate) struct Variables(Vec<Variable>);

struct Variable {
    name: String,
    space: Space,
    address: u64,
    size: u64,
}

impl Variables {
    pub(crate) fn new(request: &Request<'_>) -> Self {
        let dynamic = request.shared_bytes - request.dynamic_shared;
        let placed = request.addresses.iter().map(|(&index, &address)| {
            let variable = &request.program.variables[index as usize];
            Variable {
                name: format!("`{:#}`", demangle(&variable.name)),
                space: variable.space,
                address,
                size: if variable.dynamic {
                    dynamic
                } else {
                    variable.size
                },
            }
        });
        let mut all: Vec<Variable> = placed.collect();
        let named = |variable: &Variable| {
            variable.space == Space::Shared && variable.address == request.dynamic_shared
        };
        if dynamic > 0 && !all.iter().any(named) {
            all.push(Variable {
                name: "the dynamic shared memory".to_owned(),
                space: Space::Shared,
                address: request.dynamic_shared,
                size: dynamic,
            });
        }
        // Arrays with one place have one name, always the same.
        all.sort_by(|a, b| (a.address, a.size, &a.name).cmp(&(b.address, b.size, &b.name)));
        Self(all)
    }

    /// "`tile`, byte 16 of 1024", as far as it is known what lies there.
    pub(crate) fn name(&self, space: Space, address: u64) -> Option<String> {
        let holds = |variable: &&Variable| {
            variable.space == space
                && address >= variable.address
                && address - variable.address < variable.size
        };
        let variable = self.0.iter().find(holds)?;
        let (name, size) = (&variable.name, variable.size);
        let at = address - variable.address;
        Some(format!("{name}, byte {at} of {size}"))
    }

    /// The name of the variable that begins there.
    pub(crate) fn at(&self, space: Space, address: u64) -> Option<&str> {
        let begins = |variable: &&Variable| (variable.space, variable.address) == (space, address);
        self.0
            .iter()
            .find(begins)
            .map(|variable| variable.name.as_str())
    }

    /// Where the shared variables lie, in order.
    pub(crate) fn shared(&self) -> Vec<Range<u64>> {
        let shared = self
            .0
            .iter()
            .filter(|v| v.space == Space::Shared && v.size > 0);
        let mut places: Vec<Range<u64>> = shared.map(|v| v.address..v.address + v.size).collect();
        places.dedup();
        places
    }

    /// The variable of a space that is nearest to an address, and where it lies.
    pub(crate) fn nearest(&self, space: Space, address: u64) -> Option<(&str, Range<u64>)> {
        let known = self.0.iter().filter(|v| v.space == space && v.size > 0);
        let places = known.map(|v| (v.name.as_str(), v.address..v.address + v.size));
        places.min_by_key(|(_, place)| distance(place, address))
    }
}

/// How far an address is from a place.
pub(crate) fn distance(place: &Range<u64>, address: u64) -> u64 {
    let before = place.start.saturating_sub(address);
    before.max(address.saturating_sub(place.end))
}
