//! The contents of the thread's own memory: variables that LLVM left in memory, and allocations.
//!
//! An object's content is what was ever stored in it, by range of bytes: a fact covers one range,
//! and a store adds to it. What is stored at an offset that is not constant may be anywhere in the
//! object. An object whose address [escapes](Memory::escape) can contain anything.

use std::collections::BTreeMap;

use super::fact::Fact;
use super::level::{Cause, Rank};
use super::targets::{Object, Targets};

/// The objects of a kernel and of the functions that it calls.
#[derive(Default)]
pub(super) struct Memory<'m> {
    contents: Vec<Content<'m>>,
}

/// Where an access reads or writes: the offset in bytes and the length, if they are constant. An
/// unknown length reaches to the object's end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) offset: Option<i64>,
    pub(super) len: Option<u64>,
}

struct Content<'m> {
    /// What is stored at known offsets, by offset and length.
    cells: BTreeMap<(i64, u64), Fact<'m>>,
    /// What may be anywhere.
    rest: Fact<'m>,
    /// Everything is in `rest`.
    is_whole: bool,
    escaped: Option<Cause<'m>>,
    kind: Kind,
    /// The [context](super::flow::Flow) that creates it, once each time that it is called. `None`:
    /// in a loop.
    home: Option<usize>,
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Variable,
    Allocation { may_fail: bool },
}

/// The bytes of an address.
const ADDRESS: u64 = 8;
/// More ranges than that are one.
const MOST_CELLS: usize = 64;

impl<'m> Memory<'m> {
    /// A new object. `content`: what it holds from the start. `home`: the context that creates it
    /// once.
    pub(super) fn create(
        &mut self,
        content: Fact<'m>,
        kind: Kind,
        home: Option<usize>,
    ) -> Object {
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

    /// The context that creates an object, if that is once each time that it is called.
    pub(super) fn home(&self, object: Object) -> Option<usize> {
        self.contents[object].home
    }

    /// What a range may contain.
    fn read(&self, object: Object, range: Range) -> Fact<'m> {
        let content = &self.contents[object];
        let mut read = content.rest.clone();
        for (_, cell) in content.overlapping(range) {
            read.add(cell);
        }
        read
    }

    /// Whether a range is either one address or holds none of the thread's own.
    pub(super) fn is_one_address(&self, object: Object, range: Range) -> bool {
        let content = &self.contents[object];
        let key = (range.offset.unwrap_or(0), range.len.unwrap_or(0));
        let is_whole = range.offset.is_some() && range.len == Some(ADDRESS);
        let mut cells = content.overlapping(range);
        !content.rest.targets.is_own()
            && cells.all(|(cell, fact)| !fact.targets.is_own() || (is_whole && *cell == key))
    }

    /// Records a store; returns whether anything changed.
    pub(super) fn write(&mut self, object: Object, range: Range, value: &Fact<'m>) -> bool {
        if let Some(cause) = self.contents[object].escaped {
            return self.escape(&value.targets, cause);
        }
        let content = &mut self.contents[object];
        match range.offset {
            Some(offset) if !content.is_whole => {
                let key = (offset, range.len.unwrap_or(u64::MAX));
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
            _ => content.rest.add(value),
        }
    }

    /// What a copy of a range contains: by the place in the copy, or anywhere in it.
    pub(super) fn copied(&self, object: Object, range: Range) -> Vec<(Range, Fact<'m>)> {
        let content = &self.contents[object];
        let anywhere = Range {
            offset: Some(0),
            len: range.len,
        };
        let Some(from) = range.offset else {
            return vec![(anywhere, self.read(object, range))];
        };
        let mut parts = vec![(anywhere, content.rest.clone())];
        let end = end(from, range.len);
        for (&(offset, len), cell) in content.overlapping(range) {
            let start = i128::from(offset).max(from.into());
            let stop = self::end(offset, Some(len)).min(end);
            let part = Range {
                offset: i64::try_from(start - i128::from(from)).ok(),
                len: u64::try_from(stop - start).ok(),
            };
            parts.push((part, cell.clone()));
        }
        parts
    }

    /// Records that addresses are known where they are not followed: what they point to, and what
    /// the pointers there point to, can contain anything. Returns whether anything changed.
    pub(super) fn escape(&mut self, targets: &Targets<'m>, cause: Cause<'m>) -> bool {
        let mut waiting: Vec<_> = targets.objects().iter().map(|(object, _)| *object).collect();
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
    fn overlapping(&self, range: Range) -> impl Iterator<Item = (&(i64, u64), &Fact<'m>)> {
        let overlaps = move |&(offset, len): &(i64, u64)| match range.offset {
            Some(from) => {
                end(from, range.len) > i128::from(offset)
                    && end(offset, Some(len)) > i128::from(from)
            }
            None => true,
        };
        self.cells.iter().filter(move |(key, _)| overlaps(key))
    }

    /// From now on everything may be anywhere.
    fn merge(&mut self) {
        self.is_whole = true;
        for cell in std::mem::take(&mut self.cells).values() {
            self.rest.add(cell);
        }
    }
}

/// The end of a range.
fn end(offset: i64, len: Option<u64>) -> i128 {
    i128::from(offset) + i128::from(len.unwrap_or(u64::MAX))
}

/// What nobody has stored to.
pub(super) fn fresh<'m>() -> Fact<'m> {
    Fact::number(Rank::BLOCK)
}
