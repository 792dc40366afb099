//! Variables by their Rust names and types, from the debug information of a PTX text: DWARF as
//! LLVM writes it for NVPTX.

mod entry;
mod place;
mod section;
#[cfg(test)]
mod tests;
mod types;

use crate::element::Evaluated;
use entry::{Entries, attribute, tag};
use place::{Origin, Piece};
use ptx_emulator::SourceLocation;
use section::Sections;
use std::collections::{HashMap, HashSet};
pub(crate) use types::{Bytes, Shape, Type};
use types::{Types, known};

/// The debug information of a PTX text.
pub(crate) struct Dwarf {
    sections: Sections,
    entries: Entries,
    /// The compiler has dropped no variable: one that is not in a scope is not in scope.
    is_whole: bool,
}

/// In the first line of a text by `DebugInfo::Locals`.
const WHOLE: &str = "every variable is in memory";

/// A variable of a frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// Its bytes, as far as they are kept.
    pub(crate) bytes: Bytes,
}

/// What variables are kept in.
pub(crate) trait Storage {
    /// The value of a register.
    fn register(&self, name: &str) -> Option<u64>;
    /// Bytes of a variable of the PTX.
    fn symbol(&self, name: &str, offset: u64, size: u64) -> Option<Vec<u8>>;
    /// Bytes at a generic address.
    fn memory(&self, address: u64, size: u64) -> Option<Vec<u8>>;
}

impl Dwarf {
    /// `None` for a text without debug information.
    ///
    /// # Errors
    /// When it is in a form that is not read.
    pub(crate) fn read(text: &str) -> Result<Option<Self>, String> {
        let Some(sections) = Sections::read(text) else {
            return Ok(None);
        };
        let entries = Entries::read(&sections)?;
        let first = text.lines().next().unwrap_or_default();
        Ok(Some(Self {
            sections,
            entries,
            is_whole: first.contains(WHOLE),
        }))
    }

    /// The variables of a frame at a line of the PTX. `chain` are the frames there, outermost
    /// first; `depth` counts from the outermost.
    pub(crate) fn variables(
        &self,
        line: u32,
        chain: &[SourceLocation],
        depth: usize,
        storage: &dyn Storage,
    ) -> Vec<Variable> {
        let Some((numbers, place)) = self.frame(line.into(), chain, depth).zip(chain.get(depth))
        else {
            return Vec::new();
        };
        let mut variables: Vec<Option<Variable>> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut left = MOST_BYTES;
        for number in numbers {
            let declared = self.entries.inherited(number, attribute::DECLARATION_LINE);
            // A parameter has its value on the line that declares it; a variable gets it there.
            let known = u64::from(self.entries.get(number).tag == tag::PARAMETER);
            let is_later = matches!(declared, Some(entry::Value::Number(declared))
                if *declared >= u64::from(place.line) + known && place.line > 0);
            let name = self
                .entries
                .name(number)
                .filter(|name| !name.starts_with("__"));
            let ty = self.entries.followed(number, attribute::TYPE).map(Type);
            let (Some(name), Some(ty), false) = (name, ty, is_later) else {
                continue;
            };
            let size = self.types().size(ty);
            let Some(rest) = left.checked_sub(room(size)) else {
                continue;
            };
            left = rest;
            let pieces = place::pieces(&self.entries, &self.sections, number, line.into());
            let bytes = pieces.map(|pieces| bytes_of(&pieces, size, storage));
            // An inner variable hides an outer one of its name.
            if let Some(hidden) = places.insert(name, variables.len()) {
                variables[hidden] = None;
            }
            variables.push(Some(Variable {
                name: name.to_owned(),
                ty,
                bytes: bytes.unwrap_or_else(|| vec![None; room(size)]),
            }));
        }
        variables.into_iter().flatten().collect()
    }

