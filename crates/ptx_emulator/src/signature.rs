//! A kernel's Rust parameters, as its signature record in the PTX names them.

pub use launch_contract::launch::record_text;

/// After a kernel's name: the variable that holds its Rust parameters as text.
pub const SIGNATURE_SUFFIX: &str = "__signature";

/// What a parameter of the PTX is in the kernel's Rust signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RustParameter {
    /// The Rust parameter's name, or `name.len()` for what comes with an address.
    pub name: String,
    /// The type of the elements that an address points to, or of a number, as Rust writes it.
    pub element: Option<String>,
}

/// The parameters of the PTX, by the text of a signature record: a slice is two, its address and
/// its length. The lines after the first one are the kernel's contract.
pub fn rust_parameters(record: &str) -> Vec<RustParameter> {
    let parameters = parameters(record);
    parameters.flat_map(|(name, ty)| passed(name, ty)).collect()
}

/// The Rust parameters of a record, each with its type and the number of parameters that it is in
/// the PTX.
pub(crate) fn of(record: &str) -> Vec<(String, String, usize)> {
    let counted =
        |(name, ty): (&str, &str)| (name.to_owned(), ty.to_owned(), passed(name, ty).len());
    parameters(record).map(counted).collect()
}

fn parameters(record: &str) -> impl Iterator<Item = (&str, &str)> {
    let parameters = split(record.lines().next().unwrap_or_default());
    let named = parameters.into_iter();
    named.filter_map(|parameter| parameter.split_once(": "))
}

/// What a Rust parameter is in PTX: an address, lengths, a number, or nothing.
fn passed(name: &str, ty: &str) -> Vec<RustParameter> {
    let inner = match ty.split_once(['[', '<']) {
        Some((_, inner)) => inner.strip_suffix([']', '>']).unwrap_or(inner),
        None => ty.rsplit(' ').next().unwrap_or(ty),
    };
    let also = |what: &str| RustParameter {
        name: format!("{name}.{what}"),
        element: None,
    };
    let address = || RustParameter {
        name: name.to_owned(),
        element: Some(inner.to_owned()),
    };
    let second = |what: &str, ty: &str| RustParameter {
        name: format!("{name}'s {what}"),
        element: Some(ty.to_owned()),
    };
    let begins = |starts: &[&str]| starts.iter().any(|start| ty.starts_with(start));
    if begins(&["&mut Block<"]) || (begins(&["Shared<"]) && ty.contains(';')) {
        Vec::new()
    } else if begins(&["Shared<"]) {
        vec![also("len()")]
    } else if begins(&[
        "&[", "&mut [", "&str", "*const [", "*mut [", "Out<", "Atomics<",
    ]) {
        vec![address(), also("len()")]
    } else if begins(&["Matrix<", "OutMatrix<"]) {
        vec![address(), also("rows()"), also("cols()")]
    } else if begins(&["Append<"]) {
        vec![address(), also("len()"), second("count", "u64")]
    } else if begins(&["Scatter<"]) {
        vec![address(), also("len()"), second("permutation", "u32")]
    } else {
        vec![address()]
    }
}

/// Splits at the commas outside of brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_i32, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '<' | '[' | '(' => depth += 1,
            '>' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(record: &str) -> Vec<String> {
        let parameters = rust_parameters(record).into_iter();
        let shown = parameters.map(|parameter| match parameter.element {
            Some(element) => format!("{}: {element}", parameter.name),
            None => parameter.name,
        });
        shown.collect()
    }

    #[test]
    fn a_rust_parameter_is_as_many_as_the_ptx_has() {
        let raw = "input: &[u32], output: *mut u32";
        assert_eq!(names(raw), ["input: u32", "input.len()", "output: u32"]);
        let safe = "block: &mut Block<32,8,1>, tile: Shared<[f32; 256]>, slots: Shared<[f64]>, a: Matrix<f32>, b: Out<i64>, n: usize";
        let expected = [
            "slots.len()",
            "a: f32",
            "a.rows()",
            "a.cols()",
            "b: i64",
            "b.len()",
            "n: usize",
        ];
        assert_eq!(names(safe), expected);
        let pairs = "kept: Append<f32>, sorted: Scatter<i64>, n: u32";
        let expected = [
            "kept: f32",
            "kept.len()",
            "kept's count: u64",
            "sorted: i64",
            "sorted.len()",
            "sorted's permutation: u32",
            "n: u32",
        ];
        assert_eq!(names(pairs), expected);
        assert!(names("").is_empty());
        assert_eq!(names("n: u32\nrequire (> (value 0) 1)"), ["n: u32"]);
        assert_eq!(
            names("a: &[Pair<u8, u8>], b"),
            ["a: Pair<u8, u8>", "a.len()"]
        );
    }
}
