//! Errors of the builder's checks, shown at the kernel that they are about.
//!
//! The build script runs before the host's compiler expands `#[kernel]`: its errors are in a file
//! in its output folder, one per line.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Error;

/// The files, as `cuda_builder::embed` names them.
const FILE: &str = "refused.txt";
const WHOLE: &str = "error.txt";
const LATE: &str = "late.txt";

const NO_SCRIPT: &str = "`embedded_kernels!()` needs a build script that embeds them: `fn main() { cuda_builder::embed().finish(); }` in build.rs";

/// The lines that a kernel has shown, with the output folder: a process may expand several crates.
static SHOWN: Mutex<BTreeSet<(Option<OsString>, String)>> = Mutex::new(BTreeSet::new());

fn folder() -> Option<OsString> {
    std::env::var_os("OUT_DIR")
}

/// Why the build script could not build the kernels, reported where the crate declares them: all
/// that no kernel of this crate has shown; or that there is no build script. A kernel that is
/// expanded later shows its lines once more.
pub(crate) fn not_built(cuda_std: &TokenStream) -> TokenStream {
    if folder().is_none() {
        return Error::new(Span::call_site(), NO_SCRIPT).to_compile_error();
    }
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = folder();
    let is_shown = |line: &str| shown.contains(&(folder.clone(), line.to_owned()));
    let now = match without(&read(WHOLE), is_shown) {
        error if error.is_empty() => TokenStream::new(),
        error => Error::new(Span::call_site(), error).to_compile_error(),
    };
    let late = match read(LATE) {
        error if error.is_empty() => TokenStream::new(),
        error => late(cuda_std, &error),
    };
    quote! { #now #late }
}

/// An error that the compiler shows only where it has no other: what it finds in the code itself
/// stands at its place, and the device's compiler has most of that too.
///
/// Lints come last, and this one has a text of ours; in an array, for one value of which the compiler
/// would advise `let _`. Where lints are capped, as in packages of a registry, the constant stops the
/// build. It stands in a generic function, so that it is evaluated when code is generated, which
/// comes later still.
fn late(cuda_std: &TokenStream, error: &str) -> TokenStream {
    quote! {
        const _: () = {
            #[must_use = #error]
            struct KernelsThatDoNotCompileForTheDevice;

            const fn kernels() -> [KernelsThatDoNotCompileForTheDevice; 1] {
                [KernelsThatDoNotCompileForTheDevice]
            }

            #[deny(unused_must_use)]
            const _: () = {
                kernels();
            };

            fn stop<T>() {
                const { #cuda_std::__private::core::panic!("{}", #error) }
            }

            #[used]
            static STOP: fn() = stop::<()>;
        };
    }
}

/// An error without the lines that are shown elsewhere, and how many these are; nothing if that is
/// all.
fn without(error: &str, is_shown: impl Fn(&str) -> bool) -> String {
    let (shown, rest): (BTreeSet<_>, Vec<_>) = {
        let (shown, rest): (Vec<_>, Vec<_>) = error.lines().partition(|line| is_shown(line));
        (shown.into_iter().collect(), rest)
    };
    let is_heading = |line: &&str| line.is_empty() || line.ends_with(':');
    let said = match shown.len() {
        0 => return error.to_owned(),
        _ if rest.iter().all(is_heading) => return String::new(),
        1 => "one error is shown at its kernel".to_owned(),
        count => format!("{count} errors are shown at their kernels"),
    };
    format!("{}\n{said}", rest.join("\n"))
}

/// A file of the build script's output folder.
fn read(name: &str) -> String {
    folder()
        .and_then(|folder| std::fs::read_to_string(std::path::Path::new(&folder).join(name)).ok())
        .unwrap_or_default()
}

/// The errors about these entry points, located at the kernel.
pub(super) fn errors<'e>(entries: impl Iterator<Item = &'e str>, span: Span) -> TokenStream {
    let text = read(FILE);
    let errors = entries.flat_map(|entry| about(&text, entry)).map(|error| {
        let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
        shown.insert((folder(), error.to_owned()));
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
    use super::{about, without};

    #[test]
    fn what_a_kernel_shows_is_not_shown_again() {
        let text = "two builds fail:\nkernel `a`: one\nkernel `b`: two\n\nagain:\nkernel `a`: one";
        assert_eq!(without(text, |_| false), text);
        assert_eq!(
            without(text, |line| line.starts_with("kernel `a`")),
            "two builds fail:\nkernel `b`: two\n\nagain:\none error is shown at its kernel"
        );
        assert_eq!(without(text, |line| line.starts_with("kernel")), "");
        let text = format!("{text}\nno memory");
        assert_eq!(
            without(&text, |line| line.starts_with("kernel")),
            "two builds fail:\n\nagain:\nno memory\n2 errors are shown at their kernels"
        );
    }

    #[test]
    fn an_error_belongs_to_the_kernel_that_it_names() {
        let text = "kernel `a`: one\nkernel `ab`: two\nkernel `a`: three\n";
        let lines: Vec<_> = about(text, "a").collect();
        assert_eq!(lines, ["kernel `a`: one", "kernel `a`: three"]);
        assert_eq!(about(text, "b").count(), 0);
    }
}
