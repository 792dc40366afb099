//! Types of variables, and how their values are shown.

use super::entry::{Entries, Value, attribute, tag};
use crate::element::{Element, Evaluated};

/// Types in types, at most: debug information may refer to itself.
const DEEPEST: u32 = 8;
/// Elements and fields that a line shows, of each value.
const SHOWN: usize = 6;
/// Bytes of a line after which nothing is added, and of a name in it.
const LONGEST_LINE: usize = 1000;
const LONGEST_NAME: usize = 250;
/// Fields of a structure; more are left out.
const MOST_FIELDS: usize = 1000;
/// Bytes of a value's parts, which may overlap; parts beyond are left out.
const MOST_BYTES: usize = 1 << 20;

/// Bytes of a value; `None` for those that are optimised out.
pub(crate) type Bytes = Vec<Option<u8>>;

/// A type, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type(pub(super) usize);

/// What a value consists of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    Number(Element),
    Bool,
    Char,
    /// An address, and the type of what is there.
    Pointer(Option<Type>),
    /// An address and a length.
    Slice(Type),
    /// An element type and a length.
    Array(Type, u64),
    /// Names, offsets and types.
    Fields(Vec<(String, u64, Type)>),
    /// A number whose values have names.
    Named(Element),
    /// One of some types, each with the name of its variant.
    Variant(Box<Variants>),
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variants {
    /// The offset and the type of the number that chooses.
    discriminant: Option<(u64, Type)>,
    /// The number, or `None` for all others; the variant's fields.
    all: Vec<(Option<u64>, (String, u64, Type))>,
}

/// The types of a debug information.
pub(super) struct Types<'e>(pub(super) &'e Entries);

