//! Flush-to-zero arithmetic: denormal `f32` inputs and results become zero (nvcc's `-ftz=true`).

/// Asks for it in every function, by the attribute that LLVM's NVPTX backend reads.
pub(crate) fn mark(ir: &str) -> String {
    let mut marked = String::with_capacity(ir.len() + 4096);
    for line in ir.lines() {
        match line.strip_suffix(" }") {
            Some(group) if line.starts_with("attributes #") => {
                marked.push_str(group);
                marked.push_str(" \"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\" }");
            }
            _ => marked.push_str(line),
        }
        marked.push('\n');
    }
    marked
}
