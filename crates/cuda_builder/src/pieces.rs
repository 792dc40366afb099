//! PTX for embedding: compact, divided by kernels where they share no variable, and compressed.

use miniz_oxide::deflate::compress_to_vec;

use crate::compact::Compact;
use crate::ptx::{Item, Kind, Ptx};

/// Of compression: higher ones take as long again for a thousandth of the bytes.
const LEVEL: u8 = 8;

/// A part of a text, as `cuda_std::launch::Piece` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The only kernel that needs it; empty if all need it.
    pub(crate) kernel: String,
    pub(crate) lines: usize,
    pub(crate) len: usize,
    pub(crate) compressed: usize,
}

/// A text's pieces, and their bytes.
pub(crate) fn pieces(ptx: &str) -> (Vec<Piece>, Vec<u8>) {
    let texts = divided(ptx).unwrap_or_else(|| vec![("", ptx.to_owned())]);
    let mut compact = Compact::default();
    let (mut pieces, mut bytes) = (Vec::new(), Vec::new());
    for (kernel, text) in texts {
        let text = compact.piece(&text);
        let block = compress_to_vec(text.as_bytes(), LEVEL);
        pieces.push(Piece {
            kernel: kernel.to_owned(),
            lines: text.matches('\n').count(),
            len: text.len(),
            compressed: block.len(),
        });
        bytes.extend(block);
    }
    (pieces, bytes)
}

/// The part that all kernels need, each kernel with its record, and the table of source files.
/// `None` if kernels may share a variable in global memory.
fn divided(text: &str) -> Option<Vec<(&str, String)>> {
    let ptx = Ptx::parse(text)?;
    let kernel_of = |item: &Item<'_>| item.name.strip_suffix("__signature").map(str::to_owned);
    let is_entry = |item: &&Item<'_>| item.kind == Kind::Entry;
    let mut shared = ptx.header.to_owned();
    let mut pieces: Vec<_> = (ptx.items.iter().filter(is_entry))
        .map(|item| (item.name, String::new()))
        .collect();
    // A record comes before its kernel.
    for item in ptx.items.iter().filter(|item| !is_entry(item)) {
        let piece = match item.is_global {
            true => {
                let kernel = kernel_of(item)?;
                pieces.iter_mut().find(|(name, _)| *name == kernel)
            }
            false => None,
        };
        match piece {
            Some((_, text)) => text.push_str(item.text),
            None => shared.push_str(item.text),
        }
    }
    for (item, (_, text)) in ptx.items.iter().filter(is_entry).zip(&mut pieces) {
        text.push_str(item.text);
    }
    if pieces.is_empty() {
        return None;
    }
    pieces.insert(0, ("", shared));
    pieces.push(("", ptx.end.to_owned()));
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";
    const RECORDS: &str = ".visible .global .align 1 .b8 a__signature[1] = {1};\n.visible .global .align 1 .b8 b__signature[1] = {2};\n";
    const OTHERS: &str = ".extern .shared .align 16 .b8 dynamic[];\n.const .u32 two = 2;\n.func help()\n{\n\tret;\n}\n";
    const A: &str =
        ".visible .entry a(\n\t.param .u64 a_param_0\n)\n{\n\t.loc\t1 3 5 // a.rs:3:5\n\tret;\n}\n";
    const B: &str =
        ".visible .entry b()\n{\n\t// begin inline asm\n{\n}\n\t// end inline asm\n\tret;\n}\n";
    const END: &str = "\t.file\t1 \"/a}b/{c.rs\"\n";

    fn texts(ptx: &str) -> Vec<(String, String)> {
        let (pieces, bytes) = pieces(ptx);
        let mut rest = &bytes[..];
        let text = |piece: Piece| {
            let (block, after) = rest.split_at(piece.compressed);
            rest = after;
            let text = miniz_oxide::inflate::decompress_to_vec(block).unwrap();
            assert_eq!(text.len(), piece.len);
            let text = String::from_utf8(text).unwrap();
            assert_eq!(text.lines().count(), piece.lines);
            (piece.kernel, text)
        };
        pieces.into_iter().map(text).collect()
    }

    #[test]
    fn each_kernel_is_a_piece_with_its_record() {
        let (first, second) = RECORDS.split_at(RECORDS.find('\n').unwrap() + 1);
        let expected = [
            ("", format!("{HEADER}{OTHERS}")),
            ("a", format!("{first}{A}")),
            (
                "b",
                format!(
                    "{second}{}",
                    B.replace("\t// begin inline asm\n", "")
                        .replace("\t// end inline asm\n", "")
                ),
            ),
            ("", END.to_owned()),
        ];
        let expected = expected.map(|(kernel, text)| (kernel.to_owned(), text));
        assert_eq!(
            texts(&[HEADER, RECORDS, OTHERS, A, B, END].concat()),
            expected
        );
    }

    #[test]
    fn kernels_that_share_variables_stay_together() {
        for variable in [
            ".global .align 4 .u32 COUNT;\n",
            ".visible .global .align 4 .b8 heap[1024];\n",
            ".extern .global .align 4 .u32 elsewhere;\n",
            "\t.section .debug_info\n\t{\n.b8 1\n\t}\n",
        ] {
            let ptx = [HEADER, RECORDS, variable, B].concat();
            let found = texts(&ptx);
            assert_eq!(found.len(), 1, "{variable}");
            assert!(found[0].0.is_empty() && found[0].1.contains("entry b"));
        }
        assert_eq!(texts(HEADER), [(String::new(), HEADER.to_owned())]);
    }
}
