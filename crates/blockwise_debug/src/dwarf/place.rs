//! Where a variable is: in registers, in memory, or nowhere.

use super::entry::{Entries, Value, attribute};
use super::section::{Bytes, Sections};

/// Bits of a variable from one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) origin: Origin,
    /// Its bytes; `None` for the whole variable.
    pub(super) size: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Optimised out.
    Nowhere,
    /// A register's name.
    Register(String),
    Constant(u64),
    /// Bytes of a variable of the PTX, from an offset on.
    Memory(String, u64),
    /// Bytes at an address that is in memory: the pointer there and an offset; from that on, the
    /// next pointer and its offset.
    Pointed(String, u64, Vec<u64>),
}

/// The places of a variable's bytes at a line of the PTX; `None` if it has no place there.
pub(super) fn pieces(
    entries: &Entries,
    sections: &Sections,
    variable: usize,
    line: u64,
) -> Option<Vec<Piece>> {
    let entry = entries.get(variable);
    let whole = |origin| Some(vec![Piece { origin, size: None }]);
    if let Some(value) = entries.inherited(variable, attribute::CONST_VALUE) {
        return match value {
            Value::Number(value) => whole(Origin::Constant(*value)),
            Value::Block(at, size @ 0..=8) => {
                let mut bytes = Bytes::new(&sections.info.bytes, *at);
                whole(Origin::Constant(bytes.fixed(*size)?))
            }
            _ => None,
        };
    }
    match *entry.value(attribute::LOCATION)? {
        Value::Block(at, size) => {
            let symbol = |at| sections.info.symbols.get(&at).map(String::as_str);
            let bytes = Bytes::new(&sections.info.bytes, at);
            trusted(computed(bytes, at + size, &symbol)?, false)
        }
        Value::Number(list) => {
            let mut bytes = Bytes::new(&sections.locations.bytes, usize::try_from(list).ok()?);
            let symbol = |at| sections.locations.symbols.get(&at).map(String::as_str);
            loop {
                let (from, to) = (bytes.fixed(8)?, bytes.fixed(8)?);
                if (from, to) == (0, 0) {
                    return None;
                }
                let size = usize::try_from(bytes.fixed(2)?).ok()?;
                let at = bytes;
                bytes.take(size)?;
                if (from..to).contains(&line) {
                    let constants = sections.constants.get(&from);
                    let name = entries.name(variable);
                    let is_known = constants.zip(name).is_some_and(|(constants, name)| {
                        constants.iter().any(|constant| constant == name)
                    });
                    return trusted(computed(at, at.at + size, &symbol)?, is_known);
                }
            }
        }
        _ => None,
    }
}

/// Places without constants that may be the beginning of something else.
fn trusted(mut pieces: Vec<Piece>, constants: bool) -> Option<Vec<Piece>> {
    // Of several pieces, each says its size: else it is cut off.
    let is_whole = pieces.len() == 1;
    for piece in &mut pieces {
        let is_constant = matches!(piece.origin, Origin::Constant(_));
        if (is_constant && !constants) || (piece.size.is_none() && !is_whole) {
            piece.origin = Origin::Nowhere;
        }
    }
    Some(pieces)
}