    /// The name of a frame's function, as for [`variables`](Self::variables).
    pub(crate) fn function(
        &self,
        line: u32,
        chain: &[SourceLocation],
        depth: usize,
    ) -> Option<&str> {
        let at = self.scope(line.into(), chain, depth)?;
        self.entries.name(at)
    }

    /// The entry of a frame's function.
    fn scope(&self, line: u64, chain: &[SourceLocation], depth: usize) -> Option<usize> {
        let mut functions = self.entries.all();
        let holds = |(_, entry): &(usize, &entry::Entry)| {
            entry.tag == tag::SUBPROGRAM && entry.contains(line)
        };
        let (mut at, _) = functions.find(holds)?;
        for call in chain.get(..depth)? {
            at = self.inlined(at, line, call)?;
        }
        Some(at)
    }

    /// The variables' entries of a frame.
    fn frame(&self, line: u64, chain: &[SourceLocation], depth: usize) -> Option<Vec<usize>> {
        let at = self.scope(line, chain, depth)?;
        let mut numbers = Vec::new();
        self.collect(at, line, &mut numbers);
        // What the compiler has dropped is described where the function itself is.
        let origin = self.entries.follow(at, attribute::ABSTRACT_ORIGIN);
        if let Some(origin) = origin.filter(|_| !self.is_whole) {
            let mut all = Vec::new();
            self.collect_all(origin, &mut all);
            let origin = |&number: &usize| self.entries.follow(number, attribute::ABSTRACT_ORIGIN);
            let there: HashSet<usize> = numbers.iter().filter_map(origin).collect();
            let mut dropped = all;
            dropped.retain(|of| !there.contains(of));
            dropped.append(&mut numbers);
            numbers = dropped;
        }
        Some(numbers)
    }

    /// The function that is inlined at a call.
    fn inlined(&self, scope: usize, line: u64, call: &SourceLocation) -> Option<usize> {
        let is_call = |entry: &entry::Entry| {
            let number = |name| entry.number(name);
            number(attribute::CALL_LINE) == Some(call.line.into())
                && number(attribute::CALL_COLUMN)
                    .is_none_or(|column| column == u64::from(call.column))
        };
        self.entries
            .children(scope)
            .filter(|(_, entry)| entry.contains(line))
            .find_map(|(number, entry)| match entry.tag {
                tag::INLINED if is_call(entry) => Some(number),
                tag::LEXICAL_BLOCK => self.inlined(number, line, call),
                _ => None,
            })
    }

    /// The variables in scope at a line of the PTX, outer ones first.
    fn collect(&self, scope: usize, line: u64, numbers: &mut Vec<usize>) {
        for (number, entry) in self.entries.children(scope) {
            match entry.tag {
                tag::PARAMETER | tag::VARIABLE => numbers.push(number),
                tag::LEXICAL_BLOCK if entry.contains(line) => self.collect(number, line, numbers),
                _ => {}
            }
        }
    }

    fn collect_all(&self, scope: usize, numbers: &mut Vec<usize>) {
        for (number, entry) in self.entries.children(scope) {
            match entry.tag {
                tag::PARAMETER | tag::VARIABLE => numbers.push(number),
                tag::LEXICAL_BLOCK => self.collect_all(number, numbers),
                _ => {}
            }
        }
    }

    /// The first argument of a generic type.
    pub(crate) fn argument(&self, Type(at): Type) -> Option<Type> {
        let mut arguments = self.entries.children(at);
        let (number, _) = arguments.find(|(_, entry)| entry.tag == tag::TYPE_PARAMETER)?;
        self.entries.follow(number, attribute::TYPE).map(Type)
    }

    /// The type of a variable of the whole module, by its name in the PTX.
    pub(crate) fn type_of(&self, symbol: &str) -> Option<Type> {
        let named = |(_, entry): &(usize, &entry::Entry)| {
            let name = entry.value(attribute::LINKAGE_NAME);
            entry.tag == tag::VARIABLE
                && matches!(name, Some(entry::Value::Text(name)) if **name == *symbol)
        };
        let (number, _) = self.entries.all().find(named)?;
        self.entries.followed(number, attribute::TYPE).map(Type)
    }

