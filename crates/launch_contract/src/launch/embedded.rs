//! Embedded PTX: compressed, and divided by kernels, because a driver compiles all of a module that
//! it loads and the emulator decodes all of it; a program mostly uses a few kernels.

use alloc::string::String;
use alloc::vec;

use miniz_oxide::inflate::decompress_slice_iter_to_slice;

/// Embedded PTX for one architecture.
#[derive(Debug)]
pub struct KernelsFile {
    /// The architecture, such as `sm_80` or `sm_90a`.
    pub arch: &'static str,
    /// The kernels in it, by name; all of the crate if empty.
    pub only: &'static [&'static str],
    /// The pieces of the text, in its order.
    pub pieces: &'static [Piece],
    /// Their bytes, one after the other, each packed alone, by DEFLATE.
    pub bytes: &'static [u8],
}

/// A part of a PTX text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The kernel that alone needs it; empty for what all need.
    pub kernel: &'static str,
    /// Its lines.
    pub lines: usize,
    /// Its bytes.
    pub len: usize,
    /// Its bytes in the file.
    pub compressed: usize,
}

impl KernelsFile {
    /// Whether it has this kernel of the crate.
    pub fn has(&self, kernel: &str) -> bool {
        self.only.is_empty() || self.only.contains(&kernel)
    }

    /// Whether each kernel can be a module of its own. Kernels that share variables cannot.
    pub fn is_divided(&self) -> bool {
        self.pieces.iter().any(|piece| !piece.kernel.is_empty())
    }

    /// The PTX of all kernels. `None` if the bytes are not what a build wrote.
    pub fn text(&self) -> Option<String> {
        self.with(|_| true)
    }

    /// The PTX without the other kernels: what remains is on the same lines. All of it if it [is
    /// not divided](Self::is_divided). `None` if the bytes are not what a build wrote.
    pub fn text_of(&self, kernel: &str) -> Option<String> {
        self.with(|piece| piece.kernel.is_empty() || piece.kernel == kernel)
    }

    fn with(&self, is_wanted: impl Fn(&Piece) -> bool) -> Option<String> {
        let size = |piece: &Piece| match is_wanted(piece) {
            true => piece.len,
            false => piece.lines,
        };
        // In one go: a loop over megabytes takes a debug build as long as the decompression.
        let mut text = vec![b'\n'; self.pieces.iter().map(size).sum()];
        let (mut place, mut rest) = (&mut text[..], self.bytes);
        for piece in self.pieces {
            let (bytes, after) = rest.split_at_checked(piece.compressed)?;
            let (own, others) = place.split_at_mut(size(piece));
            (rest, place) = (after, others);
            if is_wanted(piece) {
                let bytes = core::iter::once(bytes);
                let len = decompress_slice_iter_to_slice(own, bytes, false, true).ok()?;
                if len != piece.len {
                    return None;
                }
            }
        }
        String::from_utf8(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;

    use miniz_oxide::deflate::compress_to_vec;

    use super::*;

    const TEXTS: [(&str, &str); 4] = [
        ("", ".version 7.0\n.target sm_80\n"),
        ("a", ".entry a()\n{\n}\n"),
        ("b", ".entry b()\n{\n\tret;\n\tret;\n}\n"),
        ("", "\t.file 1 \"a.rs\"\n"),
    ];

    fn file(texts: &[(&'static str, &'static str)]) -> KernelsFile {
        let mut bytes = Vec::new();
        let mut pieces = Vec::new();
        for &(kernel, text) in texts {
            let block = compress_to_vec(text.as_bytes(), 6);
            pieces.push(Piece {
                kernel,
                lines: text.matches('\n').count(),
                len: text.len(),
                compressed: block.len(),
            });
            bytes.extend(block);
        }
        KernelsFile {
            arch: "sm_80",
            only: &[],
            pieces: pieces.leak(),
            bytes: bytes.leak(),
        }
    }

    #[test]
    fn the_other_kernels_leave_their_lines() {
        let divided = file(&TEXTS);
        let whole: String = TEXTS.iter().map(|(_, text)| *text).collect();
        assert!(divided.is_divided());
        assert_eq!(divided.text(), Some(whole.clone()));
        let [head, a, b, end] = TEXTS.map(|(_, text)| text);
        let of = |kernel| divided.text_of(kernel);
        assert_eq!(of("a"), Some(format!("{head}{a}\n\n\n\n\n{end}")));
        assert_eq!(of("b"), Some(format!("{head}\n\n\n{b}{end}")));
        assert_eq!(of("c"), Some(format!("{head}\n\n\n\n\n\n\n\n{end}")));
        let undivided = file(&[("", ".version 7.0\n")]);
        assert!(!undivided.is_divided());
        assert_eq!(undivided.text_of("a"), undivided.text());
    }

    #[test]
    fn bytes_that_no_build_wrote_are_noticed() {
        let good = file(&TEXTS);
        let with = |bytes| KernelsFile {
            bytes,
            ..file(&TEXTS)
        };
        assert_eq!(with(good.bytes).text(), good.text());
        assert_eq!(with(&good.bytes[..good.bytes.len() - 1]).text(), None);
        assert_eq!(with(&[]).text_of("a"), None);
        for more in [-1, 1] {
            let mut pieces = good.pieces.to_vec();
            pieces[1].len = pieces[1].len.wrapping_add_signed(more);
            let other = KernelsFile {
                pieces: pieces.leak(),
                ..with(good.bytes)
            };
            assert_eq!(other.text(), None, "{more}");
        }
        let mut wrong = good.bytes.to_vec();
        // A block of a kind that does not exist.
        wrong[0] = 0xff;
        assert_eq!(with(wrong.leak()).text(), None);
    }
}
