//! Kernels' records as 64-bit words.

use miniz_oxide::deflate::compress_to_vec;

/// The first byte of a packed record, which no text begins with: `launch_contract` knows it.
const PACKED: u8 = 0xff;
/// Of compression: records are short.
const LEVEL: u8 = 10;

/// The same PTX with such records.
pub(crate) fn in_words(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        match words(line.trim_end()) {
            Some(record) => {
                text.push_str(&record);
                text.push('\n');
            }
            None => text.push_str(line),
        }
    }
    text
}

/// The declaration of a kernel's record, packed if that is shorter, as an array of 64-bit words, in
/// little-endian order: three fifths of LLVM's array of bytes. What the last word lacks is filled
/// with `\n`, which adds empty lines to a text that is not packed. `None` for any other line.
fn words(line: &str) -> Option<String> {
    let (before, array) = line.split_once(".align 1 .b8 ")?;
    let (name, array) = array.split_once('[')?;
    if !name.ends_with("__signature") {
        return None;
    }
    let (len, values) = array.split_once("] = {")?;
    let values = values.strip_suffix("};")?.split(", ");
    let mut bytes: Vec<u8> = values
        .map(|byte| byte.parse().ok())
        .collect::<Option<_>>()?;
    // The initialiser may leave out zeros at the end, which a text does not have.
    if len.parse() != Ok(bytes.len()) {
        return None;
    }
    let packed = [&[PACKED], &compress_to_vec(&bytes, LEVEL)[..]].concat();
    if packed.len() < bytes.len() {
        bytes = packed;
    }
    bytes.resize(bytes.len().next_multiple_of(8), b'\n');
    let (words, _) = bytes.as_chunks::<8>();
    let words: Vec<_> = (words.iter())
        .map(|&word| format!("{:#x}", u64::from_le_bytes(word)))
        .collect();
    let (len, words) = (words.len(), words.join(", "));
    Some(format!(
        "{before}.align 8 .b64 {name}[{len}] = {{{words}}};"
    ))
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn records_are_words() {
        let check = |line: &str, expected: &str| {
            assert_eq!(
                in_words(&format!("{line}\n\tret;\n")),
                format!("{expected}\n\tret;\n"),
                "{line}"
            );
        };
        let head = ".visible .global .align";
        check(
            &format!("{head} 1 .b8 k__signature[3] = {{97, 58, 255}};"),
            &format!("{head} 8 .b64 k__signature[1] = {{0xa0a0a0a0aff3a61}};"),
        );
        check(
            &format!("{head} 1 .b8 k__signature[9] = {{1, 200, 77, 3, 250, 99, 7, 128, 2}};"),
            &format!("{head} 8 .b64 k__signature[2] = {{0x800763fa034dc801, 0xa0a0a0a0a0a0a02}};"),
        );
        for other in [
            ".b8 k[3] = {97, 58, 255};",
            ".b8 k__signature[4] = {97, 58, 255};",
            ".b8 k__signature[1] = {256};",
            ".b8 k__signature[8];",
        ] {
            let line = format!("{head} 1 {other}");
            check(&line, &line);
        }
    }

    #[test]
    fn long_records_are_packed() {
        let text = "require (host)\n".repeat(9);
        let bytes: Vec<_> = text.bytes().map(|byte| byte.to_string()).collect();
        let (len, bytes) = (bytes.len(), bytes.join(", "));
        let line = format!(".global .align 1 .b8 k__signature[{len}] = {{{bytes}}};");
        let packed = in_words(&line);
        let (head, words) = packed.trim_end().split_once("] = {").unwrap();
        let packed: Vec<u8> = (words.trim_end_matches("};").split(", "))
            .flat_map(|word| u64::from_str_radix(&word[2..], 16).unwrap().to_le_bytes())
            .collect();
        assert_eq!(
            head,
            format!(".global .align 8 .b64 k__signature[{}", packed.len() / 8)
        );
        assert!(packed.len() <= 40, "{}", packed.len());
        assert_eq!(packed[0], 0xff);
        let unpacked = miniz_oxide::inflate::decompress_to_vec(&packed[1..]).unwrap();
        assert_eq!(unpacked, text.as_bytes());
    }
}