    /// Whether any variable has a name.
    pub(crate) fn has(&self, name: &str) -> bool {
        let is_variable = |tag| tag == tag::VARIABLE || tag == tag::PARAMETER;
        let mut variables = self
            .entries
            .all()
            .filter(|(_, entry)| is_variable(entry.tag));
        variables.any(|(number, _)| self.entries.name(number) == Some(name))
    }

    fn types(&self) -> Types<'_> {
        Types(&self.entries)
    }

    pub(crate) fn shape(&self, ty: Type) -> Shape {
        self.types().shape(ty)
    }

    pub(crate) fn size(&self, ty: Type) -> u64 {
        self.types().size(ty)
    }

    pub(crate) fn type_name(&self, ty: Type) -> String {
        self.types().name(ty)
    }

    /// A value in a line.
    pub(crate) fn text(&self, ty: Type, bytes: &[Option<u8>]) -> String {
        self.types().text(ty, bytes)
    }

    /// A value that expressions compute with, where it is one.
    pub(crate) fn evaluated(&self, ty: Type, bytes: &[Option<u8>]) -> Option<Evaluated> {
        self.types().evaluated(ty, bytes)
    }

    /// The parts of a value, without what is in other memory.
    pub(crate) fn parts(&self, ty: Type, bytes: &[Option<u8>]) -> Vec<(String, Type, Bytes)> {
        self.types().parts(ty, bytes)
    }

    /// The address, the length and the elements' type of what a slice or a pointer refers to.
    pub(crate) fn target(&self, ty: Type, bytes: &[Option<u8>]) -> Option<(u64, u64, Type)> {
        let word = |at: usize| {
            let bytes = known(bytes.get(at..at + 8)?)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        match self.shape(ty) {
            Shape::Slice(element) => Some((word(0)?, word(8)?, element)),
            Shape::Pointer(Some(to)) if self.size(to) > 0 => Some((word(0)?, 1, to)),
            _ => None,
        }
    }
}

/// Larger values are cut.
const LARGEST: u64 = 1 << 16;

/// Bytes of a frame's variables together; those beyond are left out.
const MOST_BYTES: usize = 1 << 22;

fn room(size: u64) -> usize {
    size.min(LARGEST) as usize
}

fn bytes_of(pieces: &[Piece], size: u64, storage: &dyn Storage) -> Bytes {
    let mut bytes = Bytes::new();
    for Piece { origin, size: of } in pieces {
        let left = room(size).saturating_sub(bytes.len());
        let count = of.map_or(left, |of| room(of).min(left));
        let number = |value: u64| value.to_le_bytes().to_vec();
        let found = match origin {
            Origin::Nowhere => None,
            Origin::Register(name) => storage.register(name).map(number),
            Origin::Constant(value) => Some(number(*value)),
            Origin::Memory(name, offset) => storage.symbol(name, *offset, count as u64),
            Origin::Pointed(name, offset, steps) => {
                let pointer = |bytes: Vec<u8>| Some(u64::from_le_bytes(bytes.try_into().ok()?));
                let first = storage.symbol(name, *offset, 8).and_then(pointer);
                let (last, before) = steps.split_last().unwrap_or((&0, &[]));
                let address = before.iter().fold(first, |address, step| {
                    let bytes = storage.memory(address?.wrapping_add(*step), 8);
                    bytes.and_then(pointer)
                });
                let address = address.map(|address| address.wrapping_add(*last));
                address.and_then(|address| storage.memory(address, count as u64))
            }
        };
        let found = found.unwrap_or_default().into_iter().map(Some);
        bytes.extend(found.chain(std::iter::repeat(None)).take(count));
    }
    bytes.resize(room(size), None);
    bytes
}
