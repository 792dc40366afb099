//! Float remainders.
//!
//! LLVM's NVPTX backend prints `a % b` as `a - trunc(a / b) * b`, which is wrong wherever the
//! quotient is large or rounds up to an integer. libdevice has the exact function, so every such
//! instruction becomes a call to it.

use super::module::{Instruction, Module, Opcode, typed, unexpected, value};
use crate::error::CudaBuilderError;

/// Rewrites every `frem`.
pub(crate) fn lower(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    let mut used = Vec::new();
    for function in module.functions_mut() {
        for instruction in function.instructions_mut() {
            if instruction.opcode() == Opcode::FRem {
                let (ty, name) = call(instruction)?;
                if !used.contains(&(ty, name)) {
                    used.push((ty, name));
                }
            }
        }
    }
    for (ty, name) in used {
        module.declare(name, &format!("declare {ty} @{name}({ty}, {ty})\n"))?;
    }
    Ok(())
}

/// Replaces one remainder by the call; returns the type and the function.
fn call(
    instruction: &mut Instruction<'_>,
) -> Result<(&'static str, &'static str), CudaBuilderError> {
    let operands: Vec<_> = instruction.pieces().collect();
    let [first, second] = operands[..] else {
        return Err(unexpected(
            "a remainder of another form",
            instruction.text(),
        ));
    };
    let (ty, name) = match typed(first).0 {
        "float" => ("float", "__nv_fmodf"),
        "double" => ("double", "__nv_fmod"),
        _ => {
            let reason =
                "a remainder that LLVM would round: only `f32` and `f64` have an exact one,";
            return Err(unexpected(reason, instruction.text()));
        }
    };
    let text = format!(
        "{}call {ty} @{name}({ty} {}, {ty} {}){}",
        instruction.result_text(),
        value(first),
        value(second),
        instruction.position_text()
    );
    instruction.replace(&text)?;
    Ok((ty, name))
}

#[cfg(test)]
mod tests {
    use super::lower;
    use crate::ir::testing::{check_body, function, rewritten};

    #[test]
    fn remainders_become_calls_and_their_function_is_declared_once() {
        let declared = check_body(
            lower,
            "  %3 = frem float %1, 2.000000e+00, !dbg !7\n  %4 = frem nnan float %3, %1\n  %5 = frem double %a, %b\n",
            "  %3 = call float @__nv_fmodf(float %1, float 2.000000e+00), !dbg !7\n  \
             %4 = call float @__nv_fmodf(float %3, float %1)\n  \
             %5 = call double @__nv_fmod(double %a, double %b)\n",
        );
        assert_eq!(
            declared,
            "declare float @__nv_fmodf(float, float)\ndeclare double @__nv_fmod(double, double)\n"
        );
    }

    #[test]
    fn a_declared_function_stays_declared_once() {
        let ir =
            function("  %3 = frem float %1, %2\n") + "declare float @__nv_fmodf(float, float)\n";
        assert_eq!(rewritten(&ir, lower).matches("declare").count(), 1);
    }

    #[test]
    fn what_libdevice_has_no_function_for_is_refused() {
        for ty in ["half", "<2 x float>"] {
            let ir = function(&format!("  %3 = frem {ty} %1, %2\n"));
            let error = lower(&mut crate::ir::module::Module::parse(&ir).unwrap()).unwrap_err();
            assert!(error.to_string().contains(&format!("frem {ty}")), "{error}");
        }
    }
}
