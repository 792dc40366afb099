//! Negation and absolute value change only the sign bit, also for a NaN.
//!
//! Rust guarantees this, but PTX's `neg` and `abs` may turn a NaN into any other, and GPUs do. If
//! only arithmetic and comparisons read the result, no bit of a NaN is observable, and the hardware
//! applies the sign within the next instruction for free. Otherwise the sign bit is changed by
//! assembly, because LLVM's code generator turns `xor` back into `neg`.

use std::collections::{HashMap, HashSet};

use super::module::{Function, Instruction, Module, Opcode, element, typed, unexpected};
use crate::error::CudaBuilderError;

/// Rewrites every negation and absolute value whose bits are observable.
pub(crate) fn keep_payloads(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    let mut count = 0;
    for function in module.functions_mut() {
        let observable = observable(function)?;
        if observable.is_empty() {
            continue;
        }
        function.expand(|instruction| {
            let Some(change) = Change::of(instruction)? else {
                return Ok(None);
            };
            if !instruction
                .result()
                .is_some_and(|name| observable.contains(name))
            {
                return Ok(None);
            }
            count += 1;
            let lines = change.lines(instruction, count).ok_or_else(|| {
                let reason =
                    "a sign of a type other than `f16`, `bf16`, `f32`, `f64` and vectors of them,";
                unexpected(reason, instruction.text())
            })?;
            let position = instruction.position_text();
            let lines = lines
                .into_iter()
                .map(|line| Instruction::new(&(line + &position)));
            lines.collect::<Result<_, _>>().map(Some)
        })?;
    }
    Ok(())
}

/// A change of a sign bit.
#[derive(Clone, Copy)]
enum Change {
    /// `fneg`
    Flip,
    /// `llvm.fabs`
    Clear,
}

impl Change {
    fn of(instruction: &Instruction<'_>) -> Result<Option<Self>, CudaBuilderError> {
        Ok(match instruction.opcode() {
            Opcode::FNeg => Some(Change::Flip),
            Opcode::Call => {
                let call = instruction.call()?;
                let name = call.and_then(|call| call.function());
                name.is_some_and(|name| name.starts_with("llvm.fabs."))
                    .then_some(Change::Clear)
            }
            _ => None,
        })
    }

    /// The same change as a bit operation.
    fn lines(self, instruction: &Instruction<'_>, number: u32) -> Option<Vec<String>> {
        let call = instruction.call().ok()?;
        let operand = match &call {
            Some(call) => call.arguments().next()?,
            None => instruction.operands(),
        };
        let (ty, operand) = typed(operand);
        let (result, name) = (instruction.result_text(), format!("%sign.{number}"));
        let Some(lanes) = ty.strip_prefix('<') else {
            return self.scalar(ty, operand, result, &name);
        };
        let (count, scalar) = (
            lanes.split(' ').next()?.parse::<u32>().ok()?,
            element(ty, 0)?,
        );
        let mut lines = Vec::new();
        let mut whole = "poison".to_owned();
        for lane in 0..count {
            let part = format!("{name}.{lane}");
            lines.push(format!(
                "{part} = extractelement {ty} {operand}, i32 {lane}"
            ));
            let changed = format!("{part}.c");
            lines.extend(self.scalar(scalar, &part, &format!("{changed} = "), &part)?);
            let next = match lane + 1 == count {
                true => result.to_owned(),
                false => format!("{part}.v = "),
            };
            lines.push(format!(
                "{next}insertelement {ty} {whole}, {scalar} {changed}, i32 {lane}"
            ));
            whole = format!("{part}.v");
        }
        Some(lines)
    }

    fn scalar(self, ty: &str, operand: &str, result: &str, name: &str) -> Option<Vec<String>> {
        // A 16-bit immediate is printed as in LLVM's own code.
        let (bits, class, flip, clear) = match ty {
            "half" | "bfloat" => (16, "h", "-32768", "32767"),
            "float" => (32, "f", "-2147483648", "2147483647"),
            "double" => (64, "d", "-9223372036854775808", "9223372036854775807"),
            _ => return None,
        };
        let (operation, mask) = match self {
            Change::Flip => ("xor", flip),
            Change::Clear => ("and", clear),
        };
        let change = |ty: &str, operand: &str| {
            format!(
                "call {ty} asm \"{operation}.b{bits} $0, $1, {mask};\", \"={class},{class}\"({ty} {operand}) convergent"
            )
        };
        Some(match bits {
            // Assembly takes 16-bit registers as integers.
            16 => vec![
                format!("{name}.i = bitcast {ty} {operand} to i16"),
                format!("{name}.s = {}", change("i16", &format!("{name}.i"))),
                format!("{result}bitcast i16 {name}.s to {ty}"),
            ],
            _ => vec![format!("{result}{}", change(ty, operand))],
        })
    }
}

