//! The entries of `.debug_info`: a tree of functions, scopes, variables and types.

use super::section::{Bytes, Sections};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) mod tag {
    pub(in crate::dwarf) const ARRAY: u64 = 0x01;
    pub(in crate::dwarf) const ENUMERATION: u64 = 0x04;
    pub(in crate::dwarf) const PARAMETER: u64 = 0x05;
    pub(in crate::dwarf) const LEXICAL_BLOCK: u64 = 0x0b;
    pub(in crate::dwarf) const MEMBER: u64 = 0x0d;
    pub(in crate::dwarf) const POINTER: u64 = 0x0f;
    pub(in crate::dwarf) const REFERENCE: u64 = 0x10;
    pub(in crate::dwarf) const STRUCTURE: u64 = 0x13;
    pub(in crate::dwarf) const TYPEDEF: u64 = 0x16;
    pub(in crate::dwarf) const UNION: u64 = 0x17;
    pub(in crate::dwarf) const VARIANT: u64 = 0x19;
    pub(in crate::dwarf) const INLINED: u64 = 0x1d;
    pub(in crate::dwarf) const SUBRANGE: u64 = 0x21;
    pub(in crate::dwarf) const BASE: u64 = 0x24;
    pub(in crate::dwarf) const ENUMERATOR: u64 = 0x28;
    pub(in crate::dwarf) const SUBPROGRAM: u64 = 0x2e;
    pub(in crate::dwarf) const TYPE_PARAMETER: u64 = 0x2f;
    pub(in crate::dwarf) const VARIANT_PART: u64 = 0x33;
    pub(in crate::dwarf) const VARIABLE: u64 = 0x34;
}

pub(super) mod attribute {
    pub(in crate::dwarf) const LOCATION: u64 = 0x02;
    pub(in crate::dwarf) const NAME: u64 = 0x03;
    pub(in crate::dwarf) const BYTE_SIZE: u64 = 0x0b;
    pub(in crate::dwarf) const LOW_PC: u64 = 0x11;
    pub(in crate::dwarf) const HIGH_PC: u64 = 0x12;
    pub(in crate::dwarf) const DISCRIMINANT: u64 = 0x15;
    pub(in crate::dwarf) const DISCRIMINANT_VALUE: u64 = 0x16;
    pub(in crate::dwarf) const CONST_VALUE: u64 = 0x1c;
    pub(in crate::dwarf) const UPPER_BOUND: u64 = 0x2f;
    pub(in crate::dwarf) const ABSTRACT_ORIGIN: u64 = 0x31;
    pub(in crate::dwarf) const COUNT: u64 = 0x37;
    pub(in crate::dwarf) const MEMBER_LOCATION: u64 = 0x38;
    pub(in crate::dwarf) const DECLARATION_LINE: u64 = 0x3b;
    pub(in crate::dwarf) const ENCODING: u64 = 0x3e;
    pub(in crate::dwarf) const SPECIFICATION: u64 = 0x47;
    pub(in crate::dwarf) const TYPE: u64 = 0x49;
    pub(in crate::dwarf) const CALL_COLUMN: u64 = 0x57;
    pub(in crate::dwarf) const CALL_LINE: u64 = 0x59;
    pub(in crate::dwarf) const LINKAGE_NAME: u64 = 0x2007;

    /// Those above: no others are kept.
    pub(super) const READ: [u64; 19] = [
        LOCATION,
        NAME,
        BYTE_SIZE,
        LOW_PC,
        HIGH_PC,
        DISCRIMINANT,
        DISCRIMINANT_VALUE,
        CONST_VALUE,
        UPPER_BOUND,
        ABSTRACT_ORIGIN,
        COUNT,
        MEMBER_LOCATION,
        DECLARATION_LINE,
        ENCODING,
        SPECIFICATION,
        TYPE,
        CALL_COLUMN,
        CALL_LINE,
        LINKAGE_NAME,
    ];
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(u64),
    /// Entries share the texts of `.debug_str`.
    Text(Arc<str>),
    /// Bytes of the section from an offset on.
    Block(usize, usize),
    /// The offset of another entry.
    Entry(usize),
}

/// An entry, by its number in the order of the section.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) tag: u64,
    attributes: Vec<(u64, Value)>,
    pub(super) children: Vec<usize>,
}

