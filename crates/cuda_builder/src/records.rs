//! Kernels' records in less text: 64-bit words, without what their first line says.

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

/// The declaration of a kernel's record as an array of 64-bit words, in little-endian order: three
/// fifths of LLVM's array of bytes. What the last word lacks is filled with `\n`, which adds empty
/// lines to the record's text. `None` for any other line.
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
    if let Ok(record) = str::from_utf8(&bytes) {
        bytes = without_implied(record).into_bytes();
    }
    bytes.resize(bytes.len().next_multiple_of(8), b'\n');
    let (words, _) = bytes.as_chunks::<8>();
    let words: Vec<_> = (words.iter())
        .map(|&word| format!("{:#x}", u64::from_le_bytes(word)))
        .collect();
    let (len, words) = (words.len(), words.join(","));
    Some(format!(
        "{before}.align 8 .b64 {name}[{len}] = {{{words}}};"
    ))
}

/// A record without the lines of types whose layout follows from the signature. Who compares records
/// adds them again (`contract.rs` of the runtime).
fn without_implied(record: &str) -> String {
    let signature = parameters(record.lines().next().unwrap_or_default());
    let layout_of = |name: &str| {
        let mut named = signature.iter().filter_map(|it| it.split_once(": "));
        named
            .find(|(other, _)| *other == name)
            .and_then(|(_, ty)| implied(ty))
    };
    let is_implied = |line: &str| {
        let line = line.strip_prefix("type ").and_then(|it| it.split_once(' '));
        line.is_some_and(|(name, layout)| layout_of(name) == Some(layout))
    };
    let lines: Vec<_> = record
        .split('\n')
        .filter(|line| !is_implied(line))
        .collect();
    lines.join("\n")
}

/// The bytes and the alignment of the element that a type names last, if it is a number.
fn implied(ty: &str) -> Option<&'static str> {
    let mut words = ty.rsplit(|c: char| !c.is_alphanumeric() && c != '_');
    Some(match words.find(|word| !word.is_empty())? {
        "bool" | "i8" | "u8" => "1/1",
        "i16" | "u16" | "f16" => "2/2",
        "i32" | "u32" | "f32" => "4/4",
        "i64" | "u64" | "f64" | "isize" | "usize" => "8/8",
        _ => return None,
    })
}

/// A signature's parameters: split at commas outside of brackets.
fn parameters(signature: &str) -> Vec<&str> {
    let mut depth = 0;
    let parameters = signature.split(|c| {
        match c {
            '{' | '[' | '(' | '<' => depth += 1,
            '}' | ']' | ')' | '>' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    parameters.map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::{in_words, without_implied};

    #[test]
    fn layouts_that_the_signature_says_are_left_out() {
        let check = |record: &str, expected: &str| assert_eq!(without_implied(record), expected);
        let kept = "kernel safe 0\nrequire (== (len 0) 1)";
        check(
            &format!(
                "x: &mut [f32], p: &[Two<u8, i16>], y: Out<u64>, n: usize, own: own_u8\n{kept}\n\
                 type x 4/4\ntype p 4/2\ntype y 8/8\ntype n 8/8\ntype own 1/1\nmap y FromEnd"
            ),
            &format!(
                "x: &mut [f32], p: &[Two<u8, i16>], y: Out<u64>, n: usize, own: own_u8\n{kept}\n\
                 type p 4/2\ntype own 1/1\nmap y FromEnd"
            ),
        );
        // Another layout than the name's, and a parameter that is not there.
        let odd = "x: &[f32], n: i64\ntype x 8/8\ntype y 4/4\narray n 8/8";
        check(odd, odd);
        check("", "");
    }

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
            &format!("{head} 1 .b8 k__signature[9] = {{1, 0, 0, 0, 0, 0, 0, 128, 2}};"),
            &format!("{head} 8 .b64 k__signature[2] = {{0x8000000000000001,0xa0a0a0a0a0a0a02}};"),
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
}
