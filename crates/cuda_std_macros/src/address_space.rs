//! `#[address_space(..)]`: marks a static for cuda_builder, which moves it before LLVM optimises.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Ident, ItemStatic, Result, StaticMutability};

use crate::{cuda_std, tokens};

/// The first step. A check in generated code needs cuda_std's path, so one of its macros calls the
/// second step.
pub(crate) fn begin(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let is_checked = matches!(
        syn::parse2(item.clone()),
        Ok(ItemStatic {
            mutability: StaticMutability::None,
            ..
        })
    );
    if !is_checked || arguments.to_string() != "shared" {
        return expand(None, arguments, item);
    }
    match cuda_std::path() {
        Some(path) => Ok(quote! { #path::__address_space! { {#arguments} #item } }),
        None => Err(Error::new_spanned(
            arguments,
            "this crate has cuda_std through another one, and its type cannot be checked: make it a `static mut`",
        )),
    }
}

/// `root` is the path of cuda_std in generated code; a shared static without `mut` needs it.
pub(crate) fn expand(
    root: Option<TokenStream>,
    arguments: TokenStream,
    item: TokenStream,
) -> Result<TokenStream> {
    let space: Ident = syn::parse2(arguments.clone()).map_err(|_| unknown_space(&arguments))?;
    // The section's name is the mark: with the stock compiler, no other property of a static
    // survives unchanged to LLVM's IR.
    let section = match space.to_string().as_str() {
        "shared" => Some("cuda_std.shared"),
        "constant" => Some("cuda_std.constant"),
        "global" => None,
        "local" => {
            return Err(Error::new_spanned(
                space,
                "a static cannot be local: PTX has no local variables outside a function; use `let`",
            ));
        }
        _ => return Err(unknown_space(&arguments)),
    };
    let item: ItemStatic = syn::parse2(item.clone())
        .map_err(|_| Error::new_spanned(item, "`#[address_space]` goes on a `static`"))?;
    let Some(section) = section else {
        return Ok(quote! { #item });
    };
    let check = match item.mutability {
        StaticMutability::None if space == "shared" => never_initialised(&item, root.as_ref()),
        StaticMutability::None => never_written(&item)?,
        // Safe code cannot use a `static mut`.
        _ => TokenStream::new(),
    };
    Ok(quote! {
        #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = #section))]
        #item
        #check
    })
}

/// Fails to compile unless the type allows a shared static without an initial value.
///
/// The check uses the static's name, not its type: a type can contain items, which would find the
/// trait here.
fn never_initialised(item: &ItemStatic, root: Option<&TokenStream>) -> TokenStream {
    let core = root.map_or(quote! { ::core }, |root| quote! { #root::__private::core });
    // Errors point at the type.
    let mut name = item.ident.clone();
    name.set_span(name.span().located_at(item.ty.span()));
    let place = quote_spanned! { item.ty.span() => &#name };
    quote! {
        const _: () = {
            #[diagnostic::on_unimplemented(
                message = "a shared static of `{Self}` would be read before anything was written to it",
                label = "not `MaybeUninit`",
                note = "shared memory has no value when a block starts: the initialiser of a static there never runs",
                note = "make it a `MaybeUninit<..>`, an array of them, a `static mut`, or use `shared_array!`"
            )]
            trait MayBeUninitialised {}
            impl<T> MayBeUninitialised for #core::mem::MaybeUninit<T> {}
            impl<T: MayBeUninitialised, const N: #core::primitive::usize> MayBeUninitialised for [T; N] {}
            fn may_be_uninitialised<T: MayBeUninitialised>(_: &T) {}
            fn check() { may_be_uninitialised(#place); }
        };
    }
}

/// Fails to compile where safe code could write the constant static: the memory is read-only for
/// kernels.
fn never_written(item: &ItemStatic) -> Result<TokenStream> {
    let (ty, value) = (&item.ty, &item.expr);
    let is_atomic = |word: &Ident| word.to_string().starts_with("Atomic");
    if let Some(atomic) = tokens::find_word(quote! { #ty }, &is_atomic) {
        return Err(Error::new(
            atomic,
            "constant memory is read-only for kernels: an atomic belongs in global memory, `#[address_space(global)]`",
        ));
    }
    // The compiler refuses references to interior mutability in a constant of any other type.
    Ok(quote! { const _: &#ty = &#value; })
}

fn unknown_space(arguments: &TokenStream) -> Error {
    let message = "expected `#[address_space(shared)]`, `#[address_space(constant)]` or, as without it, `#[address_space(global)]`";
    if arguments.is_empty() {
        Error::new(proc_macro2::Span::call_site(), message)
    } else {
        Error::new_spanned(arguments, message)
    }
}