/// All entries.
#[derive(Debug, Default)]
pub(super) struct Entries {
    all: Vec<Entry>,
    numbers: HashMap<usize, usize>,
}

/// Entries in entries, and types that refer to each other, at most. Rust's have a few; hostile ones
/// could refer to themselves.
const DEEPEST: usize = 200;

/// Attributes of an entry, at most. LLVM writes a dozen.
const MOST_ATTRIBUTES: usize = 64;

/// The tag and the attributes with their forms, by code.
type Abbreviations = HashMap<u64, (u64, bool, Vec<(u64, u64)>)>;

/// What units and entries refer to. Each byte is kept once, however many refer to it.
struct Shared<'s> {
    sections: &'s Sections,
    /// Kinds of entries, by the offset of their table.
    tables: HashMap<usize, Arc<Abbreviations>>,
    /// Bytes of tables so far: tables that overlap would be more than the section has.
    read: usize,
    texts: HashMap<usize, Arc<str>>,
}

impl Entries {
    /// An error if something is in a form that is not known.
    pub(super) fn read(sections: &Sections) -> Result<Self, String> {
        let mut entries = Self::default();
        let mut shared = Shared {
            sections,
            tables: HashMap::new(),
            read: 0,
            texts: HashMap::new(),
        };
        let mut bytes = Bytes::new(&sections.info.bytes, 0);
        while !bytes.has_ended() {
            let start = bytes.at;
            let unit = Unit::read(&mut bytes, &mut shared, start);
            let Some(unit) = unit else {
                return Err("the debug information is of a kind that is not read".to_owned());
            };
            let mut open: Vec<usize> = Vec::new();
            while bytes.at < unit.end {
                let at = bytes.at;
                let cut = || "the debug information is cut off".to_owned();
                let code = bytes.unsigned().ok_or_else(cut)?;
                let Some((tag, has_children, forms)) = unit.abbreviations.get(&code) else {
                    if code != 0 {
                        return Err("the debug information names no kind of entry".to_owned());
                    }
                    open.pop();
                    continue;
                };
                let mut attributes = Vec::new();
                for &(name, form) in forms {
                    let value = unit.value(form, &mut bytes, &mut shared).ok_or_else(cut)?;
                    // None of those that are read is a flag, which takes no byte of the entry.
                    if attribute::READ.contains(&name) && form != FLAG_PRESENT {
                        attributes.push((name, plain(name, value, sections)));
                    }
                }
                let number = entries.all.len();
                entries.numbers.insert(at, number);
                if let Some(&parent) = open.last() {
                    entries.all[parent].children.push(number);
                }
                entries.all.push(Entry {
                    tag: *tag,
                    attributes,
                    children: Vec::new(),
                });
                if *has_children {
                    open.push(number);
                }
                if open.len() > DEEPEST {
                    return Err("the debug information is nested too deeply".to_owned());
                }
            }
            bytes.at = bytes.at.max(unit.end);
        }
        match entries.types_end() {
            true => Ok(entries),
            false => Err("a type of the debug information refers to itself".to_owned()),
        }
    }

    /// Whether each type leads, through what has no name of its own, to one that refers to no other.
    fn types_end(&self) -> bool {
        let leads_on = [tag::TYPEDEF, tag::ARRAY, tag::POINTER, tag::REFERENCE];
        let next = |&at: &usize| {
            let leads_on = leads_on.contains(&self.all[at].tag);
            leads_on.then(|| self.follow(at, attribute::TYPE))?
        };
        let length = |at| std::iter::successors(Some(at), next).take(DEEPEST).count();
        // A named pointer may lead to its own structure, which ends the way here.
        (0..self.all.len()).all(|at| length(at) < DEEPEST)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (usize, &Entry)> {
        self.all.iter().enumerate()
    }

    pub(super) fn get(&self, number: usize) -> &Entry {
        &self.all[number]
    }

    pub(super) fn children(&self, number: usize) -> impl Iterator<Item = (usize, &Entry)> {
        let children = self.all[number].children.iter();
        children.map(|&child| (child, &self.all[child]))
    }

    /// The entry that an attribute refers to.
    pub(super) fn follow(&self, number: usize, name: u64) -> Option<usize> {
        match self.all[number].value(name)? {
            Value::Entry(offset) => self.numbers.get(offset).copied(),
            _ => None,
        }
    }

    /// The entry itself, and those that it is an instance or the rest of.
    fn origins(&self, number: usize) -> impl Iterator<Item = usize> {
        let next = |&at: &usize| {
            let origin = self.follow(at, attribute::ABSTRACT_ORIGIN);
            origin.or_else(|| self.follow(at, attribute::SPECIFICATION))
        };
        std::iter::successors(Some(number), next).take(4)
    }

    /// An attribute, also of what the entry is an instance of.
    pub(super) fn inherited(&self, number: usize, name: u64) -> Option<&Value> {
        self.origins(number).find_map(|at| self.all[at].value(name))
    }

    /// The entry that an attribute refers to, also of what the entry is an instance of.
    pub(super) fn followed(&self, number: usize, name: u64) -> Option<usize> {
        self.origins(number).find_map(|at| self.follow(at, name))
    }

    pub(super) fn name(&self, number: usize) -> Option<&str> {
        match self.inherited(number, attribute::NAME)? {
            Value::Text(name) => Some(name),
            _ => None,
        }
    }
}

impl Entry {
    pub(super) fn value(&self, name: u64) -> Option<&Value> {
        let found = self.attributes.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value)
    }

