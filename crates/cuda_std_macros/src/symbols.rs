//! Names that compiled code calls implicitly: safe code must not define functions under them.

use proc_macro2::Span;
use syn::{Error, Result};

/// Prefixes of the names of compilers, libdevice and this crate.
const PREFIXES: [&str; 5] = ["__", "_R", "_Z", "llvm.", "cuda_std_"];
/// What compiled code and the runtime call.
const NAMES: [&str; 12] = [
    "bcmp", "calloc", "free", "malloc", "memcmp", "memcpy", "memmove", "memset", "printf",
    "realloc", "strlen", "vprintf",
];

/// Refuses a symbol that would replace another definition.
pub(crate) fn refuse_reserved(name: &str, span: Span) -> Result<()> {
    let is_reserved =
        NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    if !is_reserved {
        return Ok(());
    }
    Err(Error::new(
        span,
        format!(
            "compiled code calls `{name}` and would get this function: choose another name, or write `unsafe fn`"
        ),
    ))
}
