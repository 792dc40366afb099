//! Replaces functions of the crate `libm` by libdevice's.
//!
//! no_std crates use `libm`, whose code is written for CPUs. Each of its functions that libdevice
//! also has keeps its name; its body becomes one call.

use std::collections::BTreeMap;

use super::module::{Head, Item, Module, unexpected, value};
use super::names::demangle;
use crate::error::CudaBuilderError;

/// libm's functions from numbers to a number that libdevice has under the same name.
const FUNCTIONS: [&str; 68] = [
    "acos",
    "acosf",
    "acosh",
    "acoshf",
    "asin",
    "asinf",
    "asinh",
    "asinhf",
    "atan",
    "atan2",
    "atan2f",
    "atanf",
    "atanh",
    "atanhf",
    "cbrt",
    "cbrtf",
    "cos",
    "cosf",
    "cosh",
    "coshf",
    "erf",
    "erfc",
    "erfcf",
    "erff",
    "exp",
    "exp10",
    "exp10f",
    "exp2",
    "exp2f",
    "expf",
    "expm1",
    "expm1f",
    "fmod",
    "fmodf",
    "hypot",
    "hypotf",
    "j0",
    "j0f",
    "j1",
    "j1f",
    "lgamma",
    "lgammaf",
    "log",
    "log10",
    "log10f",
    "log1p",
    "log1pf",
    "log2",
    "log2f",
    "logf",
    "pow",
    "powf",
    "remainder",
    "remainderf",
    "sin",
    "sinf",
    "sinh",
    "sinhf",
    "tan",
    "tanf",
    "tanh",
    "tanhf",
    "tgamma",
    "tgammaf",
    "y0",
    "y0f",
    "y1",
    "y1f",
];

/// Replaces the body of each of these functions that the module defines.
pub(crate) fn forward(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    let mut used = BTreeMap::new();
    for item in &mut module.items {
        let Item::Function(function) = item else {
            continue;
        };
        let Some(name) = replaced(&demangle(function.name())) else {
            continue;
        };
        let (body, declaration) = forwarding(&function.head, name)?;
        *item = Module::item(&body)?;
        used.insert(format!("__nv_{name}"), declaration);
    }
    for (name, declaration) in used {
        module.declare(&name, &declaration)?;
    }
    Ok(())
}

/// The libdevice function that replaces the one with this path.
fn replaced(path: &str) -> Option<&'static str> {
    let name = path.strip_prefix("libm::math::")?.rsplit("::").next()?;
    let known = FUNCTIONS.into_iter().find(|&known| known == name)?;
    (!path.contains("::generic::")).then_some(known)
}

/// The definition with its new body, and a declaration of the callee.
fn forwarding(head: &Head<'_>, name: &str) -> Result<(String, String), CudaBuilderError> {
    let malformed = || unexpected("a function of `libm` of another form", head.text());
    let ty = ["float", "double"]
        .into_iter()
        .find(|ty| head.before().ends_with(ty))
        .ok_or_else(malformed)?;
    let parameters = head.parameters().map(|parameter| {
        let ty = parameter.split(' ').next()?;
        Some((ty, format!("{ty} {}", value(parameter))))
    });
    let parameters: Vec<_> = parameters.collect::<Option<_>>().ok_or_else(malformed)?;
    let (types, arguments): (Vec<_>, Vec<_>) = parameters.into_iter().unzip();
    // Without debug information: the new body has no positions.
    let header = head.text().trim_end_matches('{').trim_end();
    let header = header.split(" !dbg ").next().unwrap_or(header);
    Ok((
        format!(
            "{header} {{\n  %value = call {ty} @__nv_{name}({})\n  ret {ty} %value\n}}\n",
            arguments.join(", ")
        ),
        format!("declare {ty} @__nv_{name}({})\n", types.join(", ")),
    ))
}

#[cfg(test)]
mod tests {
    use super::forward;
    use crate::ir::testing::rewritten;

    #[test]
    fn a_body_becomes_a_call_and_other_functions_stay() {
        let ir = "define internal float @_ZN4libm4math4powf4powf17h0123456789abcdefE(float noundef %x, float %y) unnamed_addr #1 !dbg !7 {\n\
                  start:\n  ret float %x\n}\ndefine float @_ZN4mine4math4sinf4sinf17h0123456789abcdefE(float %x) {\n  ret float %x\n}\n";
        let expected = "define internal float @_ZN4libm4math4powf4powf17h0123456789abcdefE(float noundef %x, float %y) unnamed_addr #1 {\n  \
                        %value = call float @__nv_powf(float %x, float %y)\n  ret float %value\n}\n\
                        define float @_ZN4mine4math4sinf4sinf17h0123456789abcdefE(float %x) {\n  ret float %x\n}\n\
                        declare float @__nv_powf(float, float)\n";
        assert_eq!(rewritten(ir, forward), expected);
        // Two uses give one declaration, also if it already exists.
        let declared = format!("{ir}declare float @__nv_powf(float, float)\n");
        assert_eq!(rewritten(&declared, forward).matches("declare").count(), 1);
        // A longer name with this prefix is another function.
        let longer = format!("{ir}declare float @__nv_powfast(float, float)\n");
        assert!(rewritten(&longer, forward).contains("declare float @__nv_powf(float, float)"));
        // Generic functions keep their bodies.
        let generic = ir.replace("4powf4powf17h", "7generic4fmod4fmod17h");
        assert_eq!(rewritten(&generic, forward), generic);
    }
}