    pub(super) fn number(&self, name: u64) -> Option<u64> {
        match self.value(name)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether a line is in the entry's range of addresses.
    pub(super) fn contains(&self, line: u64) -> bool {
        let low = self.number(attribute::LOW_PC);
        let high = self.number(attribute::HIGH_PC);
        low.zip(high)
            .is_some_and(|(low, high)| (low..high).contains(&line))
    }
}

struct Unit {
    start: usize,
    end: usize,
    version: u64,
    abbreviations: Arc<Abbreviations>,
}

/// The form of a flag that is set by its name alone.
const FLAG_PRESENT: u64 = 0x19;

impl Unit {
    /// Reads a unit's head; `None` for versions and sizes that NVPTX has not.
    fn read(bytes: &mut Bytes<'_>, shared: &mut Shared<'_>, start: usize) -> Option<Self> {
        let length = bytes.fixed(4)?;
        let end = bytes.at.checked_add(usize::try_from(length).ok()?)?;
        let version = bytes.fixed(2)?;
        let abbreviations = usize::try_from(bytes.fixed(4)?).ok()?;
        let size = bytes.fixed(1)?;
        let has = shared.sections.info.bytes.len();
        let is_known = (2..=4).contains(&version) && size == 8 && end <= has;
        is_known.then_some(Self {
            start,
            end,
            version,
            abbreviations: shared.abbreviations(abbreviations)?,
        })
    }

    fn value(&self, form: u64, bytes: &mut Bytes<'_>, shared: &mut Shared<'_>) -> Option<Value> {
        let entry = |offset: u64| usize::try_from(offset).ok();
        let local = |offset: u64| Some(Value::Entry(self.start.checked_add(entry(offset)?)?));
        let block = |size: u64, bytes: &mut Bytes<'_>| {
            let (at, size) = (bytes.at, usize::try_from(size).ok()?);
            bytes.take(size)?;
            Some(Value::Block(at, size))
        };
        Some(match form {
            0x01 | 0x07 => Value::Number(bytes.fixed(8)?),
            0x03 => {
                let size = bytes.fixed(2)?;
                block(size, bytes)?
            }
            0x04 => {
                let size = bytes.fixed(4)?;
                block(size, bytes)?
            }
            0x05 => Value::Number(bytes.fixed(2)?),
            0x06 | 0x17 => Value::Number(bytes.fixed(4)?),
            0x08 => Value::Text(bytes.text()?.into()),
            0x09 | 0x18 => {
                let size = bytes.unsigned()?;
                block(size, bytes)?
            }
            0x0a => {
                let size = bytes.fixed(1)?;
                block(size, bytes)?
            }
            0x0b | 0x0c => Value::Number(bytes.fixed(1)?),
            0x0d => Value::Number(bytes.signed()? as u64),
            0x0e => {
                let at = entry(bytes.fixed(4)?)?;
                Value::Text(shared.text(at)?)
            }
            0x0f => Value::Number(bytes.unsigned()?),
            // In version 2 as wide as an address.
            0x10 => Value::Entry(entry(bytes.fixed(if self.version == 2 {
                8
            } else {
                4
            })?)?),
            0x11 => local(bytes.fixed(1)?)?,
            0x12 => local(bytes.fixed(2)?)?,
            0x13 => local(bytes.fixed(4)?)?,
            0x14 => local(bytes.fixed(8)?)?,
            0x15 => local(bytes.unsigned()?)?,
            FLAG_PRESENT => Value::Number(1),
            _ => return None,
        })
    }
}

