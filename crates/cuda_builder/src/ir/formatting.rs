//! Formatting is small code rather than fast code.
//!
//! LLVM inlines for a GPU as if calls cost a fortune. In `core::fmt` that only makes code: three times as much PTX for a kernel
//! that prints, and the driver compiles everything that could be formatted once for each kernel.

/// Parts of mangled names: the modules `fmt` and `flt2dec`, `core::panicking`, the panic handler.
const FORMATTING: &[&str] = &["3fmt", "7flt2dec", "9panicking", "rust_begin_unwind"];

/// Asks for small code in every function that formats or panics.
pub(crate) fn shrink(ir: &str) -> String {
    let mut shrunk = String::with_capacity(ir.len() + 4096);
    for line in ir.lines() {
        match attributes(line) {
            Some(at) => {
                shrunk.push_str(&line[..at]);
                shrunk.push_str(" minsize");
                shrunk.push_str(&line[at..]);
            }
            None => shrunk.push_str(line),
        }
        shrunk.push('\n');
    }
    shrunk
}

/// Where the attributes of a function that formats begin: ` #7` behind its parameters.
fn attributes(line: &str) -> Option<usize> {
    let head = line.strip_prefix("define ")?;
    let name = &head[head.find('@')?..];
    let name = &name[..name.find('(')?];
    let formats = FORMATTING.iter().any(|part| name.contains(part));
    formats.then(|| line.rfind(" #"))?
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn only_what_formats_is_asked_to_be_small() {
        let ir = "define i1 @_RNvXs_4core3fmt3num3imp(ptr %0) unnamed_addr #3 !dbg !7 {\n\
                  define void @kernel3f(ptr %0) #3 {\n  call i1 @_RNvXs_4core3fmt3num3imp(ptr %0) #3\n\
                  declare void @_RNv4core9panicking5panic(ptr) #4\n";
        assert_eq!(shrink(ir), ir.replacen(" #3 !dbg", " minsize #3 !dbg", 1));
    }
}
