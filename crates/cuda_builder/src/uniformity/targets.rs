//! The targets of a value: the memory that it may point to.

use super::offset::Offset;

/// A variable of the thread, or memory that it has allocated. One number stands for everything that
/// one instruction creates in one [context](super::flow::Flow).
pub(super) type Object = usize;

/// The memory that a value may be the address of. A number that is not part of an address has none.
///
/// Every value that is computed from an address, integers included, has its targets: whatever a
/// store through a pointer may change is among the pointer's targets, or has
/// [escaped](super::memory::Memory::escape).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Targets<'m> {
    /// The thread's own objects, in order, each with the offset in it.
    objects: Vec<(Object, Offset)>,
    /// Functions, and constants that contain addresses.
    symbols: Vec<&'m str>,
    /// Memory with the same contents for all threads of a block until the next barrier: see the
    /// module's header.
    pub(super) steady: bool,
    /// Any other memory, including escaped objects.
    pub(super) unknown: bool,
    /// The value may be a part of an address, or of several: enough to carry them elsewhere, but
    /// its bits depend on where an object is.
    pub(super) partial: bool,
}

impl<'m> Targets<'m> {
    pub(super) fn steady() -> Self {
        Targets {
            steady: true,
            ..Targets::default()
        }
    }

    pub(super) fn unknown() -> Self {
        Targets {
            unknown: true,
            ..Targets::default()
        }
    }

    pub(super) fn object(object: Object) -> Self {
        Targets {
            objects: vec![(object, Offset::exact(0))],
            ..Targets::default()
        }
    }

    pub(super) fn symbol(name: &'m str) -> Self {
        Targets {
            symbols: vec![name],
            ..Targets::default()
        }
    }

    pub(super) fn objects(&self) -> &[(Object, Offset)] {
        &self.objects
    }

    pub(super) fn symbols(&self) -> &[&'m str] {
        &self.symbols
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.symbols.is_empty() && !self.steady && !self.unknown
    }

    /// Whether the value may be the address of the thread's own memory, whose location varies.
    pub(super) fn is_own(&self) -> bool {
        !self.objects.is_empty()
    }

    /// The only object that it may point to, if there is one.
    pub(super) fn only_object(&self) -> Option<Object> {
        match self.objects[..] {
            [(object, _)] if self.symbols.is_empty() && !self.steady && self.is_whole() => {
                Some(object)
            }
            _ => None,
        }
    }

    /// Whether the value is one address of known memory.
    pub(super) fn is_whole(&self) -> bool {
        !self.unknown && !self.partial
    }

    /// Adds others; returns whether any was new.
    pub(super) fn add(&mut self, other: &Targets<'m>) -> bool {
        let flags = |targets: &Targets<'_>| (targets.steady, targets.unknown, targets.partial);
        let old = flags(self);
        self.steady |= other.steady;
        self.unknown |= other.unknown;
        self.partial |= other.partial;
        let mut changed = flags(self) != old;
        for &(object, offset) in &other.objects {
            match self
                .objects
                .binary_search_by_key(&object, |(known, _)| *known)
            {
                Ok(at) => {
                    let known = &mut self.objects[at].1;
                    let either = known.or(offset);
                    changed |= either != *known;
                    *known = either;
                }
                Err(at) => {
                    self.objects.insert(at, (object, offset));
                    changed = true;
                }
            }
        }
        for symbol in &other.symbols {
            if let Err(at) = self.symbols.binary_search(symbol) {
                self.symbols.insert(at, symbol);
                changed = true;
            }
        }
        changed
    }

    /// The targets of the address moved by that many bytes.
    pub(super) fn moved(mut self, bytes: Offset) -> Self {
        for (_, offset) in &mut self.objects {
            *offset = offset.plus(bytes);
        }
        self
    }

    /// The targets of a number computed from such an address.
    pub(super) fn computed(self) -> Self {
        let unknown = !self.is_empty();
        let moved = self.moved(Offset::ANY).in_parts();
        Targets { unknown, ..moved }
    }

    /// The same, for a part of the address.
    pub(super) fn in_parts(self) -> Self {
        Targets {
            partial: self.partial || self.is_own(),
            ..self
        }
    }
}