/// A value in its simplest form: a member's offset as a number, not as the operation that adds it.
fn plain(name: u64, value: Value, sections: &Sections) -> Value {
    if let (attribute::MEMBER_LOCATION, Value::Block(at, _)) = (name, &value) {
        let mut bytes = Bytes::new(&sections.info.bytes, *at);
        if let (Some(0x23), Some(offset)) = (bytes.fixed(1), bytes.unsigned()) {
            return Value::Number(offset);
        }
    }
    value
}

impl Shared<'_> {
    fn abbreviations(&mut self, at: usize) -> Option<Arc<Abbreviations>> {
        if let Some(known) = self.tables.get(&at) {
            return Some(Arc::clone(known));
        }
        let section = &self.sections.abbreviations.bytes;
        let mut bytes = Bytes::new(section, at);
        let table = Arc::new(abbreviations(&mut bytes)?);
        self.read += bytes.at - at;
        self.tables.insert(at, Arc::clone(&table));
        (self.read <= section.len()).then_some(table)
    }

    /// The text at an offset where one begins.
    fn text(&mut self, at: usize) -> Option<Arc<str>> {
        if let Some(known) = self.texts.get(&at) {
            return Some(Arc::clone(known));
        }
        let section = &self.sections.strings.bytes;
        let begins = at == 0 || section.get(at - 1) == Some(&0);
        let text = begins.then(|| Bytes::new(section, at).text())??;
        let text: Arc<str> = text.into();
        self.texts.insert(at, Arc::clone(&text));
        Some(text)
    }
}

fn abbreviations(bytes: &mut Bytes<'_>) -> Option<Abbreviations> {
    let mut known = HashMap::new();
    loop {
        let code = bytes.unsigned()?;
        if code == 0 {
            return Some(known);
        }
        let tag = bytes.unsigned()?;
        let has_children = bytes.fixed(1)? != 0;
        let mut forms = Vec::new();
        loop {
            match (bytes.unsigned()?, bytes.unsigned()?) {
                (0, 0) => break,
                _ if forms.len() == MOST_ATTRIBUTES => return None,
                form => forms.push(form),
            }
        }
        known.insert(code, (tag, has_children, forms));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit with these entries after its own: 1 opens a block, 2 is a pointer to the entry at an
    /// offset, 0 closes.
    fn read(entries: &[u8]) -> Result<Entries, String> {
        let list = |bytes: &[u8]| {
            let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
            numbers.join(",")
        };
        let abbreviations = [
            &[1, tag::LEXICAL_BLOCK as u8, 1, 0, 0][..],
            &[
                2,
                tag::POINTER as u8,
                0,
                attribute::TYPE as u8,
                0x13,
                0,
                0,
                0,
            ],
        ];
        let length = (7 + entries.len() as u32).to_le_bytes();
        let info = [&length[..], &[2, 0, 0, 0, 0, 0, 8], entries].concat();
        let text = format!(
            ".section .debug_abbrev\n{{\n.b8 {}\n}}\n.section .debug_info\n{{\n.b8 {}\n}}\n",
            list(&abbreviations.concat()),
            list(&info)
        );
        Entries::read(&Sections::read(&text).expect("sections"))
    }

    #[test]
    fn what_refers_to_itself_is_refused() {
        // The first entry is at byte 11 of the unit.
        assert!(read(&[2, 12, 0, 0, 0]).is_ok(), "nothing is there");
        assert!(
            read(&[2, 16, 0, 0, 0, 1, 0]).is_ok(),
            "a block ends the way"
        );
        let itself = read(&[2, 11, 0, 0, 0]);
        assert!(itself.is_err_and(|error| error.contains("refers to itself")));
        let each_other = read(&[2, 16, 0, 0, 0, 2, 11, 0, 0, 0]);
        assert!(each_other.is_err());
    }

    #[test]
    fn entries_are_nested_a_few_times_only() {
        assert!(read(&[1; 100]).is_ok());
        let deep = read(&[1; 100_000]);
        assert!(deep.is_err_and(|error| error.contains("nested too deeply")));
    }
}