/// The results whose bits may be observed if they are NaN.
fn observable(function: &Function<'_>) -> Result<HashSet<String>, CudaBuilderError> {
    let mut changes = false;
    // For each value that only passes on bits, the values whose bits it passes on.
    let mut passed: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut waiting: Vec<&str> = Vec::new();
    for instruction in function.instructions() {
        changes |= Change::of(instruction)?.is_some();
        match role(instruction)? {
            Role::Hides => {}
            Role::Passes => {
                let from = instruction.locals().collect();
                passed.extend(instruction.result().map(|result| (result, from)));
            }
            Role::Shows => waiting.extend(instruction.locals()),
        }
    }
    if !changes {
        return Ok(HashSet::new());
    }
    let mut seen = HashSet::new();
    while let Some(name) = waiting.pop() {
        if seen.insert(name) {
            waiting.extend(passed.get(name).into_iter().flatten());
        }
    }
    Ok(seen.into_iter().map(str::to_owned).collect())
}

/// How an instruction uses the bits of a NaN.
enum Role {
    /// Its result does not depend on the bits of a NaN, or is an arbitrary NaN.
    Hides,
    /// Its result has the bits of an operand.
    Passes,
    /// Anything else.
    Shows,
}

fn role(instruction: &Instruction<'_>) -> Result<Role, CudaBuilderError> {
    use Opcode as Op;
    Ok(match instruction.opcode() {
        Op::FAdd | Op::FSub | Op::FMul | Op::FDiv | Op::FRem | Op::FCmp => Role::Hides,
        Op::FPTrunc | Op::FPExt | Op::FPToUI | Op::FPToSI | Op::DebugRecord => Role::Hides,
        Op::FNeg | Op::Phi | Op::Select | Op::Freeze => Role::Passes,
        Op::ExtractElement | Op::InsertElement | Op::ShuffleVector => Role::Passes,
        Op::AtomicRmw if instruction.operands().trim_start().starts_with("fadd ") => {
            // The address is not a float.
            Role::Hides
        }
        Op::Call => {
            let call = instruction.call()?;
            let name = call.as_ref().and_then(|call| call.function());
            match name.and_then(|name| name.strip_prefix("llvm.")) {
                Some(name) if name.starts_with("fabs.") => Role::Passes,
                Some(name) if is_arithmetic(name) => Role::Hides,
                _ => Role::Shows,
            }
        }
        _ => Role::Shows,
    })
}

/// Whether an intrinsic computes with numbers: the bits of a resulting NaN are unspecified.
fn is_arithmetic(name: &str) -> bool {
    const GENERAL: &[&str] = &[
        "fma.",
        "fmuladd.",
        "sqrt.",
        "sin.",
        "cos.",
        "exp.",
        "exp2.",
        "log.",
        "log2.",
        "log10.",
        "pow.",
        "powi.",
        "floor.",
        "ceil.",
        "trunc.",
        "rint.",
        "nearbyint.",
        "round.",
        "roundeven.",
        "minnum.",
        "maxnum.",
        "minimum.",
        "maximum.",
        "minimumnum.",
        "maximumnum.",
        "fptosi.sat.",
        "fptoui.sat.",
    ];
    const NVIDIA: &[&str] = &[
        "add.r",
        "mul.r",
        "fma.r",
        "div.",
        "sqrt.",
        "rsqrt.",
        "rcp.",
        "ex2.",
        "lg2.",
        "sin.",
        "cos.",
        "tanh.",
        "fmin.",
        "fmax.",
        "floor.",
        "ceil.",
        "round.",
        "trunc.",
        "saturate.",
        "f2i.",
        "f2ui.",
        "f2ll.",
        "f2ull.",
        "d2i.r",
        "d2ui.r",
        "d2ll.",
        "d2ull.",
        "d2f.",
    ];
    let is_one_of = |name: &str, list: &[&str]| list.iter().any(|start| name.starts_with(start));
    match name.strip_prefix("nvvm.") {
        Some(name) => is_one_of(name, NVIDIA),
        None => is_one_of(name, GENERAL),
    }
}

#[cfg(test)]
mod tests {
    use super::keep_payloads;
    use crate::ir::module::Module;
    use crate::ir::testing::{check_body, function};

    const NEG: &str = "  %1 = fneg contract float %x, !dbg !4\n";
    const XOR: &str = "  %1 = call float asm \"xor.b32 $0, $1, -2147483648;\", \"=f,f\"(float %x) convergent, !dbg !4\n";

