//! Signatures in PTX, compared with the program's when a kernel is first used.
//!
//! `#[kernel]` adds a variable `NAME__signature` to the PTX, whose bytes are the text of the
//! signature and of the [contract](crate::contract). PTX from other compilers has none; it is
//! compared by number and size of the parameters.

use std::collections::HashMap;

use launch_contract::launch::{Entry, RECORD_SUFFIX, record_text};

use crate::parameters::split;
use crate::{Error, Result, contract};

/// The bytes of each parameter of a kernel.
pub(crate) type Parameters = Vec<usize>;

/// The recorded signatures of a PTX text, by kernel.
pub(crate) fn records(ptx: &str) -> HashMap<String, String> {
    let mut records = HashMap::new();
    for (at, _) in ptx.match_indices(RECORD_SUFFIX) {
        // `.visible .global .align 8 .b64 saxpy_f32__signature[6] = {0x…, …};`, or bytes, as LLVM
        // prints it: `.align 1 .b8 saxpy_f32__signature[41] = {97, 58, …};`.
        let start = ptx[..at]
            .rfind(|c: char| !is_name(c))
            .map_or(0, |before| before + 1);
        let after = &ptx[at + RECORD_SUFFIX.len()..];
        if let Some(text) = bytes(after) {
            records.insert(ptx[start..at].to_owned(), text);
        }
    }
    records
}

/// The text of a record, an initialised array that starts at its `[`. Bytes are decimal, words
/// hexadecimal.
fn bytes(declaration: &str) -> Option<String> {
    let rest = declaration.strip_prefix('[')?;
    let (_, rest) = rest.split_once(']')?;
    let (values, _) = rest.trim_start().strip_prefix('=')?.split_once('}')?;
    let values = values.trim_start().strip_prefix('{')?;
    let mut bytes = Vec::with_capacity(values.len() / 2);
    for value in values.split(',').map(str::trim) {
        match value.strip_prefix("0x") {
            Some(word) => bytes.extend(u64::from_str_radix(word, 16).ok()?.to_le_bytes()),
            None => bytes.push(value.parse().ok()?),
        }
    }
    record_text(&bytes)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$%".contains(c)
}

/// The declared parameters of every kernel of a PTX text.
pub(crate) fn parameters(ptx: &str) -> HashMap<String, Parameters> {
    let mut kernels = HashMap::new();
    let mut rest = ptx;
    while let Some((_, after)) = rest.split_once(".entry") {
        rest = after;
        let head = after.trim_start();
        let name: String = head.chars().take_while(|&c| is_name(c)).collect();
        if name.is_empty() {
            continue;
        }
        let list = head[name.len()..].trim_start();
        let declared = match list.strip_prefix('(').and_then(|list| list.split_once(')')) {
            Some((list, _)) => parameter_list(list),
            // A kernel may have no parameter list.
            None => Some(Vec::new()),
        };
        if let Some(declared) = declared {
            kernels.insert(name, declared);
        }
    }
    kernels
}

/// The sizes of `.param .u64 .ptr .align 1 a, .param .align 4 .b8 b[12]`. `None` for an unknown
/// form.
fn parameter_list(list: &str) -> Option<Parameters> {
    let list: String = (list.lines())
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join(" ");
    if list.trim().is_empty() {
        return Some(Vec::new());
    }
    list.split(',').map(parameter_bytes).collect()
}

fn parameter_bytes(parameter: &str) -> Option<usize> {
    let parameter = parameter.trim();
    let bits = parameter.split_whitespace().find_map(|word| {
        let bits = word
            .strip_prefix(['.'])?
            .strip_prefix(['u', 's', 'b', 'f'])?;
        bits.parse::<usize>().ok()
    })?;
    let elements = match parameter.split_once('[') {
        None => 1,
        Some((_, size)) => size.split(']').next()?.trim().parse().ok()?,
    };
    (bits / 8).checked_mul(elements)
}

