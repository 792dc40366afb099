//! Divides PTX from a file into kernels, as [`launch_contract::launch::KernelsFile`] divides
//! embedded PTX.

use std::collections::HashMap;
use std::ops::Range;

use launch_contract::launch::RECORD_SUFFIX;

use crate::PtxFile;

/// A text whose kernels share no variables, so that each can be a module of its own.
pub(crate) struct Split {
    pub(crate) file: PtxFile,
    places: Places,
}

/// Byte ranges in a text, by kernel name.
#[derive(Default)]
struct Places {
    kernels: HashMap<String, Range<usize>>,
    /// The variables that record their signatures and contracts.
    records: HashMap<String, Range<usize>>,
}

impl Split {
    /// Finds the kernels. Returns the file if they may share a variable in global memory.
    pub(crate) fn of(file: PtxFile) -> Result<Self, PtxFile> {
        match places(&file.text) {
            Some(places) => Ok(Self { file, places }),
            None => Err(file),
        }
    }

    /// The text without the other kernels and their records. The rest keeps its line numbers.
    pub(crate) fn only(&self, kernel: &str) -> String {
        let text = &self.file.text;
        let Places { kernels, records } = &self.places;
        // If this kernel has no record, the others' stay: without any, the text would pass for
        // another compiler's, whose signatures are not compared.
        let records = records.contains_key(kernel).then_some(records);
        let all = kernels.iter().chain(records.into_iter().flatten());
        let others = all.filter(|(name, _)| *name != kernel);
        let mut others: Vec<_> = others.map(|(_, range)| range.clone()).collect();
        others.sort_by_key(|range| range.start);
        let (mut only, mut end) = (String::new(), 0);
        for range in others {
            only.push_str(&text[end..range.start]);
            let bytes = text[range.clone()].bytes();
            let lines = bytes.filter(|&byte| byte == b'\n').count();
            only.extend(std::iter::repeat_n('\n', lines));
            end = range.end;
        }
        only.push_str(&text[end..]);
        only
    }
}

/// The kernels' and records' ranges. `None` if there is another variable in global memory, or if the
/// text ends within one of them.
fn places(text: &str) -> Option<Places> {
    let mut places = Places::default();
    let mut tokens = Tokens { text, at: 0 };
    // Depth of open braces and parentheses.
    let mut depth = 0_usize;
    let mut before = 0..0;
    while let Some(token) = tokens.next() {
        match &text[token.clone()] {
            "{" | "(" => depth += 1,
            "}" | ")" => depth = depth.saturating_sub(1),
            ".entry" if depth == 0 => {
                let start = match &text[before.clone()] {
                    ".visible" | ".weak" | ".extern" => before.start,
                    _ => token.start,
                };
                let name = tokens.next()?;
                let end = tokens.end_of_body()?;
                places.kernels.insert(text[name].to_owned(), start..end);
            }
            ".global" if depth == 0 => {
                let start = match &text[before.clone()] {
                    ".visible" => before.start,
                    _ => token.start,
                };
                // The name is the last word before the array's length.
                let mut name = token.clone();
                loop {
                    match tokens.next()? {
                        next if &text[next.clone()] == "[" => break,
                        next if matches!(&text[next.clone()], "=" | ";" | ",") => return None,
                        next => name = next,
                    }
                }
                let kernel = text[name].strip_suffix(RECORD_SUFFIX)?;
                let end = tokens.find(|token| &text[token.clone()] == ";")?.end;
                places.records.insert(kernel.to_owned(), start..end);
            }
            _ => {}
        }
        before = token;
    }
    Some(places)
}