/// The places that an expression computes; `None` for operations that are not known.
fn computed<'t>(
    mut bytes: Bytes<'_>,
    end: usize,
    symbol: &dyn Fn(usize) -> Option<&'t str>,
) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut origin: Option<Origin> = None;
    while bytes.at < end {
        let operation = bytes.fixed(1)?;
        let constant = match operation {
            0x08 => bytes.fixed(1),
            0x09 => bytes.fixed(1).map(|value| value as i8 as u64),
            0x0a => bytes.fixed(2),
            0x0b => bytes.fixed(2).map(|value| value as i16 as u64),
            0x0c => bytes.fixed(4),
            0x0d => bytes.fixed(4).map(|value| value as i32 as u64),
            0x0e | 0x0f => bytes.fixed(8),
            0x10 => bytes.unsigned(),
            0x11 => bytes.signed().map(|value| value as u64),
            0x30..=0x4f => Some(operation - 0x30),
            _ => None,
        };
        origin = match (operation, constant, origin) {
            // A second value on the stack: an operation would combine them.
            (_, Some(value), None) => Some(Origin::Constant(value)),
            (0x03, None, None) => {
                let name = symbol(bytes.at)?;
                bytes.fixed(8)?;
                Some(Origin::Memory(name.to_owned(), 0))
            }
            (0x23, None, Some(Origin::Memory(name, offset))) => {
                let offset = offset.checked_add(bytes.unsigned()?)?;
                Some(Origin::Memory(name, offset))
            }
            // The address of what is captured by a closure.
            (0x06, None, Some(Origin::Memory(name, offset))) => {
                Some(Origin::Pointed(name, offset, vec![0]))
            }
            (0x06, None, Some(Origin::Pointed(name, offset, mut steps))) => {
                steps.push(0);
                Some(Origin::Pointed(name, offset, steps))
            }
            (0x23, None, Some(Origin::Pointed(name, offset, mut steps))) => {
                let step = steps.last_mut()?;
                *step = step.checked_add(bytes.unsigned()?)?;
                Some(Origin::Pointed(name, offset, steps))
            }
            (0x90, None, None) => Some(Origin::Register(register(bytes.unsigned()?)?)),
            (0x93, None, origin) => {
                pieces.push(Piece {
                    origin: origin.unwrap_or(Origin::Nowhere),
                    size: Some(bytes.unsigned()?),
                });
                None
            }
            // The value itself, not its address.
            (0x9f, None, Some(origin @ (Origin::Constant(_) | Origin::Register(_)))) => {
                Some(origin)
            }
            _ => return None,
        };
    }
    if let Some(origin) = origin {
        pieces.push(Piece { origin, size: None });
    }
    (!pieces.is_empty()).then_some(pieces)
}

/// A register's number is its name: the letters are the number's bytes.
fn register(number: u64) -> Option<String> {
    let letters = number.to_be_bytes().into_iter().filter(|&byte| byte != 0);
    let name = String::from_utf8(letters.collect()).ok()?;
    name.starts_with('%').then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Option<Vec<Piece>>) {
        let symbol = |at| (at == 1).then_some("tile");
        assert_eq!(
            computed(Bytes::new(bytes, 0), bytes.len(), &symbol),
            expected
        );
    }

    fn piece(origin: Origin, size: Option<u64>) -> Piece {
        Piece { origin, size }
    }

    #[test]
    fn registers_constants_and_memory() {
        let r2 = Origin::Register("%r2".to_owned());
        check(
            &[0x90, 178, 228, 149, 1],
            Some(vec![piece(r2.clone(), None)]),
        );
        check(
            &[0x90, 178, 228, 149, 1, 0x93, 4, 0x93, 8, 0x32, 0x93, 1],
            Some(vec![
                piece(r2, Some(4)),
                piece(Origin::Nowhere, Some(8)),
                piece(Origin::Constant(2), Some(1)),
            ]),
        );
        check(
            &[0x11, 0x7f],
            Some(vec![piece(Origin::Constant(u64::MAX), None)]),
        );
        check(
            &[0x0d, 0xfe, 255, 255, 255, 0x9f],
            Some(vec![piece(Origin::Constant(-2_i64 as u64), None)]),
        );
        let tile = Origin::Memory("tile".to_owned(), 300);
        check(
            &[0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0x23, 0xac, 2],
            Some(vec![piece(tile, None)]),
        );
        let captured = Origin::Pointed("tile".to_owned(), 8, vec![16, 0]);
        check(
            &[0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0x23, 8, 0x06, 0x23, 16, 0x06],
            Some(vec![piece(captured, None)]),
        );
    }

    #[test]
    fn what_may_be_cut_off_is_not_trusted() {
        let zero = || piece(Origin::Constant(0), None);
        let nowhere = || piece(Origin::Nowhere, None);
        assert_eq!(trusted(vec![zero()], true), Some(vec![zero()]));
        assert_eq!(trusted(vec![zero()], false), Some(vec![nowhere()]));
        let first = || piece(Origin::Register("%r1".to_owned()), Some(8));
        let cut = trusted(vec![first(), zero()], true);
        assert_eq!(cut, Some(vec![first(), nowhere()]));
    }

    #[test]
    fn what_is_not_known_has_no_place() {
        for bytes in [
            // Nothing, a sum, an address without a name, a cut operand, no register.
            &[][..],
            &[0x31, 0x32, 0x22],
            &[0x30, 0x03, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0x90, 0x80],
            &[0x90, 0x05],
            &[0xff],
        ] {
            check(bytes, None);
        }
    }
}
