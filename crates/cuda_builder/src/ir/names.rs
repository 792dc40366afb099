//! Information in mangled names.

/// The name as written in Rust: its path without the crate hash.
pub(crate) fn demangle(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

/// Where a function is defined: crate and modules, `core::fmt::num`, possibly with the function's
/// own name. For an `impl` it is the place of the `impl`, whatever its type and trait are.
pub(crate) fn home(name: &str) -> String {
    let path = name.strip_prefix("_R").and_then(|mangled| {
        // `<T as Trait>::method` as provided by the trait itself, which has no `impl`.
        let provided = mangled.trim_start_matches(['I', 'N', 'v']).starts_with('Y');
        if provided {
            return None;
        }
        path(mangled, 0, 0).map(|(path, _)| path.join("::"))
    });
    path.unwrap_or_else(|| {
        let name = demangle(name);
        match trait_of(&name) {
            Some(path) => path.to_owned(),
            None => name.trim_start_matches('<').to_owned(),
        }
    })
}

/// Whether something is defined in this module or a submodule.
pub(crate) fn is_in(home: &str, module: &str) -> bool {
    (home.strip_prefix(module)).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// `Trait` of `<T as Trait>::method`.
fn trait_of(name: &str) -> Option<&str> {
    let inside = name.strip_prefix('<')?;
    let (mut depth, mut start) = (0, None);
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            // The `->` of a function type.
            b'>' if inside[..at].ends_with('-') => {}
            b'>' if depth == 0 => return start.map(|start: usize| &inside[start..at]),
            b'>' => depth -= 1,
            _ if depth == 0 && inside.as_bytes()[at..].starts_with(b" as ") => start = Some(at + 4),
            _ => {}
        }
    }
    None
}

/// The identifiers of the path that starts at a byte of a name in Rust's mangling (RFC 2603), and
/// its end. Generic arguments and the type of an `impl` are not parsed: then the end is unknown.
fn path(mangled: &str, at: usize, depth: usize) -> Option<(Vec<&str>, Option<usize>)> {
    // Back references may be circular.
    if depth > 100 {
        return None;
    }
    match mangled.as_bytes().get(at)? {
        b'C' => {
            let (name, end) = identifier(mangled, at + 1)?;
            Some((vec![name], Some(end)))
        }
        b'N' => {
            let (mut names, end) = path(mangled, at + 2, depth + 1)?;
            let end = end.and_then(|end| {
                let (name, end) = identifier(mangled, end)?;
                names.push(name);
                Some(end)
            });
            Some((names, end))
        }
        b'M' | b'X' => {
            let (names, _) = path(mangled, disambiguator(mangled, at + 1)?, depth + 1)?;
            Some((names, None))
        }
        b'I' => {
            let (names, _) = path(mangled, at + 1, depth + 1)?;
            Some((names, None))
        }
        b'B' => {
            let (target, end) = number(mangled, at + 1)?;
            let (names, _) = path(mangled, target, depth + 1)?;
            Some((names, Some(end)))
        }
        _ => None,
    }
}

/// The end of the optional disambiguator at a byte.
fn disambiguator(mangled: &str, at: usize) -> Option<usize> {
    match mangled.as_bytes().get(at)? {
        b's' => number(mangled, at + 1).map(|(_, end)| end),
        _ => Some(at),
    }
}

/// `s5_4core`, and its end.
fn identifier(mangled: &str, at: usize) -> Option<(&str, usize)> {
    let at = disambiguator(mangled, at)?;
    let rest = &mangled[at..];
    let rest = rest.strip_prefix('u').unwrap_or(rest);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = rest[..digits].parse().ok()?;
    let name = rest[digits..].strip_prefix('_').unwrap_or(&rest[digits..]);
    let start = mangled.len() - name.len();
    Some((name.get(..length)?, start + length))
}

/// A base-62 number terminated by `_`: `_` is 0, `0_` is 1.
fn number(mangled: &str, at: usize) -> Option<(usize, usize)> {
    let rest = mangled.get(at..)?;
    let length = rest.find('_')?;
    let mut number = 0_usize;
    for byte in rest[..length].bytes() {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'z' => byte - b'a' + 10,
            b'A'..=b'Z' => byte - b'A' + 36,
            _ => return None,
        };
        number = number.checked_mul(62)?.checked_add(digit.into())?;
    }
    let number = if length == 0 {
        0
    } else {
        number.checked_add(1)?
    };
    Some((number, at + length + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_implementation_is_at_home_where_it_stands() {
        for (name, expected) in [
            ("_RNvNtCs0_4core3fmt5write", "core::fmt::write"),
            // <u32 as core::fmt::Display>::fmt
            (
                "_RNvXs_NtNtCs0_4core3fmt3nummNtB6_7Display3fmt",
                "core::fmt::num",
            ),
            // <kernels::Tile as core::fmt::Display>::fmt
            (
                "_RNvXs_Cs1_7kernelsNtB4_4TileNtNtCs0_4core3fmt7Display3fmt",
                "kernels",
            ),
            // <core::fmt::Formatter>::pad
            ("_RNvMsa_NtCs0_4core3fmtNtB5_9Formatter3pad", "core::fmt"),
            // kernels::call::<u32>
            ("_RINvCs1_7kernels4callmE", "kernels::call"),
            // <kernels::Tile as core::fmt::Write>::write_char, provided by the trait
            (
                "_RNvYNtCs1_7kernels4TileNtNtCs0_4core3fmt5Write10write_char",
                "core::fmt::Write",
            ),
            // The legacy mangling does not record where an `impl` is.
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("plain", "plain"),
        ] {
            assert_eq!(home(name), expected, "{name}");
        }
    }

    #[test]
    fn hostile_names_end() {
        for name in [
            "_RB_", "_RNvB_", "_RNvB0_", "_RC99_x", "_RNvNvNv", "_RIB", "_RC5_ä", "_RNä",
        ] {
            home(name);
        }
        home(&format!("_R{}", "Nv".repeat(1000)));
    }

    #[test]
    fn a_module_holds_what_is_inside_of_it() {
        assert!(is_in("core::fmt::num", "core::fmt"));
        assert!(is_in("core::fmt", "core::fmt"));
        assert!(!is_in("core::fmtx", "core::fmt"));
    }
}
