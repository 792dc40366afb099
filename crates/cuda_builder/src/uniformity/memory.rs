//! The contents of the thread's own memory: variables that LLVM left in memory, and allocations.
//!
//! An object's content is everything ever stored in it, by range of bytes: a fact covers one range,
//! or the same field of each element of an array, and a store adds to it. An object whose address
//! [escapes](Memory::escape) can contain anything.

use std::collections::BTreeMap;

use super::fact::Fact;
use super::level::{Cause, Rank};
use super::offset::Offset;
use super::targets::{Object, Targets};

/// The objects of a kernel and of the functions that it calls.
#[derive(Default)]
pub(super) struct Memory<'m> {
    contents: Vec<Content<'m>>,
}

/// The range of an access: the offset in bytes, and the length if it is constant. An unknown length
/// extends to the object's end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) offset: Offset,
    pub(super) len: Option<u64>,
}

impl Range {
    /// The range that starts at an address.
    pub(super) fn first(len: Option<u64>) -> Self {
        Range {
            offset: Offset::exact(0),
            len,
        }
    }

    fn bytes(self) -> u64 {
        self.len.unwrap_or(u64::MAX)
    }
}

struct Content<'m> {
    /// What is stored, by offset and length.
    cells: BTreeMap<(Offset, u64), Fact<'m>>,
    /// What may be stored anywhere.
    rest: Fact<'m>,
    /// All facts are in `rest`.
    is_whole: bool,
    escaped: Option<Cause<'m>>,
    kind: Kind,
    /// The [context](super::flow::Flow) that creates it once per call. `None`: it is created in a
    /// loop.
    home: Option<usize>,
}

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Variable,
    Allocation { may_fail: bool },
}

/// The size of an address in bytes.
const ADDRESS: u64 = 8;
/// Beyond this number, the ranges are merged into one.
const MOST_CELLS: usize = 64;

impl<'m> Memory<'m> {
    /// A new object. `content`: its initial contents. `home`: the context that creates it once.
    pub(super) fn create(&mut self, content: Fact<'m>, kind: Kind, home: Option<usize>) -> Object {
        self.contents.push(Content {
            cells: BTreeMap::new(),
            rest: content,
            is_whole: false,
            escaped: None,
            kind,
            home,
        });
        self.contents.len() - 1
    }

    pub(super) fn kind(&self, object: Object) -> Kind {
        self.contents[object].kind
    }

    /// The context that creates an object once per call, if there is one.
    pub(super) fn home(&self, object: Object) -> Option<usize> {
        self.contents[object].home
    }

    /// Whether a range is a single address or contains no address of the thread's own memory.
    pub(super) fn is_one_address(&self, object: Object, range: Range) -> bool {
        let content = &self.contents[object];
        let is_address = |(offset, len): (Offset, u64)| {
            len == ADDRESS && range.len == Some(ADDRESS) && range.offset.matches(offset, ADDRESS)
        };
        let mut cells = content.overlapping(range);
        !content.rest.targets.is_own()
            && cells.all(|(&cell, fact)| !fact.targets.is_own() || is_address(cell))
    }

    /// Records a store; returns whether anything changed.
    pub(super) fn write(&mut self, object: Object, range: Range, value: &Fact<'m>) -> bool {
        if let Some(cause) = self.contents[object].escaped {
            return self.escape(&value.targets, cause);
        }
        let content = &mut self.contents[object];
        if content.is_whole {
            return content.rest.add(value);
        }
        let key = (range.offset, range.bytes());
        let changed = match content.cells.get_mut(&key) {
            Some(cell) => cell.add(value),
            None => {
                content.cells.insert(key, value.clone());
                true
            }
        };
        if content.cells.len() > MOST_CELLS {
            content.merge();
        }
        changed
    }

    /// The contents of a copy of a range, by offset in the copy.
    pub(super) fn copied(&self, object: Object, range: Range) -> Vec<(Range, Fact<'m>)> {
        let content = &self.contents[object];
        let mut parts = vec![(Range::first(range.len), content.rest.clone())];
        for (&(offset, len), cell) in content.overlapping(range) {
            let place = offset.minus(range.offset);
            let part = match place.constant() {
                // Only what is inside the range.
                Some(start) => {
                    let cut = u64::try_from(start.saturating_neg()).unwrap_or(0);
                    let start = start.max(0);
                    let rest = range.bytes().saturating_sub(start.unsigned_abs());
                    Range {
                        offset: Offset::exact(start),
                        len: Some(len.saturating_sub(cut).min(rest)),
                    }
                }
                None => Range {
                    offset: place,
                    len: Some(len),
                },
            };
            parts.push((part, cell.clone()));
        }
        parts
    }

    /// Records that addresses become known to code that is not followed: their targets, and the
    /// targets of the pointers stored there, can contain anything. Returns whether anything
    /// changed.
    pub(super) fn escape(&mut self, targets: &Targets<'m>, cause: Cause<'m>) -> bool {
        let mut waiting: Vec<_> = targets
            .objects()
            .iter()
            .map(|(object, _)| *object)
            .collect();
        let mut changed = false;
        while let Some(object) = waiting.pop() {
            let content = &mut self.contents[object];
            if content.escaped.is_some() {
                continue;
            }
            changed = true;
            content.escaped = Some(cause);
            content.merge();
            let reached = content.rest.targets.objects().iter();
            waiting.extend(reached.map(|(object, _)| *object));
            content.rest = Fact::unknown(cause);
        }
        changed
    }
}

impl<'m> Content<'m> {
    fn overlapping(&self, range: Range) -> impl Iterator<Item = (&(Offset, u64), &Fact<'m>)> {
        let overlaps =
            move |&(offset, len): &(Offset, u64)| range.offset.overlaps(range.bytes(), offset, len);
        self.cells.iter().filter(move |(key, _)| overlaps(key))
    }

    /// From now on any contents may be anywhere in the object.
    fn merge(&mut self) {
        self.is_whole = true;
        for cell in std::mem::take(&mut self.cells).values() {
            self.rest.add(cell);
        }
    }
}

/// Contents that were never stored to.
pub(super) fn fresh<'m>() -> Fact<'m> {
    Fact::number(Rank::BLOCK)
}
