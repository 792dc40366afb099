//! Gives all of `core`'s atomics one scope: the system.
//!
//! `core` has no scopes, so its atomics are atomic for every thread that can reach the memory: the
//! device's, its peers' and the host's. LLVM 22 prints loads, stores, fences and `cmpxchg` with
//! that scope, but every `atomicrmw` without order and scope, which PTX reads as `.relaxed.gpu`.

/// Adds order and scope to LLVM's own atomics in PTX for sm_70 and later. Inline assembly is left
/// unchanged.
pub(crate) fn complete(ptx: &str) -> String {
    let (mut complete, mut is_assembly) = (String::with_capacity(ptx.len()), false);
    for line in ptx.split_inclusive('\n') {
        let code = line.trim_start();
        match code.trim_end() {
            "// begin inline asm" => is_assembly = true,
            "// end inline asm" => is_assembly = false,
            _ => {}
        }
        let instruction = ["atom.", "red."]
            .into_iter()
            .find(|start| code.starts_with(start));
        match instruction {
            Some(start) if !is_assembly && !is_ordered(&code[start.len()..]) => {
                complete.push_str(&line[..line.len() - code.len()]);
                complete.push_str(start);
                complete.push_str("relaxed.sys.");
                complete.push_str(&code[start.len()..]);
            }
            _ => complete.push_str(line),
        }
    }
    complete
}

/// Whether modifiers start with an order.
fn is_ordered(modifiers: &str) -> bool {
    let first = modifiers.split('.').next();
    first.is_some_and(|first| ["relaxed", "acquire", "release", "acq_rel"].contains(&first))
}

#[cfg(test)]
mod tests {
    use super::complete;

    #[test]
    fn what_llvm_prints_without_a_scope_gets_one() {
        let ptx = "\tatom.global.add.u32 \t%r1, [%rd1], 1;\n\tatom.shared.exch.b32 \t%r1, [%rd1], 1;\n\
                   \tatom.add.noftz.f16 \t%rs1, [%rd1], %rs2;\n\tred.global.add.f32 \t[%rd1], %r2;\n";
        let expected = "\tatom.relaxed.sys.global.add.u32 \t%r1, [%rd1], 1;\n\
                        \tatom.relaxed.sys.shared.exch.b32 \t%r1, [%rd1], 1;\n\
                        \tatom.relaxed.sys.add.noftz.f16 \t%rs1, [%rd1], %rs2;\n\
                        \tred.relaxed.sys.global.add.f32 \t[%rd1], %r2;\n";
        assert_eq!(complete(ptx), expected);
        assert_eq!(complete(expected), expected);
    }

    #[test]
    fn assembly_and_other_instructions_stay() {
        let ptx = "\t// begin inline asm\n\tatom.global.add.u32 %r1, [%rd1], 1;\n\t// end inline asm\n\
                   \tatom.acquire.gpu.global.cas.b32 \t%r1, [%rd1], 5, 6;\n\tld.global.b32 \t%r1, [%rd1];";
        assert_eq!(complete(ptx), ptx);
    }
}