    #[track_caller]
    fn check(rest: &str, is_rewritten: bool) {
        let first = if is_rewritten { XOR } else { NEG };
        check_body(
            keep_payloads,
            &format!("{NEG}{rest}"),
            &format!("{first}{rest}"),
        );
    }

    #[test]
    fn what_only_arithmetic_reads_stays_free() {
        check(
            "  %2 = fadd float %1, %y\n  store float %2, ptr %p\n",
            false,
        );
        check(
            "  %2 = call float @llvm.fma.f32(float %a, float %1, float %y)\n",
            false,
        );
        check(
            "  %2 = call float @llvm.nvvm.ex2.approx.f(float %1)\n",
            false,
        );
        check(
            "  %2 = fcmp olt float %1, %y\n  %3 = fptosi float %1 to i32\n",
            false,
        );
        check(
            "  %2 = atomicrmw fadd ptr %p, float %1 monotonic, align 4\n",
            false,
        );
        let summed = "  %2 = select i1 %c, float %1, float %y\n  %3 = phi float [ %2, %a ], [ %3, %b ]\n  %4 = fmul float %3, %3\n";
        check(summed, false);
        check("", false);
    }

    #[test]
    fn what_memory_integers_or_callers_get_has_its_bits() {
        check("  store float %1, ptr %p\n", true);
        check("  %2 = bitcast float %1 to i32\n", true);
        check("  %2 = insertvalue { float } poison, float %1, 0\n", true);
        check("  call void @f(float %1)\n", true);
        check(
            "  %2 = atomicrmw xchg ptr %p, float %1 monotonic, align 4\n",
            true,
        );
        check(
            "  %2 = call i1 @llvm.is.fpclass.f32(float %1, i32 1)\n",
            true,
        );
        check("  %2 = fadd float %1, %y\n  store float %1, ptr %p\n", true);
        let passed = "  %2 = select i1 %c, float %1, float %y\n  %3 = phi float [ %2, %a ], [ %3, %b ]\n  store float %3, ptr %p\n";
        check(passed, true);
    }

    #[test]
    fn every_width_has_its_sign_bit() {
        let body = |line: &str, ty: &str| format!("  {line}\n  store {ty} %1, ptr %p\n");
        let check = |line: &str, ty: &str, expected: &[&str]| {
            check_body(
                keep_payloads,
                &body(line, ty),
                &body(&expected.join("\n  "), ty),
            );
        };
        check(
            "%1 = tail call double @llvm.fabs.f64(double %x)",
            "double",
            &[
                "%1 = call double asm \"and.b64 $0, $1, 9223372036854775807;\", \"=d,d\"(double %x) convergent",
            ],
        );
        check(
            "%1 = fneg half %x",
            "half",
            &[
                "%sign.1.i = bitcast half %x to i16",
                "%sign.1.s = call i16 asm \"xor.b16 $0, $1, -32768;\", \"=h,h\"(i16 %sign.1.i) convergent",
                "%1 = bitcast i16 %sign.1.s to half",
            ],
        );
        check(
            "%1 = fneg <2 x float> %x",
            "<2 x float>",
            &[
                "%sign.1.0 = extractelement <2 x float> %x, i32 0",
                "%sign.1.0.c = call float asm \"xor.b32 $0, $1, -2147483648;\", \"=f,f\"(float %sign.1.0) convergent",
                "%sign.1.0.v = insertelement <2 x float> poison, float %sign.1.0.c, i32 0",
                "%sign.1.1 = extractelement <2 x float> %x, i32 1",
                "%sign.1.1.c = call float asm \"xor.b32 $0, $1, -2147483648;\", \"=f,f\"(float %sign.1.1) convergent",
                "%1 = insertelement <2 x float> %sign.1.0.v, float %sign.1.1.c, i32 1",
            ],
        );
        let ir = function("  %1 = fneg fp128 %x\n  store fp128 %1, ptr %p\n");
        let error = keep_payloads(&mut Module::parse(&ir).unwrap()).unwrap_err();
        assert!(error.to_string().contains("fneg fp128 %x"), "{error}");
    }

    #[test]
    fn a_change_of_an_observable_change_is_one_too() {
        check_body(
            keep_payloads,
            "  %1 = fneg float %x\n  %2 = call float @llvm.fabs.f32(float %1)\n  store float %2, ptr %p\n",
            "  %1 = call float asm \"xor.b32 $0, $1, -2147483648;\", \"=f,f\"(float %x) convergent\n  \
             %2 = call float asm \"and.b32 $0, $1, 2147483647;\", \"=f,f\"(float %1) convergent\n  store float %2, ptr %p\n",
        );
    }
}
