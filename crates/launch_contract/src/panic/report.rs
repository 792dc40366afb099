//! The report of a panic, and its message.

#[cfg(not(target_arch = "nvptx64"))]
use alloc::{borrow::ToOwned, format, string::String};

/// The report of the first thread that panics.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The line of [`file`](Self::file).
    pub line: u32,
    /// The block's index in the grid.
    pub block: [u32; 3],
    /// The thread's index in its block.
    pub thread: [u32; 3],
    /// The kind of message.
    pub kind: Kind,
    /// The numbers in the message.
    pub numbers: [u64; 2],
    /// 0 until all other fields are written, then [`Report::WRITTEN`].
    pub state: u32,
    /// The message of [`Kind::TEXT`].
    pub text: Text<MESSAGE_BYTES>,
    /// The Rust source file, as rustc names it.
    pub file: Text<256>,
}

/// Longer messages are truncated.
pub const MESSAGE_BYTES: usize = 512;

/// The message of a [`Report`]. `a` and `b` are its [`numbers`](Report::numbers).
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub u32);

impl Kind {
    /// [`Report::text`].
    pub const TEXT: Self = Kind(0);
    /// Index `a` into `b` elements.
    pub const INDEX: Self = Kind(1);
    /// A range of `b` elements that starts at `a`.
    pub const RANGE_START: Self = Kind(2);
    /// A range of `b` elements that ends at `a`.
    pub const RANGE_END: Self = Kind(3);
    /// A range from `a` to `b`, which is less.
    pub const RANGE_ORDER: Self = Kind(4);
    /// A copy to `a` elements from `b`.
    pub const COPY: Self = Kind(5);

    /// The message in core's wording; none for a text or an unknown kind.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn message(self, [a, b]: [u64; 2]) -> Option<String> {
        Some(match self {
            Self::INDEX => format!("index out of bounds: the len is {b} but the index is {a}"),
            Self::RANGE_START => {
                format!("range start index {a} out of range for slice of length {b}")
            }
            Self::RANGE_END => format!("range end index {a} out of range for slice of length {b}"),
            Self::RANGE_ORDER => format!("slice index starts at {a} but ends at {b}"),
            Self::COPY => format!(
                "copy_from_slice: source slice length ({b}) does not match destination slice length ({a})"
            ),
            _ => return None,
        })
    }
}

impl Report {
    /// The [`state`](Self::state) of a complete report.
    pub const WRITTEN: u32 = 1;

    /// The panic's message.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn message(&self) -> String {
        self.kind
            .message(self.numbers)
            .unwrap_or_else(|| self.text.as_str().to_owned())
    }
}

/// A text of at most `N` bytes, padded with zeros.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<const N: usize>(pub [u8; N]);

impl<const N: usize> Text<N> {
    /// The text, up to its last complete character.
    pub fn as_str(&self) -> &str {
        let length = self.0.iter().position(|&byte| byte == 0).unwrap_or(N);
        let bytes = self.0.get(..length).unwrap_or_default();
        let whole = bytes.utf8_chunks().next();
        whole.map_or("", |chunk| chunk.valid())
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn a_text_ends_at_a_zero_or_with_its_last_whole_character() {
        assert_eq!(Text(*b"1234\0\0\0\0").as_str(), "1234");
        assert_eq!(Text(*b"123456ab").as_str(), "123456ab");
        assert_eq!(Text(*b"12345\xC3\xB1\xC3").as_str(), "12345ñ");
        assert_eq!(Text([0; 4]).as_str(), "");
    }
}