/// The words and punctuation of a text, without comments.
struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl Tokens<'_> {
    /// The end of a kernel whose name was the last token.
    fn end_of_body(&mut self) -> Option<usize> {
        loop {
            let token = self.next()?;
            match &self.text[token.clone()] {
                "{" => return self.end_of_braces(),
                "}" => return None,
                // A declaration.
                ";" => return Some(token.end),
                _ => {}
            }
        }
    }

    /// The end of the block whose opening brace was the last token. Nearly all of a text is inside
    /// such blocks, so they are not split into words: only braces outside comments and strings
    /// count.
    fn end_of_braces(&mut self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut depth = 1_usize;
        while depth > 0 {
            let mark = |byte: &u8| matches!(byte, b'{' | b'}' | b'/' | b'"');
            self.at += bytes[self.at..].iter().position(mark)?;
            match bytes[self.at] {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                b'"' => {
                    let string = &bytes[self.at + 1..];
                    self.at += 1 + string.iter().position(|&byte| byte == b'"')?;
                }
                _ => {
                    let start = self.at;
                    self.skip_comments();
                    if self.at > start {
                        continue;
                    }
                }
            }
            self.at += 1;
        }
        Some(self.at)
    }

    fn skip_comments(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let left = rest.trim_start();
            self.at += rest.len() - left.len();
            let comment = match left.get(..2) {
                Some("//") => left.find('\n'),
                Some("/*") => left.find("*/").map(|end| end + 2),
                _ => return,
            };
            self.at += comment.unwrap_or(left.len());
        }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        self.skip_comments();
        let rest = &self.text[self.at..];
        let len = match rest.chars().next()? {
            // A string, such as a file's name, may contain braces.
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            first if is_mark(first) => first.len_utf8(),
            _ => {
                let end = |c: char| c.is_whitespace() || c == '"' || c == '/' || is_mark(c);
                rest.find(end).unwrap_or(rest.len())
            }
        };
        let start = self.at;
        self.at += len.max(1);
        Some(start..self.at)
    }
}

fn is_mark(c: char) -> bool {
    "{}()[]=;,/".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 7.0\n.target sm_80 // an open {\n.address_size 64\n";
    const FIRST: &str = ".visible .entry first(\n\t.param .u64 .ptr .global .align 1 first_param_0\n)\n\
        .maxntid 256, 1, 1\n{\n\t{ .reg .b32 t;\n}\n\tret; /* } */\n}";
    const SECOND: &str = ".entry second\n{\n\tcall help;\n\tld.global.u32 %r1, [%rd1];\n}";
    const HELP: &str = "\n.visible .global .align 1 .b8 first__signature[2] = {97, 58};\n\
        .shared .align 4 .b8 tile[64];\n.func help() { ret; }\n";
    const END: &str = "\n.file 1 \"a}b/{c.rs\"\n";

    fn text() -> String {
        format!("{HEAD}{FIRST}{HELP}{SECOND}{END}")
    }

    fn split(text: &str) -> Option<Split> {
        Split::of(PtxFile::from_text(text, "here").expect("PTX")).ok()
    }

    #[test]
    fn the_other_kernels_leave_their_lines() {
        let split = split(&text()).expect("two kernels that share nothing");
        let lines = |text: &str| "\n".repeat(text.matches('\n').count());
        let first = format!("{HEAD}{FIRST}{HELP}{}{END}", lines(SECOND));
        assert_eq!(split.only("first"), first);
        let second = format!("{HEAD}{}{HELP}{SECOND}{END}", lines(FIRST));
        assert_eq!(split.only("second"), second);
        let none = format!("{HEAD}{}{HELP}{}{END}", lines(FIRST), lines(SECOND));
        assert_eq!(split.only("third"), none);
    }

    #[test]
    fn the_other_kernels_records_leave_too() {
        let record = ".visible .global .align 1 .b8 second__signature[3] = {98, 10, 59};\n";
        let text = format!("{}{record}", text());
        let split = split(&text).expect("two kernels that share nothing");
        assert_eq!(
            split.only("first"),
            text.replace(record, "\n").replace(SECOND, "\n\n\n\n")
        );
        let own = split.only("second");
        assert!(own.ends_with(record) && !own.contains("first"), "{own}");
    }

    #[test]
    fn kernels_that_share_variables_stay_together() {
        for variable in [
            ".global .align 4 .u32 COUNT;",
            ".visible .global .align 4 .b8 heap[1024];",
            ".global .u32 a = 1, b__signature;",
        ] {
            assert!(
                split(&format!("{}{variable}\n", text())).is_none(),
                "{variable}"
            );
        }
        assert!(split(&format!("{}.const .u32 two = 2;\n", text())).is_some());
    }

    #[test]
    fn a_text_that_ends_early_stays_whole() {
        let text = text();
        let end = text.find("call help").expect("it is there");
        assert!(split(&text[..end]).is_none());
    }
}
