//! Allows `a * b + c` to become one `fma`.
//!
//! It is said of each operation of the crate, not of the whole program: libdevice computes in pairs of floats, and what it rounds
//! by itself must stay so. With llc's global switch a `powf` was 8 steps off instead of 4.

/// Marks every product, sum and difference of floats.
pub(crate) fn mark(ir: &str) -> String {
    let mut marked = String::with_capacity(ir.len() + ir.len() / 64);
    for line in ir.lines() {
        match operation(line) {
            Some(end) => {
                marked.push_str(&line[..end]);
                marked.push_str(" contract");
                marked.push_str(&line[end..]);
            }
            None => marked.push_str(line),
        }
        marked.push('\n');
    }
    marked
}

/// Where the operation's name ends, if the line is one without the mark.
fn operation(line: &str) -> Option<usize> {
    let start = line.find(" = ")? + 3;
    let name = ["fmul ", "fadd ", "fsub "]
        .into_iter()
        .find(|name| line[start..].starts_with(name))?;
    let marked = line[start..]
        .split(' ')
        .any(|word| matches!(word, "contract" | "fast"));
    (line.starts_with("  ") && !marked).then_some(start + name.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::mark;

    #[test]
    fn operations_are_marked_once_and_other_lines_stay() {
        assert_eq!(
            mark("  %1 = fmul float %a, %b, !dbg !2\n  %2 = fsub nnan <2 x double> %c, %d\n"),
            "  %1 = fmul contract float %a, %b, !dbg !2\n  %2 = fsub contract nnan <2 x double> %c, %d\n"
        );
        let ir = "  %1 = fadd contract float %a, %b\n  %2 = fmul fast float %a, %b\n  %3 = fdiv float %a, %b\n  %4 = add i32 %a, %b\n";
        assert_eq!(mark(ir), ir);
    }
}
