//! Remainders of floats.
//!
//! LLVM's NVPTX backend prints `a % b` as `a - trunc(a / b) * b`, which is wrong wherever the quotient is large or rounds up
//! to an integer. libdevice has the exact function, so every such instruction becomes a call of it.

/// Rewrites every `frem` of floats and doubles.
pub(crate) fn lower(ir: &str) -> String {
    let mut lowered = String::with_capacity(ir.len() + 128);
    let mut used = Vec::new();
    for line in ir.lines() {
        match split(line) {
            None => lowered.push_str(line),
            Some((result, ty, function, operands)) => {
                // The second operand's type is only in a call.
                let (first, second) = operands;
                lowered.push_str(&format!(
                    "{result} = call {ty} @{function}({ty} {first}, {ty} {second})"
                ));
                if let Some((_, position)) = line.split_once(", !dbg ") {
                    lowered.push_str(&format!(", !dbg {position}"));
                }
                if !used.contains(&(ty, function)) {
                    used.push((ty, function));
                }
            }
        }
        lowered.push('\n');
    }
    for (ty, function) in used {
        let declaration = format!("declare {ty} @{function}({ty}, {ty})\n");
        if !ir.contains(&format!(" @{function}(")) {
            lowered.push_str(&declaration);
        }
    }
    lowered
}

/// `  %3 = frem nnan float %1, %2, !dbg !7` as (`  %3`, `float`, its function, (`%1`, `%2`)).
fn split(line: &str) -> Option<(&str, &'static str, &'static str, (&str, &str))> {
    let (result, operation) = line.split_once(" = frem ")?;
    let operation = operation.split(", !dbg ").next()?;
    [("float", "__nv_fmodf"), ("double", "__nv_fmod")]
        .into_iter()
        .find_map(|(ty, function)| {
            let (before, operands) = operation.split_once(&format!("{ty} "))?;
            // Flags may stand before the type, a vector's or an array's bracket may not.
            (before.is_empty() || before.ends_with(' '))
                .then(|| Some((result, ty, function, operands.split_once(", ")?)))?
        })
}

#[cfg(test)]
mod tests {
    use super::lower;

    #[test]
    fn remainders_become_calls_and_their_function_is_declared_once() {
        assert_eq!(
            lower(
                "  %3 = frem float %1, 2.000000e+00, !dbg !7\n  %4 = frem nnan float %3, %1\n  %5 = frem double %a, %b\n"
            ),
            "  %3 = call float @__nv_fmodf(float %1, float 2.000000e+00), !dbg !7\n  \
             %4 = call float @__nv_fmodf(float %3, float %1)\n  \
             %5 = call double @__nv_fmod(double %a, double %b)\n\
             declare float @__nv_fmodf(float, float)\ndeclare double @__nv_fmod(double, double)\n"
        );
    }

    #[test]
    fn a_declared_function_stays_declared_once_and_other_lines_stay() {
        let ir = "  %3 = frem half %1, %2\n  %4 = frem <2 x float> %1, %2\ndeclare float @__nv_fmodf(float, float)\n";
        assert_eq!(lower(ir), ir);
        let call = "  %3 = frem float %1, %2\ndeclare float @__nv_fmodf(float, float)\n";
        assert_eq!(lower(call).matches("declare").count(), 1);
    }
}
