//! Kernels' parameters: their sizes, which determine the PTX version, and their names.

use crate::error::CudaBuilderError;
use crate::ir::module::{Function, Module};
use crate::uniformity::Type;

/// The bytes of parameters that every version of PTX allows.
const ALWAYS: u64 = 4352;
/// The bytes that PTX 8.1 allows, from sm_70 on.
const MOST: u64 = 32_764;

/// llc's option for PTX 8.1.
pub(crate) const NEWER: &str = "-mattr=+ptx81";

/// Fails if a kernel of the module takes more than any version of PTX allows. LLVM takes minutes
/// for thousands of bytes that are parameters.
pub(crate) fn check(module: &Module<'_>) -> Result<(), CudaBuilderError> {
    let kernels = module.functions().filter(|function| function.is_kernel());
    refuse(kernels.filter_map(|kernel| Some((kernel.name(), bytes(kernel)?))))
}

/// The bytes of a kernel's parameters in LLVM's IR; `None` of a type that is not known.
fn bytes(kernel: &Function<'_>) -> Option<u64> {
    let mut parameters = kernel.head.parameters();
    parameters.try_fold(0, |end: u64, parameter| {
        let passed = parameter.split_once("byval(");
        let ty = Type::parse(passed.map_or(parameter, |(_, ty)| ty));
        let start = end.checked_next_multiple_of(ty.align()?)?;
        start.checked_add(ty.size()?)
    })
}

/// Fails if one of the kernels has too many bytes.
fn refuse<'k>(kernels: impl Iterator<Item = (&'k str, u64)>) -> Result<(), CudaBuilderError> {
    let large = kernels.filter(|(_, bytes)| *bytes > MOST);
    let reports = large.map(|(kernel, bytes)| {
        format!(
            "kernel `{kernel}`: its arguments take {bytes} bytes, and CUDA passes at most {MOST}: put what is large into a buffer"
        )
    });
    let reports: Vec<_> = reports.collect();
    match reports.is_empty() {
        true => Ok(()),
        false => Err(CudaBuilderError::Parameters { reports }),
    }
}

/// llc's option for a version of PTX that allows the parameters of all kernels of this text; `None`
/// if the text's own version does. Drivers of CUDA 12.1 and newer load such PTX.
pub(crate) fn version(ptx: &str) -> Result<Option<&'static str>, CudaBuilderError> {
    let Some(bytes) = entries(ptx).map(|(_, bytes)| bytes).max() else {
        return Ok(None);
    };
    refuse(entries(ptx))?;
    let suffices = bytes <= ALWAYS || declared(ptx).is_some_and(|version| version >= (8, 1));
    Ok((!suffices).then_some(NEWER))
}

/// The version that a text declares.
pub(crate) fn declared(ptx: &str) -> Option<(u32, u32)> {
    ptx.lines().find_map(|line| {
        let (major, minor) = line.strip_prefix(".version ")?.trim().split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    })
}

/// Each kernel, with the size of its parameters.
fn entries(ptx: &str) -> impl Iterator<Item = (&str, u64)> {
    let heads = ptx.split(".entry ").skip(1);
    heads.filter_map(|text| {
        let (name, rest) = text.split_once('(')?;
        let (list, _) = rest.split_once("\n)").or_else(|| rest.split_once(')'))?;
        let bytes = list
            .lines()
            .filter_map(layout)
            .fold(0, |end: u64, (size, alignment)| {
                end.next_multiple_of(alignment) + size
            });
        Some((name.trim(), bytes))
    })
}

/// Size and alignment of `.param .align 16 .b8 k_param_0[64],` or `.param .u64 .ptr .align 1
/// k_param_0`.
fn layout(line: &str) -> Option<(u64, u64)> {
    let rest = line.trim().strip_prefix(".param ")?;
    let words: Vec<_> = rest.split_whitespace().collect();
    let bits = words.iter().find_map(|word| {
        let bits = word.strip_prefix('.')?.strip_prefix(['b', 'u', 's', 'f'])?;
        bits.parse::<u64>().ok()
    })?;
    let element = bits.div_ceil(8);
    let Some((_, count)) = rest.split_once('[') else {
        return Some((element, element));
    };
    let count: u64 = count.split_once(']')?.0.parse().ok()?;
    let alignment = match words[..] {
        [".align", alignment, ..] => alignment.parse().ok()?,
        _ => element,
    };
    Some((element * count, alignment))
}

