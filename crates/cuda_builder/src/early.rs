//! Kernels that start early access no memory before they wait for the kernel before them.
//!
//! `#[kernel(starts_early)]` writes the wait first. This looks at what the compiler made of it.

use crate::error::CudaBuilderError;

/// # Errors
/// If an entry point reads or writes memory that others see, or calls, before it waits.
pub(crate) fn check(ptx: &str) -> Result<(), CudaBuilderError> {
    let (mut kernel, mut before) = ("", None);
    for line in ptx.lines().map(str::trim) {
        if let Some((_, rest)) = line.split_once(".entry ") {
            (kernel, before) = (rest.trim_end_matches('('), None);
        } else if line.starts_with("griddepcontrol.wait")
            && let Some(access) = before
        {
            return Err(CudaBuilderError::EarlyAccess {
                kernel: kernel.to_owned(),
                access: String::from(access),
            });
        } else if before.is_none() && accesses(line) {
            before = Some(line);
        }
    }
    Ok(())
}

/// Whether an instruction may access memory that other blocks see.
fn accesses(line: &str) -> bool {
    let instruction = match line.strip_prefix('@') {
        Some(guarded) => guarded.split_once([' ', '\t']).map_or("", |(_, rest)| rest),
        None => line,
    };
    let own = [
        "ld.param",
        "ld.local",
        "ld.shared",
        "ld.const",
        "st.param",
        "st.local",
        "st.shared",
    ];
    let any = [
        "ld", "ldu", "st", "atom", "red", "cp", "wmma", "call", "multimem", "prefetch", "discard",
        "tex", "tld4", "suld", "sust", "sured",
    ];
    let word = instruction.trim_start();
    let opcode = word.split(['.', ' ', '\t']).next().unwrap_or_default();
    any.contains(&opcode) && !own.iter().any(|own| word.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::check;

    fn kernel(body: &str) -> String {
        format!(
            ".visible .entry first(\n)\n{{\n\tld.global.b32 \t%r1, [%rd1];\n}}\n\
             .visible .entry second(\n)\n{{\n{body}}}\n"
        )
    }

    #[test]
    fn a_kernel_waits_before_it_reads() {
        let (wait, param) = ("\tgriddepcontrol.wait;\n", "\tld.param.b64 \t%rd1, [p];\n");
        for access in [
            "\tld.global.b32 \t%r1, [%rd1];\n",
            "\t@%p1 st.global.b32 \t[%rd1], %r1;\n",
            "\tatom.global.add.u32 \t%r1, [%rd1], 1;\n",
            "\tcp.async.ca.shared.global [%r1], [%rd1], 4;\n",
            "\tld.b32 \t%r1, [%rd1];\n",
            "\tldu.global.b32 \t%r1, [%rd1];\n",
            "\twmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1}, [%rd1];\n",
            "\tdiscard.global.L2 [%rd1], 128;\n",
            "\tsured.b.add.1d.b32.trap [%rd1, {%r1}], %r2;\n",
            "\tcall.uni helper, ();\n",
        ] {
            assert!(check(&kernel(&format!("{param}{wait}{access}"))).is_ok());
            let error = check(&kernel(&format!("{param}{access}{wait}"))).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("`second`") && text.contains(access.trim()),
                "{text}"
            );
        }
    }
}
