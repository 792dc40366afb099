//! Replaces functions of the crate `libm` by libdevice's.
//!
//! no_std crates take their mathematical functions from `libm`, whose code is made for CPUs. Each of its functions that libdevice
//! has too keeps its name and gets one call for a body.

use super::symbol::{demangle, symbols};

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

/// Gives each of these functions that the module defines its new body.
pub(crate) fn forward(ir: &str) -> String {
    let mut forwarded = String::with_capacity(ir.len());
    let mut declarations = Vec::new();
    let mut lines = ir.lines();
    while let Some(line) = lines.next() {
        let Some(function) = Function::parse(line) else {
            forwarded.push_str(line);
            forwarded.push('\n');
            continue;
        };
        let Function {
            header,
            ty,
            name,
            parameters,
        } = function;
        let arguments: Vec<_> = parameters
            .iter()
            .map(|(ty, register)| format!("{ty} {register}"))
            .collect();
        let types: Vec<_> = parameters.iter().map(|(ty, _)| *ty).collect();
        forwarded.push_str(&format!(
            "{header} {{\n  %value = call {ty} @__nv_{name}({})\n  ret {ty} %value\n}}\n",
            arguments.join(", ")
        ));
        declarations.push(format!("declare {ty} @__nv_{name}({})\n", types.join(", ")));
        lines.by_ref().find(|line| *line == "}");
    }
    declarations.sort();
    declarations.dedup();
    for declaration in declarations {
        // With the parenthesis: `cosh` begins with `cos`.
        let symbol = declaration.find('@').zip(declaration.find('('));
        let symbol = symbol.map_or(&*declaration, |(at, end)| &declaration[at..=end]);
        if !ir
            .lines()
            .any(|line| line.starts_with("declare ") && line.contains(symbol))
        {
            forwarded.push_str(&declaration);
        }
    }
    forwarded
}

/// A definition to replace.
struct Function<'a> {
    /// The line up to the brace, without debug information: the new body has no positions.
    header: &'a str,
    ty: &'static str,
    name: String,
    /// Type and register of each.
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Function<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let symbol = symbols(line.strip_prefix("define ").map(|_| line)?).next()?;
        let path = demangle(symbol.name);
        let name = path.strip_prefix("libm::math::")?.rsplit("::").next()?;
        if path.contains("::generic::") || !FUNCTIONS.contains(&name) {
            return None;
        }
        let before = line[..symbol.span.start].trim_end();
        let ty = ["float", "double"]
            .into_iter()
            .find(|ty| before.ends_with(ty))?;
        let (parameters, _) = line[symbol.span.end..].strip_prefix('(')?.split_once(')')?;
        let parameters = parameters
            .split(", ")
            .map(|parameter| Some((parameter.split(' ').next()?, parameter.rsplit(' ').next()?)))
            .collect::<Option<Vec<_>>>()?;
        let header = line
            .split(" !dbg ")
            .next()?
            .trim_end_matches('{')
            .trim_end();
        Some(Function {
            header,
            ty,
            name: name.to_owned(),
            parameters,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::forward;

    #[test]
    fn a_body_becomes_a_call_and_other_functions_stay() {
        let ir = "define internal float @_ZN4libm4math4powf4powf17h0123456789abcdefE(float noundef %x, float %y) unnamed_addr #1 !dbg !7 {\n\
                  start:\n  ret float %x\n}\ndefine float @_ZN4mine4math4sinf4sinf17h0123456789abcdefE(float %x) {\n  ret float %x\n}\n";
        let expected = "define internal float @_ZN4libm4math4powf4powf17h0123456789abcdefE(float noundef %x, float %y) unnamed_addr #1 {\n  \
                        %value = call float @__nv_powf(float %x, float %y)\n  ret float %value\n}\n\
                        define float @_ZN4mine4math4sinf4sinf17h0123456789abcdefE(float %x) {\n  ret float %x\n}\n\
                        declare float @__nv_powf(float, float)\n";
        assert_eq!(forward(ir), expected);
        // Twice the same is declared once, also when it was declared before.
        assert_eq!(
            forward(&format!("{ir}declare float @__nv_powf(float, float)\n"))
                .matches("declare")
                .count(),
            1
        );
        // A longer name that begins with it is another function.
        assert!(
            forward(&format!("{ir}declare float @__nv_powfast(float, float)\n"))
                .contains("declare float @__nv_powf(float, float)")
        );
    }
}