/// The same PTX with parameters named `_param_0`, `_param_1`, …: LLVM puts the kernel's or function's
/// name before that, at each use, though these names mean nothing outside it.
pub(crate) fn with_short_names(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    let mut name = None;
    for line in ptx.split_inclusive('\n') {
        name = head(line).or(name);
        match name.map(|name| format!("{name}_param_")) {
            Some(long) if line.contains(&long) => {
                let mut line = line.to_owned();
                for before in [" ", "["] {
                    line = line.replace(&format!("{before}{long}"), &format!("{before}_param_"));
                }
                text.push_str(&line);
            }
            _ => text.push_str(line),
        }
    }
    text
}

/// The name of the kernel or function that begins on a line.
fn head(line: &str) -> Option<&str> {
    let head = match line.split_once(".entry ") {
        Some((_, head)) => head,
        None => {
            let (_, head) = line.split_once(".func ")?;
            // What it returns comes before its name.
            head.split_once(") ").map_or(head, |(_, head)| head)
        }
    };
    let name = head.split('(').next()?.trim();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(version: &str, bytes: u64) -> String {
        format!(
            "//\n.version {version}\n.visible .entry small(\n\t.param .u64 .ptr .align 1 small_param_0,\n\t.param .f32 small_param_1\n)\n\
             {{\n}}\n.visible .entry large(\n\t.param .u8 large_param_0,\n\t.param .align 16 .b8 large_param_1[{bytes}]\n)\n{{\n}}\n"
        )
    }

    #[test]
    fn parameters_are_laid_out_in_their_order() {
        let text = text("7.0", 32);
        assert_eq!(
            entries(&text).collect::<Vec<_>>(),
            [("small", 12), ("large", 48)]
        );
    }

    #[test]
    fn names_of_parameters_are_short() {
        let text = |small: &str, other: &str| {
            format!(
                ".visible .entry small(\n\t.param .u64 .ptr .align 1 {small}_param_0,\n\t.param .u64 {small}_param_12\n)\n\
                 {{\n\tld.param.b64 \t%rd1, [{small}_param_0+8];\n}}\n\tmov.b64 \t%rd2, {small}_param_12;\n\
                 \tmov.b64 \t%rd3, is_small_param_0;\n}}\n\
                 .func  (.param .b32 func_retval0) help\n(\n\t.param .b32 {other}_param_0\n)\n;\n\
                 .func help(\n\t.param .b32 {other}_param_0\n)\n{{\n\tld.param.b32 \t%r1, [{other}_param_0];\n}}\n"
            )
        };
        let short = with_short_names(&text("small", "help"));
        assert_eq!(short, text("", ""));
        assert_eq!(with_short_names(&short), short);
    }

    #[test]
    fn parameters_are_counted_before_llvm_sees_them() {
        let check = |parameters: &str| {
            let text = format!("define ptx_kernel void @k({parameters}) {{\n  ret void\n}}\n");
            let module = Module::parse(&text).unwrap();
            check(&module).map_err(|error| error.to_string())
        };
        for fits in [
            "",
            "[32764 x i8] %0",
            "[32736 x i8] %0, ptr noundef %1, i64 noundef range(i64 0, 9) %2",
            "ptr noundef byval([2047 x i128]) align 16 %0",
            "%named %0, [32764 x i8] %1",
        ] {
            assert_eq!(check(fits), Ok(()), "{fits}");
        }
        for (large, bytes) in [
            ("[40000 x i8] %0", 40_000),
            ("[32748 x i8] %0, ptr noundef %1, i64 %2", 32_768),
            ("i8 noundef zeroext %0, [2048 x i128] %1", 32_784),
            ("[4096 x [8 x i8]] %0", 32_768),
            ("ptr noundef byval([2048 x i128]) align 16 %0", 32_768),
            ("{ [20000 x i8], double } %0, { [20000 x i8] } %1", 40_008),
        ] {
            let error = check(large).unwrap_err();
            assert!(
                error.starts_with(&format!("kernel `k`: its arguments take {bytes} bytes")),
                "{error}"
            );
        }
        let other = "define void @f([40000 x i8] %0) {\n  ret void\n}\n";
        assert!(super::check(&Module::parse(other).unwrap()).is_ok());
    }

    #[test]
    fn the_version_allows_the_largest_kernel() {
        assert_eq!(version(&text("7.0", 4336)).unwrap(), None);
        assert_eq!(version(&text("7.0", 4337)).unwrap(), Some("-mattr=+ptx81"));
        assert_eq!(version(&text("8.1", 4337)).unwrap(), None);
        assert_eq!(
            version(&text("7.0", 32_748)).unwrap(),
            Some("-mattr=+ptx81")
        );
        let error = version(&text("8.1", 32_749)).unwrap_err().to_string();
        assert!(
            error.contains("`large`: its arguments take 32765 bytes") && error.contains("32764"),
            "{error}"
        );
        assert_eq!(version("").unwrap(), None);
    }
}
