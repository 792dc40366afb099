//! Conversions between floats and 128-bit integers.
//!
//! PTX converts at most 64 bits, and LLVM's code generator fails on wider integers ("unsupported
//! library call"). Each conversion becomes a call of a function that is appended to the module. It
//! combines exact 64-bit halves, so that only the hardware rounds, once.

use super::module::{Instruction, Module, Opcode, typed, unexpected, value};
use crate::error::CudaBuilderError;

/// Rewrites every conversion.
pub(crate) fn lower(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    let mut used = Vec::new();
    for instruction in module.instructions_mut() {
        let Some((conversion, operand)) = Conversion::of(instruction)? else {
            continue;
        };
        let Conversion { from, to, .. } = conversion;
        let text = format!(
            "{}call {to} @{}({from} {operand}){}",
            instruction.result_text(),
            conversion.function(),
            instruction.position_text()
        );
        instruction.replace(&text)?;
        if !used.contains(&conversion) {
            used.push(conversion);
        }
    }
    for conversion in used {
        let function = conversion.definition();
        for (intrinsic, declaration) in INTRINSICS {
            if function.contains(intrinsic) {
                module.declare(intrinsic, declaration)?;
            }
        }
        module.append(&function)?;
    }
    Ok(())
}

/// Integers may be signed. Out-of-range values saturate and NaN becomes 0, as in Rust's `as`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Conversion {
    signed: bool,
    from: &'static str,
    to: &'static str,
}

const INTRINSICS: [(&str, &str); 2] = [
    ("llvm.ctlz.i128", "declare i128 @llvm.ctlz.i128(i128, i1)\n"),
    (
        "llvm.fptoui.sat.i64.f64",
        "declare i64 @llvm.fptoui.sat.i64.f64(double)\n",
    ),
];

impl Conversion {
    /// The types that an instruction converts between, and its operand, if one of them is a 128-bit
    /// integer.
    fn of(instruction: &Instruction<'_>) -> Result<Option<(Self, String)>, CudaBuilderError> {
        let (signed, from, to, operand) = match instruction.opcode() {
            opcode @ (Opcode::UIToFP | Opcode::SIToFP | Opcode::FPToUI | Opcode::FPToSI) => {
                let operands = instruction.operands();
                let Some((_, to)) = operands.rsplit_once(" to ") else {
                    return Err(unexpected(
                        "a conversion of another form",
                        instruction.text(),
                    ));
                };
                let (from, operand) = typed(operands);
                let signed = matches!(opcode, Opcode::SIToFP | Opcode::FPToSI);
                (signed, from, to, operand)
            }
            Opcode::Call => {
                let Some(call) = instruction.call()? else {
                    return Ok(None);
                };
                let saturating = |sign| {
                    let kinds = call.function()?.strip_prefix("llvm.fpto")?;
                    kinds
                        .strip_prefix(sign)?
                        .strip_prefix("i.sat.")?
                        .split_once('.')
                };
                let Some((signed, (to, from))) = saturating("u")
                    .map(|types| (false, types))
                    .or_else(|| Some((true, saturating("s")?)))
                else {
                    return Ok(None);
                };
                let from = match from {
                    "f32" => "float",
                    "f64" => "double",
                    other => other,
                };
                let operand = call.arguments().next().map_or("", value);
                (signed, from, to, operand)
            }
            _ => return Ok(None),
        };
        if !from.contains("i128") && !to.contains("i128") {
            return Ok(None);
        }
        let known = |ty: &str| {
            ["i128", "float", "double"]
                .into_iter()
                .find(|&known| known == ty)
        };
        let (Some(from), Some(to)) = (known(from), known(to)) else {
            let reason =
                "a conversion of 128-bit integers from or to a type other than `f32` and `f64`";
            return Err(unexpected(reason, instruction.text()));
        };
        Ok(Some((Self { signed, from, to }, operand.to_owned())))
    }

    fn function(self) -> String {
        let sign = if self.signed { 'i' } else { 'u' };
        let name = |ty: &str| ty.replace("i128", &format!("{sign}128"));
        format!("cuda_builder.{}.to.{}", name(self.from), name(self.to))
    }

    fn definition(self) -> String {
        let Self { from, to, .. } = self;
        let body = match (from, self.signed) {
            ("i128", signed) => to_float(to, signed),
            (_, signed) => to_integer(from, signed),
        };
        let function = self.function();
        format!(
            "\ndefine internal {to} @{function}({from} %x) nounwind willreturn memory(none) {{\n{body}}}\n"
        )
    }
}