impl Types<'_> {
    /// Its name, without the modules that it is in.
    pub(super) fn name(&self, Type(at): Type) -> String {
        if let Some(name) = self.0.name(at) {
            return cut(&without_modules(name));
        }
        cut(&match self.shape(Type(at)) {
            Shape::Array(element, count) => format!("[{}; {count}]", self.name(element)),
            Shape::Pointer(Some(to)) => format!("*{}", self.name(to)),
            _ => "?".to_owned(),
        })
    }

    pub(super) fn size(&self, ty: Type) -> u64 {
        self.size_within(ty, 0)
    }

    fn size_within(&self, Type(at): Type, depth: u32) -> u64 {
        if let Some(size) = self.0.get(at).number(attribute::BYTE_SIZE) {
            return size;
        }
        let inner = || self.0.follow(at, attribute::TYPE).map(Type);
        match self.0.get(at).tag {
            _ if depth > DEEPEST => 0,
            tag::POINTER | tag::REFERENCE => 8,
            tag::TYPEDEF => inner().map_or(0, |ty| self.size_within(ty, depth + 1)),
            tag::ARRAY => {
                let size = inner().map_or(0, |ty| self.size_within(ty, depth + 1));
                size.saturating_mul(self.count(at))
            }
            _ => 0,
        }
    }

    fn count(&self, array: usize) -> u64 {
        let ranges = self.0.children(array);
        let ranges = ranges.filter(|(_, entry)| entry.tag == tag::SUBRANGE);
        let counts = ranges.map(|(_, range)| {
            let count = range.number(attribute::COUNT);
            count.or_else(|| range.number(attribute::UPPER_BOUND)?.checked_add(1))
        });
        counts.fold(1, |all, count| all.saturating_mul(count.unwrap_or(0)))
    }

    pub(super) fn shape(&self, Type(at): Type) -> Shape {
        let entry = self.0.get(at);
        let inner = || self.0.follow(at, attribute::TYPE).map(Type);
        let size = self.size(Type(at)) as u32;
        match entry.tag {
            tag::BASE => match (entry.number(attribute::ENCODING), size) {
                (Some(0x02), 1) => Shape::Bool,
                (Some(0x04), 4 | 8) => Shape::Number(Element::Float(size)),
                (Some(0x05 | 0x06), 1 | 2 | 4 | 8) => Shape::Number(Element::Signed(size)),
                (Some(0x07 | 0x08), 1 | 2 | 4 | 8) => Shape::Number(Element::Unsigned(size)),
                (Some(0x10), 4) => Shape::Char,
                _ => Shape::Unknown,
            },
            tag::POINTER | tag::REFERENCE => Shape::Pointer(inner()),
            tag::TYPEDEF => inner().map_or(Shape::Unknown, |ty| self.shape(ty)),
            tag::ARRAY => inner().map_or(Shape::Unknown, |ty| Shape::Array(ty, self.count(at))),
            tag::ENUMERATION => Shape::Named(Element::Unsigned(size.clamp(1, 8))),
            tag::STRUCTURE | tag::UNION => self.structure(at),
            _ => Shape::Unknown,
        }
    }

    fn structure(&self, at: usize) -> Shape {
        let mut parts = self.0.children(at);
        if let Some((part, _)) = parts.find(|(_, entry)| entry.tag == tag::VARIANT_PART) {
            return Shape::Variant(Box::new(self.variants(part)));
        }
        let fields = self.members(at);
        let is_slice = self.0.name(at).is_some_and(|name| {
            ["&[", "&mut [", "*const [", "*mut ["]
                .iter()
                .any(|start| name.starts_with(start))
        });
        match &fields[..] {
            [(first, 0, pointer), (second, 8, _)]
                if is_slice && first == "data_ptr" && second == "length" =>
            {
                match self.shape(*pointer) {
                    Shape::Pointer(Some(element)) => Shape::Slice(element),
                    _ => Shape::Fields(fields),
                }
            }
            _ => Shape::Fields(fields),
        }
    }

    fn members(&self, at: usize) -> Vec<(String, u64, Type)> {
        let members = self.0.children(at);
        let members = members.filter(|(_, entry)| entry.tag == tag::MEMBER);
        let members = members.take(MOST_FIELDS);
        members
            .filter_map(|(number, _)| self.member(number))
            .collect()
    }

    /// The name of a value of an enumeration.
    fn enumerator(&self, Type(at): Type, value: i128) -> Option<&str> {
        let mut names = self.0.children(at);
        let (number, _) = names.find(|(_, entry)| {
            let number = entry.number(attribute::CONST_VALUE).map(i128::from);
            entry.tag == tag::ENUMERATOR && number == Some(value)
        })?;
        self.0.name(number)
    }

    fn member(&self, number: usize) -> Option<(String, u64, Type)> {
        let name = self.0.name(number).unwrap_or("?");
        // The fields of tuples.
        let name = name.strip_prefix("__").unwrap_or(name);
        let ty = self.0.follow(number, attribute::TYPE)?;
        let offset = match self.0.get(number).value(attribute::MEMBER_LOCATION) {
            Some(Value::Number(offset)) => *offset,
            Some(_) => return None,
            // The fields of a union, and whatever is at the beginning.
            None => 0,
        };
        Some((cut(name), offset, Type(ty)))
    }

    fn variants(&self, part: usize) -> Variants {
        let chooses = self.0.follow(part, attribute::DISCRIMINANT);
        let chooses = chooses.and_then(|member| self.member(member));
        let variants = self.0.children(part);
        let variants = variants.filter(|(_, entry)| entry.tag == tag::VARIANT);
        let all = variants.take(MOST_FIELDS).filter_map(|(number, entry)| {
            let fields = self.members(number).into_iter().next()?;
            Some((entry.number(attribute::DISCRIMINANT_VALUE), fields))
        });
        Variants {
            discriminant: chooses.map(|(_, offset, ty)| (offset, ty)),
            all: all.collect(),
        }
    }

    /// The variant that a value is.
    fn variant<'v>(
        &self,
        variants: &'v Variants,
        bytes: &[Option<u8>],
    ) -> Option<&'v (String, u64, Type)> {
        let chosen = match variants.discriminant {
            Some((offset, ty)) => {
                let size = self.size(ty);
                let number = known(&part(bytes, offset, size))?;
                let mut low = [0; 8];
                low.get_mut(..number.len())?.copy_from_slice(&number);
                let number = u64::from_le_bytes(low);
                let mask = u64::MAX >> (64 - 8 * size.clamp(1, 8));
                let is_it = |value: &Option<u64>| value.is_some_and(|value| value & mask == number);
                variants.all.iter().find(|(value, _)| is_it(value))
            }
            None => None,
        };
        let chosen = chosen.or_else(|| variants.all.iter().find(|(value, _)| value.is_none()));
        chosen.map(|(_, fields)| fields)
    }

    /// The parts of a value: names, types and bytes. Those in other memory are not among them.
    pub(super) fn parts(&self, ty: Type, bytes: &[Option<u8>]) -> Vec<(String, Type, Bytes)> {
        self.parts_within(ty, bytes, 0)
    }

    fn parts_within(
        &self,
        ty: Type,
        bytes: &[Option<u8>],
        depth: u32,
    ) -> Vec<(String, Type, Bytes)> {
        let of = |offset: u64, ty: Type| part(bytes, offset, self.size(ty));
        match self.shape(ty) {
            Shape::Fields(fields) => {
                let mut left = MOST_BYTES;
                let parts = fields.into_iter().map_while(|(name, offset, ty)| {
                    let bytes = of(offset, ty);
                    left = left.checked_sub(bytes.len())?;
                    Some((name, ty, bytes))
                });
                parts.collect()
            }
            // A variant may be a variant of itself.
            Shape::Variant(variants) if depth < DEEPEST => match self.variant(&variants, bytes) {
                Some((_, offset, ty)) => self.parts_within(*ty, &of(*offset, *ty), depth + 1),
                None => Vec::new(),
            },
            Shape::Array(element, count) => {
                let size = self.size(element);
                let most = (bytes.len() as u64).checked_div(size).unwrap_or(0);
                let count = count.min(most);
                let elements = 0..count;
                elements
                    .map(|at| (format!("[{at}]"), element, part(bytes, at * size, size)))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// A value that expressions compute with, where it is one.
    pub(super) fn evaluated(&self, ty: Type, bytes: &[Option<u8>]) -> Option<Evaluated> {
        let bytes = known(bytes)?;
        match self.shape(ty) {
            Shape::Number(element) => Some(element.value(&bytes)),
            Shape::Named(element) => Some(element.value(&bytes)),
            Shape::Bool => Some(Evaluated::Bool(bytes.first()? & 1 == 1)),
            Shape::Char | Shape::Pointer(_) => {
                Some(Element::Unsigned(bytes.len() as u32).value(&bytes))
            }
            _ => None,
        }
    }

    /// A value in a line.
    pub(super) fn text(&self, ty: Type, bytes: &[Option<u8>]) -> String {
        let mut line = String::new();
        self.write(ty, bytes, 0, &mut line);
        line
    }

    fn write(&self, ty: Type, bytes: &[Option<u8>], depth: u32, line: &mut String) {
        if depth > DEEPEST || line.len() > LONGEST_LINE {
            *line += "…";
            return;
        }
        let gone = || "optimised out".to_owned();
        if !bytes.is_empty() && bytes.iter().all(Option::is_none) {
            *line += &gone();
            return;
        }
        let text = match self.shape(ty) {
            Shape::Number(_) => self.evaluated(ty, bytes).map_or_else(gone, Evaluated::text),
            Shape::Bool => self
                .evaluated(ty, bytes)
                .map_or_else(gone, |value| value.to_string()),
            Shape::Char => match self.evaluated(ty, bytes) {
                Some(Evaluated::Integer(code)) => {
                    let letter = u32::try_from(code).ok().and_then(char::from_u32);
                    letter.map_or_else(
                        || format!("no char ({code:#x})"),
                        |letter| format!("{letter:?}"),
                    )
                }
                _ => gone(),
            },
            Shape::Pointer(_) => match self.evaluated(ty, bytes) {
                Some(Evaluated::Integer(address)) => format!("{address:#x}"),
                _ => gone(),
            },
            Shape::Slice(element) => match known(&part(bytes, 8, 8)) {
                Some(length) => {
                    let length = Element::Unsigned(8).value(&length);
                    format!("[{}; {length}]", self.name(element))
                }
                None => format!("[{}; length optimised out]", self.name(element)),
            },
            Shape::Named(_) => match self.evaluated(ty, bytes) {
                Some(Evaluated::Integer(value)) => {
                    let name = self.enumerator(ty, value);
                    name.map_or_else(|| format!("no variant ({value})"), cut)
                }
                _ => gone(),
            },
            Shape::Array(element, count) if count > SHOWN as u64 => {
                format!("[{}; {count}]", self.name(element))
            }
            Shape::Array(..) => {
                *line += "[";
                for (at, (_, ty, bytes)) in self.parts(ty, bytes).iter().enumerate() {
                    *line += if at > 0 { ", " } else { "" };
                    self.write(*ty, bytes, depth + 1, line);
                }
                "]".to_owned()
            }
            Shape::Fields(_) => return self.fields(&self.name(ty), ty, bytes, depth, line),
            Shape::Variant(variants) => match self.variant(&variants, bytes) {
                Some((name, offset, inner)) => {
                    let bytes = part(bytes, *offset, self.size(*inner));
                    return self.fields(name, *inner, &bytes, depth, line);
                }
                None => gone(),
            },
            Shape::Unknown => format!("a value of {} bytes", bytes.len()),
        };
        *line += &text;
    }

    fn fields(&self, name: &str, ty: Type, bytes: &[Option<u8>], depth: u32, line: &mut String) {
        let mut parts = self.parts(ty, bytes);
        // Markers have no value.
        parts.retain(|(_, ty, _)| self.size(*ty) > 0);
        let is_tuple = parts
            .first()
            .is_some_and(|(name, ..)| name.starts_with(|c: char| c.is_ascii_digit()));
        *line += if name.starts_with('(') { "" } else { name };
        if parts.is_empty() {
            return;
        }
        *line += if is_tuple { "(" } else { " { " };
        for (at, (field, ty, bytes)) in parts.iter().take(SHOWN).enumerate() {
            *line += if at > 0 { ", " } else { "" };
            if !is_tuple {
                *line += field;
                *line += ": ";
            }
            self.write(*ty, bytes, depth + 1, line);
        }
        *line += if parts.len() > SHOWN { ", …" } else { "" };
        *line += if is_tuple { ")" } else { " }" };
    }
}

/// The beginning of a name.
fn cut(name: &str) -> String {
    match name.len() > LONGEST_NAME {
        true => format!("{}…", &name[..name.floor_char_boundary(LONGEST_NAME)]),
        false => name.to_owned(),
    }
}

/// `Tiles<Linear<1>>` of `cuda_std::block::Tiles<cuda_std::block::tiles::Linear<1>>`.
fn without_modules(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    for (at, part) in name.split("::").enumerate() {
        if at > 0 {
            let start = short.rfind(|c: char| !c.is_alphanumeric() && c != '_');
            let start = start.map_or(0, |start| {
                start + short[start..].chars().next().map_or(0, char::len_utf8)
            });
            short.truncate(start);
        }
        short += part;
    }
    short
}

/// Some bytes of a value; unknown ones where it has fewer.
fn part(bytes: &[Option<u8>], offset: u64, size: u64) -> Bytes {
    // A value is never larger than what was read.
    let size = size.min(bytes.len() as u64);
    let at = |index: u64| usize::try_from(offset.checked_add(index)?).ok();
    (0..size)
        .map(|index| bytes.get(at(index)?).copied().flatten())
        .collect()
}

/// The bytes, if all are known.
pub(super) fn known(bytes: &[Option<u8>]) -> Option<Vec<u8>> {
    bytes.iter().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::without_modules;

    #[test]
    fn names_are_shown_without_modules() {
        for (name, short) in [
            ("f32", "f32"),
            ("&[core::option::Option<u32>]", "&[Option<u32>]"),
            (
                "a::B<c::d::E<1>, (f::G, [h::I; 3])>",
                "B<E<1>, (G, [I; 3])>",
            ),
            ("fn(a::b) -> c::d", "fn(b) -> d"),
            ("::x", "x"),
            ("k::é::ü", "ü"),
        ] {
            assert_eq!(without_modules(name), short);
        }
    }
}
