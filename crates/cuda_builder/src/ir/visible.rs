//! Functions and statics that stay in the PTX although no kernel uses them.

use super::symbol::symbols;

/// The section that `#[externally_visible]` writes, as LLVM prints it.
const MARK: &str = " section \"cuda_std.externally_visible\"";

/// The names of the marked definitions.
pub(crate) fn names(ir: &str) -> impl Iterator<Item = &str> {
    ir.lines()
        .filter(|line| is_marked(line))
        .filter_map(|line| symbols(line).next().map(|symbol| symbol.name))
}

/// Takes the sections off again: PTX has none.
pub(crate) fn unmark(ir: &str) -> String {
    let mut unmarked = String::with_capacity(ir.len());
    for line in ir.lines() {
        if is_marked(line) {
            unmarked.push_str(&line.replace(&format!(",{MARK}"), "").replace(MARK, ""));
        } else {
            unmarked.push_str(line);
        }
        unmarked.push('\n');
    }
    unmarked
}

fn is_marked(line: &str) -> bool {
    (line.starts_with("define ") || line.starts_with('@')) && line.contains(MARK)
}

#[cfg(test)]
mod tests {
    use super::{names, unmark};

    #[test]
    fn marked_functions_and_statics_are_named_and_lose_the_mark() {
        let ir = "@COUNT = global i32 0, section \"cuda_std.externally_visible\", align 4\n@other = global i32 0, align 4\n\
                  define i32 @help(i32 %0) unnamed_addr #0 section \"cuda_std.externally_visible\" !dbg !5 {\n";
        assert_eq!(names(ir).collect::<Vec<_>>(), ["COUNT", "help"]);
        assert_eq!(
            unmark(ir),
            "@COUNT = global i32 0, align 4\n@other = global i32 0, align 4\ndefine i32 @help(i32 %0) unnamed_addr #0 !dbg !5 {\n"
        );
    }
}