/// Compares a kernel's signature in the PTX with the program's.
pub(crate) fn compare(
    entry: &Entry,
    recorded: Option<&str>,
    declared: Option<&Parameters>,
    origin: &str,
) -> Result<()> {
    let sizes = |bytes: &[usize]| {
        let sizes: Vec<_> = bytes.iter().map(|bytes| bytes.to_string()).collect();
        format!("parameters of {} bytes", sizes.join(", "))
    };
    let mismatch = |ptx: String, program: String| Error::Signature {
        kernel: entry.name,
        origin: origin.to_owned(),
        difference: difference(&ptx, &program),
        ptx,
        program,
    };
    if let Some(recorded) = recorded {
        let signature = recorded.lines().next().unwrap_or_default();
        if signature != entry.signature {
            return Err(mismatch(signature.to_owned(), entry.signature.to_owned()));
        }
        if let Some(difference) = contract::difference(recorded, entry.record) {
            return Err(Error::Contract {
                kernel: entry.name,
                place: entry.place,
                origin: origin.to_owned(),
                difference,
            });
        }
    }
    match declared {
        Some(declared) if declared != entry.parameter_bytes => {
            Err(mismatch(sizes(declared), sizes(entry.parameter_bytes)))
        }
        _ => Ok(()),
    }
}

/// The first parameter that differs.
fn difference(ptx: &str, program: &str) -> String {
    let (ptx, program) = (split(ptx), split(program));
    let both = ptx.iter().zip(&program);
    match both.enumerate().find(|(_, (a, b))| a != b) {
        Some((index, (a, b))) => format!("parameter {} is `{a}` there and `{b}` here", index + 1),
        None => format!("{} parameters there and {} here", ptx.len(), program.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "
.version 7.0
.visible .global .align 1 .b8 first__signature[6] = {97, 58, 32, 102, 51, 50};
.visible .global .align 1 .b8 broken__signature[2] = {300, 1};
.visible .global .align 8 .b64 words__signature[1] = {0xa0a323366203a62};
.visible .global .align 8 .b64 long__signature[1] = {0x10a0a323366203a62};
.visible .entry first(
\t.param .f32 first_param_0 // the factor, once (twice)
)
{ ret; }
.visible .entry .nothing
.visible .entry second (
\t.param .u64 .ptr .align 1 second_param_0,
\t.param .align 4 .b8 second_param_1[12],
\t.param .u32 second_param_2
) .maxntid 256 { ret; }
.entry third { ret; }
";

    fn entry(signature: &'static str, parameter_bytes: &'static [usize]) -> Entry {
        Entry {
            name: "first",
            signature,
            record: signature,
            place: "src/lib.rs:1",
            block: [0; 3],
            parameter_bytes,
            kernels: None,
        }
    }

    #[test]
    fn records_are_read_and_what_is_no_text_is_passed_over() {
        let records = records(PTX);
        assert_eq!(records.len(), 2);
        assert_eq!(records["first"], "a: f32");
        assert_eq!(records["words"], "b: f32");
    }

    #[test]
    fn parameters_are_read_with_their_sizes() {
        let kernels = parameters(PTX);
        assert_eq!(kernels["first"], [4]);
        assert_eq!(kernels["second"], [8, 12, 4]);
        assert!(kernels["third"].is_empty());
    }

    #[track_caller]
    fn refused(entry: &Entry, recorded: Option<&str>, declared: &[usize]) -> String {
        let declared = declared.to_vec();
        let error = compare(entry, recorded, Some(&declared), "here.ptx");
        error.expect_err("another signature").to_string()
    }

    #[test]
    fn another_signature_names_kernel_file_and_parameter() {
        let of = entry("a: f32, x: &[f32]", &[4, 8, 8]);
        assert!(compare(&of, Some("a: f32, x: &[f32]"), Some(&vec![4, 8, 8]), "").is_ok());
        for (recorded, what) in [
            (
                "a: f64, x: &[f32]",
                "parameter 1 is `a: f64` there and `a: f32` here",
            ),
            ("x: &[f32], a: f32", "parameter 1 is `x: &[f32]` there"),
            (
                "a: f32, x: &[f32], n: usize",
                "3 parameters there and 2 here",
            ),
        ] {
            let error = refused(&of, Some(recorded), &[4, 8, 8]);
            assert!(error.contains(what), "{error}");
            assert!(
                error.contains("`first`") && error.contains("here.ptx"),
                "{error}"
            );
        }
    }

    #[test]
    fn without_a_record_number_and_sizes_are_compared() {
        let of = entry("a: f32, x: &[f32]", &[4, 8, 8]);
        let error = refused(&of, None, &[8, 8, 8]);
        assert!(error.contains("parameters of 8, 8, 8 bytes"), "{error}");
        assert!(compare(&of, None, Some(&vec![4, 8, 8]), "").is_ok());
        // A matching record does not hide mismatched parameters.
        refused(&of, Some("a: f32, x: &[f32]"), &[4, 8]);
    }
}