/// After normalisation, the high half has all the bits needed for rounding, once its last bit also
/// records whether any lower bit is set (sticky). Scaling back by a power of two is exact.
fn to_float(float: &str, signed: bool) -> String {
    // The float's width, the position of its exponent, and the exponent of 2⁶⁴.
    let (bits, shift, exponent) = match float {
        "float" => ("i32", 23, 127 + 64),
        _ => ("i64", 52, 1023 + 64),
    };
    let (magnitude, end) = if signed {
        (
            "  %negative = icmp slt i128 %x, 0\n\
             \x20 %opposite = sub i128 0, %x\n\
             \x20 %m = select i1 %negative, i128 %opposite, i128 %x\n",
            format!(
                "  %below = fneg {float} %value\n\
                 \x20 %result = select i1 %negative, {float} %below, {float} %value\n\
                 \x20 ret {float} %result\n"
            ),
        )
    } else {
        ("  %m = add i128 %x, 0\n", format!("  ret {float} %value\n"))
    };
    format!(
        "{magnitude}\
         \x20 %zeros = call i128 @llvm.ctlz.i128(i128 %m, i1 false)\n\
         \x20 %places = and i128 %zeros, 127\n\
         \x20 %left = shl i128 %m, %places\n\
         \x20 %upper = lshr i128 %left, 64\n\
         \x20 %high = trunc i128 %upper to i64\n\
         \x20 %low = trunc i128 %left to i64\n\
         \x20 %more = icmp ne i64 %low, 0\n\
         \x20 %sticky = zext i1 %more to i64\n\
         \x20 %digits = or i64 %high, %sticky\n\
         \x20 %rounded = uitofp i64 %digits to {float}\n\
         \x20 %down = trunc i128 %places to {bits}\n\
         \x20 %power = sub {bits} {exponent}, %down\n\
         \x20 %placed = shl {bits} %power, {shift}\n\
         \x20 %scale = bitcast {bits} %placed to {float}\n\
         \x20 %value = fmul {float} %rounded, %scale\n\
         {end}"
    )
}

/// Converts the halves of the magnitude, each exactly, then handles the ends of the range.
fn to_integer(float: &str, signed: bool) -> String {
    let widen = match float {
        "float" => "  %d = fpext float %x to double\n",
        _ => "  %d = fadd double %x, -0.0\n",
    };
    let (magnitude, end) = if signed {
        (
            "  %negative = fcmp olt double %d, 0.0\n\
             \x20 %opposite = fneg double %d\n\
             \x20 %m = select i1 %negative, double %opposite, double %d\n",
            // 2¹²⁷
            "  %large = fcmp oge double %m, 0x47E0000000000000\n\
             \x20 %below = sub i128 0, %whole\n\
             \x20 %within = select i1 %negative, i128 %below, i128 %whole\n\
             \x20 %end = select i1 %negative, i128 -170141183460469231731687303715884105728, i128 170141183460469231731687303715884105727\n",
        )
    } else {
        (
            "  %m = fadd double %d, -0.0\n",
            // 2¹²⁸
            "  %large = fcmp oge double %m, 0x47F0000000000000\n\
             \x20 %within = add i128 %whole, 0\n\
             \x20 %end = sub i128 0, 1\n",
        )
    };
    // 2⁻⁶⁴ and 2⁶⁴
    format!(
        "{widen}{magnitude}\
         \x20 %shifted = fmul double %m, 0x3BF0000000000000\n\
         \x20 %high = call i64 @llvm.fptoui.sat.i64.f64(double %shifted)\n\
         \x20 %floor = uitofp i64 %high to double\n\
         \x20 %upper = fmul double %floor, 0x43F0000000000000\n\
         \x20 %rest = fsub double %m, %upper\n\
         \x20 %low = call i64 @llvm.fptoui.sat.i64.f64(double %rest)\n\
         \x20 %wide.high = zext i64 %high to i128\n\
         \x20 %wide.low = zext i64 %low to i128\n\
         \x20 %placed = shl i128 %wide.high, 64\n\
         \x20 %whole = or i128 %placed, %wide.low\n\
         {end}\
         \x20 %result = select i1 %large, i128 %end, i128 %within\n\
         \x20 ret i128 %result\n"
    )
}

#[cfg(test)]
mod tests {
    use super::lower;
    use crate::ir::module::Module;
    use crate::ir::testing::{check_body, function, rewritten};

    #[test]
    fn conversions_become_calls_of_functions_that_are_defined_once() {
        let functions = check_body(
            lower,
            "  %2 = uitofp i128 %1 to double, !dbg !7\n\
             \x20 %3 = uitofp nneg i128 %2 to double\n\
             \x20 %4 = sitofp i128 -5 to float\n\
             \x20 %5 = fptosi double %2 to i128\n\
             \x20 %6 = tail call noundef i128 @llvm.fptoui.sat.i128.f32(float noundef %4), !dbg !8\n",
            "  %2 = call double @cuda_builder.u128.to.double(i128 %1), !dbg !7\n\
             \x20 %3 = call double @cuda_builder.u128.to.double(i128 %2)\n\
             \x20 %4 = call float @cuda_builder.i128.to.float(i128 -5)\n\
             \x20 %5 = call i128 @cuda_builder.double.to.i128(double %2)\n\
             \x20 %6 = call i128 @cuda_builder.float.to.u128(float %4), !dbg !8\n",
        );
        assert_eq!(functions.matches("define internal").count(), 4);
        assert_eq!(functions.matches("declare").count(), 2);
    }

    #[test]
    fn a_declared_intrinsic_stays_declared_once() {
        let ir = function("  %2 = uitofp i128 %1 to double\n")
            + "declare i128 @llvm.ctlz.i128(i128, i1) #2\n";
        assert_eq!(rewritten(&ir, lower).matches("declare").count(), 1);
    }

    #[test]
    fn narrower_integers_are_left_alone_and_other_types_refused() {
        let body = "  %2 = uitofp i64 %1 to double\n  %3 = fptoui float %2 to i32\n";
        check_body(lower, body, body);
        for line in [
            "%2 = uitofp i128 %1 to half",
            "%2 = uitofp <2 x i128> %1 to <2 x double>",
            "%2 = call i128 @llvm.fptosi.sat.i128.f16(half %1)",
        ] {
            let ir = function(&format!("  {line}\n"));
            let error = lower(&mut Module::parse(&ir).unwrap()).unwrap_err();
            assert!(error.to_string().contains(line), "{error}");
        }
    }
}
