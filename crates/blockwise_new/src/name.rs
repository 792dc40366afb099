//! Valid names of packages.

/// Checks the name, and says why a package cannot have it.
pub(crate) fn check(name: &str) -> Result<(), String> {
    let mut letters = name.chars();
    if !letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
    {
        return Err("it must begin with a letter from a to z".to_owned());
    }
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if let Some(letter) = letters.find(|&letter| !fits(letter)) {
        return Err(format!("`{letter}` is no letter, digit, `-` or `_`"));
    }
    let code = in_code(name).to_ascii_lowercase();
    let is_one_of = |names: &[&str]| names.contains(&code.as_str());
    if is_one_of(&KEYWORDS) {
        Err("it is a keyword of Rust".to_owned())
    } else if is_one_of(&LIBRARIES) {
        Err("a library that comes with Rust has this name".to_owned())
    } else if is_one_of(&FOLDERS) {
        Err("cargo has a folder of this name in `target`".to_owned())
    } else if is_one_of(&DEPENDENCIES) {
        Err("a dependency of the project has this name".to_owned())
    } else if is_device(&code) {
        Err("Windows reserves it for a device".to_owned())
    } else {
        Ok(())
    }
}

/// The package's name in Rust.
pub(crate) fn in_code(name: &str) -> String {
    name.replace('-', "_")
}

const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "union", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

const LIBRARIES: [&str; 5] = ["alloc", "core", "proc_macro", "std", "test"];

const FOLDERS: [&str; 4] = ["build", "deps", "examples", "incremental"];

const DEPENDENCIES: [&str; 14] = [
    "blockwise",
    "blockwise_builder",
    "blockwise_std",
    "blockwise_std_macros",
    "cuda_builder",
    "cuda_std",
    "cuda_std_macros",
    "cuda_tools",
    "cust",
    "cust_raw",
    "find_cuda_helper",
    "launch_contract",
    "libcuda_loader",
    "ptx_emulator",
];

fn is_device(name: &str) -> bool {
    let numbered = |kind| {
        name.strip_prefix(kind).is_some_and(|number| {
            number.len() == 1 && number != "0" && number.parse::<u8>().is_ok()
        })
    };
    ["con", "prn", "aux", "nul"].contains(&name) || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_are_refused_with_the_reason() {
        for name in ["waves", "my-kernels", "a1_b", "kernels", "com10", "gpu"] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for (name, reason) in [
            ("", "begin"),
            ("1st", "begin"),
            ("-x", "begin"),
            ("a b", "` ` is no"),
            ("größe", "`ö` is no"),
            ("a.b", "`.` is no"),
            ("fn", "keyword"),
            ("Self", "keyword"),
            ("std", "comes with Rust"),
            ("proc-macro", "comes with Rust"),
            ("build", "folder"),
            ("blockwise", "dependency"),
            ("cuda-std", "dependency"),
            ("nul", "Windows"),
            ("COM1", "Windows"),
        ] {
            let error = check(name).unwrap_err();
            assert!(error.contains(reason), "{name}: {error}");
        }
    }
}
