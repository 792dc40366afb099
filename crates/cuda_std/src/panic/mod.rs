//! How a panic in a kernel reaches the host.
//!
//! A module whose kernels can panic has a variable [`CHANNEL`], one [`Channel`]; modules that can't have none. There are two ways:
//!
//! - The host does nothing: a panic calls CUDA's `__assertfail`, as a failed `assert` in CUDA C++ does. On a GPU
//!   the driver prints message, file, line, block and thread on standard error, the launch ends with `CUDA_ERROR_ASSERT`, and the
//!   context is lost.
//! - The host puts the address of a zeroed [`Report`] in memory that both see (`cuMemAllocHost`) into the channel after loading the
//!   module. Then the first thread that panics fills the report, every thread that panics ends, and the context lives on. The
//!   host looks at [`Report::state`] after the launch; to listen again it zeroes the report and [`Channel::panicked`].
//!
//! Threads that panicked no longer count at barriers (`bar.sync` waits for those that have not ended), so the rest of the block goes
//! on, with whatever the panicked ones have not done. What waits for them by other means, such as a lock or an mbarrier, waits for ever.

#[cfg(target_arch = "nvptx64")]
mod handler;

/// The name of a module's [`Channel`] in the PTX.
pub const CHANNEL: &str = "cuda_std_panic_channel";

/// Where panics of a module go.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The address of a [`Report`], or 0: nobody listens.
    pub report: u64,
    /// How many threads have panicked. The one that finds 0 writes the report.
    pub panicked: u32,
    /// Zero.
    pub reserved: u32,
}

/// What the first thread that panicked says.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// 0 until all other fields are written, then [`Report::WRITTEN`].
    pub state: u32,
    /// The line of [`file`](Self::file).
    pub line: u32,
    /// The block's index in the grid.
    pub block: [u32; 3],
    /// The thread's index in its block.
    pub thread: [u32; 3],
    /// The panic's message.
    pub message: Text<MESSAGE_BYTES>,
    /// The Rust source file, as rustc names it.
    pub file: Text<256>,
}

/// Longer messages are cut.
pub const MESSAGE_BYTES: usize = 512;

impl Report {
    /// The [`state`](Self::state) of a report that is there.
    pub const WRITTEN: u32 = 1;

    /// Nothing reported yet.
    pub const EMPTY: Self = Report {
        state: 0,
        line: 0,
        block: [0; 3],
        thread: [0; 3],
        message: Text::EMPTY,
        file: Text::EMPTY,
    };
}

/// A text of at most `N - 1` bytes, which ends with a zero; what does not fit is left out.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<const N: usize> {
    length: u32,
    bytes: [u8; N],
}

impl<const N: usize> Text<N> {
    /// No text.
    pub const EMPTY: Self = Text {
        length: 0,
        bytes: [0; N],
    };

    /// The text; what is no UTF-8 reads as nothing.
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.length as usize).unwrap_or(&[]);
        core::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl<const N: usize> core::fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        // No indexing: the panic handler calls this and must not panic.
        let room = (N - 1).saturating_sub(self.length as usize);
        let fits = text.floor_char_boundary(room);
        let free = self.bytes.iter_mut().skip(self.length as usize);
        for (slot, byte) in free.zip(text.bytes().take(fits)) {
            *slot = byte;
        }
        self.length += fits as u32;
        // A part that did not fit ends the text: a shorter one behind it would make nonsense.
        if fits < text.len() {
            Err(core::fmt::Error)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Text;
    use core::fmt::Write;

    #[test]
    fn a_text_is_cut_between_characters() {
        let mut text = Text::<8>::EMPTY;
        write!(text, "{}{}", 12, 34).unwrap();
        assert_eq!(text.as_str(), "1234");
        let wide = 'ñ';
        assert!(write!(text, "ab{wide}").is_err());
        assert_eq!(text.as_str(), "1234ab");
        assert_eq!(text.bytes, *b"1234ab\0\0");
    }
}
