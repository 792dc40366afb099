//! Packed records, by DEFLATE: PTX writes eight bytes as a number of 18 digits.

use alloc::string::String;

use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// The first byte of a packed record, which no text begins with. `cuda_builder` writes it.
const PACKED: u8 = 0xff;

/// The most bytes of a record's text.
const MOST: usize = 1 << 20;

/// The text of the record in `bytes`, packed or not, which `\n` may follow. `None` if it is broken.
pub fn record_text(bytes: &[u8]) -> Option<String> {
    let text = match bytes.split_first() {
        Some((&PACKED, packed)) => decompress_to_vec_with_limit(packed, MOST).ok()?,
        _ => bytes.to_vec(),
    };
    let mut text = String::from_utf8(text).ok()?;
    text.truncate(text.trim_end_matches('\n').len());
    Some(text)
}

#[cfg(test)]
mod tests {
    use miniz_oxide::deflate::compress_to_vec;

    use super::{PACKED, record_text};

    #[test]
    fn records_are_read_packed_or_not() {
        let text = "x: &[f32], y: Out<f32>\nrequire (== (len 1) (len 0))";
        let mut packed = compress_to_vec(text.as_bytes(), 10);
        packed.insert(0, PACKED);
        packed.extend(b"\n\n\n");
        assert_eq!(record_text(&packed).as_deref(), Some(text));
        assert_eq!(record_text(b"a: f32\n\n").as_deref(), Some("a: f32"));
        assert_eq!(record_text(b"").as_deref(), Some(""));
    }

    #[test]
    fn other_bytes_are_no_record() {
        for broken in [
            &[0xfe, b'a'][..],
            &[PACKED],
            &[PACKED, 0xff, 0xff],
            b"\xff\x05\x80",
        ] {
            assert_eq!(record_text(broken), None, "{broken:?}");
        }
    }
}
