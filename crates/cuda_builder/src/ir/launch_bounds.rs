//! What a kernel asks of its build: the bounds of its launches, which ptxas divides the registers by.

/// The section that `#[kernel]` writes, as LLVM prints it, up to its `.key=value` parts.
const MARK: &str = " section \"cuda_std.kernel.";

/// Turns the sections of marked kernels into the attributes that llc prints as `.maxntid` and `.minnctapersm`.
pub(crate) fn mark(ir: &str) -> String {
    let mut marked = String::with_capacity(ir.len());
    for line in ir.lines() {
        marked.push_str(&bounded(line).unwrap_or_else(|| line.to_owned()));
        marked.push('\n');
    }
    marked
}

/// The line with attributes in place of the mark; `None` without one.
fn bounded(line: &str) -> Option<String> {
    if !line.starts_with("define ") {
        return None;
    }
    let (before, rest) = line.split_once(MARK)?;
    let (parts, after) = rest.split_once('"')?;
    let mut bounded = before.to_owned();
    for part in parts.split('.') {
        let attribute = match part.split_once('=')? {
            ("max_threads", threads) => format!(" \"nvvm.maxntid\"=\"{threads}\""),
            ("min_blocks", blocks) => format!(" \"nvvm.minctasm\"=\"{blocks}\""),
            _ => continue,
        };
        bounded += &attribute;
    }
    Some(bounded + after)
}

#[cfg(test)]
mod tests {
    use super::mark;

    #[test]
    fn a_marked_kernel_gets_attributes_and_loses_its_section() {
        let ir = "define ptx_kernel void @k(ptr %0) unnamed_addr #0 section \"cuda_std.kernel.max_threads=256.min_blocks=2.uniform=error\" !dbg !5 {\n\
                  define ptx_kernel void @l() #0 section \"cuda_std.kernel.uniform=allow\" {\n\
                  @x = global i32 0, section \"cuda_std.kernel.max_threads=1\"\ndefine void @f() #0 {\n";
        assert_eq!(
            mark(ir),
            "define ptx_kernel void @k(ptr %0) unnamed_addr #0 \"nvvm.maxntid\"=\"256\" \"nvvm.minctasm\"=\"2\" !dbg !5 {\n\
             define ptx_kernel void @l() #0 {\n\
             @x = global i32 0, section \"cuda_std.kernel.max_threads=1\"\ndefine void @f() #0 {\n"
        );
    }
}
