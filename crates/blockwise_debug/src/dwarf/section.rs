//! Sections of debug information in a PTX text, as bytes.
//!
//! The address of an instruction is its line in the text: a label stands for the line after it.

use std::collections::HashMap;

/// The sections that are read. Debug information names offsets in them.
#[derive(Debug, Default)]
pub(super) struct Sections {
    pub(super) abbreviations: Section,
    pub(super) info: Section,
    pub(super) locations: Section,
    pub(super) strings: Section,
    /// The variables that are constants from a line on, by LLVM's comments.
    pub(super) constants: HashMap<u64, Vec<String>>,
}

#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) bytes: Vec<u8>,
    /// Variables whose addresses are at these offsets.
    pub(super) symbols: HashMap<usize, String>,
}

impl Sections {
    /// None if the text has no debug information.
    pub(super) fn read(text: &str) -> Option<Self> {
        if !text.contains(".debug_info") {
            return None;
        }
        let labels = labels(text)?;
        let mut sections = Self {
            constants: constants(text),
            ..Self::default()
        };
        let mut ignored = Section::default();
        let mut section: Option<&mut Section> = None;
        for line in text.lines() {
            let line = code(line);
            if let Some(name) = section_name(line) {
                section = Some(match name {
                    ".debug_abbrev" => &mut sections.abbreviations,
                    ".debug_info" => &mut sections.info,
                    ".debug_loc" => &mut sections.locations,
                    ".debug_str" => &mut sections.strings,
                    _ => &mut ignored,
                });
            } else if let Some(section) = &mut section {
                section.add(line, &labels);
            }
        }
        Some(sections)
    }
}

impl Section {
    /// Adds `.b8 1, 2`, `.b64 $L__tmp7`, `.b32 .debug_info+12`.
    fn add(&mut self, line: &str, labels: &HashMap<&str, u64>) {
        let Some((size, values)) = data(line) else {
            return;
        };
        for value in values {
            let number = number(value);
            let known = number.or_else(|| {
                let (name, offset) = value.split_once('+').unwrap_or((value, "0"));
                let label = match name.trim().starts_with(".debug_") {
                    true => Some(0),
                    false => labels.get(name.trim()).copied(),
                };
                Some(label?.wrapping_add(self::number(offset.trim())?))
            });
            if known.is_none() {
                self.symbols.insert(self.bytes.len(), value.to_owned());
            }
            let bytes = known.unwrap_or(0).to_le_bytes();
            self.bytes.extend(&bytes[..size]);
        }
    }
}

/// The lines that the labels of code stand before, and the offsets of those in sections. None if
/// there is no section of entries.
fn labels(text: &str) -> Option<HashMap<&str, u64>> {
    let mut labels = HashMap::new();
    let mut offset: Option<u64> = None;
    let mut is_described = false;
    for (line, at) in text.lines().zip(1_u64..) {
        let line = code(line);
        if let Some(name) = section_name(line) {
            offset = Some(0);
            is_described |= name == ".debug_info";
        } else if let Some(label) = line.strip_suffix(':') {
            labels.insert(label, offset.unwrap_or(at));
        } else if let (Some(offset), Some((size, values))) = (&mut offset, data(line)) {
            *offset += (size * values.count()) as u64;
        }
    }
    is_described.then_some(labels)
}

/// Labels of one instruction, at most: LLVM writes two or three.
const MOST_LABELS: usize = 16;

/// The names that comments after a label give constants to: `//DEBUG_VALUE: k <- 6`.
///
/// LLVM cuts off a location that is computed from several values, such as `0 - %rd3`: what is left
/// looks like the constant 0. Only its comment tells the two apart.
fn constants(text: &str) -> HashMap<u64, Vec<String>> {
    let mut constants: HashMap<u64, Vec<String>> = HashMap::new();
    // Labels with no instruction after them yet: the last few.
    let mut labels: Vec<u64> = Vec::new();
    for (line, at) in text.lines().zip(1..) {
        let line = line.trim();
        let value = line.strip_prefix("//DEBUG_VALUE: ");
        if let Some((name, value)) = value.and_then(|line| line.rsplit_once(" <- ")) {
            let name = name.rsplit(':').next().unwrap_or(name);
            let last = value.rsplit(' ').next().unwrap_or(value);
            let is_number = last.parse::<i128>().is_ok();
            if is_number && !value.contains("LLVM_arg") {
                for label in &labels {
                    constants.entry(*label).or_default().push(name.to_owned());
                }
            }
        } else if code(line).ends_with(':') {
            if labels.len() == MOST_LABELS {
                labels.remove(0);
            }
            labels.push(at);
        } else if code(line).ends_with(';') && !line.starts_with('.') {
            labels.clear();
        }
    }
    constants
}

fn section_name(line: &str) -> Option<&str> {
    let name = line.strip_prefix(".section")?.trim_start();
    name.split(|c: char| c.is_whitespace() || c == '{').next()
}

/// A line without its comment.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim()
}

fn data(line: &str) -> Option<(usize, impl Iterator<Item = &str>)> {
    let (kind, values) = line.split_once(char::is_whitespace)?;
    let size = match kind {
        ".b8" => 1,
        ".b16" => 2,
        ".b32" => 4,
        ".b64" => 8,
        _ => return None,
    };
    Some((size, values.split(',').map(str::trim)))
}

fn number(text: &str) -> Option<u64> {
    let (digits, negative) = match text.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative {
        value.wrapping_neg()
    } else {
        value
    })
}

/// Reads a section's bytes.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'s> {
    bytes: &'s [u8],
    pub(super) at: usize,
}

impl<'s> Bytes<'s> {
    pub(super) fn new(bytes: &'s [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'s [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// An integer of up to 8 bytes.
    pub(super) fn fixed(&mut self, size: usize) -> Option<u64> {
        let mut value = [0; 8];
        value.get_mut(..size)?.copy_from_slice(self.take(size)?);
        Some(u64::from_le_bytes(value))
    }

    pub(super) fn unsigned(&mut self) -> Option<u64> {
        self.leb().map(|(value, ..)| value)
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        let (value, bits, last) = self.leb()?;
        let is_negative = last & 0x40 != 0 && bits < 64;
        Some(if is_negative {
            value | u64::MAX << bits
        } else {
            value
        } as i64)
    }

    /// A number in groups of 7 bits: its value, its bits, its last byte.
    fn leb(&mut self) -> Option<(u64, u32, u8)> {
        let (mut value, mut bits) = (0, 0);
        loop {
            let byte = self.take(1)?[0];
            if bits < 64 {
                value |= u64::from(byte & 0x7f) << bits;
            }
            bits += 7;
            if byte & 0x80 == 0 {
                return Some((value, bits, byte));
            }
        }
    }

    /// A text that a zero ends.
    pub(super) fn text(&mut self) -> Option<String> {
        let rest = self.bytes.get(self.at..)?;
        let length = rest.iter().position(|&byte| byte == 0)?;
        let text = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.at += length + 1;
        Some(text)
    }
}
