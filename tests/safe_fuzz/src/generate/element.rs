//! Elements and shared arrays: their types as text, and how generated code makes, names and reads
//! their elements.

use crate::rng::Rng;

/// A type of elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub(super) name: &'static str,
    pub(super) size: usize,
    pub(super) align: usize,
}

const fn element(name: &'static str, size: usize, align: usize) -> Element {
    Element { name, size, align }
}

/// Of many sizes; some are no power of two, some are larger than a register.
const ELEMENTS: [Element; 10] = [
    element("u32", 4, 4),
    element("f32", 4, 4),
    element("u8", 1, 1),
    element("u16", 2, 2),
    element("i32", 4, 4),
    element("u64", 8, 8),
    element("u128", 16, 16),
    element("[u32; 3]", 12, 4),
    element("Color", 3, 1),
    element("Sample", 16, 8),
];

impl Element {
    pub(super) fn any(rng: &mut Rng) -> Self {
        // Every second one is a `u32`.
        let at = rng.below(2 * ELEMENTS.len());
        *ELEMENTS.get(at).unwrap_or(&ELEMENTS[0])
    }

    /// The element of a number.
    pub(super) fn of(self, number: &str) -> String {
        format!("<{}>::of({number})", self.name)
    }
}

/// A type of shared arrays.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// `[T; N]`.
    Linear(usize),
    /// `[T]`.
    Dynamic,
    /// `Tile<T, R, C, P, Order>`.
    Tile {
        rows: usize,
        cols: usize,
        pitch: usize,
        by_columns: bool,
    },
    /// `Pair<[T; N]>`.
    Pair(usize),
}

impl Form {
    /// Any but a dynamic one.
    pub(super) fn any(rng: &mut Rng) -> Self {
        let len = *rng.pick(&[1, 7, 31, 32, 33, 64, 100, 128, 200]);
        match rng.below(5) {
            0 | 1 => Form::Linear(len),
            2 => Form::Pair(len),
            _ => {
                let cols = *rng.pick(&[1, 3, 8, 16]);
                Form::Tile {
                    rows: *rng.pick(&[1, 2, 5, 16]),
                    cols,
                    pitch: cols + rng.below(2),
                    by_columns: rng.chance(40),
                }
            }
        }
    }

    /// Its type.
    pub(super) fn of(self, element: Element) -> String {
        let name = element.name;
        match self {
            Form::Linear(len) => format!("[{name}; {len}]"),
            Form::Dynamic => format!("[{name}]"),
            Form::Pair(len) => format!("cuda_std::block::Pair<[{name}; {len}]>"),
            Form::Tile {
                rows,
                cols,
                pitch,
                by_columns,
            } => {
                let order = if by_columns { "ColMajor" } else { "RowMajor" };
                format!("Tile<{name}, {rows}, {cols}, {pitch}, cuda_std::block::{order}>")
            }
        }
    }

    /// The pattern that names an element in a closure, and a number made of it.
    pub(super) fn index(self) -> (&'static str, &'static str) {
        match self {
            Form::Tile { .. } => ("(r, c)", "(7 * r + c) as u32"),
            _ => ("i", "i as u32"),
        }
    }

    /// Any element of what `view` names, a handle or a reference.
    pub(super) fn read(self, view: &str, at: &str) -> String {
        match self {
            Form::Linear(_) | Form::Dynamic => format!("any(&{view}[..], {at})"),
            Form::Pair(_) => format!("any(&{view}.0[..], {at}) ^ any(&{view}.1[..], {at})"),
            Form::Tile { .. } => format!("any_of_tile(&*{view}, {at})"),
        }
    }

    /// What the closure of a write returns.
    pub(super) fn value(self, element: Element, first: &str, second: &str) -> String {
        match self {
            Form::Pair(_) => format!("({}, {})", element.of(first), element.of(second)),
            _ => element.of(first),
        }
    }
}
