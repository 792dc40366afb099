//! The bounds of a kernel's launches, which ptxas divides the registers by.

/// The section that `#[kernel(max_threads = …, min_blocks = …)]` writes, as LLVM prints it, up to the two numbers.
const MARK: &str = " section \"cuda_std.launch_bounds.";

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
    let (numbers, after) = rest.split_once('"')?;
    let (threads, blocks) = numbers.split_once('.')?;
    Some(format!(
        "{before} \"nvvm.maxntid\"=\"{threads}\" \"nvvm.minctasm\"=\"{blocks}\"{after}"
    ))
}

#[cfg(test)]
mod tests {
    use super::mark;

    #[test]
    fn a_marked_kernel_gets_attributes_and_loses_its_section() {
        let ir = "define ptx_kernel void @k(ptr %0) unnamed_addr #0 section \"cuda_std.launch_bounds.256.2\" !dbg !5 {\n\
                  @x = global i32 0, section \"cuda_std.launch_bounds.1.1\"\ndefine void @f() #0 {\n";
        assert_eq!(
            mark(ir),
            "define ptx_kernel void @k(ptr %0) unnamed_addr #0 \"nvvm.maxntid\"=\"256\" \"nvvm.minctasm\"=\"2\" !dbg !5 {\n\
             @x = global i32 0, section \"cuda_std.launch_bounds.1.1\"\ndefine void @f() #0 {\n"
        );
    }
}
