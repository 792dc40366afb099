//! White space of PTX.

/// The same PTX without the spaces that LLVM prints before the tab after an instruction's name, and
/// after commas: a thirteenth of the text. Comments and lines with quotes stay as they are.
pub(crate) fn drop_needless(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        let code = match line.contains('"') {
            true => 0,
            false => line.find("//").unwrap_or(line.len()),
        };
        let (code, comment) = line.split_at(code);
        text.push_str(&code.replace(" \t", "\t").replace(", ", ","));
        text.push_str(comment);
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn needless_spaces_go() {
        let ptx = "\t.file\t1 \"/a, b \t.rs\"\n\tfma.rn.f32 \t%r1, %r2, %r3, %r4;\n\
                   \t.loc\t1 2 3 // a, b.rs:2:3\n\tst.shared.v2.b32 \t[%r1+8], {%r1, %r2};\n";
        assert_eq!(
            super::drop_needless(ptx),
            "\t.file\t1 \"/a, b \t.rs\"\n\tfma.rn.f32\t%r1,%r2,%r3,%r4;\n\
             \t.loc\t1 2 3 // a, b.rs:2:3\n\tst.shared.v2.b32\t[%r1+8],{%r1,%r2};\n"
        );
    }
}
