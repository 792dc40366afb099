//! PNG files.

use std::io::Write as _;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// Pixels of three bytes as a PNG file: a header, the packed rows, an end.
pub(super) fn png((width, height): (usize, usize), pixels: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut rows = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in pixels.chunks(3 * width) {
        // How the row is predicted: not at all.
        rows.write_all(&[0])?;
        rows.write_all(row)?;
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
        (b"IDAT", rows.finish()?),
        (b"IEND", Vec::new()),
    ] {
        let mut sum = Crc::new();
        sum.update(kind);
        sum.update(&data);
        file.extend((data.len() as u32).to_be_bytes());
        file.extend(kind);
        file.extend(data);
        file.extend(sum.sum().to_be_bytes());
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_a_png_file_that_holds_its_pixels() {
        let pixels = [255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7];
        let file = png((2, 2), &pixels).unwrap();
        // Of the format's definition: the end of a file with its checksum.
        assert!(file.ends_with(b"\0\0\0\0IEND\xae\x42\x60\x82"));
        let data = &file[8 + 25..file.len() - 12];
        assert_eq!(&data[4..8], b"IDAT");
        let mut rows = Vec::new();
        let mut unpacked = flate2::read::ZlibDecoder::new(&data[8..data.len() - 4]);
        std::io::Read::read_to_end(&mut unpacked, &mut rows).unwrap();
        let expected = [&[0][..], &pixels[..6], &[0], &pixels[6..]].concat();
        assert_eq!(rows, expected);
    }
}
