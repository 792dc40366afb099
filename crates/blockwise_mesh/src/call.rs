//! What a rank announces with each collective call, so that the others can compare.

use std::fmt;
use std::panic::Location;

/// One collective as a rank has called it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The number of collectives that the rank has called before.
    pub number: u64,
    /// The operation, such as `sum`.
    pub operation: String,
    /// The elements' type.
    pub element: String,
    /// Lengths that all ranks must agree on.
    pub sizes: Vec<u64>,
    /// A digest of what else they must agree on: splits and options.
    pub digest: u64,
    /// The Rust file of the caller.
    pub file: String,
    /// Its line.
    pub line: u32,
}

impl Call {
    pub(crate) fn new(
        number: u64,
        operation: &str,
        element: &str,
        sizes: &[usize],
        digest: u64,
        at: &Location<'_>,
    ) -> Self {
        Self {
            number,
            operation: operation.to_owned(),
            element: element.to_owned(),
            sizes: sizes.iter().map(|&size| size as u64).collect(),
            digest,
            file: at.file().to_owned(),
            line: at.line(),
        }
    }

    /// What two ranks disagree on. They may call from different lines.
    pub(crate) fn difference(&self, other: &Self) -> Option<&'static str> {
        let differs = [
            (self.operation != other.operation, "other operations"),
            (self.number != other.number, "one of them left a call out"),
            (self.element != other.element, "other element types"),
            (self.sizes != other.sizes, "other lengths"),
            (self.digest != other.digest, "other splits or options"),
        ];
        let first = differs.into_iter().find(|(differs, _)| *differs);
        first.map(|(_, what)| what)
    }
}

/// `` `sum` of f32 [1000], its call 3, at src/main.rs:12``.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.operation)?;
        match (&*self.element, &*self.sizes) {
            ("", []) => {}
            ("", sizes) => write!(f, " {sizes:?}")?,
            (element, sizes) => write!(f, " of {element} {sizes:?}")?,
        }
        write!(
            f,
            ", its call {}, at {}:{}",
            self.number, self.file, self.line
        )
    }
}

/// A digest of numbers (FNV-1a).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self
    }

    pub(crate) fn number(self, number: usize) -> Self {
        self.bytes(&(number as u64).to_le_bytes())
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> Call {
        Call::new(3, "sum", "f32", &[1000], 7, Location::caller())
    }

    #[test]
    fn calls_differ_in_all_but_their_line() {
        let other_line = Call { line: 0, ..call() };
        assert_eq!(call().difference(&other_line), None);
        for (other, what) in [
            (
                Call {
                    operation: "min".into(),
                    ..call()
                },
                "other operations",
            ),
            (
                Call {
                    number: 4,
                    ..call()
                },
                "one of them left a call out",
            ),
            (
                Call {
                    element: "f64".into(),
                    ..call()
                },
                "other element types",
            ),
            (
                Call {
                    sizes: vec![999],
                    ..call()
                },
                "other lengths",
            ),
            (
                Call {
                    digest: 8,
                    ..call()
                },
                "other splits or options",
            ),
        ] {
            assert_eq!(call().difference(&other), Some(what));
        }
    }

    #[test]
    fn a_call_is_told_with_its_line() {
        let call = Call {
            file: "a.rs".into(),
            line: 12,
            ..call()
        };
        assert_eq!(
            call.to_string(),
            "`sum` of f32 [1000], its call 3, at a.rs:12"
        );
    }
}
