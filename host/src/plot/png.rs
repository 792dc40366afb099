//! PNG files.

use crc32fast::Hasher;
use miniz_oxide::deflate::compress_to_vec_zlib;

/// Pixels of three bytes as a PNG file: a header, the packed rows, an end.
pub(super) fn png((width, height): (usize, usize), pixels: &[u8]) -> Vec<u8> {
    let mut rows = Vec::new();
    for row in pixels.chunks(3 * width) {
        // How the row is predicted: not at all.
        rows.push(0);
        rows.extend(row);
    }
    // Eight bits of red, green and blue; the usual packing, prediction and order of rows.
    let header = [
        &(width as u32).to_be_bytes()[..],
        &(height as u32).to_be_bytes(),
        &[8, 2, 0, 0, 0],
    ]
    .concat();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [
        (b"IHDR", header),
        (b"IDAT", compress_to_vec_zlib(&rows, 6)),
        (b"IEND", Vec::new()),
    ] {
        let mut sum = Hasher::new();
        sum.update(kind);
        sum.update(&data);
        file.extend((data.len() as u32).to_be_bytes());
        file.extend(kind);
        file.extend(data);
        file.extend(sum.finalize().to_be_bytes());
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_a_png_file_that_holds_its_pixels() {
        let pixels = [255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7];
        let file = png((2, 2), &pixels);
        // Of the format's definition: the end of a file with its checksum.
        assert!(file.ends_with(b"\0\0\0\0IEND\xae\x42\x60\x82"));
        let data = &file[8 + 25..file.len() - 12];
        assert_eq!(&data[4..8], b"IDAT");
        let rows = &data[8..data.len() - 4];
        let rows = miniz_oxide::inflate::decompress_to_vec_zlib(rows).unwrap();
        let expected = [&[0][..], &pixels[..6], &[0], &pixels[6..]].concat();
        assert_eq!(rows, expected);
    }
}
