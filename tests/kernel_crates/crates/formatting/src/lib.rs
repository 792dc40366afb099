//! `core::fmt` into a buffer of the thread's own, without a heap.

use core::fmt::{self, Write};
use cuda_std::prelude::*;

struct Line<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl Write for Line<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let place = self
            .bytes
            .get_mut(self.len..self.len + text.len())
            .ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

/// Each thread writes one line of at most 64 bytes about its value, filled with zeros.
#[kernel]
pub unsafe fn formatted(values: &[i64], out: *mut u8) {
    let i = thread::index_1d() as usize;
    if i >= values.len() {
        return;
    }
    let bytes = core::slice::from_raw_parts_mut(out.add(64 * i), 64);
    bytes.fill(0);
    let mut line = Line { bytes, len: 0 };
    let value = values[i];
    let even = i % 2 == 0;
    let written = write!(line, "{i:>3}|{value:+}|{value:#010x}|{even:<5}|{}", 'ß');
    if written.is_err() {
        line.bytes[0] = b'!';
    }
}
