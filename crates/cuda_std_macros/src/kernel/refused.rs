//! Errors of the builder's checks, shown at the kernel that they are about.
//!
//! The build script runs before the host's compiler expands `#[kernel]`: its errors are in a file
//! in its output folder, one per line.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Error;

/// The files, as `cuda_builder::embed` names them.
const FILE: &str = "refused.txt";
const WHOLE: &str = "error.txt";

/// Why the build script could not build the kernels, reported where the crate declares them.
pub(crate) fn not_built() -> TokenStream {
    match read(WHOLE) {
        error if error.is_empty() => TokenStream::new(),
        error => Error::new(Span::call_site(), error).to_compile_error(),
    }
}

/// A file of the build script's output folder.
fn read(name: &str) -> String {
    std::env::var_os("OUT_DIR")
        .and_then(|folder| std::fs::read_to_string(std::path::Path::new(&folder).join(name)).ok())
        .unwrap_or_default()
}

/// The errors about these entry points, located at the kernel.
pub(super) fn errors<'e>(entries: impl Iterator<Item = &'e str>, span: Span) -> TokenStream {
    let text = read(FILE);
    let errors = entries.flat_map(|entry| about(&text, entry)).map(|error| {
        let error = Error::new(span, error).to_compile_error();
        quote! { #[cfg(not(target_arch = "nvptx64"))] #error }
    });
    errors.collect()
}

/// The lines about a kernel.
fn about<'t>(text: &'t str, entry: &str) -> impl Iterator<Item = &'t str> {
    let start = format!("kernel `{entry}`: ");
    text.lines().filter(move |line| line.starts_with(&start))
}

#[cfg(test)]
mod tests {
    use super::about;

    #[test]
    fn an_error_belongs_to_the_kernel_that_it_names() {
        let text = "kernel `a`: one\nkernel `ab`: two\nkernel `a`: three\n";
        let lines: Vec<_> = about(text, "a").collect();
        assert_eq!(lines, ["kernel `a`: one", "kernel `a`: three"]);
        assert_eq!(about(text, "b").count(), 0);
    }
}
